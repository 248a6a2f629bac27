//! What a merge has below it: sorted entries with the range tombstones of their source.
//!
//! A merge asks such a source for more than its entries: what its tombstones cover, what it would have to read for a placement and
//! what is known ahead of that ([`placing`](super::placing), `deferred.rs`, `limit.rs`), and to pause instead of reading (`pausing.rs`).

use super::placing::{ChildRead, Place};
use super::range_tombstones::RangeTombstoneSource;
use ferrock_base::Result;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::SequenceNumber;
use ferrock_table::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanOutlook};
use ferrock_vfs::{AsyncRead, ReadBuffer};
use std::sync::Arc;

/// Entries of a memtable that are counted before a read, where more need not be told apart; going back each is a search.
const MAX_COUNTED_ROWS: u64 = 256;
const MAX_COUNTED_BACKWARD: u64 = 32;

/// A source that has range tombstones besides its entries.
pub trait TombstoneIterator: InternalIterator {
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

    /// As [`PlannedIterator::plan`](super::PlannedIterator::plan); a source that reads nothing is just placed.
    fn plan(&mut self, place: Place<'_>) -> Option<ChildRead>
    where
        Self: Sized,
    {
        place.apply(self);
        None
    }

    /// What is known of the entries ahead after the source was placed, or planned a read instead.
    fn outlook(&self, place: Place<'_>, planned: Option<&ChildRead>) -> ScanOutlook {
        let _ = (place, planned);
        ScanOutlook::default()
    }

    /// Takes what a planned read brought.
    fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        let _ = (read, bytes);
    }

    /// Changes what the source is limited to. It is not placed afterwards.
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        let _ = bounds;
    }

    /// As [`PlannedIterator::set_pausing`](super::PlannedIterator::set_pausing); a source that reads nothing never pauses.
    fn set_pausing(&mut self, pauses: bool) {
        let _ = pauses;
    }

    /// What the paused source lacks; `None` also when it has to read for itself.
    fn lack(&self) -> Option<ChildRead> {
        None
    }

    /// The read of [`lack`](Self::lack), where it is on its way already.
    fn take_started(&mut self) -> Option<AsyncRead> {
        None
    }

    /// Goes on after a pause.
    fn resume(&mut self) {}

    /// As [`PlannedIterator::next_block`](super::PlannedIterator::next_block).
    fn next_block(&mut self, is_backward: bool) -> NextBlock {
        let _ = is_backward;
        NextBlock::InMemory
    }

    /// As [`PlannedIterator::rows_ahead`](super::PlannedIterator::rows_ahead).
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        let _ = reach;
        if self.valid() { RowsAhead::Unknown } else { RowsAhead::AtMostInAll(0) }
    }

    /// As [`PlannedIterator::sure_blocks`](super::PlannedIterator::sure_blocks).
    fn sure_blocks(&self, missing: u64, is_needed: bool, others: &mut dyn FnMut(&[u8]) -> Option<u64>) -> u64 {
        let _ = (missing, others);
        u64::from(is_needed)
    }

    /// As [`PlannedIterator::allow_blocks`](super::PlannedIterator::allow_blocks).
    fn allow_blocks(&mut self, blocks: u64) {
        let _ = blocks;
    }

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

impl<I: InternalIterator + Clone> SourceIterator<I> {
    /// As [`rows_ahead`](TombstoneIterator::rows_ahead), of a source for which a step costs next to nothing: counted.
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
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        if !self.valid() {
            RowsAhead::AtMostInAll(0)
        } else if reach.is_before(self.order.user(), user_key(self.key())) {
            RowsAhead::AtMost(0)
        } else {
            RowsAhead::Unknown
        }
    }
    fn may_delete_in(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        self.tombstones.as_ref().is_some_and(|source| source.overlaps(from, to))
    }
}
