//! A one-to-one mix of 128 bits: XXH3-128 of the sixteen bytes `low ‖ high`, written out so that it can be inverted.

const XXH_PRIME32_2: u64 = 0x85EB_CA77;
const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const AVALANCHE: u64 = 0x1656_6791_9E37_79F9;
const LOW_SECRET: u64 = 0x5997_3F00_3336_2349;
const HIGH_SECRET: u64 = 0xC202_7976_92D6_3D58;

#[inline]
fn wide_product(left: u64, right: u64) -> (u64, u64) {
    let product = u128::from(left) * u128::from(right);
    ((product >> 64) as u64, product as u64)
}

#[inline]
fn avalanche(mut value: u64) -> u64 {
    value ^= value >> 37;
    value = value.wrapping_mul(AVALANCHE);
    value ^ (value >> 32)
}

fn unavalanche(mut value: u64) -> u64 {
    value ^= value >> 32;
    value = value.wrapping_mul(inverse(AVALANCHE));
    value ^ (value >> 37)
}

/// The multiplicative inverse of an odd number modulo 2^64 (Newton's iteration doubles the correct bits each round).
const fn inverse(odd: u64) -> u64 {
    let mut result = odd;
    let mut round = 0;
    while round < 6 {
        result = result.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(result)));
        round += 1;
    }
    result
}

/// Mixes `(high, low)`; different inputs give different outputs.
#[must_use]
pub fn bijective_hash(high: u64, low: u64, seed: u64) -> (u64, u64) {
    let (mut upper, mut lower) = wide_product(low ^ high ^ LOW_SECRET.wrapping_sub(seed), PRIME64_1);
    lower = lower.wrapping_add(15 << 54);
    let high = high ^ HIGH_SECRET.wrapping_add(seed);
    upper = upper.wrapping_add(high).wrapping_add((high & 0xFFFF_FFFF).wrapping_mul(XXH_PRIME32_2 - 1));
    lower ^= upper.swap_bytes();
    let (carry, low_product) = wide_product(lower, PRIME64_2);
    let high_product = carry.wrapping_add(upper.wrapping_mul(PRIME64_2));
    (avalanche(high_product), avalanche(low_product))
}

/// Undoes [`bijective_hash`] with the same seed.
#[must_use]
pub fn bijective_unhash(high: u64, low: u64, seed: u64) -> (u64, u64) {
    let lower = unavalanche(low).wrapping_mul(inverse(PRIME64_2));
    let (carry, _) = wide_product(lower, PRIME64_2);
    let upper = unavalanche(high).wrapping_sub(carry).wrapping_mul(inverse(PRIME64_2));
    let low_product = (lower ^ upper.swap_bytes()).wrapping_sub(15 << 54);
    let mixed = low_product.wrapping_mul(inverse(PRIME64_1));
    let (carry, _) = wide_product(mixed, PRIME64_1);
    // upper - carry = high + low32(high) * (P - 1): its low half is low32(high) * P, which has an inverse.
    let sum = upper.wrapping_sub(carry);
    let low_half = (sum as u32).wrapping_mul(inverse(XXH_PRIME32_2) as u32);
    let keyed = sum.wrapping_sub(u64::from(low_half).wrapping_mul(XXH_PRIME32_2 - 1));
    let original_high = keyed ^ HIGH_SECRET.wrapping_add(seed);
    (original_high, mixed ^ original_high ^ LOW_SECRET.wrapping_sub(seed))
}
