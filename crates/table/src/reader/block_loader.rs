//! Reads blocks of one file: bounds, checksum, decompression, decoding, cache.

use super::read_options::TableReadOptions;
use super::side_blocks::SideBlocks;
use crate::adaptive::ReadStats;
use crate::blocks::{BlockRef, BlockRole, CachedBlock, FilterBlock, TableBlockCache};
use ferrock_base::checksum::ChecksumType;
use ferrock_base::{Error, ErrorKind, InternalComparator, Result};
use ferrock_cache::{CacheKey, Priority};
use ferrock_format::block::{DataBlock, IndexBlock, IndexFormat, IndexSearch, RowBounds};
use ferrock_format::compression::{CompressionType, Dictionary, decompress};
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_vfs::{RandomAccessFile, ReadClass, ReadContext, read_owned};
use std::borrow::Cow;
use std::sync::Arc;

/// A block is smaller than 4 GiB.
const MAX_BLOCK_SIZE: usize = u32::MAX as usize;

/// Everything needed to turn a handle into a block.
#[derive(Debug)]
pub(crate) struct BlockLoader {
    pub(crate) file: Arc<dyn RandomAccessFile>,
    /// Blocks end at or before this offset: where the footer begins.
    pub(crate) blocks_end: u64,
    pub(crate) format_version: u32,
    pub(crate) checksum_type: ChecksumType,
    pub(crate) base_context: u32,
    pub(crate) comparator: InternalComparator,
    pub(crate) index_format: IndexFormat,
    pub(crate) index_search: IndexSearch,
    pub(crate) dictionary: Option<Dictionary>,
    pub(crate) cache: Option<Arc<TableBlockCache>>,
    /// Distinguishes the blocks of this file from those of all others in the cache.
    pub(crate) cache_key_base: (u64, u64),
    pub(crate) high_priority_metadata: bool,
    /// Index blocks are partitions, which outlast those of filters.
    pub(crate) index_is_partitioned: bool,
    /// Row bounds behind index blocks.
    pub(crate) side_blocks: SideBlocks,
    /// Counts the data blocks that lookups read.
    pub(crate) read_stats: Option<Arc<ReadStats>>,
    /// The last bytes of the file, while it is being opened.
    pub(crate) tail: Option<(u64, Vec<u8>)>,
}

impl BlockLoader {
    /// Names the file in an error.
    #[cold]
    pub(crate) fn in_file(&self, error: Error) -> Error {
        error.in_file(self.file.path())
    }

    #[inline]
    pub(crate) fn cache_key(&self, handle: BlockHandle) -> CacheKey {
        CacheKey::new(self.cache_key_base, handle.offset)
    }

    fn priority(&self, role: BlockRole) -> Priority {
        match role {
            BlockRole::Data => Priority::Low,
            _ if !self.high_priority_metadata => Priority::Low,
            // A lookup works without a filter partition, at the price of an occasional useless read.
            BlockRole::Index if self.index_is_partitioned => Priority::Highest,
            _ => Priority::High,
        }
    }

    /// The block, from the cache or the file.
    pub(crate) fn load(&self, handle: BlockHandle, role: BlockRole, options: &TableReadOptions) -> Result<BlockRef> {
        self.load_by(handle, role, options, || self.read_for(handle, role, options))
    }

    /// The block, from the cache or made by `read`, which is called at most once, or twice if another read failed.
    pub(crate) fn load_by(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        options: &TableReadOptions,
        read: impl FnMut() -> Result<CachedBlock>,
    ) -> Result<BlockRef> {
        let found = self.cache.as_ref().and_then(|cache| cache.lookup_as(&self.cache_key(handle), role.entry_role()));
        match found {
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
        let Some(cache) = self.cache.as_ref().filter(|_| fills) else {
            options.may_read()?;
            return read().map(BlockRef::standalone);
        };
        let (key, mut has_loaded) = (self.cache_key(handle), false);
        let load = || {
            has_loaded = true;
            let block = read()?;
            let charge = block.memory_bytes();
            Ok((block, charge))
        };
        if self.tail.is_some() {
            // A full cache does not prevent a table from opening: the reads that need the block fail, if the cache is
            // strict.
            return cache.load_missing_past(&key, role.entry_role(), self.priority(role), load);
        }
        match cache.load_missing(&key, role.entry_role(), self.priority(role), load) {
            // The deadline of another read, which loaded the block for both, passed.
            Err(error) if !has_loaded && error.kind() == ErrorKind::TimedOut => read().map(BlockRef::standalone),
            loaded => loaded.map_err(|error| self.in_file(error)),
        }
    }

    /// True for a loaded block that a cache with a strict limit had no room for.
    pub(crate) fn was_refused(&self, block: &BlockRef) -> bool {
        !block.is_cached() && self.cache.as_ref().is_some_and(|cache| cache.has_strict_capacity_limit())
    }

    /// Puts a block that was read in a batch into the cache, where that is wanted.
    pub(crate) fn keep(&self, handle: BlockHandle, block: CachedBlock, options: &TableReadOptions) -> Result<BlockRef> {
        self.keep_as(BlockRole::Data, handle, block, options)
    }

    /// The same for a block of any role.
    pub(crate) fn keep_as(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        block: CachedBlock,
        options: &TableReadOptions,
    ) -> Result<BlockRef> {
        match &self.cache {
            Some(cache) if options.fills_cache_with(role) => {
                let (charge, key) = (block.memory_bytes(), self.cache_key(handle));
                cache.insert_or_fail(&key, block, charge, role.entry_role(), self.priority(role))
            }
            _ => Ok(BlockRef::standalone(block)),
        }
    }

    /// The data block, if it is in the cache.
    #[inline]
    pub(crate) fn cached(&self, handle: BlockHandle) -> Option<BlockRef> {
        self.cache.as_ref()?.lookup_as(&self.cache_key(handle), BlockRole::Data.entry_role())
    }

    /// The block, if it is in the cache; nothing is counted.
    pub(crate) fn peek(&self, handle: BlockHandle) -> Option<BlockRef> {
        self.cache.as_ref()?.peek(&self.cache_key(handle))
    }

    /// Bytes of several index or filter blocks.
    pub(crate) fn read_meta(&self, offset: u64, length: usize, context: &ReadContext) -> Result<Cow<'_, [u8]>> {
        self.read_bytes(offset, length, context)
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
        match &self.read_stats {
            Some(sample) if role == BlockRole::Data => {
                sample.time_block_read(|| self.read_now(handle, role, context, verify))
            }
            _ => self.read_now(handle, role, context, verify),
        }
    }

