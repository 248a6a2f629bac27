//! A limit hint that reads no block which its rows do not need ([`LimitReads::FewestBytes`](super::LimitReads)).
//!
//! ```text
//! 25 rows are missing, no block of the table has more than 10
//!
//! |== to be read ==|======|======|======|
//!       needed      needed needed  not yet       at most 20 rows come before the third, up to 30 before the fourth
//! ```
//!
//! A block is needed for certain when fewer rows than are missing can come before its first one: those of the blocks
//! before it, as the table says how many entries a block has at most, and those of the other tables of a merge, which a
//! callback counts. All of this comes from the index partition that the scan stands in; blocks of the next partition
//! are not considered. A table without that number, or with a user key in two blocks, is read block by block.

use super::direction::Direction;
use super::scan_position::ScanPosition;
use crate::blocks::BlockRole;
use ferrock_base::Result;
use ferrock_base::internal_key::user_key;
use std::cmp::Ordering;

/// The block that the next step of a scan needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextBlock {
    /// The step needs only blocks in memory.
    InMemory,
    /// The step needs no block: it leaves the table.
    Outside,
    /// A block that has to be read. Its rows are at or behind this user key.
    Unread {
        /// The key.
        key: Vec<u8>,
        /// True if all rows are behind the key.
        is_behind: bool,
    },
}

/// The key up to which rows ahead of a merge are counted.
#[derive(Clone, Copy, Debug)]
pub struct RowReach<'a> {
    /// The last user key that counts, in the direction of the scan.
    pub key: &'a [u8],
    /// The key itself does not count.
    pub is_exclusive: bool,
    /// True for a backward scan.
    pub is_backward: bool,
    /// The count may stop at this number of rows.
    pub most: u64,
}

/// How many rows a scan has ahead of it up to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsAhead {
    /// Not known.
    Unknown,
    /// At most so many, and there may be more behind the key.
    AtMost(u64),
    /// At most so many, and none behind them in this table.
    AtMostInAll(u64),
}

impl RowReach<'_> {
    /// True when neither a row with this key nor one behind it counts.
    #[must_use]
    pub fn is_before(&self, order: &ferrock_base::Comparator, key: &[u8]) -> bool {
        match order.compare(key, self.key) {
            Ordering::Equal => self.is_exclusive,
            Ordering::Greater => !self.is_backward,
            Ordering::Less => self.is_backward,
        }
    }
}

impl ScanPosition<'_> {
    /// What the next step in a direction needs.
    pub(super) fn next_block(&self, is_backward: bool, scratch: &mut Vec<u8>) -> Result<NextBlock> {
        if self.direction.is_backward() != is_backward || !self.is_at_block_end() {
            return Ok(NextBlock::InMemory);
        }
        if self.leaves_bounds(scratch)? {
            return Ok(NextBlock::Outside);
        }
        let parts_keys = self.blocks.loader().decoder().separators_are_exact();
        let Some(current) = self.blocks_ahead() else { return Ok(NextBlock::InMemory) };
        let next = current.clone().next();
        if next.valid() {
            if self.window.covers(&next.range())
                || self.blocks.loader().cache().peek(next.handle(), BlockRole::Data).is_some()
            {
                return Ok(NextBlock::InMemory);
            }
            return Ok(match next.row_bound() {
                _ if is_backward => NextBlock::Unread { key: next.separator(), is_behind: false },
                Some(bound) => NextBlock::Unread { key: bound.key().to_vec(), is_behind: false },
                None => NextBlock::Unread { key: current.separator(), is_behind: parts_keys },
            });
        }
        let Some(partition) = self.partitions_ahead() else { return Ok(NextBlock::Outside) };
        let partition = partition.next();
        if !partition.valid() {
            return Ok(NextBlock::Outside);
        }
        // The last separator of a partition is its key in the top level.
        Ok(if is_backward {
            NextBlock::Unread { key: partition.separator(), is_behind: false }
        } else {
            NextBlock::Unread { key: current.separator(), is_behind: parts_keys }
        })
    }

    /// Number of blocks that the scan needs for certain when `missing` rows are still to be shown, from the next unread
    /// block on. `others` returns the most rows that other tables can have up to a key. With `is_needed` the first
    /// block counts in any case.
    pub fn guaranteed_blocks(
        &self,
        missing: u64,
        is_needed: bool,
        others: &mut dyn FnMut(&[u8]) -> Option<u64>,
    ) -> u64 {
        let least = u64::from(is_needed);
        let Some(most) = self.description.max_block_entries() else { return least };
        let Some(mut at) = self.blocks_ahead() else { return least };
        if self.row.is_some() {
            at.step();
        }
        // For each block, a key at or behind its first row in the direction of the scan.
        let mut reached = Vec::new();
        let (mut own, mut begin) = (0u64, None);
        while at.valid() && own < missing {
            let handle = at.handle();
            if handle.offset.abs_diff(*begin.get_or_insert(handle.offset)) > self.window.max_bytes() {
                break;
            }
            reached.push(match self.direction {
                Direction::Forward => at.separator(),
                Direction::Backward => match at.row_bound() {
                    Some(bound) => bound.key().to_vec(),
                    None => match at.previous_in_index() {
                        Some(previous) => previous.separator(),
                        None => break,
                    },
                },
            });
            own = own.saturating_add(most);
            at.step();
        }
        // Rows before a block grow with its number, so the guaranteed blocks come first.
        let (mut sure, mut end) = (0, reached.len());
        let mut is_sure = |block: usize| {
            let own = most.saturating_mul(block as u64);
            others(&reached[block]).is_some_and(|others| own.saturating_add(others) < missing)
        };
        if end > 0 && is_sure(end - 1) {
            return end as u64;
        }
        while sure < end {
            let middle = sure + (end - sure) / 2;
            if is_sure(middle) {
                sure = middle + 1;
            } else {
                end = middle;
            }
        }
        (sure as u64).max(least)
    }

    /// The most rows between the scan's position, placed or with a planned read, and a key.
    #[must_use]
    pub fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        if self.plan.lacks_index() || self.has_failed {
            return RowsAhead::Unknown;
        }
        if self.row.is_none() && !self.plan.awaits_block() {
            return RowsAhead::AtMostInAll(0);
        }
        let order = self.blocks.loader().comparator().user();
        if self.row.is_some_and(|(data, cursor)| reach.is_before(order, user_key(cursor.key(data)))) {
            return RowsAhead::AtMost(0);
        }
        let (Some(most), Some(mut at)) = (self.description.max_block_entries(), self.blocks_ahead()) else {
            return RowsAhead::Unknown;
        };
        let (mut rows, mut separator) = (0u64, Vec::new());
        if self.is_at_block_end() {
            // The row that the scan stands on may not have been shown.
            rows = 1;
            at.step();
        }
        while at.valid() {
            at.separator_into(&mut separator);
            let is_beyond = match self.direction {
                Direction::Forward => at.row_bound().is_some_and(|bound| reach.is_before(order, bound.key())),
                Direction::Backward => reach.is_before(order, &separator),
            };
            if is_beyond {
                return RowsAhead::AtMost(rows);
            }
            rows = rows.saturating_add(most);
            let is_last = self.direction == Direction::Forward && order.compare(&separator, reach.key).is_ge();
            if is_last || rows >= reach.most {
                return RowsAhead::AtMost(rows);
            }
            at.step();
        }
        let has_more = self.partitions_ahead().is_some_and(|partition| partition.next().valid());
        if has_more { RowsAhead::Unknown } else { RowsAhead::AtMostInAll(rows) }
    }
}
