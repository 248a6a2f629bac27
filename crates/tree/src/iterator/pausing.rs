//! Merges that pause until their driver has made the reads of their children.
//!
//! ```text
//! place    every child as far as memory goes -> reads that are needed (deferred.rs) -> paused, pending_reads()
//! step     the winner, or those that skip    -> their pending reads                 -> paused, pending_reads()
//! resume   the children that were supplied go on -> another round, or the order of all children anew
//! ```
//!
//! A paused merge is not valid, and its status is `TryAgain`. When `pending_reads` is empty a child has to read for
//! itself: then [`set_pausing(false)`](MergingIterator::set_pausing) and [`resume`](MergingIterator::resume), where
//! that may block.
//!
//! A merge makes progress after each pause: a child that requests a range again that was supplied since it paused has
//! to read for itself (`TableIter::pending_read`), and a child that the merge reached is not deferred again before it
//! is placed.
//!
//! The positions of the children determine that of the merge, so a paused step needs no state. A paused placement keeps
//! its target, as further reads may be deferred or be needed for it. Merges pause in forward direction only.

use super::deferred::{ChildBound, Winner};
use super::merging::MergingIterator;
use super::pause_state::Placing;
use super::placing::{ChildRead, OwnedSeekTarget, SeekTarget};
use super::source::TombstoneIterator;
use ferrock_base::{Error, ErrorKind};
use ferrock_vfs::AsyncRead;

/// A read that a paused merge waits for.
#[derive(Debug)]
pub struct PendingChildRead {
    /// The child that needs it.
    pub child: usize,
    /// The read.
    pub read: ChildRead,
    /// The read in flight, if it was started already.
    pub started: Option<AsyncRead>,
}

impl<I: TombstoneIterator> MergingIterator<I> {
    /// Switches pausing on or off. A pausing merge pauses instead of letting a child read.
    pub fn set_pausing(&mut self, pauses: bool) {
        self.pausing.is_on = pauses;
        self.children.iter_mut().for_each(|child| child.set_pausing(pauses));
    }

    /// True when the merge waits to be resumed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pausing.is_paused
    }

    /// The reads to make before the merge is resumed; none when it has to read for itself.
    pub fn pending_reads(&mut self) -> Vec<PendingChildRead> {
        let children = &mut self.children;
        let pending = |&child: &usize| {
            let read = children[child].pending_read()?;
            Some(PendingChildRead { child, read, started: children[child].take_started() })
        };
        self.pausing.reading.iter().filter_map(pending).collect()
    }

    /// Resumes a paused merge. It may pause again.
    pub fn resume(&mut self) {
        if !std::mem::take(&mut self.pausing.is_paused) {
            return;
        }
        self.error = None;
        if !self.pausing.is_on
            && let Some(placing) = self.pausing.placing.take()
        {
            return self.place_reading(&placing);
        }
        let mut reading = std::mem::take(&mut self.pausing.reading);
        if reading.is_empty() {
            reading = self.waiting_children().collect();
        }
        reading.into_iter().for_each(|child| self.children[child].resume());
        if self.pausing.placing.is_some() { self.resume_placing() } else { self.rebuild() }
    }

    /// Pauses in a step.
    pub(super) fn pause(&mut self) {
        let reading = self.pending_children().unwrap_or_default();
        self.pause_for(reading.into_iter().map(|(child, _)| child).collect());
    }

    fn pause_for(&mut self, reading: Vec<usize>) {
        self.current = None;
        (self.pausing.is_paused, self.pausing.reading) = (true, reading);
        self.error =
            Some(Error::new(ErrorKind::TryAgain, "the iterator is paused until its pending reads are supplied"));
    }

    /// Places the children, using blocks in memory.
    pub(super) fn place_pausing(&mut self, place: SeekTarget<'_>) {
        self.deferred.clear();
        self.pausing.clear();
        self.children.iter_mut().for_each(|child| place.apply(child));
        self.pausing.placing = Some(Placing { place: OwnedSeekTarget::new(place), winner: None, bounds: Vec::new() });
        self.resume_placing();
    }

    /// Places deferred children when `winner` has reached the top of the heap.
    pub(super) fn enter_pausing(&mut self, winner: usize) {
        let Some((place, deferred)) = self.deferred.take_with(winner) else { return };
        let bounds: Vec<ChildBound> = deferred.into_iter().map(|(_, bound)| bound).collect();
        for bound in &bounds {
            let child = &mut self.children[bound.child];
            // Deferred when the merge did not pause: there is nothing to resume.
            if child.pending_read().is_none() {
                place.place().apply(child);
            }
        }
        self.pausing.placing = Some(Placing { place, winner: Some(winner), bounds });
        self.resume_placing();
    }

    /// Pauses for the reads that the children need to be placed, or puts them in order when they are.
    fn resume_placing(&mut self) {
        let Some(placing) = self.pausing.placing.take() else { return };
        let Some(pending) = self.pending_children() else {
            self.pausing.placing = Some(placing);
            return self.pause_for(Vec::new());
        };
        let place = placing.place.place();
        let (now, _) =
            self.deferred.choose(&self.order, &self.children, place, pending, placing.winner.map(Winner::new));
        if !now.is_empty() {
            self.pausing.placing = Some(placing);
            return self.pause_for(now.into_iter().map(|(child, _)| child).collect());
        }
        self.end_placing(&placing);
    }

    /// Continues a placement as a merge that does not pause would: in the same rounds, and deferring the same reads.
    fn place_reading(&mut self, placing: &Placing) {
        let place = placing.place.place();
        let waiting: Vec<usize> = self.waiting_children().collect();
        let children = &mut self.children;
        let pending = waiting.into_iter().filter_map(|child| Some((child, children[child].plan(place)?))).collect();
        self.deferred.place_pending(&self.order, &mut self.children, place, pending, placing.winner.map(Winner::new));
        self.end_placing(placing);
    }

    fn end_placing(&mut self, placing: &Placing) {
        let place = placing.place.place();
        let checked =
            placing.bounds.iter().try_for_each(|bound| bound.check(&self.order, place, &self.children[bound.child]));
        match checked {
            Ok(()) => self.rebuild(),
            Err(error) => self.fail(error),
        }
    }

    /// Children that are paused and not deferred.
    fn waiting_children(&self) -> impl Iterator<Item = usize> + use<'_, I> {
        let waits = |&child: &usize| {
            let is_paused = !self.children[child].valid()
                && self.children[child].status().is_err_and(|error| error.kind() == ErrorKind::TryAgain);
            is_paused && self.deferred.key(child).is_none()
        };
        (0..self.children.len()).filter(waits)
    }

    /// Their pending reads; `None` if one of them has to read for itself.
    fn pending_children(&self) -> Option<Vec<(usize, ChildRead)>> {
        self.waiting_children().map(|child| Some((child, self.children[child].pending_read()?))).collect()
    }
}
