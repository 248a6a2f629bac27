//! Reports how much memory memtables hold.

use crate::sync::{AtomicUsize, Ordering};
use std::fmt;
use std::sync::Arc;

/// Receives the memory usage of memtables. Called by the threads that write to a memtable or drop it.
pub trait MemoryTracker: fmt::Debug + Send + Sync {
    /// A memtable that is being written holds so many bytes more.
    fn grow(&self, bytes: usize);
    /// A memtable of so many bytes is no longer written to.
    fn retire(&self, bytes: usize);
    /// A memtable of so many bytes was dropped.
    fn free(&self, bytes: usize, was_retired: bool);
}

/// The memory that one memtable has reported.
pub(crate) struct TrackedMemory {
    tracker: Option<Arc<dyn MemoryTracker>>,
    bytes: AtomicUsize,
    /// 1 if the memtable is no longer written to.
    retired: AtomicUsize,
}

impl TrackedMemory {
    pub(crate) fn new(tracker: Option<Arc<dyn MemoryTracker>>) -> Self {
        Self { tracker, bytes: AtomicUsize::new(0), retired: AtomicUsize::new(0) }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.tracker.is_some()
    }

    /// Reports the difference to the largest earlier report, so that threads that report at the same time count no byte
    /// twice.
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

impl Drop for TrackedMemory {
    fn drop(&mut self) {
        if let Some(tracker) = &self.tracker {
            tracker.free(self.bytes.load(Ordering::Relaxed), self.retired.load(Ordering::Relaxed) != 0);
        }
    }
}
