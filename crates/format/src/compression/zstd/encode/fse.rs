//! FSE coding: distributions of counts, their descriptions, and tables of states.

/// The most symbols of an alphabet here: codes of match lengths (53), weights of Huffman codes (13).
const MAX_SYMBOLS: usize = 64;
const MAX_STATES: usize = 512;

/// Bits that are written from the lowest up; a reader begins at the end.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Where the next whole bytes go: at or behind the vector's length, within its capacity. All before is initialized.
    position: usize,
    capacity: usize,
    pending: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { position: out.len(), capacity: out.capacity(), out, pending: 0, count: 0 }
    }

    /// Adds `count` bits; between two flushes 56 at most.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) {
        debug_assert!(bits >> count == 0 && self.count + count < 64);
        self.pending |= bits << (self.count & 63);
        self.count += count;
    }

    /// Writes the whole bytes of what is pending.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        if self.capacity - self.position < 8 {
            self.grow();
        }
        // SAFETY: there is room for eight bytes, all of which are written; up to seven of them are kept.
        unsafe {
            let to = self.out.as_mut_ptr().add(self.position);
            std::ptr::write_unaligned(to.cast(), self.pending.to_le_bytes());
        }
        self.position += (self.count >> 3) as usize & 7;
        self.pending >>= self.count & 56;
        self.count &= 7;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // SAFETY: what `position` promises.
        unsafe { self.out.set_len(self.position) };
        self.out.reserve(64);
        self.capacity = self.out.capacity();
    }

    /// Ends a stream that is read from its end: a 1 tells where.
    #[inline(always)]
    pub(super) fn finish_stream(mut self) {
        self.flush();
        self.put(1, 1);
        self.finish();
    }

    /// Writes what is left.
    #[inline(always)]
    pub(super) fn finish(mut self) {
        self.flush();
        // SAFETY: what `position` promises.
        unsafe { self.out.set_len(self.position) };
        if self.count > 0 {
            self.out.push(self.pending as u8);
        }
    }
}

/// The bits of a table for `total` symbols up to `max_symbol`.
pub(super) fn table_bits(max_bits: u32, total: usize, max_symbol: usize) -> u32 {
    let of_total = (total.max(2) as u32 - 1).ilog2();
    let needed = (total.max(1).ilog2() + 1).min((max_symbol.max(1)).ilog2() + 2);
    max_bits.min(of_total.saturating_sub(2)).max(needed).clamp(5, max_bits)
}

/// Scales counts to a sum of `1 << bits`; each that is not 0 becomes 1 at least. There are two symbols at least.
pub(super) fn normalize(counts: &[u32], total: u32, bits: u32, scaled: &mut [u16; MAX_SYMBOLS]) {
    let mut rest = 1i32 << bits;
    let mut largest = 0;
    for (symbol, count) in counts.iter().enumerate() {
        scaled[symbol] = 0;
        if *count == 0 {
            continue;
        }
        let exact = (u64::from(*count) << (bits + 8)) / u64::from(total.max(1));
        let floor = exact >> 8;
        // Up if above the geometric mean: that costs fewest bits.
        let up = exact * exact > (floor * (floor + 1)) << 16;
        scaled[symbol] = (floor + u64::from(up)).max(1) as u16;
        rest -= i32::from(scaled[symbol]);
        if scaled[symbol] > scaled[largest] {
            largest = symbol;
        }
    }
    if rest >= 0 || i32::from(scaled[largest]) > -3 * rest {
        scaled[largest] = (i32::from(scaled[largest]) + rest) as u16;
        return;
    }
    // Too much is rounded up for one symbol to bear: the largest bear it in turn.
    while rest < 0 {
        if let Some(most) = scaled[..counts.len()].iter_mut().max() {
            *most -= 1;
        }
        rest += 1;
    }
}

/// Appends the description of a distribution.
pub(super) fn put_description(scaled: &[u16], bits: u32, out: &mut Vec<u8>) {
    let mut writer = BitWriter::new(out);
    writer.put(u64::from(bits - 5), 4);
    let mut remaining = 1u32 << bits;
    let mut symbols = scaled.iter();
    while remaining > 0
        && let Some(count) = symbols.next()
    {
        let width = (remaining + 1).ilog2() + 1;
        let short = (1 << width) - 1 - (remaining + 1);
        remaining -= u32::from(*count);
        let mut value = u32::from(*count) + 1;
        if value < short {
            writer.put(u64::from(value), width - 1);
        } else {
            if value >= 1 << (width - 1) {
                value += short;
            }
            writer.put(u64::from(value), width);
        }
        if *count == 0 {
            let mut zeros = symbols.as_slice().iter().take_while(|count| **count == 0).count();
            for _ in 0..zeros {
                symbols.next();
            }
            while zeros >= 3 {
                writer.put(3, 2);
                writer.flush();
                zeros -= 3;
            }
            writer.put(zeros as u64, 2);
        }
        writer.flush();
    }
    writer.finish();
}

