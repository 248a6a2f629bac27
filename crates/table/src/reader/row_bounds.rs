//! Row bounds: what is known of a data block's rows before it is read.
//!
//! ```text
//! [index partition][side block]      one read brings both; the cache holds them as one index block
//!        S_i            B_i           last row of block i-1 < B_i <= first row of block i,  last row of block i <= S_i
//! ```
//!
//! A side block is read with its index partition or not at all, so it never costs a request of its own.
//! [`PositionOf::rows`] returns the row bounds of the entry that the position is on, without a read or a cache lookup.
//! `None` means that nothing is known: the table has no row bounds, or the partition was loaded without them.
//!
//! The format is `ferrock_format::block::RowBounds`'; the page is docs/format/row-bounds.md.

use super::block_loader::BlockLoader;
use super::index_reader::{IndexPosition, IndexReader, PositionOf};
use super::readahead::Readahead;
use super::{TableReadOptions, TableReader};
use crate::blocks::{BlockRole, CachedBlock};
use crate::partition_boundary::PartitionBoundary;
use ferrock_base::internal_key::TRAILER_SIZE;
use ferrock_base::{Comparator, Error, Result};
use ferrock_format::block::{RowBound, RowBounds, decode_row_bounds_directory};
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_vfs::{ReadClass, ReadContext};
use std::ops::Deref;

/// Which index partitions have a side block directly behind them.
#[derive(Debug, Default)]
pub(crate) struct SideBlocks {
    /// Offset of the partition and payload bytes of its side block, by offset.
    by_partition: Vec<(u64, u64)>,
}

impl SideBlocks {
    /// Pairs the partitions with the handles of a decoded directory. A side block that is not directly behind its
    /// partition is left out: reading it would cost a request.
    fn new(partitions: &[BlockHandle], sides: &[BlockHandle], blocks_end: u64) -> Result<Self> {
        if partitions.len() != sides.len() {
            let (sides, partitions) = (sides.len(), partitions.len());
            return Err(Error::corruption(format!(
                "row bounds of {sides} index partitions in a table of {partitions}"
            )));
        }
        let mut by_partition = Vec::with_capacity(sides.len());
        for (partition, side) in partitions.iter().zip(sides) {
            if !side.is_null() && partition.end_with_trailer() == Some(side.offset) {
                side.checked_len_with_trailer(blocks_end)?;
                by_partition.push((partition.offset, side.size));
            }
        }
        by_partition.sort_unstable();
        by_partition.dedup_by_key(|pair| pair.0);
        // Side blocks must not overlap partitions: otherwise a small file could make a reader hold its size many times.
        let mut begins: Vec<u64> = partitions.iter().map(|partition| partition.offset).collect();
        begins.sort_unstable();
        for (partition, side) in partitions.iter().zip(sides) {
            let next = begins.partition_point(|&begin| begin <= partition.offset);
            let is_held = by_partition.binary_search_by_key(&partition.offset, |pair| pair.0).is_ok();
            if is_held && begins.get(next).is_some_and(|&next| side.end_with_trailer().is_none_or(|end| end > next)) {
                return Err(Error::corruption("row bounds overlap an index partition").at_offset(side.offset));
            }
        }
        Ok(Self { by_partition })
    }

    /// The side block of an index partition.
    pub(crate) fn behind(&self, partition: BlockHandle) -> Option<BlockHandle> {
        let index = self.by_partition.binary_search_by_key(&partition.offset, |pair| pair.0).ok()?;
        Some(BlockHandle::new(partition.end_with_trailer()?, self.by_partition[index].1))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_partition.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.by_partition.capacity() * size_of::<(u64, u64)>()
    }
}

/// Reads the directory of a table with these index partitions.
pub(crate) fn open(loader: &BlockLoader, directory: BlockHandle, partitions: &[BlockHandle]) -> Result<SideBlocks> {
    let (bytes, _) = loader.read_stored(directory, &ReadContext::for_class(ReadClass::Index), true, None)?;
    let read = || match decode_row_bounds_directory(&bytes)? {
        Some(sides) => SideBlocks::new(partitions, &sides, loader.blocks_end),
        None => Ok(SideBlocks::default()),
    };
    read().map_err(|error| error.context("row bounds").offset_by(directory.offset))
}

