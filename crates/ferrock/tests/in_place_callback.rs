//! Puts that are changes: against a map, alone and in batches, by several threads, and recovered without the callback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::{Contents, contents};
use ferrock::options::InPlaceCallback;
use ferrock::{ColumnFamilyOptions, Comparator, Db, DbOptions, ErrorKind, ReadOptions, WriteBatch, WriteOptions};
use ferrock_base::comparator::CustomComparator;
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::cmp::Ordering;
use std::sync::Arc;

/// Keeps the last bytes of what was put. An empty put changes nothing.
struct Tail;

const TAIL_BYTES: usize = 12;

fn tail(existing: Option<&[u8]>, delta: &[u8]) -> Option<Vec<u8>> {
    let all = [existing.unwrap_or(b"^"), delta].concat();
    (!delta.is_empty()).then(|| all[all.len().saturating_sub(TAIL_BYTES)..].to_vec())
}

impl InPlaceCallback for Tail {
    fn update(&self, existing: Option<&[u8]>, delta: &[u8]) -> Option<Vec<u8>> {
        tail(existing, delta)
    }
}

fn open(files: &MemoryFileSystem, has_callback: bool, memtable: &str) -> Db {
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = "create_if_missing=true;create_missing_column_families=true;allow_concurrent_memtable_write=false;\
        merge_operator=stringappend;inplace_update_support=true;write_buffer_size=65536;prefix_extractor=fixed:1";
    ferrock::options::apply_text(&mut options, &mut family, &format!("{text};{memtable}")).unwrap();
    options.components.file_system = Some(Arc::new(files.clone()));
    family.inplace_callback = has_callback.then(|| Arc::new(Tail) as Arc<dyn InPlaceCallback>);
    let plain = ColumnFamilyOptions::default();
    Db::open_cf("/db", options, vec![("default".to_owned(), family), ("plain".to_owned(), plain)]).unwrap().0
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("{:02}", random.below(30)).into_bytes()
}

/// One random record, for the batch and the model.
fn record(batch: &mut WriteBatch, model: &mut Contents, random: &mut Random) {
    let key = key(random);
    match random.below(12) {
        0 => {
            batch.delete(&key).unwrap();
            model.remove(&key);
        }
        1 => {
            let end = self::key(random).max(key.clone());
            batch.delete_range(&key, &end).unwrap();
            model.retain(|other, _| *other < key || *other >= end);
        }
        2 => {
            batch.merge(&key, b"m").unwrap();
            let merged = match model.get(&key) {
                Some(value) => [&value[..], b",m"].concat(),
                None => b"m".to_vec(),
            };
            model.insert(key, merged);
        }
        3 => batch.put_cf(1, &key, b"a value of its own").unwrap(),
        4 => batch.put_log_data(b"note").unwrap(),
        _ => {
            let delta = vec![b'a' + random.below(26) as u8; random.below(5) as usize];
            batch.put(&key, &delta).unwrap();
            if let Some(value) = tail(model.get(&key).map(Vec::as_slice), &delta) {
                model.insert(key, value);
            }
        }
    }
}

