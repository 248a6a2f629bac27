//! Options that an open may have, as texts: a case that fails shrinks to the few that matter, and prints them readably.
//! Some are out of their bounds, or of their order with others: an open, and a change of options, brings them to what
//! works.

use crate::orders::Order;
use crate::workers::{self, Conduct};
use ferrock::options::{
    BottommostCompression, ChargeDecision, CompactionStyle, CompressionType, ConcurrentTaskLimiter,
    DB_OPTIONS_WITHOUT_EFFECT, FilterPolicy, FixedPrefixFactory, LimiterMode, MemoryBudget, MmapReads, PrefixExtractor,
    RateLimiter, SstFileManager, SstFileManagerOptions, TokenBucket, TokenBucketOptions, apply_text,
};
use ferrock::{ColumnFamilyOptions, DbOptions};
use ferrock_base::clock::ManualClock;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::IndexType;
use std::sync::Arc;

/// Of the whole database.
pub const DATABASE: &[&str] = &[
    "max_open_files=1",
    "max_open_files=10",
    "max_open_files=-7",
    "max_background_jobs=0",
    "max_background_jobs=1",
    "max_background_jobs=8",
    "max_subcompactions=2",
    "max_subcompactions=7",
    "max_manifest_file_size=1",
    "daily_offpeak_time_utc=00:00-23:59",
    "max_manifest_file_size=4096",
    "max_compaction_trigger_wakeup_seconds=0",
    "max_manifest_space_amp_pct=0",
    "max_total_wal_size=1",
    "max_total_wal_size=100000",
    "atomic_flush=true",
    "atomic_flush=true",
    "avoid_flush_during_recovery=true",
    "manual_wal_flush=true",
    "wal_compression=kZSTD",
    "track_and_verify_wals_in_manifest=true",
    "rate_limiter=reads",
    "rate_limiter=writes",
    "rate_limiter=all",
    "rate_limiter=all",
    "delayed_write_rate=2000000",
    "allow_fallocate=false",
    "allow_concurrent_memtable_write=true",
    "db_write_buffer_size=100000",
    "use_direct_reads=true",
    "allow_mmap_reads=true",
    "use_direct_io_for_flush_and_compaction=true",
    "max_write_batch_group_size_bytes=1",
    "writable_file_max_buffer_size=4096",
    "writable_file_max_buffer_size=0",
    "compaction_readahead_size=0",
    "compaction_readahead_size=1",
    "max_file_opening_threads=1",
    "write_dbid_to_manifest=false",
    "metadata_write_temperature=kWarm",
    "wal_write_temperature=kHot",
    "max_log_file_size=100",
    "keep_log_file_num=1",
    "wal_recovery_mode=kTolerateCorruptedTailRecords",
    "wal_recovery_mode=kAbsoluteConsistency",
    "wal_recovery_mode=kSkipAnyCorruptedRecords",
    "sst_file_manager=0,0",
    "sst_file_manager=1,0",
    "sst_file_manager=20000,100",
    "sst_file_manager=1000000000,1000",
    "cache=0",
    "cache=1",
    "cache=1000",
    "cache=30000",
    "cache=2000,strict",
    "cache=30000,strict",
    "memory_budget=1",
    "memory_budget=60000",
    "memory_budget=1000000",
    "remote=honest",
    "remote=honest",
    "remote=unreliable",
    "remote=unreliable",
];

/// Of a database that is there to be read: caches that hold nothing, or one block, and few open files.
pub const READ_DATABASE: &[&str] = &[
    "cache=0",
    "cache=0",
    "cache=1",
    "cache=700",
    "cache=2000,strict",
    "cache=10000",
    "cache=32000000",
    "max_open_files=1",
    "max_open_files=3",
    "max_open_files=-1",
    "max_open_files=-1",
    "use_direct_reads=true",
    "allow_mmap_reads=true",
    "max_background_jobs=1",
    "max_file_opening_threads=1",
    "open_files_async=true",
    "open_files_async=true",
    "sst_file_manager=1,100",
];

