//! The state of a paused [`DbIterator`](super::DbIterator).

use crate::blob::{BlobValue, FetchBlob};
use ferrock_base::types::ValueType;
use ferrock_base::{Error, ErrorKind, Result};

/// Progress of the search for the next live key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// Entries of the saved key are hidden.
    pub(super) skipping: bool,
    /// Hidden entries of one key in a row.
    pub(super) skipped: u64,
    /// Keys in a row that a range tombstone deletes.
    pub(super) covered: u32,
    /// All entries that were passed over.
    pub(super) hidden: u64,
}

/// The operation at which an iterator paused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    Search(Search),
    /// The value under the inner iterator.
    Value(ValueType),
    /// The operands of the saved key.
    Merge,
    /// The placement at the last key.
    Last,
}

/// The state of an iterator's pause.
#[derive(Debug, Default)]
pub(super) struct Pausing {
    pub(super) is_on: bool,
    pub(super) stop: Option<Stop>,
    pub(super) adopts_prefix: bool,
}

impl Pausing {
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.stop, self.adopts_prefix) = (None, false);
    }

    /// After the pause, the iterator is limited to the prefix of the key that it then finds.
    pub(super) fn adopt_prefix_later(&mut self) {
        self.adopts_prefix = self.stop.is_some();
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }
}

/// The [`FetchBlob`] of an iterator that pauses: a fetch that would read fails with `TryAgain`.
#[derive(Debug)]
pub(super) struct InMemoryOnly<'a>(pub(super) &'a dyn FetchBlob);

impl FetchBlob for InMemoryOnly<'_> {
    fn fetch(&self, key: &[u8], index: &[u8]) -> Result<BlobValue> {
        if let Some(value) = self.0.fetch_in_memory(key, index)? {
            return Ok(value);
        }
        Err(Error::new(ErrorKind::TryAgain, "a value in a blob file is to be read where that may block"))
    }
}
