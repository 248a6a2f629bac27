//! Writes one block-based table.
//!
//! ```text
//! add ... add      data blocks go out as they fill; separators and handles are kept
//! finish           filter, index, dictionary, range tombstones, properties, metaindex, footer; sync
//! ```
//!
//! With a compression dictionary the data blocks wait in memory until the samples for it are there. Other threads may
//! pack and write them (`parallel.rs`).
//!
//! An error is sticky: every later call returns the same error, and the file is to be deleted.

mod block_cut;
mod block_writer;
mod copying;
mod cut_block;
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
mod sampling;
mod sink;
mod strings;
mod totals;

pub use params::{TableBuilderParams, TableSummary};

use crate::collectors::Collectors;
use crate::options::{IndexType, PartitionFromLevel};
use block_cut::{BlockCut, OpenBlock, data_block_builder};
use block_writer::base_context;
use copying::Copying;
use cut_block::BlockKeys;
use dictionary::BufferedBlocks;
use ferrock_base::internal_key::{RANGE_TOMBSTONE_SENTINEL, TRAILER_SIZE, trailer, user_key};
use ferrock_base::{Error, ErrorKind, Result, ValueType};
use ferrock_format::block::BlockBuilder;
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::WritableFile;
use parallel::{FIRST_SHARED_BLOCK, Pipeline, is_time_to_ask};
use sampling::Sampler;
use sink::{BlockSink, Growth, SinkSize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use totals::TableTotals;

/// First format version whose checksums include the block's offset.
const FIRST_CONTEXT_VERSION: u32 = 6;

/// Builds a table from sorted entries.
#[derive(Debug)]
pub struct BlockTableBuilder {
    params: TableBuilderParams,
    path: PathBuf,
    base_context: u32,
    data_block: BlockBuilder,
    stage: Stage,
    /// When the last block was written, if the builder did it alone.
    size: SinkSize,
    growth: Growth,
    buffered: Option<BufferedBlocks>,
    /// With a pipeline: what filter and index are to be told of the open block.
    open_keys: BlockKeys,
    cut: BlockCut,
    /// Where blocks may be copied.
    copying: Option<Copying>,
    totals: TableTotals,
    /// Start internal keys and ends, as they were added.
    range_tombstones: Vec<(Vec<u8>, Vec<u8>)>,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
    /// Properties of the user-collected kind that this builder adds.
    own_properties: BTreeMap<Vec<u8>, Vec<u8>>,
    error: Option<Error>,
}

/// Which thread packs and writes blocks.
#[derive(Debug)]
enum Stage {
    /// The builder's own.
    Alone(Box<BlockSink>),
    /// Helpers, too.
    Shared(Box<Pipeline>),
    /// A thread panicked, or there was no memory for a compressor: the builder has an error.
    Lost,
}

/// What a table takes, or would take if it were finished now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Bytes of the file, roughly.
    pub bytes: u64,
    /// No fewer bytes than the file would have, but for range tombstones and what collectors of a program put into its
    /// properties.
    pub most_bytes: u64,
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
        let path = file.path().to_path_buf();
        let sink = Box::new(BlockSink::new(&params, file, base_context)?);
        let buffered = BufferedBlocks::new(&params);
        let data_block = data_block_builder(&params);
        let cut = BlockCut::new(&params);
        let collectors = Collectors::new(&params.deletion_rules, params.compact_for_tiering, &params.collectors);
        Ok(Self {
            copying: Copying::new(&params, &cut),
            cut,
            totals: TableTotals::new(collectors, Sampler::new(&params)),
            own_properties: BTreeMap::new(),
            path,
            base_context,
            data_block,
            size: SinkSize::default(),
            growth: Growth::of(&sink),
            stage: Stage::Alone(sink),
            buffered,
            open_keys: BlockKeys::default(),
            range_tombstones: Vec::new(),
            first_key: None,
            last_key: Vec::new(),
            error: None,
            params,
        })
    }

    /// Lets other threads pack and write the blocks that will be cut, where there are any.
    fn share(&mut self, dictionary: Option<&[u8]>) -> Result<()> {
        if !self.may_share() || !matches!(self.stage, Stage::Alone(_)) {
            return Ok(());
        }
        let Stage::Alone(mut sink) = std::mem::replace(&mut self.stage, Stage::Lost) else { return Ok(()) };
        sink.set_last_key(&self.last_key);
        self.stage = match Pipeline::new(&self.params, dictionary, sink)? {
            Ok(pipeline) => Stage::Shared(Box::new(pipeline)),
            Err(sink) => Stage::Alone(sink),
        };
        Ok(())
    }

    /// The same for a table that has become long enough, where a processor is idle.
    #[inline]
    fn share_if_long(&mut self) -> Result<()> {
        if !is_time_to_ask(self.totals.blocks()) || !self.may_borrow() {
            return Ok(());
        }
        let dictionary = match &self.stage {
            Stage::Alone(sink) if self.buffered.is_none() => sink.writer.dictionary_bytes(),
            _ => return Ok(()),
        };
        self.share(dictionary.as_deref())
    }

    /// Whether other threads may write the table. A program's collectors are told the size of the file with each entry,
    /// so with them no block may be on its way.
    fn may_share(&self) -> bool {
        !self.totals.has_collectors() && Pipeline::is_possible(&self.params)
    }

    /// True where the options ask for one thread and a processor is idle.
    fn may_borrow(&self) -> bool {
        self.params.compression_options.parallel_threads == 1 && self.may_share() && (self.params.idle_cpus)() > 0
    }

    /// Ends the sharing when the processor that was lent is wanted elsewhere.
    #[cold]
    fn stop_sharing(&mut self) -> Result<()> {
        if let Stage::Shared(pipeline) = std::mem::replace(&mut self.stage, Stage::Lost) {
            let sink = pipeline.into_sink()?;
            self.size = sink.size();
            self.stage = Stage::Alone(sink);
        }
        Ok(())
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
            self.begin(internal_key)?;
        } else if self.params.comparator.compare(&self.last_key, internal_key).is_ge() {
            return Err(Error::invalid_argument("keys are added out of order to a table"));
        }
        if !self.data_block.is_empty() && (self.is_block_full(internal_key, value) || self.ends_early(internal_key)) {
            self.cut_block(Some(internal_key))?;
            self.share_if_long()?;
            if let Stage::Alone(sink) = &self.stage {
                self.cut.begin_block(sink.index.estimated_size());
            }
        }
        match &mut self.stage {
            Stage::Alone(sink) => sink.note_key(internal_key, &self.last_key),
            _ => self.open_keys.push(internal_key),
        }
        self.data_block.add(internal_key, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(internal_key);
        let file_size = self.told_size();
        self.totals.add(internal_key, value, value_type, file_size);
        Ok(())
    }

    /// Begins the first block with this key.
    fn begin(&mut self, first: &[u8]) -> Result<()> {
        self.first_key = Some(first.to_vec());
        if let Stage::Alone(sink) = &mut self.stage {
            sink.index.begin(&self.params.comparator, first);
            self.cut.begin_table(user_key(first), sink.index.estimated_size());
        }
        if self.buffered.is_none() && self.params.compression_options.parallel_threads > 1 {
            self.share(None)?;
        }
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
        let file_size = self.told_size();
        self.totals.add(start, end, value_type, file_size);
        Ok(())
    }

    #[inline]
    fn is_block_full(&mut self, internal_key: &[u8], value: &[u8]) -> bool {
        if !self.cut.is_special() {
            return self.cut.is_full(&self.data_block, internal_key, value);
        }
        let (block, last) = (&self.data_block, user_key(&self.last_key));
        let index_bytes = match &self.stage {
            Stage::Alone(sink) => sink.index.estimated_size(),
            _ => 0,
        };
        let number = self.totals.blocks();
        self.cut.ends_before(OpenBlock { block, last, number, index_bytes }, internal_key, value)
    }

    /// True when the open block is to end before this key, so that blocks behind it can be copied.
    #[inline]
    fn ends_early(&mut self, internal_key: &[u8]) -> bool {
        match &mut self.copying {
            Some(copying) => copying.ends_before(internal_key, &self.params.comparator),
            None => false,
        }
    }

    /// Ends the data block; `next` is the key that begins the next one.
    fn cut_block(&mut self, next: Option<&[u8]>) -> Result<()> {
        if self.data_block.is_empty() {
            return Ok(());
        }
        let block = self.data_block.finish();
        let last = &self.last_key;
        let end = self.cut.block_end(next.is_none());
        self.totals.end_block(block);
        let payload = self.copying.as_mut().and_then(|copying| copying.find(block));
        match (&mut self.stage, &mut self.buffered) {
            (Stage::Alone(sink), Some(buffered)) => {
                // The block's offset is not known yet; the end of an index partition is decided from a guess.
                let guess = BlockHandle::new(sink.writer.offset() + buffered.total_bytes(), block.len() as u64);
                sink.end_buffered(last, next, guess, end);
                buffered.push(block);
            }
            (Stage::Alone(sink), None) => sink.write((block, payload.as_ref()), last, next, end)?,
            (Stage::Shared(pipeline), _) => {
                self.open_keys.finish(next, end);
                pipeline.push(block, &mut self.open_keys, payload.as_ref())?;
            }
            (Stage::Lost, _) => return Err(lost()),
        }
        if let Stage::Alone(sink) = &self.stage {
            self.size = sink.size();
        }
        self.data_block.reset();
        if matches!(&self.stage, Stage::Shared(pipeline) if pipeline.is_left_alone()) {
            self.stop_sharing()?;
        }
        let is_full = self.buffered.as_ref().is_some_and(|buffered| buffered.is_full(&self.params));
        if is_full { self.write_buffered() } else { Ok(()) }
    }

    /// Makes the dictionary of what was buffered, and writes the blocks with it.
    fn write_buffered(&mut self) -> Result<()> {
        let Some(buffered) = self.buffered.take() else { return Ok(()) };
        let dictionary = buffered.dictionary(&self.params);
        if let (Some(dictionary), Stage::Alone(sink)) = (&dictionary, &mut self.stage) {
            sink.writer.set_dictionary(&self.params, dictionary)?;
        }
        let (asked, blocks) = (self.params.compression_options.parallel_threads, self.totals.blocks());
        if asked > 1 && blocks > 0 || blocks >= FIRST_SHARED_BLOCK && self.may_borrow() {
            self.share(dictionary.as_deref())?;
        }
        let (blocks, _charge) = buffered.into_blocks();
        for (number, block) in blocks.iter().enumerate() {
            match &mut self.stage {
                Stage::Alone(sink) => sink.write_buffered(number, block)?,
                Stage::Shared(pipeline) => pipeline.push(block, &mut BlockKeys::of_buffered(number), None)?,
                Stage::Lost => return Err(lost()),
            }
        }
        if let Stage::Alone(sink) = &self.stage {
            self.size = sink.size();
        }
        Ok(())
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

    /// The size of the file, for collectors: where there are any, all blocks that were cut are in it, but for those
    /// that wait for a dictionary.
    #[inline]
    fn told_size(&self) -> u64 {
        if let Stage::Alone(sink) = &self.stage { sink.writer.offset() } else { 0 }
    }

    /// Bytes that were written.
    #[inline]
    #[must_use]
    pub fn file_size(&self) -> u64 {
        match &self.stage {
            Stage::Alone(sink) => sink.writer.offset(),
            Stage::Shared(pipeline) => pipeline.written_bytes(),
            Stage::Lost => 0,
        }
    }

    /// Threads that pack blocks, that of the caller among them.
    #[must_use]
    pub fn threads(&self) -> usize {
        if let Stage::Shared(pipeline) = &self.stage { pipeline.threads() } else { 1 }
    }

    /// What the table would take if it were finished now, or more, where blocks are on their way.
    #[must_use]
    pub fn size_at_most(&self) -> TableSize {
        self.size_with(match &self.stage {
            Stage::Shared(pipeline) => pipeline.size_at_most(),
            Stage::Alone(_) | Stage::Lost => self.size,
        })
    }

    /// What the table would take if it were finished now, after all blocks on their way were written. It is the same
    /// however many threads there are. An error of writing them is that of the next call of [`add`](Self::add).
    #[must_use]
    pub fn size(&mut self) -> TableSize {
        if let Stage::Shared(pipeline) = &mut self.stage
            && let Err(error) = pipeline.drain()
        {
            self.error.get_or_insert(error);
        }
        self.size_at_most()
    }

    #[inline]
    fn size_with(&self, sink: SinkSize) -> TableSize {
        /// Properties, metaindex and footer.
        const META_BYTES: u64 = 4096;
        /// Of each block: the trailer and the handle, and lengths and restarts of its entries in indexes.
        const BLOCK_BYTES: u64 = 32;
        let waiting = self.buffered.as_ref().map_or(0, BufferedBlocks::total_bytes);
        let block = if self.data_block.is_empty() { 0 } else { self.data_block.size_estimate() as u64 };
        // What the filter has to take of the open block is left out: with helpers it does not know of it yet.
        let bytes = sink.file + waiting + block + sink.index + sink.filter;
        let filter = sink.filter / 8 + self.growth.of_filter(self.totals.open_entries());
        let dictionary = u64::from(self.params.compression_options.max_dict_bytes);
        let most_bytes = bytes + (self.totals.blocks() + 1) * BLOCK_BYTES + filter + dictionary + META_BYTES;
        TableSize { bytes, most_bytes }
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the table up. The file stays, incomplete, for the caller to delete.
    pub fn abandon(self) {}
}

#[cold]
fn lost() -> Error {
    Error::new(ErrorKind::Aborted, "the file of the table was given up after an error")
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
