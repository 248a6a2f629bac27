//! A process that may have few files open: tables are closed for others, and nothing fails.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

use ferrock::options::CompressionType;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions};
use std::path::Path;
use std::process::Command;

const DIRECTORY: &str = "FERROCK_FEW_FILES_DIRECTORY";
const KEYS: u32 = 20_000;

fn open(path: impl AsRef<Path>, max_open_files: i32) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_open_files = max_open_files;
    let mut family = ColumnFamilyOptions::default();
    family.target_file_size_base = 16 << 10;
    family.compression = CompressionType::NoCompression;
    Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn fill(db: &Db) {
    for number in 0..KEYS {
        db.put(&key(number), &[b'v'; 100]).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
}

/// Not a test of its own: the process with the limit. Without the variable it has nothing to do.
#[test]
fn process_with_few_files() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    for max_open_files in [-1, 10_000, 5] {
        let db = open(&directory, max_open_files);
        assert!(db.live_files().len() > 100, "{} tables", db.live_files().len());
        for number in (0..KEYS).step_by(7) {
            assert!(db.get(&key(number * 13 % KEYS)).unwrap().is_some(), "{number}");
        }
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        let mut count = 0;
        while iter.valid() {
            count += 1;
            iter.next();
        }
        iter.status().unwrap();
        assert_eq!(count, KEYS);
        drop(iter);
        fill(&db);
        db.verify_checksum().unwrap();
        db.close().unwrap();
    }
    let log = std::fs::read_to_string(Path::new(&directory).join("LOG")).unwrap();
    assert!(log.contains("for the process may have 60 files open"), "{log}");
}

#[test]
fn a_process_that_may_open_60_files_has_a_database_of_more_tables() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    fill(&open(&path, -1));
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 60 && exec \"$0\" --exact process_with_few_files --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(DIRECTORY, &path)
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
