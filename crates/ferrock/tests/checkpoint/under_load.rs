//! Copies while writers write, and memtables are flushed and compacted: each is a state that the database had.

use super::{COPY, PATH, contents_at, memory, options};
use ferrock::backup::Checkpoint;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, WriteBatch, WriteOptions};
use ferrock_vfs::FileSystem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: usize = 3;
const COPIES: u64 = 25;

fn number(value: Option<&Vec<u8>>) -> u64 {
    value.map_or(0, |value| u64::from_le_bytes(value[..8].try_into().unwrap()))
}

/// Ends the writers, also when the test has failed.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each batch of a writer puts its number into both families.
fn write(db: &Db, families: &[u32; 2], writer: usize, done: &AtomicU64, stop: &AtomicBool) {
    let key = [b'w', writer as u8];
    for count in 1.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut batch = WriteBatch::new();
        let value = [&u64::to_le_bytes(count)[..], &[7; 200]].concat();
        families.iter().for_each(|id| batch.put_cf(*id, &key, &value).unwrap());
        let options = WriteOptions { sync: count.is_multiple_of(64), ..WriteOptions::default() };
        db.write(batch, &options).unwrap();
        done.store(count, Ordering::SeqCst);
    }
}

fn run(direct_blobs: bool, log_size_for_flush: u64) {
    let files = memory();
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 10;
    family.level0_file_num_compaction_trigger = 2;
    (family.enable_blob_files, family.enable_blob_direct_write) = (direct_blobs, direct_blobs);
    let descriptors = ["default", "other"].map(|name| (name.to_owned(), family.clone())).into();
    let mut db_options = options(&files);
    db_options.allow_concurrent_memtable_write = !direct_blobs;
    db_options.max_manifest_file_size = 2000;
    let (db, families) = Db::open_cf(PATH, db_options, descriptors).unwrap();
    let ids = [families[0].id(), families[1].id()];
    let (done, stop) = (Arc::new([const { AtomicU64::new(0) }; WRITERS]), Arc::new(AtomicBool::new(false)));
    std::thread::scope(|scope| {
        let _end = StopAtEnd(&stop);
        for writer in 0..WRITERS {
            let (db, done, stop) = (&db, &done, &stop);
            scope.spawn(move || write(db, &ids, writer, &done[writer], stop));
        }
        for copy in 0..COPIES {
            // The two families are at different logs.
            if copy % 3 == 0 {
                db.flush_cf(&families[(copy % 2) as usize], &ferrock::FlushOptions::default()).unwrap();
            }
            let path = format!("{COPY}{copy}");
            let before: Vec<u64> = done.iter().map(|done| done.load(Ordering::SeqCst)).collect();
            Checkpoint::new(&db).log_size_for_flush(log_size_for_flush).create(&path).unwrap();
            let after: Vec<u64> = done.iter().map(|done| done.load(Ordering::SeqCst) + 1).collect();
            let contents = contents_at(&files, &path, DbOptions::default()).unwrap();
            let mut batches = 0;
            for writer in 0..WRITERS {
                let key = vec![b'w', writer as u8];
                let [own, other] = ["default", "other"].map(|name| number(contents[name].get(&key)));
                assert_eq!(own, other, "copy {copy}: a batch is there as a whole");
                assert!((before[writer]..=after[writer]).contains(&own), "copy {copy}: {own}, {before:?}, {after:?}");
                batches += own;
            }
            // Of all batches in the order of their numbers a prefix: none is missing among those that are there.
            let mut reopened = DbOptions::default();
            reopened.components.file_system = Some(Arc::new(files.clone()));
            let (copied, _) = Db::open_with_latest_options(&path, reopened).unwrap();
            assert_eq!(copied.latest_sequence_number().0, 2 * batches, "copy {copy}");
            drop(copied);
            for name in files.children(Path::new(&path)).unwrap() {
                files.remove_file(&Path::new(&path).join(name)).unwrap();
            }
        }
    });
}

#[test]
fn every_copy_is_a_state_that_the_database_had() {
    run(false, 0);
}

#[test]
fn every_copy_with_its_logs_is_a_state_that_the_database_had() {
    run(false, u64::MAX);
    run(false, 20_000);
}

#[test]
fn every_copy_with_values_in_blob_files_that_are_being_written_is_a_state_that_the_database_had() {
    run(true, u64::MAX);
    run(true, 0);
}

/// A copy that races with closing has everything, or is refused.
#[test]
fn a_copy_beside_closing_is_whole_or_refused() {
    let (mut whole, mut refused) = (0, 0);
    for round in 0..300_u64 {
        let files = memory();
        let db = Db::open(PATH, options(&files)).unwrap();
        for number in 0..20_u64 {
            db.put(&number.to_le_bytes(), b"value").unwrap();
        }
        let copy = || Checkpoint::new(&db).log_size_for_flush(u64::MAX).create(COPY);
        let close = || db.clone().close().unwrap();
        // One behind the other, either way, and both at once.
        let copied = match round % 10 {
            0 => {
                close();
                copy()
            }
            1 => copy(),
            _ => std::thread::scope(|scope| {
                scope.spawn(|| {
                    (0..round * 20).for_each(|_| std::hint::spin_loop());
                    close();
                });
                copy()
            }),
        };
        match copied {
            Ok(_) => {
                whole += 1;
                let rows = contents_at(&files, COPY, DbOptions::default()).unwrap()["default"].len();
                assert_eq!(rows, 20, "round {round}");
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.kind(), ferrock::ErrorKind::ShutdownInProgress, "{error}");
            }
        }
    }
    assert!(whole >= 30 && refused >= 30, "{whole} {refused}");
}
