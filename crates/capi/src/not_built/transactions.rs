//! Transactions: pessimistic, optimistic, and their databases.

use super::{not_built, unbuilt_types};
use crate::checkpoint::rocksdb_checkpoint_t;
use crate::db::rocksdb_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::indexed_batch::rocksdb_writebatch_wi_t;
use crate::iterator::rocksdb_iterator_t;
use crate::kept::kept_options;
use crate::operation_options::{
    rocksdb_flushoptions_t, rocksdb_flushwaloptions_t, rocksdb_readoptions_t, rocksdb_writeoptions_t,
};
use crate::options::rocksdb_options_t;
use crate::read::rocksdb_pinnableslice_t;
use crate::snapshot::rocksdb_snapshot_t;
use crate::write_batch::rocksdb_writebatch_t;
use std::ffi::{c_char, c_int, c_uchar};

unbuilt_types! {
    rocksdb_optimistictransaction_options_t, rocksdb_optimistictransactiondb_lock_buckets_t,
    rocksdb_optimistictransactiondb_options_t, rocksdb_optimistictransactiondb_t, rocksdb_transaction_options_t,
    rocksdb_transaction_t, rocksdb_transactiondb_options_t, rocksdb_transactiondb_t,
}

kept_options! {
    for rocksdb_optimistictransaction_options_t:
    asks set_snapshot: c_uchar = 0,
        rocksdb_optimistictransaction_options_set_set_snapshot
        / rocksdb_optimistictransaction_options_get_set_snapshot;
}

kept_options! {
    for rocksdb_optimistictransactiondb_options_t:
    asks validate_policy: c_int = 1,
        rocksdb_optimistictransactiondb_options_set_validate_policy
        / rocksdb_optimistictransactiondb_options_get_validate_policy;
    asks occ_lock_buckets: u32 = 1048576,
        rocksdb_optimistictransactiondb_options_set_occ_lock_buckets
        / rocksdb_optimistictransactiondb_options_get_occ_lock_buckets;
}

kept_options! {
    for rocksdb_transaction_options_t:
    asks set_snapshot: c_uchar = 0,
        rocksdb_transaction_options_set_set_snapshot
        / rocksdb_transaction_options_get_set_snapshot;
    asks deadlock_detect: c_uchar = 0,
        rocksdb_transaction_options_set_deadlock_detect
        / rocksdb_transaction_options_get_deadlock_detect;
    asks use_only_the_last_commit_time_batch_for_recovery: c_uchar = 0,
        rocksdb_transaction_options_set_use_only_the_last_commit_time_batch_for_recovery
        / rocksdb_transaction_options_get_use_only_the_last_commit_time_batch_for_recovery;
    asks lock_timeout: i64 = -1,
        rocksdb_transaction_options_set_lock_timeout
        / rocksdb_transaction_options_get_lock_timeout;
    asks deadlock_timeout_us: i64 = 500,
        rocksdb_transaction_options_set_deadlock_timeout_us
        / rocksdb_transaction_options_get_deadlock_timeout_us;
    asks expiration: i64 = -1,
        rocksdb_transaction_options_set_expiration
        / rocksdb_transaction_options_get_expiration;
    asks deadlock_detect_depth: i64 = 50,
        rocksdb_transaction_options_set_deadlock_detect_depth
        / rocksdb_transaction_options_get_deadlock_detect_depth;
    asks max_write_batch_size: usize = 0,
        rocksdb_transaction_options_set_max_write_batch_size
        / rocksdb_transaction_options_get_max_write_batch_size;
    asks skip_concurrency_control: c_uchar = 0,
        rocksdb_transaction_options_set_skip_concurrency_control
        / rocksdb_transaction_options_get_skip_concurrency_control;
    asks skip_prepare: c_uchar = 1,
        rocksdb_transaction_options_set_skip_prepare
        / rocksdb_transaction_options_get_skip_prepare;
    asks write_batch_flush_threshold: i64 = -1,
        rocksdb_transaction_options_set_write_batch_flush_threshold
        / rocksdb_transaction_options_get_write_batch_flush_threshold;
    asks write_batch_track_timestamp_size: c_uchar = 0,
        rocksdb_transaction_options_set_write_batch_track_timestamp_size
        / rocksdb_transaction_options_get_write_batch_track_timestamp_size;
    asks commit_bypass_memtable: c_uchar = 0,
        rocksdb_transaction_options_set_commit_bypass_memtable
        / rocksdb_transaction_options_get_commit_bypass_memtable;
    asks large_txn_commit_optimize_threshold: u32 = 0,
        rocksdb_transaction_options_set_large_txn_commit_optimize_threshold
        / rocksdb_transaction_options_get_large_txn_commit_optimize_threshold;
    asks large_txn_commit_optimize_byte_threshold: u64 = 0,
        rocksdb_transaction_options_set_large_txn_commit_optimize_byte_threshold
        / rocksdb_transaction_options_get_large_txn_commit_optimize_byte_threshold;
}

