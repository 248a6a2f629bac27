//! A data block in memory.

use super::entry_sums::{EntrySums, piece_sum};
use super::hash_index::{Bucket, HashIndexBuckets};
use super::layout::BlockLayout;
use bytes::Bytes;
use ferrock_base::Result;
use std::ops::Range;

/// The uncompressed bytes of a data block with their layout, checked once.
#[derive(Debug)]
pub struct DataBlock {
    bytes: Bytes,
    layout: BlockLayout,
    /// Memory that the bytes take; 0 for those of a mapped file.
    allocated: usize,
    /// Of the restart intervals and of what is behind, or of the whole block where values are apart.
    sums: Option<EntrySums>,
}

impl DataBlock {
    /// Takes over uncompressed block bytes (without trailer).
    ///
    /// # Errors
    /// `Corruption` naming the offset in the block when its regions do not fit into it.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        let layout = BlockLayout::parse(&bytes)?;
        Ok(Self { allocated: bytes.capacity(), bytes: Bytes::from(bytes), layout, sums: None })
    }

    /// The same over bytes that lie in the mapping of a file and take no memory of their own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn mapped(bytes: Bytes) -> Result<Self> {
        let layout = BlockLayout::parse(&bytes)?;
        Ok(Self { allocated: 0, bytes, layout, sums: None })
    }

    /// Keeps checksums of the entries, which cursors compare from now on: the bytes must be as they were verified.
    #[must_use]
    pub fn protected(mut self) -> Self {
        let pieces = self.interval_sums() + 1;
        let sum = |index| piece_sum(&self.bytes, index, self.summed_piece(index));
        self.sums = Some(EntrySums::new((0..pieces).map(sum)));
        self
    }

    /// How many sums are of entries.
    fn interval_sums(&self) -> usize {
        if self.layout.has_separate_values { 1 } else { self.layout.restart_count }
    }

    /// The bytes that one sum is of.
    fn summed_piece(&self, index: usize) -> Range<usize> {
        if self.layout.has_separate_values {
            return 0..self.bytes.len();
        }
        if index >= self.layout.restart_count {
            return self.layout.values_end..self.bytes.len();
        }
        self.layout.restart(&self.bytes, index)..self.layout.restart(&self.bytes, index + 1)
    }

    /// False when there are checksums, and that of the entries of a restart interval is another one now.
    #[inline(always)]
    pub(super) fn interval_holds(&self, restart: usize) -> bool {
        self.sums.is_none() || self.summed_interval_holds(restart)
    }

    /// The same for the restarts and the hash index.
    #[inline(always)]
    pub(super) fn hash_index_holds(&self) -> bool {
        self.sums.is_none() || self.piece_holds(self.interval_sums())
    }

    #[cold]
    #[inline(never)]
    fn summed_interval_holds(&self, restart: usize) -> bool {
        self.piece_holds(if self.layout.has_separate_values { 0 } else { restart })
    }

    #[cold]
    #[inline(never)]
    fn piece_holds(&self, index: usize) -> bool {
        let sum = || piece_sum(&self.bytes, index, self.summed_piece(index));
        self.sums.as_ref().is_none_or(|sums| sums.holds(index, sum))
    }

    /// The same block with other bytes, as if they had changed in memory.
    #[cfg(test)]
    pub(super) fn with_bytes(self, bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::from(bytes), ..self }
    }

    /// True when the bytes lie in the mapping of a file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.allocated == 0
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
        self.allocated + self.sums.as_ref().map_or(0, EntrySums::memory_bytes) + size_of::<Self>()
    }
}
