//! Tables written by hand, and ingested.

use super::files::rocksdb_envoptions_t;
use super::{not_built, unbuilt_types};
use crate::comparator::rocksdb_comparator_t;
use crate::db::rocksdb_t;
use crate::event_listener::rocksdb_table_properties_t;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::kept::kept_options;
use crate::options::rocksdb_options_t;
use std::ffi::{c_char, c_int, c_uchar};

unbuilt_types! {
    rocksdb_externalfileingestioninfo_t, rocksdb_ingestexternalfileoptions_t, rocksdb_sstfilewriter_t,
}

kept_options! {
    for rocksdb_ingestexternalfileoptions_t:
    asks move_files: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_move_files
        / rocksdb_ingestexternalfileoptions_get_move_files;
    asks snapshot_consistency: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_snapshot_consistency
        / rocksdb_ingestexternalfileoptions_get_snapshot_consistency;
    asks allow_global_seqno: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_allow_global_seqno
        / rocksdb_ingestexternalfileoptions_get_allow_global_seqno;
    asks allow_blocking_flush: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_allow_blocking_flush
        / rocksdb_ingestexternalfileoptions_get_allow_blocking_flush;
    asks ingest_behind: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_ingest_behind
        / rocksdb_ingestexternalfileoptions_get_ingest_behind;
    asks fail_if_not_bottommost_level: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level
        / rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level;
    asks link_files: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_link_files
        / rocksdb_ingestexternalfileoptions_get_link_files;
    asks failed_move_fall_back_to_copy: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_failed_move_fall_back_to_copy
        / rocksdb_ingestexternalfileoptions_get_failed_move_fall_back_to_copy;
    asks write_global_seqno: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_write_global_seqno
        / rocksdb_ingestexternalfileoptions_get_write_global_seqno;
    asks verify_checksums_before_ingest: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_verify_checksums_before_ingest
        / rocksdb_ingestexternalfileoptions_get_verify_checksums_before_ingest;
    asks verify_checksums_readahead_size: usize = 0,
        rocksdb_ingestexternalfileoptions_set_verify_checksums_readahead_size
        / rocksdb_ingestexternalfileoptions_get_verify_checksums_readahead_size;
    asks verify_file_checksum: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_verify_file_checksum
        / rocksdb_ingestexternalfileoptions_get_verify_file_checksum;
    asks allow_db_generated_files: c_uchar = 0,
        rocksdb_ingestexternalfileoptions_set_allow_db_generated_files
        / rocksdb_ingestexternalfileoptions_get_allow_db_generated_files;
    asks fill_cache: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_fill_cache
        / rocksdb_ingestexternalfileoptions_get_fill_cache;
    asks prefetch_lmax_index_and_filter_blocks: c_uchar = 1,
        rocksdb_ingestexternalfileoptions_set_prefetch_lmax_index_and_filter_blocks
        / rocksdb_ingestexternalfileoptions_get_prefetch_lmax_index_and_filter_blocks;
    asks file_opening_threads: c_int = 1,
        rocksdb_ingestexternalfileoptions_set_file_opening_threads
        / rocksdb_ingestexternalfileoptions_get_file_opening_threads;
}

not_built! {
    fn rocksdb_externalfileingestioninfo_cf_name(
        info: *const rocksdb_externalfileingestioninfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_externalfileingestioninfo_external_file_path(
        info: *const rocksdb_externalfileingestioninfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_externalfileingestioninfo_internal_file_path(
        info: *const rocksdb_externalfileingestioninfo_t, size: *mut usize,
    ) -> *const c_char = neutral(size);
    fn rocksdb_externalfileingestioninfo_global_seqno(
        info: *const rocksdb_externalfileingestioninfo_t,
    ) -> u64 = neutral;
    fn rocksdb_externalfileingestioninfo_table_properties(
        info: *const rocksdb_externalfileingestioninfo_t,
    ) -> *const rocksdb_table_properties_t = neutral;
    fn rocksdb_sstfilewriter_create(
        env: *const rocksdb_envoptions_t, io_options: *const rocksdb_options_t,
    ) -> *mut rocksdb_sstfilewriter_t = handle;
    fn rocksdb_sstfilewriter_create_with_comparator(
        env: *const rocksdb_envoptions_t, io_options: *const rocksdb_options_t,
        comparator: *const rocksdb_comparator_t,
    ) -> *mut rocksdb_sstfilewriter_t = handle;
    fn rocksdb_sstfilewriter_open(writer: *mut rocksdb_sstfilewriter_t, name: *const c_char) = error;
    fn rocksdb_sstfilewriter_add(
        writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize, val: *const c_char, vallen: usize,
    ) = error;
    fn rocksdb_sstfilewriter_put(
        writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize, val: *const c_char, vallen: usize,
    ) = error;
    fn rocksdb_sstfilewriter_merge(
        writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize, val: *const c_char, vallen: usize,
    ) = error;
    fn rocksdb_sstfilewriter_delete(writer: *mut rocksdb_sstfilewriter_t, key: *const c_char, keylen: usize) = error;
    fn rocksdb_sstfilewriter_delete_range(
        writer: *mut rocksdb_sstfilewriter_t, begin_key: *const c_char, begin_keylen: usize, end_key: *const c_char,
        end_keylen: usize,
    ) = error;
    fn rocksdb_sstfilewriter_finish(writer: *mut rocksdb_sstfilewriter_t) = error;
    fn rocksdb_sstfilewriter_file_size(writer: *mut rocksdb_sstfilewriter_t, file_size: *mut u64) = neutral;
    fn rocksdb_sstfilewriter_destroy(writer: *mut rocksdb_sstfilewriter_t) = destroy;
    fn rocksdb_ingestexternalfileoptions_create() -> *mut rocksdb_ingestexternalfileoptions_t = handle;
    fn rocksdb_ingestexternalfileoptions_destroy(opt: *mut rocksdb_ingestexternalfileoptions_t) = destroy;
    fn rocksdb_ingest_external_file(
        db: *mut rocksdb_t, file_list: *const *const c_char, list_len: usize,
        opt: *const rocksdb_ingestexternalfileoptions_t,
    ) = error;
    fn rocksdb_ingest_external_file_cf(
        db: *mut rocksdb_t, handle: *mut rocksdb_column_family_handle_t, file_list: *const *const c_char,
        list_len: usize, opt: *const rocksdb_ingestexternalfileoptions_t,
    ) = error;
}
