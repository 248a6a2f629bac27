//! The sums of a thread: each changes by what it is about, and times where the level has them.

use super::common::{in_memory, key, open_default, slices};
use super::{block_family, put_all, value};
use ferrock::options::{CompressionType, PrefixExtractor};
use ferrock::statistics::{LevelMetric as L, PerfContext, PerfLevel, PerfMetric as M};
use ferrock::{
    ColumnFamilyOptions, Db, IngestExternalFileOptions, ReadOptions, SstFileWriter, WriteBatch, WriteOptions,
};
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use std::path::Path;

/// What `work` adds to the sums of the thread at a level.
fn sums(level: PerfLevel, work: impl FnOnce()) -> PerfContext {
    level.set_of_thread();
    PerfContext::reset_thread();
    work();
    PerfLevel::Disable.set_of_thread();
    PerfContext::of_thread()
}

fn counts<const N: usize>(metrics: [M; N], work: impl FnOnce()) -> [u64; N] {
    let sums = sums(PerfLevel::EnableCount, work);
    metrics.map(|metric| sums.get(metric))
}

/// Each of these has a time at the level of all times, and none where counts alone are wanted.
#[track_caller]
fn has_times(metrics: &[M], work: &dyn Fn()) {
    let none = sums(PerfLevel::EnableCount, work);
    let all = sums(PerfLevel::EnableTime, work);
    for metric in metrics {
        assert_eq!(none.get(*metric), 0, "{}: a time where counts alone are wanted", metric.name());
        assert!(all.get(*metric) > 0, "{}: no time in {}", metric.name(), all.report(true));
    }
}

/// A database whose table has keys up to 100, and its memtable those from 100 on.
fn two_sources(family: ColumnFamilyOptions) -> Db {
    let db = open_default(in_memory(), family);
    put_all(&db, 0..100);
    db.flush().unwrap();
    put_all(&db, 100..110);
    db
}

#[test]
fn lookups_count_memtables_and_their_filters() {
    let mut family = block_family();
    family.settings.set("memtable_prefix_bloom_size_ratio", "0.1").unwrap();
    family.settings.set("memtable_whole_key_filtering", "true").unwrap();
    let db = two_sources(family);
    let metrics = [M::GetFromMemtableCount, M::BloomMemtableHitCount, M::BloomMemtableMissCount];
    let get = |number| assert!(db.get(&key(number)).unwrap().is_some());
    assert_eq!(counts(metrics, || get(105)), [1, 1, 0]);
    assert_eq!(counts(metrics, || get(50)), [1, 0, 1]);
    let keys: Vec<Vec<u8>> = [5, 105].map(key).into();
    assert_eq!(counts(metrics, || drop(db.multi_get(&slices(&keys)))), [2, 1, 1]);
    assert_eq!(counts(metrics, || drop(db.get_async(&ReadOptions::default(), &key(105)))), [1, 1, 0]);
    db.flush().unwrap();
    assert_eq!(counts(metrics, || get(105)), [0, 0, 0], "an empty memtable is not asked");
    let plain = two_sources(block_family());
    assert_eq!(counts(metrics, || drop(plain.get(&key(105)).unwrap())), [1, 0, 0], "without a filter");
}

#[test]
fn lookups_have_times() {
    let mut family = block_family();
    family.table.no_block_cache = true;
    let db = two_sources(family);
    let get = |number| assert!(db.get(&key(number)).unwrap().is_some());
    let everywhere = [M::GetSnapshotTime, M::GetFromMemtableTime, M::GetPostProcessTime, M::GetCpuNanos];
    has_times(&everywhere, &|| get(105));
    let in_tables = [
        M::GetFromOutputFilesTime,
        M::FindTableNanos,
        M::BlockSeekNanos,
        M::BlockReadTime,
        M::BlockReadCpuTime,
        M::BlockChecksumTime,
        M::BlockDecompressTime,
    ];
    has_times(&[&everywhere[..], &in_tables].concat(), &|| get(50));
    let in_memory = sums(PerfLevel::EnableTime, || get(105));
    assert!(in_tables.iter().all(|metric| in_memory.get(*metric) == 0), "{}", in_memory.report(true));
    let without_cpu = sums(PerfLevel::EnableTimeExceptForMutex, || get(50));
    assert_eq!([M::GetCpuNanos, M::BlockReadCpuTime].map(|one| without_cpu.get(one)), [0; 2]);
    assert!(without_cpu.get(M::GetFromOutputFilesTime) >= without_cpu.get(M::BlockReadTime));
    let keys: Vec<Vec<u8>> = [5, 105].map(key).into();
    let batch = [M::GetSnapshotTime, M::GetFromMemtableTime, M::GetPostProcessTime, M::GetCpuNanos, M::FindTableNanos];
    has_times(&batch, &|| drop(db.multi_get(&slices(&keys))));
}

