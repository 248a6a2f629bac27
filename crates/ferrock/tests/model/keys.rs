//! The keys of the model test: few, so that versions, tombstones and operands of one key meet, and awkward.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Distinct keys.
pub const COUNT: usize = 1024;

/// A key by its index, below [`COUNT`].
pub fn key(index: usize) -> &'static [u8] {
    &table()[index % COUNT]
}

/// Keys of which one in eight is put only when it is absent and removed only by single delete or by a range: the
/// contract of single delete.
pub fn is_single_delete(index: usize) -> bool {
    index % 8 == 7
}

/// Keys that a compaction filter removes, in families that have one. None of them is only single-deleted: a filter must
/// not put a tombstone of another kind there.
pub fn is_doomed(wanted: &[u8]) -> bool {
    static DOOMED: OnceLock<BTreeSet<&'static [u8]>> = OnceLock::new();
    let doomed = |index: &usize| index % 5 == 2 && !is_single_delete(*index);
    DOOMED.get_or_init(|| (0..COUNT).filter(doomed).map(key).collect()).contains(wanted)
}

fn table() -> &'static [Vec<u8>] {
    static TABLE: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut seen = BTreeSet::new();
        let mut keys = Vec::with_capacity(COUNT);
        let mut number = 0usize;
        while keys.len() < COUNT {
            let key = make(number);
            number += 1;
            if seen.insert(key.clone()) {
                keys.push(key);
            }
        }
        keys
    })
}

fn make(number: usize) -> Vec<u8> {
    let group = format!("{:03}", number / 16);
    match number % 16 {
        0 => group.into_bytes(),
        1 => [group.as_bytes(), b"\x00"].concat(),
        2 => [group.as_bytes(), b"\xff"].concat(),
        3 => [group.as_bytes(), b"\xff\xff\xff\xff\xff\xff\xff\xff\xff"].concat(),
        4 => [group.as_bytes(), b"\x00\x00\x00\x00\x00\x00\x00\x00"].concat(),
        5 => [group.as_bytes(), &[b'x'; 90][..], group.as_bytes()].concat(),
        // The empty key, once; keys too short for most prefixes.
        6 => vec![0xff; number / 16 % 7],
        7 => vec![(number / 16) as u8],
        8 => vec![0; number / 16 % 7],
        other => format!("{group}{:02}", other * 7 % 100).into_bytes(),
    }
}
