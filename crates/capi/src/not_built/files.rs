//! Files, environments and their options.

use super::events::rocksdb_compactionjobinfo_t;
use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::kept::kept_options;
use crate::metadata::rocksdb_column_family_metadata_t;
use crate::operation_options::rocksdb_readoptions_t;
use crate::rate_limiter::rocksdb_ratelimiter_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_column_family_metadata_options_t, rocksdb_compaction_options_t,
    rocksdb_envoptions_t, rocksdb_file_checksum_gen_factory_t,
    rocksdb_livefiles_storage_info_options_t, rocksdb_livefiles_storage_info_t, rocksdb_logger_t,
    rocksdb_sst_file_manager_t,
}

kept_options! {
    for rocksdb_column_family_metadata_options_t:
    asks level: c_int = -1,
        rocksdb_column_family_metadata_options_set_level
        / rocksdb_column_family_metadata_options_get_level;
}

kept_options! {
    for rocksdb_compaction_options_t:
    asks compression: c_int = 255,
        rocksdb_compaction_options_set_compression
        / rocksdb_compaction_options_get_compression;
    asks output_file_size_limit: u64 = u64::MAX,
        rocksdb_compaction_options_set_output_file_size_limit
        / rocksdb_compaction_options_get_output_file_size_limit;
    asks max_subcompactions: u32 = 0,
        rocksdb_compaction_options_set_max_subcompactions
        / rocksdb_compaction_options_get_max_subcompactions;
    asks output_temperature_override: c_int = 0,
        rocksdb_compaction_options_set_output_temperature_override
        / rocksdb_compaction_options_get_output_temperature_override;
    asks allow_trivial_move: c_uchar = 0,
        rocksdb_compaction_options_set_allow_trivial_move
        / rocksdb_compaction_options_get_allow_trivial_move;
}

