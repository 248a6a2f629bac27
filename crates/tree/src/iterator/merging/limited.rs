//! The part of a merge with a row limit: which reads are deferred, and when they are made (`../limit.rs`).

use super::{Direction, MergingIterator, TombstoneIterator};
use crate::iterator::limit::RowLimit;
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_table::NextBlock;

impl<I: TombstoneIterator> MergingIterator<I> {
    /// Sets the row limit: no block is read that the first rows up to it do not need; `None` removes the limit.
    pub fn set_limit(&mut self, limit: Option<RowLimit>) {
        self.deferred.set_limit(limit);
    }

    /// Restarts the count of rows.
    pub fn restart_rows(&mut self) {
        self.deferred.rows_shown = 0;
    }

    /// Counts a row that was shown.
    #[inline]
    pub fn note_row(&mut self) {
        self.deferred.rows_shown += 1;
    }

    /// True when the child whose entries come next has not been read: the iterator stands on no entry.
    #[inline]
    #[must_use]
    pub fn is_unread(&self) -> bool {
        !self.deferred.is_empty() && self.current.is_some_and(|current| self.deferred.key(current).is_some())
    }

    /// Reads the block of the next entries, if it is unread.
    #[inline]
    pub fn read_unread(&mut self) {
        self.enter_deferred();
    }

    /// As `prev`, but where entries of another user key than `key` come next, they may be [unread](Self::is_unread).
    pub fn prev_version(&mut self, key: &[u8]) {
        let Some(current) = self.current else { return };
        if self.direction == Direction::Forward || !self.deferred.has_limit() {
            return self.prev();
        }
        if !self.defers_step(current) {
            self.children[current].prev();
            self.settle::<false>(current);
        }
        let waiting = self.current.and_then(|current| self.deferred.key(current));
        if waiting.is_some_and(|waiting| self.order.user().compare(user_key(waiting), key).is_eq()) {
            // The row itself is no longer missing.
            self.deferred.rows_shown += 1;
            self.enter_deferred();
            self.deferred.rows_shown -= 1;
        }
    }

    /// Makes the deferred step of a child, if it has one.
    pub(super) fn takes_waiting_step(&mut self, child: usize) -> bool {
        let is_backward = self.direction == Direction::Backward;
        self.deferred.take_step(&self.order, &mut self.children, child, is_backward)
    }

    /// If the next step of the current child would read: defers it, and finds the winner among the others.
    #[inline(never)]
    pub(super) fn defers_step(&mut self, current: usize) -> bool {
        let is_backward = self.direction == Direction::Backward;
        let NextBlock::Unread { key, is_behind } = self.children[current].next_block(is_backward) else { return false };
        if self.deferred.rows_missing() == 0 {
            self.children[current].allow_blocks(0);
            return false;
        }
        self.deferred.push_step(current, &key, is_behind || is_backward);
        self.order_children();
        true
    }
}
