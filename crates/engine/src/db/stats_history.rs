//! The history of a database's statistics: by how much each ticker grew, period by period.
//!
//! ```text
//! stats.rs, every stats_persist_period_sec -> keep -> the snapshots in memory (metrics/history.rs), or
//!                                                     persist_stats_to_disk: a batch for the family of the history
//! Db::stats_history -> history -> StatsHistory, an iterator over either
//! ```
//!
//! Times of snapshots are those of the database's clock, in whole seconds; the periods go by its monotonic time, so
//! that a clock that is set makes no period longer.
//!
//! The family (`ferrock_format::stats_history`) is RocksDB's, and each library reads what the other wrote. An open with
//! `persist_stats_to_disk` makes it; every open for writing of a database that has it opens it, whether it is named or
//! not, and gives no handle for it unless it is. Invariants:
//!
//! - A snapshot is one batch, so that a crash leaves all of it or nothing; it is written like a write of low priority
//!   that waits for no stall. One that is not written is part of the next.
//! - Only a thread of the timer writes, never a job: writers may wait for that job.
//! - The family does not hold logs back for more than a period: where no other needs one as old, it is flushed.
//!
//! A clock that was set back may give two snapshots the same second: in the family the later one then takes the place
//! of what the other has of the same tickers, as in RocksDB.

use super::{DbCore, families, flush, iter_source, search, write};
use crate::column_family::ColumnFamilyData;
use crate::db::read::Iter;
use crate::jobs::StoppedBy;
use crate::metrics::history::Increases;
use crate::options::{ColumnFamilyOptions, FlushOptions, ReadOptions, WriteOptions};
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::compression::CompressionType;
use ferrock_format::stats_history::{self, COLUMN_FAMILY, COMPATIBLE_VERSION_KEY, FORMAT_VERSION_KEY, VERSION};
use ferrock_format::write_batch::WriteBatch;
use ferrock_options::{FlushReason, WriteStallCondition};
use ferrock_statistics::{Statistics, Ticker};
use std::collections::BTreeMap;
use std::sync::Arc;

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
pub struct StatsHistory(Source);

#[derive(Debug)]
enum Source {
    Memory(std::vec::IntoIter<(u64, Increases)>),
    /// Positioned at what is next.
    Family(Box<Iter>),
    /// After an error, too.
    End,
}

impl Iterator for StatsHistory {
    type Item = Result<StatsHistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Memory(snapshots) => {
                let (unix_seconds, increases) = snapshots.next()?;
                let named = increases.iter().map(|(ticker, increase)| (ticker.name().to_owned(), *increase));
                Some(Ok(StatsHistoryEntry { unix_seconds, increases: named.collect() }))
            }
            Source::Family(iter) => {
                let next = next_of_family(iter);
                if !matches!(next, Ok(Some(_))) {
                    self.0 = Source::End;
                }
                next.transpose()
            }
            Source::End => None,
        }
    }
}

/// Gathers the keys of one time.
fn next_of_family(iter: &mut Iter) -> Result<Option<StatsHistoryEntry>> {
    let mut found: Option<StatsHistoryEntry> = None;
    while iter.valid() {
        if let Some((unix_seconds, ticker)) = stats_history::parse_key(iter.key()) {
            if found.as_ref().is_some_and(|entry| entry.unix_seconds != unix_seconds) {
                break;
            }
            let increase = stats_history::parse_number(iter.value()).ok_or_else(|| {
                let key = iter.key().escape_ascii();
                Error::corruption(format!("column family {COLUMN_FAMILY}: the value of key {key} is no number"))
            })?;
            let entry = found.get_or_insert_with(|| StatsHistoryEntry { unix_seconds, ..StatsHistoryEntry::default() });
            // RocksDB writes those that did not grow, too.
            if increase > 0 {
                entry.increases.insert(ticker.to_owned(), increase);
            }
        }
        iter.next();
    }
    iter.status()?;
    Ok(found)
}

