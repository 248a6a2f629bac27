//! Logs that RocksDB keeps for a transaction that is prepared and neither committed nor rolled back.

use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind};
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_format::log::{HeaderFamily, LogEvent, LogReader, LogWriter, SliceSource};
use ferrock_format::version_edit::VersionEdit;
use ferrock_format::write_batch::{PreparePolicy, WriteBatch};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DB: &str = "/db";

fn options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

/// The first log of the database, which holds nothing that is not in a table.
fn old_log() -> PathBuf {
    Path::new(DB).join("000002.log")
}

/// A database with a flushed key, whose MANIFEST keeps logs from the very first on.
fn with_old_log(old: &WriteBatch) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    let db = Db::open(DB, options(&files)).unwrap();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.put(b"later", b"value").unwrap();
    drop(db);
    let names = files.children(Path::new(DB)).unwrap();
    let manifest = Path::new(DB).join(names.iter().find(|name| name.starts_with("MANIFEST")).unwrap());
    let content = read_file(&files, &manifest).unwrap();
    let mut reader = LogReader::manifest(SliceSource(&content));
    let mut writer = LogWriter::new(FileNumber(0), HeaderFamily::Legacy);
    let (mut scratch, mut rewritten) = (Vec::new(), Vec::new());
    while let LogEvent::Record { data, .. } = reader.read_record(&mut scratch).unwrap() {
        let edit = VersionEdit { min_log_number_to_keep: None, ..VersionEdit::decode(data).unwrap() };
        writer.encode_record(&[&edit.encode()], &mut rewritten);
    }
    write_file_synced(&files, &manifest, &rewritten).unwrap();
    let mut log = Vec::new();
    let mut old = old.clone();
    old.set_sequence(SequenceNumber(1));
    LogWriter::new(FileNumber(2), HeaderFamily::Legacy).encode_record(&[&old.into_data()], &mut log);
    write_file_synced(&files, &old_log(), &log).unwrap();
    files
}

#[test]
fn a_log_with_a_prepared_transaction_is_refused_and_kept_also_when_no_family_needs_it() {
    let mut prepared = WriteBatch::new();
    prepared.mark_begin_prepare(PreparePolicy::WriteCommitted).unwrap();
    prepared.put(b"prepared", b"value").unwrap();
    prepared.mark_end_prepare(b"name").unwrap();
    let files = with_old_log(&prepared);
    for mode in WalRecoveryMode::ALL {
        let mut options = options(&files);
        options.wal_recovery_mode = mode;
        let families = vec![("default".to_owned(), ColumnFamilyOptions::default())];
        let read_only = Db::open_read_only(DB, options.clone(), Some(families)).map(drop);
        for error in [Db::open(DB, options).map(drop).unwrap_err(), read_only.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::NotSupported, "{mode:?}: {error}");
            assert!(error.to_string().contains("000002.log"), "{mode:?}: {error}");
        }
        assert!(files.exists(&old_log()).unwrap());
    }
}

#[test]
fn a_log_of_plain_records_that_no_family_needs_goes() {
    let mut plain = WriteBatch::new();
    plain.put(b"key", b"older value").unwrap();
    let files = with_old_log(&plain);
    let db = Db::open(DB, options(&files)).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert!(db.get(b"later").unwrap().is_some() && !files.exists(&old_log()).unwrap());
}
