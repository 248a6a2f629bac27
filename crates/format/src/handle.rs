//! Where a block lies in a table file.
//!
//! ```text
//! | offset varint64 | size varint64 |      size excludes the block's five-byte trailer; (0, 0) is the null handle
//! ```

use crate::trailer::BLOCK_TRAILER_SIZE;
use ferrock_base::coding::{get_varint64, put_varint64};
use ferrock_base::{Error, Result};

/// Longest encoding of a handle.
pub const MAX_ENCODED_LEN: usize = 20;

/// Offset and payload size of a block.
///
/// A decoded handle is unchecked: check it against the file with [`end_with_trailer`](Self::end_with_trailer) before
/// reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockHandle {
    /// File offset of the first payload byte.
    pub offset: u64,
    /// Payload bytes, without the trailer.
    pub size: u64,
}

impl BlockHandle {
    /// The handle of no block.
    pub const NULL: Self = Self { offset: 0, size: 0 };

    /// A handle.
    #[inline]
    #[must_use]
    pub const fn new(offset: u64, size: u64) -> Self {
        Self { offset, size }
    }

    /// True for [`NULL`](Self::NULL).
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self == Self::NULL
    }

    /// Appends the encoding.
    #[inline]
    pub fn encode_to(self, out: &mut Vec<u8>) {
        put_varint64(out, self.offset);
        put_varint64(out, self.size);
    }

    /// The handle at the start of `input` and the bytes it took.
    ///
    /// # Errors
    /// `Corruption` when one of the two varints is malformed.
    #[inline]
    pub fn decode(input: &[u8]) -> Result<(Self, usize)> {
        Self::parse(input).ok_or_else(malformed)
    }

    /// The same, `None` when one of the two varints is malformed.
    #[inline]
    pub(crate) fn parse(input: &[u8]) -> Option<(Self, usize)> {
        let (offset, offset_len) = get_varint64(input)?;
        let (size, size_len) = get_varint64(&input[offset_len..])?;
        Some((Self { offset, size }, offset_len + size_len))
    }

    /// First offset behind the payload, `None` if the sum does not fit 64 bits.
    #[inline]
    #[must_use]
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)
    }

    /// First offset behind the trailer, `None` if the sum does not fit 64 bits.
    #[inline]
    #[must_use]
    pub fn end_with_trailer(self) -> Option<u64> {
        self.end()?.checked_add(BLOCK_TRAILER_SIZE as u64)
    }

    /// Payload plus trailer as a length in memory, once the block is known to end at or before `limit`.
    ///
    /// Call this before allocating: it bounds the length by bytes that exist.
    ///
    /// # Errors
    /// `Corruption` when the block reaches beyond `limit`.
    pub fn checked_len_with_trailer(self, limit: u64) -> Result<usize> {
        let inside = self.end_with_trailer().is_some_and(|end| end <= limit);
        let length = self.size.checked_add(BLOCK_TRAILER_SIZE as u64).and_then(|length| usize::try_from(length).ok());
        match length {
            Some(length) if inside => Ok(length),
            _ => Err(Error::corruption(format!(
                "block handle ({}, {}) reaches beyond offset {limit}",
                self.offset, self.size
            ))
            .at_offset(self.offset)),
        }
    }
}

#[cold]
fn malformed() -> Error {
    Error::corruption("truncated or malformed block handle")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn handles_round_trip(offset in any::<u64>(), size in any::<u64>(), shift in 0u32..64, tail in any::<[u8; 3]>()) {
            let handle = BlockHandle::new(offset >> shift, size >> (63 - shift));
            let mut bytes = Vec::new();
            handle.encode_to(&mut bytes);
            let length = bytes.len();
            prop_assert!(length <= MAX_ENCODED_LEN);
            bytes.extend_from_slice(&tail);
            prop_assert_eq!(BlockHandle::decode(&bytes).unwrap(), (handle, length));
            for cut in 0..length {
                prop_assert!(BlockHandle::decode(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn sums_that_overflow_are_refused() {
        assert_eq!(BlockHandle::new(u64::MAX - 4, 0).end_with_trailer(), None);
        assert_eq!(BlockHandle::new(u64::MAX, 1).end(), None);
        assert_eq!(BlockHandle::new(10, 20).checked_len_with_trailer(35).unwrap(), 25);
        let error = BlockHandle::new(10, 20).checked_len_with_trailer(34).unwrap_err();
        assert_eq!((error.is_corruption(), error.offset()), (true, Some(10)));
        assert!(BlockHandle::new(1, u64::MAX).checked_len_with_trailer(u64::MAX).is_err());
    }

    #[test]
    fn the_bytes_of_a_known_footer() {
        assert_eq!(BlockHandle::decode(&[0x89, 0x08, 0x21]).unwrap(), (BlockHandle::new(1033, 33), 3));
    }
}
