//! Sequences: so many literals, then a match. Decoded and carried out one by one.
//!
//! A sequence whose output lies [`SURPLUS`] bytes before the end of the output at least is copied in wide steps, from
//! literals that are followed by as much; what comes closer is copied exactly.

use std::mem::MaybeUninit;

use super::super::super::wide_copy::{SURPLUS, copy_16, copy_match, copy_wide};
use super::bits::BackwardBits;
use super::fse::MAX_STATES;
use super::tables::SequenceTable;
use super::{BAD_SEQUENCES, BEFORE_BEGINNING, Damage, TOO_LONG};

/// Literals, followed by [`SURPLUS`] bytes that may be read.
#[derive(Clone, Copy)]
pub(super) struct Literals<'a> {
    bytes: &'a [u8],
    /// At most `bytes.len() - SURPLUS`.
    len: usize,
}

impl<'a> Literals<'a> {
    /// The first `len` of `bytes`, if those are long enough.
    pub(super) fn new(bytes: &'a [u8], len: usize) -> Option<Self> {
        (len.checked_add(SURPLUS)? <= bytes.len()).then_some(Self { bytes, len })
    }

    pub(super) fn all(&self) -> &'a [u8] {
        self.from(0)
    }

    fn from(&self, start: usize) -> &'a [u8] {
        &self.bytes[start.min(self.len)..self.len]
    }
}

/// The output of a frame.
pub(super) struct Output<'a> {
    pub(super) memory: &'a mut [MaybeUninit<u8>],
    /// All before is initialized.
    pub(super) written: usize,
    /// Where the output of the block has to end at the latest; within `memory`.
    pub(super) block_end: usize,
    /// Lies before the output.
    pub(super) history: &'a [u8],
}

impl Output<'_> {
    /// Appends `bytes`.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        self.room(bytes.len())?.write_copy_of_slice(bytes);
        self.written += bytes.len();
        Ok(())
    }

    /// Appends one byte `count` times.
    pub(super) fn fill(&mut self, byte: u8, count: usize) -> Result<(), Damage> {
        self.room(count)?.fill(MaybeUninit::new(byte));
        self.written += count;
        Ok(())
    }

    fn room(&mut self, length: usize) -> Result<&mut [MaybeUninit<u8>], Damage> {
        let end = self.written.checked_add(length).filter(|end| *end <= self.block_end).ok_or(TOO_LONG)?;
        self.memory.get_mut(self.written..end).ok_or(TOO_LONG)
    }

    /// Appends a match, and touches nothing beyond it.
    #[inline(never)]
    fn put_match_exactly(&mut self, offset: usize, length: usize) -> Result<(), Damage> {
        let written = self.written;
        self.room(length)?;
        let target = &mut self.memory[..written + length];
        let mut position = written;
        if offset > written {
            let start = self.history.len().checked_sub(offset - written).ok_or(BEFORE_BEGINNING)?;
            let source = &self.history[start..];
            let source = &source[..source.len().min(length)];
            target[written..written + source.len()].write_copy_of_slice(source);
            position += source.len();
        } else if offset == 0 {
            return Err(BEFORE_BEGINNING);
        }
        let rest = target.len() - position;
        if rest > 0 && offset >= rest {
            target.copy_within(position - offset..position - offset + rest, position);
        } else {
            for position in position..target.len() {
                target[position] = target[position - offset];
            }
        }
        self.written += length;
        Ok(())
    }
}

/// Tables of literal lengths, offsets and match lengths.
pub(super) struct SequenceTables<'a> {
    pub(super) literal_lengths: &'a SequenceTable,
    pub(super) offsets: &'a SequenceTable,
    pub(super) match_lengths: &'a SequenceTable,
}

