//! A family that is dropped while readers hold on to it: each goes on reading what there was, whatever else the
//! database does, and the files go after the last of them; after a crash or a reopening they are gone at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::threads::wait_until;
use common::{key, options_on};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, ErrorKind, FlushOptions, Iter, ReadOptions,
    WriteOptions,
};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const ROWS: u64 = 200;

fn tables(files: &MemoryFileSystem) -> usize {
    files.children(Path::new("/db")).unwrap().iter().filter(|name| name.ends_with(".sst")).count()
}

/// Two tables of the family, one of the default family, and rows that are in memory.
fn database(files: &MemoryFileSystem) -> (Db, ColumnFamily) {
    let db = Db::open("/db", options_on(Arc::new(files.clone()))).unwrap();
    let family = db.create_column_family("leaving", ColumnFamilyOptions::default()).unwrap();
    for part in 0..3 {
        for number in (part..ROWS).step_by(3) {
            db.put_cf(&family, &key(number), &key(number), &WriteOptions::default()).unwrap();
        }
        if part < 2 {
            db.flush_cf(&family, &FlushOptions::default()).unwrap();
        }
    }
    db.put(b"stays", b"value").unwrap();
    db.flush().unwrap();
    assert_eq!(tables(files), 3);
    (db, family)
}

/// Whatever may remove files or take memory, in the families that are left.
fn go_on(db: &Db) {
    for round in 0..3_u8 {
        db.put(b"stays", &[round; 100]).unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    let other =
        db.create_column_family(&format!("other{}", db.column_families().len()), ColumnFamilyOptions::default());
    db.put_cf(&other.unwrap(), b"k", b"v", &WriteOptions::default()).unwrap();
    db.set_db_options(&[("max_background_jobs", "3")]).unwrap();
    db.wait_for_background_work().unwrap();
}

fn rest(iter: &mut Iter) -> u64 {
    let mut rows = 0;
    while iter.valid() {
        assert_eq!(iter.key(), iter.value());
        rows += 1;
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::thread::yield_now();
    }
}

/// What holds on to the family; `read` uses it a last time.
type Reader = Box<dyn FnOnce() + Send>;
/// Begins to read of the family.
type MakeReader = fn(&Db, ColumnFamily) -> Reader;

fn readers() -> Vec<(&'static str, MakeReader)> {
    vec![
        ("an iterator", |db, family| {
            let mut iter = db.iter_cf(&family, &ReadOptions::default());
            iter.seek_to_first();
            (0..5).for_each(|_| iter.next());
            Box::new(move || {
                assert_eq!(rest(&mut iter), ROWS - 5);
                iter.seek(&key(100));
                assert_eq!(rest(&mut iter), ROWS - 100);
            })
        }),
        ("an iterator that was not placed", |db, family| {
            let mut iter = db.iter_cf(&family, &ReadOptions::default());
            Box::new(move || {
                iter.seek_to_first();
                assert_eq!(rest(&mut iter), ROWS);
            })
        }),
        ("a handle", |db, family| {
            let db = db.clone();
            Box::new(move || {
                for number in 0..ROWS {
                    let value = db.get_cf(&family, &ReadOptions::default(), &key(number)).unwrap();
                    assert_eq!(value.as_deref(), Some(&key(number)[..]));
                }
                let error = db.put_cf(&family, b"k", b"v", &WriteOptions::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
                assert!(db.flush_cf(&family, &FlushOptions::default()).is_err());
                assert!(db.compact_range_cf(&family, None, None, &CompactRangeOptions::default()).is_err());
            })
        }),
        ("a handle and a snapshot", |db, family| {
            let (db, snapshot) = (db.clone(), db.snapshot());
            Box::new(move || {
                let options = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
                let mut iter = db.iter_cf(&family, &options);
                iter.seek_to_first();
                assert_eq!(rest(&mut iter), ROWS);
            })
        }),
        ("a pinned value", |db, family| {
            let value = db.get_cf(&family, &ReadOptions::default(), &key(0)).unwrap().unwrap();
            Box::new(move || assert_eq!(&value[..], &key(0)[..]))
        }),
        ("a future", |db, family| {
            let future = db.get_cf_async(&family, &ReadOptions::default(), &key(7));
            Box::new(move || assert_eq!(block_on(future).unwrap().as_deref(), Some(&key(7)[..])))
        }),
    ]
}

#[test]
fn readers_go_on_and_the_files_go_after_the_last() {
    for (name, hold) in readers() {
        let files = MemoryFileSystem::new();
        let (db, family) = database(&files);
        let reader = hold(&db, family.clone());
        db.drop_column_family(&family).unwrap();
        drop(family);
        go_on(&db);
        // A crash meanwhile leaves nothing of the family.
        let left = files.crash_clone(CrashPolicy::KeepAll);
        let again = Db::open("/db", options_on(Arc::new(left.clone())));
        assert!(again.is_err(), "{name}: the family that was made since is not named");
        let mut looking = options_on(Arc::new(left.clone()));
        looking.create_missing_column_families = false;
        let names = Db::list_column_families("/db", &looking).unwrap();
        assert!(!names.contains(&"leaving".to_owned()));
        let families = names.into_iter().map(|name| (name, ColumnFamilyOptions::default())).collect();
        let (again, _) = Db::open_cf("/db", looking, families).unwrap();
        again.wait_for_background_work().unwrap();
        assert_eq!(tables(&left), again.live_files().len(), "{name}: after a crash");
        drop(again);
        // Then the reader, on a thread of its own, and after it the files.
        std::thread::Builder::new().spawn(reader).unwrap().join().unwrap();
        go_on(&db);
        wait_until(name, || tables(&files) == db.live_files().len());
        db.close().unwrap();
    }
}

/// The database is closed before the reader ends.
#[test]
fn readers_outlive_the_database() {
    for (name, hold) in readers() {
        if name.contains("handle") {
            continue;
        }
        let files = MemoryFileSystem::new();
        let (db, family) = database(&files);
        let reader = hold(&db, family.clone());
        db.drop_column_family(&family).unwrap();
        drop(family);
        db.close().unwrap();
        if name == "a future" {
            continue;
        }
        reader();
        let db = Db::open("/db", options_on(Arc::new(files.clone()))).unwrap();
        db.wait_for_background_work().unwrap();
        assert_eq!(tables(&files), db.live_files().len(), "{name}");
    }
}
