//! The sources of a merge: sorted entries with the range tombstones of their source.
//!
//! Besides entries, a source tells a merge what its tombstones cover, and how to plan its reads ([`ScanMachine`]).

use super::range_tombstones::RangeTombstoneSource;
use ferrock_base::Result;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::SequenceNumber;
use ferrock_table::{RowReach, RowsAhead, ScanBounds, ScanMachine};
use std::sync::Arc;

/// Entries of a memtable that are counted before a read, where more need not be told apart; going back each is a
/// search.
const MAX_COUNTED_ROWS: u64 = 256;
const MAX_COUNTED_BACKWARD: u64 = 32;

/// A source that has range tombstones besides its entries.
pub trait TombstoneIterator: ScanMachine {
    /// False when no tombstone is known. May become true as the iterator moves.
    fn has_range_tombstones(&self) -> bool;

    /// The newest tombstone over the internal key `key` that a reader at `upper` sees.
    ///
    /// `key` lies between the last seek target and the iterator's position, or at either.
    fn covering_sequence(&self, key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber>;

    /// Writes the internal key behind the range without gap that is deleted from `key` on; false when `key` is not.
    fn covered_until(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool;

    /// Writes the internal key at which the range without gap that is deleted up to `key` starts.
    fn covered_from(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool;

    /// True when the source may have range tombstones from one user key to another, both included.
    fn may_delete_in(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        let _ = (from, to);
        self.has_range_tombstones()
    }
}

/// An iterator over a memtable or a single table together with its range tombstones.
#[derive(Clone, Debug)]
pub struct SourceIterator<I> {
    iter: I,
    order: InternalComparator,
    tombstones: Option<RangeTombstoneSource>,
}

impl<I> SourceIterator<I> {
    /// Entries and tombstones of one source. No tombstones are `None` or an empty source.
    pub fn new(iter: I, order: InternalComparator, tombstones: Option<RangeTombstoneSource>) -> Self {
        let tombstones = tombstones.filter(|source| !source.fragments().is_empty());
        Self { iter, order, tombstones }
    }
}

impl<I: ScanMachine> SourceIterator<I> {
    /// As [`rest`](ScanMachine::rest), for a source that reads.
    pub(super) fn rest_source(&mut self) {
        self.iter.rest();
    }
}

impl<I: InternalIterator + Clone> SourceIterator<I> {
    /// As [`rows_ahead`](TombstoneIterator::rows_ahead), by counting entries, for a source with cheap steps.
    pub(super) fn count_rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        let mut at = self.iter.clone();
        let most = if reach.is_backward { MAX_COUNTED_BACKWARD } else { MAX_COUNTED_ROWS };
        for rows in 0..reach.most.min(most) {
            if !at.valid() {
                return RowsAhead::AtMostInAll(rows);
            }
            if reach.is_before(self.order.user(), user_key(at.key())) {
                return RowsAhead::AtMost(rows);
            }
            if reach.is_backward {
                at.prev();
            } else {
                at.next();
            }
        }
        if reach.most <= most { RowsAhead::AtMost(reach.most) } else { RowsAhead::Unknown }
    }
}

impl<I: InternalIterator> InternalIterator for SourceIterator<I> {
    #[inline]
    fn valid(&self) -> bool {
        self.iter.valid()
    }
    #[inline]
    fn key(&self) -> &[u8] {
        self.iter.key()
    }
    #[inline]
    fn value(&self) -> &[u8] {
        self.iter.value()
    }
    fn seek_to_first(&mut self) {
        self.iter.seek_to_first();
    }
    fn seek_to_last(&mut self) {
        self.iter.seek_to_last();
    }
    fn seek(&mut self, target: &[u8]) {
        self.iter.seek(target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.iter.seek_for_prev(target);
    }
    #[inline]
    fn next(&mut self) {
        self.iter.next();
    }
    #[inline]
    fn step_within_block(&mut self) -> &[u8] {
        self.iter.step_within_block()
    }
    #[inline]
    fn prev(&mut self) {
        self.iter.prev();
    }
    fn status(&self) -> Result<()> {
        self.iter.status()
    }
}

impl<I: crate::read::pinned::PinValue> crate::read::pinned::PinValue for SourceIterator<I> {
    type Pin = I::Pin;
    fn value_pin(&self) -> Option<I::Pin> {
        self.iter.value_pin()
    }
}

impl<I: InternalIterator> ScanMachine for SourceIterator<I> {
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        self.iter.limit_to_prefix(bounds.prefix());
    }
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        if !self.valid() {
            RowsAhead::AtMostInAll(0)
        } else if reach.is_before(self.order.user(), user_key(self.key())) {
            RowsAhead::AtMost(0)
        } else {
            RowsAhead::Unknown
        }
    }
}

impl<I: InternalIterator> TombstoneIterator for SourceIterator<I> {
    #[inline]
    fn has_range_tombstones(&self) -> bool {
        self.tombstones.is_some()
    }
    #[inline]
    fn covering_sequence(&self, key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        self.tombstones.as_ref()?.covering_sequence(&self.order, key, upper)
    }
    fn covered_until(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool {
        self.tombstones.as_ref().is_some_and(|source| source.covered_until(&self.order, key, upper, target))
    }
    fn covered_from(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool {
        self.tombstones.as_ref().is_some_and(|source| source.covered_from(&self.order, key, upper, target))
    }
    fn may_delete_in(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        self.tombstones.as_ref().is_some_and(|source| source.overlaps(from, to))
    }
}
