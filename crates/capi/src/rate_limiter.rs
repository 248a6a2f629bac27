//! Rate limiters of what is read and written.

use crate::handle::give;
use crate::options::rocksdb_options_t;
use ferrock::options::{LimiterMode, RateLimiter, TokenBucket, TokenBucketOptions};
use ferrock_base::clock::SystemClock;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

/// Bounds the bytes a second of every database that is opened with it.
pub struct rocksdb_ratelimiter_t {
    limiter: Arc<dyn RateLimiter>,
}

impl rocksdb_ratelimiter_t {
    /// The limiter, shared.
    pub(crate) fn limiter(&self) -> Arc<dyn RateLimiter> {
        Arc::clone(&self.limiter)
    }
}

/// The longest refill period that a bucket has.
const MOST_REFILL_US: i64 = 3_600_000_000;

/// Numbers out of their bounds are brought into them: these functions report no error, and RocksDB's, which abort
/// then, have no other answer either.
fn new_limiter(
    bytes_per_second: i64,
    refill_period_us: i64,
    fairness: i32,
    mode: LimiterMode,
    auto_tuned: bool,
) -> *mut rocksdb_ratelimiter_t {
    let options = TokenBucketOptions {
        refill_period: Duration::from_micros(refill_period_us.clamp(1, MOST_REFILL_US).unsigned_abs()),
        fairness: fairness.max(1).unsigned_abs(),
        mode,
        auto_tuned,
        ..TokenBucketOptions::new(bytes_per_second.max(1).unsigned_abs())
    };
    let clock = SystemClock::shared();
    match TokenBucket::with_options(&options, clock) {
        Ok(bucket) => give(rocksdb_ratelimiter_t { limiter: Arc::new(bucket) }),
        Err(_) => std::ptr::null_mut(),
    }
}

c_functions! {
    /// So many bytes a second of what is written.
    fn rocksdb_ratelimiter_create(
        bytes_per_second: i64,
        refill_period_us: i64,
        fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second, refill_period_us, fairness, LimiterMode::WritesOnly, false)
    }

    /// At most so many bytes a second of what is written, and no more than is asked for.
    fn rocksdb_ratelimiter_create_auto_tuned(
        bytes_per_second: i64,
        refill_period_us: i64,
        fairness: i32,
    ) -> *mut rocksdb_ratelimiter_t {
        new_limiter(bytes_per_second, refill_period_us, fairness, LimiterMode::WritesOnly, true)
    }

    /// So many bytes a second of what the mode bounds: 0 reads, 1 writes, 2 (and any other number) both.
    fn rocksdb_ratelimiter_create_with_mode(
        bytes_per_second: i64,
        refill_period_us: i64,
        fairness: i32,
        mode: c_int,
        auto_tuned: bool,
    ) -> *mut rocksdb_ratelimiter_t {
        let mode = match mode {
            0 => LimiterMode::ReadsOnly,
            1 => LimiterMode::WritesOnly,
            _ => LimiterMode::AllIo,
        };
        new_limiter(bytes_per_second, refill_period_us, fairness, mode, auto_tuned)
    }

    /// The limiter of a database; null takes it away. The options share it.
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
