//! One event, as it waits for its listeners.

use ferrock_base::Error;
use ferrock_options::{
    BackgroundErrorReason, BackgroundErrorRecoveryInfo, BackgroundJobPressure, BlobFileCreationInfo,
    ColumnFamilyHandleInfo, CompactionJobInfo, EventListener, ExternalFileIngestionInfo, FileCreationBriefInfo,
    FileDeletionInfo, FlushJobInfo, ManualFlushInfo, MemTableInfo, SubcompactionJobInfo, TableFileCreationInfo,
    WriteStallInfo,
};

/// What happened, with all that is told of it.
pub(crate) enum Event {
    FlushBegin(Box<FlushJobInfo>),
    FlushCompleted(Box<FlushJobInfo>),
    ManualFlushScheduled(Vec<ManualFlushInfo>),
    CompactionBegin(Box<CompactionJobInfo>),
    CompactionPreCommit(Box<CompactionJobInfo>),
    CompactionCompleted(Box<CompactionJobInfo>),
    SubcompactionBegin(Box<SubcompactionJobInfo>),
    SubcompactionCompleted(Box<SubcompactionJobInfo>),
    TableFileCreationStarted(FileCreationBriefInfo),
    TableFileCreated(Box<TableFileCreationInfo>),
    TableFileDeleted(FileDeletionInfo),
    BlobFileCreationStarted(FileCreationBriefInfo),
    BlobFileCreated(Box<BlobFileCreationInfo>),
    BlobFileDeleted(FileDeletionInfo),
    MemTableSealed(MemTableInfo),
    ColumnFamilyHandleDeletionStarted(ColumnFamilyHandleInfo),
    /// Writes have stopped already: what a listener changes counts for nothing.
    BackgroundError(BackgroundErrorReason, Error),
    ErrorRecoveryEnd(Box<BackgroundErrorRecoveryInfo>),
    ExternalFileIngested(Box<ExternalFileIngestionInfo>),
    StallConditionsChanged(WriteStallInfo),
    BackgroundJobPressureChanged(BackgroundJobPressure),
    DbShutdownBegin,
}

impl Event {
    pub(super) fn deliver(&self, to: &dyn EventListener) {
        match self {
            Self::FlushBegin(info) => to.on_flush_begin(info),
            Self::FlushCompleted(info) => to.on_flush_completed(info),
            Self::ManualFlushScheduled(infos) => to.on_manual_flush_scheduled(infos),
            Self::CompactionBegin(info) => to.on_compaction_begin(info),
            Self::CompactionPreCommit(info) => to.on_compaction_pre_commit(info),
            Self::CompactionCompleted(info) => to.on_compaction_completed(info),
            Self::SubcompactionBegin(info) => to.on_subcompaction_begin(info),
            Self::SubcompactionCompleted(info) => to.on_subcompaction_completed(info),
            Self::TableFileCreationStarted(info) => to.on_table_file_creation_started(info),
            Self::TableFileCreated(info) => to.on_table_file_created(info),
            Self::TableFileDeleted(info) => to.on_table_file_deleted(info),
            Self::BlobFileCreationStarted(info) => to.on_blob_file_creation_started(info),
            Self::BlobFileCreated(info) => to.on_blob_file_created(info),
            Self::BlobFileDeleted(info) => to.on_blob_file_deleted(info),
            Self::MemTableSealed(info) => to.on_memtable_sealed(info),
            Self::ColumnFamilyHandleDeletionStarted(info) => to.on_column_family_handle_deletion_started(info),
            Self::BackgroundError(reason, error) => to.on_background_error(*reason, &mut Some(error.clone())),
            Self::ErrorRecoveryEnd(info) => {
                if info.new_error.is_none() {
                    to.on_error_recovery_completed(&info.old_error);
                }
                to.on_error_recovery_end(info);
            }
            Self::ExternalFileIngested(info) => to.on_external_file_ingested(info),
            Self::StallConditionsChanged(info) => to.on_stall_conditions_changed(info),
            Self::BackgroundJobPressureChanged(pressure) => to.on_background_job_pressure_changed(pressure),
            Self::DbShutdownBegin => to.on_db_shutdown_begin(),
        }
    }
}
