//! Raw deflate (no zlib or gzip header), optionally with a preset dictionary.
//!
//! Writers keep match distances within 16 KiB (window of 14 bits) because every
//! reader inflates with that window. Reading here allows the full 32 KiB.

use std::cell::RefCell;

use ferrock_base::{Error, Result};
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Inflate, InflateFlush, Method, Status, Strategy};

use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};
use super::output;

/// Deflate spends at least one bit per code and a code pair yields at most 258 bytes:
/// two bits for 258 bytes, which is 1032 per byte.
const MAX_EXPANSION: usize = 1032;
/// zlib's own default; part of the output's shape, not of the format.
const MEMORY_LEVEL: i32 = 8;
const WRITE_WINDOW_BITS: i32 = 14;

thread_local! {
    /// An inflater owns about 40 KiB; making one per block would dominate small blocks.
    static INFLATER: RefCell<Inflate> = RefCell::new(Inflate::new(false, 15));
}

/// Replaces `out` with the inflated stream. `claimed` is the size prefix, absent in format versions 0 and 1.
pub(super) fn decompress(
    payload: &[u8],
    claimed: Option<u64>,
    dictionary: Option<&[u8]>,
    max_size: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let bound = payload.len().saturating_mul(MAX_EXPANSION);
    let limit = match claimed {
        Some(size) => output::check_claimed_size("zlib", size, bound, max_size)?,
        None => max_size.min(bound),
    };
    let produced = INFLATER
        .try_with(|inflater| inflate(&mut inflater.borrow_mut(), payload, dictionary, limit, out))
        .unwrap_or_else(|_| inflate(&mut Inflate::new(false, 15), payload, dictionary, limit, out))?;
    match claimed {
        Some(_) => output::check_exact_size("zlib", produced, limit),
        None => Ok(()),
    }
}

fn inflate(
    inflater: &mut Inflate,
    payload: &[u8],
    dictionary: Option<&[u8]>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<usize> {
    inflater.reset(false);
    if let Some(dictionary) = dictionary.filter(|dictionary| !dictionary.is_empty()) {
        inflater
            .set_dictionary(dictionary)
            .map_err(|error| Error::corruption(format!("zlib dictionary: {error:?}")))?;
    }
    out.clear();
    let mut consumed = 0;
    let mut produced = 0;
    loop {
        output::grow_output(out, produced, payload.len(), limit);
        let (in_before, out_before) = (inflater.total_in(), inflater.total_out());
        let status = inflater
            .decompress(&payload[consumed..], &mut out[produced..], InflateFlush::NoFlush)
            .map_err(|error| Error::corruption(format!("zlib block: {}", error.as_str())))?;
        let read = usize::try_from(inflater.total_in() - in_before).unwrap_or(usize::MAX);
        let written = usize::try_from(inflater.total_out() - out_before).unwrap_or(usize::MAX);
        consumed += read;
        produced += written;
        if status == Status::StreamEnd {
            break;
        }
        if produced == limit && written == 0 {
            return Err(Error::corruption(format!("zlib block expands beyond {limit} bytes")));
        }
        if (read == 0 && written == 0) || (consumed == payload.len() && produced < out.len()) {
            return Err(Error::corruption("zlib block ends in the middle of its stream"));
        }
    }
    if consumed != payload.len() {
        return Err(Error::corruption(format!("zlib block has {} bytes after its stream", payload.len() - consumed)));
    }
    out.truncate(produced);
    Ok(produced)
}

/// A reusable raw-deflate encoder.
pub(super) struct Encoder {
    deflate: Deflate,
    dictionary: Option<Vec<u8>>,
}

impl Encoder {
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Result<Self> {
        if !(-15..=-9).contains(&options.window_bits) {
            return Err(Error::invalid_argument(format!(
                "compression_opts.window_bits is {}; zlib blocks are raw deflate, so -15 to -9 are possible",
                options.window_bits
            )));
        }
        let strategy = match options.strategy {
            0 => Strategy::Default,
            1 => Strategy::Filtered,
            2 => Strategy::HuffmanOnly,
            3 => Strategy::Rle,
            4 => Strategy::Fixed,
            other => {
                return Err(Error::invalid_argument(format!("compression_opts.strategy is {other}; zlib has 0 to 4")));
            }
        };
        let level = match options.level {
            DEFAULT_COMPRESSION_LEVEL => 6,
            negative if negative < 0 => 6,
            level => level.min(9),
        };
        // A smaller window than asked for is always legal; a larger one is unreadable.
        let window_bits = options.window_bits.max(-WRITE_WINDOW_BITS);
        let config = DeflateConfig { level, method: Method::Deflated, window_bits, mem_level: MEMORY_LEVEL, strategy };
        Ok(Self { deflate: Deflate::new_with_config(config), dictionary: dictionary.map(<[u8]>::to_vec) })
    }

    /// Appends the stream if it takes at most `limit` bytes.
    pub(super) fn compress(&mut self, raw: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
        self.deflate.reset();
        if let Some(dictionary) = self.dictionary.as_deref().filter(|dictionary| !dictionary.is_empty())
            && self.deflate.set_dictionary(dictionary).is_err()
        {
            return false;
        }
        let start = out.len();
        out.resize(start + limit, 0);
        let status = self.deflate.compress(raw, &mut out[start..], DeflateFlush::Finish);
        if !matches!(status, Ok(Status::StreamEnd)) || self.deflate.total_in() != raw.len() as u64 {
            return false;
        }
        let written = usize::try_from(self.deflate.total_out()).unwrap_or(usize::MAX);
        out.truncate(start.saturating_add(written));
        true
    }
}
