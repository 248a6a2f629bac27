//! Training of structured Zstandard dictionaries.
//!
//! ```text
//! magic 37 a4 30 ec | dictionary id u32 | Huffman table of literals
//! | FSE tables: offset codes, match length codes, literal length codes
//! | three repeat offsets u32 | content
//! ```
//!
//! Content: the samples are divided into as many stretches as segments fit. From
//! each, the segment is taken whose eight-byte strings occur most often in all
//! samples; those strings then count no more. Segments taken first go to the end,
//! where distances are shortest.
//!
//! Tables: every sample is parsed against the content, and the literals and codes
//! that remain are counted. Each symbol counts once more than it occurs, so that a
//! table can express whatever a block needs. The Huffman table is the one that the
//! encoder itself makes for such literals, taken out of a block it wrote.

use zstd_rs::{CompressionConfig, Compressor, FrameHeader, xxh64};

/// With fewer samples no dictionary is trained.
const MIN_SAMPLES: usize = 8;
/// Tables take about 150 bytes; below this size nothing useful remains beside them.
const MIN_DICTIONARY_SIZE: usize = 512;
const MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];
/// The least that magic, id, tables and repeat offsets take; content beyond what fits is cut.
const HEADER_RESERVE: usize = 96;
const SEGMENT_SIZE: usize = 192;
const STRING_SIZE: usize = 8;
const STRING_TABLE_BITS: u32 = 17;
const MATCH_TABLE_BITS: u32 = 15;
/// The encoder's own minimum at the levels in use.
const MIN_MATCH: usize = 5;
/// One block's worth of literals decides the Huffman table.
const MAX_LITERALS: usize = 96 << 10;

const MAX_LITERAL_LENGTH_CODE: usize = 35;
const MAX_MATCH_LENGTH_CODE: usize = 52;
const MAX_OFFSET_CODE: usize = 20;

/// Selects content from `samples` and adds tables: at most `max_size` bytes, empty if the samples are too few.
pub(super) fn train(samples: &[u8], sample_sizes: &[usize], max_size: usize) -> Vec<u8> {
    if sample_sizes.len() < MIN_SAMPLES || max_size < MIN_DICTIONARY_SIZE {
        return Vec::new();
    }
    let content = select_content(samples, max_size - HEADER_RESERVE);
    add_tables(&content, samples, sample_sizes, max_size)
}

/// Adds tables to the samples themselves, cut to fit: at most `max_size` bytes.
pub(super) fn finalize(samples: &[u8], sample_sizes: &[usize], max_size: usize) -> Vec<u8> {
    if sample_sizes.is_empty() || max_size < MIN_DICTIONARY_SIZE {
        return Vec::new();
    }
    let content = &samples[..samples.len().min(max_size - HEADER_RESERVE)];
    add_tables(content, samples, sample_sizes, max_size)
}

fn string_hash(bytes: &[u8]) -> usize {
    match bytes.first_chunk::<STRING_SIZE>() {
        Some(chunk) => {
            (u64::from_le_bytes(*chunk).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - STRING_TABLE_BITS)) as usize
        }
        None => 0,
    }
}

/// Takes the most frequented segments of the samples, `size` bytes together.
fn select_content(samples: &[u8], size: usize) -> Vec<u8> {
    let Some(strings) = samples.len().checked_sub(STRING_SIZE).map(|last| last + 1) else {
        return Vec::new();
    };
    let mut frequency = vec![0u32; 1 << STRING_TABLE_BITS];
    for position in 0..strings {
        let count = &mut frequency[string_hash(&samples[position..])];
        *count = count.saturating_add(1);
    }
    // A string that occurs once is no reason to keep a segment.
    for count in &mut frequency {
        *count = count.saturating_sub(1);
    }
    let mut in_window = vec![0u16; 1 << STRING_TABLE_BITS];
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut room = size;
    let stretches = (size / SEGMENT_SIZE).clamp(1, strings);
    let stretch_size = strings.div_ceil(stretches).max(SEGMENT_SIZE);
    loop {
        let before = room;
        for begin in (0..strings).step_by(stretch_size) {
            let end = strings.min(begin + stretch_size);
            let Some((from, to)) = best_segment(samples, begin..end, &frequency, &mut in_window) else {
                continue;
            };
            for position in from..to {
                frequency[string_hash(&samples[position..])] = 0;
            }
            let segment = &samples[from..(to + STRING_SIZE - 1).min(from + room)];
            room -= segment.len();
            segments.push(segment);
            if room < STRING_SIZE {
                break;
            }
        }
        if room < STRING_SIZE || room == before {
            break;
        }
    }
    segments.iter().rev().flat_map(|segment| segment.iter().copied()).collect()
}

