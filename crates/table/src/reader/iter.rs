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
use super::filter_reader::FilterAnswer;
use super::index_fetcher::IndexFetcher;
use super::index_position::OwnedPosition;
use super::limit_progress::LimitProgress;
use super::limited::NextBlock;
use super::near_partitions::{IndexScan, NearPartitions};
use super::pause_state::{Paused, Pausing};
use super::read_plan::ReadPlan;
use super::scan_bounds::ScanBounds;
use super::scan_position::ScanPosition;
use super::window::{Window, WindowPolicy};
use super::{BlockTable, TableReadOptions};
use crate::blocks::{BlockPin, BlockRef, PinnedBlock};
use crate::stored_blocks::{StoredFile, StoredInput};
use ferrock_base::{Error, InternalIterator, Result, SeekTarget};
use ferrock_format::block::{DataBlock, DataBlockCursor};
use ferrock_format::handle::BlockHandle;
use ferrock_statistics::{PerfLaps, PerfMetric, PerfTimer};
use std::cell::RefCell;
use std::sync::Arc;

/// Moves over the point entries of a table, in both directions. Range tombstones are not among them.
#[derive(Debug)]
pub struct BlockTableIter {
    pub(super) table: Arc<BlockTable>,
    pub(super) options: TableReadOptions,
    pub(super) bounds: Arc<ScanBounds>,
    pub(super) index: OwnedPosition,
    pub(super) near: NearPartitions,
    /// The block under the cursor, with its handle: a seek within it loads nothing.
    block: Option<(BlockRef, BlockHandle)>,
    cursor: DataBlockCursor,
    pub(super) window: Window,
    pub(super) direction: Direction,
    pub(super) limit: LimitProgress,
    pub(super) plan: ReadPlan,
    pub(super) pausing: Pausing,
    scratch: Vec<u8>,
    /// Where blocks are kept as they are stored, for a builder.
    pub(super) stored: Option<StoredInput>,
    /// The file, where such a block can be read again.
    pub(super) stored_file: Option<Arc<dyn StoredFile>>,
    pub(super) error: Option<Error>,
}

