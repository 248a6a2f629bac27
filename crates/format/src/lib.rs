//! Bytes to structs of every file RocksDB defines. No I/O, no locks.
#![warn(missing_docs)]
