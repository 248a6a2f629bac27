//! Values that are written to blob files at once: read in every way, through crashes, faults and flushes, with the
//! books of the blob files looked at.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::threads::wait_until;
use common::{Contents, books, contents, key, options_on, rows_backward};
use ferrock::options::{BlobFilePartitionStrategy, WalRecoveryMode};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, FlushOptions, ReadOptions,
    WriteBatch, WriteOptions,
};
use ferrock_base::FileNumber;
use ferrock_base::clock::ManualClock;
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_cache::CacheOptions;
use ferrock_format::blob_index::BlobReference;
use ferrock_format::compression::CompressionType;
use ferrock_format::wide_column::{WideColumn, encode_columns};
use ferrock_table::TableBlockCache;
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
    read_file,
};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const PATH: &str = "/db";
const WAL_MODES: [WalRecoveryMode; 4] = [
    WalRecoveryMode::TolerateCorruptedTailRecords,
    WalRecoveryMode::AbsoluteConsistency,
    WalRecoveryMode::PointInTimeRecovery,
    WalRecoveryMode::SkipAnyCorruptedRecords,
];

fn db_options(file_system: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = options_on(file_system);
    options.allow_concurrent_memtable_write = false;
    options
}

fn family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.enable_blob_files = true;
    family.enable_blob_direct_write = true;
    family.min_blob_size = 100;
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family
}

fn open_as(options: DbOptions, family: ColumnFamilyOptions) -> Db {
    Db::open_cf(PATH, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn open(file_system: &MemoryFileSystem) -> Db {
    open_as(db_options(Arc::new(file_system.clone())), family())
}

fn put_with(db: &Db, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<(), ferrock::Error> {
    db.put_cf(&db.default_column_family()?, key, value, options)
}

/// A large value, which is not that of another number.
fn value(number: u64) -> Vec<u8> {
    format!("{number:010}").repeat(20 + (number % 7) as usize).into_bytes()
}

fn blobs(file_system: &MemoryFileSystem) -> BTreeSet<u64> {
    books::blob_files(file_system, Path::new(PATH))
}

fn check_books(what: &str, file_system: &MemoryFileSystem) {
    books::check_books(what, file_system, Path::new(PATH), &BTreeSet::new());
    books::check_directory(what, file_system, Path::new(PATH), &BTreeSet::new());
}

fn log_bytes(file_system: &MemoryFileSystem) -> u64 {
    let names = file_system.children(Path::new(PATH)).unwrap();
    let logs = names.iter().filter(|name| name.ends_with(".log"));
    logs.map(|name| file_system.file_size(&Path::new(PATH).join(name)).unwrap()).sum()
}

/// Every way of reading gives `wanted`.
fn check(what: &str, db: &Db, wanted: &Contents) {
    assert!(contents(db, &ReadOptions::default()) == *wanted, "{what}: scan");
    let backward = rows_backward(db.iter(&ReadOptions::default()));
    assert!(backward.into_iter().eq(wanted.clone()), "{what}: backward");
    let keys: Vec<&[u8]> = wanted.keys().map(|key| &key[..]).collect();
    for (key, read) in keys.iter().zip(db.multi_get(&keys)) {
        assert_eq!(read.unwrap().as_deref(), Some(&wanted[*key][..]), "{what}: multi_get");
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&wanted[*key][..]), "{what}: get");
        let read = smol::block_on(db.get_async(&ReadOptions::default(), key)).unwrap();
        assert_eq!(read.as_deref(), Some(&wanted[*key][..]), "{what}: get_async");
    }
    let batch = smol::block_on(db.multi_get_async(&ReadOptions::default(), &keys));
    for (key, read) in keys.iter().zip(batch) {
        assert_eq!(read.unwrap().as_deref(), Some(&wanted[*key][..]), "{what}: multi_get_async");
    }
}

#[test]
fn large_values_go_to_blob_files_and_small_ones_to_the_log() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let mut wanted = Contents::new();
    for number in 0..50 {
        db.put(&key(number), &value(number)).unwrap();
        wanted.insert(key(number), value(number));
        check("while it is written", &db, &wanted);
    }
    db.put(b"small", b"value").unwrap();
    db.put(b"empty", b"").unwrap();
    wanted.insert(b"small".to_vec(), b"value".to_vec());
    wanted.insert(b"empty".to_vec(), Vec::new());
    let values: u64 = (0..50).map(|number| value(number).len() as u64).sum();
    assert_eq!(blobs(&files).len(), 1);
    assert!(log_bytes(&files) < values / 3, "{} {values}", log_bytes(&files));
    let memory = db.property("rocksdb.cur-size-active-mem-table").unwrap().parse::<u64>().unwrap();
    assert!(memory < 6000, "{memory}");
    let blob = Path::new(PATH).join(format!("{:06}.blob", blobs(&files).first().unwrap()));
    assert!(files.file_size(&blob).unwrap() > values);
    check("in the memtable", &db, &wanted);
    db.flush().unwrap();
    assert_eq!(blobs(&files).len(), 1, "a flush writes no value a second time");
    check("in a table", &db, &wanted);
    let before = db.get(b"key000001").unwrap().unwrap().to_vec();
    assert_eq!(before, value(1));
    db.verify_checksum().unwrap();
    db.close().unwrap();
    check_books("closed", &files);
    check("opened again", &open(&files), &wanted);
}

