//! A family of a database as a batch will leave it.
//!
//! ```text
//! base    a b   d e f        batch   b+ c+ d- e~     b and c put, d deleted, e merged
//! shown   a b+ c+ e~ f
//! ```
//!
//! The place of the iterator is a key: where the base stands is behind it (before it, going back), and the place in the
//! batch is looked up by key at each step, so that the batch may change between steps.

use crate::batch::{Indexed, MergeBase, Resolved, WriteBatchWithIndex, merge};
use ferrock_base::{Comparator, Result};
use ferrock_engine::{ColumnFamily, Iter, ReadOptions};
use parking_lot::RwLock;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Iterates in both directions over a family as a batch will leave it.
///
/// What is added to the batch is seen when the iterator moves; the base is as of the moment at which it was made. An
/// error of the base ends the iteration.
pub struct IndexedIter {
    shared: Arc<RwLock<Indexed>>,
    family: ColumnFamily,
    base: Iter,
    /// Inclusive and exclusive.
    bounds: (Option<Vec<u8>>, Option<Vec<u8>>),
    is_forward: bool,
    /// The next key of the batch in the direction, which is within the bounds.
    in_batch: Option<Vec<u8>>,
    shown: Shown,
}

/// What the iterator stands on.
enum Shown {
    Nothing,
    /// What the base stands on.
    Base,
    /// The key `in_batch`, with this value.
    Batch(Vec<u8>),
    Failed(ferrock_base::Error),
}

impl fmt::Debug for IndexedIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexedIter").field("valid", &self.valid()).finish_non_exhaustive()
    }
}

/// What a key of the batch comes to, over the base.
enum Outcome {
    Hidden,
    Shown(Vec<u8>),
}

impl IndexedIter {
    pub(crate) fn new(
        batch: &WriteBatchWithIndex,
        family: &ColumnFamily,
        base: Iter,
        bounds: (Option<Vec<u8>>, Option<Vec<u8>>),
    ) -> Self {
        let shared = Arc::clone(&batch.shared);
        shared.write().index.know(family.id(), family.comparator());
        Self { shared, family: family.clone(), base, bounds, is_forward: true, in_batch: None, shown: Shown::Nothing }
    }

    fn order(&self) -> &Comparator {
        self.family.comparator()
    }

    /// True when positioned on a key. When false, [`status`](Self::status) tells whether the end or an error was met.
    #[must_use]
    pub fn valid(&self) -> bool {
        matches!(self.shown, Shown::Base | Shown::Batch(_))
    }

