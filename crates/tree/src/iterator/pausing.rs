//! A merge as a machine that never waits: it pauses for the reads that its children need, and one of three drivers
//! makes them.
//!
//! ```text
//! place    every child as far as memory goes -> reads that are needed now (deferred.rs) --+
//! step     the winner, or those that skip    -> their pending reads ----------------------+-> driver -> advance -> ...
//! ```
//!
//! | driver | makes the reads | set by |
//! |---|---|---|
//! | blocking | the merge itself, in rounds ([`place_rest`](MergingIterator::place_rest)); a step reads for itself | default |
//! | rounds | the caller, those of several merges as one set; a step reads for itself | [`set_driven`](MergingIterator::set_driven) |
//! | futures | the caller, awaiting them; a step pauses, too | [`set_pausing`](MergingIterator::set_pausing) |
//!
//! All three make the same reads in the same rounds.
//!
//! A paused merge is not valid, and its status is `TryAgain`. When it needs no read, a child has to read for itself:
//! then the driver switches pausing off and calls [`resume`](MergingIterator::resume), where that may block.
//!
//! A merge makes progress after each pause: a child that requests a range again that was supplied since it paused has
//! to read for itself (`TableIter::pending_read`), and a child that the merge reached is not deferred again before it
//! is placed.
//!
//! The positions of the children determine that of the merge, so a paused step needs no state. A paused placement keeps
//! its target, as further reads may be deferred or be needed for it. Merges that pause in steps go forward only.

use super::deferred::{Reads, Winner};
use super::merging::{Direction, MergingIterator};
use super::pause_state::Placing;
use super::read_set::ReadSet;
use super::source::TombstoneIterator;
use ferrock_base::{Error, ErrorKind, OwnedSeekTarget, SeekTarget};
use ferrock_statistics::{PerfLaps, PerfMetric, PerfRecorder};

/// After so many rounds the children of a merge that blocks read for themselves: blocks without entries require one
/// more round, damaged blocks any number.
const MAX_ROUNDS: usize = 4;

#[cold]
fn count_child_seeks(children: usize) {
    if let Some(perf) = PerfRecorder::of_thread() {
        perf.add(PerfMetric::SeekChildSeekCount, children as u64);
    }
}

impl<I: TombstoneIterator> MergingIterator<I> {
    /// Switches pausing on or off. A pausing merge pauses instead of letting a child read.
    pub fn set_pausing(&mut self, pauses: bool) {
        self.pausing.is_on = pauses;
        self.children.iter_mut().for_each(|child| child.set_pausing(pauses));
    }

    /// Has placements pause, or not. Steps read for themselves.
    pub fn set_driven(&mut self, is_driven: bool) {
        (self.pausing.is_on, self.pausing.is_with_others) = (is_driven, is_driven);
    }

