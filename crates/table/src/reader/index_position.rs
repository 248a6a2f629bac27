//! A position in an index, and what it tells of the data block that it is on. [`index_walk`](super::index_walk) moves
//! it.

use crate::blocks::{BlockGuard, BlockRef, CachedBlock};
use ferrock_base::Result;
use ferrock_format::block::{IndexBlock, IndexCursor, IndexEntry, RowBound};
use ferrock_format::handle::BlockHandle;
use std::ops::Deref;

/// A position in an index: an entry of a leaf, and above it the leaf's entry in the top level.
///
/// `G` keeps its blocks: that of an [`IndexPosition`] may borrow those that the reader keeps.
#[derive(Debug)]
pub(crate) struct PositionOf<G> {
    pub(super) top: Option<(G, IndexCursor)>,
    pub(super) leaf: Option<G>,
    pub(super) cursor: IndexCursor,
}

/// A position that may borrow blocks from the reader.
pub(crate) type IndexPosition<'a> = PositionOf<BlockGuard<'a>>;
/// A position that borrows nothing, for iterators that outlive the call.
pub(crate) type OwnedPosition = PositionOf<BlockRef>;

impl<G> Default for PositionOf<G> {
    fn default() -> Self {
        Self { top: None, leaf: None, cursor: IndexCursor::default() }
    }
}

/// How a position keeps a block.
pub(crate) trait KeepBlock<'a>: Deref<Target = CachedBlock> {
    fn keep(guard: BlockGuard<'a>) -> Self;
}

impl<'a> KeepBlock<'a> for BlockGuard<'a> {
    #[inline]
    fn keep(guard: BlockGuard<'a>) -> Self {
        guard
    }
}

impl<'a> KeepBlock<'a> for BlockRef {
    #[inline]
    fn keep(guard: BlockGuard<'a>) -> Self {
        guard.into_held()
    }
}

impl<G: Deref<Target = CachedBlock>> PositionOf<G> {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.cursor.valid()
    }

    /// The data block's entry. Only when [`valid`](Self::valid).
    #[inline]
    pub(crate) fn entry(&self) -> Result<IndexEntry<'_>> {
        match &self.leaf {
            Some(leaf) => Ok(self.cursor.entry(leaf.index()?)),
            None => Ok(IndexEntry { handle: BlockHandle::NULL, first_key: None }),
        }
    }

    pub(crate) fn handle(&self) -> Result<BlockHandle> {
        self.entry().map(|entry| entry.handle)
    }

    /// The block of the current entry and the cursor in it.
    pub(super) fn leaf_entry(&self) -> Option<(&CachedBlock, &IndexCursor)> {
        self.leaf.as_deref().map(|leaf| (leaf, &self.cursor))
    }

    /// The top level of a partitioned index and the cursor in it.
    pub(super) fn top_entry(&self) -> Option<(&CachedBlock, &IndexCursor)> {
        self.top.as_ref().map(|(top, cursor)| (&**top, cursor))
    }

    /// Makes the position invalid.
    pub(crate) fn reset(&mut self) {
        self.cursor.reset();
    }

    /// Lets go of its blocks.
    pub(super) fn rest(&mut self) {
        (self.top, self.leaf) = (None, None);
        self.cursor.reset();
    }

    /// What the row bounds say about the data block, where the index block came with them.
    pub(super) fn row_bound(&self) -> Result<Option<RowBound>> {
        match &self.leaf {
            Some(leaf) => Ok(self.cursor.row_bound(leaf.index()?)),
            None => Ok(None),
        }
    }

    /// True when `accepts` is true of the separators of the `count` blocks before the entry's, as they are stored.
    /// Reads nothing: where an index partition begins, the top level has the last separator of the one before, and
    /// `in_memory` maybe all.
    pub(super) fn all_before<'b>(
        &self,
        count: usize,
        accepts: impl Fn(&[u8]) -> bool,
        in_memory: impl FnOnce(BlockHandle) -> Option<BlockGuard<'b>>,
    ) -> Result<bool> {
        let Some(leaf) = self.leaf.as_ref().filter(|_| self.cursor.valid()) else { return Ok(false) };
        let mut key = Vec::new();
        let mut left = count;
        // False at the first separator that is not accepted.
        let mut walk = |index: &IndexBlock, cursor: &mut IndexCursor, left: &mut usize| -> Result<bool> {
            while *left > 0 {
                cursor.prev(index);
                cursor.status()?;
                if !cursor.valid() {
                    break;
                }
                cursor.key_into(index, &mut key);
                if !accepts(&key) {
                    return Ok(false);
                }
                *left -= 1;
            }
            Ok(true)
        };
        if !walk(leaf.index()?, &mut self.cursor.clone(), &mut left)? {
            return Ok(false);
        }
        let Some((top, cursor)) = self.top.as_ref().filter(|_| left > 0) else { return Ok(left == 0) };
        let (top, mut cursor, mut of_last) = (top.index()?, cursor.clone(), 1);
        if !walk(top, &mut cursor, &mut of_last)? || of_last > 0 {
            return Ok(false);
        }
        left -= 1;
        let Some(previous) = (left > 0).then(|| in_memory(cursor.entry(top).handle)).flatten() else {
            return Ok(left == 0);
        };
        let mut last = IndexCursor::new();
        last.seek_to_last(previous.index()?);
        last.status()?;
        Ok(last.valid() && walk(previous.index()?, &mut last, &mut left)? && left == 0)
    }

    /// Replaces `out` with the separator key as stored.
    pub(crate) fn key_into(&self, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if let Some(leaf) = &self.leaf {
            self.cursor.key_into(leaf.index()?, out);
        }
        Ok(())
    }
}
