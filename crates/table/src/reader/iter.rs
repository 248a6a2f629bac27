//! Iteration over a table: an index position and a cursor in the data block it points at.
//!
//! ```text
//! index       ... S3 | S4 | S5 | S6 ...          a position in a partition, its partitions held (near_partitions)
//! extent            ^current      ^sure ^hard    how far the scan goes, as the index in memory tells (extent)
//! window            [ bytes of the file )        what was read for it (window)
//! block             [ decoded ]                  under the cursor; in the cache too, where that is wanted
//! ```
//!
//! With bounds, an iterator becomes invalid as soon as all that follows is outside of them. It reads no block for that.

use super::direction::Direction;
use super::index_fetcher::IndexFetcher;
use super::index_position::{HeldIndexPosition, OwnedPosition};
use super::near_partitions::{IndexScan, NearPartitions};
use super::pause_state::{Paused, Pausing};
use super::planned_read::{PlannedRead, PlannedWindow};
use super::scan_bounds::{BoundKey, ScanBounds};
use super::window::{Window, WindowPolicy};
use super::{BlockTable, TableReadOptions};
use crate::blocks::{BlockPin, BlockRef, PinnedBlock};
use ferrock_base::internal_key::user_key;
use ferrock_base::{Error, InternalIterator, Result, SeekTarget};
use ferrock_format::block::{DataBlock, DataBlockCursor};
use ferrock_format::handle::BlockHandle;
use std::cell::RefCell;
use std::sync::Arc;

/// Moves over the point entries of a table, in both directions. Range tombstones are not among them.
#[derive(Debug)]
pub struct BlockTableIter {
    pub(super) reader: Arc<BlockTable>,
    pub(super) options: TableReadOptions,
    pub(super) bounds: Arc<ScanBounds>,
    pub(super) index: HeldIndexPosition,
    pub(super) near: NearPartitions,
    /// The block under the cursor, with its handle: a seek within it loads nothing.
    block: Option<(BlockRef, BlockHandle)>,
    pub(super) cursor: DataBlockCursor,
    pub(super) window: Window,
    pub(super) direction: Direction,
    /// Blocks that a limit hint still asks for; `None` when the iterator has read nothing since it was placed.
    pub(super) hinted_blocks: Option<u64>,
    /// Blocks found in the cache since the iterator was placed, if it has a limit hint.
    pub(super) found_blocks: u64,
    /// Blocks that the limit hint of the file before asks for, for the first read of this one.
    pub(super) carried_blocks: Option<u64>,
    /// The scan went on behind what the hint asked for.
    pub(super) is_past_hint: bool,
    /// With an exact limit: blocks that the next read may bring; 0: the limit was passed.
    pub(super) guaranteed_blocks: u64,
    /// Planning ended at a partition of the index.
    pub(super) lacks_index: bool,
    /// Planning ended at the data block that the index is at.
    pub(super) awaits_block: bool,
    /// Reads are planned, not made.
    pub(super) is_planning: bool,
    pub(super) planned: Option<PlannedRead>,
    /// The window of the data read that was planned last: it is not sized anew when it comes to be read.
    pub(super) planned_window: Option<PlannedWindow>,
    /// A planned read that took too long.
    pub(super) out_of_time: Option<Error>,
    pub(super) pausing: Pausing,
    pub(super) scratch: Vec<u8>,
    pub(super) error: Option<Error>,
}

impl BlockTableIter {
    pub(super) fn new(reader: Arc<BlockTable>, options: TableReadOptions, bounds: Arc<ScanBounds>) -> Self {
        let table = &reader.options;
        let policy = WindowPolicy {
            fixed_bytes: options.readahead_bytes as u64,
            initial_bytes: table.initial_auto_readahead_size as u64,
            max_bytes: table.max_auto_readahead_size as u64,
            threshold: table.num_file_reads_for_auto_readahead,
            is_sized_by_bounds: options.auto_readahead_size,
            ahead_from_bytes: if options.async_io {
                Some(0)
            } else {
                // With buffered reads the page cache reads ahead. With direct reads, a scan that has reached the
                // largest windows is likely to go on.
                reader.loader().file().direct_alignment().map(|_| table.max_auto_readahead_size as u64)
            },
        };
        let cursor = DataBlockCursor::new(reader.global_sequence());
        Self {
            reader,
            options,
            bounds,
            index: HeldIndexPosition::default(),
            near: NearPartitions::default(),
            block: None,
            cursor,
            window: Window::new(policy),
            direction: Direction::Forward,
            hinted_blocks: None,
            found_blocks: 0,
            carried_blocks: None,
            is_past_hint: false,
            guaranteed_blocks: 1,
            lacks_index: false,
            awaits_block: false,
            is_planning: options.pauses,
            planned: None,
            planned_window: None,
            out_of_time: None,
            pausing: Pausing::default(),
            scratch: Vec::new(),
            error: None,
        }
    }

    /// The table.
    #[must_use]
    pub fn reader(&self) -> &Arc<BlockTable> {
        &self.reader
    }

