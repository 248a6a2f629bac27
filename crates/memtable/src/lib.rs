//! The memtable: an arena, a concurrent skip list, range tombstones, an optional Bloom filter.
//!
//! | module | what |
//! |---|---|
//! | `arena` | memory in chunks, freed all at once |
//! | `skiplist` | the sorted entries: lock-free readers, one or many writers |
//! | `range_tombstones` | the `DeleteRange`s and their lazily built index |
//! | `bloom` | skips lookups of absent keys |
//! | `tracker` | reports how much memory a memtable holds |
//! | `memtable`, `iter` | the public interface |
#![warn(missing_docs)]

mod arena;
mod bloom;
mod iter;
mod memtable;
mod range_tombstones;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod skiplist;
mod sync;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod tracker;

pub use iter::MemTableIter;
pub use memtable::{MemTable, MemTableOptions};
pub use tracker::MemoryTracker;
