//! Index and filter blocks beside a cache with a strict limit: a block without room is not held, and is still read; and
//! filling the cache of a new table.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_cache::{BlockCache, CacheOptions, EntryRole};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{IndexType, MetadataCacheOptions, PinningTier};
use ferrock_table::{
    BlockBasedTableOptions, BlockTable, BlockTableBuilder, TableBlockCache, TableBuilderParams, TableReadOptions,
    TableReaderParams,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use std::path::Path;
use std::sync::Arc;

const KEYS: u32 = 5000;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn open(options: BlockBasedTableOptions, capacity_bytes: usize, level: i32) -> (Arc<BlockTable>, Arc<TableBlockCache>) {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = Path::new("/table.sst");
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.options = Arc::new(options.clone());
    params.filter_policy = FilterPolicy::bloom(10.0);
    let file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    for number in 0..KEYS {
        let key = make_internal_key(&key(number), SequenceNumber(7), ValueType::Value);
        builder.add(&key, &number.to_be_bytes().repeat(10)).unwrap();
    }
    builder.finish().unwrap();
    let cache: Arc<TableBlockCache> = BlockCache::new(CacheOptions {
        capacity_bytes,
        shard_bits: Some(0),
        strict_capacity_limit: true,
        ..CacheOptions::default()
    });
    let file = file_system.open_random_access(path, &RandomAccessOptions::default()).unwrap();
    let mut params = TableReaderParams::new(file, file_system, InternalComparator::default());
    params.options = Arc::new(options);
    params.level = level;
    params.cache = Some(Arc::clone(&cache));
    (BlockTable::open(params).unwrap(), cache)
}

fn options() -> BlockBasedTableOptions {
    BlockBasedTableOptions {
        index_type: IndexType::TwoLevelIndexSearch,
        partition_filters: true,
        metadata_block_size: 500,
        block_size: 1000,
        cache_index_and_filter_blocks: true,
        pin_l0_filter_and_index_blocks_in_cache: true,
        ..Default::default()
    }
}

fn check_reads(reader: &BlockTable) {
    for number in (0..KEYS).step_by(13) {
        let lookup = LookupKey::new(&key(number), MAX_SEQUENCE_NUMBER);
        let mut found = Vec::new();
        reader
            .get(&TableReadOptions::default(), &lookup, &mut |_, value, _| {
                found = value.to_vec();
                true
            })
            .unwrap();
        assert_eq!(found, number.to_be_bytes().repeat(10));
    }
}

#[test]
fn a_cache_that_is_too_small_is_never_overshot() {
    let (reader, cache) = open(options(), 1 << 20, 0);
    let wanted = cache.pinned_usage();
    assert!(wanted > 10_000, "all partitions are held: {wanted}");
    check_reads(&reader);
    drop(reader);
    assert_eq!(cache.pinned_usage(), 0, "a table that is closed holds nothing");
    for capacity in [0, wanted / 7, wanted / 2, wanted] {
        let (reader, cache) = open(options(), capacity, 0);
        assert!(cache.pinned_usage() <= capacity, "{} of {capacity}", cache.pinned_usage());
        assert!(capacity < wanted / 2 || cache.pinned_usage() > capacity / 2);
        check_reads(&reader);
        assert!(cache.usage() <= capacity, "{} of {capacity}", cache.usage());
    }
}

#[test]
fn only_tables_that_a_flush_may_have_made_are_pinned() {
    assert_eq!(open(options(), 1 << 20, 1).1.pinned_usage(), 0);
    let (_reader, cache) = open(options(), 1 << 20, 0);
    assert!(cache.pinned_usage() > 0);
}

#[test]
fn a_cache_is_filled_where_reads_look() {
    for in_cache in [false, true] {
        let options = BlockBasedTableOptions { cache_index_and_filter_blocks: in_cache, ..options() };
        let (reader, cache) = open(options, 1 << 20, 1);
        let kept = reader.memory_bytes();
        reader.fill_cache().unwrap();
        let count = |role| cache.stats().role(role).entry_count;
        assert!(count(EntryRole::DataBlock) > 100);
        let partitions = [EntryRole::FilterBlock, EntryRole::IndexBlock].map(count);
        assert!(partitions.iter().all(|&count| count > 0), "{partitions:?}");
        assert_eq!(count(EntryRole::FilterMetaBlock), 0, "the reader keeps the top level");
        let misses = cache.stats().total().misses;
        check_reads(&reader);
        assert_eq!((cache.stats().total().misses, reader.memory_bytes()), (misses, kept), "all was there");
    }
}

/// `cache_index_and_filter_blocks=false` is about whole indexes and filters: partitions are in the cache all the same.
#[test]
fn partitions_take_no_memory_beside_the_cache() {
    let partitioned = BlockBasedTableOptions {
        cache_index_and_filter_blocks: false,
        pin_l0_filter_and_index_blocks_in_cache: false,
        ..options()
    };
    for capacity in [20_000, 1 << 20] {
        let (reader, cache) = open(partitioned.clone(), capacity, 1);
        let kept = reader.memory_bytes();
        check_reads(&reader);
        reader.verify_checksums(0, ferrock_vfs::IoActivity::Unknown).unwrap();
        check_reads(&reader);
        assert_eq!(reader.memory_bytes(), kept, "what is read of the partitions is not with the table");
        assert!(cache.usage() <= capacity && cache.stats().role(EntryRole::IndexBlock).misses > 0);
        drop(reader);
        assert_eq!(cache.pinned_usage(), 0);
    }
    // What is pinned is pinned in the cache.
    let of_level_0 = BlockBasedTableOptions { pin_l0_filter_and_index_blocks_in_cache: true, ..partitioned.clone() };
    let metadata_cache_options =
        MetadataCacheOptions { partition_pinning: PinningTier::All, ..MetadataCacheOptions::default() };
    let of_all = BlockBasedTableOptions { metadata_cache_options, ..partitioned.clone() };
    for (options, level) in [(of_level_0, 0), (of_all, 6)] {
        let (reader, cache) = open(options, 1 << 20, level);
        assert!(cache.pinned_usage() > 10_000, "{} bytes are pinned", cache.pinned_usage());
        let misses = cache.stats().role(EntryRole::IndexBlock).misses;
        check_reads(&reader);
        assert_eq!(cache.stats().role(EntryRole::IndexBlock).misses, misses);
    }
    // Without a cache they have no other place.
    let (reader, cache) = open(BlockBasedTableOptions { no_block_cache: true, ..partitioned }, 1 << 20, 1);
    let kept = reader.memory_bytes();
    check_reads(&reader);
    assert!(reader.memory_bytes() > kept && cache.usage() == 0);
}

#[test]
fn a_cache_without_room_is_not_filled() {
    for in_cache in [false, true] {
        let options = BlockBasedTableOptions { cache_index_and_filter_blocks: in_cache, ..options() };
        let (reader, cache) = open(options, 1 << 20, 1);
        cache.erase_unreferenced();
        let _taken = cache.reserve(1 << 20, EntryRole::Other).unwrap();
        let before = cache.stats().total().rejections;
        reader.fill_cache().unwrap();
        assert_eq!(cache.stats().total().rejections, before + 1, "the first refused block ends it");
    }
}
