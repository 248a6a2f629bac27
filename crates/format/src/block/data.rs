//! A data block in memory.

use super::hash_index::{Bucket, HashIndexBuckets};
use super::layout::BlockLayout;
use bytes::Bytes;
use ferrock_base::Result;

/// The uncompressed bytes of a data block with their layout, checked once.
#[derive(Debug)]
pub struct DataBlock {
    bytes: Bytes,
    layout: BlockLayout,
    /// Memory that the bytes take; 0 for those of a mapped file.
    allocated: usize,
}

impl DataBlock {
    /// Takes over uncompressed block bytes (without trailer).
    ///
    /// # Errors
    /// `Corruption` naming the offset in the block when its regions do not fit into it.
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        let layout = BlockLayout::parse(&bytes)?;
        Ok(Self { allocated: bytes.capacity(), bytes: Bytes::from(bytes), layout })
    }

    /// The same over bytes that lie in the mapping of a file and take no memory of their own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn mapped(bytes: Bytes) -> Result<Self> {
        let layout = BlockLayout::parse(&bytes)?;
        Ok(Self { allocated: 0, bytes, layout })
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
        self.allocated + size_of::<Self>()
    }
}
