//! Compactions that are stopped, by whomever, leave nothing behind; and waiting for them, in every way.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

mod common;

use common::threads::{Gate, Waiting, wait_until};
use common::{Contents, contents, key, options_on};
use ferrock::{
    Canceller, ColumnFamilyOptions, CompactRangeOptions, CompactionOptions, Db, ErrorKind, FlushOptions, LiveFile,
    ReadOptions, WaitForCompactOptions, WriteOptions,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Entries of a table: enough that a compaction looks whether it is stopped.
const ENTRIES: u64 = 3000;

fn open(files: &MemoryFileSystem) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.level0_file_num_compaction_trigger = 2;
    family.disable_auto_compactions = true;
    let options = options_on(Arc::new(files.clone()));
    Db::open_cf("/db", options, vec![("default".to_owned(), family)]).unwrap().0
}

fn fill(db: &Db) -> Contents {
    for round in 0..2 {
        for number in 0..ENTRIES {
            db.put(&key(number), format!("{round}").as_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
    contents(db, &ReadOptions::default())
}

/// Holds what creates a table, until the gate is opened.
fn hold_tables(files: &MemoryFileSystem) -> Arc<Gate> {
    let gate = Gate::shut();
    let held = Arc::clone(&gate);
    files.set_operation_hook(Some(Arc::new(move |_, line| {
        if line.starts_with("create") && line.ends_with(".sst") {
            held.pass();
        }
    })));
    gate
}

fn tables(files: &MemoryFileSystem) -> Vec<String> {
    let mut names = files.children(Path::new("/db")).unwrap();
    names.retain(|name| name.ends_with(".sst"));
    names.sort();
    names
}

fn live(db: &Db) -> Vec<String> {
    let mut names: Vec<String> = db.live_files().iter().map(LiveFile::name).collect();
    names.sort();
    names
}

fn set_automatic(db: &Db, is_on: bool) {
    let value = if is_on { "false" } else { "true" };
    db.set_options_cf(&db.default_column_family().unwrap(), &[("disable_auto_compactions", value)]).unwrap();
}

#[test]
fn an_automatic_compaction_that_is_aborted_leaves_nothing_and_begins_anew() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let (expected, before) = (fill(&db), live(&db));
    let gate = hold_tables(&files);
    set_automatic(&db, true);
    gate.wait_for(1);
    let aborting = db.clone();
    let aborting = Waiting::begin("aborting", move || aborting.abort_all_compactions());
    gate.open();
    aborting.join();
    assert_eq!(db.int_property("rocksdb.num-running-compactions"), Some(0));
    assert_eq!(db.int_property("rocksdb.compaction-abort-count"), Some(1));
    assert_eq!((live(&db), tables(&files)), (before.clone(), before), "nothing is left, and nothing has changed");
    assert!(db.background_error().is_none());

    // Flushes go on, and a wait for what is due goes on, too.
    db.put(b"more", b"1").unwrap();
    db.flush().unwrap();
    let timeout = Duration::from_millis(5);
    let error = db.wait_for_compact(&WaitForCompactOptions { timeout, ..Default::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    db.resume_all_compactions().unwrap();
    assert_eq!(db.resume_all_compactions().unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.wait_for_background_work().unwrap();
    assert_eq!(db.int_property("rocksdb.compaction-pending"), Some(0));
    assert_eq!(tables(&files), live(&db));
    assert_eq!(contents(&db, &ReadOptions::default()).len(), expected.len() + 1);
}

/// Compactions that a caller asks for, by range and by name.
fn compact(db: &Db, by_name: bool, canceled: Option<Canceller>) -> ferrock::Result<()> {
    let family = db.default_column_family()?;
    if by_name {
        let options = CompactionOptions { canceled, ..CompactionOptions::default() };
        return db.compact_files_cf(&family, &live(db), 4, None, &options).map(drop);
    }
    db.compact_range_cf(&family, None, None, &CompactRangeOptions { canceled, ..CompactRangeOptions::default() })
}

#[test]
fn a_call_that_is_stopped_leaves_nothing() {
    for by_name in [false, true] {
        for how in ["canceled", "disabled", "aborted", "closed"] {
            let files = MemoryFileSystem::new();
            let db = open(&files);
            let (expected, before) = (fill(&db), live(&db));
            let gate = hold_tables(&files);
            let canceller = Canceller::new();
            let (running, canceled) = (db.clone(), Some(canceller.clone()));
            let running = std::thread::spawn(move || compact(&running, by_name, canceled));
            gate.wait_for(1);
            let other = db.clone();
            let stop = match how {
                "canceled" => {
                    canceller.cancel();
                    None
                }
                "disabled" => Some(Waiting::begin(how, move || other.disable_manual_compaction())),
                "aborted" => Some(Waiting::begin(how, move || other.abort_all_compactions())),
                _ => Some(Waiting::begin(how, move || other.cancel_all_background_work(true).unwrap())),
            };
            gate.open();
            let error = running.join().unwrap().unwrap_err();
            stop.into_iter().for_each(|stop| stop.join());
            let kind = if how == "closed" { ErrorKind::ShutdownInProgress } else { ErrorKind::Incomplete };
            assert_eq!(error.kind(), kind, "{how}: {error}");
            assert_eq!((live(&db), tables(&files)), (before.clone(), before), "{how}");
            assert!(db.background_error().is_none(), "{how}");
            // A new one is refused at once, and goes on when that is taken back.
            let refused = compact(&db, by_name, Some(canceller)).unwrap_err();
            assert_eq!(refused.kind(), kind, "{how}: {refused}");
            match how {
                "disabled" => db.enable_manual_compaction().unwrap(),
                "aborted" => db.resume_all_compactions().unwrap(),
                "closed" => continue,
                _ => {}
            }
            compact(&db, by_name, Some(Canceller::new())).unwrap();
            assert_eq!(contents(&db, &ReadOptions::default()), expected, "{how}");
            assert_eq!(tables(&files), live(&db), "{how}");
        }
    }
}

#[test]
fn a_call_that_waits_is_stopped_too() {
    for how in ["canceled", "disabled", "aborted"] {
        let files = MemoryFileSystem::new();
        let db = open(&files);
        fill(&db);
        db.pause_background_work().unwrap();
        let canceller = Canceller::new();
        let (waiting, canceled) = (db.clone(), Some(canceller.clone()));
        // Its flush has nothing to do; its first piece waits for the end of the pause, and looks at the canceller.
        let waiting = std::thread::spawn(move || compact(&waiting, false, canceled));
        wait_until("the call", || db.int_property("rocksdb.num-immutable-mem-table") == Some(0));
        match how {
            "canceled" => canceller.cancel(),
            "disabled" => db.disable_manual_compaction(),
            _ => db.abort_all_compactions(),
        }
        assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::Incomplete, "{how}");
        assert_eq!(db.live_files().len(), 2);
    }
}

#[test]
fn max_subcompactions_of_a_call_counts_for_it() {
    let parts = [1, 3].map(|max_subcompactions| {
        let files = MemoryFileSystem::new();
        let db = open(&files);
        fill(&db);
        let options = CompactionOptions { max_subcompactions, output_file_size_limit: 2000, ..Default::default() };
        let gate = hold_tables(&files);
        let running = db.clone();
        let running = std::thread::spawn(move || {
            let family = running.default_column_family().unwrap();
            running.compact_files_cf(&family, &live(&running), 4, None, &options).unwrap();
        });
        // Each part creates its first table before any creates its second.
        gate.wait_for(max_subcompactions as usize);
        gate.open();
        running.join().unwrap();
        let options = CompactRangeOptions { max_subcompactions, ..CompactRangeOptions::default() };
        db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &options).unwrap();
        contents(&db, &ReadOptions::default()).len()
    });
    assert_eq!(parts, [ENTRIES as usize; 2]);
}

#[test]
fn waiting_for_compactions_has_options() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let expected = fill(&db);
    // flush
    db.put(b"unflushed", b"1").unwrap();
    let tables_before = db.live_files().len();
    db.wait_for_compact(&WaitForCompactOptions { flush: true, ..Default::default() }).unwrap();
    assert_eq!(db.live_files().len(), tables_before + 1);

    // abort_on_pause, timeout
    db.pause_background_work().unwrap();
    let abort_on_pause = WaitForCompactOptions { abort_on_pause: true, ..Default::default() };
    assert_eq!(db.wait_for_compact(&abort_on_pause).unwrap_err().kind(), ErrorKind::Aborted);
    db.wait_for_compact(&WaitForCompactOptions::default()).unwrap();
    set_automatic(&db, true);
    let timeout = WaitForCompactOptions { timeout: Duration::from_millis(5), ..Default::default() };
    assert_eq!(db.wait_for_compact(&timeout).unwrap_err().kind(), ErrorKind::TimedOut, "a compaction is due");
    let waiting = db.clone();
    let waiting = Waiting::begin("waiting", move || waiting.wait_for_compact(&WaitForCompactOptions::default()));
    db.continue_background_work().unwrap();
    waiting.join().unwrap();
    assert_eq!(db.int_property("rocksdb.compaction-pending"), Some(0));

    // wait_for_purge
    db.wait_for_compact(&WaitForCompactOptions { wait_for_purge: true, ..Default::default() }).unwrap();
    assert_eq!(tables(&files), live(&db));

    // close_db, which keeps what no log has
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.put_cf(&db.default_column_family().unwrap(), b"unlogged", b"1", &unlogged).unwrap();
    db.wait_for_compact(&WaitForCompactOptions { close_db: true, ..Default::default() }).unwrap();
    assert_eq!(db.put(b"x", b"1").unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    drop(db);
    assert_eq!(contents(&open(&files), &ReadOptions::default()).len(), expected.len() + 2);
}

#[test]
fn tables_that_reads_held_are_removed_when_the_reads_end() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    set_automatic(&db, true);
    for round in 0..60u64 {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for reader in 0..2 {
                let (db, done) = (&db, &done);
                scope.spawn(move || {
                    let keys: Vec<Vec<u8>> = (0..8).map(|number| key(number + reader)).collect();
                    while !done.load(Ordering::Acquire) {
                        let found = db.get(&keys[0]).unwrap().is_some();
                        assert!(found || round == 0);
                        assert_eq!(db.multi_get(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>()).len(), keys.len());
                        db.iter(&ReadOptions::default()).seek(&keys[0]);
                        drop(db.live_files());
                    }
                });
            }
            for flush in 0..4 {
                for number in 0..50 {
                    db.put(&key(number), format!("{round} {flush}").as_bytes()).unwrap();
                }
                db.flush().unwrap();
            }
            done.store(true, Ordering::Release);
        });
        db.wait_for_compact(&WaitForCompactOptions::default()).unwrap();
        assert_eq!(tables(&files), live(&db), "round {round}");
    }
}

