//! Updates out of the logs: archives and logs in use that RocksDB 11.8.1 and Ferrock's library wrote in turns, read by
//! both from several starting points.
//!
//! ```text
//! RocksDB, Ferrock, RocksDB ...   open, write, flush, and close, on one directory that keeps its logs
//! after each turn                 both open a copy for reading, and a copy for writing, which archives what was in use
//! ```
//!
//! Sequence numbers and bytes of every batch must be those of RocksDB. Not compared are batches without an entry:
//! Ferrock's logs begin with one, which its recovery reads. Each part is played in a process of its own.

use crate::c_engine::{CEngine, Updates};
use crate::engine::{Database, OpenMode, Outcome, Record, WriteHow, drawn_record};
use crate::fetch::Fetched;
use crate::random::Random;
use crate::seeds::Suite;
use crate::settings::{FamilySettings, Settings};
use ferrock_base::checksum::crc32c;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

const TURNS: u64 = 4;
const STEPS: u64 = 60;
const KEYS: usize = 300;

/// How the cases are played and told of; each takes many processes.
pub const SUITE: Suite = Suite {
    name: "updates",
    case: "updates-case",
    counted: "batches",
    means: "of each other's logs are read alike by both",
};

/// One part, for a process of its own.
#[derive(clap::Args)]
pub struct Case {
    #[arg(long)]
    directory: PathBuf,
    #[arg(long)]
    library: PathBuf,
    /// Write by this seed.
    #[arg(long)]
    write: Option<u64>,
    /// Open for reading only.
    #[arg(long)]
    read_only: bool,
    /// Of writing: logs may be compressed.
    #[arg(long)]
    may_compress: bool,
    #[arg(long, default_value_t = 0)]
    turn: u64,
}

/// Plays seeds and says what became of them; true when none failed.
pub fn run(fetched: &Fetched, ferrock: &Path, scratch: &Path, seeds: RangeInclusive<u64>, json: bool) -> bool {
    SUITE.run_of_both([&fetched.current, ferrock], scratch, seeds, json, play_turns)
}

fn play_turns(libraries: [&Path; 2], directory: &Path, seed: u64) -> Outcome<u64> {
    let origin = directory.join("db");
    let mut batches = 0;
    for turn in 0..TURNS {
        let writer = ((seed + turn) % 2) as usize;
        let seed_of_turn = (seed * TURNS + turn).to_string();
        let turn_text = turn.to_string();
        let mut arguments = vec!["--write", &seed_of_turn, "--turn", &turn_text];
        // RocksDB's compressed logs have a record that says so even where they have no batch. It then takes such a log
        // for one that begins at 0, and reads nothing before it. Its compressed logs are read in the histories.
        if writer == 1 {
            arguments.push("--may-compress");
        }
        SUITE.ask(&origin, libraries[writer], &arguments)?;
        for read_only in [true, false] {
            let mode: &[&str] = if read_only { &["--read-only"] } else { &[] };
            let mut answers = Vec::new();
            for (name, library) in ["rocksdb", "ferrock"].iter().zip(libraries) {
                let copy = directory.join(format!("{name}-{turn}-{read_only}"));
                copy_directory(&origin, &copy)?;
                answers.push(SUITE.ask(&copy, library, mode)?["updates"].clone());
                let _ = std::fs::remove_dir_all(&copy);
            }
            compare(&answers[0], &answers[1]).map_err(|what| format!("turn {turn}, read only: {read_only}: {what}"))?;
            batches += answers[0].as_object().map_or(0, |starts| {
                starts.values().map(|read| read["batches"].as_array().map_or(0, Vec::len) as u64).sum()
            });
        }
    }
    Ok(batches)
}

fn compare(rocksdb: &Value, ferrock: &Value) -> Outcome<()> {
    let (Some(theirs), Some(ours)) = (rocksdb.as_object(), ferrock.as_object()) else {
        return Err("no answers".to_owned());
    };
    if theirs.keys().ne(ours.keys()) {
        let keys = |of: &serde_json::Map<String, Value>| of.keys().cloned().collect::<Vec<_>>().join(" ");
        return Err(format!("starting points of RocksDB: {}; of Ferrock: {}", keys(theirs), keys(ours)));
    }
    match theirs.iter().find(|(start, read)| ours[*start] != **read) {
        Some((start, read)) => Err(format!("from {start} RocksDB read {read}, and Ferrock {}", ours[start])),
        None => Ok(()),
    }
}

