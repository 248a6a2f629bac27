//! Telling somebody how much memory memtables hold.

use crate::sync::{AtomicUsize, Ordering};
use std::fmt;
use std::sync::Arc;

/// Hears of the memory of memtables. Called by whoever writes or drops one.
pub trait MemoryTracker: fmt::Debug + Send + Sync {
    /// A memtable that is written to holds this much more.
    fn grow(&self, bytes: usize);
    /// A memtable that holds this much is no longer written to.
    fn retire(&self, bytes: usize);
    /// A memtable that held this much is gone.
    fn free(&self, bytes: usize, was_retired: bool);
}

/// What one memtable has reported.
pub(crate) struct Tracked {
    tracker: Option<Arc<dyn MemoryTracker>>,
    bytes: AtomicUsize,
    /// 1 when it is no longer written to.
    retired: AtomicUsize,
}

impl Tracked {
    pub(crate) fn new(tracker: Option<Arc<dyn MemoryTracker>>) -> Self {
        Self { tracker, bytes: AtomicUsize::new(0), retired: AtomicUsize::new(0) }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.tracker.is_some()
    }

    /// Of threads that report at the same time each reports what it adds to the largest report before.
    pub(crate) fn report(&self, bytes: usize) {
        let Some(tracker) = &self.tracker else { return };
        let before = self.bytes.fetch_max(bytes, Ordering::Relaxed);
        if bytes > before {
            tracker.grow(bytes - before);
        }
    }

    pub(crate) fn retire(&self) {
        if let Some(tracker) = &self.tracker
            && self.retired.swap(1, Ordering::Relaxed) == 0
        {
            tracker.retire(self.bytes.load(Ordering::Relaxed));
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if let Some(tracker) = &self.tracker {
            tracker.free(self.bytes.load(Ordering::Relaxed), self.retired.load(Ordering::Relaxed) != 0);
        }
    }
}
