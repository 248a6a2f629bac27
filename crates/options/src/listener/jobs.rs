//! What listeners are told of flushes, compactions, memtables and families.

use super::job_stats::CompactionJobStats;
use super::reasons::{CompactionReason, FlushReason};
use crate::CompressionType;
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_format::properties::TableProperties;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A blob file that a job wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobFileAdditionInfo {
    /// The file.
    pub path: PathBuf,
    /// Its number.
    pub file_number: FileNumber,
    /// Values in it.
    pub total_blob_count: u64,
    /// Bytes of these, with their keys and headers.
    pub total_blob_bytes: u64,
}

/// Values in a blob file that nothing refers to any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobFileGarbageInfo {
    /// The file.
    pub path: PathBuf,
    /// Its number.
    pub file_number: FileNumber,
    /// How many.
    pub garbage_blob_count: u64,
    /// Their bytes, with their keys and headers.
    pub garbage_blob_bytes: u64,
}

/// A flush of one column family that begins or ended.
#[derive(Clone, Debug)]
pub struct FlushJobInfo {
    /// Number of the column family.
    pub column_family_id: u32,
    /// Its name.
    pub column_family: String,
    /// The table; empty when the flush begins, and when all in the memtables cancelled out.
    pub file_path: PathBuf,
    /// Its number; `None` as above.
    pub file_number: Option<FileNumber>,
    /// Bytes of the table; 0 as above.
    pub file_size_bytes: u64,
    /// The oldest blob file that the table refers to.
    pub oldest_blob_file_number: Option<FileNumber>,
    /// The thread that flushes, as a number that no other thread of the process has.
    pub thread_id: u64,
    /// Number of the job, unique while the database is open. An atomic flush is one job of several families.
    pub job_id: u64,
    /// Level 0 has as many files as slow writers down.
    pub triggered_writes_slowdown: bool,
    /// Level 0 has as many files as stop writers.
    pub triggered_writes_stop: bool,
    /// Smallest sequence number of the memtables, and of the table when there is one.
    pub smallest_seqno: SequenceNumber,
    /// The largest one.
    pub largest_seqno: SequenceNumber,
    /// Of the table; defaults where there is none yet.
    pub table_properties: Arc<TableProperties>,
    /// Why.
    pub flush_reason: FlushReason,
    /// How values in blob files are compressed.
    pub blob_compression_type: CompressionType,
    /// Blob files that belong to the table.
    pub blob_file_addition_infos: Vec<BlobFileAdditionInfo>,
}

/// A flush that a caller asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualFlushInfo {
    /// Number of the column family.
    pub column_family_id: u32,
    /// Its name.
    pub column_family: String,
    /// What the caller did.
    pub flush_reason: FlushReason,
}

/// A table that is an input or an output of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionFileInfo {
    /// Its level.
    pub level: usize,
    /// Its number.
    pub file_number: FileNumber,
    /// The oldest blob file that it refers to.
    pub oldest_blob_file_number: Option<FileNumber>,
}

/// A compaction that begins, is about to be installed, or ended.
#[derive(Clone, Debug)]
pub struct CompactionJobInfo {
    /// Number of the column family.
    pub column_family_id: u32,
    /// Its name.
    pub column_family: String,
    /// How it ended; `Ok` until then.
    pub status: Result<()>,
    /// The thread that compacts, as a number that no other thread of the process has.
    pub thread_id: u64,
    /// Number of the job, unique while the database is open.
    pub job_id: u64,
    /// Tables in level 0 now.
    pub num_l0_files: usize,
    /// The first level read.
    pub base_input_level: usize,
    /// The level written.
    pub output_level: usize,
    /// Tables read.
    pub input_files: Vec<PathBuf>,
    /// The same with their levels, in the same order.
    pub input_file_infos: Vec<CompactionFileInfo>,
    /// Tables written, or moved; empty when it begins.
    pub output_files: Vec<PathBuf>,
    /// The same with their levels, in the same order.
    pub output_file_infos: Vec<CompactionFileInfo>,
    /// The properties of the inputs and outputs that could be read, by their paths.
    pub table_properties: BTreeMap<PathBuf, Arc<TableProperties>>,
    /// Why.
    pub compaction_reason: CompactionReason,
    /// How the outputs are compressed.
    pub compression: CompressionType,
    /// What was read and written; what is known before the end when it begins.
    pub stats: CompactionJobStats,
    /// How values in blob files are compressed.
    pub blob_compression_type: CompressionType,
    /// Blob files written.
    pub blob_file_addition_infos: Vec<BlobFileAdditionInfo>,
    /// Values in blob files that are garbage from now on.
    pub blob_file_garbage_infos: Vec<BlobFileGarbageInfo>,
    /// A call or the end of the database stopped it.
    pub aborted: bool,
}

