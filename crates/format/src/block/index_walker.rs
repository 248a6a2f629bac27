//! Reads the entries of a stored index block.

use super::entry::{bad_entry, checked_range, decode_header, decode_index_header};
use super::index_format::IndexFormat;
use super::key_buffer::KeyBuffer;
use super::layout::BlockLayout;
use crate::handle::BlockHandle;
use crate::trailer::BLOCK_TRAILER_SIZE;
use ferrock_base::Result;
use ferrock_base::coding::{get_varint32, get_varint64, unzigzag};
use ferrock_base::internal_key::TRAILER_SIZE;

/// Reads index entries one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexWalker {
    pub(super) at: usize,
    pub(super) next_at: usize,
    pub(super) key: KeyBuffer,
    pub(super) handle: BlockHandle,
    first_key: std::ops::Range<usize>,
    /// Bytes the current key shares with the one before it.
    pub(super) shared: usize,
}

impl IndexWalker {
    /// Prepares to read the entry at a restart.
    pub(super) fn go_to(&mut self, at: usize) {
        self.next_at = at;
        self.at = at;
        self.key.clear();
        self.handle = BlockHandle::NULL;
    }

    pub(super) fn first_key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.first_key.clone()).unwrap_or(&[])
    }

    /// Counts the restart that the current entry is at, if it is at one.
    #[inline]
    pub(super) fn meet_restart(&self, bytes: &[u8], layout: &BlockLayout, met: &mut usize) -> Result<()> {
        if self.at == layout.restart(bytes, *met) {
            if self.shared != 0 {
                return Err(bad_entry("shares a key across a restart", self.at));
            }
            *met += 1;
        }
        Ok(())
    }

    /// Reads the next entry; false at the end.
    pub(super) fn step(&mut self, bytes: &[u8], layout: &BlockLayout, format: IndexFormat) -> Result<bool> {
        let at = self.next_at;
        self.at = at;
        let Some(entries) = bytes.get(..layout.entries_end).filter(|entries| at < entries.len()) else {
            return Ok(false);
        };
        let delta = format.value_is_delta_encoded;
        let header = if delta { decode_index_header(entries, at) } else { decode_header(entries, at) };
        let header = header.ok_or_else(|| bad_entry("malformed lengths", at))?;
        let key = checked_range(header.end, header.non_shared, entries.len(), "the key reaches beyond the entries")?;
        if header.shared > self.key.as_slice().len() {
            return Err(bad_entry("shares more than the key before it has", at));
        }
        self.shared = header.shared;
        let value_at = key.end;
        self.key.replace_tail(header.shared, &entries[key]);
        if !format.key_is_user_key && self.key.as_slice().len() < TRAILER_SIZE {
            return Err(bad_entry("a key shorter than its trailer", at));
        }
        let value = if delta {
            value_at..entries.len()
        } else {
            checked_range(value_at, header.value_length, entries.len(), "the value reaches beyond the entries")?
        };
        let used = self.read_value(entries, value.clone(), format, !delta || header.shared == 0)?;
        self.next_at = if delta { used } else { value.end };
        Ok(true)
    }

    /// Reads handle and first key from `value`; returns where they end.
    fn read_value(
        &mut self,
        entries: &[u8],
        value: std::ops::Range<usize>,
        format: IndexFormat,
        is_full: bool,
    ) -> Result<usize> {
        let at = value.start;
        let input = &entries[value.clone()];
        let mut used;
        if is_full {
            (self.handle, used) = BlockHandle::decode(input).map_err(|error| error.at_offset(at as u64))?;
        } else {
            let (difference, length) = get_varint64(input).ok_or_else(|| bad_entry("malformed size difference", at))?;
            used = length;
            let offset = self.handle.end_with_trailer();
            let size = self.handle.size.checked_add_signed(unzigzag(difference));
            let (Some(offset), Some(size)) = (offset, size) else {
                return Err(bad_entry("the handle is out of bounds", at));
            };
            self.handle = BlockHandle { offset, size };
        }
        if self
            .handle
            .size
            .checked_add(BLOCK_TRAILER_SIZE as u64)
            .and_then(|size| size.checked_add(self.handle.offset))
            .is_none()
        {
            return Err(bad_entry("the handle is out of bounds", at));
        }
        self.first_key = 0..0;
        if format.has_first_key {
            let (length, bytes) = get_varint32(&input[used..]).ok_or_else(|| bad_entry("malformed first key", at))?;
            let start = at + used + bytes;
            self.first_key = checked_range(start, length as usize, value.end, "the first key is out of bounds")?;
            if self.first_key.len() < TRAILER_SIZE {
                return Err(bad_entry("a first key shorter than its trailer", at));
            }
            used = self.first_key.end - at;
        }
        Ok(at + used)
    }
}
