//! Internal keys: the sort keys of tables and memtables.
//!
//! ```text
//! internal key = user key || trailer
//! trailer      = u64 LE of (sequence << 8) | type      8 bytes; first byte on disk is the type
//! ```
//!
//! Order: user key ascending by the comparator, then trailer *descending*, so that
//! the newest version of a key comes first.

use crate::error::{Error, Result};
use crate::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};

/// Bytes of the trailer.
pub const TRAILER_SIZE: usize = 8;

/// Trailer of a file boundary made by the exclusive end of a range tombstone: it sorts before every real entry of its
/// user key, so the boundary does not include that key.
pub const RANGE_TOMBSTONE_SENTINEL: u64 = pack_trailer(MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);

/// Combines sequence number and type.
#[inline]
#[must_use]
pub const fn pack_trailer(sequence: SequenceNumber, value_type: ValueType) -> u64 {
    (sequence.0 << 8) | value_type as u64
}

/// Appends `user_key` with its trailer to `out`.
#[inline]
pub fn append_internal_key(out: &mut Vec<u8>, user_key: &[u8], sequence: SequenceNumber, value_type: ValueType) {
    out.extend_from_slice(user_key);
    out.extend_from_slice(&pack_trailer(sequence, value_type).to_le_bytes());
}

/// A new internal key.
#[inline]
#[must_use]
pub fn make_internal_key(user_key: &[u8], sequence: SequenceNumber, value_type: ValueType) -> Vec<u8> {
    let mut out = Vec::with_capacity(user_key.len() + TRAILER_SIZE);
    append_internal_key(&mut out, user_key, sequence, value_type);
    out
}

/// The user key of an internal key; empty for an internal key of fewer than eight bytes (which decoders refuse).
#[inline]
#[must_use]
pub fn user_key(internal_key: &[u8]) -> &[u8] {
    &internal_key[..internal_key.len().saturating_sub(TRAILER_SIZE)]
}

/// A user key in its two parts: the key, and behind it a timestamp of `timestamp_size` bytes, as the comparator says
/// ([`Comparator::timestamp_size`](crate::Comparator::timestamp_size)). A key that is shorter than that has neither.
#[inline]
#[must_use]
pub fn split_timestamp(user_key: &[u8], timestamp_size: usize) -> (&[u8], &[u8]) {
    user_key.split_at(user_key.len().saturating_sub(timestamp_size))
}

/// The trailer of an internal key; 0 when it is too short to have one.
#[inline]
#[must_use]
pub fn trailer(internal_key: &[u8]) -> u64 {
    match internal_key.last_chunk::<TRAILER_SIZE>() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => 0,
    }
}

/// The sequence number of an internal key.
#[inline]
#[must_use]
pub fn sequence(internal_key: &[u8]) -> SequenceNumber {
    SequenceNumber(trailer(internal_key) >> 8)
}

/// An internal key in its three parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedInternalKey<'a> {
    /// The caller's key.
    pub user_key: &'a [u8],
    /// The sequence number of the write.
    pub sequence: SequenceNumber,
    /// The type of the entry.
    pub value_type: ValueType,
}

impl<'a> ParsedInternalKey<'a> {
    /// Splits an internal key. One that is too short or of an unknown type is a corruption.
    ///
    /// # Errors
    /// `Corruption` for a key shorter than its trailer and for a type that no release has.
    #[inline]
    pub fn parse(internal_key: &'a [u8]) -> Result<Self> {
        if internal_key.len() < TRAILER_SIZE {
            return Err(too_short(internal_key.len()));
        }
        let packed = trailer(internal_key);
        let Some(value_type) = ValueType::from_u8(packed as u8) else {
            return Err(unknown_type(packed as u8));
        };
        Ok(Self { user_key: user_key(internal_key), sequence: SequenceNumber(packed >> 8), value_type })
    }

    /// The encoded form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        make_internal_key(self.user_key, self.sequence, self.value_type)
    }
}

#[cold]
fn too_short(length: usize) -> Error {
    Error::corruption(format!("internal key of {length} bytes is shorter than its 8-byte trailer"))
}

#[cold]
fn unknown_type(byte: u8) -> Error {
    Error::corruption(format!("internal key with unknown type {byte:#04x}"))
}

/// Keys up to this length are looked up without an allocation.
const INLINE_KEY: usize = 120;

/// The internal key a lookup seeks: the newest version of a user key that is visible at a sequence number.
#[derive(Clone, Debug)]
pub struct LookupKey {
    length: usize,
    inline: [u8; INLINE_KEY + TRAILER_SIZE],
    heap: Vec<u8>,
}

impl LookupKey {
    /// Prepares the lookup of `user_key` as of `sequence`.
    #[inline]
    #[must_use]
    pub fn new(user_key: &[u8], sequence: SequenceNumber) -> Self {
        let mut key =
            Self { length: user_key.len() + TRAILER_SIZE, inline: [0; INLINE_KEY + TRAILER_SIZE], heap: Vec::new() };
        let trailer = pack_trailer(sequence, ValueType::FOR_SEEK).to_le_bytes();
        if user_key.len() <= INLINE_KEY {
            key.inline[..user_key.len()].copy_from_slice(user_key);
            key.inline[user_key.len()..key.length].copy_from_slice(&trailer);
        } else {
            key.heap.reserve_exact(key.length);
            key.heap.extend_from_slice(user_key);
            key.heap.extend_from_slice(&trailer);
        }
        key
    }

    /// The encoded internal key.
    #[inline]
    #[must_use]
    pub fn internal_key(&self) -> &[u8] {
        if self.heap.is_empty() { &self.inline[..self.length] } else { &self.heap }
    }

    /// The user key.
    #[inline]
    #[must_use]
    pub fn user_key(&self) -> &[u8] {
        &self.internal_key()[..self.length - TRAILER_SIZE]
    }

    /// The newest sequence number the lookup may see.
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> SequenceNumber {
        sequence(self.internal_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_real_files() {
        let key = make_internal_key(b"key000", SequenceNumber(0), ValueType::Value);
        assert_eq!(key, b"key000\x01\0\0\0\0\0\0\0");
        let parsed = ParsedInternalKey::parse(&key).unwrap();
        assert_eq!((parsed.user_key, parsed.sequence.0, parsed.value_type), (&b"key000"[..], 0, ValueType::Value));
        let tombstone = make_internal_key(b"key000005", SequenceNumber(525), ValueType::RangeDeletion);
        assert_eq!(&tombstone[9..], &[0x0f, 0x0d, 0x02, 0, 0, 0, 0, 0]);
        assert!(ParsedInternalKey::parse(b"short").is_err());
        assert!(ParsedInternalKey::parse(b"\x7f\0\0\0\0\0\0\0").is_err());
    }

    #[test]
    fn a_timestamp_is_split_off_by_its_size() {
        assert_eq!(split_timestamp(b"key", 0), (&b"key"[..], &b""[..]));
        assert_eq!(split_timestamp(b"key01234567", 8), (&b"key"[..], &b"01234567"[..]));
        assert_eq!(split_timestamp(b"short", 8), (&b""[..], &b"short"[..]));
    }

    #[test]
    fn lookup_keys_of_every_length() {
        for length in 0..300 {
            let user_key = vec![b'k'; length];
            let key = LookupKey::new(&user_key, SequenceNumber(77));
            assert_eq!(key.user_key(), &user_key[..]);
            assert_eq!(key.sequence(), SequenceNumber(77));
            assert_eq!(key.internal_key(), make_internal_key(&user_key, SequenceNumber(77), ValueType::FOR_SEEK));
        }
    }
}
