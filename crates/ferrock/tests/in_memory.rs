//! Databases in memory: what they hold, how they are saved to a directory, and loaded from one.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and use files of the machine"
)]

mod common;

use common::threads::{Waiting, wait_until};
use ferrock::{
    ColumnFamily, ColumnFamilyDescriptor, ColumnFamilyOptions, Db, DbOptions, ErrorKind, FlushOptions, ReadOptions,
    WriteBatch, WriteOptions,
};
use ferrock_vfs::MemoryFileSystem;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn families() -> Vec<ColumnFamilyDescriptor> {
    let mut other = ColumnFamilyOptions::default();
    other.write_buffer_size = 64 << 10;
    other.level0_file_num_compaction_trigger = 2;
    vec![("default".to_owned(), ColumnFamilyOptions::default()), ("other".to_owned(), other)]
}

fn in_memory() -> (Db, Vec<ColumnFamily>) {
    Db::open_in_memory(DbOptions::default(), families()).unwrap()
}

fn contents(db: &Db, family: &ColumnFamily) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut iter = db.iter_cf(family, &ReadOptions::default());
    iter.seek_to_first();
    let mut all = Vec::new();
    while iter.valid() {
        all.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    all
}

fn fill(db: &Db, family: &ColumnFamily, from: u32, count: u32) {
    for number in from..from + count {
        db.put_cf(family, format!("{number:08}").as_bytes(), &[b'v'; 200], &WriteOptions::default()).unwrap();
    }
}

#[test]
fn nothing_touches_the_disk_and_nothing_is_left() {
    let (db, handles) = in_memory();
    fill(&db, &handles[1], 0, 5000);
    db.flush_cf(&handles[1], &FlushOptions::default()).unwrap();
    db.compact_range_cf(&handles[1], None, None, &Default::default()).unwrap();
    assert!(!db.live_files().is_empty());
    assert_eq!(contents(&db, &handles[1]).len(), 5000);
    assert!(!Path::new("/ferrock").exists());
    drop(handles);
    db.close().unwrap();
    let (db, handles) = in_memory();
    assert!(contents(&db, &handles[1]).is_empty(), "each is a database of its own");
}

#[test]
fn a_database_goes_to_a_directory_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let saved = directory.path().join("new/saved");
    let (db, handles) = in_memory();
    fill(&db, &handles[1], 0, 3000);
    db.put(b"logged", b"1").unwrap();
    let without_log = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.put_cf(&handles[0], b"not logged", b"2", &without_log).unwrap();
    db.save_to(&saved).unwrap();
    db.put(b"later", b"3").unwrap();
    let expected = contents(&db, &handles[1]);

    // As a directory like any other.
    let mut options = DbOptions::default();
    options.create_if_missing = false;
    let (on_disk, disk_handles) = Db::open_cf(&saved, options, families()).unwrap();
    assert_eq!(on_disk.identity(), db.identity());
    assert_eq!(contents(&on_disk, &disk_handles[1]), expected);
    let default = vec![(b"logged".to_vec(), b"1".to_vec()), (b"not logged".to_vec(), b"2".to_vec())];
    assert_eq!(contents(&on_disk, &disk_handles[0]), default);
    let busy = Db::load_in_memory(&saved, DbOptions::default(), None).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
    drop(disk_handles);
    on_disk.close().unwrap();

    // And back, with the directory's options and with others.
    for families in [None, Some(families())] {
        let (copy, copied) = Db::load_in_memory(&saved, DbOptions::default(), families).unwrap();
        assert_eq!(contents(&copy, &copied[0]), default);
        assert_eq!(contents(&copy, &copied[1]), expected);
        copy.put(b"in the copy", b"4").unwrap();
        copy.close().unwrap();
    }
    assert_eq!(contents(&db, &handles[0]).len(), 3, "the database that was saved goes on by itself");
}