#[test]
fn blocks_count_by_their_kinds() {
    let mut family = block_family();
    family.table.cache_index_and_filter_blocks = true;
    let cache = TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() });
    family.block_cache = Some(cache);
    let db = two_sources(family);
    let get = || assert!(db.get(&key(50)).unwrap().is_some());
    get();
    let metrics = [
        M::BlockCacheHitCount,
        M::BlockCacheIndexHitCount,
        M::BlockCacheFilterHitCount,
        M::BlockCacheReadByte,
        M::BlockCacheIndexReadByte,
        M::BlockCacheFilterReadByte,
        M::BlockReadCount,
    ];
    let [hits, index, filter, bytes, index_bytes, filter_bytes, reads] = counts(metrics, get);
    assert_eq!((hits, reads), (index + filter + 1, 0));
    assert!(index_bytes > 0 && filter_bytes > 0 && bytes > index_bytes + filter_bytes);

    // A table that is opened anew reads its other blocks, too; a scan counts the blocks that it reads.
    let mut family = block_family();
    family.table.cache_index_and_filter_blocks = true;
    let files = std::sync::Arc::new(ferrock_vfs::MemoryFileSystem::new());
    let open = || open_default(super::common::options_on(std::sync::Arc::clone(&files) as _), family.clone());
    let db = open();
    put_all(&db, 0..100);
    db.flush().unwrap();
    drop(db);
    let mut opened = None;
    let metadata = counts([M::MetadataBlockReadByte], || opened = Some(open()));
    assert!(metadata[0] > 0);
    let db = opened.unwrap();
    let [reads, bytes, data_bytes, index, filter] = counts(
        [M::BlockReadCount, M::BlockReadByte, M::DataBlockReadByte, M::IndexBlockReadCount, M::FilterBlockReadCount],
        || assert_eq!(super::common::rows_of(db.iter(&ReadOptions::default())).len(), 100),
    );
    assert!(reads > 5 && data_bytes > 500 && bytes >= data_bytes, "{reads} blocks, {data_bytes} of {bytes} bytes");
    assert!(index <= 1 && filter == 0, "{index} of the index, {filter} of the filter");
    drop(db);
    let db = open();
    let times = sums(PerfLevel::EnableTime, || assert!(db.get(&key(50)).unwrap().is_some()));
    let read = [M::IndexBlockReadCount, M::FilterBlockReadCount].map(|one| times.get(one));
    let nanos = [M::ReadIndexBlockNanos, M::ReadFilterBlockNanos].map(|one| times.get(one) > 0);
    assert_eq!(read.map(|count| count > 0), nanos, "{}", times.report(true));
}

#[test]
fn iterators_count_what_they_pass() {
    let mut family = block_family();
    family.settings.set("max_sequential_skip_in_iterations", "100").unwrap();
    let db = open_default(in_memory(), family);
    put_all(&db, 0..10);
    let snapshot = db.snapshot();
    (0..3).for_each(|_| put_all(&db, [2]));
    db.delete(&key(4)).unwrap();
    db.delete(&key(5)).unwrap();
    let metrics = [M::InternalKeySkippedCount, M::InternalDeleteSkippedCount, M::InternalRecentSkippedCount];
    let scan = |options: &ReadOptions| super::common::rows_of(db.iter(options)).len();
    // Three older versions of key 2, and what the deletions of 4 and 5 hide.
    assert_eq!(counts(metrics, || assert_eq!(scan(&ReadOptions::default()), 8)), [5, 2, 0]);
    let as_before = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_eq!(counts(metrics, || assert_eq!(scan(&as_before), 10)), [0, 0, 5]);

    (0..3).for_each(|_| db.merge(&key(7), b"more").unwrap());
    let operands = [M::InternalMergeCount, M::InternalMergePointLookupCount];
    assert_eq!(counts(operands, || assert_eq!(scan(&ReadOptions::default()), 8)), [3, 0]);
    assert_eq!(counts(operands, || assert!(db.get(&key(7)).unwrap().is_some())), [0, 3]);
    let keys: Vec<Vec<u8>> = [1, 7].map(key).into();
    assert_eq!(counts(operands, || drop(db.multi_get(&slices(&keys)))), [0, 3]);
    has_times(&[M::MergeOperatorTimeNanos], &|| assert!(db.get(&key(7)).unwrap().is_some()));
}

