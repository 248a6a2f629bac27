//! What the encoder writes is what it was given: read by our decoder, by the crate `zstd-rs` and, with the feature
//! `native-codecs`, by the C library.

use super::super::super::test_random::{TestRandom, cases, under_miri};
use super::FastEncoder;
use super::sequences::{Sequence, SequenceEncoder};
use zstd_rs::FrameHeader;

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
fn content(random: &mut TestRandom, size: usize) -> Vec<u8> {
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
    let mut random = TestRandom::new(11);
    for level in [-100, -3, 1, 2, 3] {
        let mut encoder = FastEncoder::new(level, level == 2).unwrap();
        for round in (0..400).step_by(under_miri(67, 1)) {
            let size = match round {
                0..80 => round,
                80..100 => (16 << 10) + round - 90,
                100..104 => (128 << 10) + round - 103,
                _ => random.small(under_miri(10, 16)),
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

/// Carries sequences out one by one, as the format says.
fn carry_out(literals: &[u8], sequences: &[Sequence]) -> Vec<u8> {
    let (mut out, mut rest, mut repeats) = (Vec::new(), literals, [1, 4, 8]);
    for sequence in sequences {
        let (now, later) = rest.split_at(sequence.literals as usize);
        out.extend_from_slice(now);
        rest = later;
        let place = match sequence.offset as usize {
            value @ 4.. => {
                repeats = [value - 3, repeats[0], repeats[1]];
                0
            }
            value => value - 1 + usize::from(sequence.literals == 0),
        };
        let offset = if place == 3 { repeats[0] - 1 } else { repeats[place] };
        repeats = match place {
            0 => repeats,
            1 => [offset, repeats[0], repeats[2]],
            _ => [offset, repeats[0], repeats[1]],
        };
        for _ in 0..sequence.length {
            out.push(out[out.len() - offset]);
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Sequences that can be carried out and make a block at most: with every code of a length and of an offset, over the
/// blocks.
fn random_sequences(random: &mut TestRandom, count: usize) -> (Vec<u8>, Vec<Sequence>) {
    let most = under_miri(2000, 128 << 10);
    let (mut sequences, mut size, mut literals, mut repeats) = (Vec::new(), 0, 0, [1, 4]);
    for index in 0..count {
        // Each has its three bytes at least.
        let spare = most - size - 3 * (count - index);
        let own = if size < 9 { 9.min(spare) } else { random.small(18).min(spare) };
        let length = 3 + random.small(17).min(spare - own);
        let distance = 1 + random.small(18).min(size + own - 1);
        // By its name where it has one, or as a new one.
        let is_named = own > 0 && random.below(2) == 0;
        let offset = match repeats.iter().position(|repeat| *repeat == distance).filter(|_| is_named) {
            Some(place) => 1 + place,
            None => distance + 3,
        };
        if offset != 1 {
            repeats = [distance, repeats[0]];
        }
        sequences.push(Sequence { literals: own as u32, length: length as u32, offset: offset as u32 });
        literals += own;
        size += own + length;
    }
    literals += random.below(30).min(most - size);
    ((0..literals).map(|_| random.next() as u8).collect(), sequences)
}

#[test]
fn blocks_of_any_sequences_are_carried_out() {
    let mut encoder = SequenceEncoder::new();
    let mut random = TestRandom::new(5);
    let counts = [1, 2, 3, 20, 127, 128, 500, 40_000];
    for count in counts.into_iter().cycle().take(under_miri(6, cases(200, 2000))) {
        let (literals, sequences) = random_sequences(&mut random, count);
        let raw = carry_out(&literals, &sequences);
        let mut frame = Vec::new();
        let content_size = Some(raw.len() as u64);
        let header = FrameHeader {
            window_size: raw.len() as u64,
            content_size,
            dict_id: 0,
            checksum: false,
            single_segment: true,
            header_len: 0,
        };
        header.write(10, &mut frame);
        let block = frame.len();
        frame.extend_from_slice(&[0; 3]);
        super::literals::put(&literals, &mut frame);
        encoder.put(&sequences, &mut frame);
        let word = 1 | 2 << 1 | ((frame.len() - block - 3) as u32) << 3;
        // What is larger than what it makes is no block; the encoder stores such inputs as they are.
        if frame.len() - block - 3 <= raw.len() {
            frame[block..block + 3].copy_from_slice(&word.to_le_bytes()[..3]);
            check(&frame, &raw);
        }
    }
}
