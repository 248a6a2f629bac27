//! Batches of writes.
//!
//! The functions that add to a batch cannot fail in C; what goes wrong in one (a key of 4 GiB, bytes that are no batch)
//! is kept and told when the batch is written.

use crate::family_handle::family;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::handle::give;
use crate::memory::{bytes, put};
use ferrock::{Error, ErrorKind, Result, WriteBatch};
use std::ffi::{c_char, c_int};

/// A batch of writes.
#[derive(Default)]
pub struct rocksdb_writebatch_t {
    pub(crate) batch: WriteBatch,
    /// The first thing that went wrong.
    error: Option<Error>,
    /// How long it may become; 0: as long as memory allows.
    max_bytes: usize,
}

/// The error of a batch that has become too long, if it has.
pub(crate) fn over_limit(size_bytes: usize, max_bytes: usize) -> Option<Error> {
    (size_bytes > max_bytes).then(|| {
        Error::new(
            ErrorKind::MemoryLimit,
            format!("the batch would have {size_bytes} bytes, and may have {max_bytes}: write it, and begin a new one"),
        )
    })
}

impl rocksdb_writebatch_t {
    /// A batch that holds something already.
    pub(crate) fn of(batch: WriteBatch) -> Self {
        Self { batch, error: None, max_bytes: 0 }
    }

