//! Integers as RocksDB stores them.
//!
//! ```text
//! fixed16/32/64   little-endian, 2/4/8 bytes
//! varint32/64     LEB128: 7 bits a byte, low group first, high bit = one more byte; at most 5 / 10 bytes
//! lps             length-prefixed string: varint32 length, then the bytes
//! zigzag          (n << 1) ^ (n >> 63), as varint64
//! ```
//!
//! Decoders accept malformed bytes: they return `None`, and never panic or read past the slice. [`Cursor`] walks a
//! buffer and names the offset in its errors.

use crate::error::{Error, Result};

/// Longest encoding of a 32-bit varint.
pub const MAX_VARINT32_LEN: usize = 5;
/// Longest encoding of a 64-bit varint.
pub const MAX_VARINT64_LEN: usize = 10;

/// Appends `value` as four little-endian bytes.
#[inline]
pub fn put_fixed32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` as eight little-endian bytes.
#[inline]
pub fn put_fixed64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value` as a varint (32- and 64-bit varints share their encoding).
#[inline]
pub fn put_varint64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` as a varint.
#[inline]
pub fn put_varint32(out: &mut Vec<u8>, value: u32) {
    put_varint64(out, u64::from(value));
}

/// Writes `value` as a varint at the start of `out` and returns its length. `out` must hold [`MAX_VARINT64_LEN`] bytes
/// or at least [`varint_len`]`(value)`.
#[inline]
pub fn write_varint64(out: &mut [u8], mut value: u64) -> usize {
    let mut length = 0;
    while value >= 0x80 {
        out[length] = value as u8 | 0x80;
        value >>= 7;
        length += 1;
    }
    out[length] = value as u8;
    length + 1
}

/// Bytes that `value` takes as a varint.
#[inline]
#[must_use]
pub fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Appends a length-prefixed string.
///
/// Lengths are varint32 on disk; callers check the 4 GiB bound when the string enters the engine.
#[inline]
pub fn put_length_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(u32::try_from(bytes.len()).is_ok());
    put_varint64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Decodes a varint64 at the start of `input`: the value and the bytes it took.
#[inline]
#[must_use]
pub fn get_varint64(input: &[u8]) -> Option<(u64, usize)> {
    let first = *input.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    match input.first_chunk::<8>() {
        Some(word) => varint_of_word(u64::from_le_bytes(*word)).or_else(|| get_varint64_slow(input)),
        None => get_varint64_slow(input),
    }
}

/// The varint at the start of a word; `None` if it is longer than the word. All groups of seven bits are moved together
/// at once.
#[inline]
fn varint_of_word(word: u64) -> Option<(u64, usize)> {
    let stops = !word & 0x8080_8080_8080_8080;
    if stops == 0 {
        return None;
    }
    // The bytes up to the first whose highest bit is clear.
    let groups = word & (stops ^ (stops - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
    let pairs = (groups & 0x007f_007f_007f_007f) | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    let value = (fours & 0x0fff_ffff) | (fours & 0x0fff_ffff_0000_0000) >> 4;
    Some((value, stops.trailing_zeros() as usize / 8 + 1))
}

#[inline(never)]
fn get_varint64_slow(input: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, &byte) in input.iter().take(MAX_VARINT64_LEN).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == 9 && byte > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Decodes a varint32 at the start of `input`: the value and the bytes it took.
#[inline]
#[must_use]
pub fn get_varint32(input: &[u8]) -> Option<(u32, usize)> {
    let first = *input.first()?;
    if first < 0x80 {
        return Some((u32::from(first), 1));
    }
    let (value, length) = get_varint64_slow(&input[..input.len().min(MAX_VARINT32_LEN)])?;
    Some((u32::try_from(value).ok()?, length))
}

/// Reads four little-endian bytes at `offset`.
#[inline]
#[must_use]
pub fn get_fixed32(input: &[u8], offset: usize) -> Option<u32> {
    let bytes = input.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// Reads eight little-endian bytes at `offset`.
#[inline]
#[must_use]
pub fn get_fixed64(input: &[u8], offset: usize) -> Option<u64> {
    let bytes = input.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Maps signed to unsigned so that small magnitudes stay short.
#[inline]
#[must_use]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Inverse of [`zigzag`].
#[inline]
#[must_use]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Walks a buffer of encoded fields; every failure is a `Corruption` that names the field and its offset.
///
/// ```
/// use ferrock_base::coding::Cursor;
/// let mut cursor = Cursor::new(&[0x96, 0x01, 2, b'h', b'i']);
/// assert_eq!(cursor.varint64("offset").unwrap(), 150);
/// assert_eq!(cursor.length_prefixed("name").unwrap(), b"hi");
/// assert!(cursor.is_empty());
/// assert_eq!(cursor.fixed32("crc").unwrap_err().offset(), Some(5));
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    input: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `input`.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, position: 0 }
    }

    /// Bytes consumed so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes not consumed yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        &self.input[self.position..]
    }

    /// True at the end of the buffer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.position == self.input.len()
    }

    #[cold]
    fn error(&self, field: &str) -> Error {
        Error::corruption(format!("truncated or malformed {field}")).at_offset(self.position as u64)
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position when fewer than `length` bytes are left; the cursor does not move.
    pub fn bytes(&mut self, length: usize, field: &str) -> Result<&'a [u8]> {
        let end = self.position.checked_add(length).filter(|&end| end <= self.input.len());
        let end = end.ok_or_else(|| self.error(field))?;
        let bytes = &self.input[self.position..end];
        self.position = end;
        Ok(bytes)
    }

    /// One byte.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position at the end of the input.
    pub fn u8(&mut self, field: &str) -> Result<u8> {
        Ok(self.bytes(1, field)?[0])
    }

    /// A little-endian u16.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position when fewer than two bytes are left.
    pub fn fixed16(&mut self, field: &str) -> Result<u16> {
        let bytes = self.bytes(2, field)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// A little-endian u32.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position when fewer than four bytes are left.
    pub fn fixed32(&mut self, field: &str) -> Result<u32> {
        let value = get_fixed32(self.input, self.position).ok_or_else(|| self.error(field))?;
        self.position += 4;
        Ok(value)
    }

    /// A little-endian u64.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position when fewer than eight bytes are left.
    pub fn fixed64(&mut self, field: &str) -> Result<u64> {
        let value = get_fixed64(self.input, self.position).ok_or_else(|| self.error(field))?;
        self.position += 8;
        Ok(value)
    }

    /// A varint32.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position when the varint is cut off or exceeds 32 bits.
    pub fn varint32(&mut self, field: &str) -> Result<u32> {
        let (value, length) = get_varint32(self.rest()).ok_or_else(|| self.error(field))?;
        self.position += length;
        Ok(value)
    }

    /// A varint64.
    ///
    /// # Errors
    /// `Corruption` naming `field` and the position when the varint is cut off or exceeds 64 bits.
    pub fn varint64(&mut self, field: &str) -> Result<u64> {
        let (value, length) = get_varint64(self.rest()).ok_or_else(|| self.error(field))?;
        self.position += length;
        Ok(value)
    }

    /// A length-prefixed string.
    ///
    /// # Errors
    /// `Corruption` naming `field` when the length is malformed or exceeds what is left; the cursor does not move.
    pub fn length_prefixed(&mut self, field: &str) -> Result<&'a [u8]> {
        let start = self.clone();
        let length = self.varint32(field)? as usize;
        self.bytes(length, field).inspect_err(|_| *self = start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_round_trip(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            put_varint64(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            prop_assert_eq!(get_varint64(&out), Some((value, out.len())));
            prop_assert_eq!(get_varint64(&out[..out.len() - 1]), None);
            let narrow = u32::try_from(value).ok().map(|value| (value, out.len()));
            prop_assert_eq!(get_varint32(&out), narrow);
            prop_assert_eq!(unzigzag(zigzag(value as i64)), value as i64);
        }

        #[test]
        fn decoders_survive_any_bytes(input in prop::collection::vec(any::<u8>(), 0..24)) {
            let _ = get_varint32(&input);
            let _ = get_varint64(&input);
            let mut cursor = Cursor::new(&input);
            while !cursor.is_empty() {
                if cursor.length_prefixed("field").is_err() && cursor.u8("byte").is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn an_overlong_varint_is_refused() {
        assert_eq!(get_varint64(&[0x80; 11]), None);
        assert_eq!(get_varint64(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
        assert_eq!(get_varint32(&[0xff, 0xff, 0xff, 0xff, 0x1f]), None);
    }
}
