//! Iterators above the tables: one level, all sources merged, and what the user sees.
//!
//! ```text
//! DbIterator            visibility, deletes, merges, bounds            user keys
//!   MergingIterator     one sorted stream of internal keys             internal keys + range tombstones
//!     child: MemTable | LevelIterator (a table of level 0, or a deeper level) | Table (in compactions)
//! ```
//!
//! Children are ordered newest first. That order carries meaning: an entry of a later child is older than every
//! entry *and* every range tombstone over the same user key in an earlier child, which is what lets a scan jump
//! over deleted ranges.

pub mod child;
pub mod db_iter;
mod deferred;
pub mod level;
mod limit;
pub mod merging;
mod pause_state;
mod pausing;
pub mod range_tombstones;
mod read_set;
pub mod source;
pub mod tables;

pub use child::ChildIterator;
pub use db_iter::{DbIterator, DbIteratorOptions, Hidden, IterWork, ScanMemory};
pub use level::{LevelIterator, LevelSource, OpenedTable};
pub use merging::MergingIterator;
pub use range_tombstones::RangeTombstoneSource;
pub use read_set::ReadSet;
pub use source::SourceIterator;

#[cfg(test)]
pub(crate) mod model;
