//! Compactions, their parts, and the families that go.

use crate::common::threads::wait_until;
use crate::recorder::{Bench, DIRECTORY, all, names, only};
use ferrock::options::TableFileCreationReason;
use ferrock::{ColumnFamilyOptions, CompactionReason, Db, ErrorKind, FlushOptions, WriteOptions};
use ferrock_vfs::{Fault, FaultRule, OperationKind};
use std::path::Path;

fn two_tables(db: &Db) {
    for round in 0..2_u8 {
        for number in 0..100_u8 {
            db.put(&[number], &[round; 100]).unwrap();
        }
        db.flush().unwrap();
    }
}

#[test]
fn a_manual_compaction_tells_what_it_read_and_wrote() {
    let bench = Bench::new();
    let db = bench.open();
    two_tables(&db);
    let inputs: Vec<_> = db.live_files().iter().map(|file| file.number).collect();
    wait_until("the flushes have ended", || bench.recorder.count("Pressure") == 2);
    bench.recorder.take();
    db.compact_range(None, None).unwrap();
    wait_until("the inputs are removed", || bench.recorder.count("TableFileDeleted") == 2);
    let told = bench.recorder.take();
    assert_eq!(
        names(&told, &["ManualFlushScheduled"]),
        [
            "CompactionBegin",
            "SubcompactionBegin",
            "TableFileCreationStarted",
            "TableFileCreated",
            "SubcompactionCompleted",
            "CompactionPreCommit",
            "CompactionCompleted",
            "TableFileDeleted",
            "TableFileDeleted"
        ]
    );
    let begin = only!(told, CompactionBegin);
    let pre_commit = only!(told, CompactionPreCommit);
    let completed = only!(told, CompactionCompleted);
    let output = &db.live_files()[0];
    for info in [&begin, &pre_commit, &completed] {
        assert_eq!((info.column_family_id, &info.column_family[..], info.job_id), (0, "default", begin.job_id));
        assert_eq!((info.base_input_level, info.output_level, info.aborted), (0, 6, false));
        assert_eq!(info.compaction_reason, CompactionReason::ManualCompaction);
        assert!(info.status.is_ok() && info.stats.is_manual_compaction && info.stats.is_full_compaction);
        let mut read: Vec<_> = info.input_file_infos.iter().map(|file| file.file_number).collect();
        read.sort();
        let mut expected = inputs.clone();
        expected.sort();
        assert_eq!(read, expected);
        assert!(info.input_file_infos.iter().all(|file| file.level == 0 && file.oldest_blob_file_number.is_none()));
        assert_eq!(info.input_files.len(), 2);
        assert!(info.input_files.iter().all(|path| info.table_properties[path].num_entries == 100));
        assert_eq!((info.stats.num_input_files, info.stats.num_input_files_at_output_level), (2, 0));
    }
    assert_eq!((begin.num_l0_files, pre_commit.num_l0_files, completed.num_l0_files), (2, 2, 0));
    assert!(begin.output_files.is_empty() && begin.output_file_infos.is_empty());
    for info in [&pre_commit, &completed] {
        assert_eq!(info.output_files, [Path::new(DIRECTORY).join(format!("{:06}.sst", output.number.0))]);
        assert_eq!((info.output_file_infos[0].level, info.output_file_infos[0].file_number), (6, output.number));
        assert_eq!(info.table_properties[&info.output_files[0]].num_entries, 100);
        let stats = &info.stats;
        assert_eq!((stats.num_input_records, stats.num_output_records, stats.num_records_replaced), (200, 100, 100));
        assert_eq!((stats.num_output_files, stats.total_output_bytes), (1, output.size_bytes));
        assert_eq!((stats.total_input_raw_key_bytes, stats.total_input_raw_value_bytes), (200 * 9, 200 * 100));
        assert_eq!(
            (&stats.smallest_output_key_prefix[..], &stats.largest_output_key_prefix[..]),
            (&[0][..], &[99][..])
        );
        assert!(stats.cpu_us > 0, "the processor was needed");
        assert!(stats.has_accurate_num_input_records && stats.total_input_bytes > 0);
    }
    let (part_begin, part_end) = (only!(told, SubcompactionBegin), only!(told, SubcompactionCompleted));
    for part in [&part_begin, &part_end] {
        assert_eq!((part.job_id, part.subcompaction_job_id, part.output_level), (begin.job_id, 0, 6));
        assert_eq!(part.compaction_reason, CompactionReason::ManualCompaction);
    }
    assert!(part_begin.stats.cpu_us == 0 && part_end.stats.cpu_us > 0);
    assert_eq!((part_begin.stats.num_input_records, part_end.stats.num_input_records), (0, 200));
    let created = only!(told, TableFileCreated);
    assert_eq!((created.file.reason, created.file.job_id), (TableFileCreationReason::Compaction, begin.job_id));
    for deleted in all!(told, TableFileDeleted) {
        assert!(deleted.status.is_ok() && begin.input_files.contains(&deleted.file_path));
        assert_eq!(deleted.db_name, Path::new(DIRECTORY));
    }
}

