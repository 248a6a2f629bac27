//! What the command-line tools share.
//!
//! ```text
//! histogram.rs   counts of values in RocksDB's buckets, printed as RocksDB prints them (db_bench, ldb dump)
//! ```
#![warn(missing_docs)]

pub mod histogram;
