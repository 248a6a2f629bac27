//! The fast LZ4 encoder, without a dictionary.
//!
//! One probe per position into a table of last positions; after every 64 misses in a row the stride grows by one,
//! starting from the acceleration factor. The hash of the next position is computed before the candidate of this one
//! is looked at, so that the table's cache miss overlaps the comparison.
//!
//! ```text
//! inputs below 64 KiB    8192 positions of 16 bits   hash of 4 bytes
//! longer ones            4096 positions of 32 bits   hash of 5 bytes
//! ```
//!
//! An empty slot is position 0, which is a candidate like any other: what it holds is compared.
//!
//! Tried and lost: `lz4_flex` with every access checked (0.86 to 0.92 of C); positions that count on from input to
//! input, so that the table need not be cleared (0.34 to 0.81: one more branch that cannot be foreseen).

use std::ptr;

use super::lz4_block::{
    LAST_LITERALS, MAX_ACCELERATION, MAX_DISTANCE, MIN_MATCH, SKIP_TRIGGER_SHIFT, hash, match_start_limit,
    max_output_size, put_last_literals,
};
use super::wide_copy::{agreement, copy_16, copy_wide, read_8};

const SMALL_TABLE_BITS: u32 = 13;
const LARGE_TABLE_BITS: u32 = 12;
/// What a sequence takes besides its literals and their long length, and what a wide copy writes beyond.
const SEQUENCE_RESERVE: usize = 16 + super::wide_copy::SURPLUS;

/// An entry of a table of positions.
trait Slot: Copy + Default {
    /// The first position that does not fit.
    const END: usize;
    const BITS: u32;
    fn new(position: usize) -> Self;
    fn position(self) -> usize;
    /// A hash of what eight bytes begin with, below `1 << BITS`.
    fn hash(bytes: u64) -> usize;
}

impl Slot for u16 {
    const END: usize = 1 << 16;
    const BITS: u32 = SMALL_TABLE_BITS;

    #[inline(always)]
    fn new(position: usize) -> Self {
        position as Self
    }

    #[inline(always)]
    fn position(self) -> usize {
        usize::from(self)
    }

    #[inline(always)]
    fn hash(bytes: u64) -> usize {
        hash(bytes as u32, SMALL_TABLE_BITS)
    }
}

impl Slot for u32 {
    const END: usize = u32::MAX as usize;
    const BITS: u32 = LARGE_TABLE_BITS;

    #[inline(always)]
    fn new(position: usize) -> Self {
        position as Self
    }

    #[inline(always)]
    fn position(self) -> usize {
        self as usize
    }

    #[inline(always)]
    fn hash(bytes: u64) -> usize {
        ((bytes << 24).wrapping_mul(889_523_592_379) >> (64 - LARGE_TABLE_BITS)) as usize
    }
}

/// The encoder and its tables.
pub(super) struct FastEncoder {
    acceleration: usize,
    small: Vec<u16>,
    large: Vec<u32>,
}

impl FastEncoder {
    /// `acceleration` is at least 1.
    pub(super) fn new(acceleration: usize) -> Self {
        Self { acceleration: acceleration.clamp(1, MAX_ACCELERATION), small: Vec::new(), large: Vec::new() }
    }

    /// Appends the block for `raw`, whose size fits 32 bits.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.reserve(max_output_size(raw.len()) + SEQUENCE_RESERVE);
        let anchor = if raw.len() < u16::END {
            encode(&mut self.small, self.acceleration, raw, out)
        } else {
            encode(&mut self.large, self.acceleration, raw, out)
        };
        put_last_literals(out, &raw[anchor..]);
    }
}

/// Appends all sequences with a match; returns where the last literals begin.
fn encode<S: Slot>(table: &mut Vec<S>, acceleration: usize, raw: &[u8], out: &mut Vec<u8>) -> usize {
    let mut writer = Writer::new(out);
    let anchor = encode_to(table, acceleration, raw, &mut writer);
    writer.finish();
    anchor
}