/// The stretch's window of strings with the highest sum of frequencies, each distinct string once.
fn best_segment(
    samples: &[u8],
    stretch: std::ops::Range<usize>,
    frequency: &[u32],
    in_window: &mut [u16],
) -> Option<(usize, usize)> {
    let window = SEGMENT_SIZE - STRING_SIZE + 1;
    let (mut score, mut best_score, mut best) = (0u64, 0u64, None);
    let mut begin = stretch.start;
    for end in stretch.clone() {
        let slot = string_hash(&samples[end..]);
        if in_window[slot] == 0 {
            score += u64::from(frequency[slot]);
        }
        in_window[slot] += 1;
        if end - begin >= window {
            let slot = string_hash(&samples[begin..]);
            in_window[slot] -= 1;
            if in_window[slot] == 0 {
                score -= u64::from(frequency[slot]);
            }
            begin += 1;
        }
        if score > best_score {
            best_score = score;
            best = Some((begin, end + 1));
        }
    }
    for position in begin..stretch.end {
        in_window[string_hash(&samples[position..])] = 0;
    }
    // Strings at the ends that are worth nothing are left out.
    let (mut from, mut to) = best?;
    while from < to && frequency[string_hash(&samples[from..])] == 0 {
        from += 1;
    }
    while to > from && frequency[string_hash(&samples[to - 1..])] == 0 {
        to -= 1;
    }
    (from < to).then_some((from, to))
}

/// Counts of the literals and codes that remain after parsing the samples against the content.
struct Statistics {
    literals: Vec<u8>,
    literal_lengths: [u32; MAX_LITERAL_LENGTH_CODE + 1],
    match_lengths: [u32; MAX_MATCH_LENGTH_CODE + 1],
    offsets: [u32; MAX_OFFSET_CODE + 1],
}

impl Statistics {
    fn add_literals(&mut self, literals: &[u8]) {
        let room = MAX_LITERALS.saturating_sub(self.literals.len());
        self.literals.extend_from_slice(&literals[..literals.len().min(room)]);
    }

    fn add_sequence(&mut self, literals: &[u8], match_length: usize, offset_value: usize) {
        self.add_literals(literals);
        self.literal_lengths[literal_length_code(literals.len())] += 1;
        self.match_lengths[match_length_code(match_length)] += 1;
        self.offsets[(offset_value.ilog2() as usize).min(MAX_OFFSET_CODE)] += 1;
    }
}

fn add_tables(content: &[u8], samples: &[u8], sample_sizes: &[usize], max_size: usize) -> Vec<u8> {
    let mut statistics = Statistics {
        literals: Vec::new(),
        literal_lengths: [1; MAX_LITERAL_LENGTH_CODE + 1],
        match_lengths: [1; MAX_MATCH_LENGTH_CODE + 1],
        offsets: [1; MAX_OFFSET_CODE + 1],
    };
    let mut table = vec![0u32; 1 << MATCH_TABLE_BITS];
    for position in 0..content.len().saturating_sub(MIN_MATCH - 1) {
        table[match_hash(&content[position..])] = position as u32 + 1;
    }
    let mut begin = 0;
    for size in sample_sizes {
        let end = samples.len().min(begin + size);
        parse_sample(content, &table, &samples[begin..end], &mut statistics);
        begin = end;
    }
    let Some(huffman) = huffman_table(&statistics.literals) else {
        return Vec::new();
    };
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&dictionary_id(content).to_le_bytes());
    out.extend_from_slice(&huffman);
    put_distribution(&mut out, &statistics.offsets, 8);
    put_distribution(&mut out, &statistics.match_lengths, 9);
    put_distribution(&mut out, &statistics.literal_lengths, 9);
    for repeat_offset in [1u32, 4, 8] {
        out.extend_from_slice(&repeat_offset.to_le_bytes());
    }
    // Repeat offsets must lie within the content.
    if content.len() < 8 || out.len() + 8 > max_size {
        return Vec::new();
    }
    // What does not fit is taken from the front, the least valuable part.
    let kept = content.len().min(max_size - out.len());
    out.extend_from_slice(&content[content.len() - kept..]);
    out
}