#[test]
fn iterators_leap_over_deleted_ranges() {
    let db = open_default(in_memory(), block_family());
    put_all(&db, 0..1000);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.delete_range(&key(100), &key(900)).unwrap();
    db.flush().unwrap();
    let [leaps] = counts([M::InternalRangeDelReseekCount], || {
        assert_eq!(super::common::rows_of(db.iter(&ReadOptions::default())).len(), 200);
    });
    assert!((1..100).contains(&leaps), "{leaps}");
}

#[test]
fn seeks_have_counts_and_times() {
    let db = two_sources(block_family());
    let seek = || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(&key(50));
        assert_eq!(iter.key(), key(50));
    };
    assert_eq!(counts([M::SeekChildSeekCount, M::SeekOnMemtableCount], seek), [2, 1]);
    let times = [
        M::SeekChildSeekTime,
        M::SeekOnMemtableTime,
        M::SeekMinHeapTime,
        M::SeekInternalSeekTime,
        M::NewTableIteratorNanos,
        M::FindTableNanos,
        M::NewTableBlockIterNanos,
        M::BlockSeekNanos,
        M::IterSeekCpuNanos,
    ];
    has_times(&times, &|| {
        // The iterator that rests, which has the table open, is taken.
        let _taken = db.iter(&ReadOptions::default());
        seek();
    });
    let walk = || {
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_for_prev(&key(50));
        assert_eq!(iter.key(), key(50));
        iter.prev();
        iter.next();
    };
    has_times(&[M::SeekMaxHeapTime, M::IterNextCpuNanos, M::IterPrevCpuNanos, M::FindNextUserEntryTime], &walk);
    let level = sums(PerfLevel::EnableTimeExceptForMutex, walk);
    assert_eq!([M::IterNextCpuNanos, M::IterPrevCpuNanos, M::IterSeekCpuNanos].map(|one| level.get(one)), [0; 3]);
}

#[test]
fn writes_have_times() {
    let mut family = block_family();
    family.write_buffer_size = 64 << 10;
    let db = open_default(in_memory(), family);
    let put = || put_all(&db, 0..10);
    let parts = [
        M::WriteWalTime,
        M::WriteMemtableTime,
        M::WritePreAndPostProcessTime,
        M::WriteSchedulingFlushesCompactionsTime,
    ];
    has_times(&parts, &put);
    let waits = sums(PerfLevel::EnableWait, put);
    assert!(waits.get(M::WriteThreadWaitNanos) > 0 && parts.iter().all(|part| waits.get(*part) == 0));
    let unlogged = sums(PerfLevel::EnableTime, || {
        let mut batch = WriteBatch::new();
        batch.put(&key(1), &value(1)).unwrap();
        db.write(batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() }).unwrap();
    });
    assert_eq!(unlogged.get(M::WriteWalTime), 0);
    assert!(unlogged.get(M::WriteMemtableTime) > 0);
    // The threads of a group count for themselves.
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let db = &db;
            scope.spawn(move || {
                let own = sums(PerfLevel::EnableTime, || put_all(db, thread * 100..thread * 100 + 50));
                assert!(own.get(M::WriteThreadWaitNanos) > 0, "{}", own.report(true));
            });
        }
    });
}

#[test]
fn values_in_blob_files_count() {
    let mut family = block_family();
    (family.enable_blob_files, family.blob_compression_type) = (true, CompressionType::Lz4);
    let db = open_default(in_memory(), family.clone());
    put_all(&db, 0..10);
    db.flush().unwrap();
    let get = || assert!(db.get(&key(5)).unwrap().is_some());
    let metrics = [M::BlobReadCount, M::BlobReadByte, M::BlobCacheHitCount, M::BlobCacheReadByte];
    let [reads, bytes, hits, hit_bytes] = counts(metrics, get);
    assert!(reads == 1 && bytes > 32 && hits == 0 && hit_bytes == 0, "{reads} reads of {bytes} bytes, {hits} hits");
    has_times(&[M::BlobReadTime, M::BlobChecksumTime, M::BlobDecompressTime], &get);
    family.blob_cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes: 1 << 20, ..CacheOptions::default() }));
    let db = open_default(in_memory(), family);
    put_all(&db, 0..10);
    db.flush().unwrap();
    let get = || assert!(db.get(&key(5)).unwrap().is_some());
    get();
    assert_eq!(counts(metrics, get), [0, 0, 1, value(5).len() as u64]);
}

