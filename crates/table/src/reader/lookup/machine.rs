//! Advances a lookup as far as blocks in memory allow.

use super::next_blocks::NextBlocks;
use super::search::{Outcome, search_block};
use crate::blocks::{BlockRole, PinnedBlock};
use crate::reader::filter_reader::FilterAnswer;
use crate::reader::resident::{LoadedBlock, LoadedBlocks, NeededBlock};
use crate::reader::resident_index::IndexSeekResult;
use crate::reader::table_blocks::TableBlocks;
use crate::reader::{BlockTable, TableReadOptions};
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
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let blocks = &table.blocks;
        if let Stage::Filter = self.stage {
            match blocks.ask_filter(options, key, &self.loaded)? {
                FilterAnswer::MayMatch => self.stage = Stage::Index,
                FilterAnswer::Absent => return Ok(None),
                FilterAnswer::Needs(needed) => return Ok(Some(needed)),
            }
        }
        if let Stage::Index = self.stage {
            let found = blocks.resident_index().find(key.internal_key(), &self.loaded);
            match found.map_err(|error| blocks.loader().in_file(error))? {
                IndexSeekResult::Missing(needed) => {
                    options.may_read()?;
                    return Ok(Some(needed));
                }
                IndexSeekResult::Absent => {
                    blocks.note_lookup(false);
                    return Ok(None);
                }
                IndexSeekResult::Found(handle) => self.stage = Stage::Data(handle),
            }
        }
        match &mut self.stage {
            Stage::Data(handle) => {
                let handle = *handle;
                self.search_planned(blocks, options, key, handle, visit)
            }
            Stage::NextBlocks(next) => next.search(blocks, options, key, &mut self.loaded, visit),
            Stage::Filter | Stage::Index => Ok(None),
        }
    }

    /// Searches the data block that the index named, if it is in memory.
    #[inline]
    fn search_planned(
        &mut self,
        blocks: &TableBlocks,
        options: &TableReadOptions,
        key: &LookupKey,
        handle: BlockHandle,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let loader = blocks.loader();
        let cached;
        let block = match self.loaded.get(handle) {
            Some(block) => block,
            None => {
                let Some(found) = loader.cache().find(handle, BlockRole::Data) else {
                    options.may_read()?;
                    return Ok(Some(NeededBlock { handle, role: BlockRole::Data }));
                };
                cached = found;
                &cached
            }
        };
        let mut was_found = false;
        let outcome =
            search_block(loader, block, handle.offset, key.internal_key(), true, &mut |key, value, pinned| {
                was_found = true;
                visit(key, value, pinned)
            })?;
        match outcome {
            Outcome::EndOfBlock if !loader.decoder().index_has_user_keys() => {
                let mut next = Box::new(NextBlocks::after_first(was_found));
                let needed = next.search(blocks, options, key, &mut self.loaded, visit);
                self.stage = Stage::NextBlocks(next);
                needed
            }
            Outcome::Done | Outcome::EndOfBlock => {
                blocks.note_lookup(was_found);
                Ok(None)
            }
        }
    }
}