kept_options! {
    for rocksdb_envoptions_t:
    asks use_mmap_reads: c_uchar = 0, rocksdb_envoptions_set_use_mmap_reads / rocksdb_envoptions_get_use_mmap_reads;
    asks use_mmap_writes: c_uchar = 0,
        rocksdb_envoptions_set_use_mmap_writes
        / rocksdb_envoptions_get_use_mmap_writes;
    asks use_direct_reads: c_uchar = 0,
        rocksdb_envoptions_set_use_direct_reads
        / rocksdb_envoptions_get_use_direct_reads;
    asks use_direct_writes: c_uchar = 0,
        rocksdb_envoptions_set_use_direct_writes
        / rocksdb_envoptions_get_use_direct_writes;
    asks allow_fallocate: c_uchar = 1,
        rocksdb_envoptions_set_allow_fallocate
        / rocksdb_envoptions_get_allow_fallocate;
    asks fd_cloexec: c_uchar = 1, rocksdb_envoptions_set_fd_cloexec / rocksdb_envoptions_get_fd_cloexec;
    asks bytes_per_sync: u64 = 0, rocksdb_envoptions_set_bytes_per_sync / rocksdb_envoptions_get_bytes_per_sync;
    asks strict_bytes_per_sync: c_uchar = 0,
        rocksdb_envoptions_set_strict_bytes_per_sync
        / rocksdb_envoptions_get_strict_bytes_per_sync;
    asks fallocate_with_keep_size: c_uchar = 1,
        rocksdb_envoptions_set_fallocate_with_keep_size
        / rocksdb_envoptions_get_fallocate_with_keep_size;
    asks compaction_readahead_size: usize = 2097152,
        rocksdb_envoptions_set_compaction_readahead_size
        / rocksdb_envoptions_get_compaction_readahead_size;
    asks writable_file_max_buffer_size: usize = 1048576,
        rocksdb_envoptions_set_writable_file_max_buffer_size
        / rocksdb_envoptions_get_writable_file_max_buffer_size;
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

kept_options! {
    for rocksdb_sst_file_manager_t:
    asks max_allowed_space_usage: u64 = 0, rocksdb_sst_file_manager_set_max_allowed_space_usage / -;
    asks compaction_buffer_size: u64 = 0, rocksdb_sst_file_manager_set_compaction_buffer_size / -;
    asks delete_rate_bytes_per_second: i64 = 0,
        rocksdb_sst_file_manager_set_delete_rate_bytes_per_second
        / rocksdb_sst_file_manager_get_delete_rate_bytes_per_second;
    asks max_trash_db_ratio: f64 = 0.25,
        rocksdb_sst_file_manager_set_max_trash_db_ratio
        / rocksdb_sst_file_manager_get_max_trash_db_ratio;
}

not_built! {
    fn rocksdb_disable_file_deletions(db: *mut rocksdb_t) = error;
    fn rocksdb_enable_file_deletions(db: *mut rocksdb_t) = error;
    fn rocksdb_verify_file_checksums(db: *mut rocksdb_t) = error;
    fn rocksdb_verify_file_checksums_with_options(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) = error;
    fn rocksdb_compact_files(
        db: *mut rocksdb_t, options: *const rocksdb_compaction_options_t, input_file_names: *const *const c_char,
        num_input_file_names: usize, output_level: c_int, output_path_id: c_int,
        output_file_names: *mut *mut *mut c_char, num_output_file_names: *mut usize,
        compaction_job_info: *mut rocksdb_compactionjobinfo_t,
    ) = error(output_file_names, num_output_file_names);
    fn rocksdb_compact_files_cf(
        db: *mut rocksdb_t, column_family: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_compaction_options_t, input_file_names: *const *const c_char,
        num_input_file_names: usize, output_level: c_int, output_path_id: c_int,
        output_file_names: *mut *mut *mut c_char, num_output_file_names: *mut usize,
        compaction_job_info: *mut rocksdb_compactionjobinfo_t,
    ) = error(output_file_names, num_output_file_names);
    fn rocksdb_compact_files_output_file_names_destroy(
        output_file_names: *mut *mut c_char, num_output_file_names: usize,
    ) = neutral;
    fn rocksdb_logger_create_stderr_logger(log_level: c_int, prefix: *const c_char) -> *mut rocksdb_logger_t = handle;
    fn rocksdb_logger_create_callback_logger(
        log_level: c_int, callback1: *const c_void, priv_value: *mut c_void,
    ) -> *mut rocksdb_logger_t = handle;
    fn rocksdb_logger_destroy(logger: *mut rocksdb_logger_t) = destroy;
    fn rocksdb_file_checksum_gen_crc32c_factory_create() -> *mut rocksdb_file_checksum_gen_factory_t = handle;
    fn rocksdb_file_checksum_gen_factory_destroy(factory: *mut rocksdb_file_checksum_gen_factory_t) = destroy;
    fn rocksdb_compaction_options_create() -> *mut rocksdb_compaction_options_t = handle;
    fn rocksdb_compaction_options_destroy(compaction_options: *mut rocksdb_compaction_options_t) = destroy;
    fn rocksdb_compaction_options_canceled_create() -> *mut c_uchar = neutral;
    fn rocksdb_compaction_options_canceled_destroy(canceled: *mut c_uchar) = neutral;
    fn rocksdb_compaction_options_canceled_set(canceled: *mut c_uchar, value: c_uchar) = neutral;
    fn rocksdb_compaction_options_set_canceled(
        options: *mut rocksdb_compaction_options_t, canceled: *mut c_uchar,
    ) = neutral;
    fn rocksdb_sst_file_manager_create(env: *mut rocksdb_env_t) -> *mut rocksdb_sst_file_manager_t = handle;
    fn rocksdb_sst_file_manager_destroy(sfm: *mut rocksdb_sst_file_manager_t) = destroy;
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached(sfm: *mut rocksdb_sst_file_manager_t) -> bool = neutral;
    fn rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(
        sfm: *mut rocksdb_sst_file_manager_t,
    ) -> bool = neutral;
    fn rocksdb_sst_file_manager_get_total_size(sfm: *mut rocksdb_sst_file_manager_t) -> u64 = neutral;
    fn rocksdb_sst_file_manager_get_total_trash_size(sfm: *mut rocksdb_sst_file_manager_t) -> u64 = neutral;
    fn rocksdb_envoptions_create() -> *mut rocksdb_envoptions_t = handle;
    fn rocksdb_envoptions_destroy(opt: *mut rocksdb_envoptions_t) = destroy;
    fn rocksdb_envoptions_set_rate_limiter(
        opt: *mut rocksdb_envoptions_t, rate_limiter: *mut rocksdb_ratelimiter_t,
    ) = neutral;
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
