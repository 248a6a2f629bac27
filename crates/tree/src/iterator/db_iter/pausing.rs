//! Pausing in [`DbIterator`]: it pauses instead of waiting for a read, and resumes when the read was supplied.
//!
//! ```text
//! seek, next --> a key, or the end
//!            \-> paused --> pending_reads(): none  --> set_pausing(false), resume  where it may block: it reads itself
//!                      \-> pending_reads(): some  --> make them, supply each, resume
//! ```
//!
//! The state of a pause is the progress in the entries of a key ([`Search`], or operands of a merge). The merge below
//! keeps the position. A paused iterator is not valid; its status is `TryAgain`.
//!
//! An iterator reads values in blob files, and opens tables, itself. It pauses in forward direction only.

use super::DbIterator;
use super::pause_state::{Search, Stop};
use crate::iterator::PendingChildRead;
use crate::iterator::source::TombstoneIterator;
use ferrock_base::{Error, ErrorKind};

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

    /// The reads to make before the iterator is resumed; none when it has to read for itself.
    pub fn pending_reads(&mut self) -> Vec<PendingChildRead> {
        self.inner.pending_reads()
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
        }
        if !self.is_paused() && std::mem::take(&mut self.pausing.adopts_prefix) {
            self.adopt_prefix();
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
        if self.pausing.is_on && error.kind() == ErrorKind::TryAgain {
            self.pausing.stop = Some(at);
        } else {
            self.fail(error);
        }
    }
}
