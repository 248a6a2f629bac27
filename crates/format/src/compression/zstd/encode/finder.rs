//! Finding matches: one probe per position (the fast levels), or one for a long match and one for a short one.
//!
//! ```text
//! table:  position in the input + base, by hash; what is below `base` is from earlier inputs, and void
//! ```
//!
//! The stride grows with the distance to the last match, so that what does not compress is passed quickly.

use super::super::super::wide_copy::{SURPLUS, agreement, copy_16, copy_wide, read_8};
use super::sequences::Sequence;

/// No match begins closer to the end: eight bytes are read at the two positions behind it, too.
const END_MARGIN: usize = 12;
/// Distance to the last match after which the stride is one longer.
const STRIDE_SHIFT: u32 = 8;

/// How matches are looked for.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// Bytes of a short match that are hashed: 4 to 7.
    pub(super) min_match: u32,
    pub(super) short_bits: u32,
    /// 0 for no long matches.
    pub(super) long_bits: u32,
    /// What the stride begins with.
    pub(super) stride: usize,
}

/// Sequences of a block, and its literals.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) sequences: Vec<Sequence>,
    pub(super) literals: Vec<u8>,
}

impl Parsed {
    #[inline(always)]
    fn put(&mut self, raw: &[u8], anchor: usize, position: usize, offset: u32, length: usize) {
        let count = position - anchor;
        let start = self.literals.len();
        self.literals.reserve(count + SURPLUS);
        // SAFETY: there is room for `count + SURPLUS` bytes; as many may be read where copies are wide, and otherwise
        // the literals are copied exactly.
        unsafe {
            let (from, to) = (raw.as_ptr().add(anchor), self.literals.as_mut_ptr().add(start));
            if position + SURPLUS <= raw.len() {
                copy_16(from, to);
                if count > 16 {
                    copy_wide(from, to, count);
                }
            } else {
                std::ptr::copy_nonoverlapping(from, to, count);
            }
            self.literals.set_len(start + count);
        }
        self.sequences.push(Sequence { literals: count as u32, length: length as u32, offset });
    }
}

/// Tables of positions.
pub(super) struct Finder {
    short: Vec<u32>,
    long: Vec<u32>,
    base: u32,
}

impl Finder {
    pub(super) fn new() -> Self {
        Self { short: Vec::new(), long: Vec::new(), base: 1 }
    }

    /// Divides `raw` (128 KiB at most) into sequences and the literals behind them.
    #[inline(always)]
    pub(super) fn parse(&mut self, raw: &[u8], search: Search, parsed: &mut Parsed) {
        parsed.sequences.clear();
        parsed.literals.clear();
        parsed.literals.reserve(raw.len() + SURPLUS);
        let room = |table: &mut Vec<u32>, bits: u32| {
            if table.len() < 1 << bits {
                table.resize(1 << bits, 0);
            }
        };
        room(&mut self.short, search.short_bits);
        room(&mut self.long, search.long_bits);
        if u32::MAX - self.base < 1 << 20 {
            self.short.fill(0);
            self.long.fill(0);
            self.base = 1;
        }
        let anchor = match (search.long_bits, search.min_match) {
            _ if raw.len() < 2 * END_MARGIN => 0,
            (0, 4) => self.parse_fast::<4>(raw, search, parsed),
            (0, 5) => self.parse_fast::<5>(raw, search, parsed),
            (0, 6) => self.parse_fast::<6>(raw, search, parsed),
            (0, _) => self.parse_fast::<7>(raw, search, parsed),
            (_, 4) => self.parse_double::<4>(raw, search, parsed),
            _ => self.parse_double::<5>(raw, search, parsed),
        };
        parsed.literals.extend_from_slice(&raw[anchor..]);
        self.base += raw.len() as u32;
    }

