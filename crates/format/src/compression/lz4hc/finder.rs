//! Finds matches: hash chains of a block and of its dictionary.

use super::super::lz4_block::{MAX_DISTANCE, MIN_MATCH, common_prefix, dictionary_match, hash, read_u32};

const MAX_TABLE_BITS: u32 = 15;
const MIN_TABLE_BITS: u32 = 8;

/// Positions with the same hash, newest first. Zero is "none", otherwise a position plus one.
#[derive(Default)]
pub(super) struct Chains {
    pub(super) head: Vec<u32>,
    pub(super) previous: Vec<u32>,
    pub(super) bits: u32,
    /// Positions below this one are in the chains.
    pub(super) inserted: usize,
}

impl Chains {
    pub(super) fn reset(&mut self, size: usize) {
        self.bits = (usize::BITS - size.leading_zeros()).clamp(MIN_TABLE_BITS, MAX_TABLE_BITS);
        self.head.clear();
        self.head.resize(1 << self.bits, 0);
        self.previous.resize(size, 0);
        self.inserted = 0;
    }

    /// Inserts every position below `end` that is not in yet.
    #[inline]
    pub(super) fn insert_up_to(&mut self, bytes: &[u8], end: usize) {
        for position in self.inserted..end {
            let head = &mut self.head[hash(read_u32(bytes, position), self.bits)];
            self.previous[position] = *head;
            *head = position as u32 + 1;
        }
        self.inserted = self.inserted.max(end);
    }

    #[inline]
    pub(super) fn first(&self, value: u32) -> u32 {
        if self.head.is_empty() { 0 } else { self.head[hash(value, self.bits)] }
    }
}

/// A match in the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) begin: usize,
    pub(super) length: usize,
    pub(super) distance: usize,
}

impl Match {
    pub(super) fn end(self) -> usize {
        self.begin + self.length
    }
}

/// The effort of a level.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    pub(super) optimal: bool,
    /// Candidates compared in one search.
    pub(super) attempts: u32,
    /// A match this long ends the search, and the optimal parse takes it at once.
    pub(super) sufficient_length: usize,
}

pub(super) fn effort(level: i32) -> Effort {
    let (optimal, attempts, sufficient_length) = match level {
        ..=2 => (false, 3, 64),
        3 => (false, 6, 128),
        4 => (false, 10, 256),
        5 => (false, 16, 512),
        6 => (false, 32, 1024),
        7 => (false, 64, 1024),
        8 => (false, 128, 2048),
        9 => (false, 256, 4096),
        10 => (true, 96, 64),
        11 => (true, 384, 128),
        _ => (true, 4096, 2048),
    };
    Effort { optimal, attempts, sufficient_length }
}

/// Where matches may be in a block.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// No match begins here or later.
    pub(super) start: usize,
    /// No match ends later.
    pub(super) end: usize,
}

/// Searches the input before a position, and the dictionary before that.
pub(super) struct Finder {
    pub(super) effort: Effort,
    pub(super) chains: Chains,
    pub(super) dictionary: Vec<u8>,
    pub(super) dictionary_chains: Chains,
}

impl Finder {
    /// The longest match that covers `position`, begins no earlier than `lowest`, ends by `end`, and is
    /// longer than `at_least`.
    pub(super) fn longest(
        &mut self,
        raw: &[u8],
        position: usize,
        lowest: usize,
        end: usize,
        at_least: usize,
    ) -> Option<Match> {
        self.chains.insert_up_to(raw, position);
        let target = &raw[position..end];
        let value = read_u32(raw, position);
        let sufficient = self.effort.sufficient_length;
        let reach = position - lowest;
        let mut best = None;
        let mut best_length = at_least.max(MIN_MATCH - 1);
        let mut attempts = self.effort.attempts;
        let mut next = self.chains.first(value);
        while next != 0 && attempts > 0 {
            let candidate = next as usize - 1;
            let distance = position - candidate;
            if distance > MAX_DISTANCE {
                break;
            }
            attempts -= 1;
            next = self.chains.previous[candidate];
            // A candidate that is to win must agree at the byte that would make it longer.
            let plausible = match best_length.checked_sub(reach) {
                Some(probe) => match target.get(probe) {
                    Some(byte) => raw[candidate + probe] == *byte,
                    None => break,
                },
                None => true,
            };
            if !plausible || read_u32(raw, candidate) != value {
                continue;
            }
            let forward = common_prefix(&raw[candidate..], target);
            let backward = common_suffix(&raw[..candidate], &raw[lowest..position]);
            if forward + backward > best_length {
                best_length = forward + backward;
                best = Some(Match { begin: position - backward, length: best_length, distance });
                if best_length >= sufficient {
                    return best;
                }
            }
        }
        self.longest_in_dictionary(raw, position, end, best_length, attempts).or(best)
    }

    pub(super) fn longest_in_dictionary(
        &self,
        raw: &[u8],
        position: usize,
        end: usize,
        mut best_length: usize,
        mut attempts: u32,
    ) -> Option<Match> {
        let value = read_u32(raw, position);
        let mut best = None;
        let mut next = self.dictionary_chains.first(value);
        while next != 0 && attempts > 0 {
            let candidate = next as usize - 1;
            let distance = position + self.dictionary.len() - candidate;
            if distance > MAX_DISTANCE {
                break;
            }
            attempts -= 1;
            next = self.dictionary_chains.previous[candidate];
            if read_u32(&self.dictionary, candidate) != value {
                continue;
            }
            let length = dictionary_match(&self.dictionary, candidate, raw, position, end);
            if length > best_length {
                best_length = length;
                best = Some(Match { begin: position, length, distance });
                if length >= self.effort.sufficient_length {
                    break;
                }
            }
        }
        best
    }
}

/// The number of trailing bytes in which `left` and `right` agree.
#[inline]
pub(super) fn common_suffix(left: &[u8], right: &[u8]) -> usize {
    left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count()
}
