//! What records of the log do to a family: an ordered map and five operations.

use ferrock::WriteBatch;
use std::collections::BTreeMap;

/// What a family holds.
pub type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// One record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Put(Vec<u8>, Vec<u8>),
    /// An entity that reads as the value, with another column.
    PutEntity(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    /// Of a key that was put once.
    SingleDelete(Vec<u8>),
    /// Its ends may be equal: such a record takes a sequence number and does nothing.
    DeleteRange(Vec<u8>, Vec<u8>),
    /// Appends behind a comma.
    Merge(Vec<u8>, Vec<u8>),
}

/// What one batch does, by the id of the family.
pub type Changes = Vec<(u32, Op)>;

impl Op {
    pub fn apply(&self, contents: &mut Contents) {
        match self {
            Op::Put(key, value) | Op::PutEntity(key, value) => drop(contents.insert(key.clone(), value.clone())),
            Op::Delete(key) | Op::SingleDelete(key) => drop(contents.remove(key)),
            Op::DeleteRange(begin, end) => contents.retain(|key, _| key < begin || key >= end),
            Op::Merge(key, operand) => match contents.get_mut(key) {
                Some(value) => {
                    value.push(b',');
                    value.extend(operand);
                }
                None => drop(contents.insert(key.clone(), operand.clone())),
            },
        }
    }

    pub fn add_to(&self, batch: &mut WriteBatch, id: u32) {
        match self {
            Op::Put(key, value) => batch.put_cf(id, key, value),
            Op::PutEntity(key, value) => batch.put_entity_cf(id, key, &[(b"", value), (b"other", value)]),
            Op::Delete(key) => batch.delete_cf(id, key),
            Op::SingleDelete(key) => batch.single_delete_cf(id, key),
            Op::DeleteRange(begin, end) => batch.delete_range_cf(id, begin, end),
            Op::Merge(key, operand) => batch.merge_cf(id, key, operand),
        }
        .unwrap();
    }
}

/// What every family holds after these batches, by id.
pub fn contents_after<'a>(batches: impl Iterator<Item = &'a Changes>) -> BTreeMap<u32, Contents> {
    let mut all: BTreeMap<u32, Contents> = BTreeMap::new();
    for (id, op) in batches.flatten() {
        op.apply(all.entry(*id).or_default());
    }
    all
}

/// The first keys that differ.
pub fn difference(found: &Contents, expected: &Contents) -> String {
    let mut keys: Vec<&Vec<u8>> = found.keys().chain(expected.keys()).collect();
    keys.sort();
    keys.dedup();
    let head = |value: Option<&Vec<u8>>| {
        value.map_or("nothing".to_owned(), |value| value[..value.len().min(12)].escape_ascii().to_string())
    };
    let lines = keys
        .into_iter()
        .filter(|key| found.get(*key) != expected.get(*key))
        .map(|key| format!("{}: {} instead of {}", key.escape_ascii(), head(found.get(key)), head(expected.get(key))));
    lines.take(4).collect::<Vec<_>>().join("; ")
}
