//! Measuring: `db_bench` (a binary of its own, `db_bench/`), and the benchmark of bounded reads.
//!
//! ```text
//! fast_forward/  the benchmark of bounded reads (ferrock, and the rig that holds Ferrock against RocksDB)
//! machine.rs     the machine of a measurement (db_bench, fast-forward)
//! plot.rs        bars and lines as SVG (db_bench, fast-forward)
//! ```
#![warn(missing_docs)]

pub mod fast_forward;
pub mod machine;
pub mod plot;