#[test]
fn canceled_background_work_never_comes_back() {
    let files = MemoryFileSystem::new();
    let db = open(&files);
    let expected = fill(&db);
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.put_cf(&db.default_column_family().unwrap(), b"unlogged", b"1", &unlogged).unwrap();
    db.cancel_all_background_work(false).unwrap();
    db.cancel_all_background_work(true).unwrap();
    let tables_before = live(&db);
    assert_eq!(tables_before.len(), 3, "what no log has was flushed");
    db.put(b"logged", b"1").unwrap();
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    assert_eq!(db.wait_for_background_work().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    set_automatic(&db, true);
    // Writes go on until they would have to wait for a flush.
    let family = db.default_column_family().unwrap();
    let mut written = 0;
    let error = loop {
        match db.put(&key(written), &[7; 10_000]) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        if written == 20 {
            db.set_options_cf(&family, &[("write_buffer_size", "65536")]).unwrap();
        }
        assert!(written < 10_000, "writes never end");
    };
    assert_eq!(error.kind(), ErrorKind::ShutdownInProgress, "{error}");
    assert!(written > 20);
    assert_eq!(live(&db), tables_before);
    assert_eq!(db.get(b"unlogged").unwrap().as_deref(), Some(&b"1"[..]));
    db.close().unwrap();
    let db = open(&files);
    let found = contents(&db, &ReadOptions::default());
    assert_eq!(found.len(), expected.len() + 2);
    assert_eq!(found.values().filter(|value| value.len() == 10_000).count() as u64, written);
    assert!(db.flush_cf(&db.default_column_family().unwrap(), &FlushOptions::default()).is_ok());
}
