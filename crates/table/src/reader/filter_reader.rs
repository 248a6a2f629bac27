//! The filter of a table, whole or partitioned.
//!
//! Filter partitions that may be evicted are read only where that pays. A partition spares the reads of absent keys and
//! costs every lookup that does not find it in the cache one more read, before those of index and data. So the table
//! measures which share of its lookups finds nothing, and of the partitions that lookups would have to read it reads
//! that share: all of them where keys are mostly absent, none on a last level where most lookups hit. In between,
//! partitions enter the cache in that proportion.

use super::block_loader::BlockLoader;
use super::index_reader::handles;
use super::meta_source::{MetaSource, Partitions};
use super::placement::Placement;
use super::read_options::TableReadOptions;
use super::resident::{LoadedBlocks, NeededBlock, Resident};
use super::uncache::{Uncaching, Yield, visit_handles};
use crate::adaptive::FilterMissRate;
use crate::blocks::{BlockGuard, BlockRole};
use ferrock_base::Result;
use ferrock_base::internal_key::make_internal_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType};
use ferrock_format::block::{IndexBlock, IndexCursor};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::TableProperties;

/// What a filter says without reading.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FilterAnswer {
    MayMatch,
    Absent,
    /// The filter cannot answer before this block is read.
    Needs(NeededBlock),
}

impl From<bool> for FilterAnswer {
    fn from(may_match: bool) -> Self {
        if may_match { Self::MayMatch } else { Self::Absent }
    }
}

#[derive(Debug)]
enum Blocks {
    Full(MetaSource),
    Partitioned { top: MetaSource, partitions: Partitions },
}

/// A filter, and the kinds of query that it can answer.
#[derive(Debug)]
pub(crate) struct FilterReader {
    blocks: Blocks,
    has_whole_keys: bool,
    /// The extractor, when prefixes are in the filter and were made by the same one.
    prefix_extractor: Option<PrefixExtractor>,
    /// Share of the lookups that found nothing; `None` if partitions cannot be evicted, where it decides nothing.
    miss_rate: Option<FilterMissRate>,
}

impl FilterReader {
    /// Opens the filter that the metaindex names; `None` when there is none, or none that can be used. A filter cannot
    /// be used if keys that differ in bytes may compare equal, whichever engine wrote it.
    pub(crate) fn open(
        loader: &BlockLoader,
        handles_in_file: &MetaBlockHandles,
        properties: &TableProperties,
        prefix_extractor: Option<&PrefixExtractor>,
        placement: &Placement,
    ) -> Result<Option<Self>> {
        let has_whole_keys = properties.filter_has_whole_keys();
        let prefix_extractor = prefix_extractor
            .filter(|extractor| {
                properties.filter_has_prefixes() && extractor.name() == properties.prefix_extractor_name
            })
            .cloned();
        let by_bytes = !loader.comparator().user().can_keys_with_different_bytes_be_equal();
        if !by_bytes || !has_whole_keys && prefix_extractor.is_none() {
            return Ok(None);
        }
        let blocks = if let Some(handle) = handles_in_file.full_filter {
            Blocks::Full(MetaSource::open(loader, handle, BlockRole::Filter, placement.unpartitioned)?)
        } else if let Some(handle) = handles_in_file.partitioned_filter {
            let top = MetaSource::open(loader, handle, BlockRole::FilterIndex, placement.top_level)?;
            let found = {
                let block = top.get(loader, &TableReadOptions::default())?;
                handles(&block)?
            };
            let partitions = Partitions::open(loader, found, BlockRole::Filter, placement)?;
            Blocks::Partitioned { top, partitions }
        } else {
            return Ok(None);
        };
        let is_evicted = matches!(&blocks, Blocks::Partitioned { partitions: Partitions::InCache, .. });
        let miss_rate = is_evicted.then(FilterMissRate::default);
        Ok(Some(Self { blocks, has_whole_keys, prefix_extractor, miss_rate }))
    }

    /// Records the outcome of a lookup for which the filter was queried.
    #[inline]
    pub(crate) fn note_lookup(&self, was_found: bool) {
        if let Some(share) = &self.miss_rate {
            share.note(!was_found);
        }
    }

    /// What a filter of whole keys that the reader keeps says about a user key; `None` for any other filter.
    #[inline]
    pub(crate) fn kept_answer(&self, user_key: &[u8]) -> Option<bool> {
        match &self.blocks {
            Blocks::Full(source) if self.has_whole_keys => Some(source.kept()?.filter().ok()?.may_match(user_key)),
            Blocks::Full(_) | Blocks::Partitioned { .. } => None,
        }
    }

    /// True where lookups ask it for whole keys.
    #[inline]
    pub(crate) fn is_of_keys(&self) -> bool {
        self.has_whole_keys
    }

    /// Asks for a user key, or its prefix where the filter has only prefixes. `MayMatch` also if the read of a
    /// partition would not pay; `was_asked`: the answer is that of a filter.
    #[inline]
    pub(crate) fn ask_key(
        &self,
        loader: &BlockLoader,
        user_key: &[u8],
        internal_key: &[u8],
        loaded: &LoadedBlocks,
        was_asked: &mut bool,
    ) -> Result<FilterAnswer> {
        let prefix = || self.prefix_extractor.as_ref().and_then(|extractor| extractor.prefix(user_key));
        match if self.has_whole_keys { Some(user_key) } else { prefix() } {
            Some(entry) => self.ask(loader, entry, internal_key, loaded, self.miss_rate.as_ref(), was_asked),
            None => Ok(FilterAnswer::MayMatch),
        }
    }

