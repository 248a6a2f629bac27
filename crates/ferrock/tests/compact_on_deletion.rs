//! Tables full of deletions are compacted though no level is full.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

const DENSE: &str = "{window_size=128;deletion_trigger=100}";

fn open(files: &MemoryFileSystem, changes: &[(&str, &str)]) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    let mut family = ColumnFamilyOptions::default();
    for (name, value) in changes {
        assert!(family.settings.set(name, value).unwrap(), "{name}");
    }
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u32) -> Vec<u8> {
    format!("{number:06}").into_bytes()
}

fn put(db: &Db, keys: std::ops::Range<u32>) {
    keys.for_each(|number| db.put(&key(number), b"value").unwrap());
    settle(db);
}

fn delete(db: &Db, keys: std::ops::Range<u32>) {
    keys.for_each(|number| db.delete(&key(number)).unwrap());
    settle(db);
}

fn settle(db: &Db) {
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

fn levels(db: &Db) -> Vec<usize> {
    let mut levels: Vec<usize> = db.live_files().iter().map(|file| file.level).collect();
    levels.sort_unstable();
    levels
}

fn num_keys(db: &Db, options: &ReadOptions) -> usize {
    let mut iter = db.iter(options);
    iter.seek_to_first();
    let mut keys = 0;
    while iter.valid() {
        keys += 1;
        iter.next();
    }
    iter.status().unwrap();
    keys
}

#[test]
fn deletions_meet_what_they_delete() {
    let files = MemoryFileSystem::new();
    let db = open(&files, &[("compact_on_deletion", DENSE)]);
    put(&db, 0..1000);
    db.compact_range(None, None).unwrap();
    assert_eq!(levels(&db), [6]);
    delete(&db, 0..99);
    assert_eq!(levels(&db), [0, 6], "too few");
    db.compact_range(None, None).unwrap();
    delete(&db, 200..300);
    assert_eq!(levels(&db), [6]);
    assert_eq!(num_keys(&db, &ReadOptions::default()), 801);
    // The option is mutable.
    db.set_options_cf(&db.default_column_family().unwrap(), &[("compact_on_deletion", "{}")]).unwrap();
    delete(&db, 300..700);
    assert_eq!(levels(&db), [0, 6]);
}

#[test]
fn the_mark_is_in_the_manifest() {
    let files = MemoryFileSystem::new();
    let by_hand = ("disable_auto_compactions", "true");
    for (rule, expected) in [("{}", vec![0, 6]), (DENSE, vec![6])] {
        let db = open(&files, &[("compact_on_deletion", rule), by_hand]);
        put(&db, 0..1000);
        db.compact_range(None, None).unwrap();
        delete(&db, 0..500);
        assert_eq!(levels(&db), [0, 6]);
        drop(db);
        let db = open(&files, &[("compact_on_deletion", "{}")]);
        db.wait_for_background_work().unwrap();
        assert_eq!(levels(&db), expected, "{rule}");
        assert_eq!(num_keys(&db, &ReadOptions::default()), 500);
        db.compact_range(None, None).unwrap();
    }
}

#[test]
fn a_marked_table_with_nothing_below_is_not_moved_to_the_bottom() {
    let files = MemoryFileSystem::new();
    let db = open(&files, &[("compact_on_deletion", DENSE)]);
    delete(&db, 0..200);
    assert_eq!(levels(&db), [0; 0]);
    put(&db, 500..600);
    db.compact_range(None, None).unwrap();
    delete(&db, 0..200);
    assert_eq!(levels(&db), [6]);
    assert_eq!(num_keys(&db, &ReadOptions::default()), 100);
}

#[test]
fn what_a_snapshot_sees_stays() {
    let files = MemoryFileSystem::new();
    let db = open(&files, &[("compact_on_deletion", DENSE)]);
    put(&db, 0..1000);
    db.compact_range(None, None).unwrap();
    let snapshot = db.snapshot();
    delete(&db, 0..1000);
    assert_eq!(levels(&db), [6], "compacted once, though its deletions are still there");
    let before = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_eq!(num_keys(&db, &before), 1000);
    assert_eq!(num_keys(&db, &ReadOptions::default()), 0);
    drop(before);
    db.compact_range(None, None).unwrap();
    assert_eq!(num_keys(&db, &ReadOptions::default()), 0);
}

#[test]
fn half_of_65536_entries_are_enough_by_default() {
    let files = MemoryFileSystem::new();
    let db = open(&files, &[]);
    put(&db, 0..100_000);
    db.compact_range(None, None).unwrap();
    delete(&db, 0..32_767);
    assert_eq!(levels(&db), [0, 6]);
    db.compact_range(None, None).unwrap();
    delete(&db, 40_000..72_768);
    assert_eq!(levels(&db), [6]);
    assert_eq!(num_keys(&db, &ReadOptions::default()), 100_000 - 32_767 - 32_768);
}

#[test]
fn plain_tables_are_marked_too() {
    let files = MemoryFileSystem::new();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(files));
    let mut family = ColumnFamilyOptions::default();
    ferrock::options::apply_text(&mut options, &mut family, "plain_table_factory={}").unwrap();
    assert!(family.settings.set("compact_on_deletion", "{deletion_ratio=0.9}").unwrap());
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    put(&db, 0..1000);
    db.compact_range(None, None).unwrap();
    delete(&db, 0..1000);
    assert_eq!(levels(&db), [0; 0]);
}
