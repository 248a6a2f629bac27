//! Lookups that continue behind their first data block, because the versions of their user key span blocks.
//!
//! ```text
//! block 7           block 8              block 9
//! ... j@2 k@9 k@8 | k@7 k@6 ... k@5 k@4 | k@3 l@1       k as of 8: in 7 by the index, in 8 and 9 one after the other
//! ```
//!
//! A lookup stops at each block that is not in memory, as at its first, and at index partitions between them.

use super::counts::LookupCounts;
use super::search::{Outcome, search_block};
use crate::blocks::{BlockRole, PinnedBlock};
use crate::reader::TableReadOptions;
use crate::reader::index_position::OwnedPosition;
use crate::reader::resident::{LoadedBlocks, NeededBlock};
use crate::reader::resident_index::{IndexSeekResult, ResidentIndex};
use crate::reader::table_blocks::TableBlocks;
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
    passed_filter: bool,
}

impl NextBlocks {
    /// The first block was searched to its end; `was_found` when it had an entry of the key.
    pub(super) fn after_first(was_found: bool, passed_filter: bool) -> Self {
        Self { position: None, handle: None, was_found, passed_filter }
    }

    /// Searches the blocks behind the first one, as far as they are in memory.
    #[cold]
    pub(super) fn search(
        &mut self,
        blocks: &TableBlocks,
        options: &TableReadOptions,
        key: &LookupKey,
        loaded: &mut LoadedBlocks,
        counts: &impl LookupCounts,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<Option<NeededBlock>> {
        let (loader, target) = (blocks.loader(), key.internal_key());
        loop {
            let handle = match self.handle {
                Some(handle) => handle,
                None => match self.next_block(blocks.resident_index(), target, loaded) {
                    Err(error) => return Err(loader.in_file(error)),
                    Ok(IndexSeekResult::Absent) => break,
                    Ok(IndexSeekResult::Found(handle)) => *self.handle.insert(handle),
                    Ok(IndexSeekResult::Missing(needed)) => {
                        options.may_read()?;
                        return Ok(Some(needed));
                    }
                },
            };
            let Some(block) = loaded.get(handle).cloned().or_else(|| loader.cache().find_data(handle, counts)) else {
                options.may_read()?;
                return Ok(Some(NeededBlock { handle, role: BlockRole::Data }));
            };
            let outcome = search_block(loader, &block, handle.offset, target, false, &mut |key, value, pinned| {
                self.was_found = true;
                visit(key, value, pinned)
            })?;
            if let Outcome::Done = outcome {
                break;
            }
            self.handle = None;
        }
        blocks.note_outcome(self.was_found, self.passed_filter, counts);
        Ok(None)
    }

    /// The data block behind the last one, unless the index excludes the key from it.
    fn next_block(
        &mut self,
        index: ResidentIndex<'_>,
        target: &[u8],
        loaded: &mut LoadedBlocks,
    ) -> Result<IndexSeekResult> {
        if self.position.is_none() {
            let mut position = OwnedPosition::default();
            if let Some(needed) = index.seek(&mut position, target, loaded)? {
                return Ok(IndexSeekResult::Missing(needed));
            }
            self.position = Some(position);
        }
        let Some(position) = &mut self.position else { return Ok(IndexSeekResult::Absent) };
        if let Some(needed) = index.next(position, loaded)? {
            return Ok(IndexSeekResult::Missing(needed));
        }
        // The position holds the blocks that it needs.
        loaded.clear();
        if !position.valid() || index.is_in_gap(position, target)? {
            return Ok(IndexSeekResult::Absent);
        }
        Ok(IndexSeekResult::Found(position.entry()?.handle))
    }
}
