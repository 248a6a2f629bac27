//! Names in the metaindex block: the directory of a table's other blocks.
//!
//! The metaindex is a plain key/value block with restart interval 1 whose keys are sorted bytewise and whose values are
//! block handles. Readers ignore names they do not know; [`ROW_BOUNDS`] is the only name that Ferrock adds.

use crate::handle::BlockHandle;
use ferrock_base::{Error, Result};

/// Properties block.
pub const PROPERTIES: &str = "rocksdb.properties";
/// Index block, or the top level of a partitioned index. Present from format_version 6 on, and only then.
pub const INDEX: &str = "rocksdb.index";
/// Raw compression dictionary.
pub const COMPRESSION_DICTIONARY: &str = "rocksdb.compression_dict";
/// Range tombstones.
pub const RANGE_DELETION: &str = "rocksdb.range_del";
/// Prefixes of a hash-search index.
pub const HASH_INDEX_PREFIXES: &str = "rocksdb.hashindex.prefixes";
/// Block ranges of a hash-search index.
pub const HASH_INDEX_METADATA: &str = "rocksdb.hashindex.metadata";
/// Ferrock's own: the directory of the row bounds. It begins like an obsolete filter, because RocksDB skips any name
/// that it does not know when it reads, but builds of it with assertions take only names of known kinds when they
/// verify checksums.
pub const ROW_BOUNDS: &str = "filter.ferrock.row-bounds";
/// Prefix of the names of user-defined index blocks, which are never needed: the ordinary index is complete.
pub const USER_DEFINED_INDEX_PREFIX: &str = "rocksdb.user_defined_index.";
/// Prefix of the name of a filter for the whole table; the policy's compatibility name follows.
pub const FULL_FILTER_PREFIX: &str = "fullfilter.";
/// Prefix of the name of a filter-partition index.
pub const PARTITIONED_FILTER_PREFIX: &str = "partitionedfilter.";
/// Prefix of the long-obsolete block-based filter, which readers ignore.
pub const OBSOLETE_FILTER_PREFIX: &str = "filter.";

/// The kind of block that a metaindex name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaBlock<'a> {
    /// The properties block.
    Properties,
    /// The index, or its top level.
    Index,
    /// The compression dictionary.
    CompressionDictionary,
    /// The range tombstones.
    RangeDeletion,
    /// The hash-search index's prefixes.
    HashIndexPrefixes,
    /// The hash-search index's block ranges.
    HashIndexMetadata,
    /// The directory of the row bounds.
    RowBounds,
    /// A filter for the whole table, of the policy named.
    FullFilter(&'a [u8]),
    /// A filter-partition index, of the policy named.
    PartitionedFilter(&'a [u8]),
    /// An obsolete, user-defined or unknown block: ignored.
    Other,
}

impl<'a> MetaBlock<'a> {
    /// Classifies a metaindex name.
    #[must_use]
    pub fn from_name(name: &'a [u8]) -> Self {
        let exact = [
            (PROPERTIES, Self::Properties),
            (INDEX, Self::Index),
            (COMPRESSION_DICTIONARY, Self::CompressionDictionary),
            (RANGE_DELETION, Self::RangeDeletion),
            (HASH_INDEX_PREFIXES, Self::HashIndexPrefixes),
            (HASH_INDEX_METADATA, Self::HashIndexMetadata),
            (ROW_BOUNDS, Self::RowBounds),
        ];
        if let Some((_, block)) = exact.into_iter().find(|(known, _)| known.as_bytes() == name) {
            return block;
        }
        if let Some(policy) = name.strip_prefix(FULL_FILTER_PREFIX.as_bytes()) {
            return Self::FullFilter(policy);
        }
        if let Some(policy) = name.strip_prefix(PARTITIONED_FILTER_PREFIX.as_bytes()) {
            return Self::PartitionedFilter(policy);
        }
        Self::Other
    }
}

/// The handles of the blocks a reader uses, gathered from the metaindex entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaBlockHandles {
    /// The properties block.
    pub properties: Option<BlockHandle>,
    /// The index (format_version 6 on).
    pub index: Option<BlockHandle>,
    /// The compression dictionary.
    pub compression_dictionary: Option<BlockHandle>,
    /// The range tombstones.
    pub range_deletion: Option<BlockHandle>,
    /// The hash-search index's prefixes.
    pub hash_index_prefixes: Option<BlockHandle>,
    /// The hash-search index's block ranges.
    pub hash_index_metadata: Option<BlockHandle>,
    /// The directory of the row bounds.
    pub row_bounds: Option<BlockHandle>,
    /// A full filter of the built-in policies.
    pub full_filter: Option<BlockHandle>,
    /// A filter-partition index of the built-in policies.
    pub partitioned_filter: Option<BlockHandle>,
}

impl MetaBlockHandles {
    /// Gathers handles from metaindex entries. Names that are not known are skipped, filters of foreign policies too
    /// (the table is then read unfiltered); a known name with a malformed handle is corruption.
    ///
    /// # Errors
    /// `Corruption` for a known name with a malformed handle.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Result<Self> {
        let built_in = crate::filter::COMPATIBILITY_NAME.as_bytes();
        let mut handles = Self::default();
        for (name, value) in entries {
            let slot = match MetaBlock::from_name(name) {
                MetaBlock::Properties => &mut handles.properties,
                MetaBlock::Index => &mut handles.index,
                MetaBlock::CompressionDictionary => &mut handles.compression_dictionary,
                MetaBlock::RangeDeletion => &mut handles.range_deletion,
                MetaBlock::HashIndexPrefixes => &mut handles.hash_index_prefixes,
                MetaBlock::HashIndexMetadata => &mut handles.hash_index_metadata,
                MetaBlock::RowBounds => &mut handles.row_bounds,
                MetaBlock::FullFilter(policy) if policy == built_in => &mut handles.full_filter,
                MetaBlock::PartitionedFilter(policy) if policy == built_in => &mut handles.partitioned_filter,
                MetaBlock::FullFilter(_) | MetaBlock::PartitionedFilter(_) | MetaBlock::Other => continue,
            };
            let (handle, _) = BlockHandle::decode(value).map_err(|error| {
                let name = String::from_utf8_lossy(name).into_owned();
                Error::corruption(format!("metaindex entry {name}: {}", error.message()))
            })?;
            *slot = Some(handle);
        }
        Ok(handles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_gathered_and_others_skipped() {
        let entries: [(&[u8], &[u8]); 5] = [
            (b"filter.rocksdb.BuiltinBloomFilter", &[1, 2]),
            (b"fullfilter.acme.Filter", &[0x80]),
            (b"fullfilter.rocksdb.BuiltinBloomFilter", &[5, 69]),
            (b"rocksdb.index", &[0x96, 0x01, 0x16]),
            (b"rocksdb.user_defined_index.trie_index", &[0xff]),
        ];
        let handles = MetaBlockHandles::from_entries(entries).unwrap();
        assert_eq!(handles.full_filter, Some(BlockHandle::new(5, 69)));
        assert_eq!(handles.index, Some(BlockHandle::new(150, 22)));
        let only_these =
            MetaBlockHandles { full_filter: handles.full_filter, index: handles.index, ..Default::default() };
        assert_eq!(handles, only_these);
    }

    #[test]
    fn a_malformed_handle_of_a_known_block_is_corruption() {
        let error = MetaBlockHandles::from_entries([(&b"rocksdb.properties"[..], &b"\x80"[..])]).unwrap_err();
        assert!(error.is_corruption() && error.message().contains("rocksdb.properties"), "{error}");
    }
}
