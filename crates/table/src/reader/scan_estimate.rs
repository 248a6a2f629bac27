//! What a scan knows about the rows ahead of it before it reads them; used by merges of several scans.
//!
//! ```text
//! scan     ......|== block ==|======|......      forward, placed before a block or in it
//!                B_i         S_i    S_j
//!                ^ bound            ^ reach      no row ahead is before `bound`; what is read next goes up to `reach`
//! ```
//!
//! In a backward scan `bound` is the separator of the block, at or behind its last row, and `reach` the separator
//! before the blocks that are read. Both come from the index partition that the scan stands in: nothing is read for
//! them.

use super::direction::Direction;
use super::planned_read::PlannedRead;
use super::scan_position::ScanPosition;
use ferrock_base::Result;
use std::ops::Range;

/// Bounds of the rows ahead of a scan. Keys are user keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanEstimate {
    /// No row ahead comes before this key, in the direction of the scan. `None`: not known.
    pub bound: Option<Vec<u8>>,
    /// The next read, or the rows of the limit hint, extend up to this key. `None`: not known.
    pub reach: Option<Vec<u8>>,
    /// The next read covers all of the table within the scan's bounds, or as much of it as one request may hold.
    pub is_whole_range: bool,
}

impl ScanPosition<'_> {
    /// The estimate after the iterator was placed, or planned a read instead (`planned`).
    #[must_use]
    pub fn estimate(&self, planned: Option<&PlannedRead>) -> ScanEstimate {
        // An error is reported when the block is needed.
        self.find_estimate(planned).unwrap_or_default()
    }

    fn find_estimate(&self, planned: Option<&PlannedRead>) -> Result<ScanEstimate> {
        if !self.index.valid() {
            return Ok(ScanEstimate::default());
        }
        let bound = match self.direction {
            Direction::Forward => {
                let rows = self.index.rows(self.blocks.loader().comparator().user())?;
                match rows {
                    Some(rows) => Some(rows.lower_bound().to_vec()),
                    None if self.bounds.has_exact_limit() => {
                        let resident = self.blocks.resident_index();
                        let before = self.index.previous_separator(&resident, &mut Vec::new())?.map(<[u8]>::to_vec);
                        // The key behind the separator, where no row of the block has the separator itself.
                        before.map(|mut key| {
                            key.extend(resident.loader.decoder().separators_are_exact().then_some(0));
                            key
                        })
                    }
                    None => None,
                }
            }
            Direction::Backward => {
                let mut separator = Vec::new();
                self.index.key_into(&mut separator)?;
                self.blocks.loader().decoder().truncate_separator(&mut separator);
                Some(separator)
            }
        };
        let reach = match (self.limit_hint_blocks(), planned.and_then(PlannedRead::data_range)) {
            (Some(blocks), _) => self.reach_by(|passed, _| passed + 1 >= blocks)?,
            (None, Some(range)) => self.reach_by(|_, block| match self.direction {
                Direction::Forward => block.end >= range.end,
                Direction::Backward => block.start <= range.start,
            })?,
            (None, None) => self.reach_by(|_, _| true)?,
        };
        let is_whole_range = planned.is_some_and(|planned| planned.data_range().is_some()) && self.window.is_exact();
        Ok(ScanEstimate { bound, reach, is_whole_range })
    }

    /// An upper bound of the keys in the blocks from the current one to the one that `is_last` accepts. `is_last` gets
    /// the number of blocks before and the block's range in the file. `None` if the blocks are not all in one index
    /// partition.
    fn reach_by(&self, is_last: impl Fn(u64, &Range<u64>) -> bool) -> Result<Option<Vec<u8>>> {
        let Some(mut at) = self.blocks_ahead() else { return Ok(None) };
        let mut passed = 0;
        while at.valid() && !is_last(passed, &at.range()) {
            passed += 1;
            at.step();
        }
        if at.valid() && self.direction == Direction::Backward {
            at.step();
        }
        at.status()?;
        Ok(at.valid().then(|| at.separator()))
    }
}
