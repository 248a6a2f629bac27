//! Scans of many ranges: they show what scans of each alone show, and their first reads go out together.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::key;
use ferrock::options::{CompressionType, LimitReads, MergeOperator, PrefixExtractor};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, MultiScan, ReadOptions, ScanRange, WriteOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, PosixFileSystem,
    ReadClass, Trigger,
};
use std::path::Path;
use std::sync::Arc;

type Row = (usize, Vec<u8>, Vec<u8>);

fn options_on(file_system: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(file_system);
    options
}

fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.compression = CompressionType::NoCompression;
    options.disable_auto_compactions = true;
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options.table.block_size = 512;
    options
}

fn together(db: &Db, options: &ReadOptions, ranges: &[ScanRange], memory: usize) -> Vec<Row> {
    all_rows(db.multi_scan(options, ranges).with_memory_limit(memory))
}

fn all_rows(mut scan: MultiScan) -> Vec<Row> {
    let mut rows = Vec::new();
    while let Some(row) = scan.next_row() {
        let row = row.unwrap();
        rows.push((row.range, row.key.to_vec(), row.value.to_vec()));
    }
    assert!(scan.next_row().is_none());
    rows
}

fn one_by_one(db: &Db, options: &ReadOptions, ranges: &[ScanRange], is_backward: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, range) in ranges.iter().enumerate() {
        let ScanRange { lower, upper, limit } = range.clone();
        let options = ReadOptions { lower_bound: lower, upper_bound: upper, ..options.clone() };
        let mut iter = db.iter(&options);
        if is_backward {
            iter.seek_to_last()
        } else {
            iter.seek_to_first()
        }
        let mut count = 0;
        while iter.valid() && (limit == 0 || count < limit) {
            rows.push((index, iter.key().to_vec(), iter.value().to_vec()));
            if is_backward {
                iter.prev()
            } else {
                iter.next()
            }
            count += 1;
        }
        iter.status().unwrap();
    }
    rows
}

const KEYS: u64 = 600;

fn random_ranges(random: &mut Random) -> Vec<ScanRange> {
    let bound = |random: &mut Random, at: u64| match random.below(12) {
        0 => None,
        1 => Some([&key(at)[..], b"+"].concat()),
        _ => Some(key(at)),
    };
    (0..random.below(25))
        .map(|_| {
            let from = random.below(KEYS + 20);
            let length = if random.below(6) == 0 { KEYS } else { random.below(40) };
            // Some end before they begin.
            let to = (from + length).saturating_sub(3);
            let (lower, upper) = (bound(random, from), bound(random, to));
            ScanRange { lower, upper, limit: if random.below(3) == 0 { random.below(9) } else { 0 } }
        })
        .collect()
}

fn random_database(db: &Db, random: &mut Random) -> Vec<ferrock::Snapshot> {
    let mut snapshots = Vec::new();
    for step in 0..2000u32 {
        let number = random.below(KEYS);
        match random.below(1000) {
            0..=599 => {
                db.put(&key(number), format!("v{step}-").repeat(1 + random.below(12) as usize).as_bytes()).unwrap()
            }
            600..=749 => db.merge(&key(number), format!("m{step}").as_bytes()).unwrap(),
            750..=939 => db.delete(&key(number)).unwrap(),
            940..=959 => db.delete_range(&key(number), &key(number + random.below(60))).unwrap(),
            960..=969 => snapshots.push(db.snapshot()),
            970..=993 => db.flush().unwrap(),
            _ => {
                let (from, to) = (key(random.below(KEYS)), key(random.below(KEYS)));
                if from <= to {
                    db.compact_range(Some(&from), Some(&to)).unwrap();
                }
            }
        }
    }
    snapshots
}

