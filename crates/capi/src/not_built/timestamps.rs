//! User-defined timestamps.

use super::not_built;
use crate::callback::Destructor;
use crate::comparator::rocksdb_comparator_t;
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::indexed_batch::rocksdb_writebatch_wi_t;
use crate::operation_options::{rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::options::rocksdb_options_t;
use crate::sst_file_writer::rocksdb_sstfilewriter_t;
use crate::write_batch::rocksdb_writebatch_t;
use std::ffi::{c_char, c_int, c_void};

not_built! {
    fn rocksdb_put_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t, key: *const c_char, keylen: usize,
        ts: *const c_char, tslen: usize, val: *const c_char, vallen: usize,
    ) = error;
    fn rocksdb_put_cf_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, ts: *const c_char,
        tslen: usize, val: *const c_char, vallen: usize,
    ) = error;
    fn rocksdb_delete_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t, key: *const c_char, keylen: usize,
        ts: *const c_char, tslen: usize,
    ) = error;
    fn rocksdb_delete_cf_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, ts: *const c_char,
        tslen: usize,
    ) = error;
    fn rocksdb_singledelete_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t, key: *const c_char, keylen: usize,
        ts: *const c_char, tslen: usize,
    ) = error;
    fn rocksdb_singledelete_cf_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, ts: *const c_char,
        tslen: usize,
    ) = error;
    fn rocksdb_increase_full_history_ts_low(
        db: *mut rocksdb_t, column_family: *mut rocksdb_column_family_handle_t, ts_low: *const c_char,
        ts_lowlen: usize,
    ) = error;
    fn rocksdb_get_full_history_ts_low(
        db: *mut rocksdb_t, column_family: *mut rocksdb_column_family_handle_t, ts_lowlen: *mut usize,
    ) -> *mut c_char = error(ts_lowlen);
    fn rocksdb_open_and_trim_history(
        options: *const rocksdb_options_t, name: *const c_char, num_column_families: c_int,
        column_family_names: *const *const c_char, column_family_options: *const *const rocksdb_options_t,
        column_family_handles: *mut *mut rocksdb_column_family_handle_t, trim_ts: *mut c_char, trim_tslen: usize,
    ) -> *mut rocksdb_t = error;
    fn rocksdb_get_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_readoptions_t, key: *const c_char, keylen: usize,
        vallen: *mut usize, ts: *mut *mut c_char, tslen: *mut usize,
    ) -> *mut c_char = error(vallen, ts, tslen);
    fn rocksdb_get_cf_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, vallen: *mut usize,
        ts: *mut *mut c_char, tslen: *mut usize,
    ) -> *mut c_char = error(vallen, ts, tslen);
    fn rocksdb_multi_get_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_readoptions_t, num_keys: usize, keys_list: *const *const c_char,
        keys_list_sizes: *const usize, values_list: *mut *mut c_char, values_list_sizes: *mut usize,
        timestamp_list: *mut *mut c_char, timestamp_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes, timestamp_list, timestamp_list_sizes);
    fn rocksdb_multi_get_cf_with_ts(
        db: *mut rocksdb_t, options: *const rocksdb_readoptions_t,
        column_families: *const *const rocksdb_column_family_handle_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, timestamps_list: *mut *mut c_char, timestamps_list_sizes: *mut usize,
        errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes, timestamps_list, timestamps_list_sizes);
    fn rocksdb_writebatch_put_cf_with_ts(
        writebatch: *mut rocksdb_writebatch_t, column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char, klen: usize, ts: *const c_char, tslen: usize, val: *const c_char, vlen: usize,
    ) = batch;
    fn rocksdb_writebatch_delete_cf_with_ts(
        writebatch: *mut rocksdb_writebatch_t, column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char, klen: usize, ts: *const c_char, tslen: usize,
    ) = batch;
    fn rocksdb_writebatch_singledelete_cf_with_ts(
        b: *mut rocksdb_writebatch_t, column_family: *mut rocksdb_column_family_handle_t, key: *const c_char,
        klen: usize, ts: *const c_char, tslen: usize,
    ) = batch;
    fn rocksdb_writebatch_update_timestamps(
        wb: *mut rocksdb_writebatch_t, ts: *const c_char, tslen: usize, state: *mut c_void,
        get_ts_size: *const c_void,
    ) = error;
    fn rocksdb_writebatch_wi_update_timestamps(
        wbwi: *mut rocksdb_writebatch_wi_t, ts: *const c_char, tslen: usize, state: *mut c_void,
        get_ts_size: *const c_void,
    ) = error;
    fn rocksdb_comparator_with_ts_create(
        state: *mut c_void, destructor: Destructor, compare: *const c_void, compare_ts: *const c_void,
        compare_without_ts: *const c_void, name: *const c_void, timestamp_size: usize,
    ) -> *mut rocksdb_comparator_t = handle(state, destructor);
    fn rocksdb_sstfilewriter_put_with_ts(
        writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize, ts: *const c_char, tslen: usize,
        val: *const c_char, vallen: usize,
    ) = error;
    fn rocksdb_sstfilewriter_delete_with_ts(
        writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize, ts: *const c_char, tslen: usize,
    ) = error;
}
