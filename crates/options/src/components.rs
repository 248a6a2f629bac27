//! What a database works with and an OPTIONS file cannot hold.

use crate::{CompactionService, EventListener, Logger, MemoryBudget, SstFileManager, WriteBufferManager};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::file_checksum::FileChecksumGenFactory;
use ferrock_base::thread::{PriorityPools, Spawner, StdSpawner};
use ferrock_statistics::Statistics;
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
    /// Pools of threads for flushes and compactions; give the same ones to several databases to bound them together. A
    /// database gives the pools as many threads as its options let run at once, when it opens and when these change.
    /// Without them each job has a thread of its own.
    pub thread_pools: Option<Arc<PriorityPools>>,
    /// Cache of blocks; give the same one to several databases to bound them together.
    pub block_cache: Option<Arc<TableBlockCache>>,
    /// A cache of rows, which RocksDB asks before it looks into tables. Here nothing is kept in it, as the notes on
    /// options say: what a read of a key needs is in the block cache, to which the memory is better given.
    pub row_cache: Option<Arc<TableBlockCache>>,
    /// Bounds the memory of memtables; give the same one to several databases to bound them together.
    pub write_buffer_manager: Option<Arc<WriteBufferManager>>,
    /// Bounds everything that databases hold in memory, blocks and memtables included: see [`MemoryBudget`]. Block
    /// cache and write buffer manager are then its own, and no others are accepted.
    pub memory_budget: Option<Arc<MemoryBudget>>,
    /// Counts, bounds and removes tables and blob files; give the same one to several databases to bound them together.
    pub sst_file_manager: Option<Arc<SstFileManager>>,
    /// Bounds the bytes a second that flush and compaction write.
    pub rate_limiter: Option<Arc<dyn RateLimiter>>,
    /// Counts what databases do; give the same one to several to count them together. Without one nothing is counted
    /// beyond what properties tell.
    pub statistics: Option<Arc<Statistics>>,
    /// Makes the checksum of each table and blob file that is written, for the MANIFEST:
    /// [`Crc32cFactory`](crate::Crc32cFactory), or one of the caller's own. Without one files have none.
    pub file_checksum_gen_factory: Option<Arc<dyn FileChecksumGenFactory>>,
    /// Takes the lines of the LOG, in place of the file.
    pub info_log: Option<Arc<dyn Logger>>,
    /// Hears of flushes, compactions and errors.
    pub listeners: Vec<Arc<dyn EventListener>>,
    /// Brings compactions to other processes.
    pub compaction_service: Option<Arc<dyn CompactionService>>,
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
            .field("thread_pools", &self.thread_pools)
            .field("block_cache", &self.block_cache.is_some())
            .field("row_cache", &self.row_cache.is_some())
            .field("write_buffer_manager", &self.write_buffer_manager)
            .field("memory_budget", &self.memory_budget)
            .field("sst_file_manager", &self.sst_file_manager)
            .field("rate_limiter", &self.rate_limiter.is_some())
            .field("statistics", &self.statistics)
            .field("file_checksum_gen_factory", &self.file_checksum_gen_factory)
            .field("info_log", &self.info_log)
            .field("listeners", &self.listeners.len())
            .field("compaction_service", &self.compaction_service.as_ref().map(|service| service.name()))
            .finish_non_exhaustive()
    }
}
