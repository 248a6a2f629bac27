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

use super::index_position::PositionOf;
use crate::blocks::CachedBlock;
use ferrock_base::{Comparator, Result};
use ferrock_format::block::RowBound;
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
