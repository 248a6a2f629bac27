//! Searches of an index in the blocks that are in memory: no call reads. What is missing is read by
//! [`IndexFetcher`](super::index_fetcher::IndexFetcher).

use super::block_loader::BlockLoader;
use super::direction::{Direction, Step};
use super::index_position::{IndexPosition, KeepBlock, PositionOf};
use super::index_reader::IndexReader;
use super::index_walk::{self, IndexBlocks};
use super::resident::{LoadedBlocks, NeededBlock, Resident};
use crate::blocks::{BlockRole, CachedBlock};
use ferrock_base::internal_key::user_key;
use ferrock_base::{InternalComparator, Result, SeekTarget};
use ferrock_format::block::{IndexBlock, IndexCursor};
use ferrock_format::handle::BlockHandle;
use std::ops::Deref;

/// The result of a seek in the index that reads nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IndexSeekResult {
    /// The key is in no data block.
    Absent,
    /// The key is in this data block, if in the table at all.
    Found(BlockHandle),
    /// A block of the index has to be read first.
    Missing(NeededBlock),
}

/// The index of a table and its loader, asked for nothing but blocks in memory.
#[derive(Clone, Copy)]
pub(crate) struct ResidentIndex<'a> {
    pub(crate) index: &'a IndexReader,
    pub(crate) loader: &'a BlockLoader,
}

impl<'a> ResidentIndex<'a> {
    fn comparator(&self) -> &'a InternalComparator {
        self.loader.comparator()
    }

    /// The data block in which a target's user key is, if it is in the table.
    #[inline]
    pub(crate) fn find(&self, target: &[u8], loaded: &LoadedBlocks) -> Result<IndexSeekResult> {
        let mut position = IndexPosition::default();
        if let Some(needed) = self.seek(&mut position, target, loaded)? {
            return Ok(IndexSeekResult::Missing(needed));
        }
        if !position.valid() {
            return Ok(IndexSeekResult::Absent);
        }
        let entry = position.entry()?;
        let starts_behind =
            entry.first_key.is_some_and(|first| self.comparator().compare_user_keys(first, target).is_gt());
        let handle = entry.handle;
        if starts_behind || self.is_in_gap(&position, target)? {
            return Ok(IndexSeekResult::Absent);
        }
        Ok(IndexSeekResult::Found(handle))
    }

    /// True when the target's user key is known to be in no data block, given the position that a search for it led to.
    /// Nothing is read for the answer.
    #[inline]
    pub(crate) fn is_in_gap(
        &self,
        position: &PositionOf<impl Deref<Target = CachedBlock>>,
        target: &[u8],
    ) -> Result<bool> {
        if self.index.knows_gaps() { self.find_gap(position, user_key(target)) } else { Ok(false) }
    }

    fn find_gap(&self, position: &PositionOf<impl Deref<Target = CachedBlock>>, user_key: &[u8]) -> Result<bool> {
        let rows = position.rows(self.comparator().user())?;
        if rows.is_some_and(|rows| rows.begins_after(user_key)) {
            return Ok(true);
        }
        self.partition_ended_before(position, user_key)
    }

    /// True when no row of the user key's partition is in the block that a search for the key led to, nor behind it.
    ///
    /// Take a guarantee for two blocks. The separator before the block has the partition's prefix, so the block before
    /// ends with a row of it: separators between different prefixes are last keys. Had it a row in this block, too, it
    /// would span two blocks, so it would end on a cut, and the separator of this block would have its prefix. For a
    /// guarantee of `n` blocks, the separators of the `n - 1` blocks before are compared.
    pub(crate) fn partition_ended_before(
        &self,
        position: &PositionOf<impl Deref<Target = CachedBlock>>,
        user_key: &[u8],
    ) -> Result<bool> {
        let Some(boundary) = self.index.partition_cut() else { return Ok(false) };
        let Some(prefix) = boundary.extractor.prefix(user_key) else { return Ok(false) };
        let decoder = self.loader.decoder();
        let is_of_partition =
            |separator: &[u8]| boundary.extractor.prefix(decoder.separator_user_key(separator)) == Some(prefix);
        let mut separator = Vec::new();
        position.key_into(&mut separator)?;
        if is_of_partition(&separator) {
            return Ok(false);
        }
        let in_memory = |handle| self.index.partitions()?.peek(self.loader, handle);
        position.all_before(boundary.min_blocks - 1, is_of_partition, in_memory)
    }

    /// Goes to the first entry at or after `target`, on a fresh position. A block that is not in memory is not read: it
    /// is returned, and the position is not valid.
    #[inline]
    pub(crate) fn seek<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        target: &[u8],
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        index_walk::place(&InMemory { index: *self, loaded }, position, SeekTarget::AtOrAfter(target))
    }

    /// Goes to the next entry. A partition that is not in memory is not read: it is returned, and the position stands
    /// between the partitions until this is called again.
    pub(crate) fn next<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        index_walk::step(&InMemory { index: *self, loaded }, position, Direction::Forward)
    }
}

/// The blocks of an index that are in memory, and those that were read for one lookup.
struct InMemory<'a, 'l> {
    index: ResidentIndex<'a>,
    loaded: &'l LoadedBlocks,
}

impl<'a> IndexBlocks<'a> for InMemory<'a, '_> {
    #[inline]
    fn comparator(&self) -> &InternalComparator {
        self.index.comparator()
    }

    #[inline]
    fn is_partitioned(&self) -> bool {
        self.index.index.partitions().is_some()
    }

    #[inline]
    fn root(&self) -> Result<Resident<'a>> {
        Ok(self.index.index.root().resident(self.index.loader, self.loaded))
    }

    #[inline]
    fn partition(&self, top: &IndexBlock, cursor: &IndexCursor, _: Step) -> Result<Resident<'a>> {
        let ResidentIndex { index, loader } = self.index;
        match index.partitions() {
            Some(partitions) => Ok(partitions.find(loader, cursor.entry(top).handle, BlockRole::Index, self.loaded)),
            None => self.root(),
        }
    }
}
