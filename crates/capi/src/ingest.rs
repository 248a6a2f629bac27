//! Files from outside: how they are taken in, and taking them in.

use crate::db::rocksdb_t;
use crate::family_handle::{family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, give};
use crate::memory::{array, path};
use ferrock::{IngestExternalFileOptions, Result};
use std::ffi::{c_char, c_int, c_uchar};
use std::path::Path;

/// How files are taken in.
#[derive(Default)]
pub struct rocksdb_ingestexternalfileoptions_t {
    options: IngestExternalFileOptions,
}

c_functions! {
    /// RocksDB's defaults.
    fn rocksdb_ingestexternalfileoptions_create() -> *mut rocksdb_ingestexternalfileoptions_t {
        give(rocksdb_ingestexternalfileoptions_t::default())
    }
}

c_destructors! {
    /// Ends options.
    fn rocksdb_ingestexternalfileoptions_destroy(rocksdb_ingestexternalfileoptions_t);
}

c_setters! {
    for rocksdb_ingestexternalfileoptions_t:
    /// Asks for second names of files instead of copies, and the first ones go.
    fn rocksdb_ingestexternalfileoptions_set_move_files(c_uchar) => options.move_files;
    /// Asks for second names of files instead of copies.
    fn rocksdb_ingestexternalfileoptions_set_link_files(c_uchar) => options.link_files;
    /// Asks for copies of files that cannot have a second name.
    fn rocksdb_ingestexternalfileoptions_set_failed_move_fall_back_to_copy(c_uchar) => options.failed_move_fall_back_to_copy;
    /// Asks for snapshots that do not see the files.
    fn rocksdb_ingestexternalfileoptions_set_snapshot_consistency(c_uchar) => options.snapshot_consistency;
    /// Asks for sequence numbers for files.
    fn rocksdb_ingestexternalfileoptions_set_allow_global_seqno(c_uchar) => options.allow_global_seqno;
    /// Asks for flushes of memtables that have keys of the files.
    fn rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(c_uchar) => options.allow_blocking_flush;
    /// Asks for files behind all that is there.
    fn rocksdb_ingestexternalfileoptions_set_ingest_behind(c_uchar) => options.ingest_behind;
    /// Asks for sequence numbers in files, too.
    fn rocksdb_ingestexternalfileoptions_set_write_global_seqno(c_uchar) => options.write_global_seqno;
    /// Asks for checks of all blocks.
    fn rocksdb_ingestexternalfileoptions_set_verify_checksums_before_ingest(c_uchar) => options.verify_checksums_before_ingest;
    /// Asks for bytes that these checks read at a time.
    fn rocksdb_ingestexternalfileoptions_set_verify_checksums_readahead_size(usize) => options.verify_checksums_readahead_size;
    /// Asks for checks of whole files, of which no function of this interface tells checksums.
    fn rocksdb_ingestexternalfileoptions_set_verify_file_checksum(c_uchar) => options.verify_file_checksum;
    /// Asks for an error for files that do not fit into the last level.
    fn rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(c_uchar) => options.fail_if_not_bottommost_level;
    /// Asks for files that a database wrote.
    fn rocksdb_ingestexternalfileoptions_set_allow_db_generated_files(c_uchar) => options.allow_db_generated_files;
    /// Asks for files that are opened at once.
    fn rocksdb_ingestexternalfileoptions_set_fill_cache(c_uchar) => options.fill_cache;
    /// Asks for files of the last level that are opened at once.
    fn rocksdb_ingestexternalfileoptions_set_prefetch_lmax_index_and_filter_blocks(c_uchar) => options.prefetch_lmax_index_and_filter_blocks;
    /// Asks for threads that open the files.
    fn rocksdb_ingestexternalfileoptions_set_file_opening_threads(c_int) => options.file_opening_threads;
}

