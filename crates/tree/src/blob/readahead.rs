//! Reads of a compaction that collects blob files: `blob_compaction_readahead_size` bytes at a time.
//!
//! A compaction meets the values of a blob file in the order in which they were written, mostly, and those of several
//! files by turns. So each file has a buffer, and a value that is not in it is read with what lies behind it.
//!
//! What is smaller than a buffer comes from it, what is larger is read by itself. Of more than [`MOST_FILES`] files the
//! one loses its buffer that was used longest ago, so a part of a compaction holds no more than that many buffers.

use super::file_reader::BlobFileReader;
use ferrock_base::{Comparator, FileNumber, Result};
use ferrock_cache::Held;
use ferrock_format::blob_index::BlobReference;
use ferrock_vfs::ReadContext;
use std::collections::BTreeMap;

/// Buffers at once.
const MOST_FILES: usize = 16;

/// The buffers of a compaction, or of one of its parts.
#[derive(Debug)]
pub(crate) struct BlobReadahead {
    size: usize,
    files: BTreeMap<FileNumber, Buffer>,
    uses: u64,
    /// Counts the buffers where memory is counted.
    held: Option<Held>,
}

#[derive(Debug, Default)]
struct Buffer {
    offset: u64,
    bytes: Vec<u8>,
    last_use: u64,
}

impl BlobReadahead {
    /// Buffers of `size` bytes; `None` for 0, with which every value is read by itself.
    pub(crate) fn new(size: u64, held: Option<Held>) -> Option<Self> {
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(1 << 30);
        (size > 0).then(|| Self { size, files: BTreeMap::new(), uses: 0, held })
    }

    /// The value of a reference, with its checksums verified.
    pub(super) fn read(
        &mut self,
        file: &BlobFileReader,
        user_key: &[u8],
        reference: &BlobReference,
        context: &ReadContext,
        order: &Comparator,
    ) -> Result<Vec<u8>> {
        let read = self.read_stored(file, user_key, reference, context);
        file.retry_by_order(read, user_key, reference, true, context, order)
    }

    fn read_stored(
        &mut self,
        file: &BlobFileReader,
        user_key: &[u8],
        reference: &BlobReference,
        context: &ReadContext,
    ) -> Result<Vec<u8>> {
        let extent = file.extent(user_key, reference, true)?;
        if extent.length >= self.size {
            return file.read(user_key, reference, true, context);
        }
        self.uses += 1;
        if self.files.len() >= MOST_FILES && !self.files.contains_key(&reference.file_number) {
            let oldest = self.files.iter().min_by_key(|(_, buffer)| buffer.last_use).map(|(number, _)| *number);
            oldest.and_then(|number| self.files.remove(&number));
        }
        let buffer = self.files.entry(reference.file_number).or_default();
        buffer.last_use = self.uses;
        if buffer.part(extent.offset, extent.length).is_none() {
            // The old bytes go first: two buffers would be twice the memory.
            buffer.bytes = Vec::new();
            buffer.bytes = file.read_ahead(extent, self.size, context)?;
            buffer.offset = extent.offset;
            let bytes = self.files.values().map(|buffer| buffer.bytes.capacity()).sum();
            if let Some(held) = &mut self.held {
                held.set(bytes);
            }
        }
        let buffer = self.files.get(&reference.file_number);
        let bytes = buffer.and_then(|buffer| buffer.part(extent.offset, extent.length)).unwrap_or_default();
        file.value(user_key, reference, extent, bytes.into())
    }
}

impl Buffer {
    fn part(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        self.bytes.get(start..start.checked_add(length)?)
    }
}