/// Of a column family and its tables.
pub const FAMILY: &[&str] = &[
    "limiter=1",
    "write_buffer_size=131072",
    "write_buffer_size=1048576",
    "write_buffer_size=16384",
    "max_write_buffer_number=-1",
    "min_write_buffer_number_to_merge=9",
    "max_write_buffer_number=6",
    "min_write_buffer_number_to_merge=2",
    "arena_block_size=1",
    "arena_block_size=4096",
    "memtable_prefix_bloom_size_ratio=0.1",
    "memtable_whole_key_filtering=true",
    "memtable_factory=vector",
    "memtable_factory=prefix_hash:3",
    "memtable_factory={id=prefix_hash;bucket_count=1;skiplist_height=2;branching_factor=2;}",
    "memtable_factory={id=hash_linkedlist;bucket_count=2;threshold=4;}",
    "memtable_insert_with_hint_prefix_extractor=fixed:1",
    "inplace_update_support=true",
    "inplace_update_support=true",
    "inplace_update_num_locks=1",
    "memtable_huge_page_size=65536",
    "max_successive_merges=1",
    "max_successive_merges=3",
    "strict_max_successive_merges=true",
    "memtable_max_range_deletions=1",
    "memtable_max_range_deletions=3",
    "memtable_op_scan_flush_trigger=1",
    "memtable_op_scan_flush_trigger=9",
    "memtable_avg_op_scan_flush_trigger=2",
    "min_tombstones_for_range_conversion=1",
    "min_tombstones_for_range_conversion=1",
    "min_tombstones_for_range_conversion=6",
    "uncache_aggressiveness=1",
    "uncache_aggressiveness=100",
    "uncache_aggressiveness=10000",
    "sample_for_compression=1",
    "sample_for_compression=3",
    "compact_for_tiering=0.01",
    "memtable_protection_bytes_per_key=1",
    "memtable_protection_bytes_per_key=8",
    "memtable_verify_per_key_checksum_on_seek=true",
    "paranoid_memory_checks=true",
    "block_protection_bytes_per_key=1",
    "block_protection_bytes_per_key=8",
    "bottommost_file_compaction_delay=1",
    "bottommost_file_compaction_delay=1000000000",
    "plain_table_factory={}",
    "plain_table_factory={encoding_type=kPrefix;index_sparseness=2}",
    "plain_table_factory={store_index_in_file=true;hash_table_ratio=0}",
    "level0_file_num_compaction_trigger=1",
    "level0_file_num_compaction_trigger=2",
    "level0_slowdown_writes_trigger=-1",
    "level0_slowdown_writes_trigger=1",
    "level0_stop_writes_trigger=5",
    "level0_stop_writes_trigger=-1",
    "soft_pending_compaction_bytes_limit=1",
    "soft_pending_compaction_bytes_limit=100000",
    "hard_pending_compaction_bytes_limit=100000000",
    "max_bytes_for_level_multiplier=-1",
    "max_bytes_for_level_base=1",
    "max_bytes_for_level_base=20000",
    "max_bytes_for_level_multiplier=1",
    "max_bytes_for_level_multiplier=2",
    "max_bytes_for_level_multiplier_additional=1:3:2",
    "max_bytes_for_level_multiplier_additional=2:0:1:5",
    "level_compaction_dynamic_level_bytes=false",
    "target_file_size_base=1",
    "target_file_size_base=4096",
    "target_file_size_base=20000",
    "target_file_size_multiplier=3",
    "target_file_size_is_upper_bound=true",
    "max_compaction_bytes=1",
    "max_compaction_bytes=10000",
    "disable_auto_compactions=true",
    "compaction_style=kCompactionStyleNone",
    "compaction_style=kCompactionStyleFIFO",
    "compaction_style=kCompactionStyleFIFO",
    "compaction_style=kCompactionStyleFIFO",
    "compaction_style=kCompactionStyleUniversal",
    "compaction_style=kCompactionStyleUniversal",
    "compaction_style=kCompactionStyleUniversal",
    "compaction_options_universal={size_ratio=0;max_merge_width=2}",
    "compaction_options_universal={reduce_file_locking=true}",
    "compaction_options_universal={reduce_file_locking=true;size_ratio=50}",
    "compaction_options_universal={size_ratio=300;min_merge_width=0;stop_style=kCompactionStopStyleSimilarSize}",
    "compaction_options_universal={max_size_amplification_percent=0;compression_size_percent=50}",
    "compaction_options_universal={max_size_amplification_percent=4294967295;max_read_amp=0;allow_trivial_move=true}",
    "compaction_options_universal={max_read_amp=9;incremental=true;min_merge_width=5;max_merge_width=3}",
    "compaction_options_universal={max_size_amplification_percent=10;incremental=true}",
    "compaction_options_fifo={allow_compaction=true}",
    "compaction_options_fifo={allow_trivial_copy_when_change_temperature=true;trivial_copy_buffer_size=1}",
    "compaction_options_fifo={allow_compaction=true;use_kv_ratio_compaction=true;max_table_files_size=1;max_data_files_size=1g}",
    "compact_on_deletion={window_size=128;deletion_trigger=3}",
    "partitions=1",
    "partitions=3",
    "partitions=4",
    "compact_on_deletion={window_size=10;deletion_trigger=1;deletion_ratio=0.3}",
    "compact_on_deletion={deletion_ratio=0.5;min_file_size=2000}",
    "compaction_pri=kByCompensatedSize",
    "compaction_pri=kOldestLargestSeqFirst",
    "compaction_pri=kOldestSmallestSeqFirst",
    "compaction_pri=kRoundRobin",
    "compression=kNoCompression",
    "compression=kSnappyCompression",
    "compression=kZlibCompression",
    "compression=kBZip2Compression",
    "compression=kLZ4HCCompression",
    "compression=kZSTD",
    "compression_per_level=kNoCompression:kSnappyCompression:kZSTD",
    "compression_opts={level=1;max_dict_bytes=1024;}",
    "compression_opts={parallel_threads=2;}",
    "compression_opts={max_dict_bytes=1024;max_dict_buffer_bytes=2000;parallel_threads=3;}",
    "bottommost_compression_opts={enabled=true;level=3;parallel_threads=2;}",
    "compression_opts={level=9;max_dict_bytes=4096;zstd_max_train_bytes=16384;}",
    "bottommost=kZSTD",
    "optimize_filters_for_hits=true",
    "max_sequential_skip_in_iterations=0",
    "max_sequential_skip_in_iterations=1",
    "format_version=2",
    "format_version=3",
    "format_version=4",
    "format_version=5",
    "format_version=6",
    "checksum=kNoChecksum",
    "checksum=kCRC32c",
    "checksum=kxxHash",
    "checksum=kxxHash64",
    "block_size=1",
    "block_size=0",
    "format_version=0",
    "block_size=100",
    "block_size=1000",
    "block_size=100000",
    "block_size_deviation=0",
    "block_size_deviation=100",
    "block_size_deviation=101",
    "block_restart_interval=1",
    "block_restart_interval=0",
    "block_restart_interval=3",
    "block_restart_interval=1000000",
    "index_block_restart_interval=3",
    "index_block_restart_interval=1000000",
    "use_delta_encoding=false",
    "index_shortening=kNoShortening",
    "index_shortening=kShortenSeparatorsAndSuccessor",
    "enable_index_compression=false",
    "cache_index_and_filter_blocks=true",
    "no_block_cache=true",
    "whole_key_filtering=false",
    "verify_compression=true",
    "filter=bloom:1",
    "filter=bloom:10",
    "filter=bloom:40",
    "extractor=fixed:1",
    "extractor=fixed:4",
    "extractor=capped:3",
    "extractor=rocksdb.Noop",
    "index_type=kTwoLevelIndexSearch",
    "index_type=kBinarySearchWithFirstKey",
    "partition_from_level=0",
    "metadata_block_size=64",
    "partition_filters=true",
    "row_bounds=true",
    "data_block_index_type=kDataBlockBinaryAndHash",
    "paranoid_file_checks=true",
    "verify_output_flags=1027",
    "verify_output_flags=2050",
    "default_write_temperature=kHot",
    "last_level_temperature=kCold",
    "default_temperature=kCool",
    "preserve_internal_time_seconds=1",
    "preserve_internal_time_seconds=1000",
    "preclude_last_level_data_seconds=1",
    "preclude_last_level_data_seconds=1000",
    "preclude_last_level_data_seconds=1000",
    "read_triggered_compaction_threshold=0.000001",
    "read_triggered_compaction_threshold=10",
    "enable_blob_files=true",
    "enable_blob_files=true",
    "enable_blob_files=true",
    "enable_blob_direct_write=true",
    "enable_blob_direct_write=true",
    "blob_direct_write_partitions=3",
    "min_blob_size=10",
    "min_blob_size=100",
    "blob_file_size=1",
    "blob_file_size=1000",
    "blob_compression_type=kLZ4Compression",
    "blob_compression_type=kZSTD",
    "blob_file_starting_level=1",
    "enable_blob_garbage_collection=true",
    "enable_blob_garbage_collection=true",
    "blob_garbage_collection_age_cutoff=1.0",
    "blob_garbage_collection_force_threshold=0.3",
    "blob_compaction_readahead_size=1",
    "blob_compaction_readahead_size=300",
    "blob_compaction_readahead_size=100000",
    "blob_cache=0",
    "blob_cache=300",
    "blob_cache=1000,strict",
    "blob_cache=1000000",
    "prepopulate_blob_cache=kFlushOnly",
    "charge_blob_cache=true",
];