/// See [`Db::stats_history`](super::Db::stats_history).
pub(super) fn history(core: &Arc<DbCore>, start_seconds: u64, end_seconds: u64) -> Result<StatsHistory> {
    if !core.options.load().persist_stats_to_disk {
        return Ok(StatsHistory(Source::Memory(
            core.metrics.history().between(start_seconds, end_seconds).into_iter(),
        )));
    }
    let Some(data) = family(core) else {
        if core.secondary.get().is_some() {
            return Err(Error::invalid_argument(format!(
                "the history of statistics is in column family {COLUMN_FAMILY}, which is not open: name it when the \
                 secondary or follower is opened"
            )));
        }
        // Open for reading, and none was ever kept.
        return Ok(StatsHistory(Source::End));
    };
    if start_seconds >= end_seconds || start_seconds > stats_history::LAST_SECOND {
        return Ok(StatsHistory(Source::End));
    }
    let mut options = ReadOptions::default();
    let is_bounded = end_seconds <= stats_history::LAST_SECOND;
    options.upper_bound = Some(if is_bounded { stats_history::begin(end_seconds) } else { BEHIND_TIMES.to_vec() });
    let mut iter = iter_source::iter(core, &data, &options);
    iter.seek(&stats_history::begin(start_seconds));
    Ok(StatsHistory(Source::Family(Box::new(iter))))
}

/// A key behind those of all times, and before the versions.
const BEHIND_TIMES: &[u8] = b":";

/// The family of the history, where there is one.
fn family(core: &DbCore) -> Option<Arc<ColumnFamilyData>> {
    core.families.load().by_name(COLUMN_FAMILY).cloned()
}

/// The options of the family: RocksDB's, for little data that is hardly ever read.
pub(super) fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.write_buffer_size = 2 << 20;
    options.target_file_size_base = 2 << 20;
    options.max_bytes_for_level_base = 10 << 20;
    options.soft_pending_compaction_bytes_limit = 256 << 20;
    options.hard_pending_compaction_bytes_limit = 1 << 30;
    options.compression = CompressionType::NoCompression;
    options
}

/// Makes the family of the history where the options ask for one, or looks whether the one that is there can be added
/// to.
///
/// # Errors
/// `Not implemented` of a family of a newer version, `Invalid argument` of one of this name that is no history, and
/// those of a new family and of a write.
pub(super) fn begin(core: &Arc<DbCore>) -> Result<()> {
    if !core.options.load().persist_stats_to_disk {
        return Ok(());
    }
    let data = match family(core) {
        Some(data) => data,
        None => families::create_family(core, COLUMN_FAMILY, family_options())?,
    };
    match (version(core, &data, FORMAT_VERSION_KEY)?, version(core, &data, COMPATIBLE_VERSION_KEY)?) {
        (Some(_), Some(compatible)) if compatible <= VERSION => return Ok(()),
        (Some(newer), Some(_)) => {
            return Err(Error::not_supported(format!(
                "column family {COLUMN_FAMILY} is of version {newer}, this library reads version {VERSION}: drop the \
                 family, or open with persist_stats_to_disk off"
            )));
        }
        _ => {}
    }
    // A crash may have left it without an entry.
    let mut iter = iter_source::iter(core, &data, &ReadOptions::default());
    iter.seek_to_first();
    iter.status()?;
    if iter.valid() {
        return Err(Error::invalid_argument(format!(
            "column family {COLUMN_FAMILY} has entries and no versions of a history of statistics: drop the family, or \
             open with persist_stats_to_disk off"
        )));
    }
    let mut batch = WriteBatch::new();
    batch.put_cf(data.id, FORMAT_VERSION_KEY, &stats_history::value(VERSION))?;
    batch.put_cf(data.id, COMPATIBLE_VERSION_KEY, &stats_history::value(VERSION))?;
    write::write(core, batch, &WriteOptions::default())
}

/// A version that the family tells.
fn version(core: &DbCore, data: &ColumnFamilyData, key: &[u8]) -> Result<Option<u64>> {
    let value = search::get(core, data, &ReadOptions::default(), key)?;
    Ok(value.and_then(|value| stats_history::parse_number(&value)))
}

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
        None => core.events.log().warn(|| format!("no statistics are kept: column family {COLUMN_FAMILY} was dropped")),
    }
}

fn write_snapshot(
    core: &DbCore,
    data: &ColumnFamilyData,
    unix_seconds: u64,
    increases: &[(Ticker, u64)],
) -> Result<()> {
    // Others wait for this thread, and it would wait behind a writer that waits.
    if core.writes.controller().condition().told() != WriteStallCondition::Normal {
        return Err(Error::new(ErrorKind::Incomplete, "Write stall"));
    }
    if core.jobs.holds_back_logs_alone(data.id) {
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
