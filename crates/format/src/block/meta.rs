//! Blocks of names and values that are read once: metaindex, properties, range tombstones.

use super::entry::{bad_entry, checked_range, decode_header};
use super::layout::BlockLayout;
use ferrock_base::{Error, Result};

/// An uncompressed key/value block, read from front to back.
#[derive(Clone, Copy, Debug)]
pub struct MetaBlock<'a> {
    bytes: &'a [u8],
    layout: BlockLayout,
}

impl<'a> MetaBlock<'a> {
    /// Checks the layout of `bytes`.
    ///
    /// # Errors
    /// `Corruption` as for [`BlockLayout::parse`]; `NotSupported` for a block whose values are apart from its keys.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let layout = BlockLayout::parse(bytes)?;
        if layout.has_separate_values {
            return Err(Error::not_supported("meta block with separate values"));
        }
        Ok(Self { bytes, layout })
    }

    /// Calls `visit` with every key, value and offset of the value in the block, in the stored order.
    ///
    /// # Errors
    /// `Corruption` with the offset of an entry that is out of bounds; the first error of `visit`, which ends the walk.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], &'a [u8], usize) -> Result<()>) -> Result<()> {
        let entries = self.bytes.get(..self.layout.entries_end).unwrap_or(&[]);
        let mut key = Vec::new();
        let mut at = 0;
        while at < entries.len() {
            let header = decode_header(entries, at).ok_or_else(|| bad_entry("malformed lengths", at))?;
            let suffix = checked_range(header.end, header.non_shared, entries.len(), "the key is out of bounds")?;
            let value = checked_range(suffix.end, header.value_length, entries.len(), "the value is out of bounds")?;
            if header.shared > key.len() {
                return Err(bad_entry("shares more than the key before it has", at));
            }
            key.truncate(header.shared);
            key.extend_from_slice(&entries[suffix]);
            at = value.end;
            visit(&key, &entries[value.clone()], value.start)?;
        }
        Ok(())
    }

    /// All entries. A damaged block could share one long key between many entries, so their total length is bounded.
    ///
    /// # Errors
    /// Those of [`for_each`](Self::for_each); `Corruption` when the keys together exceed what such a block can hold.
    pub fn entries(&self) -> Result<Vec<(Vec<u8>, &'a [u8])>> {
        let mut budget = self.bytes.len().saturating_mul(16) + (1 << 20);
        let mut all = Vec::new();
        self.for_each(|key, value, at| {
            budget = budget
                .checked_sub(key.len())
                .ok_or_else(|| bad_entry("the keys share more than a block of this size may", at))?;
            all.push((key.to_vec(), value));
            Ok(())
        })?;
        Ok(all)
    }
}
