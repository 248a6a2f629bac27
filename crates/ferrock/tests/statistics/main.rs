//! Every ticker and histogram that is said to count does, in the scenario that it is about; no other one moves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod background;
#[path = "../common/mod.rs"]
mod common;
mod parts;
mod perf;
#[path = "../common/quiet.rs"]
mod quiet;
#[path = "../common/workers.rs"]
mod workers;

use common::threads::wait_until;
use common::{in_memory, key, open_default, options_on, slices};
use ferrock::options::{
    BottommostLevelCompaction, Canceller, CompactionFilter, CompactionStyle, CompressionType, ConcurrentTaskLimiter,
    FilterContext, FilterDecision, FilterPolicy, PrefixExtractor, WriteBufferManager,
};
use ferrock::statistics::{Histogram, PerfContext, PerfLevel, PerfMetric, Statistics, StatsLevel, Ticker};
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ReadOptions, ValueType, WriteBatch, WriteOptions,
};
use ferrock_base::clock::ManualClock;
use ferrock_base::merge::StringAppend;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, MemoryFileSystem, OperationKind, read_file, write_file_synced,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workers::{Conduct, InProcess};

/// Drops keys that end in 7.
struct DropSevens;

impl CompactionFilter for DropSevens {
    fn name(&self) -> &str {
        "test.DropSevens"
    }
    fn filter(&self, _: &FilterContext, key: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        if key.ends_with(b"7") { FilterDecision::Remove } else { FilterDecision::Keep }
    }
}

/// Cancels the compaction that asks it.
struct Cancels(Canceller);

impl CompactionFilter for Cancels {
    fn name(&self) -> &str {
        "test.Cancels"
    }
    fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        self.0.cancel();
        FilterDecision::Keep
    }
}

/// Statistics, and what is asked of them.
struct Counted(Arc<Statistics>);

impl Counted {
    fn new() -> Self {
        Self(Arc::new(Statistics::new(StatsLevel::All)))
    }

    fn with(&self, mut options: DbOptions) -> DbOptions {
        options.components.statistics = Some(Arc::clone(&self.0));
        options
    }

    fn of(&self, ticker: Ticker) -> u64 {
        self.0.ticker(ticker)
    }

    /// What `work` adds to tickers.
    fn added<const N: usize>(&self, tickers: [Ticker; N], work: impl FnOnce()) -> [u64; N] {
        let before = tickers.map(|ticker| self.of(ticker));
        work();
        let mut index = 0;
        tickers.map(|ticker| {
            index += 1;
            self.of(ticker) - before[index - 1]
        })
    }
}

fn block_family() -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.compression = CompressionType::Lz4;
    family.table.block_size = 1024;
    family.target_file_size_base = 1 << 20;
    family.level0_file_num_compaction_trigger = 100;
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family
}

fn value(number: u64) -> Vec<u8> {
    format!("value of {number} {}", "x".repeat(80)).into_bytes()
}

fn put_all(db: &Db, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| db.put(&key(number), &value(number)).unwrap());
}

