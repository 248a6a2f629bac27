//! Memtables and flushes.

use crate::common::threads::wait_until;
use crate::recorder::{Bench, all, names, only};
use ferrock::{
    BackgroundJobPressure, ColumnFamilyOptions, FlushOptions, FlushReason, SequenceNumber, WriteBatch, WriteOptions,
};

#[test]
fn a_flush_tells_what_it_wrote_in_order() {
    let bench = Bench::new();
    let db = bench.open();
    for number in 0..10_u8 {
        db.put(&[number], b"value").unwrap();
    }
    db.delete(&[3]).unwrap();
    bench.recorder.take();
    db.flush().unwrap();
    wait_until("the job has ended", || bench.recorder.count("Pressure") == 1);
    let told = bench.recorder.take();
    let order =
        ["MemTableSealed", "FlushBegin", "TableFileCreationStarted", "TableFileCreated", "FlushCompleted", "Pressure"];
    assert_eq!(names(&told, &["ManualFlushScheduled"]), order);

    let scheduled = only!(told, ManualFlushScheduled);
    assert_eq!((scheduled.len(), &scheduled[0].column_family[..]), (1, "default"));
    assert_eq!(scheduled[0].flush_reason, FlushReason::ManualFlush);
    let sealed = only!(told, MemTableSealed);
    assert_eq!((&sealed.column_family[..], sealed.num_entries, sealed.num_deletes), ("default", 11, 1));
    assert_eq!((sealed.first_seqno, sealed.newest_udt.len()), (SequenceNumber(1), 0));
    assert!(sealed.earliest_seqno <= sealed.first_seqno);

    let (begin, completed) = (only!(told, FlushBegin), only!(told, FlushCompleted));
    assert_eq!((begin.file_number, begin.file_path.as_os_str().len()), (None, 0));
    assert_eq!((begin.smallest_seqno.0, begin.largest_seqno.0), (1, 11));
    for info in [&begin, &completed] {
        assert_eq!((info.column_family_id, &info.column_family[..]), (0, "default"));
        assert_eq!((info.flush_reason, info.job_id), (FlushReason::ManualFlush, begin.job_id));
        assert!(!info.triggered_writes_slowdown && !info.triggered_writes_stop && info.thread_id > 0);
    }
    assert_eq!(completed.thread_id, begin.thread_id);
    assert_eq!((completed.smallest_seqno.0, completed.largest_seqno.0), (1, 11));
    let file = &db.live_files()[0];
    assert_eq!((completed.file_number, completed.file_size_bytes), (Some(file.number), file.size_bytes));
    assert!(completed.file_path.ends_with(format!("{:06}.sst", file.number.0)));
    assert_eq!(completed.table_properties.num_deletions, 1);

    let (started, created) = (only!(told, TableFileCreationStarted), only!(told, TableFileCreated));
    assert_eq!((&created.file, started.job_id), (&started, begin.job_id));
    assert_eq!((&started.file_path, started.db_name.to_str()), (&completed.file_path, Some("/db")));
    assert_eq!(started.reason, ferrock::options::TableFileCreationReason::Flush);
    assert_eq!((created.file_size_bytes, created.table_properties.num_entries), (file.size_bytes, 10));
    assert!(created.status.is_ok());
    let pressure = only!(told, Pressure);
    assert_eq!(pressure, BackgroundJobPressure { write_stall_proximity_pct: 5, ..BackgroundJobPressure::default() });
}

#[test]
fn memtables_that_cancel_out_make_no_table() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    let mut batch = WriteBatch::new();
    batch.single_delete(b"key").unwrap();
    db.write(batch, &WriteOptions::default()).unwrap();
    bench.recorder.take();
    db.flush().unwrap();
    wait_until("the job has ended", || bench.recorder.count("Pressure") == 1);
    let told = bench.recorder.take();
    let completed = only!(told, FlushCompleted);
    assert_eq!((completed.file_number, completed.file_size_bytes), (None, 0));
    assert_eq!((completed.smallest_seqno.0, completed.largest_seqno.0), (1, 2));
}

