//! What the encoder writes is what it was given: read by our decoder, by the crate `zstd-rs` and, with the feature
//! `native-codecs`, by the C library.

use super::FastEncoder;
use super::sequences::{Sequence, SequenceEncoder};

/// xorshift.
struct Random(u64);

impl Random {
    /// Below a random power of two.
    fn small(&mut self, bits: usize) -> usize {
        let bits = self.below(bits);
        self.below(1 << bits)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }
}

#[track_caller]
fn check(frame: &[u8], raw: &[u8]) {
    let mut out = Vec::new();
    super::super::decompress(frame, Some(raw.len() as u64), None, raw.len(), &mut out).unwrap();
    assert!(out == raw, "{} bytes come back as others", raw.len());
    out.clear();
    zstd_rs::Decompressor::new().decompress_frame(frame, None, raw.len(), &mut out).unwrap();
    assert!(out == raw);
}

/// Of some kind: how many byte values there are, how skewed they are, and how much repeats.
fn content(random: &mut Random, size: usize) -> Vec<u8> {
    let (alphabet, skew) = (1 + random.below(256), 1 + random.below(4));
    let repeated = random.below(100);
    let mut raw: Vec<u8> = Vec::with_capacity(size + 64);
    while raw.len() < size {
        if raw.len() > 8 && random.below(100) < repeated {
            let (length, distance) = (3 + random.below(60), 1 + random.small(17).min(raw.len() - 1));
            for _ in 0..length {
                raw.push(raw[raw.len() - distance]);
            }
        } else {
            for _ in 0..random.below(30) {
                raw.push((0..skew).map(|_| random.below(alphabet)).min().unwrap_or(0) as u8);
            }
        }
    }
    raw.truncate(size);
    raw
}

#[test]
fn frames_come_back() {
    let mut random = Random(11);
    for level in [-100, -3, 1, 2, 3] {
        let mut encoder = FastEncoder::new(level, level == 2).unwrap();
        for round in 0..400 {
            let size = match round {
                0..80 => round,
                80..100 => (16 << 10) + round - 90,
                100..104 => (128 << 10) + round - 103,
                _ => random.small(16),
            };
            let raw = content(&mut random, size);
            let mut frame = b"before".to_vec();
            assert!(encoder.compress(&raw, &mut frame));
            assert!(frame.len() <= 6 + raw.len() + 18);
            check(&frame[6..], &raw);
        }
    }
    assert!(FastEncoder::new(4, false).is_none());
    assert!(!FastEncoder::new(1, false).unwrap().compress(&vec![0; (128 << 10) + 1], &mut Vec::new()));
}

/// Every code of a length and of an offset.
#[test]
fn sections_of_any_sequences_are_written() {
    let mut encoder = SequenceEncoder::new();
    for count in [1, 2, 3, 20, 127, 128, 500, 40_000] {
        let mut random = Random(count as u64);
        let sequences: Vec<Sequence> = (0..count)
            .map(|_| Sequence {
                literals: random.small(17) as u32,
                length: 3 + random.small(17) as u32,
                offset: 1 + random.small(18) as u32,
            })
            .collect();
        let mut out = Vec::new();
        encoder.put(&sequences, &mut out);
        assert!(out.len() > 2);
    }
}
