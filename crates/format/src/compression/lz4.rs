//! LZ4 blocks (not frames): decoding for both LZ4 types, and the fast encoder.

use ferrock_base::{Error, Result};

/// Matches reach back at most this far, so only the tail of a dictionary matters.
pub(super) const MAX_DISTANCE: usize = 65_535;

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
    let claimed = super::check_claimed_size("LZ4", claimed, payload.len().saturating_mul(MAX_EXPANSION), max_size)?;
    out.clear();
    out.resize(claimed, 0);
    let written = match dictionary {
        Some(dictionary) if !dictionary.is_empty() => {
            lz4_flex::block::decompress_into_with_dict(payload, out, dictionary_tail(dictionary))
        }
        _ => lz4_flex::block::decompress_into(payload, out),
    }
    .map_err(|error| Error::corruption(format!("LZ4 block: {error}")))?;
    super::check_exact_size("LZ4", written, claimed)
}

/// The fast encoder with its hash table.
pub(super) struct Encoder {
    table: lz4_flex::block::CompressTable,
    dictionary: Option<Vec<u8>>,
}

impl Encoder {
    pub(super) fn new(_options: &super::CompressionOptions, dictionary: Option<&[u8]>) -> Self {
        Self {
            table: lz4_flex::block::CompressTable::default(),
            dictionary: dictionary.map(|dictionary| dictionary_tail(dictionary).to_vec()),
        }
    }

    /// Appends the compressed form of `raw`.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + lz4_flex::block::get_maximum_output_size(raw.len()), 0);
        let written = match &self.dictionary {
            Some(dictionary) => lz4_flex::block::compress_into_with_dict(raw, &mut out[start..], dictionary),
            None => lz4_flex::block::compress_into_with_table(raw, &mut out[start..], &mut self.table),
        };
        match written {
            Ok(written) => {
                out.truncate(start + written);
                true
            }
            Err(_) => false,
        }
    }
}
