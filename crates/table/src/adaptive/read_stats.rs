//! Read statistics of a column family's tables: point lookups, range reads, how many lookups had to read a block, and
//! how long that took.
//!
//! The first threads, as many as there are cache lines, count each on its own line, so that concurrent counting does
//! not contend.

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_statistics::{HistogramData, SharedHistogram};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of cache lines; further threads share them.
const SHARDS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(64))]
struct Line {
    lookups: AtomicU64,
    range_reads: AtomicU64,
}

/// Counts since the column family was opened. Shared by its tables and their readers.
#[derive(Debug)]
pub struct ReadStats {
    lines: [Line; SHARDS],
    block_reads: AtomicU64,
    timed_block_reads: AtomicU64,
    block_read_us: AtomicU64,
    /// Microseconds of reads of files, by the level for which they were opened.
    latencies: Mutex<BTreeMap<i32, Arc<SharedHistogram>>>,
    clock: Arc<dyn Clock>,
}

impl Default for ReadStats {
    /// Takes times from the system clock.
    fn default() -> Self {
        Self::new(Arc::new(SystemClock::default()))
    }
}

/// The counts of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Point lookups that went to tables.
    pub lookups: u64,
    /// Times an iterator was positioned.
    pub range_reads: u64,
    /// Data blocks that lookups did not find in memory.
    pub block_reads: u64,
    /// The block reads that were timed: those made one at a time.
    pub timed_block_reads: u64,
    /// Their time in microseconds, decompression included.
    pub block_read_us: u64,
}

impl ReadCounts {
    /// The difference to earlier counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            lookups: self.lookups.saturating_sub(earlier.lookups),
            range_reads: self.range_reads.saturating_sub(earlier.range_reads),
            block_reads: self.block_reads.saturating_sub(earlier.block_reads),
            timed_block_reads: self.timed_block_reads.saturating_sub(earlier.timed_block_reads),
            block_read_us: self.block_read_us.saturating_sub(earlier.block_read_us),
        }
    }
}

impl ReadStats {
    /// No reads yet; times are taken from `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            lines: Default::default(),
            block_reads: AtomicU64::new(0),
            timed_block_reads: AtomicU64::new(0),
            block_read_us: AtomicU64::new(0),
            latencies: Mutex::default(),
            clock,
        }
    }

    /// Counts point lookups of the thread with this number.
    #[inline]
    pub fn note_lookups(&self, thread: usize, count: u64) {
        self.lines[thread % SHARDS].lookups.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts a range read of the thread with this number.
    #[inline]
    pub fn note_range_read(&self, thread: usize) {
        self.lines[thread % SHARDS].range_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Where times of reads of files of a level are counted; -1 for no level.
    pub(crate) fn latency_of(&self, level: i32) -> Arc<SharedHistogram> {
        Arc::clone(self.latencies.lock().entry(level).or_default())
    }

    /// Microseconds of reads of files by level (-1: unknown), while the database has statistics, since the last
    /// [`reset_latencies`](Self::reset_latencies).
    #[must_use]
    pub fn latencies(&self) -> BTreeMap<i32, HistogramData> {
        let latencies = self.latencies.lock();
        let with_values = latencies.iter().map(|(level, histogram)| (*level, histogram.data()));
        with_values.filter(|(_, data)| data.count() > 0).collect()
    }

    /// Times of reads count from zero again. The counts by which tables adapt themselves stay.
    pub fn reset_latencies(&self) {
        self.latencies.lock().values().for_each(|histogram| histogram.reset());
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The time by the clock of the counters, in microseconds since an arbitrary start.
    #[must_use]
    pub fn now_us(&self) -> u64 {
        self.clock.monotonic_us()
    }

    /// Counts a data block that a lookup reads from the file.
    pub(crate) fn note_block_read(&self) {
        self.block_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs a lookup's read of a data block, counts it and takes its time.
    pub(crate) fn time_block_read<T>(&self, read: impl FnOnce() -> T) -> T {
        let started = self.clock.monotonic_us();
        let result = read();
        self.note_block_read();
        self.timed_block_reads.fetch_add(1, Ordering::Relaxed);
        self.block_read_us.fetch_add(self.clock.monotonic_us().saturating_sub(started), Ordering::Relaxed);
        result
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> ReadCounts {
        let sum = |counter: fn(&Line) -> &AtomicU64| {
            self.lines.iter().map(|line| counter(line).load(Ordering::Relaxed)).sum()
        };
        ReadCounts {
            lookups: sum(|line| &line.lookups),
            range_reads: sum(|line| &line.range_reads),
            block_reads: self.block_reads.load(Ordering::Relaxed),
            timed_block_reads: self.timed_block_reads.load(Ordering::Relaxed),
            block_read_us: self.block_read_us.load(Ordering::Relaxed),
        }
    }
}
