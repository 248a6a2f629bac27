//! One number for the memory of one or several databases.
//!
//! ```text
//! budget      |-- blocks in use or not -------------|-- reserved -------------------------------------------|
//!               data, index and filter partitions     memtables  open tables  metadata of files
//!                                                     filters, dictionaries and tables that are being written
//!                                                     buffers of reads
//! ```
//!
//! The budget is the capacity of one block cache, and everything else that a database holds is reserved in it: when
//! memtables or compactions need more, unused blocks leave. A database that is opened with a budget takes its cache and
//! its write buffer manager, writes partitioned indexes and filters, keeps them in the cache, and charges what open
//! tables hold themselves, so that no part grows with the data outside of the budget.
//!
//! Memtables are flushed at a quarter of the budget and make writers wait at half of it; the rest is never refused,
//! because a read or a job that has begun must end. What does not fit beside what is in use makes the cache empty and
//! then passes the budget: a report says so.
//!
//! What the allocator loses is measured and counts ([`allocator_loss`](super::allocator_loss)). Not counted: the
//! program itself, files in memory (`MemoryFileSystem`), and memory maps of files, which are therefore refused with a
//! budget.

use crate::WriteBufferManager;
use crate::allocator_loss::AllocatorLoss;
use ferrock_cache::{Account, CacheOptions, EntryRole, Held};
use ferrock_table::TableBlockCache;
use ferrock_vfs::{BufferPool, PoolObserver};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};

/// Memtables are flushed when they hold this part of the budget (one in so many), and writers wait at twice that.
const MEMTABLE_PART: usize = 4;

/// Bounds everything that databases hold in memory; give the same one to several databases to bound them together.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// use ferrock::options::MemoryBudget;
/// let budget = MemoryBudget::new(256 << 20);
/// let mut options = ferrock::DbOptions::default();
/// options.components.memory_budget = Some(budget.clone());
/// // ... open databases with these options; then:
/// let report = budget.report();
/// assert_eq!((report.budget_bytes, report.used_bytes()), (256 << 20, 0));
/// println!("{report}");
/// ```
pub struct MemoryBudget {
    cache: Arc<TableBlockCache>,
    write_buffers: Arc<WriteBufferManager>,
    file_metadata: Arc<Account>,
    read_buffers: Arc<Account>,
    table_builders: Arc<Account>,
    /// `None` for a budget of what is counted alone.
    loss: Option<AllocatorLoss>,
    /// Pools of read buffers that are counted: those of the file systems of open databases.
    pools: Mutex<Vec<(BufferPool, Weak<CountedPool>)>>,
}

/// A pool of read buffers whose bytes count, while this lives.
pub struct CountedPool(Mutex<Held>);

impl PoolObserver for CountedPool {
    fn has_bytes(&self, bytes: u64) {
        self.0.lock().set(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}

impl fmt::Debug for CountedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CountedPool").field(&*self.0.lock()).finish()
    }
}

impl MemoryBudget {
    /// A budget of so many bytes, for a program whose memory is mostly that of its databases: what the allocator loses
    /// counts, too, so that the resident memory of the process stays near the budget.
    #[must_use]
    pub fn new(bytes: usize) -> Arc<Self> {
        let account = |cache: &TableBlockCache| Account::new(cache.reservation(EntryRole::AllocatorLoss));
        let budget = Self::with_loss(bytes, |cache| AllocatorLoss::new(&account(cache)));
        let weak = Arc::downgrade(&budget);
        budget.cache.watch(Box::new(move || weak.upgrade().iter().for_each(|budget| budget.look())));
        budget
    }

    /// A budget of so many bytes of what is counted, for a program with much memory of its own, such as a virtual
    /// machine that embeds the database: what the allocator loses comes on top.
    #[must_use]
    pub fn of_counted(bytes: usize) -> Arc<Self> {
        Self::with_loss(bytes, |_| None)
    }

    fn with_loss(bytes: usize, loss: impl FnOnce(&TableBlockCache) -> Option<AllocatorLoss>) -> Arc<Self> {
        let cache = TableBlockCache::new(CacheOptions { capacity_bytes: bytes, ..CacheOptions::default() });
        let flush_at = bytes / MEMTABLE_PART;
        let write_buffers = WriteBufferManager::with_stall_size(flush_at, flush_at * 2, Some(&cache));
        Arc::new(Self {
            file_metadata: Account::new(cache.reservation(EntryRole::FileMetadata)),
            read_buffers: Account::new(cache.reservation(EntryRole::ReadBuffer)),
            table_builders: Account::new(cache.reservation(EntryRole::TableBuilder)),
            loss: loss(&cache),
            pools: Mutex::default(),
            write_buffers,
            cache,
        })
    }

