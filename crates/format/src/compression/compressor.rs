//! The writing side: one encoder with its tables, reused for every block of a table.

use std::fmt;

use ferrock_base::Result;
use ferrock_base::coding::put_varint32;

#[cfg(feature = "bzip2")]
use super::bzip2;
#[cfg(feature = "snappy")]
use super::snappy;
#[cfg(feature = "zlib")]
use super::zlib;
#[cfg(feature = "zstd")]
use super::zstd;
use super::{CompressionOptions, CompressionType};
#[cfg(feature = "lz4")]
use super::{lz4, lz4hc};

enum Encoder {
    None,
    #[cfg(feature = "snappy")]
    Snappy(Box<snap::raw::Encoder>),
    #[cfg(feature = "zlib")]
    Zlib(Box<zlib::Encoder>),
    #[cfg(feature = "bzip2")]
    BZip2(bzip2::Encoder),
    #[cfg(feature = "lz4")]
    Lz4(Box<lz4::Encoder>),
    #[cfg(feature = "lz4")]
    Lz4Hc(Box<lz4hc::Encoder>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::Encoder>),
}

/// Compresses the blocks of one table.
///
/// Holds the algorithm's hash tables and its dictionary, so that a block costs no
/// set-up. Not shared between threads: each compressing thread makes its own.
pub struct Compressor {
    compression_type: CompressionType,
    options: CompressionOptions,
    encoder: Encoder,
}

impl Compressor {
    /// Prepares an encoder. `dictionary` is the content of the table's dictionary block;
    /// Snappy and bzip2 ignore it.
    ///
    /// # Errors
    /// `NotSupported` for XPRESS and a type that is left out of this build, `InvalidArgument` for options the algorithm
    /// does not have,
    /// `Corruption` for a dictionary with the Zstandard magic that does not parse.
    pub fn new(
        compression_type: CompressionType,
        options: &CompressionOptions,
        dictionary: Option<&[u8]>,
    ) -> Result<Self> {
        let dictionary = dictionary.filter(|bytes| !bytes.is_empty());
        let encoder = match compression_type {
            CompressionType::NoCompression => Encoder::None,
            #[cfg(feature = "snappy")]
            CompressionType::Snappy => Encoder::Snappy(Box::new(snap::raw::Encoder::new())),
            #[cfg(feature = "zlib")]
            CompressionType::Zlib => Encoder::Zlib(Box::new(zlib::Encoder::new(options, dictionary)?)),
            #[cfg(feature = "bzip2")]
            CompressionType::BZip2 => Encoder::BZip2(bzip2::Encoder::new(options)),
            #[cfg(feature = "lz4")]
            CompressionType::Lz4 => Encoder::Lz4(Box::new(lz4::Encoder::new(options, dictionary))),
            #[cfg(feature = "lz4")]
            CompressionType::Lz4Hc => Encoder::Lz4Hc(Box::new(lz4hc::Encoder::new(options, dictionary))),
            #[cfg(feature = "zstd")]
            CompressionType::Zstd => Encoder::Zstd(Box::new(zstd::Encoder::new(options, dictionary)?)),
            left_out => return Err(left_out.not_built()),
        };
        Ok(Self { compression_type, options: options.clone(), encoder })
    }

    /// The type byte that goes with the output.
    #[must_use]
    pub fn compression_type(&self) -> CompressionType {
        self.compression_type
    }

    /// Replaces `out` with the stored form of `raw` (size prefix and algorithm output, as format versions 2
    /// and later have it). False if it would not be small enough by `max_compressed_bytes_per_kb`: then the
    /// block is to be stored as it is, with type [`NoCompression`](CompressionType::NoCompression), and `out`
    /// is empty.
    pub fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let limit = self.options.max_compressed_size(raw.len());
        let kept = self.encode(raw, limit, out) && out.len() <= limit;
        if !kept {
            out.clear();
        }
        kept
    }

    /// As [`compress`](Self::compress), but what grows is kept, too: values in blob files have the type of their file,
    /// whatever their size becomes. False only for a value that has no compressed form, as it is longer than 4 GiB.
    pub fn compress_always(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        // No algorithm makes more of anything.
        let limit = raw.len().saturating_add(raw.len() / 4).saturating_add(1024);
        self.encode(raw, limit, out)
    }

    fn encode(&mut self, raw: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
        let Ok(raw_size) = u32::try_from(raw.len()) else {
            return false;
        };
        if !matches!(self.compression_type, CompressionType::NoCompression | CompressionType::Snappy) {
            put_varint32(out, raw_size);
        }
        if out.len() >= limit {
            return false;
        }
        let room = limit - out.len();
        match &mut self.encoder {
            Encoder::None => false,
            #[cfg(feature = "snappy")]
            Encoder::Snappy(encoder) => snappy::compress(encoder, raw, out),
            #[cfg(feature = "zlib")]
            Encoder::Zlib(encoder) => encoder.compress(raw, room, out),
            #[cfg(feature = "bzip2")]
            Encoder::BZip2(encoder) => encoder.compress(raw, room, out),
            #[cfg(feature = "lz4")]
            Encoder::Lz4(encoder) => {
                encoder.compress(raw, out);
                true
            }
            #[cfg(feature = "lz4")]
            Encoder::Lz4Hc(encoder) => {
                encoder.compress(raw, out);
                true
            }
            #[cfg(feature = "zstd")]
            Encoder::Zstd(encoder) => encoder.compress(raw, out),
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Compressor").field("compression_type", &self.compression_type).finish_non_exhaustive()
    }
}
