//! Iterators.

use crate::callback::State;
use crate::cursor::Cursor;
use crate::db::rocksdb_t;
use crate::error::save;
use crate::family_handle::family;
use crate::family_handle::rocksdb_column_family_handle_t;
use crate::handle::{borrow, give};
use crate::memory::null_handle;
use crate::memory::{array, at, bytes, put};
use crate::not_built::{NotBuilt, error};
use crate::operation_options::rocksdb_readoptions_t;
use crate::slice::rocksdb_slice_t;
use ferrock::indexed_batch::IndexedIter;
use ferrock::ttl::TtlDb;
use ferrock::{ColumnFamily, Db, Error, Iter, ReadOptions, Result, SequenceNumber};
use std::ffi::{c_char, c_uchar};

/// An iterator; one that was asked for what cannot be has that as its status, and no source.
pub struct rocksdb_iterator_t {
    pub(crate) iter: Cursor,
    source: Option<Source>,
}

/// What `rocksdb_iter_refresh` and a tailing iterator make a new one with.
pub(crate) struct Source {
    /// With `tailing`: the newest sequence number when the iterator was made, which newer writes pass.
    tailing: Option<SequenceNumber>,
    db: Db,
    ttl: Option<TtlDb>,
    pub(crate) family: ColumnFamily,
    pub(crate) options: ReadOptions,
}

impl Source {
    fn iter(&self) -> Cursor {
        match &self.ttl {
            None => Cursor::Plain(self.db.iter_cf(&self.family, &self.options)),
            Some(ttl) => Cursor::Timed(ttl.iter_cf(&self.family, &self.options)),
        }
    }
}

impl rocksdb_iterator_t {
    /// An iterator with options of a caller; one whose options ask for what is not built has that as its error.
    ///
    /// # Safety
    /// The contract.
    unsafe fn new(db: &rocksdb_t, family: &ColumnFamily, options: *const rocksdb_readoptions_t) -> Self {
        // SAFETY: as for this function.
        let is_tailing = unsafe { options.as_ref() }.is_some_and(rocksdb_readoptions_t::is_tailing);
        // SAFETY: as for this function.
        match unsafe { read_options(options) } {
            Ok(options) => Self::open(db, family, options, is_tailing),
            Err(error) => Self::failed(error),
        }
    }

    /// What it goes over, and what made that.
    pub(crate) fn into_parts(self) -> (Cursor, Option<Source>) {
        (self.iter, self.source)
    }

    /// An iterator over a batch and its base.
    pub(crate) fn over_batch(iter: IndexedIter) -> Self {
        Self { iter: Cursor::Indexed(Box::new(iter)), source: None }
    }

    /// An iterator that has nothing but an error.
    pub(crate) fn failed(error: Error) -> Self {
        Self { iter: Cursor::Plain(Iter::failed(error)), source: None }
    }

    fn open(db: &rocksdb_t, family: &ColumnFamily, options: ReadOptions, is_tailing: bool) -> Self {
        let tailing = is_tailing.then(|| db.db.latest_sequence_number());
        let source = Source { tailing, db: db.db.clone(), ttl: db.ttl.clone(), family: family.clone(), options };
        Self { iter: source.iter(), source: Some(source) }
    }

    /// A tailing iterator goes on over what is there now, at the key it is on or behind it. False when that key is
    /// gone: then it is on the next one already. Any other iterator stays as it is.
    #[inline(always)]
    fn follow(&mut self) -> bool {
        match &self.source {
            Some(Source { tailing: Some(_), .. }) => self.pass_to_newest(),
            _ => true,
        }
    }

    /// [`Self::follow`] of a tailing iterator, out of the way of the others.
    #[cold]
    fn pass_to_newest(&mut self) -> bool {
        let Some(source) = &mut self.source else { return true };
        let newest = source.db.latest_sequence_number();
        if source.tailing.replace(newest) == Some(newest) {
            return true;
        }
        let key = self.iter.valid().then(|| self.iter.key().to_vec());
        self.iter = source.iter();
        let Some(key) = key else { return true };
        self.iter.seek(&key);
        self.iter.valid() && self.iter.key() == key
    }
}

impl NotBuilt for rocksdb_iterator_t {
    fn not_built(function: &'static str, _state: Option<State>) -> Self {
        Self::failed(error(function))
    }
}

/// The read options of a caller; null: the defaults.
///
/// # Safety
/// The contract.
unsafe fn read_options(options: *const rocksdb_readoptions_t) -> Result<ReadOptions> {
    // SAFETY: as for this function.
    unsafe { options.as_ref() }.map_or_else(|| Ok(ReadOptions::default()), |options| options.to_read().cloned())
}

/// Moves an iterator, unless it is null; one that failed stays where it is.
///
/// # Safety
/// The contract.
unsafe fn position(iter: *mut rocksdb_iterator_t, go: impl FnOnce(&mut Cursor)) {
    // SAFETY: as for this function.
    if let Some(handle) = unsafe { iter.as_mut() } {
        handle.follow();
        go(&mut handle.iter);
    }
}

/// What an iterator stands on.
///
/// # Safety
/// The contract.
unsafe fn current<'a>(iter: *const rocksdb_iterator_t) -> Option<&'a Cursor> {
    // SAFETY: as for this function.
    Some(&unsafe { iter.as_ref() }?.iter)
}

