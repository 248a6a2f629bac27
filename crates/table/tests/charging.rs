//! Memory of builders and readers in the books of the block cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use ferrock_base::internal_key::make_internal_key;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{ErrorKind, InternalComparator, LookupKey, MAX_SEQUENCE_NUMBER, Result, ValueType};
use ferrock_cache::{CacheOptions, EntryRole, Reservation};
use ferrock_format::compression::CompressionType;
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::IndexType;
use ferrock_table::{
    BlockTable, BlockTableBuilder, CacheUsageOptions, ChargeDecision, Charging, TableBlockCache, TableBuilderParams,
    TableReadOptions, TableReaderParams, TableSummary,
};
use ferrock_vfs::{FileSystem, MemoryFileSystem, RandomAccessOptions, WritableOptions};
use std::path::Path;
use std::sync::Arc;

const KEYS: u32 = 40_000;
const PATH: &str = "/table.sst";
const CAPACITY: usize = 64 << 20;

fn key(number: u32) -> Vec<u8> {
    format!("key{number:08}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    format!("a value that {} looks like another one", number % 97).into_bytes()
}

/// A cache with a strict limit, of which all but `free` bytes are taken.
fn cache(free: usize) -> (Arc<TableBlockCache>, Reservation) {
    let options = CacheOptions { capacity_bytes: CAPACITY, strict_capacity_limit: true, ..CacheOptions::default() };
    let cache = TableBlockCache::new(options);
    let taken = cache.reserve(CAPACITY - free, EntryRole::Other).unwrap();
    (cache, taken)
}

fn used(cache: &TableBlockCache, role: EntryRole) -> usize {
    cache.stats().role(role).usage_bytes
}

/// A table, and the most that was charged for `role` while it was built.
fn build(
    cache: &Arc<TableBlockCache>,
    usage: CacheUsageOptions,
    role: EntryRole,
    change: impl FnOnce(&mut TableBuilderParams),
) -> (Arc<dyn FileSystem>, TableSummary, usize) {
    let file_system: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let mut params = TableBuilderParams::new(InternalComparator::default());
    params.charging = Some(Charging { cache: Arc::clone(cache), usage });
    change(&mut params);
    let file = file_system.create_writable(Path::new(PATH), &WritableOptions::default()).unwrap();
    let mut builder = BlockTableBuilder::new(params, file).unwrap();
    let mut most = 0;
    for number in 0..KEYS {
        builder.add(&make_internal_key(&key(number), SequenceNumber(7), ValueType::Value), &value(number)).unwrap();
        most = most.max(used(cache, role));
    }
    let summary = builder.finish().unwrap();
    assert_eq!(used(cache, role), 0, "a finished table holds nothing");
    (file_system, summary, most)
}

fn open(
    file_system: &Arc<dyn FileSystem>,
    cache: &Arc<TableBlockCache>,
    usage: CacheUsageOptions,
) -> Result<Arc<BlockTable>> {
    let file = file_system.open_random_access(Path::new(PATH), &RandomAccessOptions::default())?;
    let mut params = TableReaderParams::new(file, Arc::clone(file_system), InternalComparator::default());
    params.cache = Some(Arc::clone(cache));
    params.cache_usage = usage;
    BlockTable::open(params)
}

fn check_reads(file_system: &Arc<dyn FileSystem>) {
    let (cache, _taken) = cache(CAPACITY);
    let reader = open(file_system, &cache, CacheUsageOptions::default()).unwrap();
    for number in (0..KEYS).step_by(131) {
        let mut found = Vec::new();
        let lookup = LookupKey::new(&key(number), MAX_SEQUENCE_NUMBER);
        let mut visit = |_: ferrock_base::ParsedInternalKey<'_>, value: &[u8], _: &ferrock_table::PinnedBlock<'_>| {
            found = value.to_vec();
            true
        };
        reader.get(&TableReadOptions::default(), &lookup, &mut visit).unwrap();
        assert_eq!(found, value(number));
    }
}

#[test]
fn a_dictionary_is_made_of_what_the_cache_has_room_for() {
    let role = EntryRole::CompressionDictionaryBuildingBuffer;
    let with = |decision| CacheUsageOptions { compression_dictionary_building_buffer: decision, ..Default::default() };
    let zstd = |params: &mut TableBuilderParams| {
        params.compression = CompressionType::Zstd;
        params.compression_options.max_dict_bytes = 4096;
    };
    let (roomy, _taken) = cache(CAPACITY);
    // Fallback: charged, and all data waits, for there is no limit but the cache's.
    for decision in [ChargeDecision::Fallback, ChargeDecision::Enabled] {
        let (_, summary, most) = build(&roomy, with(decision), role, zstd);
        let data = usize::try_from(summary.properties.uncompressed_data_size).unwrap();
        assert!(most + 64_000 > data && most < data + 64_000, "{most} for {data} bytes of blocks");
    }
    let (_, _, most) = build(&roomy, with(ChargeDecision::Disabled), role, zstd);
    assert_eq!(most, 0);
    // Little room: the dictionary is made early, and the table is as good.
    let (full, _taken) = cache(300_000);
    let (file_system, summary, most) = build(&full, with(ChargeDecision::Fallback), role, zstd);
    assert!((200_000..=300_000).contains(&most), "{most}");
    assert!(used(&full, EntryRole::Other) > 0 && full.usage() <= CAPACITY);
    assert!(summary.properties.data_size < summary.properties.uncompressed_data_size / 3, "it is compressed");
    check_reads(&file_system);
}

#[test]
fn a_ribbon_filter_without_room_becomes_a_bloom_filter() {
    let role = EntryRole::FilterConstruction;
    let with = |decision| CacheUsageOptions { filter_construction: decision, ..Default::default() };
    let ribbon = |params: &mut TableBuilderParams| params.filter_policy = FilterPolicy::ribbon(10.0, 0);
    let bloom = |params: &mut TableBuilderParams| params.filter_policy = FilterPolicy::bloom(10.0);
    let (roomy, _taken) = cache(CAPACITY);
    let (_, as_ribbon, most) = build(&roomy, with(ChargeDecision::Enabled), role, ribbon);
    // At least the hashes, eight bytes each.
    assert!((KEYS as usize * 8 - 64_000..KEYS as usize * 40).contains(&most), "{most}");
    for decision in [ChargeDecision::Fallback, ChargeDecision::Disabled] {
        assert_eq!(build(&roomy, with(decision), role, ribbon).2, 0);
    }
    let (_, as_bloom, _) = build(&roomy, with(ChargeDecision::Enabled), role, bloom);
    assert!(as_bloom.properties.filter_size > as_ribbon.properties.filter_size * 5 / 4);
    // Room for the hashes, not for the equations.
    let (full, _taken) = cache(600_000);
    let (file_system, fallen_back, most) = build(&full, with(ChargeDecision::Enabled), role, ribbon);
    assert!(most > 0);
    assert_eq!(fallen_back.properties.filter_size, as_bloom.properties.filter_size);
    check_reads(&file_system);
    // Partitions, each by itself, find room.
    let partitioned = |params: &mut TableBuilderParams| {
        ribbon(params);
        let mut options = (*params.options).clone();
        options.index_type = IndexType::TwoLevelIndexSearch;
        options.partition_filters = true;
        params.options = Arc::new(options);
    };
    let (file_system, partitions, _) = build(&full, with(ChargeDecision::Enabled), role, partitioned);
    assert!(partitions.properties.filter_size < as_bloom.properties.filter_size);
    check_reads(&file_system);
}

#[test]
fn a_table_reader_is_charged_or_not_opened() {
    let role = EntryRole::BlockBasedTableReader;
    let with = |decision| CacheUsageOptions { block_based_table_reader: decision, ..Default::default() };
    let (roomy, _taken) = cache(CAPACITY);
    let bloom = |params: &mut TableBuilderParams| params.filter_policy = FilterPolicy::bloom(10.0);
    let (file_system, summary, _) = build(&roomy, CacheUsageOptions::default(), role, bloom);
    let reader = open(&file_system, &roomy, with(ChargeDecision::Enabled)).unwrap();
    let charged = used(&roomy, role);
    assert_eq!(charged, reader.memory_bytes());
    assert!(charged as u64 > summary.properties.filter_size + summary.properties.index_size / 2, "{charged}");
    let second = open(&file_system, &roomy, with(ChargeDecision::Enabled)).unwrap();
    assert_eq!(used(&roomy, role), 2 * charged);
    drop((reader, second));
    assert_eq!(used(&roomy, role), 0);
    for decision in [ChargeDecision::Fallback, ChargeDecision::Disabled] {
        let _reader = open(&file_system, &roomy, with(decision)).unwrap();
        assert_eq!(used(&roomy, role), 0);
    }
    let (full, _taken) = cache(charged / 2);
    let error = open(&file_system, &full, with(ChargeDecision::Enabled)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MemoryLimit);
    let text = error.to_string();
    assert!(text.contains("Can't allocate BlockBasedTableReader") && text.contains(PATH), "{text}");
    assert!(open(&file_system, &full, with(ChargeDecision::Disabled)).is_ok());
    assert_eq!(used(&full, role), 0);
}