#[test]
fn an_automatic_compaction_that_moves_a_table_reads_nothing() {
    let mut bench = Bench::new();
    bench.family.disable_auto_compactions = false;
    bench.family.level0_file_num_compaction_trigger = 1;
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    // The flush and the compaction.
    wait_until("the table was moved", || bench.recorder.count("Pressure") == 2);
    let told = bench.recorder.take();
    let completed = only!(told, CompactionCompleted);
    assert_eq!(completed.compaction_reason, CompactionReason::Level0FilesNum);
    assert_eq!((completed.stats.num_input_files_trivially_moved, completed.stats.num_output_records), (1, 0));
    assert!(!completed.stats.is_manual_compaction);
    assert_eq!(completed.input_files, completed.output_files);
    assert_eq!(only!(told, CompactionBegin).stats.num_input_files_trivially_moved, 1);
    assert_eq!(names(&told, &[]).iter().filter(|name| name.starts_with("Subcompaction")).count(), 0);
}

#[test]
fn every_part_of_a_compaction_is_told() {
    let mut bench = Bench::new();
    bench.options.max_subcompactions = 4;
    bench.family.target_file_size_base = 20_000;
    let db = bench.open();
    for _ in 0..2 {
        for number in 0..1000_u32 {
            db.put(&number.to_be_bytes(), &[7; 100]).unwrap();
        }
        db.flush().unwrap();
    }
    bench.recorder.take();
    db.compact_range(None, None).unwrap();
    let told = bench.recorder.take();
    let completed = only!(told, CompactionCompleted);
    let (begun, ended) = (all!(told, SubcompactionBegin), all!(told, SubcompactionCompleted));
    assert!(begun.len() > 1);
    let numbers = |parts: &[ferrock::SubcompactionJobInfo]| {
        let mut numbers: Vec<_> = parts.iter().map(|part| part.subcompaction_job_id).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(numbers(&begun), (0..begun.len()).collect::<Vec<_>>());
    assert_eq!(numbers(&begun), numbers(&ended));
    let sum: u64 = ended.iter().map(|part| part.stats.num_input_records).sum();
    assert_eq!((sum, completed.stats.num_input_records), (2000, 2000));
    let threads: std::collections::BTreeSet<u64> = begun.iter().map(|part| part.thread_id).collect();
    assert_eq!(threads.len(), begun.len());
    assert!(threads.contains(&completed.thread_id), "one part is done by the thread of the job");
}

#[test]
fn a_compaction_that_fails_is_completed_too() {
    let bench = Bench::new();
    let db = bench.open();
    two_tables(&db);
    bench.recorder.take();
    bench.faulty.add_rule(FaultRule::new(OperationKind::Append, "*.sst", Fault::NoSpace));
    assert_eq!(db.compact_range(None, None).unwrap_err().kind(), ErrorKind::NoSpace);
    let told = bench.recorder.take();
    let completed = only!(told, CompactionCompleted);
    assert_eq!(completed.status.clone().unwrap_err().kind(), ErrorKind::NoSpace);
    assert!(completed.output_files.is_empty() && !completed.aborted);
    assert_eq!(all!(told, CompactionPreCommit).len(), 0);
    assert_eq!(only!(told, SubcompactionCompleted).status.unwrap_err().kind(), ErrorKind::NoSpace);
    let created = only!(told, TableFileCreated);
    assert_eq!(created.status.unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(created.file_size_bytes, 0);
    assert_eq!(only!(told, TableFileDeleted).file_path, created.file.file_path);
}

#[test]
fn a_dropped_family_is_told_of_and_its_tables_go() {
    let bench = Bench::new();
    let db = bench.open();
    let family = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    db.put_cf(&family, b"key", b"value", &WriteOptions::default()).unwrap();
    db.flush_cf(&family, &FlushOptions::default()).unwrap();
    wait_until("the flush has ended", || bench.recorder.count("Pressure") == 1);
    bench.recorder.take();
    let id = family.id();
    db.drop_column_family(&family).unwrap();
    drop(family);
    wait_until("the table is removed", || bench.recorder.count("TableFileDeleted") == 1);
    let told = bench.recorder.take();
    assert_eq!(names(&told, &[]), ["HandleDeletionStarted", "TableFileDeleted"]);
    let info = only!(told, HandleDeletionStarted);
    assert_eq!((info.column_family_id, &info.column_family[..]), (id, "other"));
}
