//! Writers, readers, compactions and ingestions at once.

use crate::common::{options_on, rows_of};
use crate::rig::key;
use ferrock::{ColumnFamilyOptions, Db, IngestExternalFileOptions, ReadOptions, SstFileWriter};
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Keys that writers and ingestions write.
const SHARED: u64 = 40;
const ROUNDS: u64 = 120;

/// The number at the head of a value.
fn number_of(value: &[u8]) -> u64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// Each key is written with rising numbers by one thread alone: a writer has the even keys, a thread that ingests the
/// odd ones, and both overlap in every range. What a reader sees of a key never goes back, and of one file it sees all
/// or nothing.
#[test]
fn what_readers_see_never_goes_back() {
    for dynamic in [false, true] {
        let file_system = MemoryFileSystem::without_crashes();
        let mut options = ColumnFamilyOptions::default();
        options.write_buffer_size = 64 << 10;
        options.level0_file_num_compaction_trigger = 2;
        options.max_bytes_for_level_base = 1 << 12;
        options.level_compaction_dynamic_level_bytes = dynamic;
        let db_options = options_on(Arc::new(file_system));
        let families = vec![("default".to_owned(), options.clone())];
        let (db, _) = Db::open_cf("/db", db_options.clone(), families).unwrap();
        let (is_done, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = Random::new(1);
                let mut round = 0u64;
                while !is_done.load(Ordering::SeqCst) {
                    round += 1;
                    db.put(&key(2 * random.below(SHARED)), round.to_string().as_bytes()).unwrap();
                    if round.is_multiple_of(300) {
                        db.compact_range(None, None).unwrap();
                    }
                }
            });
            scope.spawn(|| {
                let mut writer = SstFileWriter::new(&db_options, options.clone());
                for round in 1..=ROUNDS {
                    let path = PathBuf::from(format!("/{round}.sst"));
                    writer.open(&path).unwrap();
                    for number in 0..SHARED {
                        writer.put(&key(2 * number + 1), round.to_string().as_bytes()).unwrap();
                    }
                    writer.finish().unwrap();
                    let move_files = round.is_multiple_of(2);
                    let ingest = IngestExternalFileOptions { move_files, ..IngestExternalFileOptions::default() };
                    db.ingest_external_file(&[path], &ingest).unwrap();
                    rounds.store(round, Ordering::SeqCst);
                }
                is_done.store(true, Ordering::SeqCst);
            });
            for reader in 0..2 {
                let (db, is_done, rounds) = (&db, &is_done, &rounds);
                scope.spawn(move || {
                    let mut newest = vec![0; 2 * SHARED as usize];
                    while !is_done.load(Ordering::SeqCst) {
                        let acknowledged = rounds.load(Ordering::SeqCst);
                        let snapshot = if reader == 0 { None } else { Some(db.snapshot()) };
                        let rows = rows_of(db.iter(&ReadOptions { snapshot, ..ReadOptions::default() }));
                        for number in 0..2 * SHARED {
                            let seen = rows.get(&key(number)).map_or(0, |value| number_of(value));
                            let before = std::mem::replace(&mut newest[number as usize], seen);
                            assert!(seen >= before, "key {number}: {seen} after {before}");
                        }
                        let ingested: Vec<u64> = newest.iter().skip(1).step_by(2).copied().collect();
                        assert!(ingested.iter().all(|seen| *seen == ingested[0]), "a part of a file: {ingested:?}");
                        assert!(ingested[0] >= acknowledged, "{} was acknowledged", acknowledged);
                    }
                });
            }
        });
        let ingested = db.get(&key(1)).unwrap().map_or(0, |value| number_of(&value));
        assert_eq!(ingested, ROUNDS);
        db.close().unwrap();
    }
}
