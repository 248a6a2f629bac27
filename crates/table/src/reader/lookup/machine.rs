//! Advances a lookup as far as blocks in memory allow.

use super::next_blocks::NextBlocks;
use super::search::Outcome;
use crate::blocks::{BlockRole, PinnedBlock};
use crate::reader::filter_reader::FilterAnswer;
use crate::reader::index_position::IndexPosition;
use crate::reader::resident::{LoadedBlock, LoadedBlocks, NeededBlock};
use crate::reader::resident_index::IndexSeekResult;
use crate::reader::{BlockTable, ReadTier, TableReadOptions};
use ferrock_base::{ErrorKind, LookupKey, ParsedInternalKey, Result};
use ferrock_format::handle::BlockHandle;

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
    loaded: LoadedBlocks,
}

impl TableLookup {
    /// A lookup whose key the filter let pass.
    #[inline]
    pub(super) fn behind_filter() -> Self {
        Self { stage: Stage::Index, loaded: LoadedBlocks::default() }
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
}

impl BlockTable {
    /// Advances `lookup` without reading: to a block that it needs, or (`None`) to its end, after `visit` saw the
    /// entries of the key as in [`get`](Self::get).
    ///
    /// # Errors
    /// Those of [`get`](Self::get), but for those of reading: this function reads nothing.
    #[inline]
    pub fn advance(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        lookup: &mut TableLookup,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        if let Stage::Filter = lookup.stage {
            match self.ask_filter(options, key, &lookup.loaded)? {
                FilterAnswer::MayMatch => lookup.stage = Stage::Index,
                FilterAnswer::Absent => return Ok(None),
                FilterAnswer::Needs(needed) => return Ok(Some(needed)),
            }
        }
        if let Stage::Index = lookup.stage {
            match self.find_block(options, key, &lookup.loaded)? {
                IndexSeekResult::Missing(needed) => return Ok(Some(needed)),
                IndexSeekResult::Absent => {
                    self.note_lookup(false);
                    return Ok(None);
                }
                IndexSeekResult::Found(handle) => lookup.stage = Stage::Data(handle),
            }
        }
        match &mut lookup.stage {
            Stage::Data(handle) => {
                let handle = *handle;
                self.search_planned(options, key, handle, lookup, visit)
            }
            Stage::NextBlocks(next) => self.search_next_blocks(options, key, &mut lookup.loaded, next, visit),
            Stage::Filter | Stage::Index => Ok(None),
        }
    }

    #[inline]
    fn ask_filter(&self, options: &TableReadOptions, key: &LookupKey, loaded: &LoadedBlocks) -> Result<FilterAnswer> {
        let Some(filter) = &self.filter else { return Ok(FilterAnswer::MayMatch) };
        let answer = filter.ask_key(&self.loader, key.user_key(), key.internal_key(), loaded);
        match answer.map_err(|error| self.loader.in_file(error))? {
            FilterAnswer::Absent => {
                filter.note_lookup(false);
                Ok(FilterAnswer::Absent)
            }
            // A filter that may not be read cannot exclude the key.
            FilterAnswer::Needs(_) if options.read_tier == ReadTier::BlockCacheOnly => Ok(FilterAnswer::MayMatch),
            answer => Ok(answer),
        }
    }

    #[inline]
    fn find_block(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        loaded: &LoadedBlocks,
    ) -> Result<IndexSeekResult> {
        let target = key.internal_key();
        let mut position = IndexPosition::default();
        let resident = self.resident_index();
        let missing = resident.seek(&mut position, target, loaded).map_err(|error| self.loader.in_file(error))?;
        if let Some(needed) = missing {
            options.may_read()?;
            return Ok(IndexSeekResult::Missing(needed));
        }
        if !position.valid() {
            return Ok(IndexSeekResult::Absent);
        }
        let entry = position.entry()?;
        let starts_behind =
            entry.first_key.is_some_and(|first| self.loader.comparator.compare_user_keys(first, target).is_gt());
        let handle = entry.handle;
        if starts_behind || self.is_in_gap(&position, target)? {
            return Ok(IndexSeekResult::Absent);
        }
        Ok(IndexSeekResult::Found(handle))
    }

    /// Searches the data block that the index named, if it is in memory.
    #[inline]
    fn search_planned(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        handle: BlockHandle,
        lookup: &mut TableLookup,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let cached;
        let block = match lookup.loaded.get(handle) {
            Some(block) => block,
            None => {
                let role = BlockRole::Data.entry_role();
                let found = self.loader.cache.as_ref();
                let found = found.and_then(|cache| cache.lookup_as(&self.loader.cache_key(handle), role));
                let Some(found) = found else {
                    options.may_read()?;
                    return Ok(Some(NeededBlock { handle, role: BlockRole::Data }));
                };
                cached = found;
                &cached
            }
        };
        let mut was_found = false;
        let outcome =
            self.search_block(block, handle.offset, key.internal_key(), true, &mut |key, value, pinned| {
                was_found = true;
                visit(key, value, pinned)
            })?;
        match outcome {
            Outcome::EndOfBlock if !self.loader.index_format.key_is_user_key => {
                let mut next = Box::new(NextBlocks::after_first(was_found));
                let needed = self.search_next_blocks(options, key, &mut lookup.loaded, &mut next, visit);
                lookup.stage = Stage::NextBlocks(next);
                needed
            }
            Outcome::Done | Outcome::EndOfBlock => {
                self.note_lookup(was_found);
                Ok(None)
            }
        }
    }
}
