//! Events that a caller can listen to: [`EventListener`], and what it is told.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | the trait |
//! | `jobs.rs`, `job_stats.rs` | infos of flushes, compactions, memtables, stalls |
//! | `files.rs` | infos of files |
//! | `reasons.rs` | enums with RocksDB's numbers |
//! | `file_io.rs` | from the operations on files to listeners |
//!
//! `docs/events.md` says when each function is called, by which thread and in which order.

mod file_io;
mod files;
mod job_stats;
mod jobs;
mod reasons;

pub use file_io::observe_files;
pub use files::{
    BlobFileCreationInfo, FileCreationBriefInfo, FileDeletionInfo, FileOperationInfo, IoErrorInfo,
    TableFileCreationInfo,
};
pub use job_stats::CompactionJobStats;
pub use jobs::{
    BackgroundErrorRecoveryInfo, BackgroundJobPressure, BlobFileAdditionInfo, BlobFileGarbageInfo,
    ColumnFamilyHandleInfo, CompactionFileInfo, CompactionJobInfo, ExternalFileIngestionInfo, FlushJobInfo,
    ManualFlushInfo, MemTableInfo, SubcompactionJobInfo, WaitCause, WriteStallCondition, WriteStallInfo,
};
pub use reasons::{BackgroundErrorReason, CompactionReason, FileOperationType, FlushReason};

use ferrock_base::Error;

