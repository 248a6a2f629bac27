//! The property `rocksdb.seqno.time.map`: when sequence numbers were written.
//!
//! ```text
//! empty, or  | count varint64 | count times: delta seqno varint64, delta time varint64 |      first relative to (0, 0)
//! ```

use ferrock_base::coding::{Cursor, put_varint64};
use ferrock_base::{Error, Result, SequenceNumber};

/// A sequence number and the unix time, in seconds, at which it was the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeqnoTimePair {
    /// The sequence number.
    pub seqno: SequenceNumber,
    /// Unix seconds.
    pub time: u64,
}

/// Decodes the property; both members of the pairs ascend.
///
/// # Errors
/// `Corruption` when a pair is cut off or overflows, and for bytes behind the last pair.
pub fn decode_seqno_time_map(property: &[u8]) -> Result<Vec<SeqnoTimePair>> {
    if property.is_empty() {
        return Ok(Vec::new());
    }
    let mut cursor = Cursor::new(property);
    let count = cursor.varint64("pair count of the seqno-to-time map")?;
    // Each pair takes two bytes or more, so a wrong count cannot make this allocate more than the input.
    let mut pairs = Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(cursor.rest().len() / 2));
    let (mut seqno, mut time) = (0u64, 0u64);
    for _ in 0..count {
        let sums = (
            seqno.checked_add(cursor.varint64("sequence number of the seqno-to-time map")?),
            time.checked_add(cursor.varint64("time of the seqno-to-time map")?),
        );
        let (Some(next_seqno), Some(next_time)) = sums else {
            return Err(Error::corruption("the seqno-to-time map overflows").at_offset(cursor.position() as u64));
        };
        (seqno, time) = (next_seqno, next_time);
        pairs.push(SeqnoTimePair { seqno: SequenceNumber(seqno), time });
    }
    if !cursor.is_empty() {
        return Err(Error::corruption("bytes behind the seqno-to-time map").at_offset(cursor.position() as u64));
    }
    Ok(pairs)
}

/// Encodes pairs, which must ascend.
#[must_use]
pub fn encode_seqno_time_map(pairs: &[SeqnoTimePair]) -> Vec<u8> {
    let mut out = Vec::new();
    if pairs.is_empty() {
        return out;
    }
    put_varint64(&mut out, pairs.len() as u64);
    let (mut seqno, mut time) = (0u64, 0u64);
    for pair in pairs {
        let next = pair.seqno.0;
        put_varint64(&mut out, next.wrapping_sub(seqno));
        put_varint64(&mut out, pair.time.wrapping_sub(time));
        (seqno, time) = (next, pair.time);
    }
    out
}
