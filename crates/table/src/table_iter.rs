//! An iterator over a table of any kind.
//!
//! A kind whose iterators never read plans nothing and never pauses.

#[cfg(any(test, feature = "test-kinds"))]
use crate::entries_table::EntriesIter;
use crate::plain::PlainTableIter;
use crate::reader::{BlockTableIter, NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate};
use crate::value::ValuePin;
use ferrock_base::{InternalIterator, Result, SeekTarget};
use ferrock_vfs::{FileSystem, PendingRead, RandomAccessFile, ReadBuffer, ReadContext};
use std::sync::Arc;

/// Moves over the point entries of a table, in both directions. Range tombstones are not among them.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "most iterators are of the large one")]
pub enum TableIter {
    /// Over a block-based table.
    Block(BlockTableIter),
    /// Over a plain table.
    Plain(PlainTableIter),
    /// Over a table of tests.
    #[cfg(any(test, feature = "test-kinds"))]
    Entries(EntriesIter),
}

/// For every kind: `$then` over blocks, `$other` over entries in memory.
macro_rules! of_kind {
    ($iter:expr, $inner:ident => $then:expr, $other:expr) => {
        match $iter {
            TableIter::Block($inner) => $then,
            TableIter::Plain(_) => $other,
            #[cfg(any(test, feature = "test-kinds"))]
            TableIter::Entries(_) => $other,
        }
    };
}

/// The same expression for every kind.
macro_rules! of_each {
    ($iter:expr, $inner:ident => $then:expr) => {
        match $iter {
            TableIter::Block($inner) => $then,
            TableIter::Plain($inner) => $then,
            #[cfg(any(test, feature = "test-kinds"))]
            TableIter::Entries($inner) => $then,
        }
    };
}

impl TableIter {
    /// Keeps the current value readable when the iterator moves on. `None` when not valid.
    #[must_use]
    pub fn value_pin(&self) -> Option<ValuePin> {
        match self {
            Self::Block(iter) => iter.value_pin().map(ValuePin::Block),
            Self::Plain(iter) => iter.value_pin().map(ValuePin::Plain),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(iter) => iter.value_pin().map(ValuePin::Entries),
        }
    }

    /// Gives the iterator other bounds. It is not positioned afterwards.
    pub fn set_bounds(&mut self, bounds: Arc<ScanBounds>) {
        of_kind!(self, iter => iter.set_bounds(bounds), drop(bounds));
    }

    /// Goes on where an iterator came to the end of the file before: see
    /// [`BlockTableIter::continue_readahead`].
    pub fn continue_readahead(&mut self, previous: &Self) {
        if let (Self::Block(iter), Self::Block(previous)) = (self, previous) {
            iter.continue_readahead(previous);
        }
    }

    /// Goes to a target without reading: see [`BlockTableIter::place`].
    #[inline]
    pub fn place(&mut self, target: SeekTarget<'_>) {
        match self {
            Self::Block(iter) => iter.place(target),
            Self::Plain(iter) => target.apply(iter),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(iter) => target.apply(iter),
        }
    }

    /// True when the scan waits to be resumed.
    #[inline]
    #[must_use]
    pub fn is_paused(&self) -> bool {
        of_kind!(self, iter => iter.is_paused(), false)
    }

    /// As [`resume`](Self::resume), without reading.
    pub fn advance(&mut self) {
        of_kind!(self, iter => iter.advance(), ());
    }

    /// The estimate after the iterator was placed, or planned a read instead (`planned`).
    #[must_use]
    pub fn estimate(&self, planned: Option<&PlannedRead>) -> ScanEstimate {
        of_kind!(self, iter => iter.estimate(planned), ScanEstimate::default())
    }

    /// Takes the result of a planned read.
    pub fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        of_kind!(self, iter => iter.supply(read, bytes), drop(bytes));
    }

    /// How planned reads are to be made.
    #[must_use]
    pub fn read_context(&self) -> ReadContext {
        of_kind!(self, iter => iter.read_context(), ReadContext::default())
    }

    /// The file that planned reads are of.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        of_each!(self, iter => iter.file())
    }

    /// The file system that opened the file.
    #[must_use]
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        of_each!(self, iter => iter.file_system())
    }

    /// Switches pausing on or off. A pausing scan pauses instead of reading.
    pub fn set_pausing(&mut self, pauses: bool) {
        of_kind!(self, iter => iter.set_pausing(pauses), ());
    }

    /// The read that a paused scan waits for; see [`BlockTableIter::pending_read`].
    #[must_use]
    pub fn pending_read(&self) -> Option<&PlannedRead> {
        of_kind!(self, iter => iter.pending_read(), None)
    }

    /// The read of [`pending_read`](Self::pending_read), if it is already in flight.
    pub fn take_started(&mut self) -> Option<PendingRead> {
        of_kind!(self, iter => iter.take_started(), None)
    }

    /// Resumes a paused scan. It may pause again.
    pub fn resume(&mut self) {
        of_kind!(self, iter => iter.resume(), ());
    }

    /// What the next step in a direction needs. To be called before the step.
    pub fn next_block(&mut self, is_backward: bool) -> NextBlock {
        of_kind!(self, iter => iter.next_block(is_backward), NextBlock::InMemory)
    }

    /// Number of blocks that the scan needs for certain: see [`BlockTableIter::guaranteed_blocks`].
    pub fn guaranteed_blocks(
        &self,
        missing: u64,
        is_needed: bool,
        others: &mut dyn FnMut(&[u8]) -> Option<u64>,
    ) -> u64 {
        of_kind!(self, iter => iter.guaranteed_blocks(missing, is_needed, others), u64::from(is_needed))
    }

    /// Limits the next read to so many blocks, less those in memory; 0: the limit was passed.
    pub fn allow_blocks(&mut self, blocks: u64) {
        of_kind!(self, iter => iter.allow_blocks(blocks), ());
    }

    /// The most rows between the scan's position, placed or with a planned read, and a key.
    #[must_use]
    pub fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        of_kind!(self, iter => iter.rows_ahead(reach), RowsAhead::Unknown)
    }
}

impl InternalIterator for TableIter {
    #[inline]
    fn valid(&self) -> bool {
        of_each!(self, iter => iter.valid())
    }

    #[inline]
    fn key(&self) -> &[u8] {
        of_each!(self, iter => iter.key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        of_each!(self, iter => iter.value())
    }

    fn seek_to_first(&mut self) {
        of_each!(self, iter => iter.seek_to_first());
    }

    fn seek_to_last(&mut self) {
        of_each!(self, iter => iter.seek_to_last());
    }

    #[inline]
    fn seek(&mut self, target: &[u8]) {
        of_each!(self, iter => iter.seek(target));
    }

    #[inline]
    fn seek_for_prev(&mut self, target: &[u8]) {
        of_each!(self, iter => iter.seek_for_prev(target));
    }

    #[inline]
    fn next(&mut self) {
        of_each!(self, iter => iter.next());
    }

    #[inline]
    fn prev(&mut self) {
        of_each!(self, iter => iter.prev());
    }

    fn status(&self) -> Result<()> {
        of_each!(self, iter => iter.status())
    }
}
