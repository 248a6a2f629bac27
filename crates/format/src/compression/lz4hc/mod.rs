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

mod finder;
mod lazy;
mod optimal;

use super::lz4::dictionary_tail;
use super::lz4_block::{LAST_LITERALS, MIN_MATCH, match_start_limit, max_output_size, put_last_literals};
use super::options::{CompressionOptions, DEFAULT_COMPRESSION_LEVEL};
use finder::{Chains, Finder, Limits, effort};

const DEFAULT_LEVEL: i32 = 9;
const MAX_LEVEL: i32 = 12;

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
