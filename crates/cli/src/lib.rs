//! What the command-line tools share.
//!
//! ```text
//! failure.rs     why a command did not come to its end, and the exit code that says so (ldb, sst_dump, fast-forward)
//! fast_forward/  the benchmark of bounded reads (ferrock, and the rig that holds Ferrock against RocksDB)
//! histogram.rs   counts of values in RocksDB's buckets, printed as RocksDB prints them (db_bench, ldb dump)
//! machine.rs     what a measurement ran on (db_bench, fast-forward)
//! plot.rs        bars and lines as SVG (db_bench, fast-forward)
//! text.rs        bytes as RocksDB's tools print them (ldb, sst_dump), and the words of a command line (db_bench, too)
//! ```
#![warn(missing_docs)]

pub mod failure;
pub mod fast_forward;
pub mod histogram;
pub mod machine;
pub mod plot;
pub mod text;