impl BlockLoader {
    /// Length in bytes of an index block with its trailer and, if it has one, its side block. A caller that reads index
    /// blocks itself reads this much, and decodes it with [`decode_index_extent`](Self::decode_index_extent).
    pub(crate) fn index_extent(&self, handle: BlockHandle) -> Result<usize> {
        let length = handle.checked_len_with_trailer(self.blocks_end)?;
        match self.side_blocks.behind(handle) {
            Some(side) => Ok(length + side.checked_len_with_trailer(self.blocks_end)?),
            None => Ok(length),
        }
    }

    /// Decodes an index block and the row bounds behind it from the bytes of its extent, as they are stored.
    pub(crate) fn decode_index_extent(
        &self,
        mut stored: Vec<u8>,
        handle: BlockHandle,
        verify: bool,
    ) -> Result<CachedBlock> {
        let length = usize::try_from(handle.size).unwrap_or(usize::MAX).saturating_add(BLOCK_TRAILER_SIZE);
        let side_bytes = if length < stored.len() { stored.split_off(length) } else { Vec::new() };
        let decoded = self.decode_stored(stored, handle, BlockRole::Index, verify)?;
        let Some(side) = self.side_blocks.behind(handle) else { return Ok(decoded) };
        let CachedBlock::Index(index) = decoded else { return Ok(decoded) };
        let add = || {
            let (payload, _) = self.check_stored(side_bytes, side, verify)?;
            index.with_row_bounds(RowBounds::new(payload).map_err(|error| error.offset_by(side.offset))?)
        };
        add().map(CachedBlock::Index).map_err(|error| self.in_file(error.context("row bounds").at_offset(side.offset)))
    }

    /// Reads an index block together with the side block behind it.
    pub(super) fn read_index_extent(
        &self,
        handle: BlockHandle,
        context: &ReadContext,
        verify: bool,
        readahead: Option<&mut Readahead>,
    ) -> Result<CachedBlock> {
        let length = self.index_extent(handle)?;
        let stored = self.read_bytes(handle.offset, length, context, readahead)?.into_owned();
        self.decode_index_extent(stored, handle, verify)
    }
}

/// What is known of the rows of one data block.
#[derive(Debug)]
pub(crate) struct BlockRows<'a> {
    comparator: &'a Comparator,
    bound: RowBound,
}

impl BlockRows<'_> {
    /// True when no row of the block is before `hi`: a scan that ends before `hi` does not need the block.
    pub(crate) fn begins_at_or_after(&self, hi: &[u8]) -> bool {
        self.comparator.compare(hi, self.bound.key()).is_le()
    }

    /// True when every row of the block is behind `user_key`. For the block that a search for the key leads to, this
    /// means that the key lies in the gap before the block: it is in no block.
    pub(crate) fn begins_after(&self, user_key: &[u8]) -> bool {
        self.comparator.compare(user_key, self.bound.key()).is_lt()
    }

    /// True when the user key of the separator is that of the block's last row: then the gap behind the block begins at
    /// the separator.
    pub(crate) fn ends_with_separator(&self) -> bool {
        self.bound.is_exact()
    }

    /// A lower bound of the block's user keys, by which a merge may order the block before it is read.
    pub(crate) fn lower_bound(&self) -> &[u8] {
        self.bound.key()
    }
}

impl<G: Deref<Target = CachedBlock>> PositionOf<G> {
    /// What is known of the rows of the data block that the position is on.
    pub(crate) fn rows<'c>(&self, comparator: &'c Comparator) -> Result<Option<BlockRows<'c>>> {
        Ok(self.row_bound()?.map(|bound| BlockRows { comparator, bound }))
    }
}

/// A data block and its row bounds, for tools.
#[derive(Clone, Copy, Debug)]
pub struct RowsOfBlock<'a> {
    /// The block.
    pub handle: BlockHandle,
    /// User key of its separator: no row is behind it.
    pub separator: &'a [u8],
    /// A lower bound of the user keys, and whether the separator is the last row's key; `None` without row bounds.
    pub bound: Option<(&'a [u8], bool)>,
}

