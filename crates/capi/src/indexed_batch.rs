//! Batches that can be read before they are written.
//!
//! As of other batches, what goes wrong in a function that adds is kept and told when the batch is written or read.

use crate::callback::State;
use crate::comparator::rocksdb_comparator_t;
use crate::cursor::Cursor;
use crate::db::rocksdb_t;
use crate::family_handle::{family, rocksdb_column_family_handle_t};
use crate::handle::{borrow, borrow_mut, borrow_or, give, take};
use crate::iterator::rocksdb_iterator_t;
use crate::memory::{bytes, put};
use crate::not_built::{NotBuilt, error};
use crate::operation_options::{DEFAULT_WRITE_OPTIONS, rocksdb_readoptions_t, rocksdb_writeoptions_t};
use crate::options::rocksdb_options_t;
use crate::read::{give_copy, give_pinned, rocksdb_pinnableslice_t, source};
use crate::write_batch::over_limit;
use crate::write_batch_parts::{DeletedCallback, PutCallback, iterate, joined};
use ferrock::indexed_batch::{BatchLookup, IndexMode, WriteBatchWithIndex};
use ferrock::{ColumnFamily, Error, ErrorKind, PinnedSlice, Result, WriteBatch};
use ferrock_base::Comparator;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::ptr::null_mut;

/// A batch with an index.
pub struct rocksdb_writebatch_wi_t {
    batch: WriteBatchWithIndex,
    /// The first thing that went wrong.
    error: Option<Error>,
    /// As of a batch without an index; 0: none.
    max_bytes: usize,
}

impl rocksdb_writebatch_wi_t {
    fn new(comparator: Result<Comparator>, overwrite_keys: c_uchar, max_bytes: usize) -> Self {
        let mode = if overwrite_keys == 0 { IndexMode::KeepAll } else { IndexMode::OverwriteKeys };
        let error = comparator.as_ref().err().cloned();
        let batch = WriteBatchWithIndex::with_comparator(comparator.unwrap_or_default(), mode);
        Self { batch, error, max_bytes }
    }

