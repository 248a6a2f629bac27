//! Getters of what is told of a flush.

use super::Text;
use super::blob_files::rocksdb_blob_file_addition_info_t;
use super::table_properties::rocksdb_table_properties_t;
use ferrock::FlushJobInfo;
use std::ffi::{c_char, c_int, c_uchar};

/// A flush that begins or ended.
pub struct rocksdb_flushjobinfo_t {
    info: FlushJobInfo,
    name: Text,
    path: Text,
    properties: rocksdb_table_properties_t,
    blob_files: Vec<rocksdb_blob_file_addition_info_t>,
}

impl rocksdb_flushjobinfo_t {
    pub(super) fn new(info: &FlushJobInfo) -> Self {
        Self {
            info: info.clone(),
            name: Text::of_name(&info.column_family),
            path: Text::of_path(&info.file_path),
            properties: rocksdb_table_properties_t::new(&info.table_properties),
            blob_files: rocksdb_blob_file_addition_info_t::all(&info.blob_file_addition_infos),
        }
    }
}

info_texts! {
    for rocksdb_flushjobinfo_t:
    /// The name of the column family.
    fn rocksdb_flushjobinfo_cf_name = |info| &info.name;
    /// The table; empty when the flush begins.
    fn rocksdb_flushjobinfo_file_path = |info| &info.path;
}

info_numbers! {
    for rocksdb_flushjobinfo_t:
    /// The number of the column family.
    fn rocksdb_flushjobinfo_cf_id -> u32 = |info| info.info.column_family_id;
    /// The number of the table; 0 when the flush begins.
    fn rocksdb_flushjobinfo_file_number -> u64 = |info| info.info.file_number.unwrap_or_default().0;
    /// The oldest blob file that the table refers to; 0 without one.
    fn rocksdb_flushjobinfo_oldest_blob_file_number -> u64 = |info| {
        info.info.oldest_blob_file_number.unwrap_or_default().0
    };
    /// The thread that flushes.
    fn rocksdb_flushjobinfo_thread_id -> u64 = |info| info.info.thread_id;
    /// The number of the job.
    fn rocksdb_flushjobinfo_job_id -> c_int = |info| super::int(info.info.job_id);
    /// Whether level 0 has as many files as slow writers down.
    fn rocksdb_flushjobinfo_triggered_writes_slowdown -> c_uchar = |info| info.info.triggered_writes_slowdown.into();
    /// Whether level 0 has as many files as stop writers.
    fn rocksdb_flushjobinfo_triggered_writes_stop -> c_uchar = |info| info.info.triggered_writes_stop.into();
    /// The smallest sequence number.
    fn rocksdb_flushjobinfo_smallest_seqno -> u64 = |info| info.info.smallest_seqno.0;
    /// The largest sequence number.
    fn rocksdb_flushjobinfo_largest_seqno -> u64 = |info| info.info.largest_seqno.0;
    /// Why, as a number of RocksDB's.
    fn rocksdb_flushjobinfo_flush_reason -> u32 = |info| info.info.flush_reason.number();
    /// How values in blob files are compressed.
    fn rocksdb_flushjobinfo_blob_compression_type -> u32 = |info| info.info.blob_compression_type as u32;
    /// How many blob files belong to the table.
    fn rocksdb_flushjobinfo_blob_file_addition_infos_count -> usize = |info| info.blob_files.len();
}

info_parts! {
    for rocksdb_flushjobinfo_t:
    /// The properties of the table.
    fn rocksdb_flushjobinfo_table_properties -> rocksdb_table_properties_t = |info| &info.properties;
}

info_elements! {
    for rocksdb_flushjobinfo_t:
    /// One of the blob files.
    fn rocksdb_flushjobinfo_blob_file_addition_info_at -> rocksdb_blob_file_addition_info_t = |info| &info.blob_files;
}
