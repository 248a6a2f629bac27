//! Flags of RocksDB's db_bench whose feature is not here, and flags whose behaviour is nowhere any more.

use super::{Effect, Kind, Row};
use Kind::{Bool, Integer, Number, Text};

const fn refused(name: &'static str, kind: Kind, default: &'static str, reason: &'static str) -> Row {
    Row { name, kind, default, help: "Not here; only the default is accepted.", effect: Effect::Refused(reason) }
}

const fn gone(name: &'static str, kind: Kind, reason: &'static str) -> Row {
    Row { name, kind, default: "", help: "Reported and ignored.", effect: Effect::Gone(reason) }
}

const BLOB_DB: &str = "the stacked BlobDB is not here";
const COMPARATOR: &str = "keys are ordered bytewise";
const FIFO: &str = "FIFO compaction has no settings yet";
const MEMTABLE: &str = "the memtable is a skip list";
const MIXGRAPH: &str = "the benchmark mixgraph is not here";
const MULTIPLE: &str = "one database with one column family is measured";
const POOLS: &str = "there are no thread pools; max_background_jobs bounds what runs at once";
const REPORTS: &str = "there are no reports while a benchmark runs";
const SECONDARY: &str = "there are no secondary caches and instances";
const SIMULATION: &str = "nothing is simulated";
const TRACES: &str = "there are no traces";
const TRANSACTIONS: &str = "there are no transactions yet";
const UNIVERSAL: &str = "universal compaction has no settings yet";
const TABLE_FORMAT: &str = "tables are block-based";

