//! What parts of operations count: merges, limits, compression, copies, values that are written over.

use super::common::threads::{Gate, Waiting};
use super::common::{in_memory, key, open_default, options_on};
use super::{Counted, block_family, put_all, value};
use ferrock::backup::{BackupEngine, BackupEngineOptions, Checkpoint, CreateBackupOptions};
use ferrock::options::{
    BottommostLevelCompaction, CompactionStyle, CompressionType, IoPriority, LimiterMode, PrefixExtractor, TokenBucket,
    TokenBucketOptions,
};
use ferrock::statistics::{Histogram, Ticker};
use ferrock::{ColumnFamilyOptions, CompactRangeOptions, ReadOptions, SequenceNumber, WalReadOptions};
use ferrock_base::clock::ManualClock;
use ferrock_base::merge::MergeOperator;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_vfs::{MemoryFileSystem, read_file, write_file_synced};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Each changes counts of its own.
pub(crate) const SCENARIOS: [fn(&Counted); 10] =
    [merges, updates, versions, limits, blobs, copies, aborts, prefixes, footers, temperatures];

/// Refuses what begins with an `x`, and keeps the last operand of any other merge.
struct Picky;

impl MergeOperator for Picky {
    fn name(&self) -> &str {
        "test.Picky"
    }
    fn full_merge(&self, _: &[u8], _: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(operands.last().unwrap_or(&&b""[..]));
        !out.starts_with(b"x")
    }
}

fn merges(counted: &Counted) {
    let mut family = block_family();
    family.merge_operator = Some(Arc::new(Picky));
    let db = open_default(counted.with(in_memory()), family);
    db.merge(&key(1), b"good").unwrap();
    db.merge(&key(2), b"x bad").unwrap();
    let tickers = [Ticker::NumberMergeFailures, Ticker::MergeOperationTotalTime];
    let [failures, time] = counted.added(tickers, || assert_eq!(db.get(&key(1)).unwrap().unwrap(), b"good"));
    assert!(failures == 0 && time > 0, "{failures} failures, {time} ns");
    let failed = counted.added(tickers, || assert!(db.get(&key(2)).is_err()));
    assert_eq!(failed[0], 1);
    // Scans and jobs merge, too.
    let [failures, _] = counted.added(tickers, || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(2));
        assert!(iter.status().is_err());
    });
    assert_eq!(failures, 1);
    db.put(&key(2), b"over it").unwrap();
    db.merge(&key(3), b"a").unwrap();
    db.merge(&key(3), b"b").unwrap();
    let [_, time] = counted.added(tickers, || {
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
    });
    assert!(time > 0, "the compaction merges key 3");
}

/// Values that are written over where they lie in the memtable.
fn updates(counted: &Counted) {
    let (mut options, mut family) = (counted.with(in_memory()), block_family());
    options.allow_concurrent_memtable_write = false;
    family.inplace_update_support = true;
    let db = open_default(options, family);
    let added = counted.added([Ticker::NumberKeysUpdated, Ticker::NumberKeysWritten], || {
        db.put(&key(1), b"long").unwrap();
        db.put(&key(1), b"len4").unwrap();
        db.put(&key(1), b"longer").unwrap();
        db.put(&key(1), b"short").unwrap();
    });
    assert_eq!(added, [2, 4], "a longer value does not fit");
}

/// Keys with many versions, past which an iterator seeks.
fn versions(counted: &Counted) {
    let mut family = block_family();
    family.settings.set("max_sequential_skip_in_iterations", "3").unwrap();
    let db = open_default(counted.with(in_memory()), family);
    (0..20).for_each(|_| put_all(&db, [1]));
    put_all(&db, [2]);
    let tickers = [Ticker::NumberOfReseeksInIteration, Ticker::NumberIterSkip];
    let forward = counted.added(tickers, || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(1));
        iter.next();
        assert_eq!(iter.key(), key(2));
    });
    assert_eq!(forward[0], 1);
    assert!((3..20).contains(&forward[1]), "{forward:?}");
    let [backward] = counted.added([Ticker::NumberOfReseeksInIteration], || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_last();
        iter.prev();
        assert_eq!(iter.key(), key(1));
    });
    assert_eq!(backward, 1);
}

