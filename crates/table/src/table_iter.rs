//! An iterator over a table of any kind.
//!
//! A kind whose iterators never read plans nothing and never pauses.

#[cfg(any(test, feature = "test-kinds"))]
use crate::entries_table::EntriesIter;
use crate::plain::PlainTableIter;
use crate::reader::{BlockTableIter, NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate};
use crate::scan_machine::{ScanMachine, ScanRead};
use crate::stored_blocks::StoredInput;
use crate::value::ValuePin;
use ferrock_base::{InternalIterator, Result, SeekTarget};
use ferrock_vfs::{PendingRead, ReadBuffer};
use std::sync::Arc;

/// Moves over the point entries of a table, in both directions. Range tombstones are not among them.
///
/// Each kind has memory of its own: an iterator over a level is moved a dozen times until it is where it stays, and two
/// kilobytes of it were this.
#[derive(Debug)]
pub enum TableIter {
    /// Over a block-based table.
    Block(Box<BlockTableIter>),
    /// Over a plain table.
    Plain(Box<PlainTableIter>),
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

    /// Keeps the blocks that are read from now on for a builder, where it may store them as this table does.
    pub fn keep_stored(&mut self, input: &StoredInput) {
        of_kind!(self, iter => iter.keep_stored(input), ());
    }
}

impl ScanMachine for TableIter {
    #[inline]
    fn place(&mut self, target: SeekTarget<'_>, may_read: bool) {
        match self {
            Self::Block(iter) => iter.place(target, may_read),
            Self::Plain(iter) => target.apply(&mut **iter),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(iter) => target.apply(iter),
        }
    }

    #[inline]
    fn is_paused(&self) -> bool {
        of_kind!(self, iter => iter.is_paused(), false)
    }

    fn resume(&mut self, may_read: bool) {
        of_kind!(self, iter => iter.resume(may_read), ());
    }

    fn estimate(&self, _: SeekTarget<'_>, planned: Option<&ScanRead>) -> ScanEstimate {
        let planned = planned.map(|planned| &planned.read);
        of_kind!(self, iter => iter.position().estimate(planned), ScanEstimate::default())
    }

    fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        of_kind!(self, iter => iter.supply(read, bytes), drop(bytes));
    }

    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        of_kind!(self, iter => iter.set_bounds(Arc::clone(bounds)), ());
    }

    fn set_pausing(&mut self, pauses: bool) {
        of_kind!(self, iter => iter.set_pausing(pauses), ());
    }

    fn pending_read(&self) -> Option<ScanRead> {
        of_kind!(self, iter => iter.pending_read(), None)
    }

    fn take_started(&mut self) -> Option<PendingRead> {
        of_kind!(self, iter => iter.take_started(), None)
    }

    fn next_block(&mut self, is_backward: bool) -> NextBlock {
        of_kind!(self, iter => iter.next_block(is_backward), NextBlock::InMemory)
    }

    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        of_kind!(self, iter => iter.position().rows_ahead(reach), RowsAhead::Unknown)
    }

    fn guaranteed_blocks(&self, missing: u64, is_needed: bool, others: &mut dyn FnMut(&[u8]) -> Option<u64>) -> u64 {
        of_kind!(self, iter => iter.position().guaranteed_blocks(missing, is_needed, others), u64::from(is_needed))
    }

    fn allow_blocks(&mut self, blocks: u64) {
        of_kind!(self, iter => iter.allow_blocks(blocks), ());
    }

    fn rest(&mut self) {
        of_kind!(self, iter => iter.rest(), ());
    }

    fn continue_from(&mut self, previous: &Self) {
        if let (Self::Block(iter), Self::Block(previous)) = (self, previous) {
            iter.continue_readahead(previous);
        }
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
    fn step_within_block(&mut self) -> &[u8] {
        of_each!(self, iter => iter.step_within_block())
    }

    #[inline]
    fn prev(&mut self) {
        of_each!(self, iter => iter.prev());
    }

    fn status(&self) -> Result<()> {
        of_each!(self, iter => iter.status())
    }
}
