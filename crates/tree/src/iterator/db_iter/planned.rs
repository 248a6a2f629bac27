//! Placing several iterators together, by a caller that makes the reads of all of them as one batch.

use super::DbIterator;
use crate::iterator::merging::MergingIterator;
use crate::iterator::placing::{ChildRead, SeekTarget};
use crate::iterator::source::TombstoneIterator;
use ferrock_base::Result;
use ferrock_base::internal_key::append_internal_key;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_table::PlannedRead;
use ferrock_vfs::ReadBuffer;

impl<I: TombstoneIterator, O> DbIterator<I, O> {
    /// Places one child at the first key, or the last one, using blocks in memory; returns the read that it needs for
    /// that, if any. `None` also for a child that does not exist.
    pub fn plan_start(&mut self, child: usize, is_backward: bool) -> Option<ChildRead> {
        if !is_backward && child == 0 {
            self.narrow_to_start();
        }
        self.at_start(is_backward, |inner, place| inner.plan_child(child, place)).flatten()
    }

    /// Limits the children to the prefix of the first key before they are placed: changing the limit later would
    /// require placing them again.
    fn narrow_to_start(&mut self) {
        let prefix = self.options.lower_bound.as_deref().and_then(|lower| self.prefix_of(lower));
        if prefix.is_some() && !(self.is_narrowed && self.prefix == prefix) {
            self.limit_children(prefix.as_deref());
            self.prefix = prefix;
        }
    }

    /// The reads to be made now, among those that children planned for the start.
    pub fn defer_start(&mut self, reads: Vec<(usize, ChildRead)>, is_backward: bool) -> Vec<(usize, ChildRead)> {
        self.at_start(is_backward, |inner, place| inner.defer_children(place, reads)).unwrap_or_default()
    }

    /// `None` when no key is within the bounds.
    fn at_start<R>(
        &mut self,
        is_backward: bool,
        act: impl FnOnce(&mut MergingIterator<I>, SeekTarget<'_>) -> R,
    ) -> Option<R> {
        if is_backward {
            let Some(upper) = &self.options.upper_bound else { return Some(act(&mut self.inner, SeekTarget::Last)) };
            self.target.clear();
            append_internal_key(&mut self.target, upper, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
            return Some(act(&mut self.inner, SeekTarget::AtOrBefore(&self.target)));
        }
        let Some(lower) = &self.options.lower_bound else { return Some(act(&mut self.inner, SeekTarget::First)) };
        if self.is_beyond_upper(lower) {
            return None;
        }
        self.target.clear();
        append_internal_key(&mut self.target, lower, self.options.snapshot, ValueType::FOR_SEEK);
        Some(act(&mut self.inner, SeekTarget::AtOrAfter(&self.target)))
    }

    /// Takes the result of a child's planned read.
    pub fn supply(&mut self, child: usize, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        self.inner.supply_child(child, read, bytes);
    }

    /// Number of children.
    #[must_use]
    pub fn child_count(&self) -> usize {
        self.inner.child_count()
    }

    /// As [`seek_to_last`](Self::seek_to_last), after every child was planned and has no pending read.
    pub fn start_planned_backward(&mut self) {
        self.restart(None);
        self.inner.start_planned(true);
        self.find_backward();
        self.adopt_prefix();
    }

    /// As [`seek_to_first`](Self::seek_to_first), after every child was planned and has no pending read.
    pub fn start_planned(&mut self) {
        let lower = self.options.lower_bound.take();
        self.restart(lower.as_deref().and_then(|lower| self.prefix_of(lower)));
        if !lower.as_deref().is_some_and(|lower| self.is_beyond_upper(lower)) {
            self.inner.start_planned(false);
            self.find_forward(false);
            if lower.is_none() {
                self.adopt_prefix();
            }
        }
        self.options.lower_bound = lower;
    }
}
