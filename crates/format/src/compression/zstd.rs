//! Zstandard frames, in pure Rust.
//!
//! A block holds exactly one frame and nothing after it. Before a byte of output
//! is allocated the block headers of the frame are walked: each yields at most
//! 128 KiB (a raw or run-length block exactly its size), which bounds what the
//! frame can produce no matter what its header and the size prefix claim.

use std::cell::RefCell;

use ferrock_base::{Error, Result};
use zstd_rs::{
    CompressionConfig, Compressor, DecoderDictionary, Decompressor, Dictionary, DictionaryFormat, EncoderDictionary,
    FrameFormat, FrameHeader,
};

use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};
use super::zstd_train;

/// No block of a frame decodes to more than this.
const MAX_BLOCK_SIZE: u64 = 128 << 10;
/// The level that Zstandard takes for 0 and for "default".
const DEFAULT_LEVEL: i32 = 3;

thread_local! {
    /// Entropy tables and the literal buffer, reused from block to block.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// A dictionary prepared for decoding.
pub(super) struct ReadDictionary(DecoderDictionary);

fn parse_dictionary(bytes: &[u8]) -> Result<Dictionary> {
    Dictionary::new(bytes, DictionaryFormat::Detect)
        .map_err(|error| Error::corruption(format!("zstd dictionary: {error}")))
}

impl ReadDictionary {
    pub(super) fn new(bytes: &[u8]) -> Result<Self> {
        DecoderDictionary::new(parse_dictionary(bytes)?)
            .map(Self)
            .map_err(|error| Error::corruption(format!("zstd dictionary: {error}")))
    }
}

/// The most that the frame's blocks can decode to. Fails on a frame cut short or followed by something.
fn output_bound(frame: &[u8]) -> Result<u64> {
    let cut = || Error::corruption("zstd frame ends before its last block");
    let header = FrameHeader::parse(frame).map_err(|error| Error::corruption(format!("zstd frame: {error}")))?;
    let mut position = header.header_len;
    let mut bound = 0u64;
    loop {
        let bytes = frame.get(position..).and_then(<[u8]>::first_chunk::<3>).ok_or_else(cut)?;
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        let size = word >> 3;
        position += 3;
        let (stored, decoded) = match (word >> 1) & 3 {
            0 => (size as usize, u64::from(size)),
            1 => (1, u64::from(size)),
            2 => (size as usize, MAX_BLOCK_SIZE),
            _ => return Err(Error::corruption("zstd frame has a block of the reserved type")),
        };
        position = position.checked_add(stored).filter(|end| *end <= frame.len()).ok_or_else(cut)?;
        bound += decoded.min(MAX_BLOCK_SIZE);
        if word & 1 == 1 {
            break;
        }
    }
    position += if header.checksum { 4 } else { 0 };
    if position > frame.len() {
        return Err(cut());
    }
    if position < frame.len() {
        return Err(Error::corruption(format!("zstd frame has {} bytes after it", frame.len() - position)));
    }
    match header.content_size {
        Some(size) if size > bound => Err(Error::corruption(format!(
            "zstd frame claims {size} bytes of content, its blocks hold at most {bound}"
        ))),
        Some(size) => Ok(size),
        None => Ok(bound),
    }
}

/// Replaces `out` with the content of the one frame in `frame`. `claimed` is the size prefix, if there is one.
pub(super) fn decompress(
    frame: &[u8],
    claimed: Option<u64>,
    dictionary: Option<&ReadDictionary>,
    max_size: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let bound = usize::try_from(output_bound(frame)?).unwrap_or(usize::MAX);
    let limit = match claimed {
        Some(size) => super::check_claimed_size("zstd", size, bound, max_size)?,
        None => bound.min(max_size),
    };
    out.clear();
    let dictionary = dictionary.map(|dictionary| &dictionary.0);
    let consumed = DECOMPRESSOR
        .try_with(|decompressor| decompressor.borrow_mut().decompress_frame(frame, dictionary, limit, out))
        .unwrap_or_else(|_| Decompressor::new().decompress_frame(frame, dictionary, limit, out))
        .map_err(|error| Error::corruption(format!("zstd frame: {error}")))?;
    if consumed != frame.len() {
        return Err(Error::corruption(format!("zstd frame has {} bytes after it", frame.len() - consumed)));
    }
    match claimed {
        Some(_) => super::check_exact_size("zstd", out.len(), limit),
        None => Ok(()),
    }
}

/// A reusable encoder with its match tables and, if given, a dictionary indexed for its level.
pub(super) struct Encoder {
    compressor: Compressor,
    dictionary: Option<EncoderDictionary>,
}

impl Encoder {
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Result<Self> {
        let level = match options.level {
            DEFAULT_COMPRESSION_LEVEL | 0 => DEFAULT_LEVEL,
            level => level.clamp(zstd_rs::MIN_LEVEL, zstd_rs::MAX_LEVEL),
        };
        let invalid = |error: zstd_rs::Error| Error::invalid_argument(format!("zstd compressor: {error}"));
        let config = CompressionConfig {
            level,
            checksum: options.checksum,
            content_size: true,
            dict_id: true,
            format: FrameFormat::Standard,
            ..CompressionConfig::DEFAULT
        };
        let dictionary = match dictionary.filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => Some(EncoderDictionary::new(&parse_dictionary(bytes)?, level).map_err(invalid)?),
            None => None,
        };
        Ok(Self { compressor: Compressor::new(config).map_err(invalid)?, dictionary })
    }

    /// Appends one frame.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        self.compressor.compress(raw, self.dictionary.as_ref(), out).is_ok()
    }
}

/// Appends `raw` as one frame at the default level, without dictionary or checksum.
pub(super) fn compress_frame(raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor>> = const { RefCell::new(None) };
    }
    let failed = |error: zstd_rs::Error| Error::invalid_argument(format!("zstd frame: {error}"));
    let compress = |slot: &mut Option<Compressor>, out: &mut Vec<u8>| {
        let compressor = match slot {
            Some(compressor) => compressor,
            None => slot.insert(Compressor::new(CompressionConfig::DEFAULT).map_err(failed)?),
        };
        compressor.compress(raw, None, out).map_err(failed)
    };
    match COMPRESSOR.try_with(|slot| compress(&mut slot.borrow_mut(), out)) {
        Ok(result) => result,
        Err(_) => compress(&mut None, out),
    }
}

/// Makes a structured dictionary of at most `max_size` bytes; empty if the samples are too few.
pub(super) fn train(samples: &[u8], sample_sizes: &[usize], max_size: usize, options: &CompressionOptions) -> Vec<u8> {
    if options.use_zstd_dict_trainer {
        zstd_train::train(samples, sample_sizes, max_size)
    } else {
        zstd_train::finalize(samples, sample_sizes, max_size)
    }
}
