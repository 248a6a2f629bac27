//! The iterator of a scan as futures: it goes on until a batch is full or a read is missing.
//!
//! ```text
//! fill --> full or at the end
//!      \-> paused --> needs --> ReadSet --all there--> supply --> fill
//!                \-> None: on a thread that may block, fill_blocking
//! ```

use super::ScanBatch;
use crate::db::read::Iter;
use ferrock_base::Result;
use ferrock_tree::iterator::ReadSet;

/// Bytes of keys and values after which a batch ends, unless the caller says otherwise.
const BATCH_BYTES: usize = 64 << 10;

/// After so many bytes a thread that fills a batch looks whether the batch is still wanted.
const BLOCKING_BYTES: usize = 64 << 10;

/// The iterator and the batch that it is filling.
pub(super) struct Cursor {
    iter: Iter,
    is_placed: bool,
    /// The row under the iterator is in a batch.
    is_on_taken_row: bool,
    batch: ScanBatch,
    /// Bytes and rows of the batch before, which this one will be about as large as.
    expected: (usize, usize),
    pub(super) batch_bytes: usize,
    /// Rows that are wanted still.
    pub(super) rows_left: u64,
}

impl Cursor {
    pub(super) fn new(mut iter: Iter) -> Self {
        iter.set_pausing(true);
        Self {
            iter,
            is_placed: false,
            is_on_taken_row: false,
            batch: ScanBatch::default(),
            expected: (0, 0),
            batch_bytes: BATCH_BYTES,
            rows_left: u64::MAX,
        }
    }

    /// Adds rows to the batch; false when the iterator paused before the batch was full or the scan at its end.
    pub(super) fn fill(&mut self) -> Result<bool> {
        if self.rows_left == 0 {
            return Ok(true);
        }
        if !std::mem::replace(&mut self.is_placed, true) {
            self.iter.seek_to_first();
        }
        loop {
            if std::mem::take(&mut self.is_on_taken_row) {
                self.iter.next();
            }
            if !self.iter.valid() {
                if self.iter.is_paused() {
                    return Ok(false);
                }
                return self.iter.status().map(|()| true);
            }
            if self.batch.is_empty() {
                self.batch = ScanBatch::with_capacity(self.expected.0, self.expected.1);
            }
            self.batch.push(self.iter.key(), self.iter.value());
            self.is_on_taken_row = true;
            self.rows_left -= 1;
            if self.rows_left == 0 || self.batch.bytes.len() >= self.batch_bytes {
                return Ok(true);
            }
        }
    }

    /// Goes on filling where that may block, as long as a task waits for it.
    pub(super) fn fill_blocking(&mut self, is_wanted: impl Fn() -> bool) -> Result<()> {
        self.iter.set_pausing(false);
        self.iter.resume();
        let (batch_bytes, mut is_full) = (self.batch_bytes, false);
        while !is_full && is_wanted() {
            self.batch_bytes = batch_bytes.min(self.batch.bytes.len().saturating_add(BLOCKING_BYTES));
            if !self.fill()? {
                // A file system said so, and no thread is left to read for it.
                return self.iter.status();
            }
            is_full = self.batch.bytes.len() >= batch_bytes || !self.is_on_taken_row || self.rows_left == 0;
        }
        self.batch_bytes = batch_bytes;
        self.iter.set_pausing(true);
        Ok(())
    }

    /// What was filled.
    pub(super) fn take_batch(&mut self) -> ScanBatch {
        let batch = std::mem::take(&mut self.batch);
        self.expected = (batch.bytes.len(), batch.len());
        batch
    }

    /// The reads that the paused iterator needs; `None` when it has to read for itself.
    pub(super) fn needs(&mut self) -> Option<ReadSet<usize>> {
        let mut set = ReadSet::default();
        self.iter.needs(&mut set, |child| child);
        (!set.is_empty()).then_some(set)
    }

    /// Takes what the reads brought, and goes on.
    pub(super) fn supply(&mut self, reads: ReadSet<usize>) {
        for (child, read, bytes) in reads.into_supplies() {
            self.iter.supply(child, &read, bytes);
        }
        self.iter.resume();
    }
}
