//! One bound for the memtables of several families and databases, after RocksDB's `WriteBufferManager`.
//!
//! ```text
//! active     memory of memtables that are written to        > 7/8 of the size: flush
//! used       active and those that wait for a flush or are   >= the size and at least half of it active: flush
//!            still being read                                >= the stall size: writes wait, with `allow_stall`
//! ```
//!
//! With a cache, what is used is reserved there, so that blocks and memtables share one budget. When a strict limit
//! refuses, the memtables grow all the same: a write that is acknowledged cannot be given back.

use ferrock_cache::{Account, EntryRole};
use ferrock_memtable::MemoryTracker;
use ferrock_table::TableBlockCache;
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Bounds the memory of memtables. Give the same one to several databases to bound them together.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// use ferrock::options::WriteBufferManager;
/// let manager = WriteBufferManager::new(64 << 20, None, false);
/// let mut options = ferrock::DbOptions::default();
/// options.components.write_buffer_manager = Some(manager.clone());
/// assert_eq!((manager.buffer_size(), manager.memory_usage()), (64 << 20, 0));
/// ```
pub struct WriteBufferManager {
    buffer_size: AtomicUsize,
    used: AtomicUsize,
    active: AtomicUsize,
    /// Where writers wait; 0: at the buffer size.
    stall_size: AtomicUsize,
    allow_stall: AtomicBool,
    /// What is used, as the cache knows it.
    charged: Option<Arc<Account>>,
    waiting: Mutex<()>,
    freed: Condvar,
}

impl WriteBufferManager {
    /// A manager of `buffer_size` bytes; 0 bounds nothing. With a cache, what memtables use is charged to it. With
    /// `allow_stall`, writes wait while the size is exceeded.
    #[must_use]
    pub fn new(buffer_size: usize, cost_to_cache: Option<&Arc<TableBlockCache>>, allow_stall: bool) -> Arc<Self> {
        let charged = cost_to_cache.map(|cache| Account::new(cache.reservation(EntryRole::WriteBuffer)));
        Arc::new(Self {
            buffer_size: AtomicUsize::new(buffer_size),
            used: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            stall_size: AtomicUsize::new(0),
            allow_stall: AtomicBool::new(allow_stall),
            charged,
            waiting: Mutex::new(()),
            freed: Condvar::new(),
        })
    }

    /// As [`new`](Self::new), where writers wait only beyond `stall_size`, so that a flush can begin before they do.
    #[must_use]
    pub fn with_stall_size(
        buffer_size: usize,
        stall_size: usize,
        cost_to_cache: Option<&Arc<TableBlockCache>>,
    ) -> Arc<Self> {
        let manager = Self::new(buffer_size, cost_to_cache, true);
        manager.stall_size.store(stall_size, Ordering::Relaxed);
        manager
    }

    /// True when there is a bound.
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.buffer_size() > 0
    }

    /// True when memtables are charged to a cache.
    #[must_use]
    pub fn cost_to_cache(&self) -> bool {
        self.charged.is_some()
    }

    /// The bound.
    #[must_use]
    pub fn buffer_size(&self) -> usize {
        self.buffer_size.load(Ordering::Relaxed)
    }

    /// Changes the bound; 0 takes it away. Writes that wait look again.
    pub fn set_buffer_size(&self, bytes: usize) {
        self.buffer_size.store(bytes, Ordering::Relaxed);
        self.wake();
    }

    /// Changes both bounds. Writes that wait look again.
    pub fn set_sizes(&self, buffer_size: usize, stall_size: usize) {
        self.stall_size.store(stall_size, Ordering::Relaxed);
        self.set_buffer_size(buffer_size);
    }

    /// Whether writes wait while the bound is exceeded.
    pub fn set_allow_stall(&self, allow: bool) {
        self.allow_stall.store(allow, Ordering::Relaxed);
        self.wake();
    }

    /// Bytes that memtables hold.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that memtables hold which are written to.
    #[must_use]
    pub fn mutable_memtable_memory_usage(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Bytes reserved in the cache.
    #[must_use]
    pub fn dummy_entries_in_cache_usage(&self) -> usize {
        self.charged.as_ref().map_or(0, |account| account.reserved())
    }

    /// True when a memtable should be flushed. While more than half is being flushed already, more would not help.
    #[doc(hidden)]
    pub fn should_flush(&self) -> bool {
        let (size, active) = (self.buffer_size(), self.mutable_memtable_memory_usage());
        size > 0 && (active > size / 8 * 7 || (self.memory_usage() >= size && active >= size / 2))
    }

    /// What a memtable must hold for its flush to be worth a table: a sixteenth of the size, and less and less when the
    /// size is passed, down to nothing at twice the size. So databases that write little beside one that holds most of
    /// the size and is idle do not flush every entry by itself, and all together still stay below twice the size.
    #[doc(hidden)]
    pub fn worthwhile_bytes(&self) -> usize {
        let size = self.buffer_size();
        size.saturating_mul(2).saturating_sub(self.memory_usage()).min(size) / 16
    }

    fn stall_size(&self) -> usize {
        match self.stall_size.load(Ordering::Relaxed) {
            0 => self.buffer_size(),
            size => size,
        }
    }

    /// Where writes wait; `None` where they never do.
    #[doc(hidden)]
    pub fn stops_at(&self) -> Option<usize> {
        (self.allow_stall.load(Ordering::Relaxed) && self.enabled()).then(|| self.stall_size())
    }

    /// True when writes are to wait.
    #[doc(hidden)]
    pub fn should_stall(&self) -> bool {
        self.stops_at().is_some_and(|size| self.memory_usage() >= size)
    }

    /// Waits for memory to be freed, for a while.
    #[doc(hidden)]
    pub fn wait_for_room(&self, limit: Duration) {
        let mut guard = self.waiting.lock();
        if self.should_stall() {
            self.freed.wait_for(&mut guard, limit);
        }
    }

    fn wake(&self) {
        // Under the lock: a writer that has just decided to wait must not miss it.
        drop(self.waiting.lock());
        self.freed.notify_all();
    }
}

impl MemoryTracker for WriteBufferManager {
    fn grow(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.active.fetch_add(bytes, Ordering::Relaxed);
        if let Some(account) = &self.charged {
            account.grow(bytes);
        }
    }

    fn retire(&self, bytes: usize) {
        self.active.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn free(&self, bytes: usize, was_retired: bool) {
        if !was_retired {
            self.active.fetch_sub(bytes, Ordering::Relaxed);
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(account) = &self.charged {
            account.shrink(bytes);
        }
        self.wake();
    }
}

impl fmt::Debug for WriteBufferManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBufferManager")
            .field("buffer_size", &self.buffer_size())
            .field("memory_usage", &self.memory_usage())
            .field("cost_to_cache", &self.cost_to_cache())
            .finish_non_exhaustive()
    }
}
