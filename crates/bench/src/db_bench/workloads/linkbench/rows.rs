//! Keys and values of LinkBench's three tables. Integers of keys are big-endian, those of values little-endian.
//!
//! ```text
//! count   'c' id1 type       -> count u64, time u64, version u64
//! link    'l' id1 type id2   -> visibility u8, time u64, version u32, data (8 bytes in the median, at most 255)
//! node    'n' id             -> type u32, version u64, time u32, data (128 bytes in the median, at most 4096)
//! ```
//!
//! All of a link or a node follows from its key and its version, so any of them can be checked when it is read.

use super::distribution::log_normal;
use crate::values::ValuePool;
use ferrock_base::hash::hash128;
use ferrock_base::random::Random;

const SEED: u64 = 0x6c69_6e6b;
const NODE_TYPE: u32 = 2048;
const VISIBLE: u8 = 1;
/// Types of links; numbers as in LinkBench's settings.
const FIRST_LINK_TYPE: u64 = 123_456_789;
pub(super) const LINK_TYPES: u64 = 2;

/// Which rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Count,
    Link,
    Node,
}

fn put_id(key: &mut Vec<u8>, id: u64) {
    key.extend_from_slice(&id.to_be_bytes());
}

pub(super) fn node_key(id: u64, key: &mut Vec<u8>) {
    key.clear();
    key.push(b'n');
    put_id(key, id);
}

pub(super) fn count_key(id1: u64, link_type: u64, key: &mut Vec<u8>) {
    key.clear();
    key.push(b'c');
    put_id(key, id1);
    put_id(key, FIRST_LINK_TYPE + link_type);
}

/// The common prefix of the keys of a node's links of one type.
pub(super) fn list_key(id1: u64, link_type: u64, key: &mut Vec<u8>) {
    count_key(id1, link_type, key);
    key[0] = b'l';
}

pub(super) fn link_key(id1: u64, link_type: u64, id2: u64, key: &mut Vec<u8>) {
    list_key(id1, link_type, key);
    put_id(key, id2);
}

/// The kind of row that a key belongs to.
pub(super) fn kind_of(key: &[u8]) -> Option<Kind> {
    match (key.first()?, key.len()) {
        (b'c', 17) => Some(Kind::Count),
        (b'l', 25) => Some(Kind::Link),
        (b'n', 9) => Some(Kind::Node),
        _ => None,
    }
}

/// The id of a node's key.
pub(super) fn node_id(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.strip_prefix(b"n")?.first_chunk()?))
}

/// A count's value.
pub(super) fn count_value(count: u64, version: u64, value: &mut Vec<u8>) {
    value.clear();
    for part in [count, version ^ SEED, version] {
        value.extend_from_slice(&part.to_le_bytes());
    }
}

/// Count and version; `None` when that is no such value.
pub(super) fn read_count(value: &[u8]) -> Option<(u64, u64)> {
    let part = |index: usize| Some(u64::from_le_bytes(*value.get(index * 8..)?.first_chunk()?));
    let (count, time, version) = (part(0)?, part(1)?, part(2)?);
    (value.len() == 24 && time == version ^ SEED).then_some((count, version))
}

/// The value of a link or a node.
pub(super) fn make(kind: Kind, key: &[u8], version: u32, values: &ValuePool, value: &mut Vec<u8>) {
    let (time, seed) = hash128(key, SEED ^ u64::from(version));
    let mut random = Random::new(seed);
    value.clear();
    let size = if kind == Kind::Link {
        value.push(VISIBLE);
        value.extend_from_slice(&time.to_le_bytes());
        value.extend_from_slice(&version.to_le_bytes());
        log_normal(8.0, 255.0, &mut random)
    } else {
        value.extend_from_slice(&NODE_TYPE.to_le_bytes());
        value.extend_from_slice(&u64::from(version).to_le_bytes());
        value.extend_from_slice(&time.to_le_bytes()[..4]);
        log_normal(128.0, 4096.0, &mut random)
    };
    values.append(&seed.to_le_bytes(), size, value);
}

/// The version in the value of a link or a node.
pub(super) fn version_of(kind: Kind, value: &[u8]) -> Option<u32> {
    let place = if kind == Kind::Link { 9 } else { 4 };
    Some(u32::from_le_bytes(*value.get(place..)?.first_chunk()?))
}

/// True when a value was written under the key, in any version. `scratch` is overwritten.
pub(super) fn is_right(key: &[u8], value: &[u8], values: &ValuePool, scratch: &mut Vec<u8>) -> bool {
    match kind_of(key) {
        Some(Kind::Count) => read_count(value).is_some(),
        Some(kind) => version_of(kind, value).is_some_and(|version| {
            make(kind, key, version, values, scratch);
            scratch == value
        }),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Merging;

    #[test]
    fn rows_are_known_by_key_and_version() {
        let values = ValuePool::new(100, 0.5, Merging::Replace);
        let (mut key, mut value, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        for id in 0..300 {
            for kind in [Kind::Link, Kind::Node] {
                match kind {
                    Kind::Link => link_key(id, id % 2, id + 7, &mut key),
                    _ => node_key(id, &mut key),
                }
                assert_eq!(kind_of(&key), Some(kind));
                make(kind, &key, 5, &values, &mut value);
                assert_eq!(version_of(kind, &value), Some(5));
                assert!(is_right(&key, &value, &values, &mut scratch));
                let last = value.len() - 1;
                value[last] ^= 1;
                assert!(!is_right(&key, &value, &values, &mut scratch), "{id} {kind:?}");
                value[last] ^= 1;
                *key.last_mut().unwrap() ^= 1;
                assert!(!is_right(&key, &value, &values, &mut scratch), "another key's: {id} {kind:?}");
            }
        }
        assert!(!is_right(b"n", b"", &values, &mut scratch) && !is_right(b"", b"", &values, &mut scratch));
    }

    #[test]
    fn counts_and_ids() {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        count_value(7, 3, &mut value);
        assert_eq!(read_count(&value), Some((7, 3)));
        assert_eq!(read_count(&value[1..]), None);
        node_key(77, &mut key);
        assert_eq!((node_id(&key), node_id(b"l")), (Some(77), None));
        count_key(1, 0, &mut key);
        let mut list = Vec::new();
        list_key(1, 0, &mut list);
        assert_eq!((kind_of(&key), &list[1..], kind_of(&list)), (Some(Kind::Count), &key[1..], None));
    }
}
