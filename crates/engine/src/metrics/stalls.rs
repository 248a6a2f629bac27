//! How often writers had to wait, by cause: the properties `cf-write-stall-stats` and `db-write-stall-stats`.
//!
//! As in RocksDB a count goes up each time the condition of a family is evaluated and holds, not once for each writer.

use super::Counters;
use ferrock_tree::compaction::picker::stall::{StallCause, StallCondition};
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

    /// The counts as the map that RocksDB's `cf-write-stall-stats` is.
    pub(crate) fn map(&self) -> BTreeMap<String, String> {
        let get = Counters::get;
        let stops = [&self.memtable_stops, &self.level0_stops, &self.pending_bytes_stops];
        let delays = [&self.memtable_delays, &self.level0_delays, &self.pending_bytes_delays];
        let rows = [
            ("cf-l0-file-count-limit-delays-with-ongoing-compaction", get(&self.level0_delays_while_compacting)),
            ("cf-l0-file-count-limit-stops-with-ongoing-compaction", get(&self.level0_stops_while_compacting)),
            ("l0-file-count-limit-delays", get(&self.level0_delays)),
            ("l0-file-count-limit-stops", get(&self.level0_stops)),
            ("memtable-limit-delays", get(&self.memtable_delays)),
            ("memtable-limit-stops", get(&self.memtable_stops)),
            ("pending-compaction-bytes-delays", get(&self.pending_bytes_delays)),
            ("pending-compaction-bytes-stops", get(&self.pending_bytes_stops)),
            ("total-delays", delays.into_iter().map(get).sum()),
            ("total-stops", stops.into_iter().map(get).sum()),
        ];
        rows.into_iter().map(|(name, count): (&str, u64)| (name.to_owned(), count.to_string())).collect()
    }
}

/// The counts of the database.
pub(crate) fn database_map(statistics: &Counters) -> BTreeMap<String, String> {
    let count = Counters::get(&statistics.memory_stalls);
    BTreeMap::from([("write-buffer-manager-limit-stops".to_owned(), count.to_string())])
}

/// A map of counts in one line.
pub(crate) fn text(map: &BTreeMap<String, String>) -> String {
    let counts: Vec<String> = map.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    format!("Write Stall (count): {}\n", counts.join(", "))
}
