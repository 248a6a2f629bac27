//! The LZ4 high-compression encoder: hash chains and a cheapest-path parse.
//!
//! The price of an LZ4 match does not depend on its distance, so at each position
//! the longest match dominates all others: any shorter length is a prefix of it.
//! That makes the best parse a shortest path over positions, with one literal edge
//! and one edge per usable match length, found in a single forward pass:
//!
//! ```text
//! price[p + 1]      <- price[p] + 1 (+ 1 when the literal run needs another length byte)
//! price[p + length] <- price[p] + 3 (+ length bytes)
//! ```
//!
//! A level sets how many candidates of a chain are compared, and from which length
//! on a match is taken at once without pricing what begins inside it. The parse
//! works on segments so that its memory does not grow with the input; the literal
//! run goes on across segments.
//!
//! A dictionary has its own read-only chains, built once; a block's chains begin
//! empty, so a small block costs little with a large dictionary.
//!
//! Sizes in 4 KiB blocks, relative to the fast encoder (100), C's LZ4-HC beside it:
//! see `docs/format/compression.md`.

use super::lz4::dictionary_tail;
use super::lz4_block::{
    LAST_LITERALS, MAX_DISTANCE, MIN_MATCH, common_prefix, dictionary_match, hash, match_start_limit, max_output_size,
    put_last_literals, put_sequence, read_u32,
};
use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};

const DEFAULT_LEVEL: i32 = 9;
const MAX_LEVEL: i32 = 12;
const MAX_TABLE_BITS: u32 = 15;
const MIN_TABLE_BITS: u32 = 8;
/// Positions parsed at once; a literal or match never costs more than a few bytes, so prices fit 32 bits.
const SEGMENT_SIZE: usize = 128 << 10;

/// Positions with the same hash, newest first. Zero is "none", otherwise a position plus one.
#[derive(Default)]
struct Chains {
    head: Vec<u32>,
    previous: Vec<u32>,
    bits: u32,
}

impl Chains {
    fn reset(&mut self, size: usize) {
        self.bits = (usize::BITS - size.leading_zeros()).clamp(MIN_TABLE_BITS, MAX_TABLE_BITS);
        self.head.clear();
        self.head.resize(1 << self.bits, 0);
        self.previous.resize(size, 0);
    }

    #[inline]
    fn insert(&mut self, bytes: &[u8], position: usize) {
        let head = &mut self.head[hash(read_u32(bytes, position), self.bits)];
        self.previous[position] = *head;
        *head = position as u32 + 1;
    }

    #[inline]
    fn first(&self, value: u32) -> u32 {
        if self.head.is_empty() { 0 } else { self.head[hash(value, self.bits)] }
    }
}

/// The cheapest known way to reach a position.
#[derive(Clone, Copy)]
struct Node {
    price: u32,
    /// Literals pending at this position on that way.
    literals: u32,
    /// Length of the match that ends here; 0 for a literal.
    match_length: u32,
    distance: u32,
}

const UNREACHED: Node = Node { price: u32::MAX, literals: 0, match_length: 0, distance: 0 };

/// The effort of a level.
struct Effort {
    attempts: u32,
    /// A match this long is taken without looking for a better parse.
    sufficient_length: usize,
}

fn effort(level: i32) -> Effort {
    let (attempts, sufficient_length) = match level {
        ..=2 => (2, 12),
        3 => (4, 16),
        4 => (8, 18),
        5 => (12, 24),
        6 => (24, 32),
        7 => (48, 48),
        8 => (96, 64),
        9 => (192, 64),
        10 => (256, 96),
        11 => (512, 256),
        _ => (4096, 4096),
    };
    Effort { attempts, sufficient_length }
}

