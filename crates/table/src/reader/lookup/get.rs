//! The blocking driver of a lookup: the thread that asks reads each block that is needed.

use super::machine::TableLookup;
use crate::blocks::{BlockRef, PinnedBlock};
use crate::reader::resident::{LoadedBlock, NeededBlock};
use crate::reader::{BlockTable, TableReadOptions};
use ferrock_base::{LookupKey, ParsedInternalKey, Result};

impl BlockTable {
    /// Shows `visit` the entries of the key's user key, newest first, from the lookup's sequence number on, until it
    /// returns false. Nothing is allocated and nothing copied: a visitor that wants to keep a value pins its block.
    ///
    /// Range tombstones are not looked at.
    ///
    /// # Errors
    /// `Io` when a block cannot be read, `Corruption` naming file and offset when one is damaged, `Incomplete` when the
    /// options forbid the read that is needed, `MemoryLimit` when a strict cache refuses the block.
    #[inline]
    pub fn get(
        &self,
        options: &TableReadOptions,
        key: &LookupKey,
        visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
    ) -> Result<()> {
        // A machine that has not begun costs nothing: most keys that the table does not have end here.
        let mut lookup = match self.filter.as_ref().and_then(|filter| filter.kept_answer(key.user_key())) {
            Some(false) => {
                self.note_lookup(false);
                return Ok(());
            }
            Some(true) => TableLookup::behind_filter(),
            None => TableLookup::default(),
        };
        while let Some(needed) = self.advance(options, key, &mut lookup, visit)? {
            lookup.supply(self.load_needed(options, needed))?;
        }
        Ok(())
    }

    /// Reads a block that a lookup needs.
    #[cold]
    pub(in crate::reader) fn load_needed(
        &self,
        options: &TableReadOptions,
        needed: NeededBlock,
    ) -> Result<LoadedBlock> {
        let NeededBlock { handle, role } = needed;
        let block = match self.kept_slot(needed) {
            None => self.loader.load_missing(handle, role, options, || self.loader.read_for(handle, role, options))?,
            Some(slot) => {
                let context = options.read_context(role.read_class());
                let block = BlockRef::standalone(self.loader.read_in(handle, role, &context, true)?);
                slot.get_or_init(|| block).clone()
            }
        };
        Ok(LoadedBlock { offset: handle.offset, block })
    }
}
