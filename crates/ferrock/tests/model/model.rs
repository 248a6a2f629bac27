//! A column family as a sorted map. Slow, and obviously right.
//!
//! Where a compaction filter removes some of the keys, those may be there or not: they are passed over by all that
//! iterates, and a get may find nothing.

use crate::keys;
use crate::orders::Order;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Merge operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    None,
    Add,
    Append,
}

impl Merge {
    /// What a merge makes of a value.
    pub fn apply(self, existing: Option<&[u8]>, operand: &[u8]) -> Vec<u8> {
        let number = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).map_or(0, u64::from_le_bytes);
        match self {
            Self::None => unreachable!("the family has no merge operator"),
            Self::Add => existing.map_or(0, number).wrapping_add(number(operand)).to_le_bytes().to_vec(),
            Self::Append => match existing {
                Some(existing) => [existing, b",", operand].concat(),
                None => operand.to_vec(),
            },
        }
    }
}

/// Compaction filters, which remove the keys that [`keys::is_doomed`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    None,
    /// Asked by compactions.
    Compactions,
    /// Asked by flushes and recovery too.
    Everywhere,
    /// Made for each compaction, or part of one.
    Made,
    /// Made for flushes and recovery too.
    MadeEverywhere,
}

/// A key with its order.
#[derive(Clone, Debug)]
struct Ordered {
    order: Order,
    bytes: Arc<[u8]>,
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare(&self.bytes, &other.bytes)
    }
}

/// What a column family holds.
#[derive(Clone, Debug)]
pub struct FamilyModel {
    pub order: Order,
    pub merge: Merge,
    pub filter: Filter,
    map: BTreeMap<Ordered, Arc<[u8]>>,
}

/// A pair of the model.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

impl FamilyModel {
    pub fn new(order: Order, merge: Merge, filter: Filter) -> Self {
        Self { order, merge, filter, map: BTreeMap::new() }
    }

    /// True for a key that may be gone although it was put.
    pub fn is_doomed(&self, key: &[u8]) -> bool {
        self.filter != Filter::None && keys::is_doomed(key)
    }

    fn ordered(&self, key: &[u8]) -> Ordered {
        Ordered { order: self.order, bytes: key.into() }
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.map.get(&self.ordered(key)).map(|value| &**value)
    }

    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.map.insert(self.ordered(key), value.into());
    }

    /// True for pairs that are the same. Of keys that are equal in spite of other bytes any may be shown.
    pub fn is_same(&self, a: Option<Pair<'_>>, b: Option<Pair<'_>>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => self.order.compare(a.0, b.0).is_eq() && a.1 == b.1,
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    /// The pairs from `lower` on and before `upper`.
    pub fn between(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Vec<Pair<'_>> {
        let is_inside = |key: &[u8]| {
            lower.is_none_or(|lower| self.order.compare(key, lower).is_ge())
                && upper.is_none_or(|upper| self.order.compare(key, upper).is_lt())
        };
        self.iter().filter(|(key, _)| is_inside(key)).collect()
    }

    pub fn delete(&mut self, key: &[u8]) {
        self.map.remove(&self.ordered(key));
    }

    pub fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let merged = self.merge.apply(self.get(key), operand);
        self.put(key, &merged);
    }

    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) {
        if self.order.compare(begin, end).is_ge() {
            return;
        }
        let doomed: Vec<Ordered> =
            self.map.range(self.ordered(begin)..self.ordered(end)).map(|(key, _)| key.clone()).collect();
        doomed.iter().for_each(|key| drop(self.map.remove(key)));
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Pair<'_>> {
        self.pairs((Bound::Unbounded, Bound::Unbounded))
    }

    fn pairs(&self, range: (Bound<Ordered>, Bound<Ordered>)) -> impl DoubleEndedIterator<Item = Pair<'_>> {
        let pairs = self.map.range(range).map(|(key, value)| (&*key.bytes, &**value));
        pairs.filter(|(key, _)| !self.is_doomed(key))
    }

    /// The first pair behind `key`, or at it.
    pub fn after(&self, key: &[u8], inclusive: bool) -> Option<Pair<'_>> {
        let key = self.ordered(key);
        let from = if inclusive { Bound::Included(key) } else { Bound::Excluded(key) };
        self.pairs((from, Bound::Unbounded)).next()
    }

    /// The last pair before `key`, or at it.
    pub fn before(&self, key: &[u8], inclusive: bool) -> Option<Pair<'_>> {
        let key = self.ordered(key);
        let to = if inclusive { Bound::Included(key) } else { Bound::Excluded(key) };
        self.pairs((Bound::Unbounded, to)).next_back()
    }
}