    /// The first thing that went wrong, for what was added then is not in the batch.
    pub(crate) fn check(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Makes the batch one that cannot be written, unless it is one already.
    pub(crate) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    #[inline]
    fn add(&mut self, add: impl FnOnce(&mut WriteBatch) -> Result<()>) {
        if self.max_bytes > 0 {
            return self.add_within_limit(add);
        }
        if let Err(error) = add(&mut self.batch) {
            self.fail(error);
        }
    }

    /// Adds what does not make the batch too long.
    #[cold]
    fn add_within_limit(&mut self, add: impl FnOnce(&mut WriteBatch) -> Result<()>) {
        self.batch.set_save_point();
        let added = add(&mut self.batch);
        let outcome = match over_limit(self.batch.byte_size(), self.max_bytes) {
            Some(error) => added.and_then(|()| self.batch.rollback_to_save_point()).and(Err(error)),
            None => added.and(self.batch.pop_save_point()),
        };
        if let Err(error) = outcome {
            self.fail(error);
        }
    }
}

/// Changes a batch, unless it is null.
///
/// # Safety
/// The contract: no other thread uses the batch now.
#[inline]
pub(crate) unsafe fn change(batch: *mut rocksdb_writebatch_t, add: impl FnOnce(&mut WriteBatch) -> Result<()>) {
    // SAFETY: as for this function.
    if let Some(batch) = unsafe { batch.as_mut() } {
        batch.add(add);
    }
}

/// The number of a family.
///
/// # Safety
/// The contract.
#[inline]
pub(crate) unsafe fn id(handle: *const rocksdb_column_family_handle_t) -> Result<u32> {
    // SAFETY: as for this function.
    unsafe { family(handle) }.map(ferrock::ColumnFamily::id)
}

c_functions! {
    /// An empty batch.
    fn rocksdb_writebatch_create() -> *mut rocksdb_writebatch_t {
        give(rocksdb_writebatch_t::default())
    }

    /// A batch from the bytes of another (`rocksdb_writebatch_data`).
    fn rocksdb_writebatch_create_from(data: *const c_char, length: usize) -> *mut rocksdb_writebatch_t {
        // SAFETY: the contract.
        let data = unsafe { bytes(data, length) };
        give(match WriteBatch::from_data(data) {
            Ok(batch) => rocksdb_writebatch_t::of(batch),
            Err(error) => rocksdb_writebatch_t { error: Some(error), ..rocksdb_writebatch_t::default() },
        })
    }

    /// An empty batch with room for so many bytes. What would make it longer than `max_bytes`, unless that is 0, is not
    /// added, and told when it is written. Checksums of entries are not made. Timestamps are not built: a batch that
    /// asks for them cannot be written.
    fn rocksdb_writebatch_create_with_params(
        reserved_bytes: usize,
        max_bytes: usize,
        protection_bytes_per_key: usize,
        default_cf_timestamp_size: usize,
    ) -> *mut rocksdb_writebatch_t {
        // A wrong number only costs a later allocation.
        let batch = WriteBatch::with_capacity(reserved_bytes.min(1 << 20));
        let _ = protection_bytes_per_key;
        let error = (default_cf_timestamp_size != 0)
            .then(|| Error::not_supported("a batch with timestamps is not built yet"));
        give(rocksdb_writebatch_t { batch, error, max_bytes })
    }

    /// Empties a batch.
    fn rocksdb_writebatch_clear(batch: *mut rocksdb_writebatch_t) {
        // SAFETY: the contract.
        if let Some(batch) = unsafe { batch.as_mut() } {
            batch.batch.clear();
            batch.error = None;
        }
    }

    /// The number of writes in a batch.
    fn rocksdb_writebatch_count(batch: *mut rocksdb_writebatch_t) -> c_int {
        // SAFETY: the contract.
        let count = unsafe { batch.as_ref() }.map_or(0, |batch| batch.batch.count());
        c_int::try_from(count).unwrap_or(c_int::MAX)
    }

    /// The bytes of a batch; good until it changes.
    fn rocksdb_writebatch_data(batch: *mut rocksdb_writebatch_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let data = unsafe { batch.as_ref() }.map_or(&[][..], |batch| batch.batch.data());
        // SAFETY: the contract.
        unsafe { put(length, data.len()) };
        data.as_ptr().cast()
    }

    /// Adds: set the value of a key.
    fn rocksdb_writebatch_put(
        batch: *mut rocksdb_writebatch_t,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.put(bytes(key, key_length), bytes(value, value_length))) };
    }

    /// Adds: set the value of a key of a family.
    fn rocksdb_writebatch_put_cf(
        batch: *mut rocksdb_writebatch_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe {
            change(batch, |batch| {
                batch.put_cf(id(column_family)?, bytes(key, key_length), bytes(value, value_length))
            });
        }
    }

    /// Adds: merge an operand into the value of a key.
    fn rocksdb_writebatch_merge(
        batch: *mut rocksdb_writebatch_t,
        key: *const c_char,
        key_length: usize,
        operand: *const c_char,
        operand_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.merge(bytes(key, key_length), bytes(operand, operand_length))) };
    }

    /// Adds: merge an operand into the value of a key of a family.
    fn rocksdb_writebatch_merge_cf(
        batch: *mut rocksdb_writebatch_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        operand: *const c_char,
        operand_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe {
            change(batch, |batch| {
                batch.merge_cf(id(column_family)?, bytes(key, key_length), bytes(operand, operand_length))
            });
        }
    }

    /// Adds: remove a key.
    fn rocksdb_writebatch_delete(batch: *mut rocksdb_writebatch_t, key: *const c_char, key_length: usize) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.delete(bytes(key, key_length))) };
    }

    /// Adds: remove a key of a family.
    fn rocksdb_writebatch_delete_cf(
        batch: *mut rocksdb_writebatch_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.delete_cf(id(column_family)?, bytes(key, key_length))) };
    }

    /// Adds: remove the keys of a family from `start` up to, not including, `end`.
    fn rocksdb_writebatch_delete_range_cf(
        batch: *mut rocksdb_writebatch_t,
        column_family: *mut rocksdb_column_family_handle_t,
        start: *const c_char,
        start_length: usize,
        end: *const c_char,
        end_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe {
            change(batch, |batch| {
                batch.delete_range_cf(id(column_family)?, bytes(start, start_length), bytes(end, end_length))
            });
        }
    }

    /// Adds bytes that go to the log and nowhere else.
    fn rocksdb_writebatch_put_log_data(batch: *mut rocksdb_writebatch_t, data: *const c_char, length: usize) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.put_log_data(bytes(data, length))) };
    }
}

c_destructors! {
    /// Ends a batch.
    fn rocksdb_writebatch_destroy(rocksdb_writebatch_t);
}
