//! RocksDB's PlainTable: records one behind the other, made to be read in place from memory. It has no blocks, no
//! checksums, no compression and no range tombstones, and all its offsets are 31 bits long.
//!
//! ```text
//! record *          from offset 0 to the property rocksdb.data.size
//! bloom block       optional, only with an index block        metaindex name kBloomBlock
//! index block       optional                                  metaindex name PlainTableIndexBlock
//! properties        a key/value block                         metaindex name rocksdb.properties
//! metaindex         a key/value block
//! footer            48 bytes, version 0, the index handle is null
//! ```
//!
//! No block has a trailer: a handle names exactly the block's bytes. [`record`](RecordForm) describes the records,
//! [`PlainIndex`] the index, [`PlainBloom`] the filter, [`PlainProperties`] the properties that only such tables have.
//!
//! Every decoder answers damaged bytes with `Corruption` and an offset.

mod bloom;
mod builder;
mod cursor;
mod index;
mod properties;
mod record;
#[cfg(test)]
mod tests;

pub use bloom::{BloomBits, PlainBloom};
pub use builder::RecordWriter;
pub use cursor::RecordCursor;
pub use index::{Bucket, IndexMaker, Offsets, PlainIndex, prefix_hash};
pub use properties::PlainProperties;
pub use record::{PlainEncoding, Record, RecordForm};

/// Longest table: offsets have 31 bits, and the largest one stands for an empty bucket of the index.
pub const MAX_FILE_SIZE: u64 = (1 << 31) - 1;

/// Name of the index block in the metaindex.
pub const INDEX_BLOCK: &str = "PlainTableIndexBlock";
/// Name of the bloom block in the metaindex.
pub const BLOOM_BLOCK: &str = "kBloomBlock";
