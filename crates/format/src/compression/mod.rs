//! Block compression: the types, their stored form, and the codecs behind them.
//!
//! ```text
//! type                          stored payload (format_version >= 2)
//! NoCompression                 raw bytes
//! Snappy                        Snappy raw block, which begins with its own varint length
//! Zlib BZip2 LZ4 LZ4HC ZSTD     varint32 uncompressed size | algorithm output
//!                                                           Zlib: raw deflate, no header
//!                                                           BZip2: one stream (BZh...)
//!                                                           LZ4, LZ4HC: LZ4 block, not frame
//!                                                           ZSTD: one frame (28 b5 2f fd)
//! ```
//!
//! Format versions 0 and 1 have no prefix for Zlib and BZip2 and a fixed64 one for
//! LZ4; Zstandard and Snappy are the same in all versions.
//!
//! Invariants:
//! - The decoded length equals the claimed one, and nothing follows the one stream.
//! - A claim allocates nothing by itself. It is refused beyond what the algorithm
//!   can expand the payload to (or `max_size`), and where the algorithm has no
//!   useful bound, the output grows as it is produced.
//! - A compressed form is kept only if it saves enough (`max_compressed_bytes_per_kb`);
//!   each block decides alone.
//! - Each algorithm is a feature of this crate. One that is left out is refused by name, with the feature that brings
//!   it ([`CompressionType::check_built`]), wherever blocks are read or written.

#![cfg_attr(not(feature = "codecs"), allow(unused, reason = "each algorithm uses other parts of this module"))]

#[cfg(feature = "bzip2")]
mod bzip2;
mod compression_type;
mod compressor;
mod dictionary;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(any(feature = "lz4", feature = "zstd"))]
mod lz4_block;
#[cfg(feature = "lz4")]
mod lz4_decode;
#[cfg(feature = "lz4")]
mod lz4_dictionary;
#[cfg(feature = "lz4")]
mod lz4_fast;
#[cfg(all(test, feature = "lz4"))]
mod lz4_tests;
#[cfg(feature = "lz4")]
mod lz4hc;
mod options;
mod output;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(all(test, any(feature = "lz4", feature = "zstd")))]
mod test_random;
#[cfg(test)]
mod tests;
mod training;
#[cfg(any(feature = "lz4", feature = "zstd"))]
mod wide_copy;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

use ferrock_base::coding::{get_fixed64, get_varint64};
use ferrock_base::{Error, Result};

pub use compression_type::{CompressionType, DISABLE_COMPRESSION_OPTION_NAME, ZSTD_NOT_FINAL};
pub use compressor::Compressor;
pub use dictionary::Dictionary;
pub use options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};
pub use training::build_dictionary;

use output::check_claimed_size;

/// The first format version whose blocks carry a varint32 size prefix.
const FIRST_PREFIXED_FORMAT_VERSION: u32 = 2;

/// Decodes the payload of one block (without its trailer) to a new vector.
///
/// `max_size` is the most the caller accepts; `dictionary` is the table's, for
/// data blocks only.
///
/// # Errors
/// Corruption, if the payload is not exactly one well-formed stream of the claimed
/// size; `NotSupported` for XPRESS and for a type that is left out of this build.
pub fn decompress(
    compression_type: CompressionType,
    payload: &[u8],
    format_version: u32,
    dictionary: Option<&Dictionary>,
    max_size: usize,
) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    decompress_into(compression_type, payload, format_version, dictionary, max_size, &mut out)?;
    Ok(out)
}

/// [`decompress`] into a vector whose memory is reused. On an error its content is unspecified.
///
/// # Errors
/// As [`decompress`].
pub fn decompress_into(
    compression_type: CompressionType,
    payload: &[u8],
    format_version: u32,
    dictionary: Option<&Dictionary>,
    max_size: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let raw_dictionary = dictionary.map(Dictionary::bytes);
    let prefixed = format_version >= FIRST_PREFIXED_FORMAT_VERSION;
    match compression_type {
        CompressionType::NoCompression => {
            check_claimed_size("stored", payload.len() as u64, usize::MAX, max_size)?;
            out.clear();
            out.extend_from_slice(payload);
            Ok(())
        }
        #[cfg(feature = "snappy")]
        CompressionType::Snappy => snappy::decompress(payload, max_size, out),
        #[cfg(feature = "zlib")]
        CompressionType::Zlib if prefixed => {
            let (claimed, stream) = split_size_prefix(payload)?;
            zlib::decompress(stream, Some(claimed), raw_dictionary, max_size, out)
        }
        #[cfg(feature = "zlib")]
        CompressionType::Zlib => zlib::decompress(payload, None, raw_dictionary, max_size, out),
        #[cfg(feature = "bzip2")]
        CompressionType::BZip2 if prefixed => {
            let (claimed, stream) = split_size_prefix(payload)?;
            bzip2::decompress(stream, Some(claimed), max_size, out)
        }
        #[cfg(feature = "bzip2")]
        CompressionType::BZip2 => bzip2::decompress(payload, None, max_size, out),
        #[cfg(feature = "lz4")]
        CompressionType::Lz4 | CompressionType::Lz4Hc => {
            let (claimed, stream) = if prefixed { split_size_prefix(payload)? } else { split_fixed_prefix(payload)? };
            lz4::decompress(stream, claimed, raw_dictionary, max_size, out)
        }
        #[cfg(feature = "zstd")]
        CompressionType::Zstd => {
            let (claimed, frame) = split_size_prefix(payload)?;
            match dictionary {
                Some(dictionary) if dictionary.zstd().is_none() && !dictionary.bytes().is_empty() => {
                    // Prepared for another type (a table of mixed types): parse it here.
                    let parsed = zstd::ReadDictionary::new(dictionary.bytes())?;
                    zstd::decompress(frame, Some(claimed), Some(&parsed), max_size, out)
                }
                _ => zstd::decompress(frame, Some(claimed), dictionary.and_then(Dictionary::zstd), max_size, out),
            }
        }
        left_out => Err(left_out.not_built()),
    }
}

/// Decodes one bare Zstandard frame, as a compressed write-ahead log holds one per record.
///
/// # Errors
/// Corruption, if `frame` is not exactly one frame or holds more than `max_size` bytes; `NotSupported` without the
/// feature `zstd`.
pub fn zstd_frame_decompress(frame: &[u8], max_size: usize) -> Result<Vec<u8>> {
    CompressionType::Zstd.check_built()?;
    let mut out = Vec::new();
    #[cfg(feature = "zstd")]
    zstd::decompress(frame, None, None, max_size, &mut out)?;
    Ok(out)
}

/// Appends `raw` as one bare Zstandard frame at the default level.
///
/// # Errors
/// `InvalidArgument`, if the input is too large for one frame (1 GiB); `NotSupported` without the feature `zstd`.
pub fn zstd_frame_compress(raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
    CompressionType::Zstd.check_built()?;
    #[cfg(feature = "zstd")]
    zstd::compress_frame(raw, out)?;
    Ok(())
}

fn split_size_prefix(payload: &[u8]) -> Result<(u64, &[u8])> {
    let (claimed, length) =
        get_varint64(payload).ok_or_else(|| Error::corruption("compressed block has no valid size prefix"))?;
    Ok((claimed, &payload[length..]))
}

/// The eight-byte prefix of LZ4 in format versions 0 and 1.
fn split_fixed_prefix(payload: &[u8]) -> Result<(u64, &[u8])> {
    let claimed =
        get_fixed64(payload, 0).ok_or_else(|| Error::corruption("compressed block has no valid size prefix"))?;
    Ok((claimed, &payload[8..]))
}
