//! Code shared by Ferrock's two LZ4 encoders: the sequence writer and the match rules.
//!
//! ```text
//! sequence:  token | literal length bytes... | literals | offset (u16 LE) | match length bytes...
//!            token: high nibble literal length, low nibble match length - 4; 15 continues in
//!            bytes of 255 and a last one below
//! last sequence: token and literals only
//! ```
//!
//! The format lets decoders copy in wide steps by two rules at the end of a block:
//! the last five bytes are literals, and no match begins within the last twelve.

/// The shortest match.
pub(super) const MIN_MATCH: usize = 4;
/// Matches reach back at most this far.
pub(super) const MAX_DISTANCE: usize = 65_535;
/// Misses in a row, as a power of two, after which an encoder's stride grows by one.
pub(super) const SKIP_TRIGGER_SHIFT: usize = 6;
/// The largest acceleration factor, as in the C library.
pub(super) const MAX_ACCELERATION: usize = 65_537;
/// Bytes at the end that are always literals.
pub(super) const LAST_LITERALS: usize = 5;
/// No match begins closer than this to the end.
pub(super) const MATCH_START_MARGIN: usize = 12;

/// The first position at which no match may begin.
pub(super) fn match_start_limit(size: usize) -> usize {
    (size + 1).saturating_sub(MATCH_START_MARGIN)
}

/// The most that `raw_size` bytes can take as one block of literals.
pub(super) fn max_output_size(raw_size: usize) -> usize {
    raw_size + raw_size / 255 + 16
}

#[inline]
pub(super) fn read_u32(bytes: &[u8], position: usize) -> u32 {
    match bytes.get(position..).and_then(<[u8]>::first_chunk::<4>) {
        Some(chunk) => u32::from_le_bytes(*chunk),
        None => 0,
    }
}

/// A multiplicative hash of four bytes to `bits` bits (at least 1).
#[inline]
pub(super) fn hash(value: u32, bits: u32) -> usize {
    (value.wrapping_mul(2_654_435_761) >> (32 - bits)) as usize
}

/// The number of leading bytes in which `left` and `right` agree.
#[inline]
pub(super) fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    let size = left.len().min(right.len());
    let (left, right) = (&left[..size], &right[..size]);
    let mut position = 0;
    while let (Some(a), Some(b)) = (left[position..].first_chunk::<8>(), right[position..].first_chunk::<8>()) {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return position + (difference.trailing_zeros() / 8) as usize;
        }
        position += 8;
    }
    while position < size && left[position] == right[position] {
        position += 1;
    }
    position
}

/// The length of a match of `raw[position..end]` with the dictionary from `candidate` on. Where the
/// dictionary ends, the input itself follows it.
#[inline]
pub(super) fn dictionary_match(dictionary: &[u8], candidate: usize, raw: &[u8], position: usize, end: usize) -> usize {
    let length = common_prefix(&dictionary[candidate..], &raw[position..end]);
    if candidate + length < dictionary.len() {
        return length;
    }
    length + common_prefix(raw, &raw[position + length..end])
}

/// Writes one sequence: literals, then a match of `length` bytes at `distance`.
#[inline]
pub(super) fn put_sequence(out: &mut Vec<u8>, literals: &[u8], distance: usize, length: usize) {
    let extra = length - MIN_MATCH;
    out.push(((literals.len().min(15) as u8) << 4) | extra.min(15) as u8);
    put_length(out, literals.len());
    out.extend_from_slice(literals);
    out.extend_from_slice(&(distance as u16).to_le_bytes());
    put_length(out, extra);
}

/// Writes the last sequence, which has no match.
pub(super) fn put_last_literals(out: &mut Vec<u8>, literals: &[u8]) {
    out.push((literals.len().min(15) as u8) << 4);
    put_length(out, literals.len());
    out.extend_from_slice(literals);
}

#[inline]
fn put_length(out: &mut Vec<u8>, length: usize) {
    if length >= 15 {
        let mut rest = length - 15;
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(rest as u8);
    }
}