    /// The first thing that went wrong, for what was added then is not in the batch.
    fn check(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Makes the batch one that cannot be written, unless it is one already.
    pub(crate) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    fn add(&mut self, add: impl FnOnce(&mut WriteBatchWithIndex) -> Result<()>) {
        if self.max_bytes > 0 {
            self.batch.set_save_point();
        }
        let mut outcome = add(&mut self.batch);
        if self.max_bytes > 0 {
            let size = self.batch.read(WriteBatch::byte_size);
            outcome = match over_limit(size, self.max_bytes) {
                Some(error) => outcome.and_then(|()| self.batch.rollback_to_save_point()).and(Err(error)),
                None => outcome.and(self.batch.pop_save_point()),
            };
        }
        if let Err(error) = outcome {
            self.fail(error);
        }
    }
}

impl NotBuilt for rocksdb_writebatch_wi_t {
    fn not_built(function: &'static str, _state: Option<State>) -> Self {
        let mut batch = Self::new(Ok(Comparator::Bytewise), 1, 0);
        batch.fail(error(function));
        batch
    }
}

/// Changes a batch, unless it is null.
///
/// # Safety
/// The contract: no other thread uses the batch now.
unsafe fn change(batch: *mut rocksdb_writebatch_wi_t, add: impl FnOnce(&mut WriteBatchWithIndex) -> Result<()>) {
    // SAFETY: as for this function.
    if let Some(batch) = unsafe { batch.as_mut() } {
        batch.add(add);
    }
}

/// Functions that add to a batch: a key, or a key and another text, whole and in parts, with and without a family.
macro_rules! adders {
    ($( $add:ident / $add_cf:ident:
        $plain:ident / $in_family:ident ( $($text:ident $length:ident),* )
        $(, $plain_parts:ident / $in_family_parts:ident ( $($count:ident $parts:ident $lengths:ident),* ) )? ; )*) => {$(
        c_functions! {
            #[doc = "Adds to the batch and its index."]
            fn $plain(batch: *mut rocksdb_writebatch_wi_t, $($text: *const c_char, $length: usize),*) {
                // SAFETY: the contract.
                unsafe { change(batch, |batch| batch.$add($(bytes($text, $length)),*)) };
            }

            #[doc = "Adds to the batch and its index, for a column family."]
            fn $in_family(
                batch: *mut rocksdb_writebatch_wi_t,
                column_family: *mut rocksdb_column_family_handle_t,
                $($text: *const c_char, $length: usize),*
            ) {
                // SAFETY: the contract.
                unsafe { change(batch, |batch| batch.$add_cf(family(column_family)?, $(bytes($text, $length)),*)) };
            }
        }
        $(c_functions! {
            #[doc = "Adds to the batch and its index what is given in parts."]
            fn $plain_parts(
                batch: *mut rocksdb_writebatch_wi_t,
                $($count: c_int, $parts: *const *const c_char, $lengths: *const usize),*
            ) {
                // SAFETY: the contract.
                unsafe { change(batch, |batch| batch.$add($(&joined($count, $parts, $lengths)?),*)) };
            }

            #[doc = "Adds to the batch and its index, for a column family, what is given in parts."]
            fn $in_family_parts(
                batch: *mut rocksdb_writebatch_wi_t,
                column_family: *mut rocksdb_column_family_handle_t,
                $($count: c_int, $parts: *const *const c_char, $lengths: *const usize),*
            ) {
                // SAFETY: the contract.
                unsafe {
                    change(batch, |batch| {
                        batch.$add_cf(family(column_family)?, $(&joined($count, $parts, $lengths)?),*)
                    });
                }
            }
        })?
    )*};
}

adders! {
    put / put_cf:
        rocksdb_writebatch_wi_put / rocksdb_writebatch_wi_put_cf (key key_length, value value_length),
        rocksdb_writebatch_wi_putv / rocksdb_writebatch_wi_putv_cf
            (key_parts keys key_lengths, value_parts values value_lengths);
    merge / merge_cf:
        rocksdb_writebatch_wi_merge / rocksdb_writebatch_wi_merge_cf (key key_length, operand operand_length),
        rocksdb_writebatch_wi_mergev / rocksdb_writebatch_wi_mergev_cf
            (key_parts keys key_lengths, value_parts values value_lengths);
    delete / delete_cf:
        rocksdb_writebatch_wi_delete / rocksdb_writebatch_wi_delete_cf (key key_length),
        rocksdb_writebatch_wi_deletev / rocksdb_writebatch_wi_deletev_cf (key_parts keys key_lengths);
    single_delete / single_delete_cf:
        rocksdb_writebatch_wi_singledelete / rocksdb_writebatch_wi_singledelete_cf (key key_length);
}

c_functions! {
    /// An empty batch. With `overwrite_keys` older updates of a key leave the index.
    fn rocksdb_writebatch_wi_create(_reserved_bytes: usize, overwrite_keys: c_uchar) -> *mut rocksdb_writebatch_wi_t {
        give(rocksdb_writebatch_wi_t::new(Ok(Comparator::Bytewise), overwrite_keys, 0))
    }

    /// An empty batch. The comparator is for functions without a family; null is the order of bytes. What would make
    /// the batch longer than `max_bytes`, unless that is 0, is not added, and told when it is written.
    fn rocksdb_writebatch_wi_create_with_params(
        backup_index_comparator: *mut rocksdb_comparator_t,
        _reserved_bytes: usize,
        overwrite_keys: c_uchar,
        max_bytes: usize,
        _protection_bytes_per_key: usize,
    ) -> *mut rocksdb_writebatch_wi_t {
        // SAFETY: the contract.
        let comparator = unsafe { backup_index_comparator.as_ref() };
        let comparator = comparator.map_or(Ok(Comparator::Bytewise), rocksdb_comparator_t::comparator);
        give(rocksdb_writebatch_wi_t::new(comparator, overwrite_keys, max_bytes))
    }

    /// Empties a batch.
    fn rocksdb_writebatch_wi_clear(batch: *mut rocksdb_writebatch_wi_t) {
        // SAFETY: the contract.
        if let Some(batch) = unsafe { batch.as_mut() } {
            batch.batch.clear();
            batch.error = None;
        }
    }

    /// The number of writes in a batch.
    fn rocksdb_writebatch_wi_count(batch: *mut rocksdb_writebatch_wi_t) -> c_int {
        // SAFETY: the contract.
        let count = unsafe { batch.as_ref() }.map_or(0, |batch| batch.batch.count());
        c_int::try_from(count).unwrap_or(c_int::MAX)
    }

    /// The bytes of a batch; good until it changes.
    fn rocksdb_writebatch_wi_data(batch: *mut rocksdb_writebatch_wi_t, length: *mut usize) -> *const c_char {
        // SAFETY: the contract.
        let data = unsafe { batch.as_ref() }.map(|batch| {
            batch.batch.read(|records| (records.data().as_ptr().cast::<c_char>(), records.data().len()))
        });
        let (data, size) = data.unwrap_or((std::ptr::null(), 0));
        // SAFETY: the contract.
        unsafe { put(length, size) };
        data
    }

    /// Adds bytes that go to the log and nowhere else.
    fn rocksdb_writebatch_wi_put_log_data(batch: *mut rocksdb_writebatch_wi_t, data: *const c_char, length: usize) {
        // SAFETY: the contract.
        unsafe { change(batch, |batch| batch.put_log_data(bytes(data, length))) };
    }

    /// Tells puts and removals of the default family in their order, as `rocksdb_writebatch_iterate` does.
    fn rocksdb_writebatch_wi_iterate(
        batch: *mut rocksdb_writebatch_wi_t,
        state: *mut c_void,
        put: Option<PutCallback>,
        deleted: Option<DeletedCallback>,
    ) {
        // SAFETY: the contract.
        let records = unsafe { batch.as_ref() }.map(|batch| batch.batch.read(WriteBatch::clone));
        // SAFETY: the contract about callbacks.
        unsafe { iterate(records.as_ref(), state, put, deleted, None) };
    }

    /// Remembers what the batch holds now. Save points nest.
    fn rocksdb_writebatch_wi_set_save_point(batch: *mut rocksdb_writebatch_wi_t) {
        // SAFETY: the contract.
        if let Some(batch) = unsafe { batch.as_mut() } {
            batch.batch.set_save_point();
        }
    }
}

c_destructors! {
    /// Ends a batch. Iterators over it stay good.
    fn rocksdb_writebatch_wi_destroy(rocksdb_writebatch_wi_t);
}

/// What a batch says of a key, as C tells it.
fn found_in_batch(found: BatchLookup) -> Result<Option<PinnedSlice>> {
    match found {
        BatchLookup::NotInBatch | BatchLookup::Deleted => Ok(None),
        BatchLookup::Value(value) => Ok(Some(value.into())),
        BatchLookup::MergeOver(_) => Err(Error::new(
            ErrorKind::MergeInProgress,
            "the batch has operands for the key, and the database what they are merged into",
        )),
    }
}

/// The value of a key in batch and database.
///
/// # Safety
/// The contract.
unsafe fn get_over(
    batch: *mut rocksdb_writebatch_wi_t,
    db: *mut rocksdb_t,
    options: *const rocksdb_readoptions_t,
    family: Option<&ColumnFamily>,
    key: &[u8],
) -> Result<Option<PinnedSlice>> {
    // SAFETY: as for this function.
    let (batch, (db, options)) = unsafe { (borrow(batch, "batch")?, source(db, options)?) };
    batch.check()?;
    let family = family.unwrap_or(&db.default);
    batch.batch.get_over(family, key, || db.get(family, options, key))
}

c_fallible! {
    /// Takes back everything since the last save point, which is used up.
    fn rocksdb_writebatch_wi_rollback_to_save_point(batch: *mut rocksdb_writebatch_wi_t) {
        // SAFETY: the contract.
        unsafe { borrow_mut(batch, "batch")? }.batch.rollback_to_save_point()
    }

    /// The value of a key in the batch alone, from `malloc`; null when it does not say. Operands over what the batch
    /// has are merged by the operator of the options; others are an error.
    fn rocksdb_writebatch_wi_get_from_batch(
        batch: *mut rocksdb_writebatch_wi_t,
        options: *const rocksdb_options_t,
        key: *const c_char,
        key_length: usize,
        value_length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe {
            put(value_length, 0);
            let (batch, options) = (borrow(batch, "batch")?, borrow(options, "options")?);
            batch.check()?;
            let operator = options.family.merge_operator.as_deref();
            let found = batch.batch.look_up(0, operator, bytes(key, key_length))?;
            Ok(give_copy(found_in_batch(found)?, value_length))
        }
    }

    /// The same, of a column family, whose operator merges.
    fn rocksdb_writebatch_wi_get_from_batch_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        options: *const rocksdb_options_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
        value_length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe {
            put(value_length, 0);
            let (batch, family) = (borrow(batch, "batch")?, family(column_family)?);
            borrow(options, "options")?;
            batch.check()?;
            let found = batch.batch.get_from_batch(family, bytes(key, key_length))?;
            Ok(give_copy(found_in_batch(found)?, value_length))
        }
    }

