//! How often, how long and why writers had to wait: the properties `cf-write-stall-stats` and `db-write-stall-stats`,
//! and times by cause.
//!
//! As in RocksDB a count of a family goes up each time its condition is evaluated and holds, not once for each writer.
//! Times are of the database: a writer waits for the worst family, whichever it writes to.

use super::Counters;
use ferrock_options::WaitCause;
use ferrock_tree::compaction::picker::stall::{StallCause, StallCondition};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a family.
#[derive(Debug, Default)]
pub(crate) struct StallCounts {
    memtable_stops: AtomicU64,
    memtable_delays: AtomicU64,
    level0_stops: AtomicU64,
    level0_delays: AtomicU64,
    /// Of those, while a compaction of level 0 ran.
    level0_stops_while_compacting: AtomicU64,
    level0_delays_while_compacting: AtomicU64,
    pending_bytes_stops: AtomicU64,
    pending_bytes_delays: AtomicU64,
    /// What there was at the last reset. A leaf.
    reset: Mutex<FamilyStalls>,
}

impl StallCounts {
    /// Counts what an evaluation found.
    pub(crate) fn add(&self, condition: StallCondition, is_level_0_compacted: bool) {
        let (counter, while_compacting) = match condition {
            StallCondition::Normal => return,
            StallCondition::Stopped(StallCause::Memtables) => (&self.memtable_stops, None),
            StallCondition::Delayed(StallCause::Memtables) => (&self.memtable_delays, None),
            StallCondition::Stopped(StallCause::Level0Files) => {
                (&self.level0_stops, Some(&self.level0_stops_while_compacting))
            }
            StallCondition::Delayed(StallCause::Level0Files) => {
                (&self.level0_delays, Some(&self.level0_delays_while_compacting))
            }
            StallCondition::Stopped(StallCause::PendingCompactionBytes) => (&self.pending_bytes_stops, None),
            StallCondition::Delayed(StallCause::PendingCompactionBytes) => (&self.pending_bytes_delays, None),
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if let Some(while_compacting) = while_compacting.filter(|_| is_level_0_compacted) {
            while_compacting.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What properties tell: the counts since the last [`reset`](Self::reset).
    pub(crate) fn told(&self) -> FamilyStalls {
        let reset = self.reset.lock();
        self.counts().since(*reset)
    }

    /// What is told from here on begins at zero.
    pub(crate) fn reset(&self) {
        let mut reset = self.reset.lock();
        *reset = self.counts();
    }

    /// The counts now, since the open.
    pub(crate) fn counts(&self) -> FamilyStalls {
        let get = Counters::get;
        FamilyStalls {
            memtable_stops: get(&self.memtable_stops),
            memtable_delays: get(&self.memtable_delays),
            level0_stops: get(&self.level0_stops),
            level0_delays: get(&self.level0_delays),
            level0_stops_while_compacting: get(&self.level0_stops_while_compacting),
            level0_delays_while_compacting: get(&self.level0_delays_while_compacting),
            pending_bytes_stops: get(&self.pending_bytes_stops),
            pending_bytes_delays: get(&self.pending_bytes_delays),
        }
    }
}

/// How often the jobs of a family slowed writers down or stopped them, by cause: a count goes up each time the state of
/// the family is looked at and the cause holds, as in RocksDB, not once for each writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FamilyStalls {
    /// Stops because too many memtables waited for their flush.
    pub memtable_stops: u64,
    /// Delays because of it.
    pub memtable_delays: u64,
    /// Stops because level 0 had too many files.
    pub level0_stops: u64,
    /// Delays because of it.
    pub level0_delays: u64,
    /// Of the stops because of level 0, those while a compaction of it ran.
    pub level0_stops_while_compacting: u64,
    /// Of the delays because of level 0, those while a compaction of it ran.
    pub level0_delays_while_compacting: u64,
    /// Stops because too many bytes waited for compactions.
    pub pending_bytes_stops: u64,
    /// Delays because of it.
    pub pending_bytes_delays: u64,
}

impl FamilyStalls {
    /// Delays of all causes.
    #[must_use]
    pub fn delays(&self) -> u64 {
        self.memtable_delays + self.level0_delays + self.pending_bytes_delays
    }

    /// Stops of all causes.
    #[must_use]
    pub fn stops(&self) -> u64 {
        self.memtable_stops + self.level0_stops + self.pending_bytes_stops
    }

    /// What came since `earlier`.
    fn since(self, earlier: Self) -> Self {
        Self {
            memtable_stops: self.memtable_stops.saturating_sub(earlier.memtable_stops),
            memtable_delays: self.memtable_delays.saturating_sub(earlier.memtable_delays),
            level0_stops: self.level0_stops.saturating_sub(earlier.level0_stops),
            level0_delays: self.level0_delays.saturating_sub(earlier.level0_delays),
            level0_stops_while_compacting: self
                .level0_stops_while_compacting
                .saturating_sub(earlier.level0_stops_while_compacting),
            level0_delays_while_compacting: self
                .level0_delays_while_compacting
                .saturating_sub(earlier.level0_delays_while_compacting),
            pending_bytes_stops: self.pending_bytes_stops.saturating_sub(earlier.pending_bytes_stops),
            pending_bytes_delays: self.pending_bytes_delays.saturating_sub(earlier.pending_bytes_delays),
        }
    }

    /// As the map that RocksDB's `cf-write-stall-stats` is.
    pub(crate) fn map(&self) -> BTreeMap<String, String> {
        let rows = [
            ("cf-l0-file-count-limit-delays-with-ongoing-compaction", self.level0_delays_while_compacting),
            ("cf-l0-file-count-limit-stops-with-ongoing-compaction", self.level0_stops_while_compacting),
            ("l0-file-count-limit-delays", self.level0_delays),
            ("l0-file-count-limit-stops", self.level0_stops),
            ("memtable-limit-delays", self.memtable_delays),
            ("memtable-limit-stops", self.memtable_stops),
            ("pending-compaction-bytes-delays", self.pending_bytes_delays),
            ("pending-compaction-bytes-stops", self.pending_bytes_stops),
            ("total-delays", self.delays()),
            ("total-stops", self.stops()),
        ];
        rows.into_iter().map(|(name, count): (&str, u64)| (name.to_owned(), count.to_string())).collect()
    }
}

/// How a writer waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitKind {
    /// Slowed down.
    Delay,
    /// Stopped.
    Stop,
}

/// How often and how long writers waited for one cause since the database was opened. A group of writers waits as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterWaits {
    /// The cause.
    pub cause: WaitCause,
    /// Waits of writers that were slowed down.
    pub delays: u64,
    /// Microseconds of these.
    pub delay_us: u64,
    /// Waits of writers that were stopped.
    pub stops: u64,
    /// Microseconds of these.
    pub stop_us: u64,
}

