//! Blob files, and operations on files.

use crate::common::threads::wait_until;
use crate::recorder::{Bench, all, only};
use ferrock::{CompactRangeOptions, ErrorKind, FileOperationType, WriteOptions};
use ferrock_vfs::{Fault, FaultRule, OperationKind};
use std::sync::atomic::Ordering;

#[test]
fn blob_files_come_and_go() {
    let mut bench = Bench::new();
    bench.family.enable_blob_files = true;
    bench.family.min_blob_size = 10;
    bench.family.enable_blob_garbage_collection = true;
    bench.family.blob_garbage_collection_age_cutoff = 1.0;
    let db = bench.open();
    for number in 0..10_u8 {
        db.put(&[number], &[number; 100]).unwrap();
    }
    db.flush().unwrap();
    wait_until("the flush has ended", || bench.recorder.count("Pressure") == 1);
    let told = bench.recorder.take();
    let (started, created) = (only!(told, BlobFileCreationStarted), only!(told, BlobFileCreated));
    assert_eq!(created.file, started);
    assert!(created.status.is_ok() && created.file_checksum.is_empty());
    assert_eq!((created.total_blob_count, created.total_blob_bytes), (10, 10 * (32 + 1 + 100)));
    let completed = only!(told, FlushCompleted);
    let [blob] = &completed.blob_file_addition_infos[..] else { panic!("{completed:?}") };
    assert_eq!((&blob.path, blob.total_blob_count), (&started.file_path, 10));
    assert_eq!(completed.oldest_blob_file_number, Some(blob.file_number));

    for number in 0..5_u8 {
        db.put(&[number], b"small").unwrap();
    }
    db.flush().unwrap();
    wait_until("the flush has ended", || bench.recorder.count("Pressure") == 1);
    bench.recorder.take();
    db.compact_range(None, None).unwrap();
    wait_until("the blob file is removed", || bench.recorder.count("BlobFileDeleted") == 1);
    let told = bench.recorder.take();
    let completed = only!(told, CompactionCompleted);
    assert_eq!((completed.stats.num_output_files_blob, completed.blob_file_addition_infos.len()), (1, 1));
    assert_eq!(completed.blob_file_addition_infos[0].total_blob_count, 5);
    let [garbage] = &completed.blob_file_garbage_infos[..] else { panic!("{completed:?}") };
    assert_eq!((&garbage.path, garbage.garbage_blob_count), (&started.file_path, 10));
    assert_eq!(only!(told, BlobFileDeleted).file_path, started.file_path);
    let of_input = completed.input_file_infos.iter().filter_map(|file| file.oldest_blob_file_number);
    assert_eq!(of_input.collect::<Vec<_>>(), [garbage.file_number]);
}

#[test]
fn a_blob_file_that_fails_is_told_of() {
    let mut bench = Bench::new();
    bench.family.enable_blob_files = true;
    let db = bench.open();
    db.put(b"key", &[7; 1000]).unwrap();
    bench.recorder.take();
    bench.faulty.add_rule(FaultRule::new(OperationKind::Sync, "*.dbtmp", Fault::NoSpace));
    assert!(db.flush().is_err());
    wait_until("the job has ended", || bench.recorder.count("Pressure") == 1);
    let told = bench.recorder.take();
    assert_eq!(only!(told, BlobFileCreated).status.unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(all!(told, FlushCompleted).len(), 0);
}

#[test]
fn operations_on_files_are_told_to_listeners_that_ask() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(bench.recorder.count("File"), 0, "the listener does not ask");

    bench.recorder.wants_files.store(true, Ordering::SeqCst);
    bench.recorder.take();
    let db = bench.open();
    db.put_cf(&db.default_column_family().unwrap(), b"key", b"other", &WriteOptions::synced()).unwrap();
    db.flush().unwrap();
    assert!(db.get(b"key").unwrap().is_some());
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &CompactRangeOptions::default()).unwrap();
    db.close().unwrap();
    let told = all!(bench.recorder.take(), File);
    let of = |operation, ending: &str| {
        told.iter()
            .filter(|info| info.operation == operation && info.path.to_str().unwrap().ends_with(ending))
            .cloned()
            .collect::<Vec<_>>()
    };
    let logged = of(FileOperationType::Append, ".log");
    assert!(logged.iter().any(|info| info.length > 0 && info.start_unix_us > 0 && info.status.is_ok()));
    assert!(!of(FileOperationType::Sync, ".log").is_empty());
    for operation in
        [FileOperationType::Read, FileOperationType::Append, FileOperationType::Sync, FileOperationType::Close]
    {
        assert!(!of(operation, ".sst").is_empty(), "{operation:?}");
    }
    assert!(of(FileOperationType::Read, ".sst").iter().any(|info| info.offset > 0 && info.length > 0));
    assert_eq!(bench.recorder.count("IoError"), 0);
}

#[test]
fn an_operation_that_fails_is_an_io_error() {
    let bench = Bench::new();
    bench.recorder.wants_files.store(true, Ordering::SeqCst);
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    bench.recorder.take();
    bench.faulty.add_rule(FaultRule::new(OperationKind::Append, "*.sst", Fault::NoSpace));
    assert!(db.flush().is_err());
    let told = bench.recorder.take();
    let error = &all!(told, IoError)[0];
    assert_eq!((error.error.kind(), error.operation), (ErrorKind::NoSpace, FileOperationType::Append));
    assert!(error.file_path.to_str().unwrap().ends_with(".sst") && error.length > 0);
    assert!(all!(told, File).iter().any(|info| info.status.is_err()));
}
