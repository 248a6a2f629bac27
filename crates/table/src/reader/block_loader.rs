//! Reads blocks of one file: bounds, bytes, and what [`BlockDecoder`] and [`CachedBlocks`] do with them.

use super::block_decoder::BlockDecoder;
use super::cached_blocks::CachedBlocks;
use super::file_reads::{self, FileReads};
use super::params::TableReaderParams;
use super::read_options::TableReadOptions;
use super::side_blocks::SideBlocks;
use crate::adaptive::ReadStats;
use crate::blocks::{BlockRef, BlockRole, CachedBlock};
use ferrock_base::{Error, ErrorKind, InternalComparator, Result};
use ferrock_format::block::RowBounds;
use ferrock_format::footer::Footer;
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_statistics::{Histogram, PerfMetric, PerfRecorder, PerfTimer, Statistics};
use ferrock_vfs::{IoActivity, RandomAccessFile, ReadClass, ReadContext, read_owned, thread_cpu_ns};
use std::borrow::Cow;
use std::sync::Arc;

/// Everything needed to turn a handle into a block.
#[derive(Debug)]
pub(crate) struct BlockLoader {
    file: Arc<dyn RandomAccessFile>,
    /// Blocks end at or before this offset: where the footer begins.
    blocks_end: u64,
    decoder: BlockDecoder,
    cache: CachedBlocks,
    /// Row bounds behind index blocks.
    side_blocks: SideBlocks,
    /// Counts the data blocks that lookups read.
    read_stats: Option<Arc<ReadStats>>,
    /// The last bytes of the file, while it is being opened.
    tail: Option<(u64, Vec<u8>)>,
    statistics: Option<Arc<Statistics>>,
    file_reads: Option<FileReads>,
}

impl BlockLoader {
    /// The loader of a file with this footer, of which nothing else is known yet. `tail`: its last bytes, from an
    /// offset on.
    pub(crate) fn opening(params: &TableReaderParams, footer: &Footer, tail: (u64, Vec<u8>)) -> Self {
        let options = &params.options;
        let cache = params.cache.clone().filter(|_| !options.no_block_cache);
        Self {
            file: params.file.clone(),
            blocks_end: params.file_size - footer.encoded_len() as u64,
            decoder: BlockDecoder::new(footer, params.comparator.clone(), options.index_block_search_type)
                .counting(params.statistics.clone())
                .protecting(params.protects_blocks),
            cache: CachedBlocks::new(
                cache,
                options.cache_index_and_filter_blocks_with_high_priority,
                usize::try_from(params.level).unwrap_or(0),
                params.statistics.clone(),
            ),
            side_blocks: SideBlocks::default(),
            read_stats: params.read_stats.clone(),
            tail: Some(tail),
            file_reads: FileReads::of(params),
            statistics: params.statistics.clone(),
        }
    }

    /// The decoder, while the table is being opened.
    pub(crate) fn decoder_mut(&mut self) -> &mut BlockDecoder {
        &mut self.decoder
    }

    /// The file's place in the cache, while the table is being opened.
    pub(crate) fn cache_mut(&mut self) -> &mut CachedBlocks {
        &mut self.cache
    }

    /// Reads the directory of the row bounds of a table with these index partitions.
    pub(crate) fn open_side_blocks(&mut self, directory: BlockHandle, partitions: &[BlockHandle]) -> Result<()> {
        let (bytes, _) = self.read_stored(directory, &ReadContext::for_class(ReadClass::Index), true)?;
        self.side_blocks = SideBlocks::of_directory(&bytes, partitions, self.blocks_end)
            .map_err(|error| error.context("row bounds").offset_by(directory.offset))?;
        Ok(())
    }

    /// Drops the last bytes of the file: the table is open.
    pub(crate) fn finish_opening(&mut self) {
        self.tail = None;
    }

    /// Names the file in an error.
    #[cold]
    pub(crate) fn in_file(&self, error: Error) -> Error {
        error.in_file(self.file.path())
    }

    #[inline]
    pub(crate) fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    #[inline]
    pub(crate) fn blocks_end(&self) -> u64 {
        self.blocks_end
    }

    #[inline]
    pub(crate) fn decoder(&self) -> &BlockDecoder {
        &self.decoder
    }

    #[inline]
    pub(crate) fn cache(&self) -> &CachedBlocks {
        &self.cache
    }