c_getters! {
    for rocksdb_ingestexternalfileoptions_t:
    /// Whether or how many: second names of files instead of copies, and the first ones go.
    fn rocksdb_ingestexternalfileoptions_get_move_files() -> c_uchar => options.move_files;
    /// Whether or how many: second names of files instead of copies.
    fn rocksdb_ingestexternalfileoptions_get_link_files() -> c_uchar => options.link_files;
    /// Whether or how many: copies of files that cannot have a second name.
    fn rocksdb_ingestexternalfileoptions_get_failed_move_fall_back_to_copy() -> c_uchar => options.failed_move_fall_back_to_copy;
    /// Whether or how many: snapshots that do not see the files.
    fn rocksdb_ingestexternalfileoptions_get_snapshot_consistency() -> c_uchar => options.snapshot_consistency;
    /// Whether or how many: sequence numbers for files.
    fn rocksdb_ingestexternalfileoptions_get_allow_global_seqno() -> c_uchar => options.allow_global_seqno;
    /// Whether or how many: flushes of memtables that have keys of the files.
    fn rocksdb_ingestexternalfileoptions_get_allow_blocking_flush() -> c_uchar => options.allow_blocking_flush;
    /// Whether or how many: files behind all that is there, which is not built.
    fn rocksdb_ingestexternalfileoptions_get_ingest_behind() -> c_uchar => options.ingest_behind;
    /// Whether or how many: sequence numbers in files, too.
    fn rocksdb_ingestexternalfileoptions_get_write_global_seqno() -> c_uchar => options.write_global_seqno;
    /// Whether or how many: checks of all blocks.
    fn rocksdb_ingestexternalfileoptions_get_verify_checksums_before_ingest() -> c_uchar => options.verify_checksums_before_ingest;
    /// Whether or how many: bytes that these checks read at a time.
    fn rocksdb_ingestexternalfileoptions_get_verify_checksums_readahead_size() -> usize => options.verify_checksums_readahead_size;
    /// Whether or how many: checks of whole files, of which there are no checksums.
    fn rocksdb_ingestexternalfileoptions_get_verify_file_checksum() -> c_uchar => options.verify_file_checksum;
    /// Whether or how many: an error for files that do not fit into the last level.
    fn rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level() -> c_uchar => options.fail_if_not_bottommost_level;
    /// Whether or how many: files that a database wrote.
    fn rocksdb_ingestexternalfileoptions_get_allow_db_generated_files() -> c_uchar => options.allow_db_generated_files;
    /// Whether or how many: files that are opened at once.
    fn rocksdb_ingestexternalfileoptions_get_fill_cache() -> c_uchar => options.fill_cache;
    /// Whether or how many: files of the last level that are opened at once.
    fn rocksdb_ingestexternalfileoptions_get_prefetch_lmax_index_and_filter_blocks() -> c_uchar => options.prefetch_lmax_index_and_filter_blocks;
    /// Whether or how many: threads that open the files.
    fn rocksdb_ingestexternalfileoptions_get_file_opening_threads() -> c_int => options.file_opening_threads;
}

/// The files of a list.
///
/// # Safety
/// The contract: the array has `length` elements.
unsafe fn files<'a>(list: *const *const c_char, length: usize) -> Result<Vec<&'a Path>> {
    // SAFETY: as for this function.
    let list: &[*const c_char] = unsafe { array(list, length) };
    // SAFETY: as for this function.
    list.iter().map(|file| unsafe { path(*file) }).collect()
}

c_fallible! {
    /// Takes files into the default family.
    fn rocksdb_ingest_external_file(
        db: *mut rocksdb_t,
        file_list: *const *const c_char,
        list_len: usize,
        opt: *const rocksdb_ingestexternalfileoptions_t,
    ) {
        // SAFETY: the contract.
        let (db, files, options) =
            unsafe { (borrow(db, "database")?, files(file_list, list_len)?, borrow(opt, "options")?) };
        db.db.ingest_external_file_cf(&db.default, &files, &options.options)
    }

    /// Takes files into a family.
    fn rocksdb_ingest_external_file_cf(
        db: *mut rocksdb_t,
        handle: *mut rocksdb_column_family_handle_t,
        file_list: *const *const c_char,
        list_len: usize,
        opt: *const rocksdb_ingestexternalfileoptions_t,
    ) {
        // SAFETY: the contract.
        let (db, family, files, options) = unsafe {
            (borrow(db, "database")?, family(handle)?, files(file_list, list_len)?, borrow(opt, "options")?)
        };
        db.db.ingest_external_file_cf(family, &files, &options.options)
    }
}