#[test]
fn ingestions_have_times() {
    let options = in_memory();
    let mut writer = SstFileWriter::new(&options, block_family());
    let paths = ["/one.sst", "/two.sst"].map(Path::new);
    for (path, number) in paths.iter().zip(0..) {
        writer.open(path).unwrap();
        writer.put(&key(number), &value(number)).unwrap();
        writer.finish().unwrap();
    }
    let db = open_default(options, block_family());
    let ingest = |level, path: &Path| {
        sums(level, || db.ingest_external_file(&[path], &IngestExternalFileOptions::default()).unwrap())
    };
    let both =
        |sums: PerfContext| [M::FileIngestionNanos, M::FileIngestionBlockingLiveWritesNanos].map(|one| sums.get(one));
    assert_eq!(both(ingest(PerfLevel::EnableCount, paths[0])), [0; 2]);
    let [all, blocking] = both(ingest(PerfLevel::EnableTime, paths[1]));
    assert!(blocking > 0 && all > blocking, "{all} ns, {blocking} of them while writes waited");
}

#[test]
fn prefixes_count_like_keys() {
    let mut family = block_family();
    family.table.whole_key_filtering = false;
    family.prefix_extractor = Some(PrefixExtractor::Fixed(6));
    let db = open_default(in_memory(), family);
    db.put(b"prefixa", b"1").unwrap();
    db.put(b"shortb", b"2").unwrap();
    db.flush().unwrap();
    let metrics = [M::BloomSstHitCount, M::BloomSstMissCount];
    assert_eq!(counts(metrics, || assert!(db.get(b"prefixa").unwrap().is_some())), [1, 0]);
    assert_eq!(counts(metrics, || assert!(db.get(b"pzefixb").unwrap().is_none())), [0, 1]);
}

#[test]
fn levels_of_the_tree_count_for_themselves() {
    let mut family = block_family();
    assert!(family.settings.set("level_compaction_dynamic_level_bytes", "false").unwrap());
    let db = open_default(in_memory(), family);
    // One table would be moved, and stay open as one of its former level.
    for _ in 0..2 {
        put_all(&db, 0..100);
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    put_all(&db, (0..100).step_by(2));
    db.flush().unwrap();
    let of_levels = |work: &dyn Fn()| {
        let sums = sums(PerfLevel::EnableTime, work);
        let of = |level| L::ALL.iter().map(|metric| sums.get_of_level(level, *metric)).collect::<Vec<_>>();
        ([of(0), of(1)], sums)
    };
    let get = |number| assert!(db.get(&key(number)).unwrap().is_some());
    (0..100).for_each(get);
    let (none, _) = of_levels(&|| get(50));
    assert!(none.concat().iter().all(|sum| *sum == 0), "{none:?}");

    PerfContext::count_by_level(true);
    // Useful, positive, and true positive filters; keys; time; hits and misses.
    let (both, all) = of_levels(&|| get(51));
    let without_time = |sums: &[u64]| [&sums[..4], &sums[5..]].concat();
    assert_eq!(both.each_ref().map(|sums| without_time(sums)), [[1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 0]]);
    assert!(both.iter().all(|sums| sums[4] > 0), "{both:?}");
    assert!(all.report(true).contains("bloom_filter_useful = 1@level0, bloom_filter_full_positive = 1@level1, "));
    let (first, _) = of_levels(&|| get(50));
    assert_eq!(first.each_ref().map(|sums| without_time(sums)), [[0, 1, 1, 1, 1, 0], [0; 6]]);
    let keys: Vec<Vec<u8>> = [50, 51].map(key).into();
    let (batch, _) = of_levels(&|| drop(db.multi_get(&slices(&keys))));
    assert_eq!(batch.each_ref().map(|sums| without_time(sums)), [[1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0]]);
    PerfContext::count_by_level(false);
}
