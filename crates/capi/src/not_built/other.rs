//! What belongs to no other group.

use super::{not_built, unbuilt_types};
use crate::cache::{rocksdb_hyper_clock_cache_options_t, rocksdb_lru_cache_options_t};
use crate::kept::kept_options;
use std::ffi::c_uchar;

unbuilt_types! {
    rocksdb_cuckoo_table_options_t, rocksdb_memory_allocator_t,
}

kept_options! {
    for rocksdb_cuckoo_table_options_t:
    asks hash_ratio: f64 = 0.0, rocksdb_cuckoo_options_set_hash_ratio / -;
    asks hash_table_ratio: f64 = 0.9,
        rocksdb_cuckoo_options_set_hash_table_ratio
        / rocksdb_cuckoo_options_get_hash_table_ratio;
    asks max_search_depth: u32 = 100,
        rocksdb_cuckoo_options_set_max_search_depth
        / rocksdb_cuckoo_options_get_max_search_depth;
    asks cuckoo_block_size: u32 = 5,
        rocksdb_cuckoo_options_set_cuckoo_block_size
        / rocksdb_cuckoo_options_get_cuckoo_block_size;
    asks identity_as_first_hash: c_uchar = 0,
        rocksdb_cuckoo_options_set_identity_as_first_hash
        / rocksdb_cuckoo_options_get_identity_as_first_hash;
    asks use_module_hash: c_uchar = 1,
        rocksdb_cuckoo_options_set_use_module_hash
        / rocksdb_cuckoo_options_get_use_module_hash;
}

not_built! {
    fn rocksdb_cuckoo_options_create() -> *mut rocksdb_cuckoo_table_options_t = handle;
    fn rocksdb_cuckoo_options_destroy(options: *mut rocksdb_cuckoo_table_options_t) = destroy;
    fn rocksdb_jemalloc_nodump_allocator_create() -> *mut rocksdb_memory_allocator_t = error;
    fn rocksdb_memory_allocator_destroy(memory_allocator: *mut rocksdb_memory_allocator_t) = destroy;
    fn rocksdb_lru_cache_options_set_memory_allocator(
        lru_cache_options: *mut rocksdb_lru_cache_options_t, memory_allocator: *mut rocksdb_memory_allocator_t,
    ) = neutral;
    fn rocksdb_hyper_clock_cache_options_set_memory_allocator(
        hyper_clock_cache_options: *mut rocksdb_hyper_clock_cache_options_t,
        memory_allocator: *mut rocksdb_memory_allocator_t,
    ) = neutral;
}
