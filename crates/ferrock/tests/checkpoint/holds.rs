//! What stays while there is a hold, and what goes behind the last one.

use super::{PATH, memory, options};
use crate::common::threads::{Gate, wait_until};
use ferrock::options::{SstFileManager, SstFileManagerOptions};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, LiveFilesStorageOptions};
use ferrock_format::file_name::{self, FileKind};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const KINDS: [FileKind; 4] = [FileKind::Table, FileKind::Blob, FileKind::Log, FileKind::Manifest];

fn names(files: &MemoryFileSystem) -> BTreeSet<String> {
    let names = files.children(Path::new(PATH)).unwrap();
    names.into_iter().filter(|name| file_name::parse(name).is_some_and(|name| KINDS.contains(&name.kind))).collect()
}

/// Writes, flushes and compacts, so that tables, logs and MANIFESTs become obsolete.
fn replace_all(db: &Db, round: u8) {
    for _ in 0..2 {
        for number in 0..20_u8 {
            db.put(&[number], &[round; 50]).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.wait_for_background_work().unwrap();
}

fn open(options: DbOptions, blobs: bool) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.enable_blob_files = blobs;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 1.0;
    Db::open_cf(PATH, options, vec![("default".to_owned(), family)]).unwrap().0
}

/// Without managers of deletions, and with one that renames before it removes.
fn all_options(files: &MemoryFileSystem) -> [DbOptions; 2] {
    let mut small = options(files);
    // Each change begins a MANIFEST, and the one before becomes obsolete.
    small.max_manifest_file_size = 1;
    small.max_manifest_space_amp_pct = 0;
    let mut managed = small.clone();
    managed.components.sst_file_manager = Some(SstFileManager::new(SstFileManagerOptions::default()));
    [small, managed]
}

#[test]
fn nothing_goes_before_the_last_hold_ends() {
    for (blobs, which) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let files = memory();
        let db = open(all_options(&files)[which].clone(), blobs);
        replace_all(&db, 1);
        let without = names(&files).len();
        let enabled = || db.int_property("rocksdb.is-file-deletions-enabled");
        assert_eq!(enabled(), Some(1));
        let first = db.hold_files().unwrap();
        db.disable_file_deletions().unwrap();
        db.disable_file_deletions().unwrap();
        let second = db.hold_files().unwrap();
        assert_eq!(enabled(), Some(0));
        let mut seen = names(&files);
        let listed = db.live_files_storage_info(&LiveFilesStorageOptions::default()).unwrap();
        for round in 2..5 {
            replace_all(&db, round);
            let now = names(&files);
            assert!(now.is_superset(&seen), "{:?} went", seen.difference(&now));
            assert!(now.len() >= seen.len() + 4, "a flush and a compaction replace files");
            seen = now;
        }
        for file in listed.iter().filter(|file| file.replacement_contents.is_none()) {
            let size = files.file_size(&file.path()).unwrap();
            assert!(if file.trim_to_size { size >= file.size_bytes } else { size == file.size_bytes }, "{file:?}");
        }
        // Each alone keeps all.
        drop(second);
        db.enable_file_deletions().unwrap();
        replace_all(&db, 5);
        assert!(names(&files).is_superset(&seen));
        drop(first);
        replace_all(&db, 6);
        assert!(names(&files).is_superset(&seen), "a call has disabled deletions, and none has enabled them");
        db.enable_file_deletions().unwrap();
        assert_eq!(enabled(), Some(1));
        assert_eq!(names(&files).len(), without, "enabling removes on the caller's thread: {:?}", names(&files));
        // One call too many is none.
        db.enable_file_deletions().unwrap();
        let third = db.hold_files().unwrap();
        db.enable_file_deletions().unwrap();
        replace_all(&db, 7);
        assert!(names(&files).len() > without, "a call does not end the hold of a copy");
        drop(third);
        wait_until("the hold of a copy ends, and what it kept goes", || names(&files).len() == without);
        assert_eq!(&*db.get(&[7]).unwrap().unwrap(), &[7; 50]);
    }
}

