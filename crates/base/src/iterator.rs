//! The contract of every internal iterator: data block, table, level, memtable, merging.
//!
//! - Keys are internal keys in internal-key order; `key` and `value` stay valid until the iterator moves.
//! - A new iterator is not positioned: `valid()` is false.
//! - `seek` goes to the first entry `>= target`, `seek_for_prev` to the last entry `<= target`.
//! - `next` and `prev` may only be called while `valid()`; calling them otherwise does nothing.
//! - An error makes the iterator invalid and stays until the next seek; so `!valid()` means "at the end" only when
//!   `status()` is `Ok`.
//! - Bounds are enforced by the outermost (user) iterator; inner ones may use them to stop early but need not.
//!
//! Implementations are composed statically: enums of children, no virtual call per entry.

use crate::error::Result;
use crate::prefix::PrefixExtractor;

/// Moves over internal keys in both directions.
pub trait InternalIterator {
    /// True when positioned on an entry.
    fn valid(&self) -> bool;
    /// The internal key. Empty when not [`valid`](Self::valid).
    fn key(&self) -> &[u8];
    /// The value. Empty when not [`valid`](Self::valid).
    fn value(&self) -> &[u8];
    /// Goes to the first entry.
    fn seek_to_first(&mut self);
    /// Goes to the last entry.
    fn seek_to_last(&mut self);
    /// Goes to the first entry at or after `target` (an internal key).
    fn seek(&mut self, target: &[u8]);
    /// Goes to the last entry at or before `target` (an internal key).
    fn seek_for_prev(&mut self, target: &[u8]);
    /// Goes one entry forward.
    fn next(&mut self);
    /// Goes one entry forward where that is a step within what is in memory, and gives the key there: one call instead
    /// of three. Empty: [`next`](Self::next) has to be called, whether the iterator has moved or not.
    #[inline]
    fn step_within_block(&mut self) -> &[u8] {
        self.next();
        self.key()
    }
    /// Goes one entry back.
    fn prev(&mut self);
    /// The error that made the iterator invalid, if one did.
    ///
    /// # Errors
    /// The error that ended the iteration. It stays until the next seek; an iterator that merely reached its end
    /// returns `Ok`.
    fn status(&self) -> Result<()>;
    /// Tells the iterator, before it is placed, that only entries of this prefix, taken by this extractor, are wanted
    /// until the next call; it may leave out others. `None`: all are.
    fn limit_to_prefix(&mut self, prefix: Option<(&PrefixExtractor, &[u8])>) {
        let _ = prefix;
    }
}

/// An iterator without entries, with or without an error.
#[derive(Clone, Debug, Default)]
pub struct EmptyIterator {
    error: Option<crate::error::Error>,
}

impl EmptyIterator {
    /// An iterator without entries that reports `error`.
    #[must_use]
    pub fn with_error(error: crate::error::Error) -> Self {
        Self { error: Some(error) }
    }
}

impl InternalIterator for EmptyIterator {
    fn valid(&self) -> bool {
        false
    }
    fn key(&self) -> &[u8] {
        &[]
    }
    fn value(&self) -> &[u8] {
        &[]
    }
    fn seek_to_first(&mut self) {}
    fn seek_to_last(&mut self) {}
    fn seek(&mut self, _target: &[u8]) {}
    fn seek_for_prev(&mut self, _target: &[u8]) {}
    fn next(&mut self) {}
    fn prev(&mut self) {}
    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}

/// An iterator over entries held in memory; used by tests and small sorted runs.
#[derive(Clone, Debug)]
pub struct VecIterator {
    comparator: crate::comparator::InternalComparator,
    entries: std::sync::Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    position: usize,
}

impl VecIterator {
    /// Iterates over `entries`, which must be sorted by `comparator`.
    #[must_use]
    pub fn new(
        comparator: crate::comparator::InternalComparator,
        entries: std::sync::Arc<Vec<(Vec<u8>, Vec<u8>)>>,
    ) -> Self {
        let position = entries.len();
        Self { comparator, entries, position }
    }

    fn lower_bound(&self, target: &[u8]) -> usize {
        self.entries.partition_point(|(key, _)| self.comparator.compare(key, target).is_lt())
    }
}

impl InternalIterator for VecIterator {
    fn valid(&self) -> bool {
        self.position < self.entries.len()
    }
    fn key(&self) -> &[u8] {
        self.entries.get(self.position).map_or(&[], |(key, _)| key)
    }
    fn value(&self) -> &[u8] {
        self.entries.get(self.position).map_or(&[], |(_, value)| value)
    }
    fn seek_to_first(&mut self) {
        self.position = 0;
    }
    fn seek_to_last(&mut self) {
        self.position = self.entries.len().checked_sub(1).unwrap_or(self.entries.len());
    }
    fn seek(&mut self, target: &[u8]) {
        self.position = self.lower_bound(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        let after = self.entries.partition_point(|(key, _)| self.comparator.compare(key, target).is_le());
        self.position = after.checked_sub(1).unwrap_or(self.entries.len());
    }
    fn next(&mut self) {
        if self.valid() {
            self.position += 1;
        }
    }
    fn prev(&mut self) {
        if self.valid() {
            self.position = self.position.checked_sub(1).unwrap_or(self.entries.len());
        }
    }
    fn status(&self) -> Result<()> {
        Ok(())
    }
}