#[test]
fn a_batch_comes_back_as_it_was() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"small").unwrap();
    batch.put(b"b", &value(7)).unwrap();
    batch.merge(b"b", &value(8)).unwrap();
    batch.delete(b"c").unwrap();
    batch.put_log_data(b"data").unwrap();
    let records = batch.records().to_vec();
    db.write_lent(&mut batch, &WriteOptions::default()).unwrap();
    assert_eq!((batch.records(), batch.count()), (&records[..], 4));
    let merged = [value(7), b",".to_vec(), value(8)].concat();
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&merged[..]));
    db.flush().unwrap();
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&merged[..]));
    db.close().unwrap();
    check_books("a merge over a value", &files);
}

#[test]
fn snapshots_iterators_and_collection_keep_what_they_need() {
    let files = MemoryFileSystem::new();
    let mut family = family();
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 1.0;
    let db = open_as(db_options(Arc::new(files.clone())), family);
    let mut old = Contents::new();
    for number in 0..40 {
        db.put(&key(number), &value(number)).unwrap();
        old.insert(key(number), value(number));
    }
    let snapshot = db.snapshot();
    // It has the memtable, and no version that has the blob file.
    let iter = db.iter(&ReadOptions::default());
    let mut new = Contents::new();
    for number in 0..40 {
        db.put(&key(number), &value(number + 100)).unwrap();
        new.insert(key(number), value(number + 100));
    }
    db.flush().unwrap();
    drop(snapshot);
    for _ in 0..2 {
        db.put(b"key0", b"x").unwrap();
        db.delete(b"key0").unwrap();
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
    }
    db.wait_for_background_work().unwrap();
    check("collected", &db, &new);
    assert!(common::rows_of(iter) == old, "an iterator finds the values that its memtable refers to");
    db.put(b"key0", b"x").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    check_books("closed", &files);
}

#[test]
fn what_no_table_refers_to_is_garbage_from_the_start() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    for round in 0..4 {
        for number in 0..20 {
            db.put(&key(number), &value(number + round)).unwrap();
        }
    }
    (0..5).for_each(|number| db.delete(&key(number)).unwrap());
    db.flush().unwrap();
    let number = |name: &str| db.property(name).unwrap().parse::<u64>().unwrap();
    let (live, garbage) = (number("rocksdb.live-blob-file-size"), number("rocksdb.live-blob-file-garbage-size"));
    assert!(garbage > live / 2, "{garbage} of {live}");
    // A file of which nothing is left at all is not even told to the MANIFEST, and goes.
    for round in 0..2 {
        db.put(b"k", &value(round)).unwrap();
        db.delete(b"k").unwrap();
        db.flush().unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    check_books("closed", &files);
}

#[test]
fn files_are_ended_at_their_size_and_shared_out_to_partitions() {
    for (partitions, size, kind) in
        [(1, 1000, CompressionType::NoCompression), (3, 1 << 20, CompressionType::Lz4), (2, 1, CompressionType::Zstd)]
    {
        let files = MemoryFileSystem::new();
        let mut family = family();
        family.blob_direct_write_partitions = partitions;
        family.blob_file_size = size;
        family.blob_compression_type = kind;
        let db = open_as(db_options(Arc::new(files.clone())), family.clone());
        let mut wanted = Contents::new();
        for number in 0..30 {
            db.put(&key(number), &value(number)).unwrap();
            wanted.insert(key(number), value(number));
        }
        let count = blobs(&files).len();
        assert!(if size > 10_000 { count == partitions as usize } else { count > 7 }, "{count}");
        check("written", &db, &wanted);
        let killed = files.crash_clone(CrashPolicy::KeepAll);
        db.flush().unwrap();
        check("flushed", &db, &wanted);
        db.close().unwrap();
        check_books("closed", &files);
        let db = open_as(db_options(Arc::new(killed.clone())), family);
        check("killed", &db, &wanted);
        db.close().unwrap();
        check_books("killed and closed", &killed);
    }
}

