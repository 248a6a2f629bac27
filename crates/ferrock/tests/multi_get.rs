//! Lookups of many keys: they find what lookups one by one find, they read in as few batches as their keys need, and a
//! block that cannot be read fails its own keys and no others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{key, options_on, slices};
use ferrock::options::{CompressionType, FilterPolicy, MergeOperator, ReadTier};
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, ReadOptions, WriteOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, IoSnapshot, MemoryFileSystem, OperationKind,
    PosixFileSystem, Trigger,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.compression = CompressionType::NoCompression;
    options.disable_auto_compactions = true;
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options.filter_policy = FilterPolicy::bloom(10.0);
    options.table.block_size = 512;
    options
}

fn partitioned(mut options: ColumnFamilyOptions) -> ColumnFamilyOptions {
    options.table.index_type = IndexType::TwoLevelIndexSearch;
    options.table.partition_filters = true;
    options.table.partition_from_level = PartitionFromLevel::Level(0);
    options.table.metadata_block_size = 256;
    options.table.cache_index_and_filter_blocks = true;
    options.table.pin_top_level_index_and_filter = false;
    options
}

fn cache_of(capacity_bytes: usize, strict_capacity_limit: bool) -> Arc<TableBlockCache> {
    TableBlockCache::new(CacheOptions { capacity_bytes, strict_capacity_limit, ..CacheOptions::default() })
}

type Found = Result<Option<Vec<u8>>, ferrock::Error>;

fn multi_get(db: &Db, family: &ColumnFamily, options: &ReadOptions, keys: &[Vec<u8>]) -> Vec<Found> {
    let results = db.multi_get_cf(family, options, &slices(keys));
    results.into_iter().map(|result| result.map(|value| value.map(|value| value.into_vec()))).collect()
}

/// What was asked of the file system during `action`.
fn asked(file_system: &dyn FileSystem, action: impl FnOnce()) -> (u64, u64) {
    let before: IoSnapshot = file_system.counters().snapshot();
    action();
    let after = file_system.counters().snapshot();
    assert_eq!(after.read_requests - before.read_requests, after.batch_requests - before.batch_requests, "none alone");
    (after.batches - before.batches, after.batch_requests - before.batch_requests)
}

const KEYS: u64 = 400;

/// Writes of every kind, with flushes and compactions between them; snapshots of some moments.
fn random_database(db: &Db, families: &[ColumnFamily], random: &mut Random) -> Vec<ferrock::Snapshot> {
    let write = WriteOptions::default();
    let mut snapshots = Vec::new();
    for step in 0..1500u32 {
        let family = &families[random.below(families.len() as u64) as usize];
        let number = random.below(KEYS);
        match random.below(1000) {
            0..=499 => {
                let value = format!("v{step}-").repeat(1 + random.below(12) as usize);
                db.put_cf(family, &key(number), value.as_bytes(), &write).unwrap();
            }
            500..=799 => {
                // Some keys get so many operands that they span blocks.
                let number = if number.is_multiple_of(4) { number / 40 } else { number };
                db.merge_cf(family, &key(number), format!("m{step}").repeat(9).as_bytes(), &write).unwrap();
            }
            800..=949 => db.delete_cf(family, &key(number), &write).unwrap(),
            950..=969 => db.delete_range_cf(family, &key(number), &key(number + random.below(30)), &write).unwrap(),
            970..=979 => snapshots.push(db.snapshot()),
            980..=995 => db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap(),
            _ => {
                let (from, to) = (key(random.below(KEYS)), key(random.below(KEYS)));
                let range = if random.below(3) == 0 { (None, None) } else { (Some(&from[..]), Some(&to[..])) };
                if range.0 <= range.1 {
                    db.compact_range_cf(family, range.0, range.1, &Default::default()).unwrap();
                }
            }
        }
    }
    snapshots
}

