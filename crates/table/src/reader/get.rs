//! Point lookups.

use super::index_position::{IndexPosition, PositionOf};
use super::{BlockTable, TableReadOptions};
use crate::blocks::{BlockRef, BlockRole, CachedBlock, PinnedBlock};
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_base::{LookupKey, ParsedInternalKey, Result};
use ferrock_format::block::DataBlockCursor;
use ferrock_format::handle::BlockHandle;
use std::ops::Deref;

/// How a search within one block ended.
pub(super) enum Outcome {
    /// The visitor stopped, or the block holds larger keys: no more entries can follow.
    Done,
    /// The block ended; older entries of the key may be in the next one.
    EndOfBlock,
}

impl BlockTable {
    /// Shows `visit` the entries of the key's user key, newest first, from the lookup's sequence number on, until it
    /// returns false. Nothing is allocated and nothing copied: a visitor that wants to keep a value pins its block.
    ///
    /// Range tombstones are not looked at.
    ///
    /// # Errors
    /// `Io` when a block cannot be read, `Corruption` naming file and offset when one is damaged, `Incomplete` when the
    /// options forbid the read that is needed, `MemoryLimit` when a strict cache refuses the block.
    #[inline]
    pub fn get(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<()> {
        if !self.key_may_match(options, key)? {
            return Ok(());
        }
        let mut was_found = false;
        self.search(options, key.internal_key(), &mut |key, value, pinned| {
            was_found = true;
            visit(key, value, pinned)
        })?;
        self.note_lookup(was_found);
        Ok(())
    }

    #[inline]
    fn search(
        &self,
        options: &TableReadOptions,
        target: &[u8],
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<()> {
        let context = self.index_fetcher(options);
        let mut position = IndexPosition::default();
        context.seek(&mut position, target).map_err(|error| self.loader.in_file(error))?;
        let mut is_first = true;
        while position.valid() {
            let entry = position.entry()?;
            if entry.first_key.is_some_and(|first| self.loader.comparator.compare_user_keys(first, target).is_gt()) {
                return Ok(());
            }
            let handle = entry.handle;
            let block = if self.knows_gaps {
                let Some(block) = self.load_unless_in_gap(&position, handle, target, options)? else { return Ok(()) };
                block
            } else {
                self.loader.load(handle, BlockRole::Data, options)?
            };
            match self.search_block(&block, handle.offset, target, is_first, visit)? {
                Outcome::Done => return Ok(()),
                Outcome::EndOfBlock if self.loader.index_format.key_is_user_key => return Ok(()),
                Outcome::EndOfBlock => {}
            }
            is_first = false;
            context.next(&mut position).map_err(|error| self.loader.in_file(error))?;
        }
        Ok(())
    }

    /// The data block that the position is on, unless it would have to be read and neither it nor a block behind it can
    /// have the target's user key. For tables with row bounds or partition boundaries.
    #[inline(never)]
    fn load_unless_in_gap(
        &self,
        position: &IndexPosition<'_>,
        handle: BlockHandle,
        target: &[u8],
        options: &TableReadOptions,
    ) -> Result<Option<BlockRef>> {
        if let Some(block) = self.loader.load_if(handle, BlockRole::Data, options, || false)? {
            return Ok(Some(block));
        }
        if self.is_in_gap(position, target)? {
            return Ok(None);
        }
        self.loader.load(handle, BlockRole::Data, options).map(Some)
    }

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

    /// False only when the filter says that the table has no entry of the key. After any other answer the caller
    /// reports the outcome with [`note_lookup`](Self::note_lookup).
    #[inline]
    pub(super) fn key_may_match(&self, options: &TableReadOptions, key: &LookupKey) -> Result<bool> {
        let Some(filter) = &self.filter else { return Ok(true) };
        let may_match = filter.key_may_match(&self.loader, key.user_key(), key.internal_key(), options)?;
        if !may_match {
            filter.note_lookup(false);
        }
        Ok(may_match)
    }

    /// As [`key_may_match`](Self::key_may_match), for a scan of one key, which does not report the outcome.
    pub(super) fn may_have(&self, options: &TableReadOptions, key: &[u8]) -> Result<bool> {
        let Some(filter) = &self.filter else { return Ok(true) };
        let first = make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        filter.key_may_match(&self.loader, key, &first, options)
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

    /// False only when the filter says that the table has no key with the prefix of `user_key_with_prefix`.
    ///
    /// # Errors
    /// Those of reading a partition of the filter: see [`get`](Self::get).
    pub fn prefix_may_match(&self, options: &TableReadOptions, user_key_with_prefix: &[u8]) -> Result<bool> {
        match &self.filter {
            None => Ok(true),
            Some(filter) => filter.prefix_may_match(&self.loader, user_key_with_prefix, options),
        }
    }
}
