//! The rest of what batches can do: keys and values in parts, save points, and telling what they hold.

use crate::family_handle::{count_of, rocksdb_column_family_handle_t};
use crate::memory::null_handle;
use crate::memory::{bytes, keys_of};
use crate::write_batch::{change, id, rocksdb_writebatch_t};
use ferrock::{Result, WriteBatch};
use ferrock_format::write_batch::Record;
use std::ffi::{c_char, c_int, c_void};

/// Parts of a caller, put together.
///
/// # Safety
/// The contract: both arrays have `count` elements.
pub(crate) unsafe fn joined(count: c_int, parts: *const *const c_char, lengths: *const usize) -> Result<Vec<u8>> {
    // SAFETY: as for this function.
    unsafe { keys_of(count_of(count), parts, lengths) }.map(|parts| parts.concat())
}

/// Functions that add to a batch: a key, or a key and another text, each in parts, with and without a family.
macro_rules! in_parts {
    ($( $plain:ident / $in_family:ident => $add:ident / $add_cf:ident ( $($count:ident $parts:ident $lengths:ident),* ); )*)
    => {$(
        c_functions! {
            #[doc = "Adds to a batch what is given in parts."]
            fn $plain(
                batch: *mut rocksdb_writebatch_t,
                $($count: c_int, $parts: *const *const c_char, $lengths: *const usize),*
            ) {
                // SAFETY: the contract.
                unsafe { change(batch, |batch| batch.$add($(&joined($count, $parts, $lengths)?),*)) };
            }

            #[doc = "Adds to a batch, for a column family, what is given in parts."]
            fn $in_family(
                batch: *mut rocksdb_writebatch_t,
                column_family: *mut rocksdb_column_family_handle_t,
                $($count: c_int, $parts: *const *const c_char, $lengths: *const usize),*
            ) {
                // SAFETY: the contract.
                unsafe {
                    change(batch, |batch| batch.$add_cf(id(column_family)?, $(&joined($count, $parts, $lengths)?),*));
                }
            }
        }
    )*};
}

in_parts! {
    rocksdb_writebatch_putv / rocksdb_writebatch_putv_cf => put / put_cf
        (key_parts keys key_lengths, value_parts values value_lengths);
    rocksdb_writebatch_mergev / rocksdb_writebatch_mergev_cf => merge / merge_cf
        (key_parts keys key_lengths, value_parts values value_lengths);
    rocksdb_writebatch_deletev / rocksdb_writebatch_deletev_cf => delete / delete_cf
        (key_parts keys key_lengths);
}

c_functions! {
    /// Adds: remove a key that was put exactly once.
    fn rocksdb_writebatch_singledelete(batch: *mut rocksdb_writebatch_t, key: *const c_char, key_length: usize) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.single_delete(bytes(key, key_length))) };
    }

    /// Adds: remove a key of a family that was put exactly once.
    fn rocksdb_writebatch_singledelete_cf(
        batch: *mut rocksdb_writebatch_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.single_delete_cf(id(column_family)?, bytes(key, key_length))) };
    }

    /// Adds: remove the keys from `start` up to, not including, `end`.
    fn rocksdb_writebatch_delete_range(
        batch: *mut rocksdb_writebatch_t,
        start: *const c_char,
        start_length: usize,
        end: *const c_char,
        end_length: usize,
    ) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.delete_range(bytes(start, start_length), bytes(end, end_length))) };
    }

    /// Adds: remove the keys of a range whose ends are given in `count` parts each.
    fn rocksdb_writebatch_delete_rangev(
        batch: *mut rocksdb_writebatch_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
    ) {
        // SAFETY: the contract.
        unsafe {
            change(batch, |batch| {
                batch.delete_range(&joined(count, starts, start_lengths)?, &joined(count, ends, end_lengths)?)
            });
        }
    }

    /// The same, in a column family.
    fn rocksdb_writebatch_delete_rangev_cf(
        batch: *mut rocksdb_writebatch_t,
        column_family: *mut rocksdb_column_family_handle_t,
        count: c_int,
        starts: *const *const c_char,
        start_lengths: *const usize,
        ends: *const *const c_char,
        end_lengths: *const usize,
    ) {
        // SAFETY: the contract.
        unsafe {
            change(batch, |batch| {
                let (start, end) = (joined(count, starts, start_lengths)?, joined(count, ends, end_lengths)?);
                batch.delete_range_cf(id(column_family)?, &start, &end)
            });
        }
    }

    /// Remembers what the batch holds now. Save points nest.
    fn rocksdb_writebatch_set_save_point(batch: *mut rocksdb_writebatch_t) {
        // SAFETY: the contract.
        if let Some(batch) = unsafe { batch.as_mut() } {
            batch.batch.set_save_point();
        }
    }

    /// Tells puts and removals of the default family in their order. A record of another family, and a range deletion,
    /// end it.
    fn rocksdb_writebatch_iterate(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: Option<PutCallback>,
        deleted: Option<DeletedCallback>,
    ) {
        // SAFETY: the contract.
        unsafe { iterate(batch.as_ref().map(|batch| &batch.batch), state, put, deleted, None) };
    }

    /// The same, and the bytes that go to the log alone.
    fn rocksdb_writebatch_iterate_ld(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put: Option<PutCallback>,
        deleted: Option<DeletedCallback>,
        log_data: Option<DeletedCallback>,
    ) {
        // SAFETY: the contract.
        unsafe { iterate(batch.as_ref().map(|batch| &batch.batch), state, put, deleted, log_data) };
    }

    /// Tells puts, removals and merges of all families in their order. A range deletion ends it.
    fn rocksdb_writebatch_iterate_cf(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put_cf: Option<FamilyPutCallback>,
        deleted_cf: Option<FamilyDeletedCallback>,
        merge_cf: Option<FamilyPutCallback>,
    ) {
        // SAFETY: the contract.
        unsafe { iterate_families(batch.as_ref().map(|batch| &batch.batch), state, (put_cf, deleted_cf, merge_cf), None) };
    }

    /// The same, and the bytes that go to the log alone.
    fn rocksdb_writebatch_iterate_cf_ld(
        batch: *mut rocksdb_writebatch_t,
        state: *mut c_void,
        put_cf: Option<FamilyPutCallback>,
        deleted_cf: Option<FamilyDeletedCallback>,
        merge_cf: Option<FamilyPutCallback>,
        log_data: Option<DeletedCallback>,
    ) {
        // SAFETY: the contract.
        unsafe { iterate_families(batch.as_ref().map(|batch| &batch.batch), state, (put_cf, deleted_cf, merge_cf), log_data) };
    }
}