/// Copies a directory with all that is in it.
pub fn copy_directory(from: &Path, to: &Path) -> Outcome<()> {
    let text = |error: std::io::Error| format!("{}: {error}", from.display());
    std::fs::create_dir_all(to).map_err(text)?;
    for entry in std::fs::read_dir(from).map_err(text)? {
        let entry = entry.map_err(text)?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).map_err(text)?;
        }
    }
    Ok(())
}

fn settings(random: &mut Random, may_compress: bool) -> Settings {
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let db = vec![
        text("create_if_missing", "true"),
        text("create_missing_column_families", "true"),
        text("WAL_ttl_seconds", "1000000"),
        text("WAL_size_limit_MB", if random.percent(50) { "1000" } else { "0" }),
        text("avoid_flush_during_recovery", if random.percent(50) { "true" } else { "false" }),
        text("wal_compression", if may_compress && random.percent(60) { "kZSTD" } else { "kNoCompression" }),
    ];
    Settings { db, families: vec![FamilySettings::default(), FamilySettings::default()] }
}

/// One part.
pub fn play(case: &Case) -> Outcome<Value> {
    let engine = CEngine::load(&case.library)?;
    match case.write {
        Some(seed) => write(&engine, case, &mut Random::new(seed)).map(|()| json!({ "written": true })),
        None => read(&engine, case),
    }
}

fn write(engine: &CEngine, case: &Case, random: &mut Random) -> Outcome<()> {
    let mode = if case.turn == 0 { OpenMode::Create } else { OpenMode::ReadWrite };
    if let Some(parent) = case.directory.parent() {
        std::fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    }
    let mut db = engine.open_database(&case.directory, mode, &settings(random, case.may_compress))?;
    for _ in 0..STEPS {
        if random.percent(6) {
            db.flush(random.below(2))?;
            continue;
        }
        let entries = if random.percent(4) { 900 } else { 1 + random.below(8) };
        let batch: Vec<Record> = (0..entries).map(|_| drawn_record(random, KEYS)).collect();
        db.write(&batch, WriteHow { sync: random.percent(10), disable_wal: false })?;
    }
    Box::new(db).close()
}

/// What is read from the beginning, and from numbers at, in and behind batches.
fn read(engine: &CEngine, case: &Case) -> Outcome<Value> {
    let mode = if case.read_only { OpenMode::ReadOnly } else { OpenMode::ReadWrite };
    // The log that the open begins has no batch.
    let plain = ("wal_compression".to_owned(), "kNoCompression".to_owned());
    let db = engine.open_database(&case.directory, mode, &Settings { db: vec![plain], ..Settings::default() })?;
    let all = db.updates_since(0)?;
    let with_entries: Vec<(u64, u64)> = all.batches.iter().map(|(first, data)| (*first, count(data))).collect();
    let mut starts: BTreeSet<u64> = [0, 1].into();
    for (first, count) in with_entries.iter().filter(|(_, count)| *count > 0).step_by(7) {
        starts.extend([*first, first + count / 2, first + count - 1]);
    }
    if let Some((first, count)) = with_entries.iter().rev().find(|(_, count)| *count > 0) {
        starts.extend([*first, first + count - 1, first + count, first + count + 9]);
    }
    let mut answers = serde_json::Map::new();
    for start in starts {
        answers.insert(format!("{start:09}"), told(&db.updates_since(start)?));
    }
    Box::new(db).close()?;
    Ok(json!({ "updates": answers }))
}

fn count(batch: &[u8]) -> u64 {
    batch.get(8..12).map_or(0, |bytes| u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
}

/// Sequence numbers, and of each batch its length and a checksum.
fn told(updates: &Updates) -> Value {
    let batches = updates.batches.iter().filter(|(_, data)| count(data) > 0);
    let batches: Vec<Value> = batches.map(|(first, data)| json!([first, data.len(), crc32c(data)])).collect();
    json!({ "batches": batches, "status": updates.status })
}
