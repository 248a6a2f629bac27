//! Writes one block-based table.
//!
//! ```text
//! add ... add      data blocks go out as they fill; separators and handles are kept
//! finish           filter, index, dictionary, range tombstones, properties, metaindex, footer; sync
//! ```
//!
//! With a compression dictionary the data blocks wait in memory until the samples for it are there. Other threads may
//! compress them (`parallel.rs`).
//!
//! An error is sticky: every later call returns the same error, and the file is to be deleted.

mod block_cut;
mod block_writer;
mod dictionary;
mod filter_blocks;
mod finish;
mod hash_prefixes;
mod index_builder;
mod packing;
mod parallel;
mod params;
mod partition_cut;
mod row_bounds;
mod strings;
mod totals;

pub use params::{TableBuilderParams, TableSummary};

use crate::collectors::Collectors;
use crate::options::{DataBlockIndexType, IndexType, PartitionFromLevel};
use block_cut::{BlockCut, OpenBlock};
use block_writer::BlockWriter;
use dictionary::BufferedBlocks;
use ferrock_base::checksum::crc32c;
use ferrock_base::hash::hash128;
use ferrock_base::internal_key::{RANGE_TOMBSTONE_SENTINEL, TRAILER_SIZE, trailer, user_key};
use ferrock_base::{Error, Result, ValueType};
use ferrock_format::block::{BlockBuilder, BlockBuilderOptions};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::WritableFile;
use filter_blocks::FilterBlocks;
use index_builder::IndexBuilder;
use packing::Stored;
use parallel::{BlockKeys, Pipeline};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use totals::TableTotals;

/// First format version whose checksums include the block's offset.
const FIRST_CONTEXT_VERSION: u32 = 6;

/// Builds a table from sorted entries.
#[derive(Debug)]
pub struct BlockTableBuilder {
    params: TableBuilderParams,
    writer: BlockWriter,
    base_context: u32,
    data_block: BlockBuilder,
    index: IndexBuilder,
    filter: Option<FilterBlocks>,
    buffered: Option<BufferedBlocks>,
    /// Blocks that other threads compress.
    pipeline: Option<Pipeline>,
    /// With a pipeline: what filter and index are to be told of the open block, and the last key that they know.
    open_keys: BlockKeys,
    last_known_key: Vec<u8>,
    cut: BlockCut,
    totals: TableTotals,
    /// Start internal keys and ends, as they were added.
    range_tombstones: Vec<(Vec<u8>, Vec<u8>)>,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
    /// Properties of the user-collected kind that this builder adds.
    own_properties: BTreeMap<Vec<u8>, Vec<u8>>,
    error: Option<Error>,
}

impl BlockTableBuilder {
    pub(crate) fn params_mut(&mut self) -> &mut TableBuilderParams {
        &mut self.params
    }

    /// Begins a table in an empty file.
    ///
    /// # Errors
    /// `InvalidArgument` for options that contradict each other or are out of their bounds; `MemoryLimit` when the
    /// block cache has no room for what the builder is charged with.
    pub fn new(mut params: TableBuilderParams, file: Box<dyn WritableFile>) -> Result<Self> {
        params.comparator.user().refuse_timestamps()?;
        if let Some(violation) = params.options.violations().first() {
            return Err(Error::invalid_argument(violation.to_string()));
        }
        if let PartitionFromLevel::Level(level) = params.options.partition_from_level
            && params.options.index_type == IndexType::TwoLevelIndexSearch
            && i64::from(params.filter_level.max(0)) < i64::from(level)
        {
            Arc::make_mut(&mut params.options).index_type = IndexType::BinarySearch;
        }
        let options = params.options.clone();
        let base_context =
            if options.format_version >= FIRST_CONTEXT_VERSION { base_context(&params, &*file) } else { 0 };
        let writer = BlockWriter::new(file, &params, base_context)?;
        let filter = FilterBlocks::new(&params);
        let buffered = BufferedBlocks::new(&params);
        let pipeline = if buffered.is_some() { None } else { Pipeline::new(&params, None)? };
        let data_block = data_block_builder(&params);
        let index = IndexBuilder::new(&options, params.prefix_extractor.as_ref());
        Ok(Self {
            cut: BlockCut::new(&params),
            totals: TableTotals::new(Collectors::new(&params.deletion_rules, &params.collectors)),
            own_properties: BTreeMap::new(),
            writer,
            base_context,
            data_block,
            index,
            filter,
            buffered,
            pipeline,
            open_keys: BlockKeys::default(),
            last_known_key: Vec::new(),
            range_tombstones: Vec::new(),
            first_key: None,
            last_key: Vec::new(),
            error: None,
            params,
        })
    }

