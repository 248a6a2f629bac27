//! Decoding of one entry's header.

use ferrock_base::coding::get_varint32;
use ferrock_base::{Error, Result};

/// Lengths at the start of an entry, and where its next field begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryHeader {
    pub(super) shared: usize,
    pub(super) non_shared: usize,
    pub(super) value_length: usize,
    pub(super) end: usize,
}

/// Decodes `shared | non-shared | value length` at `at` of `entries`.
#[inline]
pub(super) fn decode_header(entries: &[u8], at: usize) -> Option<EntryHeader> {
    let rest = entries.get(at..)?;
    if let Some(bytes) = rest.first_chunk::<4>() {
        let word = u32::from_le_bytes(*bytes) as usize;
        let (shared, non_shared, value_length) = (word & 0x7f, word >> 8 & 0x7f, word >> 16 & 0x7f);
        if word & 0x0080_8080 == 0 {
            return Some(EntryHeader { shared, non_shared, value_length, end: at + 3 });
        }
        // A value of 128 bytes or more, and less than 16 KiB.
        if word & 0x8080_8080 == 0x0080_0000 {
            return Some(EntryHeader { shared, non_shared, value_length: value_length | word >> 24 << 7, end: at + 4 });
        }
    }
    decode_header_slow(rest, at)
}

#[inline(never)]
fn decode_header_slow(rest: &[u8], at: usize) -> Option<EntryHeader> {
    let (shared, first) = get_varint32(rest)?;
    let (non_shared, second) = get_varint32(&rest[first..])?;
    let (value_length, third) = get_varint32(&rest[first + second..])?;
    Some(EntryHeader {
        shared: shared as usize,
        non_shared: non_shared as usize,
        value_length: value_length as usize,
        end: at + first + second + third,
    })
}

/// Decodes `shared | non-shared` of a value-delta index entry.
#[inline]
pub(super) fn decode_index_header(entries: &[u8], at: usize) -> Option<EntryHeader> {
    let rest = entries.get(at..)?;
    let (shared, first) = get_varint32(rest)?;
    let (non_shared, second) = get_varint32(&rest[first..])?;
    Some(EntryHeader {
        shared: shared as usize,
        non_shared: non_shared as usize,
        value_length: 0,
        end: at + first + second,
    })
}

#[cold]
#[inline(never)]
pub(super) fn bad_entry(what: &str, at: usize) -> Error {
    Error::corruption(format!("block entry: {what}")).at_offset(at as u64)
}

/// The range `start..start + length` when it ends at or before `limit`.
#[inline]
pub(super) fn range(start: usize, length: usize, limit: usize) -> Option<std::ops::Range<usize>> {
    let end = start.checked_add(length)?;
    (end <= limit).then_some(start..end)
}

/// The same as an error that names the field.
pub(super) fn checked_range(start: usize, length: usize, limit: usize, what: &str) -> Result<std::ops::Range<usize>> {
    range(start, length, limit).ok_or_else(|| bad_entry(what, start))
}

/// Length of the common prefix, eight bytes at a time.
#[inline]
pub(super) fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let (chunks_a, _) = a.as_chunks::<8>();
    let (chunks_b, _) = b.as_chunks::<8>();
    let mut length = 0;
    for (left, right) in chunks_a.iter().zip(chunks_b) {
        let difference = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if difference != 0 {
            return length + difference.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    // The last eight bytes, some of which were compared.
    let shorter = a.len().min(b.len());
    if let (Some(left), Some(right)) = (a[..shorter].last_chunk::<8>(), b[..shorter].last_chunk::<8>()) {
        let difference = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        return if difference == 0 { shorter } else { shorter - 8 + difference.trailing_zeros() as usize / 8 };
    }
    length + a[length..].iter().zip(&b[length..]).take_while(|(left, right)| left == right).count()
}
