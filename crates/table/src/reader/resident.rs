//! What a lookup that reads nothing gets: a block in memory, or the name of the block that has to be read first.

use super::block_loader::BlockLoader;
use crate::blocks::{BlockGuard, BlockRef, BlockRole};
use ferrock_format::handle::BlockHandle;

/// A block that a lookup waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededBlock {
    pub(crate) handle: BlockHandle,
    pub(crate) role: BlockRole,
}

/// The result of a lookup that must not read.
#[derive(Debug)]
pub(crate) enum Resident<'a> {
    Block(BlockGuard<'a>),
    /// The block has to be read first.
    Missing(NeededBlock),
}

/// A block that was read for a lookup.
#[derive(Clone, Debug)]
pub struct LoadedBlock {
    pub(crate) offset: u64,
    pub(crate) block: BlockRef,
}

/// Blocks that were read for one lookup, by offset.
#[derive(Debug, Default)]
pub(crate) struct LoadedBlocks(Vec<(u64, BlockRef)>);

impl LoadedBlocks {
    #[inline]
    pub(crate) fn get(&self, handle: BlockHandle) -> Option<&BlockRef> {
        self.0.iter().find(|block| block.0 == handle.offset).map(|block| &block.1)
    }

    /// Adds a block that was read.
    pub(crate) fn add(&mut self, block: LoadedBlock) {
        self.0.push((block.offset, block.block));
    }

    /// Drops all blocks.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// As [`resident`](Self::resident), for a caller that works without the block: a miss is not counted.
    pub(crate) fn present(&self, loader: &BlockLoader, handle: BlockHandle, role: BlockRole) -> Option<BlockRef> {
        self.get(handle).cloned().or_else(|| loader.cache().find_present(handle, role))
    }

    /// A block of the index or the filter that the table does not keep: with the lookup or in the cache. Counts a miss.
    pub(crate) fn resident<'a>(&self, loader: &BlockLoader, handle: BlockHandle, role: BlockRole) -> Resident<'a> {
        match self.get(handle).cloned().or_else(|| loader.cache().find(handle, role)) {
            Some(block) => Resident::Block(BlockGuard::Held(block)),
            None => Resident::Missing(NeededBlock { handle, role }),
        }
    }
}
