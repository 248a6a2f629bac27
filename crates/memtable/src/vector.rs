//! Entries in the order of their arrival, sorted when they are read: for bulk loads.
//!
//! ```text
//! newest -> entry -> entry -> entry -> ... -> oldest        every entry links to the one before it
//!                    ^ up to here sorted
//! ```
//!
//! An insert is one compare-and-swap, without any search, from any number of threads. A read sorts what came since the
//! last read and merges it into the [`SortedIndex`], which costs a copy of eight bytes for each entry: such a memtable
//! is for loads that are not read before their flush. The same key, sequence number and type twice is not noticed, as
//! in RocksDB.

use crate::skiplist::{Nodes, Stack};
use crate::sorted::{SortedEntries, SortedIndex, State};
use std::sync::Arc;

/// The entries.
pub(crate) struct Vector {
    stack: Stack,
    sorted: SortedIndex,
}

impl Vector {
    pub(crate) fn new(nodes: &Nodes) -> Self {
        Self { stack: Stack::new(nodes), sorted: SortedIndex::new() }
    }

    #[inline]
    pub(crate) fn insert(&self, nodes: &Nodes, user_key: &[u8], trailer: u64, value: &[u8]) {
        self.stack.push(nodes, user_key, trailer, value);
    }

    pub(crate) fn index_bytes(&self) -> usize {
        self.sorted.memory_bytes()
    }

    /// All entries that were added before the call.
    pub(crate) fn sorted(&self, nodes: &Nodes) -> Arc<SortedEntries> {
        self.sorted.up_to_date(
            |index| index.state.newest == self.stack.newest(nodes),
            |index| {
                let newest = self.stack.newest(nodes);
                let mut added = Vec::new();
                let mut position = newest;
                while position != index.state.newest {
                    added.push(position);
                    position = nodes.next(position);
                }
                let state = State { count: index.len() + added.len(), newest };
                index.merged_with(nodes, added, state)
            },
        )
    }
}