/// Is told of what happens in a database. Every function does nothing unless a listener has it.
///
/// But for those about operations on files, no lock of the database is held while a function is called, so it may call
/// the database: a listener that is to do so keeps a `WeakDb`. It must not wait for background work (a flush or a
/// compaction that it asks for and waits for, a write that is stopped): the thread that calls it may be the one that
/// does that work. A slow listener slows the job it is told of.
///
/// The listeners of a database are called one after the other, in the order of the options.
///
/// ```
/// use ferrock_options::{CompactionJobInfo, EventListener, FlushJobInfo};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// /// Counts the bytes that flushes and compactions write.
/// #[derive(Default)]
/// struct Written {
///     by_flushes: AtomicU64,
///     by_compactions: AtomicU64,
/// }
///
/// impl EventListener for Written {
///     fn on_flush_completed(&self, info: &FlushJobInfo) {
///         self.by_flushes.fetch_add(info.file_size_bytes, Ordering::Relaxed);
///     }
///
///     fn on_compaction_completed(&self, info: &CompactionJobInfo) {
///         if info.status.is_ok() {
///             self.by_compactions.fetch_add(info.stats.total_output_bytes, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
///
/// It becomes one of `DbOptions::components.listeners` before the database is opened.
pub trait EventListener: Send + Sync {
    /// A flush of a family begins.
    fn on_flush_begin(&self, info: &FlushJobInfo) {
        let _ = info;
    }
    /// A flush of a family was installed: readers find what it wrote.
    fn on_flush_completed(&self, info: &FlushJobInfo) {
        let _ = info;
    }
    /// A caller asked for a flush, which has not begun or just has. Several families: an atomic flush.
    fn on_manual_flush_scheduled(&self, infos: &[ManualFlushInfo]) {
        let _ = infos;
    }
    /// A compaction is about to read its inputs.
    fn on_compaction_begin(&self, info: &CompactionJobInfo) {
        let _ = info;
    }
    /// A compaction has written its outputs and is about to be installed. Its inputs are still marked: no other
    /// compaction takes them. Not called where it failed before.
    fn on_compaction_pre_commit(&self, info: &CompactionJobInfo) {
        let _ = info;
    }
    /// A compaction ended, installed or failed.
    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        let _ = info;
    }
    /// A part of a compaction begins, on its thread.
    fn on_subcompaction_begin(&self, info: &SubcompactionJobInfo) {
        let _ = info;
    }
    /// A part of a compaction ended, on its thread.
    fn on_subcompaction_completed(&self, info: &SubcompactionJobInfo) {
        let _ = info;
    }
    /// A table is about to be written.
    fn on_table_file_creation_started(&self, info: &FileCreationBriefInfo) {
        let _ = info;
    }
    /// A table was written, or could not be. It is not part of the database yet.
    fn on_table_file_created(&self, info: &TableFileCreationInfo) {
        let _ = info;
    }
    /// A table was removed, or could not be.
    fn on_table_file_deleted(&self, info: &FileDeletionInfo) {
        let _ = info;
    }
    /// A blob file is about to be written by a flush or a compaction.
    fn on_blob_file_creation_started(&self, info: &FileCreationBriefInfo) {
        let _ = info;
    }
    /// A blob file was written, or could not be. It is not part of the database yet.
    fn on_blob_file_created(&self, info: &BlobFileCreationInfo) {
        let _ = info;
    }
    /// A blob file was removed, or could not be.
    fn on_blob_file_deleted(&self, info: &FileDeletionInfo) {
        let _ = info;
    }
    /// A memtable takes no more writes. Called before the flush of it begins.
    fn on_memtable_sealed(&self, info: &MemTableInfo) {
        let _ = info;
    }
    /// A call begins to drop a column family.
    fn on_column_family_handle_deletion_started(&self, info: &ColumnFamilyHandleInfo) {
        let _ = info;
    }
    /// A file was ingested: reads see it. Called by the thread that ingests it.
    fn on_external_file_ingested(&self, info: &ExternalFileIngestionInfo) {
        let _ = info;
    }
    /// Something failed in the background. After a flush, a compaction, or the opening of tables behind an open, writes
    /// stop for what `error` is when all listeners were called: `None` lets them go on, and the work is tried again
    /// after a second. After any other failure the log or the MANIFEST may end in the middle of a record, writes have
    /// stopped already, and what a listener changes counts for nothing.
    fn on_background_error(&self, reason: BackgroundErrorReason, error: &mut Option<Error>) {
        let _ = (reason, error);
    }
    /// The database begins to try, without a call, to leave the background-error state. With `auto_recovery` set to
    /// false it does not, and `Db::resume` has to.
    fn on_error_recovery_begin(&self, reason: BackgroundErrorReason, error: &Error, auto_recovery: &mut bool) {
        let _ = (reason, error, auto_recovery);
    }
    /// The database accepts writes again, for which it had stopped with `old_error`. RocksDB has this function for old
    /// listeners; [`on_error_recovery_end`](Self::on_error_recovery_end) is called after it.
    fn on_error_recovery_completed(&self, old_error: &Error) {
        let _ = old_error;
    }
    /// The database accepts writes again, or it stopped trying.
    fn on_error_recovery_end(&self, info: &BackgroundErrorRecoveryInfo) {
        let _ = info;
    }
    /// Writers of a family are slowed down, stopped, or free again. Called by a thread of its own, one change after the
    /// other in the order in which they happened: a listener may write to the database, although a writer waits.
    /// Closing the database waits for what was not told yet, unless a listener closes it.
    fn on_stall_conditions_changed(&self, info: &WriteStallInfo) {
        let _ = info;
    }
    /// A flush or a compaction in the background ended.
    fn on_background_job_pressure_changed(&self, pressure: &BackgroundJobPressure) {
        let _ = pressure;
    }
    /// The database begins to close. Jobs may still run, and other functions be called meanwhile and after it.
    fn on_db_shutdown_begin(&self) {}
    /// Whether the functions about operations on files are called. Asked when a database is opened: with one listener
    /// that says so, all files of the database are read and written through a layer that takes the time.
    fn should_be_notified_on_file_io(&self) -> bool {
        false
    }
    /// A file was read. As of all functions about operations on files: called where the operation is made, which may
    /// be under locks of the database. It must not call the database.
    fn on_file_read_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// Bytes were added to a file.
    fn on_file_write_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// Bytes in the buffer of a file went to the operating system.
    fn on_file_flush_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// A file was made durable.
    fn on_file_sync_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// A range of a file was handed to the device. Not called: the file system does it within its writes.
    fn on_file_range_sync_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// A file got another length.
    fn on_file_truncate_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// A file was closed.
    fn on_file_close_finish(&self, info: &FileOperationInfo) {
        let _ = info;
    }
    /// An operation on a file failed. Only for a listener that asks for
    /// [operations on files](Self::should_be_notified_on_file_io).
    fn on_io_error(&self, info: &IoErrorInfo) {
        let _ = info;
    }
}
