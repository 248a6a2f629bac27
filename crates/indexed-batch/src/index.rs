//! The records of a batch by family and key.
//!
//! ```text
//! family --> key, number of the record --> kind, where its value lies in the bytes of the batch
//! ```
//!
//! The numbers grow, so that the updates of a key follow each other as they were made.

use ferrock_base::Comparator;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::Range;

/// What a record does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpdateKind {
    Put,
    Delete,
    Merge,
}

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) kind: UpdateKind,
    /// Value or operand, in the bytes of the batch.
    pub(crate) value: Range<usize>,
}

/// A place in the index of a family, in the order of that family.
#[derive(Clone, Debug)]
struct Place {
    comparator: Comparator,
    key: Vec<u8>,
    number: u64,
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.comparator.compare(&self.key, &other.key).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Place {}

#[derive(Clone, Debug, Default)]
struct Family {
    comparator: Comparator,
    updates: BTreeMap<Place, Update>,
}

impl Family {
    fn place(&self, key: &[u8], number: u64) -> Place {
        Place { comparator: self.comparator.clone(), key: key.to_vec(), number }
    }
}

/// See the head of the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    families: HashMap<u32, Family>,
    next_number: u64,
}

impl Index {
    /// Says the order of a family, unless it is known already.
    pub(crate) fn know(&mut self, family: u32, comparator: &Comparator) {
        let new = || Family { comparator: comparator.clone(), updates: BTreeMap::new() };
        self.families.entry(family).or_insert_with(new);
    }

    /// Forgets all updates; the orders of families stay.
    pub(crate) fn clear(&mut self) {
        self.families.values_mut().for_each(|family| family.updates.clear());
        self.next_number = 0;
    }

    /// Adds the newest update of a key; with `overwrite` a value or a deletion takes the place of those before.
    pub(crate) fn add(&mut self, family: u32, key: &[u8], update: Update, overwrite: bool) {
        let number = self.next_number;
        self.next_number += 1;
        let family = self.families.entry(family).or_default();
        if overwrite && update.kind != UpdateKind::Merge {
            let older = family.updates.range((Included(family.place(key, 0)), Excluded(family.place(key, number))));
            let older: Vec<Place> = older.map(|(place, _)| place.clone()).collect();
            for place in older {
                family.updates.remove(&place);
            }
        }
        let place = family.place(key, number);
        family.updates.insert(place, update);
    }

    /// The updates of a key, newest first.
    pub(crate) fn updates_of(&self, family: u32, key: &[u8]) -> impl Iterator<Item = &Update> {
        let family = self.families.get(&family);
        family
            .map(|family| family.updates.range((Included(family.place(key, 0)), Included(family.place(key, u64::MAX)))))
            .into_iter()
            .flatten()
            .rev()
            .map(|(_, update)| update)
    }

    /// The first key at or behind `key`; behind it alone with `is_excluded`. Without a key: the first of all.
    pub(crate) fn key_from(&self, family: u32, key: Option<&[u8]>, is_excluded: bool) -> Option<&[u8]> {
        let family = self.families.get(&family)?;
        let from = match key {
            None => Unbounded,
            Some(key) if is_excluded => Excluded(family.place(key, u64::MAX)),
            Some(key) => Included(family.place(key, 0)),
        };
        family.updates.range((from, Unbounded)).next().map(|(place, _)| &place.key[..])
    }

    /// The last key at or before `key`; before it alone with `is_excluded`. Without a key: the last of all.
    pub(crate) fn key_to(&self, family: u32, key: Option<&[u8]>, is_excluded: bool) -> Option<&[u8]> {
        let family = self.families.get(&family)?;
        let to = match key {
            None => Unbounded,
            Some(key) if is_excluded => Excluded(family.place(key, 0)),
            Some(key) => Included(family.place(key, u64::MAX)),
        };
        family.updates.range((Unbounded, to)).next_back().map(|(place, _)| &place.key[..])
    }
}
