//! A scan as a machine: it goes as far as memory allows, says what it needs, and goes on with the bytes.
//!
//! ```text
//! round 1  every scan is placed using blocks in memory; the others pause for a read        index partitions, one set
//! round 2  scans whose read was supplied are resumed                                       data, one set
//! last     a single scan with a pending read makes it itself
//! ```
//!
//! Two rounds of reads place an iterator over any number of tables when nothing is cached, one when the indexes are. A
//! scan that needs no read is placed in the first round and costs nothing more. The rounds, and the drivers that make
//! them, are the merge's, in `ferrock-tree`.

use crate::reader::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate};
use ferrock_base::iterator::VecIterator;
use ferrock_base::{InternalIterator, Result, SeekTarget};
use ferrock_vfs::{FileSystem, PendingRead, RandomAccessFile, ReadBuffer, ReadClass, ReadContext};
use std::sync::Arc;

/// The read that a scan needs before it can go on.
#[derive(Clone, Debug)]
pub struct ScanRead {
    /// The range, as the scan planned it.
    pub read: PlannedRead,
    /// The file to read.
    pub file: Arc<dyn RandomAccessFile>,
    /// The file system that opened the file.
    pub file_system: Arc<dyn FileSystem>,
    /// The context of the read.
    pub context: ReadContext,
}

impl ScanRead {
    /// True for a read of index or filter, after which more reads follow before the scan is placed.
    #[must_use]
    pub fn is_of_metadata(&self) -> bool {
        self.read.class() != ReadClass::Data
    }
}

/// An iterator whose reads a driver can make, alone or together with those of others: it pauses instead of reading, and
/// estimates the rows ahead. The default methods are for iterators that never read: those are placed at once, and never
/// pause.
pub trait ScanMachine: InternalIterator {
    /// Goes to a target. Without `may_read` the iterator reads nothing: afterwards it is placed or paused.
    fn place(&mut self, target: SeekTarget<'_>, may_read: bool)
    where
        Self: Sized,
    {
        let _ = may_read;
        target.apply(self);
    }

    /// True when the iterator waits to be resumed.
    fn is_paused(&self) -> bool {
        false
    }

    /// The estimate of the entries ahead after the iterator was placed, or paused for a read.
    fn estimate(&self, place: SeekTarget<'_>, planned: Option<&ScanRead>) -> ScanEstimate {
        let _ = (place, planned);
        ScanEstimate::default()
    }

    /// Takes the result of the pending read; then the iterator can be resumed.
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
    fn pending_read(&self) -> Option<ScanRead> {
        None
    }

    /// The read of [`pending_read`](Self::pending_read), if it is already in flight.
    fn take_started(&mut self) -> Option<PendingRead> {
        None
    }

    /// Resumes a paused iterator. With `may_read` it reads what it still needs, unless pausing is on; otherwise it may
    /// pause again.
    fn resume(&mut self, may_read: bool) {
        let _ = may_read;
    }

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

    /// Lets go of blocks and of bytes that were read ahead. Afterwards the iterator is as it was when it was made, but
    /// for the memory that it has.
    fn rest(&mut self) {}

    /// Takes over the readahead state of another iterator, which reached the end of the file before.
    fn continue_from(&mut self, previous: &Self)
    where
        Self: Sized,
    {
        let _ = previous;
    }
}

/// Entries in memory are never read.
impl ScanMachine for VecIterator {}
