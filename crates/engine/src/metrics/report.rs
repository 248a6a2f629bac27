//! [`Metrics`]: all numbers of an open database as one value.
//!
//! Units are in the names: `_bytes`, `_us` (microseconds). What counts events counts from the open on and never goes
//! back, as long as the family lives; everything else is of the moment. Numbers are read one after another while the
//! database goes on, so two of them may differ by what happened in between.

use super::counters::{JobTotals, WriteMetrics};
use super::levels::{JobMetrics, ratio};
use super::running::RunningJob;
use super::stalls::{FamilyStalls, WriterWaits};
use ferrock_base::{Error, SequenceNumber};
use ferrock_cache::CacheStats;
use ferrock_options::{BackgroundJobPressure, MemoryReport, WriteStallCondition};
use ferrock_statistics::StatisticsSnapshot;
use ferrock_vfs::IoSnapshot;

/// Everything that an open database tells about itself, as of one moment. See `Db::metrics`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Metrics {
    /// What tells the database from others: its directory. A program may put another name here.
    pub name: String,
    /// Microseconds since the open.
    pub uptime_us: u64,
    /// The newest sequence number that reads see.
    pub sequence: SequenceNumber,
    /// What writers did.
    pub writes: WriteMetrics,
    /// What holds writers back, now and since the open.
    pub stalls: StallMetrics,
    /// Flushes, compactions, background errors.
    pub background: BackgroundMetrics,
    /// Snapshots that are held.
    pub snapshots: SnapshotMetrics,
    /// What holds the memory of the budget; `None` without `memory_budget`.
    pub memory: Option<MemoryReport>,
    /// The block cache of all families that have none of their own.
    pub block_cache: CacheMetrics,
    /// What the file system counted since it was made: of all databases that share it.
    pub io: IoSnapshot,
    /// Logs that are still needed.
    pub logs: LogMetrics,
    /// Bytes of tables that no version of now has, kept by readers alone.
    pub obsolete_table_bytes: u64,
    /// Every family, in the order of their ids.
    pub families: Vec<FamilyMetrics>,
    /// What `Components::statistics` counted; `None` without.
    pub statistics: Option<StatisticsSnapshot>,
}

impl Metrics {
    /// The family of this name.
    #[must_use]
    pub fn family(&self, name: &str) -> Option<&FamilyMetrics> {
        self.families.iter().find(|family| family.name == name)
    }
}

/// What holds writers back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StallMetrics {
    /// How writers are treated now.
    pub condition: WriteStallCondition,
    /// Bytes a second that writers get now; 0 where no family delays them.
    pub delayed_write_rate: u64,
    /// Writes that began to wait for the memory of all memtables.
    pub memory_stops: u64,
    /// Waits that are over, of every cause.
    pub waits: Vec<WriterWaits>,
}

/// Flushes, compactions and errors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BackgroundMetrics {
    /// Flushes that run.
    pub running_flushes: usize,
    /// Compactions that run, but for those of calls.
    pub running_compactions: usize,
    /// Sorted runs that these read.
    pub running_sorted_runs: usize,
    /// Those flushes and compactions that write files, one by one, the oldest first. Those of calls are
    /// among them; one that was just chosen or is being installed may be counted above and not be here.
    pub jobs: Vec<RunningJob>,
    /// Calls that have compactions aborted and were not taken back.
    pub compaction_aborts: usize,
    /// Background errors since the open.
    pub errors: u64,
    /// The one for which writes are stopped, if any.
    pub error: Option<Error>,
    /// How busy the jobs are, and how near writers are to a stall: what listeners are told behind a job.
    pub pressure: BackgroundJobPressure,
    /// What jobs did, of all families.
    pub totals: JobTotals,
}

/// Snapshots that are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotMetrics {
    /// Handles.
    pub count: usize,
    /// The oldest sequence number that one of them holds.
    pub oldest_sequence: Option<SequenceNumber>,
    /// When that was taken first, in seconds since 1970.
    pub oldest_unix_seconds: Option<u64>,
    /// Seconds since then; 0 without a snapshot.
    pub oldest_age_seconds: u64,
    /// Sequence numbers that were given since the oldest: at most so many entries are kept for it alone. 0 without one.
    pub pinned_sequences: u64,
}

