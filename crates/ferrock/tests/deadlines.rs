//! Reads that must not take for ever: `deadline` and `io_timeout`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::{key, options_on};
use ferrock::{Db, ErrorKind, ReadOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, PosixFileSystem,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ROWS: u64 = 2000;

/// A database whose rows are in tables and in no cache, but for one that is in memory.
fn open(path: &Path, file_system: Arc<dyn FileSystem>, clock: Option<Arc<dyn Clock>>) -> Db {
    let options = || {
        let mut options = options_on(Arc::clone(&file_system));
        options.components.clock = clock.clone();
        options
    };
    let db = Db::open(path, options()).unwrap();
    for number in 0..ROWS {
        db.put(&key(number), &[b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    let db = Db::open(path, options()).unwrap();
    db.put(b"in memory", b"v").unwrap();
    db
}

fn assert_timed_out<T: std::fmt::Debug>(result: ferrock::Result<T>) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!(error.to_string().contains(".sst"), "{error}");
}

fn check_that_files_time_out(db: &Db, options: &ReadOptions) {
    assert!(db.get_with(options, b"in memory").unwrap().is_some(), "what is in memory takes no time");
    assert_timed_out(db.get_with(options, &key(5)));
    let family = db.default_column_family().unwrap();
    let (first, second) = (key(700), key(1400));
    let results = db.multi_get_cf(&family, options, &[&first, b"in memory", &second]);
    assert!(results[1].as_ref().unwrap().is_some());
    for index in [0, 2] {
        assert_eq!(results[index].as_ref().unwrap_err().kind(), ErrorKind::TimedOut);
    }
    let mut iter = db.iter(options);
    for backward in [false, true] {
        if backward {
            iter.seek_for_prev(&key(900))
        } else {
            iter.seek(&key(900))
        }
        assert!(!iter.valid());
        assert_timed_out(iter.status());
    }
}

#[test]
fn a_passed_deadline_asks_no_file() {
    let start_us = 1_700_000_000_000_000;
    let clock = Arc::new(ManualClock::new(start_us));
    let file_system = MemoryFileSystem::with_clock(clock.clone());
    let db = open(Path::new("/db"), Arc::new(file_system.clone()), Some(clock.clone()));
    // The table is open from here on.
    assert!(db.get(&key(ROWS - 1)).unwrap().is_some());
    let options = ReadOptions { deadline: Duration::from_micros(start_us + 1000), ..ReadOptions::default() };
    assert!(db.get_with(&options, &key(1900)).unwrap().is_some(), "there is time");
    clock.advance(Duration::from_millis(1));
    file_system.set_read_logging(true);
    check_that_files_time_out(&db, &options);
    assert_eq!(file_system.take_read_log(), []);
    assert!(db.get_with(&options, &key(1900)).unwrap().is_some(), "its block is in the cache");
    // A timeout leaves nothing behind.
    assert!(db.get(&key(5)).unwrap().is_some());
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek(&key(900));
    assert_eq!(iter.key(), key(900));
}

#[test]
fn a_scan_ends_at_its_deadline() {
    let start_us = 1_700_000_000_000_000;
    let clock = Arc::new(ManualClock::new(start_us));
    let file_system = MemoryFileSystem::with_clock(clock.clone());
    let db = open(Path::new("/db"), Arc::new(file_system), Some(clock.clone()));
    let deadline = Duration::from_micros(start_us + 1000);
    let mut iter = db.iter(&ReadOptions { deadline, ..ReadOptions::default() });
    iter.seek_to_first();
    let mut rows = 0;
    while iter.valid() {
        rows += 1;
        clock.advance(Duration::from_micros(10));
        iter.next();
    }
    assert_timed_out(iter.status());
    assert!((100..ROWS).contains(&rows), "{rows} rows");
}

#[test]
fn a_slow_file_times_out() {
    let dir = tempfile::tempdir().unwrap();
    let inner: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let file_system = FaultInjectionFileSystem::new(inner);
    let db = open(&dir.path().join("db"), Arc::new(file_system.clone()), None);
    assert!(db.get(&key(ROWS - 1)).unwrap().is_some());
    let delay = Fault::Delay(Duration::from_millis(40));
    file_system.add_rule(FaultRule::new(OperationKind::Read, "*.sst", delay));
    check_that_files_time_out(&db, &ReadOptions { io_timeout: Duration::from_millis(5), ..ReadOptions::default() });
    let patient = ReadOptions { io_timeout: Duration::from_secs(60), ..ReadOptions::default() };
    assert!(db.get_with(&patient, &key(5)).unwrap().is_some());
}