/// Ids below 32768 and from 2^31 on are reserved for registered dictionaries.
fn dictionary_id(content: &[u8]) -> u32 {
    const LOWEST: u64 = 1 << 15;
    const END: u64 = 1 << 31;
    (LOWEST + xxh64(content, 0) % (END - LOWEST)) as u32
}

fn match_hash(bytes: &[u8]) -> usize {
    let mut chunk = [0u8; 8];
    for (to, from) in chunk.iter_mut().zip(&bytes[..bytes.len().min(MIN_MATCH)]) {
        *to = *from;
    }
    (u64::from_le_bytes(chunk).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - MATCH_TABLE_BITS)) as usize
}

/// A greedy parse against the content and the sample's own beginning.
fn parse_sample(content: &[u8], dictionary: &[u32], sample: &[u8], statistics: &mut Statistics) {
    let mut recent = std::collections::HashMap::new();
    let (mut anchor, mut position, mut last_offset) = (0, 0, 0);
    while position + MIN_MATCH <= sample.len() {
        let slot = match_hash(&sample[position..]);
        let own: Option<usize> = recent.insert(slot, position);
        let from_own = own.map_or((0, 0), |candidate| {
            (super::super::lz4_block::common_prefix(&sample[candidate..], &sample[position..]), position - candidate)
        });
        let from_content = match dictionary[slot] as usize {
            0 => (0, 0),
            next => {
                let length = super::super::lz4_block::common_prefix(&content[next - 1..], &sample[position..]);
                (length, position + content.len() + 1 - next)
            }
        };
        let (length, offset) = from_own.max(from_content);
        if length < MIN_MATCH {
            position += 1;
            continue;
        }
        let offset_value = if offset == last_offset { 1 } else { offset + 3 };
        statistics.add_sequence(&sample[anchor..position], length, offset_value);
        last_offset = offset;
        position += length;
        anchor = position;
    }
    statistics.add_literals(&sample[anchor..]);
}

