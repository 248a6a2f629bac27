//! Options of block-based tables.

use crate::cache::rocksdb_cache_t;
use crate::filter_policy::rocksdb_filterpolicy_t;
use crate::handle::{give, take};
use crate::options::rocksdb_options_t;
use crate::refused::{Refused, out_of_range};
use ferrock::options::FilterPolicy;
use ferrock::{Error, Result};
use ferrock_base::checksum::ChecksumType;
use ferrock_table::options::{DataBlockIndexType, IndexType};
use ferrock_table::{BlockBasedTableOptions, TableBlockCache};
use std::ffi::{c_char, c_int, c_uchar};
use std::sync::Arc;

/// Options of block-based tables.
#[derive(Clone, Default)]
pub struct rocksdb_block_based_table_options_t {
    pub(crate) table: BlockBasedTableOptions,
    pub(crate) filter_policy: FilterPolicy,
    pub(crate) block_cache: Option<Arc<TableBlockCache>>,
    refused: Refused,
}

impl rocksdb_block_based_table_options_t {
    /// Copies everything into the options of a column family.
    pub(crate) fn give_to(&self, options: &mut rocksdb_options_t) {
        options.family.table = self.table.clone();
        options.family.filter_policy = self.filter_policy;
        options.family.block_cache.clone_from(&self.block_cache);
        let mut refused = self.refused.clone();
        for option in self.table.unsupported_for_writing() {
            refused.note(option.name, Err(Error::not_supported(option.to_string())));
        }
        options.refused_table = refused;
    }
}

/// Changes options, unless they are null; what goes wrong is kept for the open.
///
/// # Safety
/// The contract.
pub(crate) unsafe fn set(
    options: *mut rocksdb_block_based_table_options_t,
    option: &'static str,
    set: impl FnOnce(&mut rocksdb_block_based_table_options_t) -> Result<()>,
) {
    // SAFETY: as for this function.
    if let Some(options) = unsafe { options.as_mut() } {
        let outcome = set(options);
        options.refused.note(option, outcome);
    }
}

c_functions! {
    /// Table options at their defaults.
    fn rocksdb_block_based_options_create() -> *mut rocksdb_block_based_table_options_t {
        give(rocksdb_block_based_table_options_t::default())
    }

    /// The cache of blocks; it stays the caller's. Null: a cache of its own for the database.
    fn rocksdb_block_based_options_set_block_cache(
        options: *mut rocksdb_block_based_table_options_t,
        cache: *mut rocksdb_cache_t,
    ) {
        // SAFETY: the contract.
        let (options, cache) = unsafe { (options.as_mut(), cache.as_ref()) };
        if let Some(options) = options {
            options.block_cache = cache.map(|cache| Arc::clone(&cache.cache));
        }
    }

    /// The filters of tables. The policy belongs to the options from now on.
    fn rocksdb_block_based_options_set_filter_policy(
        options: *mut rocksdb_block_based_table_options_t,
        policy: *mut rocksdb_filterpolicy_t,
    ) {
        // SAFETY: the contract: the policy is handed over.
        let policy = unsafe { take(policy) }.map_or(FilterPolicy::None, |policy| policy.policy);
        // SAFETY: the contract.
        unsafe {
            set(options, "filter_policy", |options| {
                options.filter_policy = policy;
                Ok(())
            });
        }
    }

    /// The version of the table format.
    fn rocksdb_block_based_options_set_format_version(
        options: *mut rocksdb_block_based_table_options_t,
        version: c_int,
    ) {
        const OPTION: &str = "format_version";
        let known = u32::try_from(version).map_err(|_| out_of_range(OPTION, version, "2..=7"));
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| known.map(|version| options.table.format_version = version)) };
    }

    /// The checksum of blocks.
    fn rocksdb_block_based_options_set_checksum(
        options: *mut rocksdb_block_based_table_options_t,
        checksum: c_char,
    ) {
        const OPTION: &str = "checksum";
        let number = i32::from(checksum);
        let known = ChecksumType::ALL.into_iter().find(|kind| *kind as i32 == number);
        let known = known.ok_or_else(|| out_of_range(OPTION, number, "0..=4"));
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| known.map(|kind| options.table.checksum = kind)) };
    }

    /// How data blocks are found.
    fn rocksdb_block_based_options_set_index_type(
        options: *mut rocksdb_block_based_table_options_t,
        index_type: c_int,
    ) {
        const OPTION: &str = "index_type";
        let known = usize::try_from(index_type).ok().and_then(|index| IndexType::ALL.get(index));
        let known = known.ok_or_else(|| out_of_range(OPTION, index_type, "0..=3"));
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| known.map(|(kind, _)| options.table.index_type = *kind)) };
    }

    /// How keys are found in a data block; 2, which RocksDB does not have, is `kDataBlockAuto`.
    fn rocksdb_block_based_options_set_data_block_index_type(
        options: *mut rocksdb_block_based_table_options_t,
        index_type: c_int,
    ) {
        const OPTION: &str = "data_block_index_type";
        let known = usize::try_from(index_type).ok().and_then(|index| DataBlockIndexType::ALL.get(index));
        let known = known.ok_or_else(|| out_of_range(OPTION, index_type, "0..=2"));
        // SAFETY: the contract.
        unsafe { set(options, OPTION, |options| known.map(|(kind, _)| options.table.data_block_index_type = *kind)) };
    }
}

c_setters! {
    for rocksdb_block_based_table_options_t:
    /// Bytes of a data block before compression.
    fn rocksdb_block_based_options_set_block_size(usize) => table.block_size;
    /// Entries between restarts of data blocks.
    fn rocksdb_block_based_options_set_block_restart_interval(c_int) => table.block_restart_interval;
    /// Bytes of an index or filter partition.
    fn rocksdb_block_based_options_set_metadata_block_size(u64) => table.metadata_block_size;
    /// Whether filters are partitioned.
    fn rocksdb_block_based_options_set_partition_filters(c_uchar) => table.partition_filters;
    /// Whether tables are read without a block cache.
    fn rocksdb_block_based_options_set_no_block_cache(c_uchar) => table.no_block_cache;
    /// Whether whole keys go into the filter.
    fn rocksdb_block_based_options_set_whole_key_filtering(c_uchar) => table.whole_key_filtering;
    /// Entries per bucket of the data-block hash index.
    fn rocksdb_block_based_options_set_data_block_hash_ratio(f64) => table.data_block_hash_table_util_ratio;
    /// Whether index and filter blocks live in the block cache.
    fn rocksdb_block_based_options_set_cache_index_and_filter_blocks(c_uchar) => table.cache_index_and_filter_blocks;
    /// Whether they go in at high priority.
    fn rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(c_uchar)
        => table.cache_index_and_filter_blocks_with_high_priority;
    /// Whether those of level 0 stay in the cache.
    fn rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(c_uchar)
        => table.pin_l0_filter_and_index_blocks_in_cache;
    /// Whether the top level of partitioned ones stays in memory.
    fn rocksdb_block_based_options_set_pin_top_level_index_and_filter(c_uchar) => table.pin_top_level_index_and_filter;
}

c_destructors! {
    /// Ends table options; options that they were copied into go on.
    fn rocksdb_block_based_options_destroy(rocksdb_block_based_table_options_t);
}
