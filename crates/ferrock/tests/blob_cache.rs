//! Values of blob files in a cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::options_on;
use common::threads::wait_until;
use ferrock::options::{CacheOptions, ChargeDecision, MemoryBudget, ReadTier, TableBlockCache};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, ReadOptions};
use ferrock_cache::EntryRole;
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;

const VALUES: u32 = 20;

fn cache(capacity_bytes: usize) -> Arc<TableBlockCache> {
    TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() })
}

fn strict(capacity_bytes: usize, fail_when_full: bool) -> Arc<TableBlockCache> {
    let options =
        CacheOptions { capacity_bytes, strict_capacity_limit: true, fail_when_full, ..CacheOptions::default() };
    TableBlockCache::new(options)
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:02}").into_bytes()
}

fn value(number: u32, what: &str) -> Vec<u8> {
    format!("{what} {number} ").repeat(60).into_bytes()
}

fn family(blob_cache: Option<&Arc<TableBlockCache>>) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.enable_blob_files = true;
    family.min_blob_size = 100;
    family.blob_cache = blob_cache.cloned();
    // Where reads may not touch files, the table must be in memory.
    family.settings.set("prepopulate_blob_cache", "kDisable").unwrap();
    family.table.set("prepopulate_block_cache", "kFlushAndCompaction").unwrap();
    family
}

fn open_with(files: &MemoryFileSystem, options: impl FnOnce(&mut DbOptions), family: ColumnFamilyOptions) -> Db {
    let mut db = options_on(Arc::new(files.clone()));
    options(&mut db);
    Db::open_cf("/db", db, vec![("default".to_owned(), family)]).unwrap().0
}

/// A database with a flushed table and its blob file.
fn flushed(family: ColumnFamilyOptions, what: &str) -> Db {
    let db = open_with(&MemoryFileSystem::new(), |_| {}, family);
    fill(&db, what);
    db
}

fn fill(db: &Db, what: &str) {
    (0..VALUES).for_each(|number| db.put(&key(number), &value(number, what)).unwrap());
    db.flush().unwrap();
}

fn in_memory() -> ReadOptions {
    ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..ReadOptions::default() }
}

/// How many values are found without a read.
fn cached(db: &Db, what: &str) -> u32 {
    let family = db.default_column_family().unwrap();
    let mut found = 0;
    for number in 0..VALUES {
        match db.get_cf(&family, &in_memory(), &key(number)) {
            Ok(got) => {
                let got = got.unwrap();
                assert_eq!(got, value(number, what));
                assert!(got.is_pinned(), "it was copied");
                found += 1;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Incomplete, "{error}"),
        }
    }
    found
}

fn int(db: &Db, name: &str) -> Option<u64> {
    db.int_property(name)
}

type Way = (&'static str, fn(&Db, &ReadOptions));

/// Every way to read all values.
const WAYS: &[Way] = &[
    ("get", |db, options| {
        let family = db.default_column_family().unwrap();
        for number in 0..VALUES {
            let got = db.get_cf(&family, options, &key(number)).unwrap().unwrap();
            assert!(got == value(number, "v") && got.is_pinned() == options.fill_cache);
        }
    }),
    ("get_async", |db, options| {
        for number in 0..VALUES {
            let got = smol::block_on(db.get_async(options, &key(number))).unwrap().unwrap();
            assert!(got == value(number, "v") && got.is_pinned() == options.fill_cache);
        }
    }),
    ("multi_get", |db, options| {
        let keys: Vec<_> = (0..VALUES).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let family = db.default_column_family().unwrap();
        for (number, got) in db.multi_get_cf(&family, options, &keys).into_iter().enumerate() {
            let got = got.unwrap().unwrap();
            assert!(got == value(number as u32, "v") && got.is_pinned() == options.fill_cache);
        }
    }),
    ("multi_get_async", |db, options| {
        let keys: Vec<_> = (0..VALUES).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (number, got) in smol::block_on(db.multi_get_async(options, &keys)).into_iter().enumerate() {
            let got = got.unwrap().unwrap();
            assert!(got == value(number as u32, "v") && got.is_pinned() == options.fill_cache);
        }
    }),
    ("iterator forward", |db, options| {
        let mut iter = db.iter_cf(&db.default_column_family().unwrap(), options);
        iter.seek_to_first();
        for number in 0..VALUES {
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number, "v")[..]));
            assert_eq!(iter.pin_value().is_pinned(), options.fill_cache);
            iter.next();
        }
        iter.status().unwrap();
    }),
    ("iterator backward", |db, options| {
        let mut iter = db.iter_cf(&db.default_column_family().unwrap(), options);
        iter.seek_to_last();
        for number in (0..VALUES).rev() {
            assert_eq!((iter.key(), iter.value()), (&key(number)[..], &value(number, "v")[..]));
            iter.prev();
        }
        iter.status().unwrap();
    }),
    ("scan of futures", |db, options| {
        let mut batches = db.scan_cf_async(&db.default_column_family().unwrap(), options);
        let mut rows = 0;
        while let Some(batch) = smol::block_on(batches.next_batch()).unwrap() {
            for (row, (_, got)) in batch.rows().enumerate() {
                assert_eq!(got, value(rows + row as u32, "v"));
            }
            rows += batch.rows().count() as u32;
        }
        assert_eq!(rows, VALUES);
    }),
];

