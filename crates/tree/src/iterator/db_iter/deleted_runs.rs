//! Runs of deleted keys: a search that comes upon one leaps to its end, and what a search walks over becomes one.
//!
//! Also the counts of hidden entries, for which the memtable may have to be flushed.
//!
//! Runs are made by iterators that go forward and to which every key of their bounds is shown; those that go back use
//! what these made. The rules that keep runs true are in `ferrock_memtable::DeletedRuns`.

use super::DbIterator;
use crate::iterator::source::TombstoneIterator;
use ferrock_base::internal_key::{append_internal_key, user_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_memtable::{MemTable, WalkId};
use std::sync::Arc;

/// Deleted keys in a row after which the runs are looked at, and as many again after which they are once more.
const KEYS_BEFORE_LOOK: u32 = 4;
/// Deleted keys in a row at which a walk begins.
const KEYS_BEFORE_WALK: u32 = 8;
/// Entries that must have been passed behind a run for it to be extended.
const MIN_EXTENSION: u64 = 8;

/// What an iterator does for the scans after it.
#[derive(Clone, Debug)]
pub struct ScanMemory {
    /// The memtable that took writes when the iterator was made: its first child.
    pub memtable: Arc<MemTable>,
    /// Hidden entries in a row that become a run; `None` where the iterator may not be shown all keys.
    pub min_run: Option<u64>,
    /// The generation of runs that are true for what the iterator is made of.
    pub generation: u64,
    /// Hidden entries of the memtable in one step for which it is flushed; 0: any number.
    pub flush_after_step: u64,
    /// The same on average of the steps since the iterator was placed; 0: any number.
    pub flush_after_steps: u64,
}

/// The walk of one search.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Deleted keys in a row.
    keys: u32,
    id: Option<WalkId>,
    /// Entries passed since the walk began.
    passed: u64,
    is_extension: bool,
}

/// Why an iterator that goes forward passes an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A newer entry of its key decides: an older version, or what a deletion hides.
    Older = 0,
    /// It is a deletion, or under a range deletion.
    Deleted = 1,
    /// The iterator does not see it.
    Recent = 2,
}

/// What an iterator did since it was made beside showing rows: only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IterWork {
    /// Entries that were passed going forward, by [`Hidden`].
    pub passed: [u64; 3],
    /// Seeks past many versions of a key.
    pub reseeks: u64,
}

impl IterWork {
    /// Hidden entries that were passed going forward.
    #[inline]
    #[must_use]
    pub fn passed_entries(&self) -> u64 {
        self.passed.iter().sum()
    }

    /// What was done since there was `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let since = |now: u64, before: u64| now.saturating_sub(before);
        Self {
            passed: std::array::from_fn(|why| since(self.passed[why], before.passed[why])),
            reseeks: since(self.reseeks, before.reseeks),
        }
    }
}

/// Hidden entries that an iterator has passed.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub(super) work: IterWork,
    /// Those of the memtable, by one step.
    in_step: u64,
    /// The same since the iterator was placed, and the steps.
    since_placed: u64,
    steps: u64,
}

impl<I: TombstoneIterator, O> DbIterator<I, O> {
    /// Hidden entries (deletions, and what is deleted or overwritten) that the iterator has passed, going forward,
    /// since it was made.
    #[must_use]
    pub fn passed_entries(&self) -> u64 {
        self.passed.work.passed_entries()
    }

    /// What the iterator did since it was made beside showing rows.
    #[must_use]
    pub fn work(&self) -> IterWork {
        self.passed.work
    }

    /// Notes that the search passes the entry under the inner iterator.
    #[inline]
    pub(super) fn note_passed(&mut self, walk: &mut Walk, why: Hidden) {
        self.passed.work.passed[why as usize] += 1;
        walk.passed += 1;
        if self.inner.stands_on_newest_child() {
            self.passed.in_step += 1;
        }
    }

    /// Called on a deleted key, whose older versions are still to come. True when the inner iterator has leapt over a
    /// run.
    #[inline]
    pub(super) fn leap_over_run(&mut self, walk: &mut Walk) -> bool {
        walk.keys += 1;
        if !walk.keys.is_multiple_of(KEYS_BEFORE_LOOK) {
            return false;
        }
        self.look_for_run(walk)
    }

