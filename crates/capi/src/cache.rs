//! Block caches.
//!
//! There is one kind here, a clock cache: it stands in for the LRU cache and the hyper clock cache.

use crate::error::Neutral;
use crate::handle::give;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A block cache, which databases may share.
pub struct rocksdb_cache_t {
    pub(crate) cache: Arc<TableBlockCache>,
}

/// Options of an LRU cache.
pub struct rocksdb_lru_cache_options_t {
    options: CacheOptions,
}

/// Options of a hyper clock cache.
pub struct rocksdb_hyper_clock_cache_options_t {
    options: CacheOptions,
}

fn new_cache(options: CacheOptions) -> *mut rocksdb_cache_t {
    give(rocksdb_cache_t { cache: TableBlockCache::new(options) })
}

fn of_capacity(capacity_bytes: usize) -> CacheOptions {
    CacheOptions { capacity_bytes, ..CacheOptions::default() }
}

/// A negative number of bits lets the cache choose.
fn shard_bits(bits: c_int) -> Option<u32> {
    u32::try_from(bits).ok()
}

/// What the cache says; the neutral value for null.
///
/// # Safety
/// The cache is null or lives.
unsafe fn ask<R: Neutral>(cache: *const rocksdb_cache_t, question: impl FnOnce(&TableBlockCache) -> R) -> R {
    // SAFETY: as for this function.
    unsafe { cache.as_ref() }.map_or(R::NEUTRAL, |cache| question(&cache.cache))
}

c_functions! {
    /// A cache of so many bytes.
    fn rocksdb_cache_create_lru(capacity: usize) -> *mut rocksdb_cache_t {
        new_cache(of_capacity(capacity))
    }

    /// A cache that never holds more than so many bytes: what finds no room fails, as in RocksDB.
    fn rocksdb_cache_create_lru_with_strict_capacity_limit(capacity: usize) -> *mut rocksdb_cache_t {
        new_cache(CacheOptions { strict_capacity_limit: true, fail_when_full: true, ..of_capacity(capacity) })
    }

    /// A cache of such options; null for null.
    fn rocksdb_cache_create_lru_opts(options: *const rocksdb_lru_cache_options_t) -> *mut rocksdb_cache_t {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(std::ptr::null_mut(), |options| new_cache(options.options))
    }

    /// A cache of so many bytes. The cache sizes its tables by what it holds and needs no estimate.
    fn rocksdb_cache_create_hyper_clock(capacity: usize, _estimated_entry_charge: usize) -> *mut rocksdb_cache_t {
        new_cache(of_capacity(capacity))
    }

    /// A cache of such options; null for null.
    fn rocksdb_cache_create_hyper_clock_opts(
        options: *const rocksdb_hyper_clock_cache_options_t,
    ) -> *mut rocksdb_cache_t {
        // SAFETY: the contract.
        unsafe { options.as_ref() }.map_or(std::ptr::null_mut(), |options| new_cache(options.options))
    }

    /// Options with the defaults.
    fn rocksdb_lru_cache_options_create() -> *mut rocksdb_lru_cache_options_t {
        give(rocksdb_lru_cache_options_t { options: CacheOptions::default() })
    }

    /// Bytes that the cache may hold.
    fn rocksdb_lru_cache_options_set_capacity(options: *mut rocksdb_lru_cache_options_t, capacity: usize) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.capacity_bytes = capacity;
        }
    }

    /// The cache has two to this many shards; negative: the cache chooses.
    fn rocksdb_lru_cache_options_set_num_shard_bits(options: *mut rocksdb_lru_cache_options_t, bits: c_int) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.shard_bits = shard_bits(bits);
        }
    }

    /// Options for a cache of so many bytes. The cache needs no estimate.
    fn rocksdb_hyper_clock_cache_options_create(
        capacity: usize,
        _estimated_entry_charge: usize,
    ) -> *mut rocksdb_hyper_clock_cache_options_t {
        give(rocksdb_hyper_clock_cache_options_t { options: of_capacity(capacity) })
    }

    /// Bytes that the cache may hold.
    fn rocksdb_hyper_clock_cache_options_set_capacity(
        options: *mut rocksdb_hyper_clock_cache_options_t,
        capacity: usize,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.capacity_bytes = capacity;
        }
    }

    /// Changes nothing: the cache sizes its tables by what it holds.
    fn rocksdb_hyper_clock_cache_options_set_estimated_entry_charge(
        _options: *mut rocksdb_hyper_clock_cache_options_t,
        _estimated_entry_charge: usize,
    ) {
    }

    /// The cache has two to this many shards; negative: the cache chooses.
    fn rocksdb_hyper_clock_cache_options_set_num_shard_bits(
        options: *mut rocksdb_hyper_clock_cache_options_t,
        bits: c_int,
    ) {
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.options.shard_bits = shard_bits(bits);
        }
    }

    /// Changes the capacity; what no longer fits is evicted at once.
    fn rocksdb_cache_set_capacity(cache: *mut rocksdb_cache_t, capacity: usize) {
        // SAFETY: the contract.
        unsafe { ask(cache, |cache| cache.set_capacity(capacity)) }
    }

    /// Bytes that the cache may hold.
    fn rocksdb_cache_get_capacity(cache: *const rocksdb_cache_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(cache, TableBlockCache::capacity) }
    }

    /// Bytes that the cache holds.
    fn rocksdb_cache_get_usage(cache: *const rocksdb_cache_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(cache, TableBlockCache::usage) }
    }

    /// Bytes of what is in use.
    fn rocksdb_cache_get_pinned_usage(cache: *const rocksdb_cache_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(cache, TableBlockCache::pinned_usage) }
    }

    /// Places of the tables that keys are looked up in.
    fn rocksdb_cache_get_table_address_count(cache: *const rocksdb_cache_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(cache, TableBlockCache::table_address_count) }
    }

    /// Entries that the cache holds.
    fn rocksdb_cache_get_occupancy_count(cache: *const rocksdb_cache_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(cache, |cache| cache.stats().total().entry_count) }
    }

    /// The memory of the cache is not given back when its last user goes: for a process that is about to end.
    fn rocksdb_cache_disown_data(cache: *mut rocksdb_cache_t) {
        // SAFETY: the contract.
        if let Some(cache) = unsafe { cache.as_ref() } {
            let _never_dropped = ManuallyDrop::new(Arc::clone(&cache.cache));
        }
    }
}

c_destructors! {
    /// Ends a handle of a cache; what uses the cache keeps it.
    fn rocksdb_cache_destroy(rocksdb_cache_t);

    /// Ends options; caches made with them stay.
    fn rocksdb_lru_cache_options_destroy(rocksdb_lru_cache_options_t);

    /// Ends options; caches made with them stay.
    fn rocksdb_hyper_clock_cache_options_destroy(rocksdb_hyper_clock_cache_options_t);
}
