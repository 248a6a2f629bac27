//! Further ways to read a key: into the caller's memory, without asking a file, with slices.

use crate::db::rocksdb_t;
use crate::error::Neutral;
use crate::family_handle::family;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::handle::give;
use crate::memory::{array, at, bytes, new_bytes, put};
use crate::operation_options::rocksdb_readoptions_t;
use crate::read::{for_each, give_pinned, rocksdb_pinnableslice_t, source, split};
use crate::slice::rocksdb_slice_t;
use ferrock::options::ReadTier;
use ferrock::{ColumnFamily, ErrorKind, PinnedSlice, ReadOptions, Result};
use std::ffi::{c_char, c_uchar};
use std::ptr::null;

/// A value that stays where it is. The same as `rocksdb_pinnableslice_t` by another name.
pub struct rocksdb_pinnable_handle_t {
    value: PinnedSlice,
}

/// Copies a value into a caller's memory: true when it fits.
///
/// # Safety
/// `buffer` has `size` bytes; the other places are null or can be written.
unsafe fn fill(
    value: Option<PinnedSlice>,
    (buffer, size): (*mut c_char, usize),
    length: *mut usize,
    found: *mut c_uchar,
) -> c_uchar {
    // SAFETY: as for this function.
    unsafe {
        put(found, value.is_some().into());
        put(length, value.as_deref().map_or(0, <[u8]>::len));
    }
    match value {
        Some(value) if value.len() <= size && !buffer.is_null() => {
            // SAFETY: as for this function: the buffer has room; a value of the engine does not overlap it.
            unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len()) };
            1
        }
        _ => 0,
    }
}

/// Where `rocksdb_key_may_exist` puts a value.
type Places = (*mut *mut c_char, *mut usize, *mut c_uchar);

/// Whether memory alone shows that a key is not there; its value if memory has it.
///
/// # Safety
/// The places are null or can be written.
unsafe fn may_exist(
    db: &rocksdb_t,
    family: &ColumnFamily,
    options: &ReadOptions,
    key: &[u8],
    (value, length, value_found): Places,
) -> c_uchar {
    let options = ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..options.clone() };
    let found = db.get(family, &options, key);
    // Of a key that is not there for certain the value is known, too: as in RocksDB, it is empty.
    let bytes = found.as_ref().ok().map(|found| found.as_deref().unwrap_or_default());
    // SAFETY: as for this function.
    unsafe {
        put(value_found, bytes.is_some().into());
        if let Some(bytes) = bytes
            && !value.is_null()
            && !value_found.is_null()
        {
            put(length, bytes.len());
            put(value, new_bytes(bytes));
        }
    }
    match found {
        Ok(found) => found.is_some().into(),
        Err(error) => (error.kind() != ErrorKind::NotFound).into(),
    }
}

c_fallible! {
    /// The value of a key into `buffer`: 1 when it fits. Whether there is one, and its length, are told either way.
    fn rocksdb_get_into_buffer(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
        buffer: *mut c_char,
        buffer_size: usize,
        value_length: *mut usize,
        found: *mut c_uchar,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe {
            fill(None, (buffer, 0), value_length, found);
            let (db, options) = source(db, options)?;
            let value = db.get(&db.default, options, bytes(key, key_length))?;
            Ok(fill(value, (buffer, buffer_size), value_length, found))
        }
    }

    /// The same, of a column family.
    fn rocksdb_get_into_buffer_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        buffer: *mut c_char,
        buffer_size: usize,
        value_length: *mut usize,
        found: *mut c_uchar,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe {
            fill(None, (buffer, 0), value_length, found);
            let (db, options) = source(db, options)?;
            let value = db.get(family(column_family)?, options, bytes(key, key_length))?;
            Ok(fill(value, (buffer, buffer_size), value_length, found))
        }
    }

    /// The value of a key, pinned; null when there is none.
    fn rocksdb_get_pinned_v2(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
    ) -> *mut rocksdb_pinnable_handle_t {
        // SAFETY: the contract.
        let ((db, options), key) = unsafe { (source(db, options)?, bytes(key, key_length)) };
        Ok(give_handle(db.get(&db.default, options, key)?))
    }

    /// The value of a key of a family, pinned; null when there is none.
    fn rocksdb_get_pinned_cf_v2(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) -> *mut rocksdb_pinnable_handle_t {
        // SAFETY: the contract.
        let ((db, options), family, key) =
            unsafe { (source(db, options)?, family(column_family)?, bytes(key, key_length)) };
        Ok(give_handle(db.get(family, options, key)?))
    }
}

fn give_handle(value: Option<PinnedSlice>) -> *mut rocksdb_pinnable_handle_t {
    value.map_or(Neutral::NEUTRAL, |value| give(rocksdb_pinnable_handle_t { value }))
}

c_functions! {
    /// The bytes of a pinned value; good until it ends.
    fn rocksdb_pinnable_handle_get_value(
        handle: *const rocksdb_pinnable_handle_t,
        length: *mut usize,
    ) -> *const c_char {
        // SAFETY: the contract.
        let value = unsafe { handle.as_ref() }.map(|handle| &handle.value[..]);
        // SAFETY: the contract.
        unsafe { put(length, value.map_or(0, <[u8]>::len)) };
        value.map_or(null(), |value| value.as_ptr().cast())
    }

    /// 0 when memory alone shows that a key is not there. What memory knows is told: a value from `malloc`, an empty
    /// one of a key that is not there. A timestamp is not looked at: families with timestamps are not built.
    fn rocksdb_key_may_exist(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
        value: *mut *mut c_char,
        value_length: *mut usize,
        _timestamp: *const c_char,
        _timestamp_length: usize,
        value_found: *mut c_uchar,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe {
            put(value_found, 0);
            let Ok((db, options)) = source(db, options) else { return 1 };
            may_exist(db, &db.default, options, bytes(key, key_length), (value, value_length, value_found))
        }
    }

    /// The same, of a column family.
    fn rocksdb_key_may_exist_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        value: *mut *mut c_char,
        value_length: *mut usize,
        _timestamp: *const c_char,
        _timestamp_length: usize,
        value_found: *mut c_uchar,
    ) -> c_uchar {
        // SAFETY: the contract.
        unsafe {
            put(value_found, 0);
            let (Ok((db, options)), Ok(family)) = (source(db, options), family(column_family)) else { return 1 };
            may_exist(db, family, options, bytes(key, key_length), (value, value_length, value_found))
        }
    }

    /// The values of many keys of a family, pinned, each with an error of its own.
    fn rocksdb_batched_multi_get_cf_slice(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        count: usize,
        keys: *const rocksdb_slice_t,
        values: *mut *mut rocksdb_pinnableslice_t,
        errors: *mut *mut c_char,
        _sorted_input: bool,
    ) {
        // SAFETY: the contract. Whether the keys are sorted is found out, not believed.
        unsafe {
            let read = || -> Result<_> {
                let (db, options) = source(db, options)?;
                let keys: Vec<&[u8]> = array(keys, count).iter().map(|key| key.bytes()).collect();
                Ok(db.multi_get(family(column_family)?, options, &keys))
            };
            for_each(count, read(), |index, result| {
                let (value, error) = split(result);
                put(at(values, index), give_pinned(value));
                put(at(errors, index), error);
            });
        }
    }
}

c_destructors! {
    /// Ends a pinned value.
    fn rocksdb_pinnable_handle_destroy(rocksdb_pinnable_handle_t);
}
