//! The sequences section of a block.

use super::fse::{BitWriter, EncodeTable, normalize, put_description, table_bits};

/// So many literals, then a match.
#[derive(Clone, Copy)]
pub(super) struct Sequence {
    pub(super) literals: u32,
    /// 3 at least.
    pub(super) length: u32,
    /// 1 to 3 for a repeat offset, otherwise 3 more than the offset.
    pub(super) offset: u32,
}

/// With more, a table of its own pays for offsets and lengths that are not predefined.
const FEW_SEQUENCES: usize = 2;

/// One of the three kinds of codes.
struct Kind {
    max_bits: u32,
    predefined: &'static [u16],
    predefined_bits: u32,
    /// The first of those that stand at the end of the predefined table.
    first_at_end: usize,
    shift: u32,
}

const LITERAL_LENGTHS: Kind = Kind {
    max_bits: 9,
    predefined: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    predefined_bits: 6,
    first_at_end: 32,
    shift: 6,
};
const OFFSETS: Kind = Kind {
    max_bits: 8,
    predefined: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    predefined_bits: 5,
    first_at_end: 24,
    shift: 4,
};
const MATCH_LENGTHS: Kind = Kind {
    max_bits: 9,
    predefined: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    ],
    predefined_bits: 6,
    first_at_end: 46,
    shift: 2,
};

/// Codes of short literal lengths.
static LITERAL_LENGTH_CODES: [u8; 64] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17, 17, 18, 18, 19, 19, 20, 20, 20, 20, 21, 21, 21,
    21, 22, 22, 22, 22, 22, 22, 22, 22, 23, 23, 23, 23, 23, 23, 23, 23, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24,
    24, 24, 24, 24,
];
static LITERAL_LENGTH_BITS: [u8; 64] = padded(&[
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]);
/// Codes of short match lengths, from 3 on.
static MATCH_LENGTH_CODES: [u8; 128] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31, 32, 32, 33, 33, 34, 34, 35, 35, 36, 36, 36, 36, 37, 37, 37, 37, 38, 38, 38, 38, 38, 38, 38, 38, 39, 39, 39, 39,
    39, 39, 39, 39, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 41, 41, 41, 41, 41, 41, 41, 41, 41,
    41, 41, 41, 41, 41, 41, 41, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
    42, 42, 42, 42, 42, 42, 42, 42, 42, 42,
];
static MATCH_LENGTH_BITS: [u8; 64] = padded(&[
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2,
    3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
]);

const fn padded(bits: &[u8]) -> [u8; 64] {
    let mut all = [0; 64];
    let mut code = 0;
    while code < bits.len() {
        all[code] = bits[code];
        code += 1;
    }
    all
}

#[inline(always)]
fn literal_length_code(length: u32) -> u8 {
    match LITERAL_LENGTH_CODES.get(length as usize) {
        Some(code) => *code,
        None => (length.ilog2() + 19) as u8,
    }
}

#[inline(always)]
fn match_length_code(length: u32) -> u8 {
    let base = length - 3;
    match MATCH_LENGTH_CODES.get(base as usize) {
        Some(code) => *code,
        None => (base.ilog2() + 36) as u8,
    }
}

/// The codes of all sequences of a block, and tables; reused from block to block.
pub(super) struct SequenceEncoder {
    /// Literal length, offset, match length.
    codes: Vec<[u8; 3]>,
    tables: [EncodeTable; 3],
    predefined: [EncodeTable; 3],
}

impl SequenceEncoder {
    pub(super) fn new() -> Self {
        let predefined = [LITERAL_LENGTHS, OFFSETS, MATCH_LENGTHS].map(|kind| {
            let mut table = EncodeTable::new();
            table.fill(kind.predefined, kind.predefined_bits, |symbol| symbol >= kind.first_at_end);
            table
        });
        Self { codes: Vec::new(), tables: std::array::from_fn(|_| EncodeTable::new()), predefined }
    }