/// Reads and writes of a database with three levels.
fn operations(counted: &Counted) {
    let mut family = block_family();
    family.compaction_filter = Some(Arc::new(DropSevens));
    let db = open_default(counted.with(in_memory()), family);
    let written = [Ticker::NumberKeysWritten, Ticker::WriteDoneBySelf, Ticker::WriteWithWal, Ticker::WalFileSynced];
    let [keys, groups, logged, synced] = counted.added(written, || {
        put_all(&db, 0..500);
        let mut batch = WriteBatch::new();
        (0..3).for_each(|number| batch.put(&key(number), &value(number)).unwrap());
        db.write(batch, &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
        let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
        let mut batch = WriteBatch::new();
        batch.put(&key(3), &value(3)).unwrap();
        db.write(batch, &unlogged).unwrap();
    });
    assert_eq!((keys, groups, logged, synced), (504, 502, 501, 1));
    let dropped = [
        Ticker::CompactionKeyDropNewerEntry,
        Ticker::CompactionKeyDropObsolete,
        Ticker::CompactionKeyDropRangeDel,
        Ticker::CompactionKeyDropUser,
        Ticker::CompactionRangeDelDropObsolete,
    ];
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let payload = counted.of(Ticker::MemtablePayloadBytesAtFlush);
    let expected: usize = (0..500).map(|number| key(number).len() + 8 + value(number).len()).sum();
    let twice: usize = (0..4).map(|number| key(number).len() + 8 + value(number).len()).sum();
    assert_eq!(payload, (expected + twice) as u64);
    assert_eq!(counted.of(Ticker::MemtableGarbageBytesAtFlush), twice as u64);
    assert_eq!(counted.of(Ticker::CompactionKeyDropUser), 50);
    let first = dropped.map(|ticker| counted.of(ticker));
    put_all(&db, 100..200);
    db.delete(&key(201)).unwrap();
    db.delete_range(&key(210), &key(220)).unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let second = dropped.map(|ticker| counted.of(ticker));
    // 90 of 100 keys are there twice, of 10 more the filter removes the one that is new.
    assert!(second.iter().zip(first).all(|(second, first)| *second > first), "{first:?} {second:?}");
    reads(counted, &db);
    scans(counted, &db);
}

fn reads(counted: &Counted, db: &Db) {
    put_all(db, [300]);
    db.flush().unwrap();
    put_all(db, [301]);
    db.merge(&key(302), b"operand").unwrap();
    let hits = [
        Ticker::NumberKeysRead,
        Ticker::MemtableHit,
        Ticker::MemtableMiss,
        Ticker::GetHitL0,
        Ticker::BloomFilterUseful,
        Ticker::BloomFilterFullPositive,
        Ticker::BloomFilterFullTruePositive,
    ];
    let found = |number: u64| db.get(&key(number)).unwrap();
    assert_eq!(counted.added(hits, || assert!(found(301).is_some())), [1, 1, 0, 0, 0, 0, 0]);
    assert_eq!(counted.added(hits, || assert!(found(300).is_some())), [1, 0, 1, 1, 0, 1, 1]);
    // The table of level 0 has one key, and is not asked for another.
    assert_eq!(counted.added(hits, || assert!(found(400).is_some())), [1, 0, 1, 0, 0, 1, 1]);
    assert_eq!(counted.added(hits, || assert!(db.get(b"key000400x").unwrap().is_none())), [1, 0, 1, 0, 1, 0, 0]);
    let operands = counted.0.histogram(Histogram::ReadNumMergeOperands);
    assert!(found(302).is_some());
    assert_eq!(counted.0.histogram(Histogram::ReadNumMergeOperands).count(), operands.count() + 1);
    let bytes = counted.0.histogram(Histogram::BytesPerRead);
    assert_eq!(bytes.sum(), counted.of(Ticker::BytesRead));
    assert_eq!(bytes.count(), counted.of(Ticker::NumberKeysRead));
    assert_eq!(counted.0.histogram(Histogram::DbGet).count(), counted.of(Ticker::NumberKeysRead));

    let cache = [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss, Ticker::BlockCacheDataAdd];
    let blocks = |number: u64| counted.added(cache, || assert!(found(number).is_some()));
    assert_eq!(blocks(499), [0, 1, 1]);
    assert_eq!(blocks(499), [1, 0, 0]);

    let batch = [
        Ticker::NumberMultigetCalls,
        Ticker::NumberMultigetKeysRead,
        Ticker::NumberMultigetKeysFound,
        Ticker::NumberMultigetBytesRead,
        Ticker::MemtableHit,
        Ticker::MemtableMiss,
        Ticker::NumberKeysRead,
    ];
    let keys: Vec<Vec<u8>> = [301, 300, 400, 900].map(key).into();
    let bytes: usize = [301, 300, 400].map(|number| value(number).len()).iter().sum();
    let added = counted.added(batch, || drop(db.multi_get(&slices(&keys))));
    assert_eq!(added, [1, 4, 3, bytes as u64, 1, 3, 0]);
}

fn scans(counted: &Counted, db: &Db) {
    let steps = [
        Ticker::NoIteratorCreated,
        Ticker::NoIteratorDeleted,
        Ticker::NumberDbSeek,
        Ticker::NumberDbSeekFound,
        Ticker::NumberDbNext,
        Ticker::NumberDbNextFound,
        Ticker::NumberDbPrev,
        Ticker::NumberDbPrevFound,
        Ticker::IterBytesRead,
    ];
    // One that rested before is a new one here.
    for _ in 0..2 {
        let entry = (key(300).len() + value(300).len()) as u64;
        let added = counted.added(steps, || {
            let upper_bound = Some(key(302));
            let mut iter = db.iter(&ReadOptions { upper_bound, ..ReadOptions::default() });
            iter.seek(&key(300));
            iter.next();
            iter.next();
            assert!(!iter.valid());
            iter.seek_for_prev(&key(301));
            iter.prev();
            iter.seek(b"z");
            drop(iter);
        });
        assert_eq!(added, [1, 1, 3, 2, 2, 1, 1, 1, 4 * entry]);
    }
    assert_eq!(counted.0.histogram(Histogram::DbSeek).count(), counted.of(Ticker::NumberDbSeek));
    db.delete(&key(10)).unwrap();
    db.delete(&key(11)).unwrap();
    let [skipped] = counted.added([Ticker::NumberIterSkip], || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(9));
        iter.next();
        assert_eq!(iter.key(), key(12));
        drop(iter);
    });
    assert!(skipped >= 2, "{skipped}");
}

