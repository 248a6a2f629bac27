//! Where a scan stands, and what the index in memory tells of what lies ahead. Nothing is read for it but blocks of a
//! filter.

use super::block_decoder::BlockDecoder;
use super::description::TableDescription;
use super::direction::Direction;
use super::extent::Extent;
use super::index_position::OwnedPosition;
use super::read_options::TableReadOptions;
use super::read_plan::ReadPlan;
use super::scan_bounds::ScanBounds;
use super::table_blocks::TableBlocks;
use super::window::Window;
use crate::blocks::{BlockRole, CachedBlock};
use ferrock_base::Result;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_format::block::{DataBlock, DataBlockCursor, IndexBlock, IndexCursor, RowBound};
use ferrock_format::handle::BlockHandle;
use std::ops::Range;

/// Where a scan stands: see [`BlockTableIter::position`](super::BlockTableIter::position).
#[derive(Debug)]
pub struct ScanPosition<'a> {
    pub(super) blocks: &'a TableBlocks,
    pub(super) description: &'a TableDescription,
    pub(super) prefix_extractor: Option<&'a PrefixExtractor>,
    pub(super) options: &'a TableReadOptions,
    pub(super) bounds: &'a ScanBounds,
    pub(super) index: &'a OwnedPosition,
    pub(super) window: &'a Window,
    pub(super) plan: &'a ReadPlan,
    pub(super) direction: Direction,
    /// The row that the scan stands on: its block, and the cursor in it.
    pub(super) row: Option<(&'a DataBlock, &'a DataBlockCursor)>,
    /// The scan ended with an error.
    pub(super) has_failed: bool,
}

impl<'a> ScanPosition<'a> {
    /// True when the scan stands on the last row of its block, in its direction.
    pub(super) fn is_at_block_end(&self) -> bool {
        self.row.is_some_and(|(data, cursor)| match self.direction {
            Direction::Forward => cursor.is_last(data),
            Direction::Backward => cursor.is_first(data),
        })
    }

    /// The data blocks from the current one on; `None` where no index block is in memory.
    pub(super) fn blocks_ahead(&self) -> Option<BlocksAhead<'a>> {
        self.index.leaf_entry().and_then(|leaf| self.walk_from(leaf))
    }

    /// The index partitions from the current one on, as entries of the top level; `None` without a top level.
    pub(super) fn partitions_ahead(&self) -> Option<BlocksAhead<'a>> {
        self.index.top_entry().and_then(|top| self.walk_from(top))
    }

    fn walk_from(&self, (index, at): (&'a CachedBlock, &IndexCursor)) -> Option<BlocksAhead<'a>> {
        let decoder = self.blocks.loader().decoder();
        Some(BlocksAhead { index: index.index().ok()?, at: at.clone(), direction: self.direction, decoder })
    }

    /// How far the blocks of the scan reach in the file.
    pub(super) fn extent(&self) -> Result<Extent> {
        let resident = self.blocks.resident_index();
        match self.direction {
            Direction::Forward => {
                let data_end = self.description.data_end();
                self.index.forward_extent(&resident, self.bounds.upper_key(), data_end)
            }
            Direction::Backward => self.index.backward_extent(&resident, self.bounds.lower_key()),
        }
    }

    /// Blocks that a limit hint asks for, from the one that the iterator is placed in.
    pub(super) fn limit_hint_blocks(&self) -> Option<u64> {
        let rows = self.bounds.limit_hint().checked_sub(1)?;
        Some(self.description.blocks_of_rows(rows) + 1)
    }

    /// Where `left` blocks behind the current one end, as far as one request and the partition go, and how many are
    /// left then.
    pub(super) fn end_of_blocks(&self, mut left: u64) -> Option<(u64, u64)> {
        let mut at = self.blocks_ahead()?;
        let mut last = at.handle();
        let mut reached = last.size;
        while left > 0 {
            at.step();
            if !at.valid() {
                break;
            }
            let next = at.handle();
            let reach = next.offset.abs_diff(last.offset).saturating_add(reached);
            // Longer than a request: the rest of the hint is for the next.
            if reach > self.window.max_bytes() {
                break;
            }
            (last, reached) = (next, reach);
            left -= 1;
        }
        let end = match self.direction {
            Direction::Forward => last.end_with_trailer()?,
            Direction::Backward => last.offset,
        };
        Some((end, left))
    }

    /// Removes cached blocks from a range that begins with `block`: at its far end, and from the first long run of them
    /// on.
    pub(super) fn without_cached(&self, block: &Range<u64>, range: Range<u64>) -> Range<u64> {
        let cache = self.blocks.loader().cache();
        if range == *block || !cache.is_there() {
            return range;
        }
        let Some(mut at) = self.blocks_ahead() else { return range };
        let is_backward = self.direction.is_backward();
        let gap_bytes = if self.bounds.has_exact_limit() { 0 } else { self.options.io_gap_bytes as u64 };
        let mut missing = block.clone();
        loop {
            at.step();
            if !at.valid() {
                // The blocks behind the partition are not known.
                return range;
            }
            let handle = at.handle();
            let Some(end) = handle.end_with_trailer() else { return range };
            let (is_outside, run) = if is_backward {
                (end <= range.start, missing.start.saturating_sub(handle.offset))
            } else {
                (handle.offset >= range.end, end.saturating_sub(missing.end))
            };
            if is_outside || (run >= gap_bytes && cache.peek(handle, BlockRole::Data).is_some()) {
                return range.start.max(missing.start)..range.end.min(missing.end);
            }
            if cache.peek(handle, BlockRole::Data).is_none() {
                missing = missing.start.min(handle.offset)..missing.end.max(end);
            }
        }
    }
}

/// A walk over the entries of an index block, in the direction of a scan.
#[derive(Clone)]
pub(super) struct BlocksAhead<'a> {
    index: &'a IndexBlock,
    at: IndexCursor,
    direction: Direction,
    decoder: &'a BlockDecoder,
}

impl BlocksAhead<'_> {
    pub(super) fn valid(&self) -> bool {
        self.at.valid()
    }

    pub(super) fn step(&mut self) {
        self.direction.step(&mut self.at, self.index);
    }

    /// The walk one entry on.
    pub(super) fn next(mut self) -> Self {
        self.step();
        self
    }

    /// The walk at the entry before this one in the index, whatever the direction; `None` at its first.
    pub(super) fn previous_in_index(&self) -> Option<Self> {
        let mut previous = self.clone();
        previous.at.prev(self.index);
        previous.valid().then_some(previous)
    }

    /// The corruption that ended the walk.
    pub(super) fn status(&self) -> Result<()> {
        self.at.status()
    }

    pub(super) fn handle(&self) -> BlockHandle {
        self.at.entry(self.index).handle
    }

    /// The bytes of the block in the file, with its trailer.
    pub(super) fn range(&self) -> Range<u64> {
        let handle = self.handle();
        handle.offset..handle.end_with_trailer().unwrap_or(handle.offset)
    }

    /// What the row bounds say about the block.
    pub(super) fn row_bound(&self) -> Option<RowBound> {
        self.at.row_bound(self.index)
    }

    /// The user key of the separator behind the block.
    pub(super) fn separator(&self) -> Vec<u8> {
        let mut separator = Vec::new();
        self.separator_into(&mut separator);
        separator
    }

    /// The same in a buffer that is used again.
    pub(super) fn separator_into(&self, out: &mut Vec<u8>) {
        out.clear();
        self.at.key_into(self.index, out);
        self.decoder.truncate_separator(out);
    }
}
