//! Reading the history of statistics ([`stats_history`](super::stats_history) has how it comes to be): of memory, or of
//! the family.
//!
//! ```text
//! memory   the snapshots of the moment of the call, shared
//! family   an iterator from the first key of the first time: keys of one time are one snapshot
//! ```

use super::{DbCore, iter_source};
use crate::db::read::Iter;
use crate::db::stats_history::family;
use crate::metrics::history::Increases;
use crate::options::ReadOptions;
use ferrock_base::{Error, Result};
use ferrock_format::stats_history::{self, COLUMN_FAMILY};
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
