//! Decides what a scan reads next, from the extent, the window, a limit hint, and the content of the cache.
//!
//! ```text
//! block that is missing --> window (size_window) --> planned read         a scan that may not read: it pauses
//!                                                \-> read at once         any other
//! ```

use super::block_loader::short_read;
use super::direction::Direction;
use super::extent::Extent;
use super::iter::BlockTableIter;
use super::planned_read::{PlannedRead, PlannedWindow, Purpose};
use super::read_options::ReadTier;
use crate::blocks::{BlockRef, BlockRole};
use ferrock_base::{ErrorKind, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::{FileSystem, RandomAccessFile, ReadBuffer, ReadClass, ReadContext};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Blocks that a limit hint may bring beyond its rows: it does not know where in a block the first row lies.
const MAX_KEPT_BLOCKS: usize = 2;

impl BlockTableIter {
    /// How planned reads are to be made.
    #[must_use]
    pub fn read_context(&self) -> ReadContext {
        self.options.read_context(ReadClass::Data)
    }

    /// The file system that opened the file.
    #[must_use]
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        &self.reader.file_system
    }

    /// The file that planned reads are of.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        self.reader.loader().file()
    }

    /// Takes the result of a planned read. After an error the iterator makes the read itself, and fails if that fails;
    /// but not after a timeout.
    pub fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        self.note_supplied(read);
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                // A readahead that timed out is made anew.
                let is_final = error.kind() == ErrorKind::TimedOut && !self.pausing.is_ahead();
                self.out_of_time = Some(error).filter(|_| is_final);
                return;
            }
        };
        match &read.purpose {
            Purpose::Data(direction) if !bytes.is_empty() && self.options.pauses => {
                self.window.take_piece(read.range.clone(), bytes, *direction);
                self.note_arrived();
            }
            Purpose::Data(direction) if !bytes.is_empty() => self.window.add(bytes, *direction),
            Purpose::Data(_) => {}
            // A block that is damaged, or does not fit into the cache, is read again when it is needed.
            Purpose::Block(needed) => {
                let _ = self.reader.blocks.finish_read(&self.options, *needed, Ok(bytes.bytes()));
            }
            Purpose::Index(run) => {
                let resident = self.reader.blocks.resident_index();
                if let Some(partitions) = resident.index.partitions() {
                    self.near.take_run(&resident, &self.options, partitions, run, bytes.bytes());
                }
            }
        }
    }

    /// The data block, from the cache, the window or the file; `None` when its read was planned.
    pub(super) fn find_or_read(&mut self, handle: BlockHandle) -> Result<Option<BlockRef>> {
        if let Some(block) = self.reader.loader().cache().find(handle, BlockRole::Data) {
            if self.bounds.limit_hint() > 0 && (!self.is_planning || self.options.pauses) {
                self.found_blocks += 1;
            }
            return Ok(Some(block));
        }
        if self.options.read_tier == ReadTier::BlockCacheOnly {
            return self.options.may_read().map(|()| None);
        }
        let length = self.reader.loader().stored_length(handle)?;
        let range = handle.offset..handle.offset + length as u64;
        let stored = match self.reader.loader().file().mapped(handle.offset, length) {
            Some(mapped) => mapped.to_vec(),
            None => {
                if self.window.covers(&range) {
                    self.take_planned_window(&range);
                    self.resume_reading_ahead()?;
                } else if !self.read_window(&range)? {
                    return Ok(None);
                }
                self.window.bytes(&range).ok_or_else(|| short_read(handle.offset, length, 0))?
            }
        };
        let loader = self.reader.loader();
        let block = loader.decode_stored(Cow::Owned(stored), handle, BlockRole::Data, self.options.verify_checksums)?;
        loader.cache().keep(handle, BlockRole::Data, block, &self.options).map(Some)
    }

    /// Reads the window that begins with the block; false when the read was planned instead.
    fn read_window(&mut self, block: &Range<u64>) -> Result<bool> {
        let direction = self.direction;
        if self.options.pauses {
            if let Some(range) = self.pause_for_ahead(block) {
                self.planned = Some(PlannedRead { range, purpose: Purpose::Data(direction) });
                return Ok(false);
            }
        } else if self.window.take_ahead(&**self.reader.loader().file(), block, direction) {
            self.window.note_sequential();
            self.read_ahead()?;
            return Ok(true);
        }
        let wanted = match self.take_planned_window(block) {
            Some(wanted) => wanted,
            None => self.size_window(block)?,
        };
        if self.is_planning {
            if self.options.pauses {
                self.reader.file_system.counters().window_waited();
            }
            let range = self.window.rest(&wanted, direction);
            self.planned = Some(PlannedRead { range, purpose: Purpose::Data(direction) });
            self.awaits_block = true;
            let (block, hinted_blocks, is_past_hint) = (block.clone(), self.hinted_blocks, self.is_past_hint);
            self.planned_window = Some(PlannedWindow { block, direction, wanted, hinted_blocks, is_past_hint });
            return Ok(false);
        }
        let file = self.reader.loader().file();
        let context = self.options.read_context(ReadClass::Data);
        self.reader.file_system.counters().window_waited();
        let filled = self.window.fill(&**file, &wanted, direction, &context);
        let has_time = filled.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::TimedOut);
        if filled.is_err() && has_time && wanted != *block {
            // The failure may lie in a part of the window that the scan does not need.
            self.window.fill(&**file, block, direction, &context)?;
        } else {
            filled?;
        }
        self.read_ahead()?;
        Ok(true)
    }

    /// The window that was planned for the block, if that is the one that the iterator came to after it planned.
    fn take_planned_window(&mut self, block: &Range<u64>) -> Option<Range<u64>> {
        let planned = self.planned_window.take()?;
        let is_it = planned.block == *block && planned.direction == self.direction;
        if is_it {
            (self.hinted_blocks, self.is_past_hint) = (planned.hinted_blocks, planned.is_past_hint);
        }
        is_it.then_some(planned.wanted)
    }

    fn size_window(&mut self, block: &Range<u64>) -> Result<Range<u64>> {
        self.note_spent();
        let extent = self.extent()?;
        let limit_end = self.limit_end();
        // Behind the hint windows grow from one block on: a scan that continues by a step or two does not need the
        // whole range.
        let extent = Extent { is_exact: extent.is_exact && (!self.is_past_hint || limit_end.is_some()), ..extent };
        let usual_bytes = self.reader.read_history.usual_bytes();
        let wanted = self.window.plan(block, self.direction, extent, usual_bytes, limit_end);
        self.without_cached(block, wanted)
    }

    /// Begins to read the window behind the one that the scan is in, where that pays.
    pub(super) fn read_ahead(&mut self) -> Result<()> {
        if !self.window.may_start_ahead() || self.bounds.has_exact_limit() && !self.is_past_hint {
            return Ok(());
        }
        let (extent, direction) = (self.extent()?, self.direction);
        let (reader, context, pauses) = (&self.reader, self.options.read_context(ReadClass::Data), self.options.pauses);
        self.window.start_ahead(direction, extent, |range| {
            let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let context =
                ReadContext { max_request_bytes: context.max_request_bytes.max(length), is_polled: pauses, ..context };
            let (file_system, file) = (&reader.file_system, reader.loader().file());
            file_system.start_read(file, range.start, length, &context)
        });
        Ok(())
    }

    /// Records how much of the last window was used, when the scan leaves it.
    pub(super) fn note_spent(&mut self) {
        let spent = self.window.spend(self.direction);
        if spent.read == 0 {
            return;
        }
        if spent.is_bounded {
            self.reader.read_history.note(spent.read, spent.unused, spent.is_first);
        }
        if spent.unused > 0 {
            self.reader.file_system.counters().window_discarded(spent.unused);
        }
    }

    fn extent(&self) -> Result<Extent> {
        let resident = self.reader.blocks.resident_index();
        let bounds = &self.bounds;
        match self.direction {
            Direction::Forward => {
                self.index.forward_extent(&resident, bounds.upper_key(), self.reader.description.data_end())
            }
            Direction::Backward => self.index.backward_extent(&resident, bounds.lower_key()),
        }
    }

    /// Blocks that a limit hint asks for, from the one that the iterator is placed in.
    pub(super) fn limit_hint_blocks(&self) -> Option<u64> {
        let rows = self.bounds.limit_hint().checked_sub(1)?;
        Some(self.reader.description.blocks_of_rows(rows) + 1)
    }

    /// Where the blocks end, in the direction of the scan, that the limit hint asks for: those of the other rows, in
    /// whole blocks, and the one that the iterator is placed in. Blocks of the next index partition are read when the
    /// scan arrives there. Behind it the first read is of one block: where a row backwards is the first one of its
    /// block, it takes the block before to know that the row has no newer version.
    fn limit_end(&mut self) -> Option<u64> {
        let hinted = self.limit_hint_blocks()?;
        let is_exact = self.bounds.has_exact_limit();
        let blocks = if is_exact {
            std::mem::replace(&mut self.guaranteed_blocks, 1)
        } else {
            // Blocks found in the cache since the placement count toward the rows.
            self.hinted_blocks.unwrap_or_else(|| hinted.saturating_sub(self.found_blocks).max(1))
        };
        let left = match blocks.checked_sub(1) {
            Some(left) => left,
            None if self.is_past_hint => return None,
            None => {
                self.is_past_hint = true;
                0
            }
        };
        let (end, left) = self.end_of_blocks(left)?;
        self.hinted_blocks = Some(left).filter(|_| !is_exact);
        Some(end)
    }

    /// Where `left` blocks behind the current one end, as far as one request and the partition go, and how many are
    /// left then.
    fn end_of_blocks(&self, mut left: u64) -> Option<(u64, u64)> {
        let (leaf, cursor) = self.index.leaf()?;
        let leaf = leaf.index().ok()?;
        let mut at = cursor.clone();
        let mut last = at.entry(leaf).handle;
        let mut reached = last.size;
        while left > 0 {
            match self.direction {
                Direction::Forward => at.next(leaf),
                Direction::Backward => at.prev(leaf),
            }
            if !at.valid() {
                break;
            }
            let next = at.entry(leaf).handle;
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

    /// Puts blocks that a limit hint read beyond its rows into the cache, because the scan that continues behind the
    /// limit is likely to be another iterator.
    pub(super) fn keep_unused(&self) {
        let loader = self.reader.loader();
        let wants = loader.cache().is_there() && self.options.fills_cache_with(BlockRole::Data);
        let Some((leaf, cursor)) = self.index.leaf().filter(|_| wants && self.hinted_blocks.is_some()) else { return };
        let Ok(leaf) = leaf.index() else { return };
        let mut at = cursor.clone();
        for _ in 0..MAX_KEPT_BLOCKS {
            match self.direction {
                Direction::Forward => at.next(leaf),
                Direction::Backward => at.prev(leaf),
            }
            if !at.valid() {
                return;
            }
            let handle = at.entry(leaf).handle;
            let Some(stored) = handle.end_with_trailer().and_then(|end| self.window.bytes(&(handle.offset..end)))
            else {
                return;
            };
            if loader.cache().peek(handle).is_some() {
                continue;
            }
            // The block was not requested: a corruption error is left to the read that requests it.
            let decoded =
                loader.decode_stored(Cow::Owned(stored), handle, BlockRole::Data, self.options.verify_checksums);
            if decoded.and_then(|block| loader.cache().keep(handle, BlockRole::Data, block, &self.options)).is_err() {
                return;
            }
        }
    }

    /// Removes cached blocks from a range: at its far end, and from the first long run of them on.
    fn without_cached(&self, block: &Range<u64>, range: Range<u64>) -> Result<Range<u64>> {
        let loader = self.reader.loader();
        if range == *block || !loader.cache().is_there() {
            return Ok(range);
        }
        let Some((leaf, cursor)) = self.index.leaf() else { return Ok(range) };
        let leaf = leaf.index()?;
        let goes_back = self.direction == Direction::Backward;
        let gap_bytes = if self.bounds.has_exact_limit() { 0 } else { self.options.io_gap_bytes as u64 };
        let mut at = cursor.clone();
        let mut missing = block.clone();
        loop {
            if goes_back {
                at.prev(leaf);
            } else {
                at.next(leaf);
            }
            if !at.valid() {
                // The blocks behind the partition are not known.
                return Ok(range);
            }
            let handle = at.entry(leaf).handle;
            let Some(end) = handle.end_with_trailer() else { return Ok(range) };
            let is_outside = if goes_back { end <= range.start } else { handle.offset >= range.end };
            let run =
                if goes_back { missing.start.saturating_sub(handle.offset) } else { end.saturating_sub(missing.end) };
            if is_outside || (run >= gap_bytes && loader.cache().peek(handle).is_some()) {
                break;
            }
            if loader.cache().peek(handle).is_none() {
                missing = missing.start.min(handle.offset)..missing.end.max(end);
            }
        }
        Ok(range.start.max(missing.start)..range.end.min(missing.end))
    }
}