/// Blocks of indexes and filters in the cache, a cache that refuses, blocks that do not shrink, prefixes.
fn caches(counted: &Counted) {
    let mut family = block_family();
    family.table.cache_index_and_filter_blocks = true;
    family.table.whole_key_filtering = false;
    family.prefix_extractor = Some(PrefixExtractor::Fixed(6));
    let db = open_default(counted.with(in_memory()), family);
    let noise: Vec<u8> = (0..2000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    db.put(b"prefixa", &noise).unwrap();
    db.put(b"prefixc", &noise).unwrap();
    db.put(b"shortb", b"value").unwrap();
    db.flush().unwrap();
    let prefixes = [Ticker::BloomFilterPrefixChecked, Ticker::BloomFilterPrefixUseful, Ticker::BlockCacheFilterHit];
    db.get(b"prefixa").unwrap();
    assert_eq!(counted.added(prefixes, || assert!(db.get(b"prefixa").unwrap().is_some())), [1, 0, 1]);
    assert_eq!(counted.added(prefixes, || assert!(db.get(b"pzefixb").unwrap().is_none())), [1, 1, 1]);

    let mut family = block_family();
    let options = CacheOptions { strict_capacity_limit: true, fail_when_full: true, ..CacheOptions::default() };
    family.block_cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes: 4096, ..options }));
    let db = open_default(counted.with(in_memory()), family);
    put_all(&db, 0..100);
    db.flush().unwrap();
    let keys: Vec<Vec<u8>> = (0..100).map(key).collect();
    let refused = db.multi_get(&slices(&keys)).into_iter().filter(Result::is_err).count();
    assert!(refused > 0 && counted.of(Ticker::BlockCacheAddFailures) > 0);
}

/// Levels that are filled from the first one on.
fn levels(counted: &Counted) {
    let mut family = block_family();
    assert!(family.settings.set("level_compaction_dynamic_level_bytes", "false").unwrap());
    let db = open_default(counted.with(in_memory()), family);
    put_all(&db, 0..10);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(counted.added([Ticker::GetHitL1], || assert!(db.get(&key(5)).unwrap().is_some())), [1]);

    let mut options = counted.with(in_memory());
    options.max_subcompactions = 3;
    let mut family = block_family();
    family.target_file_size_base = 8192;
    let db = open_default(options, family);
    for _ in 0..2 {
        put_all(&db, 0..2000);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
    }
    let parts = counted.0.histogram(Histogram::NumSubcompactionsScheduled);
    assert!(parts.count() >= 1 && parts.min() > 1, "{parts:?}");
}

