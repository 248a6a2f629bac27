//! Secondary instances over a database that another library writes, both in one process.
//!
//! ```text
//! primary    write, flush, compact ..   write, flush ..   close, open, write ..
//! secondary                          catch up          catch up               catch up, and end
//! ```
//!
//! At each look the secondary has all rows that the primary has: Ferrock's over primaries of both libraries, which
//! catches up; and RocksDB's over Ferrock's, which is opened anew for each look. One of RocksDB's that catches up
//! misses rows, over RocksDB's own primary, too: of 12 histories like these it got through 2.
//!
//! Ferrock's follower has at each look all that the primary has, for the primary flushes before it. C has no function
//! to open one, so this is by the Rust interface; its thread catches up meanwhile.

use crate::c_engine::{CDatabase, CEngine};
use crate::engine::{Database, OpenMode, Outcome, Record, WriteHow, drawn_record, rows};
use crate::ferrock_engine::{FerrockDatabase, FerrockEngine};
use crate::fetch::Fetched;
use crate::random::Random;
use crate::seeds::Suite;
use crate::settings::{FamilySettings, Settings};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

const STEPS: u64 = 250;
const KEYS: usize = 80;
const FAMILIES: usize = 2;

/// How the cases are played and told of.
pub const SUITE: Suite = Suite {
    name: "secondaries",
    case: "secondaries-case",
    counted: "looks",
    means: "of secondary instances saw what the primary had",
};

/// One case, in a process of its own.
#[derive(clap::Args)]
pub struct Case {
    /// Where the database is to be.
    #[arg(long)]
    directory: PathBuf,
    /// The library that writes.
    #[arg(long)]
    library: PathBuf,
    /// The library that follows.
    #[arg(long)]
    follower: PathBuf,
    #[arg(long)]
    seed: u64,
    /// Open the secondary anew for each look.
    #[arg(long)]
    anew: bool,
}

/// Plays seeds and says what became of them; true when none failed.
pub fn run(fetched: &Fetched, ferrock: &Path, scratch: &Path, seeds: RangeInclusive<u64>, json: bool) -> bool {
    SUITE.run_of_both([&fetched.current, ferrock], scratch, seeds, json, play_seed)
}

fn play_seed(libraries: [&Path; 2], directory: &Path, seed: u64) -> Outcome<u64> {
    let (rocksdb, ferrock) = (0, 1);
    let (primary, follower) = [(rocksdb, ferrock), (ferrock, ferrock), (ferrock, rocksdb)][(seed % 3) as usize];
    let (path, seed) = (libraries[follower].display().to_string(), seed.to_string());
    let mut arguments = vec!["--follower", &path, "--seed", &seed];
    if follower == rocksdb {
        arguments.push("--anew");
    }
    let said = SUITE.ask(directory, libraries[primary], &arguments)?;
    Ok(said[SUITE.counted].as_u64().unwrap_or(0))
}

fn open(engine: &CEngine, directory: &Path, random: &mut Random, is_first: bool) -> Outcome<CDatabase> {
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mode = if is_first { OpenMode::Create } else { OpenMode::ReadWrite };
    let db = vec![
        text("create_if_missing", "true"),
        text("create_missing_column_families", "true"),
        text("avoid_flush_during_recovery", if random.percent(50) { "true" } else { "false" }),
        text("allow_fallocate", if random.percent(50) { "true" } else { "false" }),
        text("max_manifest_file_size", if random.percent(50) { "2000" } else { "1000000" }),
    ];
    let mut family = FamilySettings::default();
    family.family.push(text("disable_auto_compactions", "true"));
    engine.open_database(directory, mode, &Settings { db, families: vec![family; FAMILIES] })
}

/// One case.
pub fn play(case: &Case) -> Outcome<Value> {
    let (primary, follower) = (CEngine::load(&case.library)?, CEngine::load(&case.follower)?);
    let (directory, own) = (case.directory.join("db"), case.directory.join("own"));
    let own_links = case.directory.join("follower");
    let random = &mut Random::new(case.seed);
    let mut db = open(&primary, &directory, random, true)?;
    let mut secondary: Option<CDatabase> = None;
    let mut links: Option<FerrockDatabase> = None;
    let mut looks = 0;
    for step in 0..STEPS {
        let family = random.below(FAMILIES);
        match random.below(30) {
            0 | 1 => db.flush(family)?,
            2 => db.compact(family, None, None, random.percent(50))?,
            3 => {
                Box::new(db).close()?;
                db = open(&primary, &directory, random, false)?;
            }
            4 if random.percent(50) => links = None,
            4 => secondary = None,
            9 | 10 => {
                (0..FAMILIES).try_for_each(|family| db.flush(family))?;
                let seen = match &links {
                    Some(seen) => {
                        seen.catch_up()?;
                        seen
                    }
                    None => links.insert(FerrockEngine.open_follower(&directory, &own_links)?),
                };
                let (seen, expected) = (rows(seen)?, rows(&db)?);
                if seen != expected {
                    return Err(format!("step {step}: the primary has {expected}, and the follower {seen}"));
                }
                looks += 1;
            }
            5..=8 => {
                db.flush_wal()?;
                if case.anew {
                    secondary = None;
                }
                let seen = match &secondary {
                    Some(seen) => {
                        seen.catch_up()?;
                        seen
                    }
                    None => secondary.insert(follower.open_secondary(&directory, &own)?),
                };
                let (seen, expected) = (rows(seen)?, rows(&db)?);
                if seen != expected {
                    return Err(format!("step {step}: the primary has {expected}, and the secondary {seen}"));
                }
                looks += 1;
            }
            _ => {
                let batch: Vec<Record> = (0..1 + random.below(6)).map(|_| drawn_record(random, KEYS)).collect();
                db.write(&batch, WriteHow { sync: random.percent(5), disable_wal: false })?;
            }
        }
    }
    drop((secondary, links));
    Box::new(db).close()?;
    Ok(json!({ SUITE.counted: looks }))
}
