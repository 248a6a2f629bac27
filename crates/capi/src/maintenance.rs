//! Flush, compaction, pausing, checking.

use crate::db::rocksdb_t;
use crate::family_handle::family;
use crate::family_handle::{count_of, rocksdb_column_family_handle_t};
use crate::handle::{borrow, borrow_or};
use crate::memory::{array, optional_bytes};
use crate::operation_options::{
    DEFAULT_FLUSH_OPTIONS, rocksdb_compactoptions_t, rocksdb_flushoptions_t, rocksdb_flushwaloptions_t,
    rocksdb_readoptions_t,
};
use ferrock::{ColumnFamily, CompactRangeOptions, Result};
use std::ffi::{c_char, c_int, c_uchar};

c_fallible! {
    /// Flushes the default column family.
    fn rocksdb_flush(db: *mut rocksdb_t, options: *const rocksdb_flushoptions_t) {
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, borrow_or(options, &DEFAULT_FLUSH_OPTIONS)) };
        db.db.flush_cf(&db.default, options.to_flush()?)
    }

    /// Flushes a column family.
    fn rocksdb_flush_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) {
        // SAFETY: the contract.
        let (db, options, family) = unsafe {
            (borrow(db, "database")?, borrow_or(options, &DEFAULT_FLUSH_OPTIONS), family(column_family)?)
        };
        db.db.flush_cf(family, options.to_flush()?)
    }

    /// Hands the log to the operating system, and with `sync` to the disk.
    fn rocksdb_flush_wal(db: *mut rocksdb_t, sync: c_uchar) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.flush_wal(sync != 0)
    }

    /// Starts no flush and no compaction any more, and waits for those that run.
    fn rocksdb_pause_background_work(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.pause_background_work()
    }

    /// Takes back one `rocksdb_pause_background_work`.
    fn rocksdb_continue_background_work(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.continue_background_work()
    }

    /// Flushes column families.
    fn rocksdb_flush_cfs(
        db: *mut rocksdb_t,
        options: *const rocksdb_flushoptions_t,
        column_families: *mut *mut rocksdb_column_family_handle_t,
        count: c_int,
    ) {
        // SAFETY: the contract: the array has `count` elements.
        let (db, options, handles) = unsafe {
            let options = borrow_or(options, &DEFAULT_FLUSH_OPTIONS);
            (borrow(db, "database")?, options.to_flush()?, array(column_families, count_of(count)))
        };
        // SAFETY: the contract.
        let families = handles.iter().map(|handle| unsafe { family(*handle) }.cloned());
        db.db.flush_cfs(&families.collect::<Result<Vec<_>>>()?, options)
    }

    /// Hands the log on, with options.
    fn rocksdb_flush_wal_with_options(db: *mut rocksdb_t, options: *const rocksdb_flushwaloptions_t) {
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, borrow(options, "options")?) };
        db.db.flush_wal_with(&options.options)
    }

    /// Deletes the tables, but for those of level 0, that lie in a range as a whole; null: from the first, to the last
    /// key.
    fn rocksdb_delete_file_in_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, range) = unsafe {
            (borrow(db, "database")?, key_range(start, start_length, limit, limit_length))
        };
        db.db.delete_files_in_ranges_cf(&db.default, &[range], true)
    }

    /// Deletes such tables of a column family.
    fn rocksdb_delete_file_in_range_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, family, range) = unsafe {
            let range = key_range(start, start_length, limit, limit_length);
            (borrow(db, "database")?, family(column_family)?, range)
        };
        db.db.delete_files_in_ranges_cf(family, &[range], true)
    }

    /// Marks the tables that overlap a range for compaction; null: from the first, to the last key.
    fn rocksdb_suggest_compact_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, range) = unsafe {
            (borrow(db, "database")?, key_range(start, start_length, limit, limit_length))
        };
        db.db.suggest_compact_range_cf(&db.default, range.0, range.1)
    }

    /// Marks such tables of a column family.
    fn rocksdb_suggest_compact_range_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, family, range) = unsafe {
            let range = key_range(start, start_length, limit, limit_length);
            (borrow(db, "database")?, family(column_family)?, range)
        };
        db.db.suggest_compact_range_cf(family, range.0, range.1)
    }

    /// Verifies the checksum of every block of every table. The read options change nothing.
    fn rocksdb_verify_checksum_with_options(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) {
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, options.as_ref()) };
        options.map_or(Ok(()), |options| options.to_read().map(drop))?;
        db.db.verify_checksum()
    }

    /// Verifies the checksum of every block of every table.
    fn rocksdb_verify_checksum(db: *mut rocksdb_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.verify_checksum()
    }
}

c_functions! {
    /// Compacts a range of the default column family; null: from the first, to the last key.
    fn rocksdb_compact_range(
        db: *mut rocksdb_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, range) = unsafe {
            (db.as_ref(), key_range(start, start_length, limit, limit_length))
        };
        if let Some(db) = db {
            compact(db, &db.default, None, range);
        }
    }

    /// Compacts a range of a column family.
    fn rocksdb_compact_range_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, family, range) = unsafe {
            let range = key_range(start, start_length, limit, limit_length);
            (db.as_ref(), column_family.as_ref(), range)
        };
        if let (Some(db), Some(family)) = (db, family) {
            compact(db, &family.family, None, range);
        }
    }

    /// Compacts a range of a column family, with options.
    fn rocksdb_compact_range_cf_opt(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *mut rocksdb_compactoptions_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, family, options, range) = unsafe {
            let range = key_range(start, start_length, limit, limit_length);
            (db.as_ref(), column_family.as_ref(), options.as_ref(), range)
        };
        if let (Some(db), Some(family)) = (db, family) {
            compact(db, &family.family, options, range);
        }
    }

    /// Compacts a range of the default column family, with options.
    fn rocksdb_compact_range_opt(
        db: *mut rocksdb_t,
        options: *mut rocksdb_compactoptions_t,
        start: *const c_char,
        start_length: usize,
        limit: *const c_char,
        limit_length: usize,
    ) {
        // SAFETY: the contract.
        let (db, options, range) = unsafe {
            let range = key_range(start, start_length, limit, limit_length);
            (db.as_ref(), options.as_ref(), range)
        };
        if let Some(db) = db {
            compact(db, &db.default, options, range);
        }
    }
}

type KeyRange<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// The ends of a range; null: from the first, to the last key.
///
/// # Safety
/// As for [`optional_bytes`], for each end.
unsafe fn key_range<'a>(
    start: *const c_char,
    start_length: usize,
    limit: *const c_char,
    limit_length: usize,
) -> KeyRange<'a> {
    // SAFETY: as for this function.
    unsafe { (optional_bytes(start, start_length), optional_bytes(limit, limit_length)) }
}

/// Compacts, unless that is switched off. The functions of C have no `errptr`: what goes wrong is in the LOG, and stops
/// later writes if it must. Options that ask for what is not built compact nothing.
fn compact(
    db: &rocksdb_t,
    family: &ColumnFamily,
    options: Option<&rocksdb_compactoptions_t>,
    (start, limit): KeyRange<'_>,
) {
    let default = CompactRangeOptions::default();
    let options = options.map_or(Ok(&default), rocksdb_compactoptions_t::to_compact);
    if let Ok(options) = options {
        let _ = db.db.compact_range_cf(family, start, limit, options);
    }
}