fn check_one_database(file_system: Arc<dyn FileSystem>, directory: &Path, seed: u64) {
    let mut family = family_options();
    family.target_file_size_base = 8 << 10;
    family.table.block_size = [256, 1024][(seed % 2) as usize];
    if seed % 3 == 1 {
        family.table.index_type = IndexType::TwoLevelIndexSearch;
        family.table.partition_from_level = PartitionFromLevel::Level(0);
        family.table.metadata_block_size = 128;
        family.table.cache_index_and_filter_blocks = true;
    }
    family.table.no_block_cache = seed.is_multiple_of(3);
    family.table.row_bounds = seed % 4 < 2;
    // A hundred keys each.
    family.prefix_extractor = Some(PrefixExtractor::Fixed(7)).filter(|_| seed % 5 < 3);
    let mut options = options_on(file_system);
    let capacity_bytes = if seed % 4 == 1 { 4 << 10 } else { 1 << 20 };
    options.components.block_cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes, ..Default::default() }));
    let db = Db::open_cf(directory, options, vec![("default".to_owned(), family)]).unwrap().0;
    let mut random = Random::new(seed);
    let snapshots = random_database(&db, &mut random);
    let mut shown = 0;
    for round in 0..40 {
        let ranges = random_ranges(&mut random);
        let options = ReadOptions {
            snapshot: (!snapshots.is_empty() && round % 2 == 0)
                .then(|| snapshots[random.below(snapshots.len() as u64) as usize].clone()),
            fill_cache: round % 5 != 1,
            prefix_same_as_start: round % 4 == 1,
            io_gap_bytes: [0, 700, 16 << 10][round % 3],
            limit_reads: [LimitReads::FewestRequests, LimitReads::FewestBytes][round / 2 % 2],
            ..ReadOptions::default()
        };
        let memory = [0, 2000, 8 << 20][(round / 3) % 3];
        let rows = together(&db, &options, &ranges, memory);
        shown += rows.len();
        assert!(rows == one_by_one(&db, &options, &ranges, false), "seed {seed}, round {round}: {ranges:?}");
        let rows = all_rows(db.multi_scan(&options, &ranges).with_memory_limit(memory).reverse());
        assert!(rows == one_by_one(&db, &options, &ranges, true), "seed {seed}, round {round}, backward: {ranges:?}");
    }
    assert!(shown > 1000, "seed {seed} shows {shown}");
}

#[test]
fn many_ranges_show_what_each_alone_shows() {
    for seed in 0..12 {
        check_one_database(Arc::new(MemoryFileSystem::new()), Path::new("/db"), seed);
    }
    for backend in ["pread", "io_uring"] {
        let file_system = PosixFileSystem::with_backend(Some(backend));
        if file_system.io_backend() != backend {
            println!("this machine has no {backend}");
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        check_one_database(Arc::new(file_system), directory.path(), 3);
    }
}

/// A database without a cache: one level of many tables, and over it `newer` tables that overlap all of it.
fn tables(file_system: &MemoryFileSystem, newer: u64) -> Db {
    let mut family = family_options();
    family.target_file_size_base = 16 << 10;
    family.table.no_block_cache = true;
    let options = options_on(Arc::new(file_system.clone()));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    (0..8000).for_each(|number| db.put(&key(number), &[b'v'; 100]).unwrap());
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    for part in 0..newer {
        (part..8000).step_by(10).for_each(|number| db.put(&key(number), &[b'n'; 100]).unwrap());
        db.flush().unwrap();
    }
    assert!(db.live_files().len() >= 10, "{} tables", db.live_files().len());
    db.multi_get(&[&key(0)[..], &key(4000), &key(7999)]).into_iter().for_each(|value| drop(value.unwrap()));
    // Every table open.
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        iter.next();
    }
    db
}

/// How many tables have rows between two keys.
fn tables_between(db: &Db, from: u64, to: u64) -> u64 {
    let (from, to) = (key(from), key(to));
    db.live_files().iter().filter(|file| file.smallest_user_key < to && file.largest_user_key >= from).count() as u64
}

/// Batches, data requests and data bytes during `action`.
fn asked(file_system: &MemoryFileSystem, action: impl FnOnce()) -> (u64, u64, u64) {
    let before = file_system.counters().snapshot();
    action();
    let after = file_system.counters().snapshot();
    let data = after.class(ReadClass::Data).since(before.class(ReadClass::Data));
    (after.batches - before.batches, data.requests, data.device_bytes)
}

