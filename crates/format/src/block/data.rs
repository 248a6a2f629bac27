//! A data block in memory.

use super::entry_sums::{EntrySums, changed_in_memory, piece_sum};
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

    /// Compares the checksum of the entries of a restart interval, if there are checksums.
    ///
    /// # Errors
    /// `Corruption` with the offset in the block when its bytes changed since.
    #[inline]
    pub(super) fn check_interval(&self, restart: usize) -> Result<()> {
        match &self.sums {
            None => Ok(()),
            Some(sums) => self.compare_sums(sums, restart),
        }
    }

    /// The same for the restarts and the hash index.
    #[inline]
    pub(super) fn check_hash_index(&self) -> Result<()> {
        match &self.sums {
            None => Ok(()),
            Some(sums) => self.compare_piece(sums, self.interval_sums()),
        }
    }

    #[inline(never)]
    fn compare_sums(&self, sums: &EntrySums, restart: usize) -> Result<()> {
        self.compare_piece(sums, if self.layout.has_separate_values { 0 } else { restart })
    }

    fn compare_piece(&self, sums: &EntrySums, index: usize) -> Result<()> {
        let piece = self.summed_piece(index);
        let at = piece.start;
        if sums.holds(index, || piece_sum(&self.bytes, index, piece)) {
            Ok(())
        } else {
            Err(changed_in_memory().at_offset(at as u64))
        }
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
