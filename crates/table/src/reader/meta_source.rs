//! Where a reader finds its own index and filter blocks: kept with it, or in the block cache.

use super::block_loader::BlockLoader;
use super::late_index::LateIndex;
use super::placement::{Placement, Residence};
use super::read_options::TableReadOptions;
use super::resident::{LoadedBlocks, NeededBlock, Resident};
use super::uncache::Uncaching;
use crate::blocks::{BlockGuard, BlockRef, BlockRole, CachedBlock};
use ferrock_base::{Error, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::ReadContext;
use std::sync::OnceLock;

/// One metadata block.
#[derive(Debug)]
pub(crate) enum MetaSource {
    /// In the reader's own memory.
    Kept(BlockRef),
    /// The same, decoded when it is needed.
    Late(LateIndex),
    /// In the cache, from where it may be evicted.
    InCache(BlockHandle, BlockRole),
    /// In the cache, held there.
    Pinned(BlockRef),
}

impl MetaSource {
    /// Reads the block.
    pub(crate) fn open(loader: &BlockLoader, handle: BlockHandle, role: BlockRole, place: Residence) -> Result<Self> {
        if place == Residence::Kept {
            return Ok(Self::Kept(loader.read_kept(handle, role, &ReadContext::for_class(role.read_class()))?));
        }
        let block = loader.load(handle, role, &TableReadOptions::default())?;
        // A block that the cache had no room for is not held outside of it.
        Ok(if place == Residence::Pinned && block.is_cached() {
            Self::Pinned(block)
        } else {
            Self::InCache(handle, role)
        })
    }

    /// Reads the whole index of a table.
    pub(crate) fn open_index(loader: &BlockLoader, handle: BlockHandle, placement: &Placement) -> Result<Self> {
        if placement.unpartitioned == Residence::Kept && placement.decodes_index_late {
            return LateIndex::open(loader, handle).map(Self::Late);
        }
        Self::open(loader, handle, BlockRole::Index, placement.unpartitioned)
    }

    #[inline]
    pub(crate) fn get<'a>(&'a self, loader: &BlockLoader, options: &TableReadOptions) -> Result<BlockGuard<'a>> {
        match self {
            Self::Kept(block) | Self::Pinned(block) => Ok(BlockGuard::Borrowed(block)),
            Self::Late(index) => match index.decoded() {
                Some(block) => Ok(BlockGuard::Borrowed(block)),
                None => index.decode(loader).map(BlockGuard::Borrowed),
            },
            Self::InCache(handle, role) => loader.load(*handle, *role, options).map(BlockGuard::Held),
        }
    }

    /// The block, if it is held outside or within the cache for as long as the reader is open, and decoded with it.
    #[inline]
    pub(crate) fn kept(&self) -> Option<&BlockRef> {
        match self {
            Self::Kept(block) | Self::Pinned(block) => Some(block),
            Self::Late(_) | Self::InCache(..) => None,
        }
    }

    /// The block, if it is in memory: with the reader, with the lookup or in the cache.
    #[inline]
    pub(crate) fn resident<'a>(&'a self, loader: &BlockLoader, loaded: &LoadedBlocks) -> Resident<'a> {
        match self {
            Self::Kept(block) | Self::Pinned(block) => Resident::Block(BlockGuard::Borrowed(block)),
            Self::Late(index) => match index.decoded() {
                Some(block) => Resident::Block(BlockGuard::Borrowed(block)),
                None => Self::decode_late(index, loader, loaded),
            },
            Self::InCache(handle, role) => loaded.resident(loader, *handle, *role),
        }
    }

    #[cold]
    fn decode_late<'a>(index: &'a LateIndex, loader: &BlockLoader, loaded: &LoadedBlocks) -> Resident<'a> {
        match index.decode(loader) {
            Ok(block) => Resident::Block(BlockGuard::Borrowed(block)),
            // The read of it says what is wrong.
            Err(_) => loaded.resident(loader, index.handle(), BlockRole::Index),
        }
    }

    /// The block, if it is not in memory; nothing is counted.
    pub(crate) fn missing(&self, loader: &BlockLoader) -> Option<NeededBlock> {
        match self {
            Self::Kept(_) | Self::Late(_) | Self::Pinned(_) => None,
            Self::InCache(handle, role) => {
                loader.cache().peek(*handle, *role).is_none().then_some(NeededBlock { handle: *handle, role: *role })
            }
        }
    }

    /// The block, if it is in memory and decoded, for a caller that works without it; nothing is counted.
    pub(super) fn peek<'a>(&'a self, loader: &BlockLoader) -> Option<BlockGuard<'a>> {
        match self {
            Self::Kept(block) | Self::Pinned(block) => Some(BlockGuard::Borrowed(block)),
            Self::Late(index) => index.decoded().map(BlockGuard::Borrowed),
            Self::InCache(handle, role) => loader.cache().peek(*handle, *role).map(BlockGuard::Held),
        }
    }

    /// Takes the block out of the cache, if it is there.
    pub(super) fn uncache(&self, uncaching: &mut Uncaching<'_>) {
        match self {
            Self::Kept(_) | Self::Late(_) => {}
            Self::InCache(handle, _) => {
                uncaching.erase(*handle);
            }
            Self::Pinned(block) => {
                uncaching.count(block.erase());
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Kept(block) => block.memory_bytes(),
            Self::Late(index) => index.memory_bytes(),
            Self::InCache(..) | Self::Pinned(_) => 0,
        }
    }
}