impl BlockTableIter {
    pub(super) fn new(table: Arc<BlockTable>, options: TableReadOptions, bounds: Arc<ScanBounds>) -> Self {
        let mut plan = ReadPlan::default();
        plan.set_planning(options.pauses);
        let policy = WindowPolicy::new(&table.options, &options, &**table.loader().file());
        Self {
            index: OwnedPosition::default(),
            near: NearPartitions::default(),
            block: None,
            cursor: table.loader().decoder().data_cursor(),
            window: Window::new(policy),
            direction: Direction::Forward,
            limit: LimitProgress::default(),
            plan,
            pausing: Pausing::default(),
            scratch: Vec::new(),
            stored: None,
            stored_file: None,
            error: None,
            table,
            options,
            bounds,
        }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Arc<BlockTable> {
        &self.table
    }

    /// Gives the iterator other bounds. It is not positioned afterwards; what it has in memory stays of use.
    pub fn set_bounds(&mut self, bounds: Arc<ScanBounds>) {
        self.bounds = bounds;
        self.plan.drop_window();
        self.begin(self.direction);
    }

    /// Keeps the blocks that are read from now on for a builder, where it may store them as this table does.
    pub fn keep_stored(&mut self, input: &StoredInput) {
        let decoder = self.table.loader().decoder();
        self.stored = input.of_table(self.table.properties(), decoder.format_version(), decoder.has_dictionary());
        let is_cheap = self.stored.is_some() && self.table.loader().file().direct_alignment().is_none();
        self.stored_file = is_cheap.then(|| Arc::clone(&self.table) as Arc<dyn StoredFile>);
    }

    /// Goes on where an iterator came to the end of the file before: with what its limit hint still asks for, and
    /// reading ahead as it did, if the options say so.
    pub fn continue_readahead(&mut self, previous: &Self) {
        self.limit.continue_from(&previous.limit);
        if self.options.adaptive_readahead {
            self.window.continue_ramp(&previous.window);
        }
    }

    /// Lets go of all that a scan has in memory: the iterator is as if just made.
    pub fn rest(&mut self) {
        self.keep_unused();
        self.note_spent();
        self.index.rest();
        self.near = NearPartitions::default();
        self.block = None;
        self.cursor.reset();
        self.window.begin_anew();
        self.direction = Direction::Forward;
        self.limit = LimitProgress::default();
        self.plan = ReadPlan::default();
        self.plan.set_planning(self.options.pauses);
        self.pausing = Pausing::default();
        self.scratch = Vec::new();
        self.error = None;
    }

    /// Becomes an iterator over another table, as if just made.
    pub(crate) fn begin_in(&mut self, table: &Arc<BlockTable>, options: TableReadOptions, bounds: Arc<ScanBounds>) {
        self.options = options;
        self.rest();
        self.window = Window::new(WindowPolicy::new(&table.options, &options, &**table.loader().file()));
        self.cursor = table.loader().decoder().data_cursor();
        (self.stored, self.stored_file) = (None, None);
        self.table = Arc::clone(table);
        self.bounds = bounds;
    }

    /// Keeps the current value readable when the iterator moves on. `None` when not valid.
    #[must_use]
    pub fn value_pin(&self) -> Option<BlockPin> {
        let (block, _) = self.block.as_ref().filter(|_| self.cursor.valid())?;
        Some(PinnedBlock { block, value: self.cursor.value_range() }.pin())
    }

    #[inline]
    fn data(&self) -> Option<&DataBlock> {
        match &self.block {
            Some((block, _)) => block.data().ok(),
            None => None,
        }
    }

    /// Where the scan stands, and what the index in memory tells of what lies ahead.
    #[inline]
    #[must_use]
    pub fn position(&self) -> ScanPosition<'_> {
        let Self { table, options, bounds, index, window, direction, plan, .. } = self;
        let row = if self.cursor.valid() { self.data().map(|data| (data, &self.cursor)) } else { None };
        let has_failed = self.error.is_some() && !self.is_paused();
        ScanPosition {
            blocks: &table.blocks,
            description: &table.description,
            prefix_extractor: table.prefix_extractor.as_ref(),
            options,
            bounds,
            index,
            window,
            plan,
            direction: *direction,
            row,
            has_failed,
        }
    }

    fn begin(&mut self, direction: Direction) {
        self.error = None;
        if self.plan.is_planning() || self.is_paused() {
            self.forget_pause();
        }
        self.direction = direction;
        self.limit.begin();
        self.plan.note_progress();
        self.near.restart();
        self.cursor.reset();
    }

    #[cold]
    pub(super) fn fail(&mut self, error: Error) {
        self.error = Some(self.table.loader().in_file(error));
        self.cursor.reset();
    }

    /// The answer of a search in the index; after an error the iterator has failed.
    fn or_fail(&mut self, answer: Result<bool>) -> Option<bool> {
        answer.map_err(|error| self.fail(error)).ok()
    }

