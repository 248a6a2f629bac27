//! Read-only opens beside a writer, which may flush and compact all the time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock::{ColumnFamilyOptions, Db, DbOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_vfs::MemoryFileSystem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PATH: &str = "/db";
const OPENS: u64 = 150;
const LOOKS_BESIDE_A_BUSY_WRITER: u64 = 40;
const MOST_FLUSHES: u64 = 200_000;
/// Before the first open: the MANIFEST is long by then.
const FLUSHES_BEFORE: u64 = 1000;
/// Keys that are written during one open, and after how many of them comes a flush.
const KEYS: u64 = 12;
const KEYS_OF_FLUSH: u64 = 3;

fn options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

fn count(db: &Db) -> ferrock::Result<u64> {
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    iter.status().map(|()| count)
}

#[test]
fn what_was_written_before_is_seen() {
    let files = MemoryFileSystem::new();
    let mut family = ColumnFamilyOptions::default();
    family.level0_file_num_compaction_trigger = 2;
    let (db, _) = Db::open_cf(PATH, options(&files), vec![("default".to_owned(), family.clone())]).unwrap();
    let (written, wanted) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for key in 0..OPENS * KEYS {
                while key >= wanted.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                db.put(format!("key{key:08}").as_bytes(), b"value").unwrap();
                written.store(key + 1, Ordering::Release);
                if key % KEYS_OF_FLUSH == 0 {
                    db.flush().unwrap();
                }
            }
        });
        let mut seen = Vec::new();
        for open in 1..=OPENS {
            let least = written.load(Ordering::Acquire);
            wanted.store(open * KEYS, Ordering::Release);
            let families = vec![("default".to_owned(), family.clone())];
            let opened = Db::open_read_only(PATH, options(&files), Some(families));
            seen.push((least, opened.and_then(|(db, _)| count(&db))));
        }
        // Not before the writer has all that it waits for.
        for (least, count) in seen {
            let count = count.unwrap();
            assert!(count >= least, "{count} keys are seen, {least} had been written");
        }
    });
}

/// Calls `look` again and again beside a writer that does not wait for it: each look meets several flushes, each of
/// which ends a log, and compactions. A look counts keys.
fn beside_a_writer_that_never_rests(files: &MemoryFileSystem, mut look: impl FnMut() -> ferrock::Result<u64>) {
    let mut family = ColumnFamilyOptions::default();
    // The second family keeps logs that the first does not need.
    family.level0_file_num_compaction_trigger = 2;
    let families = ["default", "other"].map(|name| (name.to_owned(), family.clone())).to_vec();
    let mut options = options(files);
    options.create_missing_column_families = true;
    let (db, handles) = Db::open_cf(PATH, options, families).unwrap();
    let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for key in 0..MOST_FLUSHES {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                db.put(format!("key{key:08}").as_bytes(), b"value").unwrap();
                written.store(key + 1, Ordering::Release);
                db.flush().unwrap();
                if key % 8 == 0 {
                    db.put_cf(&handles[1], format!("key{key:08}").as_bytes(), b"value", &WriteOptions::default())
                        .unwrap();
                }
                if key % 64 == 0 {
                    db.flush_cf(&handles[1], &FlushOptions::default()).unwrap();
                }
            }
        });
        while written.load(Ordering::Acquire) < FLUSHES_BEFORE {
            std::thread::yield_now();
        }
        let mut seen = Vec::new();
        for _ in 0..LOOKS_BESIDE_A_BUSY_WRITER {
            let least = written.load(Ordering::Acquire);
            seen.push((least, look()));
        }
        is_over.store(true, Ordering::Release);
        for (least, count) in seen {
            let count = count.unwrap();
            assert!(count >= least, "{count} keys are seen, {least} had been written");
        }
    });
}

#[test]
fn a_writer_that_never_rests_starves_no_open() {
    let files = MemoryFileSystem::new();
    beside_a_writer_that_never_rests(&files, || {
        Db::open_read_only(PATH, options(&files), None).and_then(|(db, _)| count(&db))
    });
}

#[test]
fn a_writer_that_never_rests_starves_no_catch_up() {
    let files = MemoryFileSystem::new();
    let mut secondary = None;
    beside_a_writer_that_never_rests(&files, || {
        let db = match secondary.take() {
            Some(db) => db,
            None => Db::open_as_secondary(PATH, "/secondary", options(&files), None)?.0,
        };
        db.try_catch_up_with_primary()?;
        count(secondary.insert(db))
    });
}

/// The family "other" is not opened, and it alone needs the first log. Without that log the sequence numbers in the
/// second one would look like a loss, and the deletion there would not be seen.
#[test]
fn one_family_alone_is_read_to_the_end_of_the_logs() {
    let files = MemoryFileSystem::new();
    let db = Db::open(PATH, options(&files)).unwrap();
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"1").unwrap();
    // The last number of this log belongs to the other family: no table that the MANIFEST has reaches up to it.
    db.put_cf(&other, b"x", b"1", &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    db.delete(b"b").unwrap();
    let families = vec![("default".to_owned(), ColumnFamilyOptions::default())];
    let (read, _) = Db::open_read_only(PATH, options(&files), Some(families)).unwrap();
    assert_eq!(count(&read).unwrap(), 1, "only `a` is left");
    assert_eq!(read.latest_sequence_number(), db.latest_sequence_number());
}
