//! A user's iterator that pauses where it would have to wait for a read, and goes on when the read was made.
//!
//! ```text
//! seek, next --> a key, or the end
//!            \-> paused --> pending_reads(): none  --> set_pausing(false), resume   where that may block: it reads for itself
//!                      \-> pending_reads(): some  --> make them, supply each, resume
//! ```
//!
//! What an iterator keeps of a pause is how far it came in the entries of a key ([`Search`], or operands of a merge). Where they
//! are, the merge beneath knows. A paused iterator is not valid; its status is `TryAgain`.
//!
//! Values in blob files and tables that are not open are among what an iterator reads for itself. It pauses going forward only.

use super::DbIterator;
use crate::blob::FetchBlob;
use crate::iterator::PendingChildRead;
use crate::iterator::source::TombstoneIterator;
use ferrock_base::types::ValueType;
use ferrock_base::{Error, ErrorKind, Result};

/// How far the search for the next live key came.
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

/// What an iterator was at when it could not go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    Search(Search),
    /// The value under the inner iterator.
    Value(ValueType),
    /// The operands of the saved key.
    Merge,
}

/// What an iterator keeps of a pause.
#[derive(Debug, Default)]
pub(super) struct Pausing {
    is_on: bool,
    stop: Option<Stop>,
    adopts_prefix: bool,
}

impl Pausing {
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.stop, self.adopts_prefix) = (None, false);
    }

    /// The key that the iterator finds when it goes on gives the prefix that it keeps to.
    pub(super) fn adopt_prefix_later(&mut self) {
        self.adopts_prefix = self.stop.is_some();
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }
}

/// The blob files of an iterator that pauses.
#[derive(Debug)]
pub(super) struct NotNow;

impl FetchBlob for NotNow {
    fn fetch(&self, _key: &[u8], _index: &[u8]) -> Result<Vec<u8>> {
        Err(Error::new(ErrorKind::TryAgain, "a value in a blob file is to be read where that may block"))
    }
}

impl<I: TombstoneIterator, O> DbIterator<I, O> {
    /// From now on the iterator pauses where it would have to read, or does not any more.
    pub fn set_pausing(&mut self, pauses: bool) {
        self.pausing.is_on = pauses;
        self.inner.set_pausing(pauses);
    }

    /// True when the iterator waits to be resumed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pausing.stop.is_some()
    }

    /// The reads to make before the iterator is resumed; none when it has to read for itself.
    pub fn pending_reads(&mut self) -> Vec<PendingChildRead> {
        self.inner.pending_reads()
    }

    /// Goes on after a pause. The iterator may be paused again then.
    pub fn resume(&mut self) {
        let Some(stop) = self.pausing.stop else { return };
        self.inner.resume();
        if self.inner.is_paused() {
            return;
        }
        self.pausing.stop = None;
        match stop {
            Stop::Search(search) => self.find_forward_from(search),
            Stop::Value(value_type) => self.settle_forward(value_type),
            Stop::Merge => self.settle_merge(),
        }
        if !self.is_paused() && std::mem::take(&mut self.pausing.adopts_prefix) {
            self.adopt_prefix();
        }
    }

    /// Pauses at the end of a search, if that is why the inner iterator is not valid.
    #[inline]
    pub(super) fn pause_in_search(&mut self, search: impl FnOnce() -> Search) {
        if self.inner.is_paused() {
            self.pausing.stop = Some(Stop::Search(search()));
        }
    }

    /// Stops at an error: for good, or until the iterator can go on.
    #[cold]
    pub(super) fn stop(&mut self, error: Error, at: Stop) {
        if self.pausing.is_on && error.kind() == ErrorKind::TryAgain {
            self.pausing.stop = Some(at);
        } else {
            self.fail(error);
        }
    }
}