#[test]
fn every_way_of_reading_goes_through_the_cache_and_pins_values_in_it() {
    for (name, read) in WAYS {
        let blob_cache = cache(1 << 20);
        let db = flushed(family(Some(&blob_cache)), "v");
        assert_eq!((cached(&db, "v"), blob_cache.usage()), (0, 0), "{name}");
        read(&db, &ReadOptions { fill_cache: false, ..ReadOptions::default() });
        assert_eq!((cached(&db, "v"), blob_cache.usage()), (0, 0), "{name}: it filled the cache");
        read(&db, &ReadOptions::default());
        assert_eq!(cached(&db, "v"), VALUES, "{name}");
        let misses = |blob_cache: &TableBlockCache| blob_cache.stats().role(EntryRole::BlobValue).misses;
        let before = misses(&blob_cache);
        read(&db, &ReadOptions::default());
        assert_eq!(misses(&blob_cache), before, "{name}: it went past the cache");
        // What lies in the cache is also what a read that fills nothing finds, and where it is pinned.
        read(&db, &ReadOptions::default());
        assert_eq!(int(&db, "rocksdb.blob-cache-capacity"), Some(1 << 20));
        assert_eq!(int(&db, "rocksdb.blob-cache-usage"), Some(blob_cache.usage() as u64));
        assert_eq!(int(&db, "rocksdb.blob-cache-pinned-usage"), Some(0), "{name}");
        let held = db.get(&key(3)).unwrap();
        assert!(int(&db, "rocksdb.blob-cache-pinned-usage").unwrap() >= value(3, "v").len() as u64);
        drop(db);
        assert_eq!(held.unwrap(), value(3, "v"), "it outlives the database");
    }
}

#[test]
fn without_a_cache_there_is_none() {
    let db = flushed(family(None), "v");
    assert_eq!(int(&db, "rocksdb.blob-cache-capacity"), None);
    assert_eq!(int(&db, "rocksdb.blob-cache-usage"), None);
    assert!(!db.get(&key(0)).unwrap().unwrap().is_pinned());
    assert_eq!(cached(&db, "v"), 0);
}

#[test]
fn a_full_cache_is_gone_past_or_says_so() {
    let small = strict(100, false);
    let db = flushed(family(Some(&small)), "v");
    for number in 0..VALUES {
        assert_eq!(db.get(&key(number)).unwrap().unwrap(), value(number, "v"));
    }
    assert_eq!((cached(&db, "v"), small.usage()), (0, 0));
    let failing = strict(100, true);
    let db = flushed(family(Some(&failing)), "v");
    assert_eq!(db.get(&key(0)).unwrap_err().kind(), ErrorKind::MemoryLimit);
    assert_eq!(
        smol::block_on(db.get_async(&ReadOptions::default(), &key(0))).unwrap_err().kind(),
        ErrorKind::MemoryLimit
    );
    // Jobs go past it.
    fill(&db, "w");
    db.compact_range(None, None).unwrap();
    failing.set_capacity(1 << 20);
    assert_eq!(db.get(&key(0)).unwrap().unwrap(), value(0, "w"));
}