/// How a symbol leads from state to state.
#[derive(Clone, Copy, Default)]
struct Transition {
    /// Added to a state: the bits it gives, in the upper half.
    bits: u32,
    /// Added to what is left of a state: where the next one stands.
    place: i32,
}

/// A table to encode with.
pub(super) struct EncodeTable {
    next: [u16; MAX_STATES],
    transitions: [Transition; MAX_SYMBOLS],
    bits: u32,
}

impl EncodeTable {
    pub(super) fn new() -> Self {
        Self { next: [0; MAX_STATES], transitions: [Transition::default(); MAX_SYMBOLS], bits: 0 }
    }

    /// A table of one symbol, which takes no bits.
    pub(super) fn fill_with_one(&mut self) {
        self.bits = 0;
        self.next[0] = 0;
        self.transitions = [Transition::default(); MAX_SYMBOLS];
    }

    /// `scaled` are counts with a sum of `1 << bits`; `one_at_end` tells symbols that stand at the end of the table.
    pub(super) fn fill(&mut self, scaled: &[u16], bits: u32, one_at_end: impl Fn(usize) -> bool) {
        self.bits = bits;
        let size = 1usize << bits;
        let (mask, step) = (size - 1, (size >> 1) + (size >> 3) + 3);
        let mut symbols = [0u8; MAX_STATES];
        let mut end = size;
        for symbol in (0..scaled.len()).filter(|symbol| one_at_end(*symbol)) {
            end -= 1;
            symbols[end % MAX_STATES] = symbol as u8;
        }
        let mut position = 0;
        let mut starts = [0u16; MAX_SYMBOLS];
        let mut start = 0;
        for (symbol, count) in scaled.iter().enumerate() {
            starts[symbol % MAX_SYMBOLS] = start;
            start += count;
            let count = u32::from(*count);
            if !one_at_end(symbol) {
                for _ in 0..count {
                    symbols[position % MAX_STATES] = symbol as u8;
                    position = (position + step) & mask;
                    while position >= end {
                        position = (position + step) & mask;
                    }
                }
            }
            let first = i32::from(starts[symbol % MAX_SYMBOLS]);
            self.transitions[symbol % MAX_SYMBOLS] = match count {
                0 => Transition { bits: ((bits + 1) << 16) - (1 << bits), place: 0 },
                1 => Transition { bits: (bits << 16) - (1 << bits), place: first - 1 },
                _ => {
                    let most = bits - (count - 1).ilog2();
                    Transition { bits: (most << 16) - (count << most), place: first - count as i32 }
                }
            };
        }
        for (place, symbol) in symbols[..size].iter().enumerate() {
            let start = &mut starts[usize::from(*symbol) % MAX_SYMBOLS];
            self.next[usize::from(*start) % MAX_STATES] = (size + place) as u16;
            *start += 1;
        }
    }

    /// A state from which the first symbol to be read is `symbol`.
    pub(super) fn first_state(&self, symbol: u8) -> u32 {
        let transition = self.transitions[usize::from(symbol) % MAX_SYMBOLS];
        let bits = transition.bits.wrapping_add(1 << 15) >> 16;
        let value = (bits << 16).wrapping_sub(transition.bits);
        u32::from(self.next[((value >> bits) as i32 + transition.place) as usize % MAX_STATES])
    }

    /// Puts `symbol` before what `state` stands for.
    #[inline(always)]
    pub(super) fn encode(&self, state: &mut u32, symbol: u8, writer: &mut BitWriter<'_>) {
        let transition = self.transitions[usize::from(symbol) % MAX_SYMBOLS];
        let bits = state.wrapping_add(transition.bits) >> 16;
        writer.put(u64::from(*state) & ((1 << bits) - 1), bits);
        *state = u32::from(self.next[((*state >> bits) as i32 + transition.place) as usize % MAX_STATES]);
    }

    /// Writes the state that a reader begins with.
    pub(super) fn put_state(&self, state: u32, writer: &mut BitWriter<'_>) {
        writer.put(u64::from(state) & ((1 << self.bits) - 1), self.bits);
    }
}