#[test]
fn a_copy_made_among_writes_and_jobs_has_a_prefix_of_the_writes() {
    let directory = tempfile::tempdir().unwrap();
    let (db, handles) = in_memory();
    let (stops, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each batch writes its number into both families.
            for number in 1_u64.. {
                if stops.load(Ordering::Relaxed) {
                    break;
                }
                let mut batch = WriteBatch::new();
                for family in &handles {
                    batch.put_cf(family.id(), b"last", &number.to_be_bytes()).unwrap();
                    batch.put_cf(family.id(), &(number % 500).to_be_bytes(), &[number as u8; 300]).unwrap();
                }
                db.write(batch, &WriteOptions::default()).unwrap();
                written.store(number, Ordering::Release);
            }
        });
        for round in 0..12 {
            wait_until("it is written", || written.load(Ordering::Acquire) > round * 300);
            let saved = directory.path().join(round.to_string());
            let before = written.load(Ordering::Acquire);
            db.save_to(&saved).unwrap();
            let (copy, copied) = Db::open_cf(&saved, DbOptions::default(), families()).unwrap();
            let last = |family| {
                u64::from_be_bytes(
                    copy.get_cf(family, &ReadOptions::default(), b"last").unwrap().unwrap()[..].try_into().unwrap(),
                )
            };
            let (one, other) = (last(&copied[0]), last(&copied[1]));
            assert_eq!(one, other, "a batch is whole");
            assert!(one >= before, "{one} of {before}");
            let rows = |family: &ColumnFamily| contents(&copy, family).len() as u64;
            assert_eq!((rows(&copied[0]), rows(&copied[1])), (one.min(500) + 1, one.min(500) + 1));
            copy.close().unwrap();
        }
        stops.store(true, Ordering::Relaxed);
    });
}

#[test]
fn nothing_changes_while_files_are_copied() {
    let directory = tempfile::tempdir().unwrap();
    let file_system = MemoryFileSystem::new();
    let mut options = DbOptions::default();
    options.components.file_system = Some(Arc::new(file_system.clone()));
    (options.create_if_missing, options.create_missing_column_families) = (true, true);
    let (db, handles) = Db::open_cf("/db", options, families()).unwrap();
    fill(&db, &handles[1], 0, 100);
    let waiting = Arc::new(Mutex::new(Vec::new()));
    let (of_hook, writer, other) = (Arc::clone(&waiting), db.clone(), handles[1].clone());
    file_system.set_operation_hook(Some(Arc::new(move |_, line| {
        if line != "copy" {
            return;
        }
        let (db, family) = (writer.clone(), other.clone());
        let write = move || db.put_cf(&family, b"later", b"", &WriteOptions::default());
        let (db, family) = (writer.clone(), other.clone());
        // Changes of options take their turn with what jobs install.
        let install = move || db.set_options_cf(&family, &[("level0_file_num_compaction_trigger", "5")]);
        of_hook.lock().push(Waiting::begin("a write", write));
        of_hook.lock().push(Waiting::begin("a change of tables", install));
    })));
    db.save_to(directory.path().join("saved")).unwrap();
    file_system.set_operation_hook(None);
    let waiting = std::mem::take(&mut *waiting.lock());
    assert_eq!(waiting.len(), 2);
    waiting.into_iter().for_each(|thread| thread.join().unwrap());
    let (copy, copied) = Db::open_cf(directory.path().join("saved"), DbOptions::default(), families()).unwrap();
    assert_eq!((contents(&copy, &copied[1]).len(), contents(&db, &handles[1]).len()), (100, 101));
}

#[test]
fn what_has_no_meaning_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut elsewhere = DbOptions::default();
    elsewhere.wal_dir = directory.path().join("logs").display().to_string();
    let error = Db::open_in_memory(elsewhere.clone(), families()).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("leave them out"), "{error}");
    let error = Db::load_in_memory(directory.path(), DbOptions::default(), None).unwrap_err();
    assert!(error.message().contains("no database"), "{error}");

    let path = directory.path().join("db");
    elsewhere.create_if_missing = true;
    let on_disk = Db::open(&path, elsewhere).unwrap();
    let error = on_disk.save_to(directory.path().join("copy")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    on_disk.put(b"key", b"value").unwrap();
    on_disk.close().unwrap();
    let error = Db::load_in_memory(&path, DbOptions::default(), None).unwrap_err();
    assert!(error.kind() == ErrorKind::NotSupported && error.message().contains("logs"), "{error}");

    let (db, _handles) = in_memory();
    std::fs::write(directory.path().join("something"), b"").unwrap();
    let error = db.save_to(directory.path()).unwrap_err();
    assert!(error.message().contains("not empty"), "{error}");
    assert!(!directory.path().join("CURRENT").exists());
}
