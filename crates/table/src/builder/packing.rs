//! What a data block becomes before it has a place in the file: compressed where that pays, and verified if asked for.
//!
//! A block is packed by itself: nothing of the blocks before it plays a part, so blocks may be packed in any order and
//! by any thread. A block that is copied from another table is not packed, and counts as verified: it was decompressed
//! and compared already ([`StoredBlocks`](crate::StoredBlocks)).

use super::TableBuilderParams;
use crate::stored_blocks::StoredPayload;
use ferrock_base::{Error, Result};
use ferrock_format::compression::{CompressionType, Compressor, Dictionary, decompress};
use ferrock_statistics::{Histogram, MeasureTimer, Statistics, Ticker};
use std::sync::Arc;

/// A block of this size or more is never compressed: not every reader takes the result.
pub(super) const MAX_COMPRESSED_BLOCK: usize = i32::MAX as usize;

/// How a block was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Compressed,
    /// Compression saved too little.
    Rejected,
    /// Not tried.
    Raw,
}

impl Stored {
    /// Of a block that is stored as another file stores it.
    pub(super) fn of_copy(payload: &StoredPayload) -> Self {
        if payload.bytes().is_some() { Self::Compressed } else { Self::Rejected }
    }
}

/// Compresses blocks.
#[derive(Debug)]
pub(super) struct Packer {
    compressor: Compressor,
    dictionary: Option<Dictionary>,
    verify_compression: bool,
    format_version: u32,
    statistics: Option<Arc<Statistics>>,
    /// Test hook: alters the compressor's output, as a faulty compressor would.
    #[cfg(test)]
    pub(super) spoil: Option<fn(&mut Vec<u8>)>,
}

impl Packer {
    /// `None` where blocks stay as they are.
    ///
    /// # Errors
    /// Those of [`Compressor::new`] and [`Dictionary::new`].
    pub(super) fn new(params: &TableBuilderParams, dictionary: Option<&[u8]>) -> Result<Option<Self>> {
        let kind = params.compression;
        if kind == CompressionType::NoCompression {
            return Ok(None);
        }
        Ok(Some(Self {
            compressor: Compressor::new(kind, &params.compression_options, dictionary)?,
            dictionary: dictionary.map(|dictionary| Dictionary::new(kind, dictionary)).transpose()?,
            verify_compression: params.options.verify_compression,
            format_version: params.options.format_version,
            statistics: params.statistics.clone(),
            #[cfg(test)]
            spoil: None,
        }))
    }

    pub(super) fn kind(&self) -> CompressionType {
        self.compressor.compression_type()
    }

    /// The dictionary's bytes.
    pub(super) fn dictionary(&self) -> Option<&[u8]> {
        self.dictionary.as_ref().map(Dictionary::bytes)
    }

    /// True when a compressed block is decompressed again.
    pub(super) fn verifies(&self) -> bool {
        self.verify_compression
    }

    /// Puts the compressed form into `out`, if there is to be one.
    ///
    /// # Errors
    /// `Corruption` when the compressed block does not decompress to what it was made of.
    pub(super) fn pack(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<Stored> {
        if block.len() >= MAX_COMPRESSED_BLOCK {
            return Ok(Stored::Raw);
        }
        let recorder = self.statistics.as_ref().and_then(|statistics| statistics.recorder());
        let timer = MeasureTimer::of_part(recorder, Histogram::CompressionTimesNanos);
        let is_smaller = self.compressor.compress(block, out);
        drop(timer);
        if !is_smaller {
            if let Some(recorder) = recorder {
                recorder.add(Ticker::NumberBlockCompressionRejected, 1);
                recorder.add(Ticker::BytesCompressionRejected, block.len() as u64);
            }
            return Ok(Stored::Rejected);
        }
        if let Some(recorder) = recorder {
            recorder.add(Ticker::NumberBlockCompressed, 1);
            recorder.add(Ticker::BytesCompressedFrom, block.len() as u64);
            recorder.add(Ticker::BytesCompressedTo, out.len() as u64);
        }
        #[cfg(test)]
        if let Some(spoil) = self.spoil {
            spoil(out);
        }
        self.check(block, out).map(|()| Stored::Compressed)
    }

    /// Decompresses the block that was just compressed, if `verify_compression` is set, and compares.
    fn check(&self, block: &[u8], compressed: &[u8]) -> Result<()> {
        if !self.verify_compression {
            return Ok(());
        }
        let kind = self.kind();
        match decompress(kind, compressed, self.format_version, self.dictionary.as_ref(), block.len()) {
            Ok(again) if again == block => Ok(()),
            Ok(_) => {
                Err(Error::corruption(format!("a block compressed with {} decodes differently", kind.option_name())))
            }
            Err(error) => Err(error.context("verify_compression")),
        }
    }
}