    /// Gives the iterator other bounds. It is not positioned afterwards; what it has in memory stays of use.
    pub fn set_bounds(&mut self, bounds: Arc<ScanBounds>) {
        self.bounds = bounds;
        self.planned_window = None;
        self.begin(self.direction);
    }

    /// Goes on where an iterator came to the end of the file before: with what its limit hint still asks for, and
    /// reading ahead as it did, if the options say so.
    pub fn continue_readahead(&mut self, previous: &Self) {
        self.carried_blocks = previous.hinted_blocks;
        if self.options.adaptive_readahead {
            self.window.continue_ramp(&previous.window);
        }
    }

    /// Keeps the current value readable when the iterator moves on. `None` when not valid.
    #[must_use]
    pub fn value_pin(&self) -> Option<BlockPin> {
        let (block, _) = self.block.as_ref().filter(|_| self.cursor.valid())?;
        Some(PinnedBlock { block, value: self.cursor.value_range() }.pin())
    }

    #[inline]
    pub(super) fn data(&self) -> Option<&DataBlock> {
        match &self.block {
            Some((block, _)) => block.data().ok(),
            None => None,
        }
    }

    fn begin(&mut self, direction: Direction) {
        self.error = None;
        if self.is_planning || self.is_paused() {
            self.forget_pause();
        }
        self.direction = direction;
        self.hinted_blocks = self.carried_blocks.take();
        self.is_past_hint = false;
        self.found_blocks = 0;
        (self.lacks_index, self.awaits_block) = (false, false);
        self.near.restart();
        self.cursor.reset();
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) {
        self.error = Some(self.reader.loader().in_file(error));
        self.cursor.reset();
    }

    /// Moves the index; false at its end, after an error, or when a read was planned.
    fn move_index(&mut self, step: impl FnOnce(&IndexFetcher<'_, '_>, &mut OwnedPosition) -> Result<()>) -> bool {
        if self.reader.blocks.resident_index().index.partitions().is_none() {
            // Such an index has no partitions for an iterator to hold.
            let context = self.reader.blocks.index_fetcher(&self.options);
            return match self.index.step(|position| step(&context, position)) {
                Ok(()) => self.index.valid(),
                Err(error) => {
                    self.fail(error);
                    false
                }
            };
        }
        self.near.is_planning = self.is_planning;
        let near = RefCell::new(std::mem::take(&mut self.near));
        let scan = IndexScan { near: &near, bounds: &self.bounds, direction: self.direction };
        let context = IndexFetcher { scan: Some(scan), ..self.reader.blocks.index_fetcher(&self.options) };
        let moved = self.index.step(|position| step(&context, position));
        self.near = near.into_inner();
        self.lacks_index = false;
        match moved {
            Ok(()) => self.index.valid(),
            Err(error) => {
                match self.near.wanted.take() {
                    Some(run) => {
                        self.planned = Some(PlannedRead::index(run));
                        self.lacks_index = true;
                        self.cursor.reset();
                    }
                    None => self.fail(error),
                }
                false
            }
        }
    }

    /// Makes the index's block the current one; false after an error, or when a read was planned.
    fn load_block(&mut self) -> bool {
        let loaded = self.index.handle().and_then(|handle| {
            if self.block.as_ref().is_some_and(|(_, current)| *current == handle) {
                return Ok(true);
            }
            let Some(block) = self.find_or_read(handle)? else { return Ok(false) };
            block.data()?;
            self.awaits_block = false;
            self.block = Some((block, handle));
            self.window.pass(handle.offset..handle.end_with_trailer().unwrap_or(handle.offset));
            Ok(true)
        });
        match loaded {
            Ok(is_there) => is_there,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Takes over the cursor's corruption error; true if there was one.
    fn take_cursor_error(&mut self) -> bool {
        match self.cursor.status() {
            Ok(()) => false,
            Err(error) => {
                let base = self.block.as_ref().map_or(0, |(_, handle)| handle.offset);
                self.fail(error.offset_by(base));
                true
            }
        }
    }

    /// Behind the end of a block: goes on in the next one that has entries.
    #[inline(never)]
    fn skip_forward(&mut self) {
        self.direction = Direction::Forward;
        while !self.cursor.valid() {
            if self.take_cursor_error() || !self.index.valid() || self.leaves_bounds() {
                return;
            }
            if !self.move_index(|context, position| context.next(position)) {
                return self.pause(Paused::Index);
            }
            if !self.enter_forward() {
                return;
            }
        }
    }

    /// Goes to the first entry of the block that the index came to; false when the scan ends or pauses there.
    fn enter_forward(&mut self) -> bool {
        if self.begins_beyond_upper() {
            return false;
        }
        if !self.load_block() {
            self.pause(Paused::Block);
            return false;
        }
        if let Some((block, _)) = &self.block
            && let Ok(data) = block.data()
        {
            self.cursor.seek_to_first(data);
        }
        true
    }

    /// The same for the last entry.
    fn enter_backward(&mut self) -> bool {
        if !self.load_block() {
            self.pause(Paused::Block);
            return false;
        }
        if let Some((block, _)) = &self.block
            && let Ok(data) = block.data()
        {
            self.cursor.seek_to_last(data);
        }
        true
    }

    /// Goes on with a step that paused, in the direction that it had.
    pub(super) fn resume_step(&mut self, is_index_there: bool) {
        let goes_back = self.direction == Direction::Backward;
        let is_there = is_index_there
            || self.move_index(|context, position| {
                if goes_back { context.skip_empty_backward(position) } else { context.skip_empty_forward(position) }
            });
        if !is_there {
            self.pause(Paused::Index);
        } else if goes_back {
            if self.enter_backward() {
                self.skip_backward();
            }
        } else if self.enter_forward() {
            self.skip_forward();
        }
    }

    #[inline(never)]
    fn skip_backward(&mut self) {
        self.direction = Direction::Backward;
        while !self.cursor.valid() {
            if self.take_cursor_error() || !self.index.valid() || self.leaves_bounds() {
                return;
            }
            if !self.move_index(|context, position| context.prev(position)) {
                return self.pause(Paused::Index);
            }
            if !self.enter_backward() {
                return;
            }
        }
    }

    /// Goes to the first entry.
    fn go_to_first(&mut self) {
        self.begin(Direction::Forward);
        if self.move_index(|context, position| context.seek_to_first(position))
            && !self.begins_beyond_upper()
            && self.load_block()
        {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_to_first(data);
            }
            self.skip_forward();
        }
    }

    /// Goes to the first entry at or after `target`.
    fn go_to(&mut self, target: &[u8]) {
        self.begin(Direction::Forward);
        if self.is_excluded_by_filter(target) || self.is_beyond_upper(target) {
            return;
        }
        if self.move_index(|context, position| context.seek(position, target))
            && !self.is_empty_ahead(target)
            && self.load_block()
        {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek(data, self.reader.comparator(), target);
            }
            self.skip_forward();
        }
    }