pub(super) const REFUSED: &[Row] = &[
    refused("adaptive_readahead", Bool, "false", "readahead always adapts"),
    refused("async_io", Bool, "false", "reads are batched, not asynchronous"),
    refused(
        "auto_prefix_mode",
        Bool,
        "false",
        "there is no auto prefix mode; total_order_seek reads without prefix filters",
    ),
    refused("backup_dir", Text, "", "there are no backups yet"),
    refused("backup_rate_limit", Integer, "0", "there are no backups yet"),
    refused("blob_db_enable_gc", Bool, "false", BLOB_DB),
    refused("blob_cache_size", Integer, "8388608", "values are not written to blob files yet"),
    refused("use_blob_cache", Bool, "false", "values are not written to blob files yet"),
    refused("use_blob_db", Bool, "false", BLOB_DB),
    refused("block_cache_trace_file", Text, "", TRACES),
    refused("build_info", Bool, "false", "`--version` says what is known of the build"),
    refused("cache_high_pri_pool_ratio", Number, "0", "the cache has priorities, not pools"),
    refused("cache_low_pri_pool_ratio", Number, "0", "the cache has priorities, not pools"),
    refused("charge_compression_dictionary_building_buffer", Bool, "false", "it is not charged to the cache"),
    refused("charge_file_metadata", Bool, "false", "it is not charged to the cache"),
    refused("charge_filter_construction", Bool, "false", "it is not charged to the cache"),
    refused("charge_table_reader", Bool, "false", "it is not charged to the cache"),
    refused("column_family_distribution", Text, "", MULTIPLE),
    refused("compressed_secondary_cache_size", Integer, "8388608", SECONDARY),
    refused("confidence_interval_only", Bool, "false", "average and median are printed"),
    refused("cost_write_buffer_to_cache", Bool, "false", "memtables are not charged to the cache"),
    refused("deletepercent", Integer, "2", "the benchmark randomwithverify is not here"),
    refused("disposable_entries_batch_size", Integer, "0", "the benchmark filluniquerandomdeterministic is not here"),
    refused("enable_cpu_prio", Bool, "false", POOLS),
    refused("enable_io_prio", Bool, "false", POOLS),
    refused("enable_numa", Bool, "false", "threads are not bound to nodes"),
    refused("env_uri", Text, "", "files are the machine's"),
    refused("fs_uri", Text, "", "files are the machine's"),
    refused("expand_range_tombstones", Bool, "false", "no benchmark deletes ranges"),
    refused("expire_style", Text, "none", "the benchmark timeseries is not here"),
    refused("fifo_age_for_warm", Integer, "0", FIFO),
    refused("fifo_compaction_allow_compaction", Bool, "true", FIFO),
    refused("fifo_compaction_max_table_files_size_mb", Integer, "0", FIFO),
    refused("fifo_compaction_ttl", Integer, "0", FIFO),
    refused("file_checksum", Bool, "false", "checksums of whole files are not made yet"),
    refused("finish_after_writes", Bool, "false", "readwhilewriting ends with its readers"),
    refused("hash_bucket_count", Integer, "1048576", MEMTABLE),
    refused("key_id_range", Integer, "100000", "the benchmark timeseries is not here"),
    refused("keyrange_num", Integer, "1", MIXGRAPH),
    refused("max_num_range_tombstones", Integer, "0", "no benchmark deletes ranges"),
    refused("max_scan_distance", Integer, "0", "seekrandom has no bounds"),
    refused("max_write_buffer_number_to_maintain", Integer, "0", "flushed memtables are not kept"),
    refused("memtable_insert_with_hint_prefix_size", Integer, "0", "inserts take no hints"),
    refused("memtable_use_huge_page", Bool, "false", "memory comes from the allocator"),
    refused("memtablerep", Text, "skip_list", MEMTABLE),
    refused("mergereadpercent", Integer, "70", "the benchmark readrandommergerandom is not here"),
    refused("mix_accesses", Integer, "-1", MIXGRAPH),
    refused("mix_get_ratio", Number, "1", MIXGRAPH),
    refused("mix_put_ratio", Number, "0", MIXGRAPH),
    refused("mix_seek_ratio", Number, "0", MIXGRAPH),
    refused("multiread_batched", Bool, "false", "multireadrandom always looks up in batches"),
    refused("multiread_stride", Integer, "0", "multireadrandom has no stride"),
    refused("num_bottom_pri_threads", Integer, "0", POOLS),
    refused("num_high_pri_threads", Integer, "0", POOLS),
    refused("num_low_pri_threads", Integer, "0", POOLS),
    refused("num_column_families", Integer, "1", MULTIPLE),
    refused("num_hot_column_families", Integer, "0", MULTIPLE),
    refused("num_multi_db", Integer, "0", MULTIPLE),
    refused("numdistinct", Integer, "1000", "the benchmark randomreplacekeys is not here"),
    refused("optimistic_transaction_db", Bool, "false", TRANSACTIONS),
    refused("overwrite_probability", Number, "0", "fillrandom draws from all keys alike"),
    refused("perf_level", Integer, "1", "there are no perf contexts"),
    refused("rate_limit_auto_wal_flush", Bool, "false", "the log is not limited"),
    refused("rate_limit_bg_reads", Bool, "false", "reads are not limited"),
    refused("rate_limit_user_ops", Bool, "false", "users are not limited; see benchmark_write_rate_limit"),
    refused("rate_limiter_auto_tuned", Bool, "false", "the limit is fixed"),
    refused("read_random_exp_range", Number, "0", "readrandom draws from all keys alike"),
    refused("report_file_operations", Bool, "false", "the property ferrock.io counts them; see statistics"),
    refused("report_interval_seconds", Integer, "0", REPORTS),
    refused("report_open_timing", Bool, "false", "opening is not timed"),
    refused("restore_dir", Text, "", "there are no backups yet"),
    refused("row_cache_size", Integer, "0", "there is no row cache"),
    refused("secondary_cache_uri", Text, "", SECONDARY),
    refused("use_compressed_secondary_cache", Bool, "false", SECONDARY),
    refused("use_secondary_db", Bool, "false", SECONDARY),
    refused("seek_missing_prefix", Bool, "false", "seekrandom seeks keys of the database"),
    refused("show_table_properties", Bool, "false", "ask `ldb get_property rocksdb.aggregated-table-properties`"),
    refused("simcache_size", Integer, "-1", SIMULATION),
    refused("simulate_hdd", Bool, "false", SIMULATION),
    refused("sine_mix_rate", Bool, "false", MIXGRAPH),
    refused("sine_write_rate", Bool, "false", "rates are constant"),
    refused("stats_interval", Integer, "0", REPORTS),
    refused("stats_interval_seconds", Integer, "0", REPORTS),
    refused("stats_per_interval", Integer, "0", REPORTS),
    refused("thread_status_per_interval", Integer, "0", REPORTS),
    refused("trace_file", Text, "", TRACES),
    refused("transaction_db", Bool, "false", TRANSACTIONS),
    refused("truth_db", Text, "/dev/shm/truth_db/dbbench", "values are checked against their keys; see verify"),
    refused("universal_allow_trivial_move", Bool, "false", UNIVERSAL),
    refused("universal_compression_size_percent", Integer, "-1", UNIVERSAL),
    refused("universal_incremental", Bool, "false", UNIVERSAL),
    refused("universal_max_merge_width", Integer, "0", UNIVERSAL),
    refused("universal_max_size_amplification_percent", Integer, "0", UNIVERSAL),
    refused("universal_min_merge_width", Integer, "0", UNIVERSAL),
    refused("universal_size_ratio", Integer, "0", UNIVERSAL),
    refused("use_cuckoo_table", Bool, "false", TABLE_FORMAT),
    refused("use_plain_table", Bool, "false", TABLE_FORMAT),
    refused("use_existing_keys", Bool, "false", "keys follow from num"),
    refused("use_stderr_info_logger", Bool, "false", "messages go to the file LOG"),
    refused("use_tailing_iterator", Bool, "false", "there are no tailing iterators"),
    refused("use_uint64_comparator", Bool, "false", COMPARATOR),
    refused("user_timestamp_size", Integer, "0", COMPARATOR),
    refused("value_size_distribution_type", Text, "fixed", "values have one size, value_size"),
    refused("wal_dir", Text, "", "the log lies in the directory of the database"),
    refused("writes_before_delete_range", Integer, "0", "no benchmark deletes ranges"),
    refused("writes_per_range_tombstone", Integer, "0", "no benchmark deletes ranges"),
];