/// Reads and writes that a limiter has wait.
fn limits(counted: &Counted) {
    let clock = Arc::new(ManualClock::passing_sleeps(1_700_000_000_000_000));
    let bucket = |mode| {
        let options = TokenBucketOptions { mode, ..TokenBucketOptions::new(20_000) };
        Arc::new(TokenBucket::with_options(&options, Arc::clone(&clock) as _).unwrap())
    };
    let rows = [
        (
            LimiterMode::WritesOnly,
            [
                Ticker::RateLimiterRequestsWrite,
                Ticker::RateLimiterBytesWrite,
                Ticker::RateLimiterDelayedRequestsWrite,
                Ticker::RateLimiterTotalWaitMicrosWrite,
                Ticker::NumberRateLimiterDrains,
            ],
            Histogram::RateLimiterWaitMicrosWrite,
        ),
        (
            LimiterMode::ReadsOnly,
            [
                Ticker::RateLimiterRequestsRead,
                Ticker::RateLimiterBytesRead,
                Ticker::RateLimiterDelayedRequestsRead,
                Ticker::RateLimiterTotalWaitMicrosRead,
                Ticker::NumberRateLimiterDrains,
            ],
            Histogram::RateLimiterWaitMicrosRead,
        ),
    ];
    for (mode, tickers, waits) in rows {
        let mut options = counted.with(in_memory());
        options.components.clock = Some(Arc::clone(&clock) as _);
        let limiter = bucket(mode);
        options.components.rate_limiter = Some(Arc::clone(&limiter) as _);
        let mut family = block_family();
        family.compression = CompressionType::NoCompression;
        family.table.no_block_cache = true;
        let db = open_default(options, family);
        let priority = Some(IoPriority::User);
        let added = counted.added(tickers, || {
            put_all(&db, 0..100);
            db.flush().unwrap();
            let options = ReadOptions { rate_limiter_priority: priority, ..ReadOptions::default() };
            (0..20).for_each(|number| assert!(db.get_with(&options, &key(number)).unwrap().is_some()));
        });
        let [requests, bytes, delayed, waited_us, drains] = added;
        assert!(requests > 0 && bytes > 5_000, "{mode:?}: {added:?}");
        assert!((1..=requests).contains(&delayed) && drains >= delayed && waited_us > 0, "{mode:?}: {added:?}");
        assert_eq!(counted.0.histogram(waits).count(), delayed, "{mode:?}");
        let granted: u64 = [IoPriority::Low, IoPriority::Mid, IoPriority::High, IoPriority::User]
            .map(|one| limiter.granted_bytes(one))
            .iter()
            .sum();
        assert_eq!(granted, bytes, "{mode:?}");
    }
}

/// Values in compressed blob files, and a cache that refuses them.
fn blobs(counted: &Counted) {
    let mut family = block_family();
    (family.enable_blob_files, family.blob_compression_type) = (true, CompressionType::Lz4);
    let options = CacheOptions { strict_capacity_limit: true, fail_when_full: true, ..CacheOptions::default() };
    family.blob_cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes: 10, ..options }));
    let db = open_default(counted.with(in_memory()), family);
    let times = [Histogram::BlobDbCompressionMicros, Histogram::BlobDbDecompressionMicros];
    let values = || times.map(|time| counted.0.histogram(time).count());
    let before = values();
    let added = || std::array::from_fn::<u64, 2, _>(|at| values()[at] - before[at]);
    put_all(&db, 0..10);
    db.flush().unwrap();
    assert_eq!(added(), [10, 0]);
    let refused = counted.added([Ticker::BlobDbCacheAddFailures], || assert!(db.get(&key(5)).is_err()));
    assert_eq!((added(), refused), ([10, 1], [1]));
    let options = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let read = counted.added([Ticker::BlobDbCacheAddFailures], || {
        assert_eq!(db.get_with(&options, &key(5)).unwrap().unwrap(), value(5));
    });
    assert_eq!((added(), read), ([10, 2], [0]));
}

/// Backups, checkpoints, and readers of the log.
fn copies(counted: &Counted) {
    let files = Arc::new(MemoryFileSystem::new());
    let db = open_default(counted.with(options_on(Arc::clone(&files) as _)), block_family());
    put_all(&db, 0..5000);
    db.flush().unwrap();
    let table_bytes = db.live_files()[0].size_bytes;
    let mut options = BackupEngineOptions::new("/backups");
    options.backup_file_system = Arc::clone(&files) as _;
    options.db_file_system = Arc::clone(&files) as _;
    let engine = BackupEngine::open(options).unwrap();
    let backs_up = || engine.create_backup(&db, &CreateBackupOptions::default()).is_ok();
    let tickers = [Ticker::BackupReadBytes, Ticker::BackupWriteBytes];
    let first = counted.added(tickers, || assert!(backs_up()));
    assert!(first.iter().all(|bytes| *bytes >= table_bytes), "{first:?}");
    let second = counted.added(tickers, || assert!(backs_up()));
    assert!(second[1] < table_bytes, "the table is there: {second:?}");
    let tickers = [Ticker::CheckpointReadBytes, Ticker::CheckpointWriteBytes];
    let copied = counted.added(tickers, || assert!(Checkpoint::new(&db).hard_links(false).create("/copy").is_ok()));
    assert!(copied.iter().all(|bytes| *bytes >= table_bytes), "{copied:?}");
    let linked = counted.added(tickers, || assert!(Checkpoint::new(&db).create("/links").is_ok()));
    assert!(linked[0] < table_bytes, "{linked:?}");
    let calls = counted.added([Ticker::GetUpdatesSinceCalls], || {
        let updates = db.updates_since(SequenceNumber(1), WalReadOptions::default());
        drop(updates);
    });
    assert_eq!(calls, [1]);
}