/// One database's arrangement: how its blocks are cached, and its table options.
fn arrangements(seed: u64) -> (Option<Arc<TableBlockCache>>, ColumnFamilyOptions) {
    let mut options = if seed.is_multiple_of(3) { family_options() } else { partitioned(family_options()) };
    options.target_file_size_base = 4 << 10;
    options.table.block_size = [256, 512, 4096][(seed % 3) as usize];
    if seed.is_multiple_of(4) {
        options.compression = CompressionType::Lz4;
    }
    if seed.is_multiple_of(7) {
        options.filter_policy = FilterPolicy::None;
    }
    let cache = match seed % 4 {
        0 => None,
        1 => Some(cache_of(8 << 10, false)),
        2 => Some(cache_of(2 << 10, true)),
        _ => Some(cache_of(8 << 20, false)),
    };
    options.table.no_block_cache = cache.is_none();
    options.table.cache_index_and_filter_blocks &= cache.is_some();
    (cache, options)
}

fn check_one_database(file_system: Arc<dyn FileSystem>, directory: &Path, seed: u64, direct: bool) {
    let (cache, family) = arrangements(seed);
    let mut options = options_on(file_system);
    options.use_direct_reads = direct;
    options.components.block_cache = cache;
    let names = [("default".to_owned(), family.clone()), ("second".to_owned(), family)];
    let (db, families) = Db::open_cf(directory, options, names.to_vec()).unwrap();
    let mut random = Random::new(seed);
    let snapshots = random_database(&db, &families, &mut random);
    let mut found = 0;
    for round in 0..60 {
        let keys: Vec<Vec<u8>> = (0..random.below(80)).map(|_| key(random.below(KEYS + 40))).collect();
        let read = ReadOptions {
            snapshot: (!snapshots.is_empty() && round % 2 == 0)
                .then(|| snapshots[random.below(snapshots.len() as u64) as usize].clone()),
            fill_cache: round % 5 != 1,
            verify_checksums: round % 7 != 2,
            ..ReadOptions::default()
        };
        let one = |family: &ColumnFamily, key: &[u8]| db.get_cf(family, &read, key).unwrap().map(|v| v.into_vec());
        let family = &families[round % 2];
        for (key, value) in keys.iter().zip(multi_get(&db, family, &read, &keys)) {
            found += usize::from(value.as_ref().unwrap().is_some());
            assert_eq!(value.unwrap(), one(family, key), "seed {seed}, round {round}, {}", key.escape_ascii());
        }
        let mixed: Vec<(&ColumnFamily, &[u8])> =
            keys.iter().map(|key| (&families[random.below(2) as usize], &key[..])).collect();
        for ((family, key), value) in mixed.iter().zip(db.multi_get_families(&read, &mixed)) {
            assert_eq!(value.unwrap().map(|v| v.into_vec()), one(family, key), "seed {seed}, round {round}");
        }
        // Without reading: what is said is right, and what is not there is not read.
        let cached = ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..read.clone() };
        for (key, value) in keys.iter().zip(multi_get(&db, family, &cached, &keys)) {
            match value {
                Ok(value) => assert_eq!(value, one(family, key)),
                Err(error) => assert_eq!(error.kind(), ferrock::ErrorKind::Incomplete, "{error}"),
            }
        }
    }
    assert!(found > 100, "seed {seed} finds {found}");
}

#[test]
fn many_keys_find_what_each_alone_finds() {
    for seed in 0..16 {
        check_one_database(Arc::new(MemoryFileSystem::new()), Path::new("/db"), seed, false);
    }
}

#[test]
fn so_they_do_with_every_backend_of_this_machine() {
    for backend in ["pread", "io_uring"] {
        let probe = PosixFileSystem::with_backend(Some(backend));
        if probe.io_backend() != backend {
            println!("this machine has no {backend}");
            continue;
        }
        for seed in 0..4 {
            let directory = tempfile::tempdir().unwrap();
            let file_system = Arc::new(PosixFileSystem::with_backend(Some(backend)));
            let probe = directory.path().join("probe");
            ferrock_vfs::write_file_synced(&*file_system, &probe, &[0; 4096]).unwrap();
            let direct = ferrock_vfs::RandomAccessOptions { direct: true, ..Default::default() };
            let takes_direct = file_system.open_random_access(&probe, &direct).is_ok();
            check_one_database(file_system, directory.path(), seed, takes_direct && seed % 2 == 1);
        }
    }
}