    /// The value that a key will have, from `malloc`; null when there is none.
    fn rocksdb_writebatch_wi_get_from_batch_and_db(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
        value_length: *mut usize,
    ) -> *mut c_char {
        // SAFETY: the contract.
        unsafe {
            put(value_length, 0);
            Ok(give_copy(get_over(batch, db, options, None, bytes(key, key_length))?, value_length))
        }
    }

    /// The same, of a column family.
    fn rocksdb_writebatch_wi_get_from_batch_and_db_cf(
        batch: *mut rocksdb_writebatch_wi_t,
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
            let family = family(column_family)?;
            Ok(give_copy(get_over(batch, db, options, Some(family), bytes(key, key_length))?, value_length))
        }
    }

    /// The value that a key will have, pinned; null when there is none.
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        key: *const c_char,
        key_length: usize,
    ) -> *mut rocksdb_pinnableslice_t {
        // SAFETY: the contract.
        unsafe { get_over(batch, db, options, None, bytes(key, key_length)).map(give_pinned) }
    }

    /// The same, of a column family.
    fn rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        column_family: *mut rocksdb_column_family_handle_t,
        key: *const c_char,
        key_length: usize,
    ) -> *mut rocksdb_pinnableslice_t {
        // SAFETY: the contract.
        unsafe { get_over(batch, db, options, Some(family(column_family)?), bytes(key, key_length)).map(give_pinned) }
    }

    /// Writes a batch atomically. It stays as it is.
    fn rocksdb_write_writebatch_wi(
        db: *mut rocksdb_t,
        options: *const rocksdb_writeoptions_t,
        batch: *mut rocksdb_writebatch_wi_t,
    ) {
        // SAFETY: the contract.
        let (db, options, batch) = unsafe {
            (borrow(db, "database")?, borrow_or(options, &DEFAULT_WRITE_OPTIONS).to_write()?, borrow(batch, "batch")?)
        };
        batch.check()?;
        match &db.ttl {
            None => batch.batch.write_to(&db.db, options),
            Some(_) => db.write(&mut batch.batch.read(WriteBatch::clone), options),
        }
    }
}

