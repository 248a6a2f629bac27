//! Counters of an open database: relaxed, added to at most once per operation, group or job.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one database since it was opened.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) write_groups: AtomicU64,
    pub(crate) parallel_groups: AtomicU64,
    pub(crate) batches_written: AtomicU64,
    pub(crate) keys_written: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) wal_bytes: AtomicU64,
    pub(crate) wal_syncs: AtomicU64,
    pub(crate) stall_us: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) flush_bytes: AtomicU64,
    pub(crate) flush_us: AtomicU64,
    pub(crate) compactions: AtomicU64,
    pub(crate) trivial_moves: AtomicU64,
    pub(crate) compaction_read_bytes: AtomicU64,
    pub(crate) compaction_write_bytes: AtomicU64,
    pub(crate) compaction_us: AtomicU64,
}

impl Statistics {
    #[inline]
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
