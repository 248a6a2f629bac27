//! Bytes to structs of every file RocksDB defines. No I/O, no locks.
#![warn(missing_docs)]

pub mod backup;
pub mod blob_file;
pub mod blob_index;
pub mod block;
pub mod compaction_service;
pub mod compression;
pub mod current_file;
pub mod file_name;
pub mod filter;
pub mod footer;
pub mod handle;
pub mod log;
pub mod metaindex;
mod option_values;
pub mod options_file;
pub mod plain_table;
pub mod properties;
pub mod stats_history;
pub mod trace;
pub mod trailer;
pub mod unique_id;
pub mod version_edit;
pub mod wide;
pub mod wide_column;
pub mod write_batch;