c_functions! {
    /// An iterator over the default column family, not positioned yet.
    fn rocksdb_create_iterator(db: *mut rocksdb_t, options: *const rocksdb_readoptions_t) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        let db = unsafe { db.as_ref() };
        // SAFETY: the contract.
        db.map_or(std::ptr::null_mut(), |db| give(unsafe { rocksdb_iterator_t::new(db, &db.default, options) }))
    }

    /// An iterator over a column family, not positioned yet.
    fn rocksdb_create_iterator_cf(
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        match unsafe { (db.as_ref(), column_family.as_ref()) } {
            // SAFETY: the contract.
            (Some(db), Some(family)) => give(unsafe { rocksdb_iterator_t::new(db, &family.family, options) }),
            _ => std::ptr::null_mut(),
        }
    }

    /// Whether the iterator is on an entry.
    fn rocksdb_iter_valid(iter: *const rocksdb_iterator_t) -> c_uchar {
        // SAFETY: the contract.
        unsafe { current(iter) }.is_some_and(Cursor::valid).into()
    }

    /// Goes to the first key.
    fn rocksdb_iter_seek_to_first(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        unsafe { position(iter, Cursor::seek_to_first) };
    }

    /// Goes to the last key.
    fn rocksdb_iter_seek_to_last(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        unsafe { position(iter, Cursor::seek_to_last) };
    }

    /// Goes to the first key at or after this one.
    fn rocksdb_iter_seek(iter: *mut rocksdb_iterator_t, key: *const c_char, key_length: usize) {
        // SAFETY: the contract.
        unsafe { position(iter, |iter| iter.seek(bytes(key, key_length))) };
    }

    /// Goes to the last key at or before this one.
    fn rocksdb_iter_seek_for_prev(iter: *mut rocksdb_iterator_t, key: *const c_char, key_length: usize) {
        // SAFETY: the contract.
        unsafe { position(iter, |iter| iter.seek_for_prev(bytes(key, key_length))) };
    }

    /// Goes to the next key.
    fn rocksdb_iter_next(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        if let Some(handle) = unsafe { iter.as_mut() }
            && handle.iter.valid()
            && handle.follow()
        {
            handle.iter.next();
        }
    }

    /// Goes to the previous key.
    fn rocksdb_iter_prev(iter: *mut rocksdb_iterator_t) {
        // SAFETY: the contract.
        unsafe { position(iter, Cursor::prev) };
    }

    /// The key; good until the iterator moves.
    fn rocksdb_iter_key(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let key = unsafe { current(iter) }.map_or(&[][..], Cursor::key);
        // SAFETY: the contract.
        unsafe { put(length, key.len()) };
        key.as_ptr().cast()
    }

    /// The value; good until the iterator moves.
    fn rocksdb_iter_value(iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let value = unsafe { current(iter) }.map_or(&[][..], Cursor::value);
        // SAFETY: the contract.
        unsafe { put(length, value.len()) };
        value.as_ptr().cast()
    }

    /// The timestamp of the key: empty, for families with timestamps are not built.
    fn rocksdb_iter_timestamp(_iter: *const rocksdb_iterator_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        unsafe { put(length, 0) };
        c"".as_ptr()
    }

    /// The same with its length: empty.
    fn rocksdb_iter_timestamp_slice(_iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        rocksdb_slice_t { data: c"".as_ptr(), size: 0 }
    }

    /// Key and length in one; good until the iterator moves.
    fn rocksdb_iter_key_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        // SAFETY: the contract.
        rocksdb_slice_t::of(unsafe { current(iter) }.map_or(&[][..], Cursor::key))
    }

    /// Value and length in one; good until the iterator moves.
    fn rocksdb_iter_value_slice(iter: *const rocksdb_iterator_t) -> rocksdb_slice_t {
        // SAFETY: the contract.
        rocksdb_slice_t::of(unsafe { current(iter) }.map_or(&[][..], Cursor::value))
    }

    /// The error that ended the iteration, if one did. Without one, `errptr` stays as it is.
    fn rocksdb_iter_get_error(iter: *const rocksdb_iterator_t, errptr: *mut *mut c_char) {
        // SAFETY: the contract.
        let status = match unsafe { iter.as_ref() } {
            Some(handle) => handle.iter.status(),
            None => Err(null_handle("iterator")),
        };
        if let Err(error) = status {
            // SAFETY: the contract.
            unsafe { save(errptr, &error) };
        }
    }
}

c_fallible! {
    /// Iterators over many families of the same moment, one for each place.
    fn rocksdb_create_iterators(
        db: *mut rocksdb_t,
        options: *mut rocksdb_readoptions_t,
        column_families: *mut *mut rocksdb_column_family_handle_t,
        iterators: *mut *mut rocksdb_iterator_t,
        size: usize,
    ) {
        // SAFETY: the contract: both arrays have `size` elements.
        unsafe {
            let (db, mut options) = (borrow(db, "database")?, read_options(options)?);
            if !db.db.is_secondary() {
                options.snapshot.get_or_insert_with(|| db.db.snapshot());
            }
            let families: Result<Vec<_>> = array(column_families, size).iter().map(|handle| family(*handle)).collect();
            let families = families?;
            db.db.at_one_view(|| {
                for (index, family) in families.into_iter().enumerate() {
                    let handle = rocksdb_iterator_t::open(db, family, options.clone(), false);
                    put(at(iterators, index), give(handle));
                }
            });
        }
        Ok(())
    }

    /// Makes the iterator one over the present state, without a snapshot. It is not positioned then.
    fn rocksdb_iter_refresh(iter: *const rocksdb_iterator_t) {
        // SAFETY: the contract; RocksDB's signature says const, and changes the iterator behind it.
        let iter = unsafe { borrow(iter, "iterator").map(|_| &mut *iter.cast_mut())? };
        let Some(source) = &mut iter.source else { return iter.iter.status() };
        source.options.snapshot = None;
        iter.iter = source.iter();
        Ok(())
    }
}

c_destructors! {
    /// Ends an iterator.
    fn rocksdb_iter_destroy(rocksdb_iterator_t);
}
