//! A data block that was cut and has no place in the file yet, with what filter and index have to be told of it.
//!
//! ```text
//! bytes        entries                     compressed    what is stored, where it pays
//! keys.bytes   key key key | next          keys.ends     where each key ends; `next` begins the block behind
//! ```

use super::packing::Stored;
use super::partition_cut::BlockEnd;
use crate::stored_blocks::StoredPayload;

/// A data block on its way into the file.
#[derive(Debug)]
pub(super) struct CutBlock {
    pub(super) bytes: Vec<u8>,
    /// The compressed form, if that is what is stored.
    pub(super) compressed: Vec<u8>,
    pub(super) stored: Stored,
    pub(super) keys: BlockKeys,
    /// What the block may add to the table, at most.
    pub(super) growth: u64,
}

impl CutBlock {
    pub(super) fn empty() -> Self {
        let keys = BlockKeys::default();
        Self { bytes: Vec::new(), compressed: Vec::new(), stored: Stored::Raw, keys, growth: 0 }
    }

    /// Bytes of the block and its keys.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.len() + self.keys.bytes.len()
    }

    /// Bytes of memory that it takes.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.compressed.capacity() + self.keys.bytes.capacity()
    }

    /// What is stored for the block, as another file has it.
    pub(super) fn set_payload(&mut self, payload: &StoredPayload) {
        self.stored = Stored::of_copy(payload);
        self.compressed.clear();
        self.compressed.extend_from_slice(payload.bytes().map_or(&[], |bytes| bytes));
    }

    /// Takes a block, and its keys, which are empty afterwards.
    pub(super) fn fill(&mut self, bytes: &[u8], keys: &mut BlockKeys, growth: u64) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.stored = Stored::Raw;
        self.growth = growth;
        self.keys.reset();
        std::mem::swap(&mut self.keys, keys);
    }
}

/// What filter and index have to be told of a block.
#[derive(Debug, Default)]
pub(super) struct BlockKeys {
    /// The internal keys, one behind the other, and the first key of the next block.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    has_next: bool,
    pub(super) end: BlockEnd,
    /// They know of it: it has this number among blocks that waited for a dictionary.
    pub(super) buffered_as: Option<usize>,
}

impl BlockKeys {
    pub(super) fn push(&mut self, internal_key: &[u8]) {
        self.bytes.extend_from_slice(internal_key);
        self.ends.push(self.bytes.len());
    }

    /// The block ends before the key `next`.
    pub(super) fn finish(&mut self, next: Option<&[u8]>, end: BlockEnd) {
        self.bytes.extend_from_slice(next.unwrap_or_default());
        self.has_next = next.is_some();
        self.end = end;
    }

    /// Of a block that waited for a dictionary.
    pub(super) fn of_buffered(number: usize) -> Self {
        Self { buffered_as: Some(number), ..Self::default() }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| self.bytes.get(start..end).unwrap_or_default())
    }

    /// The first key of the next block.
    pub(super) fn next(&self) -> Option<&[u8]> {
        let start = self.ends.last().copied().unwrap_or(0);
        self.bytes.get(start..).filter(|_| self.has_next)
    }

    /// Bytes of the keys.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Entries of the block.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of the longest key.
    pub(super) fn longest(&self) -> usize {
        self.iter().chain(self.next()).map(<[u8]>::len).max().unwrap_or(0)
    }

    fn reset(&mut self) {
        let Self { mut bytes, mut ends, .. } = std::mem::take(self);
        bytes.clear();
        ends.clear();
        (self.bytes, self.ends) = (bytes, ends);
    }
}
