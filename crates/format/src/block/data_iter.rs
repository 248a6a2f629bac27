//! An iterator over a data block that it owns or pins.

use super::data::DataBlock;
use super::data_cursor::DataBlockCursor;
use ferrock_base::{InternalComparator, InternalIterator, Result, SequenceNumber};
use std::ops::Deref;

/// A cursor together with its block: `B` is a reference, an `Arc` or a cache handle.
#[derive(Debug)]
pub struct DataBlockIter<B> {
    block: B,
    comparator: InternalComparator,
    cursor: DataBlockCursor,
}

impl<B: Deref<Target = DataBlock>> DataBlockIter<B> {
    /// Iterates over `block`. With a `global_sequence` every key shows that sequence number instead of its own.
    pub fn new(block: B, comparator: InternalComparator, global_sequence: Option<SequenceNumber>) -> Self {
        Self { block, comparator, cursor: DataBlockCursor::new(global_sequence) }
    }

    /// Seeks for a point lookup: see [`DataBlockCursor::seek_for_get`].
    pub fn seek_for_get(&mut self, target: &[u8]) {
        self.cursor.seek_for_get(&self.block, &self.comparator, target);
    }
}

impl<B: Deref<Target = DataBlock>> InternalIterator for DataBlockIter<B> {
    #[inline]
    fn valid(&self) -> bool {
        self.cursor.valid()
    }
    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.key(&self.block)
    }
    #[inline]
    fn value(&self) -> &[u8] {
        self.cursor.value(&self.block)
    }
    fn seek_to_first(&mut self) {
        self.cursor.seek_to_first(&self.block);
    }
    fn seek_to_last(&mut self) {
        self.cursor.seek_to_last(&self.block);
    }
    fn seek(&mut self, target: &[u8]) {
        self.cursor.seek(&self.block, &self.comparator, target);
    }
    fn seek_for_prev(&mut self, target: &[u8]) {
        self.cursor.seek_for_prev(&self.block, &self.comparator, target);
    }
    #[inline]
    fn next(&mut self) {
        self.cursor.next(&self.block);
    }
    #[inline]
    fn step_within_block(&mut self) -> &[u8] {
        self.cursor.step(&self.block)
    }
    fn prev(&mut self) {
        self.cursor.prev(&self.block);
    }
    fn status(&self) -> Result<()> {
        self.cursor.status()
    }
}
