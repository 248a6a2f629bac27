//! Blocks of a table leave the cache when the table is not needed any more.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_cache::{BlockCache, CacheOptions, EntryRole};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{IndexType, MetadataCacheOptions, PinningTier};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBlockCache, TableBuilderParams, TableReadOptions,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem, RandomAccessOptions, WritableOptions};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const KEYS: u32 = 5000;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    number.to_be_bytes().repeat(10)
}

fn cache_of(capacity_bytes: usize) -> Arc<TableBlockCache> {
    BlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() })
}

/// A table of `KEYS` keys, in one cache with others.
fn open(
    file_system: &Arc<dyn FileSystem>,
    path: &Path,
    options: &BlockBasedTableOptions,
    cache: &Arc<TableBlockCache>,
    mmap: bool,
) -> Arc<BlockTable> {
    static FILES: AtomicU64 = AtomicU64::new(1);
    let mut params = TableBuilderParams::new(InternalComparator::default());
    // What tells its blocks from those of others.
    params.db_id = "database".to_owned();
    params.db_session_id = "0123456789ABCDEFGHIJ".to_owned();
    params.file_number = FILES.fetch_add(1, Ordering::Relaxed);
    params.options = Arc::new(options.clone());
    params.filter_policy = FilterPolicy::bloom(10.0);
    // Blocks that are compressed are in the cache also where the file is mapped.
    params.compression = CompressionType::Snappy;
    let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for number in 0..KEYS {
        let key = make_internal_key(&key(number), SequenceNumber(7), ValueType::Value);
        builder.add(&key, &value(number)).unwrap();
    }
    builder.finish().unwrap();
    let how = RandomAccessOptions { mmap, ..RandomAccessOptions::default() };
    let file = file_system.open_random_access(path, &how).unwrap();
    let mut params = TableReaderParams::new(file, Arc::clone(file_system), InternalComparator::default());
    params.options = Arc::new(options.clone());
    params.level = 0;
    params.cache = Some(Arc::clone(cache));
    BlockTable::open(params).unwrap()
}

fn open_in_memory(options: &BlockBasedTableOptions, cache: &Arc<TableBlockCache>) -> Arc<BlockTable> {
    open(&(Arc::new(MemoryFileSystem::new()) as Arc<dyn FileSystem>), Path::new("/table.sst"), options, cache, false)
}

fn check_reads(table: &BlockTable, numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        let lookup = LookupKey::new(&key(number), MAX_SEQUENCE_NUMBER);
        let mut found = Vec::new();
        table
            .get(&TableReadOptions::default(), &lookup, &mut |_, value, _| {
                found = value.to_vec();
                true
            })
            .unwrap();
        assert_eq!(found, value(number));
    }
}

/// Flat or partitioned; with the reader, in the cache, or held there.
fn kinds() -> Vec<BlockBasedTableOptions> {
    let mut kinds = Vec::new();
    for is_partitioned in [false, true] {
        for (is_cached, is_pinned) in [(false, false), (true, false), (true, true)] {
            let pinned = if is_pinned { PinningTier::All } else { PinningTier::None };
            kinds.push(BlockBasedTableOptions {
                index_type: if is_partitioned { IndexType::TwoLevelIndexSearch } else { IndexType::BinarySearch },
                partition_filters: is_partitioned,
                metadata_block_size: 500,
                block_size: 1000,
                cache_index_and_filter_blocks: is_cached,
                metadata_cache_options: MetadataCacheOptions {
                    top_level_index_pinning: pinned,
                    partition_pinning: pinned,
                    unpartitioned_pinning: pinned,
                },
                ..Default::default()
            });
        }
    }
    kinds
}