#[test]
fn flushes_have_their_reasons() {
    let mut bench = Bench::new();
    bench.family.write_buffer_size = 64 << 10;
    bench.family.memtable_max_range_deletions = 2;
    let db = bench.open();
    let reason_after = |run: &dyn Fn()| {
        bench.recorder.take();
        run();
        wait_until("a flush", || bench.recorder.count("Pressure") > 0);
        all!(bench.recorder.take(), FlushCompleted)[0].flush_reason
    };
    let full = reason_after(&|| {
        for number in 0..100_u32 {
            db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
        }
    });
    assert_eq!(full, FlushReason::WriteBufferFull);
    let deleted = reason_after(&|| {
        let family = db.default_column_family().unwrap();
        // One memtable is full with them: of two flushes the second one would be told of in the next part.
        for number in 0..2_u8 {
            db.delete_range_cf(&family, &[number], &[number + 1], &WriteOptions::default()).unwrap();
        }
        db.put(b"another", b"write").unwrap();
    });
    assert_eq!(deleted, FlushReason::MemtableMaxRangeDeletions);
    let compacted = reason_after(&|| {
        db.put(b"key", b"value").unwrap();
        db.compact_range(None, None).unwrap();
    });
    assert_eq!(compacted, FlushReason::ManualCompaction);
    bench.recorder.take();
    db.put_cf(
        &db.default_column_family().unwrap(),
        b"key",
        b"value",
        &WriteOptions { disable_wal: true, ..WriteOptions::default() },
    )
    .unwrap();
    db.close().unwrap();
    let told = bench.recorder.take();
    assert_eq!(only!(told, FlushCompleted).flush_reason, FlushReason::ShutDown);
    assert_eq!(names(&told, &[])[0], "ShutdownBegin");
}

#[test]
fn a_memtable_budget_and_logs_are_reasons() {
    let mut bench = Bench::new();
    bench.options.db_write_buffer_size = 64 << 10;
    let db = bench.open();
    for number in 0..100_u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
    }
    wait_until("a flush", || bench.recorder.count("FlushCompleted") > 0);
    assert_eq!(all!(bench.recorder.told(), FlushCompleted)[0].flush_reason, FlushReason::WriteBufferManager);
    db.close().unwrap();

    let mut bench = Bench::new();
    bench.options.max_total_wal_size = 20_000;
    bench.family.write_buffer_size = 64 << 10;
    let db = bench.open();
    let other = db.create_column_family("other", bench.family.clone()).unwrap();
    db.put_cf(&other, b"small", b"and old", &WriteOptions::default()).unwrap();
    for number in 0..150_u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
    }
    let of_other = || {
        let all = all!(bench.recorder.told(), FlushCompleted);
        all.into_iter().find(|info| info.column_family == "other")
    };
    wait_until("a flush of the other family", || of_other().is_some());
    assert_eq!(of_other().unwrap().flush_reason, FlushReason::WalFull);
}

#[test]
fn an_atomic_flush_is_one_job_of_all_families() {
    let mut bench = Bench::new();
    bench.options.atomic_flush = true;
    let db = bench.open();
    let other = db.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
    db.put(b"key", b"value").unwrap();
    db.put_cf(&other, b"key", b"value", &WriteOptions::default()).unwrap();
    bench.recorder.take();
    db.flush_cf(&other, &FlushOptions::default()).unwrap();
    wait_until("the job has ended", || bench.recorder.count("Pressure") == 1);
    let told = bench.recorder.take();
    assert_eq!(only!(told, ManualFlushScheduled).len(), 2);
    assert_eq!(
        names(&told, &["ManualFlushScheduled", "TableFileCreationStarted", "TableFileCreated"]),
        [
            "MemTableSealed",
            "MemTableSealed",
            "FlushBegin",
            "FlushBegin",
            "FlushCompleted",
            "FlushCompleted",
            "Pressure"
        ]
    );
    let completed = all!(told, FlushCompleted);
    assert_eq!(completed[0].job_id, completed[1].job_id);
}

#[test]
fn a_recovered_memtable_becomes_a_table() {
    let bench = Bench::new();
    let db = bench.open();
    db.put(b"key", b"value").unwrap();
    db.close().unwrap();
    bench.recorder.take();
    let db = bench.open();
    let told = bench.recorder.take();
    let created = only!(told, TableFileCreated);
    assert_eq!(created.file.reason, ferrock::options::TableFileCreationReason::Recovery);
    assert_eq!(all!(told, FlushBegin).len(), 0);
    db.close().unwrap();
}
