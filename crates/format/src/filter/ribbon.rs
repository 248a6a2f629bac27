//! Standard128Ribbon: a linear system over GF(2) whose solution, combined with a key's row, reproduces bits of the
//! key's hash. About 30 % smaller than a Bloom filter of the same accuracy, slower to build.
//!
//! ```text
//! | segments, 16 bytes each, little-endian | fe | seed | blocks u24 |
//!
//! A block is 128 slots. It owns one segment per column of the solution; bit i of a segment belongs to slot i.
//! The first `low_blocks` blocks have one column fewer than the others ("columns"):
//!
//!   columns = ceil(segments / blocks),  low_blocks = columns * blocks - segments       (more than 32: 32 and 0)
//!   block k begins at segment  k * columns - min(k, low_blocks)
//!
//! A key's row is 128 coefficients from slot `start` on, so it touches one block or two neighbouring ones. The second
//! is read with the first one's number of columns.
//! ```

use super::metadata::METADATA_SIZE;
use ferrock_base::hash::fast_range64;

pub(super) const SEGMENT_BYTES: usize = 16;
pub(super) const SLOTS_PER_BLOCK: u64 = 128;
pub(super) const MAX_COLUMNS: u64 = 32;

/// Validated metadata of a Ribbon filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ribbon {
    /// Possible start slots of a row.
    starts: u64,
    columns: u64,
    low_blocks: u64,
    /// The seed byte, mixed as the hash needs it.
    raw_seed: u64,
}

/// A key's linear equation.
pub(super) struct Equation {
    pub(super) start: u64,
    pub(super) row: u128,
    pub(super) result: u32,
}

impl Ribbon {
    pub(super) fn parse(filter_len: usize, metadata: &[u8; METADATA_SIZE]) -> Option<Self> {
        let &[_, seed, a, b, c] = metadata;
        let blocks = u64::from(u32::from_le_bytes([a, b, c, 0]));
        if blocks < 2 {
            return None;
        }
        let segments = (filter_len / SEGMENT_BYTES) as u64;
        let (columns, low_blocks) = match segments.div_ceil(blocks) {
            columns if columns > MAX_COLUMNS => (MAX_COLUMNS, 0),
            columns => (columns, columns * blocks - segments),
        };
        let starts = blocks * SLOTS_PER_BLOCK - (SLOTS_PER_BLOCK - 1);
        Some(Self { starts, columns, low_blocks, raw_seed: raw_seed(seed) })
    }

    /// The equation that holds for a key if it was added.
    #[inline]
    pub(super) fn equation(&self, hash: u64) -> Equation {
        let hash = (hash ^ self.raw_seed).wrapping_mul(0x6193_D459_236A_3A0D);
        let mixed = hash.wrapping_mul(0xC28F_8282_2B65_0BED);
        let row = (u128::from(mixed) << 64 | u128::from(mixed ^ 0xC367_844A_6E52_731D)) | 1;
        Equation { start: fast_range64(hash, self.starts), row, result: mixed.swap_bytes() as u32 }
    }

    /// First segment and number of columns of a block.
    #[inline]
    pub(super) fn segments_of(&self, block: u64) -> (usize, usize) {
        let columns = self.columns - u64::from(block < self.low_blocks);
        ((block * self.columns - block.min(self.low_blocks)) as usize, columns as usize)
    }

    #[inline]
    pub(super) fn may_match(&self, payload: &[u8], hash: u64) -> bool {
        let Equation { start, row, result } = self.equation(hash);
        let (block, slot) = (start / SLOTS_PER_BLOCK, (start % SLOTS_PER_BLOCK) as u32);
        let (first, columns) = self.segments_of(block);
        // A row that starts at slot 0 stays in its block, which may be the last one.
        let touched = if slot == 0 { columns } else { 2 * columns };
        let bytes = payload.get(first * SEGMENT_BYTES..(first + touched) * SEGMENT_BYTES);
        let Some((segments, _)) = bytes.map(<[u8]>::as_chunks::<SEGMENT_BYTES>) else { return true };
        let low_row = row << slot;
        let high_row = if slot == 0 { 0 } else { row >> (128 - slot) };
        for column in 0..columns {
            let mut value = u128::from_le_bytes(segments[column]) & low_row;
            if let Some(next) = segments.get(columns + column) {
                value ^= u128::from_le_bytes(*next) & high_row;
            }
            if value.count_ones() & 1 != result >> column & 1 {
                return false;
            }
        }
        true
    }
}

fn raw_seed(seed: u8) -> u64 {
    let product = u64::from(seed).wrapping_mul(0xC782_19A2_3EEA_DD03);
    let mixed = product ^ (product & 0xF0F0_F0F0_F0F0_F0F0) >> 4;
    mixed & 0xFFFF_FFFF
}
