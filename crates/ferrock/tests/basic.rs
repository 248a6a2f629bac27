//! The journeys of a database, end to end: write, read, flush, compact, reopen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod common;

use common::creating;
use ferrock::{Db, ReadOptions, WriteBatch, WriteOptions};

fn scan(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut out = Vec::new();
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    while iter.valid() {
        out.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    out
}

#[test]
fn what_is_written_is_read_across_flush_compaction_and_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Db::open(&path, creating()).unwrap();
    for number in 0..2000u32 {
        db.put(format!("key{number:06}").as_bytes(), format!("value{number}").as_bytes()).unwrap();
    }
    db.flush().unwrap();
    for number in (0..2000u32).step_by(2) {
        db.delete(format!("key{number:06}").as_bytes()).unwrap();
    }
    assert_eq!(scan(&db).len(), 1000);
    db.flush().unwrap();
    assert_eq!(scan(&db).len(), 1000);
    db.compact_range(None, None).unwrap();
    assert_eq!(scan(&db).len(), 1000);
    let mut batch = WriteBatch::new();
    batch.put(b"zzz", b"last").unwrap();
    db.write(batch, &WriteOptions::synced()).unwrap();
    assert_eq!(db.get(b"key000001").unwrap().as_deref(), Some(&b"value1"[..]));
    assert!(db.get(b"key000002").unwrap().is_none());
    db.close().unwrap();
    for _ in 0..3 {
        let db = Db::open(&path, creating()).unwrap();
        assert_eq!(scan(&db).len(), 1001);
        assert_eq!(db.get(b"zzz").unwrap().as_deref(), Some(&b"last"[..]));
    }
}

#[test]
fn the_short_forms_write_to_the_default_family() {
    let directory = tempfile::tempdir().unwrap();
    let mut family = ferrock::ColumnFamilyOptions::default();
    family.merge_operator = ferrock_base::merge::built_in("stringappend").unwrap();
    let families = vec![("default".to_owned(), family)];
    let (db, _) = Db::open_cf(directory.path(), creating(), families).unwrap();
    db.merge(b"m", b"1").unwrap();
    db.merge(b"m", b"2").unwrap();
    db.put(b"s", b"once").unwrap();
    db.put(b"a", b"in the range").unwrap();
    db.single_delete(b"s").unwrap();
    db.delete_range(b"a", b"b").unwrap();
    db.flush().unwrap();
    assert_eq!(scan(&db), [(b"m".to_vec(), b"1,2".to_vec())]);
}

/// RocksDB counts an empty range deletion in its batch and gives it no sequence number. After recovering a log that
/// ends with such a batch it goes on one number lower, in a log of its own, which must not look like a log that goes
/// back.
#[test]
fn sequence_numbers_that_empty_range_deletions_left_over_may_be_used_again() {
    use ferrock::options::WalRecoveryMode;
    use ferrock_format::log::{HeaderFamily, LogWriter};
    use ferrock_vfs::{FileSystem, MemoryFileSystem, write_file_synced};
    use std::path::Path;
    for (reused, is_right) in [(2, false), (3, true), (4, true)] {
        let file_system = MemoryFileSystem::new();
        let mut options = creating();
        options.wal_recovery_mode = WalRecoveryMode::AbsoluteConsistency;
        options.components.file_system =
            Some(std::sync::Arc::new(file_system.clone()) as std::sync::Arc<dyn FileSystem>);
        let db = Db::open("/db", options.clone()).unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"1").unwrap();
        batch.delete_range(b"m", b"m").unwrap();
        batch.put(b"b", b"2").unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
        assert_eq!(db.latest_sequence_number().0, 3);
        db.close().unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"b", b"3").unwrap();
        batch.set_sequence(ferrock::SequenceNumber(reused));
        let mut log = Vec::new();
        LogWriter::resume(ferrock::FileNumber(0), HeaderFamily::Legacy, 0).encode_record(&[batch.data()], &mut log);
        write_file_synced(&file_system, Path::new("/db/000100.log"), &log).unwrap();
        match Db::open("/db", options) {
            Ok(db) if is_right => assert_eq!(scan(&db), [(b"a".into(), b"1".into()), (b"b".into(), b"3".into())]),
            Ok(_) => panic!("sequence number {reused} goes back"),
            Err(error) => assert!(!is_right && error.to_string().contains("goes back"), "{error}"),
        }
    }
}

/// The same where the range deletion is of a family that is in tables already, so that recovery passes over its
/// records.
#[test]
fn so_may_those_of_a_family_that_recovery_skips() {
    use ferrock_format::log::{HeaderFamily, LogWriter};
    use ferrock_vfs::{FileSystem, MemoryFileSystem, write_file_synced};
    let file_system = MemoryFileSystem::new();
    let mut options = creating();
    options.create_missing_column_families = true;
    options.wal_recovery_mode = ferrock::options::WalRecoveryMode::AbsoluteConsistency;
    options.components.file_system = Some(std::sync::Arc::new(file_system.clone()) as std::sync::Arc<dyn FileSystem>);
    let families =
        || ["default", "other"].map(|name| (name.to_owned(), ferrock::ColumnFamilyOptions::default())).to_vec();
    let (db, handles) = Db::open_cf("/db", options.clone(), families()).unwrap();
    db.put_cf(&handles[1], b"x", b"1", &WriteOptions::default()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1").unwrap();
    batch.delete_range_cf(handles[1].id(), b"m", b"m").unwrap();
    batch.put(b"b", b"2").unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    assert_eq!(db.latest_sequence_number().0, 4);
    db.flush_cf(&handles[1], &ferrock::FlushOptions::default()).unwrap();
    db.close().unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"b", b"3").unwrap();
    batch.set_sequence(ferrock::SequenceNumber(4));
    let mut log = Vec::new();
    LogWriter::resume(ferrock::FileNumber(0), HeaderFamily::Legacy, 0).encode_record(&[batch.data()], &mut log);
    write_file_synced(&file_system, std::path::Path::new("/db/000100.log"), &log).unwrap();
    let (db, handles) = Db::open_cf("/db", options, families()).unwrap();
    assert_eq!(scan(&db), [(b"a".into(), b"1".into()), (b"b".into(), b"3".into())]);
    assert!(db.get_cf(&handles[1], &ReadOptions::default(), b"x").unwrap().is_some());
}
