//! What is missing is an error that says so, and nothing that was lost or refused is ever given.

use crate::follower::{Follower, all_contents, keeping_on, open};
use ferrock::options::WalRecoveryMode;
use ferrock::{Db, Error, ErrorKind, SequenceNumber, WalBatch, WalIterator, WalReadOptions, WriteOptions};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, read_file,
    write_file_atomically,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TTL: u64 = 1_000_000;

fn since(db: &Db, sequence: u64) -> WalIterator {
    db.updates_since(SequenceNumber(sequence), WalReadOptions::default()).unwrap()
}

/// The sequence numbers of all batches, and what ended them.
fn numbers(updates: &mut WalIterator) -> (Vec<u64>, Option<Error>) {
    let mut numbers = Vec::new();
    loop {
        match updates.next_batch() {
            Ok(Some(WalBatch { sequence, .. })) => numbers.push(sequence.0),
            Ok(None) => return (numbers, None),
            Err(error) => {
                let again = updates.next_batch().unwrap_err();
                assert_eq!(again.to_string(), error.to_string(), "nothing comes behind an error");
                return (numbers, Some(error));
            }
        }
    }
}

/// The same where nothing is missing.
fn whole(updates: &mut WalIterator) -> Vec<u64> {
    let (numbers, error) = numbers(updates);
    assert!(error.is_none(), "{numbers:?} {error:?}");
    numbers
}

fn assert_gap(error: &Error, from: u64, to: u64) {
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.contains(&format!("Gap in sequence numbers: {from} to {to} are in no log")), "{text}");
    assert!(text.contains("wal_ttl_seconds"), "{text}");
}

fn put(db: &Db, key: u64) {
    db.put(format!("key{key}").as_bytes(), &key.to_le_bytes()).unwrap();
}

/// Until the logs that nothing needs any more are gone, too.
fn flush(db: &Db) {
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

#[test]
fn logs_that_were_removed_are_missing() {
    let (db, _) = open(keeping_on(Arc::new(MemoryFileSystem::new()), 0)).unwrap();
    let mut updates = since(&db, 1);
    (1..=3).for_each(|key| put(&db, key));
    assert_eq!(whole(&mut updates), vec![1, 2, 3]);
    put(&db, 4);
    flush(&db);
    put(&db, 5);
    flush(&db);
    put(&db, 6);
    // The log of 4 stayed for its reader, that of 5 did not.
    let (read, error) = numbers(&mut updates);
    assert_eq!(read, [4]);
    assert_gap(&error.unwrap(), 5, 5);
    drop(updates);
    flush(&db);
    put(&db, 7);
    let (read, error) = numbers(&mut since(&db, 2));
    assert!(read.is_empty());
    assert_gap(&error.unwrap(), 2, 6);
    assert_eq!(whole(&mut since(&db, 0)), [7], "from wherever the logs begin");
    let options = WalReadOptions { from_first_available: true, ..WalReadOptions::default() };
    let mut updates = db.updates_since(SequenceNumber(2), options).unwrap();
    assert_eq!(whole(&mut updates), [7]);
    drop(updates);
    flush(&db);
    let (read, error) = numbers(&mut since(&db, 7));
    assert!(read.is_empty());
    assert_gap(&error.unwrap(), 7, 7);
}

#[test]
fn writes_without_a_log_are_missing() {
    let (db, _) = open(keeping_on(Arc::new(MemoryFileSystem::new()), TTL)).unwrap();
    put(&db, 1);
    let mut updates = since(&db, 1);
    assert_eq!(whole(&mut updates), vec![1]);
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    let family = db.default_column_family().unwrap();
    db.put_cf(&family, b"unlogged", b"value", &unlogged).unwrap();
    // It is missing at once: no log will ever have it.
    let (read, error) = numbers(&mut updates);
    assert!(read.is_empty());
    assert_gap(&error.unwrap(), 2, 2);
    put(&db, 3);
    let (read, error) = numbers(&mut since(&db, 1));
    assert_eq!(read, [1]);
    assert_gap(&error.unwrap(), 2, 2);
    assert_eq!(whole(&mut since(&db, 3)), vec![3]);
}

/// A write whose sync failed is in the log, whole. Neither before nor after the database recovered, nor when it was
/// opened again, is it an update.
#[test]
fn a_write_that_failed_is_never_given() {
    for fault in [OperationKind::Sync, OperationKind::Append] {
        let memory = MemoryFileSystem::new();
        let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory)));
        let options = keeping_on(Arc::clone(&faults) as Arc<dyn FileSystem>, TTL);
        let (db, families) = open(options.clone()).unwrap();
        put(&db, 1);
        let mut updates = since(&db, 1);
        let rule = faults.add_rule(FaultRule::new(fault, "*.log", Fault::Io));
        let family = db.default_column_family().unwrap();
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        db.put_cf(&family, b"failed", b"value", &synced).unwrap_err();
        assert_eq!(numbers(&mut updates).0, [1], "{fault:?}");
        faults.remove_rule(rule);
        db.resume().unwrap();
        assert!(db.get(b"failed").unwrap().is_none());
        put(&db, 3);
        let failed_at = 2;
        let (read, error) = numbers(&mut since(&db, 1));
        assert_eq!(read, [1], "{fault:?}");
        assert_gap(&error.unwrap(), failed_at, failed_at);
        assert_eq!(whole(&mut since(&db, 3)), vec![3]);
        let before = all_contents(&db, &families);
        drop((db, families));
        let (db, families) = open(options).unwrap();
        let (read, error) = numbers(&mut since(&db, 1));
        assert_eq!(read, [1], "{fault:?}");
        assert_gap(&error.unwrap(), failed_at, failed_at);
        assert_eq!(whole(&mut since(&db, 3)), vec![3]);
        assert_eq!(all_contents(&db, &families), before);
    }
}

