//! Backups and restoring from them.

use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::kept::kept_options;
use crate::options::rocksdb_options_t;
use crate::rate_limiter::rocksdb_ratelimiter_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_backup_engine_info_t, rocksdb_backup_engine_options_t, rocksdb_backup_engine_t,
    rocksdb_create_backup_options_t, rocksdb_restore_options_t,
}

kept_options! {
    for rocksdb_backup_engine_options_t:
    asks io_buffer_size: u64 = 0,
        rocksdb_backup_engine_options_set_io_buffer_size
        / rocksdb_backup_engine_options_get_io_buffer_size;
    asks backup_rate_limit: u64 = 0,
        rocksdb_backup_engine_options_set_backup_rate_limit
        / rocksdb_backup_engine_options_get_backup_rate_limit;
    asks max_background_operations: c_int = 1,
        rocksdb_backup_engine_options_set_max_background_operations
        / rocksdb_backup_engine_options_get_max_background_operations;
    asks share_table_files: c_uchar = 1,
        rocksdb_backup_engine_options_set_share_table_files
        / rocksdb_backup_engine_options_get_share_table_files;
    asks sync: c_uchar = 1, rocksdb_backup_engine_options_set_sync / rocksdb_backup_engine_options_get_sync;
    asks destroy_old_data: c_uchar = 0,
        rocksdb_backup_engine_options_set_destroy_old_data
        / rocksdb_backup_engine_options_get_destroy_old_data;
    asks backup_log_files: c_uchar = 1,
        rocksdb_backup_engine_options_set_backup_log_files
        / rocksdb_backup_engine_options_get_backup_log_files;
    asks restore_rate_limit: u64 = 0,
        rocksdb_backup_engine_options_set_restore_rate_limit
        / rocksdb_backup_engine_options_get_restore_rate_limit;
    asks share_files_with_checksum: c_uchar = 1,
        rocksdb_backup_engine_options_set_share_files_with_checksum
        / rocksdb_backup_engine_options_get_share_files_with_checksum;
    asks callback_trigger_interval_size: u64 = 4194304,
        rocksdb_backup_engine_options_set_callback_trigger_interval_size
        / rocksdb_backup_engine_options_get_callback_trigger_interval_size;
    asks max_valid_backups_to_open: c_int = 2147483647,
        rocksdb_backup_engine_options_set_max_valid_backups_to_open
        / rocksdb_backup_engine_options_get_max_valid_backups_to_open;
    asks share_files_with_checksum_naming: c_int = -2147483646,
        rocksdb_backup_engine_options_set_share_files_with_checksum_naming
        / rocksdb_backup_engine_options_get_share_files_with_checksum_naming;
    asks schema_version: c_int = 1,
        rocksdb_backup_engine_options_set_schema_version
        / rocksdb_backup_engine_options_get_schema_version;
    asks current_temperatures_override_manifest: c_uchar = 0,
        rocksdb_backup_engine_options_set_current_temperatures_override_manifest
        / rocksdb_backup_engine_options_get_current_temperatures_override_manifest;
}

kept_options! {
    for rocksdb_create_backup_options_t:
    asks decrease_background_thread_cpu_priority: c_uchar = 0,
        rocksdb_create_backup_options_set_decrease_background_thread_cpu_priority
        / rocksdb_create_backup_options_get_decrease_background_thread_cpu_priority;
    asks background_thread_cpu_priority: c_int = 2,
        rocksdb_create_backup_options_set_background_thread_cpu_priority
        / rocksdb_create_backup_options_get_background_thread_cpu_priority;
    asks flush_before_backup: c_uchar = 0,
        rocksdb_create_backup_options_set_flush_before_backup
        / rocksdb_create_backup_options_get_flush_before_backup;
    asks atomic_flush: c_uchar = 0,
        rocksdb_create_backup_options_set_atomic_flush
        / rocksdb_create_backup_options_get_atomic_flush;
}

kept_options! {
    for rocksdb_restore_options_t:
    asks keep_log_files: c_uchar = 0,
        rocksdb_restore_options_set_keep_log_files
        / rocksdb_restore_options_get_keep_log_files;
    asks mode: c_int = 65535, rocksdb_restore_options_set_mode / rocksdb_restore_options_get_mode;
}

