//! Logs that are written compressed: what survives their lost ends is what their recovery mode promises.
//!
//! One log of small and large batches is cut at every byte of its last records, around the ends of its blocks, and at
//! its beginning, where the record lies that says that it is compressed.

use crate::model::difference;
use ferrock::options::{CompressionType, WalRecoveryMode};
use ferrock::{Db, DbOptions, Error, ReadOptions, WriteOptions};
use ferrock_base::FileNumber;
use ferrock_format::log::{LogEvent, LogReader, SliceSource};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PATH: &str = "/data/db";
const BLOCK: usize = 32 << 10;
const RECORDS: u64 = 60;

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(files: &MemoryFileSystem, compression: CompressionType) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_file_opening_threads = 1;
    options.wal_compression = compression;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

fn new_file_system() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files
}

/// Values that shrink, and some that do not and span blocks.
fn entry(number: u64) -> (Vec<u8>, Vec<u8>) {
    let mut random = ferrock_base::random::Random::new(number);
    let value = match number % 20 {
        7 => (0..50_000).map(|_| random.next_u64() as u8).collect(),
        13 => vec![number as u8; 300_000],
        _ => format!("value {number} ").repeat(1 + (number % 9) as usize).into_bytes(),
    };
    (format!("key{number:04}").into_bytes(), value)
}

