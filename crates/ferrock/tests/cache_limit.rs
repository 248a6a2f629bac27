//! A block cache with a strict limit that is far too small, under sixteen threads, with index and filter blocks pinned:
//! it is never above its capacity, no read waits for ever, and reads are right or (where that is wanted) fail with a
//! clear error.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

use ferrock::options::{CompressionType, FilterPolicy};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, Error, ErrorKind, ReadOptions};
use ferrock_base::random::Random;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::IndexType;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const KEYS: u64 = 20_000;
const THREADS: u64 = 16;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn value(number: u64) -> Vec<u8> {
    format!("{number:08}").repeat(10).into_bytes()
}

/// Partitions are in the cache, whatever `cache_index_and_filter_blocks` says of whole indexes and filters.
const IN_CACHE: [bool; 2] = [true, false];

fn family(cache_index_and_filter_blocks: bool) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.compression = CompressionType::NoCompression;
    family.disable_auto_compactions = true;
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.table.index_type = IndexType::TwoLevelIndexSearch;
    family.table.partition_filters = true;
    family.table.metadata_block_size = 1024;
    family.table.block_size = 1024;
    family.table.cache_index_and_filter_blocks = cache_index_and_filter_blocks;
    family.table.pin_l0_filter_and_index_blocks_in_cache = true;
    family
}

/// A database of four tables in level 0, whose index and filter partitions are pinned in `cache`.
fn filled(cache: &Arc<TableBlockCache>, cache_index_and_filter_blocks: bool) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()) as Arc<dyn FileSystem>);
    options.components.block_cache = Some(Arc::clone(cache));
    let db =
        Db::open_cf("/db", options, vec![("default".to_owned(), family(cache_index_and_filter_blocks))]).unwrap().0;
    for part in 0..4 {
        for number in (part..KEYS).step_by(4) {
            db.put(&key(number), &value(number)).unwrap();
        }
        db.flush().unwrap();
    }
    db
}

fn cache(capacity_bytes: usize, fail_when_full: bool) -> Arc<TableBlockCache> {
    let options =
        CacheOptions { capacity_bytes, strict_capacity_limit: true, fail_when_full, ..CacheOptions::default() };
    TableBlockCache::new(CacheOptions { shard_bits: Some(4), ..options })
}

fn check_error(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::MemoryLimit, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("Insert failed due to LRU cache being full") && text.contains("raise its capacity"),
        "{text}"
    );
    assert!(text.contains(".sst"), "{text}");
}

/// Reads of all kinds, some of whose results are kept for a while. Counts right answers and refusals.
fn read(db: &Db, thread: u64, steps: u64, right: &AtomicU64, refused: &AtomicU64) {
    let mut random = Random::new(thread);
    let mut values = Vec::new();
    let mut iters = Vec::new();
    let one = AtomicU64::new(0);
    let check = |number: u64, outcome: ferrock::Result<Option<ferrock::PinnedSlice>>| match outcome {
        Ok(found) => {
            assert_eq!(found.as_deref(), (number < KEYS).then(|| value(number)).as_deref(), "{number}");
            right.fetch_add(1, Ordering::Relaxed);
            one.fetch_add(1, Ordering::Relaxed);
            found
        }
        Err(error) => {
            check_error(&error);
            refused.fetch_add(1, Ordering::Relaxed);
            None
        }
    };
    for _ in 0..steps {
        let number = random.below(KEYS + KEYS / 10);
        match random.below(4) {
            0 => values.extend(check(number, db.get(&key(number)))),
            1 => {
                let numbers: Vec<u64> = (0..8).map(|_| random.below(KEYS)).collect();
                let keys: Vec<Vec<u8>> = numbers.iter().map(|&number| key(number)).collect();
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                for (number, outcome) in numbers.into_iter().zip(db.multi_get(&keys)) {
                    values.extend(check(number, outcome));
                }
            }
            _ => {
                let start = random.below(KEYS - 20);
                let mut iter = db.iter(&ReadOptions::default());
                iter.seek(&key(start));
                let mut at = start;
                while iter.valid() && at < start + 10 {
                    assert_eq!((iter.key(), iter.value()), (&key(at)[..], &value(at)[..]));
                    iter.next();
                    at += 1;
                }
                match iter.status() {
                    Ok(()) => assert!(iter.valid(), "it ends early and says nothing"),
                    Err(error) => {
                        check_error(&error);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
                right.fetch_add(at - start, Ordering::Relaxed);
                iters.push(iter);
            }
        }
        if values.len() + iters.len() > 30 {
            values.clear();
            iters.clear();
        }
    }
}

/// Sixteen threads read while the usage is watched.
fn read_by_many(db: &Db, cache: &TableBlockCache, steps: u64) -> (u64, u64) {
    let (right, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    // The tables are open; what is read of them is the cache's.
    let tables_bytes = || db.int_property("estimate-table-readers-mem").unwrap();
    let at_first = tables_bytes();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (right, refused) = (&right, &refused);
                scope.spawn(move || read(db, thread, steps, right, refused))
            })
            .collect();
        let watch = scope.spawn(|| {
            // A last look after the readers ended, however late this thread comes to run.
            let mut is_last = false;
            while !is_last {
                is_last = stop.load(Ordering::Relaxed);
                let usage = cache.usage();
                assert!(usage <= cache.capacity(), "{usage} bytes of {}", cache.capacity());
                assert!(tables_bytes() <= at_first, "{} bytes of open tables, {at_first} at first", tables_bytes());
                std::thread::yield_now();
            }
        });
        let results: Vec<_> = readers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        stop.store(true, Ordering::Relaxed);
        watch.join().unwrap();
        assert!(results.iter().all(Result::is_ok));
    });
    (right.load(Ordering::Relaxed), refused.load(Ordering::Relaxed))
}

#[test]
fn reads_go_past_a_cache_that_is_full() {
    for in_cache in IN_CACHE {
        let cache = cache(60_000, false);
        let db = filled(&cache, in_cache);
        assert!(cache.pinned_usage() > 10_000, "{} bytes are pinned", cache.pinned_usage());
        let (right, refused) = read_by_many(&db, &cache, 300);
        assert!(right > 10_000 && refused == 0, "{right} right, {refused} refused");
        assert!(cache.stats().total().rejections > 0, "the cache was never full");
        drop(db);
        assert_eq!(cache.pinned_usage(), 0, "what is closed holds nothing");
    }
}

#[test]
fn a_full_cache_fails_reads_where_that_is_wanted() {
    for in_cache in IN_CACHE {
        let cache = cache(60_000, true);
        assert_eq!(cache.capacity(), 60_000, "and fail_when_full");
        let db = filled(&cache, in_cache);
        let (_, refused) = read_by_many(&db, &cache, 300);
        assert!(refused > 100, "{refused} refused");
        // Background work goes on, and so do reads once there is room.
        db.compact_range(None, None).unwrap();
        assert_eq!(db.int_property("background-errors"), Some(0));
        cache.set_capacity(64 << 20);
        let (right, refused) = read_by_many(&db, &cache, 100);
        assert!(right > 10_000 && refused == 0, "{right} right, {refused} refused");
        assert!((0..KEYS).all(|number| db.get(&key(number)).unwrap().as_deref() == Some(&value(number))));
    }
}