/// A part of a compaction that begins or ended. A compaction that is not divided has one part; one that reads nothing
/// has none.
#[derive(Clone, Debug)]
pub struct SubcompactionJobInfo {
    /// Number of the column family.
    pub column_family_id: u32,
    /// Its name.
    pub column_family: String,
    /// How it ended; `Ok` when it begins.
    pub status: Result<()>,
    /// The thread of the part, as a number that no other thread of the process has.
    pub thread_id: u64,
    /// Number of the compaction.
    pub job_id: u64,
    /// Number of the part within it.
    pub subcompaction_job_id: usize,
    /// The first level read.
    pub base_input_level: usize,
    /// The level written.
    pub output_level: usize,
    /// Why.
    pub compaction_reason: CompactionReason,
    /// How the outputs are compressed.
    pub compression: CompressionType,
    /// What the part read and wrote; defaults when it begins.
    pub stats: CompactionJobStats,
    /// How values in blob files are compressed.
    pub blob_compression_type: CompressionType,
}

/// A memtable that takes no more writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemTableInfo {
    /// The column family.
    pub column_family: String,
    /// Sequence number of the first entry.
    pub first_seqno: SequenceNumber,
    /// No entry has a smaller sequence number: any write with this one or a larger one is in this memtable or a later
    /// one.
    pub earliest_seqno: SequenceNumber,
    /// Entries.
    pub num_entries: u64,
    /// Of them, deletions.
    pub num_deletes: u64,
    /// The newest timestamp; empty, as there are no timestamps.
    pub newest_udt: Vec<u8>,
}

/// A column family that begins to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFamilyHandleInfo {
    /// Number of the column family.
    pub column_family_id: u32,
    /// Its name.
    pub column_family: String,
}

/// A file that was ingested.
#[derive(Clone, Debug)]
pub struct ExternalFileIngestionInfo {
    /// The column family.
    pub column_family: String,
    /// The file as it was given.
    pub external_file_path: PathBuf,
    /// The file in the database.
    pub internal_file_path: PathBuf,
    /// The sequence number that its entries have; 0: those that the file says.
    pub global_seqno: SequenceNumber,
    /// Its properties.
    pub table_properties: Arc<TableProperties>,
}

/// The end of a background-error state, or of the attempts to leave it.
#[derive(Clone, Debug)]
pub struct BackgroundErrorRecoveryInfo {
    /// The error for which writes were stopped.
    pub old_error: Error,
    /// The error for which they still are; `None` when they are accepted again.
    pub new_error: Option<Error>,
}

/// How writers are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WriteStallCondition {
    /// At full speed.
    #[default]
    Normal,
    /// Slowed down.
    Delayed,
    /// They wait.
    Stopped,
}

impl WriteStallCondition {
    /// RocksDB's number.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Delayed => 0,
            Self::Stopped => 1,
            Self::Normal => 2,
        }
    }

    /// A word for reports and the LOG: `delayed`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Delayed => "delayed",
            Self::Stopped => "stopped",
        }
    }
}

/// Why writers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WaitCause {
    /// Too many memtables waited for their flush.
    Memtables,
    /// Level 0 had too many files.
    Level0Files,
    /// Too many bytes waited for compactions.
    PendingCompactionBytes,
    /// The memtables of all databases that share a write buffer manager, or a memory budget, held too much.
    WriteBufferManager,
    /// No family asked for it: the debt came near to a limit, or a delay had ended and the rate was rising again.
    LoomingDebt,
}

impl WaitCause {
    /// Every cause.
    pub const ALL: [Self; 5] =
        [Self::Memtables, Self::Level0Files, Self::PendingCompactionBytes, Self::WriteBufferManager, Self::LoomingDebt];

    /// A word for reports and the LOG: `level0_files`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memtables => "memtables",
            Self::Level0Files => "level0_files",
            Self::PendingCompactionBytes => "pending_compaction_bytes",
            Self::WriteBufferManager => "write_buffer_manager",
            Self::LoomingDebt => "looming_debt",
        }
    }
}

/// A column family, or the memory of all memtables, has writers treated in another way. The most severe condition of
/// all families holds for the writers of all of them.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; }
/// use ferrock::{EventListener, WriteStallInfo};
///
/// struct Printer;
///
/// impl EventListener for Printer {
///     fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
///         println!("{}: {} for {}", info.column_family, info.current.name(), info.cause.name());
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStallInfo {
    /// The column family; empty where [`WaitCause::WriteBufferManager`] is the cause, which is of none.
    pub column_family: String,
    /// Why writers are held back from now on; where `current` is normal, why they were.
    pub cause: WaitCause,
    /// The condition until now.
    pub previous: WriteStallCondition,
    /// The condition from now on.
    pub current: WriteStallCondition,
}

/// How busy the jobs of a database are, and how near its writers are to a stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackgroundJobPressure {
    /// Compactions that have their place.
    pub compaction_scheduled: usize,
    /// Compactions that run, those of callers among them.
    pub compaction_running: usize,
    /// Of those with a place, those not for the threads of the last level.
    pub compaction_low_scheduled: usize,
    /// Of those that run, the same.
    pub compaction_low_running: usize,
    /// Compactions into the last level that wait for its own threads, or have one: not told apart, 0.
    pub compaction_bottom_scheduled: usize,
    /// Of those that run, the same: 0.
    pub compaction_bottom_running: usize,
    /// Flushes that have their place.
    pub flush_scheduled: usize,
    /// Flushes that run.
    pub flush_running: usize,
    /// The part of the way to the first slowdown, in percent, of the family that is nearest; over 100 behind it.
    pub write_stall_proximity_pct: u32,
    /// Writers are slowed down or stopped, or about to be.
    pub compaction_speedup_active: bool,
}
