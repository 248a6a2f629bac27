//! Filters.

/// The name under which every built-in filter appears in the metaindex.
pub const COMPATIBILITY_NAME: &str = "rocksdb.BuiltinBloomFilter";
