//! Flush, compaction, waiting, pausing, checking.

use crate::column_family::{count_of, rocksdb_column_family_handle_t};
use crate::db::rocksdb_t;
use crate::handle::{borrow, borrow_or};
use crate::memory::{at, keys_of, optional_bytes, put};
use crate::operation_options::{
    DEFAULT_FLUSH_OPTIONS, rocksdb_compactoptions_t, rocksdb_flushoptions_t, rocksdb_wait_for_compact_options_t,
};
use crate::write::family;
use ferrock::{ColumnFamily, CompactRangeOptions};
use std::ffi::{c_char, c_int, c_uchar};

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

    /// About how many bytes the keys of ranges of the default column family take in tables.
    fn rocksdb_approximate_sizes(
        db: *mut rocksdb_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        limits: *const *const c_char,
        limit_lengths: *const usize,
        sizes: *mut u64,
    ) {
        let count = count_of(count);
        // SAFETY: the contract: all arrays have `count` elements.
        let (db, starts, limits) = unsafe {
            (borrow(db, "database")?, keys_of(count, starts, start_lengths)?, keys_of(count, limits, limit_lengths)?)
        };
        let ranges: Vec<(&[u8], &[u8])> = starts.into_iter().zip(limits).collect();
        for (index, size) in db.db.approximate_sizes(&db.default, &ranges)?.into_iter().enumerate() {
            // SAFETY: the contract: there is a place for every range.
            unsafe { put(at(sizes, index), size) };
        }
        Ok(())
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
