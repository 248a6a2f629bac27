//! The rest of the options of block-based tables, and what all of them were set to.

use crate::refused::out_of_range;
use crate::table_options::{rocksdb_block_based_table_options_t, set};
use ferrock::Error;
use ferrock_table::options::{IndexBlockSearchType, IndexShorteningMode, PinningTier, PrepopulateBlockCache};
use std::ffi::{c_char, c_int, c_uchar};

c_setters! {
    for rocksdb_block_based_table_options_t:
    /// Percent of the block size by which a block may stay smaller.
    fn rocksdb_block_based_options_set_block_size_deviation(c_int) => table.block_size_deviation;
    /// Entries between restarts of index blocks.
    fn rocksdb_block_based_options_set_index_block_restart_interval(c_int) => table.index_block_restart_interval;
    /// Whether filter partitions are cut on their own.
    fn rocksdb_block_based_options_set_decouple_partitioned_filters(c_uchar) => table.decouple_partitioned_filters;
    /// Whether filters may grow into what the allocator hands out; sizes are exact either way.
    fn rocksdb_block_based_options_set_optimize_filters_for_memory(c_uchar) => table.optimize_filters_for_memory;
    /// Whether filters are checked as they are built.
    fn rocksdb_block_based_options_set_detect_filter_construct_corruption(c_uchar) => table.detect_filter_construct_corruption;
    /// Whether index blocks may be compressed.
    fn rocksdb_block_based_options_set_enable_index_compression(c_uchar) => table.enable_index_compression;
    /// Whether keys share bytes with their predecessor.
    fn rocksdb_block_based_options_set_use_delta_encoding(c_uchar) => table.use_delta_encoding;
    /// Whether every compressed block is decompressed and compared.
    fn rocksdb_block_based_options_set_verify_compression(c_uchar) => table.verify_compression;
    /// Whether data blocks begin at pages.
    fn rocksdb_block_based_options_set_block_align(c_uchar) => table.block_align;
    /// Boundary that data blocks avoid to straddle; 0 is none.
    fn rocksdb_block_based_options_set_super_block_alignment_size(usize) => table.super_block_alignment_size;
    /// What may be lost to such padding, as a divisor.
    fn rocksdb_block_based_options_set_super_block_alignment_space_overhead_ratio(usize) => table.super_block_alignment_space_overhead_ratio;
    /// Whether values lie behind the keys of their block.
    fn rocksdb_block_based_options_set_separate_key_value_in_data_block(c_uchar) => table.separate_key_value_in_data_block;
    /// Spread of index keys below which a block is marked as even; negative is never.
    fn rocksdb_block_based_options_set_uniform_cv_threshold(f64) => table.uniform_cv_threshold;
    /// Entries per bucket of the data-block hash index.
    fn rocksdb_block_based_options_set_data_block_hash_table_util_ratio(f64) => table.data_block_hash_table_util_ratio;
    /// Largest automatic readahead of a scan.
    fn rocksdb_block_based_options_set_max_auto_readahead_size(usize) => table.max_auto_readahead_size;
    /// First automatic readahead of a scan.
    fn rocksdb_block_based_options_set_initial_auto_readahead_size(usize) => table.initial_auto_readahead_size;
    /// Sequential reads after which readahead begins.
    fn rocksdb_block_based_options_set_num_file_reads_for_auto_readahead(u64) => table.num_file_reads_for_auto_readahead;
    /// Bytes per bit of read-amplification statistics. Not built: the open refuses all but 0.
    fn rocksdb_block_based_options_set_read_amp_bytes_per_bit(u32) => table.read_amp_bytes_per_bit;
    /// Search a user-defined index first. Not built: the open refuses it.
    fn rocksdb_block_based_options_set_use_udi_as_primary_index(c_uchar) => table.use_udi_as_primary_index;
    /// Want a user-defined index in every table. Not built: the open refuses it.
    fn rocksdb_block_based_options_set_fail_if_no_udi_on_open(c_uchar) => table.fail_if_no_udi_on_open;
}

