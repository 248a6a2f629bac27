//! Traces of operations by Ferrock's library and by RocksDB 11.8.1, read and replayed by both.
//!
//! ```text
//! one history --> Ferrock --> trace --> Ferrock, RocksDB --> two databases
//!             \-> RocksDB --> trace --> Ferrock, RocksDB --> two databases
//! ```
//!
//! Both traces must have the same operations, byte for byte but for their times, and all six databases the same rows.

use crate::c_engine::{CDatabase, CEngine};
use crate::engine::{Database, IterHow, OpenMode, Outcome, Record, WriteHow, drawn_key, drawn_record, rows};
use crate::fetch::Fetched;
use crate::random::Random;
use crate::seeds::Suite;
use crate::settings::{FamilySettings, Settings};
use ferrock::replay::{Operation, TraceReader};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

const STEPS: u64 = 400;
const KEYS: usize = 60;
const FAMILIES: usize = 2;

/// How the cases are played and told of; each takes two processes.
pub const SUITE: Suite = Suite {
    name: "traces",
    case: "traces-case",
    counted: "operations",
    means: "are traced alike and replayed by both",
};

/// One part, for a process of its own: a library cannot be unloaded.
#[derive(clap::Args)]
pub struct Case {
    #[arg(long)]
    directory: PathBuf,
    #[arg(long)]
    library: PathBuf,
    #[arg(long)]
    seed: u64,
    /// Write the trace; otherwise replay all traces of the directory.
    #[arg(long)]
    write: bool,
    /// The name of the library among what is in the directory.
    #[arg(long)]
    name: String,
}

/// Plays seeds and says what became of them; true when none failed.
pub fn run(fetched: &Fetched, ferrock: &Path, scratch: &Path, seeds: RangeInclusive<u64>, json: bool) -> bool {
    SUITE.run_of_both([&fetched.current, ferrock], scratch, seeds, json, play_both)
}

fn play_both(libraries: [&Path; 2], directory: &Path, seed: u64) -> Outcome<u64> {
    let libraries = [("rocksdb", libraries[0]), ("ferrock", libraries[1])];
    let seed = seed.to_string();
    let mut rows = Vec::new();
    for (name, library) in libraries {
        let said = SUITE.ask(directory, library, &["--seed", &seed, "--name", name, "--write"])?;
        rows.push((name.to_owned(), said["rows"].clone()));
    }
    let traces = ["rocksdb", "ferrock"].map(|name| operations(&directory.join(format!("{name}.trace"))));
    let [theirs, ours] = traces;
    let (theirs, ours) = (theirs?, ours?);
    if let Some(at) = (0..theirs.len().max(ours.len())).find(|&at| theirs.get(at) != ours.get(at)) {
        return Err(format!("operation {at}: RocksDB traced {:?}, and Ferrock {:?}", theirs.get(at), ours.get(at)));
    }
    for (name, library) in libraries {
        let replayed = SUITE.ask(directory, library, &["--seed", &seed, "--name", name])?;
        for (trace, found) in replayed["replayed"].as_object().into_iter().flatten() {
            rows.push((format!("{name} after the trace of {trace}"), found.clone()));
        }
    }
    if rows.len() != 6 {
        return Err(format!("{} databases instead of 6", rows.len()));
    }
    match rows.iter().find(|(_, found)| *found != rows[0].1) {
        Some((name, found)) => Err(format!("RocksDB has {}, and {name} {found}", rows[0].1)),
        None => Ok(ours.len() as u64),
    }
}

fn operations(trace: &Path) -> Outcome<Vec<Operation>> {
    let mut reader = TraceReader::open(trace).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    while let Some(traced) = reader.next_operation().map_err(|error| error.to_string())? {
        all.push(traced.operation);
    }
    if reader.is_complete() { Ok(all) } else { Err(format!("{} has no end", trace.display())) }
}

fn open(engine: &CEngine, directory: &Path) -> Outcome<CDatabase> {
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let db = vec![text("create_if_missing", "true"), text("create_missing_column_families", "true")];
    let settings = Settings { db, families: vec![FamilySettings::default(); FAMILIES] };
    engine.open_database(directory, OpenMode::Create, &settings)
}

/// One part.
pub fn play(case: &Case) -> Outcome<Value> {
    let engine = CEngine::load(&case.library)?;
    if case.write {
        let db = open(&engine, &case.directory.join(&case.name))?;
        db_asked(db, &mut Random::new(case.seed), &case.directory.join(format!("{}.trace", case.name)))
            .map(|rows| json!({ "rows": rows }))
    } else {
        let mut replayed = serde_json::Map::new();
        for trace in ["rocksdb", "ferrock"] {
            let db = open(&engine, &case.directory.join(format!("{}-{trace}", case.name)))?;
            db.replay(&case.directory.join(format!("{trace}.trace")), 1)?;
            replayed.insert(trace.to_owned(), rows(&db)?);
            Box::new(db).close()?;
        }
        Ok(json!({ "replayed": replayed }))
    }
}

/// Asks for things while a trace is on, and tells the rows at the end.
fn db_asked(mut db: CDatabase, random: &mut Random, trace: &Path) -> Outcome<Value> {
    db.start_trace(trace, random.percent(50))?;
    for _ in 0..STEPS {
        let family = random.below(FAMILIES);
        match random.below(12) {
            0..=4 => {
                let records: Vec<Record> = (0..1 + random.below(4)).map(|_| drawn_record(random, KEYS)).collect();
                db.write(&records, WriteHow { sync: false, disable_wal: random.percent(20) })?;
            }
            5 | 6 => drop(db.get(family, &drawn_key(random, KEYS), None)?),
            7 => {
                let keys: Vec<Vec<u8>> = (0..1 + random.below(5)).map(|_| drawn_key(random, KEYS)).collect();
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                db.multi_get(family, &keys, None)?;
            }
            8..=10 => {
                let mut bound = || random.percent(40).then(|| drawn_key(random, KEYS));
                let how = IterHow { lower: bound(), upper: bound(), ..IterHow::default() };
                let mut cursor = db.iterate(family, &how)?;
                match random.below(4) {
                    0 => cursor.seek_to_first(),
                    1 => cursor.seek_to_last(),
                    2 => cursor.seek_for_prev(&drawn_key(random, KEYS)),
                    _ => cursor.seek(&drawn_key(random, KEYS)),
                }
            }
            _ => db.flush(family)?,
        }
    }
    db.end_trace()?;
    let rows = rows(&db)?;
    Box::new(db).close()?;
    Ok(rows)
}