    #[inline(always)]
    fn parse_fast<const MIN_MATCH: u32>(&mut self, raw: &[u8], search: Search, parsed: &mut Parsed) -> usize {
        let Self { short, base, .. } = self;
        let mut table =
            Table { slots: &mut short[..1 << search.short_bits], shift: 64 - search.short_bits, base: *base };
        let limit = raw.len() - END_MARGIN;
        let mut repeats = Repeats([1, 4]);
        let (mut anchor, mut position) = (0, 1);
        // SAFETY: of all reads here. `position < limit` is 12 before the end, and what a table gives lies before it.
        let bytes_at = |position: usize| unsafe { read_8(raw, position) };
        table.put(hash::<MIN_MATCH>(bytes_at(0), table.shift), 0);
        let mut next_hash = hash::<MIN_MATCH>(bytes_at(1), table.shift);
        while position < limit {
            // Two positions at once, and one branch for all that may be found there.
            let (bytes, next_bytes) = (bytes_at(position), bytes_at(position + 1));
            let stride = search.stride + ((position - anchor) >> STRIDE_SHIFT);
            let (first, is_first) = table.look_up(next_hash, position, bytes, raw);
            let next_slot = hash::<MIN_MATCH>(next_bytes, table.shift);
            let (second, is_second) = table.look_up(next_slot, position + 1, next_bytes, raw);
            next_hash = hash::<MIN_MATCH>(bytes_at((position + 1 + stride).min(limit)), table.shift);
            let is_repeat = repeats.is_match(raw, position + 1, next_bytes);
            if !(is_first | is_second | is_repeat) {
                position += 1 + stride;
                continue;
            }
            let mut begin = position;
            let (offset, length);
            if is_repeat {
                // One literal has to be left: without any, this offset would be the second one.
                (begin, length) = whole_match(raw, begin + 1 - repeats.0[0], begin + 1, 4, anchor + 1);
                offset = 1;
            } else {
                let candidate = if is_first { first } else { second };
                begin += usize::from(!is_first);
                let distance = begin - candidate;
                (begin, length) = whole_match(raw, candidate, begin, 4, anchor);
                offset = repeats.code(distance, begin > anchor);
            }
            parsed.put(raw, anchor, begin, offset, length);
            anchor = begin + length;
            if anchor >= limit {
                return anchor;
            }
            table.put(hash::<MIN_MATCH>(bytes_at(position + 2), table.shift), position + 2);
            table.put(hash::<MIN_MATCH>(bytes_at(anchor - 2), table.shift), anchor - 2);
            anchor = repeats.follow(raw, anchor, limit, parsed, |bytes, position| {
                table.put(hash::<MIN_MATCH>(bytes, table.shift), position);
            });
            position = anchor;
            if position >= limit {
                return anchor;
            }
            next_hash = hash::<MIN_MATCH>(bytes_at(position), table.shift);
        }
        anchor
    }

    #[inline(always)]
    fn parse_double<const MIN_MATCH: u32>(&mut self, raw: &[u8], search: Search, parsed: &mut Parsed) -> usize {
        let Self { short, long, base } = self;
        let mut short =
            Table { slots: &mut short[..1 << search.short_bits], shift: 64 - search.short_bits, base: *base };
        let mut long = Table { slots: &mut long[..1 << search.long_bits], shift: 64 - search.long_bits, base: *base };
        let limit = raw.len() - END_MARGIN;
        let mut repeats = Repeats([1, 4]);
        let (mut anchor, mut position) = (0, 1);
        // SAFETY: of all reads here. `position < limit` is 12 before the end, and what a table gives lies before it.
        let bytes_at = |position: usize| unsafe { read_8(raw, position) };
        short.put(hash::<MIN_MATCH>(bytes_at(0), short.shift), 0);
        long.put(hash::<8>(bytes_at(0), long.shift), 0);
        let mut next_long = hash::<8>(bytes_at(1), long.shift);
        while position < limit {
            let bytes = bytes_at(position);
            let stride = search.stride + ((position - anchor) >> STRIDE_SHIFT);
            let (far, is_long) = long.look_up_long(next_long, position, bytes, raw);
            let (near, is_short) = short.look_up(hash::<MIN_MATCH>(bytes, short.shift), position, bytes, raw);
            next_long = hash::<8>(bytes_at((position + stride).min(limit)), long.shift);
            let is_repeat = repeats.is_match(raw, position + 1, bytes >> 8);
            if !(is_long | is_short | is_repeat) {
                position += stride;
                continue;
            }
            let mut begin = position;
            let (offset, length);
            if is_repeat {
                // One literal has to be left: without any, this offset would be the second one.
                (begin, length) = whole_match(raw, begin + 1 - repeats.0[0], begin + 1, 4, anchor + 1);
                offset = 1;
            } else {
                let (mut candidate, mut found) = if is_long { (far, 8) } else { (near, 4) };
                if !is_long && position + 1 < limit {
                    // A longer one may begin at the next position.
                    let bytes = bytes_at(position + 1);
                    let slot = hash::<8>(bytes, long.shift);
                    let (next, is_long) = long.look_up_long(slot, position + 1, bytes, raw);
                    if is_long {
                        (candidate, found, begin) = (next, 8, position + 1);
                    }
                }
                let distance = begin - candidate;
                (begin, length) = whole_match(raw, candidate, begin, found, anchor);
                offset = repeats.code(distance, begin > anchor);
            }
            parsed.put(raw, anchor, begin, offset, length);
            anchor = begin + length;
            if anchor >= limit {
                return anchor;
            }
            for place in [position + 2, anchor - 2] {
                long.put(hash::<8>(bytes_at(place), long.shift), place);
            }
            for place in [position + 2, anchor - 1] {
                short.put(hash::<MIN_MATCH>(bytes_at(place), short.shift), place);
            }
            anchor = repeats.follow(raw, anchor, limit, parsed, |bytes, position| {
                short.put(hash::<MIN_MATCH>(bytes, short.shift), position);
                long.put(hash::<8>(bytes, long.shift), position);
            });
            position = anchor;
            if position >= limit {
                return anchor;
            }
            next_long = hash::<8>(bytes_at(position), long.shift);
        }
        anchor
    }
}