#[test]
fn a_large_number_takes_all_blocks_of_a_table_and_none_of_another() {
    for options in kinds() {
        let cache = cache_of(16 << 20);
        let read_whole = || {
            let table = open_in_memory(&options, &cache);
            check_reads(&table, 0..KEYS);
            (table, cache.stats().total().entry_count)
        };
        // How many partitions of the filter lookups read is left to chance.
        let (first, of_first) = read_whole();
        let (second, before) = read_whole();
        assert_eq!(first.uncache(0), 0);
        let removed = first.uncache(10_000) as usize;
        assert_eq!(removed, of_first, "all of one of two tables: {options:?}");
        // What it holds itself counts until it goes.
        drop(first);
        assert_eq!(cache.stats().total().entry_count, before - removed, "{options:?}");
        check_reads(&second, 0..KEYS);
        assert!(cache.stats().total().entry_count >= before - removed, "the other's are all there");
        // A table that was uncached still works, and fills the cache again.
        assert!(second.uncache(10_000) as usize >= before - of_first, "{options:?}");
        check_reads(&second, 0..KEYS);
        assert!(second.uncache(10_000) > 0, "{options:?}");
    }
}

#[test]
fn all_of_a_table_that_is_read_in_part_goes_where_the_number_is_large() {
    for options in kinds() {
        let cache = cache_of(16 << 20);
        let table = open_in_memory(&options, &cache);
        check_reads(&table, (0..KEYS).step_by(500));
        let data = |cache: &TableBlockCache| cache.stats().role(EntryRole::DataBlock).entry_count;
        assert!(data(&cache) >= 10);
        table.uncache(10_000);
        assert_eq!(data(&cache), 0, "{options:?}");
        check_reads(&table, (0..KEYS).step_by(500));
        let before = data(&cache);
        // The first block is there, the second is not: the first miss ends it.
        table.uncache(1);
        assert_eq!(data(&cache), before - 1, "{options:?}");
        drop(table);
    }
}

#[test]
fn pinned_blocks_go_with_any_number_and_their_memory_with_the_table() {
    for options in kinds().into_iter().filter(|options| options.cache_index_and_filter_blocks) {
        let cache = cache_of(16 << 20);
        let table = open_in_memory(&options, &cache);
        let before = cache.usage();
        assert!(before > 0);
        assert!(table.uncache(1) > 0);
        drop(table);
        let stats = cache.stats();
        for role in [EntryRole::IndexBlock, EntryRole::FilterBlock, EntryRole::IndexMetaBlock] {
            assert_eq!(stats.role(role).entry_count, 0, "{role:?}: {options:?}");
        }
    }
}

#[test]
fn a_block_in_use_leaves_the_cache_and_stays_whole() {
    let cache = cache_of(16 << 20);
    let table = open_in_memory(&kinds()[0], &cache);
    check_reads(&table, 0..KEYS);
    let lookup = LookupKey::new(&key(77), MAX_SEQUENCE_NUMBER);
    let mut pin = None;
    table
        .get(&TableReadOptions::default(), &lookup, &mut |_, _, source| {
            pin = Some(source.pin());
            true
        })
        .unwrap();
    table.uncache(10_000);
    let in_use = cache.usage();
    assert!(in_use > 0 && in_use < 4000, "the block that is held: {in_use}");
    drop(table);
    let pin = pin.unwrap();
    assert_eq!(&*pin, value(77));
    drop(pin);
    assert_eq!(cache.usage(), 0);
}

#[test]
fn without_blocks_there_is_nothing_to_take() {
    let mut options = kinds().remove(3);
    let full = cache_of(0);
    let table = open_in_memory(&options, &full);
    check_reads(&table, 0..KEYS);
    assert_eq!(table.uncache(10_000), 0, "the cache holds nothing");
    options.no_block_cache = true;
    let cache = cache_of(1 << 20);
    let table = open_in_memory(&options, &cache);
    check_reads(&table, 0..KEYS);
    assert_eq!((table.uncache(10_000), cache.usage()), (0, 0));
}

#[test]
fn a_mapped_file_is_left_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    for (number, options) in kinds().into_iter().enumerate() {
        let cache = cache_of(16 << 20);
        let path = directory.path().join(format!("{number:06}.sst"));
        let table = open(&file_system, &path, &options, &cache, true);
        check_reads(&table, 0..KEYS);
        let data = || cache.stats().role(EntryRole::DataBlock).entry_count;
        assert!(data() > 10, "{options:?}");
        file_system.remove_file(&path).unwrap();
        table.uncache(10_000);
        assert_eq!(data(), 0, "{options:?}");
        drop(table);
        assert_eq!(cache.usage(), 0, "{options:?}");
    }
}
