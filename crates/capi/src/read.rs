//! Reading keys: as copies from `malloc`, or pinned where they lie.

use crate::db::rocksdb_t;
use crate::error::text_of;
use crate::family_handle::family;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::handle::{borrow, give};
use crate::memory::null_handle;
use crate::memory::{array, at, bytes, keys_of, new_bytes, put};
use crate::operation_options::rocksdb_readoptions_t;
use ferrock::{ColumnFamily, PinnedSlice, ReadOptions, Result};
use std::ffi::c_char;
use std::ptr::null_mut;
use std::sync::LazyLock;

/// A value that stays where it is: a block of the cache, or a copy out of memory.
pub struct rocksdb_pinnableslice_t {
    value: PinnedSlice,
}

/// What a null pointer to read options stands for.
static DEFAULT_READ_OPTIONS: LazyLock<rocksdb_readoptions_t> = LazyLock::new(rocksdb_readoptions_t::default);

/// Database and options of a read.
///
/// # Safety
/// The contract.
#[inline]
pub(crate) unsafe fn source<'a>(
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
) -> Result<(&'a rocksdb_t, &'a ReadOptions)> {
    // SAFETY: as for this function.
    let (db, options) = unsafe { (borrow(db, "database")?, options.as_ref()) };
    Ok((db, options.unwrap_or_else(|| &DEFAULT_READ_OPTIONS).to_read()?))
}

/// A value as `rocksdb_get` gives it; none is null and the length 0.
///
/// # Safety
/// `length` is null or can be written.
#[inline]
pub(crate) unsafe fn give_copy(value: Option<PinnedSlice>, length: *mut usize) -> *mut c_char {
    let value = value.as_deref();
    // SAFETY: as for this function.
    unsafe { put(length, value.map_or(0, <[u8]>::len)) };
    value.map_or(null_mut(), new_bytes)
}

#[inline]
pub(crate) fn give_pinned(value: Option<PinnedSlice>) -> *mut rocksdb_pinnableslice_t {
    value.map_or(null_mut(), |value| give(rocksdb_pinnableslice_t { value }))
}

c_fallible! {
    /// The value of a key, from `malloc`; null when there is none.
    fn rocksdb_get(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
        value_length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe {
            put(value_length, 0);
            let (db, options) = source(db, options)?;
            Ok(give_copy(db.get(&db.default, options, bytes(key, key_length))?, value_length))
        }
    }

    /// The value of a key of a family, from `malloc`; null when there is none.
    fn rocksdb_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        value_length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe {
            put(value_length, 0);
            let (db, options) = source(db, options)?;
            Ok(give_copy(db.get(family(column_family)?, options, bytes(key, key_length))?, value_length))
        }
    }

    /// The value of a key, pinned; null when there is none.
    fn rocksdb_get_pinned(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
    ) -> *mut rocksdb_pinnableslice_t {
        // SAFETY: the contract.
        let ((db, options), key) = unsafe { (source(db, options)?, bytes(key, key_length)) };
        db.get(&db.default, options, key).map(give_pinned)
    }

    /// The value of a key of a family, pinned; null when there is none.
    fn rocksdb_get_pinned_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) -> *mut rocksdb_pinnableslice_t {
        // SAFETY: the contract.
        let ((db, options), family, key) =
            unsafe { (source(db, options)?, family(column_family)?, bytes(key, key_length)) };
        db.get(family, options, key).map(give_pinned)
    }
}

