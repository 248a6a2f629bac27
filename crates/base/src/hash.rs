//! Hash functions whose values are persisted: filters, data-block hash indexes and unique ids depend on them.
//!
//! | function | what it is | stored in |
//! |---|---|---|
//! | [`hash32`] | Murmur-like, 32 bits | legacy Bloom filters, data-block hash index, PlainTable |
//! | [`hash64`] | the frozen *preview* of XXH3 (xxHash 0.7.2) | FastLocalBloom and Ribbon filters |
//! | [`hash128`] | released XXH3, 128 bits | unique ids of table files |
//! | [`bijective_hash`] | a one-to-one 128-bit mix | public unique ids |
//!
//! The values must never change: with a changed hash, a filter hides existing keys. [`hash64`] differs from the
//! released XXH3 at every length, so it is written out in `hash/preview.rs` and no library can replace it.

mod bijective;
mod murmur;
mod preview;
#[cfg(test)]
mod tests;

pub use bijective::{bijective_hash, bijective_unhash};
pub use murmur::hash32;
pub use preview::{hash64, hash64_with_seed};

/// Released XXH3-128 of `data`: `(high, low)` halves.
#[must_use]
pub fn hash128(data: &[u8], seed: u64) -> (u64, u64) {
    let hash = twox_hash::XxHash3_128::oneshot_with_seed(seed, data);
    ((hash >> 64) as u64, hash as u64)
}

/// Maps a 32-bit hash to `0..range` by multiply and shift.
#[inline]
#[must_use]
pub fn fast_range32(hash: u32, range: u32) -> u32 {
    ((u64::from(hash) * u64::from(range)) >> 32) as u32
}

/// Maps a 64-bit hash to `0..range` by multiply and shift.
#[inline]
#[must_use]
pub fn fast_range64(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}
