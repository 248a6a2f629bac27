//! Decides what a scan reads next, from the extent, the window, a limit hint, and the content of the cache.
//!
//! ```text
//! block that is missing --> window (size_window) --> planned read         a scan that may not read: it pauses
//!                                                \-> read at once         any other
//! ```

use super::block_loader::{count_block, short_read, timed_read};
use super::extent::Extent;
use super::iter::BlockTableIter;
use super::planned_read::{PlannedRead, Purpose};
use super::read_options::ReadTier;
use super::read_plan::PlannedWindow;
use crate::blocks::{BlockRef, BlockRole, CachedBlock};
use ferrock_base::{ErrorKind, Result};
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::{ReadBuffer, ReadClass, ReadContext};
use std::borrow::Cow;
use std::ops::Range;

/// Blocks that a limit hint may bring beyond its rows: it does not know where in a block the first row lies.
const MAX_KEPT_BLOCKS: usize = 2;

impl BlockTableIter {
    /// Takes the result of a planned read. After an error the iterator makes the read itself, and fails if that fails;
    /// but not after a timeout.
    pub fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        self.note_supplied(read);
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => {
                // A readahead that timed out is made anew.
                let is_final = error.kind() == ErrorKind::TimedOut && !self.pausing.is_ahead();
                self.plan.set_out_of_time(Some(error).filter(|_| is_final));
                return;
            }
        };
        // One that was begun ahead was counted then, and a block of another kind is where it is decoded.
        if !self.pausing.is_ahead() && !matches!(read.purpose, Purpose::Block(_)) {
            self.table.loader().count_bytes(bytes.bytes().len(), self.options.activity);
        }
        match &read.purpose {
            Purpose::Data(direction) if !bytes.is_empty() && self.options.pauses => {
                self.window.take_piece(read.range.clone(), bytes, *direction);
                self.note_arrived();
            }
            Purpose::Data(direction) if !bytes.is_empty() => self.window.add(bytes, *direction),
            Purpose::Data(_) => {}
            // A block that is damaged, or does not fit into the cache, is read again when it is needed.
            Purpose::Block(needed) => {
                let _ = self.table.blocks.finish_read(&self.options, *needed, Ok(bytes.bytes()));
            }
            Purpose::Index(run) => {
                let resident = self.table.blocks.resident_index();
                if let Some(partitions) = resident.index.partitions() {
                    self.near.take_run(&resident, &self.options, partitions, run, bytes.bytes());
                }
            }
        }
    }

    /// The data block, from the cache, the window or the file; `None` when its read was planned.
    pub(super) fn find_or_read(&mut self, handle: BlockHandle) -> Result<Option<BlockRef>> {
        if let Some(block) = self.table.loader().cache().find(handle, BlockRole::Data) {
            if self.bounds.limit_hint() > 0 && (!self.plan.is_planning() || self.options.pauses) {
                self.limit.note_found();
            }
            if let Some(input) = &self.stored {
                if block.is_mapped() {
                    input.keep(&block, 0, None);
                } else {
                    let context = self.options.read_context(ReadClass::Data);
                    input.keep_cached(&block, self.stored_file.clone().map(|file| (file, handle, context)));
                }
            }
            return Ok(Some(block));
        }
        if self.options.read_tier == ReadTier::BlockCacheOnly {
            return self.options.may_read().map(|()| None);
        }
        let watch = self.table.loader().watch_compaction(&self.options);
        let length = self.table.loader().stored_length(handle)?;
        let range = handle.offset..handle.offset + length as u64;
        let stored = match self.table.loader().bytes_in_memory(handle.offset, length) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                if self.window.covers(&range) {
                    self.take_planned_window(&range);
                    self.resume_reading_ahead()?;
                } else if !timed_read(|| self.read_window(&range))? {
                    return Ok(None);
                }
                let bytes = self.window.bytes(&range);
                Cow::Owned(bytes.ok_or_else(|| short_read(handle.offset, length, 0))?)
            }
        };
        let (loader, verify) = (self.table.loader(), self.options.verify_checksums);
        count_block(handle, BlockRole::Data);
        let keep = |block| loader.cache().keep(handle, BlockRole::Data, block, &self.options);
        let Some(input) = &self.stored else {
            let block = loader.decode_stored(stored, handle, BlockRole::Data, verify)?;
            loader.count_compaction_block(watch);
            return keep(block).map(Some);
        };
        let decoded = loader.decoder().decode_data(stored, handle, verify);
        let (block, compression, payload) = decoded.map_err(|error| loader.in_file(error))?;
        loader.count_compaction_block(watch);
        let block = keep(CachedBlock::Data(block))?;
        input.keep(&block, compression, payload);
        Ok(Some(block))
    }

    /// Reads the window that begins with the block; false when the read was planned instead.
    fn read_window(&mut self, block: &Range<u64>) -> Result<bool> {
        let direction = self.direction;
        if self.options.pauses {
            if let Some(range) = self.pause_for_ahead(block) {
                self.plan.plan(PlannedRead::data(range, direction));
                return Ok(false);
            }
        } else if self.window.take_ahead(&**self.table.loader().file(), block, direction) {
            self.window.note_sequential();
            self.read_ahead()?;
            return Ok(true);
        }
        let wanted = match self.take_planned_window(block) {
            Some(wanted) => wanted,
            None => self.size_window(block)?,
        };
        if self.plan.is_planning() {
            if self.options.pauses {
                self.table.file_system.counters().window_waited();
            }
            let range = self.window.rest(&wanted, direction);
            let (block, hint) = (block.clone(), self.limit.hint());
            self.plan.plan_data(range, PlannedWindow { block, direction, wanted, hint });
            return Ok(false);
        }
        let (table, window) = (&self.table, &mut self.window);
        let context = self.options.read_context(ReadClass::Data);
        let mut fill = |wanted: &Range<u64>| {
            let read = || window.fill(&**table.loader().file(), wanted, direction, &context);
            table.loader().read_counted(context.activity, read)
        };
        table.file_system.counters().window_waited();
        let filled = fill(&wanted);
        let has_time = filled.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::TimedOut);
        if filled.is_err() && has_time && wanted != *block {
            // The failure may lie in a part of the window that the scan does not need.
            fill(block)?;
        } else {
            filled?;
        }
        self.read_ahead()?;
        Ok(true)
    }

    /// The window that was planned for the block, if that is the one that the iterator came to after it planned.
    fn take_planned_window(&mut self, block: &Range<u64>) -> Option<Range<u64>> {
        let planned = self.plan.take_window(block, self.direction)?;
        self.limit.set_hint(planned.hint);
        Some(planned.wanted)
    }

    fn size_window(&mut self, block: &Range<u64>) -> Result<Range<u64>> {
        self.note_spent();
        let extent = self.position().extent()?;
        let limit_end = self.limit_end();
        // Behind the hint windows grow from one block on: a scan that continues by a step or two does not need the
        // whole range.
        let is_exact = extent.is_exact && (!self.limit.is_passed() || limit_end.is_some());
        let usual_bytes = self.table.read_history.usual_bytes();
        let wanted = self.window.plan(block, self.direction, Extent { is_exact, ..extent }, usual_bytes, limit_end);
        Ok(self.position().without_cached(block, wanted))
    }

    /// Begins to read the window behind the one that the scan is in, where that pays.
    pub(super) fn read_ahead(&mut self) -> Result<()> {
        if !self.window.may_start_ahead() || self.bounds.has_exact_limit() && !self.limit.is_passed() {
            return Ok(());
        }
        let (extent, direction) = (self.position().extent()?, self.direction);
        let (reader, context, pauses) = (&self.table, self.options.read_context(ReadClass::Data), self.options.pauses);
        self.window.start_ahead(direction, extent, |range| {
            let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let context =
                ReadContext { max_request_bytes: context.max_request_bytes.max(length), is_polled: pauses, ..context };
            let (file_system, file) = (&reader.file_system, reader.loader().file());
            reader.loader().count_bytes(length, context.activity);
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
            self.table.read_history.note(spent.read, spent.unused, spent.is_first);
        }
        if spent.unused > 0 {
            self.table.file_system.counters().window_discarded(spent.unused);
        }
    }

    /// Where the blocks end, in the direction of the scan, that the limit hint asks for: those of the other rows, in
    /// whole blocks, and the one that the iterator is placed in. Blocks of the next index partition are read when the
    /// scan arrives there.
    fn limit_end(&mut self) -> Option<u64> {
        let hinted = self.position().limit_hint_blocks()?;
        let is_exact = self.bounds.has_exact_limit();
        let blocks = self.limit.take_blocks(hinted, is_exact)?;
        let (end, left) = self.position().end_of_blocks(blocks)?;
        self.limit.set_left(left, is_exact);
        Some(end)
    }

    /// Puts blocks that a limit hint read beyond its rows into the cache, because the scan that continues behind the
    /// limit is likely to be another iterator.
    pub(super) fn keep_unused(&self) {
        let loader = self.table.loader();
        let wants = loader.cache().is_there() && self.options.fills_cache_with(BlockRole::Data);
        if !wants || !self.limit.has_read() {
            return;
        }
        let Some(mut at) = self.position().blocks_ahead() else { return };
        for _ in 0..MAX_KEPT_BLOCKS {
            at.step();
            if !at.valid() {
                return;
            }
            let handle = at.handle();
            let Some(stored) = handle.end_with_trailer().and_then(|end| self.window.bytes(&(handle.offset..end)))
            else {
                return;
            };
            if loader.cache().peek(handle, BlockRole::Data).is_some() {
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

    /// Limits the next read to so many blocks, less those in memory; 0: the limit was passed.
    pub fn allow_blocks(&mut self, blocks: u64) {
        self.limit.allow(blocks);
        self.plan.drop_window();
    }
}
