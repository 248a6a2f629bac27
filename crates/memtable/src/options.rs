//! The settings of a memtable.

use crate::tracker::MemoryTracker;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::prefix::PrefixExtractor;
use std::any::Any;
use std::sync::Arc;

/// What lives as long as a memtable: whoever holds the one holds the other.
pub trait Companion: Any + std::fmt::Debug + Send + Sync {}

/// The structure that holds the point entries of a memtable, as RocksDB's factories have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MemTableKind {
    /// Always sorted: for everything.
    #[default]
    SkipList,
    /// A skip list for each hash of a prefix: for lookups, and scans within a prefix. Without a prefix extractor, and
    /// with a comparator for which keys of different bytes can be equal, [`SkipList`](Self::SkipList) is used.
    HashSkipList {
        /// Lists of the table; at least one.
        bucket_count: usize,
        /// Levels of a list, from 1 to 12.
        height: usize,
        /// How many times as many entries a level has as the one above; at least 2.
        branching: u32,
    },
    /// As [`HashSkipList`](Self::HashSkipList), of linked lists: less memory for prefixes with few entries.
    HashLinkList {
        /// Lists of the table; at least one.
        bucket_count: usize,
        /// Entries after which a list becomes a skip list.
        threshold: usize,
    },
    /// In the order of arrival, sorted when read: for loads that are not read before their flush.
    Vector,
}

/// The settings of a memtable.
#[derive(Clone, Debug)]
pub struct MemTableOptions {
    /// The order of keys.
    pub comparator: InternalComparator,
    /// Size of the blocks in which memory is allocated (4 KiB to 1 GiB). The first block is always 4 KiB.
    pub arena_block_bytes: usize,
    /// Takes the prefixes that go into the Bloom filter.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// Size of the Bloom filter in bits; 0: no filter.
    pub prefix_bloom_bits: usize,
    /// Puts whole keys into the Bloom filter, so that `MemTable::get` of an absent key mostly skips the search.
    pub whole_key_filtering: bool,
    /// Receives the memory usage, at each `MemTable::report_memory` and when the memtable is dropped.
    pub tracker: Option<Arc<dyn MemoryTracker>>,
    /// The structure of the point entries.
    pub kind: MemTableKind,
    /// Memory is taken in whole pages of this size; 0: in blocks of any size.
    pub huge_page_bytes: usize,
    /// In a skip list `MemTable::add` keeps a hint for each of these prefixes, instead of one for all keys.
    pub hint_prefixes: Option<PrefixExtractor>,
    /// Locks for `MemTable::add_in_place`; 0: values are not written over. They are not, either, with comparators for
    /// which keys of different bytes can be equal, and in a vector.
    pub in_place_locks: usize,
    /// Bytes of a checksum behind every entry, which is compared when the entry is read
    /// (`memtable_protection_bytes_per_key`): up to eight; 0: none.
    pub protection_bytes: u8,
    /// Searches compare the checksums of all entries that they meet (`memtable_verify_per_key_checksum_on_seek`).
    pub verify_on_seek: bool,
    /// Reads compare the order of the keys that they meet (`paranoid_memory_checks`).
    pub check_order: bool,
    /// Kept until the memtable is dropped: the files, for example, that its entries refer to.
    pub companion: Option<Arc<dyn Companion>>,
}

impl Default for MemTableOptions {
    fn default() -> Self {
        Self {
            comparator: InternalComparator::default(),
            arena_block_bytes: 1 << 20,
            prefix_extractor: None,
            prefix_bloom_bits: 0,
            whole_key_filtering: false,
            tracker: None,
            kind: MemTableKind::SkipList,
            huge_page_bytes: 0,
            hint_prefixes: None,
            in_place_locks: 0,
            protection_bytes: 0,
            verify_on_seek: false,
            check_order: false,
            companion: None,
        }
    }
}
