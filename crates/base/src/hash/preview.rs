//! The 64-bit XXH3 as it was in xxHash 0.7.2, with its own value for empty input.
//!
//! Filters of format_version 5 and later depend on these exact values. The released XXH3 differs at every length:
//! another last multiplier everywhere; other mixes up to 16 bytes; above 240 bytes no swap of neighbouring lanes, exact
//! multiples of 1024 counted as whole blocks, and no extra stripe when the length is a multiple of 64.
//!
//! ```text
//! length   0      1-3    4-8    9-16   17-128                 129-240                241 and more
//! method   const  3 byte 2 word 2 word 32-byte rounds from    16-byte rounds forward 64-byte stripes over
//!                 sample        fold   both ends inwards      plus the last 16       eight lanes
//! ```

const PRIME32_1: u64 = 0x9E37_79B1;
const PRIME32_2: u64 = 0x85EB_CA77;
const PRIME32_3: u64 = 0xC2B2_AE3D;
const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME64_5: u64 = 0x27D4_EB2F_1656_67C5;

const SECRET_LEN: usize = 192;
const STRIPE_LEN: usize = 64;
const STRIPES_PER_BLOCK: usize = 16;
const BLOCK_LEN: usize = STRIPE_LEN * STRIPES_PER_BLOCK;

/// The default XXH3 secret, the same as the released one.
#[rustfmt::skip]
const SECRET: [u8; SECRET_LEN] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// A secret word known at compile time.
const fn secret64(offset: usize) -> u64 {
    word64(&SECRET, offset)
}

const SECRET_0: u64 = secret64(0);
const SECRET_8: u64 = secret64(8);

/// Reads eight little-endian bytes; the constant offsets and length checks of the callers let the bound check vanish.
#[inline(always)]
const fn word64(bytes: &[u8], offset: usize) -> u64 {
    let (_, rest) = bytes.split_at(offset);
    let (word, _) = rest.split_at(8);
    u64::from_le_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]])
}

#[inline(always)]
const fn word32(bytes: &[u8], offset: usize) -> u64 {
    let (_, rest) = bytes.split_at(offset);
    let (word, _) = rest.split_at(4);
    u32::from_le_bytes([word[0], word[1], word[2], word[3]]) as u64
}

/// Both halves of the 128-bit product, exclusive-ored.
#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 37;
    hash = hash.wrapping_mul(PRIME64_3);
    hash ^ (hash >> 32)
}

#[inline(always)]
fn mix(data: &[u8], offset: usize, secret_offset: usize, seed: u64) -> u64 {
    fold(
        word64(data, offset) ^ word64(&SECRET, secret_offset).wrapping_add(seed),
        word64(data, offset + 8) ^ word64(&SECRET, secret_offset + 8).wrapping_sub(seed),
    )
}

/// Hashes `data` with seed 0, as every filter does.
///
/// ```
/// use ferrock_base::hash::hash64;
/// assert_eq!(hash64(b""), 0x5342c3010fe1dd04);
/// assert_eq!(hash64(b"key000000"), 0xc42dc166a6dd1c90);
/// ```
#[inline]
#[must_use]
pub fn hash64(data: &[u8]) -> u64 {
    hash64_with_seed(data, 0)
}

/// [`hash64`] with a seed.
#[inline]
#[must_use]
pub fn hash64_with_seed(data: &[u8], seed: u64) -> u64 {
    match data.len() {
        9..=16 => hash_9_to_16(data, seed),
        17..=128 => hash_17_to_128(data, seed),
        4..=8 => hash_4_to_8(data, seed),
        0..=3 => hash_0_to_3(data, seed),
        129..=240 => hash_129_to_240(data, seed),
        _ => hash_long(data, seed),
    }
}

#[inline(always)]
fn hash_0_to_3(data: &[u8], seed: u64) -> u64 {
    let (Some(&first), Some(&last)) = (data.first(), data.last()) else {
        return fold(seed.wrapping_add(SECRET_0), PRIME64_2);
    };
    let length = data.len();
    let middle = data[length / 2];
    let combined = u64::from(first) | u64::from(middle) << 8 | u64::from(last) << 16 | (length as u64) << 24;
    finish((combined ^ word32(&SECRET, 0).wrapping_add(seed)).wrapping_mul(PRIME64_1))
}

#[inline(always)]
fn hash_4_to_8(data: &[u8], seed: u64) -> u64 {
    let length = data.len();
    let keyed = (word32(data, 0) | word32(data, length - 4) << 32) ^ SECRET_0.wrapping_add(seed);
    let mixed = (length as u64).wrapping_add((keyed ^ (keyed >> 51)).wrapping_mul(PRIME32_1));
    finish((mixed ^ (mixed >> 47)).wrapping_mul(PRIME64_2))
}

