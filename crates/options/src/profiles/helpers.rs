//! RocksDB's helpers, which set several options at once, with the values of release 11.8.1.
//!
//! In RocksDB some are functions of `Options`, which has both halves; here each half has its own function of the name.

use crate::{
    CacheOptions, CacheUsageOptions, ColumnFamilyOptions, CompactionStyle, CompressionType, DataBlockIndexType,
    DbOptions, FilterPolicy, IndexType, TableBlockCache, TableFactory, WriteBufferManager,
};
use ferrock_table::BlockBasedTableOptions;
use std::sync::Arc;

/// A trigger that no database reaches.
const NEVER: i32 = 1 << 30;
/// Levels that a family may have.
const NUM_LEVELS: std::ops::RangeInclusive<i32> = 1..=64;

/// The first compressor of RocksDB's order that this build has.
fn fast_compression() -> CompressionType {
    match CompressionType::Lz4.if_built() {
        CompressionType::NoCompression => CompressionType::Snappy.if_built(),
        lz4 => lz4,
    }
}

impl DbOptions {
    /// RocksDB's `IncreaseParallelism`: flushes and compactions at once, `total_threads` together (RocksDB's default is
    /// 16). A quarter of them flush.
    ///
    /// ```
    /// # extern crate ferrock_options as ferrock;
    /// let mut options = ferrock::DbOptions::default();
    /// options.increase_parallelism(8);
    /// assert_eq!(options.max_background_jobs, 8);
    /// ```
    pub fn increase_parallelism(&mut self, total_threads: i32) -> &mut Self {
        self.max_background_jobs = total_threads;
        self
    }

    /// The database's half of RocksDB's `OptimizeForSmallDb`: at most 5,000 open tables, one thread that opens them,
    /// and memtables that are charged to `cache`, the one for the
    /// [families](ColumnFamilyOptions::optimize_for_small_db). RocksDB's own has 16 MiB.
    ///
    /// ```
    /// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
    /// use ferrock::options::{CacheOptions, TableBlockCache};
    /// let cache = TableBlockCache::new(CacheOptions { capacity_bytes: 16 << 20, ..CacheOptions::default() });
    /// let (mut db, mut family) = (ferrock::DbOptions::default(), ferrock::ColumnFamilyOptions::default());
    /// db.optimize_for_small_db(Some(&cache));
    /// family.optimize_for_small_db(Some(&cache));
    /// assert_eq!((db.max_open_files, family.write_buffer_size), (5000, 2 << 20));
    /// ```
    pub fn optimize_for_small_db(&mut self, cache: Option<&Arc<TableBlockCache>>) -> &mut Self {
        self.max_file_opening_threads = 1;
        self.max_open_files = 5000;
        self.components.write_buffer_manager = Some(WriteBufferManager::new(0, cache, false));
        self
    }

    /// The database's half of RocksDB's `PrepareForBulkLoad`: four flushes and two compactions at once. See
    /// [`ColumnFamilyOptions::prepare_for_bulk_load`].
    pub fn prepare_for_bulk_load(&mut self) -> &mut Self {
        self.max_background_flushes = 4;
        self.max_background_compactions = 2;
        self
    }
}