/// An index in partitions that come and go with the block cache, as small as they can be.
pub const PARTITIONED: &[&str] = &[
    "index_type=kTwoLevelIndexSearch",
    "partition_from_level=0",
    "cache_index_and_filter_blocks=true",
    "metadata_block_size=64",
    "flush_block_policy_factory=FlushBlockEveryKeyPolicyFactory",
];

/// Of a family that is there to be read, beside [`FAMILY`]: many small blocks, partitions and files.
pub const READ_FAMILY: &[&str] = &[
    "target_file_size_base=1",
    "target_file_size_base=1",
    "target_file_size_base=150",
    "target_file_size_base=300",
    "target_file_size_base=500",
    "target_file_size_base=1000",
    "target_file_size_base=4096",
    "max_bytes_for_level_base=1",
    "max_bytes_for_level_base=4096",
    "level0_file_num_compaction_trigger=2",
    "disable_auto_compactions=true",
    "disable_auto_compactions=true",
    "block_size=1",
    "block_size=64",
    "block_size=64",
    "block_size=200",
    "flush_block_policy_factory=FlushBlockEveryKeyPolicyFactory",
    "index_type=kTwoLevelIndexSearch",
    "index_type=kTwoLevelIndexSearch",
    "index_type=kBinarySearchWithFirstKey",
    "index_type=kHashSearch",
    "partition_from_level=0",
    "metadata_block_size=1",
    "metadata_block_size=64",
    "metadata_block_size=64",
    "metadata_block_size=300",
    "partition_filters=true",
    "decouple_partitioned_filters=false",
    "row_bounds=true",
    "row_bounds=true",
    "row_bounds=true",
    "partition_cut=true",
    "dense_block_size=100",
    "index_shortening=kNoShortening",
    "index_shortening=kNoShortening",
    "index_shortening=kNoShortening",
    "index_shortening=kShortenSeparatorsAndSuccessor",
    "cache_index_and_filter_blocks=true",
    "pin_l0_filter_and_index_blocks_in_cache=true",
    "pin_top_level_index_and_filter=false",
    "no_block_cache=true",
    "data_block_index_type=kDataBlockBinaryAndHash",
    "data_block_index_type=kDataBlockBinaryAndHash",
    "separate_key_value_in_data_block=true",
    "whole_key_filtering=false",
    "filter=bloom:10",
    "filter=bloom:10",
    "filter=bloom:10",
    "extractor=fixed:1",
    "extractor=fixed:3",
    "extractor=fixed:3",
    "extractor=capped:3",
    "memtable_prefix_bloom_size_ratio=0.1",
    "memtable_prefix_bloom_size_ratio=0.1",
    "memtable_whole_key_filtering=true",
    "memtable_whole_key_filtering=true",
    "memtable_factory=vector",
    "memtable_factory=prefix_hash:3",
    "memtable_factory=prefix_hash:100",
    "memtable_factory={id=hash_linkedlist;bucket_count=2;threshold=4;}",
    "plain_table_factory={hash_table_ratio=0.1;index_sparseness=1}",
    "plain_table_factory={encoding_type=kPrefix;store_index_in_file=true}",
    "initial_auto_readahead_size=100",
    "max_auto_readahead_size=1000",
    "num_file_reads_for_auto_readahead=0",
    "compression=kNoCompression",
    "compression=kNoCompression",
    "format_version=2",
    "format_version=5",
    "max_sequential_skip_in_iterations=1",
    "block_restart_interval=1",
    "use_delta_encoding=false",
];