    /// The budget.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.cache.capacity()
    }

    /// Changes the budget. Blocks beyond it leave at once, memtables are flushed by the next writes.
    pub fn set_bytes(&self, bytes: usize) {
        self.cache.set_capacity(bytes);
        self.write_buffers.set_sizes(bytes / MEMTABLE_PART, bytes / MEMTABLE_PART * 2);
    }

    /// The block cache of databases with this budget.
    #[must_use]
    pub fn cache(&self) -> &Arc<TableBlockCache> {
        &self.cache
    }

    /// The write buffer manager of databases with this budget.
    #[must_use]
    pub fn write_buffer_manager(&self) -> &Arc<WriteBufferManager> {
        &self.write_buffers
    }

    /// Metadata of files.
    #[doc(hidden)]
    #[must_use]
    pub fn file_metadata(&self) -> &Arc<Account> {
        &self.file_metadata
    }

    /// Counts the buffers of a pool for as long as the result lives; once, however many databases use it.
    #[doc(hidden)]
    #[must_use]
    pub fn count_pool(&self, pool: &BufferPool) -> Arc<CountedPool> {
        let mut pools = self.pools.lock();
        pools.retain(|(_, counted)| counted.strong_count() > 0);
        let known = pools.iter().find(|(known, _)| known.is_same(pool));
        if let Some(counted) = known.and_then(|(_, counted)| counted.upgrade()) {
            return counted;
        }
        let counted = Arc::new(CountedPool(Mutex::new(Held::new(&self.read_buffers, 0))));
        pools.push((pool.clone(), Arc::downgrade(&counted)));
        pool.observe(&(Arc::clone(&counted) as Arc<dyn PoolObserver>));
        counted
    }

    /// Buffers of reads.
    #[doc(hidden)]
    #[must_use]
    pub fn read_buffers(&self) -> &Arc<Account> {
        &self.read_buffers
    }

    /// Tables that are being written.
    #[doc(hidden)]
    #[must_use]
    pub fn table_builders(&self) -> &Arc<Account> {
        &self.table_builders
    }

    /// Looks at what the allocator loses, if that is due.
    #[doc(hidden)]
    pub fn look(&self) {
        if let Some(loss) = &self.loss {
            loss.look(self.bytes(), || self.cache.usage(), || self.write_buffers.memory_usage());
        }
    }

    /// What holds what.
    #[must_use]
    pub fn report(&self) -> MemoryReport {
        let stats = self.cache.stats();
        // Exactly what is used where the cache knows it in steps.
        let exact = [
            (EntryRole::WriteBuffer, self.write_buffers.memory_usage()),
            (EntryRole::FileMetadata, self.file_metadata.used()),
            (EntryRole::ReadBuffer, self.read_buffers.used()),
            (EntryRole::TableBuilder, self.table_builders.used()),
        ];
        let holders = EntryRole::ALL.into_iter().map(|role| {
            let exact = exact.iter().find(|(exact, _)| *exact == role);
            let bytes = exact.map_or(stats.role(role).usage_bytes, |(_, bytes)| *bytes);
            MemoryHolder { name: role.name(), bytes }
        });
        MemoryReport { budget_bytes: self.bytes(), holders: holders.collect() }
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("MemoryBudget");
        shown.field("bytes", &self.bytes()).field("used_bytes", &self.cache.usage()).finish_non_exhaustive()
    }
}

/// One kind of memory in a [`MemoryReport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryHolder {
    /// What holds it: the roles of the block cache, in RocksDB's words.
    pub name: &'static str,
    /// How many bytes.
    pub bytes: usize,
}

/// What holds the memory of a [`MemoryBudget`]. Its text is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryReport {
    /// The budget.
    pub budget_bytes: usize,
    /// Who holds what, also those that hold nothing.
    pub holders: Vec<MemoryHolder>,
}

impl MemoryReport {
    /// Bytes of all holders.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.holders.iter().map(|holder| holder.bytes).sum()
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |bytes: usize| bytes as f64 * 100.0 / (self.budget_bytes.max(1)) as f64;
        let mut line = |name: &str, bytes: usize| {
            writeln!(f, "{name:<36} {:>12.1} KiB {:>6.1} %", bytes as f64 / 1024.0, percent(bytes))
        };
        for holder in self.holders.iter().filter(|holder| holder.bytes > 0) {
            line(holder.name, holder.bytes)?;
        }
        line("used", self.used_bytes())?;
        line("budget", self.budget_bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use ferrock_memtable::MemoryTracker;

    #[test]
    fn a_report_says_what_holds_what() {
        let budget = MemoryBudget::new(8 << 20);
        let held = Held::new(budget.table_builders(), 1000);
        budget.write_buffer_manager().grow(3 << 20);
        let report = budget.report();
        let of = |name: &str| report.holders.iter().find(|holder| holder.name == name).unwrap().bytes;
        assert_eq!((of("TableBuilder"), of("WriteBuffer"), of("DataBlock")), (1000, 3 << 20, 0));
        assert_eq!(report.used_bytes(), (3 << 20) + 1000);
        let text = report.to_string();
        assert!(text.contains("WriteBuffer") && text.contains("37.5 %") && !text.contains("DataBlock"), "{text}");
        drop(held);
        assert_eq!(budget.report().used_bytes(), 3 << 20);
    }

    #[test]
    fn memtables_have_their_part_and_follow_the_budget() {
        let budget = MemoryBudget::new(64 << 20);
        let manager = budget.write_buffer_manager();
        manager.grow(15 << 20);
        assert!(manager.should_flush() && !manager.should_stall());
        manager.grow(17 << 20);
        assert!(manager.should_stall());
        budget.set_bytes(128 << 20);
        assert!(!manager.should_stall() && manager.should_flush());
        assert_eq!((budget.bytes(), manager.buffer_size()), (128 << 20, 32 << 20));
    }
}
