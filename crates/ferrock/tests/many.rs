//! Many tables and many column families: what an operation costs follows what it changes, not how many there are.
//!
//! Costs are counted: opens, bytes written, files open at once. `cargo run --release -p ferrock --example many_files`
//! has the times ([docs/files.md](../../../docs/files.md)).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and one waits for time"
)]

mod common;

use common::threads::wait_until;
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_base::random::Random;
use ferrock_vfs::{CrashPolicy, FaultInjectionFileSystem, FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATH: &str = "/db";

fn key(number: u64) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn options_on(files: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(files);
    options
}

fn open_files(options: DbOptions) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 20;
    family.target_file_size_base = 1;
    family.disable_auto_compactions = true;
    Db::open_cf(PATH, options, vec![("default".to_owned(), family)]).unwrap().0
}

/// A database of `count` tables of one key each.
fn many_tables(count: u64) -> MemoryFileSystem {
    let files = MemoryFileSystem::without_crashes();
    let db = open_files(options_on(Arc::new(files.clone())));
    for number in 0..count {
        db.put(&key(number), &number.to_le_bytes()).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(db.live_files().len() as u64, count);
    db.close().unwrap();
    files
}

fn read_at_random(db: &Db, count: u64, reads: u64) {
    let mut random = Random::new(count);
    for _ in 0..reads {
        let number = random.below(count);
        assert_eq!(&*db.get(&key(number)).unwrap().unwrap(), &number.to_le_bytes());
    }
}

/// Each table is opened once, and with few descriptors as many as the options say are open at once.
#[test]
fn ten_thousand_tables() {
    const TABLES: u64 = 10_000;
    let files = many_tables(TABLES);
    for max_open_files in [-1, 100, 16] {
        let limited = Arc::new(FaultInjectionFileSystem::new(Arc::new(files.clone())));
        let before = files.counters().snapshot();
        let mut options = options_on(Arc::clone(&limited) as Arc<dyn FileSystem>);
        options.max_open_files = max_open_files;
        let db = open_files(options);
        let opened = files.counters().snapshot();
        let opens = opened.opens - before.opens;
        let lists = opened.dir_lists - before.dir_lists;
        let expected = if max_open_files < 0 { TABLES } else { 16 };
        assert!((expected..expected + 20).contains(&opens) || max_open_files == 16, "{max_open_files}: {opens} opens");
        assert!(lists < 10 && opened.metadata - before.metadata < 100, "{max_open_files}: {lists} lists");
        read_at_random(&db, TABLES, 2000);
        let open = limited.open_files();
        let bound = u64::try_from(max_open_files).unwrap_or(TABLES) + 10;
        assert!(open <= bound, "{max_open_files}: {open} files are open");
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        let mut seen = 0;
        while iter.valid() {
            assert_eq!(iter.key(), key(seen));
            seen += 1;
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(seen, TABLES);
        drop(iter);
        // A change of one key of many: bytes in proportion to it.
        db.put(&key(5), &5_u64.to_le_bytes()).unwrap();
        db.flush().unwrap();
        let before = files.counters().snapshot();
        for number in 0..20 {
            let key = key(number * 100);
            db.put(&key, &(number * 100).to_le_bytes()).unwrap();
            db.flush().unwrap();
            db.compact_range(Some(&key), Some(&key)).unwrap();
        }
        let written = files.counters().snapshot().append_bytes() - before.append_bytes();
        assert!(written < 20 * 20_000, "{max_open_files}: {written} bytes for 20 keys");
        db.close().unwrap();
    }
}

fn family_names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("family{number}")).collect()
}

fn open_families(options: DbOptions, names: &[String]) -> (Db, Vec<ColumnFamily>) {
    let descriptors = names.iter().cloned().chain(["default".to_owned()]);
    Db::open_cf(PATH, options, descriptors.map(|name| (name, ColumnFamilyOptions::default())).collect()).unwrap()
}

fn options_files(files: &MemoryFileSystem) -> Vec<String> {
    let mut names = files.children(Path::new(PATH)).unwrap();
    names.retain(|name| name.starts_with("OPTIONS-") && !name.ends_with(".dbtmp"));
    names
}

