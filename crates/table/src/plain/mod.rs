//! RocksDB's PlainTable, read from memory. [`ferrock_format::plain_table`] describes the bytes.
//!
//! ```text
//! FileBytes        owns the file's bytes; values point into them
//! PlainTable       index and filter, from the file or made when it is opened; get
//!   get            prefix -> PrefixMap, or filter and bucket of the index in the file -> records from there on
//!   iter           PlainTableIter: both directions, in the order of all keys
//! PlainTableBuilder  writes one
//! ```
//!
//! Records lie in the order of their keys, and an index names some that reading can begin at. Taken together, over all
//! buckets, these are an index of all keys: so iterators go anywhere in either direction whether or not the table has a
//! hash index. (RocksDB's iterators only go forward, and with a hash index only within a prefix.)
//!
//! The hash index is used if the prefixes of neighbouring keys are neighbours, and the extractor is the one that the
//! file was written with: given with the options, or built in and found by the name that the file has. All other
//! tables are read with the index of all keys. So no table is refused for its extractor.

mod builder;
mod bytes;
mod iter;
mod open;
mod prefix_map;
mod starts;
mod table;

pub use builder::PlainTableBuilder;
pub use bytes::{PlainPin, PlainValue};
pub use iter::PlainTableIter;
pub use table::PlainTable;

#[cfg(test)]
mod tests;
