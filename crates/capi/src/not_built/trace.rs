//! Traces of what a database does, and replaying them.

use super::{not_built, unbuilt_types};
use crate::db::rocksdb_t;
use crate::env::rocksdb_env_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::kept::kept_options;
use crate::sst_file_writer::rocksdb_envoptions_t;
use std::ffi::{c_char, c_uchar};

unbuilt_types! {
    rocksdb_block_cache_trace_options_t, rocksdb_block_cache_trace_writer_options_t, rocksdb_replay_options_t,
    rocksdb_replayer_t, rocksdb_trace_options_t, rocksdb_trace_reader_t,
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

kept_options! {
    for rocksdb_replay_options_t:
    asks num_threads: u32 = 1, rocksdb_replay_options_set_num_threads / rocksdb_replay_options_get_num_threads;
    asks fast_forward: f64 = 1.0, rocksdb_replay_options_set_fast_forward / rocksdb_replay_options_get_fast_forward;
}

kept_options! {
    for rocksdb_trace_options_t:
    asks max_trace_file_size: u64 = 68719476736,
        rocksdb_trace_options_set_max_trace_file_size
        / rocksdb_trace_options_get_max_trace_file_size;
    asks sampling_frequency: u64 = 1,
        rocksdb_trace_options_set_sampling_frequency
        / rocksdb_trace_options_get_sampling_frequency;
    asks filter: u64 = 0, rocksdb_trace_options_set_filter / rocksdb_trace_options_get_filter;
    asks preserve_write_order: c_uchar = 0,
        rocksdb_trace_options_set_preserve_write_order
        / rocksdb_trace_options_get_preserve_write_order;
}

not_built! {
    fn rocksdb_trace_options_create() -> *mut rocksdb_trace_options_t = handle;
    fn rocksdb_trace_options_destroy(options: *mut rocksdb_trace_options_t) = destroy;
    fn rocksdb_trace_reader_create(
        env: *mut rocksdb_env_t, env_options: *const rocksdb_envoptions_t, trace_path: *const c_char,
    ) -> *mut rocksdb_trace_reader_t = error;
    fn rocksdb_trace_reader_read(reader: *mut rocksdb_trace_reader_t, size: *mut usize) -> *mut c_char = error(size);
    fn rocksdb_trace_reader_reset(reader: *mut rocksdb_trace_reader_t) = error;
    fn rocksdb_trace_reader_close(reader: *mut rocksdb_trace_reader_t) = error;
    fn rocksdb_trace_reader_destroy(reader: *mut rocksdb_trace_reader_t) = destroy;
    fn rocksdb_replay_options_create() -> *mut rocksdb_replay_options_t = handle;
    fn rocksdb_replay_options_destroy(options: *mut rocksdb_replay_options_t) = destroy;
    fn rocksdb_new_default_replayer(
        db: *mut rocksdb_t, column_families: *mut *mut rocksdb_column_family_handle_t, num_column_families: usize,
        env: *mut rocksdb_env_t, env_options: *const rocksdb_envoptions_t, trace_path: *const c_char,
    ) -> *mut rocksdb_replayer_t = error;
    fn rocksdb_replayer_prepare(replayer: *mut rocksdb_replayer_t) = error;
    fn rocksdb_replayer_replay(replayer: *mut rocksdb_replayer_t, options: *const rocksdb_replay_options_t) = error;
    fn rocksdb_replayer_destroy(replayer: *mut rocksdb_replayer_t) = destroy;
    fn rocksdb_block_cache_trace_options_create() -> *mut rocksdb_block_cache_trace_options_t = handle;
    fn rocksdb_block_cache_trace_options_destroy(options: *mut rocksdb_block_cache_trace_options_t) = destroy;
    fn rocksdb_block_cache_trace_writer_options_create() -> *mut rocksdb_block_cache_trace_writer_options_t = handle;
    fn rocksdb_block_cache_trace_writer_options_destroy(
        options: *mut rocksdb_block_cache_trace_writer_options_t,
    ) = destroy;
    fn rocksdb_start_trace(
        db: *mut rocksdb_t, env: *mut rocksdb_env_t, env_options: *const rocksdb_envoptions_t,
        options: *const rocksdb_trace_options_t, trace_path: *const c_char,
    ) = error;
    fn rocksdb_end_trace(db: *mut rocksdb_t) = error;
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