/// A database without a cache whose last level has many small tables.
fn one_level(file_system: &MemoryFileSystem, family: ColumnFamilyOptions) -> Db {
    let mut family = family;
    family.target_file_size_base = 16 << 10;
    family.table.no_block_cache = true;
    family.table.cache_index_and_filter_blocks = false;
    let options = options_on(Arc::new(file_system.clone()));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    for number in 0..4000 {
        db.put(&key(number), &[b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert!(db.live_files().len() >= 20, "{}", db.live_files().len());
    db
}

#[test]
fn one_level_is_one_batch_however_many_tables_it_has() {
    let file_system = MemoryFileSystem::new();
    let db = one_level(&file_system, family_options());
    // Far apart: a block each. Unsorted, some twice, some absent.
    let mut keys: Vec<Vec<u8>> = (0..32).map(|index| key((index * 1237) % 4000)).collect();
    keys.extend([key(0), key(5000), b"key000001x".to_vec()]);
    let read = || db.multi_get(&slices(&keys));
    drop(read());
    let found = |count: usize| {
        let results = read();
        assert_eq!(results.iter().filter(|result| result.as_ref().unwrap().is_some()).count(), count);
    };
    assert_eq!(asked(&file_system, || found(33)), (1, 32));
    // All of one block.
    let near: Vec<Vec<u8>> = (1000..1003).map(key).collect();
    let (batches, requests) = asked(&file_system, || drop(db.multi_get(&slices(&near))));
    assert!(batches == 1 && (1..=2).contains(&requests), "{requests}");
    // What the filters exclude is not read.
    let absent: Vec<Vec<u8>> = (0..100).map(|index| [&key(index * 40)[..], b"-"].concat()).collect();
    let (batches, requests) = asked(&file_system, || drop(db.multi_get(&slices(&absent))));
    assert!(batches <= 1 && requests <= 5, "{requests} false positives of 100");
    assert_eq!(asked(&file_system, || drop(db.multi_get(&[]))), (0, 0));
}

#[test]
fn there_are_as_many_batches_as_tables_on_the_longest_way() {
    let file_system = MemoryFileSystem::new();
    let mut family = family_options();
    family.filter_policy = FilterPolicy::None;
    let db = one_level(&file_system, family);
    // Three tables of level 0 that overlap everything, each with other keys: without filters all are read.
    for part in 0..3u64 {
        for number in (part..4000).step_by(50) {
            db.put(&key(number), &[b'0' + part as u8; 100]).unwrap();
        }
        db.put(&key(3999), b"").unwrap();
        db.flush().unwrap();
    }
    let value = |number: u64| db.get(&key(number)).unwrap().unwrap()[0];
    assert_eq!([value(0), value(1), value(2), value(3)], *b"012v");
    let batches_of = |numbers: &[u64]| {
        let keys: Vec<Vec<u8>> = numbers.iter().map(|&number| key(number)).collect();
        asked(&file_system, || drop(db.multi_get(&slices(&keys)))).0
    };
    assert_eq!(batches_of(&[2, 52, 102]), 1, "in the newest table");
    assert_eq!(batches_of(&[1, 51, 2]), 2);
    assert_eq!(batches_of(&[0, 50, 100, 1, 2]), 3);
    assert_eq!(batches_of(&[3, 1003, 2003, 3003, 0, 1, 2]), 4, "in the last level, through all three");
}

#[test]
fn partitions_are_read_in_batches_too() {
    let file_system = MemoryFileSystem::new();
    let mut family = partitioned(family_options());
    family.target_file_size_base = 16 << 10;
    let mut options = options_on(Arc::new(file_system.clone()));
    let cache = cache_of(8 << 20, false);
    options.components.block_cache = Some(Arc::clone(&cache));
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
    for number in 0..4000 {
        db.put(&key(number), &[b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let keys: Vec<Vec<u8>> = (0..32).map(|index| key(index * 120)).collect();
    let read = |read_options: &ReadOptions| {
        let results = db.multi_get_cf(&db.default_column_family().unwrap(), read_options, &slices(&keys));
        assert!(results.iter().all(|result| result.as_ref().unwrap().is_some()));
    };
    read(&ReadOptions::default());
    let warm = asked(&file_system, || read(&ReadOptions::default()));
    assert_eq!(warm, (0, 0), "all is cached");
    // Top levels, then partitions, of filters and indexes; then data: five at most.
    for fill_cache in [false, true] {
        cache.erase_unreferenced();
        let options = ReadOptions { fill_cache, ..ReadOptions::default() };
        let (batches, requests) = asked(&file_system, || read(&options));
        assert!((3..=5).contains(&batches), "{batches} batches");
        assert!(requests >= 32 * 2, "{requests} requests");
    }
}

#[test]
fn families_share_batches() {
    let file_system = MemoryFileSystem::new();
    let mut family = family_options();
    family.table.no_block_cache = true;
    let names = ["default", "b", "c"].map(|name| (name.to_owned(), family.clone()));
    let (db, families) = Db::open_cf("/db", options_on(Arc::new(file_system.clone())), names.to_vec()).unwrap();
    for (index, family) in families.iter().enumerate() {
        for number in 0..200 {
            let value = format!("{index}-{number}");
            db.put_cf(family, &key(number), value.as_bytes(), &WriteOptions::default()).unwrap();
        }
        db.flush_cf(family, &ferrock::FlushOptions::default()).unwrap();
    }
    let keys: Vec<Vec<u8>> = (0..30u64).map(|number| key(number * 7)).collect();
    let pairs: Vec<(&ColumnFamily, &[u8])> =
        keys.iter().enumerate().map(|(index, key)| (&families[index % 3], &key[..])).collect();
    let check = || {
        for (index, value) in db.multi_get_families(&ReadOptions::default(), &pairs).into_iter().enumerate() {
            let expected = (index * 7 < 200).then(|| format!("{}-{}", index % 3, index * 7).into_bytes());
            assert_eq!(value.unwrap().map(|value| value.into_vec()), expected);
        }
    };
    check();
    assert_eq!(asked(&file_system, check).0, 1);
    assert!(db.multi_get_families(&ReadOptions::default(), &[]).is_empty());
}

/// What one batch wrote to several families is seen whole or not at all, also while their memtables change.
#[test]
fn families_are_read_as_of_one_moment() {
    let mut family = family_options();
    family.write_buffer_size = 64 << 10;
    let names = ["default", "b", "c"].map(|name| (name.to_owned(), family.clone()));
    let file_system = Arc::new(MemoryFileSystem::new());
    let (db, families) = Db::open_cf("/db", options_on(file_system), names.to_vec()).unwrap();
    let write = |round: u64| {
        let mut batch = ferrock::WriteBatch::new();
        // Few of them fill a memtable.
        let value = [round.to_le_bytes().as_slice(), &vec![b'v'; 20_000]].concat();
        for family in &families {
            batch.put_cf(family.id(), b"k", &value).unwrap();
        }
        db.write(batch, &WriteOptions::default()).unwrap();
    };
    write(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..4000).for_each(write));
        let pairs: Vec<(&ColumnFamily, &[u8])> = families.iter().map(|family| (family, &b"k"[..])).collect();
        let mut last = 0;
        while !writer.is_finished() {
            let found = db.multi_get_families(&ReadOptions::default(), &pairs).into_iter();
            let rounds: Vec<u64> =
                found.map(|value| u64::from_le_bytes(*value.unwrap().unwrap().first_chunk().unwrap())).collect();
            assert!(rounds.iter().all(|round| *round == rounds[0]) && rounds[0] >= last, "{rounds:?} after {last}");
            last = rounds[0];
        }
    });
}

#[test]
fn a_block_that_cannot_be_read_fails_its_own_keys() {
    for fault in [Fault::Io, Fault::BitFlip { seed: 5 }, Fault::ShortRead { kept_bytes: 50 }] {
        for cached in [false, true] {
            let faulty = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
            let mut options = options_on(Arc::new(faulty.clone()));
            options.components.block_cache = Some(cache_of(1 << 20, false));
            let mut family = family_options();
            family.table.no_block_cache = !cached;
            let db = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0;
            for number in 0..1000 {
                db.put(&key(number), format!("{number}").repeat(20).as_bytes()).unwrap();
            }
            db.flush().unwrap();
            assert!(db.get(&key(999)).unwrap().is_some(), "the table is open");
            // Pairs of neighbours, a block or two for each.
            let numbers: Vec<u64> = (0..20u64).flat_map(|pair| [pair * 40, pair * 40 + 1]).collect();
            let keys: Vec<Vec<u8>> = numbers.iter().map(|&number| key(number)).collect();
            let rule = FaultRule::new(OperationKind::Read, "*.sst", fault).when(Trigger::Nth(7));
            let rule = faulty.add_rule(rule);
            let mut failed = BTreeSet::new();
            let family = db.default_column_family().unwrap();
            for (number, result) in numbers.iter().zip(multi_get(&db, &family, &ReadOptions::default(), &keys)) {
                match result {
                    Ok(value) => assert_eq!(value.unwrap(), format!("{number}").repeat(20).as_bytes()),
                    Err(error) => {
                        assert!(error.to_string().contains(".sst"), "{error}");
                        failed.insert(number / 40);
                    }
                }
            }
            assert_eq!(faulty.remove_rule(rule), Some(1));
            assert_eq!(failed.len(), 1, "{fault:?}: {failed:?}");
            // Nothing of it stays behind.
            for (number, result) in numbers.iter().zip(multi_get(&db, &family, &ReadOptions::default(), &keys)) {
                assert_eq!(result.unwrap().unwrap(), format!("{number}").repeat(20).as_bytes());
            }
        }
    }
}

/// With few files open, a lookup that may not read ends at the first table that is not open, in a batch as alone.
#[test]
fn a_batch_that_may_not_read_opens_no_table() {
    let mut options = options_on(Arc::new(MemoryFileSystem::new()));
    options.max_open_files = 20;
    let db = Db::open_cf("/db", options, vec![("default".to_owned(), family_options())]).unwrap().0;
    let tables = 45;
    for table in 0..tables {
        for shared in 0..4 {
            db.merge(&key(shared), b"operand").unwrap();
        }
        db.put(&key(100 + table), b"value").unwrap();
        db.flush().unwrap();
    }
    let keys: Vec<Vec<u8>> = (0..4).chain(100..100 + tables).map(key).collect();
    let mut random = Random::new(3);
    let in_memory = ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..ReadOptions::default() };
    let family = db.default_column_family().unwrap();
    let mut incomplete = 0;
    for _ in 0..60 {
        // Other tables are open each time, and all blocks are in the cache.
        for _ in 0..random.below(30) {
            db.get(&keys[random.below(keys.len() as u64) as usize]).unwrap();
        }
        db.get(&keys[0]).unwrap();
        db.get(&key(99 + tables - random.below(8))).unwrap();
        let said = |result: ferrock::Result<Option<ferrock::PinnedSlice>>| {
            result.map(|value| value.map(|value| value.to_vec())).map_err(|error| error.to_string())
        };
        let alone = || keys.iter().map(|key| said(db.get_with(&in_memory, key))).collect::<Vec<_>>();
        let before = alone();
        let batch: Vec<_> = db.multi_get_cf(&family, &in_memory, &slices(&keys)).into_iter().map(said).collect();
        assert_eq!(batch, before);
        assert_eq!(alone(), before, "the same tables are open");
        incomplete += batch.iter().filter(|result| result.is_err()).count();
    }
    assert!(incomplete > 100, "{incomplete}");
}
