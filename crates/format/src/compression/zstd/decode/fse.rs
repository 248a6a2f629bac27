//! FSE tables: their descriptions, and how symbols are spread over states.

use super::bits::{BackwardBits, ForwardBits};
use super::{BAD_TABLE, Damage};

/// States of the largest table (literal lengths and match lengths).
pub(super) const MAX_STATES: usize = 512;
/// Weights of Huffman codes have the smallest tables.
const MAX_WEIGHT_BITS: u32 = 6;
const WEIGHT_STATES: usize = 1 << MAX_WEIGHT_BITS;

/// How many states each symbol has: -1 for one at the end of the table.
pub(super) struct Distribution {
    counts: [i16; 256],
    symbols: usize,
    pub(super) bits: u32,
}

impl Distribution {
    /// A predefined one.
    pub(super) fn from_counts(counts: &[i16], bits: u32) -> Self {
        let mut all = [0; 256];
        all[..counts.len()].copy_from_slice(counts);
        Self { counts: all, symbols: counts.len(), bits }
    }

    /// Reads a description of symbols up to `max_symbol` (255 at most); returns its size, too.
    #[inline(always)]
    pub(super) fn read(bytes: &[u8], max_symbol: usize, max_bits: u32) -> Result<(Self, usize), Damage> {
        let mut input = ForwardBits::new(bytes);
        let bits = (input.peek() & 15) + 5;
        input.skip(4);
        if bits > max_bits {
            return Err(BAD_TABLE);
        }
        let mut counts = [0; 256];
        let mut symbol = 0;
        let mut remaining = 1u32 << bits;
        while remaining > 0 {
            if symbol > max_symbol {
                return Err(BAD_TABLE);
            }
            // Values from 0 to `remaining + 1`; the smallest ones take a bit less.
            let width = (remaining + 1).ilog2() + 1;
            let short = (1 << width) - 1 - (remaining + 1);
            let next = input.peek();
            let mut value = next & ((1 << (width - 1)) - 1);
            if value < short {
                input.skip(width - 1);
            } else {
                value = next & ((1 << width) - 1);
                if value >= 1 << (width - 1) {
                    value -= short;
                }
                input.skip(width);
            }
            // `value <= remaining + 1`.
            let count = value as i16 - 1;
            remaining -= u32::from(count.unsigned_abs());
            counts[symbol] = count;
            symbol += 1;
            if count == 0 {
                loop {
                    let more = input.peek() & 3;
                    input.skip(2);
                    symbol += more as usize;
                    if more < 3 {
                        break;
                    }
                    if symbol > max_symbol {
                        return Err(BAD_TABLE);
                    }
                }
            }
        }
        if symbol > max_symbol + 1 {
            return Err(BAD_TABLE);
        }
        let size = input.bytes_read().ok_or(BAD_TABLE)?;
        Ok((Self { counts, symbols: symbol, bits }, size))
    }

    /// The symbol of each state of a table with `1 << bits` of them.
    #[inline(always)]
    fn spread(&self, states: &mut [u8; MAX_STATES]) {
        let size = 1usize << self.bits;
        let mask = size - 1;
        let step = (size >> 1) + (size >> 3) + 3;
        let counts = &self.counts[..self.symbols];
        // The symbols in their order, each as often as it counts, in steps of eight that the next one overwrites. Those
        // at the end of the table have no place among the others.
        let mut ordered = [0u8; MAX_STATES + 8];
        let (mut position, mut end) = (0, size);
        for (symbol, count) in counts.iter().enumerate() {
            let count = if *count == -1 {
                end -= 1;
                states[end % MAX_STATES] = symbol as u8;
                0
            } else {
                *count as usize
            };
            let mut done = 0;
            while done < count {
                if let Some(eight) = ordered.get_mut(position + done..).and_then(<[u8]>::first_chunk_mut::<8>) {
                    *eight = [symbol as u8; 8];
                }
                done += 8;
            }
            position += count;
        }
        position = 0;
        if end == size {
            for symbol in &ordered[..size] {
                states[position % MAX_STATES] = *symbol;
                position = (position + step) & mask;
            }
        } else {
            for symbol in &ordered[..end] {
                states[position % MAX_STATES] = *symbol;
                position = (position + step) & mask;
                while position >= end {
                    position = (position + step) & mask;
                }
            }
        }
    }

    /// For each state in turn: `put(state, symbol, bits to read, what to add to them for the next state)`.
    #[inline(always)]
    pub(super) fn each_state<const SYMBOLS: usize>(&self, mut put: impl FnMut(usize, usize, u32, u32)) {
        let mut states = [0; MAX_STATES];
        self.spread(&mut states);
        let mut next = [0u16; SYMBOLS];
        for (next, count) in next.iter_mut().zip(&self.counts) {
            *next = count.unsigned_abs();
        }
        let size = 1u32 << self.bits;
        for (state, symbol) in states[..size as usize].iter().enumerate() {
            let symbol = usize::from(*symbol) % SYMBOLS;
            // Every symbol here has a count above 0.
            let order = u32::from(next[symbol]).max(1);
            next[symbol] += 1;
            let bits = self.bits - order.ilog2();
            put(state, symbol, bits, (order << bits) - size);
        }
    }
}

/// Decodes the weights of a Huffman code; returns how many there are.
#[inline(always)]
pub(super) fn decode_weights(bytes: &[u8], weights: &mut [u8; 256]) -> Result<usize, Damage> {
    let (distribution, size) = Distribution::read(bytes, 255, MAX_WEIGHT_BITS)?;
    // (symbol, bits, base of the next state)
    let mut table = [(0u8, 0u8, 0u8); WEIGHT_STATES];
    distribution.each_state::<256>(|state, symbol, bits, base| {
        table[state & (WEIGHT_STATES - 1)] = (symbol as u8, bits as u8, base as u8);
    });
    let mut bits = BackwardBits::new(&bytes[size..])?;
    let mut states = [0usize; 2];
    for state in &mut states {
        *state = bits.read(distribution.bits as u8);
    }
    if bits.is_overrun() {
        return Err(BAD_TABLE);
    }
    let mut count = 0;
    // The two states take turns. When the bits have run out, the other one's last symbol is still to come.
    loop {
        let [current, other] = states;
        bits.refill();
        let (symbol, width, base) = table[current & (WEIGHT_STATES - 1)];
        if count >= weights.len() - 2 {
            return Err(BAD_TABLE);
        }
        weights[count] = symbol;
        count += 1;
        let next = usize::from(base) + bits.read(width);
        if bits.is_overrun() {
            weights[count] = table[other & (WEIGHT_STATES - 1)].0;
            return Ok(count + 1);
        }
        states = [other, next];
    }
}
