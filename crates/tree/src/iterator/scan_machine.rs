//! A child of a merge as a machine: it goes as far as memory allows, says what it needs, and goes on with the bytes.
//!
//! ```text
//! round 1  every child is placed using blocks in memory; the others pause for a read       index partitions, one set
//! round 2  children whose read was supplied advance                                        data, one set
//! last     a single child with a pending read makes it itself
//! ```
//!
//! Two rounds of reads place an iterator over any number of tables when nothing is cached, one when the indexes are. A
//! child that needs no read is placed in the first round and costs nothing more. The rounds, and the drivers that make
//! them, are in `pausing.rs`; the reads that are left out of them in `deferred.rs`.

use ferrock_base::iterator::InternalIterator;
use ferrock_base::{Result, SeekTarget};
use ferrock_table::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate};
use ferrock_vfs::{FileSystem, PendingRead, RandomAccessFile, ReadBuffer, ReadClass, ReadContext};
use std::sync::Arc;

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

/// An iterator whose reads a driver can make, alone or together with those of others: it pauses instead of reading
/// (`pausing.rs`), and estimates the rows ahead (`deferred.rs`, `limit.rs`). The default methods are for iterators that
/// never read: those are placed at once, and never pause.
pub trait ScanMachine: InternalIterator {
    /// Goes to a target without reading: afterwards the iterator is placed or paused.
    fn place(&mut self, target: SeekTarget<'_>)
    where
        Self: Sized,
    {
        target.apply(self);
    }

    /// True when the iterator waits to be resumed.
    fn is_paused(&self) -> bool {
        false
    }

    /// As [`resume`](Self::resume), without reading.
    fn advance(&mut self) {}

    /// The estimate of the entries ahead after the iterator was placed, or paused for a read.
    fn estimate(&self, place: SeekTarget<'_>, planned: Option<&ChildRead>) -> ScanEstimate {
        let _ = (place, planned);
        ScanEstimate::default()
    }

    /// Takes the result of the pending read; then the iterator can be advanced.
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
    fn take_started(&mut self) -> Option<PendingRead> {
        None
    }

    /// Resumes a paused iterator, which reads what it still needs; one that is pausing may pause again.
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
