//! The kinds of children a merging iterator has, as one type without virtual calls.

use super::level::{LevelIterator, LevelSource};
use super::source::{SourceIterator, TombstoneIterator};
use crate::read::pinned::PinValue;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Result, SeekTarget};
use ferrock_statistics::{PerfMetric, PerfRecorder, PerfTimer};
use ferrock_table::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate, ScanMachine, ScanRead};
use ferrock_vfs::{PendingRead, ReadBuffer};
use std::sync::Arc;

/// A memtable, a table, or a sorted run of tables.
#[derive(Debug)]
pub enum ChildIterator<M, L: LevelSource> {
    /// A memtable with its range tombstones.
    MemTable(SourceIterator<M>),
    /// A single table with its range tombstones.
    Table(SourceIterator<L::Iter>),
    /// Tables that do not overlap: a level, or a single table that is opened only when it is needed.
    Level(LevelIterator<L>),
}

/// Seeks in a memtable, and counts that. Apart, so that the other kinds are reached by a jump.
#[inline(never)]
fn place_memtable<M: InternalIterator>(memtable: &mut SourceIterator<M>, target: SeekTarget<'_>, may_read: bool) {
    if PerfRecorder::is_used() {
        return count_memtable_seek(|| memtable.place(target, may_read));
    }
    memtable.place(target, may_read);
}

#[cold]
#[inline(never)]
fn count_memtable_seek(seek: impl FnOnce()) {
    if let Some(perf) = PerfRecorder::of_thread() {
        perf.add(PerfMetric::SeekOnMemtableCount, 1);
    }
    PerfTimer::time(PerfMetric::SeekOnMemtableTime, seek);
}

macro_rules! each {
    ($self:expr, $child:ident => $call:expr) => {
        match $self {
            ChildIterator::MemTable($child) => $call,
            ChildIterator::Table($child) => $call,
            ChildIterator::Level($child) => $call,
        }
    };
}

impl<M: InternalIterator, L: LevelSource> InternalIterator for ChildIterator<M, L> {
    #[inline]
    fn valid(&self) -> bool {
        each!(self, child => child.valid())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        each!(self, child => child.key())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        each!(self, child => child.value())
    }
    fn seek_to_first(&mut self) {
        each!(self, child => child.seek_to_first());
    }
    fn seek_to_last(&mut self) {
        each!(self, child => child.seek_to_last());
    }
    fn seek(&mut self, target: &[u8]) {
        each!(self, child => child.seek(target));
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        each!(self, child => child.seek_for_prev(target));
    }
    // A call for each entry of a scan costs 2 % of it.
    #[inline(always)]
    fn next(&mut self) {
        each!(self, child => child.next());
    }
    #[inline(always)]
    fn step_within_block(&mut self) -> &[u8] {
        each!(self, child => child.step_within_block())
    }
    #[inline]
    fn prev(&mut self) {
        each!(self, child => child.prev());
    }
    fn status(&self) -> Result<()> {
        each!(self, child => child.status())
    }
}

impl<M: InternalIterator + Clone, L: LevelSource> ScanMachine for ChildIterator<M, L> {
    #[inline]
    fn place(&mut self, target: SeekTarget<'_>, may_read: bool) {
        match self {
            Self::MemTable(child) => place_memtable(child, target, may_read),
            Self::Table(child) => child.place(target, may_read),
            Self::Level(child) => child.place(target, may_read),
        }
    }
    #[inline]
    fn is_paused(&self) -> bool {
        each!(self, child => child.is_paused())
    }
    fn estimate(&self, place: SeekTarget<'_>, planned: Option<&ScanRead>) -> ScanEstimate {
        each!(self, child => child.estimate(place, planned))
    }
    fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        each!(self, child => child.supply(read, bytes));
    }
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        each!(self, child => child.set_bounds(bounds));
    }
    fn set_pausing(&mut self, pauses: bool) {
        each!(self, child => child.set_pausing(pauses));
    }
    fn pending_read(&self) -> Option<ScanRead> {
        each!(self, child => child.pending_read())
    }
    fn take_started(&mut self) -> Option<PendingRead> {
        each!(self, child => child.take_started())
    }
    fn resume(&mut self, may_read: bool) {
        each!(self, child => child.resume(may_read));
    }
    fn next_block(&mut self, is_backward: bool) -> NextBlock {
        each!(self, child => child.next_block(is_backward))
    }
    #[inline(always)]
    fn rest(&mut self) {
        match self {
            Self::MemTable(_) => {}
            Self::Table(child) => child.rest_source(),
            Self::Level(child) => child.rest(),
        }
    }
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        match self {
            Self::MemTable(child) => child.count_rows_ahead(reach),
            Self::Table(child) => child.rows_ahead(reach),
            Self::Level(child) => child.rows_ahead(reach),
        }
    }
    fn guaranteed_blocks(&self, missing: u64, is_needed: bool, others: &mut dyn FnMut(&[u8]) -> Option<u64>) -> u64 {
        each!(self, child => child.guaranteed_blocks(missing, is_needed, others))
    }
    fn allow_blocks(&mut self, blocks: u64) {
        each!(self, child => child.allow_blocks(blocks));
    }
}

impl<M: InternalIterator + Clone, L: LevelSource> TombstoneIterator for ChildIterator<M, L> {
    #[inline]
    fn has_range_tombstones(&self) -> bool {
        each!(self, child => child.has_range_tombstones())
    }
    fn covering_sequence(&self, key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        each!(self, child => child.covering_sequence(key, upper))
    }
    fn covered_until(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool {
        each!(self, child => child.covered_until(key, upper, target))
    }
    fn covered_from(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool {
        each!(self, child => child.covered_from(key, upper, target))
    }
    fn may_delete_in(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        each!(self, child => child.may_delete_in(from, to))
    }
}

impl<M, L: LevelSource> PinValue for ChildIterator<M, L>
where
    L::Iter: PinValue,
{
    type Pin = <L::Iter as PinValue>::Pin;

    fn value_pin(&self) -> Option<Self::Pin> {
        match self {
            // Pinning a memtable would contend on a shared count between readers; its values are copied.
            Self::MemTable(_) => None,
            Self::Table(child) => child.value_pin(),
            Self::Level(child) => child.current_file()?.value_pin(),
        }
    }
}
