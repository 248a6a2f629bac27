//! What a compaction read and wrote.

/// Counts of a compaction, or of a part of it.
///
/// The times of single calls are not measured, and 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionJobStats {
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
    /// Time of the processor, in microseconds, of the threads that ran the parts: not of those that helped to compress
    /// or to filter, and 0 for what another process ran.
    pub cpu_us: u64,
    /// False where a filter skipped entries unread, so that `num_input_records` is less than the inputs hold.
    pub has_accurate_num_input_records: bool,
    /// Entries read, without range tombstones.
    pub num_input_records: u64,
    /// Values read from blob files: not counted.
    pub num_blobs_read: u64,
    /// Tables read, moved or dropped.
    pub num_input_files: u64,
    /// Tables that only changed their level.
    pub num_input_files_trivially_moved: u64,
    /// Of the inputs, those on the output level.
    pub num_input_files_at_output_level: u64,
    /// Inputs that were left out unread: none.
    pub num_filtered_input_files: u64,
    /// Of these, those on the output level: none.
    pub num_filtered_input_files_at_output_level: u64,
    /// Entries written, range tombstones among them.
    pub num_output_records: u64,
    /// Tables written.
    pub num_output_files: u64,
    /// Blob files written.
    pub num_output_files_blob: u64,
    /// Every table of the family was an input.
    pub is_full_compaction: bool,
    /// A caller asked for it.
    pub is_manual_compaction: bool,
    /// Another process ran it.
    pub is_remote_compaction: bool,
    /// Bytes of the tables that were inputs.
    pub total_input_bytes: u64,
    /// Bytes read from blob files: not counted.
    pub total_blob_bytes_read: u64,
    /// Bytes of the tables written.
    pub total_output_bytes: u64,
    /// Bytes of the blob files written.
    pub total_output_bytes_blob: u64,
    /// Bytes of inputs that were left out unread: none.
    pub total_skipped_input_bytes: u64,
    /// Entries that a newer one of the same key replaced.
    pub num_records_replaced: u64,
    /// Bytes of the keys read.
    pub total_input_raw_key_bytes: u64,
    /// Bytes of the values read.
    pub total_input_raw_value_bytes: u64,
    /// Tombstones read.
    pub num_input_deletion_records: u64,
    /// Tombstones that went because nothing was left for them to delete.
    pub num_expired_deletion_records: u64,
    /// Keys that could not be read: a compaction that meets one fails.
    pub num_corrupt_keys: u64,
    /// Time in appends, in nanoseconds: not measured.
    pub file_write_ns: u64,
    /// Time in syncs of ranges, in nanoseconds: not measured.
    pub file_range_sync_ns: u64,
    /// Time in syncs, in nanoseconds: not measured.
    pub file_fsync_ns: u64,
    /// Time in reserving space, in nanoseconds: not measured.
    pub file_prepare_write_ns: u64,
    /// The first 8 bytes of the smallest user key written.
    pub smallest_output_key_prefix: Vec<u8>,
    /// The first 8 bytes of the largest user key written.
    pub largest_output_key_prefix: Vec<u8>,
    /// Single deletes that met no put: not counted.
    pub num_single_del_fallthru: u64,
    /// Single deletes that met something else than one put.
    pub num_single_del_mismatch: u64,
}

impl Default for CompactionJobStats {
    fn default() -> Self {
        Self {
            elapsed_us: 0,
            cpu_us: 0,
            has_accurate_num_input_records: true,
            num_input_records: 0,
            num_blobs_read: 0,
            num_input_files: 0,
            num_input_files_trivially_moved: 0,
            num_input_files_at_output_level: 0,
            num_filtered_input_files: 0,
            num_filtered_input_files_at_output_level: 0,
            num_output_records: 0,
            num_output_files: 0,
            num_output_files_blob: 0,
            is_full_compaction: false,
            is_manual_compaction: false,
            is_remote_compaction: false,
            total_input_bytes: 0,
            total_blob_bytes_read: 0,
            total_output_bytes: 0,
            total_output_bytes_blob: 0,
            total_skipped_input_bytes: 0,
            num_records_replaced: 0,
            total_input_raw_key_bytes: 0,
            total_input_raw_value_bytes: 0,
            num_input_deletion_records: 0,
            num_expired_deletion_records: 0,
            num_corrupt_keys: 0,
            file_write_ns: 0,
            file_range_sync_ns: 0,
            file_fsync_ns: 0,
            file_prepare_write_ns: 0,
            smallest_output_key_prefix: Vec::new(),
            largest_output_key_prefix: Vec::new(),
            num_single_del_fallthru: 0,
            num_single_del_mismatch: 0,
        }
    }
}
