//! The golden databases, which RocksDB wrote, are compacted by Ferrock under their own options and read by RocksDB
//! again.
//!
//! For each there is a process: Ferrock opens a copy with the options of its OPTIONS file, rewrites every table,
//! closes; `ldb checkconsistency` of 7.8.3 looks at the result where 7.8.3 can read it; RocksDB 11.8.1 loads the
//! OPTIONS file that Ferrock left, opens all families, and must find what `expect.json` says: digests of both scans,
//! lookups, seeks, ranges.
//!
//! [`NOT_REWRITTEN`] and [`NOT_CHECKED_BY_LDB`] list what that is impossible for. A run in which another database
//! fails, or one of these succeeds, is a failure.

use crate::archive::{self, GoldenDatabase};
use crate::c_engine::CEngine;
use crate::engine::{Cursor, Database, Engine, IterHow, OpenMode, Outcome};
use crate::fetch::Fetched;
use crate::runner::{Ended, in_parallel, run_self};
use crate::settings::Settings;
use ferrock::options::{BottommostLevelCompaction, WalRecoveryMode};
use ferrock::{CompactRangeOptions, Db, DbOptions};
use hmac_sha256::Hash as Sha256;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Databases that cannot be rewritten, and why.
const NOT_REWRITTEN: &[(&str, &str)] = &[
    ("r11.9-corrupt-current", DAMAGED),
    ("r11.9-corrupt-data-block", DAMAGED_TABLE),
    ("r11.9-corrupt-footer", DAMAGED_TABLE),
    ("r11.9-corrupt-index-block", DAMAGED),
    ("r11.9-corrupt-manifest-middle", DAMAGED),
    ("r11.9-missing-table", "a table file is missing: there is nothing to compact"),
    ("r11.9-udt-not-persisted", TIMESTAMPS),
    ("r11.9-udt-u64", TIMESTAMPS),
    ("r11.9-udt-u64-reverse", TIMESTAMPS),
    ("r11.9-wal-2pc", "prepared transactions are not read"),
    ("r11.9-wal-bitflip-tolerate", DAMAGED),
    ("r11.9-wal-torn-absolute", DAMAGED),
    ("r7.8-corrupt-current", DAMAGED),
    ("r7.8-corrupt-data-block", DAMAGED_TABLE),
    ("r7.8-corrupt-manifest-middle", DAMAGED),
    ("r7.8-udt-u64", TIMESTAMPS),
    ("r7.8-wal-2pc", "prepared transactions are not read"),
    ("r7.8-wal-bitflip-tolerate", DAMAGED),
    ("r7.8-wal-torn-absolute", DAMAGED),
];

const TIMESTAMPS: &str = "user-defined timestamps are not read";
const DAMAGED: &str = "damaged: RocksDB does not open it, either";
const DAMAGED_TABLE: &str = "damaged table: compaction fails, as it must";

/// Databases with tables of format version 5 at most that 7.8.3 does not read, and why.
const NOT_CHECKED_BY_LDB: &[(&str, &str)] = &[];

/// The largest format version that 7.8.3 reads.
const OLD_FORMAT_VERSION: u64 = 5;

/// What became of a database.
pub struct GoldenResult {
    pub name: String,
    /// Compared with `expect.json` by RocksDB.
    pub rewritten: Result<(), String>,
    /// Looked at by `ldb`; `None` when its tables are too new for it.
    pub ldb: Option<Result<(), String>>,
}

/// All databases whose names contain `filter`.
pub fn run(fetched: &Fetched, scratch: &Path, filter: &str) -> Result<Vec<GoldenResult>, String> {
    let databases = named(|name| name.contains(filter))?;
    Ok(in_parallel("golden databases", &databases, |database| check(fetched, scratch, database)))
}

/// The databases of the tree with certain names.
pub fn named(is_wanted: impl Fn(&str) -> bool) -> Result<Vec<GoldenDatabase>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/ferrock/tests/golden/databases.tar.zst");
    let mut databases = archive::read(&path)?;
    databases.retain(|database| is_wanted(&database.name));
    Ok(databases)
}

/// What is not as the lists say.
pub fn surprises(results: &[GoldenResult]) -> Vec<String> {
    let mut surprises = Vec::new();
    let mut compare = |name: &str, what: &str, outcome: &Result<(), String>, known: &[(&str, &str)]| {
        let reason = known.iter().find(|(known, _)| *known == name);
        match (outcome, reason) {
            (Err(error), None) => surprises.push(format!("{name}: {what}: {error}")),
            (Ok(()), Some((_, reason))) => {
                surprises.push(format!("{name}: {what}: is all right, but the list says: {reason}"));
            }
            _ => {}
        }
    };
    for result in results {
        compare(&result.name, "rewritten", &result.rewritten, NOT_REWRITTEN);
        if let Some(outcome) = &result.ldb {
            compare(&result.name, "ldb checkconsistency", outcome, NOT_CHECKED_BY_LDB);
        }
    }
    surprises
}

