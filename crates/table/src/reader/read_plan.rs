//! What a scan has planned to read instead of reading it: see [`pausing`](super::pausing).

use super::direction::Direction;
use super::limit_progress::HintProgress;
use super::near_partitions::PartitionRun;
use super::planned_read::PlannedRead;
use ferrock_base::Error;
use std::ops::Range;

/// A window that was sized, and how much of a limit hint it leaves.
#[derive(Debug)]
pub(super) struct PlannedWindow {
    pub(super) block: Range<u64>,
    pub(super) direction: Direction,
    pub(super) wanted: Range<u64>,
    pub(super) hint: HintProgress,
}

/// The planning of a scan's reads.
#[derive(Debug, Default)]
pub(super) struct ReadPlan {
    /// Reads are planned, not made.
    is_planning: bool,
    read: Option<PlannedRead>,
    /// The window of the data read that was planned last: it is not sized anew when it comes to be read.
    window: Option<PlannedWindow>,
    /// What planning ended at.
    awaits: Option<Awaited>,
    /// A planned read that took too long.
    out_of_time: Option<Error>,
}

/// What the planning of a scan ended at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    /// A partition of the index.
    Index,
    /// The data block that the index is at.
    Block,
}

impl ReadPlan {
    /// True when reads are planned, not made.
    #[inline]
    pub(super) fn is_planning(&self) -> bool {
        self.is_planning
    }

    /// Lets reads be planned from now on, or made again.
    #[inline]
    pub(super) fn set_planning(&mut self, is_planning: bool) {
        self.is_planning = is_planning;
    }

    /// Records that the scan is placed anew, that its index moved, or that the block that the index is at was found:
    /// it waits for nothing.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        self.awaits = None;
    }

    /// Forgets the planned read.
    pub(super) fn forget(&mut self) {
        (self.read, self.out_of_time) = (None, None);
    }

    /// The planned read.
    #[inline]
    pub(super) fn read(&self) -> Option<&PlannedRead> {
        self.read.as_ref()
    }

    /// Plans a read, whatever it is of.
    pub(super) fn plan(&mut self, read: PlannedRead) {
        self.read = Some(read);
    }

    /// Plans the read of partitions that the index needs to move.
    pub(super) fn plan_index(&mut self, run: PartitionRun) {
        self.read = Some(PlannedRead::index(run));
        self.awaits = Some(Awaited::Index);
    }

    /// Plans the read of a range in a window that was sized for the block that the index is at.
    pub(super) fn plan_data(&mut self, range: Range<u64>, window: PlannedWindow) {
        self.read = Some(PlannedRead::data(range, window.direction));
        self.window = Some(window);
        self.awaits = Some(Awaited::Block);
    }

    /// Drops the planned read if its range was supplied before: it was of no use.
    pub(super) fn drop_supplied(&mut self, supplied: &[Range<u64>]) {
        self.read.take_if(|read| supplied.contains(&read.range));
    }

    /// The window that was planned for the block, if that is the one that the scan came to after it planned.
    pub(super) fn take_window(&mut self, block: &Range<u64>, direction: Direction) -> Option<PlannedWindow> {
        self.window.take().filter(|window| window.block == *block && window.direction == direction)
    }

    /// Drops the planned window: the next read sizes its own.
    pub(super) fn drop_window(&mut self) {
        self.window = None;
    }

    /// True when planning ended at a partition of the index.
    pub(super) fn lacks_index(&self) -> bool {
        self.awaits == Some(Awaited::Index)
    }

    /// True when planning ended at the data block that the index is at.
    pub(super) fn awaits_block(&self) -> bool {
        self.awaits == Some(Awaited::Block)
    }

    /// Records that a planned read took too long.
    pub(super) fn set_out_of_time(&mut self, error: Option<Error>) {
        self.out_of_time = error;
    }

    /// The error of a planned read that took too long.
    pub(super) fn take_out_of_time(&mut self) -> Option<Error> {
        self.out_of_time.take()
    }
}