/// Queues and ages, by a clock that stands still.
fn ages(counted: &Counted) {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    let options = || {
        let mut options = counted.with(in_memory());
        options.components.clock = Some(Arc::clone(&clock) as _);
        options.components.spawner = Some(quiet::NoWakeups::shared());
        options
    };
    let flush = |db: &Db, number: u64| {
        put_all(db, [number]);
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
    };
    let mut family = ColumnFamilyOptions::default();
    family.compaction_style = CompactionStyle::Fifo;
    family.ttl = 100;
    assert!(family.settings.set("compaction_options_fifo", "{max_table_files_size=4000}").unwrap());
    let db = open_default(options(), family);
    (0..10).for_each(|number| flush(&db, number));
    assert!(counted.of(Ticker::FifoMaxSizeCompactions) > 0);
    clock.advance(Duration::from_secs(200));
    flush(&db, 10);
    assert!(counted.of(Ticker::FifoTtlCompactions) > 0);

    let read_and_written = [
        (Ticker::CompactReadBytesMarked, Ticker::CompactWriteBytesMarked, "ttl=0;periodic_compaction_seconds=0"),
        (Ticker::CompactReadBytesTtl, Ticker::CompactWriteBytesTtl, "ttl=1000;periodic_compaction_seconds=0"),
        (Ticker::CompactReadBytesPeriodic, Ticker::CompactWriteBytesPeriodic, "ttl=0;periodic_compaction_seconds=1000"),
    ];
    for (read, written, text) in read_and_written {
        let mut family = block_family();
        family.compaction_style = CompactionStyle::Level;
        for option in text.split(';') {
            let (name, value) = option.split_once('=').unwrap();
            assert!(family.settings.set(name, value).unwrap());
        }
        let db = open_default(options(), family);
        put_all(&db, 0..10);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        flush(&db, 5);
        if read == Ticker::CompactReadBytesMarked {
            db.suggest_compact_range_cf(&db.default_column_family().unwrap(), None, None).unwrap();
        } else {
            clock.advance(Duration::from_secs(2000));
            flush(&db, 6);
        }
        db.wait_for_background_work().unwrap();
        assert!(counted.of(read) > 0 && counted.of(written) > 0, "{text}");
    }
}

/// Damaged blocks, tables that are not there, devices that are full.
fn failures(counted: &Counted) {
    let files = MemoryFileSystem::new();
    let open = || open_default(counted.with(options_on(Arc::new(files.clone()))), block_family());
    let db = open();
    put_all(&db, 0..100);
    db.flush().unwrap();
    let number = db.live_files()[0].number.0;
    drop(db);
    let path = Path::new("/db").join(format!("{number:06}.sst"));
    let mut bytes = read_file(&files, &path).unwrap();
    bytes[10] ^= 1;
    write_file_synced(&files, &path, &bytes).unwrap();
    let db = open();
    assert!(db.get(&key(0)).is_err());
    assert_eq!(counted.of(Ticker::BlockChecksumMismatchCount), 1);
    drop(db);
    bytes.truncate(20);
    let mut options = counted.with(options_on(Arc::new(files.clone())));
    options.paranoid_checks = false;
    write_file_synced(&files, &path, &bytes).unwrap();
    assert!(open_default(options, block_family()).get(&key(0)).is_err());
    assert!(counted.of(Ticker::NoFileErrors) > 0);

    let faulty = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let db = open_default(counted.with(options_on(Arc::new(faulty.clone()))), block_family());
    faulty.add_rule(FaultRule::new(OperationKind::Create, "*.sst", Fault::NoSpace));
    put_all(&db, 0..3);
    assert!(db.flush().is_err());
    assert!(counted.of(Ticker::ErrorHandlerBgErrorCount) > 0 && counted.of(Ticker::ErrorHandlerBgIoErrorCount) > 0);
    faulty.clear_rules();
    wait_until("an attempt that succeeds", || counted.of(Ticker::ErrorHandlerAutoresumeSuccessCount) == 1);
    assert_eq!(counted.of(Ticker::ErrorHandlerAutoresumeCount), 1);
    let told = || counted.0.histogram(Histogram::ErrorHandlerAutoresumeRetryCount).count();
    wait_until("how many attempts it took", || told() == 1);
    let attempts = counted.0.histogram(Histogram::ErrorHandlerAutoresumeRetryCount).sum();
    assert_eq!(counted.of(Ticker::ErrorHandlerAutoresumeRetryTotalCount), attempts);

    let canceller = Canceller::new();
    let mut family = block_family();
    family.compaction_filter = Some(Arc::new(Cancels(canceller.clone())));
    let db = open_default(counted.with(in_memory()), family);
    put_all(&db, 0..20_000);
    db.flush().unwrap();
    let options = CompactRangeOptions {
        canceled: Some(canceller),
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    assert!(db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &options).is_err());
    assert_eq!(counted.of(Ticker::CompactionCancelled), 1);
}