/// Caches from which index partitions are gone when they are wanted again, at once or where a read does not fill them.
pub const STARVED_DATABASE: &[&str] = &[
    "cache=0",
    "cache=0",
    "cache=0,strict",
    "famine=500",
    "famine=2000",
    "famine=5000",
    "famine=10000",
    "cache=1",
    "cache=700",
    "cache=2000,strict",
    "cache=32000000",
    "cache=32000000",
];

/// How index partitions and blocks are cut, beside [`PARTITIONED`] and over it.
pub const STARVED_INDEX: &[&str] = &[
    "metadata_block_size=1",
    "metadata_block_size=1",
    "metadata_block_size=300",
    "block_size=64",
    "block_size=200",
    "flush_block_policy_factory=FlushBlockBySizePolicyFactory",
    "index_shortening=kNoShortening",
    "index_shortening=kNoShortening",
    "cache_index_and_filter_blocks=false",
];

/// Of a family that is there for scans with a limit, beside [`STARVED_INDEX`].
pub const STARVED_FAMILY: &[&str] = &[
    "row_bounds=true",
    "disable_auto_compactions=true",
    "target_file_size_base=500",
    "pin_l0_filter_and_index_blocks_in_cache=true",
    "pin_top_level_index_and_filter=false",
    "compression=kNoCompression",
    "max_sequential_skip_in_iterations=1",
    "block_restart_interval=1",
];