/// What a strategy was asked: partitions, family, key, and the values of an entity or the one of a put.
type Question = (u32, u32, Vec<u8>, Vec<Vec<u8>>);

/// Gives all values of keys that begin with `d` the same file.
#[derive(Default)]
struct DoomedTogether(Mutex<Vec<Question>>);

impl DoomedTogether {
    fn choose(&self, partitions: u32, family: u32, key: &[u8], values: &[&[u8]]) -> u32 {
        self.0.lock().push((partitions, family, key.to_vec(), values.iter().map(|value| value.to_vec()).collect()));
        if key.starts_with(b"d") { 7 } else { u32::MAX - 1 - u32::from(key[0] % 2) * 2 }
    }
}

impl BlobFilePartitionStrategy for DoomedTogether {
    fn name(&self) -> &str {
        "DoomedTogether"
    }

    fn select_partition(&self, partitions: u32, family: u32, key: &[u8], value: &[u8]) -> u32 {
        self.choose(partitions, family, key, &[value])
    }

    fn select_partition_of_entity(&self, partitions: u32, family: u32, key: &[u8], columns: &[(&[u8], &[u8])]) -> u32 {
        let values: Vec<&[u8]> = columns.iter().map(|column| column.1).collect();
        self.choose(partitions, family, key, &values)
    }
}

#[test]
fn a_strategy_chooses_the_file_of_each_value() {
    let files = MemoryFileSystem::new();
    let strategy = Arc::new(DoomedTogether::default());
    let mut family = family();
    family.blob_direct_write_partitions = 3;
    family.blob_compression_type = CompressionType::Lz4;
    family.blob_direct_write_partition_strategy = Some(Arc::<DoomedTogether>::clone(&strategy));
    family.disable_auto_compactions = true;
    let db = open_as(db_options(Arc::new(files.clone())), family);
    for number in 0..10 {
        db.put(format!("d{number}").as_bytes(), &value(number)).unwrap();
        db.put(format!("a{number}").as_bytes(), &value(number)).unwrap();
        db.put(format!("b{number}").as_bytes(), b"small: nothing is asked").unwrap();
    }
    let asked = std::mem::take(&mut *strategy.0.lock());
    assert_eq!(asked.len(), 20);
    assert_eq!(asked[0], (3, 0, b"d0".to_vec(), vec![value(0)]), "the value before its compression");
    assert_eq!(blobs(&files).len(), 2, "7 % 3, and (u32::MAX - 3) % 3");
    let log = read_file(&files, Path::new("/db/LOG")).unwrap();
    assert!(String::from_utf8_lossy(&log).contains("blob_direct_write_partition_strategy: DoomedTogether"));
    // An entity is asked for once, with all of its columns.
    let mut batch = WriteBatch::new();
    let (large, other) = (value(1), value(2));
    batch.put_entity(b"d-entity", &[(b"", b"small"), (b"b", &large), (b"c", &other)]).unwrap();
    batch.put_entity(b"small", &[(b"", b"small"), (b"b", b"too")]).unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    let asked = std::mem::take(&mut *strategy.0.lock());
    assert_eq!(asked, [(3, 0, b"d-entity".to_vec(), vec![b"small".to_vec(), large.clone(), other.clone()])]);
    db.flush().unwrap();
    let before = blobs(&files);
    assert_eq!(before.len(), 2);
    // What dies together takes its file along, and nothing is copied.
    db.delete_range(b"d", b"e").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let after = blobs(&files);
    assert!(after.len() == 1 && after.is_subset(&before), "{before:?}, {after:?}");
    for number in 0..10 {
        assert_eq!(db.get(format!("a{number}").as_bytes()).unwrap().as_deref(), Some(&value(number)[..]));
    }
    db.close().unwrap();
    check_books("closed", &files);
}

/// Unless a strategy says otherwise, an entity goes where its default column would, or its first one.
#[test]
fn an_entity_goes_where_its_first_column_goes() {
    struct ByLength;
    impl BlobFilePartitionStrategy for ByLength {
        fn name(&self) -> &str {
            "ByLength"
        }
        fn select_partition(&self, _: u32, _: u32, _: &[u8], value: &[u8]) -> u32 {
            value.len() as u32
        }
    }
    let of = |columns: &[(&[u8], &[u8])]| ByLength.select_partition_of_entity(9, 0, b"k", columns);
    assert_eq!((of(&[(b"", b"five!"), (b"a", b"x")]), of(&[(b"a", b"x"), (b"b", b"yy")]), of(&[])), (5, 1, 0));
}

