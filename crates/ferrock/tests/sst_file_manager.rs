//! The space of tables and blob files: counted, bounded, and given back at a rate.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::threads::wait_until;
use ferrock::options::{SstFileManager, SstFileManagerOptions};
use ferrock::{ColumnFamilyOptions, CompactionJobInfo, Db, DbOptions, ErrorKind, EventListener};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_format::file_name::{self, FileKind};
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATH: &str = "/db";

fn manager(rate: i64) -> Arc<SstFileManager> {
    SstFileManager::new(SstFileManagerOptions {
        delete_rate_bytes_per_second: rate,
        max_trash_db_ratio: 100.0,
        bytes_max_delete_chunk: 5000,
    })
}

fn options(files: &MemoryFileSystem, manager: Option<&Arc<SstFileManager>>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.bgerror_resume_retry_interval = 1000;
    options.components.file_system = Some(Arc::new(files.clone()));
    options.components.sst_file_manager = manager.cloned();
    options
}

fn open_in(path: &str, options: DbOptions, has_blobs: bool) -> Db {
    let mut family = ColumnFamilyOptions::default();
    family.enable_blob_files = has_blobs;
    family.enable_blob_garbage_collection = true;
    family.blob_garbage_collection_age_cutoff = 1.0;
    family.level0_file_num_compaction_trigger = 4;
    Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn open(options: DbOptions) -> Db {
    open_in(PATH, options, false)
}

/// Writes a hundred values of a hundred bytes and flushes them.
fn fill(db: &Db, round: u8) -> ferrock::Result<()> {
    for number in 0..100_u8 {
        db.put(&[number], &[round; 100])?;
    }
    db.flush()
}

fn check(db: &Db, round: u8) {
    for number in 0..100_u8 {
        assert_eq!(&*db.get(&[number]).unwrap().unwrap(), &[round; 100]);
    }
}

fn names(files: &MemoryFileSystem, kinds: &[FileKind]) -> Vec<String> {
    let mut names = files.children(Path::new(PATH)).unwrap();
    names.retain(|name| file_name::parse(name).is_some_and(|parsed| kinds.contains(&parsed.kind)));
    names
}

/// What the manager counts is what lies in the directory.
fn check_counts(files: &MemoryFileSystem, manager: &SstFileManager) {
    let on_disk: Vec<(PathBuf, u64)> = names(files, &[FileKind::Table, FileKind::Blob, FileKind::Trash])
        .into_iter()
        .map(|name| Path::new(PATH).join(name))
        .map(|path| (path.clone(), files.file_size(&path).unwrap()))
        .filter(|(path, _)| !path.to_string_lossy().contains(".log"))
        .collect();
    let mut tracked: Vec<_> = manager.tracked_files().into_iter().collect();
    tracked.retain(|(path, _)| !path.to_string_lossy().contains(".log"));
    tracked.sort();
    assert_eq!(tracked, on_disk);
    assert_eq!(manager.total_size(), on_disk.iter().map(|(_, bytes)| bytes).sum::<u64>());
}

#[test]
fn files_are_counted_and_removed_at_the_rate() {
    for has_blobs in [false, true] {
        let (files, clock) = (MemoryFileSystem::new(), Arc::new(ManualClock::new(1)));
        let manager = manager(1);
        let mut options_of_db = options(&files, None);
        options_of_db.components.sst_file_manager = Some(Arc::clone(&manager));
        options_of_db.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
        let db = open_in(PATH, options_of_db.clone(), has_blobs);
        for round in 0..3 {
            fill(&db, round).unwrap();
            check_counts(&files, &manager);
        }
        db.compact_range(None, None).unwrap();
        db.wait_for_background_work().unwrap();
        // The first file, or its end, goes at once and is paid for with days: time stands.
        wait_until("the thread waits", || clock.sleepers() > 0);
        check_counts(&files, &manager);
        assert!(!names(&files, &[FileKind::Trash]).is_empty() && manager.total_trash_size() > 0);
        check(&db, 2);
        // A crash leaves trash, which the next open removes: at once, or as its own manager says.
        for paced in [false, true] {
            let left = files.crash_clone(CrashPolicy::KeepAll);
            let other = manager_of(paced);
            let after = open_in(PATH, options(&left, Some(&other)), has_blobs);
            other.wait_for_empty_trash();
            assert_eq!(names(&left, &[FileKind::Trash]), Vec::<String>::new());
            check(&after, 2);
            check_counts(&left, &other);
        }
        let left = files.crash_clone(CrashPolicy::KeepAll);
        let after = open_in(PATH, options(&left, None), has_blobs);
        assert_eq!(names(&left, &[FileKind::Trash]), Vec::<String>::new());
        check(&after, 2);
        // Closing leaves it to the manager, which goes on.
        db.close().unwrap();
        assert!(manager.total_trash_size() > 0);
        manager.set_delete_rate_bytes_per_second(0);
        manager.wait_for_empty_trash();
        assert_eq!(manager.total_trash_size(), 0);
        check_counts(&files, &manager);
        assert!(manager.background_errors().is_empty());
        let db = open_in(PATH, options_of_db.clone(), has_blobs);
        check_counts(&files, &manager);
        drop(db);
        Db::destroy(PATH, &options_of_db).unwrap();
        assert_eq!((manager.total_size(), manager.tracked_files().len()), (0, 0));
    }
}

fn manager_of(paced: bool) -> Arc<SstFileManager> {
    manager(if paced { 1 << 40 } else { 0 })
}

#[test]
fn databases_share_one() {
    let (one, other, manager) = (MemoryFileSystem::new(), MemoryFileSystem::new(), manager(0));
    let first = open(options(&one, Some(&manager)));
    let second = open_in("/other", options(&other, Some(&manager)), false);
    fill(&first, 0).unwrap();
    let size = manager.total_size();
    fill(&second, 0).unwrap();
    assert!(size > 1000 && manager.total_size() > size);
    assert_eq!(manager.tracked_files().len(), 2);
}

/// Writes stop when a flush reaches the bound, reads go on, and writes do when there is space again.
#[test]
fn writes_stop_at_the_bound_and_go_on_by_themselves() {
    let (files, manager) = (MemoryFileSystem::new(), manager(0));
    let db = open(options(&files, Some(&manager)));
    fill(&db, 0).unwrap();
    let size = manager.total_size();
    manager.set_max_allowed_space_usage(size + 100);
    assert!(!manager.is_max_allowed_space_reached());
    let error = fill(&db, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SpaceLimit, "{error}");
    assert!(manager.is_max_allowed_space_reached());
    assert_eq!(db.put(b"key", b"value").unwrap_err().kind(), ErrorKind::SpaceLimit);
    check(&db, 1);
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::SpaceLimit);
    manager.set_max_allowed_space_usage(0);
    wait_until("writes are accepted", || db.put(b"key", b"value").is_ok());
    fill(&db, 2).unwrap();
    check(&db, 2);
    check_counts(&files, &manager);
}

