//! Files, environments and their options.

use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::kept::kept_options;
use crate::metadata::rocksdb_column_family_metadata_t;
use crate::operation_options::rocksdb_readoptions_t;
use std::ffi::{c_char, c_int, c_void};

unbuilt_types! {
    rocksdb_column_family_metadata_options_t,
    rocksdb_file_checksum_gen_factory_t, rocksdb_logger_t,
}

kept_options! {
    for rocksdb_column_family_metadata_options_t:
    asks level: c_int = -1,
        rocksdb_column_family_metadata_options_set_level
        / rocksdb_column_family_metadata_options_get_level;
}

not_built! {
    fn rocksdb_verify_file_checksums(db: *mut rocksdb_t) = error;
    fn rocksdb_verify_file_checksums_with_options(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) = error;
    fn rocksdb_logger_create_stderr_logger(log_level: c_int, prefix: *const c_char) -> *mut rocksdb_logger_t = handle;
    fn rocksdb_logger_create_callback_logger(
        log_level: c_int, callback1: *const c_void, priv_value: *mut c_void,
    ) -> *mut rocksdb_logger_t = handle;
    fn rocksdb_logger_destroy(logger: *mut rocksdb_logger_t) = destroy;
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut rocksdb_file_checksum_gen_factory_t = handle;
    fn rocksdb_file_checksum_gen_factory_destroy(factory: *mut rocksdb_file_checksum_gen_factory_t) = destroy;
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