/// Where reads go: by level, by temperature, to blob files.
fn places(counted: &Counted) {
    let rows = [
        ("kHot", Ticker::HotFileReadCount, Ticker::HotFileReadBytes),
        ("kWarm", Ticker::WarmFileReadCount, Ticker::WarmFileReadBytes),
        ("kCool", Ticker::CoolFileReadCount, Ticker::CoolFileReadBytes),
        ("kCold", Ticker::ColdFileReadCount, Ticker::ColdFileReadBytes),
        ("kIce", Ticker::IceFileReadCount, Ticker::IceFileReadBytes),
    ];
    for (temperature, count, bytes) in rows {
        let mut family = block_family();
        assert!(family.settings.set("default_write_temperature", temperature).unwrap());
        let db = open_default(counted.with(in_memory()), family);
        put_all(&db, 0..100);
        db.flush().unwrap();
        let added = counted.added([count, Ticker::NonLastLevelReadCount, Ticker::LastLevelReadCount], || {
            assert!(db.get(&key(50)).unwrap().is_some());
        });
        assert_eq!(added, [1, 1, 0], "{temperature}");
        assert!(counted.of(bytes) > 0);
        // Without another table it would be moved, and stay open as one of its former level.
        put_all(&db, 0..100);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        db.verify_checksum().unwrap();
        let added = counted.added([Ticker::NonLastLevelReadCount, Ticker::LastLevelReadCount], || {
            assert!(db.get(&key(50)).unwrap().is_some());
        });
        assert_eq!(added, [0, 1], "{temperature}");
    }

    let mut family = block_family();
    family.enable_blob_files = true;
    family.blob_cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() }));
    let db = open_default(counted.with(in_memory()), family);
    put_all(&db, 0..10);
    db.flush().unwrap();
    let cache = [Ticker::BlobDbCacheMiss, Ticker::BlobDbCacheAdd, Ticker::BlobDbCacheHit];
    let read = || assert!(db.get(&key(5)).unwrap().is_some());
    assert_eq!(counted.added(cache, read), [1, 1, 0]);
    assert_eq!(counted.added(cache, read), [0, 0, 1]);
    let bytes = value(5).len() as u64;
    assert_eq!([Ticker::BlobDbCacheBytesRead, Ticker::BlobDbCacheBytesWrite].map(|one| counted.of(one)), [bytes; 2]);
}

