//! The pure Rust backend: the crate `zstd-rs`, which has no unsafe code.

use std::cell::RefCell;

use ferrock_base::{Error, Result};
use zstd_rs::{
    CompressionConfig, Compressor, DecoderDictionary, Decompressor, Dictionary, DictionaryFormat, EncoderDictionary,
    FrameFormat,
};

pub(super) use super::train::train;

thread_local! {
    /// Entropy tables and the literal buffer, reused from block to block.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// A dictionary prepared for decoding.
pub(in super::super) struct ReadDictionary(DecoderDictionary);

impl ReadDictionary {
    /// Structured if `bytes` begin with the magic, otherwise history.
    pub(in super::super) fn new(bytes: &[u8]) -> Result<Self> {
        DecoderDictionary::new(parse_dictionary(bytes)?).map(Self).map_err(corrupt_dictionary)
    }
}

fn parse_dictionary(bytes: &[u8]) -> Result<Dictionary> {
    Dictionary::new(bytes, DictionaryFormat::Detect).map_err(corrupt_dictionary)
}

fn corrupt_dictionary(error: zstd_rs::Error) -> Error {
    Error::corruption(format!("zstd dictionary: {error}"))
}

/// Appends the content of the frame, at most `limit` bytes; returns the frame's size.
pub(super) fn decompress_frame(
    frame: &[u8],
    dictionary: Option<&ReadDictionary>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let dictionary = dictionary.map(|dictionary| &dictionary.0);
    DECOMPRESSOR
        .try_with(|decompressor| decompressor.borrow_mut().decompress_frame(frame, dictionary, limit, out))
        .unwrap_or_else(|_| Decompressor::new().decompress_frame(frame, dictionary, limit, out))
        .map_err(|error| Error::corruption(format!("zstd frame: {error}")))
}

/// Encodes frames at one level.
pub(super) struct FrameEncoder {
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
        Ok(Self { compressor: Compressor::new(config).map_err(invalid)?, dictionary })
    }

    /// Appends one frame.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.compressor.compress(raw, self.dictionary.as_ref(), out).map_err(invalid)
    }
}

fn invalid(error: zstd_rs::Error) -> Error {
    Error::invalid_argument(format!("zstd compressor: {error}"))
}
