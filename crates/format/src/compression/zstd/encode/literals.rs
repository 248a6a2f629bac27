//! The literals section of a block: as they are, one byte that repeats, or in Huffman codes.

use super::fse::{BitWriter, EncodeTable, normalize, put_description, table_bits};

/// Fewer literals stay as they are.
const MIN_CODED: usize = 64;
/// Fewer are one stream, not four.
const MIN_OF_FOUR_STREAMS: usize = 256;
/// The longest code.
const MAX_BITS: usize = 11;
const MAX_WEIGHT_BITS: u32 = 6;

/// Appends the section.
#[inline(always)]
pub(super) fn put(literals: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if literals.len() >= MIN_CODED && put_coded(literals, out) {
        return;
    }
    out.truncate(start);
    let is_one = literals.len() > 4 && literals.iter().all(|byte| *byte == literals[0]);
    let size = literals.len() as u32;
    let kind = u32::from(is_one);
    match size {
        0..32 => out.push((kind | size << 3) as u8),
        32..4096 => out.extend_from_slice(&(kind | 1 << 2 | size << 4).to_le_bytes()[..2]),
        _ => out.extend_from_slice(&(kind | 3 << 2 | size << 4).to_le_bytes()[..3]),
    }
    out.extend_from_slice(if is_one { &literals[..1] } else { literals });
}

fn count_bytes(literals: &[u8]) -> [u32; 256] {
    let mut counts = [[0u32; 256]; 4];
    let mut fours = literals.chunks_exact(4);
    for four in &mut fours {
        for (counts, byte) in counts.iter_mut().zip(four) {
            counts[usize::from(*byte)] += 1;
        }
    }
    for byte in fours.remainder() {
        counts[0][usize::from(*byte)] += 1;
    }
    std::array::from_fn(|byte| counts.iter().map(|counts| counts[byte]).sum())
}

/// False, with something appended, if that does not pay.
#[inline(always)]
fn put_coded(literals: &[u8], out: &mut Vec<u8>) -> bool {
    let counts = count_bytes(literals);
    let most = counts.iter().max().copied().unwrap_or(0) as usize;
    if most == literals.len() || most <= (literals.len() >> 7) + 4 {
        return false;
    }
    let codes = Codes::new(&counts, literals.len());
    let coded_bits: u64 =
        counts.iter().zip(&codes.lengths).map(|(count, bits)| u64::from(*count) * u64::from(*bits)).sum();
    let most_kept = literals.len() - (literals.len() >> 6) - 2;
    if coded_bits / 8 + 20 >= most_kept as u64 {
        return false;
    }
    let start = out.len();
    let has_four = literals.len() >= MIN_OF_FOUR_STREAMS;
    let (header_size, format, width) = match (has_four, literals.len()) {
        (false, _) => (3, 0u64, 10),
        (true, 0..1024) => (3, 1, 10),
        (true, 1024..16_384) => (4, 2, 14),
        _ => (5, 3, 18),
    };
    out.resize(start + header_size, 0);
    if !codes.put_description(out) {
        return false;
    }
    if has_four {
        let sizes = out.len();
        out.extend_from_slice(&[0; 6]);
        let part = literals.len().div_ceil(4);
        for (index, part) in literals.chunks(part).enumerate() {
            let begin = out.len();
            codes.put_stream(part, out);
            if index < 3 {
                let Ok(size) = u16::try_from(out.len() - begin) else { return false };
                out[sizes + 2 * index..][..2].copy_from_slice(&size.to_le_bytes());
            }
        }
    } else {
        codes.put_stream(literals, out);
    }
    let size = out.len() - start - header_size;
    if size + header_size >= most_kept {
        return false;
    }
    let header = 2 | format << 2 | (literals.len() as u64) << 4 | (size as u64) << (4 + width);
    out[start..start + header_size].copy_from_slice(&header.to_le_bytes()[..header_size]);
    true
}

/// Codes of bytes.
struct Codes {
    /// 0 for what does not occur.
    lengths: [u8; 256],
    /// Code and length of each byte.
    codes: [(u16, u8); 256],
    max_bits: usize,
    symbols: usize,
}

