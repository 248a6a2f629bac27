//! Measuring: `db_bench` (a binary of its own, `db_bench/`), the benchmark of bounded reads, and other libraries beside
//! Ferrock.
//!
//! ```text
//! compare/       Ferrock beside another library of RocksDB's C interface, in turns (ferrock)
//! fast_forward/  the benchmark of bounded reads (ferrock, and the rig that holds Ferrock against RocksDB)
//! machine.rs     the machine of a measurement (db_bench, fast-forward, compare)
//! median.rs, permutation.rs, zipf.rs   numbers of measurements, and for workloads (db_bench, compare)
//! output.rs      lines and a progress bar (fast-forward, compare)
//! plot.rs        bars and lines as SVG (db_bench, fast-forward)
//! ```
#![warn(missing_docs)]

pub mod compare;
pub mod fast_forward;
pub mod machine;
pub mod median;
mod output;
pub mod permutation;
pub mod plot;
pub mod zipf;
