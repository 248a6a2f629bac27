//! Options as programs see them: all of `ferrock_options`, and how to read, which needs a snapshot.

use crate::snapshot::Snapshot;
pub use ferrock_base::thread::{PoolPriority, PriorityPools};
pub use ferrock_options::{
    BlobFilePartitionStrategy, BlobGarbageCollectionPolicy, BlockBasedTableOptions, BottommostCompression,
    BottommostLevelCompaction, COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT, CacheOptions, CacheUsageOptions, Canceller,
    ChargeDecision, ChecksumType, CollectedEntry, CollectorContext, ColumnFamilyOptions, ColumnFamilySettings,
    CompactOnDeletion, CompactRangeOptions, CompactionFilter, CompactionFilterFactory, CompactionOptions,
    CompactionOptionsFifo, CompactionOptionsUniversal, CompactionPriority, CompactionService, CompactionServiceJobInfo,
    CompactionServiceJobStatus, CompactionServiceScheduleResponse, CompactionStopStyle, CompactionStyle, Components,
    CompressionSettings, CompressionType, ConcurrentTaskLimiter, Crc32cFactory, DB_OPTIONS_WITHOUT_EFFECT,
    DailyOffpeak, DataBlockIndexType, DbOptions, DbPath, DbSettings, DefaultText, DeletionRule, FileChecksumContext,
    FileChecksumGenFactory, FileChecksumGenerator, FileTemperatureAge, FilterContext, FilterDecision,
    FilterFactoryContext, FilterPolicy, FixedPrefixFactory, FlushBlockPolicy, FlushOptions, FlushWalOptions,
    ImportColumnFamilyOptions, InPlaceCallback, IndexBlockSearchType, IndexShorteningMode, IndexType, InfoLogLevel,
    IngestExternalFileOptions, InsertHintPrefixes, IoKind, IoPriority, LargePartitions, LimiterMode, LoadedOptions,
    Logger, MemTableFactory, MemoryBudget, MemoryHolder, MemoryReport, MergeOperator, MetadataCacheOptions, MmapReads,
    OptionDifference, OptionInfo, OptionSection, OptionSet, OptionValue, PartitionFromLevel, PartitionerContext,
    PartitionerRequest, Passthrough, PinningTier, PlainEncodingType, PlainTableOptions, PrefixExtractor,
    PrepopulateBlobCache, PrepopulateBlockCache, Profile, ProfileChange, ProfileReport, RateLimiter,
    SectionDifferences, SstFileManager, SstFileManagerOptions, SstPartitioner, SstPartitionerFactory, StderrLogger,
    TableBlockCache, TableFactory, TableFileCreationReason, TablePropertiesCollector, TablePropertiesCollectorFactory,
    Temperature, TokenBucket, TokenBucketOptions, UserCollectedProperties, WaitForCompactOptions, WalRecoveryMode,
    WriteBufferManager, WriteOptions, apply_text, differences_between, differences_from_defaults, from_file, load_file,
    load_latest, to_file,
};
#[doc(hidden)]
pub use ferrock_options::{combinations, online};
pub use ferrock_table::{LimitReads, ReadTier};
use std::time::Duration;

