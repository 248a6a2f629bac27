//! The lazy parse: hold a match back while a longer one overlaps its end.
//!
//! ```text
//! held:        [=========]
//! search here:        ^          two bytes before the end
//! found:           [=============]   longer, may begin before the search position
//! ```
//!
//! If what remains of the held match is still a match, it is cut short and written;
//! otherwise it is dropped. Then the found one is held, and so on.

use super::super::lz4_block::{MIN_MATCH, put_sequence};
use super::finder::{Finder, Limits, Match};

/// Writes all sequences but the last; returns where its literals begin.
pub(super) fn parse(finder: &mut Finder, raw: &[u8], limits: Limits, out: &mut Vec<u8>) -> usize {
    let mut anchor = 0;
    let mut position = 0;
    while position < limits.start {
        let Some(first) = finder.longest(raw, position, anchor, limits.end, MIN_MATCH - 1) else {
            position += 1;
            continue;
        };
        let mut held = first;
        while let Some(found) = longer_overlap(finder, raw, held, limits) {
            if found.begin >= held.begin + MIN_MATCH {
                put_sequence(out, &raw[anchor..held.begin], held.distance, found.begin - held.begin);
                anchor = found.begin;
            }
            held = found;
        }
        put_sequence(out, &raw[anchor..held.begin], held.distance, held.length);
        anchor = held.end();
        position = anchor;
    }
    anchor
}

/// A match longer than `held` that begins within it.
fn longer_overlap(finder: &mut Finder, raw: &[u8], held: Match, limits: Limits) -> Option<Match> {
    let position = held.end() - 2;
    if position >= limits.start {
        return None;
    }
    finder.longest(raw, position, held.begin + 1, limits.end, held.length)
}
