//! The values that writes have.

use crate::model::Merge;

/// Those of an entity that reads as `value`.
pub fn columns(value: &[u8]) -> [(&[u8], &[u8]); 3] {
    [(b"half", &value[..value.len() / 2]), (b"", value), (b"short", b"inline")]
}

/// Bytes that say where they come from; half of them compress.
pub fn make_value(merge: Merge, seed: u16, size: u16) -> Vec<u8> {
    if merge == Merge::Add && !size.is_multiple_of(4) {
        return u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec();
    }
    let mut state = u32::from(seed).wrapping_mul(0x9e37_79b9) | 1;
    let mut value = Vec::with_capacity(usize::from(size));
    for index in 0..size {
        if index % 16 < 8 {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
        }
        value.push(if index % 16 < 8 { state as u8 } else { seed as u8 });
    }
    value
}