    /// True when the merge waits to be resumed.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.pausing.is_paused
    }

    /// Adds the reads to make before the merge is resumed, with the owner of each by its child. It adds none when the
    /// merge has to read for itself.
    pub fn needs<O>(&mut self, set: &mut ReadSet<O>, owner: impl Fn(usize) -> O) {
        for &index in &self.pausing.reading {
            let child = &mut self.children[index];
            if let Some(read) = child.pending_read() {
                set.add(owner(index), read, child.take_started());
            }
        }
    }

    /// Resumes a paused merge. It may pause again.
    pub fn resume(&mut self) {
        if !std::mem::take(&mut self.pausing.is_paused) {
            return;
        }
        self.error = None;
        let mut reading = std::mem::take(&mut self.pausing.reading);
        if reading.is_empty() {
            reading = self.waiting_children().collect();
        }
        let may_read = self.pausing.placing.is_none() && !self.pausing.is_on;
        for child in reading {
            self.children[child].resume(may_read);
        }
        if let Some(placing) = &mut self.pausing.placing {
            placing.note_round(self.deferred.has_limit());
        }
        if self.place_rest() {
            self.rebuild();
        }
    }

    /// Pauses in a step.
    pub(super) fn pause(&mut self) {
        let waiting = self.waiting_children().map(|child| (child, self.children[child].pending_read().is_some()));
        let (reading, has_read): (Vec<usize>, Vec<bool>) = waiting.unzip();
        self.pause_for(if has_read.contains(&false) { Vec::new() } else { reading });
    }

    fn pause_for(&mut self, reading: Vec<usize>) {
        self.current = None;
        (self.pausing.is_paused, self.pausing.reading) = (true, reading);
        self.error =
            Some(Error::new(ErrorKind::TryAgain, "the iterator is paused until its pending reads are supplied"));
    }

    /// Goes to a target, with all children.
    pub fn place(&mut self, target: SeekTarget<'_>) {
        self.error = None;
        self.direction = if target.is_backward() { Direction::Backward } else { Direction::Forward };
        self.deferred.clear();
        self.pausing.clear();
        if PerfRecorder::is_used() {
            count_child_seeks(self.children.len());
        }
        let mut laps = PerfLaps::begin();
        if let [child] = &mut self.children[..]
            && !self.pausing.is_on
            && !self.deferred.has_limit()
        {
            child.place(target, true);
            laps.lap(PerfMetric::SeekChildSeekTime);
            return self.rebuild();
        }
        let mut are_placed = true;
        for child in &mut self.children {
            child.place(target, false);
            are_placed &= !child.is_paused();
        }
        if !are_placed {
            self.pausing.placing =
                Some(Placing { target: OwnedSeekTarget::new(target), winner: None, bounds: Vec::new() });
            are_placed = self.place_rest();
        }
        laps.lap(PerfMetric::SeekChildSeekTime);
        if are_placed {
            self.rebuild();
            let is_backward = self.direction == Direction::Backward;
            laps.lap(if is_backward { PerfMetric::SeekMaxHeapTime } else { PerfMetric::SeekMinHeapTime });
        }
    }

    /// Begins to place the children that were deferred together with `winner`, which has reached the top of the heap.
    pub(super) fn begin_deferred(&mut self, winner: usize) {
        let Some((target, deferred)) = self.deferred.take_with(winner) else { return };
        for bound in &deferred {
            let child = &mut self.children[bound.child];
            // The child was moved since it was deferred: there is nothing to resume.
            if !child.is_paused() {
                child.place(target.place(), false);
            }
        }
        self.pausing.placing = Some(Placing { target, winner: Some(Winner::new(winner)), bounds: deferred });
    }

    /// Makes, or pauses for, the reads of the children that are not placed yet. True when all are placed or deferred;
    /// false when the merge has paused or failed.
    #[cold]
    pub(super) fn place_rest(&mut self) -> bool {
        let Some(mut placing) = self.pausing.placing.take() else { return true };
        for round in 0.. {
            let (pending, unreadable) = self.pending_children();
            if self.pausing.is_on && !unreadable.is_empty() {
                self.pausing.placing = Some(placing);
                self.pause_for(Vec::new());
                return false;
            }
            for child in unreadable {
                self.children[child].resume(true);
            }
            if !self.pausing.is_on && round == MAX_ROUNDS {
                pending.into_iter().for_each(|(child, _)| self.children[child].resume(true));
                break;
            }
            let (now, held) = self.reads_of_round(&placing, pending);
            if now.is_empty() && held.is_empty() {
                break;
            }
            if self.pausing.is_on {
                if now.is_empty() {
                    continue;
                }
                self.pausing.placing = Some(placing);
                self.pause_for(now.into_iter().map(|(child, _)| child).collect());
                return false;
            }
            // A single child reads for itself; with a limit it may be able to defer the read of its next block.
            if now.len() + held.len() < if self.deferred.has_limit() { 1 } else { 2 } {
                now.into_iter().chain(held).for_each(|(child, _)| self.children[child].resume(true));
                break;
            }
            self.read_round(now);
            placing.note_round(self.deferred.has_limit());
        }
        let target = placing.target.place();
        let mut bounds = placing.bounds.iter();
        match bounds.try_for_each(|bound| bound.check(&self.order, target, &self.children[bound.child])) {
            Ok(()) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// The reads to make now, and those that wait for the next round; the others are deferred.
    fn reads_of_round(&mut self, placing: &Placing, pending: Reads) -> (Reads, Reads) {
        let target = placing.target.place();
        let is_with_others = self.pausing.is_with_others;
        let (now, held) =
            self.deferred.choose(&self.order, &self.children, target, pending, placing.winner, is_with_others);
        (self.deferred.size_reads(&self.order, &mut self.children, target, now), held)
    }

    fn read_round(&mut self, reads: Reads) {
        let mut set = ReadSet::default();
        for (child, read) in reads {
            set.add(child, read, None);
        }
        set.perform(None);
        for (child, read, bytes) in set.into_supplies() {
            self.children[child].supply(&read, bytes);
            self.children[child].resume(false);
        }
    }

    /// Children that are paused and not deferred.
    fn waiting_children(&self) -> impl Iterator<Item = usize> + use<'_, I> {
        (0..self.children.len()).filter(|&child| self.children[child].is_paused() && self.deferred.key(child).is_none())
    }

    /// Their pending reads, and those that have to read for themselves.
    fn pending_children(&self) -> (Reads, Vec<usize>) {
        let (mut pending, mut unreadable) = (Vec::new(), Vec::new());
        for child in self.waiting_children() {
            match self.children[child].pending_read() {
                Some(read) => pending.push((child, read)),
                None => unreadable.push(child),
            }
        }
        (pending, unreadable)
    }
}