/// Families of the newest OPTIONS file.
fn families_in_options(files: &MemoryFileSystem) -> usize {
    let newest = options_files(files).pop().unwrap();
    // One that is removed meanwhile has one behind it.
    let Ok(text) = ferrock_vfs::read_file(files, &Path::new(PATH).join(newest)) else {
        return families_in_options(files);
    };
    String::from_utf8(text).unwrap().matches("[CFOptions ").count()
}

/// Also where no file is written but by the thread that families wait for.
#[test]
fn old_options_files_go_where_families_come_slowly() {
    let files = MemoryFileSystem::new();
    let clock = Arc::new(ManualClock::new(1_000_000));
    let mut options = options_on(Arc::new(files.clone()));
    options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    let db = Db::open(PATH, options).unwrap();
    let names = family_names(80);
    for (number, name) in names.iter().enumerate() {
        db.create_column_family(name, ColumnFamilyOptions::default()).unwrap();
        if number < 70 {
            continue;
        }
        wait_until("the thread sleeps", || clock.asleep() == 1 || families_in_options(&files) == number + 2);
        clock.advance(Duration::from_secs(1));
        wait_until("an OPTIONS file", || families_in_options(&files) == number + 2);
    }
    wait_until("old OPTIONS files are removed", || options_files(&files).len() <= 3);
    db.close().unwrap();
}

/// Bytes that creating and dropping write grow with the number of families, not with its square.
#[test]
fn ten_thousand_families() {
    const FAMILIES: usize = 10_000;
    let files = MemoryFileSystem::new();
    let names = family_names(FAMILIES);
    let options = options_on(Arc::new(files.clone()));
    let db = Db::open(PATH, options.clone()).unwrap();
    let create = |name: &String| db.create_column_family(name, ColumnFamilyOptions::default()).unwrap();
    let mut own = ColumnFamilyOptions::default();
    own.write_buffer_size = 1 << 20;
    // An OPTIONS file with all of them is written each second, however long it takes.
    let may_write = |since: Instant| FAMILIES as u64 * (150_000 + 6000 * since.elapsed().as_secs());
    let since = Instant::now();
    let (first, others) = names.split_at(FAMILIES / 5);
    let mut handles: Vec<ColumnFamily> = first.iter().map(create).collect();
    // One call and one OPTIONS file, whatever their options are.
    let others = others.iter().map(|name| (name.clone(), own.clone())).collect();
    handles.extend(db.create_column_families(others).unwrap());
    assert_eq!(families_in_options(&files), FAMILIES + 1, "options of their own are written at once");
    let written = files.counters().snapshot().append_bytes();
    assert!(written < may_write(since), "{written} bytes were written");
    // Two that are kept, and one on its way; older ones are removed by another thread.
    wait_until("old OPTIONS files are removed", || options_files(&files).len() <= 3);
    let write = WriteOptions::default();
    for handle in &handles {
        db.put_cf(handle, b"key", handle.name().as_bytes(), &write).unwrap();
    }
    for handle in handles.iter().step_by(100) {
        db.flush_cf(handle, &FlushOptions::default()).unwrap();
    }
    // A kill: the families are in the MANIFEST, whether or not the OPTIONS file has the last of them.
    let killed = files.crash_clone(CrashPolicy::KeepAll);
    let (after, found) = open_families(options_on(Arc::new(killed.clone())), &names);
    for (name, handle) in names.iter().zip(&found) {
        assert_eq!(&*after.get_cf(handle, &ReadOptions::default(), b"key").unwrap().unwrap(), name.as_bytes());
    }
    drop((after, found));
    drop(handles);
    db.close().unwrap();
    assert_eq!(families_in_options(&files), FAMILIES + 1, "closing writes what waits");
    let (db, handles) = open_families(options, &names);
    let (before, since) = (files.counters().snapshot().append_bytes(), Instant::now());
    for handle in &handles[..FAMILIES] {
        db.drop_column_family(handle).unwrap();
    }
    let written = files.counters().snapshot().append_bytes() - before;
    assert!(written < may_write(since), "{written} bytes were written");
    drop(handles);
    db.close().unwrap();
    assert_eq!(families_in_options(&files), 1);
    let left = files.children(Path::new(PATH)).unwrap();
    assert!(!left.iter().any(|name| name.ends_with(".sst")), "tables of dropped families are left");
}

