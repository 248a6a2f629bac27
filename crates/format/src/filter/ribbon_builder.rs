//! Building a Ribbon filter: every key is a linear equation over the slots; solve them, and store the solution.
//!
//! ```text
//! banding            equations are kept in echelon form: slot i holds the one whose first coefficient is there
//! back substitution  from the last slot to the first, one bit per column; 128 of them are a segment
//! ```
//!
//! Some seeds give equations that contradict one another (about one in twenty); then the next seed is tried. Sizes,
//! first seed and rounding are RocksDB's, so the same keys make the same bytes.

use super::fast_local_bloom;
use super::hash_list::HashList;
use super::metadata::METADATA_SIZE;
use super::ribbon::{MAX_COLUMNS, Ribbon, SEGMENT_BYTES, SLOTS_PER_BLOCK};

/// More entries than this get a Bloom filter.
const MAX_ENTRIES: u64 = 950_000_000;
/// From this many slots on, a Bloom filter is never smaller.
const BLOOM_SLOTS: u64 = 1024;
/// Entries that 2^n slots hold when about one seed in twenty fails; 0: too few slots for this kind of filter.
const CAPACITY: [f64; 18] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 248.851, 499.532, 1001.26, 2003.97, 4005.59, 8000.39, 15966.6, 31828.1,
    63447.3, 126_506.0,
];
/// Growth with the logarithm of the slots, beyond the table.
const FACTOR_PER_LOG2: f64 = 0.0038;
#[allow(clippy::approx_constant, reason = "these digits, and no more, decide the sizes of RocksDB's filters")]
const LOG2_E: f64 = 1.442_695_040_9;

fn factor(log2_slots: f64) -> f64 {
    let base = 131_072.0 / CAPACITY[17] - 17.0 * FACTOR_PER_LOG2;
    base + FACTOR_PER_LOG2 * log2_slots
}

fn capacity_of_power(log2_slots: u32) -> f64 {
    match CAPACITY.get(log2_slots as usize) {
        Some(&capacity) => capacity,
        None => 2f64.powi(log2_slots as i32) / factor(log2_slots.into()),
    }
}

/// Slots for a number of entries, a multiple of a block.
fn slots_for(entries: u64) -> u64 {
    let mut log2 = ((entries as f64).ln() * LOG2_E + 0.5) as u32;
    let mut lower = capacity_of_power(log2);
    if log2 == 0 || lower == 0.0 {
        return 2 * SLOTS_PER_BLOCK;
    }
    let upper;
    if (entries as f64) < lower {
        upper = lower;
        log2 -= 1;
        lower = capacity_of_power(log2);
    } else {
        upper = capacity_of_power(log2 + 1);
    }
    let portion = (entries as f64 - lower) / (upper - lower);
    let base = 2f64.powi(log2 as i32);
    round_up((portion * base + base + 0.999_999_999) as u64)
}

/// One block is not enough.
fn round_up(slots: u64) -> u64 {
    match slots.next_multiple_of(SLOTS_PER_BLOCK) {
        SLOTS_PER_BLOCK => 2 * SLOTS_PER_BLOCK,
        slots => slots,
    }
}

fn round_down(slots: u64) -> u64 {
    match slots / SLOTS_PER_BLOCK * SLOTS_PER_BLOCK {
        SLOTS_PER_BLOCK => 0,
        slots => slots,
    }
}

/// Entries that a number of slots holds.
fn capacity(slots: u64) -> u64 {
    if slots == 0 {
        return 0;
    }
    let log2 = (slots as f64).ln() * LOG2_E;
    let floor = log2 as u32;
    if let (Some(&lower), Some(&upper)) = (CAPACITY.get(floor as usize), CAPACITY.get(floor as usize + 1)) {
        let portion = slots as f64 / 2f64.powi(floor as i32) - 1.0;
        return (portion * upper + (1.0 - portion) * lower) as u64;
    }
    (slots as f64 / factor(log2)) as u64
}

/// The accuracy of a Bloom filter of this many bits per key, as "one false positive in so many".
fn one_in(millibits_per_key: u32) -> f64 {
    let probes = f64::from(fast_local_bloom::probes(millibits_per_key));
    let keys_per_line = 512.0 / (f64::from(millibits_per_key) / 1000.0);
    let deviation = keys_per_line.sqrt();
    let rate = |keys: f64| (1.0 - (-probes / (512.0 / keys)).exp()).powf(probes);
    2.0 / (rate(keys_per_line + deviation) + rate(keys_per_line - deviation))
}

/// Bytes of the segments that give `one_in` with `slots`. `rounding` (32 bits) decides between two sizes, so that many
/// filters have the right size on the average.
fn bytes_for(slots: u64, one_in: f64, rounding: u32) -> u64 {
    if one_in > f64::from(u32::MAX) {
        return slots * 4;
    }
    if one_in <= 1.0 {
        return SEGMENT_BYTES as u64;
    }
    let lower_columns = (one_in as u32).ilog2();
    let (lower, upper) = (0.5f64.powi(lower_columns as i32), 0.5f64.powi(lower_columns as i32 + 1));
    let portion = (1.0 / one_in - upper) / (lower - upper);
    let starts = slots - (SLOTS_PER_BLOCK - 1);
    let bias = (f64::from(rounding) + 0.5) / 2f64.powi(32);
    let low_blocks = ((portion * starts as f64 + bias) / SLOTS_PER_BLOCK as f64) as u64;
    let blocks = slots / SLOTS_PER_BLOCK;
    (blocks * u64::from(lower_columns) + blocks.saturating_sub(low_blocks)) * SEGMENT_BYTES as u64
}