/// How to read.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// use ferrock::ReadOptions;
/// let options = ReadOptions { upper_bound: Some(b"user:2".to_vec()), ..ReadOptions::default() };
/// ```
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Read as of this snapshot instead of now.
    pub snapshot: Option<Snapshot>,
    /// Verify block checksums (default true).
    pub verify_checksums: bool,
    /// Put blocks read into the cache, and values of blob files into theirs (default true).
    pub fill_cache: bool,
    /// With `fill_cache`: also data blocks (default true), not only those of index and filter, which the next read of
    /// the same keys needs whatever else it reads.
    pub cache_data_blocks: bool,
    /// How deep to read; `BlockCacheOnly` answers `Incomplete` instead of reading a file.
    pub read_tier: ReadTier,
    /// First key an iterator may return.
    pub lower_bound: Option<Vec<u8>>,
    /// First key an iterator may not return.
    pub upper_bound: Option<Vec<u8>>,
    /// Do not ask prefix filters. They are asked only where they spare blocks and never rows: with
    /// `prefix_same_as_start`, and where the bounds leave an iterator the keys of one prefix. A seek is right for every
    /// key either way.
    pub total_order_seek: bool,
    /// Ask prefix filters where the bounds leave an iterator the keys of one prefix, even with `total_order_seek`.
    /// (Without that they are asked anyway.) RocksDB can omit keys that are shorter than the prefix of the bound; here
    /// none is omitted.
    ///
    /// ```
    /// let options = ferrock_engine::ReadOptions {
    ///     total_order_seek: true,
    ///     auto_prefix_mode: true,
    ///     upper_bound: Some(b"user2".to_vec()),
    ///     ..Default::default()
    /// };
    /// // A seek to `user1/7` skips tables without keys of `user1`, if `fixed:5` is the prefix extractor.
    /// # let _ = options;
    /// ```
    pub auto_prefix_mode: bool,
    /// An iterator ends where the prefix of its seek key ends.
    pub prefix_same_as_start: bool,
    /// Bytes an iterator reads ahead; 0 adapts to how it is used.
    pub readahead_size: usize,
    /// Rows after which the reader of an iterator expects to stop, so that it reads no more than these need; 0: no
    /// expectation. A wrong one costs reads, never rows.
    pub limit_hint: u64,
    /// What `limit_hint` spares. `FewestRequests` (default): the first request brings as many blocks as the rows take
    /// on average, and one more. `FewestBytes`: no request brings a block that the rows may not need, so where rows
    /// differ in size, or several tables have some, there are more requests, and shorter ones. Tables say how many rows
    /// their blocks have at most when they are written with `row_bounds`; others are then read block by block.
    pub limit_reads: LimitReads,
    /// Bytes between two pieces of a file that are read over, rather than in another request (default 16 KiB).
    pub io_gap_bytes: usize,
    /// When the answer is no longer of use, as the time since 1970; zero: never. A read that would have to ask a file
    /// after it is `TimedOut`, each key of a batch by itself; one that finds everything in memory is not.
    pub deadline: Duration,
    /// How long one request to a file may take before the read is `TimedOut`; zero: as long as it takes.
    pub io_timeout: Duration,
    /// The priority at which reads of tables and blob files wait for the database's rate limiter, if that limits reads;
    /// `None` (default): they do not wait. What lies in a cache, in a mapped file or in a plain table is free.
    pub rate_limiter_priority: Option<IoPriority>,
    /// An iterator starts to read the next part of a file before it needs it.
    pub async_io: bool,
    /// What an iterator reads ahead carries over from one file of a level to the next, instead of starting small again.
    pub adaptive_readahead: bool,
    /// An iterator reads ahead as far as its bounds, at once and no further (default true).
    pub auto_readahead_size: bool,
    /// Hidden entries an iterator may pass over in one step before it gives up with `Incomplete`; 0: no bound.
    pub max_skippable_internal_keys: u64,
}

impl ReadOptions {
    /// The defaults, where they need not be made for one read.
    pub(crate) const DEFAULT: Self = Self {
        snapshot: None,
        verify_checksums: true,
        fill_cache: true,
        cache_data_blocks: true,
        read_tier: ReadTier::All,
        lower_bound: None,
        upper_bound: None,
        total_order_seek: false,
        auto_prefix_mode: false,
        prefix_same_as_start: false,
        readahead_size: 0,
        limit_hint: 0,
        limit_reads: LimitReads::FewestRequests,
        io_gap_bytes: 16 << 10,
        deadline: Duration::ZERO,
        io_timeout: Duration::ZERO,
        rate_limiter_priority: None,
        async_io: false,
        adaptive_readahead: false,
        auto_readahead_size: true,
        max_skippable_internal_keys: 0,
    };
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}
