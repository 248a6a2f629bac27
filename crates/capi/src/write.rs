//! Writing single entries, and batches.

use crate::db::rocksdb_t;
use crate::family_handle::{family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, borrow_mut, borrow_or};
use crate::memory::bytes;
use crate::operation_options::{DEFAULT_WRITE_OPTIONS, rocksdb_writeoptions_t};
use crate::write_batch::rocksdb_writebatch_t;
use ferrock::{Result, WriteOptions};
use std::ffi::c_char;

/// Database and options of a write.
///
/// # Safety
/// The contract.
#[inline]
unsafe fn target<'a>(
    db: *mut rocksdb_t,
    options: *const rocksdb_writeoptions_t,
) -> Result<(&'a rocksdb_t, &'a WriteOptions)> {
    // SAFETY: as for this function.
    unsafe { Ok((borrow(db, "database")?, borrow_or(options, &DEFAULT_WRITE_OPTIONS).to_write()?)) }
}

c_fallible! {
    /// Sets the value of a key.
    fn rocksdb_put(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), key, value) =
            unsafe { (target(db, options)?, bytes(key, key_length), bytes(value, value_length)) };
        db.put(&db.default, key, value, options)
    }

    /// Sets the value of a key of a family.
    fn rocksdb_put_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), family, key, value) = unsafe {
            (target(db, options)?, family(column_family)?, bytes(key, key_length), bytes(value, value_length))
        };
        db.put(family, key, value, options)
    }

    /// Removes a key.
    fn rocksdb_delete(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), key) = unsafe { (target(db, options)?, bytes(key, key_length)) };
        db.db.delete_cf(&db.default, key, options)
    }

    /// Removes a key of a family.
    fn rocksdb_delete_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), family, key) =
            unsafe { (target(db, options)?, family(column_family)?, bytes(key, key_length)) };
        db.db.delete_cf(family, key, options)
    }

    /// Removes the keys of a family from `start` up to, not including, `end`.
    fn rocksdb_delete_range_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_length: usize,
        end: *const c_char,
        end_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), family, start, end) = unsafe {
            (target(db, options)?, family(column_family)?, bytes(start, start_length), bytes(end, end_length))
        };
        db.db.delete_range_cf(family, start, end, options)
    }

    /// Removes a key that was put exactly once.
    fn rocksdb_singledelete(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), key) = unsafe { (target(db, options)?, bytes(key, key_length)) };
        db.db.single_delete_cf(&db.default, key, options)
    }

    /// Removes a key of a family that was put exactly once.
    fn rocksdb_singledelete_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), family, key) =
            unsafe { (target(db, options)?, family(column_family)?, bytes(key, key_length)) };
        db.db.single_delete_cf(family, key, options)
    }

    /// Merges an operand into the value of a key.
    fn rocksdb_merge(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        key: *const c_char,
        key_length: usize,
        operand: *const c_char,
        operand_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), key, operand) =
            unsafe { (target(db, options)?, bytes(key, key_length), bytes(operand, operand_length)) };
        db.merge(&db.default, key, operand, options)
    }

    /// Merges an operand into the value of a key of a family.
    fn rocksdb_merge_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        operand: *const c_char,
        operand_length: usize,
    ) {
        // SAFETY: the contract.
        let ((db, options), family, key, operand) = unsafe {
            (target(db, options)?, family(column_family)?, bytes(key, key_length), bytes(operand, operand_length))
        };
        db.merge(family, key, operand, options)
    }

    /// Writes a batch atomically. The batch stays as it is, but for the sequence number of its first entry.
    fn rocksdb_write(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_t,
    ) {
        // SAFETY: the contract: no other thread uses the batch now.
        let ((db, options), batch) = unsafe { (target(db, options)?, borrow_mut(batch, "batch")?) };
        batch.check()?;
        db.write(&mut batch.batch, options)
    }
}