/// Slots and segment bytes, `None` where a Bloom filter is smaller or must do.
fn plan(entries: u64, millibits_per_key: u32, rounding: u32) -> Option<(u64, u64)> {
    if entries == 0 || entries > MAX_ENTRIES {
        return None;
    }
    let slots = slots_for(entries);
    let bytes = bytes_for(slots, one_in(millibits_per_key), rounding);
    let bloom_is_smaller =
        slots < BLOOM_SLOTS && fast_local_bloom::size(entries, millibits_per_key) < bytes + METADATA_SIZE as u64;
    (!bloom_is_smaller).then_some((slots, bytes))
}

/// Bytes of a filter for `entries` entries, metadata included.
pub(super) fn size(entries: u64, millibits_per_key: u32) -> u64 {
    match plan(entries, millibits_per_key, 0) {
        Some((_, bytes)) => bytes + METADATA_SIZE as u64,
        None => fast_local_bloom::size(entries, millibits_per_key),
    }
}

/// Memory of the equations for `entries` entries.
pub(super) fn construction_bytes(entries: u64, millibits_per_key: u32) -> usize {
    let slots = plan(entries, millibits_per_key, 0).map_or(0, |(slots, _)| slots as usize);
    slots * (size_of::<u128>() + size_of::<u32>())
}

/// Entries that a filter of `bytes` holds, metadata included.
pub(super) fn entries_that_fit(bytes: u64, millibits_per_key: u32) -> u64 {
    let usable = bytes.saturating_sub(METADATA_SIZE as u64) / SEGMENT_BYTES as u64 * SEGMENT_BYTES as u64;
    let one_in = one_in(millibits_per_key);
    let bits_per_slot = if one_in > f64::from(u32::MAX) {
        f64::from(MAX_COLUMNS as u32)
    } else if one_in <= 1.0 {
        return MAX_ENTRIES;
    } else {
        let columns = 1 + (one_in as u32).ilog2();
        let rate = 0.5f64.powi(columns as i32);
        f64::from(columns) - (1.0 / one_in - rate) / rate
    };
    let mut slots = round_up((usable as f64 * 8.0 / bits_per_slot) as u64);
    for _ in 0..2 {
        if slots == 0 || bytes_for(slots, one_in, 0) <= usable {
            break;
        }
        slots = round_down(slots - 1);
    }
    let entries = capacity(slots).min(MAX_ENTRIES);
    if slots < BLOOM_SLOTS {
        return entries.max(fast_local_bloom::entries_that_fit(bytes, millibits_per_key));
    }
    entries
}

/// Builds the payload from 64-bit hashes; a Bloom filter where that is smaller, or where no seed works.
pub(super) fn build(hashes: &HashList, millibits_per_key: u32) -> Vec<u8> {
    let first = hashes.first().unwrap_or(0);
    if let Some((slots, bytes)) = plan(hashes.len(), millibits_per_key, (first >> 32) as u32) {
        let mut banding = Banding { rows: vec![0; slots as usize], results: vec![0; slots as usize] };
        for attempt in 0..=u8::MAX {
            let seed = (first as u8).wrapping_add(attempt);
            let [a, b, c, _] = ((slots / SLOTS_PER_BLOCK) as u32).to_le_bytes();
            let metadata = [0xfe, seed, a, b, c];
            let Some(ribbon) = Ribbon::parse(bytes as usize, &metadata) else { break };
            if banding.fill(&ribbon, hashes) {
                let mut payload = banding.solve(&ribbon, bytes as usize);
                payload.extend_from_slice(&metadata);
                return payload;
            }
        }
    }
    fast_local_bloom::build(hashes, millibits_per_key)
}

/// Equations in echelon form. Slot `i` has none if its row is 0; otherwise bit 0 of the row is set.
struct Banding {
    rows: Vec<u128>,
    results: Vec<u32>,
}

impl Banding {
    /// False when the equations contradict one another.
    fn fill(&mut self, ribbon: &Ribbon, hashes: &HashList) -> bool {
        self.rows.fill(0);
        self.results.fill(0);
        hashes.iter().all(|hash| {
            let equation = ribbon.equation(hash);
            let (mut slot, mut row, mut result) = (equation.start as usize, equation.row, equation.result);
            loop {
                let (Some(place), Some(place_result)) = (self.rows.get_mut(slot), self.results.get_mut(slot)) else {
                    return false;
                };
                if *place == 0 {
                    (*place, *place_result) = (row, result);
                    return true;
                }
                row ^= *place;
                result ^= *place_result;
                if row == 0 {
                    return result == 0;
                }
                let shift = row.trailing_zeros();
                row >>= shift;
                slot += shift as usize;
            }
        })
    }

    /// The segments.
    fn solve(&self, ribbon: &Ribbon, bytes: usize) -> Vec<u8> {
        let mut payload = Vec::with_capacity(bytes + METADATA_SIZE);
        payload.resize(bytes, 0);
        let (segments, _) = payload.as_chunks_mut::<SEGMENT_BYTES>();
        let mut state = [0u128; MAX_COLUMNS as usize];
        let block_slots = SLOTS_PER_BLOCK as usize;
        let blocks = self.rows.chunks(block_slots).zip(self.results.chunks(block_slots)).enumerate();
        for (block, (rows, results)) in blocks.rev() {
            let (first, columns) = ribbon.segments_of(block as u64);
            let state = &mut state[..columns];
            for (row, result) in rows.iter().zip(results).rev() {
                for (column, state) in state.iter_mut().enumerate() {
                    *state <<= 1;
                    *state |= u128::from((*state & row).count_ones() & 1 ^ result >> column & 1);
                }
            }
            for (segment, state) in segments.iter_mut().skip(first).zip(&*state) {
                *segment = state.to_le_bytes();
            }
        }
        payload
    }
}