/// What files cost that jobs write, of a family without compression.
fn written_files(counted: &Counted) {
    let mut family = block_family();
    (family.compression, family.enable_blob_files) = (CompressionType::NoCompression, true);
    let db = open_default(counted.with(in_memory()), family);
    let times = [
        Histogram::TableSyncMicros,
        Histogram::BlobDbBlobFileSyncMicros,
        Histogram::CompactionOutfileSyncMicros,
        Histogram::ManifestFileSyncMicros,
        Histogram::BlobDbBlobFileReadMicros,
    ];
    let timed = |work: &dyn Fn()| {
        let before = times.map(|time| counted.0.histogram(time).count());
        work();
        let after = times.map(|time| counted.0.histogram(time).count());
        std::array::from_fn::<u64, 5, _>(|at| after[at] - before[at])
    };
    let tickers = [
        Ticker::BlobDbBlobFileSynced,
        Ticker::BlobDbBlobFileBytesWritten,
        Ticker::NumberBlockCompressionBypassed,
        Ticker::FilesDeletedImmediately,
    ];
    // A file has a header of 30 bytes and a footer of 32; a record 32 before its key.
    let of_records: u64 = (0..10).map(|number| 32 + (key(number).len() + value(number).len()) as u64).sum();
    let added = counted.added(tickers, || {
        put_all(&db, 0..10);
        assert_eq!(timed(&|| db.flush().unwrap()), [1, 1, 0, 1, 0]);
    });
    // Of blocks one of data, one of the index; the log that the flush made useless is removed.
    assert_eq!(added[..3], [1, 30 + 32 + of_records, 2]);
    put_all(&db, 0..10);
    db.flush().unwrap();
    let added = counted.added(tickers, || {
        assert_eq!(timed(&|| db.compact_range(None, None).unwrap()), [0, 0, 1, 1, 0]);
    });
    assert_eq!(added[..2], [0, 0], "values stay in the blob file of the second flush");
    assert!(added[3] >= 3, "two tables and a blob file are removed: {added:?}");
    let bytes = [Ticker::BlobDbBlobFileBytesRead, Ticker::BytesRead];
    let added = counted.added(bytes, || {
        assert_eq!(timed(&|| assert!(db.get(&key(5)).unwrap().is_some())), [0, 0, 0, 0, 1]);
    });
    assert_eq!(added, [32 + (key(5).len() + value(5).len()) as u64, value(5).len() as u64]);
}

/// Writers that are slowed down, and that write for each other.
fn writers(counted: &Counted) {
    let mut family = block_family();
    family.level0_slowdown_writes_trigger = 2;
    family.level0_file_num_compaction_trigger = 2;
    family.compaction_thread_limiter = Some(ConcurrentTaskLimiter::new("none", 0));
    let mut options = counted.with(in_memory());
    options.delayed_write_rate = 16 << 10;
    let db = open_default(options, family);
    for number in 0..4 {
        put_all(&db, [number]);
        db.flush().unwrap();
    }
    put_all(&db, 0..20);
    assert!(counted.of(Ticker::StallMicros) > 0);
    assert_eq!(counted.0.histogram(Histogram::WriteStall).sum(), counted.of(Ticker::StallMicros));
    flushes(counted);
    let directory = tempfile::tempdir().unwrap();
    let mut options = counted.with(DbOptions::default());
    options.create_if_missing = true;
    let db = Db::open(directory.path(), options).unwrap();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    while counted.of(Ticker::WriteDoneByOther) == 0 {
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (db, family) = (&db, db.default_column_family().unwrap());
                let put = move |number: u64| db.put_cf(&family, &key(thread * 100 + number), b"v", &synced).unwrap();
                scope.spawn(move || (0..20).for_each(put));
            }
        });
    }
}

/// Why memtables are flushed.
fn flushes(counted: &Counted) {
    let with = |adjust: &dyn Fn(&mut DbOptions, &mut ColumnFamilyOptions)| {
        let (mut options, mut family) = (counted.with(in_memory()), block_family());
        adjust(&mut options, &mut family);
        open_default(options, family)
    };
    let db = with(&|_, family| family.write_buffer_size = 64 << 10);
    put_all(&db, 0..2000);
    wait_until("a flush", || counted.of(Ticker::FlushReasonWriteBufferFull) > 0);
    let manager = WriteBufferManager::new(256 << 10, None, false);
    let db = with(&|options, _| options.components.write_buffer_manager = Some(Arc::clone(&manager)));
    put_all(&db, 0..4000);
    wait_until("a flush", || counted.of(Ticker::FlushReasonWriteBufferManager) > 0);
    let db = with(&|_, family| assert!(family.settings.set("memtable_max_range_deletions", "2").unwrap()));
    (0..8).for_each(|number| db.delete_range(&key(number), &key(number + 1)).unwrap());
    wait_until("a flush", || counted.of(Ticker::FlushReasonMemtableMaxRangeDeletions) > 0);
}

