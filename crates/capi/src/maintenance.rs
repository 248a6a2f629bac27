//! Flush, compaction, waiting, pausing, checking.

use crate::column_family::rocksdb_column_family_handle_t;
use crate::db::rocksdb_t;
use crate::handle::{borrow, borrow_or};
use crate::memory::optional_bytes;
use crate::operation_options::{
    DEFAULT_FLUSH_OPTIONS, rocksdb_compactoptions_t, rocksdb_flushoptions_t, rocksdb_wait_for_compact_options_t,
};
use crate::write::family;
use ferrock::{ColumnFamily, CompactRangeOptions};
use std::ffi::{c_char, c_uchar};

c_fallible! {
    /// Flushes the default column family.
    fn rocksdb_flush(db: *mut rocksdb_t, options: *const rocksdb_flushoptions_t) {
        // SAFETY: the contract.
        let (db, options) = unsafe { (borrow(db, "database")?, borrow_or(options, &DEFAULT_FLUSH_OPTIONS)) };
        db.db.flush_cf(&db.default, &options.options)
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
        db.db.flush_cf(family, &options.options)
    }

    /// Hands the log to the operating system, and with `sync` to the disk.
    fn rocksdb_flush_wal(db: *mut rocksdb_t, sync: c_uchar) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.flush_wal(sync != 0)
    }

    /// Waits until no flush and no compaction runs or is due.
    fn rocksdb_wait_for_compact(db: *mut rocksdb_t, _options: *mut rocksdb_wait_for_compact_options_t) {
        // SAFETY: the contract.
        unsafe { borrow(db, "database")? }.db.wait_for_background_work()
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
            (db.as_ref(), (optional_bytes(start, start_length), optional_bytes(limit, limit_length)))
        };
        if let Some(db) = db {
            compact(db, &db.default, &CompactRangeOptions::default(), range);
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
            let range = (optional_bytes(start, start_length), optional_bytes(limit, limit_length));
            (db.as_ref(), column_family.as_ref(), range)
        };
        if let (Some(db), Some(family)) = (db, family) {
            compact(db, &family.family, &CompactRangeOptions::default(), range);
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
            let range = (optional_bytes(start, start_length), optional_bytes(limit, limit_length));
            (db.as_ref(), options.as_ref(), range)
        };
        let default = CompactRangeOptions::default();
        if let Some(db) = db {
            compact(db, &db.default, options.map_or(&default, |options| &options.options), range);
        }
    }
}

type KeyRange<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Compacts. The functions of C have no `errptr`: what goes wrong is in the LOG, and stops later writes if it must.
fn compact(db: &rocksdb_t, family: &ColumnFamily, options: &CompactRangeOptions, (start, limit): KeyRange<'_>) {
    let _ = db.db.compact_range_cf(family, start, limit, options);
}
