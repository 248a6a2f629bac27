//! Scanning many ranges: their first reads go out together.
//!
//! ```text
//! ranges        [a, b)   [f, g)   [k, m)   [p, ..)                 in the caller's order
//! planned       |-- every table of every range, index partitions then data, a batch each --|  up to the memory limit
//! handed out    rows of [a, b), then of [f, g), ...                what a range needs beyond is read as it comes
//! ```
//!
//! Each range has an iterator of its own, all as of one moment. The iterators pause for what they need to be placed
//! (see `iterator/pausing.rs` of the tree): between bounds that lie near each other that is all they will read. Ranges
//! behind the limit are placed when their turn comes, so memory does not grow with the number of ranges.

use super::DbCore;
use super::iter_source::IterSource;
use super::read::Iter;
use crate::column_family::ColumnFamilyData;
use crate::options::ReadOptions;
use ferrock_base::Result;
use ferrock_tree::iterator::ReadSet;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of planned reads that are held at a time, unless the caller says otherwise.
const DEFAULT_PLANNED_BYTES: usize = 8 << 20;
/// Iterators that are held at a time.
const MAX_PLANNED_RANGES: usize = 256;
/// Index partitions, data, and once more for blocks without entries; an iterator that lacks something then reads for
/// itself.
const MAX_ROUNDS: usize = 4;

/// One range of a [`MultiScan`]: user keys, inclusive below and exclusive above.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanRange {
    /// First key; none: from the first on.
    pub lower: Option<Vec<u8>>,
    /// First key that no longer belongs to it; none: to the last.
    pub upper: Option<Vec<u8>>,
    /// Most rows; 0: all.
    pub limit: u64,
}

impl ScanRange {
    /// The keys from `lower` on and before `upper`.
    #[must_use]
    pub fn new(lower: &[u8], upper: &[u8]) -> Self {
        Self { lower: Some(lower.to_vec()), upper: Some(upper.to_vec()), limit: 0 }
    }

    /// The same, of which at most `rows` are shown.
    #[must_use]
    pub fn with_limit(self, rows: u64) -> Self {
        Self { limit: rows, ..self }
    }
}

/// A row of a [`MultiScan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanRow<'a> {
    /// Which range it belongs to: its index among those that the scan was made with.
    pub range: usize,
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// A range whose iterator was planned.
struct PlannedRange {
    index: usize,
    iter: Iter,
    /// Rows that may still be shown.
    rows_left: u64,
    has_started: bool,
    is_backward: bool,
}

/// Shows the rows of many ranges, range by range in the order in which they were given, as of one moment. Made by
/// [`Db::multi_scan`](crate::Db::multi_scan) and [`Db::multi_scan_cf`](crate::Db::multi_scan_cf).
pub struct MultiScan {
    planned: VecDeque<PlannedRange>,
    ranges: Vec<ScanRange>,
    next_range: usize,
    max_planned_bytes: usize,
    is_backward: bool,
    options: ReadOptions,
    source: Result<IterSource>,
}

impl std::fmt::Debug for MultiScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MultiScan").field("ranges", &self.ranges.len()).field("next", &self.next_range).finish()
    }
}

impl MultiScan {
    pub(super) fn new(source: Result<IterSource>, options: &ReadOptions, ranges: &[ScanRange]) -> Self {
        Self {
            planned: VecDeque::new(),
            ranges: ranges.to_vec(),
            next_range: 0,
            max_planned_bytes: DEFAULT_PLANNED_BYTES,
            is_backward: false,
            options: options.clone(),
            source,
        }
    }

