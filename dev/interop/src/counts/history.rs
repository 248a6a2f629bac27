//! What is done before the counts are read.

use crate::engine::{Database, IterHow, Outcome, Record, WriteHow};
use crate::settings::{FamilySettings, Settings, Texts};

/// Properties that are numbers, of each family.
pub const PROPERTIES: &[&str] = &[
    "num-immutable-mem-table",
    "num-immutable-mem-table-flushed",
    "mem-table-flush-pending",
    "num-running-flushes",
    "compaction-pending",
    "num-running-compactions",
    "background-errors",
    "cur-size-active-mem-table",
    "cur-size-all-mem-tables",
    "size-all-mem-tables",
    "num-entries-active-mem-table",
    "num-entries-imm-mem-tables",
    "num-deletes-active-mem-table",
    "num-deletes-imm-mem-tables",
    "estimate-num-keys",
    "estimate-table-readers-mem",
    "is-file-deletions-enabled",
    "num-snapshots",
    "oldest-snapshot-sequence",
    "num-live-versions",
    "estimate-live-data-size",
    "min-log-number-to-keep",
    "total-sst-files-size",
    "live-sst-files-size",
    "num-blob-files",
    "total-blob-file-size",
    "live-blob-file-size",
    "live-blob-file-garbage-size",
    "base-level",
    "estimate-pending-compaction-bytes",
    "actual-delayed-write-rate",
    "is-write-stopped",
    "block-cache-capacity",
    "block-cache-pinned-usage",
    "num-files-at-level0",
    "num-files-at-level6",
];

fn texts(pairs: &[(&str, &str)]) -> Texts {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Nothing is compacted by itself, so that all counts are those of what is called.
pub fn settings() -> Settings {
    let common = [
        ("disable_auto_compactions", "true"),
        ("compression", "kNoCompression"),
        ("merge_operator", "StringAppendOperator"),
        ("level_compaction_dynamic_level_bytes", "true"),
    ];
    let first = FamilySettings {
        family: texts(&common),
        table: texts(&[("filter_policy", "bloomfilter:10:false"), ("block_size", "1024")]),
        ..FamilySettings::default()
    };
    let blobs = [("enable_blob_files", "true"), ("min_blob_size", "100"), ("prefix_extractor", "fixed:4")];
    let second = FamilySettings {
        family: texts(&[&common[..], &blobs].concat()),
        table: texts(&[("filter_policy", "bloomfilter:10:false"), ("whole_key_filtering", "false")]),
        ..FamilySettings::default()
    };
    let db = [("create_if_missing", "true"), ("create_missing_column_families", "true"), ("max_background_jobs", "2")];
    Settings { db: texts(&db), families: vec![first, second] }
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:09}").into_bytes()
}

fn value(number: u32, length: usize) -> Vec<u8> {
    (0..length).map(|at| (number as usize * 7 + at * 13) as u8).collect()
}

const UNSYNCED: WriteHow = WriteHow { sync: false, disable_wal: false };

/// Everything.
pub fn play(db: &mut dyn Database) -> Outcome<()> {
    write_first(db)?;
    let second = db.family("second").ok_or("no second family")?;
    for number in 0..600 {
        let length = if number % 3 == 0 { 300 } else { 20 };
        db.write(&[Record::Put(second, key(number), value(number, length))], UNSYNCED)?;
    }
    db.flush(second)?;
    db.snapshot()?;
    change(db, second)?;
    read(db, second)?;
    db.release_snapshot(0)?;
    for family in [0, second] {
        db.compact(family, None, None, true)?;
    }
    read(db, second)?;
    // Left in memtables.
    db.write(&[Record::Put(0, key(5), value(5, 10)), Record::Delete(second, key(6))], UNSYNCED)?;
    Ok(())
}

fn write_first(db: &mut dyn Database) -> Outcome<()> {
    for number in 0..1000 {
        db.write(&[Record::Put(0, key(number), value(number, 10 + number as usize % 30))], UNSYNCED)?;
    }
    db.flush(0)?;
    for first in (0..1000).step_by(20) {
        let batch: Vec<_> = (first..first + 20).map(|number| Record::Put(0, key(number), value(number, 50))).collect();
        db.write(&batch, UNSYNCED)?;
    }
    db.write(&[Record::Put(0, key(1), value(2, 50))], WriteHow { sync: true, disable_wal: false })?;
    db.write(&[Record::Put(0, key(2), value(3, 50))], WriteHow { sync: false, disable_wal: true })?;
    db.flush(0)
}

/// Deletions of each kind, and merges.
fn change(db: &mut dyn Database, second: usize) -> Outcome<()> {
    for number in (0..1000).step_by(9) {
        db.write(&[Record::Delete(0, key(number))], UNSYNCED)?;
    }
    for number in (2000..2030).step_by(3) {
        db.write(&[Record::Put(0, key(number), value(number, 40))], UNSYNCED)?;
        db.write(&[Record::SingleDelete(0, key(number))], UNSYNCED)?;
    }
    db.write(&[Record::DeleteRange(0, key(300), key(340))], UNSYNCED)?;
    for number in (0..600).step_by(50) {
        db.write(&[Record::Merge(second, key(number), b"more".to_vec())], UNSYNCED)?;
        db.write(&[Record::Delete(second, key(number + 1))], UNSYNCED)?;
    }
    db.flush(0)?;
    db.flush(second)
}

fn read(db: &dyn Database, second: usize) -> Outcome<()> {
    for family in [0, second] {
        for number in (0..1500).step_by(3) {
            db.get(family, &key(number), None)?;
        }
        let keys: Vec<_> = (0..40).map(|number| key(number * 37)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        db.multi_get(family, &keys, None)?;
        let mut cursor = db.iterate(family, &IterHow::default())?;
        cursor.seek_to_first();
        while cursor.valid() {
            cursor.next();
        }
        cursor.seek_to_last();
        for _ in 0..100 {
            cursor.prev();
        }
        for number in (0..1100).step_by(100) {
            cursor.seek(&key(number));
            cursor.seek_for_prev(&key(number));
        }
        cursor.status()?;
    }
    Ok(())
}
