//! Databases that RocksDB 11.8.1 or Ferrock's library made, lost a part of, and repaired, read by both.
//!
//! ```text
//! one library: writes, flushes, compacts, closes --> loses CURRENT, the MANIFEST, both or nothing
//! one library: repairs                           --> both open copies: all that was written is there
//!
//! one library: writes ..                         --> loses tables, perhaps CURRENT
//! both:        open copies with best_efforts_recovery, and hold the same, in the same tables
//! ```
//!
//! Each of the two makes what the other repairs, and what it repairs itself. Tables and logs stay whole, so that
//! nothing may be lost. There are no merges: without a MANIFEST neither library can tell which operands a table has
//! taken in.

use crate::c_engine::CEngine;
use crate::engine::{Database, OpenMode, Outcome, Record, WriteHow, drawn_record, rows};
use crate::fetch::Fetched;
use crate::random::Random;
use crate::seeds::Suite;
use crate::settings::{FamilySettings, Settings};
use crate::updates::copy_directory;
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

const STEPS: u64 = 120;
const KEYS: usize = 80;
const FAMILIES: usize = 2;

/// How the cases are played and told of; each takes four processes.
pub const SUITE: Suite =
    Suite { name: "repairs", case: "repairs-case", counted: "rows", means: "of repaired databases are read by both" };

/// What is done to a directory, in a process of its own: a library cannot be unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Make,
    Repair,
    Read,
    /// Open with `best_efforts_recovery`, and read.
    Recover,
}

/// One part.
#[derive(clap::Args)]
pub struct Case {
    #[arg(long)]
    directory: PathBuf,
    #[arg(long)]
    library: PathBuf,
    #[arg(long)]
    part: Part,
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Plays seeds and says what became of them; true when none failed.
pub fn run(fetched: &Fetched, ferrock: &Path, scratch: &Path, seeds: RangeInclusive<u64>, json: bool) -> bool {
    SUITE.run_of_both([&fetched.current, ferrock], scratch, seeds, json, play_parts)
}

fn play_parts(libraries: [&Path; 2], directory: &Path, seed: u64) -> Outcome<u64> {
    let libraries = [("RocksDB", libraries[0]), ("Ferrock", libraries[1])];
    let origin = directory.join("db");
    let (maker, repairer, loss) = (libraries[(seed % 2) as usize], libraries[(seed / 2 % 2) as usize], seed / 4 % 6);
    let made = SUITE.ask(&origin, maker.1, &["--part", "make", "--seed", &seed.to_string()])?["rows"].clone();
    lose(&origin, loss)?;
    if loss >= TABLES {
        lose_tables(&origin, &mut Random::new(seed))?;
        let recover = |(name, library): (&str, &Path)| {
            let copy = directory.join(name);
            copy_directory(&origin, &copy)?;
            let rows = SUITE.ask(&copy, library, &["--part", "recover"])?["rows"].clone();
            let name_of = |path: PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
            let names = tables(&copy)?.into_iter().filter_map(name_of);
            Ok::<_, String>((rows, names.collect::<Vec<_>>()))
        };
        let [theirs, ours] = libraries.map(recover);
        let (theirs, ours) = (theirs?, ours?);
        return match theirs == ours {
            true => Ok(ours.0.as_array().map_or(0, |rows| rows.len() as u64)),
            false => Err(format!("of what {} made RocksDB recovers {theirs:?}, and Ferrock {ours:?}", maker.0)),
        };
    }
    SUITE.ask(&origin, repairer.1, &["--part", "repair"])?;
    for (name, library) in libraries {
        let copy = directory.join(name);
        copy_directory(&origin, &copy)?;
        let read = SUITE.ask(&copy, library, &["--part", "read"])?["rows"].clone();
        if read != made {
            let (maker, repairer) = (maker.0, repairer.0);
            return Err(format!(
                "{maker} made {made}; after loss {loss} and a repair by {repairer} {name} reads {read}"
            ));
        }
    }
    Ok(made.as_array().map_or(0, |rows| rows.len() as u64))
}

/// Removes some tables.
fn lose_tables(directory: &Path, random: &mut Random) -> Outcome<()> {
    let lost = |_: &PathBuf| random.percent(25);
    let remove = |path: PathBuf| std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()));
    tables(directory)?.into_iter().filter(lost).try_for_each(remove)
}

/// The tables in a directory, by name.
fn tables(directory: &Path) -> Outcome<Vec<PathBuf>> {
    let text = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(text)? {
        let path = entry.map_err(text)?.path();
        tables.extend(path.extension().is_some_and(|extension| extension == "sst").then_some(path));
    }
    tables.sort();
    Ok(tables)
}

/// Losses from this number on are of tables, and of CURRENT where it is odd.
const TABLES: u64 = 4;

/// Removes CURRENT, the MANIFESTs, both or nothing.
fn lose(directory: &Path, loss: u64) -> Outcome<()> {
    let text = |error: std::io::Error| format!("{}: {error}", directory.display());
    for entry in std::fs::read_dir(directory).map_err(text)? {
        let path = entry.map_err(text)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if (loss & 1 != 0 && name == "CURRENT") || (loss & 2 != 0 && name.starts_with("MANIFEST-")) {
            std::fs::remove_file(&path).map_err(text)?;
        }
    }
    Ok(())
}

/// One part.
pub fn play(case: &Case) -> Outcome<Value> {
    let engine = CEngine::load(&case.library)?;
    match case.part {
        Part::Make => make(&engine, case).map(|rows| json!({ "rows": rows })),
        Part::Repair => engine.repair(&case.directory).map(|()| json!({ "repaired": true })),
        Part::Read | Part::Recover => {
            let best_efforts = [("best_efforts_recovery".to_owned(), "true".to_owned())];
            let db = if case.part == Part::Recover { best_efforts.into() } else { Vec::new() };
            let settings = Settings { db, ..Settings::default() };
            let db = engine.open_database(&case.directory, OpenMode::ReadWrite, &settings)?;
            let rows = rows(&db)?;
            Box::new(db).close()?;
            Ok(json!({ "rows": rows }))
        }
    }
}

fn make(engine: &CEngine, case: &Case) -> Outcome<Value> {
    let random = &mut Random::new(case.seed);
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let db = vec![
        text("create_if_missing", "true"),
        text("create_missing_column_families", "true"),
        text("avoid_flush_during_shutdown", "true"),
    ];
    let settings = Settings { db, families: vec![FamilySettings::default(); FAMILIES] };
    let mut db = engine.open_database(&case.directory, OpenMode::Create, &settings)?;
    for step in 0..STEPS {
        let family = random.below(FAMILIES);
        match random.below(20) {
            0 => db.flush(family)?,
            1 => db.compact(family, None, None, random.percent(50))?,
            _ => {
                let batch: Vec<Record> = (0..1 + random.below(6)).map(|_| drawn_record(random, KEYS)).collect();
                db.write(&batch, WriteHow::default())?;
            }
        }
        // A table of each family tells its name, where the MANIFEST is lost.
        if step == STEPS / 2 {
            for family in 0..FAMILIES {
                db.write(&[Record::Put(family, b"first".to_vec(), b"value".to_vec())], WriteHow::default())?;
                db.flush(family)?;
            }
        }
    }
    let rows = rows(&db)?;
    Box::new(db).close()?;
    Ok(rows)
}
