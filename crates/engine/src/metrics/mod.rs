//! What an open database counts and tells about itself: [`Metrics`], the value of `Db::metrics`, and its parts.
//!
//! Where it comes from, by files:
//!
//! | file | counts |
//! |---|---|
//! | `operations.rs` | reads and writes, for the [`Statistics`] of the options and for their thread |
//! | `scans.rs` | iterators, for the same |
//! | `counters.rs` | groups, batches, bytes, jobs: one set for the database |
//! | `stalls.rs` | stalls by cause: one set for each family; times by cause: one set for the database |
//! | `levels.rs` | jobs by the level that they write to: one set for each family |
//! | `running.rs` | jobs as they run: a row for each |
//! | `history.rs` | nothing: it keeps by how much the tickers grew, period by period |
//! | `turns.rs` | nothing: it tells when a period is over |
//! | `report.rs` | nothing: the typed value of all of it |
//! | `stats_text.rs` | nothing: it puts counters into the texts `cfstats` and `dbstats` |
//! | `cache.rs` | nothing: it puts the counters of a block cache into texts and maps |
//!
//! Counters are relaxed atomics; no lock is taken to add to them or to read them. Those of the file system
//! (`ferrock_vfs::IoCounters`) and of reads of tables (`ferrock_table::ReadStats`) live with what they count, as tables
//! are read without a database, too.

pub(crate) mod cache;
mod counters;
pub(crate) mod history;
pub(crate) mod levels;
pub(crate) mod operations;
mod report;
pub(crate) mod running;
pub(crate) mod scans;
pub(crate) mod stalls;
pub(crate) mod stats_text;
mod turns;

pub(crate) use counters::Counters;
pub use counters::{JobTotals, WriteMetrics};
pub use ferrock_options::WaitCause;
pub use levels::JobMetrics;
pub use report::{
    BackgroundMetrics, CacheMetrics, FamilyMetrics, LevelMetrics, LogMetrics, MemtableMetrics, Metrics,
    SnapshotMetrics, StallMetrics, StoredBytes,
};
pub use running::{JobKind, JobStage, RunningJob};
pub use stalls::{FamilyStalls, WriterWaits};

#[doc(no_inline)]
pub use ferrock_cache::{CacheStats, EntryRole, RoleStats};
#[doc(no_inline)]
pub use ferrock_options::{MemoryHolder, MemoryReport};
#[doc(no_inline)]
pub use ferrock_statistics::StatisticsSnapshot;
#[doc(no_inline)]
pub use ferrock_vfs::{ClassSnapshot, IoSnapshot, PurposeSnapshot, ReadClass, WritePurpose};

use ferrock_base::Result;
use ferrock_base::clock::Clock;
use ferrock_statistics::{Histogram, PerfMetric, PerfRecorder, Recorder, Statistics, ThreadState, Ticker};
use ferrock_table::LookupRecorder;
use history::History;
use operations::{Watch, WriteWatch};
use parking_lot::Mutex;
use running::RunningJobs;
use stalls::{WaitCounters, WaitKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use turns::Turns;

/// The counters of an open database.
#[derive(Debug)]
pub(crate) struct DatabaseCounters {
    counters: Counters,
    /// Waits of writers, by cause.
    waits: WaitCounters,
    /// Jobs as they run.
    running: RunningJobs,
    /// What the options gave to count in.
    statistics: Option<Arc<Statistics>>,
    /// Those of dumps of statistics into the LOG.
    dumps: Turns,
    /// Those of snapshots of statistics.
    snapshots: Turns,
    history: History,
    /// When the database was opened, in monotonic microseconds.
    opened_us: u64,
    /// From where properties count.
    marks: Mutex<Marks>,
}

/// The moments from which `dbstats` and properties like it count. [`Metrics`] counts from the open on.
#[derive(Debug)]
struct Marks {
    /// The reset, or the open, in monotonic microseconds.
    reset_us: u64,
    /// What there was then.
    reset: Mark,
    /// When `dbstats` was told last, or reset, in monotonic microseconds.
    told_us: u64,
    /// What was told.
    told: WriteMetrics,
}

/// Counts of a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    writes: WriteMetrics,
    memory_stops: u64,
    errors: u64,
}

impl DatabaseCounters {
    /// Counters at zero; the first dump and the first snapshot are due one period after `now_us`.
    pub(crate) fn new(now_us: u64, statistics: Option<Arc<Statistics>>) -> Self {
        Self {
            counters: Counters::default(),
            waits: WaitCounters::default(),
            running: RunningJobs::default(),
            dumps: Turns::new(now_us),
            snapshots: Turns::new(now_us),
            history: History::new(statistics.as_deref()),
            statistics,
            opened_us: now_us,
            marks: Mutex::new(Marks {
                reset_us: now_us,
                reset: Mark::default(),
                told_us: now_us,
                told: WriteMetrics::default(),
            }),
        }
    }