/// The files of dropped families go while the database is open, too, and handles keep what they read.
#[test]
fn files_of_dropped_families_go() {
    const FAMILIES: usize = 80;
    let files = MemoryFileSystem::new();
    let clock = Arc::new(ManualClock::new(1_000_000));
    let mut options = options_on(Arc::new(files.clone()));
    options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    let db = Db::open(PATH, options).unwrap();
    let named = |name: &String| (name.clone(), ColumnFamilyOptions::default());
    let mut handles = db.create_column_families(family_names(FAMILIES).iter().map(named).collect()).unwrap();
    for handle in &handles {
        db.put_cf(handle, b"key", handle.name().as_bytes(), &WriteOptions::default()).unwrap();
        db.flush_cf(handle, &FlushOptions::default()).unwrap();
    }
    let tables = || files.children(Path::new(PATH)).unwrap().iter().filter(|name| name.ends_with(".sst")).count();
    assert_eq!(tables(), FAMILIES);
    for handle in &handles[1..4] {
        db.drop_column_family(handle).unwrap();
    }
    let kept = handles.swap_remove(1);
    handles.drain(1..4);
    // Those behind the first three, and the one that is held, by a thread that waits for an OPTIONS file.
    wait_until("the tables of two families are removed", || {
        clock.advance(Duration::from_secs(1));
        tables() == FAMILIES - 2
    });
    assert_eq!(&*db.get_cf(&kept, &ReadOptions::default(), b"key").unwrap().unwrap(), b"family1");
    drop(kept);
    wait_until("and that of the third", || tables() == FAMILIES - 3);
    // A caller that waits for what is removed does not wait for that thread.
    for handle in handles.drain(..2) {
        db.drop_column_family(&handle).unwrap();
    }
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(), FAMILIES - 5);
    db.close().unwrap();
}

/// One of many that cannot be created leaves those before it, in the OPTIONS file, too.
#[test]
fn families_before_one_that_fails_stay() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options_on(Arc::new(files.clone()))).unwrap();
    let mut own = ColumnFamilyOptions::default();
    own.write_buffer_size = 1 << 20;
    let named = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), own.clone())).collect::<Vec<_>>();
    assert!(db.create_column_families(Vec::new()).unwrap().is_empty());
    let error = db.create_column_families(named(&["a", "b", "a", "c"])).unwrap_err();
    assert_eq!(error.kind(), ferrock::ErrorKind::InvalidArgument, "{error}");
    assert!(db.column_family("a").is_some() && db.column_family("b").is_some() && db.column_family("c").is_none());
    assert_eq!(families_in_options(&files), 3);
    let created = db.create_column_families(named(&["c", "d"])).unwrap();
    assert_eq!(created.iter().map(ColumnFamily::name).collect::<Vec<_>>(), ["c", "d"]);
    assert_eq!(families_in_options(&files), 5);
    db.close().unwrap();
}

/// A family that came is in an OPTIONS file after a while, also when nothing else happens.
#[test]
fn an_options_file_does_not_wait_for_ever() {
    const FAMILIES: usize = 100;
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options_on(Arc::new(files.clone()))).unwrap();
    for name in family_names(FAMILIES) {
        db.create_column_family(&name, ColumnFamilyOptions::default()).unwrap();
    }
    // A thread writes the file after a second.
    wait_until("all families are in the OPTIONS file", || families_in_options(&files) == FAMILIES + 1);
    db.close().unwrap();
}

/// Compactions of one family among many begin as they become due, and also those of families that were idle.
#[test]
fn every_family_is_compacted() {
    const FAMILIES: usize = 150;
    let files = MemoryFileSystem::without_crashes();
    let mut options = options_on(Arc::new(files));
    options.create_missing_column_families = true;
    let (db, handles) = open_families(options, &family_names(FAMILIES));
    for round in 0..4_u64 {
        for handle in &handles {
            db.put_cf(handle, &key(round), b"value", &WriteOptions::default()).unwrap();
            db.flush_cf(handle, &FlushOptions::default()).unwrap();
        }
    }
    db.wait_for_background_work().unwrap();
    for handle in &handles {
        let due = db.int_property_cf(handle, "rocksdb.compaction-pending");
        assert_eq!(due, Some(0), "{}", handle.name());
    }
}
