//! The canonical dump: what a sequence of entries hashes to.

use ferrock::{ColumnFamily, Db, ReadOptions};
use hmac_sha256::Hash as Sha256;

pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A dump, and what ended it.
#[derive(Debug)]
pub struct Scan {
    pub entries: Entries,
    pub status: ferrock::Result<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// Walks over everything between the bounds of `options`.
pub fn scan(db: &Db, family: &ColumnFamily, options: &ReadOptions, direction: Direction) -> Scan {
    let mut entries = Vec::new();
    let mut walk = || {
        let mut iter = db.iter_cf(family, options);
        match direction {
            Direction::Forward => iter.seek_to_first(),
            Direction::Backward => iter.seek_to_last(),
        }
        while iter.valid() {
            entries.push((iter.key().to_vec(), iter.value().to_vec()));
            match direction {
                Direction::Forward => iter.next(),
                Direction::Backward => iter.prev(),
            }
        }
        iter.status()
    };
    let status = walk();
    Scan { entries, status }
}

/// Everything in order, without prefix filters in the way.
pub fn total_order() -> ReadOptions {
    ReadOptions { total_order_seek: true, ..ReadOptions::default() }
}

pub fn sha256_of_entries(entries: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut hash = Sha256::new();
    for part in entries.iter().flat_map(|(key, value)| [key, value]) {
        hash.update(u32::try_from(part.len()).unwrap().to_le_bytes());
        hash.update(part);
    }
    to_hex(&hash.finalize())
}

pub fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::hash(bytes))
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}