c_enum_setters! {
    /// How index keys are shortened.
    fn rocksdb_block_based_options_set_index_shortening(IndexShorteningMode, "index_shortening", "0..=2") => table.index_shortening;
    /// The search within index blocks.
    fn rocksdb_block_based_options_set_index_block_search_type(IndexBlockSearchType, "index_block_search_type", "0..=2") => table.index_block_search_type;
    /// When new blocks go into the cache as they are written.
    fn rocksdb_block_based_options_set_prepopulate_block_cache(PrepopulateBlockCache, "prepopulate_block_cache", "0..=2") => table.prepopulate_block_cache;
    /// Which top levels of partitioned indexes and filters stay in memory.
    fn rocksdb_block_based_options_set_top_level_index_pinning_tier(PinningTier, "top_level_index_pinning_tier", "0..=3") => table.metadata_cache_options.top_level_index_pinning;
    /// Which partitions stay in the cache.
    fn rocksdb_block_based_options_set_partition_pinning_tier(PinningTier, "partition_pinning_tier", "0..=3") => table.metadata_cache_options.partition_pinning;
    /// Which indexes and filters without partitions stay in the cache.
    fn rocksdb_block_based_options_set_unpartitioned_pinning_tier(PinningTier, "unpartitioned_pinning_tier", "0..=3") => table.metadata_cache_options.unpartitioned_pinning;
}

c_getters! {
    for rocksdb_block_based_table_options_t:
    /// The value of `block_size`.
    fn rocksdb_block_based_options_get_block_size() -> u64 => table.block_size;
    /// The value of `block_restart_interval`.
    fn rocksdb_block_based_options_get_block_restart_interval() -> c_int => table.block_restart_interval;
    /// The value of `metadata_block_size`.
    fn rocksdb_block_based_options_get_metadata_block_size() -> u64 => table.metadata_block_size;
    /// The value of `partition_filters`.
    fn rocksdb_block_based_options_get_partition_filters() -> c_uchar => table.partition_filters;
    /// The value of `no_block_cache`.
    fn rocksdb_block_based_options_get_no_block_cache() -> c_uchar => table.no_block_cache;
    /// The value of `whole_key_filtering`.
    fn rocksdb_block_based_options_get_whole_key_filtering() -> c_uchar => table.whole_key_filtering;
    /// The value of `cache_index_and_filter_blocks`.
    fn rocksdb_block_based_options_get_cache_index_and_filter_blocks() -> c_uchar => table.cache_index_and_filter_blocks;
    /// The value of `cache_index_and_filter_blocks_with_high_priority`.
    fn rocksdb_block_based_options_get_cache_index_and_filter_blocks_with_high_priority() -> c_uchar => table.cache_index_and_filter_blocks_with_high_priority;
    /// The value of `pin_l0_filter_and_index_blocks_in_cache`.
    fn rocksdb_block_based_options_get_pin_l0_filter_and_index_blocks_in_cache() -> c_uchar => table.pin_l0_filter_and_index_blocks_in_cache;
    /// The value of `pin_top_level_index_and_filter`.
    fn rocksdb_block_based_options_get_pin_top_level_index_and_filter() -> c_uchar => table.pin_top_level_index_and_filter;
    /// The value of `format_version`.
    fn rocksdb_block_based_options_get_format_version() -> u32 => table.format_version;
    /// The value of `block_size_deviation`.
    fn rocksdb_block_based_options_get_block_size_deviation() -> c_int => table.block_size_deviation;
    /// The value of `index_block_restart_interval`.
    fn rocksdb_block_based_options_get_index_block_restart_interval() -> c_int => table.index_block_restart_interval;
    /// The value of `decouple_partitioned_filters`.
    fn rocksdb_block_based_options_get_decouple_partitioned_filters() -> c_uchar => table.decouple_partitioned_filters;
    /// The value of `optimize_filters_for_memory`.
    fn rocksdb_block_based_options_get_optimize_filters_for_memory() -> c_uchar => table.optimize_filters_for_memory;
    /// The value of `detect_filter_construct_corruption`.
    fn rocksdb_block_based_options_get_detect_filter_construct_corruption() -> c_uchar => table.detect_filter_construct_corruption;
    /// The value of `enable_index_compression`.
    fn rocksdb_block_based_options_get_enable_index_compression() -> c_uchar => table.enable_index_compression;
    /// The value of `use_delta_encoding`.
    fn rocksdb_block_based_options_get_use_delta_encoding() -> c_uchar => table.use_delta_encoding;
    /// The value of `verify_compression`.
    fn rocksdb_block_based_options_get_verify_compression() -> c_uchar => table.verify_compression;
    /// The value of `block_align`.
    fn rocksdb_block_based_options_get_block_align() -> c_uchar => table.block_align;
    /// The value of `super_block_alignment_size`.
    fn rocksdb_block_based_options_get_super_block_alignment_size() -> usize => table.super_block_alignment_size;
    /// The value of `super_block_alignment_space_overhead_ratio`.
    fn rocksdb_block_based_options_get_super_block_alignment_space_overhead_ratio() -> usize => table.super_block_alignment_space_overhead_ratio;
    /// The value of `separate_key_value_in_data_block`.
    fn rocksdb_block_based_options_get_separate_key_value_in_data_block() -> c_uchar => table.separate_key_value_in_data_block;
    /// The value of `uniform_cv_threshold`.
    fn rocksdb_block_based_options_get_uniform_cv_threshold() -> f64 => table.uniform_cv_threshold;
    /// The value of `data_block_hash_table_util_ratio`.
    fn rocksdb_block_based_options_get_data_block_hash_table_util_ratio() -> f64 => table.data_block_hash_table_util_ratio;
    /// The value of `max_auto_readahead_size`.
    fn rocksdb_block_based_options_get_max_auto_readahead_size() -> usize => table.max_auto_readahead_size;
    /// The value of `initial_auto_readahead_size`.
    fn rocksdb_block_based_options_get_initial_auto_readahead_size() -> usize => table.initial_auto_readahead_size;
    /// The value of `num_file_reads_for_auto_readahead`.
    fn rocksdb_block_based_options_get_num_file_reads_for_auto_readahead() -> u64 => table.num_file_reads_for_auto_readahead;
    /// The value of `read_amp_bytes_per_bit`.
    fn rocksdb_block_based_options_get_read_amp_bytes_per_bit() -> u32 => table.read_amp_bytes_per_bit;
    /// The value of `use_udi_as_primary_index`.
    fn rocksdb_block_based_options_get_use_udi_as_primary_index() -> c_uchar => table.use_udi_as_primary_index;
    /// The value of `fail_if_no_udi_on_open`.
    fn rocksdb_block_based_options_get_fail_if_no_udi_on_open() -> c_uchar => table.fail_if_no_udi_on_open;
}

