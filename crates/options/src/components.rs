//! What a database works with and an OPTIONS file cannot hold.

use crate::{EventListener, MemoryBudget, WriteBufferManager};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::thread::{Spawner, StdSpawner};
use ferrock_table::TableBlockCache;
use ferrock_vfs::{FileSystem, RateLimiter};
use std::fmt;
use std::sync::Arc;

/// Components shared between databases or replaced by tests. Whatever is `None` gets its default when the database
/// opens: the machine's file system, clock and threads, and a block cache of 32 MiB.
#[derive(Clone, Default)]
pub struct Components {
    /// Where the files are.
    pub file_system: Option<Arc<dyn FileSystem>>,
    /// What time it is.
    pub clock: Option<Arc<dyn Clock>>,
    /// Starts background threads.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// Cache of blocks; give the same one to several databases to bound them together.
    pub block_cache: Option<Arc<TableBlockCache>>,
    /// Bounds the memory of memtables; give the same one to several databases to bound them together.
    pub write_buffer_manager: Option<Arc<WriteBufferManager>>,
    /// Bounds everything that databases hold in memory, blocks and memtables included: see [`MemoryBudget`]. Block
    /// cache and write buffer manager are then its own, and no others are accepted.
    pub memory_budget: Option<Arc<MemoryBudget>>,
    /// Bounds the bytes a second that flush and compaction write.
    pub rate_limiter: Option<Arc<dyn RateLimiter>>,
    /// Hears of flushes, compactions and errors.
    pub listeners: Vec<Arc<dyn EventListener>>,
}

impl Components {
    /// The clock, or the system's.
    #[doc(hidden)]
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone().unwrap_or_else(SystemClock::shared)
    }

    /// What starts threads, or the standard library's.
    #[doc(hidden)]
    pub fn spawner(&self) -> Arc<dyn Spawner> {
        self.spawner.clone().unwrap_or_else(StdSpawner::shared)
    }
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Components")
            .field("file_system", &self.file_system)
            .field("block_cache", &self.block_cache.is_some())
            .field("write_buffer_manager", &self.write_buffer_manager)
            .field("memory_budget", &self.memory_budget)
            .field("rate_limiter", &self.rate_limiter.is_some())
            .field("listeners", &self.listeners.len())
            .finish_non_exhaustive()
    }
}