    fn guard(&mut self, result: Result<()>) -> Result<()> {
        if let Err(error) = &result {
            self.error = Some(error.clone());
        }
        result
    }

    /// Adds an entry. Internal keys must come in strictly ascending order.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that does not come behind the last one or is no internal key of a type that tables
    /// hold; `Io` or `NoSpace` when a block cannot be written. The builder then returns this error to every later call:
    /// give the file up.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let result = self.add_entry(internal_key, value);
        if result.is_err() { self.guard(result) } else { result }
    }

    fn add_entry(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        let value_type = check_lengths(internal_key, value)?;
        if value_type == ValueType::RangeDeletion {
            return self.add_tombstone(internal_key, value);
        }
        if !value_type.is_point_entry() {
            return Err(Error::invalid_argument(format!("an entry of type {value_type:?} in a table")));
        }
        if self.first_key.is_none() {
            self.first_key = Some(internal_key.to_vec());
            self.index.begin(&self.params.comparator, internal_key);
            self.cut.begin_table(user_key(internal_key), self.index.estimated_size());
        } else if self.params.comparator.compare(&self.last_key, internal_key).is_ge() {
            return Err(Error::invalid_argument("keys are added out of order to a table"));
        }
        if !self.data_block.is_empty() && self.is_block_full(internal_key, value) {
            self.cut_block(Some(internal_key))?;
            self.cut.begin_block(self.index.estimated_size());
        }
        if self.pipeline.is_some() {
            self.open_keys.push(internal_key);
        } else {
            note_key(&mut self.filter, &mut self.index, internal_key, &self.last_key);
        }
        self.data_block.add(internal_key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);
        let file_size = self.data_size();
        self.totals.add(internal_key, value, value_type, file_size);
        Ok(())
    }

    /// Adds a range tombstone: the internal key of its start and the user key of its end. Any order.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that is not an internal key of a range tombstone. As for [`add`](Self::add), every
    /// later call returns the same error.
    pub fn add_range_tombstone(&mut self, start_internal_key: &[u8], end_user_key: &[u8]) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let result = self.add_tombstone(start_internal_key, end_user_key);
        if result.is_err() { self.guard(result) } else { result }
    }

    fn add_tombstone(&mut self, start: &[u8], end: &[u8]) -> Result<()> {
        let value_type = check_lengths(start, end)?;
        if value_type != ValueType::RangeDeletion {
            return Err(Error::invalid_argument(format!("a range tombstone of type {value_type:?}")));
        }
        debug_assert!(trailer(start) != RANGE_TOMBSTONE_SENTINEL, "a sentinel is no tombstone");
        self.range_tombstones.push((start.to_vec(), end.to_vec()));
        let file_size = self.data_size();
        self.totals.add(start, end, value_type, file_size);
        Ok(())
    }

    #[inline]
    fn is_block_full(&mut self, internal_key: &[u8], value: &[u8]) -> bool {
        if !self.cut.is_special() {
            return self.cut.is_full(&self.data_block, internal_key, value);
        }
        let (block, last) = (&self.data_block, user_key(&self.last_key));
        let (number, index_bytes) = (self.totals.blocks(), self.index.estimated_size());
        self.cut.ends_before(OpenBlock { block, last, number, index_bytes }, internal_key, value)
    }

    /// Ends the data block; `next` is the key that begins the next one.
    fn cut_block(&mut self, next: Option<&[u8]>) -> Result<()> {
        if self.data_block.is_empty() {
            return Ok(());
        }
        let block = self.data_block.finish();
        let (comparator, last) = (&self.params.comparator, &self.last_key);
        let end = self.cut.block_end(next.is_none());
        self.totals.end_block(block.len());
        if let Some(buffered) = &mut self.buffered {
            // The block's offset is not known yet; the end of an index partition is decided from a guess.
            let guess = BlockHandle::new(self.writer.offset() + buffered.total_bytes(), block.len() as u64);
            self.index.end_block(comparator, last, next, guess, end);
            buffered.push(block);
            self.data_block.reset();
            if buffered.is_full(&self.params) {
                return self.write_buffered();
            }
            return Ok(());
        }
        if let Some(pipeline) = &mut self.pipeline {
            let keys = std::mem::take(&mut self.open_keys).ended(next, end);
            pipeline.push(block.to_vec(), keys);
            self.data_block.reset();
            return self.write_packed(false);
        }
        let (handle, stored) = self.writer.write_data(block)?;
        self.index.end_block(comparator, last, next, handle, end);
        self.totals.add_stored(stored);
        self.data_block.reset();
        Ok(())
    }

    /// Writes the blocks whose turn it is, or all that other threads compress, and tells filter and index of them.
    fn write_packed(&mut self, all: bool) -> Result<()> {
        let Some(pipeline) = &mut self.pipeline else { return Ok(()) };
        while all || pipeline.is_full() {
            let Some((packed, keys)) = pipeline.take()? else { break };
            for key in keys.iter() {
                note_key(&mut self.filter, &mut self.index, key, &self.last_known_key);
                self.last_known_key.clear();
                self.last_known_key.extend_from_slice(key);
            }
            let handle = self.writer.write_packed(&packed)?;
            let (comparator, last) = (&self.params.comparator, &self.last_known_key);
            self.index.end_block(comparator, last, keys.next.as_deref(), handle, keys.end);
            self.totals.add_stored(packed.stored);
        }
        Ok(())
    }

    /// Makes the dictionary of what was buffered, and writes the blocks with it.
    fn write_buffered(&mut self) -> Result<()> {
        let Some(buffered) = self.buffered.take() else { return Ok(()) };
        let dictionary = buffered.dictionary(&self.params);
        if let Some(dictionary) = &dictionary {
            self.writer.set_dictionary(&self.params, dictionary)?;
        }
        self.pipeline = Pipeline::new(&self.params, dictionary.as_deref())?;
        // Filter and index know of the buffered blocks already.
        self.last_known_key.clone_from(&self.last_key);
        let (blocks, _charge) = buffered.into_blocks();
        let mut number = 0;
        for block in blocks {
            match &mut self.pipeline {
                Some(pipeline) => pipeline.push(block, BlockKeys::default()),
                None => {
                    let (handle, stored) = self.writer.write_data(&block)?;
                    self.place_buffered(&mut number, handle, stored);
                }
            }
            while self.pipeline.as_ref().is_some_and(Pipeline::is_full) && self.write_packed_buffered(&mut number)? {}
        }
        while self.write_packed_buffered(&mut number)? {}
        Ok(())
    }

    /// Writes the oldest of the buffered blocks that other threads compress; false when there is none.
    fn write_packed_buffered(&mut self, number: &mut usize) -> Result<bool> {
        let Some(pipeline) = &mut self.pipeline else { return Ok(false) };
        let Some((packed, _)) = pipeline.take()? else { return Ok(false) };
        let handle = self.writer.write_packed(&packed)?;
        self.place_buffered(number, handle, packed.stored);
        Ok(true)
    }

    /// Notes where a buffered block is.
    fn place_buffered(&mut self, number: &mut usize, handle: BlockHandle, stored: Stored) {
        self.index.set_handle(*number, handle);
        self.totals.add_stored(stored);
        *number += 1;
    }

    /// Entries so far, range tombstones included.
    #[must_use]
    pub fn num_entries(&self) -> u64 {
        self.totals.entries()
    }

    /// True when nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.entries() == 0
    }

    /// Bytes of the blocks that were cut and do not wait for a dictionary; of those with other threads, roughly.
    #[inline]
    fn data_size(&self) -> u64 {
        self.writer.offset() + self.pipeline.as_ref().map_or(0, Pipeline::estimated_size)
    }

    /// Bytes that were written.
    #[must_use]
    pub fn file_size(&self) -> u64 {
        self.writer.offset()
    }

    /// Roughly the bytes the file would have if it were finished now.
    #[must_use]
    pub fn estimated_file_size(&self) -> u64 {
        let waiting = self.buffered.as_ref().map_or(0, BufferedBlocks::total_bytes);
        let block = if self.data_block.is_empty() { 0 } else { self.data_block.size_estimate() as u64 };
        let filter = self.filter.as_ref().map_or(0, FilterBlocks::estimated_size);
        let packing = self.pipeline.as_ref().map_or(0, Pipeline::estimated_size);
        self.writer.offset() + waiting + packing + block + self.index.estimated_size() + filter
    }

    /// No fewer bytes than the file would have if it were finished now, but for range tombstones and what collectors of
    /// a program put into its properties.
    #[must_use]
    pub fn most_file_size(&self) -> u64 {
        /// Properties, metaindex and footer.
        const META_BYTES: u64 = 4096;
        /// Of each block: the trailer and the handle, and lengths and restarts of its entries in indexes.
        const BLOCK_BYTES: u64 = 32;
        let filter = self.filter.as_ref().map_or(0, FilterBlocks::estimated_size);
        self.estimated_file_size() + (self.totals.blocks() + 1) * BLOCK_BYTES + filter / 8 + META_BYTES
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.writer.file().path()
    }

    /// Gives the table up. The file stays, incomplete, for the caller to delete.
    pub fn abandon(self) {}
}

