//! A pure-Rust LSM key-value engine that reads and writes RocksDB's own files.
#![warn(missing_docs)]

mod background_error;
mod blob;
mod column_family;
mod compaction;
mod db;
mod hash_index_choice;
mod info_log;
mod iterator;
mod listener;
pub mod options;
mod places;
mod read;
mod snapshot;
mod statistics;
mod super_version;
mod sync;
mod table_cache;
mod version;
pub mod wide;
mod write;
mod write_buffer_manager;

pub use column_family::ColumnFamily;
pub use db::{
    AsyncScan, ColumnFamilyDescriptor, Db, GetAsync, INTEGER_PROPERTIES, Iter, KeyVersion, KeyVersions, LiveFile,
    MAP_PROPERTIES, MultiGetAsync, MultiScan, NextBatch, PinnedSlice, ScanBatch, ScanRange, ScanRow, TEXT_PROPERTIES,
};
pub use ferrock_base::byte_text;
pub use ferrock_base::{Comparator, Error, ErrorKind, FileNumber, Result, SequenceNumber, ValueType};
pub use ferrock_format::write_batch::WriteBatch;
pub use listener::{CompactionEvent, ErrorRecoveryEvent, EventListener, FlushEvent};
pub use options::{ColumnFamilyOptions, CompactRangeOptions, DbOptions, FlushOptions, ReadOptions, WriteOptions};
pub use snapshot::Snapshot;

/// For the measuring tools in `examples/`. No part of the interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::version::measuring::{build_file_index, follow_bridge};
    pub use crate::version::{FileMetadata, Version, VersionBuilder};
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/wide.md")]
struct WideGuideExamples;
