//! Where the parts of a record lie.
//!
//! ```text
//! record          | key | value length varint32 | value |
//!
//! plain key       | user key length varint32, absent if all have one length | user key | tail |
//! prefix key      | size (full, length) | user key | tail |                                    the first of a run
//!                 | size (prefix, length) | size (suffix, length) | suffix | tail |            the second
//!                 | size (suffix, length) | suffix | tail |                                    all others
//!
//! size            | flag 2 bits, n 6 bits | and, if n is 63, varint32 of the length less 63
//!                   flag 0 full, 1 prefix, 2 suffix
//! tail            | ff |                    a value of sequence number 0
//!                 | type 1 | sequence 7 |   any other entry; a type is below 0x80, so the first byte tells them apart
//! ```
//!
//! Lengths are of user keys: the tail does not count. A prefix is the first bytes of the run's first key; its length
//! holds until the run ends, so that only the first record of a run can be read without those before it.

use ferrock_base::coding::get_varint32;
use ferrock_base::internal_key::{TRAILER_SIZE, pack_trailer};
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Error, Result, ValueType};
use std::ops::Range;

/// The byte that stands for the trailer of a value of sequence number 0.
pub(super) const ZERO_TAIL: u8 = 0xff;
/// That trailer.
pub(super) const ZERO_TRAILER: u64 = pack_trailer(SequenceNumber(0), ValueType::Value);
/// Lengths from this on do not fit into the byte of the flag.
pub(super) const INLINE_SIZE: u32 = 63;

pub(super) const FULL: u8 = 0;
pub(super) const PREFIX: u8 = 1;
pub(super) const SUFFIX: u8 = 2;

/// How keys are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlainEncoding {
    /// Every key in full.
    #[default]
    Plain,
    /// Without the prefix that a key has in common with the one before it.
    Prefix,
}

impl PlainEncoding {
    /// The encoding of this number.
    ///
    /// # Errors
    /// `NotSupported` for a number that no release writes.
    pub fn from_number(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::Plain),
            1 => Ok(Self::Prefix),
            _ => Err(Error::not_supported(format!("plain table with keys of encoding {number}"))),
        }
    }
}

/// How the records of a table are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordForm {
    /// How keys are stored.
    pub encoding: PlainEncoding,
    /// The length of every user key; 0 if each record says it. Prefix encoding always says it.
    pub fixed_key_length: u32,
}

/// The parts of a record, as places in the bytes that it was decoded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the record begins.
    pub start: usize,
    /// How the user key begins: 0 bytes for a key in full, else with so many bytes of the key before it.
    pub shared: usize,
    /// False if the key needs the records before it.
    pub is_full: bool,
    /// The stored part of the user key.
    pub key: Range<usize>,
    /// Sequence number and type.
    pub trailer: u64,
    /// True if the trailer stands behind the stored part as it is in an internal key.
    pub has_trailer: bool,
    /// The value; the next record begins at its end.
    pub value: Range<usize>,
}

impl RecordForm {
    /// Finds the parts of the record at `start` of `data`. `prefix_length` is that of the run; it is changed as the
    /// record says.
    ///
    /// # Errors
    /// `Corruption` with an offset for a record that is cut off, a length or type that cannot be, and a suffix whose
    /// prefix is not known.
    #[inline]
    pub fn decode(self, data: &[u8], start: usize, prefix_length: &mut Option<usize>) -> Result<Record> {
        let mut at = start;
        let (length, shared, is_full) = match self.encoding {
            PlainEncoding::Plain if self.fixed_key_length != 0 => (self.fixed_key_length, 0, true),
            PlainEncoding::Plain => (varint32(data, &mut at)?, 0, true),
            PlainEncoding::Prefix => {
                let (mut flag, mut length) = size(data, &mut at)?;
                if flag == PREFIX {
                    *prefix_length = Some(length as usize);
                    (flag, length) = size(data, &mut at)?;
                    if flag != SUFFIX {
                        return Err(bad("a prefix without a suffix", start));
                    }
                }
                match (flag, *prefix_length) {
                    (FULL, _) => {
                        *prefix_length = None;
                        (length, 0, true)
                    }
                    (SUFFIX, Some(shared)) => (length, shared, false),
                    (SUFFIX, None) => return Err(bad("a suffix whose prefix is not known", start)),
                    _ => return Err(bad("a size with an unknown flag", start)),
                }
            }
        };
        let key_end = end_of(at, length, data.len()).ok_or_else(|| bad("the key is cut off", start))?;
        let key = at..key_end;
        let (trailer, has_trailer) = match data.get(key_end) {
            Some(&ZERO_TAIL) => (ZERO_TRAILER, false),
            Some(&byte) => {
                let stored = data.get(key_end..).and_then(|rest| rest.first_chunk::<TRAILER_SIZE>());
                let Some(stored) = stored else { return Err(bad("the key is cut off", start)) };
                if !ValueType::from_u8(byte).is_some_and(ValueType::is_point_entry) {
                    return Err(bad(&format!("an entry of type {byte:#04x}"), start));
                }
                (u64::from_le_bytes(*stored), true)
            }
            None => return Err(bad("the key is cut off", start)),
        };
        at = key_end + if has_trailer { TRAILER_SIZE } else { 1 };
        let length = varint32(data, &mut at)?;
        let value_end = end_of(at, length, data.len()).ok_or_else(|| bad("the value is cut off", start))?;
        Ok(Record { start, shared, is_full, key, trailer, has_trailer, value: at..value_end })
    }
}

#[inline]
fn end_of(at: usize, length: u32, limit: usize) -> Option<usize> {
    at.checked_add(length as usize).filter(|&end| end <= limit)
}

#[inline]
fn varint32(data: &[u8], at: &mut usize) -> Result<u32> {
    let decoded = data.get(*at..).and_then(get_varint32);
    let Some((number, length)) = decoded else { return Err(bad("a length is cut off", *at)) };
    *at += length;
    Ok(number)
}

/// Flag and length.
#[inline]
fn size(data: &[u8], at: &mut usize) -> Result<(u8, u32)> {
    let Some(&byte) = data.get(*at) else { return Err(bad("a size is cut off", *at)) };
    *at += 1;
    let inline = u32::from(byte) & INLINE_SIZE;
    let length = if inline < INLINE_SIZE { Some(inline) } else { varint32(data, at)?.checked_add(INLINE_SIZE) };
    let length = length.ok_or_else(|| bad("a size beyond 32 bits", *at))?;
    Ok((byte >> 6, length))
}

#[cold]
pub(super) fn bad(what: &str, at: usize) -> Error {
    Error::corruption(format!("plain table record: {what}")).at_offset(at as u64)
}
