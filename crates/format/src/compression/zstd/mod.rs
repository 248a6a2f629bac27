//! Zstandard frames: in pure Rust, or with the C library under the feature `native-codecs`.
//!
//! A block holds exactly one frame and nothing after it. Before a byte of output
//! is allocated the block headers of the frame are walked: each yields at most
//! 128 KiB (a raw or run-length block exactly its size), which bounds what the
//! frame can produce no matter what its header and the size prefix claim.

#[cfg(any(not(feature = "native-codecs"), test))]
mod decode;
#[cfg(any(not(feature = "native-codecs"), test))]
mod encode;
#[cfg(feature = "native-codecs")]
mod native;
#[cfg(not(feature = "native-codecs"))]
mod pure;
#[cfg_attr(feature = "native-codecs", allow(dead_code, reason = "the C library trains"))]
mod train;

use std::cell::RefCell;

use ferrock_base::{Error, Result};
use zstd_rs::FrameHeader;

#[cfg(feature = "native-codecs")]
use native as backend;
#[cfg(not(feature = "native-codecs"))]
use pure as backend;

use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};
use super::output::{check_claimed_size, check_exact_size};

pub(super) use backend::ReadDictionary;

/// What a frame of unknown size may leave unused.
const MAX_UNUSED_BYTES: usize = 4096;
/// No block of a frame decodes to more than this.
const MAX_BLOCK_SIZE: usize = 128 << 10;
/// A compressed block has a header of its literals and a count of its sequences.
const MIN_COMPRESSED_BLOCK: usize = 2;
/// The level that Zstandard takes for 0 and for "default".
const DEFAULT_LEVEL: i32 = 3;
const LOWEST_LEVEL: i32 = zstd_rs::MIN_LEVEL;
const HIGHEST_LEVEL: i32 = zstd_rs::MAX_LEVEL;

/// True if the processor has the instructions for bits that hot loops are compiled for a second time.
#[cfg(all(target_arch = "x86_64", any(not(feature = "native-codecs"), test)))]
fn has_bmi2() -> bool {
    std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
}

#[cfg(all(not(target_arch = "x86_64"), any(not(feature = "native-codecs"), test)))]
fn has_bmi2() -> bool {
    false
}

/// The most that the frame's blocks can decode to. Fails on a frame cut short or followed by something.
fn output_bound(frame: &[u8], header: &FrameHeader) -> Result<u64> {
    let cut = || Error::corruption("zstd frame ends before its last block");
    let mut position = header.header_len;
    let mut bound = 0u64;
    loop {
        let bytes = frame.get(position..).and_then(<[u8]>::first_chunk::<3>).ok_or_else(cut)?;
        let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        let size = (word >> 3) as usize;
        position += 3;
        let (stored, decoded) = match (word >> 1) & 3 {
            0 => (size, size),
            1 => (1, size),
            2 if size < MIN_COMPRESSED_BLOCK => {
                return Err(Error::corruption(format!("zstd frame has a compressed block of {size} bytes")));
            }
            2 => (size, MAX_BLOCK_SIZE),
            _ => return Err(Error::corruption("zstd frame has a block of the reserved type")),
        };
        position = position.checked_add(stored).filter(|end| *end <= frame.len()).ok_or_else(cut)?;
        bound += decoded.min(MAX_BLOCK_SIZE) as u64;
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
    let header = FrameHeader::parse(frame).map_err(|error| Error::corruption(format!("zstd frame: {error}")))?;
    let bound = usize::try_from(output_bound(frame, &header)?).unwrap_or(usize::MAX);
    let limit = match claimed {
        Some(size) => check_claimed_size("zstd", size, bound, max_size)?,
        None => bound.min(max_size),
    };
    out.clear();
    let consumed = backend::decompress_frame(frame, &header, dictionary, limit, out)?;
    if consumed != frame.len() {
        return Err(Error::corruption(format!("zstd frame has {} bytes after it", frame.len() - consumed)));
    }
    if claimed.is_some() {
        return check_exact_size("zstd", out.len(), limit);
    }
    // A frame that does not tell its size has room for 128 KiB from each of its blocks.
    if out.capacity() > 2 * out.len() + MAX_UNUSED_BYTES {
        out.shrink_to_fit();
    }
    Ok(())
}

/// A reusable encoder with its match tables and, if given, a dictionary indexed for its level.
pub(super) struct Encoder(backend::FrameEncoder);

impl Encoder {
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Result<Self> {
        let level = match options.level {
            DEFAULT_COMPRESSION_LEVEL | 0 => DEFAULT_LEVEL,
            level => level.clamp(LOWEST_LEVEL, HIGHEST_LEVEL),
        };
        let dictionary = dictionary.filter(|bytes| !bytes.is_empty());
        backend::FrameEncoder::new(level, options.checksum, dictionary).map(Self)
    }

    /// Appends one frame.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        self.0.compress(raw, out).is_ok()
    }
}

/// Appends `raw` as one frame at the default level, without dictionary or checksum.
pub(super) fn compress_frame(raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
    thread_local! {
        static ENCODER: RefCell<Option<backend::FrameEncoder>> = const { RefCell::new(None) };
    }
    let compress = |slot: &mut Option<backend::FrameEncoder>, out: &mut Vec<u8>| {
        let encoder = match slot {
            Some(encoder) => encoder,
            None => slot.insert(backend::FrameEncoder::new(DEFAULT_LEVEL, false, None)?),
        };
        encoder.compress(raw, out)
    };
    match ENCODER.try_with(|slot| compress(&mut slot.borrow_mut(), out)) {
        Ok(result) => result,
        Err(_) => compress(&mut None, out),
    }
}

/// Makes a structured dictionary of at most `max_size` bytes; empty if the samples are too few.
pub(super) fn train(samples: &[u8], sample_sizes: &[usize], max_size: usize, options: &CompressionOptions) -> Vec<u8> {
    if options.use_zstd_dict_trainer {
        backend::train(samples, sample_sizes, max_size)
    } else {
        train::finalize(samples, sample_sizes, max_size)
    }
}
