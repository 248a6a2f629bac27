//! Traces of block accesses and of file operations.

use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::kept::kept_options;
use crate::sst_file_writer::rocksdb_envoptions_t;
use crate::trace::rocksdb_trace_options_t;
use std::ffi::c_char;

unbuilt_types! {
    rocksdb_block_cache_trace_options_t, rocksdb_block_cache_trace_writer_options_t,
}

kept_options! {
    for rocksdb_block_cache_trace_options_t:
    asks sampling_frequency: u64 = 1,
        rocksdb_block_cache_trace_options_set_sampling_frequency
        / rocksdb_block_cache_trace_options_get_sampling_frequency;
}

kept_options! {
    for rocksdb_block_cache_trace_writer_options_t:
    asks max_trace_file_size: u64 = 68719476736,
        rocksdb_block_cache_trace_writer_options_set_max_trace_file_size
        / rocksdb_block_cache_trace_writer_options_get_max_trace_file_size;
}

not_built! {
    fn rocksdb_block_cache_trace_options_create() -> *mut rocksdb_block_cache_trace_options_t = handle;
    fn rocksdb_block_cache_trace_options_destroy(options: *mut rocksdb_block_cache_trace_options_t) = destroy;
    fn rocksdb_block_cache_trace_writer_options_create() -> *mut rocksdb_block_cache_trace_writer_options_t = handle;
    fn rocksdb_block_cache_trace_writer_options_destroy(
        options: *mut rocksdb_block_cache_trace_writer_options_t,
    ) = destroy;
    fn rocksdb_start_io_trace(
        db: *mut rocksdb_t, env: *mut rocksdb_env_t, env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_trace_options_t, trace_path: *const c_char,
    ) = error;
    fn rocksdb_end_io_trace(db: *mut rocksdb_t) = error;
    fn rocksdb_start_block_cache_trace(
        db: *mut rocksdb_t, env: *mut rocksdb_env_t, env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_trace_options_t, trace_path: *const c_char,
    ) = error;
    fn rocksdb_start_block_cache_trace_with_options(
        db: *mut rocksdb_t, env: *mut rocksdb_env_t, env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_block_cache_trace_options_t,
        writer_options: *const rocksdb_block_cache_trace_writer_options_t, trace_path: *const c_char,
    ) = error;
    fn rocksdb_end_block_cache_trace(db: *mut rocksdb_t) = error;
}