fn remote(counted: &Counted) {
    let files = MemoryFileSystem::new();
    let mut options = counted.with(options_on(Arc::new(files.clone())));
    options.components.compaction_service = Some(InProcess::new(Arc::new(files.clone()), &[Conduct::Honest]));
    let db = open_default(options, block_family());
    for _ in 0..2 {
        put_all(&db, 0..50);
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    assert!(counted.of(Ticker::RemoteCompactReadBytes) > 0 && counted.of(Ticker::RemoteCompactWriteBytes) > 0);
}

fn ingestions(counted: &Counted) {
    let options = counted.with(in_memory());
    let mut writer = ferrock::SstFileWriter::new(&options, block_family());
    let path = Path::new("/table.sst");
    writer.open(path).unwrap();
    writer.put(&key(1), &value(1)).unwrap();
    writer.finish().unwrap();
    let db = open_default(options, block_family());
    db.ingest_external_file(&[path], &ferrock::IngestExternalFileOptions::default()).unwrap();
    assert_eq!(counted.0.histogram(Histogram::IngestExternalFileRunTime).count(), 1);
}

#[test]
fn what_is_said_to_count_counts_and_nothing_else() {
    let counted = Counted::new();
    let own = [operations, caches, levels, ages, failures, places, written_files, writers, remote, ingestions];
    own.iter().chain(&background::SCENARIOS).chain(&parts::SCENARIOS).for_each(|scenario| scenario(&counted));
    let said: BTreeSet<Ticker> = Ticker::ALL.iter().copied().filter(|ticker| ticker.is_counted()).collect();
    let moved: BTreeSet<Ticker> = Ticker::ALL.iter().copied().filter(|ticker| counted.of(*ticker) > 0).collect();
    assert_eq!(moved.difference(&said).collect::<Vec<_>>(), Vec::<&Ticker>::new());
    assert_eq!(said.difference(&moved).collect::<Vec<_>>(), Vec::<&Ticker>::new());
    let has_values = |histogram: &Histogram| counted.0.histogram(*histogram).count() > 0;
    let (times, cpu) = (Histogram::CompactionTime, Histogram::CompactionCpuTime);
    assert_eq!(counted.0.histogram(cpu).count(), counted.0.histogram(times).count());
    assert_eq!(counted.0.histogram(cpu).sum(), counted.of(Ticker::CompactionCpuTotalTime));
    let moved: BTreeSet<Histogram> = Histogram::ALL.iter().copied().filter(has_values).collect();
    let said: BTreeSet<Histogram> = Histogram::ALL.iter().copied().filter(|one| one.is_counted()).collect();
    assert_eq!(moved, said);
    for (total, parts) in [
        (Ticker::BlockCacheHit, [Ticker::BlockCacheDataHit, Ticker::BlockCacheIndexHit, Ticker::BlockCacheFilterHit]),
        (
            Ticker::BlockCacheMiss,
            [Ticker::BlockCacheDataMiss, Ticker::BlockCacheIndexMiss, Ticker::BlockCacheFilterMiss],
        ),
        (Ticker::BlockCacheAdd, [Ticker::BlockCacheDataAdd, Ticker::BlockCacheIndexAdd, Ticker::BlockCacheFilterAdd]),
    ] {
        assert_eq!(counted.of(total), parts.map(|part| counted.of(part)).iter().sum::<u64>(), "{total:?}");
    }
    counted.0.reset();
    assert!(Ticker::ALL.iter().all(|ticker| counted.of(*ticker) == 0));
}

#[test]
fn a_thread_counts_what_it_does() {
    let db = open_default(in_memory(), block_family());
    put_all(&db, 0..100);
    db.flush().unwrap();
    db.get(&key(5)).unwrap();
    assert_eq!(PerfContext::of_thread().report(true), "", "nothing is counted unless it is asked for");
    PerfLevel::EnableCount.set_of_thread();
    let counts = |work: &dyn Fn()| {
        PerfContext::reset_thread();
        work();
        PerfContext::of_thread()
    };
    let read = counts(&|| assert!(db.get(&key(99)).unwrap().is_some()));
    let read = |metric| read.get(metric);
    assert_eq!((read(PerfMetric::BlockReadCount), read(PerfMetric::BlockCacheHitCount)), (1, 0));
    assert_eq!((read(PerfMetric::BlockDecompressCount), read(PerfMetric::BloomSstHitCount)), (1, 1));
    assert_eq!(read(PerfMetric::GetReadBytes), value(99).len() as u64);
    assert!(
        read(PerfMetric::BlockReadByte) > 0 && read(PerfMetric::BlockReadByte) == read(PerfMetric::DataBlockReadByte)
    );
    let again = counts(&|| assert!(db.get(&key(99)).unwrap().is_some()));
    assert_eq!((again.get(PerfMetric::BlockReadCount), again.get(PerfMetric::BlockCacheHitCount)), (0, 1));
    let absent = counts(&|| assert!(db.get(b"key000099x").unwrap().is_none()));
    assert_eq!(absent.get(PerfMetric::BloomSstMissCount), 0, "no table has the key in its range");
    let absent = counts(&|| assert!(db.get(b"key000050x").unwrap().is_none()));
    assert_eq!(absent.get(PerfMetric::BloomSstMissCount), 1);
    let scan = counts(&|| {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(10));
        iter.next();
        iter.prev();
    });
    let counted =
        [PerfMetric::IterSeekCount, PerfMetric::IterNextCount, PerfMetric::IterPrevCount].map(|one| scan.get(one));
    assert_eq!(counted, [1, 1, 1]);
    assert_eq!(scan.get(PerfMetric::IterReadBytes), 3 * (key(10).len() + value(10).len()) as u64);
    PerfLevel::Disable.set_of_thread();
}

