//! Scans that pause instead of reading, and go on when their driver has supplied the bytes.
//!
//! ```text
//! place, resume --> all is in memory --> placed, as by a seek
//!               \-> bytes are missing --> paused, pending_read() names them --supply--> resume --> ...
//!               \-> and again       --> paused, pending_read() is `None`  --> resume reads for itself
//! ```
//!
//! `place` and `resume` read no data block and no partition of the index where they may not. The other moves do, unless
//! the scan is [pausing](BlockTableIter::set_pausing): then no move reads anything, be it a filter or the root of an
//! index.
//!
//! Several scans that belong together are placed in rounds: each says what it needs, the reads of all are made as one
//! set, and each goes on with its bytes. A first round brings index partitions, a second one data.
//!
//! A paused scan is not valid, and its status is `TryAgain`. `pending_read` returns `None` if the same bytes were
//! supplied before and were of no use: they are damaged, or the cache has no room for them. With pausing switched off
//! the scan reads them itself and returns the error.
//!
//! A read that was started ahead is already in flight when the scan pauses for it:
//! [`take_started`](BlockTableIter::take_started).

use super::iter::BlockTableIter;
use super::pause_state::Paused;
use super::planned_read::PlannedRead;
use super::resident::NeededBlock;
use crate::scan_machine::ScanRead;
use ferrock_base::{Error, ErrorKind, InternalIterator, OwnedSeekTarget, SeekTarget};
use ferrock_vfs::{PendingRead, ReadClass};
use std::ops::Range;
use std::sync::Arc;

impl BlockTableIter {
    /// Switches pausing on or off. A pausing scan pauses instead of reading.
    pub fn set_pausing(&mut self, pauses: bool) {
        self.options.pauses = pauses;
        self.plan.set_planning(pauses);
    }

    /// Discards the pause when the scan is placed anew, by `resume` or by a seek.
    #[inline]
    pub(super) fn forget_pause(&mut self) {
        if self.is_paused() {
            self.pausing.supplied.clear();
        }
        self.plan.forget();
        self.pausing.forget();
        self.pausing.carried_blocks = self.limit.carried_blocks();
    }

    /// True when the scan waits to be resumed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pausing.paused.is_some()
    }

    /// The read that a paused scan waits for: make it, [`supply`](Self::supply) its bytes, and
    /// [`resume`](Self::resume). `None` for a scan that is not paused, and for one that has to read for itself.
    #[must_use]
    pub fn pending_read(&self) -> Option<ScanRead> {
        let read = self.plan.read().filter(|_| self.is_paused())?.clone();
        let (file, file_system) = (Arc::clone(self.table.loader().file()), Arc::clone(self.table.file_system()));
        Some(ScanRead { read, file, file_system, context: self.options.read_context(ReadClass::Data) })
    }

    /// The read of [`pending_read`](Self::pending_read), if it is already in flight.
    pub fn take_started(&mut self) -> Option<PendingRead> {
        self.pausing.started.take()
    }

    /// Resumes a paused scan. It may pause again; without `may_read` it reads nothing.
    pub fn resume(&mut self, may_read: bool) {
        let Some(paused) = self.pausing.paused.take() else { return };
        let out_of_time = self.plan.take_out_of_time();
        self.forget_pause();
        self.error = out_of_time.map(|error| self.table.loader().in_file(error));
        if self.error.is_some() {
            return;
        }
        self.plan.set_planning(!may_read || self.options.pauses);
        match paused {
            Paused::Placing(target) => self.place(target.place(), may_read),
            Paused::Index => self.resume_step(false),
            Paused::Block => self.resume_step(true),
        }
        self.plan.set_planning(self.options.pauses);
        if !self.is_paused() {
            self.pausing.supplied.clear();
        }
    }

    /// Called after a placement: pauses if a missing block prevented it.
    #[inline]
    pub(super) fn pause_if_not_placed(&mut self, target: SeekTarget<'_>) {
        if self.plan.is_planning() && !self.valid() && !self.is_paused() {
            self.pause(Paused::Placing(OwnedSeekTarget::new(target)));
            if self.is_paused() {
                self.limit.set_carried_blocks(self.pausing.carried_blocks);
            }
        }
    }

    /// Pauses, if the scan stopped because it needs a read.
    #[cold]
    pub(super) fn pause(&mut self, at: Paused) {
        let lacks =
            self.plan.read().is_some() || self.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::TryAgain);
        if !self.plan.is_planning() || !lacks {
            return;
        }
        if self.plan.read().is_none()
            && let Some(needed) = self.table.blocks.missing_root()
        {
            self.plan_block(needed);
        }
        self.plan.drop_supplied(&self.pausing.supplied);
        self.pausing.paused = Some(at);
        self.fail(Error::new(ErrorKind::TryAgain, "the scan is paused until its pending read is supplied"));
    }

    /// Plans the read of a block of the filter, or of the root of the index, for a scan that pauses. A block that is
    /// neither cached nor kept would be read in vain: the scan has to read it for itself.
    pub(super) fn plan_block(&mut self, needed: NeededBlock) {
        if !self.table.blocks.keeps(&self.options, needed) {
            return;
        }
        if let Ok(length) = self.table.blocks.needed_length(needed) {
            self.index.reset();
            self.plan.plan(PlannedRead::block(needed, length));
        }
    }

    /// If the block begins in the read that was started ahead: that read's range, for which the scan is to pause.
    pub(super) fn pause_for_ahead(&mut self, block: &Range<u64>) -> Option<Range<u64>> {
        let (range, read) = self.window.wanted_ahead(&**self.table.loader().file(), block, self.direction)?;
        (self.pausing.started, self.pausing.is_ahead) = (Some(read), true);
        Some(range)
    }

    /// Records a range that was supplied to a pausing scan.
    pub(super) fn note_supplied(&mut self, read: &PlannedRead) {
        if !self.pausing.is_ahead {
            self.pausing.supplied.push(read.range.clone());
        }
    }

    /// Records that bytes of the window were supplied.
    pub(super) fn note_arrived(&mut self) {
        if std::mem::take(&mut self.pausing.is_ahead) {
            self.window.note_sequential();
        }
        self.pausing.has_arrived = true;
    }

    /// Called after a pause for bytes of the window: starts the read of those behind it, if that pays.
    pub(super) fn resume_reading_ahead(&mut self) -> ferrock_base::Result<()> {
        if std::mem::take(&mut self.pausing.has_arrived) { self.read_ahead() } else { Ok(()) }
    }
}
