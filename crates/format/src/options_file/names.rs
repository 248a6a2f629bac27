//! Option names that RocksDB once had. Files with them still load; the values are ignored.

/// Which part of an OPTIONS file a name is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionScope {
    /// `DBOptions`.
    Db,
    /// `CFOptions`.
    ColumnFamily,
    /// `TableOptions/BlockBasedTable`.
    BlockBasedTable,
}

const COLUMN_FAMILY: &[&str] = &[
    "filter_deletes",
    "check_flush_compaction_key_order",
    "verify_checksums_in_compaction",
    "hard_rate_limit",
    "soft_rate_limit",
    "ignore_max_compaction_bytes_for_input",
    "expanded_compaction_factor",
    "max_grandparent_overlap_factor",
    "source_compaction_factor",
    "memtable_prefix_bloom_huge_page_tlb_size",
    "memtable_prefix_bloom_bits",
    "memtable_prefix_bloom_probes",
    "min_partial_merge_operands",
    "snap_refresh_nanos",
    "bottommost_temperature",
    "compaction_measure_io_stats",
    "purge_redundant_kvs_while_flush",
    "level_compaction_dynamic_file_size",
    "max_mem_compaction_level",
    "max_write_buffer_number_to_maintain",
    "rate_limit_delay_max_milliseconds",
];

const DB: &[&str] = &[
    "access_hint_on_compaction_start",
    "allow_os_buffer",
    "base_background_compactions",
    "use_direct_writes",
    "disableDataSync",
    "disable_data_sync",
    "skip_log_error_on_recovery",
    "skip_checking_sst_file_sizes_on_db_open",
    "new_table_reader_for_compaction_inputs",
    "random_access_max_buffer_size",
    "fail_if_options_file_error",
    "preserve_deletes",
    "concurrent_prepare",
    "seq_per_batch",
    "experimental_allow_mempurge",
    "experimental_mempurge_policy",
];

const BLOCK_BASED_TABLE: &[&str] = &[
    "hash_index_allow_collision",
    "index_per_partition",
    "reserve_table_builder_memory",
    "reserve_table_reader_memory",
    "skip_table_builder_flush",
    "block_cache_compressed",
];

/// Names under which an option was also written, and its name.
const ALIASES: &[(&str, &str)] = &[
    ("memtable", "memtable_factory"),
    ("memtable_veirfy_per_key_checksum_on_seek", "memtable_verify_per_key_checksum_on_seek"),
];

/// True for a retired name, which is accepted whatever its value and then ignored.
#[must_use]
pub fn is_deprecated(scope: OptionScope, name: &str) -> bool {
    let names = match scope {
        OptionScope::Db => DB,
        OptionScope::ColumnFamily => COLUMN_FAMILY,
        OptionScope::BlockBasedTable => BLOCK_BASED_TABLE,
    };
    names.contains(&name)
}

/// The name an option goes by, for one that was also written under another.
#[must_use]
pub fn canonical_name(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |&(_, canonical)| canonical)
}
