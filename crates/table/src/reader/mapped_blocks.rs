//! The blocks of a mapped file that are read where they lie: data blocks and filters that are not compressed.
//!
//! ```text
//! file      [ data | data | filter | index | ... ]     mapped
//!             ^^^^   ^^^^   ^^^^^^                      a block points here: nothing is copied, nothing is cached
//! checked   [ .. | .. | .. ]                           for each stretch of the file, where a checked block begins
//! ```
//!
//! A block is checked against its checksum when it is first needed, and not again. An index block is decoded into a
//! form of its own, so it is cached as always, and so is what has to be decompressed.
//!
//! `checked` has two bytes for a stretch of about half a block. Where two blocks begin in one stretch, the later one to
//! be read takes its place, and the other one is checked again: what is there is always true. It is as large as a
//! thousandth of a file with blocks of 4 KiB.
//!
//! A block of its own (`CachedBlock`) is made for each lookup: its layout is parsed, which takes less than a lookup in
//! the cache, and a count of the mapping's owners goes up and down, which threads that read one file contend on.

use crate::blocks::{BlockRef, BlockRole, CachedBlock, FilterBlock};
use bytes::Bytes;
use ferrock_base::Result;
use ferrock_base::checksum::ChecksumType;
use ferrock_format::block::DataBlock;
use ferrock_format::footer::Footer;
use ferrock_format::handle::BlockHandle;
use ferrock_format::properties::TableProperties;
use ferrock_format::trailer;
use std::sync::atomic::{AtomicU16, Ordering};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct MappedBlocks {
    file: Bytes,
    blocks_end: u64,
    checksum_type: ChecksumType,
    base_context: u32,
    checked: CheckedBlocks,
}

impl MappedBlocks {
    /// For the blocks before `blocks_end` of a mapped file.
    pub(crate) fn new(file: Bytes, blocks_end: u64, footer: &Footer, properties: &TableProperties) -> Self {
        let block_bytes = properties.data_size.checked_div(properties.num_data_blocks).unwrap_or(0);
        Self {
            checked: CheckedBlocks::new(blocks_end, block_bytes),
            file,
            blocks_end,
            checksum_type: footer.checksum_type,
            base_context: footer.base_context_checksum,
        }
    }

    /// The block, if it can be read where it lies; `None` also for a damaged one, whose reader finds out why.
    pub(crate) fn find(&self, handle: BlockHandle, role: BlockRole) -> Option<BlockRef> {
        if !matches!(role, BlockRole::Data | BlockRole::Filter) {
            return None;
        }
        self.block(handle, role).ok().flatten().map(BlockRef::standalone)
    }

    fn block(&self, handle: BlockHandle, role: BlockRole) -> Result<Option<CachedBlock>> {
        let length = handle.checked_len_with_trailer(self.blocks_end)?;
        let Ok(start) = usize::try_from(handle.offset) else { return Ok(None) };
        let Some(stored) = self.file.get(start..start + length) else { return Ok(None) };
        let (payload, compression, _) = trailer::split(stored, handle.offset)?;
        if role == BlockRole::Data && compression != 0 {
            return Ok(None);
        }
        if !self.checked.contains(handle.offset) {
            trailer::verify(self.checksum_type, stored, self.base_context, handle.offset)?;
            self.checked.add(handle.offset);
        }
        let bytes = self.file.slice(start..start + payload.len());
        Ok(Some(match role {
            BlockRole::Data => CachedBlock::Data(DataBlock::mapped(bytes)?),
            _ => CachedBlock::Filter(FilterBlock::mapped(bytes)),
        }))
    }

    /// Memory of the record of checked blocks.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.checked.begins)
    }
}

/// Where blocks begin whose checksums were right.
#[derive(Debug)]
struct CheckedBlocks {
    /// Stretches are of two to the power of this many bytes.
    shift: u32,
    /// For each stretch 0, or one more than the place in it where a checked block begins.
    begins: Box<[AtomicU16]>,
}

impl CheckedBlocks {
    /// Stretches are at least this long, and so short that places in them have room in two bytes.
    const STRETCH_BYTES: std::ops::RangeInclusive<u64> = 512..=32 << 10;

    fn new(file_bytes: u64, block_bytes: u64) -> Self {
        let stretch = (block_bytes / 2).clamp(*Self::STRETCH_BYTES.start(), *Self::STRETCH_BYTES.end());
        let shift = stretch.ilog2();
        let stretches = usize::try_from((file_bytes >> shift) + 1).unwrap_or(0);
        Self { shift, begins: (0..stretches).map(|_| AtomicU16::new(0)).collect() }
    }

    #[inline]
    fn place(&self, offset: u64) -> Option<(&AtomicU16, u16)> {
        let stretch = self.begins.get(usize::try_from(offset >> self.shift).ok()?)?;
        let within = offset & ((1 << self.shift) - 1);
        Some((stretch, within as u16 + 1))
    }

    #[inline]
    fn contains(&self, offset: u64) -> bool {
        self.place(offset).is_some_and(|(stretch, within)| stretch.load(Ordering::Relaxed) == within)
    }

    fn add(&self, offset: u64) {
        if let Some((stretch, within)) = self.place(offset) {
            stretch.store(within, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Only what was added is contained, and what was added last in its stretch is.
        #[test]
        fn checked_blocks_are_those_that_were_added(
            file_bytes in 0u64..1 << 20,
            block_bytes in 0u64..100_000,
            offsets in prop::collection::vec((0u64..1 << 20, any::<bool>()), 1..200),
        ) {
            let checked = CheckedBlocks::new(file_bytes, block_bytes);
            let mut added = std::collections::HashSet::new();
            for (offset, adds) in offsets {
                let offset = offset.min(file_bytes);
                if adds {
                    checked.add(offset);
                    added.insert(offset);
                    prop_assert!(checked.contains(offset));
                } else {
                    prop_assert!(!checked.contains(offset) || added.contains(&offset));
                }
            }
        }
    }
}
