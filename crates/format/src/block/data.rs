//! A data block in memory, and an iterator that owns (or pins) one.

use super::data_cursor::DataBlockCursor;
use super::hash_index::{Bucket, HashIndexBuckets};
use super::layout::BlockLayout;
use ferrock_base::{InternalComparator, InternalIterator, Result, SequenceNumber};
use std::ops::Deref;

/// The uncompressed bytes of a data block with their layout, checked once.
#[derive(Debug)]
pub struct DataBlock {
    bytes: Vec<u8>,
    layout: BlockLayout,
}

impl DataBlock {
    /// Takes over uncompressed block bytes (without trailer).
    ///
    /// # Errors
    /// `Corruption` naming the offset in the block when its regions do not fit into it.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        let layout = BlockLayout::parse(&bytes)?;
        Ok(Self { bytes, layout })
    }

    /// The bytes of the block.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The regions of the block.
    #[inline]
    #[must_use]
    pub fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    /// How full the hash index is, `None` in a block without one.
    #[must_use]
    pub fn hash_index_buckets(&self) -> Option<HashIndexBuckets> {
        self.layout.hash_index.map(|index| index.buckets(&self.bytes))
    }

    /// True when the block has a hash index in which the bucket of a user key has a collision: it is shared by several
    /// restart intervals.
    #[must_use]
    pub fn hash_index_falls_back(&self, user_key: &[u8]) -> bool {
        self.layout.hash_index.is_some_and(|index| index.lookup(&self.bytes, user_key) == Bucket::Collision)
    }

    /// Bytes held, for cache charging.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }
}

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
    fn prev(&mut self) {
        self.cursor.prev(&self.block);
    }
    fn status(&self) -> Result<()> {
        self.cursor.status()
    }
}