#[test]
fn columns_of_entities_are_values() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let (large, larger) = (value(1), value(6));
    let mut batch = WriteBatch::new();
    batch.put_entity(b"entity", &[(b"", &large), (b"b", b"small"), (b"c", &larger)]).unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    let wanted = Some(large.clone());
    let read = |db: &Db| db.get(b"entity").unwrap().map(|value| value.to_vec());
    assert!(log_bytes(&files) < 300, "{}", log_bytes(&files));
    assert_eq!(read(&db), wanted);
    let killed = files.crash_clone(CrashPolicy::KeepAll);
    db.flush().unwrap();
    assert_eq!(read(&db), wanted);
    db.close().unwrap();
    check_books("closed", &files);
    let db = open(&killed);
    assert_eq!(read(&db), wanted);
    db.close().unwrap();
    check_books("killed", &killed);
}

/// A process that dies loses nothing that the operating system has, whatever the recovery mode.
#[test]
fn a_killed_process_loses_nothing() {
    for mode in WAL_MODES {
        for (manual, disable_wal) in [(false, false), (true, false), (false, true)] {
            let what = format!("{mode:?} {manual} {disable_wal}");
            let files = MemoryFileSystem::new();
            let options = |files: &MemoryFileSystem| {
                let mut options = db_options(Arc::new(files.clone()));
                options.wal_recovery_mode = mode;
                options.manual_wal_flush = manual;
                options.avoid_flush_during_recovery = true;
                options
            };
            let mut family = family();
            family.blob_file_size = 3000;
            let db = open_as(options(&files), family.clone());
            let write = WriteOptions { disable_wal, ..WriteOptions::default() };
            let mut wanted = Contents::new();
            for number in 0..30 {
                let mut batch = WriteBatch::new();
                batch.put(&key(number), &value(number)).unwrap();
                batch.put(&key(number + 100), b"small").unwrap();
                db.write(batch, &write).unwrap();
                if number < 20 || !(manual || disable_wal) {
                    wanted.insert(key(number), value(number));
                    wanted.insert(key(number + 100), b"small".to_vec());
                }
                if number == 19 && manual {
                    db.flush_wal(false).unwrap();
                }
                if number == 19 && disable_wal {
                    db.flush().unwrap();
                }
            }
            let killed = files.crash_clone(CrashPolicy::KeepAll);
            drop(db);
            for round in 0..3 {
                let db = open_as(options(&killed), family.clone());
                check(&format!("{what} {round}"), &db, &wanted);
                db.close().unwrap();
                check_books(&what, &killed);
            }
        }
    }
}

/// What was synced survives, and of the rest a prefix, with every value that a key has.
#[test]
fn a_machine_that_stops_loses_nothing_that_was_synced() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let mode = [WAL_MODES[0], WAL_MODES[2], WAL_MODES[3]][random.below(3) as usize];
        let files = MemoryFileSystem::new();
        files.create_dir_all(Path::new(PATH)).unwrap();
        files.sync_dir(Path::new("/")).unwrap();
        let options = |files: &MemoryFileSystem| {
            let mut options = db_options(Arc::new(files.clone()));
            options.wal_recovery_mode = mode;
            options
        };
        let mut family = family();
        family.blob_file_size = [500, 3000, 1 << 20][random.below(3) as usize];
        family.blob_direct_write_partitions = 1 + random.below(3) as u32;
        let db = open_as(options(&files), family.clone());
        let (count, mut durable) = (20 + random.below(20), 0);
        for number in 0..count {
            let sync = random.below(6) == 0;
            put_with(&db, &key(number), &value(number), &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
            let flush = random.below(15) == 0;
            if flush {
                db.flush().unwrap();
            }
            let is_log_synced = random.below(15) == 0;
            if is_log_synced {
                db.sync_wal().unwrap();
            }
            if sync || flush || is_log_synced {
                durable = number + 1;
            }
        }
        for policy in [
            CrashPolicy::KeepNothingUnsynced,
            CrashPolicy::KeepSubset { seed },
            CrashPolicy::Torn { seed, granularity_bytes: 1 },
            CrashPolicy::Torn { seed, granularity_bytes: 512 },
            CrashPolicy::KeepAll,
        ] {
            let what = format!("seed {seed} {policy:?} {mode:?}");
            let crashed = files.crash_clone(policy);
            for round in 0..2 {
                let db = open_as(options(&crashed), family.clone());
                let found = contents(&db, &ReadOptions::default());
                for (position, (found, value_found)) in found.iter().enumerate() {
                    let number = String::from_utf8_lossy(&found[3..]).parse::<u64>().unwrap();
                    assert_eq!(*value_found, value(number), "{what}");
                    let is_prefix = number == position as u64;
                    assert!(is_prefix || mode == WalRecoveryMode::SkipAnyCorruptedRecords, "{what}: {number}");
                    assert_eq!(db.get(found).unwrap().as_deref(), Some(&value(number)[..]), "{what}");
                }
                assert!((0..durable).all(|number| found.contains_key(&key(number))), "{what} {round}: {}", found.len());
                db.close().unwrap();
            }
            check_books(&what, &crashed);
        }
    }
}

