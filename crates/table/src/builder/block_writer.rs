//! Puts blocks into the file: compression, trailer, place.

use crate::options::BlockBasedTableOptions;
use ferrock_base::checksum::{ChecksumType, crc32c_extend};
use ferrock_base::{Error, Result};
use ferrock_format::compression::{CompressionOptions, CompressionType, Compressor, Dictionary, decompress};
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_vfs::WritableFile;

/// A block of this size or more is never compressed: not every reader takes the result.
const MAX_COMPRESSED_BLOCK: usize = i32::MAX as usize;

const ZEROS: [u8; 4096] = [0; 4096];
/// Aligned blocks begin at multiples of this, or of their own size if that is less.
const PAGE_BYTES: u64 = 4096;

/// Zeros around data blocks, and before partitions of index and filter.
#[derive(Clone, Copy, Debug)]
struct Padding {
    /// A power of two that every data block begins at a multiple of; 1 for none.
    alignment: u64,
    /// Boundaries that data blocks do not straddle if the padding is below the second number; 0 for none.
    super_block: (u64, u64),
    /// Bytes of a sector that every block begins at; 0 for none.
    sector: u64,
    /// Bytes of a sector; a block begins at one if it then lies in fewer. 0 for none.
    straddle: u64,
}

impl Padding {
    fn new(options: &BlockBasedTableOptions) -> Self {
        let alignment = if options.block_align { options.block_size.min(PAGE_BYTES) } else { 1 };
        let limit = options.super_block_alignment_size / options.super_block_alignment_space_overhead_ratio.max(1);
        Self {
            alignment: alignment.max(1),
            super_block: (options.super_block_alignment_size, limit),
            sector: options.pad_to_sector,
            straddle: options.avoid_straddle,
        }
    }

    /// Before what is read as one, by sectors.
    fn before_extent(self, offset: u64, bytes: u64) -> u64 {
        let to = |sector: u64| offset.next_multiple_of(sector.max(1)) - offset;
        if self.sector > 0 {
            return to(self.sector);
        }
        let Some(last) = bytes.checked_sub(1).filter(|_| self.straddle > 0) else { return 0 };
        let sectors = (offset + last) / self.straddle - offset / self.straddle;
        if last / self.straddle < sectors { to(self.straddle) } else { 0 }
    }

    /// Before a data block. A payload ends before a boundary; its trailer may lie behind.
    fn before(self, offset: u64, payload_bytes: u64) -> u64 {
        let (size, limit) = self.super_block;
        if size == 0 {
            return 0;
        }
        let left = size - offset % size;
        if payload_bytes >= left && left < limit { left } else { 0 }
    }

    fn after(self, stored_bytes: u64) -> u64 {
        stored_bytes.next_multiple_of(self.alignment) - stored_bytes
    }
}

/// The kind of block that padding is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Data,
    /// A partition, read together with this many bytes behind it.
    Partition(u64),
    Other,
}

/// How a block was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Compressed,
    /// Compression saved too little.
    Rejected,
    /// Not tried.
    Raw,
}

/// Appends blocks to a file.
#[derive(Debug)]
pub(super) struct BlockWriter {
    file: Box<dyn WritableFile>,
    offset: u64,
    checksum_type: ChecksumType,
    base_context: u32,
    format_version: u32,
    padding: Padding,
    compressor: Option<Compressor>,
    /// Without the dictionary, for index blocks.
    plain_compressor: Option<Compressor>,
    dictionary: Option<Dictionary>,
    verify_compression: bool,
    /// Compressed blocks that were decompressed again and were right.
    num_verified_blocks: u64,
    /// Test hook: alters the compressor's output, as a faulty compressor would.
    #[cfg(test)]
    spoil: Option<fn(&mut Vec<u8>)>,
    compressed: Vec<u8>,
    used_types: Vec<CompressionType>,
    file_checksum: Option<u32>,
}