    /// Goes to the last entry at or before `target`.
    fn go_back_to(&mut self, target: &[u8]) {
        self.begin(Direction::Backward);
        if self.is_excluded_by_filter(target) || self.is_below_lower(target) {
            return;
        }
        if !self.move_index(|context, position| context.seek(position, target)) {
            if self.error.is_none() && self.planned.is_none() {
                self.go_to_last();
            }
            return;
        }
        if self.step_over_empty_end(target) && self.load_block() {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_for_prev(data, self.reader.comparator(), target);
            }
            self.skip_backward();
        }
    }

    /// Goes to the last entry.
    fn go_to_last(&mut self) {
        self.begin(Direction::Backward);
        if self.move_index(|context, position| context.seek_to_last(position))
            && !self.lies_below_bounds()
            && self.load_block()
        {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_to_last(data);
            }
            self.skip_backward();
        }
    }

    /// After the index was placed for a target going back: when the current block has nothing before it, the block
    /// before. Row bounds decide that, and for the exclusive upper bound separators may, too.
    fn step_over_empty_end(&mut self, target: &[u8]) -> bool {
        let order = self.reader.comparator().user();
        let is_upper = |key: &&BoundKey| order.equal(user_key(target), key.user_key());
        let upper: Option<BoundKey> = self.bounds.upper_key().filter(is_upper).cloned();
        let resident = self.reader.blocks.resident_index();
        let has_nothing = match &upper {
            Some(upper) => self.index.follows_end(&resident, upper, &mut self.scratch),
            None => self.index.begins_after_key(&resident, user_key(target)),
        };
        match has_nothing {
            Ok(true) => self.move_index(|context, position| context.prev(position)) && !self.lies_below_bounds(),
            Ok(false) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }
}

impl Drop for BlockTableIter {
    fn drop(&mut self) {
        self.keep_unused();
        self.note_spent();
    }
}

impl InternalIterator for BlockTableIter {
    #[inline]
    fn valid(&self) -> bool {
        self.cursor.valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match self.data() {
            Some(data) => self.cursor.key(data),
            None => &[],
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match self.data() {
            Some(data) => self.cursor.value(data),
            None => &[],
        }
    }

    fn seek_to_first(&mut self) {
        self.go_to_first();
        self.pause_if_not_placed(SeekTarget::First);
    }

    fn seek_to_last(&mut self) {
        self.go_to_last();
        self.pause_if_not_placed(SeekTarget::Last);
    }

    fn seek(&mut self, target: &[u8]) {
        self.go_to(target);
        self.pause_if_not_placed(SeekTarget::AtOrAfter(target));
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.go_back_to(target);
        self.pause_if_not_placed(SeekTarget::AtOrBefore(target));
    }

    #[inline]
    fn next(&mut self) {
        if let Some((block, _)) = &self.block
            && let Ok(data) = block.data()
        {
            self.cursor.next(data);
            if !self.cursor.valid() && self.error.is_none() {
                self.skip_forward();
            }
        }
    }

    #[inline]
    fn prev(&mut self) {
        if !self.cursor.valid() {
            return;
        }
        if let Some((block, _)) = &self.block
            && let Ok(data) = block.data()
        {
            self.cursor.prev(data);
        }
        if !self.cursor.valid() {
            self.skip_backward();
        }
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}
