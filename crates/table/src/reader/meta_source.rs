//! Where a reader finds its own index and filter blocks: kept with it, or in the block cache.

use super::block_loader::BlockLoader;
use super::read_options::TableReadOptions;
use crate::blocks::{BlockGuard, BlockRef, BlockRole};
use ferrock_base::Result;
use ferrock_format::handle::BlockHandle;
use std::sync::OnceLock;

/// One metadata block.
#[derive(Debug)]
pub(crate) enum MetaSource {
    /// In the reader's own memory.
    Kept(BlockRef),
    /// In the cache, from where it may be evicted.
    InCache(BlockHandle, BlockRole),
}

impl MetaSource {
    /// Reads the block; keeps it unless `in_cache`.
    pub(crate) fn open(loader: &BlockLoader, handle: BlockHandle, role: BlockRole, in_cache: bool) -> Result<Self> {
        if in_cache {
            loader.load(handle, role, &TableReadOptions::default(), None)?;
            return Ok(Self::InCache(handle, role));
        }
        Ok(Self::Kept(BlockRef::standalone(loader.read(handle, role, true, None)?)))
    }

    #[inline]
    pub(crate) fn get<'a>(&'a self, loader: &BlockLoader, options: &TableReadOptions) -> Result<BlockGuard<'a>> {
        match self {
            Self::Kept(block) => Ok(BlockGuard::Borrowed(block)),
            Self::InCache(handle, role) => loader.load(*handle, *role, options, None).map(BlockGuard::Held),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Kept(block) => block.memory_bytes(),
            Self::InCache(..) => 0,
        }
    }
}

/// Partitions of an index or a filter.
#[derive(Debug)]
pub(crate) enum Partitions {
    /// Each is kept once it was read: offset and block, by offset.
    Kept(Vec<(u64, OnceLock<BlockRef>)>),
    /// In the cache.
    InCache,
}

impl Partitions {
    /// For partitions at `handles`.
    pub(crate) fn new(handles: impl Iterator<Item = BlockHandle>, in_cache: bool) -> Self {
        if in_cache {
            return Self::InCache;
        }
        let mut slots: Vec<(u64, OnceLock<BlockRef>)> =
            handles.map(|handle| (handle.offset, OnceLock::new())).collect();
        slots.sort_by_key(|slot| slot.0);
        slots.dedup_by_key(|slot| slot.0);
        Self::Kept(slots)
    }

    pub(crate) fn get<'a>(
        &'a self,
        loader: &BlockLoader,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
    ) -> Result<BlockGuard<'a>> {
        let Self::Kept(slots) = self else {
            return loader.load(handle, role, options, None).map(BlockGuard::Held);
        };
        let slot = slots.binary_search_by_key(&handle.offset, |slot| slot.0).ok().map(|index| &slots[index].1);
        let Some(slot) = slot else {
            return loader.load(handle, role, options, None).map(BlockGuard::Held);
        };
        if let Some(block) = slot.get() {
            return Ok(BlockGuard::Borrowed(block));
        }
        if options.read_tier == super::ReadTier::BlockCacheOnly {
            return loader.load(handle, role, options, None).map(BlockGuard::Held);
        }
        let block = BlockRef::standalone(loader.read(handle, role, true, None)?);
        Ok(BlockGuard::Borrowed(slot.get_or_init(|| block)))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Kept(slots) => slots.iter().filter_map(|slot| slot.1.get()).map(|block| block.memory_bytes()).sum(),
            Self::InCache => 0,
        }
    }
}