/// A reusable encoder.
pub(super) struct Encoder {
    effort: Effort,
    chains: Chains,
    dictionary: Vec<u8>,
    dictionary_chains: Chains,
    nodes: Vec<Node>,
    /// Matches of a segment: begin, length, distance; last first.
    path: Vec<(usize, usize, usize)>,
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
            for position in 0..=dictionary.len() - MIN_MATCH {
                dictionary_chains.insert(&dictionary, position);
            }
        }
        Self {
            effort: effort(level),
            chains: Chains::default(),
            dictionary,
            dictionary_chains,
            nodes: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Appends the block for `raw`, whose size fits 32 bits.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.reserve(max_output_size(raw.len()));
        self.chains.reset(raw.len());
        let start_limit = match_start_limit(raw.len());
        let match_end = raw.len().saturating_sub(LAST_LITERALS);
        let mut anchor = 0;
        let mut begin = 0;
        while begin < start_limit {
            let end = match_end.min(begin.saturating_add(SEGMENT_SIZE));
            self.price(raw, begin, end, start_limit.min(end), begin - anchor);
            self.trace(begin, end);
            for &(match_begin, length, distance) in self.path.iter().rev() {
                put_sequence(out, &raw[anchor..match_begin], distance, length);
                anchor = match_begin + length;
            }
            begin = end;
        }
        put_last_literals(out, &raw[anchor..]);
    }

    /// Fills `nodes` for the positions `begin..=end`, indexed from `begin`.
    fn price(&mut self, raw: &[u8], begin: usize, end: usize, start_limit: usize, pending_literals: usize) {
        self.nodes.clear();
        self.nodes.resize(end - begin + 1, UNREACHED);
        self.nodes[0] = Node { price: 0, literals: pending_literals as u32, match_length: 0, distance: 0 };
        let mut position = begin;
        while position < end {
            let node = self.nodes[position - begin];
            self.relax_literal(position - begin, node);
            if position >= start_limit {
                position += 1;
                continue;
            }
            let (length, distance) = self.longest_match(raw, position, end);
            self.chains.insert(raw, position);
            if length < MIN_MATCH {
                position += 1;
                continue;
            }
            if length < self.effort.sufficient_length {
                for shorter in MIN_MATCH..=length {
                    self.relax_match(position - begin, node, shorter, distance);
                }
                position += 1;
                continue;
            }
            self.relax_match(position - begin, node, length, distance);
            let next = position + length;
            for inside in position + 1..next.min(start_limit) {
                self.chains.insert(raw, inside);
            }
            position = next;
        }
    }

    #[inline]
    fn relax_literal(&mut self, index: usize, node: Node) {
        let literals = node.literals + 1;
        let more = u32::from(literals >= 15 && (literals - 15).is_multiple_of(255));
        let price = node.price.saturating_add(1 + more);
        if let Some(target) = self.nodes.get_mut(index + 1)
            && price < target.price
        {
            *target = Node { price, literals, match_length: 0, distance: 0 };
        }
    }

    #[inline]
    fn relax_match(&mut self, index: usize, node: Node, length: usize, distance: usize) {
        let price = node.price.saturating_add(match_price(length));
        if let Some(target) = self.nodes.get_mut(index + length)
            && price < target.price
        {
            *target = Node { price, literals: 0, match_length: length as u32, distance: distance as u32 };
        }
    }

    /// The longest match at `position` that ends by `end`: its length (0 for none) and distance.
    fn longest_match(&self, raw: &[u8], position: usize, end: usize) -> (usize, usize) {
        let target = &raw[position..end];
        let value = read_u32(raw, position);
        let (mut best_length, mut best_distance) = (MIN_MATCH - 1, 0);
        let mut attempts = self.effort.attempts;
        let mut next = self.chains.first(value);
        while next != 0 && attempts > 0 {
            let candidate = next as usize - 1;
            if position - candidate > MAX_DISTANCE || best_length >= target.len() {
                break;
            }
            if raw[candidate + best_length] == target[best_length] && read_u32(raw, candidate) == value {
                let length = common_prefix(&raw[candidate..], target);
                if length > best_length {
                    (best_length, best_distance) = (length, position - candidate);
                    if length >= self.effort.sufficient_length {
                        return (best_length, best_distance);
                    }
                }
            }
            next = self.chains.previous[candidate];
            attempts -= 1;
        }
        next = self.dictionary_chains.first(value);
        while next != 0 && attempts > 0 && best_length < target.len() {
            let candidate = next as usize - 1;
            let distance = position + self.dictionary.len() - candidate;
            if distance > MAX_DISTANCE {
                break;
            }
            if read_u32(&self.dictionary, candidate) == value {
                let length = dictionary_match(&self.dictionary, candidate, raw, position, end);
                if length > best_length {
                    (best_length, best_distance) = (length, distance);
                    if length >= self.effort.sufficient_length {
                        break;
                    }
                }
            }
            next = self.dictionary_chains.previous[candidate];
            attempts -= 1;
        }
        if best_distance == 0 { (0, 0) } else { (best_length, best_distance) }
    }

    /// Walks the cheapest path of a segment back from its end.
    fn trace(&mut self, begin: usize, end: usize) {
        self.path.clear();
        let mut position = end;
        while position > begin {
            let node = self.nodes[position - begin];
            if node.match_length == 0 {
                position -= 1;
                continue;
            }
            position -= node.match_length as usize;
            self.path.push((position, node.match_length as usize, node.distance as usize));
        }
    }
}

/// Token, offset and length bytes of a match.
#[inline]
fn match_price(length: usize) -> u32 {
    let extra = length - MIN_MATCH;
    let length_bytes = if extra >= 15 { 1 + (extra - 15) / 255 } else { 0 };
    3 + length_bytes as u32
}