c_enum_getters! {
    /// The number of the value of `checksum`.
    fn rocksdb_block_based_options_get_checksum() => table.checksum;
    /// The number of the value of `index_type`.
    fn rocksdb_block_based_options_get_index_type() => table.index_type;
    /// The number of the value of `data_block_index_type`.
    fn rocksdb_block_based_options_get_data_block_index_type() => table.data_block_index_type;
    /// The number of the value of `index_shortening`.
    fn rocksdb_block_based_options_get_index_shortening() => table.index_shortening;
    /// The number of the value of `index_block_search_type`.
    fn rocksdb_block_based_options_get_index_block_search_type() => table.index_block_search_type;
    /// The number of the value of `prepopulate_block_cache`.
    fn rocksdb_block_based_options_get_prepopulate_block_cache() => table.prepopulate_block_cache;
}

c_fallible! {
    /// A user-defined index. None is built.
    fn rocksdb_block_based_options_set_user_defined_index_factory_from_string(
        options: *mut rocksdb_block_based_table_options_t,
        value: *const c_char,
        value_length: usize,
    ) {
        // SAFETY: the contract.
        let value = unsafe { crate::memory::bytes(value, value_length) };
        let value = String::from_utf8_lossy(value);
        if options.is_null() {
            return Err(Error::invalid_argument("the table options are a null pointer"));
        }
        Err(Error::not_supported(format!("user_defined_index_factory = {value} is not built yet")))
    }
}

c_functions! {
    /// Goes back to no user-defined index.
    fn rocksdb_block_based_options_clear_user_defined_index_factory(
        options: *mut rocksdb_block_based_table_options_t,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.table.user_defined_index_factory = "nullptr".to_owned();
        }
    }

    /// The name of the user-defined index: null, for there is none.
    fn rocksdb_block_based_options_get_user_defined_index_factory_name(
        _options: *const rocksdb_block_based_table_options_t,
        name_length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        if let Some(name_length) = unsafe { name_length.as_mut() } {
            *name_length = 0;
        }
        std::ptr::null()
    }
}
