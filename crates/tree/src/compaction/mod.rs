//! Compaction: choosing what to compact, and carrying it out.

pub mod choice;
pub mod iterator;
pub mod picker;
