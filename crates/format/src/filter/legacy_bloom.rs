//! The Bloom filter of format versions before 5: every key's probes fall into one cache line.
//!
//! ```text
//! | lines * width bytes | probes u8 (1..127) | lines u32 |        width: a power of two, 64 from every common writer
//!
//! h = hash32(key, 0xBC9F1D34);  line = h mod lines;  delta = ror32(h, 17)
//! probes times:  bit h mod (8 * width) of the line;  h += delta
//! ```
//!
//! The 32-bit hash limits it to a few million keys; that, and its uneven use of bits, is why it was replaced.

use super::hash_list::HashList;
use super::metadata::METADATA_SIZE;
use ferrock_base::hash::hash32;

const SEED: u32 = 0xBC9F_1D34;
const LINE_BYTES: u64 = 64;
/// Most bits a writer uses; computations were once done in 32 bits.
const MAX_BITS: u64 = 0xFFFF_0000;

/// The hash this filter is made of.
#[inline]
pub(super) fn hash(key: &[u8]) -> u32 {
    hash32(key, SEED)
}

/// Validated metadata of a legacy Bloom filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegacyBloom {
    lines: u32,
    line_bytes_log2: u32,
    probes: u32,
}

impl LegacyBloom {
    pub(super) fn parse(filter_len: usize, metadata: &[u8; METADATA_SIZE]) -> Option<Self> {
        let &[probes, a, b, c, d] = metadata;
        let lines = u32::from_le_bytes([a, b, c, d]);
        let lines_usize = usize::try_from(lines).ok().filter(|&lines| lines > 0)?;
        let line_bytes = filter_len / lines_usize;
        let fits = filter_len.is_multiple_of(lines_usize) && line_bytes.is_power_of_two();
        fits.then(|| Self { lines, line_bytes_log2: line_bytes.ilog2(), probes: probes.into() })
    }

    /// Probes with a 32-bit hash of the key.
    #[inline]
    pub(super) fn may_match(&self, payload: &[u8], mut hash: u32) -> bool {
        let start = ((hash % self.lines) as usize) << self.line_bytes_log2;
        let Some(line) = payload.get(start..start + (1 << self.line_bytes_log2)) else { return true };
        let delta = hash.rotate_right(17);
        let mask = (line.len() as u64 * 8) - 1;
        for _ in 0..self.probes {
            let bit = (u64::from(hash) & mask) as usize;
            if line[bit / 8] >> (bit % 8) & 1 == 0 {
                return false;
            }
            hash = hash.wrapping_add(delta);
        }
        true
    }
}

/// Probes for a number of bits per key.
fn probes(whole_bits_per_key: u32) -> u32 {
    ((f64::from(whole_bits_per_key) * 0.69) as u32).clamp(1, 30)
}

/// Lines for a number of entries: an odd number, so that more bits of the hash choose the line.
fn lines(entries: u64, whole_bits_per_key: u32) -> u64 {
    let bits = entries.saturating_mul(whole_bits_per_key.into()).min(MAX_BITS);
    bits.div_ceil(LINE_BYTES * 8) | 1
}

/// Bytes of a filter for `entries` entries, metadata included.
pub(super) fn size(entries: u64, whole_bits_per_key: u32) -> u64 {
    lines(entries, whole_bits_per_key) * LINE_BYTES + METADATA_SIZE as u64
}

/// Entries that a filter of `bytes` holds, metadata included.
pub(super) fn entries_that_fit(bytes: u64, whole_bits_per_key: u32) -> u64 {
    let most = bytes.saturating_mul(8).min(MAX_BITS) / u64::from(whole_bits_per_key.max(1)) + 1;
    // The size grows in steps of two lines, so the answer lies less than that below.
    let step = 2 * LINE_BYTES * 8 / u64::from(whole_bits_per_key.max(1)) + 2;
    let lowest = most.saturating_sub(2 * step);
    (lowest.max(1)..=most).rev().find(|&entries| size(entries, whole_bits_per_key) <= bytes).unwrap_or(0)
}

/// Builds the payload. `hashes` are 32-bit hashes, widened.
pub(super) fn build(hashes: &HashList, whole_bits_per_key: u32) -> Vec<u8> {
    let lines = lines(hashes.len(), whole_bits_per_key) as u32;
    let probes = probes(whole_bits_per_key);
    let mut payload = vec![0; lines as usize * LINE_BYTES as usize];
    hashes.iter().for_each(|hash| {
        let mut hash = hash as u32;
        let start = (hash % lines) as usize * LINE_BYTES as usize;
        let delta = hash.rotate_right(17);
        for _ in 0..probes {
            let bit = (hash % (LINE_BYTES as u32 * 8)) as usize;
            payload[start + bit / 8] |= 1 << (bit % 8);
            hash = hash.wrapping_add(delta);
        }
    });
    payload.push(probes as u8);
    payload.extend_from_slice(&lines.to_le_bytes());
    payload
}