kept_options! {
    for rocksdb_transactiondb_options_t:
    asks max_num_locks: i64 = -1,
        rocksdb_transactiondb_options_set_max_num_locks
        / rocksdb_transactiondb_options_get_max_num_locks;
    asks max_num_deadlocks: u32 = 5,
        rocksdb_transactiondb_options_set_max_num_deadlocks
        / rocksdb_transactiondb_options_get_max_num_deadlocks;
    asks num_stripes: usize = 16,
        rocksdb_transactiondb_options_set_num_stripes
        / rocksdb_transactiondb_options_get_num_stripes;
    asks transaction_lock_timeout: i64 = 1000,
        rocksdb_transactiondb_options_set_transaction_lock_timeout
        / rocksdb_transactiondb_options_get_transaction_lock_timeout;
    asks default_lock_timeout: i64 = 1000,
        rocksdb_transactiondb_options_set_default_lock_timeout
        / rocksdb_transactiondb_options_get_default_lock_timeout;
    asks write_policy: c_int = 0,
        rocksdb_transactiondb_options_set_write_policy
        / rocksdb_transactiondb_options_get_write_policy;
    asks rollback_merge_operands: c_uchar = 0,
        rocksdb_transactiondb_options_set_rollback_merge_operands
        / rocksdb_transactiondb_options_get_rollback_merge_operands;
    asks use_per_key_point_lock_mgr: c_uchar = 0,
        rocksdb_transactiondb_options_set_use_per_key_point_lock_mgr
        / rocksdb_transactiondb_options_get_use_per_key_point_lock_mgr;
    asks skip_concurrency_control: c_uchar = 0,
        rocksdb_transactiondb_options_set_skip_concurrency_control
        / rocksdb_transactiondb_options_get_skip_concurrency_control;
    asks default_write_batch_flush_threshold: i64 = 0,
        rocksdb_transactiondb_options_set_default_write_batch_flush_threshold
        / rocksdb_transactiondb_options_get_default_write_batch_flush_threshold;
    asks enable_udt_validation: c_uchar = 1,
        rocksdb_transactiondb_options_set_enable_udt_validation
        / rocksdb_transactiondb_options_get_enable_udt_validation;
    asks txn_commit_bypass_memtable_threshold: u32 = 4294967295,
        rocksdb_transactiondb_options_set_txn_commit_bypass_memtable_threshold
        / rocksdb_transactiondb_options_get_txn_commit_bypass_memtable_threshold;
}

