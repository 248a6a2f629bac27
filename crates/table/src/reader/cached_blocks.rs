//! The blocks of one file in the cache that tables share.

use super::lookup::LookupCounts;
use super::mapped_blocks::MappedBlocks;
use super::read_options::TableReadOptions;
use crate::blocks::{BlockRef, BlockRole, CachedBlock, TableBlockCache};
use ferrock_base::Result;
use ferrock_cache::{CacheKey, EntryRole, Priority, Reservation};
use ferrock_format::handle::BlockHandle;
use ferrock_statistics::{LevelMetric, PerfMetric, PerfRecorder, Statistics, Ticker};
use std::sync::Arc;

/// The blocks of one file in the cache, if there is one.
#[derive(Debug)]
pub(crate) struct CachedBlocks {
    cache: Option<Arc<TableBlockCache>>,
    /// Blocks of a mapped file that need no cache.
    mapped: Option<MappedBlocks>,
    /// Distinguishes the blocks of this file from those of all others.
    key_base: (u64, u64),
    high_priority_metadata: bool,
    /// Index blocks are partitions, which outlast those of filters.
    index_is_partitioned: bool,
    /// That of the file, where counts are wanted by it.
    level: usize,
    statistics: Option<Arc<Statistics>>,
}

impl CachedBlocks {
    /// For a file whose identity is not known yet: nothing is to be looked up before it is.
    pub(crate) fn new(
        cache: Option<Arc<TableBlockCache>>,
        high_priority_metadata: bool,
        level: usize,
        statistics: Option<Arc<Statistics>>,
    ) -> Self {
        let (mapped, key_base, index_is_partitioned) = (None, (0, 0), false);
        Self { cache, mapped, key_base, high_priority_metadata, index_is_partitioned, level, statistics }
    }

    /// That of the file.
    #[inline]
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Sets the prefix of the file's keys, and whether index blocks are partitions.
    pub(crate) fn identify(&mut self, key_base: (u64, u64), index_is_partitioned: bool) {
        (self.key_base, self.index_is_partitioned) = (key_base, index_is_partitioned);
    }

    /// From now on blocks of a mapped file are read where they lie.
    pub(crate) fn map(&mut self, mapped: MappedBlocks) {
        self.mapped = Some(mapped);
    }