/// The log behind the one that a reader has open says where that one ended, and may be gone when it is asked.
#[test]
fn a_write_that_failed_is_never_given_when_the_next_log_is_gone() {
    let memory = MemoryFileSystem::new();
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(memory.clone())));
    let mut options = keeping_on(Arc::clone(&faults) as Arc<dyn FileSystem>, 0);
    options.wal_size_limit_mb = 0;
    let (db, _) = open(options).unwrap();
    put(&db, 1);
    let mut updates = since(&db, 1);
    assert_eq!(whole(&mut updates), [1]);
    let rule = faults.add_rule(FaultRule::new(OperationKind::Sync, "*.log", Fault::Io));
    let family = db.default_column_family().unwrap();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.put_cf(&family, b"failed", b"value", &synced).unwrap_err();
    faults.remove_rule(rule);
    db.resume().unwrap();
    let next = db.current_wal_file().unwrap().path();
    put(&db, 3);
    flush(&db);
    put(&db, 4);
    flush(&db);
    assert!(!memory.exists(&Path::new("/db").join(next)).unwrap(), "the log that says where the first one ended");
    put(&db, 5);
    let (read, error) = numbers(&mut updates);
    assert_eq!(read, [0_u64; 0]);
    assert_eq!(error.unwrap().kind(), ErrorKind::NotFound);
}

/// Three logs in the archive, with updates 1 to 30, 31 to 60 and 61 to 90, and 91 in the log in use.
fn archived(memory: &MemoryFileSystem) -> (Db, Vec<PathBuf>) {
    let (db, _) = open(keeping_on(Arc::new(memory.clone()), TTL)).unwrap();
    for key in 1..=90 {
        put(&db, key);
        if key % 30 == 0 {
            db.flush().unwrap();
        }
    }
    put(&db, 91);
    let logs = db.sorted_wal_files().unwrap();
    assert_eq!(logs.iter().map(|log| log.start_sequence.0).collect::<Vec<_>>(), [1, 31, 61, 91]);
    let paths = logs[..3].iter().map(|log| Path::new("/db").join(log.path())).collect();
    (db, paths)
}