#[test]
fn near_bounds_are_read_in_one_batch() {
    let file_system = MemoryFileSystem::new();
    let db = tables(&file_system, 0);
    let exact = ReadOptions { io_gap_bytes: 0, ..ReadOptions::default() };
    // Sixteen ranges of twenty rows, unsorted and far apart.
    let ranges: Vec<ScanRange> = (0..16u64)
        .map(|index| (index * 7 % 16) * 480 + 100)
        .map(|at| ScanRange::new(&key(at), &key(at + 20)))
        .collect();
    let mut rows = 0;
    let (batches, requests, bytes) = asked(&file_system, || rows = together(&db, &exact, &ranges, 8 << 20).len());
    assert_eq!(rows, 16 * 20);
    let tables: u64 = (0..16u64).map(|index| index * 480 + 100).map(|at| tables_between(&db, at, at + 20)).sum();
    assert_eq!((batches, requests), (1, tables), "one request for each table of each range, all together");
    assert!((17..20).contains(&tables), "some range lies over the end of a table, most do not: {tables}");
    assert!(bytes < 16 * 6 * 600, "{bytes} bytes");
    let backward = || rows = all_rows(db.multi_scan(&exact, &ranges).reverse()).len();
    assert_eq!(asked(&file_system, backward), (1, tables, bytes), "backward the same");
    assert_eq!(rows, 16 * 20);
    // The same with a limit in place of the bound.
    let open: Vec<ScanRange> =
        ranges.iter().map(|range| ScanRange { upper: None, ..range.clone() }.with_limit(20)).collect();
    let (batches, requests, _) = asked(&file_system, || rows = together(&db, &exact, &open, 8 << 20).len());
    assert_eq!(rows, 16 * 20);
    assert!(batches >= 1 && (16..=32).contains(&requests), "{batches} batches, {requests} requests");
}

#[test]
fn gaps_are_read_over_and_nothing_is_read_twice() {
    let file_system = MemoryFileSystem::new();
    let db = tables(&file_system, 0);
    // Every other ten rows of a hundred: neighbours share blocks, and all lie near each other.
    let ranges: Vec<ScanRange> =
        (0..10u64).map(|index| 1000 + index * 20).map(|at| ScanRange::new(&key(at), &key(at + 10))).collect();
    let mut rows = 0;
    let options = ReadOptions::default();
    let (batches, requests, bytes) = asked(&file_system, || rows = together(&db, &options, &ranges, 8 << 20).len());
    assert_eq!((rows, batches, requests), (100, 1, tables_between(&db, 1000, 1190)));
    assert!(bytes <= 200 * 130, "{bytes} bytes");
    // Ranges that overlap.
    let ranges = [
        ScanRange::new(&key(2000), &key(2030)),
        ScanRange::new(&key(2010), &key(2040)),
        ScanRange::new(&key(2000), &key(2040)),
    ];
    let (batches, requests, bytes) = asked(&file_system, || rows = together(&db, &options, &ranges, 8 << 20).len());
    assert_eq!((rows, batches, requests), (100, 1, tables_between(&db, 2000, 2040)));
    assert!(bytes <= 50 * 130, "{bytes} bytes");
    assert_eq!(asked(&file_system, || rows = together(&db, &options, &[], 8 << 20).len()), (0, 0, 0));
    let empty = [ScanRange::new(&key(50), &key(50)), ScanRange::new(&key(60), &key(50)), ScanRange::new(b"z", b"zz")];
    assert_eq!(asked(&file_system, || rows = together(&db, &options, &empty, 8 << 20).len()), (0, 0, 0));
    assert_eq!(rows, 0);
}

#[test]
fn all_tables_of_all_ranges_share_a_batch() {
    let file_system = MemoryFileSystem::new();
    let db = tables(&file_system, 3);
    let exact = ReadOptions { io_gap_bytes: 0, ..ReadOptions::default() };
    let ranges: Vec<ScanRange> =
        (0..8u64).map(|index| index * 960 + 100).map(|at| ScanRange::new(&key(at), &key(at + 10))).collect();
    let (batches, requests, _) = asked(&file_system, || assert_eq!(together(&db, &exact, &ranges, 8 << 20).len(), 80));
    let tables = (0..8u64).map(|index| index * 960 + 100).map(|at| tables_between(&db, at, at + 10)).sum();
    assert_eq!((batches, requests), (1, tables));
    // With little memory they are planned in turn, and read no more.
    let (batches, requests, _) = asked(&file_system, || assert_eq!(together(&db, &exact, &ranges, 3000).len(), 80));
    assert!(batches > 1 && requests == tables, "{batches} batches, {requests} requests");
}