/// Of a database whose process may have few files open.
pub const FEW_FILES_DATABASE: &[&str] = &[
    "max_open_files=-1",
    "max_open_files=-1",
    "max_open_files=-1",
    "max_open_files=10000",
    "max_open_files=5",
    "max_background_jobs=1",
    "cache=0",
    "use_direct_reads=true",
    "avoid_flush_during_recovery=true",
];

/// Of a family of many small tables, of which level 0 has few.
pub const FEW_FILES_FAMILY: &[&str] = &[
    "target_file_size_base=150",
    "target_file_size_base=500",
    "level0_file_num_compaction_trigger=1",
    "level0_file_num_compaction_trigger=2",
    "max_bytes_for_level_base=1",
    "max_bytes_for_level_base=4096",
    "max_compaction_bytes=1000",
    "cache_index_and_filter_blocks=true",
    "index_type=kTwoLevelIndexSearch",
    "compression=kNoCompression",
    "filter=bloom:10",
    "row_bounds=true",
];

/// Options that can change while the database is open.
pub const MUTABLE: &[&str] = &[
    "write_buffer_size=65536",
    "write_buffer_size=262144",
    "write_buffer_size=1",
    "level0_file_num_compaction_trigger=0",
    "level0_slowdown_writes_trigger=1",
    "soft_pending_compaction_bytes_limit=1",
    "level0_file_num_compaction_trigger=1",
    "level0_file_num_compaction_trigger=8",
    "max_bytes_for_level_base=1",
    "max_bytes_for_level_base=50000",
    "target_file_size_base=1000",
    "compression=kZSTD",
    "compression=kNoCompression",
    "block_size=500",
    "format_version=4",
    "disable_auto_compactions=true",
    "disable_auto_compactions=false",
    "max_sequential_skip_in_iterations=2",
    "inplace_update_num_locks=3",
    "max_successive_merges=2",
    "strict_max_successive_merges=true",
    "memtable_max_range_deletions=0",
    "memtable_max_range_deletions=2",
    "memtable_op_scan_flush_trigger=0",
    "memtable_op_scan_flush_trigger=3",
    "memtable_avg_op_scan_flush_trigger=1",
    "min_tombstones_for_range_conversion=0",
    "min_tombstones_for_range_conversion=2",
    "uncache_aggressiveness=0",
    "uncache_aggressiveness=400",
    "sample_for_compression=2",
    "compact_for_tiering=0.5",
    "memtable_protection_bytes_per_key=4",
    "memtable_protection_bytes_per_key=0",
    "memtable_verify_per_key_checksum_on_seek=true",
    "paranoid_memory_checks=true",
    "block_protection_bytes_per_key=2",
    "block_protection_bytes_per_key=0",
    "bottommost_file_compaction_delay=0",
    "default_write_temperature=kWarm",
    "last_level_temperature=kIce",
    "bottommost_file_compaction_delay=100",
    "memtable_huge_page_size=32768",
    "compaction_options_fifo={allow_compaction=true}",
    "compaction_options_fifo={allow_compaction=false}",
    "compact_on_deletion={window_size=128;deletion_trigger=2}",
    "compact_on_deletion={}",
    "enable_blob_files=true",
    "enable_blob_files=false",
    "min_blob_size=30",
    "blob_file_size=500",
    "blob_compression_type=kSnappyCompression",
    "enable_blob_garbage_collection=true",
    "blob_garbage_collection_age_cutoff=0.5",
    "blob_compaction_readahead_size=0",
    "blob_compaction_readahead_size=1000",
    "prepopulate_blob_cache=kDisable",
    "prepopulate_blob_cache=kFlushOnly",
    "compression_per_level=kNoCompression:kSnappyCompression",
    "compression_opts.max_dict_bytes=1000",
    "prefix_extractor=capped:1",
    "prefix_extractor=capped:5",
    "prefix_extractor=rocksdb.Noop",
    "compaction_options_universal={size_ratio=50;allow_trivial_move=true}",
    "compaction_options_universal={max_size_amplification_percent=1;allow_trivial_move=false}",
    "compaction_options_universal={max_size_amplification_percent=5;incremental=true}",
];

