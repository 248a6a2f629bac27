//! Turns the stored bytes of one file's blocks into blocks: checksum, decompression, decoding. Nothing is read here.

use crate::blocks::{BlockRole, CachedBlock, FilterBlock};
use crate::options::IndexBlockSearchType;
use bytes::Bytes;
use ferrock_base::checksum::ChecksumType;
use ferrock_base::internal_key::{TRAILER_SIZE, user_key};
use ferrock_base::{Comparator, Error, InternalComparator, Result, SequenceNumber};
use ferrock_format::block::{DataBlock, DataBlockCursor, IndexBlock, IndexFormat, IndexSearch};
use ferrock_format::compression::{CompressionType, Dictionary, decompress};
use ferrock_format::footer::Footer;
use ferrock_format::handle::BlockHandle;
use ferrock_format::trailer::{self, BLOCK_TRAILER_SIZE};
use ferrock_statistics::{Histogram, MeasureTimer, PerfMetric, PerfRecorder, PerfTimer, Statistics, Ticker};
use std::borrow::Cow;
use std::sync::Arc;

/// A block is smaller than 4 GiB.
const MAX_BLOCK_SIZE: usize = u32::MAX as usize;

/// How the blocks of one file are stored.
#[derive(Debug)]
pub(crate) struct BlockDecoder {
    format_version: u32,
    checksum_type: ChecksumType,
    base_context: u32,
    comparator: InternalComparator,
    index_format: IndexFormat,
    index_search: IndexSearch,
    dictionary: Option<Dictionary>,
    /// The sequence number that every entry shows, for an ingested file.
    global_sequence: Option<SequenceNumber>,
    statistics: Option<Arc<Statistics>>,
    /// Data and index blocks keep checksums of their entries.
    protects: bool,
}

impl BlockDecoder {
    /// For the blocks that are read first: those of a file with this footer, whose properties are not known yet.
    pub(crate) fn new(footer: &Footer, comparator: InternalComparator, search: IndexBlockSearchType) -> Self {
        Self {
            format_version: footer.format_version,
            checksum_type: footer.checksum_type,
            base_context: footer.base_context_checksum,
            comparator,
            index_format: IndexFormat { key_is_user_key: false, value_is_delta_encoded: false, has_first_key: false },
            index_search: match search {
                IndexBlockSearchType::Binary => IndexSearch::Binary,
                IndexBlockSearchType::Interpolation => IndexSearch::Interpolation,
                IndexBlockSearchType::Auto => IndexSearch::Auto,
            },
            dictionary: None,
            global_sequence: None,
            statistics: None,
            protects: false,
        }
    }

    /// The same, which counts what it does.
    pub(crate) fn counting(self, statistics: Option<Arc<Statistics>>) -> Self {
        Self { statistics, ..self }
    }

    /// The same, whose data and index blocks keep checksums of their entries.
    pub(crate) fn protecting(self, protects: bool) -> Self {
        Self { protects, ..self }
    }

    /// Adds what the properties say about index and data blocks.
    pub(crate) fn set_formats(&mut self, index_format: IndexFormat, global_sequence: Option<SequenceNumber>) {
        (self.index_format, self.global_sequence) = (index_format, global_sequence);
    }

    /// Sets the dictionary with which data blocks were compressed.
    pub(crate) fn set_dictionary(&mut self, dictionary: Option<Dictionary>) {
        self.dictionary = dictionary;
    }

    /// True when data blocks were compressed with a dictionary.
    pub(crate) fn has_dictionary(&self) -> bool {
        self.dictionary.is_some()
    }

    #[inline]
    pub(crate) fn format_version(&self) -> u32 {
        self.format_version
    }

    #[inline]
    pub(crate) fn checksum_type(&self) -> ChecksumType {
        self.checksum_type
    }

    /// Order of the keys.
    #[inline]
    pub(crate) fn comparator(&self) -> &InternalComparator {
        &self.comparator
    }

    #[inline]
    pub(crate) fn global_sequence(&self) -> Option<SequenceNumber> {
        self.global_sequence
    }

    /// A cursor for data blocks, not positioned.
    #[inline]
    pub(crate) fn data_cursor(&self) -> DataBlockCursor {
        DataBlockCursor::new(self.global_sequence)
    }

    /// True when no user key lies in two data blocks: separators of the index are user keys.
    #[inline]
    pub(crate) fn index_has_user_keys(&self) -> bool {
        self.index_format.key_is_user_key
    }

    /// True when what follows a block is larger than its separator as a user key: see
    /// [`ScanBounds`](super::ScanBounds).
    #[inline]
    pub(crate) fn separators_are_exact(&self) -> bool {
        self.index_has_user_keys() && matches!(self.comparator.user(), Comparator::Bytewise)
    }

