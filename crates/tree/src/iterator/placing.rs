//! Placing many children at once, so that their reads go out together.
//!
//! ```text
//! round 1   every child is placed as far as memory goes; those that lack something say what     index partitions, one batch
//! round 2   those that lacked something go on                                                    data, one batch
//! last      who is alone in lacking something reads for itself
//! ```
//!
//! Two rounds of reads place an iterator over any number of tables when nothing is cached, one when the indexes are. A child
//! that needs no read is placed in the first round and costs nothing more. The rounds, and which reads are left out of them, are
//! in `deferred.rs`.

use ferrock_base::Result;
use ferrock_base::iterator::InternalIterator;
use ferrock_table::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate};
use ferrock_vfs::{AsyncRead, FileSystem, RandomAccessFile, RangeRead, ReadBuffer, ReadClass, ReadContext};
use std::sync::Arc;

/// After so many rounds children read for themselves: blocks without entries make one more necessary, damage any number.
pub(super) const MAX_ROUNDS: usize = 4;

/// Where an iterator is to go.
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
    /// The internal key that it is given by.
    #[must_use]
    pub fn target(self) -> Option<&'a [u8]> {
        match self {
            Self::First | Self::Last => None,
            Self::AtOrAfter(target) | Self::AtOrBefore(target) => Some(target),
        }
    }

    /// True when the way from there goes back.
    #[must_use]
    pub fn is_backward(self) -> bool {
        matches!(self, Self::Last | Self::AtOrBefore(_))
    }

    /// Brings `iterator` there.
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

/// What a child has to read before it can be placed.
#[derive(Clone, Debug)]
pub struct ChildRead {
    /// What, as the child planned it.
    pub read: PlannedRead,
    /// Of which file.
    pub file: Arc<dyn RandomAccessFile>,
    /// Where the file was opened.
    pub file_system: Arc<dyn FileSystem>,
    /// How.
    pub context: ReadContext,
}

impl ChildRead {
    /// True when more reads will follow before the child is placed.
    pub(super) fn is_of_metadata(&self) -> bool {
        self.read.class() != ReadClass::Data
    }
}

/// An iterator whose reads can be made together with those of others, or by somebody else: it says what it would have to read for a
/// placement (`deferred.rs`), what is known ahead of that (`limit.rs`), and pauses instead of reading (`pausing.rs`). One that
/// reads nothing is just placed, and never pauses.
pub trait PlannedIterator: InternalIterator {
    /// Places the iterator; `Some` when it would have to read for that, and is not placed.
    fn plan(&mut self, place: SeekTarget<'_>) -> Option<ChildRead>
    where
        Self: Sized,
    {
        place.apply(self);
        None
    }

    /// What is known of the entries ahead after the iterator was placed, or planned a read instead.
    fn estimate(&self, place: SeekTarget<'_>, planned: Option<&ChildRead>) -> ScanEstimate {
        let _ = (place, planned);
        ScanEstimate::default()
    }

    /// Takes what a planned read brought; the iterator can be planned again.
    fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        let _ = (read, bytes);
    }

    /// Changes what the iterator is limited to. It is not placed afterwards.
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        let _ = bounds;
    }

    /// From now on the iterator pauses where it would have to read (or does not any more): it is not valid, its status is
    /// `TryAgain`, and [`pending_read`](Self::pending_read) says what is to be read.
    fn set_pausing(&mut self, pauses: bool) {
        let _ = pauses;
    }

    /// What the paused iterator lacks; `None` also when it has to read for itself.
    fn pending_read(&self) -> Option<ChildRead> {
        None
    }

    /// The read of [`pending_read`](Self::pending_read), where it is on its way already.
    fn take_started(&mut self) -> Option<AsyncRead> {
        None
    }

    /// Goes on after a pause. The iterator may be paused again then.
    fn resume(&mut self) {}

    /// What the next step in a direction needs.
    fn next_block(&mut self, is_backward: bool) -> NextBlock {
        let _ = is_backward;
        NextBlock::InMemory
    }

    /// How many rows there can be from where the iterator is, placed or with a planned read, to a key.
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        let _ = reach;
        if self.valid() { RowsAhead::Unknown } else { RowsAhead::AtMostInAll(0) }
    }

    /// Blocks that are sure to be needed for `missing` rows, from the one on that has to be read next, when `others` tells how
    /// many rows come from elsewhere up to a key. `is_needed`: the first one is.
    fn guaranteed_blocks(&self, missing: u64, is_needed: bool, others: &mut dyn FnMut(&[u8]) -> Option<u64>) -> u64 {
        let _ = (missing, others);
        u64::from(is_needed)
    }

    /// The next read is of so many blocks; 0: as if there were no limit.
    fn allow_blocks(&mut self, blocks: u64) {
        let _ = blocks;
    }

    /// Goes on reading ahead as another iterator did, which came to the end of the file before.
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
