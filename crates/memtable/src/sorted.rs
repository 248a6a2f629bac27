//! All entries of a memtable whose structure has no order of its own, sorted when they are read.
//!
//! A [`SortedIndex`] keeps the last sorted array. A reader that finds it out of date brings it up to date once, under a
//! lock, for all readers; a reader that finds it current takes no lock. An array never changes: an iterator keeps the
//! one it began with, which has every entry that was added before, hence all that its sequence number sees.

use crate::skiplist::{Nodes, Position};
use crate::sync::Mutex;
use arc_swap::ArcSwap;
use ferrock_base::{Error, Result};
use std::sync::Arc;

/// Positions in the order of their keys.
#[derive(Debug, Default)]
pub(crate) struct SortedEntries {
    entries: Vec<Position>,
    /// What the structure was when this was built: the number of its entries, and the newest of them if it knows.
    pub(crate) state: State,
    /// An entry that had changed in memory when it was sorted, in a memtable that looks for that.
    damage: Option<Error>,
}

/// See [`SortedEntries::state`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) count: usize,
    pub(crate) newest: Position,
}

impl SortedEntries {
    /// Sorts `entries`.
    pub(crate) fn sort(nodes: &Nodes, mut entries: Vec<Position>, state: State) -> Self {
        let damage = damage_of(nodes, &entries);
        nodes.sort(&mut entries);
        Self { entries, state, damage }
    }

    /// The same entries with `added` ones between them.
    pub(crate) fn merged_with(&self, nodes: &Nodes, mut added: Vec<Position>, state: State) -> Self {
        // Entries that were sorted before say where the others go.
        let damage =
            self.damage.clone().or_else(|| damage_of(nodes, &self.entries)).or_else(|| damage_of(nodes, &added));
        nodes.sort(&mut added);
        let mut entries = Vec::with_capacity(self.entries.len() + added.len());
        let mut rest = &self.entries[..];
        for position in added {
            // New keys are usually spread over the old ones, or behind all of them.
            let before = match rest.last() {
                Some(&last) if nodes.compare(last, position).is_lt() => rest.len(),
                _ => rest.partition_point(|&old| nodes.compare(old, position).is_lt()),
            };
            entries.extend_from_slice(&rest[..before]);
            entries.push(position);
            rest = &rest[before..];
        }
        entries.extend_from_slice(rest);
        Self { entries, state, damage }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Position {
        self.entries.get(index).copied().unwrap_or_default()
    }

    /// Compares the sums of the entries on both sides of a place, which were compared with what was searched, and of
    /// the entry behind it.
    ///
    /// # Errors
    /// `Corruption` when one of them is not as it was written, or one that was sorted was not.
    #[cold]
    pub(crate) fn check_place(&self, nodes: &Nodes, index: usize) -> Result<()> {
        if let Some(damage) = &self.damage {
            return Err(damage.clone());
        }
        [index.wrapping_sub(1), index, index.wrapping_add(1)]
            .into_iter()
            .try_for_each(|index| nodes.check_on_the_way(self.get(index)))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many entries are before `internal_key`: the index of the first one at or after it.
    pub(crate) fn count_before(&self, nodes: &Nodes, internal_key: &[u8]) -> usize {
        nodes.count_before(&self.entries, internal_key)
    }

    /// Index of the last entry at or before `internal_key`; `usize::MAX` if there is none.
    pub(crate) fn last_up_to(&self, nodes: &Nodes, internal_key: &[u8]) -> usize {
        let index = self.count_before(nodes, internal_key);
        if nodes.has_key(self.get(index), internal_key) { index } else { index.wrapping_sub(1) }
    }
}

/// The first of the entries that changed in memory, in a memtable that looks for that: it would be sorted to a wrong
/// place, where no search finds it.
fn damage_of(nodes: &Nodes, entries: &[Position]) -> Option<Error> {
    if !nodes.checks().is_any() {
        return None;
    }
    entries.iter().find_map(|&entry| nodes.check_on_the_way(entry).err())
}

/// The last sorted array.
pub(crate) struct SortedIndex {
    current: ArcSwap<SortedEntries>,
    building: Mutex<()>,
}

impl SortedIndex {
    pub(crate) fn new() -> Self {
        Self { current: ArcSwap::default(), building: Mutex::new(()) }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.current.load().entries.capacity() * size_of::<Position>()
    }

    /// The sorted array, rebuilt from the last one if that is no longer current.
    pub(crate) fn up_to_date(
        &self,
        is_current: impl Fn(&SortedEntries) -> bool,
        build: impl FnOnce(&SortedEntries) -> SortedEntries,
    ) -> Arc<SortedEntries> {
        let now = self.current.load_full();
        if is_current(&now) {
            return now;
        }
        let _building = self.building.lock();
        let now = self.current.load_full();
        if is_current(&now) {
            return now;
        }
        let built = Arc::new(build(&now));
        self.current.store(Arc::clone(&built));
        built
    }
}
