//! Batches that can be read.

use super::{not_built, unbuilt_types};
use crate::comparator::rocksdb_comparator_t;
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::iterator::rocksdb_iterator_t;
use crate::operation_options::{rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::options::rocksdb_options_t;
use crate::read::rocksdb_pinnableslice_t;
use std::ffi::{c_char, c_int, c_uchar, c_void};

unbuilt_types! {
    rocksdb_writebatch_wi_t,
}

not_built! {
    fn rocksdb_writebatch_wi_create(
        reserved_bytes: usize, overwrite_keys: c_uchar,
    ) -> *mut rocksdb_writebatch_wi_t = handle;
    fn rocksdb_writebatch_wi_create_with_params(
        backup_index_comparator: *mut rocksdb_comparator_t, reserved_bytes: usize, overwrite_key: c_uchar,
        max_bytes: usize, protection_bytes_per_key: usize,
    ) -> *mut rocksdb_writebatch_wi_t = handle;
    fn rocksdb_writebatch_wi_destroy(writebatch_wi: *mut rocksdb_writebatch_wi_t) = destroy;
    fn rocksdb_writebatch_wi_clear(writebatch_wi: *mut rocksdb_writebatch_wi_t) = neutral;
    fn rocksdb_writebatch_wi_count(b: *mut rocksdb_writebatch_wi_t) -> c_int = neutral;
    fn rocksdb_writebatch_wi_put(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, key: *const c_char, klen: usize, val: *const c_char,
        vlen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_put_cf(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char, klen: usize, val: *const c_char, vlen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_putv(
        b: *mut rocksdb_writebatch_wi_t, num_keys: c_int, keys_list: *const *const c_char,
        keys_list_sizes: *const usize, num_values: c_int, values_list: *const *const c_char,
        values_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_putv_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t, num_keys: c_int,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, num_values: c_int,
        values_list: *const *const c_char, values_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_merge(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, key: *const c_char, klen: usize, val: *const c_char,
        vlen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_merge_cf(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char, klen: usize, val: *const c_char, vlen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_mergev(
        b: *mut rocksdb_writebatch_wi_t, num_keys: c_int, keys_list: *const *const c_char,
        keys_list_sizes: *const usize, num_values: c_int, values_list: *const *const c_char,
        values_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_mergev_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t, num_keys: c_int,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, num_values: c_int,
        values_list: *const *const c_char, values_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_delete(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, key: *const c_char, klen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_singledelete(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, key: *const c_char, klen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_delete_cf(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char, klen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_singledelete_cf(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char, klen: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_deletev(
        b: *mut rocksdb_writebatch_wi_t, num_keys: c_int, keys_list: *const *const c_char,
        keys_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_deletev_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t, num_keys: c_int,
        keys_list: *const *const c_char, keys_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_delete_range(
        b: *mut rocksdb_writebatch_wi_t, start_key: *const c_char, start_key_len: usize, end_key: *const c_char,
        end_key_len: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_delete_range_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t,
        start_key: *const c_char, start_key_len: usize, end_key: *const c_char, end_key_len: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_delete_rangev(
        b: *mut rocksdb_writebatch_wi_t, num_keys: c_int, start_keys_list: *const *const c_char,
        start_keys_list_sizes: *const usize, end_keys_list: *const *const c_char, end_keys_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_delete_rangev_cf(
        b: *mut rocksdb_writebatch_wi_t, column_family: *mut rocksdb_column_family_handle_t, num_keys: c_int,
        start_keys_list: *const *const c_char, start_keys_list_sizes: *const usize,
        end_keys_list: *const *const c_char, end_keys_list_sizes: *const usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_put_log_data(
        writebatch_wi: *mut rocksdb_writebatch_wi_t, blob: *const c_char, len: usize,
    ) = neutral;
    fn rocksdb_writebatch_wi_iterate(
        b: *mut rocksdb_writebatch_wi_t, state: *mut c_void, put: *const c_void, deleted: *const c_void,
    ) = neutral;
    fn rocksdb_writebatch_wi_data(b: *mut rocksdb_writebatch_wi_t, size: *mut usize) -> *const c_char = neutral(size);
    fn rocksdb_writebatch_wi_set_save_point(writebatch_wi: *mut rocksdb_writebatch_wi_t) = neutral;
    fn rocksdb_writebatch_wi_rollback_to_save_point(writebatch_wi: *mut rocksdb_writebatch_wi_t) = error;
    fn rocksdb_writebatch_wi_get_from_batch(
        wbwi: *mut rocksdb_writebatch_wi_t, options: *const rocksdb_options_t, key: *const c_char, keylen: usize,
        vallen: *mut usize,
    ) -> *mut c_char = error(vallen);
    fn rocksdb_writebatch_wi_get_from_batch_cf(
        wbwi: *mut rocksdb_writebatch_wi_t, options: *const rocksdb_options_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, vallen: *mut usize,
    ) -> *mut c_char = error(vallen);
    fn rocksdb_writebatch_wi_get_from_batch_and_db(
        wbwi: *mut rocksdb_writebatch_wi_t, db: *mut rocksdb_t, options: *const rocksdb_readoptions_t,
        key: *const c_char, keylen: usize, vallen: *mut usize,
    ) -> *mut c_char = error(vallen);
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        wbwi: *mut rocksdb_writebatch_wi_t, db: *mut rocksdb_t, options: *const rocksdb_readoptions_t,
        key: *const c_char, keylen: usize,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        wbwi: *mut rocksdb_writebatch_wi_t, db: *mut rocksdb_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, vallen: *mut usize,
    ) -> *mut c_char = error(vallen);
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        wbwi: *mut rocksdb_writebatch_wi_t, db: *mut rocksdb_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_write_writebatch_wi(
        db: *mut rocksdb_t, options: *const rocksdb_writeoptions_t, wbwi: *mut rocksdb_writebatch_wi_t,
    ) = error;
    fn rocksdb_writebatch_wi_create_iterator_with_base(
        wbwi: *mut rocksdb_writebatch_wi_t, base_iterator: *mut rocksdb_iterator_t,
    ) -> *mut rocksdb_iterator_t = handle(base_iterator);
    fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        wbwi: *mut rocksdb_writebatch_wi_t, base_iterator: *mut rocksdb_iterator_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t = handle(base_iterator);
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        wbwi: *mut rocksdb_writebatch_wi_t, base_iterator: *mut rocksdb_iterator_t,
        cf: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t = handle(base_iterator);
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        wbwi: *mut rocksdb_writebatch_wi_t, base_iterator: *mut rocksdb_iterator_t,
        cf: *mut rocksdb_column_family_handle_t, options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t = handle(base_iterator);
}
