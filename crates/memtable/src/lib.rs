//! The memtable: an arena, a structure of entries (usually a concurrent skip list), range tombstones, an optional Bloom
//! filter.
//!
//! | module | what |
//! |---|---|
//! | `arena`, `chunk` | memory in chunks, freed all at once |
//! | `spare_chunks` | huge pages that arenas leave to the next ones |
//! | `skiplist` | the sorted entries: lock-free readers, one or many writers |
//! | `hash` | lists by the hash of a prefix |
//! | `vector` | entries in the order of arrival |
//! | `in_place` | locks of values that are written over |
//! | `sorted` | what reads sort of the last two |
//! | `deleted_runs` | runs of deleted keys that scans have found |
//! | `range_tombstones` | the `DeleteRange`s and their lazily built index |
//! | `bloom`, `filter` | skips lookups of absent keys |
//! | `counters` | what is counted of the entries |
//! | `tracker` | reports how much memory a memtable holds |
//! | `options`, `memtable`, `iter` | the public interface |
#![warn(missing_docs)]

mod arena;
mod bloom;
mod chunk;
mod counters;
mod deleted_runs;
mod filter;
mod hash;
mod in_place;
mod iter;
mod memtable;
mod options;
mod range_tombstones;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
mod skiplist;
mod sorted;
mod spare_chunks;
mod sync;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod tracker;
mod vector;

pub use deleted_runs::{DeletedRuns, RunId, WalkId};
pub use iter::MemTableIter;
pub use memtable::MemTable;
pub use options::{Companion, MemTableKind, MemTableOptions};
pub use tracker::MemoryTracker;
