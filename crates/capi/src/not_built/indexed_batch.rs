//! Range deletions of batches that can be read, which an index by key does not have.

use super::not_built;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::indexed_batch::rocksdb_writebatch_wi_t;
use std::ffi::{c_char, c_int};

not_built! {
    fn rocksdb_writebatch_wi_delete_range(
        b: *mut rocksdb_writebatch_wi_t, start_key: *const c_char, start_key_len: usize, end_key: *const c_char,
        end_key_len: usize,
    ) = batch;
    fn rocksdb_writebatch_wi_delete_range_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t,
        start_key: *const c_char, start_key_len: usize, end_key: *const c_char, end_key_len: usize,
    ) = batch;
    fn rocksdb_writebatch_wi_delete_rangev(
        b: *mut rocksdb_writebatch_wi_t, num_keys: c_int, start_keys_list: *const *const c_char,
        start_keys_list_sizes: *const usize, end_keys_list: *const *const c_char, end_keys_list_sizes: *const usize,
    ) = batch;
    fn rocksdb_writebatch_wi_delete_rangev_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t, num_keys: c_int,
        start_keys_list: *const *const c_char, start_keys_list_sizes: *const usize,
        end_keys_list: *const *const c_char, end_keys_list_sizes: *const usize,
    ) = batch;
}
