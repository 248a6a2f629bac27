//! The settings of a cache.

/// By default there is one shard for each so many bytes: small caches gain nothing from many locks.
const MIN_SHARD_BYTES: usize = 2 << 20;
const MAX_DEFAULT_SHARD_BITS: u32 = 6;
const MAX_SHARD_BITS: u32 = 10;

/// The settings of a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheOptions {
    /// Bytes the cache may hold.
    pub capacity_bytes: usize,
    /// The cache is cut into `2^shard_bits` parts (at most 1024), each with a lock for inserting; `None` chooses by
    /// capacity. All parts share the capacity: an entry may be as large as the cache.
    pub shard_bits: Option<u32>,
    /// Refuse values that do not fit beside the entries in use, instead of exceeding the capacity for a while.
    pub strict_capacity_limit: bool,
    /// With `strict_capacity_limit`: a refused value fails the
    /// [`lookup_or_load`](crate::BlockCache::lookup_or_load) that wanted it with
    /// [`ErrorKind::MemoryLimit`](ferrock_base::ErrorKind::MemoryLimit), as RocksDB's reads do. Otherwise the caller
    /// gets the value in a handle outside the cache.
    pub fail_when_full: bool,
    /// The part of the capacity in which entries keep high priority; entries inserted beyond it count as low. 0: no
    /// entry keeps it; 1: all do.
    pub high_pri_pool_ratio: f64,
    /// The part of the capacity in which entries of low priority (also those that found no room among the high ones)
    /// stay longer than those of bottom priority.
    pub low_pri_pool_ratio: f64,
    /// Charge each entry for the cache's own tables too.
    pub charge_metadata: bool,
}

impl Default for CacheOptions {
    /// RocksDB's default block cache: 32 MiB.
    fn default() -> Self {
        Self {
            capacity_bytes: 32 << 20,
            shard_bits: None,
            strict_capacity_limit: false,
            fail_when_full: false,
            high_pri_pool_ratio: 1.0,
            low_pri_pool_ratio: 1.0,
            charge_metadata: true,
        }
    }
}

impl CacheOptions {
    pub(crate) fn effective_shard_bits(&self) -> u32 {
        match self.shard_bits {
            Some(bits) => bits.min(MAX_SHARD_BITS),
            None => (self.capacity_bytes / MIN_SHARD_BYTES).max(1).ilog2().min(MAX_DEFAULT_SHARD_BITS),
        }
    }
}
