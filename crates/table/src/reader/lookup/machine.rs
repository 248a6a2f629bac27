//! Advances a lookup as far as blocks in memory allow.

use super::counts::LookupCounts;
use super::next_blocks::NextBlocks;
use super::search::{Outcome, search_block};
use crate::blocks::{BlockRef, BlockRole, PinnedBlock};
use crate::reader::filter_reader::FilterAnswer;
use crate::reader::resident::{LoadedBlock, LoadedBlocks, NeededBlock};
use crate::reader::resident_index::IndexSeekResult;
use crate::reader::table_blocks::TableBlocks;
use crate::reader::{BlockTable, TableReadOptions};
use ferrock_base::{ErrorKind, LookupKey, ParsedInternalKey, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_statistics::{PerfMetric, PerfTimer};

#[derive(Debug, Default)]
enum Stage {
    /// The filter was not queried yet.
    #[default]
    Filter,
    /// The filter let the key pass.
    Index,
    /// The index named this data block.
    Data(BlockHandle),
    /// That block was searched to its end.
    NextBlocks(Box<NextBlocks>),
}

/// The state of one key's lookup in one table.
#[derive(Debug, Default)]
pub struct TableLookup {
    stage: Stage,
    /// A filter was asked and let the key pass.
    passed_filter: bool,
    loaded: LoadedBlocks,
    /// The data block that the index named, found in the cache.
    found: Option<BlockRef>,
}

/// How far a lookup comes before it searches a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approach {
    /// The table has nothing of the key.
    Absent,
    /// A block has to be read first.
    Needs(NeededBlock),
    /// The block to search is at hand.
    AtBlock,
}

impl TableLookup {
    /// A lookup whose key the filter let pass.
    #[inline]
    pub(super) fn behind_filter() -> Self {
        Self { stage: Stage::Index, passed_filter: true, loaded: LoadedBlocks::default(), found: None }
    }

    /// Hands over the block that the lookup waits for, or the error of its read.
    ///
    /// # Errors
    /// The error of the read, if the lookup needs the block. A filter that the cache has no room for is skipped.
    pub fn supply(&mut self, block: Result<LoadedBlock>) -> Result<()> {
        match (block, &self.stage) {
            (Ok(block), _) => self.loaded.add(block),
            (Err(error), Stage::Filter) if error.kind() == ErrorKind::MemoryLimit => self.stage = Stage::Index,
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    /// Advances the lookup of `key` in `table` without reading: to a block that it needs, or (`None`) to its end, after
    /// `visit` saw the entries of the key as in [`BlockTable::get`].
    ///
    /// # Errors
    /// Those of [`BlockTable::get`], but for those of reading: this function reads nothing.
    #[inline]
    pub fn advance(
        &mut self,
        table: &BlockTable,
        options: &TableReadOptions,
        key: &LookupKey,
        counts: &impl LookupCounts,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let blocks = &table.blocks;
        match self.approach(blocks, options, key, counts)? {
            Approach::Absent => return Ok(None),
            Approach::Needs(needed) => return Ok(Some(needed)),
            Approach::AtBlock => {}
        }
        match &mut self.stage {
            Stage::Data(handle) => {
                let handle = *handle;
                self.search_planned(blocks, options, key, handle, counts, visit)
            }
            Stage::NextBlocks(next) => next.search(blocks, options, key, &mut self.loaded, counts, visit),
            Stage::Filter | Stage::Index => Ok(None),
        }
    }

    /// Goes to the data block that the index names, without searching it: a caller with many keys has the memory of all
    /// their blocks fetched at once ([`touch`](Self::touch)) before it advances each.
    ///
    /// # Errors
    /// Those of [`advance`](Self::advance).
    #[inline]
    pub fn begin(
        &mut self,
        table: &BlockTable,
        options: &TableReadOptions,
        key: &LookupKey,
        counts: &impl LookupCounts,
    ) -> Result<Approach> {
        let blocks = &table.blocks;
        let approach = self.approach(blocks, options, key, counts)?;
        let Stage::Data(handle) = self.stage else { return Ok(approach) };
        if approach == Approach::AtBlock {
            self.found = blocks.loader().cache().find_data(handle, counts);
            if self.found.is_none() {
                options.may_read()?;
                return Ok(Approach::Needs(NeededBlock { handle, role: BlockRole::Data }));
            }
        }
        Ok(approach)
    }

    /// Reads a byte of the block at hand, so that the processor fetches its end, where a search begins. The fetches of
    /// many blocks overlap; those of searches one after the other do not.
    #[inline]
    #[must_use]
    pub fn touch(&self) -> u8 {
        let data = self.found.as_ref().and_then(|block| block.data().ok());
        data.and_then(|data| data.bytes().last()).copied().unwrap_or(0)
    }

    /// Asks filter and index.
    #[inline(always)]
    fn approach(
        &mut self,
        blocks: &TableBlocks,
        options: &TableReadOptions,
        key: &LookupKey,
        counts: &impl LookupCounts,
    ) -> Result<Approach> {
        if let Stage::Filter = self.stage {
            match blocks.ask_filter(options, key, &self.loaded, counts, &mut self.passed_filter)? {
                FilterAnswer::MayMatch => self.stage = Stage::Index,
                FilterAnswer::Absent => return Ok(Approach::Absent),
                FilterAnswer::Needs(needed) => return Ok(Approach::Needs(needed)),
            }
        }
        if let Stage::Index = self.stage {
            let found = blocks.resident_index().find(key.internal_key(), &self.loaded);
            match found.map_err(|error| blocks.loader().in_file(error))? {
                IndexSeekResult::Missing(needed) => {
                    options.may_read()?;
                    return Ok(Approach::Needs(needed));
                }
                IndexSeekResult::Absent => {
                    blocks.note_lookup(false);
                    return Ok(Approach::Absent);
                }
                IndexSeekResult::Found(handle) => self.stage = Stage::Data(handle),
            }
        }
        Ok(Approach::AtBlock)
    }

    /// Searches the data block that the index named, if it is in memory.
    #[inline]
    fn search_planned(
        &mut self,
        blocks: &TableBlocks,
        options: &TableReadOptions,
        key: &LookupKey,
        handle: BlockHandle,
        counts: &impl LookupCounts,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let loader = blocks.loader();
        let cached;
        let block = match self.loaded.get(handle) {
            Some(block) => block,
            None => {
                let found = self.found.take().or_else(|| loader.cache().find_data(handle, counts));
                let Some(found) = found else {
                    options.may_read()?;
                    return Ok(Some(NeededBlock { handle, role: BlockRole::Data }));
                };
                cached = found;
                &cached
            }
        };
        let mut was_found = false;
        let outcome = PerfTimer::time_of(counts.perf(), PerfMetric::BlockSeekNanos, || {
            search_block(loader, block, handle.offset, key.internal_key(), true, &mut |key, value, pinned| {
                was_found = true;
                visit(key, value, pinned)
            })
        })?;
        match outcome {
            Outcome::EndOfBlock if !loader.decoder().index_has_user_keys() => {
                let mut next = Box::new(NextBlocks::after_first(was_found, self.passed_filter));
                let needed = next.search(blocks, options, key, &mut self.loaded, counts, visit);
                self.stage = Stage::NextBlocks(next);
                needed
            }
            Outcome::Done | Outcome::EndOfBlock => {
                blocks.note_outcome(was_found, self.passed_filter, counts);
                Ok(None)
            }
        }
    }
}
