//! What an open database counts and tells about itself.
//!
//! | file | counts |
//! |---|---|
//! | `statistics.rs` | groups, batches, bytes, jobs: one set for the database |
//! | `stalls.rs` | stalls by cause: one set for each family |
//! | `cache.rs` | nothing: it puts the counters of a block cache into texts and maps |
//!
//! Counters are relaxed atomics; no lock is taken to add to them or to read them. Those of the file system
//! (`ferrock_vfs::IoCounters`) and of reads of tables (`ferrock_table::ReadStats`) live with what they count, as tables
//! are read without a database, too.

pub(crate) mod cache;
pub(crate) mod stalls;
mod statistics;

pub(crate) use statistics::Statistics;

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of an open database.
#[derive(Debug)]
pub(crate) struct Metrics {
    statistics: Statistics,
    /// When statistics were last dumped into the LOG, in monotonic microseconds.
    last_dump_us: AtomicU64,
}

impl Metrics {
    /// Counters at zero; the first dump is due one period after `now_us`.
    pub(crate) fn new(now_us: u64) -> Self {
        Self { statistics: Statistics::default(), last_dump_us: AtomicU64::new(now_us) }
    }

    /// The counters themselves.
    #[inline]
    pub(crate) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// True for one caller in each period of `period_us`, which then dumps the statistics. Zero: never.
    pub(crate) fn begin_dump(&self, now_us: u64, period_us: u64) -> bool {
        let last = self.last_dump_us.load(Ordering::Relaxed);
        period_us > 0
            && now_us.saturating_sub(last) >= period_us
            && self.last_dump_us.compare_exchange(last, now_us, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_dumps_in_each_period() {
        let metrics = Metrics::new(1_000);
        assert!(!metrics.begin_dump(1_009, 10));
        assert!(metrics.begin_dump(1_010, 10));
        assert!(!metrics.begin_dump(1_010, 10), "another caller at the same time");
        assert!(!metrics.begin_dump(1_019, 10));
        assert!(metrics.begin_dump(1_500, 10));
        assert!(!metrics.begin_dump(u64::MAX, 0), "no period: never");
    }
}
