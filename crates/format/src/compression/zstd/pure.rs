//! The backend in Rust: a decoder of our own, and the crate `zstd-rs` for encoding, which has no unsafe code.

use std::cell::RefCell;

use ferrock_base::{Error, ErrorKind, Result};
use zstd_rs::{
    CompressionConfig, Compressor, Dictionary, DictionaryFormat, EncoderDictionary, FrameFormat, FrameHeader,
};

use super::decode::Decoder;
use super::encode::FastEncoder;

pub(in super::super) use super::decode::ReadDictionary;
pub(super) use super::train::train;

thread_local! {
    /// Entropy tables and the literal buffer, reused from block to block.
    static DECODER: RefCell<Decoder> = RefCell::new(Decoder::new());
}

/// Appends the content of the frame, at most `limit` bytes; returns the frame's size.
pub(super) fn decompress_frame(
    frame: &[u8],
    header: &FrameHeader,
    dictionary: Option<&ReadDictionary>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<usize> {
    out.try_reserve(limit).map_err(|_| {
        Error::new(
            ErrorKind::MemoryLimit,
            format!("no memory for the {limit} bytes that a zstd frame of {} bytes may hold", frame.len()),
        )
    })?;
    let start = out.len();
    let target = &mut out.spare_capacity_mut()[..limit];
    let (written, size) = DECODER
        .try_with(|decoder| decoder.borrow_mut().decode(frame, header, dictionary, target))
        .unwrap_or_else(|_| Decoder::new().decode(frame, header, dictionary, target))
        .map_err(|damage| Error::corruption(format!("zstd frame of {} bytes: {damage}", frame.len())))?;
    // SAFETY: there is room for `limit` bytes, of which the decoder has initialized the first `written`.
    unsafe { out.set_len(start + written) };
    Ok(size)
}

/// Encodes frames at one level.
pub(super) struct FrameEncoder {
    /// For most inputs at the fast levels, without a dictionary.
    fast: Option<FastEncoder>,
    compressor: Compressor,
    dictionary: Option<EncoderDictionary>,
}

impl FrameEncoder {
    pub(super) fn new(level: i32, checksum: bool, dictionary: Option<&[u8]>) -> Result<Self> {
        let config = CompressionConfig {
            level,
            checksum,
            content_size: true,
            dict_id: true,
            format: FrameFormat::Standard,
            ..CompressionConfig::DEFAULT
        };
        let dictionary = match dictionary {
            Some(bytes) => Some(EncoderDictionary::new(&parse_dictionary(bytes)?, level).map_err(invalid)?),
            None => None,
        };
        let fast = if dictionary.is_none() { FastEncoder::new(level, checksum) } else { None };
        Ok(Self { fast, compressor: Compressor::new(config).map_err(invalid)?, dictionary })
    }

    /// Appends one frame.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.fast.as_mut().is_some_and(|fast| fast.compress(raw, out)) {
            return Ok(());
        }
        self.compressor.compress(raw, self.dictionary.as_ref(), out).map_err(invalid)
    }
}

fn invalid(error: zstd_rs::Error) -> Error {
    Error::invalid_argument(format!("zstd compressor: {error}"))
}

fn parse_dictionary(bytes: &[u8]) -> Result<Dictionary> {
    Dictionary::new(bytes, DictionaryFormat::Detect)
        .map_err(|error| Error::corruption(format!("zstd dictionary: {error}")))
}
