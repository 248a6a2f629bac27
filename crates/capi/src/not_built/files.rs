//! Files, environments and their options.

use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::kept::kept_options;
use crate::metadata::rocksdb_column_family_metadata_t;
use crate::operation_options::rocksdb_readoptions_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_column_family_metadata_options_t,
    rocksdb_file_checksum_gen_factory_t,
    rocksdb_livefiles_storage_info_options_t, rocksdb_livefiles_storage_info_t, rocksdb_logger_t,
}

kept_options! {
    for rocksdb_column_family_metadata_options_t:
    asks level: c_int = -1,
        rocksdb_column_family_metadata_options_set_level
        / rocksdb_column_family_metadata_options_get_level;
}

kept_options! {
    for rocksdb_livefiles_storage_info_options_t:
    asks include_checksum_info: c_uchar = 0,
        rocksdb_livefiles_storage_info_options_set_include_checksum_info
        / rocksdb_livefiles_storage_info_options_get_include_checksum_info;
    asks wal_size_for_flush: u64 = 0,
        rocksdb_livefiles_storage_info_options_set_wal_size_for_flush
        / rocksdb_livefiles_storage_info_options_get_wal_size_for_flush;
    asks atomic_flush: c_uchar = 0,
        rocksdb_livefiles_storage_info_options_set_atomic_flush
        / rocksdb_livefiles_storage_info_options_get_atomic_flush;
}

not_built! {
    fn rocksdb_disable_file_deletions(db: *mut rocksdb_t) = error;
    fn rocksdb_enable_file_deletions(db: *mut rocksdb_t) = error;
    fn rocksdb_verify_file_checksums(db: *mut rocksdb_t) = error;
    fn rocksdb_verify_file_checksums_with_options(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) = error;
    fn rocksdb_logger_create_stderr_logger(log_level: c_int, prefix: *const c_char) -> *mut rocksdb_logger_t = handle;
    fn rocksdb_logger_create_callback_logger(
        log_level: c_int, callback1: *const c_void, priv_value: *mut c_void,
    ) -> *mut rocksdb_logger_t = handle;
    fn rocksdb_logger_destroy(logger: *mut rocksdb_logger_t) = destroy;
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut rocksdb_file_checksum_gen_factory_t = handle;
    fn rocksdb_file_checksum_gen_factory_destroy(factory: *mut rocksdb_file_checksum_gen_factory_t) = destroy;
    fn rocksdb_livefiles_storage_info_options_create() -> *mut rocksdb_livefiles_storage_info_options_t = handle;
    fn rocksdb_livefiles_storage_info_options_destroy(
        options: *mut rocksdb_livefiles_storage_info_options_t,
    ) = destroy;
    fn rocksdb_get_livefiles_storage_info(
        db: *mut rocksdb_t, options: *const rocksdb_livefiles_storage_info_options_t,
    ) -> *mut rocksdb_livefiles_storage_info_t = error;
    fn rocksdb_livefiles_storage_info_count(info: *const rocksdb_livefiles_storage_info_t) -> usize = neutral;
    fn rocksdb_livefiles_storage_info_relative_filename(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> *const c_char = neutral;
    fn rocksdb_livefiles_storage_info_directory(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> *const c_char = neutral;
    fn rocksdb_livefiles_storage_info_file_number(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> u64 = neutral;
    fn rocksdb_livefiles_storage_info_file_type(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> c_int = neutral;
    fn rocksdb_livefiles_storage_info_size(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> u64 = neutral;
    fn rocksdb_livefiles_storage_info_temperature(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> c_int = neutral;
    fn rocksdb_livefiles_storage_info_file_checksum(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> *const c_char = neutral;
    fn rocksdb_livefiles_storage_info_file_checksum_func_name(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> *const c_char = neutral;
    fn rocksdb_livefiles_storage_info_replacement_contents(
        info: *const rocksdb_livefiles_storage_info_t, index: usize, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_livefiles_storage_info_trim_to_size(
        info: *const rocksdb_livefiles_storage_info_t, index: usize,
    ) -> c_uchar = neutral;
    fn rocksdb_livefiles_storage_info_destroy(info: *mut rocksdb_livefiles_storage_info_t) = destroy;
    fn rocksdb_get_column_family_metadata_with_options(
        db: *mut rocksdb_t, options: *const rocksdb_column_family_metadata_options_t,
    ) -> *mut rocksdb_column_family_metadata_t = neutral;
    fn rocksdb_column_family_metadata_options_create() -> *mut rocksdb_column_family_metadata_options_t = handle;
    fn rocksdb_column_family_metadata_options_destroy(
        options: *mut rocksdb_column_family_metadata_options_t,
    ) = destroy;
    fn rocksdb_column_family_metadata_options_set_start_key(
        options: *mut rocksdb_column_family_metadata_options_t, key: *const c_char, key_len: usize,
    ) = neutral;
    fn rocksdb_column_family_metadata_options_get_start_key(
        options: *const rocksdb_column_family_metadata_options_t, key_len: *mut usize,
    ) -> *const c_char = neutral(key_len);
    fn rocksdb_column_family_metadata_options_set_end_key(
        options: *mut rocksdb_column_family_metadata_options_t, key: *const c_char, key_len: usize,
    ) = neutral;
    fn rocksdb_column_family_metadata_options_get_end_key(
        options: *const rocksdb_column_family_metadata_options_t, key_len: *mut usize,
    ) -> *const c_char = neutral(key_len);
    fn rocksdb_get_column_family_metadata_cf_with_options(
        db: *mut rocksdb_t, column_family: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_column_family_metadata_options_t,
    ) -> *mut rocksdb_column_family_metadata_t = neutral;
}
