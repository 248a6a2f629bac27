//! A pure-Rust LSM key-value engine that reads and writes RocksDB's own files.
#![warn(missing_docs)]

pub use ferrock_engine::*;
pub use ferrock_wide as wide;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/wide.md")]
struct WideGuideExamples;