/// Tells filter and index of an entry. `previous` is the key before it; empty for the first one.
#[inline]
fn note_key(filter: &mut Option<FilterBlocks>, index: &mut IndexBuilder, internal_key: &[u8], previous: &[u8]) {
    if let Some(filter) = filter {
        filter.add(user_key(internal_key), user_key(previous), index);
    }
    index.add_key(internal_key);
}

fn data_block_builder(params: &TableBuilderParams) -> BlockBuilder {
    let options = &params.options;
    let mut builder = BlockBuilder::new(BlockBuilderOptions {
        restart_interval: usize::try_from(options.block_restart_interval).unwrap_or(1),
        use_delta_encoding: options.use_delta_encoding,
        use_value_delta_encoding: false,
    });
    if options.separate_key_value_in_data_block {
        builder = builder.with_separate_values();
    }
    // A filter hashes bytes, so it cannot match keys that compare equal but differ in bytes.
    if options.data_block_index_type == DataBlockIndexType::BinaryAndHash
        && !params.comparator.user().can_keys_with_different_bytes_be_equal()
    {
        return builder.with_hash_index(options.data_block_hash_table_util_ratio);
    }
    builder
}

/// Lengths are 32-bit on disk.
#[inline]
fn check_lengths(internal_key: &[u8], value: &[u8]) -> Result<ValueType> {
    let fits = internal_key.len() < u32::MAX as usize && value.len() < u32::MAX as usize;
    let type_byte = internal_key.len().checked_sub(TRAILER_SIZE).map(|index| internal_key[index]);
    match type_byte.and_then(ValueType::from_u8).filter(|_| fits) {
        Some(value_type) => Ok(value_type),
        None => Err(bad_entry(internal_key.len(), value.len())),
    }
}

#[cold]
fn bad_entry(key_length: usize, value_length: usize) -> Error {
    Error::invalid_argument(format!(
        "an entry with an internal key of {key_length} and a value of {value_length} bytes: the key must end in a known \
         type and sequence number, and both must be below 4 GiB"
    ))
}

/// The file's own number for its checksums: any value but zero, different between files.
fn base_context(params: &TableBuilderParams, file: &dyn WritableFile) -> u32 {
    let mut identity = Vec::new();
    identity.extend_from_slice(params.db_session_id.as_bytes());
    identity.extend_from_slice(params.db_id.as_bytes());
    identity.extend_from_slice(&params.file_number.to_le_bytes());
    identity.extend_from_slice(&crc32c(file.path().as_os_str().as_encoded_bytes()).to_le_bytes());
    match hash128(&identity, 1).1 as u32 {
        0 => 1,
        base => base,
    }
}
