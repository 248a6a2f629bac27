//! Block caches.

use crate::handle::give;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use std::sync::Arc;

/// A block cache, which databases may share.
pub struct rocksdb_cache_t {
    pub(crate) cache: Arc<TableBlockCache>,
}

fn new_cache(capacity_bytes: usize) -> *mut rocksdb_cache_t {
    give(rocksdb_cache_t { cache: TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() }) })
}

c_functions! {
    /// A cache of so many bytes. There is one kind here, a clock cache: it stands in for the LRU cache too.
    fn rocksdb_cache_create_lru(capacity: usize) -> *mut rocksdb_cache_t {
        new_cache(capacity)
    }

    /// A cache of so many bytes. The cache sizes its tables by what it holds and needs no estimate.
    fn rocksdb_cache_create_hyper_clock(capacity: usize, _estimated_entry_charge: usize) -> *mut rocksdb_cache_t {
        new_cache(capacity)
    }
}

c_destructors! {
    /// Ends a handle of a cache; what uses the cache keeps it.
    fn rocksdb_cache_destroy(rocksdb_cache_t);
}
