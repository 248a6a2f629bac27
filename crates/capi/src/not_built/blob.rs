//! Blob files.

use super::events::{rocksdb_compaction_file_info_t, rocksdb_compactionjobinfo_t, rocksdb_flushjobinfo_t};
use super::{not_built, unbuilt_types};
use std::ffi::c_char;

unbuilt_types! {
    rocksdb_blob_file_addition_info_t, rocksdb_blob_file_garbage_info_t,
}

not_built! {
    fn rocksdb_flushjobinfo_oldest_blob_file_number(info: *const rocksdb_flushjobinfo_t) -> u64 = neutral;
    fn rocksdb_compaction_file_info_oldest_blob_file_number(
        info: *const rocksdb_compaction_file_info_t,
    ) -> u64 = neutral;
    fn rocksdb_blob_file_addition_info_blob_file_path(
        info: *const rocksdb_blob_file_addition_info_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_blob_file_addition_info_blob_file_number(
        info: *const rocksdb_blob_file_addition_info_t,
    ) -> u64 = neutral;
    fn rocksdb_blob_file_addition_info_total_blob_count(
        info: *const rocksdb_blob_file_addition_info_t,
    ) -> u64 = neutral;
    fn rocksdb_blob_file_addition_info_total_blob_bytes(
        info: *const rocksdb_blob_file_addition_info_t,
    ) -> u64 = neutral;
    fn rocksdb_blob_file_garbage_info_blob_file_path(
        info: *const rocksdb_blob_file_garbage_info_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_blob_file_garbage_info_blob_file_number(
        info: *const rocksdb_blob_file_garbage_info_t,
    ) -> u64 = neutral;
    fn rocksdb_blob_file_garbage_info_garbage_blob_count(
        info: *const rocksdb_blob_file_garbage_info_t,
    ) -> u64 = neutral;
    fn rocksdb_blob_file_garbage_info_garbage_blob_bytes(
        info: *const rocksdb_blob_file_garbage_info_t,
    ) -> u64 = neutral;
    fn rocksdb_flushjobinfo_blob_file_addition_infos_count(info: *const rocksdb_flushjobinfo_t) -> usize = neutral;
    fn rocksdb_flushjobinfo_blob_file_addition_info_at(
        info: *const rocksdb_flushjobinfo_t, pos: usize,
    ) -> *const rocksdb_blob_file_addition_info_t = neutral;
    fn rocksdb_compactionjobinfo_blob_file_addition_infos_count(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize = neutral;
    fn rocksdb_compactionjobinfo_blob_file_addition_info_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize,
    ) -> *const rocksdb_blob_file_addition_info_t = neutral;
    fn rocksdb_compactionjobinfo_blob_file_garbage_infos_count(
        info: *const rocksdb_compactionjobinfo_t,
    ) -> usize = neutral;
    fn rocksdb_compactionjobinfo_blob_file_garbage_info_at(
        info: *const rocksdb_compactionjobinfo_t, pos: usize,
    ) -> *const rocksdb_blob_file_garbage_info_t = neutral;
}