    fn read_now(
        &self,
        handle: BlockHandle,
        role: BlockRole,
        context: &ReadContext,
        verify: bool,
    ) -> Result<CachedBlock> {
        if role == BlockRole::Index && self.side_blocks.behind(handle).is_some() {
            return self.read_index_extent(handle, context, verify).map_err(|error| self.in_file(error));
        }
        let decoded = self
            .read_stored(handle, context, verify)
            .and_then(|(stored, compression)| self.decode(Cow::Owned(stored), compression, handle, role));
        decoded.map_err(|error| self.in_file(error))
    }

    /// Counts a data block that a batch of lookups reads.
    pub(crate) fn note_block_read(&self) {
        if let Some(sample) = &self.read_stats {
            sample.note_block_read();
        }
    }

    /// Decodes a block that was read with its trailer in a batch.
    pub(crate) fn decode_stored(
        &self,
        stored: Vec<u8>,
        handle: BlockHandle,
        role: BlockRole,
        verify: bool,
    ) -> Result<CachedBlock> {
        let decoded = self
            .check_stored(stored, handle, verify)
            .and_then(|(payload, compression)| self.decode(Cow::Owned(payload), compression, handle, role));
        decoded.map_err(|error| self.in_file(error))
    }

    /// The same from borrowed memory: only an uncompressed payload is copied.
    pub(crate) fn decode_slice(
        &self,
        stored: &[u8],
        handle: BlockHandle,
        role: BlockRole,
        verify: bool,
    ) -> Result<CachedBlock> {
        let decoded = self
            .split_stored(stored, handle, verify)
            .and_then(|(payload, compression)| self.decode(Cow::Borrowed(payload), compression, handle, role));
        decoded.map_err(|error| self.in_file(error))
    }

    fn decode(
        &self,
        payload: Cow<'_, [u8]>,
        compression: u8,
        handle: BlockHandle,
        role: BlockRole,
    ) -> Result<CachedBlock> {
        // Offsets within a decompressed block do not map to the file: errors then name the block's offset.
        let is_raw = compression == 0 || matches!(role, BlockRole::Filter | BlockRole::FilterIndex);
        let bytes = if is_raw { payload.into_owned() } else { self.decompress(&payload, compression, handle, role)? };
        let decoded = match role {
            BlockRole::Data => DataBlock::new(bytes).map(CachedBlock::Data),
            BlockRole::Index | BlockRole::IndexTop | BlockRole::FilterIndex => {
                let has_first_key = self.index_format.has_first_key && role == BlockRole::Index;
                let format = IndexFormat { has_first_key, ..self.index_format };
                IndexBlock::new(bytes, format, &self.comparator)
                    .map(|block| CachedBlock::Index(block.with_search(self.index_search)))
            }
            BlockRole::Filter => Ok(CachedBlock::Filter(FilterBlock::new(bytes))),
        };
        decoded.map_err(|error| self.locate(error, handle, is_raw))
    }

    /// Turns an offset within a block into one within the file.
    #[cold]
    pub(crate) fn locate(&self, error: Error, handle: BlockHandle, is_raw: bool) -> Error {
        if is_raw {
            error.offset_by(handle.offset)
        } else {
            Error::new(error.kind(), error.message()).at_offset(handle.offset)
        }
    }

