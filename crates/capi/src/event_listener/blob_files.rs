//! Getters of what is told of blob files.

use super::Text;
use ferrock::{BlobFileAdditionInfo, BlobFileGarbageInfo};
use std::ffi::c_char;

/// A blob file that a job wrote.
pub struct rocksdb_blob_file_addition_info_t {
    info: BlobFileAdditionInfo,
    path: Text,
}

impl rocksdb_blob_file_addition_info_t {
    pub(super) fn all(infos: &[BlobFileAdditionInfo]) -> Vec<Self> {
        infos.iter().map(|info| Self { info: info.clone(), path: Text::of_path(&info.path) }).collect()
    }
}

/// Values in a blob file that are garbage.
pub struct rocksdb_blob_file_garbage_info_t {
    info: BlobFileGarbageInfo,
    path: Text,
}

impl rocksdb_blob_file_garbage_info_t {
    pub(super) fn all(infos: &[BlobFileGarbageInfo]) -> Vec<Self> {
        infos.iter().map(|info| Self { info: info.clone(), path: Text::of_path(&info.path) }).collect()
    }
}

info_texts! {
    for rocksdb_blob_file_addition_info_t:
    /// The file.
    fn rocksdb_blob_file_addition_info_blob_file_path = |info| &info.path;
}

info_numbers! {
    for rocksdb_blob_file_addition_info_t:
    /// Its number.
    fn rocksdb_blob_file_addition_info_blob_file_number -> u64 = |info| info.info.file_number.0;
    /// Values in it.
    fn rocksdb_blob_file_addition_info_total_blob_count -> u64 = |info| info.info.total_blob_count;
    /// Bytes of these, with their keys and headers.
    fn rocksdb_blob_file_addition_info_total_blob_bytes -> u64 = |info| info.info.total_blob_bytes;
}

info_texts! {
    for rocksdb_blob_file_garbage_info_t:
    /// The file.
    fn rocksdb_blob_file_garbage_info_blob_file_path = |info| &info.path;
}

info_numbers! {
    for rocksdb_blob_file_garbage_info_t:
    /// Its number.
    fn rocksdb_blob_file_garbage_info_blob_file_number -> u64 = |info| info.info.file_number.0;
    /// Values that nothing refers to any more.
    fn rocksdb_blob_file_garbage_info_garbage_blob_count -> u64 = |info| info.info.garbage_blob_count;
    /// Bytes of these, with their keys and headers.
    fn rocksdb_blob_file_garbage_info_garbage_blob_bytes -> u64 = |info| info.info.garbage_blob_bytes;
}