impl ColumnFamilyOptions {
    /// RocksDB's `OptimizeForPointLookup`, for families that are read key by key: hash indexes in data blocks, Bloom
    /// filters of 10 bits a key, a filter over the memtable, and a cache of so many MiB that is the family's own.
    ///
    /// Tables become block-based, with all of their other options at the defaults.
    ///
    /// ```
    /// # extern crate ferrock_options as ferrock;
    /// let mut options = ferrock::ColumnFamilyOptions::default();
    /// options.optimize_for_point_lookup(64);
    /// assert_eq!(options.block_cache.as_ref().map(|cache| cache.capacity()), Some(64 << 20));
    /// ```
    pub fn optimize_for_point_lookup(&mut self, block_cache_size_mb: u64) -> &mut Self {
        let capacity_bytes = usize::try_from(block_cache_size_mb.saturating_mul(1 << 20)).unwrap_or(usize::MAX);
        self.reset_tables();
        self.look_up_by_hash();
        self.block_cache = Some(TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() }));
        self
    }

    /// What makes lookups of single keys cheap, beside a cache.
    pub(super) fn look_up_by_hash(&mut self) {
        self.table.data_block_index_type = DataBlockIndexType::BinaryAndHash;
        self.table.data_block_hash_table_util_ratio = 0.75;
        self.filter_policy = FilterPolicy::bloom(10.0);
        self.memtable_prefix_bloom_size_ratio = 0.02;
        self.memtable_whole_key_filtering = true;
    }

    /// RocksDB's `OptimizeLevelStyleCompaction`: levels, for a memory of `memtable_memory_budget` bytes of memtables,
    /// half as much again at the worst (RocksDB's default is 512 MiB). Two memtables are flushed together, levels 0 and
    /// 1 are not compressed, and those below by LZ4, or Snappy in a build without.
    ///
    /// ```
    /// # extern crate ferrock_options as ferrock;
    /// let mut options = ferrock::ColumnFamilyOptions::default();
    /// options.optimize_level_style_compaction(512 << 20);
    /// assert_eq!((options.write_buffer_size, options.max_bytes_for_level_base), (128 << 20, 512 << 20));
    /// ```
    pub fn optimize_level_style_compaction(&mut self, memtable_memory_budget: u64) -> &mut Self {
        self.share_memtables(memtable_memory_budget);
        self.level0_file_num_compaction_trigger = 2;
        self.target_file_size_base = memtable_memory_budget / 8;
        self.max_bytes_for_level_base = memtable_memory_budget;
        self.compaction_style = CompactionStyle::Level;
        self.compress_from_level(2, fast_compression());
        self
    }

    /// RocksDB's `OptimizeUniversalStyleCompaction`: sorted runs, for a memory of `memtable_memory_budget` bytes of
    /// memtables, half as much again at the worst (RocksDB's default is 512 MiB). Two memtables are flushed together;
    /// the newest fifth of the data is not compressed.
    pub fn optimize_universal_style_compaction(&mut self, memtable_memory_budget: u64) -> &mut Self {
        self.share_memtables(memtable_memory_budget);
        self.compaction_style = CompactionStyle::Universal;
        self.compaction_options_universal.compression_size_percent = 80;
        self
    }

    fn share_memtables(&mut self, memory_bytes: u64) {
        self.write_buffer_size = usize::try_from(memory_bytes / 4).unwrap_or(usize::MAX);
        self.min_write_buffer_number_to_merge = 2;
        self.max_write_buffer_number = 6;
    }

    /// Sets the compression of every level: none above level `first`, then `kind`.
    #[doc(hidden)]
    pub fn compress_from_level(&mut self, first: i32, kind: CompressionType) {
        let of_level = |level| if level < first { CompressionType::NoCompression } else { kind };
        let count = self.num_levels.clamp(*NUM_LEVELS.start(), *NUM_LEVELS.end());
        self.compression_per_level = (0..count).map(of_level).collect();
    }

    /// The family's half of RocksDB's `OptimizeForSmallDb`, for less than about 100 MiB of data: memtables and tables
    /// of 2 MiB, and indexes in partitions in the block cache. Tables become block-based, with all of their other
    /// options at the defaults. See [`DbOptions::optimize_for_small_db`], also for `cache`; `None`: the database's.
    pub fn optimize_for_small_db(&mut self, cache: Option<&Arc<TableBlockCache>>) -> &mut Self {
        self.write_buffer_size = 2 << 20;
        self.target_file_size_base = 2 << 20;
        self.max_bytes_for_level_base = 10 << 20;
        self.soft_pending_compaction_bytes_limit = 256 << 20;
        self.hard_pending_compaction_bytes_limit = 1 << 30;
        self.reset_tables();
        self.table.cache_index_and_filter_blocks = true;
        self.table.index_type = IndexType::TwoLevelIndexSearch;
        self.block_cache = cache.cloned();
        self
    }

    /// Block-based tables at their defaults, as a new factory of RocksDB has them.
    fn reset_tables(&mut self) {
        self.table_factory = TableFactory::BlockBased;
        self.table = BlockBasedTableOptions::default();
        self.filter_policy = FilterPolicy::None;
        self.cache_usage = CacheUsageOptions::default();
        self.block_cache = None;
    }

    /// The family's half of RocksDB's `PrepareForBulkLoad`, for writing all data before any is read: flushes write into
    /// level 0, nothing is compacted until `compact_range` is called, and no writer waits for compactions. (Writers
    /// still wait when all six memtables are full.) Two levels, and files of 256 MiB.
    ///
    /// ```
    /// # extern crate ferrock_options as ferrock;
    /// let (mut db, mut family) = (ferrock::DbOptions::default(), ferrock::ColumnFamilyOptions::default());
    /// db.prepare_for_bulk_load();
    /// family.prepare_for_bulk_load();
    /// assert!(family.disable_auto_compactions);
    /// assert_eq!(db.max_background_flushes, 4);
    /// ```
    pub fn prepare_for_bulk_load(&mut self) -> &mut Self {
        self.level0_file_num_compaction_trigger = NEVER;
        self.level0_slowdown_writes_trigger = NEVER;
        self.level0_stop_writes_trigger = NEVER;
        self.soft_pending_compaction_bytes_limit = 0;
        self.hard_pending_compaction_bytes_limit = 0;
        self.disable_auto_compactions = true;
        self.max_compaction_bytes = 1 << 60;
        self.num_levels = 2;
        self.max_write_buffer_number = 6;
        self.min_write_buffer_number_to_merge = 1;
        self.target_file_size_base = 256 << 20;
        self
    }
}
