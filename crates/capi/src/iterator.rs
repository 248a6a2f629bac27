//! Iterators.

use crate::column_family::rocksdb_column_family_handle_t;
use crate::db::rocksdb_t;
use crate::error::{null_handle, save};
use crate::handle::{borrow, give};
use crate::memory::{bytes, put};
use crate::operation_options::rocksdb_readoptions_t;
use ferrock::{ColumnFamily, Db, Iter, ReadOptions};
use std::ffi::{c_char, c_uchar};

/// An iterator.
pub struct rocksdb_iterator_t {
    iter: Iter,
    /// What `rocksdb_iter_refresh` makes a new one with.
    db: Db,
    family: ColumnFamily,
    options: ReadOptions,
}

impl rocksdb_iterator_t {
    fn new(db: &Db, family: &ColumnFamily, options: ReadOptions) -> Self {
        Self { iter: db.iter_cf(family, &options), db: db.clone(), family: family.clone(), options }
    }
}

/// The read options of a caller; null: the defaults.
///
/// # Safety
/// The contract.
unsafe fn read_options(options: *const rocksdb_readoptions_t) -> ReadOptions {
    // SAFETY: as for this function.
    unsafe { options.as_ref() }.map_or_else(ReadOptions::default, |options| options.options.clone())
}

c_functions! {
    /// An iterator over the default column family, not positioned yet.
    fn rocksdb_create_iterator(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        let (db, options) = unsafe { (db.as_ref(), read_options(options)) };
        db.map_or(std::ptr::null_mut(), |db| give(rocksdb_iterator_t::new(&db.db, &db.default, options)))
    }

    /// An iterator over a column family, not positioned yet.
    fn rocksdb_create_iterator_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        let (db, family, options) = unsafe { (db.as_ref(), column_family.as_ref(), read_options(options)) };
        match (db, family) {
            (Some(db), Some(family)) => give(rocksdb_iterator_t::new(&db.db, &family.family, options)),
            _ => std::ptr::null_mut(),
        }
    }

    /// Whether the iterator is on an entry.
    fn rocksdb_iter_valid(iter: *const rocksdb_iterator_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { iter.as_ref() }.is_some_and(|iter| iter.iter.valid()).into()
    }

    /// Goes to the first key.
    fn rocksdb_iter_seek_to_first(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        if let Some(iter) = unsafe { iter.as_mut() } {
            iter.iter.seek_to_first();
        }
    }

    /// Goes to the last key.
    fn rocksdb_iter_seek_to_last(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        if let Some(iter) = unsafe { iter.as_mut() } {
            iter.iter.seek_to_last();
        }
    }

    /// Goes to the first key at or after this one.
    fn rocksdb_iter_seek(iter: *mut rocksdb_iterator_t, key: *const c_char, key_length: usize) {
        // SAFETY: the contract.
        let (iter, key) = unsafe { (iter.as_mut(), bytes(key, key_length)) };
        if let Some(iter) = iter {
            iter.iter.seek(key);
        }
    }

    /// Goes to the last key at or before this one.
    fn rocksdb_iter_seek_for_prev(iter: *mut rocksdb_iterator_t, key: *const c_char, key_length: usize) {
        // SAFETY: the contract.
        let (iter, key) = unsafe { (iter.as_mut(), bytes(key, key_length)) };
        if let Some(iter) = iter {
            iter.iter.seek_for_prev(key);
        }
    }

    /// Goes to the next key.
    fn rocksdb_iter_next(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        if let Some(iter) = unsafe { iter.as_mut() } {
            iter.iter.next();
        }
    }

    /// Goes to the previous key.
    fn rocksdb_iter_prev(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        if let Some(iter) = unsafe { iter.as_mut() } {
            iter.iter.prev();
        }
    }

    /// The key; good until the iterator moves.
    fn rocksdb_iter_key(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let key = unsafe { iter.as_ref() }.map_or(&[][..], |iter| iter.iter.key());
        // SAFETY: the contract.
        unsafe { put(length, key.len()) };
        key.as_ptr().cast()
    }

    /// The value; good until the iterator moves.
    fn rocksdb_iter_value(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let value = unsafe { iter.as_ref() }.map_or(&[][..], |iter| iter.iter.value());
        // SAFETY: the contract.
        unsafe { put(length, value.len()) };
        value.as_ptr().cast()
    }

    /// The error that ended the iteration, if one did. Without one, `errptr` stays as it is.
    fn rocksdb_iter_get_error(iter: *const rocksdb_iterator_t, errptr: *mut *mut c_char) {
        // SAFETY: the contract.
        let status = match unsafe { iter.as_ref() } {
            Some(iter) => iter.iter.status(),
            None => Err(null_handle("iterator")),
        };
        if let Err(error) = status {
            // SAFETY: the contract.
            unsafe { save(errptr, &error) };
        }
    }
}

c_fallible! {
    /// Makes the iterator one over the present state, without a snapshot. It is not positioned then.
    fn rocksdb_iter_refresh(iter: *const rocksdb_iterator_t) {
        // SAFETY: the contract; RocksDB's signature says const, and changes the iterator behind it.
        let iter = unsafe { borrow(iter, "iterator").map(|_| &mut *iter.cast_mut())? };
        iter.options.snapshot = None;
        iter.iter = iter.db.iter_cf(&iter.family, &iter.options);
        Ok(())
    }
}

c_destructors! {
    /// Ends an iterator.
    fn rocksdb_iter_destroy(rocksdb_iterator_t);
}
