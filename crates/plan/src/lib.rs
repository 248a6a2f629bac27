//! What a database of any size will cost, before there is one: `ferrock plan`.
//!
//! ```text
//! Request --> sizes      tables and memtables, from small real ones
//!         --> scale      a tree of some thousand files that is like the one of millions
//!         --> simulation flushes and compactions on a virtual clock
//!               tree       a real `Version` of files that do not exist, given to the real pickers
//!               merge      what a compaction makes of them, cut by the real `OutputSplitter`
//!               coverage   which keys a file holds: a density
//!         --> reads, memory   what follows from the tree
//!         --> Plan
//! ```
//!
//! Nothing is read or written, and two runs give the same figures. What is modelled, how it was checked and how far off
//! it can be: `docs/plan.md`.
//!
//! Tried and lost: files as lists of key buckets (a petabyte does not fit, and a bucket is as coarse as the density);
//! larger `target_file_size_multiplier` for deep levels to have fewer files (a file of a level then overlaps three
//! larger ones below instead of ten, of which the two at its edges are mostly not its own: compactions look more
//! expensive than they are).
#![warn(missing_docs)]

pub mod coverage;
pub mod memory;
pub mod merge;
pub mod reads;
mod request;
pub mod scale;
pub mod simulation;
pub mod sizes;
mod tree;

pub use memory::{Memory, Opening};
pub use reads::Reads;
pub use request::{Plan, Request};
pub use scale::Scale;
pub use simulation::{Order, Phase, Rates, Run};
pub use sizes::Entry;
