//! Code shared by the command-line tools.
//!
//! ```text
//! failure.rs     failures of a command, and their exit codes (ldb, sst_dump, fast-forward)
//! histogram.rs   counts of values in RocksDB's buckets, printed as RocksDB prints them (db_bench, ldb dump)
//! tables.rs      tables that are opened by what they say of themselves, and their entries (ldb, sst_dump)
//! text.rs        bytes as RocksDB's tools print them (ldb, sst_dump), and the words of a command line (db_bench, too)
//! ```
#![warn(missing_docs)]

pub mod failure;
pub mod histogram;
pub mod tables;
pub mod text;
