//! The history of a database's statistics: by how much each ticker grew, period by period.
//!
//! ```text
//! stats.rs, every stats_persist_period_sec -> keep -> the snapshots in memory (metrics/history.rs)
//! Db::stats_history -> history -> StatsHistory, an iterator over them
//! ```
//!
//! Times of snapshots are those of the database's clock, in whole seconds; the periods go by its monotonic time, so
//! that a clock that is set makes no period longer.

use super::DbCore;
use crate::metrics::history::Increases;
use ferrock_base::Result;
use ferrock_statistics::Statistics;
use std::collections::BTreeMap;

/// A snapshot of a [`StatsHistory`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatsHistoryEntry {
    /// When it was taken, in seconds since the beginning of 1970.
    pub unix_seconds: u64,
    /// The tickers that grew since the snapshot before it, by RocksDB's names, and by how much.
    pub increases: BTreeMap<String, u64>,
}

/// What [`Db::stats_history`](super::Db::stats_history) gives: snapshots by their times, as of the moment of the call.
#[derive(Debug)]
pub struct StatsHistory {
    memory: std::vec::IntoIter<(u64, Increases)>,
}

impl Iterator for StatsHistory {
    type Item = Result<StatsHistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let (unix_seconds, increases) = self.memory.next()?;
        let increases = increases.iter().map(|(ticker, increase)| (ticker.name().to_owned(), *increase)).collect();
        Some(Ok(StatsHistoryEntry { unix_seconds, increases }))
    }
}

/// See [`Db::stats_history`](super::Db::stats_history).
pub(super) fn history(core: &DbCore, start_seconds: u64, end_seconds: u64) -> Result<StatsHistory> {
    Ok(StatsHistory { memory: core.metrics.history().between(start_seconds, end_seconds).into_iter() })
}

/// Takes a snapshot.
pub(super) fn keep(core: &DbCore, statistics: &Statistics) {
    let limit_bytes = core.options.load().stats_history_buffer_size;
    core.metrics.history().keep(statistics, core.env.clock.unix_seconds(), limit_bytes);
}
