//! Puts blocks into the file: compressed ([`Packer`]), with a trailer, at their place.

use super::cut_block::CutBlock;
use super::packing::{Packer, Stored};
use crate::options::BlockBasedTableOptions;
use crate::stored_blocks::StoredPayload;
use ferrock_base::checksum::{ChecksumType, crc32c};
use ferrock_base::hash::hash128;
use ferrock_base::{Error, Result};
use ferrock_format::compression::CompressionType;
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_statistics::{Histogram, MeasureTimer, Statistics, Ticker};
use ferrock_vfs::WritableFile;
use std::sync::Arc;

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

    /// Around one data block, at most.
    fn most(self) -> u64 {
        self.alignment - 1 + self.super_block.1 + self.sector + self.straddle
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

/// Appends blocks to a file.
#[derive(Debug)]
pub(super) struct BlockWriter {
    file: Box<dyn WritableFile>,
    offset: u64,
    checksum_type: ChecksumType,
    base_context: u32,
    padding: Padding,
    packer: Option<Packer>,
    /// Without the dictionary, for index blocks.
    plain_packer: Option<Packer>,
    /// Compressed blocks that were decompressed again and were right.
    num_verified_blocks: u64,
    compressed: Vec<u8>,
    used_types: Vec<CompressionType>,
    statistics: Option<Arc<Statistics>>,
}

impl BlockWriter {
    pub(super) fn new(
        file: Box<dyn WritableFile>,
        params: &super::TableBuilderParams,
        base_context: u32,
    ) -> Result<Self> {
        Ok(Self {
            file,
            offset: 0,
            checksum_type: params.options.checksum,
            base_context,
            padding: Padding::new(&params.options),
            packer: Packer::new(params, None)?,
            plain_packer: None,
            num_verified_blocks: 0,
            compressed: Vec::new(),
            used_types: Vec::new(),
            statistics: params.statistics.clone(),
        })
    }

    /// Zeros around a data block, at most.
    pub(super) fn most_padding(&self) -> u64 {
        self.padding.most()
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

    /// Compresses data blocks with a dictionary from now on.
    pub(super) fn set_dictionary(&mut self, params: &super::TableBuilderParams, dictionary: &[u8]) -> Result<()> {
        self.plain_packer = std::mem::replace(&mut self.packer, Packer::new(params, Some(dictionary))?);
        Ok(())
    }

    /// The dictionary that data blocks were compressed with.
    pub(super) fn dictionary_bytes(&self) -> Option<Vec<u8>> {
        self.packer.as_ref().and_then(Packer::dictionary).map(<[u8]>::to_vec)
    }

    /// Writes a data block, compressed where that pays.
    pub(super) fn write_data(&mut self, block: &[u8]) -> Result<(BlockHandle, Stored)> {
        let mut packer = self.packer.take();
        let written = self.write_with(packer.as_mut(), block, Unit::Data);
        self.packer = packer;
        written
    }

    /// Writes a data block as another file stores it. It was decompressed there, so it needs no verification.
    pub(super) fn write_copy(&mut self, block: &[u8], payload: &StoredPayload) -> Result<(BlockHandle, Stored)> {
        let stored = Stored::of_copy(payload);
        let handle = match self.packer.as_ref().map(|packer| (packer.kind(), packer.verifies())) {
            Some(form) => {
                let compressed = payload.bytes().map_or(&[][..], |bytes| bytes);
                self.write_stored(block, compressed, stored, form, Unit::Data)?
            }
            None => self.append(block, 0, Unit::Data)?,
        };
        Ok((handle, stored))
    }

    /// Writes a data block that was packed already, as the packer of data blocks does it.
    pub(super) fn write_packed(&mut self, packed: &CutBlock) -> Result<BlockHandle> {
        let Some((kind, verifies)) = self.packer.as_ref().map(|packer| (packer.kind(), packer.verifies())) else {
            return self.append(&packed.bytes, 0, Unit::Data);
        };
        self.write_stored(&packed.bytes, &packed.compressed, packed.stored, (kind, verifies), Unit::Data)
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
        // Without a dictionary index blocks are compressed like data blocks.
        let has_own = self.plain_packer.is_some();
        let mut packer = if has_own { self.plain_packer.take() } else { self.packer.take() };
        let written = self.write_with(packer.as_mut(), block, unit);
        if has_own {
            self.plain_packer = packer;
        } else {
            self.packer = packer;
        }
        written.map(|(handle, _)| handle)
    }

    fn write_with(&mut self, packer: Option<&mut Packer>, block: &[u8], unit: Unit) -> Result<(BlockHandle, Stored)> {
        let Some(packer) = packer else {
            self.count_bypassed(block);
            return self.append(block, 0, unit).map(|handle| (handle, Stored::Raw));
        };
        let mut compressed = std::mem::take(&mut self.compressed);
        let form = (packer.kind(), packer.verifies());
        let written = packer.pack(block, &mut compressed).and_then(|stored| {
            self.write_stored(block, &compressed, stored, form, unit).map(|handle| (handle, stored))
        });
        self.compressed = compressed;
        written
    }

    /// Counts a block for which no compression is set.
    fn count_bypassed(&self, block: &[u8]) {
        if let Some(recorder) = self.statistics.as_ref().and_then(|statistics| statistics.recorder()) {
            let (blocks, bytes) = (Ticker::NumberBlockCompressionBypassed, Ticker::BytesCompressionBypassed);
            recorder.add_all([(blocks, 1), (bytes, block.len() as u64)]);
        }
    }

    /// Writes what a packer of this kind, which verifies or not, has made of a block.
    fn write_stored(
        &mut self,
        block: &[u8],
        compressed: &[u8],
        stored: Stored,
        (kind, verifies): (CompressionType, bool),
        unit: Unit,
    ) -> Result<BlockHandle> {
        if stored != Stored::Compressed {
            return self.append(block, 0, unit);
        }
        self.num_verified_blocks += u64::from(verifies);
        if !self.used_types.contains(&kind) {
            self.used_types.push(kind);
        }
        self.append(compressed, kind.as_u8(), unit)
    }

    /// Writes a block as it is.
    pub(super) fn write_raw(&mut self, block: &[u8]) -> Result<BlockHandle> {
        self.append(block, 0, Unit::Other)
    }

    fn append(&mut self, payload: &[u8], compression: u8, unit: Unit) -> Result<BlockHandle> {
        if u32::try_from(payload.len()).is_err() {
            return Err(Error::invalid_argument(format!("a block of {} bytes: the limit is 4 GiB", payload.len())));
        }
        let statistics = self.statistics.clone();
        let recorder = statistics.as_ref().and_then(|statistics| statistics.recorder());
        let _timer = MeasureTimer::of_micros(recorder, Histogram::WriteRawBlockMicros);
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
        Ok(())
    }

    /// Makes the file durable and closes it.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.file.sync()?;
        self.file.close()
    }

    /// Alters what the compressor makes from now on, as a faulty one would.
    #[cfg(test)]
    fn spoil(&mut self, spoil: Option<fn(&mut Vec<u8>)>) {
        if let Some(packer) = &mut self.packer {
            packer.spoil = spoil;
        }
    }
}

/// The file's own number for its checksums: any value but zero, different between files.
pub(super) fn base_context(params: &super::TableBuilderParams, file: &dyn WritableFile) -> u32 {
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

#[cfg(test)]
mod tests;
