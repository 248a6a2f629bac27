//! The LZ4 high-compression encoder: hash chains, and two ways to parse.
//!
//! Levels up to 9 parse lazily: a match is held back while a search near its end
//! finds a longer one ([`lazy`]). Levels 10 to 12 take the cheapest path over all
//! matches ([`optimal`]). Within each way a level sets how many candidates of a
//! chain are compared.
//!
//! A dictionary has its own read-only chains, built once; a block's chains begin
//! empty, so a small block costs little with a large dictionary.
//!
//! Ratios and speeds beside the C library: the table in `docs/format/compression.md`.

mod lazy;
mod optimal;

use super::lz4::dictionary_tail;
use super::lz4_block::{
    LAST_LITERALS, MAX_DISTANCE, MIN_MATCH, common_prefix, dictionary_match, hash, match_start_limit, max_output_size,
    put_last_literals, read_u32,
};
use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};

const DEFAULT_LEVEL: i32 = 9;
const MAX_LEVEL: i32 = 12;
const MAX_TABLE_BITS: u32 = 15;
const MIN_TABLE_BITS: u32 = 8;

/// Positions with the same hash, newest first. Zero is "none", otherwise a position plus one.
#[derive(Default)]
struct Chains {
    head: Vec<u32>,
    previous: Vec<u32>,
    bits: u32,
    /// Positions below this one are in the chains.
    inserted: usize,
}

impl Chains {
    fn reset(&mut self, size: usize) {
        self.bits = (usize::BITS - size.leading_zeros()).clamp(MIN_TABLE_BITS, MAX_TABLE_BITS);
        self.head.clear();
        self.head.resize(1 << self.bits, 0);
        self.previous.resize(size, 0);
        self.inserted = 0;
    }

    /// Inserts every position below `end` that is not in yet.
    #[inline]
    fn insert_up_to(&mut self, bytes: &[u8], end: usize) {
        for position in self.inserted..end {
            let head = &mut self.head[hash(read_u32(bytes, position), self.bits)];
            self.previous[position] = *head;
            *head = position as u32 + 1;
        }
        self.inserted = self.inserted.max(end);
    }

    #[inline]
    fn first(&self, value: u32) -> u32 {
        if self.head.is_empty() { 0 } else { self.head[hash(value, self.bits)] }
    }
}

/// A match in the input.
#[derive(Clone, Copy, Debug)]
struct Match {
    begin: usize,
    length: usize,
    distance: usize,
}

impl Match {
    fn end(self) -> usize {
        self.begin + self.length
    }
}

/// The effort of a level.
#[derive(Clone, Copy)]
struct Effort {
    optimal: bool,
    /// Candidates compared in one search.
    attempts: u32,
    /// A match this long ends the search, and the optimal parse takes it at once.
    sufficient_length: usize,
}

fn effort(level: i32) -> Effort {
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

/// A reusable encoder.
pub(super) struct Encoder {
    finder: Finder,
    optimal: Option<optimal::Parser>,
}

impl Encoder {
    pub(super) fn new(options: &CompressionOptions, dictionary: Option<&[u8]>) -> Self {
        let level = match options.level {
            DEFAULT_COMPRESSION_LEVEL => DEFAULT_LEVEL,
            level if level < 1 => DEFAULT_LEVEL,
            level => level.min(MAX_LEVEL),
        };
        let dictionary = dictionary_tail(dictionary.unwrap_or_default()).to_vec();
        let mut dictionary_chains = Chains::default();
        if dictionary.len() >= MIN_MATCH {
            dictionary_chains.reset(dictionary.len());
            dictionary_chains.insert_up_to(&dictionary, dictionary.len() + 1 - MIN_MATCH);
        }
        let effort = effort(level);
        Self {
            optimal: effort.optimal.then(optimal::Parser::default),
            finder: Finder { effort, chains: Chains::default(), dictionary, dictionary_chains },
        }
    }

    /// Appends the block for `raw`, whose size fits 32 bits.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.reserve(max_output_size(raw.len()));
        self.finder.chains.reset(raw.len());
        let limits = Limits { start: match_start_limit(raw.len()), end: raw.len().saturating_sub(LAST_LITERALS) };
        let anchor = match &mut self.optimal {
            Some(parser) => parser.parse(&mut self.finder, raw, limits, out),
            None => lazy::parse(&mut self.finder, raw, limits, out),
        };
        put_last_literals(out, &raw[anchor..]);
    }
}

/// Where matches may be in a block.
#[derive(Clone, Copy)]
struct Limits {
    /// No match begins here or later.
    start: usize,
    /// No match ends later.
    end: usize,
}

/// Searches the input before a position, and the dictionary before that.
struct Finder {
    effort: Effort,
    chains: Chains,
    dictionary: Vec<u8>,
    dictionary_chains: Chains,
}

impl Finder {
    /// The longest match that covers `position`, begins no earlier than `lowest`, ends by `end`, and is
    /// longer than `at_least`.
    fn longest(&mut self, raw: &[u8], position: usize, lowest: usize, end: usize, at_least: usize) -> Option<Match> {
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

    fn longest_in_dictionary(
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
fn common_suffix(left: &[u8], right: &[u8]) -> usize {
    left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| a == b).count()
}