    /// Asks for the prefix of a user key; `MayMatch` if it has none.
    pub(crate) fn ask_prefix(
        &self,
        loader: &BlockLoader,
        user_key: &[u8],
        loaded: &LoadedBlocks,
    ) -> Result<FilterAnswer> {
        match self.prefix_extractor.as_ref().and_then(|extractor| extractor.prefix(user_key)) {
            Some(prefix) => {
                let first = make_internal_key(user_key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
                self.ask(loader, prefix, &first, loaded, None, &mut false)
            }
            None => Ok(FilterAnswer::MayMatch),
        }
    }

    /// Asks for an entry, with the blocks that are in memory.
    #[inline]
    fn ask(
        &self,
        loader: &BlockLoader,
        entry: &[u8],
        internal_key: &[u8],
        loaded: &LoadedBlocks,
        may_skip: Option<&FilterMissRate>,
        was_asked: &mut bool,
    ) -> Result<FilterAnswer> {
        let mut answer = |may_match: bool| {
            *was_asked = true;
            Ok(may_match.into())
        };
        match &self.blocks {
            Blocks::Full(source) => match source.resident(loader, loaded) {
                Resident::Block(filter) => answer(filter.filter()?.may_match(entry)),
                Resident::Missing(needed) => Ok(FilterAnswer::Needs(needed)),
            },
            Blocks::Partitioned { top, partitions } => {
                let top = match top.resident(loader, loaded) {
                    Resident::Block(top) => top,
                    Resident::Missing(needed) => return Ok(FilterAnswer::Needs(needed)),
                };
                let Some(handle) = partition_of(top.index()?, loader, internal_key)? else {
                    return Ok(FilterAnswer::MayMatch);
                };
                if let Some(miss_rate) = may_skip {
                    match loaded.present(loader, handle, BlockRole::Filter) {
                        Some(partition) => return answer(partition.filter()?.may_match(entry)),
                        None if !miss_rate.draw() => return Ok(FilterAnswer::MayMatch),
                        None => {}
                    }
                }
                match partitions.find(loader, handle, BlockRole::Filter, loaded) {
                    Resident::Block(partition) => answer(partition.filter()?.may_match(entry)),
                    Resident::Missing(needed) => Ok(FilterAnswer::Needs(needed)),
                }
            }
        }
    }

    /// The partitions of a partitioned filter.
    pub(crate) fn partitions(&self) -> Option<&Partitions> {
        match &self.blocks {
            Blocks::Full(_) => None,
            Blocks::Partitioned { partitions, .. } => Some(partitions),
        }
    }

    /// Takes the blocks of the filter out of the cache: see [`uncache`](super::uncache).
    pub(super) fn uncache(&self, uncaching: &mut Uncaching<'_>) {
        match &self.blocks {
            Blocks::Full(source) => source.uncache(uncaching),
            Blocks::Partitioned { top, partitions } => {
                partitions.uncache_pinned(uncaching);
                let are_kept = matches!(partitions, Partitions::Kept(_));
                if let Some(block) = top.peek(uncaching.loader).filter(|_| !are_kept) {
                    let mut of_partitions = Yield::new(uncaching.aggressiveness);
                    visit_handles(&block, |handle| {
                        if handle.size > 0 && !partitions.holds(handle) {
                            of_partitions.note(uncaching.erase(handle));
                        }
                        of_partitions.goes_on()
                    });
                }
                top.uncache(uncaching);
            }
        }
    }

    /// Loads every partition into the cache or the reader, where lookups find it. False when the cache refused a block.
    pub(crate) fn load_partitions(&self, loader: &BlockLoader, options: &TableReadOptions) -> Result<bool> {
        let Blocks::Partitioned { top, partitions } = &self.blocks else { return Ok(true) };
        let was_refused =
            |block: &BlockGuard<'_>| matches!(block, BlockGuard::Held(block) if loader.cache().was_refused(block));
        let top = top.get(loader, options)?;
        if was_refused(&top) {
            return Ok(false);
        }
        for handle in handles(&top)?.into_iter().filter(|handle| handle.size > 0) {
            if was_refused(&partitions.get(loader, handle, BlockRole::Filter, options)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match &self.blocks {
            Blocks::Full(source) => source.memory_bytes(),
            Blocks::Partitioned { top, partitions } => top.memory_bytes() + partitions.memory_bytes(),
        }
    }
}

/// The partition that has the filter bits of a key; `None` if there is no such partition.
#[inline]
fn partition_of(index: &IndexBlock, loader: &BlockLoader, internal_key: &[u8]) -> Result<Option<BlockHandle>> {
    if index.is_empty() {
        return Ok(None);
    }
    let mut cursor = IndexCursor::new();
    cursor.seek(index, loader.comparator(), internal_key);
    cursor.status()?;
    if !cursor.valid() {
        // Keys behind the last separator are in the last partition.
        cursor.seek_to_last(index);
        cursor.status()?;
    }
    let handle = cursor.entry(index).handle;
    Ok((handle.size > 0).then_some(handle))
}
