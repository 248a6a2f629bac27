//! Options: settings (serialisable, from option tables), components (not), and the
//! OPTIONS file that keeps the settings.
//!
//! | module | what |
//! |---|---|
//! | `db`, `column_family`, `operation` | the structs that programs fill in |
//! | `components` | what a file cannot hold: file system, clock, cache, listeners; [`ConcurrentTaskLimiter`], [`WriteBufferManager`], [`SstFileManager`], [`EventListener`] |
//! | `persist`, `text` | OPTIONS files and option strings, to and from the structs |
//! | `online` | what `set_options` may change while a database is open |
//! | [`passthrough`] | RocksDB's options that are kept and have no effect here |
//! | `combinations` | options that are good alone and mean nothing together are refused |
//! | `differences` | options that differ from their defaults, or between two sets |
//! | `profiles` | RocksDB's helpers, and options for a purpose, each with its reason |
//! | `adjust` | values out of bounds are brought to the nearest good one, with a note |
//! | [`dump`] | all of them as lines of the LOG |
#![warn(missing_docs)]

mod adjust;
mod allocator_loss;
mod blob_partitions;
mod budgeted;
mod column_family;
#[doc(hidden)]
pub mod combinations;
mod compaction_service;
mod components;
mod concurrent_task_limiter;
mod daily_offpeak;
mod db;
pub mod db_path;
mod differences;
pub mod dump;
mod fifo;
mod in_place;
mod ingestion;
mod listener;
mod logger;
mod memory_budget;
mod memtable_factory;
#[doc(hidden)]
pub mod online;
mod operation;
pub mod passthrough;
mod persist;
mod profiles;
mod sst_file_manager;
mod text;
mod universal;
mod write_buffer_manager;

pub use blob_partitions::BlobFilePartitionStrategy;
pub use column_family::{
    BottommostCompression, ColumnFamilyOptions, ColumnFamilySettings, CompactionPriority, CompactionShape,
    CompactionStyle, CompressionSettings, PrepopulateBlobCache,
};
pub use compaction_service::{
    CompactionService, CompactionServiceJobInfo, CompactionServiceJobStatus, CompactionServiceScheduleResponse,
};
pub use components::Components;
pub use concurrent_task_limiter::ConcurrentTaskLimiter;
#[doc(hidden)]
pub use concurrent_task_limiter::{AwaitsTask, TaskLimiterToken};
pub use daily_offpeak::DailyOffpeak;
pub use db::{DbOptions, DbSettings, InfoLogLevel};
pub use db_path::DbPath;
pub use differences::{
    OptionDifference, OptionSection, OptionSet, SectionDifferences, differences_between, differences_from_defaults,
};
pub use ferrock_base::Temperature;
pub use ferrock_base::checksum::ChecksumType;
pub use ferrock_base::compaction_filter::{
    CompactionFilter, CompactionFilterFactory, FilterContext, FilterDecision, FilterFactoryContext,
    TableFileCreationReason,
};
pub use ferrock_base::file_checksum::{
    Crc32cFactory, FileChecksumContext, FileChecksumGenFactory, FileChecksumGenerator,
};
pub use ferrock_base::merge::MergeOperator;
pub use ferrock_base::option_table::{OptionInfo, OptionValue};
pub use ferrock_base::prefix::PrefixExtractor;
pub use ferrock_base::sst_partitioner::{
    FixedPrefixFactory, PartitionerContext, PartitionerRequest, SstPartitioner, SstPartitionerFactory,
};
pub use ferrock_base::table_properties_collector::{
    CollectedEntry, CollectorContext, TablePropertiesCollector, TablePropertiesCollectorFactory,
    UserCollectedProperties,
};
pub use ferrock_cache::CacheOptions;
pub use ferrock_format::compression::CompressionType;
pub use ferrock_format::filter::FilterPolicy;
pub use ferrock_format::log::WalRecoveryMode;
pub use ferrock_table::options::{
    CompactOnDeletion, DataBlockIndexType, DeletionRule, FlushBlockPolicy, IndexBlockSearchType, IndexShorteningMode,
    IndexType, LargePartitions, MetadataCacheOptions, PartitionFromLevel, PinningTier, PlainEncodingType,
    PrepopulateBlockCache, TableFactory,
};
pub use ferrock_table::{
    BlockBasedTableOptions, CacheUsageOptions, ChargeDecision, PlainTableOptions, TableBlockCache,
};
pub use ferrock_vfs::{IoKind, IoPriority, LimiterMode, MmapReads, RateLimiter, TokenBucket, TokenBucketOptions};
pub use fifo::{CompactionOptionsFifo, FileTemperatureAge};
pub use in_place::InPlaceCallback;
pub use ingestion::{ImportColumnFamilyOptions, IngestExternalFileOptions};
#[doc(hidden)]
pub use listener::observe_files;
pub use listener::{
    BackgroundErrorReason, BackgroundErrorRecoveryInfo, BackgroundJobPressure, BlobFileAdditionInfo,
    BlobFileCreationInfo, BlobFileGarbageInfo, ColumnFamilyHandleInfo, CompactionFileInfo, CompactionJobInfo,
    CompactionJobStats, CompactionReason, EventListener, ExternalFileIngestionInfo, FileCreationBriefInfo,
    FileDeletionInfo, FileOperationInfo, FileOperationType, FlushJobInfo, FlushReason, IoErrorInfo, ManualFlushInfo,
    MemTableInfo, SubcompactionJobInfo, TableFileCreationInfo, WaitCause, WriteStallCondition, WriteStallInfo,
};
pub use logger::{Logger, StderrLogger};
#[doc(hidden)]
pub use logger::{log_tag, log_time};
#[doc(hidden)]
pub use memory_budget::CountedPool;
pub use memory_budget::{MemoryBudget, MemoryHolder, MemoryReport};
pub use memtable_factory::{InsertHintPrefixes, MemTableFactory};
pub use operation::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, Canceller, CompactRangeOptions, CompactionOptions,
    FlushOptions, FlushWalOptions, WaitForCompactOptions, WriteOptions,
};
pub use passthrough::{
    COLUMN_FAMILY_OPTIONS as COLUMN_FAMILY_OPTIONS_WITHOUT_EFFECT, DB_OPTIONS as DB_OPTIONS_WITHOUT_EFFECT,
    DefaultText, Passthrough,
};
pub use persist::{LoadedOptions, family_section, from_file, load_file, load_latest, notes_of, to_file};
pub use profiles::{Profile, ProfileChange, ProfileReport};
#[doc(hidden)]
pub use sst_file_manager::{RemovalPlace, SpaceObserver, SpaceReservation};
pub use sst_file_manager::{SstFileManager, SstFileManagerOptions};
pub use text::apply_text;
#[doc(hidden)]
pub use text::memory_budget_bytes;
pub use universal::{CompactionOptionsUniversal, CompactionStopStyle};
pub use write_buffer_manager::WriteBufferManager;
