//! Iteration over the rows of a query.

use super::key_range::KeyRange;
use super::row::{Row, RowView};
use super::shared::Core;
use super::tuple::RowRange;
use ferrock_base::Result;
use ferrock_engine::options::{LimitReads, ReadOptions};
use ferrock_engine::{Iter, MultiScan, PinnedSlice, ScanRange};
use ferrock_format::wide::PageToken;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// The source of rows.
#[expect(clippy::large_enum_variant, reason = "there is one for a query")]
enum Source {
    /// Range by range. A step stays on its row, so that nothing is read ahead of the request.
    OneByOne { iter: Option<Iter>, range: usize },
    /// All ranges at once; `indexes` are those of the query.
    Together { scan: MultiScan, indexes: Vec<usize>, range: usize, key: Vec<u8>, value: Vec<u8> },
}

/// The rows of a [`Query`](super::Query), in its order. All as of one snapshot; owns its data, and may be moved between
/// threads.
///
/// [`next_row`](Self::next_row) returns each row in place. As an iterator it returns owned rows, at the cost of an
/// allocation for the key.
pub struct Rows {
    core: Arc<Core>,
    options: ReadOptions,
    source: Source,
    /// Ranges to come, each with its index.
    ranges: VecDeque<(usize, KeyRange)>,
    is_reverse: bool,
    /// `u64::MAX`: without limit.
    rows_left: u64,
    /// A row is being shown.
    is_on_row: bool,
    /// The iterator stands on a row that was not shown yet.
    is_placed: bool,
    /// True if the current range is not one of the query's.
    is_forwarded: bool,
    /// The last row of all was passed.
    is_at_end: bool,
    /// Hash of the query.
    query: u64,
    /// The common prefix of all keys, and the components behind it.
    prefix: Vec<u8>,
    from: usize,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("row", &self.current()).field("ranges_left", &self.ranges.len()).finish()
    }
}

impl Rows {
    pub(super) fn new(
        core: Arc<Core>,
        mut options: ReadOptions,
        mut ranges: VecDeque<(usize, KeyRange)>,
        (is_reverse, rows_left): (bool, u64),
        query: u64,
        (prefix, from): (Vec<u8>, usize),
    ) -> Self {
        // With a limit only the first range is needed for certain.
        let is_sure = rows_left == u64::MAX || options.limit_reads == LimitReads::FewestRequests;
        let source = if ranges.len() > 1 && is_sure {
            let limit = if rows_left == u64::MAX { 0 } else { rows_left };
            let indexes = ranges.iter().map(|(index, _)| *index).collect();
            let scan_range = |(_, KeyRange { lower, upper })| ScanRange { lower: Some(lower), upper, limit };
            let ranges: Vec<ScanRange> = ranges.drain(..).map(scan_range).collect();
            let scan = core.db.multi_scan_cf(&core.family, &options, &ranges);
            let scan = if is_reverse { scan.reverse() } else { scan };
            Source::Together { scan, indexes, range: 0, key: Vec::new(), value: Vec::new() }
        } else {
            if ranges.len() > 1 && options.snapshot.is_none() {
                options.snapshot = Some(core.db.snapshot());
            }
            Source::OneByOne { iter: None, range: 0 }
        };
        Self {
            core,
            options,
            source,
            ranges,
            is_reverse,
            rows_left,
            is_on_row: false,
            is_placed: false,
            is_forwarded: false,
            is_at_end: false,
            query,
            prefix,
            from,
        }
    }

