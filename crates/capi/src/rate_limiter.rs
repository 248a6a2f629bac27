//! Rate limiters of what flush and compaction write.

use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock_base::clock::SystemClock;
use ferrock_vfs::{RateLimiter, TokenBucket};
use std::ffi::c_int;
use std::sync::Arc;

/// Bounds the bytes a second of every database that is opened with it.
pub struct rocksdb_ratelimiter_t {
    limiter: Arc<dyn RateLimiter>,
}

/// How long tokens gather, fairness and the mode are RocksDB's own matters: the bucket here refills continuously,
/// serves by priority and starves none, and bounds writes.
fn new_limiter(bytes_per_second: i64) -> *mut rocksdb_ratelimiter_t {
    let bytes_per_second = u64::try_from(bytes_per_second).unwrap_or(0).max(1);
    give(rocksdb_ratelimiter_t { limiter: Arc::new(TokenBucket::new(bytes_per_second, SystemClock::shared())) })
}

c_functions! {
    /// So many bytes a second.
    fn rocksdb_ratelimiter_create(
        bytes_per_second: i64,
        _refill_period_us: i64,
        _fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second)
    }

    /// At most so many bytes a second. The rate is not tuned below it.
    fn rocksdb_ratelimiter_create_auto_tuned(
        bytes_per_second: i64,
        _refill_period_us: i64,
        _fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second)
    }

    /// So many bytes a second. Whatever the mode, writes are bounded, and reads are not.
    fn rocksdb_ratelimiter_create_with_mode(
        bytes_per_second: i64,
        _refill_period_us: i64,
        _fairness: i32,
        _mode: c_int,
        _auto_tuned: bool,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second)
    }

    /// The limiter of flush and compaction; null takes it away. The options share it.
    fn rocksdb_options_set_ratelimiter(options: *mut rocksdb_options_t, limiter: *mut rocksdb_ratelimiter_t) {
        // SAFETY: the contract.
        let (options, limiter) = unsafe { (options.as_mut(), limiter.as_ref()) };
        if let Some(options) = options {
            options.db.components.rate_limiter = limiter.map(|limiter| Arc::clone(&limiter.limiter));
        }
    }
}

c_destructors! {
    /// Ends a handle of a limiter; what uses it keeps it.
    fn rocksdb_ratelimiter_destroy(rocksdb_ratelimiter_t);
}