    fn look_for_run(&mut self, walk: &mut Walk) -> bool {
        let Some(ScanMemory { memtable, min_run: Some(min_run), generation, .. }) = &self.options.memory else {
            return false;
        };
        let (runs, view) = (memtable.deleted_runs(), self.options.view.newest());
        let key = user_key(self.inner.key());
        // A run begins where an earlier walk from here did; behind that it is looked for less often.
        if (walk.keys <= 2 * KEYS_BEFORE_WALK || walk.keys.is_multiple_of(4 * KEYS_BEFORE_WALK))
            && let Some(found) = runs.find(key, view, *generation, &mut self.target)
        {
            let joined = walk.id.take().and_then(|id| runs.finish(id, key, view, Some(found)));
            let id = runs.begin(&self.target, *generation, Some(joined.unwrap_or(found)));
            *walk = Walk { id, is_extension: true, ..Walk::default() };
            let end = std::mem::take(&mut self.target);
            // Newer versions of the key at the end are to be met: they end the walk.
            append_internal_key(&mut self.target, &end, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
            self.inner.seek(&self.target);
            return true;
        }
        let begins_at = u64::from(KEYS_BEFORE_WALK).min(min_run.next_multiple_of(u64::from(KEYS_BEFORE_LOOK)));
        if walk.id.is_none() && u64::from(walk.keys) >= begins_at {
            (walk.id, walk.passed, walk.is_extension) = (runs.begin(key, *generation, None), 0, false);
            // The memtable's iterator may have passed the place of a value that was inserted since.
            self.inner.place_newest_child_again();
        }
        false
    }

    /// Called going back, on the entry before a number of deleted keys in a row. If it is in a run, the inner iterator
    /// leaps to where that begins; true when that is before the bound, up to which nothing is left then.
    #[inline]
    pub(super) fn leap_back_over_run(&mut self, dead: u64) -> bool {
        let every = if dead <= u64::from(2 * KEYS_BEFORE_WALK) { KEYS_BEFORE_LOOK } else { 4 * KEYS_BEFORE_WALK };
        dead.is_multiple_of(u64::from(every)) && self.inner.valid() && self.look_back_for_run()
    }

    fn look_back_for_run(&mut self) -> bool {
        let Some(ScanMemory { memtable, min_run: Some(_), generation, .. }) = &self.options.memory else {
            return false;
        };
        let (runs, view) = (memtable.deleted_runs(), self.options.view.newest());
        if !runs.find_back(user_key(self.inner.key()), view, *generation, &mut self.target) {
            return false;
        }
        let start = std::mem::take(&mut self.target);
        if self.is_below_lower(&start) {
            return true;
        }
        // All versions of the key at the start are to be met, the oldest first.
        append_internal_key(&mut self.target, &start, SequenceNumber(0), ValueType::Deletion);
        self.inner.seek_for_prev(&self.target);
        false
    }

    /// Ends the walk before the key under the inner iterator, or where the iteration ends.
    #[inline]
    pub(super) fn end_walk(&mut self, walk: &mut Walk) {
        if walk.id.is_some() {
            self.end_begun_walk(walk);
        }
        walk.keys = 0;
    }

    #[cold]
    fn end_begun_walk(&mut self, walk: &mut Walk) {
        let Some(id) = walk.id.take() else { return };
        let Some(ScanMemory { memtable, min_run: Some(min_run), .. }) = &self.options.memory else { return };
        let runs = memtable.deleted_runs();
        let required = if walk.is_extension { MIN_EXTENSION.min(*min_run) } else { *min_run };
        let upper = self.options.upper_bound.as_deref();
        let end = if self.inner.valid() {
            let key = user_key(self.inner.key());
            // Tables are not looked at beyond the bound.
            Some(upper.filter(|_| self.is_beyond_upper(key)).unwrap_or(key))
        } else if self.inner.is_paused() || self.inner.status().is_err() {
            None
        } else {
            Some(upper.unwrap_or(&self.saved_key))
        };
        match end {
            Some(end) if walk.passed >= required => drop(runs.finish(id, end, self.options.view.newest(), None)),
            _ => runs.abandon(id),
        }
    }

    /// Called when a step has ended.
    #[inline]
    pub(super) fn note_step(&mut self) {
        if self.passed.in_step > 0 {
            self.note_hidden_step();
        }
    }

    fn note_hidden_step(&mut self) {
        let hidden = std::mem::take(&mut self.passed.in_step);
        self.passed.since_placed += hidden;
        if let Some(memory) = &self.options.memory
            && memory.flush_after_step > 0
            && hidden >= memory.flush_after_step
        {
            memory.memtable.want_flush();
        }
    }

    /// Called by `next`.
    #[inline]
    pub(super) fn count_step(&mut self) {
        self.passed.steps += 1;
    }
}

impl Passed {
    /// Called before the iterator is placed anew, and when it is dropped.
    pub(super) fn end_steps(&mut self, memory: Option<&ScanMemory>) {
        self.in_step = 0;
        let (hidden, steps) = (std::mem::take(&mut self.since_placed), std::mem::take(&mut self.steps));
        if let Some(memory) = memory
            && memory.flush_after_step > 0
            && memory.flush_after_steps > 0
            && hidden >= memory.flush_after_step
            && steps > 0
            && hidden / steps >= memory.flush_after_steps
        {
            memory.memtable.want_flush();
        }
    }
}