    /// The key; empty when not valid. Good until the iterator moves.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match (&self.shown, &self.in_batch) {
            (Shown::Base, _) => self.base.key(),
            (Shown::Batch(_), Some(key)) => key,
            _ => &[],
        }
    }

    /// The value; empty when not valid. Good until the iterator moves.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        match &self.shown {
            Shown::Base => self.base.value(),
            Shown::Batch(value) => value,
            _ => &[],
        }
    }

    /// The error that ended the iteration, if one did.
    ///
    /// # Errors
    /// Those of [`Iter::status`], `InvalidArgument` for operands of the batch without a merge operator, `Corruption`
    /// when that fails. A new seek clears it.
    pub fn status(&self) -> Result<()> {
        match &self.shown {
            Shown::Failed(error) => Err(error.clone()),
            _ => self.base.status(),
        }
    }

    /// Goes to the first key within the bounds.
    pub fn seek_to_first(&mut self) {
        self.base.seek_to_first();
        self.is_forward = true;
        self.batch_from(None, false);
        self.settle();
    }

    /// Goes to the last key within the bounds.
    pub fn seek_to_last(&mut self) {
        self.base.seek_to_last();
        self.is_forward = false;
        self.batch_to(None, false);
        self.settle();
    }

    /// Goes to the first key at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.base.seek(key);
        self.is_forward = true;
        self.batch_from(Some(key), false);
        self.settle();
    }

    /// Goes to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.base.seek_for_prev(key);
        self.is_forward = false;
        self.batch_to(Some(key), false);
        self.settle();
    }

    /// Goes to the next key. Does nothing when not valid.
    pub fn next(&mut self) {
        self.step(true);
    }

    /// Goes to the previous key. Does nothing when not valid.
    pub fn prev(&mut self) {
        self.step(false);
    }

    fn step(&mut self, is_forward: bool) {
        if !self.valid() {
            return;
        }
        let key = self.key().to_vec();
        if self.is_forward != is_forward {
            self.is_forward = is_forward;
            if is_forward { self.base.seek(&key) } else { self.base.seek_for_prev(&key) }
        }
        self.pass_in_base(&key);
        if is_forward {
            self.batch_from(Some(&key), true)
        } else {
            self.batch_to(Some(&key), true)
        }
        self.settle();
    }

    /// Moves the base on when it stands on a key.
    fn pass_in_base(&mut self, key: &[u8]) {
        if self.base.valid() && self.order().equal(self.base.key(), key) {
            if self.is_forward { self.base.next() } else { self.base.prev() }
        }
    }

    /// Finds the first key of the batch at `key` or, with `is_excluded`, behind it.
    fn batch_from(&mut self, key: Option<&[u8]>, is_excluded: bool) {
        let indexed = self.shared.read();
        let (lower, upper) = &self.bounds;
        let order = self.family.comparator();
        let (from, is_excluded) = match (key, lower) {
            (Some(key), Some(lower)) if order.compare(key, lower) == Ordering::Less => (Some(&lower[..]), false),
            (None, Some(lower)) => (Some(&lower[..]), false),
            _ => (key, is_excluded),
        };
        let found = indexed.index.key_from(self.family.id(), from, is_excluded);
        let is_within = |key: &&[u8]| upper.as_ref().is_none_or(|upper| order.compare(key, upper) == Ordering::Less);
        self.in_batch = found.filter(is_within).map(<[u8]>::to_vec);
    }

    /// Finds the last key of the batch at `key` or, with `is_excluded`, before it.
    fn batch_to(&mut self, key: Option<&[u8]>, is_excluded: bool) {
        let indexed = self.shared.read();
        let (lower, upper) = &self.bounds;
        let order = self.family.comparator();
        let (to, is_excluded) = match (key, upper) {
            (Some(key), Some(upper)) if order.compare(key, upper) != Ordering::Less => (Some(&upper[..]), true),
            (None, Some(upper)) => (Some(&upper[..]), true),
            _ => (key, is_excluded),
        };
        let found = indexed.index.key_to(self.family.id(), to, is_excluded);
        let is_within = |key: &&[u8]| lower.as_ref().is_none_or(|lower| order.compare(key, lower) != Ordering::Less);
        self.in_batch = found.filter(is_within).map(<[u8]>::to_vec);
    }

    /// Shows the nearer of base and batch, passing over what the batch deletes.
    fn settle(&mut self) {
        loop {
            if !self.base.valid()
                && let Err(error) = self.base.status()
            {
                self.shown = Shown::Failed(error);
                return;
            }
            let Some(key) = self.in_batch.clone() else {
                self.shown = if self.base.valid() { Shown::Base } else { Shown::Nothing };
                return;
            };
            let order = if self.base.valid() {
                let order = self.order().compare(&key, self.base.key());
                if self.is_forward { order } else { order.reverse() }
            } else {
                Ordering::Less
            };
            if order == Ordering::Greater {
                self.shown = Shown::Base;
                return;
            }
            let existing = (order == Ordering::Equal).then(|| self.base.value());
            match self.outcome(&key, existing) {
                Ok(Outcome::Shown(value)) => {
                    self.shown = Shown::Batch(value);
                    return;
                }
                Err(error) => {
                    self.shown = Shown::Failed(error);
                    return;
                }
                Ok(Outcome::Hidden) => {
                    self.pass_in_base(&key);
                    if self.is_forward { self.batch_from(Some(&key), true) } else { self.batch_to(Some(&key), true) }
                }
            }
        }
    }

    /// What the batch makes of a key whose value is `existing`.
    fn outcome(&self, key: &[u8], existing: Option<&[u8]>) -> Result<Outcome> {
        let indexed = self.shared.read();
        Ok(match indexed.resolve(self.family.id(), key) {
            Resolved::Absent => existing.map_or(Outcome::Hidden, |value| Outcome::Shown(value.to_vec())),
            Resolved::Deleted => Outcome::Hidden,
            Resolved::Value(value) => Outcome::Shown(value.to_vec()),
            Resolved::Merge(base, operands) => {
                let options = self.family.options();
                let existing = match base {
                    MergeBase::Database => existing,
                    MergeBase::Known(value) => value,
                };
                Outcome::Shown(merge(options.merge_operator.as_deref(), key, existing, &operands)?)
            }
        })
    }
}

impl WriteBatchWithIndex {
    /// An iterator over a family as the batch will leave it, not positioned yet. `base` is an iterator over the family,
    /// or a part of it.
    #[must_use]
    pub fn iter_with_base(&self, family: &ColumnFamily, base: Iter) -> IndexedIter {
        IndexedIter::new(self, family, base, (None, None))
    }

    /// As [`iter_with_base`](Self::iter_with_base), with the bounds of the options with which `base` was made: keys of
    /// the batch outside of them are not shown.
    #[must_use]
    pub fn iter_with_base_options(&self, family: &ColumnFamily, base: Iter, options: &ReadOptions) -> IndexedIter {
        IndexedIter::new(self, family, base, (options.lower_bound.clone(), options.upper_bound.clone()))
    }
}
