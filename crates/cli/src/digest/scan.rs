//! The canonical dump: every entry of a column family, in order, into one SHA-256.
//!
//! ```text
//! dump  := entry*                     no header, no separator
//! entry := u32le(length of key) key u32le(length of value) value
//! ```

use ferrock::{ColumnFamily, Db, ReadOptions};
use hmac_sha256::Hash as Sha256;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// The result of a scan. After an error the figures are those of the entries before it.
#[derive(Debug)]
pub(super) struct ScanResult {
    pub(super) status: ferrock::Result<()>,
    pub(super) count: u64,
    pub(super) key_bytes: u64,
    pub(super) value_bytes: u64,
    pub(super) sha256: [u8; 32],
    pub(super) first_key: Option<Vec<u8>>,
    pub(super) last_key: Option<Vec<u8>>,
}

/// Walks over a whole column family.
pub(super) fn scan(db: &Db, family: &ColumnFamily, options: &ReadOptions, direction: Direction) -> ScanResult {
    let mut dump = Dump::default();
    let status = walk(db, family, options, direction, &mut dump);
    ScanResult {
        status,
        count: dump.count,
        key_bytes: dump.key_bytes,
        value_bytes: dump.value_bytes,
        sha256: dump.hash.finalize(),
        first_key: dump.first_key,
        last_key: (dump.count > 0).then_some(dump.last_key),
    }
}

fn walk(
    db: &Db,
    family: &ColumnFamily,
    options: &ReadOptions,
    direction: Direction,
    dump: &mut Dump,
) -> ferrock::Result<()> {
    let mut iter = db.iter_cf(family, options);
    match direction {
        Direction::Forward => iter.seek_to_first(),
        Direction::Backward => iter.seek_to_last(),
    }
    while iter.valid() {
        dump.add(iter.key(), iter.value());
        match direction {
            Direction::Forward => iter.next(),
            Direction::Backward => iter.prev(),
        }
    }
    iter.status()
}

#[derive(Default)]
struct Dump {
    hash: Sha256,
    count: u64,
    key_bytes: u64,
    value_bytes: u64,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
}

impl Dump {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        for part in [key, value] {
            // Keys and values are at most 4 GiB in the format, so nothing is cut off.
            self.hash.update((part.len() as u32).to_le_bytes());
            self.hash.update(part);
        }
        self.count += 1;
        self.key_bytes += key.len() as u64;
        self.value_bytes += value.len() as u64;
        if self.first_key.is_none() {
            self.first_key = Some(key.to_vec());
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    #[test]
    fn the_dump_is_the_canonical_one() {
        let empty = Dump::default();
        assert_eq!(
            hex::encode(&empty.hash.finalize()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        let mut dump = Dump::default();
        dump.add(b"k", b"vv");
        dump.add(b"", b"");
        let bytes = b"\x01\0\0\0k\x02\0\0\0vv\0\0\0\0\0\0\0\0";
        assert_eq!(dump.hash.finalize(), Sha256::hash(bytes));
        assert_eq!((dump.count, dump.key_bytes, dump.value_bytes), (2, 1, 2));
        assert_eq!((dump.first_key.as_deref(), &dump.last_key[..]), (Some(&b"k"[..]), &b""[..]));
    }
}
