//! The Zstandard encoder of the fast levels: one frame of one block, without a dictionary.
//!
//! It covers what tables are made of by default: blocks of 128 KiB at most at the levels that look for matches by one
//! or two probes. Other levels, longer inputs and dictionaries are the crate `zstd-rs`'s.
//!
//! ```text
//! input -> finder -> sequences, literals -> literals: Huffman codes -> sequences: FSE codes -> block
//! ```

mod finder;
mod fse;
mod literals;
mod sequences;
#[cfg(test)]
mod tests;

use super::MAX_BLOCK_SIZE;
use finder::{Finder, Parsed, Search};
use sequences::SequenceEncoder;
use zstd_rs::FrameHeader;

/// An encoder of one level with its tables, for any number of frames.
pub(super) struct FastEncoder {
    level: i32,
    checksum: bool,
    finder: Finder,
    parsed: Parsed,
    sequences: SequenceEncoder,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "other processors have no such loops"))]
    has_bmi2: bool,
}

impl FastEncoder {
    /// An encoder, if the level is one of the fast ones.
    pub(super) fn new(level: i32, checksum: bool) -> Option<Self> {
        (level <= 3).then(|| Self {
            level,
            checksum,
            finder: Finder::new(),
            parsed: Parsed::default(),
            sequences: SequenceEncoder::new(),
            has_bmi2: super::has_bmi2(),
        })
    }

    /// Appends `raw` as one frame. False, with nothing appended, if it is too long.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        if raw.len() > MAX_BLOCK_SIZE {
            return false;
        }
        #[cfg(target_arch = "x86_64")]
        if self.has_bmi2 {
            // SAFETY: the processor has what the function is compiled for.
            unsafe { self.compress_with_bmi2(raw, out) };
            return true;
        }
        self.compress_anywhere(raw, out);
        true
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi1,bmi2,lzcnt")]
    fn compress_with_bmi2(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        self.compress_anywhere(raw, out);
    }

    #[inline(always)]
    fn compress_anywhere(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        // More than a block of literals takes.
        out.reserve(raw.len() + raw.len() / 8 + 256);
        let header = FrameHeader {
            window_size: raw.len() as u64,
            content_size: Some(raw.len() as u64),
            dict_id: 0,
            checksum: self.checksum,
            single_segment: true,
            header_len: 0,
        };
        header.write(10, out);
        let block = out.len();
        out.extend_from_slice(&[0; 3]);
        self.finder.parse(raw, search(self.level, raw.len()), &mut self.parsed);
        literals::put(&self.parsed.literals, out);
        self.sequences.put(&self.parsed.sequences, out);
        let mut kind = 2;
        // As much as C wants a block to save.
        if out.len() - block - 3 + (raw.len() >> 6) + 2 >= raw.len() {
            out.truncate(block + 3);
            out.extend_from_slice(raw);
            kind = 0;
        }
        let word = 1 | kind << 1 | ((out.len() - block - 3) as u32) << 3;
        out[block..block + 3].copy_from_slice(&word.to_le_bytes()[..3]);
        if self.checksum {
            out.extend_from_slice(&(zstd_rs::xxh64(raw, 0) as u32).to_le_bytes());
        }
    }
}

/// The search of a level: sizes of tables, and how long what they hash is, grow with the input.
fn search(level: i32, size: usize) -> Search {
    let size_bits = size.max(2).next_power_of_two().ilog2().max(6);
    let is_small = size <= 16 << 10;
    let (min_match, short_bits, long_bits) = match (level, is_small) {
        (..=0, true) => (5, 13, 0),
        (..=0, false) => (5, 12, 0),
        (1, true) => (5, 15, 0),
        (1, false) => (6, 13, 0),
        (2, true) => (4, 15, 0),
        (2, false) => (5, 15, 0),
        (_, true) => (4, 14, 15),
        (_, false) => (5, 15, 16),
    };
    Search {
        min_match,
        short_bits: short_bits.min(if long_bits > 0 { size_bits } else { size_bits + 1 }),
        long_bits: long_bits.min(if long_bits > 0 { size_bits + 1 } else { 0 }),
        stride: if level < 0 { 1 + level.unsigned_abs() as usize } else { 1 },
    }
}
