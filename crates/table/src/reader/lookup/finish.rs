//! Turns the bytes of a block into a decoded block, and puts it where lookups find it.

use crate::blocks::{BlockRef, BlockRole};
use crate::reader::block_loader::short_read;
use crate::reader::resident::NeededBlock;
use crate::reader::{BlockTable, TableReadOptions};
use ferrock_base::Result;
use std::sync::OnceLock;

impl BlockTable {
    /// Checks and decodes the bytes that were read, and puts the block where this table has blocks of its kind.
    pub(in crate::reader) fn finish_read(
        &self,
        options: &TableReadOptions,
        needed: NeededBlock,
        stored: Result<&[u8]>,
    ) -> Result<BlockRef> {
        let NeededBlock { handle, role } = needed;
        if role == BlockRole::Data {
            self.loader.note_block_read();
        }
        let stored = stored?;
        let length = self.needed_length(needed)?;
        if stored.len() < length {
            return Err(self.loader.in_file(short_read(handle.offset, length, stored.len())));
        }
        let slot = self.kept_slot(needed);
        let verify = options.verify_checksums || slot.is_some();
        let block = match role {
            BlockRole::Index => self.loader.decode_index_extent(stored.to_vec(), handle, verify)?,
            _ => self.loader.decode_slice(stored, handle, role, verify)?,
        };
        match slot {
            Some(slot) => Ok(slot.get_or_init(|| BlockRef::standalone(block)).clone()),
            None => self.loader.keep_as(role, handle, block, options).map_err(|error| self.loader.in_file(error)),
        }
    }

    /// The slot in which the table itself keeps the block.
    pub(in crate::reader) fn kept_slot(&self, needed: NeededBlock) -> Option<&OnceLock<BlockRef>> {
        let kept = match needed.role {
            BlockRole::Index => self.index.partitions.as_ref(),
            BlockRole::Filter => self.filter.as_ref().and_then(|filter| filter.partitions()),
            BlockRole::Data | BlockRole::IndexTop | BlockRole::FilterIndex => None,
        };
        kept.and_then(|partitions| partitions.slot(needed.handle))
    }

    /// The block, if another lookup decoded it from the same read meanwhile. No cache access is counted: the miss of
    /// this lookup was counted when it began to read.
    pub(super) fn made_meanwhile(&self, needed: NeededBlock) -> Option<BlockRef> {
        let block = match self.kept_slot(needed) {
            Some(slot) => slot.get().cloned(),
            None => self.loader.peek(needed.handle),
        }?;
        if needed.role == BlockRole::Data {
            self.loader.note_block_read();
        }
        Some(block)
    }

    /// Bytes to read for a block: with its trailer, and an index partition with its row bounds.
    pub(in crate::reader) fn needed_length(&self, needed: NeededBlock) -> Result<usize> {
        let length = match needed.role {
            BlockRole::Index => self.loader.index_extent(needed.handle),
            _ => self.loader.stored_length(needed.handle),
        };
        length.map_err(|error| self.loader.in_file(error))
    }
}
