//! What becomes of a data block that was cut: a place in the file, and its keys in filter and index.
//!
//! ```text
//! alone          add:       key -> filter, index
//!                cut:       block -> packed -> file;  its end -> index
//! with helpers   cut:       block and keys wait
//!                its turn:  keys -> filter, index;  packed block -> file;  its end -> index
//! ```
//!
//! Both ways make the same calls in the same order, so they make the same bytes. One thread at a time has the sink.

use super::TableBuilderParams;
use super::block_writer::BlockWriter;
use super::cut_block::CutBlock;
use super::filter_blocks::FilterBlocks;
use super::index_builder::IndexBuilder;
use super::packing::Stored;
use super::partition_cut::BlockEnd;
use crate::stored_blocks::StoredPayload;
use ferrock_base::internal_key::user_key;
use ferrock_base::{InternalComparator, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_format::properties::TableProperties;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_vfs::WritableFile;

/// File, filter and index of one table.
#[derive(Debug)]
pub(super) struct BlockSink {
    comparator: InternalComparator,
    pub(super) writer: BlockWriter,
    pub(super) index: IndexBuilder,
    pub(super) filter: Option<FilterBlocks>,
    /// The last key of the blocks that came with their keys.
    last_key: Vec<u8>,
    num_rejected: u64,
    num_raw: u64,
}

/// Bytes of a table that is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SinkSize {
    /// What was written.
    pub(super) file: u64,
    /// What the index would take now, roughly.
    pub(super) index: u64,
    /// The same of the filter.
    pub(super) filter: u64,
}

impl BlockSink {
    pub(super) fn new(params: &TableBuilderParams, file: Box<dyn WritableFile>, base_context: u32) -> Result<Self> {
        Ok(Self {
            comparator: params.comparator.clone(),
            writer: BlockWriter::new(file, params, base_context)?,
            index: IndexBuilder::new(&params.options, params.prefix_extractor.as_ref()),
            filter: FilterBlocks::new(params),
            last_key: Vec::new(),
            num_rejected: 0,
            num_raw: 0,
        })
    }

    /// Tells filter and index of an entry. `previous` is the key before it; empty for the first one.
    #[inline]
    pub(super) fn note_key(&mut self, internal_key: &[u8], previous: &[u8]) {
        if let Some(filter) = &mut self.filter {
            filter.add(user_key(internal_key), user_key(previous), &mut self.index);
        }
        self.index.add_key(internal_key);
    }

    /// Packs, unless there is a payload for it, and writes a block whose keys were noted, the last of them `last`;
    /// `next` begins the next one.
    pub(super) fn write(
        &mut self,
        (block, payload): (&[u8], Option<&StoredPayload>),
        last: &[u8],
        next: Option<&[u8]>,
        end: BlockEnd,
    ) -> Result<()> {
        let (handle, stored) = match payload {
            Some(payload) => self.writer.write_copy(block, payload)?,
            None => self.writer.write_data(block)?,
        };
        self.index.end_block(&self.comparator, last, next, handle, end);
        self.count(stored);
        Ok(())
    }

    /// The end of a block that has no place yet, but this one as a guess.
    pub(super) fn end_buffered(&mut self, last: &[u8], next: Option<&[u8]>, guess: BlockHandle, end: BlockEnd) {
        self.index.end_block(&self.comparator, last, next, guess, end);
    }

    /// Packs and writes the block `number`, whose keys and end were noted long ago.
    pub(super) fn write_buffered(&mut self, number: usize, block: &[u8]) -> Result<()> {
        let (handle, stored) = self.writer.write_data(block)?;
        self.index.set_handle(number, handle);
        self.count(stored);
        Ok(())
    }

    /// The keys up to this one were noted.
    pub(super) fn set_last_key(&mut self, last: &[u8]) {
        self.last_key.clear();
        self.last_key.extend_from_slice(last);
    }

    /// Writes a block that was packed by [`parallel`](super::parallel), and notes its keys unless that was done.
    pub(super) fn write_packed(&mut self, block: &CutBlock) -> Result<()> {
        if let Some(number) = block.keys.buffered_as {
            let handle = self.writer.write_packed(block)?;
            self.index.set_handle(number, handle);
        } else {
            let mut last = std::mem::take(&mut self.last_key);
            for key in block.keys.iter() {
                self.note_key(key, &last);
                last.clear();
                last.extend_from_slice(key);
            }
            self.last_key = last;
            let handle = self.writer.write_packed(block)?;
            self.index.end_block(&self.comparator, &self.last_key, block.keys.next(), handle, block.keys.end);
        }
        self.count(block.stored);
        Ok(())
    }

    fn count(&mut self, stored: Stored) {
        match stored {
            Stored::Compressed => {}
            Stored::Rejected => self.num_rejected += 1,
            Stored::Raw => self.num_raw += 1,
        }
    }

    pub(super) fn size(&self) -> SinkSize {
        SinkSize {
            file: self.writer.offset(),
            index: self.index.estimated_size(),
            filter: self.filter.as_ref().map_or(0, FilterBlocks::estimated_size),
        }
    }

    /// Records how blocks were stored.
    pub(super) fn describe_in(&self, properties: &mut TableProperties) {
        properties.num_data_blocks_compression_rejected = self.num_rejected;
        properties.num_data_blocks_compression_bypassed = self.num_raw;
    }
}

/// What blocks that were not written yet may add to a [`SinkSize`], at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// Of the filter, for a thousand entries.
    filter_bytes_per_1000: u64,
    /// Of the filter, for each entry besides: where partitions of it have few entries.
    partition_bytes_per_entry: u64,
    /// Around a block.
    padding_bytes: u64,
}

impl Growth {
    /// The handle and the bookkeeping of a block in the index, and what a partition of the filter that ends with it
    /// wastes.
    const BLOCK_BYTES: u64 = BLOCK_TRAILER_SIZE as u64 + 64 + 256;

    pub(super) fn of(sink: &BlockSink) -> Self {
        let filter = sink.filter.as_ref();
        Self {
            padding_bytes: sink.writer.most_padding(),
            filter_bytes_per_1000: filter.map_or(0, FilterBlocks::bytes_per_1000_keys),
            partition_bytes_per_entry: filter.map_or(0, FilterBlocks::waste_per_key),
        }
    }

    /// Of a block of so many `bytes` with so many `entries`, the longest key of which has `key_bytes`.
    pub(super) fn of_block(self, bytes: usize, entries: usize, key_bytes: usize) -> u64 {
        let index = 3 * key_bytes as u64 + Self::BLOCK_BYTES;
        bytes as u64 + index + self.padding_bytes + self.of_filter(entries as u64)
    }

    /// Of the filter, for so many entries.
    #[inline]
    pub(super) fn of_filter(self, entries: u64) -> u64 {
        // A partition that ends shares prefixes with its neighbours.
        let entries = entries + 2;
        (entries * self.filter_bytes_per_1000).div_ceil(1000) + entries * self.partition_bytes_per_entry
    }
}