impl TableReader {
    /// Shows `visit` what is known of the rows of every data block, in order. Ends early when it returns false.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block or a block of row bounds, naming the file.
    pub fn visit_rows(&self, visit: &mut dyn FnMut(RowsOfBlock<'_>) -> bool) -> Result<()> {
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        let context = self.index_context(&options);
        let mut position = IndexPosition::default();
        let mut separator = Vec::new();
        let mut walk = || {
            context.seek_to_first(&mut position)?;
            while position.valid() {
                position.key_into(&mut separator)?;
                truncate_to_user_key(&mut separator, self.loader.index_format.key_is_user_key);
                let rows = position.rows(self.loader.comparator.user())?;
                let bound = rows.as_ref().map(|rows| (rows.lower_bound(), rows.ends_with_separator()));
                if !visit(RowsOfBlock { handle: position.entry()?.handle, separator: &separator, bound }) {
                    break;
                }
                context.next(&mut position)?;
            }
            Ok(())
        };
        walk().map_err(|error| self.loader.in_file(error))
    }
}

/// The user key of a key as the index stores it.
pub(super) fn truncate_to_user_key(key: &mut Vec<u8>, is_user_key: bool) {
    if !is_user_key {
        key.truncate(key.len().saturating_sub(TRAILER_SIZE));
    }
}

impl PartitionBoundary {
    /// True when no row of the user key's partition is in the block that a search for the key led to, nor behind it.
    ///
    /// Take a guarantee for two blocks. The separator before the block has the partition's prefix, so the block before
    /// ends with a row of it: separators between different prefixes are last keys. Had it a row in this block, too, it
    /// would span two blocks, so it would end on a cut, and the separator of this block would have its prefix. For a
    /// guarantee of `n` blocks, the separators of the `n - 1` blocks before are compared.
    pub(super) fn ended_before(
        &self,
        position: &PositionOf<impl Deref<Target = CachedBlock>>,
        index: &IndexReader,
        loader: &BlockLoader,
        user_key: &[u8],
    ) -> Result<bool> {
        let Some(prefix) = self.extractor.prefix(user_key) else { return Ok(false) };
        let is_of_partition = |separator: &[u8]| {
            let trailer = if loader.index_format.key_is_user_key { 0 } else { TRAILER_SIZE };
            let user_key = &separator[..separator.len().saturating_sub(trailer)];
            self.extractor.prefix(user_key) == Some(prefix)
        };
        let mut separator = Vec::new();
        position.key_into(&mut separator)?;
        if is_of_partition(&separator) {
            return Ok(false);
        }
        let in_memory = |handle| index.partitions.as_ref()?.peek(loader, handle);
        position.all_before(self.min_blocks - 1, is_of_partition, in_memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_format::block::encode_row_bounds;

    #[test]
    fn a_bound_is_compared_in_the_order_of_the_table() {
        let bounds = RowBounds::new(encode_row_bounds([(&b"k5"[..], true)].into_iter())).unwrap();
        let rows = |comparator| BlockRows { comparator, bound: bounds.bound(0).unwrap() };
        let answers = |comparator, key: &[u8]| {
            let rows = rows(comparator);
            (rows.begins_at_or_after(key), rows.begins_after(key))
        };
        let (bytewise, reverse) = (Comparator::Bytewise, Comparator::ReverseBytewise);
        assert_eq!(answers(&bytewise, b"k4"), (true, true));
        assert_eq!(answers(&bytewise, b"k5"), (true, false));
        assert_eq!(answers(&bytewise, b"k6"), (false, false));
        assert_eq!(answers(&reverse, b"k4"), (false, false));
        assert_eq!(answers(&reverse, b"k6"), (true, true));
        let rows = rows(&bytewise);
        assert_eq!((rows.lower_bound(), rows.ends_with_separator()), (&b"k5"[..], true));
    }

    #[test]
    fn side_blocks_elsewhere_are_left_out() {
        let partitions = [BlockHandle::new(0, 95), BlockHandle::new(200, 95), BlockHandle::new(400, 95)];
        let sides = [BlockHandle::new(100, 20), BlockHandle::new(1000, 20), BlockHandle::NULL];
        let known = SideBlocks::new(&partitions, &sides, 2000).unwrap();
        assert_eq!(partitions.map(|partition| known.behind(partition)), [Some(sides[0]), None, None]);
        assert!(SideBlocks::new(&partitions, &sides[..2], 2000).unwrap_err().is_corruption());
        assert!(SideBlocks::new(&partitions, &sides, 120).unwrap_err().is_corruption());
    }
}
