//! An iterator of the library, safe to call.

use crate::functions::{Functions, Object};
use crate::object::{Owned, borrowed, chars};

/// Rows in order.
///
/// Whether there is a row is asked once after each move, so that no step is made and no key taken where there is none:
/// that is undefined in the library. Keys given to it are read during the call only. What [`key`](Self::key) and
/// [`value`](Self::value) give out borrows the cursor, and the library keeps it until the iterator moves, which needs
/// the cursor exclusively.
pub struct Cursor {
    functions: &'static Functions,
    iterator: Owned,
    is_at_row: bool,
}

impl Cursor {
    /// Takes over an iterator.
    ///
    /// # Safety
    /// The iterator is of that library and nothing else uses it; its database, and what its options point to, live
    /// longer than the cursor.
    #[must_use]
    pub unsafe fn new(functions: &'static Functions, iterator: Object) -> Self {
        // SAFETY: as for this function.
        Self { functions, iterator: unsafe { Owned::new(iterator, functions.iter_destroy) }, is_at_row: false }
    }

    fn moved(&mut self) {
        // SAFETY: the iterator lives as long as the cursor.
        self.is_at_row = unsafe { (self.functions.iter_valid)(self.iterator.object()) != 0 };
    }

    /// Goes to the first row.
    pub fn seek_to_first(&mut self) {
        // SAFETY: as above.
        unsafe { (self.functions.iter_seek_to_first)(self.iterator.object()) };
        self.moved();
    }

    /// Goes to the last row.
    pub fn seek_to_last(&mut self) {
        // SAFETY: as above.
        unsafe { (self.functions.iter_seek_to_last)(self.iterator.object()) };
        self.moved();
    }

    /// Goes to the first row at or after a key.
    pub fn seek(&mut self, key: &[u8]) {
        // SAFETY: as above.
        unsafe { (self.functions.iter_seek)(self.iterator.object(), chars(key), key.len()) };
        self.moved();
    }

    /// Goes to the last row at or before a key.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        // SAFETY: as above.
        unsafe { (self.functions.iter_seek_for_prev)(self.iterator.object(), chars(key), key.len()) };
        self.moved();
    }

    /// Goes one row on; stays where there is none.
    pub fn next(&mut self) {
        if self.is_at_row {
            // SAFETY: as above, and there is a row to go on from.
            unsafe { (self.functions.iter_next)(self.iterator.object()) };
            self.moved();
        }
    }

    /// Goes one row back; stays where there is none.
    pub fn prev(&mut self) {
        if self.is_at_row {
            // SAFETY: as above, and there is a row to go on from.
            unsafe { (self.functions.iter_prev)(self.iterator.object()) };
            self.moved();
        }
    }

    /// Whether there is a row.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.is_at_row
    }

    /// The key of the row; nothing where there is no row.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        if !self.is_at_row {
            return &[];
        }
        let mut length = 0;
        // SAFETY: as above; the library keeps the bytes until the iterator moves.
        unsafe {
            let key = (self.functions.iter_key)(self.iterator.object(), &mut length);
            borrowed(key, length)
        }
    }

    /// The value of the row; nothing where there is no row.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        if !self.is_at_row {
            return &[];
        }
        let mut length = 0;
        // SAFETY: as above; the library keeps the bytes until the iterator moves.
        unsafe {
            let value = (self.functions.iter_value)(self.iterator.object(), &mut length);
            borrowed(value, length)
        }
    }

    /// The error that ended the rows.
    ///
    /// # Errors
    /// That error.
    pub fn status(&self) -> Result<(), String> {
        // SAFETY: as above.
        self.functions.checked(|error| unsafe { (self.functions.iter_get_error)(self.iterator.object(), error) })
    }
}
