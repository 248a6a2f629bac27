//! Lookups that continue behind their first data block, because the versions of their user key span blocks.
//!
//! ```text
//! block 7           block 8              block 9
//! ... j@2 k@9 k@8 | k@7 k@6 ... k@5 k@4 | k@3 l@1       k as of 8: in 7 by the index, in 8 and 9 one after the other
//! ```
//!
//! A lookup stops at each block that is not in memory, as at its first, and at index partitions between them.

use super::search::Outcome;
use crate::blocks::{BlockRole, PinnedBlock};
use crate::reader::index_position::OwnedPosition;
use crate::reader::resident::{LoadedBlocks, NeededBlock};
use crate::reader::resident_index::IndexSeekResult;
use crate::reader::{BlockTable, TableReadOptions};
use ferrock_base::{LookupKey, ParsedInternalKey, Result};
use ferrock_format::handle::BlockHandle;

/// Progress of a lookup behind its first data block.
#[derive(Debug)]
pub(super) struct NextBlocks {
    /// Index position of the last data block that was begun.
    position: Option<OwnedPosition>,
    /// The data block to search, once it is in memory.
    handle: Option<BlockHandle>,
    was_found: bool,
}

impl NextBlocks {
    /// The first block was searched to its end; `was_found` when it had an entry of the key.
    pub(super) fn after_first(was_found: bool) -> Self {
        Self { position: None, handle: None, was_found }
    }
}

impl BlockTable {
    /// Searches the blocks behind the first one, as far as they are in memory.
    #[cold]
    pub(super) fn search_next_blocks(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        loaded: &mut LoadedBlocks,
        next: &mut NextBlocks,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let target = key.internal_key();
        loop {
            let handle = match next.handle {
                Some(handle) => handle,
                None => match self.next_block(target, loaded, next)? {
                    IndexSeekResult::Absent => break,
                    IndexSeekResult::Found(handle) => *next.handle.insert(handle),
                    IndexSeekResult::Missing(needed) => {
                        options.may_read()?;
                        return Ok(Some(needed));
                    }
                },
            };
            let Some(block) = loaded.get(handle).cloned().or_else(|| self.loader.cached(handle)) else {
                options.may_read()?;
                return Ok(Some(NeededBlock { handle, role: BlockRole::Data }));
            };
            let outcome = self.search_block(&block, handle.offset, target, false, &mut |key, value, pinned| {
                next.was_found = true;
                visit(key, value, pinned)
            })?;
            if let Outcome::Done = outcome {
                break;
            }
            next.handle = None;
        }
        self.note_lookup(next.was_found);
        Ok(None)
    }

    /// The data block behind the last one, unless the index excludes the key from it.
    fn next_block(&self, target: &[u8], loaded: &mut LoadedBlocks, next: &mut NextBlocks) -> Result<IndexSeekResult> {
        let resident = self.resident_index();
        let in_file = |error| self.loader.in_file(error);
        if next.position.is_none() {
            let mut position = OwnedPosition::default();
            if let Some(needed) = resident.seek(&mut position, target, loaded).map_err(in_file)? {
                return Ok(IndexSeekResult::Missing(needed));
            }
            next.position = Some(position);
        }
        let Some(position) = &mut next.position else { return Ok(IndexSeekResult::Absent) };
        if let Some(needed) = resident.next(position, loaded).map_err(in_file)? {
            return Ok(IndexSeekResult::Missing(needed));
        }
        // The position holds the blocks that it needs.
        loaded.clear();
        if !position.valid() || self.is_in_gap(position, target)? {
            return Ok(IndexSeekResult::Absent);
        }
        Ok(IndexSeekResult::Found(position.entry()?.handle))
    }
}
