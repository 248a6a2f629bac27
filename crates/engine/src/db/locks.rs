//! Tests of what is done under which lock, and under the leadership of the write queue.

use super::Db;
use crate::jobs::is_locked_by_this_thread;
use crate::options::{ColumnFamilyOptions, CompactRangeOptions, DbOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::{Error, ErrorKind};
use ferrock_format::write_batch::WriteBatch;
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Fills memtables of all families, so that logs are switched, and flushes.
fn fill(db: &Db, round: u64) {
    for number in 0..40_u64 {
        for family in db.column_families() {
            let key = (number * 7 + round).to_be_bytes();
            db.put_cf(&family, &key, &[round as u8; 2000], &WriteOptions::default()).unwrap();
        }
    }
    for family in db.column_families() {
        db.flush_cf(&family, &FlushOptions::default()).unwrap();
    }
}

/// Whatever a database does, the file system is not touched under the lock of the scheduler, which writers and the ends
/// of jobs want.
#[test]
fn no_file_is_touched_under_the_lock_of_the_scheduler() {
    let memory = MemoryFileSystem::new();
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
    let (seen, guilty) = (Arc::new(AtomicUsize::new(0)), Arc::new(parking_lot::Mutex::new(Vec::new())));
    let (counter, lines) = (Arc::clone(&seen), Arc::clone(&guilty));
    memory.set_operation_hook(Some(Arc::new(move |_, line| {
        counter.fetch_add(1, Ordering::Relaxed);
        if is_locked_by_this_thread() {
            lines.lock().push(line.to_owned());
        }
    })));
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_background_jobs = 4;
    options.components.file_system = Some(Arc::clone(&faults) as Arc<dyn FileSystem>);
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 10;
    family.level0_file_num_compaction_trigger = 2;
    family.level0_slowdown_writes_trigger = 3;
    let families = vec![("default".to_owned(), family.clone())];
    memory.create_dir_all(Path::new("/data")).unwrap();
    let (db, _) = Db::open_cf("/data/db", options, families).unwrap();
    let other = db.create_column_family("other", family).unwrap();
    for round in 0..6 {
        fill(&db, round);
    }
    db.set_options_cf(&other, &[("write_buffer_size", "131072")]).unwrap();
    let up = CompactRangeOptions { change_level: true, ..CompactRangeOptions::default() };
    db.compact_range_cf(&other, None, None, &up).unwrap();
    db.wait_for_background_work().unwrap();
    let rule = faults.add_rule(FaultRule::new(OperationKind::Create, "*.log", Fault::Io));
    db.put(b"key", b"value").unwrap();
    assert!(db.flush().is_err(), "the next log cannot be made");
    assert!(db.put(b"key", b"value").is_err());
    faults.remove_rule(rule);
    db.resume().unwrap();
    fill(&db, 7);
    db.drop_column_family(&other).unwrap();
    db.wait_for_background_work().unwrap();
    db.close().unwrap();
    memory.set_operation_hook(None);
    assert!(seen.load(Ordering::Relaxed) > 1000);
    assert_eq!(*guilty.lock(), Vec::<String>::new());
}

/// What changes the MANIFEST, CURRENT or OPTIONS keeps no writer waiting: at each operation on them, a write by another
/// thread gets through. `resume` is not among them: until it is done, no write is accepted.
#[test]
fn no_writer_waits_for_the_manifest() {
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/data")).unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_manifest_file_size = 1000;
    options.components.file_system = Some(Arc::new(memory.clone()));
    let db = Db::open("/data/db", options).unwrap();
    let outcomes = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (writer, list) = (db.clone(), Arc::clone(&outcomes));
    memory.set_operation_hook(Some(Arc::new(move |number: u64, line: &str| {
        if !["MANIFEST", "CURRENT", "OPTIONS", ".dbtmp"].iter().any(|name| line.contains(name)) {
            return;
        }
        let (db, (done, outcome)) = (writer.clone(), std::sync::mpsc::channel());
        let put = move || done.send(db.put(&number.to_be_bytes(), b"value"));
        std::thread::Builder::new().spawn(put).unwrap();
        list.lock().push((line.to_owned(), matches!(outcome.recv_timeout(Duration::from_secs(10)), Ok(Ok(())))));
    })));
    let family = db.create_column_family("family", ColumnFamilyOptions::default()).unwrap();
    db.put_cf(&family, b"key", b"value", &WriteOptions::default()).unwrap();
    db.flush_cf(&family, &FlushOptions::default()).unwrap();
    db.set_options_cf(&family, &[("write_buffer_size", "131072")]).unwrap();
    db.compact_range_cf(&family, None, None, &CompactRangeOptions::default()).unwrap();
    db.drop_column_family(&family).unwrap();
    db.wait_for_background_work().unwrap();
    memory.set_operation_hook(None);
    let outcomes = outcomes.lock();
    assert!(outcomes.len() > 10, "{outcomes:?}");
    let waited: Vec<_> = outcomes.iter().filter(|(_, got_through)| !got_through).collect();
    assert!(waited.is_empty(), "{waited:#?}");
    drop(db);
}

/// While a family is being dropped it takes no write, not even one that ignores missing families: the drop may fail.
#[test]
fn a_failed_drop_gives_the_family_back_and_loses_no_write() {
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/data")).unwrap();
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    // Each change begins a new MANIFEST, whose making can fail before anything is written.
    options.max_manifest_file_size = 1;
    options.components.file_system = Some(Arc::clone(&faults) as Arc<dyn FileSystem>);
    let db = Db::open("/data/db", options).unwrap();
    let family = db.create_column_family("family", ColumnFamilyOptions::default()).unwrap();
    let ignoring = WriteOptions { ignore_missing_column_families: true, ..WriteOptions::default() };
    let (writer, handle, written) = (db.clone(), family.clone(), Arc::new(parking_lot::Mutex::new(Vec::new())));
    let outcomes = Arc::clone(&written);
    memory.set_operation_hook(Some(Arc::new(move |_, line: &str| {
        if line.contains("MANIFEST") {
            outcomes.lock().push(writer.put_cf(&handle, b"between", b"value", &ignoring));
        }
    })));
    let rule = faults.add_rule(FaultRule::new(OperationKind::Sync, "MANIFEST-*", Fault::Io));
    let failed = db.drop_column_family(&family);
    assert!(failed.is_err());
    memory.set_operation_hook(None);
    faults.remove_rule(rule);
    db.resume().unwrap();
    let outcomes = written.lock();
    assert!(!outcomes.is_empty());
    let is_written = outcomes.iter().any(Result::is_ok);
    assert_eq!(db.get_cf(&family, &ReadOptions::default(), b"between").unwrap().is_some(), is_written, "{outcomes:?}");
    db.put_cf(&family, b"after", b"value", &ignoring).unwrap();
    assert!(db.get_cf(&family, &ReadOptions::default(), b"after").unwrap().is_some());
    db.drop_column_family(&family).unwrap();
    db.put_cf(&family, b"later", b"value", &ignoring).unwrap();
}

/// A database that is open lists no directory, however much it cleans up.
#[test]
fn directories_are_listed_at_open_alone() {
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/data")).unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_manifest_file_size = 1000;
    options.components.file_system = Some(Arc::new(memory.clone()));
    let mut family = ColumnFamilyOptions::default();
    family.level0_file_num_compaction_trigger = 2;
    let (db, _) = Db::open_cf("/data/db", options, vec![("default".to_owned(), family)]).unwrap();
    let listed = memory.counters().snapshot().dir_lists;
    for round in 0..6 {
        fill(&db, round);
        db.set_db_options(&[("max_background_jobs", if round % 2 == 0 { "3" } else { "4" })]).unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
    assert_eq!(memory.counters().snapshot().dir_lists, listed);
    let names = memory.children(Path::new("/data/db")).unwrap();
    let count = |what: &str| names.iter().filter(|name| name.contains(what)).count();
    assert_eq!((count(".sst"), count(".log"), count(".dbtmp")), (db.live_files().len(), 1, 0), "{names:?}");
    assert!(count("MANIFEST") <= 2 && count("OPTIONS") <= 3, "{names:?}");
    db.close().unwrap();
}

/// A check is asked while no other thread writes, and what it refuses is nowhere.
#[test]
fn a_check_refuses_a_batch_before_it_is_logged() {
    let memory = MemoryFileSystem::new();
    memory.create_dir_all(Path::new("/data")).unwrap();
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(memory.clone()));
    let db = Db::open("/data/db", options.clone()).unwrap();
    let together = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4_u64)
        .map(|thread| {
            let (db, together) = (db.clone(), Arc::clone(&together));
            let add_one = move || {
                together.wait();
                for round in 0..2000_u64 {
                    if (round + thread) % 3 == 0 {
                        db.put(&thread.to_be_bytes(), b"beside").unwrap();
                    }
                    loop {
                        let (before, seen) = (db.latest_sequence_number(), db.get(b"sum").unwrap());
                        let sum = seen.map_or(0, |seen| u64::from_be_bytes(seen[..].try_into().unwrap()));
                        let mut batch = WriteBatch::new();
                        batch.put(b"sum", &(sum + 1).to_be_bytes()).unwrap();
                        let unchanged = move |latest| {
                            if latest == before {
                                Ok(())
                            } else {
                                Err(Error::new(ErrorKind::Busy, "a write came between"))
                            }
                        };
                        match db.write_checked(batch, &WriteOptions::default(), unchanged) {
                            Ok(()) => break,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
                        }
                    }
                }
            };
            std::thread::Builder::new().spawn(add_one).unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let sum = |db: &Db| u64::from_be_bytes(db.get(b"sum").unwrap().unwrap()[..].try_into().unwrap());
    assert_eq!(sum(&db), 8000);
    let mut refused = WriteBatch::new();
    refused.put(b"refused", b"value").unwrap();
    let before = db.latest_sequence_number();
    let refuse = |_| Err(Error::new(ErrorKind::Aborted, "as it was told"));
    assert!(db.write_checked(refused, &WriteOptions::default(), refuse).is_err());
    assert_eq!(db.latest_sequence_number(), before);
    db.put(b"after", b"value").unwrap();
    drop(db);
    let db = Db::open("/data/db", options).unwrap();
    assert_eq!((sum(&db), db.get(b"refused").unwrap().is_none()), (8000, true));
    assert!(db.get(b"after").unwrap().is_some());
}