impl Codes {
    /// `counts` has two symbols at least.
    fn new(counts: &[u32; 256], total: usize) -> Self {
        let symbols = counts.iter().rposition(|count| *count > 0).unwrap_or(0) + 1;
        let of_total = ((total - 1).ilog2() - 1) as usize;
        let needed = ((symbols - 1).max(1).ilog2() + 2) as usize;
        let limit = MAX_BITS.min(of_total).max(needed).min(MAX_BITS);
        let mut lengths = [0; 256];
        let max_bits = code_lengths(counts, limit, &mut lengths);
        // A code is what stands before it in the order of the table: longest first, then by symbol.
        let mut starts = [0u32; MAX_BITS + 2];
        let mut of_length = [0u32; MAX_BITS + 1];
        for length in &lengths[..symbols] {
            of_length[usize::from(*length)] += 1;
        }
        let mut start = 0;
        for length in (1..=max_bits).rev() {
            starts[length] = start;
            start = (start + of_length[length]) >> 1;
        }
        let mut codes = [(0, 0); 256];
        for (code, length) in codes.iter_mut().zip(&lengths[..symbols]) {
            if *length > 0 {
                let next = &mut starts[usize::from(*length)];
                *code = (*next as u16, *length);
                *next += 1;
            }
        }
        Self { lengths, codes, max_bits, symbols }
    }

    /// Weights of all symbols but the last: in FSE codes, or as half bytes. False if they fit neither.
    fn put_description(&self, out: &mut Vec<u8>) -> bool {
        let mut weights = [0u8; 256];
        let count = self.symbols - 1;
        for (weight, length) in weights.iter_mut().zip(&self.lengths[..count]) {
            *weight = if *length == 0 { 0 } else { self.max_bits as u8 + 1 - length };
        }
        let weights = &weights[..count];
        let start = out.len();
        out.push(0);
        if put_weights(weights, out) {
            let size = out.len() - start - 1;
            if size < 128 && (size < count / 2 || count > 128) {
                out[start] = size as u8;
                return true;
            }
        }
        if count > 128 {
            return false;
        }
        out.truncate(start);
        out.push(127 + count as u8);
        out.extend(weights.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)));
        true
    }

    #[inline(always)]
    fn put_stream(&self, literals: &[u8], out: &mut Vec<u8>) {
        out.reserve(literals.len() * 2 + 16);
        let mut writer = BitWriter::new(out);
        let (begin, fives) = literals.as_rchunks::<5>();
        for five in fives.iter().rev() {
            for byte in five.iter().rev() {
                let (code, length) = self.codes[usize::from(*byte)];
                writer.put(u64::from(code), u32::from(length));
            }
            writer.flush();
        }
        for byte in begin.iter().rev() {
            let (code, length) = self.codes[usize::from(*byte)];
            writer.put(u64::from(code), u32::from(length));
        }
        writer.finish_stream();
    }
}

