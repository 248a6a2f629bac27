//! A pure-Rust LSM key-value engine that reads and writes RocksDB's own files.
#![warn(missing_docs)]

pub mod compaction;
pub mod iterator;
mod listener;
pub mod options;
pub mod read;
mod snapshot;
mod super_version;
mod sync;
pub mod table_cache;
pub mod version;

pub use ferrock_base::{Comparator, Error, ErrorKind, Result, SequenceNumber};
pub use ferrock_format::write_batch::WriteBatch;
pub use listener::{CompactionEvent, EventListener, FlushEvent};
pub use options::{ColumnFamilyOptions, DbOptions, ReadOptions, WriteOptions};
pub use snapshot::Snapshot;