#[test]
fn puts_change_what_is_there() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let memtable = ["memtable=skip_list", "memtable=prefix_hash", "memtable=hash_linkedlist"][seed as usize % 3];
        let files = MemoryFileSystem::new();
        let (mut db, mut model) = (open(&files, true, memtable), Contents::new());
        for _ in 0..300 {
            let mut batch = WriteBatch::new();
            for _ in 0..=random.below(6) {
                record(&mut batch, &mut model, &mut random);
            }
            let before = batch.data().to_vec();
            db.write_lent(&mut batch, &WriteOptions::default()).unwrap();
            // But for the number of its first entry, which the log gives it.
            assert_eq!(batch.data()[8..], before[8..], "the caller has its own batch again");
            match random.below(40) {
                0 => db.flush().unwrap(),
                1 => db.compact_range(None, None).unwrap(),
                // The log has values: without the callback it gives the same.
                2 => {
                    drop(db);
                    let plain = open(&files, false, memtable);
                    assert_eq!(contents(&plain, &ReadOptions::default()), model, "seed {seed}");
                    drop(plain);
                    db = open(&files, true, memtable);
                }
                3 => {
                    let snapshot = db.snapshot();
                    let then = model.clone();
                    let mut batch = WriteBatch::new();
                    (0..5).for_each(|_| record(&mut batch, &mut model, &mut random));
                    db.write(batch, &WriteOptions::default()).unwrap();
                    let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
                    assert_eq!(contents(&db, &options), then, "seed {seed}: snapshot");
                }
                _ => {}
            }
            assert_eq!(contents(&db, &ReadOptions::default()), model, "seed {seed}, {memtable}");
        }
    }
}

#[test]
fn no_change_of_several_threads_is_lost() {
    struct Count;
    impl InPlaceCallback for Count {
        fn update(&self, existing: Option<&[u8]>, _delta: &[u8]) -> Option<Vec<u8>> {
            let count = existing.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
            Some((count + 1).to_le_bytes().to_vec())
        }
    }
    let files = MemoryFileSystem::new();
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = "create_if_missing=true;allow_concurrent_memtable_write=false;inplace_update_support=true";
    ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
    options.components.file_system = Some(Arc::new(files.clone()));
    family.inplace_callback = Some(Arc::new(Count));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|_| db.put(b"counter", b"+").unwrap()));
        }
    });
    assert_eq!(db.get(b"counter").unwrap().unwrap()[..], 2000_u64.to_le_bytes());
}

#[test]
fn what_it_cannot_see_is_refused_and_what_has_no_effect_is_told() {
    let files = MemoryFileSystem::new();
    let db = open(&files, true, "memtable=skip_list");
    let mut batch = WriteBatch::new();
    batch.put_entity(b"1", &[(b"", b"v")]).unwrap();
    batch.put(b"1", b"delta").unwrap();
    let refused = db.write(batch, &WriteOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotSupported, "{refused}");
    assert!(refused.message().contains("write two batches"), "{refused}");
    assert_eq!(db.get(b"1").unwrap(), None, "nothing of the batch is there");
    db.put(b"1", b"d").unwrap();
    assert_eq!(&db.get(b"1").unwrap().unwrap()[..], b"^d");
    drop(db);

    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    family.inplace_callback = Some(Arc::new(Tail));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    db.put(b"1", b"d").unwrap();
    assert_eq!(&db.get(b"1").unwrap().unwrap()[..], b"d");
    let notes = db.option_notes();
    assert!(notes.iter().any(|note| note.contains("inplace_callback has no effect")), "{notes:?}");
}

#[test]
fn keys_of_other_bytes_that_are_equal_share_their_value() {
    struct Folding;
    impl CustomComparator for Folding {
        fn name(&self) -> &str {
            "test.Folding"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }
    }
    let (mut options, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
    let text = "create_if_missing=true;allow_concurrent_memtable_write=false;inplace_update_support=true";
    ferrock::options::apply_text(&mut options, &mut family, text).unwrap();
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    family.comparator = Comparator::Custom(Arc::new(Folding));
    family.inplace_callback = Some(Arc::new(Tail));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    let mut batch = WriteBatch::new();
    batch.put(b"key", b"1").unwrap();
    batch.put(b"KEY", b"2").unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    db.put(b"Key", b"3").unwrap();
    assert_eq!(&db.get(b"kEY").unwrap().unwrap()[..], b"^123");
    let mut batch = WriteBatch::new();
    batch.put(b"key", b"lost").unwrap();
    batch.delete(b"kEy").unwrap();
    batch.put(b"keY", b"4").unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    assert_eq!(&db.get(b"key").unwrap().unwrap()[..], b"^4");
}
