//! Tables that lie under a range deletion as a whole go from the disk, and no byte of them is read for it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::contents;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, WriteBatch, WriteOptions};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind};
use std::path::Path;
use std::sync::Arc;

/// Rows that one range deletion ends.
const ROWS: u64 = 100_000;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:07}").into_bytes()
}

struct Place {
    files: MemoryFileSystem,
    faults: FaultInjectionFileSystem,
    family: String,
}

impl Place {
    fn new(family: &str) -> Self {
        let files = MemoryFileSystem::new();
        Self { faults: FaultInjectionFileSystem::new(Arc::new(files.clone())), files, family: family.to_owned() }
    }

    fn open(&self) -> Db {
        let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        let text = format!("create_if_missing=true;target_file_size_base=65536;{}", self.family);
        ferrock::options::apply_text(&mut options, &mut family, &text).unwrap();
        options.components.file_system = Some(Arc::new(self.faults.clone()));
        Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
    }

    /// Each read of one of the tables fails from now on.
    fn forbid(&self, tables: &[u64]) {
        for number in tables {
            self.faults.add_rule(FaultRule::new(OperationKind::Read, format!("*{number:06}.sst"), Fault::Io));
        }
    }

    fn has(&self, number: u64) -> bool {
        self.files.exists(&Path::new("/db").join(format!("{number:06}.sst"))).unwrap()
    }
}

fn counter(db: &Db, name: &str) -> u64 {
    let text = db.property("ferrock.statistics").unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap().parse().unwrap()
}

fn tables(db: &Db) -> Vec<u64> {
    db.live_files().iter().map(|file| file.number.0).collect()
}

fn fill(db: &Db) {
    for first in (0..ROWS).step_by(1000) {
        let mut batch = WriteBatch::new();
        (first..first + 1000).for_each(|number| batch.put(&key(number), b"a value of some bytes").unwrap());
        // Twice, so that tables overlap and are merged into many: one that is moved stays as large as it is.
        db.write(batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() }).unwrap();
        if first == ROWS / 2 {
            db.put(&key(0), b"older").unwrap();
            db.put(&key(ROWS - 1), b"older").unwrap();
            db.flush().unwrap();
        }
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
}

fn delete(db: &Db, begin: u64, end: u64) {
    let family = db.default_column_family().unwrap();
    db.delete_range_cf(&family, &key(begin), &key(end), &WriteOptions::default()).unwrap();
}

/// Something is flushed, so that the tree is looked at.
fn look(db: &Db) {
    db.put(b"another", b"key").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

#[test]
fn tables_under_a_range_deletion_go_unread_once_no_snapshot_sees_them() {
    for style in ["kCompactionStyleLevel", "kCompactionStyleUniversal"] {
        let place = Place::new(&format!("compaction_style={style}"));
        let db = place.open();
        fill(&db);
        let below = tables(&db);
        assert!(below.len() > 3, "{style}: {below:?}");
        let snapshot = db.snapshot();
        // It holds what it reads, and no snapshot.
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(ROWS - 2));
        assert!(iter.valid());
        place.forbid(&below);
        let read_before = counter(&db, "compaction_read_bytes");
        delete(&db, 0, ROWS);
        db.flush().unwrap();
        look(&db);
        assert_eq!(counter(&db, "range_deleted_tables"), 0, "{style}: the snapshot sees them");
        assert!(below.iter().all(|number| place.has(*number)));
        place.faults.clear_rules();
        let then = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
        assert!(db.get_with(&then, &key(ROWS / 2)).unwrap().is_some());

        place.forbid(&below);
        drop(then);
        look(&db);
        assert_eq!(counter(&db, "range_deleted_tables"), below.len() as u64, "{style}");
        // The small table of the range deletion itself may have been rewritten.
        let read = counter(&db, "compaction_read_bytes") - read_before;
        assert!(read < 20_000, "{style}: {read} bytes were read");
        assert!(tables(&db).iter().all(|number| !below.contains(number)), "{style}");
        // The iterator has them still.
        assert!(below.iter().all(|number| place.has(*number)));
        place.faults.clear_rules();
        iter.next();
        assert!(iter.valid() && iter.key() == key(ROWS - 1));
        drop(iter);
        look(&db);
        assert!(below.iter().all(|number| !place.has(*number)), "{style}");
        let left = contents(&db, &ReadOptions::default());
        db.close().unwrap();
        let db = place.open();
        assert_eq!(contents(&db, &ReadOptions::default()), left, "{style}");
        assert_eq!(db.get(&key(5)).unwrap(), None);
        db.verify_checksum().unwrap();
    }
}

#[test]
fn what_reaches_over_the_end_stays_and_so_does_what_is_newer() {
    let place = Place::new("");
    let db = place.open();
    fill(&db);
    let below = tables(&db);
    delete(&db, 10, ROWS - 10);
    // As new as the tombstone, in its own table.
    db.put(&key(ROWS / 2), b"newer").unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    let gone = counter(&db, "range_deleted_tables");
    assert!(gone > 0 && gone < below.len() as u64, "{gone} of {}", below.len());
    let found = |number| db.get(&key(number)).unwrap().map(|value| value.to_vec());
    assert!([0, 9, ROWS - 10, ROWS - 1].into_iter().all(|number| found(number).is_some()));
    assert!([10, ROWS / 3, ROWS - 11].into_iter().all(|number| found(number).is_none()));
    assert_eq!(found(ROWS / 2).as_deref(), Some(&b"newer"[..]));
}

#[test]
fn an_open_finds_what_was_left() {
    let place = Place::new("");
    let db = place.open();
    fill(&db);
    let snapshot = db.snapshot();
    delete(&db, 0, ROWS);
    look(&db);
    let before = tables(&db).len() as u64;
    assert_eq!(counter(&db, "range_deleted_tables"), 0);
    db.close().unwrap();
    drop(snapshot);
    let db = place.open();
    look(&db);
    assert!(counter(&db, "range_deleted_tables") + 2 >= before, "{before} tables before");
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 1);
}

#[test]
fn families_without_automatic_compactions_keep_their_tables() {
    let place = Place::new("disable_auto_compactions=true");
    let db = place.open();
    fill(&db);
    delete(&db, 0, ROWS);
    look(&db);
    assert_eq!(counter(&db, "range_deleted_tables"), 0);
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("disable_auto_compactions", "false")]).unwrap();
    db.wait_for_background_work().unwrap();
    assert!(counter(&db, "range_deleted_tables") > 0);
}

#[test]
fn tables_that_refer_to_blob_files_are_merged_so_that_their_garbage_is_counted() {
    let place = Place::new("enable_blob_files=true;min_blob_size=0");
    let db = place.open();
    fill(&db);
    let blobs = || db.property("num-blob-files").unwrap().parse::<u64>().unwrap();
    assert!(blobs() > 0);
    delete(&db, 0, ROWS);
    look(&db);
    assert_eq!(counter(&db, "range_deleted_tables"), 0);
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 1);
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(contents(&db, &ReadOptions::default()).len(), 1);
    // That of the row which is left.
    assert_eq!(blobs(), 1);
}