#[test]
fn an_error_ends_its_own_range() {
    let faulty = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let mut family = family_options();
    family.table.no_block_cache = true;
    let options = options_on(Arc::new(faulty.clone()));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    (0..2000).for_each(|number| db.put(&key(number), &[b'v'; 100]).unwrap());
    db.flush().unwrap();
    assert!(db.get(&key(1)).unwrap().is_some(), "the table is open");
    let exact = ReadOptions { io_gap_bytes: 0, ..ReadOptions::default() };
    let ranges: Vec<ScanRange> =
        (0..8u64).map(|index| ScanRange::new(&key(index * 200), &key(index * 200 + 10))).collect();
    // The third read fails, and so does the attempt to make it alone.
    for trigger in [Trigger::Nth(3), Trigger::From(3)] {
        let rule = faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Io).when(trigger));
        let mut scan = db.multi_scan(&exact, &ranges);
        let (mut rows, mut errors) = (0, 0);
        while let Some(row) = scan.next_row() {
            match row {
                Ok(row) => {
                    assert_eq!(row.key, key(row.range as u64 * 200 + rows % 10));
                    rows += 1;
                }
                Err(error) => {
                    assert!(error.to_string().contains(".sst"), "{error}");
                    errors += 1;
                }
            }
        }
        assert_eq!(rows + 10 * errors, 80);
        assert_eq!(errors, if matches!(trigger, Trigger::Nth(_)) { 0 } else { 6 }, "{trigger:?}");
        faulty.remove_rule(rule);
    }
    assert_eq!(together(&db, &exact, &ranges, 8 << 20).len(), 80);
}

#[test]
fn it_shows_one_moment_and_outlives_the_database() {
    let db = Db::open_cf(
        "/db",
        options_on(Arc::new(MemoryFileSystem::new())),
        vec![("default".to_owned(), family_options())],
    )
    .unwrap()
    .0;
    (0..1000).for_each(|number| db.put(&key(number), b"old").unwrap());
    db.flush().unwrap();
    let ranges: Vec<ScanRange> =
        (0..500u64).map(|index| ScanRange::new(&key(index * 2), &key(index * 2 + 1))).collect();
    let family = db.default_column_family().unwrap();
    let mut scan = db.multi_scan_cf(&family, &ReadOptions::default(), &ranges);
    assert_eq!(scan.next_row().unwrap().unwrap().key, key(0));
    (0..1000).for_each(|number| db.put_cf(&family, &key(number), b"new", &WriteOptions::default()).unwrap());
    db.flush().unwrap();
    drop((db, family));
    let mut rows = 1;
    while let Some(row) = scan.next_row() {
        let row = row.unwrap();
        assert_eq!((row.range, row.value), (rows, &b"old"[..]));
        rows += 1;
    }
    assert_eq!(rows, 500);
}

#[test]
fn tables_behind_the_limit_are_left_unread() {
    let file_system = MemoryFileSystem::new();
    let mut family = family_options();
    family.table.no_block_cache = true;
    let options = options_on(Arc::new(file_system.clone()));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    for table in 0..4u64 {
        (table * 1000..table * 1000 + 500).for_each(|number| db.put(&key(number), &[b'v'; 100]).unwrap());
        db.flush().unwrap();
        assert!(db.get(&key(table * 1000)).unwrap().is_some(), "the table is open");
    }
    assert_eq!(db.live_files().len(), 4);
    let exact = ReadOptions { io_gap_bytes: 0, ..ReadOptions::default() };
    let from = |at: u64, rows| ScanRange { lower: Some(key(at)), upper: None, limit: 0 }.with_limit(rows);
    // Each of them begins in a table, and ends there.
    let ranges: Vec<ScanRange> = (0..4u64).map(|table| from(table * 1000 + 100, 20)).collect();
    let (batches, requests, _) = asked(&file_system, || assert_eq!(together(&db, &exact, &ranges, 8 << 20).len(), 80));
    assert_eq!((batches, requests), (1, 4));
    // This one goes on in the next, which is read when it comes there.
    let ranges = [from(1490, 20)];
    let (_, requests, _) = asked(&file_system, || assert_eq!(together(&db, &exact, &ranges, 8 << 20).len(), 20));
    assert_eq!(requests, 2);
    // The same by iterators.
    for (at, rows, expected) in [(100u64, 20, 1), (1490, 20, 2), (700, 1, 1), (3000, 400, 1)] {
        let options = ReadOptions { limit_hint: rows, ..exact.clone() };
        let (_, requests, _) = asked(&file_system, || {
            let mut iter = db.iter(&options);
            iter.seek(&key(at));
            for _ in 1..rows {
                iter.next();
            }
            assert!(iter.valid());
        });
        assert_eq!(requests, expected, "{rows} rows from {at}");
    }
}