/// Faults of blob files: nothing that was acknowledged is lost, and what comes after `resume` goes on.
#[test]
fn a_blob_file_that_fails_loses_nothing() {
    let kinds = [
        (OperationKind::Append, Fault::Io),
        (OperationKind::Append, Fault::ShortWrite { kept_bytes: 50 }),
        (OperationKind::Append, Fault::ShortWrite { kept_bytes: 3 }),
        (OperationKind::Create, Fault::NoSpace),
        (OperationKind::Sync, Fault::Io),
    ];
    for (kind, fault) in kinds {
        for sync in [false, true] {
            for first in [0, 5] {
                let what = format!("{kind:?} {fault:?} sync={sync} {first}");
                let memory = MemoryFileSystem::new();
                memory.create_dir_all(Path::new(PATH)).unwrap();
                memory.sync_dir(Path::new("/")).unwrap();
                let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
                let mut options = db_options(Arc::clone(&faults) as Arc<dyn FileSystem>);
                options.max_bgerror_resume_count = 0;
                let db = open_as(options, family());
                let write = WriteOptions { sync, ..WriteOptions::default() };
                let mut wanted = Contents::new();
                for number in 0..first {
                    put_with(&db, &key(number), &value(number), &write).unwrap();
                    wanted.insert(key(number), value(number));
                }
                let rule = faults.add_rule(FaultRule::new(kind, "*.blob", fault));
                let mut failed = false;
                for number in 10..13 {
                    match put_with(&db, &key(number), &value(number), &write) {
                        Ok(()) => drop(wanted.insert(key(number), value(number))),
                        Err(_) => failed = true,
                    }
                }
                let is_hit = match kind {
                    OperationKind::Create => first == 0,
                    OperationKind::Sync => sync,
                    _ => true,
                };
                assert_eq!(failed, is_hit, "{what}");
                faults.remove_rule(rule);
                check(&what, &db, &wanted);
                let killed = memory.crash_clone(CrashPolicy::KeepAll);
                if failed {
                    db.resume().unwrap_or_else(|error| panic!("{what}: {error}"));
                }
                db.put(b"later", &value(99)).unwrap();
                wanted.insert(b"later".to_vec(), value(99));
                check(&format!("{what}: resumed"), &db, &wanted);
                db.flush().unwrap();
                check(&format!("{what}: flushed"), &db, &wanted);
                let crashed = memory.crash_clone(CrashPolicy::KeepNothingUnsynced);
                db.close().unwrap();
                check_books(&what, &memory);
                let db = open(&crashed);
                check(&format!("{what}: crashed"), &db, &wanted);
                db.close().unwrap();
                wanted.remove(&b"later"[..]);
                // A write that failed may be there or not.
                let db = open(&killed);
                let found = contents(&db, &ReadOptions::default());
                assert!(wanted.iter().all(|(key, value)| found.get(key) == Some(value)), "{what}: killed");
                assert!(found.len() <= wanted.len() + 3);
                db.close().unwrap();
                check_books(&format!("{what}: killed"), &killed);
            }
        }
    }
}