not_built! {
    fn rocksdb_backup_engine_open(
        options: *const rocksdb_options_t, path: *const c_char,
    ) -> *mut rocksdb_backup_engine_t = error;
    fn rocksdb_backup_engine_open_opts(
        options: *const rocksdb_backup_engine_options_t, env: *mut rocksdb_env_t,
    ) -> *mut rocksdb_backup_engine_t = error;
    fn rocksdb_create_backup_options_create() -> *mut rocksdb_create_backup_options_t = handle;
    fn rocksdb_create_backup_options_destroy(options: *mut rocksdb_create_backup_options_t) = destroy;
    fn rocksdb_create_backup_options_set_progress_callback(
        options: *mut rocksdb_create_backup_options_t, state: *mut c_void, callback: *const c_void,
    ) = neutral;
    fn rocksdb_create_backup_options_set_exclude_files_callback(
        options: *mut rocksdb_create_backup_options_t, state: *mut c_void, callback: *const c_void,
    ) = neutral;
    fn rocksdb_backup_engine_create_new_backup(be: *mut rocksdb_backup_engine_t, db: *mut rocksdb_t) = error;
    fn rocksdb_backup_engine_create_new_backup_flush(
        be: *mut rocksdb_backup_engine_t, db: *mut rocksdb_t, flush_before_backup: c_uchar,
    ) = error;
    fn rocksdb_backup_engine_create_new_backup_with_options(
        be: *mut rocksdb_backup_engine_t, db: *mut rocksdb_t, options: *const rocksdb_create_backup_options_t,
        backup_id: *mut u32,
    ) = error(backup_id);
    fn rocksdb_backup_engine_create_new_backup_with_metadata(
        be: *mut rocksdb_backup_engine_t, db: *mut rocksdb_t, options: *const rocksdb_create_backup_options_t,
        app_metadata: *const c_char, app_metadata_len: usize, backup_id: *mut u32,
    ) = error(backup_id);
    fn rocksdb_backup_engine_purge_old_backups(be: *mut rocksdb_backup_engine_t, num_backups_to_keep: u32) = error;
    fn rocksdb_restore_options_create() -> *mut rocksdb_restore_options_t = handle;
    fn rocksdb_restore_options_destroy(opt: *mut rocksdb_restore_options_t) = destroy;
    fn rocksdb_backup_engine_verify_backup(be: *mut rocksdb_backup_engine_t, backup_id: u32) = error;
    fn rocksdb_backup_engine_restore_db_from_latest_backup(
        be: *mut rocksdb_backup_engine_t, db_dir: *const c_char, wal_dir: *const c_char,
        restore_options: *const rocksdb_restore_options_t,
    ) = error;
    fn rocksdb_backup_engine_restore_db_from_backup(
        be: *mut rocksdb_backup_engine_t, db_dir: *const c_char, wal_dir: *const c_char,
        restore_options: *const rocksdb_restore_options_t, backup_id: u32,
    ) = error;
    fn rocksdb_backup_engine_get_backup_info(
        be: *mut rocksdb_backup_engine_t,
    ) -> *const rocksdb_backup_engine_info_t = neutral;
    fn rocksdb_backup_engine_info_count(info: *const rocksdb_backup_engine_info_t) -> c_int = neutral;
    fn rocksdb_backup_engine_info_timestamp(info: *const rocksdb_backup_engine_info_t, index: c_int) -> i64 = neutral;
    fn rocksdb_backup_engine_info_backup_id(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u32 = neutral;
    fn rocksdb_backup_engine_info_size(info: *const rocksdb_backup_engine_info_t, index: c_int) -> u64 = neutral;
    fn rocksdb_backup_engine_info_number_files(
        info: *const rocksdb_backup_engine_info_t, index: c_int,
    ) -> u32 = neutral;
    fn rocksdb_backup_engine_info_app_metadata(
        info: *const rocksdb_backup_engine_info_t, index: c_int, len: *mut usize,
    ) -> *const c_char = neutral(len);
    fn rocksdb_backup_engine_info_destroy(info: *const rocksdb_backup_engine_info_t) = destroy;
    fn rocksdb_backup_engine_stop_backup(be: *mut rocksdb_backup_engine_t) = neutral;
    fn rocksdb_backup_engine_close(be: *mut rocksdb_backup_engine_t) = destroy;
    fn rocksdb_backup_engine_options_create(
        backup_dir: *const c_char,
    ) -> *mut rocksdb_backup_engine_options_t = handle;
    fn rocksdb_backup_engine_options_set_env(
        options: *mut rocksdb_backup_engine_options_t, env: *mut rocksdb_env_t,
    ) = neutral;
    fn rocksdb_backup_engine_options_set_backup_rate_limiter(
        options: *mut rocksdb_backup_engine_options_t, limiter: *mut rocksdb_ratelimiter_t,
    ) = neutral;
    fn rocksdb_backup_engine_options_set_restore_rate_limiter(
        options: *mut rocksdb_backup_engine_options_t, limiter: *mut rocksdb_ratelimiter_t,
    ) = neutral;
    fn rocksdb_backup_engine_options_destroy(backup_engine_options: *mut rocksdb_backup_engine_options_t) = destroy;
    fn rocksdb_backup_engine_options_set_backup_dir(
        opt: *mut rocksdb_backup_engine_options_t, v: *const c_char,
    ) = neutral;
    fn rocksdb_backup_engine_options_get_backup_dir(
        opt: *mut rocksdb_backup_engine_options_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
}