fn change(memory: &MemoryFileSystem, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = read_file(memory, path).unwrap();
    change(&mut bytes);
    write_file_atomically(memory, path, &path.with_extension("changed"), &bytes).unwrap();
}

#[test]
fn damage_is_an_error_that_names_file_and_offset() {
    let memory = MemoryFileSystem::new();
    let (db, paths) = archived(&memory);
    let mut at = 0;
    change(&memory, &paths[1], |bytes| {
        // Of the value, which begins behind key and length.
        at = bytes.windows(5).position(|window| window == b"key45").unwrap() + 8;
        bytes[at] ^= 1;
    });
    let (read, error) = numbers(&mut since(&db, 1));
    assert_eq!(read, (1..=44).collect::<Vec<_>>());
    let error = error.unwrap();
    assert_eq!((error.kind(), error.file()), (ErrorKind::Corruption, Some(&*paths[1])));
    assert!(error.offset().is_some_and(|offset| offset > 0 && offset <= at as u64), "{error} {at}");
    assert!(error.to_string().contains("sequence numbers 45 to 60 are lost"), "{error}");
    // What lies before and behind it can be read.
    assert_eq!(whole(&mut since(&db, 61)), (61..=91).collect::<Vec<_>>());
    // A checksum that is not looked at finds nothing wrong with a value.
    let options = WalReadOptions { verify_checksums: false, ..WalReadOptions::default() };
    let mut updates = db.updates_since(SequenceNumber(1), options).unwrap();
    assert_eq!(whole(&mut updates), (1..=91).collect::<Vec<_>>());
}

#[test]
fn a_log_that_was_cut_or_is_gone_is_missing() {
    let memory = MemoryFileSystem::new();
    let (db, paths) = archived(&memory);
    change(&memory, &paths[1], |bytes| bytes.truncate(bytes.len() * 2 / 3));
    let (read, error) = numbers(&mut since(&db, 1));
    assert!(read.len() > 40 && read.len() < 60);
    let error = error.unwrap();
    assert_eq!((error.kind(), error.file()), (ErrorKind::Corruption, Some(&*paths[1])));
    assert!(error.to_string().contains("ends in the middle of a record"), "{error}");
    memory.remove_file(&paths[1]).unwrap();
    let (read, error) = numbers(&mut since(&db, 1));
    assert_eq!(read, (1..=30).collect::<Vec<_>>());
    assert_gap(&error.unwrap(), 31, 60);
    // A log that is damaged from its beginning on is named.
    change(&memory, &paths[2], |bytes| bytes.iter_mut().for_each(|byte| *byte ^= 0x55));
    let error = numbers(&mut since(&db, 61)).1.unwrap();
    assert_eq!((error.kind(), error.file()), (ErrorKind::Corruption, Some(&*paths[2])));
    assert_eq!(db.sorted_wal_files().unwrap_err().file(), Some(&*paths[2]));
}

/// What lies behind damage at which a recovery stopped was never seen by the database again, and is not given.
#[test]
fn what_a_recovery_gave_up_is_not_given() {
    let memory = MemoryFileSystem::new();
    let mut options = keeping_on(Arc::new(memory.clone()), TTL);
    let (db, _) = open(options.clone()).unwrap();
    // Several blocks: behind the damage the next one is whole.
    (1..=200).for_each(|key: u64| db.put(&key.to_le_bytes(), &[7; 1000]).unwrap());
    let log = Path::new("/db").join(db.current_wal_file().unwrap().path());
    drop(db);
    change(&memory, &log, |bytes| {
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
    });
    options.wal_recovery_mode = WalRecoveryMode::PointInTimeRecovery;
    let (db, families) = open(options).unwrap();
    let kept = db.latest_sequence_number().0;
    assert!(kept > 60 && kept < 140);
    (1000..1200).for_each(|key| put(&db, key));
    let mut follower = Follower::new();
    follower.follow(&db).unwrap();
    follower.assert_equals(&db, &families);
    assert_eq!(follower.taken.0, kept + 200);
}

