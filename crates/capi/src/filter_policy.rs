//! Filter policies.

use crate::handle::give;
use ferrock::options::FilterPolicy;
use std::ffi::c_int;

/// Which filters tables get.
pub struct rocksdb_filterpolicy_t {
    pub(crate) policy: FilterPolicy,
}

c_functions! {
    /// Bloom filters of so many bits per key. Since RocksDB 7 the same as the full one.
    fn rocksdb_filterpolicy_create_bloom(bits_per_key: f64) -> *mut rocksdb_filterpolicy_t {
        give(rocksdb_filterpolicy_t { policy: FilterPolicy::bloom(bits_per_key) })
    }

    /// Bloom filters of so many bits per key, one for a table.
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> *mut rocksdb_filterpolicy_t {
        give(rocksdb_filterpolicy_t { policy: FilterPolicy::bloom(bits_per_key) })
    }

    /// Bloom filters of so many bits per key. Since RocksDB 7 the two formats are one.
    fn rocksdb_filterpolicy_create_bloom_format(
        bits_per_key: f64,
        _original_format: bool,
    ) -> *mut rocksdb_filterpolicy_t {
        give(rocksdb_filterpolicy_t { policy: FilterPolicy::bloom(bits_per_key) })
    }

    /// The same as `rocksdb_filterpolicy_create_ribbon_hybrid`.
    fn rocksdb_filterpolicy_create_ribbon_format(
        bloom_equivalent_bits_per_key: f64,
        bloom_before_level: c_int,
    ) -> *mut rocksdb_filterpolicy_t {
        give(rocksdb_filterpolicy_t { policy: FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level) })
    }

    /// Ribbon filters as accurate as Bloom filters of so many bits per key; flushes get a Bloom filter.
    fn rocksdb_filterpolicy_create_ribbon(bloom_equivalent_bits_per_key: f64) -> *mut rocksdb_filterpolicy_t {
        give(rocksdb_filterpolicy_t { policy: FilterPolicy::ribbon(bloom_equivalent_bits_per_key, 0) })
    }

    /// Ribbon filters from level `bloom_before_level` on, Bloom filters above; level -1 makes flushes Ribbon, too.
    fn rocksdb_filterpolicy_create_ribbon_hybrid(
        bloom_equivalent_bits_per_key: f64,
        bloom_before_level: c_int,
    ) -> *mut rocksdb_filterpolicy_t {
        give(rocksdb_filterpolicy_t { policy: FilterPolicy::ribbon(bloom_equivalent_bits_per_key, bloom_before_level) })
    }
}

c_destructors! {
    /// Ends a policy that was not given to options.
    fn rocksdb_filterpolicy_destroy(rocksdb_filterpolicy_t);
}
