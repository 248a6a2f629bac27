//! What the database must hold: sorted maps, and merge operators written once more, apart from the engine's.

use crate::engine::{FAMILIES, Record};
use crate::settings::{Fixed, Merge, Order};
use std::collections::BTreeMap;

pub type Entry = (Vec<u8>, Vec<u8>);

/// A column family.
#[derive(Clone, Debug)]
pub struct FamilyModel {
    pub order: Order,
    merge: Merge,
    map: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// All column families.
#[derive(Clone, Debug)]
pub struct Model {
    pub families: Vec<FamilyModel>,
}

impl Model {
    pub fn new(fixed: &Fixed) -> Self {
        let family = |at: usize| FamilyModel { order: fixed.orders[at], merge: fixed.merges[at], map: BTreeMap::new() };
        Self { families: (0..FAMILIES.len()).map(family).collect() }
    }

    pub fn apply(&mut self, batch: &[Record]) {
        for record in batch {
            match record {
                Record::Put(family, key, value) | Record::PutEntity(family, key, value) => {
                    self.families[*family].map.insert(key.clone(), value.clone());
                }
                Record::Merge(family, key, operand) => self.families[*family].merge(key, operand),
                Record::Delete(family, key) | Record::SingleDelete(family, key) => {
                    self.families[*family].map.remove(key);
                }
                Record::DeleteRange(family, begin, end) => self.families[*family].delete_range(begin, end),
            }
        }
    }
}

/// Eight little-endian bytes; anything else counts as 0.
fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl FamilyModel {
    fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let old = self.map.get(key);
        let new = match (self.merge, old) {
            (Merge::StringAppend, None) => operand.to_vec(),
            (Merge::StringAppend, Some(old)) => [old, operand].join(&b","[..]),
            (Merge::Uint64Add, old) => {
                let old = old.map_or(0, |old| number(old));
                old.wrapping_add(number(operand)).to_le_bytes().to_vec()
            }
        };
        self.map.insert(key.to_vec(), new);
    }

    fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
        match self.order {
            Order::Bytewise => self.map.retain(|key, _| key.as_slice() < begin || key.as_slice() >= end),
            Order::Reverse => self.map.retain(|key, _| key.as_slice() > begin || key.as_slice() <= end),
        }
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn get(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.map.get(key)
    }

    /// Entries in the family's order.
    pub fn entries(&self) -> Vec<Entry> {
        let copied = self.map.iter().map(|(key, value)| (key.clone(), value.clone()));
        match self.order {
            Order::Bytewise => copied.collect(),
            Order::Reverse => copied.rev().collect(),
        }
    }

    /// Whether the first key comes before the second.
    pub fn is_before(&self, first: &[u8], second: &[u8]) -> bool {
        match self.order {
            Order::Bytewise => first < second,
            Order::Reverse => first > second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(order: Order, merge: Merge) -> FamilyModel {
        FamilyModel { order, merge, map: BTreeMap::new() }
    }

    #[test]
    fn operands_are_merged_as_rocksdb_does() {
        let mut append = family(Order::Bytewise, Merge::StringAppend);
        append.merge(b"k", b"");
        append.merge(b"k", b"a");
        assert_eq!(append.get(b"k").unwrap(), b",a");
        let mut add = family(Order::Bytewise, Merge::Uint64Add);
        add.merge(b"k", &u64::MAX.to_le_bytes());
        add.merge(b"k", &2u64.to_le_bytes());
        add.merge(b"k", b"not eight");
        assert_eq!(add.get(b"k").unwrap(), &1u64.to_le_bytes());
    }

    #[test]
    fn ranges_follow_the_order() {
        let filled = |order| {
            let mut family = family(order, Merge::StringAppend);
            for key in [b"a", b"b", b"c"] {
                family.merge(key, b"v");
            }
            family
        };
        let mut up = filled(Order::Bytewise);
        up.delete_range(b"a", b"c");
        assert_eq!(up.entries(), [(b"c".to_vec(), b"v".to_vec())]);
        let mut down = filled(Order::Reverse);
        down.delete_range(b"c", b"a");
        assert_eq!(down.entries(), [(b"a".to_vec(), b"v".to_vec())]);
        assert!(down.is_before(b"b", b"a"));
    }
}