    /// The user key of a separator as the index stores it.
    pub(crate) fn separator_user_key<'k>(&self, stored: &'k [u8]) -> &'k [u8] {
        if self.index_has_user_keys() { stored } else { user_key(stored) }
    }

    /// Makes a separator as the index stores it a user key.
    pub(crate) fn truncate_separator(&self, stored: &mut Vec<u8>) {
        if !self.index_has_user_keys() {
            stored.truncate(stored.len().saturating_sub(TRAILER_SIZE));
        }
    }

    #[inline]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.dictionary.as_ref().map_or(0, Dictionary::memory_usage)
    }

    /// An index block or partition of these bytes.
    pub(crate) fn index_block(&self, bytes: Vec<u8>) -> Result<IndexBlock> {
        IndexBlock::new(bytes, self.index_format, &self.comparator)
    }

    fn data_block(&self, bytes: Vec<u8>) -> Result<DataBlock> {
        DataBlock::new(bytes).map(|block| if self.protects { block.protected() } else { block })
    }

    /// Checks the trailer of a stored block. Returns the payload and the compression byte.
    pub(crate) fn verify<'s>(&self, stored: &'s [u8], handle: BlockHandle) -> Result<(&'s [u8], u8)> {
        let timer = PerfTimer::begin(PerfMetric::BlockChecksumTime);
        let verified = trailer::verify(self.checksum_type, stored, self.base_context, handle.offset);
        drop(timer);
        if let Some(recorder) = self.statistics.as_ref().and_then(|statistics| statistics.recorder()) {
            recorder.add(Ticker::BlockChecksumComputeCount, 1);
            recorder.add(Ticker::BlockChecksumMismatchCount, u64::from(verified.is_err()));
        }
        verified
    }

    /// The payload of a stored block, whose checksum is verified if that is wanted, and its compression byte.
    pub(crate) fn payload<'s>(
        &self,
        stored: Cow<'s, [u8]>,
        handle: BlockHandle,
        verify: bool,
    ) -> Result<(Cow<'s, [u8]>, u8)> {
        let (payload, compression) = if verify {
            self.verify(&stored, handle)?
        } else {
            let (payload, compression, _) = trailer::split(&stored, handle.offset)?;
            (payload, compression)
        };
        let length = payload.len();
        let payload = match stored {
            Cow::Borrowed(stored) => Cow::Borrowed(&stored[..length]),
            Cow::Owned(mut stored) => {
                stored.truncate(length);
                Cow::Owned(stored)
            }
        };
        Ok((payload, compression))
    }

    /// Decodes a stored block with its trailer. Of borrowed bytes only an uncompressed payload is copied.
    pub(crate) fn decode(
        &self,
        stored: Cow<'_, [u8]>,
        handle: BlockHandle,
        role: BlockRole,
        verify: bool,
    ) -> Result<CachedBlock> {
        let (payload, compression) = self.payload(stored, handle, verify)?;
        // Offsets within a decompressed block do not map to the file: errors then name the block's offset.
        let is_raw = is_raw(compression, role);
        let bytes = self.uncompressed(payload, compression, handle, role)?;
        let decoded = match role {
            BlockRole::Data => self.data_block(bytes).map(CachedBlock::Data),
            BlockRole::Index | BlockRole::IndexTop | BlockRole::FilterIndex => {
                let has_first_key = self.index_format.has_first_key && role == BlockRole::Index;
                let format = IndexFormat { has_first_key, ..self.index_format };
                IndexBlock::new(bytes, format, &self.comparator)
                    .map(|block| block.with_search(self.index_search))
                    .map(|block| CachedBlock::Index(if self.protects { block.protected() } else { block }))
            }
            BlockRole::Filter => Ok(CachedBlock::Filter(FilterBlock::new(bytes))),
        };
        decoded.map_err(|error| locate(error, handle, is_raw))
    }

    /// Decodes a stored data block with its trailer, and gives its compression byte and, where it is compressed, its
    /// payload, too.
    pub(crate) fn decode_data(
        &self,
        stored: Cow<'_, [u8]>,
        handle: BlockHandle,
        verify: bool,
    ) -> Result<(DataBlock, u8, Option<Bytes>)> {
        let (payload, compression) = self.payload(stored, handle, verify)?;
        let is_raw = is_raw(compression, BlockRole::Data);
        let decoded = |bytes| self.data_block(bytes).map_err(|error| locate(error, handle, is_raw));
        if is_raw {
            return Ok((decoded(payload.into_owned())?, compression, None));
        }
        let bytes = self.uncompressed(Cow::Borrowed(&payload), compression, handle, BlockRole::Data)?;
        Ok((decoded(bytes)?, compression, Some(Bytes::from(payload.into_owned()))))
    }

    /// The bytes of a block before they are decoded.
    pub(crate) fn uncompressed(
        &self,
        payload: Cow<'_, [u8]>,
        compression: u8,
        handle: BlockHandle,
        role: BlockRole,
    ) -> Result<Vec<u8>> {
        if is_raw(compression, role) {
            return Ok(payload.into_owned());
        }
        let dictionary = self.dictionary.as_ref().filter(|_| role == BlockRole::Data);
        let (perf, recorder) =
            (PerfRecorder::of_thread(), self.statistics.as_ref().and_then(|counts| counts.recorder()));
        let timers = (
            PerfTimer::of(perf, PerfMetric::BlockDecompressTime),
            MeasureTimer::of_part(recorder, Histogram::DecompressionTimesNanos),
        );
        let block = CompressionType::try_from(compression)
            .and_then(|kind| decompress(kind, &payload, self.format_version, dictionary, MAX_BLOCK_SIZE))
            .map_err(|error| error.at_offset(handle.offset))?;
        drop(timers);
        if let Some(perf) = perf {
            perf.add(PerfMetric::BlockDecompressCount, 1);
        }
        if let Some(recorder) = recorder {
            recorder.add(Ticker::NumberBlockDecompressed, 1);
            recorder.add(Ticker::BytesDecompressedFrom, payload.len() as u64);
            recorder.add(Ticker::BytesDecompressedTo, block.len() as u64);
        }
        Ok(block)
    }
}

/// True for a payload that is the block. Filters and their top levels are never compressed.
fn is_raw(compression: u8, role: BlockRole) -> bool {
    compression == 0 || matches!(role, BlockRole::Filter | BlockRole::FilterIndex)
}

/// Turns an offset within a block into one within the file.
#[cold]
fn locate(error: Error, handle: BlockHandle, is_raw: bool) -> Error {
    if is_raw {
        error.offset_by(handle.offset)
    } else {
        Error::new(error.kind(), error.message()).at_offset(handle.offset)
    }
}

const _: () = assert!(BLOCK_TRAILER_SIZE == 5);