    pub(crate) fn decompress(
        &self,
        payload: &[u8],
        compression: u8,
        handle: BlockHandle,
        role: BlockRole,
    ) -> Result<Vec<u8>> {
        let dictionary = self.dictionary.as_ref().filter(|_| role == BlockRole::Data);
        CompressionType::try_from(compression)
            .and_then(|kind| decompress(kind, payload, self.format_version, dictionary, MAX_BLOCK_SIZE))
            .map_err(|error| error.at_offset(handle.offset))
    }

    /// Reads a block as stored and checks its trailer. Returns the payload and the compression byte.
    pub(crate) fn read_stored(
        &self,
        handle: BlockHandle,
        context: &ReadContext,
        verify: bool,
    ) -> Result<(Vec<u8>, u8)> {
        let length = handle.checked_len_with_trailer(self.blocks_end)?;
        let stored = self.read_bytes(handle.offset, length, context)?;
        self.check_stored(stored.into_owned(), handle, verify)
    }

    fn check_stored(&self, mut stored: Vec<u8>, handle: BlockHandle, verify: bool) -> Result<(Vec<u8>, u8)> {
        let (payload, compression) = self.split_stored(&stored, handle, verify)?;
        let length = payload.len();
        stored.truncate(length);
        Ok((stored, compression))
    }

    /// The payload of a stored block and its compression byte.
    fn split_stored<'s>(&self, stored: &'s [u8], handle: BlockHandle, verify: bool) -> Result<(&'s [u8], u8)> {
        if verify {
            return trailer::verify(self.checksum_type, stored, self.base_context, handle.offset);
        }
        let (payload, compression, _) = trailer::split(stored, handle.offset)?;
        Ok((payload, compression))
    }

    /// The bytes at `offset`, from the tail buffer, the mapping or the file.
    pub(crate) fn read_bytes(&self, offset: u64, length: usize, context: &ReadContext) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.bytes_in_memory(offset, length) {
            return Ok(Cow::Borrowed(bytes));
        }
        let bytes = read_owned(&*self.file, offset, length, context)?;
        if bytes.len() < length {
            return Err(short_read(offset, length, bytes.len()));
        }
        Ok(Cow::Owned(bytes))
    }

    /// The bytes at `offset`, from the tail buffer or the mapping.
    pub(crate) fn bytes_in_memory(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.tail_bytes(offset, length).or_else(|| self.file.mapped(offset, length))
    }

    fn tail_bytes(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let (start, tail) = self.tail.as_ref()?;
        let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
        tail.get(from..from.checked_add(length)?)
    }

    /// Length in bytes of an index block with its trailer and, if it has one, its side block. A caller that reads index
    /// blocks itself reads this much, and decodes it with [`decode_index_extent`](Self::decode_index_extent).
    pub(crate) fn index_extent(&self, handle: BlockHandle) -> Result<usize> {
        let length = handle.checked_len_with_trailer(self.blocks_end)?;
        match self.side_blocks.behind(handle) {
            Some(side) => Ok(length + side.checked_len_with_trailer(self.blocks_end)?),
            None => Ok(length),
        }
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
        let decoded = self.decode_stored(stored, handle, BlockRole::Index, verify)?;
        let Some(side) = self.side_blocks.behind(handle) else { return Ok(decoded) };
        let CachedBlock::Index(index) = decoded else { return Ok(decoded) };
        let add = || {
            let (payload, _) = self.check_stored(side_bytes, side, verify)?;
            index.with_row_bounds(RowBounds::new(payload).map_err(|error| error.offset_by(side.offset))?)
        };
        add().map(CachedBlock::Index).map_err(|error| self.in_file(error.context("row bounds").at_offset(side.offset)))
    }

    /// Reads an index block together with the side block behind it.
    fn read_index_extent(&self, handle: BlockHandle, context: &ReadContext, verify: bool) -> Result<CachedBlock> {
        let length = self.index_extent(handle)?;
        let stored = self.read_bytes(handle.offset, length, context)?.into_owned();
        self.decode_index_extent(stored, handle, verify)
    }

    /// Reads the directory of the row bounds of a table with these index partitions.
    pub(crate) fn open_side_blocks(&mut self, directory: BlockHandle, partitions: &[BlockHandle]) -> Result<()> {
        let (bytes, _) = self.read_stored(directory, &ReadContext::for_class(ReadClass::Index), true)?;
        self.side_blocks = SideBlocks::of_directory(&bytes, partitions, self.blocks_end)
            .map_err(|error| error.context("row bounds").offset_by(directory.offset))?;
        Ok(())
    }

    /// Bytes of a block with its trailer, for a caller that makes the read itself.
    pub(crate) fn stored_length(&self, handle: BlockHandle) -> Result<usize> {
        handle.checked_len_with_trailer(self.blocks_end)
    }
}

#[cold]
pub(crate) fn short_read(offset: u64, wanted: usize, read: usize) -> Error {
    Error::corruption(format!("the file ends {} bytes early", wanted - read)).at_offset(offset)
}

const _: () = assert!(BLOCK_TRAILER_SIZE == 5);