#[inline(always)]
fn encode_to<S: Slot>(table: &mut Vec<S>, acceleration: usize, raw: &[u8], writer: &mut Writer<'_>) -> usize {
    let start_limit = match_start_limit(raw.len());
    if start_limit < 2 || raw.len() >= S::END {
        return 0;
    }
    table.clear();
    table.resize(1 << S::BITS, S::default());
    let slots = table.as_mut_slice();
    let match_end = raw.len() - LAST_LITERALS;
    // SAFETY: of all positions that are read, here and below. `position < start_limit`, which is 11 before the end;
    // what the table holds are such positions of this input, or 0.
    let hash_at = |position: usize| S::hash(unsafe { read_8(raw, position) });
    let mut swap = |hash: usize, position: usize| {
        // SAFETY: a hash is below `1 << S::BITS`, and that many slots there are.
        let slot = unsafe { slots.get_unchecked_mut(hash) };
        let found = slot.position();
        *slot = S::new(position);
        found
    };
    let is_match = |candidate: usize, position: usize| {
        (S::END <= MAX_DISTANCE + 1 || position - candidate <= MAX_DISTANCE)
            // SAFETY: as above.
            && unsafe { read_8(raw, candidate) as u32 == read_8(raw, position) as u32 }
    };
    swap(hash_at(0), 0);
    let (mut anchor, mut position) = (0, 1);
    let mut next_hash = hash_at(1);
    loop {
        // Look for a match from `position` on.
        let mut misses = acceleration << SKIP_TRIGGER_SHIFT;
        let mut next = position;
        let mut candidate;
        loop {
            position = next;
            next += misses >> SKIP_TRIGGER_SHIFT;
            misses += 1;
            if next >= start_limit {
                return anchor;
            }
            let hash = next_hash;
            next_hash = hash_at(next);
            candidate = swap(hash, position);
            if is_match(candidate, position) {
                break;
            }
        }
        while position > anchor
            && candidate > 0
            // SAFETY: both positions are above 0 and below `raw.len()`.
            && unsafe { raw.get_unchecked(position - 1) == raw.get_unchecked(candidate - 1) }
        {
            position -= 1;
            candidate -= 1;
        }
        loop {
            // SAFETY: four bytes agree from `position` on, which ends four before `match_end`.
            let extra = unsafe { agreement(raw, candidate + MIN_MATCH, position + MIN_MATCH, match_end) };
            writer.put_sequence(raw, anchor, position, position - candidate, extra);
            position += MIN_MATCH + extra;
            anchor = position;
            if position >= start_limit {
                return anchor;
            }
            swap(hash_at(position - 2), position - 2);
            // Often another match follows at once.
            candidate = swap(hash_at(position), position);
            if !is_match(candidate, position) {
                break;
            }
        }
        position += 1;
        if position >= start_limit {
            return anchor;
        }
        next_hash = hash_at(position);
    }
}

/// Appends to a vector without going to its length for each sequence.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Where the next sequence goes: at or behind the vector's length, within its capacity. What is before is
    /// initialized.
    position: usize,
    capacity: usize,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { position: out.len(), capacity: out.capacity(), out }
    }

    fn finish(self) {
        // SAFETY: the invariant of `position`.
        unsafe { self.out.set_len(self.position) };
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, needed: usize) {
        // SAFETY: the invariant of `position`.
        unsafe { self.out.set_len(self.position) };
        self.out.reserve(needed);
        self.capacity = self.out.capacity();
    }

    /// Appends a sequence: the literals from `anchor` to `position`, and a match that is `extra` longer than the
    /// shortest.
    #[inline(always)]
    fn put_sequence(&mut self, raw: &[u8], anchor: usize, position: usize, distance: usize, extra: usize) {
        let literals = position - anchor;
        let needed = literals + literals / 255 + extra / 255 + SEQUENCE_RESERVE;
        if needed > self.capacity - self.position {
            self.grow(needed);
        }
        // SAFETY: `needed` bytes may be written: a token, the literals and what a wide copy writes beyond them, the
        // bytes of two lengths (one for each 255, and one), two of the distance. The literals lie in `raw`, and wide
        // copies of them are made only where as much of `raw` follows.
        unsafe {
            let begin = self.out.as_mut_ptr().add(self.position);
            let mut to = begin.add(1);
            let token = ((literals.min(15) << 4) | extra.min(15)) as u8;
            begin.write(token);
            if literals >= 15 {
                to = put_length(to, literals - 15);
            }
            if literals > 0 {
                let from = raw.as_ptr().add(anchor);
                if literals <= 16 && anchor + 16 <= raw.len() {
                    copy_16(from, to);
                } else if position + super::wide_copy::SURPLUS <= raw.len() {
                    copy_wide(from, to, literals);
                } else {
                    ptr::copy_nonoverlapping(from, to, literals);
                }
                to = to.add(literals);
            }
            ptr::write_unaligned(to.cast(), (distance as u16).to_le_bytes());
            to = to.add(2);
            if extra >= 15 {
                to = put_length(to, extra - 15);
            }
            self.position += to.offset_from_unsigned(begin);
        }
    }
}

/// # Safety
/// `rest / 255 + 1` bytes may be written at `to`.
#[inline(always)]
unsafe fn put_length(mut to: *mut u8, mut rest: usize) -> *mut u8 {
    // SAFETY: a byte for each 255 of `rest`, and one.
    unsafe {
        while rest >= 255 {
            to.write(255);
            to = to.add(1);
            rest -= 255;
        }
        to.write(rest as u8);
        to.add(1)
    }
}
