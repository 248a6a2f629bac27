//! Getters of what a compaction read and wrote.

use super::Text;
use ferrock::CompactionJobStats;
use std::ffi::{c_char, c_uchar};

/// Counts of a compaction, or of a part of it.
pub struct rocksdb_compaction_job_stats_t {
    pub(super) stats: CompactionJobStats,
    smallest: Text,
    largest: Text,
}

impl rocksdb_compaction_job_stats_t {
    pub(super) fn new(stats: &CompactionJobStats) -> Self {
        let smallest = Text::new(&stats.smallest_output_key_prefix);
        let largest = Text::new(&stats.largest_output_key_prefix);
        Self { stats: stats.clone(), smallest, largest }
    }
}

/// A count as C has it.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

info_texts! {
    for rocksdb_compaction_job_stats_t:
    /// The first 8 bytes of the smallest user key written.
    fn rocksdb_compaction_job_stats_smallest_output_key_prefix = |stats| &stats.smallest;
    /// The first 8 bytes of the largest user key written.
    fn rocksdb_compaction_job_stats_largest_output_key_prefix = |stats| &stats.largest;
}

info_numbers! {
    for rocksdb_compaction_job_stats_t:
    /// How long it took, in microseconds.
    fn rocksdb_compaction_job_stats_elapsed_micros -> u64 = |stats| stats.stats.elapsed_us;
    /// Time of the processor, in microseconds: not measured, 0.
    fn rocksdb_compaction_job_stats_cpu_micros -> u64 = |stats| stats.stats.cpu_us;
    /// Whether no filter skipped entries unread.
    fn rocksdb_compaction_job_stats_has_accurate_num_input_records -> c_uchar = |stats| {
        stats.stats.has_accurate_num_input_records.into()
    };
    /// Entries read.
    fn rocksdb_compaction_job_stats_num_input_records -> u64 = |stats| stats.stats.num_input_records;
    /// Values read from blob files: not counted, 0.
    fn rocksdb_compaction_job_stats_num_blobs_read -> u64 = |stats| stats.stats.num_blobs_read;
    /// Tables read, moved or dropped.
    fn rocksdb_compaction_job_stats_num_input_files -> usize = |stats| size(stats.stats.num_input_files);
    /// Tables that only changed their level.
    fn rocksdb_compaction_job_stats_num_input_files_trivially_moved -> usize = |stats| {
        size(stats.stats.num_input_files_trivially_moved)
    };
    /// Of the inputs, those on the output level.
    fn rocksdb_compaction_job_stats_num_input_files_at_output_level -> usize = |stats| {
        size(stats.stats.num_input_files_at_output_level)
    };
    /// Inputs that were left out unread: none.
    fn rocksdb_compaction_job_stats_num_filtered_input_files -> usize = |stats| {
        size(stats.stats.num_filtered_input_files)
    };
    /// Of these, those on the output level: none.
    fn rocksdb_compaction_job_stats_num_filtered_input_files_at_output_level -> usize = |stats| {
        size(stats.stats.num_filtered_input_files_at_output_level)
    };
    /// Entries written.
    fn rocksdb_compaction_job_stats_num_output_records -> u64 = |stats| stats.stats.num_output_records;
    /// Tables written.
    fn rocksdb_compaction_job_stats_num_output_files -> usize = |stats| size(stats.stats.num_output_files);
    /// Blob files written.
    fn rocksdb_compaction_job_stats_num_output_files_blob -> usize = |stats| size(stats.stats.num_output_files_blob);
    /// Whether every table of the family was an input.
    fn rocksdb_compaction_job_stats_is_full_compaction -> c_uchar = |stats| stats.stats.is_full_compaction.into();
    /// Whether a caller asked for it.
    fn rocksdb_compaction_job_stats_is_manual_compaction -> c_uchar = |stats| stats.stats.is_manual_compaction.into();
    /// Whether another process ran it.
    fn rocksdb_compaction_job_stats_is_remote_compaction -> c_uchar = |stats| stats.stats.is_remote_compaction.into();
    /// Bytes of the tables that were inputs.
    fn rocksdb_compaction_job_stats_total_input_bytes -> u64 = |stats| stats.stats.total_input_bytes;
    /// Bytes read from blob files: not counted, 0.
    fn rocksdb_compaction_job_stats_total_blob_bytes_read -> u64 = |stats| stats.stats.total_blob_bytes_read;
    /// Bytes of the tables written.
    fn rocksdb_compaction_job_stats_total_output_bytes -> u64 = |stats| stats.stats.total_output_bytes;
    /// Bytes of the blob files written.
    fn rocksdb_compaction_job_stats_total_output_bytes_blob -> u64 = |stats| stats.stats.total_output_bytes_blob;
    /// Bytes of inputs that were left out unread: none.
    fn rocksdb_compaction_job_stats_total_skipped_input_bytes -> u64 = |stats| stats.stats.total_skipped_input_bytes;
    /// Entries that a newer one of the same key replaced.
    fn rocksdb_compaction_job_stats_num_records_replaced -> u64 = |stats| stats.stats.num_records_replaced;
    /// Bytes of the keys read.
    fn rocksdb_compaction_job_stats_total_input_raw_key_bytes -> u64 = |stats| stats.stats.total_input_raw_key_bytes;
    /// Bytes of the values read.
    fn rocksdb_compaction_job_stats_total_input_raw_value_bytes -> u64 = |stats| {
        stats.stats.total_input_raw_value_bytes
    };
    /// Tombstones read.
    fn rocksdb_compaction_job_stats_num_input_deletion_records -> u64 = |stats| stats.stats.num_input_deletion_records;
    /// Tombstones that went because nothing was left for them to delete.
    fn rocksdb_compaction_job_stats_num_expired_deletion_records -> u64 = |stats| {
        stats.stats.num_expired_deletion_records
    };
    /// Keys that could not be read: none.
    fn rocksdb_compaction_job_stats_num_corrupt_keys -> u64 = |stats| stats.stats.num_corrupt_keys;
    /// Time in appends, in nanoseconds: not measured, 0.
    fn rocksdb_compaction_job_stats_file_write_nanos -> u64 = |stats| stats.stats.file_write_ns;
    /// Time in syncs of ranges, in nanoseconds: not measured, 0.
    fn rocksdb_compaction_job_stats_file_range_sync_nanos -> u64 = |stats| stats.stats.file_range_sync_ns;
    /// Time in syncs, in nanoseconds: not measured, 0.
    fn rocksdb_compaction_job_stats_file_fsync_nanos -> u64 = |stats| stats.stats.file_fsync_ns;
    /// Time in reserving space, in nanoseconds: not measured, 0.
    fn rocksdb_compaction_job_stats_file_prepare_write_nanos -> u64 = |stats| stats.stats.file_prepare_write_ns;
    /// Single deletes that met no put: not counted, 0.
    fn rocksdb_compaction_job_stats_num_single_del_fallthru -> u64 = |stats| stats.stats.num_single_del_fallthru;
    /// Single deletes that met something else than one put.
    fn rocksdb_compaction_job_stats_num_single_del_mismatch -> u64 = |stats| stats.stats.num_single_del_mismatch;
}