    /// The next row; `None` behind the last one, and when the limit is reached.
    ///
    /// # Errors
    /// As reads of the database. After an error the rows are at their end.
    pub fn next_row(&mut self) -> Result<Option<RowView<'_>>> {
        if self.rows_left == 0 || self.is_at_end {
            return Ok(None);
        }
        match self.advance() {
            Ok(true) => {
                if self.rows_left != u64::MAX {
                    self.rows_left -= 1;
                }
                self.is_on_row = true;
                Ok(self.current())
            }
            Ok(false) => {
                self.is_at_end = true;
                self.is_on_row = false;
                Ok(None)
            }
            Err(error) => {
                self.is_at_end = true;
                self.is_on_row = false;
                Err(error)
            }
        }
    }

    /// To the next row, if there is one.
    fn advance(&mut self) -> Result<bool> {
        match &mut self.source {
            Source::Together { scan, indexes, range, key, value } => match scan.next_row().transpose()? {
                Some(row) => {
                    *range = indexes.get(row.range).copied().unwrap_or(0);
                    key.clear();
                    key.extend_from_slice(row.key);
                    value.clear();
                    value.extend_from_slice(row.value);
                    Ok(true)
                }
                None => Ok(false),
            },
            Source::OneByOne { iter, range } => {
                if std::mem::take(&mut self.is_placed) {
                    return Ok(true);
                }
                if let Some(iter) = iter.as_mut() {
                    if self.is_reverse {
                        iter.prev()
                    } else {
                        iter.next()
                    }
                    iter.status()?;
                    if iter.valid() {
                        return Ok(true);
                    }
                }
                while let Some((index, KeyRange { lower, upper })) = self.ranges.pop_front() {
                    let options = bounded(&self.options, Some((lower, upper)), self.rows_left);
                    let iter = iter.insert(self.core.db.iter_cf(&self.core.family, &options));
                    *range = index;
                    if self.is_reverse {
                        iter.seek_to_last()
                    } else {
                        iter.seek_to_first()
                    }
                    iter.status()?;
                    if iter.valid() {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// Skips the remaining rows and continues with those of another range, which is given as to the query and mostly
    /// lies ahead. The snapshot stays the same, and rows count toward the same limit. For a caller that determines its
    /// ranges one by one: blocks in memory stay usable.
    ///
    /// **Cost:** as a query of the range, less what was read ahead. A range in the same block costs no read.
    ///
    /// # Errors
    /// `Invalid argument` for a range that does not fit, and for rows backwards or of several ranges; as reads of the
    /// database.
    pub fn fast_forward(&mut self, range: impl RowRange) -> Result<()> {
        let core = Arc::clone(&self.core);
        let (mut lower, upper) = core.bounds_of(&self.prefix, self.from, &range)?;
        if lower.is_empty() {
            lower.push(0);
        }
        let range = KeyRange { lower, upper };
        let Source::OneByOne { iter, .. } = &mut self.source else {
            return Err(core.wrong("rows of several ranges cannot be fast-forwarded"));
        };
        if self.is_reverse {
            return Err(core.wrong("rows that are read backwards cannot be fast-forwarded"));
        }
        (self.is_on_row, self.is_placed, self.is_forwarded, self.is_at_end) = (false, false, true, false);
        self.ranges.clear();
        if range.is_empty() {
            self.is_at_end = true;
            return Ok(());
        }
        let iter = match iter {
            Some(iter) => iter,
            None => iter.insert(core.db.iter_cf(&core.family, &bounded(&self.options, None, self.rows_left))),
        };
        if self.rows_left != u64::MAX {
            iter.set_limit_hint(self.rows_left);
        }
        iter.fast_forward(Some(&range.lower), range.upper.as_deref());
        iter.status().inspect_err(|_| self.is_at_end = true)?;
        (self.is_placed, self.is_at_end) = (iter.valid(), !iter.valid());
        Ok(())
    }

    /// The row that was shown last; `None` before the first and behind the last one.
    #[must_use]
    pub fn current(&self) -> Option<RowView<'_>> {
        if !self.is_on_row {
            return None;
        }
        let (key, value) = match &self.source {
            Source::OneByOne { iter, .. } => iter.as_ref().map(|iter| (iter.key(), iter.value()))?,
            Source::Together { key, value, .. } => (&key[..], &value[..]),
        };
        Some(RowView { core: &self.core, key, value })
    }

    /// The row that was shown last, as an owned row.
    fn keep(&self) -> Option<Row> {
        let row = self.current()?;
        let value: PinnedSlice = match &self.source {
            Source::OneByOne { iter, .. } => iter.as_ref()?.pin_value(),
            Source::Together { value, .. } => PinnedSlice::from(value.clone()),
        };
        Some(Row { core: Arc::clone(&self.core), key: row.key.to_vec(), value })
    }

    /// A token to continue the query behind the row that was shown last, for [`Query::page`](super::Query::page).
    /// `None` before the first row, and when all rows were shown: if the limit ended the query, the next page may be
    /// empty.
    ///
    /// Opaque bytes, of the key's length and some twenty more; see docs/format/wide-keys.md.
    #[must_use]
    pub fn page_token(&self) -> Option<Vec<u8>> {
        let row = self.current().filter(|_| !self.is_forwarded)?;
        let range = match &self.source {
            Source::OneByOne { range, .. } | Source::Together { range, .. } => *range,
        };
        let key = row.key.get(self.prefix.len()..)?.to_vec();
        Some(PageToken { query: self.query, range: u32::try_from(range).ok()?, key }.encode())
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_row() {
            Ok(Some(_)) => self.keep().map(Ok),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// Options of an iterator of a range, or of one that gets its range later.
fn bounded(options: &ReadOptions, range: Option<(Vec<u8>, Option<Vec<u8>>)>, rows: u64) -> ReadOptions {
    let (lower, upper) = range.map_or((None, None), |(lower, upper)| (Some(lower), upper));
    let limit_hint = if rows == u64::MAX { 0 } else { rows };
    ReadOptions { lower_bound: lower, upper_bound: upper, limit_hint, ..options.clone() }
}

/// Rows move between threads, and tables are shared by them.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Rows>();
    is_send::<Row>();
    is_sync::<super::Table>();
};
