//! What work behind the operations counts: reads of jobs, collected values, files that become trash.

use super::common::threads::wait_until;
use super::common::{in_memory, key, open_default, options_on};
use super::{Counted, block_family, put_all, value};
use ferrock::ReadOptions;
use ferrock::options::{CompressionType, SstFileManager, SstFileManagerOptions};
use ferrock::statistics::{Histogram, Ticker};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind};
use std::sync::Arc;

/// Each changes counts of its own.
pub(crate) const SCENARIOS: [fn(&Counted); 4] = [collected_values, trash, passing_errors, reads_by_work];

/// Values whose blob files a compaction collects.
fn collected_values(counted: &Counted) {
    let mut family = block_family();
    (family.enable_blob_files, family.enable_blob_garbage_collection) = (true, true);
    family.blob_garbage_collection_age_cutoff = 1.0;
    family.blob_compression_type = CompressionType::NoCompression;
    let db = open_default(counted.with(in_memory()), family);
    let collected = [Ticker::BlobDbGcNumKeysRelocated, Ticker::BlobDbGcBytesRelocated];
    let added = counted.added(collected, || {
        for numbers in [0..10, 5..15] {
            put_all(&db, numbers);
            db.flush().unwrap();
        }
    });
    assert_eq!(added, [0, 0], "a flush collects nothing");
    let bytes = (0..15).map(|number| value(number).len() as u64).sum();
    assert_eq!(counted.added(collected, || db.compact_range(None, None).unwrap()), [15, bytes]);
}

/// Files that are removed at a rate.
fn trash(counted: &Counted) {
    let mut options = counted.with(in_memory());
    options.components.sst_file_manager = Some(SstFileManager::new(SstFileManagerOptions {
        delete_rate_bytes_per_second: 1 << 30,
        max_trash_db_ratio: 100.0,
        ..SstFileManagerOptions::default()
    }));
    let db = open_default(options, block_family());
    let [marked] = counted.added([Ticker::FilesMarkedTrash], || {
        for _ in 0..2 {
            put_all(&db, 0..10);
            db.flush().unwrap();
        }
        db.compact_range(None, None).unwrap();
    });
    assert!(marked >= 2 && db.live_files().len() == 1, "the tables of two flushes at least: {marked}");
    wait_until("the trash is removed", || counted.of(Ticker::FilesDeletedFromTrashQueue) == marked);
}

/// Errors whose cause may pass, as of a full device, and others.
fn passing_errors(counted: &Counted) {
    for (fault, may_pass) in [(Fault::NoSpace, 1), (Fault::Io, 0)] {
        let faulty = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
        let db = open_default(counted.with(options_on(Arc::new(faulty.clone()))), block_family());
        faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", fault));
        put_all(&db, 0..3);
        let tickers = [Ticker::ErrorHandlerBgErrorCount, Ticker::ErrorHandlerBgRetryableIoErrorCount];
        assert_eq!(counted.added(tickers, || assert!(db.flush().is_err())), [1, may_pass], "{fault:?}");
    }
}

/// The reads of tables, by the work that they are for.
fn reads_by_work(counted: &Counted) {
    let mut family = block_family();
    family.table.no_block_cache = true;
    family.compression = CompressionType::NoCompression;
    let db = open_default(counted.with(in_memory()), family);
    let histograms = [
        Histogram::FileReadFlushMicros,
        Histogram::FileReadCompactionMicros,
        Histogram::FileReadGetMicros,
        Histogram::FileReadDbIteratorMicros,
        Histogram::FileReadVerifyDbChecksumMicros,
        Histogram::ReadBlockCompactionMicros,
        Histogram::MultigetIoBatchSize,
    ];
    let values = || histograms.map(|histogram| counted.0.histogram(histogram).count());
    let added = |work: &dyn Fn()| {
        let before = values();
        work();
        let after = values();
        std::array::from_fn::<u64, 7, _>(|at| after[at] - before[at])
    };
    for round in 0..2 {
        put_all(&db, 0..100);
        // The end of the table, which has all but the data.
        assert_eq!(added(&|| db.flush().unwrap()), [1, 0, 0, 0, 0, 0, 0], "{round}");
    }
    let [flush, reads, get, scan, verify, blocks, batches] = added(&|| db.compact_range(None, None).unwrap());
    assert_eq!([flush, get, scan, verify, batches], [0; 5]);
    // Of two tables each block, in fewer reads; and the end of the new table.
    assert!(reads >= 3 && blocks > 20 && blocks > reads, "{reads} reads, {blocks} blocks");
    let get = added(&|| assert!(db.get(&key(50)).unwrap().is_some()));
    assert_eq!(get, [0, 0, 1, 0, 0, 0, 0]);
    let sum_before = counted.0.histogram(Histogram::MultigetIoBatchSize).sum();
    let multi_get = added(&|| {
        let keys = [key(1), key(50), key(99)];
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        assert!(db.multi_get(&keys).iter().all(|found| found.as_ref().unwrap().is_some()));
    });
    assert_eq!(multi_get, [0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(counted.0.histogram(Histogram::MultigetIoBatchSize).sum() - sum_before, 3, "three blocks");
    let scan = added(&|| {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(50));
        assert!(iter.valid());
    });
    assert_eq!(scan, [0, 0, 0, 1, 0, 0, 0]);
    let verify = added(&|| db.verify_checksum().unwrap());
    assert_eq!([verify[0], verify[1], verify[2], verify[3], verify[5], verify[6]], [0; 6]);
    assert!(verify[4] > 0);
    openings(counted);
}

/// The reads of a table that is opened count for the work that needs it.
fn openings(counted: &Counted) {
    let files = Arc::new(MemoryFileSystem::new());
    let open = |max_open_files| {
        let mut options = counted.with(options_on(Arc::clone(&files) as _));
        options.max_open_files = max_open_files;
        open_default(options, block_family())
    };
    let histograms = [
        Histogram::FileReadDbOpenMicros,
        Histogram::FileReadGetMicros,
        Histogram::FileReadDbIteratorMicros,
        Histogram::FileReadVerifyDbChecksumMicros,
    ];
    let added = |work: &mut dyn FnMut()| {
        let values = || histograms.map(|histogram| counted.0.histogram(histogram).count());
        let before = values();
        work();
        let after = values();
        std::array::from_fn::<u64, 4, _>(|at| after[at] - before[at])
    };
    let db = open(-1);
    put_all(&db, 0..100);
    db.flush().unwrap();
    drop(db);
    let mut db = None;
    assert_eq!(added(&mut || db = Some(open(-1))), [1, 0, 0, 0], "every table is opened");
    drop(db.take());
    // Few files are open at once: none is opened before it is read.
    let mut db = Some(open(20));
    let get = added(&mut || assert!(db.as_ref().unwrap().get(&key(50)).unwrap().is_some()));
    assert!(get[1] >= 1 && get[2..] == [0, 0], "{get:?}");
    drop(db.take());
    let db = open(20);
    let scan = added(&mut || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(50));
        assert!(iter.valid());
    });
    assert!(scan[2] >= 1 && scan[1] == 0 && scan[3] == 0, "{scan:?}");
}