#[inline(always)]
fn hash_9_to_16(data: &[u8], seed: u64) -> u64 {
    let length = data.len();
    let low = word64(data, 0) ^ SECRET_0.wrapping_add(seed);
    let high = word64(data, length - 8) ^ SECRET_8.wrapping_sub(seed);
    finish((length as u64).wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high)))
}

#[inline]
fn hash_17_to_128(data: &[u8], seed: u64) -> u64 {
    let length = data.len();
    let mut sum = (length as u64).wrapping_mul(PRIME64_1);
    for round in 0..=(length - 1) / 32 {
        sum = sum.wrapping_add(mix(data, 16 * round, 32 * round, seed)).wrapping_add(mix(
            data,
            length - 16 * (round + 1),
            32 * round + 16,
            seed,
        ));
    }
    finish(sum)
}

#[inline(never)]
fn hash_129_to_240(data: &[u8], seed: u64) -> u64 {
    let length = data.len();
    let mut sum = (length as u64).wrapping_mul(PRIME64_1);
    for round in 0..8 {
        sum = sum.wrapping_add(mix(data, 16 * round, 16 * round, seed));
    }
    sum = finish(sum);
    for round in 8..length / 16 {
        sum = sum.wrapping_add(mix(data, 16 * round, 16 * (round - 8) + 3, seed));
    }
    finish(sum.wrapping_add(mix(data, length - 16, 119, seed)))
}

type Lanes = [u64; 8];

/// Adds one stripe: each word goes into its own lane, plus the product of the halves of its keyed form.
#[inline(always)]
fn add_stripe(lanes: &mut Lanes, stripe: &[u8], secret: &[u8]) {
    let (words, _) = stripe.as_chunks::<8>();
    let (keys, _) = secret.as_chunks::<8>();
    for ((lane, word), key) in lanes.iter_mut().zip(words).zip(keys) {
        let word = u64::from_le_bytes(*word);
        let keyed = word ^ u64::from_le_bytes(*key);
        *lane = lane.wrapping_add(word).wrapping_add((keyed & 0xFFFF_FFFF).wrapping_mul(keyed >> 32));
    }
}

#[inline(always)]
fn scramble(lanes: &mut Lanes, secret: &[u8; SECRET_LEN]) {
    for (index, lane) in lanes.iter_mut().enumerate() {
        *lane = (*lane ^ (*lane >> 47) ^ word64(secret, 128 + 8 * index)).wrapping_mul(PRIME32_1);
    }
}

fn seeded_secret(seed: u64) -> [u8; SECRET_LEN] {
    let mut secret = SECRET;
    for offset in (0..SECRET_LEN).step_by(16) {
        let low = word64(&SECRET, offset).wrapping_add(seed);
        let high = word64(&SECRET, offset + 8).wrapping_sub(seed);
        secret[offset..offset + 8].copy_from_slice(&low.to_le_bytes());
        secret[offset + 8..offset + 16].copy_from_slice(&high.to_le_bytes());
    }
    secret
}

#[inline(never)]
fn hash_long(data: &[u8], seed: u64) -> u64 {
    let secret = if seed == 0 { SECRET } else { seeded_secret(seed) };
    let mut lanes: Lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
    let (blocks, rest) = data.as_chunks::<BLOCK_LEN>();
    for block in blocks {
        add_stripes(&mut lanes, block, &secret);
        scramble(&mut lanes, &secret);
    }
    add_stripes(&mut lanes, rest, &secret);
    if !data.len().is_multiple_of(STRIPE_LEN) {
        add_stripe(&mut lanes, &data[data.len() - STRIPE_LEN..], &secret[SECRET_LEN - STRIPE_LEN - 7..]);
    }
    let mut sum = (data.len() as u64).wrapping_mul(PRIME64_1);
    for (index, pair) in lanes.chunks_exact(2).enumerate() {
        let low = pair[0] ^ word64(&secret, 11 + 16 * index);
        let high = pair[1] ^ word64(&secret, 19 + 16 * index);
        sum = sum.wrapping_add(fold(low, high));
    }
    finish(sum)
}

/// Adds every whole stripe of `data` (at most a block) with secret offsets 0, 8, 16, ...
#[inline(always)]
fn add_stripes(lanes: &mut Lanes, data: &[u8], secret: &[u8; SECRET_LEN]) {
    let (stripes, _) = data.as_chunks::<STRIPE_LEN>();
    for (index, stripe) in stripes.iter().enumerate() {
        add_stripe(lanes, stripe, &secret[8 * index..]);
    }
}