fn split(choice: &str) -> (&str, &str) {
    choice.split_once('=').unwrap()
}

/// How small the block cache becomes while a scan takes a step.
pub fn famine_bytes(choices: &[&'static str]) -> Option<usize> {
    choices.iter().rev().find_map(|choice| choice.strip_prefix("famine=")).map(|bytes| bytes.parse().unwrap())
}

/// What the workers of compactions do, where these run elsewhere.
pub fn conducts(choices: &[&'static str]) -> Option<&'static [Conduct]> {
    choices.iter().rev().find_map(|choice| choice.strip_prefix("remote=")).map(|conduct| match conduct {
        "honest" => &[Conduct::Honest][..],
        _ => workers::ALL,
    })
}

/// A limiter whose waits take no time: only they move its clock. Grants are short, so that most requests wait.
fn limiter(mode: LimiterMode) -> Arc<dyn RateLimiter> {
    let clock = Arc::new(ManualClock::passing_sleeps(0));
    let options = TokenBucketOptions { mode, single_burst_bytes: 5000, ..TokenBucketOptions::new(100_000) };
    Arc::new(TokenBucket::with_options(&options, clock).unwrap())
}

/// Applies choices to the options of a database.
pub fn database_options(choices: &[&'static str]) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_file_opening_threads = 2;
    // Most databases take every kind of memtable.
    options.allow_concurrent_memtable_write = false;
    for (name, value) in choices.iter().map(|choice| split(choice)) {
        if name == "remote" {
            // The service needs the files: the database adds it.
        } else if name == "famine" {
            options.components.block_cache = Some(TableBlockCache::new(CacheOptions {
                strict_capacity_limit: true,
                fail_when_full: true,
                shard_bits: Some(0),
                ..CacheOptions::default()
            }));
        } else if name == "memory_budget" {
            options.components.memory_budget = Some(MemoryBudget::new(value.parse().unwrap()));
        } else if name == "sst_file_manager" {
            let (rate, chunk) = value.split_once(',').unwrap();
            options.components.sst_file_manager = Some(SstFileManager::new(SstFileManagerOptions {
                delete_rate_bytes_per_second: rate.parse().unwrap(),
                max_trash_db_ratio: 2.0,
                bytes_max_delete_chunk: chunk.parse().unwrap(),
            }));
        } else if name == "rate_limiter" {
            options.components.rate_limiter = Some(limiter(match value {
                "reads" => LimiterMode::ReadsOnly,
                "writes" => LimiterMode::WritesOnly,
                _ => LimiterMode::AllIo,
            }));
        } else if name == "cache" {
            let (bytes, strict) = value.split_once(',').map_or((value, false), |(bytes, _)| (bytes, true));
            options.components.block_cache = Some(TableBlockCache::new(CacheOptions {
                capacity_bytes: bytes.parse().unwrap(),
                strict_capacity_limit: strict,
                ..CacheOptions::default()
            }));
        } else {
            assert!(options.settings.set(name, value).unwrap(), "{name}");
        }
    }
    if options.open_files_async {
        options.passthrough.set(DB_OPTIONS_WITHOUT_EFFECT, "skip_stats_update_on_db_open", "true").unwrap();
    }
    // Refused together.
    if options.components.memory_budget.is_some() {
        options.components.block_cache = None;
        options.allow_mmap_reads = MmapReads::OFF;
    }
    options.use_direct_reads &= !options.allow_mmap_reads.is_on();
    options.use_direct_io_for_flush_and_compaction &= options.writable_file_max_buffer_size > 0;
    options
}

/// Applies choices to the options of a column family.
pub fn family_options(choices: &[&'static str], order: Order) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.comparator = order.comparator();
    options.write_buffer_size = 64 << 10;
    options.arena_block_size = 4096;
    options.target_file_size_base = 32 << 10;
    options.max_bytes_for_level_base = 64 << 10;
    for (name, value) in choices.iter().map(|choice| split(choice)) {
        match name {
            "filter" => {
                options.filter_policy = FilterPolicy::bloom(value.strip_prefix("bloom:").unwrap().parse().unwrap())
            }
            // Keys of one prefix must be neighbours.
            "extractor" if order == Order::LengthFirst => {}
            "extractor" => options.prefix_extractor = PrefixExtractor::built_in(value).unwrap(),
            "partitions" => {
                let factory = FixedPrefixFactory { length: value.parse().unwrap() };
                options.sst_partitioner_factory = Some(Arc::new(factory));
            }
            "plain_table_factory" => {
                apply_text(&mut DbOptions::default(), &mut options, &format!("{name}={value}")).unwrap();
            }
            "blob_cache" => {
                let (bytes, strict) = value.split_once(',').map_or((value, false), |(bytes, _)| (bytes, true));
                options.blob_cache = Some(TableBlockCache::new(CacheOptions {
                    capacity_bytes: bytes.parse().unwrap(),
                    strict_capacity_limit: strict,
                    ..CacheOptions::default()
                }));
            }
            "limiter" => {
                let limiter = ConcurrentTaskLimiter::new("of a family", value.parse().unwrap());
                options.compaction_thread_limiter = Some(limiter);
            }
            "charge_blob_cache" => options.cache_usage.blob_cache = ChargeDecision::Enabled,
            "bottommost" => options.bottommost_compression = BottommostCompression(Some(CompressionType::Zstd)),
            _ => {
                let known = options.settings.set(name, value).unwrap() || options.table.set(name, value).unwrap();
                assert!(known, "{name}");
            }
        }
    }
    if options.table.index_type == IndexType::HashSearch && options.prefix_extractor.is_none() {
        options.table.index_type = IndexType::BinarySearch;
    }
    // A queue within its limit loses nothing; with an age it needs all of its tables open.
    if options.compaction_style == CompactionStyle::Fifo {
        options.ttl = 0;
    }
    // Refused together.
    options.table.no_block_cache &= options.cache_usage.blob_cache != ChargeDecision::Enabled;
    options.table.cache_index_and_filter_blocks &= !options.table.no_block_cache;
    options.table.pin_l0_filter_and_index_blocks_in_cache &= !options.table.no_block_cache;
    options
}
