//! Managers of the memory of memtables.

use crate::cache::rocksdb_cache_t;
use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock::options::WriteBufferManager;
use std::sync::Arc;

/// Bounds the memory of the memtables of every database that is opened with it.
pub struct rocksdb_write_buffer_manager_t {
    manager: Arc<WriteBufferManager>,
}

/// What the manager says; the neutral value for null.
///
/// # Safety
/// The manager is null or lives.
unsafe fn ask<R: crate::error::Neutral>(
    manager: *const rocksdb_write_buffer_manager_t,
    question: impl FnOnce(&WriteBufferManager) -> R,
) -> R {
    // SAFETY: as for this function.
    unsafe { manager.as_ref() }.map_or(R::NEUTRAL, |manager| question(&manager.manager))
}

c_functions! {
    /// A manager of so many bytes; 0: no bound.
    fn rocksdb_write_buffer_manager_create(
        buffer_size: usize,
        allow_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t {
        give(rocksdb_write_buffer_manager_t { manager: WriteBufferManager::new(buffer_size, None, allow_stall) })
    }

    /// A manager whose memtables are charged to a cache.
    fn rocksdb_write_buffer_manager_create_with_cache(
        buffer_size: usize,
        cache: *const rocksdb_cache_t,
        allow_stall: bool,
    ) -> *mut rocksdb_write_buffer_manager_t {
        // SAFETY: the contract.
        let cache = unsafe { cache.as_ref() }.map(|cache| &cache.cache);
        give(rocksdb_write_buffer_manager_t { manager: WriteBufferManager::new(buffer_size, cache, allow_stall) })
    }

    /// True when there is a bound.
    fn rocksdb_write_buffer_manager_enabled(manager: *mut rocksdb_write_buffer_manager_t) -> bool {
        // SAFETY: the contract.
        unsafe { ask(manager, WriteBufferManager::enabled) }
    }

    /// True when memtables are charged to a cache.
    fn rocksdb_write_buffer_manager_cost_to_cache(manager: *mut rocksdb_write_buffer_manager_t) -> bool {
        // SAFETY: the contract.
        unsafe { ask(manager, WriteBufferManager::cost_to_cache) }
    }

    /// Bytes that memtables hold.
    fn rocksdb_write_buffer_manager_memory_usage(manager: *mut rocksdb_write_buffer_manager_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(manager, WriteBufferManager::memory_usage) }
    }

    /// Bytes that memtables hold which are written to.
    fn rocksdb_write_buffer_manager_mutable_memtable_memory_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize {
        // SAFETY: the contract.
        unsafe { ask(manager, WriteBufferManager::mutable_memtable_memory_usage) }
    }

    /// Bytes reserved in the cache.
    fn rocksdb_write_buffer_manager_dummy_entries_in_cache_usage(
        manager: *mut rocksdb_write_buffer_manager_t,
    ) -> usize {
        // SAFETY: the contract.
        unsafe { ask(manager, WriteBufferManager::dummy_entries_in_cache_usage) }
    }

    /// The bound.
    fn rocksdb_write_buffer_manager_buffer_size(manager: *mut rocksdb_write_buffer_manager_t) -> usize {
        // SAFETY: the contract.
        unsafe { ask(manager, WriteBufferManager::buffer_size) }
    }

    /// Changes the bound.
    fn rocksdb_write_buffer_manager_set_buffer_size(manager: *mut rocksdb_write_buffer_manager_t, size: usize) {
        // SAFETY: the contract.
        unsafe { ask(manager, |manager| manager.set_buffer_size(size)) }
    }

    /// Whether writes wait while the bound is passed.
    fn rocksdb_write_buffer_manager_set_allow_stall(manager: *mut rocksdb_write_buffer_manager_t, allow: bool) {
        // SAFETY: the contract.
        unsafe { ask(manager, |manager| manager.set_allow_stall(allow)) }
    }

    /// The manager of the memtables; null takes it away. The options share it.
    fn rocksdb_options_set_write_buffer_manager(
        options: *mut rocksdb_options_t,
        manager: *mut rocksdb_write_buffer_manager_t,
    ) {
        // SAFETY: the contract.
        let manager = unsafe { manager.as_ref() }.map(|manager| Arc::clone(&manager.manager));
        // SAFETY: the contract.
        if let Some(options) = unsafe { options.as_mut() } {
            options.db.components.write_buffer_manager = manager;
        }
    }
}

c_destructors! {
    /// Ends a handle of a manager; what uses the manager keeps it.
    fn rocksdb_write_buffer_manager_destroy(rocksdb_write_buffer_manager_t);
}