    /// Order of the keys.
    #[inline]
    pub(crate) fn comparator(&self) -> &InternalComparator {
        self.decoder.comparator()
    }

    #[inline]
    pub(crate) fn side_blocks(&self) -> &SideBlocks {
        &self.side_blocks
    }

    /// Memory of the dictionary, the places of row bounds, and what is known of a mapped file.
    #[inline]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.decoder.memory_bytes() + self.side_blocks.memory_bytes() + self.cache.memory_bytes()
    }

    /// The block, from the cache or the file.
    pub(crate) fn load(&self, handle: BlockHandle, role: BlockRole, options: &TableReadOptions) -> Result<BlockRef> {
        self.load_by(handle, role, options, || self.read_for(handle, role, options))
    }

    /// The block, from the cache or made by `read`.
    pub(crate) fn load_by(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
        read: impl FnMut() -> Result<CachedBlock>,
    ) -> Result<BlockRef> {
        match self.cache.find(handle, role) {
            Some(found) => Ok(found),
            None => self.load_missing(handle, role, options, read),
        }
    }

    /// The block, which was just looked up in vain, made by `read`.
    #[cold]
    pub(crate) fn load_missing(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
        mut read: impl FnMut() -> Result<CachedBlock>,
    ) -> Result<BlockRef> {
        let fills = options.fills_cache_with(role) && !options.reads_memory_only();
        if !fills || !self.cache.is_there() {
            options.may_read()?;
            return read().map(BlockRef::standalone);
        }
        let (is_opening, mut has_loaded) = (self.tail.is_some(), false);
        let loaded = self.cache.load_missing(handle, role, is_opening, || {
            has_loaded = true;
            read()
        });
        match loaded {
            // The deadline of another read, which loaded the block for both, passed.
            Err(error) if !is_opening && !has_loaded && error.kind() == ErrorKind::TimedOut => {
                read().map(BlockRef::standalone)
            }
            Err(error) if !is_opening => Err(self.in_file(error)),
            loaded => loaded,
        }
    }

    /// Reads and decodes a block, past the cache, as the options say.
    pub(crate) fn read_for(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
    ) -> Result<CachedBlock> {
        let context = options.read_context(role.read_class());
        self.read_in(handle, role, &context, options.verify_checksums)
    }

    /// Reads and decodes a block, past the cache and for as long as it takes.
    pub(crate) fn read(&self, handle: BlockHandle, role: BlockRole, verify: bool) -> Result<CachedBlock> {
        self.read_in(handle, role, &ReadContext::for_class(role.read_class()), verify)
    }

    /// The same for a read with its own deadline.
    pub(crate) fn read_in(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        context: &ReadContext,
        verify: bool,
    ) -> Result<CachedBlock> {
        let read = || {
            if role == BlockRole::Index {
                let stored = timed_read(|| self.stored_index_extent(handle, context))?;
                return self.decode_index_extent(stored, handle, verify);
            }
            let length = self.stored_length(handle)?;
            let stored = timed_read(|| self.read_bytes(handle.offset, length, context))?;
            self.decoder.decode(stored, handle, role, verify)
        };
        let _timer = match role {
            BlockRole::Data => None,
            BlockRole::Index | BlockRole::IndexTop => Some(PerfTimer::begin(PerfMetric::ReadIndexBlockNanos)),
            BlockRole::Filter | BlockRole::FilterIndex => Some(PerfTimer::begin(PerfMetric::ReadFilterBlockNanos)),
        };
        let watch = self.watch();
        let block = match &self.read_stats {
            Some(stats) if role == BlockRole::Data => stats.time_block_read(read),
            _ => read(),
        };
        self.count_read(handle, role, context.activity, watch);
        block.map_err(|error| self.in_file(error))
    }

    fn watch(&self) -> Option<u64> {
        file_reads::watch(self.statistics.as_ref(), self.read_stats.as_ref().map(|stats| stats.clock()))
    }

    fn time_since(&self, watch: Option<u64>) -> Option<u64> {
        let now_us = || self.read_stats.as_ref().map_or(0, |stats| stats.now_us());
        watch.map(|begun_us| now_us().saturating_sub(begun_us))
    }

    /// The time at which a compaction comes to a block, if its time is counted.
    pub(super) fn watch_compaction(&self, options: &TableReadOptions) -> Option<u64> {
        if options.activity == IoActivity::Compaction { self.watch() } else { None }
    }

    /// Counts a block that a scan of a compaction has read, or found in its window.
    pub(super) fn count_compaction_block(&self, watch: Option<u64>) {
        if let (Some(statistics), Some(took_us)) = (&self.statistics, self.time_since(watch)) {
            statistics.record(Histogram::ReadBlockCompactionMicros, took_us);
        }
    }

    /// Counts a block that was read in a batch or as a future.
    pub(super) fn count_batched_read(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
        bytes: usize,
    ) {
        self.count_read(handle, role, options.activity, None);
        self.count_bytes(bytes, options.activity);
    }

    /// Counts a read of the file whose time is not known, as it goes on beside the thread.
    pub(super) fn count_bytes(&self, bytes: usize, activity: IoActivity) {
        if let Some(reads) = &self.file_reads {
            reads.note(bytes, activity, None);
        }
    }

    /// Reads from the file with `read`, which says how many bytes it read, and counts that.
    pub(super) fn read_counted(&self, activity: IoActivity, read: impl FnOnce() -> Result<usize>) -> Result<usize> {
        let watch = self.watch();
        let bytes = read()?;
        if let Some(reads) = &self.file_reads {
            reads.note(bytes, activity, self.time_since(watch));
        }
        Ok(bytes)
    }

    /// Counts a block that was read, and the time since `watch`.
    fn count_read(&self, handle: BlockHandle, role: BlockRole, activity: IoActivity, watch: Option<u64>) {
        let took_us = self.time_since(watch);
        if let (Some(statistics), Some(took_us)) = (&self.statistics, took_us) {
            let histogram = match activity {
                IoActivity::Compaction => Histogram::ReadBlockCompactionMicros,
                _ => Histogram::ReadBlockGetMicros,
            };
            statistics.record(histogram, took_us);
        }
        count_block(handle, role);
    }

    /// A block that the table keeps: mapped, or read past the cache and verified.
    pub(crate) fn read_kept(&self, handle: BlockHandle, role: BlockRole, context: &ReadContext) -> Result<BlockRef> {
        match self.cache.find_mapped(handle, role) {
            Some(block) => Ok(block),
            None => self.read_in(handle, role, context, true).map(BlockRef::standalone),
        }
    }

    /// Counts a data block that a batch of lookups reads.
    pub(crate) fn note_block_read(&self) {
        if let Some(stats) = &self.read_stats {
            stats.note_block_read();
        }
    }

    /// Decodes a block that was read with its trailer in a batch. Of borrowed bytes only an uncompressed payload is
    /// copied.
    pub(crate) fn decode_stored(
        &self,
        stored: Cow<'_, [u8]>,
        handle: BlockHandle,
        role: BlockRole,
        verify: bool,
    ) -> Result<CachedBlock> {
        self.decoder.decode(stored, handle, role, verify).map_err(|error| self.in_file(error))
    }

    /// Reads a block as stored and checks its trailer. Returns the payload and the compression byte.
    pub(crate) fn read_stored(
        &self,
        handle: BlockHandle,
        context: &ReadContext,
        verify: bool,
    ) -> Result<(Vec<u8>, u8)> {
        let length = self.stored_length(handle)?;
        let stored = timed_read(|| self.read_bytes(handle.offset, length, context))?;
        if let Some(perf) = PerfRecorder::of_thread() {
            let bytes = length as u64;
            perf.add_all([(PerfMetric::BlockReadCount, 1), (PerfMetric::BlockReadByte, bytes)]);
            perf.add(PerfMetric::MetadataBlockReadByte, bytes);
        }
        let (payload, compression) = self.decoder.payload(stored, handle, verify)?;
        Ok((payload.into_owned(), compression))
    }

    /// The bytes at `offset`, from the tail buffer, the mapping or the file.
    pub(crate) fn read_bytes(&self, offset: u64, length: usize, context: &ReadContext) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.bytes_in_memory(offset, length) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = Vec::new();
        self.read_counted(context.activity, || {
            bytes = read_owned(&*self.file, offset, length, context)?;
            Ok(bytes.len())
        })?;
        if bytes.len() < length {
            return Err(short_read(offset, length, bytes.len()));
        }
        Ok(Cow::Owned(bytes))
    }

    /// The bytes at `offset`, from the tail buffer or the mapping.
    pub(crate) fn bytes_in_memory(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.tail_bytes(offset, length).or_else(|| {
            let start = usize::try_from(offset).ok()?;
            self.file.mapping()?.get(start..start.checked_add(length)?)
        })
    }

    fn tail_bytes(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let (start, tail) = self.tail.as_ref()?;
        let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
        tail.get(from..from.checked_add(length)?)
    }

    /// Bytes of a block with its trailer.
    pub(crate) fn stored_length(&self, handle: BlockHandle) -> Result<usize> {
        handle.checked_len_with_trailer(self.blocks_end)
    }

    /// Length in bytes of an index block with its trailer and, if it has one, its side block. A caller that reads index
    /// blocks itself reads this much, and decodes it with [`decode_index_extent`](Self::decode_index_extent).
    pub(crate) fn index_extent(&self, handle: BlockHandle) -> Result<usize> {
        let length = self.stored_length(handle)?;
        match self.side_blocks.behind(handle) {
            Some(side) => Ok(length + self.stored_length(side)?),
            None => Ok(length),
        }
    }

    fn stored_index_extent(&self, handle: BlockHandle, context: &ReadContext) -> Result<Vec<u8>> {
        Ok(self.read_bytes(handle.offset, self.index_extent(handle)?, context)?.into_owned())
    }

    /// Reads an index block and the row bounds behind it, as they are stored, and verifies the checksum of the block.
    pub(crate) fn read_index_extent(&self, handle: BlockHandle, context: &ReadContext) -> Result<Vec<u8>> {
        let read = || {
            let stored = self.stored_index_extent(handle, context)?;
            self.decoder.verify(&stored[..self.stored_length(handle)?.min(stored.len())], handle)?;
            Ok(stored)
        };
        read().map_err(|error: Error| self.in_file(error))
    }

    /// Decodes an index block and the row bounds behind it from the bytes of its extent, as they are stored.
    pub(crate) fn decode_index_extent(
        &self,
        mut stored: Vec<u8>,
        handle: BlockHandle,
        verify: bool,
    ) -> Result<CachedBlock> {
        let length = usize::try_from(handle.size).unwrap_or(usize::MAX).saturating_add(BLOCK_TRAILER_SIZE);
        let side_bytes = if length < stored.len() { stored.split_off(length) } else { Vec::new() };
        let decoded = self.decode_stored(Cow::Owned(stored), handle, BlockRole::Index, verify)?;
        let Some(side) = self.side_blocks.behind(handle) else { return Ok(decoded) };
        let CachedBlock::Index(index) = decoded else { return Ok(decoded) };
        let add = || {
            let (payload, _) = self.decoder.payload(Cow::Owned(side_bytes), side, verify)?;
            let bounds = RowBounds::new(payload.into_owned()).map_err(|error| error.offset_by(side.offset))?;
            index.with_row_bounds(bounds)
        };
        add().map(CachedBlock::Index).map_err(|error| self.in_file(error.context("row bounds").at_offset(side.offset)))
    }
}

