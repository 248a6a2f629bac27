//! Pausing in [`DbIterator`]: it pauses instead of waiting for a read, and resumes when the read was supplied.
//!
//! ```text
//! seek, next --> a key, or the end
//!            \-> paused --> needs(): none  --> set_pausing(false), resume  where it may block: it reads for itself
//!                      \-> needs(): some  --> make them, supply each, resume
//! ```
//!
//! The state of a pause is the progress in the entries of a key ([`Search`], or operands of a merge). The merge below
//! keeps the position. A paused iterator is not valid; its status is `TryAgain`.
//!
//! A pausing iterator goes forward only; values in blob files, and tables that are not open, it reads and opens when
//! pausing is switched off. A driven one pauses in its placement, in either direction, and reads these at once.

use super::DbIterator;
use super::pause_state::{Search, Stop};
use crate::iterator::read_set::ReadSet;
use crate::iterator::source::TombstoneIterator;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_table::PlannedRead;
use ferrock_vfs::ReadBuffer;

impl<I: TombstoneIterator, O> DbIterator<I, O> {
    /// Switches pausing on or off. A pausing iterator pauses instead of reading.
    pub fn set_pausing(&mut self, pauses: bool) {
        self.pausing.is_on = pauses;
        self.inner.set_pausing(pauses);
    }

    /// True when the iterator waits to be resumed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pausing.stop.is_some()
    }

    /// Has placements pause, or not, for a caller that makes the reads of several iterators as one set. Steps read for
    /// themselves.
    pub fn set_driven(&mut self, is_driven: bool) {
        self.inner.set_driven(is_driven);
    }

    /// Adds the reads to make before the iterator is resumed, with the owner of each by its child. It adds none when
    /// the iterator has to read for itself.
    pub fn needs<W>(&mut self, set: &mut ReadSet<W>, owner: impl Fn(usize) -> W) {
        self.inner.needs(set, owner);
    }

    /// Takes the result of a child's read.
    pub fn supply(&mut self, child: usize, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        self.inner.supply_child(child, read, bytes);
    }

    /// Resumes a paused iterator. It may pause again.
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
            Stop::Last => self.find_last(),
        }
        if !self.is_paused() && std::mem::take(&mut self.pausing.adopts_prefix) {
            self.adopt_prefix();
        }
    }

    /// Finds the last live key from the inner position on, which was placed for that. What it steps over is read at
    /// once.
    pub(super) fn find_last(&mut self) {
        if self.inner.is_paused() {
            self.pausing.stop = Some(Stop::Last);
        } else {
            if !self.pausing.is_on {
                self.inner.set_driven(false);
            }
            self.find_backward();
        }
    }

    /// Called at the end of a search: pauses if the inner iterator has paused.
    #[inline]
    pub(super) fn pause_in_search(&mut self, search: impl FnOnce() -> Search) {
        if self.inner.is_paused() {
            self.pausing.stop = Some(Stop::Search(search()));
        }
    }

    /// Stops at an error: permanently, or until the iterator is resumed.
    #[cold]
    pub(super) fn stop(&mut self, error: Error, at: Stop) {
        if error.kind() == ErrorKind::TryAgain && (self.pausing.is_on || self.inner.is_paused()) {
            self.pausing.stop = Some(at);
        } else {
            self.fail(error);
        }
    }
}