not_built! {
    fn rocksdb_transactiondb_create_column_family(
        txn_db: *mut rocksdb_transactiondb_t, column_family_options: *const rocksdb_options_t,
        column_family_name: *const c_char,
    ) -> *mut rocksdb_column_family_handle_t = error;
    fn rocksdb_transactiondb_open(
        options: *const rocksdb_options_t, txn_db_options: *const rocksdb_transactiondb_options_t,
        name: *const c_char,
    ) -> *mut rocksdb_transactiondb_t = error;
    fn rocksdb_transactiondb_open_column_families(
        options: *const rocksdb_options_t, txn_db_options: *const rocksdb_transactiondb_options_t,
        name: *const c_char, num_column_families: c_int, column_family_names: *const *const c_char,
        column_family_options: *const *const rocksdb_options_t,
        column_family_handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_transactiondb_t = error;
    fn rocksdb_transactiondb_create_snapshot(
        txn_db: *mut rocksdb_transactiondb_t,
    ) -> *const rocksdb_snapshot_t = neutral;
    fn rocksdb_transactiondb_release_snapshot(
        txn_db: *mut rocksdb_transactiondb_t, snapshot: *const rocksdb_snapshot_t,
    ) = neutral;
    fn rocksdb_transactiondb_property_value(
        db: *mut rocksdb_transactiondb_t, propname: *const c_char,
    ) -> *mut c_char = neutral;
    fn rocksdb_transactiondb_property_int(
        db: *mut rocksdb_transactiondb_t, propname: *const c_char, out_val: *mut u64,
    ) -> c_int = neutral(out_val);
    fn rocksdb_transactiondb_get_base_db(txn_db: *mut rocksdb_transactiondb_t) -> *mut rocksdb_t = neutral;
    fn rocksdb_transactiondb_close_base_db(base_db: *mut rocksdb_t) = neutral;
    fn rocksdb_transaction_begin(
        txn_db: *mut rocksdb_transactiondb_t, write_options: *const rocksdb_writeoptions_t,
        txn_options: *const rocksdb_transaction_options_t, old_txn: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t = handle;
    fn rocksdb_transactiondb_get_prepared_transactions(
        txn_db: *mut rocksdb_transactiondb_t, cnt: *mut usize,
    ) -> *mut *mut rocksdb_transaction_t = neutral(cnt);
    fn rocksdb_transaction_set_name(txn: *mut rocksdb_transaction_t, name: *const c_char, name_len: usize) = error;
    fn rocksdb_transaction_get_name(
        txn: *mut rocksdb_transaction_t, name_len: *mut usize,
    ) -> *mut c_char = neutral(name_len);
    fn rocksdb_transaction_prepare(txn: *mut rocksdb_transaction_t) = error;
    fn rocksdb_transaction_put(
        txn: *mut rocksdb_transaction_t, key: *const c_char, klen: usize, val: *const c_char, vlen: usize,
    ) = error;
    fn rocksdb_transaction_put_cf(
        txn: *mut rocksdb_transaction_t, column_family: *mut rocksdb_column_family_handle_t, key: *const c_char,
        klen: usize, val: *const c_char, vlen: usize,
    ) = error;
    fn rocksdb_transaction_merge(
        txn: *mut rocksdb_transaction_t, key: *const c_char, klen: usize, val: *const c_char, vlen: usize,
    ) = error;
    fn rocksdb_transaction_merge_cf(
        txn: *mut rocksdb_transaction_t, column_family: *mut rocksdb_column_family_handle_t, key: *const c_char,
        klen: usize, val: *const c_char, vlen: usize,
    ) = error;
    fn rocksdb_transaction_delete(txn: *mut rocksdb_transaction_t, key: *const c_char, klen: usize) = error;
    fn rocksdb_transaction_delete_cf(
        txn: *mut rocksdb_transaction_t, column_family: *mut rocksdb_column_family_handle_t, key: *const c_char,
        klen: usize,
    ) = error;
    fn rocksdb_transaction_commit(txn: *mut rocksdb_transaction_t) = error;
    fn rocksdb_transaction_rollback(txn: *mut rocksdb_transaction_t) = error;
    fn rocksdb_transaction_put_log_data(txn: *mut rocksdb_transaction_t, blob: *const c_char, len: usize) = neutral;
    fn rocksdb_transaction_set_savepoint(txn: *mut rocksdb_transaction_t) = neutral;
    fn rocksdb_transaction_rollback_to_savepoint(txn: *mut rocksdb_transaction_t) = error;
    fn rocksdb_transaction_destroy(txn: *mut rocksdb_transaction_t) = destroy;
    fn rocksdb_transaction_get_writebatch_wi(
        txn: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_writebatch_wi_t = neutral;
    fn rocksdb_transaction_rebuild_from_writebatch(
        txn: *mut rocksdb_transaction_t, writebatch: *mut rocksdb_writebatch_t,
    ) = error;
    fn rocksdb_transaction_rebuild_from_writebatch_wi(
        txn: *mut rocksdb_transaction_t, wi: *mut rocksdb_writebatch_wi_t,
    ) = error;
    fn rocksdb_transaction_set_commit_timestamp(txn: *mut rocksdb_transaction_t, commit_timestamp: u64) = neutral;
    fn rocksdb_transaction_set_read_timestamp_for_validation(
        txn: *mut rocksdb_transaction_t, read_timestamp: u64,
    ) = neutral;
    fn rocksdb_transaction_get_snapshot(txn: *mut rocksdb_transaction_t) -> *const rocksdb_snapshot_t = neutral;
    fn rocksdb_transaction_get(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t, key: *const c_char, klen: usize,
        vlen: *mut usize,
    ) -> *mut c_char = error(vlen);
    fn rocksdb_transaction_get_pinned(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t, key: *const c_char, klen: usize,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_transaction_get_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, klen: usize, vlen: *mut usize,
    ) -> *mut c_char = error(vlen);
    fn rocksdb_transaction_get_pinned_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, klen: usize,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_transaction_get_for_update(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t, key: *const c_char, klen: usize,
        vlen: *mut usize, exclusive: c_uchar,
    ) -> *mut c_char = error(vlen);
    fn rocksdb_transaction_get_pinned_for_update(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t, key: *const c_char, klen: usize,
        exclusive: c_uchar,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_transaction_get_for_update_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, klen: usize, vlen: *mut usize,
        exclusive: c_uchar,
    ) -> *mut c_char = error(vlen);
    fn rocksdb_transaction_get_pinned_for_update_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, klen: usize, exclusive: c_uchar,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_transaction_multi_get(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes);
    fn rocksdb_transaction_multi_get_for_update(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes);
    fn rocksdb_transaction_multi_get_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_families: *const *const rocksdb_column_family_handle_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes);
    fn rocksdb_transaction_multi_get_for_update_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_families: *const *const rocksdb_column_family_handle_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes);
    fn rocksdb_transactiondb_get(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t, key: *const c_char, klen: usize,
        vlen: *mut usize,
    ) -> *mut c_char = error(vlen);
    fn rocksdb_transactiondb_get_pinned(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t, key: *const c_char, klen: usize,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_transactiondb_get_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, vallen: *mut usize,
    ) -> *mut c_char = error(vallen);
    fn rocksdb_transactiondb_get_pinned_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize,
    ) -> *mut rocksdb_pinnableslice_t = error;
    fn rocksdb_transactiondb_multi_get(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes);
    fn rocksdb_transactiondb_multi_get_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t,
        column_families: *const *const rocksdb_column_family_handle_t, num_keys: usize,
        keys_list: *const *const c_char, keys_list_sizes: *const usize, values_list: *mut *mut c_char,
        values_list_sizes: *mut usize, errs: *mut *mut c_char,
    ) = each(num_keys, errs, values_list, values_list_sizes);
    fn rocksdb_transactiondb_put(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t, key: *const c_char,
        klen: usize, val: *const c_char, vlen: usize,
    ) = error;
    fn rocksdb_transactiondb_put_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize, val: *const c_char,
        vallen: usize,
    ) = error;
    fn rocksdb_transactiondb_write(
        db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t, batch: *mut rocksdb_writebatch_t,
    ) = error;
    fn rocksdb_transactiondb_merge(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t, key: *const c_char,
        klen: usize, val: *const c_char, vlen: usize,
    ) = error;
    fn rocksdb_transactiondb_merge_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, klen: usize, val: *const c_char,
        vlen: usize,
    ) = error;
    fn rocksdb_transactiondb_delete(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t, key: *const c_char,
        klen: usize,
    ) = error;
    fn rocksdb_transactiondb_delete_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t, key: *const c_char, keylen: usize,
    ) = error;
    fn rocksdb_transactiondb_flush_wal(txn_db: *mut rocksdb_transactiondb_t, sync: c_uchar) = error;
    fn rocksdb_transactiondb_flush(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_flushoptions_t,
    ) = error;
    fn rocksdb_transactiondb_flush_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_flushoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) = error;
    fn rocksdb_transaction_create_iterator(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t = handle;
    fn rocksdb_transaction_create_iterator_cf(
        txn: *mut rocksdb_transaction_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t = handle;
    fn rocksdb_transactiondb_create_iterator(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t = handle;
    fn rocksdb_transactiondb_create_iterator_cf(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t = handle;
    fn rocksdb_transactiondb_close(txn_db: *mut rocksdb_transactiondb_t) = destroy;
    fn rocksdb_transactiondb_flush_cfs(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_flushoptions_t,
        column_families: *mut *mut rocksdb_column_family_handle_t, num_column_families: c_int,
    ) = error;
    fn rocksdb_transactiondb_flush_wal_with_options(
        txn_db: *mut rocksdb_transactiondb_t, options: *const rocksdb_flushwaloptions_t,
    ) = error;
    fn rocksdb_transactiondb_checkpoint_object_create(
        txn_db: *mut rocksdb_transactiondb_t,
    ) -> *mut rocksdb_checkpoint_t = error;
    fn rocksdb_optimistictransactiondb_open(
        options: *const rocksdb_options_t, name: *const c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t = error;
    fn rocksdb_optimistictransactiondb_open_with_otxn_db_options(
        options: *const rocksdb_options_t, otxn_db_options: *const rocksdb_optimistictransactiondb_options_t,
        name: *const c_char,
    ) -> *mut rocksdb_optimistictransactiondb_t = error;
    fn rocksdb_optimistictransactiondb_open_column_families(
        options: *const rocksdb_options_t, name: *const c_char, num_column_families: c_int,
        column_family_names: *const *const c_char, column_family_options: *const *const rocksdb_options_t,
        column_family_handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_optimistictransactiondb_t = error;
    fn rocksdb_optimistictransactiondb_open_column_families_with_otxn_db_options(
        options: *const rocksdb_options_t, otxn_db_options: *const rocksdb_optimistictransactiondb_options_t,
        name: *const c_char, num_column_families: c_int, column_family_names: *const *const c_char,
        column_family_options: *const *const rocksdb_options_t,
        column_family_handles: *mut *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_optimistictransactiondb_t = error;
    fn rocksdb_optimistictransactiondb_get_base_db(
        otxn_db: *mut rocksdb_optimistictransactiondb_t,
    ) -> *mut rocksdb_t = neutral;
    fn rocksdb_optimistictransactiondb_close_base_db(base_db: *mut rocksdb_t) = neutral;
    fn rocksdb_optimistictransaction_begin(
        otxn_db: *mut rocksdb_optimistictransactiondb_t, write_options: *const rocksdb_writeoptions_t,
        otxn_options: *const rocksdb_optimistictransaction_options_t, old_txn: *mut rocksdb_transaction_t,
    ) -> *mut rocksdb_transaction_t = handle;
    fn rocksdb_optimistictransactiondb_write(
        otxn_db: *mut rocksdb_optimistictransactiondb_t, options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_t,
    ) = error;
    fn rocksdb_optimistictransactiondb_close(otxn_db: *mut rocksdb_optimistictransactiondb_t) = destroy;
    fn rocksdb_optimistictransactiondb_checkpoint_object_create(
        otxn_db: *mut rocksdb_optimistictransactiondb_t,
    ) -> *mut rocksdb_checkpoint_t = error;
    fn rocksdb_transactiondb_options_create() -> *mut rocksdb_transactiondb_options_t = handle;
    fn rocksdb_transactiondb_options_destroy(opt: *mut rocksdb_transactiondb_options_t) = destroy;
    fn rocksdb_transaction_options_create() -> *mut rocksdb_transaction_options_t = handle;
    fn rocksdb_transaction_options_destroy(opt: *mut rocksdb_transaction_options_t) = destroy;
    fn rocksdb_optimistictransaction_options_create() -> *mut rocksdb_optimistictransaction_options_t = handle;
    fn rocksdb_optimistictransactiondb_lock_buckets_create(
        bucket_count: usize, cache_aligned: c_uchar,
    ) -> *mut rocksdb_optimistictransactiondb_lock_buckets_t = handle;
    fn rocksdb_optimistictransactiondb_lock_buckets_approximate_memory_usage(
        lock_buckets: *mut rocksdb_optimistictransactiondb_lock_buckets_t,
    ) -> usize = neutral;
    fn rocksdb_optimistictransactiondb_lock_buckets_destroy(
        lock_buckets: *mut rocksdb_optimistictransactiondb_lock_buckets_t,
    ) = destroy;
    fn rocksdb_optimistictransactiondb_options_create() -> *mut rocksdb_optimistictransactiondb_options_t = handle;
    fn rocksdb_optimistictransactiondb_options_destroy(opt: *mut rocksdb_optimistictransactiondb_options_t) = destroy;
    fn rocksdb_optimistictransactiondb_options_set_shared_lock_buckets(
        opt: *mut rocksdb_optimistictransactiondb_options_t,
        lock_buckets: *mut rocksdb_optimistictransactiondb_lock_buckets_t,
    ) = neutral;
    fn rocksdb_optimistictransaction_options_destroy(opt: *mut rocksdb_optimistictransaction_options_t) = destroy;
    fn rocksdb_optimistictransactiondb_property_value(
        db: *mut rocksdb_optimistictransactiondb_t, propname: *const c_char,
    ) -> *mut c_char = neutral;
    fn rocksdb_optimistictransactiondb_property_int(
        db: *mut rocksdb_optimistictransactiondb_t, propname: *const c_char, out_val: *mut u64,
    ) -> c_int = neutral(out_val);
}