/// An iterator over batch and base, which it takes. What cannot be is its error.
///
/// # Safety
/// The contract: the base is handed over.
unsafe fn over_base(
    batch: *mut rocksdb_writebatch_wi_t,
    base: *mut rocksdb_iterator_t,
    column_family: Option<*mut rocksdb_column_family_handle_t>,
    options: *const rocksdb_readoptions_t,
) -> *mut rocksdb_iterator_t {
    // SAFETY: as for this function.
    let Some(base) = (unsafe { take(base) }) else { return null_mut() };
    let open = || -> Result<rocksdb_iterator_t> {
        // SAFETY: as for this function.
        let (batch, options) = unsafe { (borrow(batch, "batch")?, options.as_ref()) };
        batch.check()?;
        let (base, source) = base.into_parts();
        let Some(source) = source else {
            base.status()?;
            return Err(Error::invalid_argument("the base is an iterator over a batch already"));
        };
        let Cursor::Plain(base) = base else {
            return Err(Error::not_supported("a batch with an index over a database with a time to live"));
        };
        let family = match column_family {
            // SAFETY: as for this function.
            Some(handle) => unsafe { family(handle)? },
            None => &source.family,
        };
        let options = options.map_or(Ok(&source.options), rocksdb_readoptions_t::to_read)?;
        let iter = batch.batch.iter_with_base_options(family, base, options);
        Ok(rocksdb_iterator_t::over_batch(iter))
    };
    give(open().unwrap_or_else(rocksdb_iterator_t::failed))
}

c_functions! {
    /// An iterator over the family of the base as the batch will leave it. It takes the base.
    fn rocksdb_writebatch_wi_create_iterator_with_base(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
    ) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        unsafe { over_base(batch, base, None, std::ptr::null()) }
    }

    /// The same; the bounds are those of the options.
    fn rocksdb_writebatch_wi_create_iterator_with_base_readopts(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        unsafe { over_base(batch, base, None, options) }
    }

    /// An iterator over a column family as the batch will leave it. It takes the base.
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        column_family: *mut rocksdb_column_family_handle_t,
    ) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        unsafe { over_base(batch, base, Some(column_family), std::ptr::null()) }
    }

    /// The same; the bounds are those of the options.
    fn rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
        batch: *mut rocksdb_writebatch_wi_t,
        base: *mut rocksdb_iterator_t,
        column_family: *mut rocksdb_column_family_handle_t,
        options: *const rocksdb_readoptions_t,
    ) -> *mut rocksdb_iterator_t {
        // SAFETY: the contract.
        unsafe { over_base(batch, base, Some(column_family), options) }
    }
}
