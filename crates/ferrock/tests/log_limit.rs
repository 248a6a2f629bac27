//! Logs stay within `max_total_wal_size` and memtables within `db_write_buffer_size`, whatever the families do and
//! however many memtables they want to merge.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/db";
const WAL_LIMIT: u64 = 300_000;
const MEMORY_LIMIT: u64 = 60_000;
const WRITE_BUFFER: usize = 64 << 10;

fn log_bytes(files: &MemoryFileSystem) -> (usize, u64) {
    let names = files.children(Path::new(PATH)).unwrap();
    let logs: Vec<u64> = names
        .iter()
        .filter(|name| name.ends_with(".log"))
        .filter_map(|name| files.file_size(&Path::new(PATH).join(name)).ok())
        .collect();
    (logs.len(), logs.iter().sum())
}

fn put(db: &Db, family: &ColumnFamily, key: u64, size: u64) {
    let value = vec![b'v'; size as usize];
    db.put_cf(family, format!("key{key:08}").as_bytes(), &value, &WriteOptions::default()).unwrap();
}

fn open(files: &MemoryFileSystem, random: &mut Random, change: impl FnOnce(&mut DbOptions)) -> (Db, Vec<ColumnFamily>) {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    change(&mut options);
    let families = (0..1 + random.below(4)).map(|index| {
        let mut family = ColumnFamilyOptions::default();
        family.write_buffer_size = WRITE_BUFFER;
        family.min_write_buffer_number_to_merge = 1 + random.below(3) as i32;
        family.max_write_buffer_number = family.min_write_buffer_number_to_merge + 2;
        (if index == 0 { "default".to_owned() } else { format!("family{index}") }, family)
    });
    Db::open_cf(PATH, options, families.collect()).unwrap()
}

/// Writes that come in a family the rarer the later it was made; the last may be idle for long.
fn some_family<'a>(families: &'a [ColumnFamily], random: &mut Random) -> &'a ColumnFamily {
    families.iter().find(|_| !random.one_in(30)).unwrap_or(&families[families.len() - 1])
}

#[test]
fn an_idle_family_does_not_keep_the_logs_of_others() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let files = MemoryFileSystem::new();
        let (db, families) = open(&files, &mut random, |options| options.max_total_wal_size = WAL_LIMIT);
        families.iter().for_each(|family| put(&db, family, 0, 10));
        for key in 0..3000 {
            let size = random.below(1500);
            put(&db, some_family(&families, &mut random), key, size);
        }
        // What each write sets going is done before the next one looks at the logs.
        for key in 0..8 {
            db.wait_for_background_work().unwrap();
            put(&db, &families[0], key, 10);
        }
        db.wait_for_background_work().unwrap();
        let (logs, bytes) = log_bytes(&files);
        let families = families.len();
        assert!(
            bytes <= WAL_LIMIT + WRITE_BUFFER as u64,
            "seed {seed}: {families} families, {logs} logs, {bytes} bytes"
        );
    }
}

#[test]
fn a_memory_limit_holds_for_memtables_that_would_wait_for_others() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let files = MemoryFileSystem::new();
        let (db, families) = open(&files, &mut random, |options| options.db_write_buffer_size = MEMORY_LIMIT);
        for key in 0..2000 {
            let size = random.below(1500);
            put(&db, some_family(&families, &mut random), key, size);
        }
        db.wait_for_background_work().unwrap();
        let sizes =
            families.iter().map(|family| db.int_property_cf(family, "rocksdb.cur-size-all-mem-tables").unwrap());
        let bytes: u64 = sizes.sum();
        assert!(bytes <= MEMORY_LIMIT * 3 / 2, "seed {seed}: {bytes} bytes of memtables");
    }
}

/// With `avoid_flush_during_recovery` logs stay, and each opening begins another one.
#[test]
fn openings_without_writes_do_not_pile_up_logs() {
    for has_data in [false, true] {
        let files = MemoryFileSystem::new();
        let mut most = 0;
        for round in 0..150 {
            let (db, families) =
                open(&files, &mut Random::new(1), |options| options.avoid_flush_during_recovery = true);
            if round == 0 {
                families.iter().for_each(|family| put(&db, family, 0, 10));
                if !has_data {
                    families.iter().for_each(|family| db.flush_cf(family, &FlushOptions::default()).unwrap());
                }
            }
            for family in &families {
                assert!(db.get_cf(family, &ReadOptions::default(), b"key00000000").unwrap().is_some());
            }
            drop(db);
            most = most.max(log_bytes(&files).0);
        }
        assert!(most <= if has_data { 65 } else { 2 }, "{most} logs, data in them: {has_data}");
    }
}

/// Families with one old entry are flushed once, together as the log goes that has it, and families without any not at
/// all: their log number moves on by itself.
#[test]
fn many_idle_families_are_flushed_once_and_empty_ones_never() {
    for is_atomic in [false, true] {
        let files = MemoryFileSystem::new();
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.max_total_wal_size = WAL_LIMIT;
        options.atomic_flush = is_atomic;
        options.components.file_system = Some(Arc::new(files.clone()));
        let mut family = ColumnFamilyOptions::default();
        family.write_buffer_size = WRITE_BUFFER;
        let names = std::iter::once("default".to_owned()).chain((0..30).map(|index| format!("idle{index}")));
        let descriptors: Vec<_> = names.map(|name| (name, family.clone())).collect();
        let (db, families) = Db::open_cf(PATH, options.clone(), descriptors.clone()).unwrap();
        let mut most = 0;
        for number in 0..3000 {
            // The entries of idle families are in many logs.
            if number % 40 == 0 && number / 40 % 2 == 1 && number / 40 < 30 {
                put(&db, &families[number / 40 + 1], 7, 20);
            }
            put(&db, &families[0], number as u64, 1000);
            // How far writers run ahead of a flush is another matter.
            if number % 20 == 19 {
                db.wait_for_background_work().unwrap();
                most = most.max(log_bytes(&files).1);
            }
        }
        db.wait_for_background_work().unwrap();
        // A log is as long as a memtable.
        assert!(most <= WAL_LIMIT + 8 * WRITE_BUFFER as u64, "{most} bytes of logs");
        let tables_of = |name: &str| db.live_files().iter().filter(|file| file.column_family == name).count();
        for index in 0..30 {
            assert_eq!(tables_of(&format!("idle{index}")), index % 2, "idle{index}, atomic: {is_atomic}");
        }
        drop(families);
        drop(db);
        let (db, families) = Db::open_cf(PATH, options, descriptors).unwrap();
        for index in 0..30 {
            let found = db.get_cf(&families[index + 1], &ReadOptions::default(), b"key00000007").unwrap();
            assert_eq!(found.is_some(), index % 2 == 1, "idle{index}, atomic: {is_atomic}");
        }
    }
}