/// The texts of a family and of the database have what jobs and writers did.
#[test]
fn texts_tell_what_was_done() {
    let counted = Counted::new();
    let db = open_default(counted.with(in_memory()), block_family());
    for _ in 0..2 {
        put_all(&db, 0..500);
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    let family = db.property("cfstats").unwrap();
    let row = |name: &str| -> Vec<String> {
        let found = family.lines().find(|line| line.split_whitespace().next() == Some(name));
        found.unwrap_or_else(|| panic!("{name} in {family}")).split_whitespace().map(str::to_owned).collect()
    };
    // Name, files, size and unit, score, bytes read three times and written, ...: jobs, seconds, entries, dropped.
    let jobs = |name: &str| row(name)[17..21].to_vec();
    assert_eq!(
        (row("L0")[1].as_str(), jobs("L0")[0].as_str(), jobs("L0")[2].as_str()),
        ("0/0", "2", "1000"),
        "{family}"
    );
    assert_eq!(row("L6")[1], "1/0");
    assert_eq!((jobs("L6")[0].as_str(), jobs("L6")[2].as_str(), jobs("L6")[3].as_str()), ("1", "1000", "500"));
    assert_eq!((jobs("Sum")[0].as_str(), jobs("High")[0].as_str(), jobs("Low")[0].as_str()), ("3", "2", "1"));
    assert_eq!(jobs("Int")[0], "3", "since the open");
    assert!(db.property("cfstats").unwrap().lines().any(|line| line.starts_with(" Int      0/0")));
    let again = db.property("cfstats").unwrap();
    let interval = again.lines().find(|line| line.trim_start().starts_with("Int ")).unwrap();
    assert_eq!(interval.split_whitespace().nth(17), Some("0"), "since the text before");
    assert!(!db.property("cfstats-no-file-histogram").unwrap().contains("Latency"));

    db.get(&key(3)).unwrap();
    let latencies = db.property("cf-file-histogram").unwrap();
    assert!(latencies.starts_with("\n** File Read Latency Histogram By Level [default] **\n"), "{latencies}");
    assert!(latencies.contains("** Level 6 read latency histogram (micros):\nCount: "), "{latencies}");
    assert!(family.contains("** File Read Latency Histogram By Level [default] **"), "{family}");

    let database = db.property("dbstats").unwrap();
    let line = "Cumulative writes: 1000 writes, 1000 keys, 1000 commit groups, 1.0 writes per commit group, ingest: ";
    assert!(database.contains(line) && database.contains("Interval writes: 1000 writes"), "{database}");
    assert!(db.property("dbstats").unwrap().contains("Interval writes: 0 writes"));
    assert!(db.property("stats").unwrap().contains("** DB Stats **"));
}
