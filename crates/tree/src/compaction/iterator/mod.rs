//! Which entries flush and compaction keep.
//!
//! ```text
//! merged input --> CompactionIterator --> entries to write --> OutputSplitter: when to cut a file
//!    range tombstones --> CompactionRangeTombstones --> what each file stores, and its boundaries
//! ```
//!
//! Everything here is pure: no files, no locks, no levels. The job answers questions about deeper levels through
//! [`DeeperLevels`].

mod context;
mod current_key;
mod entity_filter;
mod merge;
mod output;
pub mod output_split;
mod required_edges;
mod rules;
mod stripes;
pub mod tombstones;

#[cfg(test)]
pub use context::NothingDeeper;
pub use context::{CompactionIteratorOptions, DeeperLevels, DroppedEntries, UnknownDeeper};
pub use output_split::{Grandparent, OutputSize, OutputSplitter, Precision, boundary_between, output_contents};
pub use required_edges::RequiredEdges;
pub use rules::CompactionIterator;
pub use stripes::SnapshotStripes;
pub use tombstones::{CompactionRangeTombstones, TombstoneFates};

#[cfg(test)]
mod tests;
