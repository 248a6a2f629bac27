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
use super::index_position::{IndexPosition, PositionOf};
use super::index_reader::IndexReader;
use super::{BlockTable, TableReadOptions};
use crate::blocks::CachedBlock;
use crate::partition_boundary::PartitionBoundary;
use ferrock_base::internal_key::TRAILER_SIZE;
use ferrock_base::{Comparator, Result};
use ferrock_format::block::RowBound;
use ferrock_format::handle::BlockHandle;
use std::ops::Deref;

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

impl BlockTable {
    /// Shows `visit` what is known of the rows of every data block, in order. Ends early when it returns false.
    ///
    /// # Errors
    /// `Io` or `Corruption` of an index block or a block of row bounds, naming the file.
    pub fn visit_rows(&self, visit: &mut dyn FnMut(RowsOfBlock<'_>) -> bool) -> Result<()> {
        let options = TableReadOptions { fill_cache: false, ..TableReadOptions::default() };
        let context = self.index_fetcher(&options);
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
    use ferrock_format::block::{RowBounds, encode_row_bounds};

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
}
