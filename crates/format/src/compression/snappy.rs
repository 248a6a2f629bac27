//! Snappy raw blocks. The block's own varint length serves as the size prefix.

use super::output;
use ferrock_base::{Error, Result};

/// A three-byte copy element yields at most 64 bytes, and no element yields more per byte.
fn max_output_size(payload_size: usize) -> usize {
    (payload_size / 3).saturating_add(1).saturating_mul(64)
}

/// Replaces `out` with the decoded block.
pub(super) fn decompress(payload: &[u8], max_size: usize, out: &mut Vec<u8>) -> Result<()> {
    let claimed =
        snap::raw::decompress_len(payload).map_err(|error| Error::corruption(format!("Snappy block: {error}")))?;
    output::check_claimed_size("Snappy", claimed as u64, max_output_size(payload.len()), max_size)?;
    // Every byte is overwritten, so what a reused vector holds need not be cleared.
    out.resize(claimed, 0);
    let written = snap::raw::Decoder::new()
        .decompress(payload, out)
        .map_err(|error| Error::corruption(format!("Snappy block: {error}")))?;
    output::check_exact_size("Snappy", written, claimed)
}

/// Appends the compressed form of `raw`.
pub(super) fn compress(encoder: &mut snap::raw::Encoder, raw: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    // Zero means that the input is beyond Snappy's 4 GiB.
    let bound = snap::raw::max_compress_len(raw.len());
    if bound == 0 {
        return false;
    }
    out.resize(start + bound, 0);
    match encoder.compress(raw, &mut out[start..]) {
        Ok(written) => {
            out.truncate(start + written);
            true
        }
        Err(_) => false,
    }
}