/// Reads a block, and adds the time to that of the thread.
pub(super) fn timed_read<T>(read: impl FnOnce() -> T) -> T {
    let perf = PerfRecorder::of_thread();
    let _processor = PerfTimer::of_processor(perf, PerfMetric::BlockReadCpuTime, thread_cpu_ns);
    let _timer = PerfTimer::of(perf, PerfMetric::BlockReadTime);
    read()
}

/// Adds a block that was read to the sums of the thread.
pub(super) fn count_block(handle: BlockHandle, role: BlockRole) {
    let Some(perf) = PerfRecorder::of_thread() else { return };
    let bytes = handle.size + BLOCK_TRAILER_SIZE as u64;
    perf.add_all([(PerfMetric::BlockReadCount, 1), (PerfMetric::BlockReadByte, bytes)]);
    match role {
        BlockRole::Data => perf.add(PerfMetric::DataBlockReadByte, bytes),
        BlockRole::Index | BlockRole::IndexTop => {
            perf.add_all([(PerfMetric::IndexBlockReadCount, 1), (PerfMetric::IndexBlockReadByte, bytes)]);
        }
        BlockRole::Filter | BlockRole::FilterIndex => {
            perf.add_all([(PerfMetric::FilterBlockReadCount, 1), (PerfMetric::FilterBlockReadByte, bytes)]);
        }
    }
}

#[cold]
pub(crate) fn short_read(offset: u64, wanted: usize, read: usize) -> Error {
    Error::corruption(format!("the file ends {} bytes early", wanted - read)).at_offset(offset)
}
