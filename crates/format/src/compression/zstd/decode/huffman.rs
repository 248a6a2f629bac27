//! Huffman codes of literals: their descriptions, their table, and streams of them.
//!
//! ```text
//! table      entry of each prefix of `bits` bits (12 at most):  symbol (high byte) | length of its code
//! 4 streams  sizes of the first three (u16 each) | stream | stream | stream | stream
//!            each decodes to a fourth of the literals, the last one to the rest
//! ```
//!
//! The fast loop has the four streams advance together: five symbols each (55 bits) between two looks at the input. A
//! stream's bits lie at the top of a register, with a 1 behind them that tells how many were used up. How often the
//! loop may run is computed beforehand, from what is left of the input and of the output; the rest is decoded symbol
//! by symbol.

use super::bits::BackwardBits;
use super::fse::decode_weights;
use super::{BAD_LITERALS, BAD_TABLE, Damage};

/// The longest code.
const MAX_BITS: u32 = 12;
/// The longest code that the fast loop knows; encoders make no longer ones.
const MAX_FAST_BITS: u32 = 11;
/// Symbols that the fast loop takes from a stream at once, and the bytes they take at most.
const SYMBOLS_AT_ONCE: usize = 5;
const BYTES_AT_ONCE: usize = 7;

/// A table of codes.
#[derive(Clone)]
pub(super) struct HuffmanTable {
    entries: Box<[u16; 1 << MAX_BITS]>,
    /// 1 to [`MAX_BITS`]: only so many entries are in use.
    bits: u32,
}

impl HuffmanTable {
    pub(super) fn new() -> Self {
        Self { entries: Box::new([1; 1 << MAX_BITS]), bits: 1 }
    }