    /// Appends the section.
    #[inline(always)]
    pub(super) fn put(&mut self, sequences: &[Sequence], out: &mut Vec<u8>) {
        let count = sequences.len();
        match count {
            0..128 => out.push(count as u8),
            128..0x7f00 => out.extend_from_slice(&[(count >> 8) as u8 + 128, count as u8]),
            _ => {
                out.push(255);
                out.extend_from_slice(&((count - 0x7f00) as u16).to_le_bytes());
            }
        }
        if count == 0 {
            return;
        }
        let mut counts = [[0u32; 64]; 3];
        self.codes.clear();
        self.codes.extend(sequences.iter().map(|sequence| {
            let codes = [
                literal_length_code(sequence.literals),
                sequence.offset.ilog2() as u8,
                match_length_code(sequence.length),
            ];
            for (counts, code) in counts.iter_mut().zip(codes) {
                counts[usize::from(code & 63)] += 1;
            }
            codes
        }));
        let modes = out.len();
        out.push(0);
        let mut is_predefined = [false; 3];
        for (index, kind) in [LITERAL_LENGTHS, OFFSETS, MATCH_LENGTHS].into_iter().enumerate() {
            let last = self.codes.last().map_or(0, |codes| codes[index]);
            let (mode, table) = (choose(&kind, &counts[index], count), &mut self.tables[index]);
            match mode {
                Mode::Predefined => is_predefined[index] = true,
                Mode::One => {
                    table.fill_with_one();
                    out.push(last);
                }
                Mode::Own => put_table(&kind, &mut counts[index], count, last, table, out),
            }
            out[modes] |= (mode as u8) << kind.shift;
        }
        let tables: [&EncodeTable; 3] =
            std::array::from_fn(
                |index| if is_predefined[index] { &self.predefined[index] } else { &self.tables[index] },
            );
        put_stream(sequences, &self.codes, tables, out);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Predefined = 0,
    One = 1,
    Own = 2,
}

fn choose(kind: &Kind, counts: &[u32; 64], total: usize) -> Mode {
    let most = counts.iter().max().copied().unwrap_or(0) as usize;
    let fits = counts[kind.predefined.len()..].iter().all(|count| *count == 0);
    if most == total {
        return if fits && total <= FEW_SEQUENCES { Mode::Predefined } else { Mode::One };
    }
    // The description of a table costs about as much as so few sequences lose.
    let too_few = (1usize << kind.predefined_bits) * 9 / 8;
    if fits && (total < too_few.min(72) / 2 || most < total >> (kind.predefined_bits - 1)) {
        return Mode::Predefined;
    }
    Mode::Own
}

fn put_table(kind: &Kind, counts: &mut [u32; 64], total: usize, last: u8, table: &mut EncodeTable, out: &mut Vec<u8>) {
    let mut total = total as u32;
    // The last code is the first state, and takes no bits.
    let of_last = &mut counts[usize::from(last & 63)];
    if *of_last > 1 {
        *of_last -= 1;
        total -= 1;
    }
    let symbols = counts.iter().rposition(|count| *count > 0).unwrap_or(0) + 1;
    let bits = table_bits(kind.max_bits, total as usize, symbols - 1);
    let mut scaled = [0; 64];
    normalize(&counts[..symbols], total, bits, &mut scaled);
    put_description(&scaled[..symbols], bits, out);
    table.fill(&scaled[..symbols], bits, |_| false);
}

/// The last sequence is written first: readers begin at the end.
#[inline(always)]
fn put_stream(sequences: &[Sequence], codes: &[[u8; 3]], tables: [&EncodeTable; 3], out: &mut Vec<u8>) {
    out.reserve(sequences.len() * 4 + 64);
    let mut writer = BitWriter::new(out);
    let [literal_lengths, offsets, match_lengths] = tables;
    let mut pairs = sequences.iter().zip(codes).rev();
    let Some((sequence, codes)) = pairs.next() else { return };
    let mut literal_state = literal_lengths.first_state(codes[0]);
    let mut offset_state = offsets.first_state(codes[1]);
    let mut match_state = match_lengths.first_state(codes[2]);
    put_extra_bits(sequence, codes, &mut writer);
    for (sequence, codes) in pairs {
        offsets.encode(&mut offset_state, codes[1], &mut writer);
        match_lengths.encode(&mut match_state, codes[2], &mut writer);
        literal_lengths.encode(&mut literal_state, codes[0], &mut writer);
        writer.flush();
        put_extra_bits(sequence, codes, &mut writer);
    }
    match_lengths.put_state(match_state, &mut writer);
    offsets.put_state(offset_state, &mut writer);
    literal_lengths.put_state(literal_state, &mut writer);
    writer.finish_stream();
}

/// At most 16 bits of each length and 17 of the offset: inputs have 128 KiB.
#[inline(always)]
fn put_extra_bits(sequence: &Sequence, codes: &[u8; 3], writer: &mut BitWriter<'_>) {
    let low = |value: u32, bits: u32| u64::from(value & ((1 << bits) - 1));
    let literal_bits = u32::from(LITERAL_LENGTH_BITS[usize::from(codes[0] & 63)]);
    let match_bits = u32::from(MATCH_LENGTH_BITS[usize::from(codes[2] & 63)]);
    let offset_bits = u32::from(codes[1]);
    writer.put(low(sequence.literals, literal_bits), literal_bits);
    writer.put(low(sequence.length - 3, match_bits), match_bits);
    writer.put(low(sequence.offset, offset_bits), offset_bits);
    writer.flush();
}