impl BlockWriter {
    pub(super) fn new(
        file: Box<dyn WritableFile>,
        params: &super::TableBuilderParams,
        base_context: u32,
    ) -> Result<Self> {
        let compressor = match params.compression {
            CompressionType::NoCompression => None,
            kind => Some(Compressor::new(kind, &params.compression_options, None)?),
        };
        Ok(Self {
            file,
            offset: 0,
            checksum_type: params.options.checksum,
            base_context,
            format_version: params.options.format_version,
            padding: Padding::new(&params.options),
            compressor,
            plain_compressor: None,
            dictionary: None,
            verify_compression: params.options.verify_compression,
            num_verified_blocks: 0,
            #[cfg(test)]
            spoil: None,
            compressed: Vec::new(),
            used_types: Vec::new(),
            file_checksum: params.compute_file_checksum.then_some(0),
        })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn used_types(&self) -> &[CompressionType] {
        &self.used_types
    }

    pub(super) fn num_verified_blocks(&self) -> u64 {
        self.num_verified_blocks
    }

    pub(super) fn file_checksum(&self) -> Option<u32> {
        self.file_checksum
    }

    /// Compresses data blocks with a dictionary from now on.
    pub(super) fn set_dictionary(
        &mut self,
        kind: CompressionType,
        options: &CompressionOptions,
        dictionary: &[u8],
    ) -> Result<()> {
        self.plain_compressor = self.compressor.replace(Compressor::new(kind, options, Some(dictionary))?);
        self.dictionary = Some(Dictionary::new(kind, dictionary)?);
        Ok(())
    }

    /// The dictionary that data blocks were compressed with.
    pub(super) fn dictionary_bytes(&self) -> Option<Vec<u8>> {
        self.dictionary.as_ref().map(|dictionary| dictionary.bytes().to_vec())
    }

    /// Writes a data block, compressed where that pays.
    pub(super) fn write_data(&mut self, block: &[u8]) -> Result<(BlockHandle, Stored)> {
        let mut compressor = self.compressor.take();
        let written = self.write_with(compressor.as_mut(), block, Unit::Data);
        self.compressor = compressor;
        written
    }

    /// Writes an index block, compressed where that pays, without dictionary.
    pub(super) fn write_index(&mut self, block: &[u8], may_compress: bool) -> Result<BlockHandle> {
        self.write_metadata(block, may_compress, Unit::Other)
    }

    /// Writes a partition of the index, which the block `side` will follow.
    pub(super) fn write_partition(
        &mut self,
        block: &[u8],
        may_compress: bool,
        side: Option<&[u8]>,
    ) -> Result<BlockHandle> {
        let behind = side.map_or(0, |side| (side.len() + BLOCK_TRAILER_SIZE) as u64);
        self.write_metadata(block, may_compress, Unit::Partition(behind))
    }

    fn write_metadata(&mut self, block: &[u8], may_compress: bool, unit: Unit) -> Result<BlockHandle> {
        if !may_compress {
            return self.append(block, 0, unit);
        }
        let with_dictionary = self.dictionary.is_some();
        let mut compressor = if with_dictionary { self.plain_compressor.take() } else { self.compressor.take() };
        let written = self.write_with(compressor.as_mut(), block, unit);
        if with_dictionary {
            self.plain_compressor = compressor;
        } else {
            self.compressor = compressor;
        }
        written.map(|(handle, _)| handle)
    }

    fn write_with(
        &mut self,
        compressor: Option<&mut Compressor>,
        block: &[u8],
        unit: Unit,
    ) -> Result<(BlockHandle, Stored)> {
        let Some(compressor) = compressor.filter(|_| block.len() < MAX_COMPRESSED_BLOCK) else {
            return self.append(block, 0, unit).map(|handle| (handle, Stored::Raw));
        };
        let mut compressed = std::mem::take(&mut self.compressed);
        let written = if compressor.compress(block, &mut compressed) {
            let kind = compressor.compression_type();
            #[cfg(test)]
            if let Some(spoil) = self.spoil {
                spoil(&mut compressed);
            }
            self.check_compressed(kind, &compressed, block, unit == Unit::Data).and_then(|()| {
                if !self.used_types.contains(&kind) {
                    self.used_types.push(kind);
                }
                self.append(&compressed, kind.as_u8(), unit).map(|handle| (handle, Stored::Compressed))
            })
        } else {
            self.append(block, 0, unit).map(|handle| (handle, Stored::Rejected))
        };
        self.compressed = compressed;
        written
    }

    /// Decompresses the block that was just compressed, if `verify_compression` is set, and compares.
    fn check_compressed(
        &mut self,
        kind: CompressionType,
        compressed: &[u8],
        block: &[u8],
        is_data: bool,
    ) -> Result<()> {
        if !self.verify_compression {
            return Ok(());
        }
        let dictionary = self.dictionary.as_ref().filter(|_| is_data);
        match decompress(kind, compressed, self.format_version, dictionary, block.len()) {
            Ok(again) if again == block => {
                self.num_verified_blocks += 1;
                Ok(())
            }
            Ok(_) => {
                Err(Error::corruption(format!("a block compressed with {} decodes differently", kind.option_name())))
            }
            Err(error) => Err(error.context("verify_compression")),
        }
    }

    /// Writes a block as it is.
    pub(super) fn write_raw(&mut self, block: &[u8]) -> Result<BlockHandle> {
        self.append(block, 0, Unit::Other)
    }

    fn append(&mut self, payload: &[u8], compression: u8, unit: Unit) -> Result<BlockHandle> {
        if u32::try_from(payload.len()).is_err() {
            return Err(Error::invalid_argument(format!("a block of {} bytes: the limit is 4 GiB", payload.len())));
        }
        let stored_bytes = (payload.len() + BLOCK_TRAILER_SIZE) as u64;
        match unit {
            Unit::Data => {
                self.append_zeros(self.padding.before(self.offset, payload.len() as u64))?;
                self.append_zeros(self.padding.before_extent(self.offset, stored_bytes))?;
            }
            Unit::Partition(behind) => {
                self.append_zeros(self.padding.before_extent(self.offset, stored_bytes + behind))?;
            }
            Unit::Other => {}
        }
        let handle = BlockHandle::new(self.offset, payload.len() as u64);
        let trailer = trailer::encode(self.checksum_type, payload, compression, self.base_context, self.offset);
        self.append_bytes(payload)?;
        self.append_bytes(&trailer)?;
        if unit == Unit::Data {
            self.append_zeros(self.padding.after(stored_bytes))?;
        }
        Ok(handle)
    }

    fn append_zeros(&mut self, mut count: u64) -> Result<()> {
        while count > 0 {
            let zeros = &ZEROS[..ZEROS.len().min(usize::try_from(count).unwrap_or(usize::MAX))];
            self.append_bytes(zeros)?;
            count -= zeros.len() as u64;
        }
        Ok(())
    }

    /// Appends bytes outside of any block: the footer.
    pub(super) fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        if let Some(checksum) = &mut self.file_checksum {
            *checksum = crc32c_extend(*checksum, bytes);
        }
        Ok(())
    }

    /// Makes the file durable and closes it.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.file.sync()?;
        self.file.close()
    }

    pub(super) fn file(&self) -> &dyn WritableFile {
        &*self.file
    }
}

#[cfg(test)]
mod tests;