c_fallible! {
    /// Takes back everything since the last save point, which is used up.
    fn rocksdb_writebatch_rollback_to_save_point(batch: *mut rocksdb_writebatch_t) {
        // SAFETY: the contract.
        unsafe { batch.as_mut() }.ok_or_else(|| null_handle("batch"))?.batch.rollback_to_save_point()
    }

    /// Forgets the last save point; what the batch holds stays.
    fn rocksdb_writebatch_pop_save_point(batch: *mut rocksdb_writebatch_t) {
        // SAFETY: the contract.
        unsafe { batch.as_mut() }.ok_or_else(|| null_handle("batch"))?.batch.pop_save_point()
    }

    /// Whether the batch is as it was made: without checksums of its entries there is nothing to compare.
    fn rocksdb_writebatch_verify_checksum(batch: *mut rocksdb_writebatch_t) {
        // SAFETY: the contract.
        unsafe { batch.as_ref() }.ok_or_else(|| null_handle("batch")).map(drop)
    }
}

pub(crate) type PutCallback = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize);
pub(crate) type DeletedCallback = unsafe extern "C" fn(*mut c_void, *const c_char, usize);
type FamilyPutCallback = unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize, *const c_char, usize);
type FamilyDeletedCallback = unsafe extern "C" fn(*mut c_void, u32, *const c_char, usize);

/// The records of a batch, up to the first that is damaged.
fn records(batch: Option<&WriteBatch>) -> impl Iterator<Item = Record<'_>> {
    batch.into_iter().flat_map(WriteBatch::iter).map_while(Result::ok)
}

/// Tells the bytes for the log.
///
/// # Safety
/// The contract about callbacks.
unsafe fn tell_log_data(state: *mut c_void, data: &[u8], log_data: Option<DeletedCallback>) {
    if let Some(log_data) = log_data {
        // SAFETY: as for this function; the bytes live through the call.
        unsafe { log_data(state, data.as_ptr().cast(), data.len()) };
    }
}

/// See `rocksdb_writebatch_iterate`.
///
/// # Safety
/// The contract about callbacks.
pub(crate) unsafe fn iterate(
    batch: Option<&WriteBatch>,
    state: *mut c_void,
    put: Option<PutCallback>,
    deleted: Option<DeletedCallback>,
    log_data: Option<DeletedCallback>,
) {
    for record in records(batch) {
        if record.column_family().is_some_and(|id| id != 0) {
            return;
        }
        // SAFETY: as for this function; keys and values live through the calls.
        unsafe {
            match (record, put, deleted) {
                (Record::Put { key, value, .. }, Some(put), _) => {
                    put(state, key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len());
                }
                (Record::Delete { key, .. }, _, Some(deleted)) => deleted(state, key.as_ptr().cast(), key.len()),
                (Record::LogData(data), _, _) => tell_log_data(state, data, log_data),
                (Record::DeleteRange { .. }, _, _) => return,
                _ => {}
            }
        }
    }
}

/// # Safety
/// The contract.
unsafe fn iterate_families(
    batch: Option<&WriteBatch>,
    state: *mut c_void,
    (put, deleted, merge): (Option<FamilyPutCallback>, Option<FamilyDeletedCallback>, Option<FamilyPutCallback>),
    log_data: Option<DeletedCallback>,
) {
    for record in records(batch) {
        // SAFETY: as for this function; keys and values live through the calls.
        unsafe {
            match record {
                Record::Put { column_family, key, value } => {
                    let Some(put) = put else { continue };
                    put(state, column_family, key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len());
                }
                Record::Merge { column_family, key, operand } => {
                    let Some(merge) = merge else { continue };
                    merge(state, column_family, key.as_ptr().cast(), key.len(), operand.as_ptr().cast(), operand.len());
                }
                Record::Delete { column_family, key } => {
                    let Some(deleted) = deleted else { continue };
                    deleted(state, column_family, key.as_ptr().cast(), key.len());
                }
                Record::LogData(data) => tell_log_data(state, data, log_data),
                Record::DeleteRange { .. } => return,
                _ => {}
            }
        }
    }
}
