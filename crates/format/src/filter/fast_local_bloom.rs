//! The Bloom filter of format_version 5 on: one 64-byte line per key, chosen by the low half of a 64-bit hash; the high
//! half makes the probes.
//!
//! ```text
//! | lines * 64 bytes | ff | 00 | 000ppppp | 00 00 |                 p: probes, 1 to 30
//!
//! H = hash64(key);  line = low32(H) * lines >> 32;  x = high32(H)
//! p times:  bit x >> 23 of the line (0..511);  x *= 0x9E3779B9
//! ```

use super::hash_list::HashList;
use super::metadata::METADATA_SIZE;
use ferrock_base::hash::fast_range32;

const LINE_BYTES: usize = 64;
const MAX_PROBES: u8 = 30;
const MAX_BYTES: u64 = 0xFFFF_FFC0;
const GOLDEN_RATIO: u32 = 0x9E37_79B9;

/// Validated metadata of a FastLocalBloom filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastLocalBloom {
    lines: u32,
    probes: u32,
}

impl FastLocalBloom {
    pub(super) fn parse(filter_len: usize, metadata: &[u8; METADATA_SIZE]) -> Option<Self> {
        // The upper three bits of the third byte are a block size; only 64 bytes (0) was ever defined.
        let &[_, 0, probes @ 1..=MAX_PROBES, 0, 0] = metadata else { return None };
        let lines = u32::try_from(filter_len / LINE_BYTES).ok()?;
        let whole = filter_len.is_multiple_of(LINE_BYTES) && filter_len as u64 <= MAX_BYTES;
        whole.then_some(Self { lines, probes: probes.into() })
    }

    #[inline(always)]
    fn line<'a>(&self, payload: &'a [u8], hash: u64) -> Option<&'a [u8; LINE_BYTES]> {
        let start = fast_range32(hash as u32, self.lines) as usize * LINE_BYTES;
        payload.get(start..)?.first_chunk()
    }

    #[inline]
    pub(super) fn may_match(&self, payload: &[u8], hash: u64) -> bool {
        let Some(line) = self.line(payload, hash) else { return true };
        let mut state = (hash >> 32) as u32;
        for _ in 0..self.probes {
            if !is_set(line, state) {
                return false;
            }
            state = state.wrapping_mul(GOLDEN_RATIO);
        }
        true
    }

    /// The first of the probes of [`may_match`](Self::may_match).
    #[inline]
    pub(super) fn first_probe_matches(&self, payload: &[u8], hash: u64) -> bool {
        self.line(payload, hash).is_none_or(|line| is_set(line, (hash >> 32) as u32))
    }
}

#[inline(always)]
fn is_set(line: &[u8; LINE_BYTES], state: u32) -> bool {
    let bit = (state >> 23) as usize;
    line[bit / 8] >> (bit % 8) & 1 == 1
}

/// Probes that give the lowest false-positive rate for a number of bits per key.
pub(super) fn probes(millibits_per_key: u32) -> u8 {
    const STEPS: [(u32, u8); 12] = [
        (2080, 1),
        (3580, 2),
        (5100, 3),
        (6640, 4),
        (8300, 5),
        (10070, 6),
        (11720, 7),
        (14001, 8),
        (16050, 9),
        (18300, 10),
        (22001, 11),
        (25501, 12),
    ];
    match STEPS.iter().find(|(up_to, _)| millibits_per_key <= *up_to) {
        Some(&(_, probes)) => probes,
        None if millibits_per_key > 50000 => 24,
        None => ((millibits_per_key - 1) / 2000 - 1) as u8,
    }
}

/// Bytes of a filter for `entries` entries, metadata included.
pub(super) fn size(entries: u64, millibits_per_key: u32) -> u64 {
    let bytes = entries.saturating_mul(millibits_per_key.into()).div_ceil(8000).min(MAX_BYTES);
    bytes.next_multiple_of(LINE_BYTES as u64) + METADATA_SIZE as u64
}

/// Entries that a filter of `bytes` holds, metadata included.
pub(super) fn entries_that_fit(bytes: u64, millibits_per_key: u32) -> u64 {
    let usable = bytes.saturating_sub(METADATA_SIZE as u64).min(MAX_BYTES) / LINE_BYTES as u64 * LINE_BYTES as u64;
    usable * 8000 / u64::from(millibits_per_key.max(1))
}

/// Builds the payload from 64-bit hashes.
pub(super) fn build(hashes: &HashList, millibits_per_key: u32) -> Vec<u8> {
    let size = size(hashes.len(), millibits_per_key) as usize;
    let probes = probes(millibits_per_key);
    let mut payload = Vec::with_capacity(size);
    payload.resize(size - METADATA_SIZE, 0);
    let (lines, _) = payload.as_chunks_mut::<LINE_BYTES>();
    let line_count = lines.len() as u32;
    hashes.iter().for_each(|hash| {
        let line = &mut lines[fast_range32(hash as u32, line_count) as usize];
        let mut state = (hash >> 32) as u32;
        for _ in 0..probes {
            let bit = (state >> 23) as usize;
            line[bit / 8] |= 1 << (bit % 8);
            state = state.wrapping_mul(GOLDEN_RATIO);
        }
    });
    payload.extend_from_slice(&[0xff, 0, probes, 0, 0]);
    payload
}