c_functions! {
    /// The bytes of a pinned value; good until it is destroyed.
    fn rocksdb_pinnableslice_value(value: *const rocksdb_pinnableslice_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let value = unsafe { value.as_ref() }.map(|value| value.value.as_slice());
        // SAFETY: the contract.
        unsafe { put(length, value.map_or(0, <[u8]>::len)) };
        value.map_or(std::ptr::null(), |value| value.as_ptr().cast())
    }

    /// The values of many keys, each with an error of its own.
    fn rocksdb_multi_get(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        count: usize,
        keys: *const *const c_char,
        key_lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errors: *mut *mut c_char,
    ) {
        // SAFETY: the contract.
        unsafe {
            let results = keys_of(count, keys, key_lengths).and_then(|keys| {
                let (db, options) = source(db, options)?;
                Ok(db.multi_get(&db.default, options, &keys))
            });
            give_copies(count, results, values, value_lengths, errors);
        }
    }

    /// The values of many keys, each of its own family, as of one moment.
    fn rocksdb_multi_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_families: *const *const rocksdb_column_family_handle_t,
        count: usize,
        keys: *const *const c_char,
        key_lengths: *const usize,
        values: *mut *mut c_char,
        value_lengths: *mut usize,
        errors: *mut *mut c_char,
    ) {
        // SAFETY: the contract.
        unsafe {
            let results = keys_of(count, keys, key_lengths).and_then(|keys| {
                let (db, options) = source(db, options)?;
                let families = families_of(count, column_families)?;
                let keys: Vec<_> = families.into_iter().zip(keys).collect();
                Ok(db.multi_get_families(options, &keys))
            });
            give_copies(count, results, values, value_lengths, errors);
        }
    }

    /// The values of many keys of a family, pinned, each with an error of its own.
    fn rocksdb_batched_multi_get_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        count: usize,
        keys: *const *const c_char,
        key_lengths: *const usize,
        values: *mut *mut rocksdb_pinnableslice_t,
        errors: *mut *mut c_char,
        _sorted_input: bool,
    ) {
        // SAFETY: the contract. Whether the keys are sorted is found out, not believed.
        unsafe {
            let results = keys_of(count, keys, key_lengths).and_then(|keys| {
                let (db, options) = source(db, options)?;
                Ok(db.multi_get(family(column_family)?, options, &keys))
            });
            for_each(count, results, |index, result| {
                let (value, error) = split(result);
                put(at(values, index), give_pinned(value));
                put(at(errors, index), error);
            });
        }
    }
}

c_destructors! {
    /// Ends a pinned value.
    fn rocksdb_pinnableslice_destroy(rocksdb_pinnableslice_t);
}

/// The families of a caller.
///
/// # Safety
/// The array has `count` elements, as the contract says.
unsafe fn families_of<'a>(
    count: usize,
    handles: *const *const rocksdb_column_family_handle_t,
) -> Result<Vec<&'a ColumnFamily>> {
    if count > 0 && handles.is_null() {
        return Err(null_handle("list of column families"));
    }
    // SAFETY: as for this function.
    unsafe { array(handles, count).iter().map(|handle| family(*handle)).collect() }
}

/// One result for each key.
pub(crate) type Results = Vec<Result<Option<PinnedSlice>>>;

/// Hands out each result, or the error of the whole call `count` times.
pub(crate) fn for_each(
    count: usize,
    results: Result<Results>,
    mut each: impl FnMut(usize, Result<Option<PinnedSlice>>),
) {
    match results {
        Ok(results) => results.into_iter().enumerate().for_each(|(index, result)| each(index, result)),
        Err(error) => (0..count).for_each(|index| each(index, Err(error.clone()))),
    }
}

/// A result as value and text of an error.
pub(crate) fn split(result: Result<Option<PinnedSlice>>) -> (Option<PinnedSlice>, *mut c_char) {
    match result {
        Ok(value) => (value, null_mut()),
        Err(error) => (None, text_of(&error)),
    }
}

/// # Safety
/// The arrays are null or have `count` elements.
unsafe fn give_copies(
    count: usize,
    results: Result<Results>,
    values: *mut *mut c_char,
    value_lengths: *mut usize,
    errors: *mut *mut c_char,
) {
    for_each(count, results, |index, result| {
        let (value, error) = split(result);
        // SAFETY: as for this function.
        unsafe {
            let value = give_copy(value, at(value_lengths, index));
            put(at(values, index), value);
            put(at(errors, index), error);
        }
    });
}
