//! Logs that the MANIFEST lists (`track_and_verify_wals_in_manifest`), which are verified by the next open.

use crate::common::options_on;
use crate::follower::{all_contents, flush_all, open};
use ferrock::options::WalRecoveryMode;
use ferrock::{DbOptions, ErrorKind, FlushOptions, WriteOptions};
use ferrock_format::current_file;
use ferrock_format::log::{LogEvent, LogReader, SliceSource};
use ferrock_format::version_edit::VersionEdit;
use ferrock_vfs::{CrashPolicy, FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn options(files: &MemoryFileSystem, tracks: bool) -> DbOptions {
    let mut options = options_on(Arc::new(files.clone()));
    options.track_and_verify_wals_in_manifest = tracks;
    options
}

/// What a reader of the MANIFEST takes from it: RocksDB refuses an open where one of these is not there.
fn listed(files: &MemoryFileSystem) -> BTreeMap<u64, u64> {
    let current = read_file(files, Path::new("/db/CURRENT")).unwrap();
    let number = current_file::decode_current(&current).unwrap();
    let bytes = read_file(files, &Path::new("/db").join(ferrock_format::file_name::manifest(number))).unwrap();
    let mut reader = LogReader::manifest(SliceSource(&bytes));
    let (mut listed, mut scratch) = (BTreeMap::new(), Vec::new());
    while let LogEvent::Record { data, .. } = reader.read_record(&mut scratch).unwrap() {
        let edit = VersionEdit::decode(data).unwrap();
        for wal in edit.wal_additions {
            listed.insert(wal.log_number.0, wal.synced_size_bytes.unwrap());
        }
        if let Some(number) = edit.wal_deletion {
            listed = listed.split_off(&number.0);
        }
    }
    listed
}

fn log(number: u64) -> PathBuf {
    PathBuf::from(format!("/db/{number:06}.log"))
}

/// A database that was killed with one log listed, which a family needs that was not flushed.
fn make() -> (MemoryFileSystem, u64, u64) {
    let files = MemoryFileSystem::new();
    let (db, families) = open(options(&files, true)).unwrap();
    for number in 0..20u32 {
        for family in &families {
            db.put_cf(family, &number.to_le_bytes(), b"value", &WriteOptions::default()).unwrap();
        }
    }
    assert_eq!(listed(&files), BTreeMap::new(), "the log in use is not listed");
    db.flush_cf(&families[0], &FlushOptions::default()).unwrap();
    db.put_cf(&families[0], b"later", b"value", &WriteOptions::synced()).unwrap();
    let clone = files.crash_clone(CrashPolicy::KeepNothingUnsynced);
    let (&number, &size) = listed(&clone).first_key_value().unwrap();
    assert_eq!(listed(&clone).len(), 1);
    assert_eq!(clone.file_size(&log(number)).unwrap(), size);
    (clone, number, size)
}

#[test]
fn a_listed_log_that_is_missing_or_shorter_is_refused() {
    // By an open with `track_and_verify_wals_in_manifest`.
    let (files, number, size) = make();
    let bytes = read_file(&files, &log(number)).unwrap();
    for cut in [None, Some(0), Some(size as usize / 2), Some(size as usize - 1)] {
        let copy = files.crash_clone(CrashPolicy::KeepAll);
        match cut {
            None => copy.remove_file(&log(number)).unwrap(),
            Some(cut) => write_file_synced(&copy, &log(number), &bytes[..cut]).unwrap(),
        }
        for mode in WalRecoveryMode::ALL {
            let mut options = options(&copy, true);
            options.wal_recovery_mode = mode;
            let error = open(options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{cut:?}, {mode:?}: {error}");
            let text = error.to_string();
            let sizes = cut.map_or_else(
                || format!("Missing WAL with log number: {number}. The MANIFEST lists it of {size} synced bytes"),
                |cut| format!("WAL (log number: {number}) in MANIFEST is {size} bytes, while actually is {cut} bytes"),
            );
            assert!(text.contains(&sizes) && text.contains("restore the log"), "{text}");
        }
        // Without the option the mode decides what is taken.
        let mut options = options(&copy, false);
        options.wal_recovery_mode = WalRecoveryMode::SkipAnyCorruptedRecords;
        open(options).unwrap();
    }
}

#[test]
fn a_list_goes_with_its_logs_whatever_the_option_says() {
    for (tracks, keeps) in [(true, false), (false, false), (true, true), (false, true)] {
        let (files, number, size) = make();
        let with = |tracks| {
            let mut options = options(&files, tracks);
            options.avoid_flush_during_recovery = keeps;
            options
        };
        let (db, families) = open(with(tracks)).unwrap();
        assert!(all_contents(&db, &families).iter().all(|rows| rows.len() >= 20));
        let expected = if keeps { BTreeMap::from([(number, size)]) } else { BTreeMap::new() };
        assert_eq!(listed(&files), expected, "{tracks}, {keeps}");
        flush_all(&db);
        drop(db);
        assert_eq!(listed(&files), BTreeMap::new(), "{tracks}, {keeps}");
        assert!(!files.exists(&log(number)).unwrap());
        let (db, families) = open(with(true)).unwrap();
        assert!(all_contents(&db, &families).iter().all(|rows| rows.len() >= 20));
    }
}

#[test]
fn logs_are_listed_only_where_the_option_asks_for_it() {
    let files = MemoryFileSystem::new();
    let (db, families) = open(options(&files, false)).unwrap();
    for family in &families {
        db.put_cf(family, b"key", b"value", &WriteOptions::default()).unwrap();
    }
    db.flush_cf(&families[0], &FlushOptions::default()).unwrap();
    db.put_cf(&families[0], b"key", b"value", &WriteOptions::synced()).unwrap();
    assert_eq!(listed(&files), BTreeMap::new());
}
