//! Whether the restart keys of an index block are evenly spread: then a reader may guess a key's place from its bytes.
//!
//! ```text
//! common prefix of the first and the last key | 8 bytes, big-endian, zeros behind the end | rest
//!                                              `-- numbers; the gaps between them are compared with their mean
//! ```

use ferrock_base::coding::get_varint32;

/// Fewer restarts are never called evenly spread.
const MIN_RESTARTS: usize = 3;

/// True when the deviation of the gaps is below `threshold` times their mean. `restarts` are offsets in `entries`.
pub(super) fn is_uniform(
    entries: &[u8],
    restarts: &[u32],
    has_no_value_length: bool,
    ignored_bytes: usize,
    threshold: f64,
) -> bool {
    let key = |restart: &u32| {
        // Nothing is shared at a restart.
        let mut rest = entries.get(*restart as usize..)?;
        let mut length = 0;
        for field in 0..if has_no_value_length { 2 } else { 3 } {
            let (value, used) = get_varint32(rest)?;
            rest = &rest[used..];
            if field == 1 {
                length = value as usize;
            }
        }
        rest.get(..length.saturating_sub(ignored_bytes))
    };
    let (Some(first), Some(last)) = (restarts.first().and_then(key), restarts.last().and_then(key)) else {
        return false;
    };
    if restarts.len() < MIN_RESTARTS {
        return false;
    }
    let prefix = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = key.get(prefix..).unwrap_or(&[]);
        let length = rest.len().min(8);
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes)
    };
    let (mut sum, mut squares, mut previous) = (0.0, 0.0, number(first));
    for key in restarts[1..].iter().map(key) {
        let next = number(key.unwrap_or(&[]));
        let gap = next.wrapping_sub(previous) as f64;
        sum += gap;
        squares += gap * gap;
        previous = next;
    }
    let gaps = (restarts.len() - 1) as f64;
    let mean = sum / gaps;
    let variance = (squares / gaps - mean * mean).max(0.0);
    mean > 0.0 && variance.sqrt() / mean < threshold
}
