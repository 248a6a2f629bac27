//! Placing many children at once, so that their reads go out together.
//!
//! ```text
//! round 1  every child is placed using blocks in memory; the others plan a read            index partitions, one batch
//! round 2  children with a planned read continue                                           data, one batch
//! last     a single child with a pending read makes it itself
//! ```
//!
//! Two rounds of reads place an iterator over any number of tables when nothing is cached, one when the indexes are. A
//! child that needs no read is placed in the first round and costs nothing more. The rounds, and which reads are left
//! out of them, are in `deferred.rs`.

use ferrock_base::Result;
use ferrock_base::iterator::InternalIterator;
use ferrock_table::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate};
use ferrock_vfs::{AsyncRead, FileSystem, RandomAccessFile, RangeRead, ReadBuffer, ReadClass, ReadContext};
use std::sync::Arc;

/// After so many rounds children read for themselves: blocks without entries require one more round, damaged blocks any
/// number.
pub(super) const MAX_ROUNDS: usize = 4;

/// The target of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTarget<'a> {
    /// To the first entry.
    First,
    /// To the last entry.
    Last,
    /// To the first entry at or after an internal key.
    AtOrAfter(&'a [u8]),
    /// To the last entry at or before an internal key.
    AtOrBefore(&'a [u8]),
}

impl<'a> SeekTarget<'a> {
    /// The internal key of the target.
    #[must_use]
    pub fn target(self) -> Option<&'a [u8]> {
        match self {
            Self::First | Self::Last => None,
            Self::AtOrAfter(target) | Self::AtOrBefore(target) => Some(target),
        }
    }

    /// True for a backward scan.
    #[must_use]
    pub fn is_backward(self) -> bool {
        matches!(self, Self::Last | Self::AtOrBefore(_))
    }

    /// Positions `iterator` at the target.
    #[inline]
    pub fn apply<I: InternalIterator>(self, iterator: &mut I) {
        match self {
            Self::First => iterator.seek_to_first(),
            Self::Last => iterator.seek_to_last(),
            Self::AtOrAfter(target) => iterator.seek(target),
            Self::AtOrBefore(target) => iterator.seek_for_prev(target),
        }
    }
}

/// A [`SeekTarget`] that borrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnedSeekTarget {
    target: Option<Vec<u8>>,
    is_backward: bool,
}

impl OwnedSeekTarget {
    pub(super) fn new(place: SeekTarget<'_>) -> Self {
        let target = place.target().map(<[u8]>::to_vec);
        Self { target, is_backward: place.is_backward() }
    }

    pub(super) fn place(&self) -> SeekTarget<'_> {
        match (&self.target, self.is_backward) {
            (None, false) => SeekTarget::First,
            (None, true) => SeekTarget::Last,
            (Some(target), false) => SeekTarget::AtOrAfter(target),
            (Some(target), true) => SeekTarget::AtOrBefore(target),
        }
    }
}

/// The read that a child needs before it can be placed.
#[derive(Clone, Debug)]
pub struct ChildRead {
    /// The range, as the child planned it.
    pub read: PlannedRead,
    /// The file to read.
    pub file: Arc<dyn RandomAccessFile>,
    /// The file system that opened the file.
    pub file_system: Arc<dyn FileSystem>,
    /// The context of the read.
    pub context: ReadContext,
}

impl ChildRead {
    /// True for a read of index or filter, after which more reads follow before the child is placed.
    pub(super) fn is_of_metadata(&self) -> bool {
        self.read.class() != ReadClass::Data
    }
}

/// An iterator whose reads a driver can make, alone or together with those of others: it plans the read of a placement
/// (`deferred.rs`), estimates the rows ahead (`limit.rs`), and pauses instead of reading (`pausing.rs`). The default
/// methods are for iterators that never read: those are placed at once, and never pause.
pub trait PlannedIterator: InternalIterator {
    /// Places the iterator, or returns the read that it needs for that and leaves it unplaced.
    fn plan(&mut self, place: SeekTarget<'_>) -> Option<ChildRead>
    where
        Self: Sized,
    {
        place.apply(self);
        None
    }

    /// The estimate of the entries ahead after the iterator was placed, or planned a read instead.
    fn estimate(&self, place: SeekTarget<'_>, planned: Option<&ChildRead>) -> ScanEstimate {
        let _ = (place, planned);
        ScanEstimate::default()
    }

    /// Takes the result of a planned read; then the iterator can be planned again.
    fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        let _ = (read, bytes);
    }

    /// Changes the bounds of the iterator. It is not placed afterwards.
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        let _ = bounds;
    }

    /// Switches pausing on or off. A pausing iterator pauses instead of reading: it is not valid, its status is
    /// `TryAgain`, and [`pending_read`](Self::pending_read) returns the read to make.
    fn set_pausing(&mut self, pauses: bool) {
        let _ = pauses;
    }

    /// The read that the paused iterator waits for; `None` also if it has to read for itself.
    fn pending_read(&self) -> Option<ChildRead> {
        None
    }

    /// The read of [`pending_read`](Self::pending_read), if it is already in flight.
    fn take_started(&mut self) -> Option<AsyncRead> {
        None
    }

    /// Resumes a paused iterator. It may pause again.
    fn resume(&mut self) {}

    /// The block that the next step in a direction needs.
    fn next_block(&mut self, is_backward: bool) -> NextBlock {
        let _ = is_backward;
        NextBlock::InMemory
    }

    /// The most rows between the iterator's position, placed or with a planned read, and a key.
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        let _ = reach;
        if self.valid() { RowsAhead::Unknown } else { RowsAhead::AtMostInAll(0) }
    }

    /// Number of blocks needed for certain for `missing` rows, from the next unread block on. `others` returns the most
    /// rows that other sources have up to a key. With `is_needed` the first block counts in any case.
    fn guaranteed_blocks(&self, missing: u64, is_needed: bool, others: &mut dyn FnMut(&[u8]) -> Option<u64>) -> u64 {
        let _ = (missing, others);
        u64::from(is_needed)
    }

    /// Limits the next read to so many blocks; 0: no limit.
    fn allow_blocks(&mut self, blocks: u64) {
        let _ = blocks;
    }

    /// Takes over the readahead state of another iterator, which reached the end of the file before.
    fn continue_from(&mut self, previous: &Self)
    where
        Self: Sized,
    {
        let _ = previous;
    }
}

/// Makes reads of several children as one batch.
pub(super) fn read_together(planned: &[(usize, ChildRead)]) -> Vec<Result<ReadBuffer>> {
    let mut reads: Vec<RangeRead<'_>> = planned
        .iter()
        .map(|(_, child)| {
            RangeRead::new(&*child.file, child.read.offset(), child.read.length()).of_class(child.read.class())
        })
        .collect();
    if let Some((_, first)) = planned.first() {
        first.file_system.read_ranges(&mut reads, &first.context);
    }
    reads.into_iter().map(|read| read.result).collect()
}
