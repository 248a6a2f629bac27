//! Vocabulary of the Ferrock engine: keys, sequence numbers, errors, comparators, merge operators, the iterator
//! contract, checksums and hashes, clocks, threads and the option table. This crate does no I/O; every other crate
//! builds on it.
#![warn(missing_docs)]

pub mod allocation;
pub mod byte_text;
pub mod checksum;
pub mod clock;
pub mod coding;
pub mod compaction_filter;
pub mod comparator;
pub mod components;
pub mod error;
pub mod file_checksum;
pub mod hash;
pub mod internal_key;
pub mod iterator;
pub mod merge;
pub mod option_table;
pub mod pages;
pub mod prefix;
pub mod random;
pub mod range_tombstone;
pub mod seek_target;
pub mod sst_partitioner;
pub mod stripe;
pub mod sync;
pub mod table_properties_collector;
mod temperature;
pub mod thread;
pub mod types;

pub use comparator::{Comparator, InternalComparator};
pub use error::{Error, ErrorKind, Result};
pub use internal_key::{LookupKey, ParsedInternalKey};
pub use iterator::InternalIterator;
pub use seek_target::{OwnedSeekTarget, SeekTarget};
pub use temperature::Temperature;
pub use types::{FileNumber, MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
