//! Logs: reading them, and filters of what they hold.

use super::{not_built, unbuilt_types};
use crate::callback::Destructor;
use crate::db::rocksdb_t;
use crate::kept::kept_options;
use crate::options::rocksdb_options_t;
use crate::write_batch::rocksdb_writebatch_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_wal_file_t, rocksdb_wal_files_t, rocksdb_wal_iterator_t, rocksdb_wal_readoptions_t,
    rocksdb_walfilter_t,
}

kept_options! {
    for rocksdb_wal_readoptions_t:
    asks verify_checksums: c_uchar = 1,
        rocksdb_wal_readoptions_set_verify_checksums
        / rocksdb_wal_readoptions_get_verify_checksums;
}

not_built! {
    fn rocksdb_get_updates_since(
        db: *mut rocksdb_t, seq_number: u64, options: *const rocksdb_wal_readoptions_t,
    ) -> *mut rocksdb_wal_iterator_t = error;
    fn rocksdb_get_sorted_wal_files(db: *mut rocksdb_t) -> *mut rocksdb_wal_files_t = error;
    fn rocksdb_get_current_wal_file(db: *mut rocksdb_t) -> *mut rocksdb_wal_file_t = error;
    fn rocksdb_wal_iter_next(iter: *mut rocksdb_wal_iterator_t) = neutral;
    fn rocksdb_wal_iter_valid(wal_iterator: *const rocksdb_wal_iterator_t) -> c_uchar = neutral;
    fn rocksdb_wal_iter_status(iter: *const rocksdb_wal_iterator_t) = error;
    fn rocksdb_wal_iter_get_batch(
        iter: *const rocksdb_wal_iterator_t, seq: *mut u64,
    ) -> *mut rocksdb_writebatch_t = neutral(seq);
    fn rocksdb_wal_iter_destroy(iter: *const rocksdb_wal_iterator_t) = destroy;
    fn rocksdb_wal_readoptions_create() -> *mut rocksdb_wal_readoptions_t = handle;
    fn rocksdb_wal_readoptions_destroy(options: *mut rocksdb_wal_readoptions_t) = destroy;
    fn rocksdb_wal_file_path_name(file: *const rocksdb_wal_file_t) -> *const c_char = neutral;
    fn rocksdb_wal_file_log_number(file: *const rocksdb_wal_file_t) -> u64 = neutral;
    fn rocksdb_wal_file_type(file: *const rocksdb_wal_file_t) -> c_int = neutral;
    fn rocksdb_wal_file_start_sequence(file: *const rocksdb_wal_file_t) -> u64 = neutral;
    fn rocksdb_wal_file_size_file_bytes(file: *const rocksdb_wal_file_t) -> u64 = neutral;
    fn rocksdb_wal_file_destroy(file: *mut rocksdb_wal_file_t) = destroy;
    fn rocksdb_wal_files_count(files: *const rocksdb_wal_files_t) -> usize = neutral;
    fn rocksdb_wal_files_get_wal_file(
        files: *const rocksdb_wal_files_t, index: usize,
    ) -> *const rocksdb_wal_file_t = neutral;
    fn rocksdb_wal_files_destroy(files: *mut rocksdb_wal_files_t) = destroy;
    fn rocksdb_options_set_wal_filter(options: *mut rocksdb_options_t, walfilter: *mut rocksdb_walfilter_t) = refuse;
    fn rocksdb_options_clear_wal_filter(options: *mut rocksdb_options_t) = refuse;
    fn rocksdb_walfilter_create(
        state: *mut c_void, destructor: Destructor, column_family_log_number_map: *const c_void,
        log_record_found: *const c_void, name: *const c_void,
    ) -> *mut rocksdb_walfilter_t = handle(state, destructor);
    fn rocksdb_walfilter_destroy(walfilter: *mut rocksdb_walfilter_t) = destroy;
}
