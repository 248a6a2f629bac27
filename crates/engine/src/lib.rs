//! A pure-Rust LSM key-value engine that reads and writes RocksDB's own files.
#![warn(missing_docs)]