const RATE_LIMIT: &str = "writes are slowed down by delayed_write_rate since RocksDB 4";
const COMPACTION_SIZE: &str = "max_compaction_bytes bounds a compaction since RocksDB 5";

pub(super) const GONE: &[Row] = &[
    gone("advise_random_access_on_open", Bool, "advise_random_on_open has taken its place"),
    gone("allow_thread_local", Bool, "caches are always thread-safe"),
    gone("base_background_compactions", Integer, "max_background_jobs bounds background work since RocksDB 5"),
    gone("bufferedio", Bool, "reads are buffered unless use_direct_reads is set"),
    gone("compaction_fadvice", Text, "compactions read ahead by themselves since RocksDB 8"),
    gone("compressed_cache_size", Integer, "the cache of compressed blocks was removed in RocksDB 8"),
    gone("disable_data_sync", Bool, "tables are always synced since RocksDB 5"),
    gone("disable_seek_compaction", Integer, "seeks cause no compactions since RocksDB 3"),
    gone("expanded_compaction_factor", Integer, COMPACTION_SIZE),
    gone("filter_deletes", Bool, "deletions are always written since RocksDB 4"),
    gone("hard_rate_limit", Number, RATE_LIMIT),
    gone("level_compaction_dynamic_file_size", Bool, "files are always cut by what they overlap since RocksDB 9"),
    gone("max_grandparent_overlap_factor", Integer, COMPACTION_SIZE),
    gone("max_mem_compaction_level", Integer, "flushes always write level 0 since RocksDB 3"),
    gone("min_partial_merge_operands", Integer, "operands are merged two by two since RocksDB 5"),
    gone("new_table_reader_for_compaction_inputs", Bool, "compactions read ahead by themselves since RocksDB 7"),
    gone("purge_redundant_kvs_while_flush", Bool, "flushes always drop hidden entries since RocksDB 4"),
    gone("random_access_max_buffer_size", Integer, "direct reads have no buffer of their own since RocksDB 8"),
    gone("rate_limit_delay_max_milliseconds", Integer, RATE_LIMIT),
    gone("skip_table_builder_flush", Bool, "blocks are always written as they are full since RocksDB 6"),
    gone("snap_refresh_nanos", Integer, "compactions keep the snapshots they began with since RocksDB 6"),
    gone("soft_rate_limit", Number, RATE_LIMIT),
    gone("source_compaction_factor", Integer, COMPACTION_SIZE),
    gone("use_block_based_filter", Bool, "filters cover whole tables since RocksDB 7"),
    gone("verify_compaction", Bool, "force_consistency_checks verifies the tree since RocksDB 4"),
];
