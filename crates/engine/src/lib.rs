//! The database over the LSM tree: write path and log, recovery, column families, snapshots, scheduling of flushes and
//! compactions, background errors, statistics. Programs use it as the crate `ferrock`.
#![warn(missing_docs)]

mod column_family;
mod db;
mod events;
mod family_texts;
mod files;
mod info_log;
mod job_directory;
mod jobs;
pub mod metrics;
mod option_notes;
pub mod options;
mod reads;
mod resting;
mod seqno_times;
mod settings;
mod snapshot;
mod spans;
mod sst_file;
mod super_version;
mod sync;
mod trace;
mod write;

pub use column_family::ColumnFamily;
pub use db::{
    AsyncScan, ColumnFamilyDescriptor, CompactionServiceOptionsOverride, Db, ExportImportFilesMetadata, ExportedFile,
    FileHold, GetAsync, INTEGER_PROPERTIES, IngestExternalFileArg, Iter, KeyVersion, KeyVersions, LiveFile,
    LiveFileStorageInfo, LiveFilesStorageOptions, MAP_PROPERTIES, MultiGetAsync, MultiScan, NextBatch,
    OpenAndCompactOptions, PinnedSlice, ScanBatch, ScanRange, ScanRow, StatsHistory, StatsHistoryEntry,
    TEXT_PROPERTIES, TableOverride, UserKeyRange, WalBatch, WalFile, WalIterator, WalKind, WalReadOptions, WeakDb,
    failed_compaction_result, open_and_compact,
};
pub use ferrock_base::byte_text;
pub use ferrock_base::file_checksum::FileChecksum;
pub use ferrock_base::{Comparator, Error, ErrorKind, FileNumber, Result, SequenceNumber, ValueType};
pub use ferrock_format::file_name::FileKind;
pub use ferrock_format::write_batch::WriteBatch;
pub use ferrock_options::{
    BackgroundErrorReason, BackgroundErrorRecoveryInfo, BackgroundJobPressure, BlobFileAdditionInfo,
    BlobFileCreationInfo, BlobFileGarbageInfo, ColumnFamilyHandleInfo, CompactionFileInfo, CompactionJobInfo,
    CompactionJobStats, CompactionReason, EventListener, ExternalFileIngestionInfo, FileCreationBriefInfo,
    FileDeletionInfo, FileOperationInfo, FileOperationType, FlushJobInfo, FlushReason, IoErrorInfo, ManualFlushInfo,
    MemTableInfo, SubcompactionJobInfo, TableFileCreationInfo, WaitCause, WriteStallCondition, WriteStallInfo,
};
pub use ferrock_table::DataBlockHistogram;
pub use job_directory::{FinishedJob, JobDirectory, JobDirectoryService};
pub use metrics::Metrics;
pub use options::{
    Canceller, ColumnFamilyOptions, CompactRangeOptions, CompactionOptions, DbOptions, FlushOptions,
    ImportColumnFamilyOptions, IngestExternalFileOptions, ReadOptions, WaitForCompactOptions, WriteOptions,
};
pub use snapshot::Snapshot;
pub use sst_file::{ExternalSstFileInfo, SstFileIter, SstFileReader, SstFileWriter};
pub use trace::TraceOptions;

/// What databases and threads count: give a [`Statistics`](statistics::Statistics) to
/// [`Components::statistics`](options::Components::statistics).
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// use ferrock::statistics::{Histogram, Statistics, Ticker};
/// use std::sync::Arc;
///
/// # let directory = tempfile::tempdir().unwrap();
/// let statistics = Arc::new(Statistics::default());
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// options.components.statistics = Some(Arc::clone(&statistics));
/// let db = ferrock::Db::open(directory.path(), options)?;
/// db.put(b"key", b"value")?;
/// db.get(b"key")?;
/// assert_eq!(statistics.ticker(Ticker::MemtableHit), 1);
/// assert_eq!(statistics.histogram(Histogram::DbGet).count(), 1);
/// # Ok(())
/// # }
/// ```
pub use ferrock_statistics as statistics;

/// What one thread does to files, as its level says.
///
/// ```
/// # extern crate ferrock_engine as ferrock;
/// # fn main() -> ferrock::Result<()> {
/// use ferrock::statistics::PerfLevel;
/// use ferrock::{IoMetric, IoStatsContext};
///
/// # let directory = tempfile::tempdir().unwrap();
/// let mut options = ferrock::DbOptions::default();
/// options.create_if_missing = true;
/// let db = ferrock::Db::open(directory.path(), options)?;
/// PerfLevel::EnableCount.set_of_thread();
/// IoStatsContext::reset_thread();
/// db.put(b"key", b"value")?; // into the log
/// assert!(IoStatsContext::of_thread().get(IoMetric::BytesWritten) > 8);
/// # Ok(())
/// # }
/// ```
pub use ferrock_vfs::{IoMetric, IoStatsContext};

/// For the measuring tools in `examples/` and the crates beside this one. No part of the interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::db::{LogSurvey, survey_logs};
    pub use ferrock_tree::version::measuring::{build_file_index, follow_bridge};
    pub use ferrock_tree::version::{FileMetadata, Version, VersionBuilder};
}
