//! What all outputs of a job have in common.

use super::JobContext;
use ferrock_base::FileNumber;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_vfs::{IoPriority, WritableOptions, WritePurpose};
use std::path::Path;

/// Parameters shared by all outputs of a job.
pub(super) struct OutputPlan<'a> {
    pub(super) context: &'a JobContext,
    pub(super) level: usize,
    /// The directory, as an entry of the family's paths.
    pub(super) path_id: u32,
    pub(super) reason: TableFileCreationReason,
    pub(super) base_level: usize,
    pub(super) is_bottommost: bool,
    /// As the options say; `false`: not at all.
    pub(super) is_compressed: bool,
    /// Unix seconds of the oldest data; 0 = unknown.
    pub(super) oldest_ancestor_time: u64,
    /// Unix seconds when the newest data was there; 0 = unknown.
    pub(super) newest_key_time: u64,
    pub(super) priority: IoPriority,
    /// Values in blob files with smaller numbers are written anew, so that these files become garbage.
    pub(super) collect_blobs_below: Option<FileNumber>,
}

impl OutputPlan<'_> {
    /// True for tables of memtables.
    pub(super) fn is_flush(&self) -> bool {
        self.reason != TableFileCreationReason::Compaction
    }

    /// Where the outputs go.
    pub(super) fn directory(&self) -> &Path {
        self.context.family.table_cache.paths().directory(self.path_id)
    }

    /// How the files are created.
    pub(super) fn writable_options(&self) -> WritableOptions {
        let options = &self.context.db;
        WritableOptions {
            purpose: WritePurpose::Table,
            direct: options.use_direct_io_for_flush_and_compaction,
            bytes_per_sync: options.bytes_per_sync,
            buffer_bytes: usize::try_from(options.writable_file_max_buffer_size).unwrap_or(1 << 20),
            ..WritableOptions::default()
        }
    }
}