/// A file that is being removed as the hold begins is gone when it has begun.
#[test]
fn a_hold_waits_for_the_removal_that_runs() {
    let files = memory();
    let db = open(options(&files), false);
    replace_all(&db, 1);
    let gate = Gate::shut();
    let at_gate = Arc::clone(&gate);
    files.set_operation_hook(Some(Arc::new(move |_, line| {
        if line.starts_with("remove") && line.contains(".sst") {
            at_gate.pass();
        }
    })));
    let (removing, holding) = (db.clone(), db.clone());
    let remover = std::thread::spawn(move || replace_all(&removing, 2));
    gate.wait_for(1);
    let (begun, has_begun) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let hold = holding.hold_files().unwrap();
        begun.send(()).unwrap();
        hold
    });
    // Between the first removal and the hold there may be others; behind the hold there is none.
    gate.open();
    has_begun.recv().unwrap();
    let held = names(&files);
    remover.join().unwrap();
    assert!(names(&files).is_superset(&held));
    files.set_operation_hook(None);
    drop(holder.join().unwrap());
}

/// Copies the database as soon as one of its files goes.
#[derive(Default)]
struct CopiesAtRemoval {
    db: std::sync::Mutex<Option<ferrock::WeakDb>>,
    copies: std::sync::atomic::AtomicUsize,
}

impl ferrock::EventListener for CopiesAtRemoval {
    fn on_table_file_deleted(&self, _info: &ferrock::FileDeletionInfo) {
        let Some(db) = self.db.lock().unwrap().as_ref().and_then(ferrock::WeakDb::upgrade) else { return };
        drop(db.hold_files());
        self.copies.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

/// The removal that is told of is over: a hold does not wait for it.
#[test]
fn a_listener_of_removals_begins_a_hold() {
    let files = memory();
    let listener = Arc::new(CopiesAtRemoval::default());
    let mut options = options(&files);
    options.components.listeners.push(Arc::clone(&listener) as Arc<dyn ferrock::EventListener>);
    let db = open(options, false);
    *listener.db.lock().unwrap() = Some(db.downgrade());
    replace_all(&db, 1);
    replace_all(&db, 2);
    wait_until("the listener has held the files", || listener.copies.load(std::sync::atomic::Ordering::SeqCst) > 0);
    db.close().unwrap();
}

#[test]
fn a_hold_outlives_the_database() {
    let files = memory();
    let db = open(options(&files), false);
    let hold = db.hold_files().unwrap();
    replace_all(&db, 1);
    replace_all(&db, 2);
    let held = names(&files);
    db.clone().close().unwrap();
    assert!(names(&files).is_superset(&held), "closing removes nothing that is held");
    assert_eq!(db.hold_files().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    assert_eq!(db.disable_file_deletions().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    assert_eq!(db.enable_file_deletions().unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    drop(db);
    // The next open is another database: the hold is none of its own.
    let db = open(options(&files), false);
    assert!(names(&files).len() < held.len());
    let before = names(&files);
    drop(hold);
    assert_eq!(names(&files), before);
    assert_eq!(&*db.get(&[7]).unwrap().unwrap(), &[2; 50]);
}

/// The files of a memtable that never becomes a table, as its family is dropped.
#[test]
fn blob_files_of_a_dropped_memtable_stay_and_go() {
    let files = memory();
    let mut family = ColumnFamilyOptions::default();
    (family.enable_blob_files, family.enable_blob_direct_write) = (true, true);
    let mut serial = options(&files);
    serial.allow_concurrent_memtable_write = false;
    let db = open(serial, false);
    let other = db.create_column_family("other", family).unwrap();
    db.put_cf(&other, b"key", &[1; 100], &ferrock::WriteOptions::default()).unwrap();
    let blobs = || names(&files).iter().filter(|name| name.ends_with(".blob")).count();
    assert_eq!(blobs(), 1);
    let hold = db.hold_files().unwrap();
    db.drop_column_family(&other).unwrap();
    drop(other);
    db.wait_for_background_work().unwrap();
    assert_eq!(blobs(), 1);
    drop(hold);
    wait_until("the file goes", || blobs() == 0);
}

#[test]
fn a_database_that_is_only_read_refuses() {
    let files = memory();
    drop(open(options(&files), false));
    let db = Db::open_read_only(PATH, options(&files), None).unwrap().0;
    assert_eq!(db.disable_file_deletions().unwrap_err().kind(), ErrorKind::NotSupported);
    assert_eq!(db.enable_file_deletions().unwrap_err().kind(), ErrorKind::NotSupported);
    let error = db.live_files_storage_info(&LiveFilesStorageOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.to_string().contains("read-only"), "{error}");
    assert_eq!(db.hold_files().unwrap_err().kind(), ErrorKind::NotSupported);
}