    /// Microseconds since the open.
    pub(crate) fn uptime_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.opened_us)
    }

    /// The text of `dbstats`, which begins a new interval.
    pub(crate) fn database_text(&self, now_us: u64) -> String {
        // Taken under the lock, so that of two callers the later one has the later counts.
        let mut marks = self.marks.lock();
        let now = self.counters.writes();
        let (reset, reset_us) = (marks.reset, marks.reset_us);
        let told_us = std::mem::replace(&mut marks.told_us, now_us);
        let told = std::mem::replace(&mut marks.told, now);
        drop(marks);
        let (uptime_us, interval_us) = (now_us.saturating_sub(reset_us), now_us.saturating_sub(told_us));
        let stalls = stalls::text(&stalls::database_map(self.told_memory_stops()));
        stats_text::database(now.since(reset.writes), told.since(reset.writes), uptime_us, interval_us, &stalls)
    }

    /// The map form of `dbstats`, which leaves its interval.
    pub(crate) fn database_map(&self, now_us: u64) -> BTreeMap<String, String> {
        let reset = self.marks.lock().reset.writes;
        stats_text::database_map(self.counters.writes().since(reset), self.told_uptime_us(now_us))
    }

    /// Microseconds since the last reset, or the open.
    pub(crate) fn told_uptime_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.marks.lock().reset_us)
    }

    /// Writes that began to wait for the memory of all memtables, since the last reset.
    pub(crate) fn told_memory_stops(&self) -> u64 {
        stalls::memory_stops(&self.counters).saturating_sub(self.marks.lock().reset.memory_stops)
    }

    /// Background errors since the last reset, of `errors` since the open.
    pub(crate) fn told_errors(&self, errors: u64) -> u64 {
        errors.saturating_sub(self.marks.lock().reset.errors)
    }

    /// What properties tell from here on begins at zero; `errors`: background errors since the open.
    pub(crate) fn reset(&self, now_us: u64, errors: u64) {
        let mut marks = self.marks.lock();
        let writes = self.counters.writes();
        let reset = Mark { writes, memory_stops: stalls::memory_stops(&self.counters), errors };
        *marks = Marks { reset_us: now_us, reset, told_us: now_us, told: writes };
    }

    /// What the options gave to count in.
    pub(crate) fn statistics(&self) -> Option<&Arc<Statistics>> {
        self.statistics.as_ref()
    }

    /// What this thread adds to those statistics by; `None` where nothing is counted.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<Recorder<'_>> {
        self.statistics.as_ref()?.recorder()
    }

    /// True where an operation of the thread is counted.
    #[inline]
    pub(crate) fn counts(&self, thread: ThreadState) -> bool {
        self.statistics.is_some() || thread.perf().is_some()
    }

    /// Begins an operation that is counted.
    #[inline]
    pub(crate) fn watch<'a>(&'a self, thread: ThreadState, clock: &'a dyn Clock) -> Watch<'a> {
        Watch::new(self.lookup_recorder(thread), clock)
    }

    /// Where lookups of the thread count what they do in tables.
    #[inline]
    pub(crate) fn lookup_recorder(&self, thread: ThreadState) -> LookupRecorder<'_> {
        let recorder = self.statistics.as_ref().and_then(|statistics| statistics.recorder_of(thread));
        LookupRecorder { recorder, perf: thread.perf() }
    }

    /// Begins a write; `None` where it is not counted.
    #[inline]
    pub(crate) fn watch_write<'a>(&'a self, clock: &'a dyn Clock) -> Option<WriteWatch<'a>> {
        let recorder = self.recorder().filter(|recorder| recorder.is_timing())?;
        Some(WriteWatch::new(recorder, clock))
    }

    /// Counts a time for which a writer was slowed down or stopped.
    pub(crate) fn note_stall(&self, cause: WaitCause, kind: WaitKind, us: u64) {
        Counters::add(&self.counters.stall_us, us);
        self.waits.add(cause, kind, us);
        if let Some(perf) = PerfRecorder::of_thread().filter(|perf| perf.is_timing_waits()) {
            perf.add(PerfMetric::WriteDelayTime, us * 1000);
        }
        if let Some(recorder) = self.recorder() {
            recorder.add(Ticker::StallMicros, us);
            recorder.record(Histogram::WriteStall, us);
        }
    }

    /// Counts a sync of logs, by a flush.
    pub(crate) fn count_sync(&self) {
        if let Some(recorder) = self.recorder() {
            recorder.add(Ticker::WalFileSynced, 1);
        }
    }

    /// Runs a sync of the log that a writer waits for, and counts it.
    pub(crate) fn timed_sync(&self, clock: &dyn Clock, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(recorder) = self.recorder() else { return sync() };
        let begun_us = clock.monotonic_us();
        let result = sync();
        recorder.add(Ticker::WalFileSynced, 1);
        if recorder.is_timing() {
            recorder.record(Histogram::WalFileSyncMicros, clock.monotonic_us().saturating_sub(begun_us));
        }
        result
    }

    /// Waits of writers, by cause.
    pub(crate) fn waits(&self) -> &WaitCounters {
        &self.waits
    }

    /// Jobs as they run.
    pub(crate) fn running(&self) -> &RunningJobs {
        &self.running
    }

    /// The counters themselves.
    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// When statistics are dumped into the LOG.
    pub(crate) fn dumps(&self) -> &Turns {
        &self.dumps
    }

    /// When a snapshot of statistics is taken.
    pub(crate) fn snapshots(&self) -> &Turns {
        &self.snapshots
    }

    /// The snapshots that are kept in memory.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }
}