/// Partitions of an index or a filter.
#[derive(Debug)]
pub(crate) enum Partitions {
    /// Without a cache: each is kept once it was read; offset and block, by offset.
    Kept(Vec<(u64, OnceLock<BlockRef>)>),
    /// In the cache.
    InCache,
    /// In the cache, held there: offset and block, by offset. Partitions that the cache had no room for are not in the
    /// map.
    Pinned(Vec<(u64, BlockRef)>),
}

impl Partitions {
    /// For partitions at `handles`, all used in one way.
    pub(crate) fn open(
        loader: &BlockLoader,
        mut handles: Vec<BlockHandle>,
        role: BlockRole,
        placement: &Placement,
    ) -> Result<Self> {
        handles.retain(|handle| handle.size > 0);
        handles.sort_by_key(|handle| (handle.offset, handle.size));
        handles.dedup();
        check_apart(&handles, loader.blocks_end())?;
        match placement.partitions {
            Residence::InCache => Ok(Self::InCache),
            Residence::Pinned => {
                let mut held = Vec::new();
                for handle in handles {
                    let block = loader.load(handle, role, &TableReadOptions::default())?;
                    if block.is_cached() {
                        held.push((handle.offset, block));
                    }
                }
                Ok(Self::Pinned(held))
            }
            Residence::Kept => {
                let mut slots = Vec::with_capacity(handles.len());
                for handle in handles {
                    let slot = OnceLock::new();
                    if placement.loads_partitions {
                        let _ = slot.set(loader.read_kept(handle, role, &ReadContext::for_class(role.read_class()))?);
                    }
                    slots.push((handle.offset, slot));
                }
                Ok(Self::Kept(slots))
            }
        }
    }

