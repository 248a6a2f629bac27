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
use super::iter::BlockTableIter;
use ferrock_base::InternalIterator;
use ferrock_base::internal_key::user_key;
use ferrock_format::block::{IndexBlock, IndexCursor};
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

impl BlockTableIter {
    fn step_index(&self, at: &mut IndexCursor, leaf: &IndexBlock) {
        match self.direction {
            Direction::Forward => at.next(leaf),
            Direction::Backward => at.prev(leaf),
        }
    }

    fn separator(&self, at: &IndexCursor, leaf: &IndexBlock) -> Vec<u8> {
        let mut separator = Vec::new();
        at.key_into(leaf, &mut separator);
        self.reader.loader().decoder().truncate_separator(&mut separator);
        separator
    }

    /// True when the scan stands on the last row of its block, in its direction.
    fn is_at_block_end(&self) -> bool {
        self.data().is_some_and(|data| match self.direction {
            Direction::Forward => self.cursor.is_last(data),
            Direction::Backward => self.cursor.is_first(data),
        })
    }

    /// What the next step in a direction needs. To be called before the step.
    pub fn next_block(&mut self, is_backward: bool) -> NextBlock {
        if (self.direction == Direction::Backward) != is_backward || !self.is_at_block_end() {
            return NextBlock::InMemory;
        }
        if self.leaves_bounds() {
            return NextBlock::Outside;
        }
        let resident = self.reader.blocks.resident_index();
        let parts_keys = resident.loader.decoder().separators_are_exact();
        let Some((leaf, cursor)) = self.index.leaf() else { return NextBlock::InMemory };
        let Ok(leaf) = leaf.index() else { return NextBlock::InMemory };
        let mut at = cursor.clone();
        self.step_index(&mut at, leaf);
        if at.valid() {
            let handle = at.entry(leaf).handle;
            let range = handle.offset..handle.end_with_trailer().unwrap_or(handle.offset);
            if self.window.covers(&range) || self.reader.loader().cache().peek(handle).is_some() {
                return NextBlock::InMemory;
            }
            return match at.row_bound(leaf) {
                _ if is_backward => NextBlock::Unread { key: self.separator(&at, leaf), is_behind: false },
                Some(bound) => NextBlock::Unread { key: bound.key().to_vec(), is_behind: false },
                None => NextBlock::Unread { key: self.separator(cursor, leaf), is_behind: parts_keys },
            };
        }
        let Some((top, top_cursor)) = self.index.top() else { return NextBlock::Outside };
        let Ok(top) = top.index() else { return NextBlock::InMemory };
        let mut next_top = top_cursor.clone();
        self.step_index(&mut next_top, top);
        if !next_top.valid() {
            return NextBlock::Outside;
        }
        // The last separator of a partition is its key in the top level.
        if is_backward {
            NextBlock::Unread { key: self.separator(&next_top, top), is_behind: false }
        } else {
            NextBlock::Unread { key: self.separator(cursor, leaf), is_behind: parts_keys }
        }
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
        let Some(most) = self.reader.description.max_block_entries() else { return least };
        let Some((leaf, cursor)) = self.index.leaf() else { return least };
        let Ok(leaf) = leaf.index() else { return least };
        let mut at = cursor.clone();
        if self.cursor.valid() {
            self.step_index(&mut at, leaf);
        }
        // For each block, a key at or behind its first row in the direction of the scan.
        let mut reached = Vec::new();
        let (mut own, mut begin) = (0u64, None);
        while at.valid() && own < missing {
            let handle = at.entry(leaf).handle;
            if handle.offset.abs_diff(*begin.get_or_insert(handle.offset)) > self.window.max_bytes() {
                break;
            }
            reached.push(match self.direction {
                Direction::Forward => self.separator(&at, leaf),
                Direction::Backward => match at.row_bound(leaf) {
                    Some(bound) => bound.key().to_vec(),
                    None => {
                        let mut previous = at.clone();
                        previous.prev(leaf);
                        if !previous.valid() {
                            break;
                        }
                        self.separator(&previous, leaf)
                    }
                },
            });
            own = own.saturating_add(most);
            self.step_index(&mut at, leaf);
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

    /// Limits the next read to so many blocks, less those in memory; 0: the limit was passed.
    pub fn allow_blocks(&mut self, blocks: u64) {
        self.guaranteed_blocks = blocks;
        self.planned_window = None;
    }

    /// The most rows between the scan's position, placed or with a planned read, and a key.
    #[must_use]
    pub fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        if self.lacks_index || self.error.is_some() && !self.is_paused() {
            return RowsAhead::Unknown;
        }
        let is_placed = self.cursor.valid();
        if !is_placed && !self.awaits_block {
            return RowsAhead::AtMostInAll(0);
        }
        let order = self.reader.comparator().user();
        if is_placed && reach.is_before(order, user_key(self.key())) {
            return RowsAhead::AtMost(0);
        }
        let (Some(most), Some((leaf, cursor))) = (self.reader.description.max_block_entries(), self.index.leaf())
        else {
            return RowsAhead::Unknown;
        };
        let Ok(leaf) = leaf.index() else { return RowsAhead::Unknown };
        let mut at = cursor.clone();
        let (mut rows, mut separator) = (0u64, Vec::new());
        if is_placed && self.is_at_block_end() {
            // The row that the scan stands on may not have been shown.
            rows = 1;
            self.step_index(&mut at, leaf);
        }
        while at.valid() {
            at.key_into(leaf, &mut separator);
            self.reader.loader().decoder().truncate_separator(&mut separator);
            let is_beyond = match self.direction {
                Direction::Forward => at.row_bound(leaf).is_some_and(|bound| reach.is_before(order, bound.key())),
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
            self.step_index(&mut at, leaf);
        }
        match self.index.top() {
            None => RowsAhead::AtMostInAll(rows),
            Some((top, cursor)) => {
                let Ok(top) = top.index() else { return RowsAhead::Unknown };
                let mut next = cursor.clone();
                self.step_index(&mut next, top);
                if next.valid() { RowsAhead::Unknown } else { RowsAhead::AtMostInAll(rows) }
            }
        }
    }
}