/// The recovery stops in the first of two logs: the second one says more than the one that is begun then.
#[test]
fn what_a_recovery_gave_up_of_two_logs_is_not_given() {
    let memory = MemoryFileSystem::new();
    let mut options = keeping_on(Arc::new(memory.clone()), TTL);
    options.avoid_flush_during_recovery = true;
    let (db, families) = open(options.clone()).unwrap();
    (1..=200).for_each(|key: u64| db.put(&key.to_le_bytes(), &[7; 1000]).unwrap());
    let log = Path::new("/db").join(db.current_wal_file().unwrap().path());
    drop((db, families));
    // The log is kept, and another one begun behind it.
    let (db, families) = open(options.clone()).unwrap();
    (300..=400).for_each(|key: u64| db.put(&key.to_le_bytes(), &[7; 1000]).unwrap());
    assert_ne!(log, Path::new("/db").join(db.current_wal_file().unwrap().path()));
    assert!(memory.exists(&log).unwrap());
    drop((db, families));
    change(&memory, &log, |bytes| {
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
    });
    options.wal_recovery_mode = WalRecoveryMode::PointInTimeRecovery;
    let (db, families) = open(options).unwrap();
    // The numbers of what is lost are not given out again, and those of the second log are.
    assert_eq!(db.latest_sequence_number().0, 200);
    (1000..1200).for_each(|key| put(&db, key));
    let (read, error) = numbers(&mut since(&db, 1));
    assert!(read.len() > 60 && read.len() < 140 && error.unwrap().is_corruption(), "{}", read.len());
    assert_eq!(whole(&mut since(&db, 201)), (201..=400).collect::<Vec<_>>());
    let first = since(&db, 201).next_batch().unwrap().unwrap();
    assert!(first.batch.data().windows(3).all(|bytes| bytes != [7; 3]), "a value of the log that was given up");
    drop(families);
}

#[test]
fn a_database_that_is_open_for_reading_has_updates_and_one_that_is_closed_has_none() {
    let memory = MemoryFileSystem::new();
    let (db, _) = archived(&memory);
    let options = keeping_on(Arc::new(memory.clone()), TTL);
    let (reader, _) = Db::open_read_only("/db", options, None).unwrap();
    assert_eq!(whole(&mut since(&reader, 1)), (1..=91).collect::<Vec<_>>());
    assert_eq!(reader.sorted_wal_files().unwrap(), db.sorted_wal_files().unwrap());
    assert_eq!(reader.current_wal_file().unwrap_err().kind(), ErrorKind::NotSupported);
    let mut updates = since(&db, 1);
    updates.next_batch().unwrap().unwrap();
    let weak = db.downgrade();
    db.close().unwrap();
    assert_eq!(updates.next_batch().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    let closed = weak.upgrade().unwrap().updates_since(SequenceNumber(1), WalReadOptions::default());
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::ShutdownInProgress);
}

#[test]
fn an_archive_of_another_database_is_refused_and_one_that_is_destroyed_goes() {
    let memory = MemoryFileSystem::new();
    let (db, paths) = archived(&memory);
    drop(db);
    let options = keeping_on(Arc::new(memory.clone()), TTL);
    Db::destroy("/db", &options).unwrap();
    assert!(!memory.exists(Path::new("/db/archive")).unwrap());
    memory.create_dir_all(Path::new("/db/archive")).unwrap();
    write_file_atomically(&memory, &paths[0], Path::new("/db/archive/changed"), b"a log").unwrap();
    let error = open(options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("archive"), "{error}");
}
