//! The fast LZ4 encoder with a dictionary, which is indexed once and used for many blocks.
//!
//! One probe per position into a table of last positions; after every 64 misses
//! in a row the stride grows by one, starting from the acceleration factor.

use super::lz4_block::{
    LAST_LITERALS, MAX_ACCELERATION, MAX_DISTANCE, MIN_MATCH, SKIP_TRIGGER_SHIFT, common_prefix, dictionary_match,
    hash, match_start_limit, max_output_size, put_last_literals, put_sequence, read_u32,
};

const TABLE_BITS: u32 = 12;
/// The dictionary's table is filled once and may be larger.
const DICTIONARY_TABLE_BITS: u32 = 14;

/// A position plus one; zero is empty.
type Slot = u32;

/// The encoder and its tables.
pub(super) struct DictionaryEncoder {
    acceleration: usize,
    table: Vec<Slot>,
    dictionary: Vec<u8>,
    dictionary_table: Vec<Slot>,
}

impl DictionaryEncoder {
    /// `dictionary` must be cut to what matches reach; `acceleration` is at least 1.
    pub(super) fn new(acceleration: usize, dictionary: &[u8]) -> Self {
        let mut dictionary_table = Vec::new();
        if dictionary.len() >= MIN_MATCH {
            dictionary_table.resize(1 << DICTIONARY_TABLE_BITS, 0);
            for position in 0..=dictionary.len() - MIN_MATCH {
                dictionary_table[hash(read_u32(dictionary, position), DICTIONARY_TABLE_BITS)] = position as Slot + 1;
            }
        }
        Self {
            acceleration: acceleration.clamp(1, MAX_ACCELERATION),
            table: vec![0; 1 << TABLE_BITS],
            dictionary: dictionary.to_vec(),
            dictionary_table,
        }
    }

    /// Appends the block for `raw`, whose size fits 32 bits.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.reserve(max_output_size(raw.len()));
        self.table.fill(0);
        let start_limit = match_start_limit(raw.len());
        let match_end = raw.len().saturating_sub(LAST_LITERALS);
        let mut anchor = 0;
        let mut position = 0;
        let mut misses = self.acceleration << SKIP_TRIGGER_SHIFT;
        while position < start_limit {
            let Some((distance, mut length)) = self.probe(raw, position, match_end) else {
                position += misses >> SKIP_TRIGGER_SHIFT;
                misses += 1;
                continue;
            };
            let mut begin = position;
            while begin > anchor && begin > distance && raw[begin - 1] == raw[begin - 1 - distance] {
                begin -= 1;
                length += 1;
            }
            put_sequence(out, &raw[anchor..begin], distance, length);
            position = begin + length;
            anchor = position;
            misses = self.acceleration << SKIP_TRIGGER_SHIFT;
            if position < start_limit {
                let inside = position - 2;
                self.table[hash(read_u32(raw, inside), TABLE_BITS)] = inside as Slot + 1;
            }
        }
        put_last_literals(out, &raw[anchor..]);
    }

    /// Looks up the four bytes at `position`, and leaves the position in the table.
    #[inline]
    fn probe(&mut self, raw: &[u8], position: usize, match_end: usize) -> Option<(usize, usize)> {
        let value = read_u32(raw, position);
        let slot = &mut self.table[hash(value, TABLE_BITS)];
        let candidate = *slot as usize;
        *slot = position as Slot + 1;
        if candidate != 0 {
            let distance = position + 1 - candidate;
            if distance <= MAX_DISTANCE && read_u32(raw, candidate - 1) == value {
                return Some((distance, common_prefix(&raw[candidate - 1..], &raw[position..match_end])));
            }
        }
        if self.dictionary_table.is_empty() {
            return None;
        }
        let candidate = self.dictionary_table[hash(value, DICTIONARY_TABLE_BITS)] as usize;
        if candidate == 0 || read_u32(&self.dictionary, candidate - 1) != value {
            return None;
        }
        let distance = position + self.dictionary.len() + 1 - candidate;
        let length = dictionary_match(&self.dictionary, candidate - 1, raw, position, match_end);
        (distance <= MAX_DISTANCE).then_some((distance, length))
    }
}