/// A block cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheMetrics {
    /// Bytes that it may hold.
    pub capacity_bytes: usize,
    /// Bytes that it holds, reservations included.
    pub usage_bytes: usize,
    /// Of those, bytes of entries that are in use.
    pub pinned_bytes: usize,
    /// Hits, misses, insertions and what is held, by kind of entry.
    pub stats: CacheStats,
}

/// Logs that are still needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogMetrics {
    /// How many, the current one included; 0 of a database that is open for reading.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// A column family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FamilyMetrics {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its levels, level 0 first, with what jobs wrote into each.
    pub levels: Vec<LevelMetrics>,
    /// What its flushes did.
    pub flushes: JobMetrics,
    /// What its compactions did.
    pub compactions: JobMetrics,
    /// Its memtables.
    pub memtables: MemtableMetrics,
    /// A full memtable waits for a flush to begin.
    pub is_flush_pending: bool,
    /// An automatic compaction is due and does not run.
    pub is_compaction_pending: bool,
    /// Bytes that compactions must rewrite until no level is too large; an estimate.
    pub pending_compaction_bytes: u64,
    /// Keys that a scan would find; an estimate.
    pub estimated_keys: u64,
    /// Bytes of tables that a scan would read, and of the records of blob files that are no garbage; an estimate.
    pub live_data_bytes: u64,
    /// Its tables.
    pub tables: StoredBytes,
    /// Memory of its open tables in bytes, blocks in the cache not counted.
    pub table_reader_bytes: u64,
    /// Its blob files.
    pub blobs: StoredBytes,
    /// Bytes of blob files that no table refers to any more.
    pub blob_garbage_bytes: u64,
    /// Versions of its tree that are current or held by readers.
    pub live_versions: u64,
    /// How often it slowed writers down or stopped them, by cause.
    pub stalls: FamilyStalls,
    /// Its own block cache; `None` where it has the database's.
    pub block_cache: Option<CacheMetrics>,
    /// Its cache of values of blob files, which may be the block cache; `None` without.
    pub blob_cache: Option<CacheMetrics>,
}

impl FamilyMetrics {
    /// Bytes that flushes wrote: what came into the tree.
    #[must_use]
    pub fn ingested_bytes(&self) -> u64 {
        self.flushes.all_written_bytes()
    }

    /// Bytes that flushes and compactions wrote for each that flushes wrote; 0 before the first flush since the open.
    #[must_use]
    pub fn write_amplification(&self) -> f64 {
        self.flushes.plus(self.compactions).write_amplification(self.ingested_bytes())
    }

    /// Bytes of tables and blob files for each that is alive: an estimate, 0 without files.
    #[must_use]
    pub fn space_amplification(&self) -> f64 {
        ratio((self.tables.bytes + self.blobs.bytes) as f64, self.live_data_bytes as f64)
    }

    /// Sorted runs of tables: as many tables, at most, does a lookup without filters search. A file of level 0 is one,
    /// and every other level that is not empty.
    #[must_use]
    pub fn sorted_runs(&self) -> usize {
        let runs = |level: &LevelMetrics| if level.level == 0 { level.files } else { usize::from(level.files > 0) };
        self.levels.iter().map(runs).sum()
    }
}

/// A level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LevelMetrics {
    /// Its number.
    pub level: usize,
    /// Tables.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Of the tables, inputs of running compactions.
    pub files_compacting: usize,
    /// Their bytes.
    pub bytes_compacting: u64,
    /// How urgent a compaction of it is: from 1 on it is due. 0 of a level that none leaves.
    pub score: f64,
    /// Bytes that it may hold before data moves down; `None` without a limit.
    pub target_bytes: Option<u64>,
    /// What jobs that wrote into it did.
    pub jobs: JobMetrics,
    /// Bytes that jobs wrote into it for each that came from above; 0 without any.
    pub write_amplification: f64,
}

/// The memtables of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemtableMetrics {
    /// Bytes of the one that is written to.
    pub active_bytes: u64,
    /// Its entries.
    pub active_entries: u64,
    /// Of those, deletions.
    pub active_deletes: u64,
    /// Those that wait for their flush or are being flushed.
    pub immutable_count: u64,
    /// Their bytes.
    pub immutable_bytes: u64,
    /// Their entries.
    pub immutable_entries: u64,
    /// Of those, deletions.
    pub immutable_deletes: u64,
}

impl MemtableMetrics {
    /// Bytes of all of them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.active_bytes + self.immutable_bytes
    }
}

/// Files of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredBytes {
    /// Files of the current version.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of these and of the files that only readers hold.
    pub held_bytes: u64,
}