/// The databases of the lists, with what they are and why.
pub fn known_exceptions(results: &[GoldenResult]) -> Vec<(String, &'static str, &'static str)> {
    let lists = [("not rewritten", NOT_REWRITTEN), ("not checked by ldb 7.8.3", NOT_CHECKED_BY_LDB)];
    let rows = lists.into_iter().flat_map(|(what, list)| list.iter().map(move |(name, reason)| (*name, what, *reason)));
    rows.filter(|(name, ..)| results.iter().any(|result| result.name == *name))
        .map(|(name, what, reason)| (name.to_owned(), what, reason))
        .collect()
}

fn check(fetched: &Fetched, scratch: &Path, database: &GoldenDatabase) -> GoldenResult {
    let directory = scratch.join(&database.name);
    let mut result = GoldenResult { name: database.name.clone(), rewritten: Ok(()), ldb: None };
    if let Err(error) = unpack(database, &directory) {
        result.rewritten = Err(error);
        return result;
    }
    let compacted = worker("golden-rewrite", &directory, &[]);
    let format_version = match compacted {
        Ok(said) => said["format_version"].as_u64().unwrap_or(0),
        Err(error) => {
            result.rewritten = Err(error);
            return result;
        }
    };
    if format_version <= OLD_FORMAT_VERSION {
        result.ldb = Some(check_consistency(fetched, &directory.join("db")));
    }
    let library = ["--library".to_owned(), fetched.current.display().to_string()];
    result.rewritten = worker("golden-read", &directory, &library).map(drop);
    if surprises(std::slice::from_ref(&result)).is_empty() {
        let _ = std::fs::remove_dir_all(&directory);
    } else if let Err(error) = &mut result.rewritten {
        error.push_str(&format!("; directory: {}", directory.display()));
    }
    result
}

/// Puts the files and the expectations into a directory.
pub fn unpack(database: &GoldenDatabase, directory: &Path) -> Result<(), String> {
    let write = || {
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::create_dir_all(directory.join("db"))?;
        for (name, content) in &database.files {
            std::fs::write(directory.join("db").join(name), content)?;
        }
        std::fs::write(directory.join("expect.json"), database.expect.to_string())
    };
    write().map_err(|error| format!("{}: {error}", directory.display()))
}

/// Runs a part of the check in a process of its own and returns what it says.
pub fn worker(part: &str, directory: &Path, more: &[String]) -> Result<Value, String> {
    let mut arguments = vec![part.to_owned(), "--directory".to_owned(), directory.display().to_string()];
    arguments.extend_from_slice(more);
    let Ended { lines, errors, status, .. } = run_self(&arguments)?;
    match lines.last() {
        Some(said) if status.success() => Ok(said.clone()),
        Some(said) if said["failure"].is_string() => Err(said["failure"].as_str().unwrap_or("").to_owned()),
        _ => Err(format!("the process ended by itself ({status}): {errors}")),
    }
}

fn check_consistency(fetched: &Fetched, directory: &Path) -> Result<(), String> {
    let mut ldb = Command::new(&fetched.ldb);
    ldb.arg(format!("--db={}", directory.display())).arg("checkconsistency");
    if let Some(place) = fetched.old.parent() {
        ldb.env("LD_LIBRARY_PATH", place);
    }
    let output = ldb.output().map_err(|error| format!("cannot run {}: {error}", fetched.ldb.display()))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if output.status.success() && said.contains("OK") { Ok(()) } else { Err(format!("{said} ({})", output.status)) }
}