#[test]
fn a_memory_budget_is_the_cache_of_blobs_too() {
    let budget = MemoryBudget::new(16 << 20);
    let files = MemoryFileSystem::new();
    let db = open_with(&files, |options| options.components.memory_budget = Some(budget.clone()), family(None));
    fill(&db, "v");
    for number in 0..VALUES {
        assert!(db.get(&key(number)).unwrap().unwrap().is_pinned());
    }
    assert_eq!(int(&db, "rocksdb.blob-cache-capacity"), Some(budget.bytes() as u64));
    let charged = budget.cache().stats().role(EntryRole::BlobValue).usage_bytes;
    assert!(charged >= (0..VALUES).map(|number| value(number, "v").len()).sum::<usize>(), "{charged}");
    assert!(budget.report().to_string().contains("BlobValue"), "{}", budget.report());
    db.close().unwrap();
    let mut options = options_on(Arc::new(files.clone()));
    options.components.memory_budget = Some(budget);
    let families = vec![("default".to_owned(), family(Some(&cache(1 << 20))))];
    let error = Db::open_cf("/db", options, families).unwrap_err();
    assert!(error.to_string().contains("blob_cache"), "{error}");
}

#[test]
fn what_a_flush_writes_is_in_the_cache_if_the_options_say_so() {
    for (text, wanted) in [("kDisable", 0), ("kFlushOnly", VALUES)] {
        let mut family = family(Some(&cache(1 << 20)));
        family.settings.set("prepopulate_blob_cache", text).unwrap();
        family.enable_blob_garbage_collection = true;
        family.blob_garbage_collection_age_cutoff = 1.0;
        let db = flushed(family, "v");
        assert_eq!(cached(&db, "v"), wanted, "{text}");
        // What a compaction moves is not.
        db.put(&key(0), &value(0, "v")).unwrap();
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        assert_eq!(cached(&db, "v"), 0, "{text}");
    }
}

#[test]
fn a_cache_of_its_own_is_charged_to_the_block_cache() {
    let block_cache = strict(4 << 20, false);
    let blob_cache = cache(1 << 20);
    let mut family = family(Some(&blob_cache));
    family.cache_usage.blob_cache = ChargeDecision::Enabled;
    let shared = Arc::clone(&block_cache);
    let db = open_with(&MemoryFileSystem::new(), |options| options.components.block_cache = Some(shared), family);
    fill(&db, "v");
    let charged = || block_cache.stats().role(EntryRole::BlobCache).usage_bytes;
    assert_eq!(charged(), 0);
    (0..VALUES).for_each(|number| drop(db.get(&key(number)).unwrap()));
    assert!(charged() >= blob_cache.usage() && charged() < blob_cache.usage() + (256 << 10), "{}", charged());
    assert_eq!(cached(&db, "v"), VALUES);
    // Without room for the charge a value is read each time, and not kept.
    blob_cache.erase_unreferenced();
    block_cache.set_capacity(1000);
    for number in 0..VALUES {
        assert_eq!(db.get(&key(number)).unwrap().unwrap(), value(number, "v"));
    }
    assert!(blob_cache.usage() <= charged(), "{} of {}", blob_cache.usage(), charged());
    drop(db);
    // The thread of the last job lets go of the family a moment after the job has ended.
    wait_until("the end of the charge", || charged() == 0);
}

#[test]
fn databases_that_share_a_cache_do_not_meet_in_it() {
    let shared = cache(1 << 20);
    // The same numbers of files, offsets and lengths in both, and again after another open.
    let (one, two) = (flushed(family(Some(&shared)), "one"), flushed(family(Some(&shared)), "two"));
    for _ in 0..2 {
        for number in 0..VALUES {
            assert_eq!(one.get(&key(number)).unwrap().unwrap(), value(number, "one"));
            assert_eq!(two.get(&key(number)).unwrap().unwrap(), value(number, "two"));
        }
    }
    assert_eq!((cached(&one, "one"), cached(&two, "two")), (VALUES, VALUES));
}

#[test]
fn a_block_cache_may_be_the_cache_of_blobs() {
    let shared = cache(1 << 20);
    let own = Arc::clone(&shared);
    let db = open_with(
        &MemoryFileSystem::new(),
        |options| options.components.block_cache = Some(own),
        ColumnFamilyOptions { cache_usage: Default::default(), ..family(Some(&shared)) },
    );
    fill(&db, "v");
    (0..VALUES).for_each(|number| drop(db.get(&key(number)).unwrap()));
    let stats = shared.stats();
    assert_eq!(stats.role(EntryRole::BlobValue).entry_count, VALUES as usize);
    assert!(stats.role(EntryRole::DataBlock).entry_count > 0);
}
