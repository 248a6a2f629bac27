//! Rows as they are read.

use super::query::KeyRange;
use super::row::{Row, RowView};
use super::table::Core;
use crate::db::{Iter, MultiScan, PinnedSlice, ScanRange};
use crate::options::ReadOptions;
use crate::read::PinnedValue;
use ferrock_base::Result;
use ferrock_format::wide::PageToken;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Where rows come from.
enum Source {
    /// Range by range. A step stays on its row, so that nothing is read ahead of what is asked for.
    OneByOne { iter: Option<Iter>, range: usize },
    /// All ranges at once; `indexes` are those of the query.
    Together { scan: MultiScan, indexes: Vec<usize>, range: usize, key: Vec<u8>, value: Vec<u8> },
}

/// The rows of a [`Query`](super::Query), in its order. All as of one moment; owns what it needs, and may be moved between
/// threads.
///
/// [`next_row`](Self::next_row) shows each row where it lies. As an iterator it gives rows to keep, at the cost of an
/// allocation for the key.
pub struct Rows {
    core: Arc<Core>,
    options: ReadOptions,
    source: Source,
    /// Ranges to come, each with its index.
    ranges: VecDeque<(usize, KeyRange)>,
    is_reverse: bool,
    rows_left: u64,
    /// A row is being shown.
    is_on_row: bool,
    /// The last row of all was passed.
    is_at_end: bool,
    query: u64,
    /// Bytes that all keys begin with.
    prefix_bytes: usize,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("row", &self.current()).field("ranges_left", &self.ranges.len()).finish()
    }
}

impl Rows {
    pub(super) fn new(
        core: Arc<Core>,
        options: &ReadOptions,
        mut ranges: VecDeque<(usize, KeyRange)>,
        (is_reverse, rows_left): (bool, u64),
        (query, prefix_bytes): (u64, usize),
    ) -> Self {
        let mut options = options.clone();
        let source = if ranges.len() > 1 && !is_reverse && rows_left == u64::MAX {
            let indexes = ranges.iter().map(|(index, _)| *index).collect();
            let scan_range = |(_, KeyRange { lower, upper })| ScanRange { lower: Some(lower), upper, limit: 0 };
            let ranges: Vec<ScanRange> = ranges.drain(..).map(scan_range).collect();
            let scan = core.db.multi_scan_cf(&core.family, &options, &ranges);
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
            is_at_end: false,
            query,
            prefix_bytes,
        }
    }

    /// The next row; `None` behind the last one, and when the limit is reached.
    ///
    /// # Errors
    /// As reads of the database. The rows are at their end then.
    pub fn next_row(&mut self) -> Result<Option<RowView<'_>>> {
        if self.rows_left == 0 || self.is_at_end {
            return Ok(None);
        }
        match self.advance() {
            Ok(true) => {
                self.rows_left -= 1;
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
                    let options = ReadOptions {
                        lower_bound: Some(lower),
                        upper_bound: upper,
                        limit_hint: if self.rows_left == u64::MAX { 0 } else { self.rows_left },
                        ..self.options.clone()
                    };
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

    /// The row that was shown last, to keep.
    fn keep(&self) -> Option<Row> {
        let row = self.current()?;
        let value: PinnedSlice = match &self.source {
            Source::OneByOne { iter, .. } => iter.as_ref()?.pin_value(),
            Source::Together { value, .. } => PinnedValue::Owned(value.clone()),
        };
        Some(Row { core: Arc::clone(&self.core), key: row.key.to_vec(), value })
    }

    /// Where the query goes on behind the row that was shown last, for [`Query::page`](super::Query::page). `None` before the
    /// first row, and when all rows were shown: where the limit ended it the next page may be empty.
    ///
    /// Opaque bytes, of the key's length and some twenty more; see docs/format/wide-keys.md.
    #[must_use]
    pub fn page_token(&self) -> Option<Vec<u8>> {
        let row = self.current()?;
        let range = match &self.source {
            Source::OneByOne { range, .. } | Source::Together { range, .. } => *range,
        };
        let key = row.key.get(self.prefix_bytes..)?.to_vec();
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

/// Rows move between threads, and tables are shared by them.
const _: fn() = || {
    fn is_send<T: Send + 'static>() {}
    fn is_sync<T: Sync>() {}
    is_send::<Rows>();
    is_send::<Row>();
    is_sync::<super::Table>();
};
