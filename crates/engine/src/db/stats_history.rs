//! The history of a database's statistics: by how much each ticker grew, period by period.
//!
//! ```text
//! stats.rs, every stats_persist_period_sec -> keep -> the snapshots in memory (metrics/history.rs), or
//!                                                     persist_stats_to_disk: a batch for the family of the history
//! Db::stats_history (read_history.rs) -> StatsHistory, an iterator over either
//! ```
//!
//! Times of snapshots are those of the database's clock, in whole seconds; the periods go by its monotonic time, so
//! that a clock that is set makes no period longer.
//!
//! The family (`ferrock_format::stats_history`) is RocksDB's, and each library reads what the other wrote. When it is
//! open, `open/history.rs` tells. Invariants:
//!
//! - A snapshot is one batch, so that a crash leaves all of it or nothing. None is written while writers are delayed or
//!   stopped; what it would have had is part of the next.
//! - Only a thread of the timer writes, never a job: writers may wait for that job.
//! - The family is no reason for a log to stay: where logs are kept for it alone, it is flushed before a snapshot.
//!
//! A clock that was set back may give two snapshots the same second: in the family the later one then takes the place
//! of what the other has of the same tickers, as in RocksDB.

use super::{DbCore, flush, write};
use crate::column_family::ColumnFamilyData;
use crate::jobs::{LogChange, StoppedBy};
use crate::options::{FlushOptions, WriteOptions};
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::stats_history::{self, COLUMN_FAMILY};
use ferrock_format::write_batch::WriteBatch;
use ferrock_options::{FlushReason, WriteStallCondition};
use ferrock_statistics::{Statistics, Ticker};
use std::sync::Arc;

/// Takes a snapshot.
pub(super) fn keep(core: &DbCore, statistics: &Statistics) {
    let unix_seconds = core.env.clock.unix_seconds();
    let options = core.options.load();
    if !options.persist_stats_to_disk {
        return core.metrics.history().keep(statistics, unix_seconds, options.stats_history_buffer_size);
    }
    let history = core.metrics.history();
    let (increases, marks) = history.look(statistics);
    match family(core).map(|data| write_snapshot(core, &data, unix_seconds, &increases)) {
        Some(Ok(())) => history.set_marks(marks),
        Some(Err(error)) => {
            core.events.log().warn(|| format!("a snapshot of statistics waits for the next period: {error}"));
        }
        None if history.family().is_some() => {
            core.events.log().warn(|| format!("no statistics are kept: column family {COLUMN_FAMILY} was dropped"));
        }
        // The open has told why.
        None => {}
    }
}

fn write_snapshot(
    core: &DbCore,
    data: &ColumnFamilyData,
    unix_seconds: u64,
    increases: &[(Ticker, u64)],
) -> Result<()> {
    // Others wait for this thread, and it would wait behind a writer that waits.
    let is_memory_short =
        core.options.load().components.write_buffer_manager.as_ref().is_some_and(|m| m.should_stall());
    if is_memory_short || core.writes.controller().condition().told() != WriteStallCondition::Normal {
        return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
    }
    if holds_back_logs(core, data) {
        let options = FlushOptions { wait: false, ..flush::at_once() };
        flush::flush_families(core, &[data.id], &options, StoppedBy::Closing, FlushReason::WalFull)?;
    }
    let mut batch = WriteBatch::new();
    for (ticker, increase) in increases {
        batch.put_cf(data.id, &stats_history::key(unix_seconds, ticker.name()), &stats_history::value(*increase))?;
    }
    if increases.is_empty() {
        // A period in which nothing grew is a snapshot, too.
        batch.put_cf(data.id, &stats_history::key(unix_seconds, Ticker::ALL[0].name()), &stats_history::value(0))?;
    }
    let options = WriteOptions { low_pri: true, no_slowdown: true, ..WriteOptions::default() };
    write::write(core, batch, &options)
}

/// True where logs would go if the family did, and no flush of it is on its way.
fn holds_back_logs(core: &DbCore, data: &ColumnFamilyData) -> bool {
    if data.memtable.load().is_empty() || !data.super_version.load().immutable.is_empty() {
        return false;
    }
    let oldest = |change| core.jobs.oldest_needed_log(change, |id| core.versions.log_number(id));
    oldest(None) < oldest(Some(LogChange::Drop { id: data.id }))
}

/// The family of the history, where there is one: for writing the one that the open found fit for it, and no other that
/// has its name by now; for reading the one of the name.
pub(super) fn family(core: &DbCore) -> Option<Arc<ColumnFamilyData>> {
    let families = core.families.load();
    let named = families.by_name(COLUMN_FAMILY)?;
    (core.jobs.is_read_only() || core.metrics.history().family() == Some(named.id)).then(|| Arc::clone(named))
}