    /// Moves the index; false at its end, after an error, or when a read was planned.
    fn move_index(&mut self, step: impl FnOnce(&IndexFetcher<'_, '_>, &mut OwnedPosition) -> Result<()>) -> bool {
        let fetcher = self.table.blocks.index_fetcher(&self.options);
        let moved = if fetcher.resident.index.partitions().is_none() {
            // Such an index has no partitions for an iterator to hold.
            step(&fetcher, &mut self.index)
        } else {
            self.near.is_planning = self.plan.is_planning();
            let near = RefCell::new(std::mem::take(&mut self.near));
            let scan = IndexScan { near: &near, bounds: &self.bounds, direction: self.direction };
            let moved = step(&IndexFetcher { scan: Some(scan), ..fetcher }, &mut self.index);
            self.near = near.into_inner();
            self.plan.note_progress();
            moved
        };
        match moved {
            Ok(()) => self.index.valid(),
            Err(error) => {
                self.index.reset();
                match self.near.wanted.take() {
                    Some(run) => {
                        self.plan.plan_index(run);
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
            let mut laps = PerfLaps::begin();
            let Some(block) = self.find_or_read(handle)? else { return Ok(false) };
            block.data()?;
            self.plan.note_progress();
            self.block = Some((block, handle));
            laps.lap(PerfMetric::NewTableBlockIterNanos);
            self.window.pass(handle.offset..handle.end_with_trailer().unwrap_or(handle.offset));
            Ok(true)
        });
        self.or_fail(loaded).unwrap_or(false)
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

    /// Behind the last entry of a block, in a direction: goes on in the next one that has entries.
    #[inline(never)]
    fn skip_empty(&mut self, direction: Direction) {
        self.direction = direction;
        while !self.cursor.valid() {
            if self.take_cursor_error() || !self.index.valid() || self.leaves_bounds() {
                return;
            }
            if !self.move_index(|index, position| index.step(position, direction)) {
                return self.pause(Paused::Index);
            }
            if !self.enter_block() {
                return;
            }
        }
    }

    /// Goes to the first entry, in the direction of the scan, of the block that the index came to; false when the scan
    /// ends or pauses there.
    fn enter_block(&mut self) -> bool {
        let is_backward = self.direction.is_backward();
        if !is_backward && self.begins_beyond_upper() {
            return false;
        }
        if !self.load_block() {
            self.pause(Paused::Block);
            return false;
        }
        self.place_cursor(if is_backward { SeekTarget::Last } else { SeekTarget::First });
        true
    }

    /// Goes on with a step that paused, in the direction that it had.
    pub(super) fn resume_step(&mut self, is_index_there: bool) {
        let direction = self.direction;
        if !is_index_there && !self.move_index(|index, position| index.skip_empty(position, direction)) {
            self.pause(Paused::Index);
        } else if self.enter_block() {
            self.skip_empty(direction);
        }
    }

    #[inline]
    fn place_cursor(&mut self, target: SeekTarget<'_>) {
        let Some((block, _)) = &self.block else { return };
        let Ok(data) = block.data() else { return };
        let order = self.table.comparator();
        match target {
            SeekTarget::First => self.cursor.seek_to_first(data),
            SeekTarget::Last => self.cursor.seek_to_last(data),
            SeekTarget::AtOrAfter(target) => self.cursor.seek(data, order, target),
            SeekTarget::AtOrBefore(target) => self.cursor.seek_for_prev(data, order, target),
        }
    }

    /// Goes to a target. Without `may_read` nothing is read: afterwards the scan is placed as by the seek, has failed
    /// as the seek would have, or is paused for the read that it needs first.
    pub fn place(&mut self, target: SeekTarget<'_>, may_read: bool) {
        self.plan.set_planning(!may_read || self.options.pauses);
        let (direction, mut reached) = (Direction::from_target(target), target);
        self.begin(direction);
        if !target.target().is_some_and(|key| self.is_excluded(key)) {
            let mut is_there = self.move_index(|index, position| index.place(position, target));
            if !is_there && self.error.is_none() && self.plan.read().is_none() && direction.is_backward() {
                // The target is behind the last separator.
                reached = SeekTarget::Last;
                self.begin(direction);
                is_there = self.move_index(|index, position| index.place(position, reached));
            }
            if is_there && self.has_rows_ahead(reached) && self.load_block() {
                PerfTimer::time(PerfMetric::BlockSeekNanos, || self.place_cursor(reached));
                if !self.cursor.valid() {
                    self.skip_empty(direction);
                }
            }
        }
        self.pause_if_not_placed(target);
        self.plan.set_planning(self.options.pauses);
    }

    /// True when a search for an internal key, in the direction of the scan, leads to no entry within the bounds, or
    /// needs a block of the filter first; true also after an error.
    #[inline]
    fn is_excluded(&mut self, key: &[u8]) -> bool {
        if self.bounds.are_open() {
            return false;
        }
        let answer = self.position().ask_filter(key);
        match answer {
            Ok(FilterAnswer::MayMatch) => return self.position().is_outside(key),
            Ok(FilterAnswer::Absent) => {}
            Ok(FilterAnswer::Needs(needed)) => {
                self.plan_block(needed);
                if let (None, Err(error)) = (self.plan.read(), self.options.may_read()) {
                    self.fail(error);
                }
            }
            Err(error) => self.fail(error),
        }
        true
    }

    /// After the index was placed: true when it may have led to entries within the bounds. Going back to a key, it
    /// moves to the block before when the current one has nothing before the key.
    #[inline]
    fn has_rows_ahead(&mut self, target: SeekTarget<'_>) -> bool {
        let answer = match target {
            SeekTarget::First => return !self.begins_beyond_upper(),
            SeekTarget::AtOrAfter(_) if self.bounds.upper_key().is_none() => return true,
            SeekTarget::AtOrAfter(key) => self.position().is_empty_ahead(key),
            SeekTarget::Last => return !self.lies_below_bounds(),
            SeekTarget::AtOrBefore(key) => {
                let has_nothing = self.with_scratch(|position, scratch| position.has_nothing_before(key, scratch));
                return match has_nothing {
                    Some(true) => {
                        self.move_index(|index, position| index.step(position, Direction::Backward))
                            && !self.lies_below_bounds()
                    }
                    has_nothing => has_nothing.is_some(),
                };
            }
        };
        self.or_fail(answer) == Some(false)
    }

    fn with_scratch(&mut self, ask: impl FnOnce(&ScanPosition<'_>, &mut Vec<u8>) -> Result<bool>) -> Option<bool> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let answer = ask(&self.position(), &mut scratch);
        self.scratch = scratch;
        self.or_fail(answer)
    }

    /// True when nothing within the bounds lies ahead of the current block, or after an error.
    fn leaves_bounds(&mut self) -> bool {
        if self.bounds.end(self.direction).is_none() {
            return false;
        }
        self.with_scratch(|position, scratch| position.leaves_bounds(scratch)).unwrap_or(true)
    }

    /// True when the row bounds say that the current block, and so what lies behind it, begins where the bounds end, or
    /// after an error.
    fn begins_beyond_upper(&mut self) -> bool {
        if self.bounds.upper_key().is_none() {
            return false;
        }
        let answer = self.position().begins_beyond_upper();
        self.or_fail(answer).unwrap_or(true)
    }

    /// True when the current block, which no key within the bounds lies behind, ends before the lower bound, or after
    /// an error.
    fn lies_below_bounds(&mut self) -> bool {
        self.with_scratch(|position, scratch| position.lies_below_bounds(scratch)).unwrap_or(true)
    }

    /// What the next step in a direction needs. To be called before the step.
    pub fn next_block(&mut self, is_backward: bool) -> NextBlock {
        let mut scratch = std::mem::take(&mut self.scratch);
        let next = self.position().next_block(is_backward, &mut scratch);
        self.scratch = scratch;
        next.unwrap_or_else(|error| {
            self.fail(error);
            NextBlock::Outside
        })
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
        self.place(SeekTarget::First, true);
    }

    fn seek_to_last(&mut self) {
        self.place(SeekTarget::Last, true);
    }

    fn seek(&mut self, target: &[u8]) {
        self.place(SeekTarget::AtOrAfter(target), true);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.place(SeekTarget::AtOrBefore(target), true);
    }

    #[inline]
    fn next(&mut self) {
        if let Some((block, _)) = &self.block
            && let Ok(data) = block.data()
        {
            self.cursor.next(data);
            if !self.cursor.valid() && self.error.is_none() {
                self.skip_empty(Direction::Forward);
            }
        }
    }

    #[inline]
    fn step_within_block(&mut self) -> &[u8] {
        let Some((block, _)) = &self.block else { return &[] };
        let Ok(data) = block.data() else { return &[] };
        self.cursor.step(data)
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
            self.skip_empty(Direction::Backward);
        }
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }
}
