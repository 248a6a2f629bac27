//! Bytes to structs of every file RocksDB defines. No I/O, no locks.
#![warn(missing_docs)]

pub mod blob_index;
pub mod compression;
pub mod log;
mod option_values;
pub mod wide_column;
pub mod write_batch;