/// A compaction that does not fit does not begin; one that reaches the bound leaves nothing.
#[test]
fn compactions_need_space() {
    let (files, manager) = (MemoryFileSystem::new(), manager(0));
    let db = open(options(&files, Some(&manager)));
    fill(&db, 0).unwrap();
    let size = manager.total_size();
    manager.set_max_allowed_space_usage(1 << 30);
    manager.set_compaction_buffer_size((1 << 30) - 4 * size);
    for round in 1..5 {
        fill(&db, round).unwrap();
    }
    db.wait_for_background_work().unwrap();
    assert_eq!(names(&files, &[FileKind::Table]).len(), 5, "none of four files is compacted");
    let error = db.compact_range(None, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CompactionTooLarge, "{error}");
    assert!(error.to_string().starts_with("Compaction too large: "), "{error}");
    assert!(db.background_error().is_none());
    // It begins by itself.
    manager.set_compaction_buffer_size(0);
    wait_until("it is compacted", || names(&files, &[FileKind::Table]).len() == 1);
    db.wait_for_background_work().unwrap();
    assert_eq!(manager.compactions_reserved_size(), 0);
    check(&db, 4);
}

/// Takes the space that a compaction was to have, once it has begun.
struct Neighbour(Arc<SstFileManager>);

const OUTSIDE: &str = "/elsewhere";

impl EventListener for Neighbour {
    fn on_compaction_begin(&self, _: &CompactionJobInfo) {
        self.0.on_add_file(PathBuf::from(OUTSIDE), self.0.total_size());
    }
}

#[test]
fn a_compaction_that_reaches_the_bound_leaves_nothing() {
    let (files, manager) = (MemoryFileSystem::new(), manager(0));
    let mut options = options(&files, Some(&manager));
    options.components.listeners.push(Arc::new(Neighbour(Arc::clone(&manager))));
    let db = open(options);
    fill(&db, 0).unwrap();
    fill(&db, 1).unwrap();
    manager.set_max_allowed_space_usage(2 * manager.total_size());
    let before = names(&files, &[FileKind::Table]);
    let error = db.compact_range(None, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SpaceLimit, "{error}");
    assert_eq!(names(&files, &[FileKind::Table]), before);
    assert_eq!(db.put(b"key", b"value").unwrap_err().kind(), ErrorKind::SpaceLimit);
    manager.on_delete_file(Path::new(OUTSIDE));
    wait_until("writes are accepted", || db.put(b"key", b"value").is_ok());
    manager.set_max_allowed_space_usage(0);
    db.compact_range(None, None).unwrap();
    manager.on_delete_file(Path::new(OUTSIDE));
    check(&db, 1);
    check_counts(&files, &manager);
}
