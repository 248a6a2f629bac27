//! Compaction: choosing what to compact, and carrying it out.

pub mod iterator;
