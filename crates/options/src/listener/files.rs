//! What listeners are told of files.

use super::reasons::FileOperationType;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{Error, Result, Temperature};
use ferrock_format::properties::TableProperties;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A table or blob file that a job begins to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCreationBriefInfo {
    /// The directory of the database.
    pub db_name: PathBuf,
    /// The column family.
    pub column_family: String,
    /// The file.
    pub file_path: PathBuf,
    /// Number of the job, as the infos of flushes and compactions have it.
    pub job_id: u64,
    /// Which job writes it.
    pub reason: TableFileCreationReason,
}

/// A table that a job wrote, or failed to write.
#[derive(Clone, Debug)]
pub struct TableFileCreationInfo {
    /// The same as when it began.
    pub file: FileCreationBriefInfo,
    /// Its bytes; 0 where it failed.
    pub file_size_bytes: u64,
    /// Its properties; defaults where it failed.
    pub table_properties: Arc<TableProperties>,
    /// How it ended. `Aborted` for a table that would have been empty, and is not kept.
    pub status: Result<()>,
    /// The checksum of the file; empty without `file_checksum_gen_factory`.
    pub file_checksum: Vec<u8>,
    /// The function that computed it; empty without one.
    pub file_checksum_func_name: String,
}

/// A blob file that a job wrote, or failed to write.
#[derive(Clone, Debug)]
pub struct BlobFileCreationInfo {
    /// The same as when it began.
    pub file: FileCreationBriefInfo,
    /// Values in it.
    pub total_blob_count: u64,
    /// Bytes of these, with their keys and headers.
    pub total_blob_bytes: u64,
    /// How it ended.
    pub status: Result<()>,
    /// The checksum of the file; empty without `file_checksum_gen_factory`.
    pub file_checksum: Vec<u8>,
    /// The function that computed it; empty without one.
    pub file_checksum_func_name: String,
}

/// A table or blob file that was removed, or could not be.
#[derive(Clone, Debug)]
pub struct FileDeletionInfo {
    /// The directory of the database.
    pub db_name: PathBuf,
    /// The file.
    pub file_path: PathBuf,
    /// Number of the job that removed it: not known, 0.
    pub job_id: u64,
    /// How it ended. With an `SstFileManager` it is `Ok` when the file has become trash, which goes at its rate.
    pub status: Result<()>,
}

/// An operation on a file that ended.
#[derive(Clone, Debug)]
pub struct FileOperationInfo {
    /// What was done.
    pub operation: FileOperationType,
    /// The file.
    pub path: PathBuf,
    /// Its temperature, as far as it is known.
    pub temperature: Temperature,
    /// Where it began, in bytes; 0 where that means nothing.
    pub offset: u64,
    /// How many bytes it was about; 0 where that means nothing.
    pub length: u64,
    /// How long it took.
    pub duration: Duration,
    /// When it began, in microseconds since 1970.
    pub start_unix_us: u64,
    /// How it ended.
    pub status: Result<()>,
}

/// An operation on a file that failed.
#[derive(Clone, Debug)]
pub struct IoErrorInfo {
    /// The error.
    pub error: Error,
    /// What was done.
    pub operation: FileOperationType,
    /// The file.
    pub file_path: PathBuf,
    /// How many bytes it was about.
    pub length: u64,
    /// Where it began, in bytes.
    pub offset: u64,
}