/// Decodes `count` sequences from `stream`, and appends what they and the literals behind them make.
pub(super) fn execute(
    has_bmi2: bool,
    stream: &[u8],
    count: usize,
    tables: &SequenceTables<'_>,
    literals: Literals<'_>,
    repeat_offsets: &mut [u32; 3],
    out: &mut Output<'_>,
) -> Result<(), Damage> {
    #[cfg(target_arch = "x86_64")]
    if has_bmi2 {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { execute_with_bmi2(stream, count, tables, literals, repeat_offsets, out) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = has_bmi2;
    execute_anywhere(stream, count, tables, literals, repeat_offsets, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt")]
#[inline(never)]
fn execute_with_bmi2(
    stream: &[u8],
    count: usize,
    tables: &SequenceTables<'_>,
    literals: Literals<'_>,
    repeat_offsets: &mut [u32; 3],
    out: &mut Output<'_>,
) -> Result<(), Damage> {
    execute_anywhere(stream, count, tables, literals, repeat_offsets, out)
}

#[inline(always)]
fn execute_anywhere(
    stream: &[u8],
    count: usize,
    tables: &SequenceTables<'_>,
    literals: Literals<'_>,
    repeat_offsets: &mut [u32; 3],
    out: &mut Output<'_>,
) -> Result<(), Damage> {
    let mut bits = BackwardBits::new(stream)?;
    let literal_states = tables.literal_lengths.states();
    let match_states = tables.match_lengths.states();
    let offset_states = tables.offsets.states();
    let mut literal_state = bits.read(tables.literal_lengths.bits as u8);
    let mut offset_state = bits.read(tables.offsets.bits as u8);
    let mut match_state = bits.read(tables.match_lengths.bits as u8);
    if bits.is_overrun() {
        return Err(BAD_SEQUENCES);
    }
    let [mut first, mut second, mut third] = repeat_offsets.map(|offset| offset as usize);
    let literal_bytes = literals.bytes.as_ptr();
    let mut target = out.memory.as_mut_ptr().cast::<u8>();
    // How far wide copies may come.
    let wide_end = out.block_end.min(out.memory.len().saturating_sub(SURPLUS));
    let mut written = out.written;
    let mut used_literals = 0;
    for left in (0..count).rev() {
        bits.refill();
        let literal_code = literal_states[literal_state % MAX_STATES];
        let match_code = match_states[match_state % MAX_STATES];
        let offset_code = offset_states[offset_state % MAX_STATES];
        // 57 bits: at most 31 of the offset and 16 of the match length.
        let offset_value = offset_code.base() + bits.read(offset_code.extra_bits());
        let match_length = match_code.base() + bits.read(match_code.extra_bits());
        if offset_code.extra_bits() + match_code.extra_bits() + literal_code.extra_bits() > 57 - 9 - 9 - 8 {
            // Now at most 16 of the literal length and 26 of the states.
            bits.refill();
        }
        let literal_length = literal_code.base() + bits.read(literal_code.extra_bits());
        let offset = if offset_value > 3 {
            (third, second, first) = (second, first, offset_value - 3);
            first
        } else {
            // A repeat offset: without literals the next one.
            match offset_value + usize::from(literal_length == 0) {
                1 => {}
                2 => (first, second) = (second, first),
                3 => (first, second, third) = (third, first, second),
                _ => (first, second, third) = (first.wrapping_sub(1), first, second),
            }
            first
        };
        if left > 0 {
            literal_state = literal_code.next() + bits.read(literal_code.state_bits());
            match_state = match_code.next() + bits.read(match_code.state_bits());
            offset_state = offset_code.next() + bits.read(offset_code.state_bits());
        }
        if literal_length > literals.len - used_literals {
            return Err(BAD_SEQUENCES);
        }
        let match_start = written + literal_length;
        let end = match_start + match_length;
        if end <= wide_end && offset.wrapping_sub(1) < match_start {
            // SAFETY: literals and match end `SURPLUS` bytes before the end of the output at the latest, and as many
            // bytes follow the literals. `1 <= offset <= match_start`, and all before that is initialized.
            unsafe {
                let (from, to) = (literal_bytes.add(used_literals), target.add(written));
                copy_16(from, to);
                if literal_length > 16 {
                    copy_wide(from.add(16), to.add(16), literal_length - 16);
                }
                let to = target.add(match_start);
                if offset >= 16 {
                    let from = to.sub(offset).cast_const();
                    copy_16(from, to);
                    if match_length > 16 {
                        copy_wide(from.add(16), to.add(16), match_length - 16);
                    }
                } else {
                    copy_match(to, match_start, offset, match_length);
                }
            }
        } else {
            out.written = written;
            out.put(&literals.from(used_literals)[..literal_length])?;
            out.put_match_exactly(offset, match_length)?;
            // The memory was borrowed anew, which voids the pointer that was derived from it before.
            target = out.memory.as_mut_ptr().cast::<u8>();
        }
        written = end;
        used_literals += literal_length;
    }
    if !bits.is_finished() {
        bits.refill();
        if !bits.is_finished() {
            return Err(BAD_SEQUENCES);
        }
    }
    out.written = written;
    *repeat_offsets = [first as u32, second as u32, third as u32];
    out.put(literals.from(used_literals))
}
