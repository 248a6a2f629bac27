//! The five bytes behind every block of a block-based table.
//!
//! ```text
//! | payload, handle.size bytes | compression type u8 | checksum u32 |
//! `------------ covered by the checksum -------------'
//! ```
//!
//! From format_version 6 on the stored value also contains a modifier made from the block's offset and a random number
//! of the file ([`context_modifier`]), so that a block at the wrong place does not verify. Checksum type *none* is
//! compared like the others: its field must be 0, or exactly the modifier.

use ferrock_base::checksum::{ChecksumType, context_modifier};
use ferrock_base::{Error, Result};

/// Bytes of a block trailer.
pub const BLOCK_TRAILER_SIZE: usize = 5;

/// The value to store for a block at `offset`. `base_context` is 0 before format_version 6.
#[inline]
#[must_use]
pub fn compute(
    checksum_type: ChecksumType,
    payload: &[u8],
    compression_byte: u8,
    base_context: u32,
    offset: u64,
) -> u32 {
    checksum_type.block_checksum(payload, compression_byte).wrapping_add(context_modifier(base_context, offset))
}

/// The whole trailer of a block at `offset`.
#[inline]
#[must_use]
pub fn encode(
    checksum_type: ChecksumType,
    payload: &[u8],
    compression_byte: u8,
    base_context: u32,
    offset: u64,
) -> [u8; BLOCK_TRAILER_SIZE] {
    let [a, b, c, d] = compute(checksum_type, payload, compression_byte, base_context, offset).to_le_bytes();
    [compression_byte, a, b, c, d]
}

/// Splits a block as read, trailer included, into payload, compression byte and stored checksum.
///
/// # Errors
/// `Corruption` when the block is shorter than its trailer.
#[inline]
pub fn split(block: &[u8], offset: u64) -> Result<(&[u8], u8, u32)> {
    match block.split_last_chunk::<BLOCK_TRAILER_SIZE>() {
        Some((payload, &[compression, a, b, c, d])) => Ok((payload, compression, u32::from_le_bytes([a, b, c, d]))),
        None => Err(Error::corruption(format!("block of {} bytes has no trailer", block.len())).at_offset(offset)),
    }
}

/// Checks a block as read (payload, then its trailer) that starts at `offset`; returns payload and compression byte.
///
/// # Errors
/// `Corruption` naming both checksums when they differ, and when the block is shorter than its trailer.
#[inline]
pub fn verify(checksum_type: ChecksumType, block: &[u8], base_context: u32, offset: u64) -> Result<(&[u8], u8)> {
    let (payload, compression_byte, stored) = split(block, offset)?;
    let computed = compute(checksum_type, payload, compression_byte, base_context, offset);
    if computed == stored {
        return Ok((payload, compression_byte));
    }
    Err(mismatch(checksum_type, stored, computed, payload.len(), offset))
}

#[cold]
fn mismatch(checksum_type: ChecksumType, stored: u32, computed: u32, size: usize, offset: u64) -> Error {
    let name = checksum_type.option_name();
    Error::corruption(format!(
        "block checksum mismatch: stored {stored:#010x}, computed {computed:#010x}, type {name}, size {size}"
    ))
    .at_offset(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_verify_only_where_they_were_written(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            compression in any::<u8>(),
            base in 1..u32::MAX,
            offset in 0..1u64 << 40,
            flip in any::<prop::sample::Index>(),
        ) {
            for kind in ChecksumType::ALL {
                let mut block = payload.clone();
                block.extend_from_slice(&encode(kind, &payload, compression, base, offset));
                prop_assert_eq!(verify(kind, &block, base, offset).unwrap(), (&payload[..], compression));
                prop_assert!(verify(kind, &block, base, offset + 5).is_err());
                prop_assert!(verify(kind, &block, base ^ 1, offset).is_err());
                if kind != ChecksumType::NoChecksum {
                    let at = flip.index(block.len());
                    block[at] ^= 0x10;
                    let error = verify(kind, &block, base, offset).unwrap_err();
                    prop_assert_eq!((error.is_corruption(), error.offset()), (true, Some(offset)));
                }
            }
        }
    }

    #[test]
    fn the_context_moves_the_stored_value() {
        // base 0x7a9818e5, block at 75: 0x6d7506d6 without context is stored as 84 1f 0d e8.
        assert_eq!(
            0x6d75_06d6_u32.wrapping_add(context_modifier(0x7a98_18e5, 75)).to_le_bytes(),
            [0x84, 0x1f, 0x0d, 0xe8]
        );
        assert_eq!(compute(ChecksumType::NoChecksum, b"any", 0, 0x7a98_18e5, 75), 0x7a98_18ae);
        assert_eq!(compute(ChecksumType::NoChecksum, b"any", 0, 0, 75), 0);
        assert!(split(&[0; 4], 9).unwrap_err().is_corruption());
    }
}