#[test]
fn families_flush_alone_or_together_and_go_with_their_files() {
    for atomic_flush in [false, true] {
        let files = MemoryFileSystem::new();
        let mut options = db_options(Arc::new(files.clone()));
        options.atomic_flush = atomic_flush;
        let mut plain = ColumnFamilyOptions::default();
        plain.enable_blob_files = true;
        let names = ["default", "direct", "plain", "dropped"];
        let families = vec![
            (names[0].to_owned(), family()),
            (names[1].to_owned(), family()),
            (names[2].to_owned(), plain),
            (names[3].to_owned(), family()),
        ];
        let (db, handles) = Db::open_cf(PATH, options.clone(), families.clone()).unwrap();
        let put = |family: &ColumnFamily, number: u64| {
            db.put_cf(family, &key(number), &value(number), &WriteOptions::default()).unwrap();
        };
        for number in 0..20 {
            handles.iter().for_each(|family| put(family, number));
            if number % 6 == 3 {
                db.flush_cf(&handles[(number % 4) as usize], &FlushOptions::default()).unwrap();
            }
        }
        put(&handles[3], 90);
        let dropped = files.crash_clone(CrashPolicy::KeepAll);
        db.drop_column_family(&handles[3]).unwrap();
        let (db_of, handles_of) = (&db, &handles);
        let check_all = |db: &Db, handles: &[ColumnFamily], count: usize| {
            for family in &handles[..count] {
                for number in 0..20 {
                    let read = db.get_cf(family, &ReadOptions::default(), &key(number)).unwrap();
                    assert_eq!(read.as_deref(), Some(&value(number)[..]), "{}", family.name());
                }
            }
        };
        check_all(db_of, handles_of, 4);
        let killed = files.crash_clone(CrashPolicy::KeepAll);
        drop(handles);
        db.flush().unwrap();
        db.close().unwrap();
        let family_of = |number: &u64| {
            let file = read_file(&files, &Path::new(PATH).join(format!("{number:06}.blob"))).unwrap();
            u32::from_le_bytes(file[8..12].try_into().unwrap())
        };
        let left: BTreeSet<u32> = blobs(&files).iter().map(family_of).collect();
        assert_eq!(left, BTreeSet::from([0, 1, 2]));
        for (crashed, count) in [(killed, 3), (dropped, 4)] {
            options.components.file_system = Some(Arc::new(crashed.clone()));
            let (db, handles) = Db::open_cf(PATH, options.clone(), families[..count].to_vec()).unwrap();
            check_all(&db, &handles, count);
            db.close().unwrap();
            if count == 4 {
                check_books("killed", &crashed);
            }
        }
    }
}

#[test]
fn a_reader_beside_the_writer_reads_what_is_written() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let mut wanted = Contents::new();
    for number in 0..30 {
        db.put(&key(number), &value(number)).unwrap();
        wanted.insert(key(number), value(number));
        if number % 10 == 4 {
            db.flush().unwrap();
        }
        let options = db_options(Arc::new(files.clone()));
        let (reader, _) = Db::open_read_only(PATH, options, Some(vec![("default".to_owned(), family())])).unwrap();
        assert!(contents(&reader, &ReadOptions::default()) == wanted, "{number}");
    }
}

#[test]
fn a_copy_of_a_database_in_memory_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = DbOptions::default();
    options.allow_concurrent_memtable_write = false;
    let families = vec![("default".to_owned(), family())];
    let (db, _) = Db::open_in_memory(options, families.clone()).unwrap();
    let mut wanted = Contents::new();
    for number in 0..30 {
        db.put(&key(number), &value(number)).unwrap();
        wanted.insert(key(number), value(number));
    }
    let copy = directory.path().join("copy");
    db.save_to(&copy).unwrap();
    check("in memory", &db, &wanted);
    let mut options = DbOptions::default();
    options.allow_concurrent_memtable_write = false;
    let (db, _) = Db::open_cf(&copy, options, families).unwrap();
    check("on disk", &db, &wanted);
}

#[test]
fn new_values_are_in_the_cache_if_the_options_say_so() {
    for (text, hits) in [("kDisable", false), ("kFlushOnly", true)] {
        let mut family = family();
        family.settings.set("prepopulate_blob_cache", text).unwrap();
        family.blob_cache =
            Some(TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() }));
        let db = open_as(db_options(Arc::new(MemoryFileSystem::new())), family);
        db.put(b"key", &value(1)).unwrap();
        let tier = ReadOptions { read_tier: ferrock::options::ReadTier::BlockCacheOnly, ..ReadOptions::default() };
        match db.get_with(&tier, b"key") {
            Ok(read) => assert!(hits && read.as_deref() == Some(&value(1)[..])),
            Err(error) => assert!(!hits && error.kind() == ErrorKind::Incomplete, "{error}"),
        }
    }
}

#[test]
fn small_values_are_written_over_in_place_beside_large_ones() {
    let files = MemoryFileSystem::new();
    let mut family = family();
    family.inplace_update_support = true;
    let db = open_as(db_options(Arc::new(files.clone())), family.clone());
    for (round, put) in [&b"small"[..], &value(1), b"less", &value(2), &value(3), b"tiny"].into_iter().enumerate() {
        db.put(b"key", put).unwrap();
        assert_eq!(db.get(b"key").unwrap().as_deref(), Some(put), "{round}");
    }
    db.put(b"other", &value(4)).unwrap();
    db.flush().unwrap();
    assert_eq!(db.get(b"other").unwrap().as_deref(), Some(&value(4)[..]));
    db.close().unwrap();
    check_books("in place", &files);
}

