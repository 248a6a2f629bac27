//! What is refused, progress, stops, rates and links.

use super::{COPY, PATH, contents_at, memory, options};
use ferrock::backup::{Checkpoint, CopyProgress};
use ferrock::{Db, DbOptions, ErrorKind};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{FileSystem, IoPriority, MemoryFileSystem, RateLimiter, TokenBucket, write_file_synced};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn open(files: &MemoryFileSystem) -> Db {
    let db = Db::open(PATH, options(files)).unwrap();
    for number in 0..200_u8 {
        db.put(&[number], &[number; 1000]).unwrap();
    }
    db.flush().unwrap();
    db.put(b"in the log", &[7; 1000]).unwrap();
    db
}

fn links(files: &MemoryFileSystem, directory: &str) -> Vec<(String, u64)> {
    let names = files.children(Path::new(directory)).unwrap();
    names.into_iter().map(|name| (name.clone(), files.link_count(&Path::new(directory).join(name)).unwrap())).collect()
}

#[test]
fn directories_that_are_there_are_refused() {
    let files = memory();
    let db = open(&files);
    Checkpoint::new(&db).create(COPY).unwrap();
    for taken in [COPY, PATH, "/data"] {
        let error = Checkpoint::new(&db).create(taken).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("exists") && error.to_string().contains(taken), "{error}");
    }
    for none in ["", "/", ".."] {
        assert!(Checkpoint::new(&db).create(none).is_err(), "{none:?}");
    }
    // A directory of another program is not emptied.
    files.create_dir_all(Path::new("/data/new.tmp")).unwrap();
    write_file_synced(&files, Path::new("/data/new.tmp/thesis.txt"), b"years").unwrap();
    let error = Checkpoint::new(&db).create("/data/new").unwrap_err();
    assert!(error.to_string().contains("thesis.txt"), "{error}");
    assert!(files.exists(Path::new("/data/new.tmp/thesis.txt")).unwrap());
    // Directories above are made.
    Checkpoint::new(&db).create("/data/a/b/c").unwrap();
    assert_eq!(contents_at(&files, "/data/a/b/c", DbOptions::default()).unwrap()["default"].len(), 201);
}

#[test]
fn a_database_that_is_only_read_or_closed_is_refused() {
    let files = memory();
    open(&files).close().unwrap();
    let db = Db::open_read_only(PATH, options(&files), None).unwrap().0;
    let error = Checkpoint::new(&db).create(COPY).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    drop(db);
    let db = open(&files);
    db.clone().close().unwrap();
    assert_eq!(Checkpoint::new(&db).create(COPY).unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    assert!(!files.exists(Path::new(COPY)).unwrap() && !files.exists(Path::new("/data/copy.tmp")).unwrap());
}

#[test]
fn what_never_changes_is_linked_and_the_rest_copied() {
    let files = memory();
    let db = open(&files);
    let report = Checkpoint::new(&db).log_size_for_flush(u64::MAX).create(COPY).unwrap();
    let linked: Vec<_> = links(&files, COPY).into_iter().filter(|(_, links)| *links > 1).collect();
    assert!(linked.len() == 1 && linked[0].0.ends_with(".sst"), "{linked:?}");
    // MANIFEST, log, OPTIONS, CURRENT.
    assert_eq!((report.files_linked, report.files_copied), (1, 4));
    let table = files.file_size(&Path::new(COPY).join(&linked[0].0)).unwrap();
    assert_eq!(report.bytes_linked, table);
    let all: u64 =
        links(&files, COPY).iter().map(|(name, _)| files.file_size(&Path::new(COPY).join(name)).unwrap()).sum();
    assert_eq!(report.bytes_copied, all - table);
    let copied = Checkpoint::new(&db).log_size_for_flush(u64::MAX).hard_links(false).create("/data/apart").unwrap();
    assert!(links(&files, "/data/apart").iter().all(|(_, links)| *links == 1));
    assert_eq!(copied.files_linked, 0);
    assert_eq!((copied.bytes_linked, copied.files_copied), (0, report.files_linked + report.files_copied));
}

#[test]
fn progress_goes_up_to_all_of_it() {
    let files = memory();
    let db = open(&files);
    let mut told: Vec<CopyProgress> = Vec::new();
    let mut note = |progress| told.push(progress);
    let report = Checkpoint::new(&db).hard_links(false).progress(&mut note).create(COPY).unwrap();
    let last = told.last().copied().unwrap();
    assert_eq!((last.files_done, last.bytes_done), (last.files, last.bytes));
    assert_eq!((last.files, last.bytes), (report.files_copied, report.bytes_copied));
    let steps = told.windows(2).all(|pair| {
        pair[0].files_done <= pair[1].files_done
            && pair[0].bytes_done <= pair[1].bytes_done
            && pair[0].bytes == pair[1].bytes
    });
    assert!(steps, "{told:?}");
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let files = memory();
    let db = open(&files);
    let stop = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&stop);
    let mut note = move |progress: CopyProgress| setter.store(progress.files_done == 1, Ordering::Relaxed);
    let error = Checkpoint::new(&db).stop(Arc::clone(&stop)).progress(&mut note).create(COPY).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incomplete);
    assert!(!files.exists(Path::new(COPY)).unwrap() && !files.exists(Path::new("/data/copy.tmp")).unwrap());
    assert_eq!(db.int_property("rocksdb.is-file-deletions-enabled"), Some(1));
}

#[test]
fn what_is_copied_is_paid_for() {
    let files = memory();
    let db = open(&files);
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(0));
    let bucket = Arc::new(TokenBucket::new(1 << 40, clock));
    let limiter: Arc<dyn RateLimiter> = Arc::clone(&bucket) as Arc<dyn RateLimiter>;
    let report =
        Checkpoint::new(&db).rate_limiter(Arc::clone(&limiter)).log_size_for_flush(u64::MAX).create(COPY).unwrap();
    let granted = bucket.granted_bytes(IoPriority::Low);
    assert!(granted > 0 && granted <= report.bytes_copied, "{granted} of {}", report.bytes_copied);
}
