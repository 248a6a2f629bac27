//! The LZ4 decoder and the fast encoder against an oracle: a decoder that copies byte by byte and checks everything.

use std::mem::MaybeUninit;

use super::lz4_block::{LAST_LITERALS, MATCH_START_MARGIN, MIN_MATCH, max_output_size};
use super::lz4_decode::decode;
use super::lz4_fast::FastEncoder;
use super::test_random::{TestRandom, cases, under_miri};

/// The content of a block that decodes to exactly `size` bytes, by the format and its rules of the end.
fn oracle(input: &[u8], dictionary: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut history = dictionary.to_vec();
    let end = dictionary.len() + size;
    let mut bytes = input.iter().copied();
    let long = |short: u8, bytes: &mut dyn Iterator<Item = u8>| {
        let mut length = usize::from(short);
        let mut goes_on = short == 15;
        while goes_on {
            let more = bytes.next()?;
            length += usize::from(more);
            goes_on = more == 255;
        }
        Some(length)
    };
    loop {
        let token = bytes.next()?;
        for _ in 0..long(token >> 4, &mut bytes)? {
            history.push(bytes.next()?);
        }
        if history.len() > end {
            return None;
        }
        if bytes.len() == 0 {
            return (history.len() == end).then(|| history.split_off(dictionary.len()));
        }
        if bytes.len() < 3 + LAST_LITERALS || end - history.len() < MATCH_START_MARGIN {
            return None;
        }
        let distance = usize::from(u16::from_le_bytes([bytes.next()?, bytes.next()?]));
        let length = long(token & 15, &mut bytes)? + MIN_MATCH;
        if distance == 0 || distance > history.len() || history.len() + length + LAST_LITERALS > end {
            return None;
        }
        for _ in 0..length {
            history.push(history[history.len() - distance]);
        }
    }
}

/// Decodes between two stretches of memory that must stay as they are.
fn decode_guarded(input: &[u8], dictionary: &[u8], size: usize) -> Option<Vec<u8>> {
    const GUARD: usize = 128;
    const MARK: u8 = 0xa5;
    // Memory of just the right size, so that AddressSanitizer sees what is read beyond.
    let (input, dictionary) = (Box::<[u8]>::from(input), Box::<[u8]>::from(dictionary));
    let mut memory = vec![MaybeUninit::new(MARK); size + 2 * GUARD];
    let result = decode(&input, &dictionary, &mut memory[GUARD..GUARD + size]);
    // SAFETY: all of it was initialized when the vector was made.
    let memory: Vec<u8> = memory.iter().map(|byte| unsafe { byte.assume_init() }).collect();
    assert!(
        memory[..GUARD].iter().chain(&memory[GUARD + size..]).all(|byte| *byte == MARK),
        "written beyond the output"
    );
    result.ok().map(|()| memory[GUARD..GUARD + size].to_vec())
}

#[track_caller]
fn compare(input: &[u8], dictionary: &[u8], size: usize) -> bool {
    let expected = oracle(input, dictionary, size);
    assert_eq!(
        decode_guarded(input, dictionary, size),
        expected,
        "{input:?}, {} of dictionary, {size}",
        dictionary.len()
    );
    expected.is_some()
}

fn put_long(out: &mut Vec<u8>, length: usize) {
    if length >= 15 {
        out.extend(std::iter::repeat_n(255, (length - 15) / 255));
        out.push(((length - 15) % 255) as u8);
    }
}

/// A block of random sequences, nearly all of which are possible, and its size.
fn random_block(random: &mut TestRandom, dictionary: usize) -> (Vec<u8>, usize) {
    let (mut block, mut size) = (Vec::new(), 0);
    let lengths = [3, 16, 20, 70, 400, 1200];
    let longest = lengths[random.below(under_miri(4, lengths.len()))];
    for _ in 0..random.below(under_miri(16, 60)) {
        let (literals, extra) = (random.below(longest), random.below(longest));
        block.push(((literals.min(15) << 4) | extra.min(15)) as u8);
        put_long(&mut block, literals);
        block.extend((0..literals).map(|_| random.next() as u8));
        size += literals;
        let near = [1, 2, 8, 16, 64, 65_535];
        let most = near[random.below(near.len())].min(size + dictionary + usize::from(random.below(500) == 0));
        let distance = if most == 0 { 0 } else { 1 + random.below(most) };
        block.extend((distance as u16).to_le_bytes());
        put_long(&mut block, extra);
        size += MIN_MATCH + extra;
    }
    let last = 5 + random.below(30);
    block.push((last.min(15) << 4) as u8);
    put_long(&mut block, last);
    block.extend((0..last).map(|_| random.next() as u8));
    (block, size + last)
}