fn logs(files: &MemoryFileSystem) -> Vec<PathBuf> {
    let mut names = files.children(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names.iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn number_of(log: &Path) -> FileNumber {
    FileNumber(log.file_stem().unwrap().to_str().unwrap().parse().unwrap())
}

fn contents(db: &Db) -> Result<Contents, Error> {
    let mut iter = db.iter(&ReadOptions::default());
    let mut found = Contents::new();
    iter.seek_to_first();
    while iter.valid() {
        found.insert(iter.key().to_vec(), iter.value().to_vec());
        iter.next();
    }
    iter.status().map(|()| found)
}

/// Where records end, and whether they have entries; that the log is compressed.
fn ends_of_records(log: &Path, bytes: &[u8]) -> Vec<(u64, bool)> {
    let mode = WalRecoveryMode::AbsoluteConsistency;
    let mut reader = LogReader::new(SliceSource(bytes), number_of(log), mode);
    let (mut ends, mut scratch) = (Vec::new(), Vec::new());
    loop {
        let has_entries = match reader.read_record(&mut scratch).unwrap() {
            LogEvent::Record { data, .. } => data[8..12] != [0; 4],
            LogEvent::End => break,
            event => panic!("{event:?}"),
        };
        ends.push((reader.last_record_end(), has_entries));
    }
    assert!(reader.is_compressed());
    ends
}

/// A database that was left with one compressed log.
fn make() -> (MemoryFileSystem, PathBuf, Vec<u8>) {
    let files = new_file_system();
    let db = Db::open(PATH, options(&files, CompressionType::Zstd)).unwrap();
    for number in 0..RECORDS {
        let (key, value) = entry(number);
        db.put(&key, &value).unwrap();
    }
    drop(db);
    let log = logs(&files).pop().unwrap();
    let bytes = read_file(&files, &log).unwrap();
    (files, log, bytes)
}

#[test]
fn cut_ends_of_compressed_logs_give_back_what_their_recovery_mode_promises() {
    let (files, log, bytes) = make();
    let ends = ends_of_records(&log, &bytes);
    assert_eq!(ends.iter().filter(|(_, has_entries)| *has_entries).count() as u64, RECORDS);
    let mut cuts: BTreeSet<usize> = (0..60).chain(bytes.len() - 250..=bytes.len()).collect();
    for edge in (BLOCK..bytes.len()).step_by(BLOCK) {
        cuts.extend([edge - 8, edge - 1, edge, edge + 3, edge + 8]);
    }
    let mut refused = 0;
    for cut in cuts {
        // Behind a whole record, or behind the one that says that the log is compressed.
        let is_whole = cut == 0 || cut == 11 || ends.iter().any(|(end, _)| *end == cut as u64);
        let kept = ends.iter().filter(|(end, has_entries)| *has_entries && *end <= cut as u64).count() as u64;
        for mode in WalRecoveryMode::ALL {
            let copy = files.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
            write_file_synced(&copy, &log, &bytes[..cut]).unwrap();
            // Logs are read whatever the option says.
            let compression = if cut % 2 == 0 { CompressionType::Zstd } else { CompressionType::NoCompression };
            let mut options = options(&copy, compression);
            options.wal_recovery_mode = mode;
            let db = match Db::open(PATH, options.clone()) {
                Err(error) if mode == WalRecoveryMode::AbsoluteConsistency && !is_whole => {
                    assert!(error.is_corruption() && error.to_string().contains(".log"), "{error}");
                    refused += 1;
                    continue;
                }
                db => db.unwrap_or_else(|error| panic!("cut at {cut}, {mode:?}: {error}")),
            };
            assert!(is_whole || mode != WalRecoveryMode::AbsoluteConsistency, "a torn log was taken: {cut}");
            let mut expected: Contents = (0..kept).map(entry).collect();
            let found = contents(&db).unwrap();
            assert!(found == expected, "cut at {cut}, {mode:?}: {}", difference(&found, &expected));
            // What is written then is there after the next open, too.
            db.put(b"after", b"recovery").unwrap();
            drop(db);
            expected.insert(b"after".to_vec(), b"recovery".to_vec());
            let found = contents(&Db::open(PATH, options).unwrap()).unwrap();
            assert!(found == expected, "cut at {cut}, {mode:?}, again: {}", difference(&found, &expected));
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn a_compressed_log_is_smaller_and_an_empty_one_stays_empty() {
    let sizes = [CompressionType::NoCompression, CompressionType::Zstd].map(|compression| {
        let files = new_file_system();
        let db = Db::open(PATH, options(&files, compression)).unwrap();
        let log = logs(&files).pop().unwrap();
        assert_eq!(read_file(&files, &log).unwrap().len(), 0);
        db.put(b"key", &vec![b'x'; 200_000]).unwrap();
        read_file(&files, &log).unwrap().len()
    });
    assert!(sizes[0] > 200_000 && sizes[1] < 2000, "{sizes:?}");
}

#[test]
fn other_compressions_of_logs_count_as_none_with_a_note() {
    for compression in CompressionType::ALL {
        let files = new_file_system();
        let db = Db::open(PATH, options(&files, compression)).unwrap();
        db.put(b"key", b"value").unwrap();
        let notes = db.option_notes();
        let is_noted = notes.iter().any(|note| note.contains("wal_compression"));
        let is_known = matches!(compression, CompressionType::NoCompression | CompressionType::Zstd);
        assert_eq!(is_noted, !is_known, "{compression:?}: {notes:?}");
        // The type of the first record: what follows is compressed, or it is whole.
        let log = read_file(&files, &logs(&files)[0]).unwrap();
        assert_eq!(log[6], if compression == CompressionType::Zstd { 9 } else { 1 }, "{compression:?}");
    }
}

#[test]
fn the_compression_of_logs_is_kept_in_the_options_file() {
    let files = new_file_system();
    drop(Db::open(PATH, options(&files, CompressionType::Zstd)).unwrap());
    let loaded = ferrock::options::load_latest(&files, Path::new(PATH)).unwrap().unwrap();
    assert_eq!(loaded.db.wal_compression, CompressionType::Zstd);
}

#[test]
fn a_record_of_many_writers_that_sync_is_one_frame_and_comes_back() {
    let files = new_file_system();
    let db = Db::open(PATH, options(&files, CompressionType::Zstd)).unwrap();
    let family = db.default_column_family().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (db, family) = (&db, &family);
            scope.spawn(move || {
                for number in (thread..200).step_by(4) {
                    let (key, value) = entry(number);
                    let options = WriteOptions { sync: number % 3 == 0, ..WriteOptions::default() };
                    db.put_cf(family, &key, &value, &options).unwrap();
                }
            });
        }
    });
    let left = files.crash_clone(ferrock_vfs::CrashPolicy::KeepAll);
    let log = logs(&left).pop().unwrap();
    ends_of_records(&log, &read_file(&left, &log).unwrap());
    let db = Db::open(PATH, options(&left, CompressionType::Zstd)).unwrap();
    assert!(contents(&db).unwrap() == (0..200).map(entry).collect());
}
