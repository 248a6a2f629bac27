//! The optimal parse: the cheapest path over positions.
//!
//! The price of an LZ4 match does not depend on its distance, so at each position
//! the longest match dominates all others: any shorter length is a prefix of it.
//! That makes the best parse a shortest path, with one literal edge and one edge
//! per usable match length, found in a single forward pass:
//!
//! ```text
//! price[p + 1]      <- price[p] + 1 (+ 1 when the literal run needs another length byte)
//! price[p + length] <- price[p] + 3 (+ length bytes)
//! ```
//!
//! A position that the next one undercuts already (inside a match whose next byte
//! is free) is not searched. The parse works on segments so that its memory does
//! not grow with the input; the literal run goes on across segments.

use super::super::lz4_block::{MIN_MATCH, put_sequence};
use super::finder::{Finder, Limits, Match};

/// Positions parsed at once. Prices stay far below 32 bits.
const SEGMENT_SIZE: usize = 128 << 10;

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

/// Reused memory of the parse.
#[derive(Default)]
pub(super) struct Parser {
    nodes: Vec<Node>,
    /// Matches of a segment, last first.
    path: Vec<Match>,
}

impl Parser {
    /// Writes all sequences but the last; returns where its literals begin.
    pub(super) fn parse(&mut self, finder: &mut Finder, raw: &[u8], limits: Limits, out: &mut Vec<u8>) -> usize {
        let mut anchor = 0;
        let mut begin = 0;
        while begin < limits.start {
            let end = limits.end.min(begin.saturating_add(SEGMENT_SIZE));
            let segment = Limits { start: limits.start.min(end), end };
            self.price(finder, raw, begin, segment, begin - anchor);
            self.trace(begin, end);
            for found in self.path.iter().rev() {
                put_sequence(out, &raw[anchor..found.begin], found.distance, found.length);
                anchor = found.end();
            }
            begin = end;
        }
        anchor
    }

    /// Fills `nodes` for the positions from `begin` to the segment's end, indexed from `begin`.
    fn price(&mut self, finder: &mut Finder, raw: &[u8], begin: usize, segment: Limits, pending_literals: usize) {
        self.nodes.clear();
        self.nodes.resize(segment.end - begin + 1, UNREACHED);
        self.nodes[0] = Node { price: 0, literals: pending_literals as u32, match_length: 0, distance: 0 };
        let mut index = 0;
        while begin + index < segment.end {
            let node = self.nodes[index];
            self.relax_literal(index, node);
            let undercut = self.nodes[index + 1].price <= node.price;
            if begin + index >= segment.start || undercut {
                index += 1;
                continue;
            }
            let position = begin + index;
            let Some(found) = finder.longest(raw, position, position, segment.end, MIN_MATCH - 1) else {
                index += 1;
                continue;
            };
            if found.length >= finder.effort.sufficient_length {
                // Priced at its full length only: matches that begin inside are not considered.
                self.relax_match(index, node, found.length, found.distance);
                index += found.length;
                continue;
            }
            for length in MIN_MATCH..=found.length {
                self.relax_match(index, node, length, found.distance);
            }
            index += 1;
        }
    }

    #[inline]
    fn relax_literal(&mut self, index: usize, node: Node) {
        let literals = node.literals + 1;
        let more = u32::from(literals >= 15 && (literals - 15).is_multiple_of(255));
        let price = node.price.saturating_add(1 + more);
        let target = &mut self.nodes[index + 1];
        if price < target.price {
            *target = Node { price, literals, match_length: 0, distance: 0 };
        }
    }

    #[inline]
    fn relax_match(&mut self, index: usize, node: Node, length: usize, distance: usize) {
        let price = node.price.saturating_add(match_price(length));
        let target = &mut self.nodes[index + length];
        if price < target.price {
            *target = Node { price, literals: 0, match_length: length as u32, distance: distance as u32 };
        }
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
            let length = node.match_length as usize;
            position -= length;
            self.path.push(Match { begin: position, length, distance: node.distance as usize });
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
