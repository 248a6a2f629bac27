//! Rate limiters of what flush and compaction write.

use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock_base::clock::SystemClock;
use ferrock_vfs::{IoPriority, RateLimiter, TokenBucket};
use std::ffi::c_int;
use std::sync::Arc;

/// Bounds the bytes a second of every database that is opened with it.
pub struct rocksdb_ratelimiter_t {
    limiter: Arc<dyn RateLimiter>,
}

/// The mode of RocksDB that bounds reads and no write.
const READS_ONLY: c_int = 0;

/// How long tokens gather and fairness are RocksDB's own matters: the bucket here refills continuously, serves by
/// priority and starves none.
fn new_limiter(bytes_per_second: i64, is_auto_tuned: bool) -> *mut rocksdb_ratelimiter_t {
    let bytes_per_second = u64::try_from(bytes_per_second).unwrap_or(0).max(1);
    let bucket = if is_auto_tuned { TokenBucket::auto_tuned } else { TokenBucket::new };
    give(rocksdb_ratelimiter_t { limiter: Arc::new(bucket(bytes_per_second, SystemClock::shared())) })
}

/// Bounds no write.
#[derive(Debug)]
struct Unbounded;

impl RateLimiter for Unbounded {
    fn request(&self, _: u64, _: IoPriority) {}
}

c_functions! {
    /// So many bytes a second.
    fn rocksdb_ratelimiter_create(
        bytes_per_second: i64,
        _refill_period_us: i64,
        _fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second, false)
    }

    /// At most so many bytes a second, and no more than is asked for.
    fn rocksdb_ratelimiter_create_auto_tuned(
        bytes_per_second: i64,
        _refill_period_us: i64,
        _fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second, true)
    }

    /// So many bytes a second of what the mode bounds. No read is bounded, whatever the mode; writes are, unless it is
    /// that of reads alone.
    fn rocksdb_ratelimiter_create_with_mode(
        bytes_per_second: i64,
        _refill_period_us: i64,
        _fairness: i32,
        mode: c_int,
        auto_tuned: bool,
    ) -> *mut rocksdb_ratelimiter_t {
        if mode == READS_ONLY {
            return give(rocksdb_ratelimiter_t { limiter: Arc::new(Unbounded) });
        }
        new_limiter(bytes_per_second, auto_tuned)
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
