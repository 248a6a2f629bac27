//! How much memory databases and caches hold.

use crate::cache::rocksdb_cache_t;
use crate::db::rocksdb_t;
use crate::error::Neutral;
use crate::handle::{borrow, give};
use ferrock::Db;
use ferrock_table::TableBlockCache;
use std::sync::Arc;

/// What is asked.
#[derive(Default)]
pub struct rocksdb_memory_consumers_t {
    databases: Vec<Db>,
    caches: Vec<Arc<TableBlockCache>>,
}

/// The answer.
#[derive(Default)]
pub struct rocksdb_memory_usage_t {
    memtables: u64,
    unflushed: u64,
    readers: u64,
    caches: u64,
}

/// The sum of a property over all families of databases.
fn sum(databases: &[Db], property: &str) -> u64 {
    let families = databases.iter().flat_map(|db| db.column_families().into_iter().map(move |family| (db, family)));
    families.filter_map(|(db, family)| db.int_property_cf(&family, property)).sum()
}

/// The sum of the memory of different caches.
fn of_caches(caches: &[Arc<TableBlockCache>]) -> u64 {
    let mut different: Vec<&Arc<TableBlockCache>> = Vec::new();
    for cache in caches {
        if !different.iter().any(|known| Arc::ptr_eq(known, cache)) {
            different.push(cache);
        }
    }
    different.into_iter().map(|cache| cache.usage() as u64).sum()
}

/// A number of an answer.
///
/// # Safety
/// The contract.
unsafe fn tell(usage: *const rocksdb_memory_usage_t, number: impl FnOnce(&rocksdb_memory_usage_t) -> u64) -> u64 {
    // SAFETY: as for this function.
    unsafe { usage.as_ref() }.map_or(u64::NEUTRAL, number)
}

c_functions! {
    /// An empty list.
    fn rocksdb_memory_consumers_create() -> *mut rocksdb_memory_consumers_t {
        give(rocksdb_memory_consumers_t::default())
    }

    /// Adds a database, which the list keeps open for questions.
    fn rocksdb_memory_consumers_add_db(consumers: *mut rocksdb_memory_consumers_t, db: *mut rocksdb_t) {
        // SAFETY: the contract.
        let (consumers, db) = unsafe { (consumers.as_mut(), db.as_ref()) };
        if let (Some(consumers), Some(db)) = (consumers, db) {
            consumers.databases.push(db.db.clone());
        }
    }

    /// Adds a cache.
    fn rocksdb_memory_consumers_add_cache(consumers: *mut rocksdb_memory_consumers_t, cache: *mut rocksdb_cache_t) {
        // SAFETY: the contract.
        let (consumers, cache) = unsafe { (consumers.as_mut(), cache.as_ref()) };
        if let (Some(consumers), Some(cache)) = (consumers, cache) {
            consumers.caches.push(Arc::clone(&cache.cache));
        }
    }

    /// Bytes of all memtables.
    fn rocksdb_approximate_memory_usage_get_mem_table_total(usage: *mut rocksdb_memory_usage_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(usage, |usage| usage.memtables) }
    }

    /// Bytes of memtables that were not flushed.
    fn rocksdb_approximate_memory_usage_get_mem_table_unflushed(usage: *mut rocksdb_memory_usage_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(usage, |usage| usage.unflushed) }
    }

    /// Bytes of what open tables hold beside the caches.
    fn rocksdb_approximate_memory_usage_get_mem_table_readers_total(usage: *mut rocksdb_memory_usage_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(usage, |usage| usage.readers) }
    }

    /// Bytes that the caches of the list hold.
    fn rocksdb_approximate_memory_usage_get_cache_total(usage: *mut rocksdb_memory_usage_t) -> u64 {
        // SAFETY: the contract.
        unsafe { tell(usage, |usage| usage.caches) }
    }
}

c_fallible! {
    /// How much memory the databases and caches of a list hold now.
    fn rocksdb_approximate_memory_usage_create(
        consumers: *mut rocksdb_memory_consumers_t,
    ) -> *mut rocksdb_memory_usage_t {
        // SAFETY: the contract.
        let consumers = unsafe { borrow(consumers, "list of consumers")? };
        Ok(give(rocksdb_memory_usage_t {
            memtables: sum(&consumers.databases, "rocksdb.size-all-mem-tables"),
            unflushed: sum(&consumers.databases, "rocksdb.cur-size-all-mem-tables"),
            readers: sum(&consumers.databases, "rocksdb.estimate-table-readers-mem"),
            caches: of_caches(&consumers.caches),
        }))
    }
}

c_destructors! {
    /// Ends a list; databases and caches stay.
    fn rocksdb_memory_consumers_destroy(rocksdb_memory_consumers_t);
    /// Ends an answer.
    fn rocksdb_approximate_memory_usage_destroy(rocksdb_memory_usage_t);
}
