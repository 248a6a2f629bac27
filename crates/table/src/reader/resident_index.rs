//! Searches of an index in the blocks that are in memory: no call reads. What is missing is read by
//! [`IndexFetcher`](super::index_fetcher::IndexFetcher).

use super::block_loader::BlockLoader;
use super::index_position::{KeepBlock, PositionOf};
use super::index_reader::IndexReader;
use super::resident::{LoadedBlocks, NeededBlock, Resident};
use crate::blocks::BlockRole;
use ferrock_base::{Comparator, InternalComparator, Result};
use ferrock_format::block::IndexCursor;
use ferrock_format::handle::BlockHandle;

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
    /// True when what follows a block is larger than its separator as a user key: see
    /// [`ScanBounds`](super::ScanBounds).
    pub(crate) fn separators_are_exact(&self) -> bool {
        self.loader.index_format.key_is_user_key && matches!(self.comparator().user(), Comparator::Bytewise)
    }

    fn comparator(&self) -> &'a InternalComparator {
        &self.loader.comparator
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
        let mut leaf = match self.index.root.resident(self.loader, loaded) {
            Resident::Block(root) => root,
            Resident::Missing(needed) => return Ok(Some(needed)),
        };
        if let Some(partitions) = &self.index.partitions {
            let mut cursor = IndexCursor::new();
            cursor.seek(leaf.index()?, self.comparator(), target);
            cursor.status()?;
            if !cursor.valid() {
                return Ok(None);
            }
            let handle = cursor.entry(leaf.index()?).handle;
            let partition = match partitions.find(self.loader, handle, BlockRole::Index, loaded) {
                Resident::Block(partition) => partition,
                Resident::Missing(needed) => return Ok(Some(needed)),
            };
            position.top = Some((G::keep(std::mem::replace(&mut leaf, partition)), cursor));
        }
        position.cursor.seek(leaf.index()?, self.comparator(), target);
        position.cursor.status()?;
        position.leaf = Some(G::keep(leaf));
        self.skip_empty(position, loaded)
    }

    /// Goes to the next entry. A partition that is not in memory is not read: it is returned, and the position stands
    /// between the partitions until this is called again.
    pub(crate) fn next<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        if let Some(leaf) = &position.leaf {
            position.cursor.next(leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty(position, loaded)
    }

    #[inline]
    fn skip_empty<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        while !position.cursor.valid() {
            let (Some((top, cursor)), Some(partitions)) = (&mut position.top, &self.index.partitions) else { break };
            let mut next = cursor.clone();
            next.next(top.index()?);
            next.status()?;
            if !next.valid() {
                *cursor = next;
                break;
            }
            let handle = next.entry(top.index()?).handle;
            let leaf = match partitions.find(self.loader, handle, BlockRole::Index, loaded) {
                Resident::Block(leaf) => G::keep(leaf),
                Resident::Missing(needed) => return Ok(Some(needed)),
            };
            *cursor = next;
            position.cursor.seek_to_first(leaf.index()?);
            position.cursor.status()?;
            position.leaf = Some(leaf);
        }
        Ok(None)
    }
}
