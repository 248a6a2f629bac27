//! About how many bytes ranges of keys take.

use crate::db::rocksdb_t;
use crate::family_handle::family;
use crate::family_handle::{count_of, rocksdb_column_family_handle_t};
use crate::handle::borrow;
use crate::memory::{at, keys_of, put};
use crate::operation_options::rocksdb_size_approximation_options_t;
use ferrock::{ColumnFamily, Error, Result};
use std::ffi::{c_char, c_int};

/// Ranges of a caller: keys and their lengths, from and up to.
type Keys = (*const *const c_char, *const usize);

/// Estimates the bytes of ranges, each into its place. Only tables count; without them nothing does.
///
/// # Safety
/// The contract: all arrays have `count` elements.
unsafe fn estimate(
    db: &rocksdb_t,
    family: &ColumnFamily,
    count: c_int,
    (starts, start_lengths): Keys,
    (limits, limit_lengths): Keys,
    sizes: *mut u64,
) -> Result<()> {
    let count = count_of(count);
    // SAFETY: as for this function.
    let (starts, limits) = unsafe { (keys_of(count, starts, start_lengths)?, keys_of(count, limits, limit_lengths)?) };
    let ranges: Vec<(&[u8], &[u8])> = starts.into_iter().zip(limits).collect();
    for (index, size) in db.db.approximate_sizes(family, &ranges)?.into_iter().enumerate() {
        // SAFETY: as for this function.
        unsafe { put(at(sizes, index), size) };
    }
    Ok(())
}

/// For an estimate that counts nothing: RocksDB refuses it, too.
fn nothing_to_count() -> Error {
    Error::invalid_argument("an estimate has to include files or memtables")
}

fn check_counts_tables(options: &rocksdb_size_approximation_options_t) -> Result<()> {
    if options.to_estimate()? { Ok(()) } else { Err(nothing_to_count()) }
}

/// `INCLUDE_FILES`.
const FILES: u8 = 2;

c_fallible! {
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
        // SAFETY: the contract.
        unsafe {
            let db = borrow(db, "database")?;
            estimate(db, &db.default, count, (starts, start_lengths), (limits, limit_lengths), sizes)
        }
    }

    /// The same, of a column family.
    fn rocksdb_approximate_sizes_cf(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        limits: *const *const c_char,
        limit_lengths: *const usize,
        sizes: *mut u64,
    ) {
        // SAFETY: the contract.
        unsafe {
            let (db, family) = (borrow(db, "database")?, family(column_family)?);
            estimate(db, family, count, (starts, start_lengths), (limits, limit_lengths), sizes)
        }
    }

    /// The same, of what the bits name: 1 memtables (not built), 2 tables.
    fn rocksdb_approximate_sizes_cf_with_flags(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        limits: *const *const c_char,
        limit_lengths: *const usize,
        include_flags: u8,
        sizes: *mut u64,
    ) {
        // SAFETY: the contract.
        unsafe {
            let (db, family) = (borrow(db, "database")?, family(column_family)?);
            match include_flags {
                0 => return Err(nothing_to_count()),
                FILES => {}
                _ => return Err(Error::not_supported(format!("include_flags = {include_flags} is not built yet"))),
            }
            estimate(db, family, count, (starts, start_lengths), (limits, limit_lengths), sizes)
        }
    }

    /// The same, with options, of the default column family.
    fn rocksdb_approximate_sizes_with_options(
        db: *mut rocksdb_t,
        options: *const rocksdb_size_approximation_options_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        limits: *const *const c_char,
        limit_lengths: *const usize,
        sizes: *mut u64,
    ) {
        // SAFETY: the contract.
        unsafe {
            let (db, options) = (borrow(db, "database")?, borrow(options, "options")?);
            check_counts_tables(options)?;
            estimate(db, &db.default, count, (starts, start_lengths), (limits, limit_lengths), sizes)
        }
    }

    /// The same, with options, of a column family.
    fn rocksdb_approximate_sizes_cf_with_options(
        db: *mut rocksdb_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_size_approximation_options_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        limits: *const *const c_char,
        limit_lengths: *const usize,
        sizes: *mut u64,
    ) {
        // SAFETY: the contract.
        unsafe {
            let (db, family, options) = (borrow(db, "database")?, family(column_family)?, borrow(options, "options")?);
            check_counts_tables(options)?;
            estimate(db, family, count, (starts, start_lengths), (limits, limit_lengths), sizes)
        }
    }
}