    /// Memory of what is known of a mapped file.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.mapped.as_ref().map_or(0, MappedBlocks::memory_bytes)
    }

    /// The block, if it is read where it lies in a mapped file.
    #[inline]
    pub(crate) fn find_mapped(&self, handle: BlockHandle, role: BlockRole) -> Option<BlockRef> {
        match &self.mapped {
            Some(mapped) => mapped.find(handle, role),
            None => None,
        }
    }

    /// True when there is a cache.
    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        self.cache.is_some()
    }

    #[inline]
    pub(crate) fn index_is_partitioned(&self) -> bool {
        self.index_is_partitioned
    }

    #[inline]
    fn key(&self, handle: BlockHandle) -> CacheKey {
        CacheKey::new(self.key_base, handle.offset)
    }

    fn priority(&self, role: BlockRole) -> Priority {
        match role {
            BlockRole::Data => Priority::Low,
            _ if !self.high_priority_metadata => Priority::Low,
            // A lookup works without a filter partition, at the price of an occasional useless read.
            BlockRole::Index if self.index_is_partitioned => Priority::Highest,
            _ => Priority::High,
        }
    }

    /// The block, if it is mapped or in the cache, which counts a hit or a miss.
    #[inline]
    pub(crate) fn find(&self, handle: BlockHandle, role: BlockRole) -> Option<BlockRef> {
        if let Some(block) = self.find_mapped(handle, role) {
            return Some(block);
        }
        let found = self.cache.as_ref()?.lookup_as(&self.key(handle), role.entry_role());
        if self.statistics.is_some() || PerfRecorder::is_used() {
            self.count_lookup(role, found.as_ref());
        }
        found
    }

    /// The data block, if it is mapped or in the cache, which the lookup counts.
    #[inline]
    pub(crate) fn find_data(&self, handle: BlockHandle, counts: &impl LookupCounts) -> Option<BlockRef> {
        if let Some(block) = self.find_mapped(handle, BlockRole::Data) {
            return Some(block);
        }
        let found = self.cache.as_ref()?.lookup_as(&self.key(handle), BlockRole::Data.entry_role());
        counts.note_data(self.level, found.as_ref().map(BlockRef::charge));
        found
    }

    /// The block, if it is mapped or in the cache, for a caller that works without it: counts a hit, but no miss.
    pub(crate) fn find_present(&self, handle: BlockHandle, role: BlockRole) -> Option<BlockRef> {
        self.find_mapped(handle, role).or_else(|| {
            let found = self.cache.as_ref()?.lookup_present(&self.key(handle), role.entry_role());
            if found.is_some() {
                self.count_lookup(role, found.as_ref());
            }
            found
        })
    }

    /// The block, if it is mapped or in the cache; nothing is counted.
    pub(crate) fn peek(&self, handle: BlockHandle, role: BlockRole) -> Option<BlockRef> {
        self.find_mapped(handle, role).or_else(|| self.cache.as_ref()?.peek(&self.key(handle)))
    }

    /// Removes a block from the cache; false when it is not there. Holders keep it, and nothing is counted.
    pub(crate) fn erase(&self, handle: BlockHandle) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.erase(&self.key(handle)))
    }

    /// Puts a block that was read into the cache, where that is wanted.
    pub(crate) fn keep(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        block: CachedBlock,
        options: &TableReadOptions,
    ) -> Result<BlockRef> {
        match &self.cache {
            Some(cache) if options.fills_cache_with(role) => {
                let charge = block.memory_bytes();
                let kept =
                    cache.insert_or_fail(&self.key(handle), block, charge, role.entry_role(), self.priority(role));
                self.count_insert(role, charge, kept)
            }
            _ => Ok(BlockRef::standalone(block)),
        }
    }

    /// The block, which was just looked up in vain, made by `read`, which is called at most once, or twice if another
    /// read failed. `is_opening`: a full cache does not prevent a table from opening, as the reads that need the block
    /// fail, if the cache is strict.
    pub(crate) fn load_missing(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        is_opening: bool,
        mut read: impl FnMut() -> Result<CachedBlock>,
    ) -> Result<BlockRef> {
        let Some(cache) = &self.cache else { return read().map(BlockRef::standalone) };
        let (key, priority, entry_role, mut loaded) = (self.key(handle), self.priority(role), role.entry_role(), None);
        let load = || {
            let block = read()?;
            let charge = *loaded.insert(block.memory_bytes());
            Ok((block, charge))
        };
        let block = if is_opening {
            cache.load_missing_past(&key, entry_role, priority, load)
        } else {
            cache.load_missing(&key, entry_role, priority, load)
        };
        match loaded {
            Some(charge) => self.count_insert(role, charge, block),
            None => block,
        }
    }

    /// Counts a block of so many bytes that the cache took, or refused.
    fn count_insert(&self, role: BlockRole, charge: usize, kept: Result<BlockRef>) -> Result<BlockRef> {
        if let Some(recorder) = self.statistics.as_ref().and_then(|statistics| statistics.recorder()) {
            let (add, bytes) = match role {
                BlockRole::Data => (Ticker::BlockCacheDataAdd, Ticker::BlockCacheDataBytesInsert),
                BlockRole::Index | BlockRole::IndexTop => {
                    (Ticker::BlockCacheIndexAdd, Ticker::BlockCacheIndexBytesInsert)
                }
                BlockRole::Filter | BlockRole::FilterIndex => {
                    (Ticker::BlockCacheFilterAdd, Ticker::BlockCacheFilterBytesInsert)
                }
            };
            if kept.as_ref().is_ok_and(BlockRef::is_cached) {
                recorder.add(Ticker::BlockCacheAdd, 1);
                recorder.add(Ticker::BlockCacheBytesWrite, charge as u64);
                recorder.add(add, 1);
                recorder.add(bytes, charge as u64);
            } else {
                recorder.add(Ticker::BlockCacheAddFailures, 1);
            }
        }
        kept
    }

    /// True for a loaded block that a cache with a strict limit had no room for.
    pub(crate) fn was_refused(&self, block: &BlockRef) -> bool {
        !block.is_cached()
            && !block.is_mapped()
            && self.cache.as_ref().is_some_and(|cache| cache.has_strict_capacity_limit())
    }

    /// Charges memory beside blocks to the cache.
    pub(crate) fn reserve(&self, bytes: usize, role: EntryRole) -> Result<Option<Reservation>> {
        self.cache.as_ref().map(|cache| cache.reserve(bytes, role)).transpose()
    }

    /// Counts a look into the cache that is not part of a lookup of a key, or for an index or filter block.
    fn count_lookup(&self, role: BlockRole, found: Option<&BlockRef>) {
        let perf = PerfRecorder::of_thread();
        if let Some(perf) = perf {
            let (hit, miss) = (LevelMetric::BlockCacheHitCount, LevelMetric::BlockCacheMissCount);
            perf.add_of_level(self.level, if found.is_some() { hit } else { miss }, 1);
        }
        if let (Some(perf), Some(block)) = (perf, found) {
            perf.add(PerfMetric::BlockCacheHitCount, 1);
            perf.add(PerfMetric::BlockCacheReadByte, block.charge() as u64);
            match role {
                BlockRole::Index | BlockRole::IndexTop => {
                    perf.add(PerfMetric::BlockCacheIndexHitCount, 1);
                    perf.add(PerfMetric::BlockCacheIndexReadByte, block.charge() as u64);
                }
                BlockRole::Filter | BlockRole::FilterIndex => {
                    perf.add(PerfMetric::BlockCacheFilterHitCount, 1);
                    perf.add(PerfMetric::BlockCacheFilterReadByte, block.charge() as u64);
                }
                BlockRole::Data => {}
            }
        }
        let Some(recorder) = self.statistics.as_ref().and_then(|statistics| statistics.recorder()) else { return };
        let (hit, miss) = match role {
            BlockRole::Data => (Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss),
            BlockRole::Index | BlockRole::IndexTop => (Ticker::BlockCacheIndexHit, Ticker::BlockCacheIndexMiss),
            BlockRole::Filter | BlockRole::FilterIndex => (Ticker::BlockCacheFilterHit, Ticker::BlockCacheFilterMiss),
        };
        match found {
            Some(block) => {
                recorder.add(Ticker::BlockCacheHit, 1);
                recorder.add(Ticker::BlockCacheBytesRead, block.charge() as u64);
                recorder.add(hit, 1);
            }
            None => {
                recorder.add(Ticker::BlockCacheMiss, 1);
                recorder.add(miss, 1);
            }
        }
    }
}