/// The two offsets that were last used. The first is no larger than any position that is looked at from then on: it was
/// 1, or led from a position before to another one.
struct Repeats([usize; 2]);

impl Repeats {
    /// Whether four bytes at `begin` (1 at least), which are given, are those one offset before.
    #[inline(always)]
    fn is_match(&self, raw: &[u8], begin: usize, bytes: u64) -> bool {
        debug_assert!(self.0[0] <= begin);
        // SAFETY: `begin` is at most 11 before the end, and the offset no larger.
        unsafe { read_8(raw, begin - self.0[0]) as u32 == bytes as u32 }
    }

    /// Makes `offset` the last one; returns what stands for it. Behind literals, both have short names.
    #[inline(always)]
    fn code(&mut self, offset: usize, has_literals: bool) -> u32 {
        if has_literals && offset == self.0[0] {
            return 1;
        }
        let is_second = has_literals && offset == self.0[1];
        self.0 = [offset, self.0[0]];
        if is_second { 2 } else { offset as u32 + 3 }
    }

    /// Appends matches at the second offset that follow at once; returns where they end.
    #[inline(always)]
    fn follow(
        &mut self,
        raw: &[u8],
        mut position: usize,
        limit: usize,
        parsed: &mut Parsed,
        mut put: impl FnMut(u64, usize),
    ) -> usize {
        while position < limit && self.0[1] <= position {
            // SAFETY: `position` is 12 before the end, and the offset lies within what is before.
            let (bytes, before) = unsafe { (read_8(raw, position), read_8(raw, position - self.0[1])) };
            if bytes as u32 != before as u32 {
                break;
            }
            // SAFETY: as above; four bytes agree.
            let length = 4 + unsafe { agreement(raw, position + 4 - self.0[1], position + 4, raw.len()) };
            self.0.swap(0, 1);
            put(bytes, position);
            parsed.put(raw, position, position, 1, length);
            position += length;
        }
        position
    }
}

/// Where the match begins that has `found` bytes at `begin` like those at `candidate` before it, back to `anchor` at
/// most, and how long it is.
#[inline(always)]
fn whole_match(raw: &[u8], candidate: usize, begin: usize, found: usize, anchor: usize) -> (usize, usize) {
    debug_assert!(candidate < begin && begin + found <= raw.len());
    // SAFETY: the candidate lies before `begin`, and `found` bytes are there.
    let more = unsafe { agreement(raw, candidate + found, begin + found, raw.len()) };
    let most = candidate.min(begin - anchor);
    let mut before = 0;
    while before < most
        // SAFETY: `before < most`, which is at most `candidate`, and that is before `begin`.
        && unsafe { raw.get_unchecked(candidate - before - 1) == raw.get_unchecked(begin - before - 1) }
    {
        before += 1;
    }
    (begin - before, found + more + before)
}

/// A hash of the first `BYTES` bytes.
#[inline(always)]
fn hash<const BYTES: u32>(bytes: u64, shift: u32) -> usize {
    const PRIME: u64 = 0x9e37_79b1_85eb_ca87;
    ((bytes << (64 - 8 * BYTES)).wrapping_mul(PRIME) >> (shift & 63)) as usize
}

/// A table of positions, by a hash below its length.
struct Table<'a> {
    slots: &'a mut [u32],
    shift: u32,
    base: u32,
}

impl Table<'_> {
    #[inline(always)]
    fn put(&mut self, hash: usize, position: usize) {
        debug_assert!(hash < self.slots.len());
        // SAFETY: `hash` has `64 - shift` bits, and the table so many slots.
        unsafe { *self.slots.get_unchecked_mut(hash) = self.base + position as u32 };
    }

    /// Puts `position` where `hash` is. Returns what was there, in this input before `position` if the second value is
    /// true: then its first four bytes are those of `bytes`.
    #[inline(always)]
    fn look_up(&mut self, hash: usize, position: usize, bytes: u64, raw: &[u8]) -> (usize, bool) {
        let (candidate, found) = self.swap(hash, position, raw);
        (candidate, (found as u32 == bytes as u32) & (candidate < position))
    }

    /// As [`look_up`](Self::look_up) for eight bytes.
    #[inline(always)]
    fn look_up_long(&mut self, hash: usize, position: usize, bytes: u64, raw: &[u8]) -> (usize, bool) {
        let (candidate, found) = self.swap(hash, position, raw);
        (candidate, (found == bytes) & (candidate < position))
    }

    #[inline(always)]
    fn swap(&mut self, hash: usize, position: usize, raw: &[u8]) -> (usize, u64) {
        debug_assert!(hash < self.slots.len());
        // SAFETY: `hash` has `64 - shift` bits, and the table so many slots.
        let slot = unsafe { self.slots.get_unchecked_mut(hash) };
        // What is void becomes large, and then `position`.
        let candidate = (slot.wrapping_sub(self.base) as usize).min(position);
        *slot = self.base + position as u32;
        // SAFETY: `position` is 11 before the end at least.
        (candidate, unsafe { read_8(raw, candidate) })
    }
}
