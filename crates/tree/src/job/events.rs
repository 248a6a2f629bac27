//! What a job tells its caller of files and parts while it runs, and the counts that it gives of itself.

use super::JobOutput;
use crate::compaction::choice::CompactionChoice;
use crate::compaction::iterator::DroppedEntries;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::file_checksum::FileChecksum;
use ferrock_base::internal_key::user_key;
use ferrock_base::{Error, FileNumber, Result, SequenceNumber};
use ferrock_format::properties::TableProperties;
use ferrock_options::CompactionJobStats;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::JobEnv;

/// Bytes of a key that the counts of a compaction give of its ends.
const KEY_PREFIX_BYTES: usize = 8;

/// A file that a job is about to write.
#[derive(Clone, Copy, Debug)]
pub struct FileBegun<'a> {
    /// The name that it will have.
    pub path: &'a Path,
    /// A blob file, not a table.
    pub is_blob_file: bool,
    /// The family.
    pub column_family: &'a str,
    /// Why.
    pub reason: TableFileCreationReason,
}

/// What was written.
#[derive(Clone, Debug)]
pub enum FileWritten {
    /// A table.
    Table {
        /// Its bytes.
        size_bytes: u64,
        /// The checksum of the file, if it has one.
        checksum: Option<FileChecksum>,
        /// Its properties.
        properties: Arc<TableProperties>,
        /// The smallest sequence number in it.
        smallest_seqno: SequenceNumber,
        /// The largest.
        largest_seqno: SequenceNumber,
        /// The oldest blob file that it refers to.
        oldest_blob_file_number: Option<FileNumber>,
    },
    /// A blob file.
    Blob {
        /// Values.
        count: u64,
        /// Their bytes, with their keys and headers.
        bytes: u64,
        /// The checksum of the file, if it has one.
        checksum: Option<FileChecksum>,
    },
}

/// A file that a job has written, or failed to write.
#[derive(Clone, Debug)]
pub struct FileEnded<'a> {
    /// As it began.
    pub file: FileBegun<'a>,
    /// What became of it.
    pub result: Result<FileWritten>,
}

/// Tells of one file after the other of a job that it began, and how it ended.
pub(super) struct FileTold<'a> {
    env: &'a dyn JobEnv,
    column_family: &'a str,
    reason: TableFileCreationReason,
    is_blob_file: bool,
    open: Option<PathBuf>,
}

impl<'a> FileTold<'a> {
    pub(super) fn new(
        env: &'a dyn JobEnv,
        column_family: &'a str,
        reason: TableFileCreationReason,
        is_blob_file: bool,
    ) -> Self {
        Self { env, column_family, reason, is_blob_file, open: None }
    }

    fn file<'b>(&self, path: &'b Path) -> FileBegun<'b>
    where
        'a: 'b,
    {
        FileBegun { path, is_blob_file: self.is_blob_file, column_family: self.column_family, reason: self.reason }
    }

    pub(super) fn begin(&mut self, path: PathBuf) {
        self.env.note_file_begun(&self.file(&path));
        self.open = Some(path);
    }

    pub(super) fn end(&mut self, result: Result<FileWritten>) {
        if let Some(path) = self.open.take() {
            self.env.note_file_ended(&FileEnded { file: self.file(&path), result });
        }
    }

    /// The job ended: a file that is still open will not be complete.
    pub(super) fn end_with(&mut self, result: &Result<()>) {
        if self.open.is_some() {
            let unfinished = || Error::new(ferrock_base::ErrorKind::Aborted, "the file was not completed");
            self.end(Err(result.as_ref().err().cloned().unwrap_or_else(unfinished)));
        }
    }
}

/// What a part of a compaction read and wrote. `cpu_us`: what its thread took of the processor.
pub(super) fn stats_of_part(dropped: &DroppedEntries, output: &JobOutput, cpu_us: u64) -> CompactionJobStats {
    CompactionJobStats {
        cpu_us,
        has_accurate_num_input_records: !dropped.skipped_by_filter,
        num_input_records: dropped.input_entries,
        total_input_raw_key_bytes: dropped.input_key_bytes,
        total_input_raw_value_bytes: dropped.input_value_bytes,
        num_input_deletion_records: dropped.input_deletions,
        num_expired_deletion_records: dropped.obsolete,
        num_records_replaced: dropped.hidden,
        num_single_del_mismatch: dropped.single_delete_mismatches,
        ..stats_of_output(output)
    }
}

/// What a job wrote.
pub(super) fn stats_of_output(output: &JobOutput) -> CompactionJobStats {
    let prefix = |key: &[u8]| user_key(key).iter().copied().take(KEY_PREFIX_BYTES).collect::<Vec<u8>>();
    CompactionJobStats {
        num_output_records: output.properties.values().map(|properties| properties.num_entries).sum(),
        num_output_files: output.files.len() as u64,
        num_output_files_blob: output.blob_files.len() as u64,
        total_output_bytes: output.files.iter().map(|file| file.size_bytes).sum(),
        total_output_bytes_blob: output.blob_size_bytes(),
        smallest_output_key_prefix: output.files.first().map(|file| prefix(&file.smallest)).unwrap_or_default(),
        largest_output_key_prefix: output.files.last().map(|file| prefix(&file.largest)).unwrap_or_default(),
        ..CompactionJobStats::default()
    }
}

/// What is known of a compaction before it begins.
#[must_use]
pub fn stats_of_inputs(choice: &CompactionChoice, is_manual: bool) -> CompactionJobStats {
    let at_output_level = choice.inputs.iter().filter(|inputs| inputs.level == choice.output_level);
    CompactionJobStats {
        num_input_files: choice.input_files().count() as u64,
        num_input_files_at_output_level: at_output_level.map(|inputs| inputs.files.len() as u64).sum(),
        total_input_bytes: choice.input_size_bytes(),
        is_full_compaction: choice.is_full(),
        is_manual_compaction: is_manual,
        ..CompactionJobStats::default()
    }
}