#[test]
fn blocks_decode_as_the_oracle_decodes_them() {
    let mut random = TestRandom::new(0x9e37_79b9_7f4a_7c15);
    let rounds = cases(1500, 30_000);
    let (mut sound, mut damaged) = (0, 0);
    for round in 0..rounds {
        let dictionary: Vec<u8> = match round % 3 {
            0 => Vec::new(),
            _ => (0..random.below(under_miri(100, 3000))).map(|_| random.next() as u8).collect(),
        };
        let (mut block, size) = random_block(&mut random, dictionary.len());
        sound += usize::from(compare(&block, &dictionary, size));
        for wrong in [size + 1, size.saturating_sub(1), size.saturating_sub(random.below(80)), random.below(size + 1)] {
            compare(&block, &dictionary, wrong);
        }
        compare(&block[..random.below(block.len())], &dictionary, size);
        for _ in 0..4 {
            let place = random.below(block.len());
            block[place] = match random.below(3) {
                0 => random.next() as u8,
                1 => block[place] ^ (1 << random.below(8)),
                _ => 255,
            };
            damaged += usize::from(!compare(&block, &dictionary, size));
        }
    }
    assert!(cfg!(miri) || sound > rounds / 3 && damaged > rounds, "{sound} blocks were sound, {damaged} damaged");
}

#[test]
fn rules_of_the_end() {
    // A match of four, then five literals; it begins 9 before the end, 12 are needed.
    let near_end = [0x10, 7, 1, 0, 0x50, 1, 2, 3, 4, 5];
    assert!(!compare(&near_end, b"", 10));
    let longer = [0x13, 7, 1, 0, 0x50, 1, 2, 3, 4, 5];
    assert!(compare(&longer, b"", 13));
    // One literal more than the block has.
    assert!(!compare(&[0x20, 7], b"", 2));
    // No output at all.
    assert!(compare(&[0], b"", 0) && !compare(&[], b"", 0) && !compare(&[0, 0], b"", 0));
    // No distance; one that begins a byte before everything; in the dictionary.
    let mut block = vec![0x14, 7, 0, 0, 0x50, 1, 2, 3, 4, 5];
    assert!(!compare(&block, b"12345", 14));
    block[2] = 6;
    assert!(compare(&block, b"12345", 14) && !compare(&block, b"1234", 14));
    // A length without end.
    assert!(!compare(&[&[0xf0][..], &[255; 5000]].concat(), b"", under_miri(1000, 1_000_000)));
}

#[test]
fn what_the_encoder_makes_decodes_again() {
    let mut random = TestRandom::new(7);
    let mut out = Vec::new();
    for acceleration in under_miri(&[1][..], &[1, 3, 100_000]).iter().copied() {
        let mut encoder = FastEncoder::new(acceleration);
        for size in (0..200).chain([4095, 65_534, 65_535, 65_536, 65_537, 200_000]) {
            if under_miri(size > 200 || size % 80 != 39, false) {
                continue;
            }
            for alphabet in [1, 2, 30, 256] {
                let mut raw: Vec<u8> = (0..size).map(|_| random.below(alphabet) as u8).collect();
                for _ in 0..size / 40 {
                    let (from, to, length) = (random.below(size), random.below(size), random.below(120));
                    let end = (from + length).min(size).min(size - to.min(size) + from);
                    raw.copy_within(from..end, to);
                }
                out.clear();
                out.extend(b"before");
                encoder.compress(&raw, &mut out);
                assert!(out.starts_with(b"before") && out.len() - 6 <= max_output_size(size));
                assert_eq!(decode_guarded(&out[6..], b"", size).as_deref(), Some(&*raw), "{size} of {alphabet}");
                if size < 5000 {
                    assert_eq!(oracle(&out[6..], b"", size).as_deref(), Some(&*raw));
                }
            }
        }
    }
}