    /// Reads at most so many bytes ahead of the range that is being shown, one range at least (8 MiB without this).
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: usize) -> Self {
        self.max_planned_bytes = bytes;
        self
    }

    /// The last row of each range first; the ranges themselves in the same order. Before the first row is asked for.
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.is_backward = true;
        self
    }

    /// The next row; `None` after the last row of the last range. An error ends its range, and the next call goes on
    /// with the one behind it.
    pub fn next_row(&mut self) -> Option<Result<ScanRow<'_>>> {
        loop {
            if self.planned.is_empty() {
                if self.next_range >= self.ranges.len() {
                    return None;
                }
                self.plan_ranges();
            }
            match self.planned.front_mut()?.advance() {
                Ok(true) => break,
                Ok(false) => drop(self.planned.pop_front()),
                Err(error) => {
                    self.planned.pop_front();
                    return Some(Err(error));
                }
            }
        }
        let range = self.planned.front()?;
        Some(Ok(ScanRow { range: range.index, key: range.iter.key(), value: range.iter.value() }))
    }

    /// Makes iterators for the next ranges and places them together.
    fn plan_ranges(&mut self) {
        let mut needs = ReadSet::default();
        while self.next_range < self.ranges.len()
            && self.planned.len() < MAX_PLANNED_RANGES
            && (self.planned.is_empty() || needs.length() < self.max_planned_bytes)
        {
            let position = self.planned.len();
            let mut range = self.make_range(self.next_range);
            self.next_range += 1;
            range.place();
            range.iter.needs(&mut needs, |child| (position, child));
            self.planned.push_back(range);
        }
        for _ in 0..MAX_ROUNDS {
            if needs.is_empty() {
                break;
            }
            needs = self.run_round(needs);
        }
    }

    /// Makes the reads, up to the limit, and advances their iterators; what these then need. Iterators whose reads are
    /// beyond the limit are left to themselves.
    fn run_round(&mut self, mut needs: ReadSet<(usize, usize)>) -> ReadSet<(usize, usize)> {
        let beyond = needs.limit(self.max_planned_bytes);
        needs.perform(Some(self.options.io_gap_bytes as u64));
        let mut supplied = Vec::new();
        for ((position, child), read, bytes) in needs.into_supplies() {
            self.planned[position].iter.supply(child, &read, bytes);
            supplied.push(position);
        }
        supplied.dedup();
        supplied.retain(|position| beyond.iter().all(|(beyond, _)| beyond != position));
        let mut next = ReadSet::default();
        for position in supplied {
            let iter = &mut self.planned[position].iter;
            iter.resume();
            iter.needs(&mut next, |child| (position, child));
        }
        next
    }

    fn make_range(&self, index: usize) -> PlannedRange {
        let ScanRange { lower, upper, limit } = self.ranges[index].clone();
        // All of it will be read: then also where it goes on in another table of a level.
        let is_whole = lower.is_some() && upper.is_some() && limit == 0;
        let options = ReadOptions { lower_bound: lower, upper_bound: upper, limit_hint: limit, ..self.options.clone() };
        let iter = match &self.source {
            Ok(source) => source.iter(&options, is_whole),
            Err(error) => Iter::failed(error.clone()),
        };
        let rows_left = if limit == 0 { u64::MAX } else { limit };
        PlannedRange { index, iter, rows_left, has_started: false, is_backward: self.is_backward }
    }
}

impl PlannedRange {
    /// Places the iterator at its first row, as far as blocks in memory allow.
    fn place(&mut self) {
        self.iter.set_driven(true);
        if self.is_backward {
            self.iter.seek_to_last();
        } else {
            self.iter.seek_to_first();
        }
    }

    /// Goes to the next row of the range; false when there is none.
    fn advance(&mut self) -> Result<bool> {
        if self.rows_left == 0 {
            return Ok(false);
        }
        if !self.has_started {
            self.has_started = true;
            self.iter.set_driven(false);
            self.iter.resume();
        } else if self.is_backward {
            self.iter.prev();
        } else {
            self.iter.next();
        }
        self.iter.status()?;
        self.rows_left -= 1;
        Ok(self.iter.valid())
    }
}

pub(super) fn multi_scan(
    core: &Arc<DbCore>,
    data: &Arc<ColumnFamilyData>,
    options: &ReadOptions,
    ranges: &[ScanRange],
) -> MultiScan {
    MultiScan::new(Ok(IterSource::new(core, data, options)), options, ranges)
}
