//! The search for a key in one data block, and what excludes the key from it before it is read.

use crate::blocks::{BlockRef, CachedBlock, PinnedBlock};
use crate::reader::BlockTable;
use crate::reader::index_position::PositionOf;
use ferrock_base::internal_key::user_key;
use ferrock_base::{ParsedInternalKey, Result};
use ferrock_format::block::DataBlockCursor;
use std::ops::Deref;

/// How a search within one block ended.
pub(super) enum Outcome {
    /// The visitor stopped, or the block holds larger keys: no more entries can follow.
    Done,
    /// The block ended; older entries of the key may be in the next one.
    EndOfBlock,
}

impl BlockTable {
    /// True when the target's user key is known to be in no data block, given the position that a search for it led to.
    /// Nothing is read for the answer.
    #[inline]
    pub(super) fn is_in_gap(
        &self,
        position: &PositionOf<impl Deref<Target = CachedBlock>>,
        target: &[u8],
    ) -> Result<bool> {
        if !self.knows_gaps {
            return Ok(false);
        }
        self.find_gap(position, target).map_err(|error| self.loader.in_file(error))
    }

    fn find_gap(&self, position: &PositionOf<impl Deref<Target = CachedBlock>>, target: &[u8]) -> Result<bool> {
        let user_key = user_key(target);
        let rows = position.rows(self.loader.comparator.user())?;
        if rows.is_some_and(|rows| rows.begins_after(user_key)) {
            return Ok(true);
        }
        let Some(boundary) = &self.partition_cut else { return Ok(false) };
        boundary.ended_before(position, &self.index, &self.loader, user_key)
    }

    /// Tells the filter whether a key was there.
    #[inline]
    pub(super) fn note_lookup(&self, was_found: bool) {
        if let Some(filter) = &self.filter {
            filter.note_lookup(was_found);
        }
    }

    /// Visits the entries of the target's user key in one block. In the first block the search starts at the target;
    /// where it goes on in another, at the beginning.
    ///
    /// With user keys in the index, a user key never spans two blocks, so the end of the block is the end of the
    /// search.
    #[inline]
    pub(super) fn search_block(
        &self,
        block: &BlockRef,
        block_offset: u64,
        target: &[u8],
        is_first: bool,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Outcome> {
        let data = block.data().map_err(|error| self.loader.in_file(error.at_offset(block_offset)))?;
        let comparator = &self.loader.comparator;
        let mut cursor = DataBlockCursor::new(self.global_sequence);
        if is_first {
            cursor.seek_for_get(data, comparator, target);
        } else {
            cursor.seek(data, comparator, target);
        }
        while cursor.valid() {
            let key = cursor.key(data);
            if !comparator.user().equal(user_key(key), user_key(target)) {
                return Ok(Outcome::Done);
            }
            let pinned = PinnedBlock { block, value: cursor.value_range() };
            if !visit(ParsedInternalKey::parse(key)?, cursor.value(data), &pinned) {
                return Ok(Outcome::Done);
            }
            cursor.next(data);
        }
        cursor.status().map_err(|error| self.loader.in_file(error.offset_by(block_offset)))?;
        Ok(Outcome::EndOfBlock)
    }
}