    pub(crate) fn get<'a>(
        &'a self,
        loader: &BlockLoader,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
    ) -> Result<BlockGuard<'a>> {
        let slot = match self {
            Self::Kept(_) => self.slot(handle),
            Self::InCache => return loader.load(handle, role, options).map(BlockGuard::Held),
            Self::Pinned(held) => {
                return match held.binary_search_by_key(&handle.offset, |held| held.0) {
                    Ok(index) => Ok(BlockGuard::Borrowed(&held[index].1)),
                    Err(_) => loader.load(handle, role, options).map(BlockGuard::Held),
                };
            }
        };
        let Some(slot) = slot else {
            return loader.load(handle, role, options).map(BlockGuard::Held);
        };
        if let Some(block) = slot.get() {
            return Ok(BlockGuard::Borrowed(block));
        }
        if options.reads_memory_only() {
            return loader.load(handle, role, options).map(BlockGuard::Held);
        }
        let context = options.read_context(role.read_class());
        let block = loader.read_kept(handle, role, &context)?;
        Ok(BlockGuard::Borrowed(slot.get_or_init(|| block)))
    }

    fn kept(slots: &[(u64, OnceLock<BlockRef>)], handle: BlockHandle) -> Option<&OnceLock<BlockRef>> {
        slots.binary_search_by_key(&handle.offset, |slot| slot.0).ok().map(|index| &slots[index].1)
    }

    /// The partition if it is in memory, for a caller that needs it; counts a cache hit.
    pub(crate) fn resident<'a>(&'a self, loader: &BlockLoader, handle: BlockHandle) -> Option<BlockGuard<'a>> {
        let present = || loader.cache().find_present(handle, BlockRole::Index);
        self.held(handle).map(BlockGuard::Borrowed).or_else(|| present().map(BlockGuard::Held))
    }

    /// The partition if it is in memory, for a caller that works without it; counts no cache access.
    pub(crate) fn peek<'a>(&'a self, loader: &BlockLoader, handle: BlockHandle) -> Option<BlockGuard<'a>> {
        self.held(handle)
            .map(BlockGuard::Borrowed)
            .or_else(|| loader.cache().peek(handle, BlockRole::Index).map(BlockGuard::Held))
    }

    /// True for a partition that the reader keeps or holds.
    pub(super) fn holds(&self, handle: BlockHandle) -> bool {
        self.held(handle).is_some()
    }

    fn held(&self, handle: BlockHandle) -> Option<&BlockRef> {
        match self {
            Self::Kept(slots) => Self::kept(slots, handle)?.get(),
            Self::InCache => None,
            Self::Pinned(held) => {
                held.binary_search_by_key(&handle.offset, |held| held.0).ok().map(|index| &held[index].1)
            }
        }
    }

    /// Keeps a partition that was read together with others, as [`get`](Self::get) would have.
    pub(crate) fn keep(
        &self,
        loader: &BlockLoader,
        handle: BlockHandle,
        block: CachedBlock,
        options: &TableReadOptions,
    ) -> Result<BlockRef> {
        match self {
            Self::Kept(slots) if let Some(slot) = Self::kept(slots, handle) => {
                Ok(slot.get_or_init(|| BlockRef::standalone(block)).clone())
            }
            _ => loader.cache().keep(handle, BlockRole::Index, block, options),
        }
    }

    /// As [`get`](Self::get), of what is in memory: with the reader, with the lookup or in the cache.
    pub(crate) fn find<'a>(
        &'a self,
        loader: &BlockLoader,
        handle: BlockHandle,
        role: BlockRole,
        loaded: &LoadedBlocks,
    ) -> Resident<'a> {
        match self.held(handle) {
            Some(block) => Resident::Block(BlockGuard::Borrowed(block)),
            None => loaded.resident(loader, handle, role),
        }
    }

    /// Where a partition is kept once it was read.
    pub(crate) fn slot(&self, handle: BlockHandle) -> Option<&OnceLock<BlockRef>> {
        match self {
            Self::Kept(slots) => Self::kept(slots, handle),
            Self::InCache | Self::Pinned(_) => None,
        }
    }

    /// Takes the partitions that the reader holds there out of the cache.
    pub(super) fn uncache_pinned(&self, uncaching: &mut Uncaching<'_>) {
        if let Self::Pinned(held) = self {
            for (_, block) in held {
                uncaching.count(block.erase());
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Kept(slots) => slots.iter().filter_map(|slot| slot.1.get()).map(|block| block.memory_bytes()).sum(),
            Self::InCache | Self::Pinned(_) => 0,
        }
    }
}

/// Checks that partitions lie in the file and do not overlap: otherwise a small file could make a reader that keeps
/// them hold its size once per handle of the top level.
fn check_apart(handles: &[BlockHandle], blocks_end: u64) -> Result<()> {
    let mut previous_end = 0;
    for handle in handles {
        if handle.offset < previous_end {
            let message = format!("partitions overlap: one ends at offset {previous_end}, another begins before it");
            return Err(Error::corruption(message).at_offset(handle.offset));
        }
        handle.checked_len_with_trailer(blocks_end)?;
        previous_end = handle.end_with_trailer().unwrap_or(u64::MAX);
    }
    Ok(())
}
