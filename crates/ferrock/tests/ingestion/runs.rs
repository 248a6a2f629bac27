//! Scans that leap over runs of deleted keys, while tables come from outside and others are taken away.

use crate::common::in_memory;
use crate::rig::key;
use ferrock::{ColumnFamilyOptions, Db, IngestExternalFileOptions, ReadOptions, SstFileWriter, UserKeyRange};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Keys that are deleted; the one in the middle comes by tables, and is deleted before the next one comes.
const KEYS: u64 = 400;
const MIDDLE: u64 = KEYS / 2;
const ROUNDS: u64 = 300;

fn number_of(value: &[u8]) -> u64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// Ends the other threads, also where its own ends by a failure.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The first row from the front, whose number is 0 without one.
fn first_row(db: &Db) -> u64 {
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    iter.status().unwrap();
    if iter.valid() { number_of(iter.value()) } else { 0 }
}

/// What is found once is found by each scan behind it, although the key lies among deleted ones that scans know of.
#[test]
fn what_comes_into_a_run_is_seen_beside_files_that_go() {
    let file_system = MemoryFileSystem::without_crashes();
    let mut db_options = in_memory();
    db_options.components.file_system = Some(Arc::new(file_system) as Arc<dyn FileSystem>);
    let mut options = ColumnFamilyOptions::default();
    options.disable_auto_compactions = true;
    let (db, handles) = Db::open_cf("/db", db_options.clone(), vec![("default".to_owned(), options.clone())]).unwrap();
    for number in 0..KEYS {
        db.delete(&key(number)).unwrap();
    }
    let (is_done, deletions) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ends = Ends(&is_done);
            let mut writer = SstFileWriter::new(&db_options, options.clone());
            for round in 1..=ROUNDS {
                let path = PathBuf::from(format!("/{round}.sst"));
                writer.open(&path).unwrap();
                writer.put(&key(MIDDLE), round.to_string().as_bytes()).unwrap();
                writer.finish().unwrap();
                let ingest = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
                db.ingest_external_file(&[path], &ingest).unwrap();
                if round == ROUNDS {
                    break;
                }
                deletions.fetch_add(1, Ordering::SeqCst);
                db.delete(&key(MIDDLE)).unwrap();
                deletions.fetch_add(1, Ordering::SeqCst);
                if round % 8 == 0 {
                    // Of many tables of few keys a compaction makes one, without the deletions.
                    db.compact_range(None, None).unwrap();
                    (0..KEYS).for_each(|number| db.delete(&key(number)).unwrap());
                }
                // Scans find out that nothing is left.
                first_row(&db);
            }
        });
        for thread in 0..2_u8 {
            let (db, db_options, options, family, is_done) = (&db, &db_options, &options, &handles[0], &is_done);
            scope.spawn(move || {
                // Behind all keys: that they come and go changes nothing of what the scans look for.
                let mut writer = SstFileWriter::new(db_options, options.clone());
                let keys: Vec<[u8; 3]> = (0..8).map(|number| [b'x', thread, number]).collect();
                while !is_done.load(Ordering::SeqCst) {
                    let table = |key: &[u8; 3]| {
                        let path = PathBuf::from(format!("/{}.sst", key.escape_ascii()));
                        writer.open(&path).unwrap();
                        writer.put(key, b"0").unwrap();
                        writer.finish().unwrap();
                        path
                    };
                    let paths: Vec<PathBuf> = keys.iter().map(table).collect();
                    let ingest = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
                    db.ingest_external_file(&paths, &ingest).unwrap();
                    for key in &keys {
                        let range: UserKeyRange<'_> = (Some(key), Some(key));
                        db.delete_files_in_ranges_cf(family, &[range], true).unwrap();
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    let before = deletions.load(Ordering::SeqCst);
                    let found = db.get(&key(MIDDLE)).unwrap().map_or(0, |value| number_of(&value));
                    let scanned = first_row(&db);
                    // Odd: it is being deleted.
                    if before.is_multiple_of(2) && deletions.load(Ordering::SeqCst) == before {
                        assert!(scanned >= found, "a scan found {scanned}, a lookup before it {found}");
                    }
                }
            });
        }
    });
    assert_eq!(first_row(&db), ROUNDS);
    db.close().unwrap();
}