fn expectations(directory: &Path) -> Result<Value, String> {
    let text = std::fs::read(directory.join("expect.json")).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

/// Ferrock's part.
pub fn rewrite(directory: &Path) -> Outcome<Value> {
    let expect = expectations(directory)?;
    let text = |error: ferrock::Error| format!("Ferrock: {error}");
    let mut options = DbOptions::default();
    options.wal_recovery_mode = match expect["open"]["wal_recovery_mode"].as_str() {
        Some("absolute_consistency") => WalRecoveryMode::AbsoluteConsistency,
        Some("tolerate_corrupted_tail_records") => WalRecoveryMode::TolerateCorruptedTailRecords,
        Some("skip_any_corrupted_records") => WalRecoveryMode::SkipAnyCorruptedRecords,
        _ => WalRecoveryMode::PointInTimeRecovery,
    };
    let (db, families) = Db::open_with_latest_options(directory.join("db"), options).map_err(text)?;
    for family in &families {
        db.set_options_cf(family, crate::tables::case::AS_ROCKSDB).map_err(text)?;
        let options = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        db.compact_range_cf(family, None, None, &options).map_err(text)?;
    }
    let mut largest = 0;
    for file in db.live_files() {
        largest = largest.max(db.table_properties(&file).map_err(text)?.format_version);
    }
    drop(families);
    db.close().map_err(text)?;
    Ok(json!({"format_version": largest}))
}

/// RocksDB's part.
pub fn read(directory: &Path, library: &Path) -> Outcome<Value> {
    let expect = expectations(directory)?;
    let engine = CEngine::load(library)?;
    // Once as it is, and once with what opening for writing does to it.
    for mode in [OpenMode::ReadOnly, OpenMode::ReadWrite] {
        let db = engine.open(&directory.join("db"), mode, &Settings::default());
        let db = db.map_err(|error| format!("RocksDB, {mode:?}: {error}"))?;
        for wanted in list(&expect, "column_families") {
            let name = wanted["name"].as_str().unwrap_or("");
            let family = db.family(name).ok_or_else(|| format!("the family {name} is gone"))?;
            compare(&*db, family, wanted).map_err(|error| format!("RocksDB, {mode:?}, family {name}: {error}"))?;
        }
        db.verify_checksum().map_err(|error| format!("RocksDB, verify_checksum: {error}"))?;
        db.close()?;
    }
    Ok(json!({"done": true}))
}

fn list<'a>(object: &'a Value, member: &str) -> &'a [Value] {
    object[member].as_array().map_or(&[], Vec::as_slice)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap_or("").as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    text.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn equal(what: &str, got: Value, wanted: &Value) -> Outcome<()> {
    if got == *wanted { Ok(()) } else { Err(format!("{what}: {got}, wanted {wanted}")) }
}

fn compare(db: &dyn Database, family: usize, wanted: &Value) -> Outcome<()> {
    // What RocksDB's plain tables were, which do not go back, is now block-based.
    let goes_back = wanted["reverse_scan"].is_object();
    for (member, is_forward) in [("scan", true), ("reverse_scan", false)] {
        if !is_forward && !goes_back {
            continue;
        }
        let (count, digest) = digest(db, family, &IterHow::default(), is_forward)?;
        equal(&format!("{member}: count"), count.into(), &wanted[member]["count"])?;
        equal(&format!("{member}: sha256"), digest.into(), &wanted[member]["sha256"])?;
    }
    for get in list(wanted, "gets") {
        let key = from_hex(&get["key_hex"]);
        let what = format!("get {}", key.escape_ascii());
        let got = db.get(family, &key, None)?;
        let status = if got.is_some() { "OK" } else { "NotFound" };
        equal(&what, status.into(), &get["status"])?;
        let Some(value) = got else { continue };
        if get["value_hex"].is_string() {
            equal(&what, to_hex(&value).into(), &get["value_hex"])?;
        }
        if get["value_sha256"].is_string() {
            equal(&what, to_hex(&Sha256::hash(&value)).into(), &get["value_sha256"])?;
        }
    }
    let mut cursor = db.iterate(family, &IterHow::default())?;
    for seek in list(wanted, "seeks") {
        let target = from_hex(&seek["target_hex"]);
        let position = |cursor: &dyn Cursor| if cursor.valid() { to_hex(cursor.key()).into() } else { Value::Null };
        cursor.seek(&target);
        equal(&format!("seek {}", target.escape_ascii()), position(&*cursor), &seek["seek"])?;
        if !goes_back {
            continue;
        }
        cursor.seek_for_prev(&target);
        equal(&format!("seek_for_prev {}", target.escape_ascii()), position(&*cursor), &seek["seek_for_prev"])?;
    }
    for range in list(wanted, "ranges") {
        let bounds = (from_hex(&range["lower_hex"]), from_hex(&range["upper_hex"]));
        let how = IterHow { lower: Some(bounds.0), upper: Some(bounds.1), ..IterHow::default() };
        let (count, digest) = digest(db, family, &how, true)?;
        equal("range: count", count.into(), &range["count"])?;
        equal("range: sha256", digest.into(), &range["sha256"])?;
    }
    Ok(())
}

/// The number of entries and the canonical dump of a scan (see the golden databases' README).
fn digest(db: &dyn Database, family: usize, how: &IterHow, is_forward: bool) -> Outcome<(u64, String)> {
    let mut cursor = db.iterate(family, how)?;
    let (mut hash, mut count) = (Sha256::new(), 0);
    if is_forward {
        cursor.seek_to_first();
    } else {
        cursor.seek_to_last();
    }
    while cursor.valid() {
        for part in [cursor.key(), cursor.value()] {
            hash.update((part.len() as u32).to_le_bytes());
            hash.update(part);
        }
        count += 1;
        if is_forward {
            cursor.next();
        } else {
            cursor.prev();
        }
    }
    cursor.status()?;
    Ok((count, to_hex(&hash.finalize())))
}