/// Waits of writers, by cause and kind.
#[derive(Debug, Default)]
pub(crate) struct WaitCounters([[WaitCounter; 2]; WaitCause::ALL.len()]);

#[derive(Debug, Default)]
struct WaitCounter {
    count: AtomicU64,
    us: AtomicU64,
}

impl WaitCounters {
    /// Counts a wait that is over.
    pub(crate) fn add(&self, cause: WaitCause, kind: WaitKind, us: u64) {
        let counter = &self.0[cause as usize][kind as usize];
        Counters::add(&counter.count, 1);
        Counters::add(&counter.us, us);
    }

    /// The counts of all causes.
    pub(crate) fn counts(&self) -> Vec<WriterWaits> {
        let of = |cause: WaitCause| {
            let [delays, stops] = &self.0[cause as usize];
            WriterWaits {
                cause,
                delays: Counters::get(&delays.count),
                delay_us: Counters::get(&delays.us),
                stops: Counters::get(&stops.count),
                stop_us: Counters::get(&stops.us),
            }
        };
        WaitCause::ALL.into_iter().map(of).collect()
    }
}

/// Writes that began to wait for the memory of all memtables.
pub(crate) fn memory_stops(counters: &Counters) -> u64 {
    Counters::get(&counters.memory_stalls)
}

/// The counts of the database as the map that RocksDB's `db-write-stall-stats` is.
pub(crate) fn database_map(memory_stops: u64) -> BTreeMap<String, String> {
    BTreeMap::from([("write-buffer-manager-limit-stops".to_owned(), memory_stops.to_string())])
}

/// A map of counts in one line.
pub(crate) fn text(map: &BTreeMap<String, String>) -> String {
    let counts: Vec<String> = map.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    format!("Write Stall (count): {}\n", counts.join(", "))
}