/// Lengths 0 to 15 have a code each, the larger codes cover a power of two or part of one.
fn literal_length_code(length: usize) -> usize {
    const BASES: [usize; 20] =
        [16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
    if length < 16 { length } else { 15 + BASES.partition_point(|base| *base <= length) }
}

fn match_length_code(length: usize) -> usize {
    const BASES: [usize; 21] =
        [35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16_387, 32_771, 65_539];
    if length < 35 { length - 3 } else { 31 + BASES.partition_point(|base| *base <= length) }
}

/// The serialised Huffman table for `literals`, in which every byte value can be coded.
fn huffman_table(literals: &[u8]) -> Option<Vec<u8>> {
    // Every value once, and the literals in an order that repeats nothing: the block then
    // consists of Huffman-coded literals, and its table stands right behind their header.
    let mut block: Vec<u8> = (0..=255).collect();
    block.extend_from_slice(literals);
    // Few literals would be stored raw: the most frequent values are made to stand out.
    while block.len() < 4096 {
        let filler: &[u8] = if literals.is_empty() { b"etaoin 0123456789" } else { literals };
        let room = 4096 - block.len();
        block.extend_from_slice(&filler[..filler.len().min(room)]);
    }
    shuffle(&mut block);
    let config = CompressionConfig { level: zstd_rs::MIN_LEVEL, ..CompressionConfig::DEFAULT };
    let mut frame = Vec::new();
    Compressor::new(config).ok()?.compress(&block, None, &mut frame).ok()?;
    let header = FrameHeader::parse(&frame).ok()?;
    let block = frame.get(header.header_len..)?;
    let is_compressed = (block.first()? >> 1) & 3 == 2;
    let section = block.get(3..)?;
    let first = *section.first()?;
    // Literals of type 2 carry their table; the size format gives the header's length.
    if !is_compressed || first & 3 != 2 {
        return None;
    }
    let header_size = match (first >> 2) & 3 {
        0 | 1 => 3,
        2 => 4,
        _ => 5,
    };
    let table = section.get(header_size..)?;
    let size = match *table.first()? {
        compressed if compressed < 128 => 1 + usize::from(compressed),
        direct => 1 + (usize::from(direct) - 127).div_ceil(2),
    };
    table.get(..size).map(<[u8]>::to_vec)
}

/// A fixed permutation, so that equal samples give equal dictionaries.
fn shuffle(bytes: &mut [u8]) {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for index in (1..bytes.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.swap(index, (state >> 33) as usize % (index + 1));
    }
}

/// Scales `counts` (none zero) to a sum of `1 << bits`, none below one.
fn normalize(counts: &[u32], bits: u32) -> Vec<u32> {
    let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let target = 1u64 << bits;
    let spare = target - counts.len() as u64;
    let mut normalized: Vec<u32> =
        counts.iter().map(|count| 1 + (u64::from(*count) * spare / total.max(1)) as u32).collect();
    let used: u64 = normalized.iter().map(|count| u64::from(*count)).sum();
    if let Some(largest) = normalized.iter_mut().max() {
        *largest += (target - used) as u32;
    }
    normalized
}

/// Appends an FSE table description: each count in as few bits as what is left of the sum allows.
fn put_distribution(out: &mut Vec<u8>, counts: &[u32], bits: u32) {
    let mut writer = BitWriter { out, pending: 0, pending_bits: 0 };
    writer.put(u64::from(bits - 5), 4);
    let mut remaining = (1u64 << bits) + 1;
    let mut threshold = 1u64 << bits;
    let mut width = bits + 1;
    for count in normalize(counts, bits) {
        // Values below `short` fit one bit less; the larger ones are moved past the gap.
        let short = 2 * threshold - 1 - remaining;
        remaining -= u64::from(count);
        let mut value = u64::from(count) + 1;
        if value >= threshold {
            value += short;
        }
        writer.put(value, if value < short { width - 1 } else { width });
        while remaining < threshold {
            width -= 1;
            threshold >>= 1;
        }
    }
    writer.finish();
}

/// Bits from the lowest up, as FSE table descriptions have them.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl BitWriter<'_> {
    fn put(&mut self, value: u64, width: u32) {
        self.pending |= value << self.pending_bits;
        self.pending_bits += width;
        while self.pending_bits >= 8 {
            self.out.push(self.pending as u8);
            self.pending >>= 8;
            self.pending_bits -= 8;
        }
    }

    fn finish(self) {
        if self.pending_bits > 0 {
            self.out.push(self.pending as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_cover_their_ranges() {
        assert_eq!(
            [0, 15, 16, 17, 18, 63, 64, 65_535, 65_536].map(literal_length_code),
            [0, 15, 16, 16, 17, 24, 25, 34, 35]
        );
        assert_eq!(
            [3, 34, 35, 36, 37, 130, 131, 65_538, 65_539].map(match_length_code),
            [0, 31, 32, 32, 33, 42, 43, 51, 52]
        );
    }

    #[test]
    fn normalized_counts_sum_up() {
        for counts in [vec![1u32; 53], vec![1_000_000, 1, 1, 7], (1..=36).collect()] {
            let normalized = normalize(&counts, 9);
            assert_eq!(normalized.iter().sum::<u32>(), 512);
            assert!(normalized.iter().all(|count| *count >= 1));
        }
    }
}