    /// Reads a description and fills the table; returns the description's size.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<usize, Damage> {
        let first = usize::from(*bytes.first().ok_or(BAD_TABLE)?);
        let mut weights = [0u8; 256];
        let (count, size) = if first < 128 {
            let compressed = bytes.get(1..=first).ok_or(BAD_TABLE)?;
            (decode_weights(compressed, &mut weights)?, 1 + first)
        } else {
            let count = first - 127;
            let packed = bytes.get(1..=count.div_ceil(2)).ok_or(BAD_TABLE)?;
            for (pair, byte) in weights.chunks_exact_mut(2).zip(packed) {
                pair.copy_from_slice(&[byte >> 4, byte & 15]);
            }
            // With an odd count the last half of a byte is no weight.
            weights[count] = 0;
            (count, 1 + packed.len())
        };
        self.fill(&mut weights, count)?;
        Ok(size)
    }

    /// `weights[..count]` are those of the description, the next one follows from them. All behind are 0.
    #[inline(always)]
    fn fill(&mut self, weights: &mut [u8; 256], count: usize) -> Result<(), Damage> {
        let mut ranks = [0usize; MAX_BITS as usize + 1];
        let mut total = 0u32;
        for weight in &weights[..count] {
            let rank = ranks.get_mut(usize::from(*weight)).ok_or(BAD_TABLE)?;
            *rank += 1;
            total += (1 << *weight) >> 1;
        }
        if total == 0 {
            return Err(BAD_TABLE);
        }
        let bits = total.ilog2() + 1;
        let rest = (1u32 << bits.min(31)) - total;
        if bits > MAX_BITS || !rest.is_power_of_two() {
            return Err(BAD_TABLE);
        }
        let last = rest.ilog2() as usize + 1;
        weights[count] = last as u8;
        ranks[last] += 1;
        if ranks[1] < 2 || ranks[1] % 2 == 1 {
            return Err(BAD_TABLE);
        }
        self.bits = bits;
        // Symbols in the order of their weights.
        let mut starts = [0usize; MAX_BITS as usize + 2];
        for weight in 1..=MAX_BITS as usize {
            starts[weight + 1] = starts[weight] + ranks[weight];
        }
        let mut order = [0u8; 256];
        let mut next = starts;
        for (symbol, weight) in weights[..=count].iter().enumerate() {
            if *weight > 0 {
                let place = &mut next[usize::from(*weight & 15).min(MAX_BITS as usize)];
                order[*place & 255] = symbol as u8;
                *place += 1;
            }
        }
        let mut rest = &mut self.entries[..1 << bits];
        for weight in 1..=bits as usize {
            let width = 1 << (weight - 1);
            let length = (bits + 1) as u16 - weight as u16;
            let symbols = &order[starts[weight]..starts[weight + 1]];
            // The counts of all weights add up to the size of the table.
            let (part, others) = rest.split_at_mut((symbols.len() * width).min(rest.len()));
            rest = others;
            let entry = |symbol: u8| (u16::from(symbol) << 8) | length;
            match width {
                1 => part.iter_mut().zip(symbols).for_each(|(slot, symbol)| *slot = entry(*symbol)),
                2 => part
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(symbols)
                    .for_each(|(slots, symbol)| *slots = [entry(*symbol); 2]),
                4 => part
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(symbols)
                    .for_each(|(slots, symbol)| *slots = [entry(*symbol); 4]),
                8 => part
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(symbols)
                    .for_each(|(slots, symbol)| *slots = [entry(*symbol); 8]),
                _ => {
                    for (slots, symbol) in part.chunks_exact_mut(width).zip(symbols) {
                        for sixteen in slots.as_chunks_mut::<16>().0 {
                            *sixteen = [entry(*symbol); 16];
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Decodes one stream, which has to hold exactly `out.len()` symbols.
    pub(super) fn decode_one(&self, stream: &[u8], out: &mut [u8]) -> Result<(), Damage> {
        let bits = BackwardBits::new(stream)?;
        self.decode_rest(bits, out)
    }

    #[inline(always)]
    fn decode_rest(&self, mut bits: BackwardBits<'_>, out: &mut [u8]) -> Result<(), Damage> {
        let mut fours = out.chunks_exact_mut(4);
        for four in &mut fours {
            bits.refill();
            for byte in four {
                *byte = self.next(&mut bits);
            }
        }
        bits.refill();
        for byte in fours.into_remainder() {
            *byte = self.next(&mut bits);
        }
        bits.refill();
        if bits.is_finished() { Ok(()) } else { Err(BAD_LITERALS) }
    }

    #[inline(always)]
    fn next(&self, bits: &mut BackwardBits<'_>) -> u8 {
        let entry = self.entries[bits.peek_padded(self.bits) as usize & ((1 << MAX_BITS) - 1)];
        bits.skip(u32::from(entry & 0xff));
        (entry >> 8) as u8
    }

    /// Decodes four streams with the sizes in front of them, which have to hold exactly `out.len()` symbols.
    pub(super) fn decode_four(&self, has_bmi2: bool, streams: &[u8], out: &mut [u8]) -> Result<(), Damage> {
        #[cfg(target_arch = "x86_64")]
        if has_bmi2 {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { self.decode_four_with_bmi2(streams, out) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = has_bmi2;
        self.decode_four_anywhere(streams, out)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,lzcnt")]
    #[inline(never)]
    fn decode_four_with_bmi2(&self, streams: &[u8], out: &mut [u8]) -> Result<(), Damage> {
        self.decode_four_anywhere(streams, out)
    }

    #[inline(always)]
    fn decode_four_anywhere(&self, streams: &[u8], out: &mut [u8]) -> Result<(), Damage> {
        let (sizes, mut rest) = streams.split_first_chunk::<6>().ok_or(BAD_LITERALS)?;
        let part = out.len().div_ceil(4);
        if part * 3 > out.len() {
            return Err(BAD_LITERALS);
        }
        let mut inputs: [&[u8]; 4] = [&[]; 4];
        for (input, size) in inputs.iter_mut().zip(sizes.as_chunks::<2>().0) {
            (*input, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*size))).ok_or(BAD_LITERALS)?;
        }
        inputs[3] = rest;
        let mut readers = [BackwardBits::new(inputs[0])?; 4];
        for (reader, input) in readers.iter_mut().zip(inputs).skip(1) {
            *reader = BackwardBits::new(input)?;
        }
        let done = if self.bits <= MAX_FAST_BITS { self.decode_together(&inputs, &mut readers, out, part) } else { 0 };
        let (first, others) = out.split_at_mut(part);
        let (second, others) = others.split_at_mut(part);
        let (third, fourth) = others.split_at_mut(part);
        for (part, reader) in [first, second, third, fourth].into_iter().zip(readers) {
            self.decode_rest(reader, part.get_mut(done..).ok_or(BAD_LITERALS)?)?;
        }
        Ok(())
    }

    /// Decodes the beginning of all four parts; returns how many symbols of each.
    #[inline(always)]
    fn decode_together<'a>(
        &self,
        inputs: &[&'a [u8]; 4],
        readers: &mut [BackwardBits<'a>; 4],
        out: &mut [u8],
        part: usize,
    ) -> usize {
        if inputs.iter().any(|input| input.len() < 8) {
            return 0;
        }
        let shift = 64 - self.bits;
        let entries = self.entries.as_ptr();
        let last_part = out.len() - 3 * part;
        let target = out.as_mut_ptr();
        let mut done = 0;
        let mut starts = inputs.map(|input| input.len() - 8);
        let sources = inputs.map(<[u8]>::as_ptr);
        // SAFETY: every stream has eight bytes.
        let load = |index: usize, start: usize| unsafe {
            u64::from_le_bytes(std::ptr::read_unaligned(sources[index].add(start).cast()))
        };
        let mut tops = [0u64; 4];
        for index in 0..4 {
            let padding = inputs[index][inputs[index].len() - 1].leading_zeros() + 1;
            tops[index] = (load(index, starts[index]) | 1) << padding;
        }
        loop {
            // Each round takes seven bytes at most from each stream.
            let of_input = starts.iter().fold(usize::MAX, |least, start| least.min(*start)) / BYTES_AT_ONCE;
            let rounds = of_input.min((last_part - done) / SYMBOLS_AT_ONCE);
            if rounds == 0 {
                break;
            }
            for _ in 0..rounds {
                // SAFETY: the table has `1 << self.bits` entries and more. `done + 5 <= last_part <= part`, so that all
                // four places lie in `out`. Each start is 7 or more per round that is left.
                unsafe {
                    let to = target.add(done);
                    for symbol in 0..SYMBOLS_AT_ONCE {
                        for (index, top) in tops.iter_mut().enumerate() {
                            let entry = *entries.add((*top >> shift) as usize);
                            *top = top.wrapping_shl(u32::from(entry));
                            *to.add(index * part + symbol) = (entry >> 8) as u8;
                        }
                    }
                    for index in 0..4 {
                        let used = tops[index].trailing_zeros();
                        starts[index] -= (used >> 3) as usize;
                        tops[index] = (load(index, starts[index]) | 1) << (used & 7);
                    }
                }
                done += SYMBOLS_AT_ONCE;
            }
        }
        for index in 0..4 {
            if let Some(reader) = BackwardBits::resume(inputs[index], starts[index], tops[index].trailing_zeros()) {
                readers[index] = reader;
            }
        }
        done
    }
}
