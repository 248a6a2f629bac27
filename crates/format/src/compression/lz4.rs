//! LZ4 blocks (not frames): decoding for both LZ4 types, and the choice of the fast encoder.

use ferrock_base::{Error, Result};

use super::lz4_decode;
use super::lz4_dictionary::DictionaryEncoder;
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
    out.clear();
    out.reserve(claimed);
    let tail = dictionary_tail(dictionary.unwrap_or_default());
    lz4_decode::decode(payload, tail, &mut out.spare_capacity_mut()[..claimed]).map_err(|damage| {
        Error::corruption(format!("LZ4 block of {} bytes, {claimed} claimed: {damage}", payload.len()))
    })?;
    // SAFETY: there is room for `claimed` bytes, and the decoder has initialized all of them.
    unsafe { out.set_len(claimed) };
    Ok(())
}

/// The encoder of [`CompressionType::Lz4`](super::CompressionType::Lz4).
pub(super) enum Encoder {
    Plain(Box<FastEncoder>),
    WithDictionary(Box<DictionaryEncoder>),
}

impl Encoder {
    /// A negative level is an acceleration factor; LZ4 has no slower setting than level 1.
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Self {
        let acceleration = if options.level < 0 { options.level.unsigned_abs() as usize } else { 1 };
        match dictionary {
            None => Self::Plain(Box::new(FastEncoder::new(acceleration))),
            Some(dictionary) => {
                Self::WithDictionary(Box::new(DictionaryEncoder::new(acceleration, dictionary_tail(dictionary))))
            }
        }
    }

    /// Appends the compressed form of `raw`, whose size fits 32 bits.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Plain(encoder) => encoder.compress(raw, out),
            Self::WithDictionary(encoder) => encoder.compress(raw, out),
        }
    }
}