/// Lookups behind a filter of prefixes.
fn prefixes(counted: &Counted) {
    let mut family = block_family();
    family.table.whole_key_filtering = false;
    family.prefix_extractor = Some(PrefixExtractor::Fixed(6));
    let db = open_default(counted.with(in_memory()), family);
    [&b"prefixa"[..], b"prefixc", b"shortb"].iter().for_each(|key| db.put(key, b"v").unwrap());
    db.flush().unwrap();
    let tickers = [
        Ticker::BloomFilterPrefixChecked,
        Ticker::BloomFilterPrefixUseful,
        Ticker::BloomFilterPrefixTruePositive,
        Ticker::BloomFilterFullTruePositive,
    ];
    assert_eq!(counted.added(tickers, || assert!(db.get(b"prefixa").unwrap().is_some())), [1, 0, 1, 0]);
    assert_eq!(counted.added(tickers, || assert!(db.get(b"prefixb").unwrap().is_none())), [1, 0, 0, 0]);
    assert_eq!(counted.added(tickers, || assert!(db.get(b"pzefixb").unwrap().is_none())), [1, 1, 0, 0]);
}

/// A table without its end.
fn footers(counted: &Counted) {
    let files = MemoryFileSystem::new();
    let options = || {
        let mut options = counted.with(options_on(Arc::new(files.clone())));
        options.paranoid_checks = false;
        options
    };
    let db = open_default(options(), block_family());
    put_all(&db, 0..100);
    db.flush().unwrap();
    let path = Path::new("/db").join(format!("{:06}.sst", db.live_files()[0].number.0));
    drop(db);
    let mut bytes = read_file(&files, &path).unwrap();
    bytes.iter_mut().rev().take(8).for_each(|byte| *byte = 0);
    write_file_synced(&files, &path, &bytes).unwrap();
    let [damaged] = counted.added([Ticker::SstFooterCorruptionCount], || {
        assert!(open_default(options(), block_family()).get(&key(5)).is_err());
    });
    assert!(damaged > 0);
}

/// Tables of a queue that become cold.
fn temperatures(counted: &Counted) {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    let mut options = counted.with(in_memory());
    options.components.clock = Some(Arc::clone(&clock) as _);
    options.components.spawner = Some(super::quiet::NoWakeups::shared());
    let mut family = ColumnFamilyOptions::default();
    (family.compaction_style, family.num_levels) = (CompactionStyle::Fifo, 1);
    let fifo = "{file_temperature_age_thresholds={{temperature=kCold;age=100;}};}";
    assert!(family.settings.set("compaction_options_fifo", fifo).unwrap());
    let db = open_default(options, family);
    let [changed] = counted.added([Ticker::FifoChangeTemperatureCompactions], || {
        for number in 0..3 {
            put_all(&db, [number]);
            db.flush().unwrap();
            clock.advance(Duration::from_secs(200));
            db.wait_for_background_work().unwrap();
        }
    });
    assert!(changed > 0, "{changed}");
}

/// A compaction that is ended with all others.
fn aborts(counted: &Counted) {
    let files = MemoryFileSystem::new();
    let db = open_default(counted.with(options_on(Arc::new(files.clone()))), block_family());
    put_all(&db, 0..20_000);
    db.flush().unwrap();
    let gate = Gate::shut();
    let held = Arc::clone(&gate);
    files.set_operation_hook(Some(Arc::new(move |_, line| {
        if line.starts_with("create") && line.ends_with(".sst") {
            held.pass();
        }
    })));
    let ended = [Ticker::CompactionAborted, Ticker::CompactionCancelled];
    let added = counted.added(ended, || {
        let running = db.clone();
        let running = std::thread::spawn(move || {
            let bottommost_level_compaction = BottommostLevelCompaction::Force;
            let options = CompactRangeOptions { bottommost_level_compaction, ..CompactRangeOptions::default() };
            running.compact_range_cf(&running.default_column_family().unwrap(), None, None, &options)
        });
        gate.wait_for(1);
        let aborting = db.clone();
        let aborting = Waiting::begin("the abort", move || aborting.abort_all_compactions());
        super::common::threads::wait_until("the abort is seen", || {
            db.int_property("rocksdb.compaction-abort-count") == Some(1)
        });
        gate.open();
        assert!(running.join().unwrap().is_err());
        aborting.join();
    });
    assert_eq!(added, [1, 0]);
    db.resume_all_compactions().unwrap();
}
