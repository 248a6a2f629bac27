//! LZ4 blocks (not frames): decoding for both LZ4 types, and the choice of the fast encoder.

use ferrock_base::{Error, Result};

use super::lz4_fast::FastEncoder;
use super::options::CompressionOptions;
use super::output;

/// One length byte adds at most 255 bytes of output.
const MAX_EXPANSION: usize = 255;

/// The part of a dictionary that a match can reach.
pub(super) fn dictionary_tail(dictionary: &[u8]) -> &[u8] {
    &dictionary[dictionary.len().saturating_sub(64 << 10)..]
}

/// Replaces `out` with the `claimed` bytes of the decoded block.
pub(super) fn decompress(
    payload: &[u8],
    claimed: u64,
    dictionary: Option<&[u8]>,
    max_size: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let claimed = output::check_claimed_size("LZ4", claimed, payload.len().saturating_mul(MAX_EXPANSION), max_size)?;
    // Every byte is overwritten, so what a reused vector holds need not be cleared.
    out.resize(claimed, 0);
    let written = match dictionary {
        Some(dictionary) if !dictionary.is_empty() => {
            lz4_flex::block::decompress_into_with_dict(payload, out, dictionary_tail(dictionary))
        }
        _ => lz4_flex::block::decompress_into(payload, out),
    }
    .map_err(|error| Error::corruption(format!("LZ4 block: {error}")))?;
    output::check_exact_size("LZ4", written, claimed)
}

/// The encoder of [`CompressionType::Lz4`](super::CompressionType::Lz4).
pub(super) enum Encoder {
    /// Acceleration 1 without dictionary: `lz4_flex`, the quickest.
    Plain(lz4_flex::block::CompressTable),
    /// With an acceleration factor or a dictionary: Ferrock's own.
    Tuned(Box<FastEncoder>),
}

impl Encoder {
    /// A negative level is an acceleration factor; LZ4 has no slower setting than level 1.
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Self {
        let acceleration = if options.level < 0 { options.level.unsigned_abs() as usize } else { 1 };
        match dictionary {
            None if acceleration == 1 => Self::Plain(lz4_flex::block::CompressTable::default()),
            _ => {
                let dictionary = dictionary_tail(dictionary.unwrap_or_default());
                Self::Tuned(Box::new(FastEncoder::new(acceleration, dictionary)))
            }
        }
    }

    /// Appends the compressed form of `raw`, whose size fits 32 bits.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            Self::Plain(table) => {
                let start = out.len();
                out.resize(start + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
                let Ok(written) = lz4_flex::block::compress_into_with_table(raw, &mut out[start..], table) else {
                    return false;
                };
                out.truncate(start + written);
            }
            Self::Tuned(encoder) => encoder.compress(raw, out),
        }
        true
    }
}
