//! The 32-bit Murmur-like hash.

const MULTIPLIER: u32 = 0xC6A4_A793;

/// Hashes `data` to 32 bits.
///
/// Bytes after the last whole group of four are **sign-extended** before they are added: 0x80 contributes
/// `0xFFFFFF80`. That is how the first implementation, with its signed `char`, wrote it to disk.
///
/// ```
/// assert_eq!(ferrock_base::hash::hash32(b"key000", 397), 0x8caee369);
/// assert_eq!(ferrock_base::hash::hash32(&[0xe9, 0xe8, 0xe7], 397), 0x5d5c08fa);
/// ```
#[inline]
#[must_use]
pub fn hash32(data: &[u8], seed: u32) -> u32 {
    let mut hash = seed ^ (data.len() as u32).wrapping_mul(MULTIPLIER);
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word)).wrapping_mul(MULTIPLIER);
        hash ^= hash >> 16;
    }
    if !tail.is_empty() {
        for (index, &byte) in tail.iter().enumerate() {
            let extended = i32::from(byte as i8) as u32;
            hash = hash.wrapping_add(extended << (8 * index));
        }
        hash = hash.wrapping_mul(MULTIPLIER);
        hash ^= hash >> 24;
    }
    hash
}