#[test]
fn what_is_not_combined_is_refused_with_what_to_do() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let refused = |change: &dyn Fn(&mut DbOptions)| {
        let mut options = db_options(Arc::clone(&files));
        change(&mut options);
        Db::open_cf(PATH, options, vec![("default".to_owned(), family())]).err().unwrap().to_string()
    };
    let error = refused(&|options| options.allow_concurrent_memtable_write = true);
    assert!(error.contains("Blob direct write v1 does not support concurrent memtable writes."), "{error}");
    assert!(error.contains("allow_concurrent_memtable_write = false"), "{error}");
    // Without blob files it is off, as in RocksDB.
    let mut off = family();
    off.enable_blob_files = false;
    let db = open_as(db_options(Arc::clone(&files)), off);
    assert!(!db.default_column_family().unwrap().options().enable_blob_direct_write);
    let family = db.default_column_family().unwrap();
    let error = db.set_options_cf(&family, &[("enable_blob_direct_write", "true")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let options = CompactRangeOptions::default();
    db.compact_range_cf(&family, None, None, &options).unwrap();
    db.close().unwrap();
    let db = open_as(db_options(files), self::family());
    // A made-up entity with a reference: nothing would account for it.
    let index = BlobReference { file_number: FileNumber(7), offset: 30, size_bytes: 5, compression: 0 }.encode();
    let entity = encode_columns(&[WideColumn { name: b"", value: &index, is_blob_index: true }]).unwrap();
    let mut batch = WriteBatch::new();
    batch.put_encoded_entity_cf(0, b"key", &entity).unwrap();
    let error = db.write(batch, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    assert!(error.to_string().contains("put its values in their place"), "{error}");
    assert!(db.get(b"key").unwrap().is_none());
    db.put(b"key", &value(1)).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&value(1)[..]));
}

/// The last bytes of a value look like the footer of a complete file.
#[test]
fn a_value_that_looks_like_a_footer_is_none() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    db.put(b"a", &value(1)).unwrap();
    let closed = {
        let other = MemoryFileSystem::new();
        let db = open(&other);
        db.put(b"x", &value(1)).unwrap();
        db.close().unwrap();
        let number = *blobs(&other).first().unwrap();
        read_file(&other, &Path::new(PATH).join(format!("{number:06}.blob"))).unwrap()
    };
    let forged = [&value(2)[..], &closed[closed.len() - 32..]].concat();
    db.put(b"b", &forged).unwrap();
    let killed = files.crash_clone(CrashPolicy::KeepAll);
    let wanted = Contents::from([(b"a".to_vec(), value(1)), (b"b".to_vec(), forged)]);
    check("written", &db, &wanted);
    let db = open(&killed);
    check("killed", &db, &wanted);
    db.close().unwrap();
    check_books("killed", &killed);
}

fn reference_to(number: u64) -> Vec<u8> {
    BlobReference { file_number: FileNumber(number), offset: 30, size_bytes: 5, compression: 0 }.encode()
}

/// With and without direct writes: a reference to a file that no memtable can have had says nothing about the log.
#[test]
fn a_reference_that_a_caller_made_up_ends_no_log() {
    for (mode, is_direct) in WAL_MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let files = MemoryFileSystem::new();
        let options = || {
            let mut options = db_options(Arc::new(files.clone()));
            options.wal_recovery_mode = mode;
            options.avoid_flush_during_shutdown = true;
            options
        };
        let mut family = family();
        family.enable_blob_direct_write = is_direct;
        let db = open_as(options(), family.clone());
        db.put(b"a", b"1").unwrap();
        db.flush().unwrap();
        let mut batch = WriteBatch::new();
        batch.put_blob_index_cf(0, b"made-up", &reference_to(1)).unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
        for number in 0..10 {
            db.put(&key(number), b"small").unwrap();
        }
        let left = files.crash_clone(CrashPolicy::KeepAll);
        drop(db);
        let mut options = options();
        options.components.file_system = Some(Arc::new(left));
        let db = open_as(options, family);
        for number in 0..10 {
            assert_eq!(db.get(&key(number)).unwrap().as_deref(), Some(&b"small"[..]), "{mode:?} {is_direct}");
        }
        assert_eq!(db.get(b"made-up").unwrap_err().kind(), ErrorKind::Corruption);
    }
}

/// Nobody writes any more: what is missing does not come.
#[test]
fn a_crashed_database_without_its_newest_blob_file_opens_for_reading() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    db.put(b"a", b"small").unwrap();
    db.put(b"b", &value(1)).unwrap();
    let left = files.crash_clone(CrashPolicy::KeepAll);
    drop(db);
    let number = *blobs(&left).last().unwrap();
    left.remove_file(&Path::new(PATH).join(format!("{number:06}.blob"))).unwrap();
    let families = vec![("default".to_owned(), family())];
    let (db, _) = Db::open_read_only(PATH, db_options(Arc::new(left)), Some(families)).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"small"[..]));
    assert!(db.get(b"b").unwrap().is_none());
}

