//! A merge with a row limit, which reads no block that its rows do not need.
//!
//! ```text
//! child 0   |--a--b--c--|-- next block --|      after c: read when the merge comes to it, not when c is passed
//! child 1        |--b2--|--------- d --|        d comes before the next block of child 0: shown without a read
//! ```
//!
//! - A child that has passed the last entry of its block waits in the heap under a lower bound of its next block
//!   (`deferred.rs` holds it), and reads when it reaches the top. So blocks are read in the order in which the merge
//!   needs them.
//! - A read covers the blocks that are needed for certain: those before whose first row all children together can have
//!   fewer rows than are still missing. The count is made again for each read, so that rows that turned out to be
//!   deleted are replaced.
//! - Blocks that a range tombstone of a newer child may delete are not needed for certain.
//!
//! In backward direction, a row is complete when the entry before it is known to be of another key: a child that waits
//! under another key is not read for that ([`MergingIterator::prev_version`]).

use super::source::TombstoneIterator;
use ferrock_base::comparator::InternalComparator;
use ferrock_table::{RowReach, RowsAhead};

/// The limit of a scan, and its bounds.
#[derive(Clone, Debug, Default)]
pub struct RowLimit {
    /// Rows that the reader takes.
    pub rows: u64,
    /// First user key that is shown.
    pub lower_bound: Option<Vec<u8>>,
    /// First user key that is no longer shown.
    pub upper_bound: Option<Vec<u8>>,
}

/// The position of a merge, from which the rows ahead of it are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergePosition<'a> {
    pub(super) order: &'a InternalComparator,
    pub(super) limit: &'a RowLimit,
    /// Rows that are still to be shown.
    pub(super) missing: u64,
    /// The user key that the merge has reached.
    pub(super) from: Option<&'a [u8]>,
    pub(super) is_backward: bool,
}

impl MergePosition<'_> {
    /// Number of blocks that a child needs for certain, from its next unread block on. With `is_needed` that block
    /// counts in any case.
    pub(super) fn guaranteed_blocks<I: TombstoneIterator>(&self, children: &[I], child: usize, is_needed: bool) -> u64 {
        let mut others = |key: &[u8]| self.rows_of_others(children, child, key);
        children[child].guaranteed_blocks(self.missing, is_needed, &mut others)
    }

    /// The most rows that the other children can show up to a key; `None` if they may delete rows of the child there.
    fn rows_of_others<I: TombstoneIterator>(&self, children: &[I], child: usize, key: &[u8]) -> Option<u64> {
        let reach = self.reach(key);
        let (from, to) = if self.is_backward { (Some(reach.key), self.from) } else { (self.from, Some(reach.key)) };
        if children[..child].iter().any(|newer| newer.has_range_tombstones() && newer.may_delete_in(from, to)) {
            return None;
        }
        let mut rows = 0u64;
        for (index, other) in children.iter().enumerate() {
            if index == child {
                continue;
            }
            rows = rows.saturating_add(match other.rows_ahead(&reach) {
                RowsAhead::Unknown => return None,
                RowsAhead::AtMost(rows) | RowsAhead::AtMostInAll(rows) => rows,
            });
            if rows >= self.missing {
                break;
            }
        }
        Some(rows)
    }

    /// The reach up to the key, clipped to the bounds.
    fn reach<'k>(&'k self, key: &'k [u8]) -> RowReach<'k> {
        let (order, is_backward, most) = (self.order.user(), self.is_backward, self.missing);
        let reach = RowReach { key, is_exclusive: false, is_backward, most };
        match (&self.limit.lower_bound, &self.limit.upper_bound) {
            (Some(lower), _) if is_backward && order.compare(key, lower).is_lt() => RowReach { key: lower, ..reach },
            (_, Some(upper)) if !is_backward && order.compare(key, upper).is_ge() => {
                RowReach { key: upper, is_exclusive: true, ..reach }
            }
            _ => reach,
        }
    }
}
