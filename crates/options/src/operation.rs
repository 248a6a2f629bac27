//! Options of single operations other than reads, which need a snapshot of the engine.

use ferrock_base::Temperature;
use ferrock_format::compression::CompressionType;
use ferrock_vfs::IoPriority;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Return only when the write is durable.
    pub sync: bool,
    /// Do not write to the log; a crash loses what was not flushed.
    pub disable_wal: bool,
    /// Answer `Incomplete` instead of waiting while writers are slowed down or stopped.
    pub no_slowdown: bool,
    /// The write can wait: while compaction is behind, writes like this share 1 MiB a second, so that the debt grows
    /// slower and other writes are slowed down later. With `no_slowdown` it is answered `Incomplete` then.
    pub low_pri: bool,
    /// Skip records of column families that do not exist instead of failing.
    pub ignore_missing_column_families: bool,
    /// The priority at which the write waits for the database's rate limiter, if that limits writes, before it is
    /// logged; `None` (default): it does not wait. Only `User` is taken, and only of writes that go to the operating
    /// system with the log at once: without `disable_wal` and `manual_wal_flush`.
    pub rate_limiter_priority: Option<IoPriority>,
}

impl WriteOptions {
    /// Durable when it returns.
    #[must_use]
    pub fn synced() -> Self {
        Self { sync: true, ..Self::default() }
    }
}

/// How to hand the log to the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushWalOptions {
    /// Also to the disk.
    pub sync: bool,
    /// The priority at which the call waits for the database's rate limiter, if that limits writes, for what
    /// `manual_wal_flush` has kept back; `None` (default): it does not wait.
    pub rate_limiter_priority: Option<IoPriority>,
}

/// How to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushOptions {
    /// Return when the flush is done (default true).
    pub wait: bool,
    /// The families of one call become durable in one step: a crash leaves what all of them held, or nothing of it.
    /// With the option `atomic_flush` of the database every flush is like that, and takes all families.
    pub force_atomic_flush: bool,
    /// Flush at once, also where that has writers slowed down or stopped. Without it (default) the call waits, with or
    /// without `wait`, until flushes and compactions have made room, and writers go on meanwhile.
    pub allow_write_stall: bool,
}

impl Default for FlushOptions {
    fn default() -> Self {
        Self { wait: true, force_atomic_flush: false, allow_write_stall: false }
    }
}

/// What a manual compaction does with the bottommost level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottommostLevelCompaction {
    /// Leaves it alone.
    Skip,
    /// With a compaction filter, rewrites those of its files that this compaction did not write.
    #[default]
    IfHaveCompactionFilter,
    /// Rewrites it, also what this compaction wrote into it: a compaction filter sees that twice.
    Force,
    /// Rewrites those of its files that this compaction did not write.
    ForceOptimized,
}

/// Whether a compaction empties old blob files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlobGarbageCollectionPolicy {
    /// It does.
    Force,
    /// It does not.
    Disable,
    /// As `enable_blob_garbage_collection` of the family says.
    #[default]
    UseDefault,
}

/// How to compact by hand.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct CompactRangeOptions {
    /// Move the deepest level's tables to another level, as RocksDB does.
    pub change_level: bool,
    /// That level, with `change_level`, above or below; the levels between have to be empty, and level 0 takes one
    /// table at most. `None`: the highest level but 0 that is large enough, with empty levels between.
    pub target_level: Option<usize>,
    /// Entry of `cf_paths` or `db_paths` that the result goes to; the first by default, as in RocksDB.
    pub target_path_id: u32,
    /// The bottommost level.
    pub bottommost_level_compaction: BottommostLevelCompaction,
    /// No automatic compaction runs at the same time: those that run are waited for, and none begins meanwhile.
    pub exclusive_manual_compaction: bool,
    /// Whether old blob files are emptied.
    pub blob_garbage_collection_policy: BlobGarbageCollectionPolicy,
    /// The share of them, from the oldest on; `None`, or what is no share: `blob_garbage_collection_age_cutoff` of the
    /// family.
    pub blob_garbage_collection_age_cutoff: Option<f64>,
    /// Threads that the compaction may use; 0: as `max_subcompactions` of the database says.
    pub max_subcompactions: u32,
    /// Ends the call: `Incomplete`, and nothing of the piece that it was at.
    pub canceled: Option<Canceller>,
    /// As [`FlushOptions::allow_write_stall`], of the flush that the call begins with.
    pub allow_write_stall: bool,
}

/// How to compact files that a caller names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptions {
    /// How outputs are compressed; `None` (default): as the family's options say for the output level. The settings of
    /// the compressor are always those of the family.
    pub compression: Option<CompressionType>,
    /// Bytes after which an output is finished (default: one output, whatever its size). Level 0 always gets one.
    pub output_file_size_limit: u64,
    /// Threads that the compaction may use; 0: as `max_subcompactions` of the database says. No part is smaller than
    /// `output_file_size_limit`.
    pub max_subcompactions: u32,
    /// Ends the call: `Incomplete`, and the files stay as they were.
    pub canceled: Option<Canceller>,
    /// Files that overlap nothing on the way are recorded on the output level and not read (default: they are
    /// rewritten).
    pub allow_trivial_move: bool,
    /// The temperature of the outputs; `Unknown` (default): as the family's options say for the output level. Files
    /// that are moved keep theirs.
    pub output_temperature_override: Temperature,
}

impl Default for CompactionOptions {
    fn default() -> Self {
        Self {
            compression: None,
            output_file_size_limit: u64::MAX,
            max_subcompactions: 0,
            canceled: None,
            allow_trivial_move: false,
            output_temperature_override: Temperature::Unknown,
        }
    }
}

/// Ends calls that compact by hand. Clones are one and the same, so one of them can be kept by the thread that decides.
///
/// A call looks at it before it begins, about every thousand entries, and while it waits.
///
/// ```
/// use ferrock_options::{Canceller, CompactRangeOptions};
///
/// let canceller = Canceller::new();
/// let options = CompactRangeOptions { canceled: Some(canceller.clone()), ..Default::default() };
/// canceller.cancel();
/// assert!(options.canceled.is_some_and(|canceled| canceled.is_canceled()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<AtomicBool>);

impl Canceller {
    /// One that has not canceled anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shares a flag; true is canceled.
    #[must_use]
    pub fn of_flag(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// From now on calls that have it end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether calls that have it end.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl PartialEq for Canceller {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Canceller {}

/// How to wait for flushes and compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitForCompactOptions {
    /// Answer `Aborted` while background work is paused; without it the wait goes on behind the pause.
    pub abort_on_pause: bool,
    /// Flush all families first.
    pub flush: bool,
    /// Wait also for tables that are opened behind the open (`open_files_async`). The wait for clean-ups, which remove
    /// the inputs of compactions, does not depend on it.
    pub wait_for_purge: bool,
    /// Close the database then.
    pub close_db: bool,
    /// Answer `TimedOut` when it takes longer; zero (default) waits for as long as there is work.
    pub timeout: Duration,
}