#[test]
fn direct_writes_rest_without_blob_files_and_come_back() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let family = db.default_column_family().unwrap();
    for (is_on, direct_files) in [("false", 0), ("true", 1)] {
        db.set_options_cf(&family, &[("enable_blob_files", is_on)]).unwrap();
        assert!(family.options().enable_blob_direct_write);
        db.put(b"key", &value(1)).unwrap();
        assert_eq!(blobs(&files).len(), direct_files);
    }
}

/// A batch that is refused is refused before anything is written for it, and for it alone.
#[test]
fn a_refused_batch_leaves_no_file() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let made_up = encode_columns(&[WideColumn { name: b"", value: &reference_to(7), is_blob_index: true }]).unwrap();
    for (entity, kind) in [(&made_up[..], ErrorKind::NotSupported), (b"no entity", ErrorKind::Corruption)] {
        let mut batch = WriteBatch::new();
        batch.put(b"k1", &value(0)).unwrap();
        batch.put_encoded_entity_cf(0, b"e", entity).unwrap();
        assert_eq!(db.write(batch, &WriteOptions::default()).unwrap_err().kind(), kind);
    }
    assert_eq!(blobs(&files).len(), 0);
    assert!(db.get(b"k1").unwrap().is_none());
}

/// A drop that is not durable yet may never have been: what the log has of the family keeps its values.
#[test]
fn a_sync_beside_a_drop_keeps_the_values_of_both_families() {
    let memory = MemoryFileSystem::new();
    let clock = Arc::new(ManualClock::new(1));
    let faults = FaultInjectionFileSystem::with_clock(Arc::new(memory.clone()), Arc::clone(&clock) as _);
    let names = ["default", "leaving"];
    let open = |files: Arc<dyn FileSystem>| {
        let families = names.map(|name| (name.to_owned(), family())).to_vec();
        Db::open_cf(PATH, db_options(files), families).unwrap()
    };
    let (db, families) = open(Arc::new(faults.clone()));
    db.put_cf(&families[1], b"k", &value(1), &WriteOptions::default()).unwrap();
    let second = Duration::from_secs(1);
    faults.add_rule(FaultRule::new(OperationKind::Append, "MANIFEST-*", Fault::Delay(second)).when(Trigger::Nth(1)));
    let left = std::thread::scope(|scope| {
        let dropping = scope.spawn(|| db.drop_column_family(&families[1]));
        wait_until("the record of the drop", || clock.sleepers() == 1);
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        put_with(&db, b"k", &value(2), &synced).unwrap();
        let left = memory.crash_clone(CrashPolicy::KeepNothingUnsynced);
        clock.advance(second);
        dropping.join().unwrap().unwrap();
        left
    });
    let (db, families) = open(Arc::new(left));
    let get = |family| db.get_cf(family, &ReadOptions::default(), b"k").unwrap();
    assert_eq!(get(&families[0]).as_deref(), Some(&value(2)[..]), "it was synced");
    assert_eq!(get(&families[1]).as_deref(), Some(&value(1)[..]), "it was logged before");
}

/// The file is being opened for the first value when the second one is appended to it.
#[test]
fn a_future_that_joins_an_older_open_finds_the_newer_value() {
    let clock = Arc::new(ManualClock::new(1));
    let faults = FaultInjectionFileSystem::with_clock(Arc::new(MemoryFileSystem::new()), Arc::clone(&clock) as _);
    let db = open_as(db_options(Arc::new(faults.clone())), family());
    db.put(b"k1", &value(1)).unwrap();
    let second = Duration::from_secs(1);
    faults.add_rule(FaultRule::new(OperationKind::Read, "*.blob", Fault::Delay(second)).when(Trigger::Nth(1)));
    let options = ReadOptions::default();
    let mut first = std::pin::pin!(db.get_async(&options, b"k1"));
    assert!(smol::block_on(smol::future::poll_once(first.as_mut())).is_none());
    wait_until("the open", || clock.sleepers() == 1);
    db.put(b"k2", &value(2)).unwrap();
    let mut joined = std::pin::pin!(db.get_async(&options, b"k2"));
    assert!(smol::block_on(smol::future::poll_once(joined.as_mut())).is_none());
    clock.advance(second);
    assert_eq!(smol::block_on(first).unwrap().as_deref(), Some(&value(1)[..]));
    assert_eq!(smol::block_on(joined).unwrap().as_deref(), Some(&value(2)[..]));
}
