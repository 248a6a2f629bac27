//! Iterators that rest between two uses: making one over six tables takes as long as placing it.
//!
//! ```text
//! new --> in use --> rest() --> holds no block, no bytes, no owner    kept by the engine beside what it reads
//!           ^------- wake() <--/    children, their open tables, buffers of keys
//! ```
//!
//! A resting iterator takes no memory but its own, with buffers of at most [`MAX_KEPT_BYTES`]. It may be used again as
//! long as memtables, version and options of reads are those that its children were made of; the engine compares them.

use super::{DbIterator, DbIteratorOptions, Passed, Pausing, Position};
use crate::iterator::source::TombstoneIterator;
use std::sync::Arc;

/// Largest buffer of a key that a resting iterator keeps.
const MAX_KEPT_BYTES: usize = 4 << 10;
/// With more children, an iterator does not rest.
const MAX_CHILDREN: usize = 32;

impl<I: TombstoneIterator, O: Default> DbIterator<I, O> {
    /// What keeps memtables and tables alive.
    pub fn owner(&self) -> &O {
        &self._owner
    }

    /// Ends the iteration and gives up its owner; `None` when the iterator is not one that may rest: it has failed, it
    /// pauses, or it has grown large.
    pub fn rest(&mut self) -> Option<O> {
        let bounds = [&self.options.lower_bound, &self.options.upper_bound];
        let keys = [&self.saved_key, &self.target].into_iter().chain(bounds.into_iter().flatten());
        let is_large = keys.map(Vec::capacity).any(|bytes| bytes > MAX_KEPT_BYTES)
            || self.inner.children.len() > MAX_CHILDREN
            || self.inner.scratch_capacity() > MAX_KEPT_BYTES;
        if is_large || self.pausing.is_on() || self.inner.pausing.is_on() || self.is_paused() || self.status().is_err()
        {
            return None;
        }
        self.passed.end_steps(self.options.memory.as_ref());
        self.passed = Passed::default();
        self.position = Position::Invalid;
        self.pausing = Pausing::default();
        self.prefix = None;
        self.saved_key.clear();
        self.target.clear();
        self.operands = Vec::new();
        if self.saved_value.capacity() > MAX_KEPT_BYTES {
            self.saved_value = Vec::new();
        }
        self.saved_value.clear();
        self.inner.rest();
        Some(std::mem::take(&mut self._owner))
    }

    /// Begins an iteration with a resting iterator, whose options are changed before. Its children must be what they
    /// would be if they were made now.
    #[inline]
    pub fn wake(&mut self, owner: O, change: impl FnOnce(&mut DbIteratorOptions)) {
        change(&mut self.options);
        self._owner = owner;
        let is_limited = self.options.limits_scans();
        if is_limited || self.has_limited_children {
            self.inner.set_bounds(&Arc::new(self.options.scan_bounds()));
        }
        (self.is_narrowed, self.has_limited_children) = (false, is_limited);
        self.limit_inner();
    }
}