/// False if the weights have to be stored otherwise.
fn put_weights(weights: &[u8], out: &mut Vec<u8>) -> bool {
    let mut counts = [0u32; 16];
    for weight in weights {
        counts[usize::from(*weight & 15)] += 1;
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    if weights.len() < 2 || most as usize == weights.len() || most == 1 {
        return false;
    }
    let symbols = counts.iter().rposition(|count| *count > 0).unwrap_or(0) + 1;
    let bits = table_bits(MAX_WEIGHT_BITS, weights.len(), symbols - 1);
    let mut scaled = [0; 64];
    normalize(&counts[..symbols], weights.len() as u32, bits, &mut scaled);
    put_description(&scaled[..symbols], bits, out);
    let mut table = EncodeTable::new();
    table.fill(&scaled[..symbols], bits, |_| false);
    let mut writer = BitWriter::new(out);
    // Two states take turns, and the last two weights are what they begin with.
    let mut rest = weights;
    let mut states = [0u32; 2];
    for _ in 0..2 {
        if let Some((last, before)) = rest.split_last() {
            states[before.len() % 2] = table.first_state(*last);
            rest = before;
        }
    }
    while let Some((last, before)) = rest.split_last() {
        table.encode(&mut states[before.len() % 2], *last, &mut writer);
        writer.flush();
        rest = before;
    }
    table.put_state(states[1], &mut writer);
    table.put_state(states[0], &mut writer);
    writer.finish_stream();
    true
}

/// Lengths of a complete prefix code for `counts` (two symbols at least), none above `limit`; returns the longest.
fn code_lengths(counts: &[u32; 256], limit: usize, lengths: &mut [u8; 256]) -> usize {
    // Leaves by count, then inner nodes in the order they are made: that is by count, too.
    let mut leaves = [0u64; 256];
    let mut leaf_count = 0;
    for (symbol, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        leaves[leaf_count] = u64::from(*count) << 8 | symbol as u64;
        leaf_count += 1;
    }
    let leaves = &mut leaves[..leaf_count];
    leaves.sort_unstable();
    let mut inner = [0u64; 256];
    let mut parents = [0u16; 512];
    let (mut next_leaf, mut next_inner) = (0, 0);
    let inner_count = leaf_count - 1;
    for made in 0..inner_count {
        let mut sum = 0;
        for _ in 0..2 {
            let is_leaf = next_leaf < leaf_count && (next_inner >= made || leaves[next_leaf] >> 8 <= inner[next_inner]);
            if is_leaf {
                parents[next_leaf] = made as u16;
                sum += leaves[next_leaf] >> 8;
                next_leaf += 1;
            } else {
                parents[256 + next_inner] = made as u16;
                sum += inner[next_inner];
                next_inner += 1;
            }
        }
        inner[made] = sum;
    }
    // Depths from the root down; what is too deep is put at the limit, and shorter codes make room for it.
    let mut depths = [0u8; 256];
    for node in (0..inner_count.saturating_sub(1)).rev() {
        depths[node] = depths[usize::from(parents[256 + node]) & 255] + 1;
    }
    let mut of_length = [0usize; 256];
    let mut is_too_deep = false;
    for parent in &parents[..leaf_count] {
        let depth = usize::from(depths[usize::from(*parent) & 255]) + 1;
        of_length[depth.min(limit)] += 1;
        is_too_deep |= depth > limit;
    }
    if is_too_deep {
        fit_lengths(leaves, limit, &mut of_length);
    }
    let longest = (1..=limit).rev().find(|length| of_length[*length] > 0).unwrap_or(1);
    let mut rarest = leaves.iter();
    for length in (1..=longest).rev() {
        for leaf in rarest.by_ref().take(of_length[length]) {
            lengths[(*leaf & 255) as usize] = length as u8;
        }
    }
    longest
}

/// Makes a whole of the shares of all codes, some of which were cut to `limit`: the codes that it costs least become
/// longer, and what is left over goes to those that gain most. `leaves` are sorted, so that the first have the longest
/// codes.
fn fit_lengths(leaves: &[u64], limit: usize, of_length: &mut [usize; 256]) {
    let count_at = |place: usize| leaves.get(place).map_or(0, |leaf| leaf >> 8);
    // In units of the longest code's share.
    let whole = 1usize << limit;
    let mut shares: usize = (1..=limit).map(|length| of_length[length] << (limit - length)).sum();
    while shares > whole {
        let (mut best, mut least, mut longer) = (0, u64::MAX, of_length[limit]);
        for length in (1..limit).rev() {
            // The rarest of the length; a bit more of it for half its share.
            if of_length[length] > 0 && count_at(longer) << length < least {
                (best, least) = (length, count_at(longer) << length);
            }
            longer += of_length[length];
        }
        if best == 0 {
            return;
        }
        of_length[best] -= 1;
        of_length[best + 1] += 1;
        shares -= 1 << (limit - best - 1);
    }
    while shares < whole {
        let (mut best, mut most, mut as_long) = (0, 0, 0);
        for length in (2..=limit).rev() {
            as_long += of_length[length];
            // The most frequent of the length; a bit less of it for once more its share.
            let is_possible = of_length[length] > 0 && shares + (1 << (limit - length)) <= whole;
            if is_possible && count_at(as_long - 1) << length > most {
                (best, most) = (length, count_at(as_long - 1) << length);
            }
        }
        if best == 0 {
            return;
        }
        of_length[best] -= 1;
        of_length[best - 1] += 1;
        shares += 1 << (limit - best);
    }
}
