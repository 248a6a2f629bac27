//! Iteration over a table: an index position and a cursor in the data block it points at.

use super::index_reader::{HeldIndexPosition, IndexContext, IndexPosition};
use super::readahead::Readahead;
use super::{TableReadOptions, TableReader};
use crate::blocks::{BlockPin, BlockRef, BlockRole, PinnedBlock};
use ferrock_base::internal_key::user_key;
use ferrock_base::{Error, InternalIterator, Result};
use ferrock_format::block::{DataBlock, DataBlockCursor};
use ferrock_format::handle::BlockHandle;
use std::sync::Arc;

/// Moves over the point entries of a table, in both directions. Range tombstones are not among them.
#[derive(Debug)]
pub struct TableIter {
    reader: Arc<TableReader>,
    options: TableReadOptions,
    index: HeldIndexPosition,
    /// The block under the cursor, with its handle: a seek within it loads nothing.
    block: Option<(BlockRef, BlockHandle)>,
    cursor: DataBlockCursor,
    readahead: Readahead,
    error: Option<Error>,
}

impl TableIter {
    pub(super) fn new(reader: Arc<TableReader>, options: TableReadOptions) -> Self {
        let table = &reader.options;
        let readahead = match options.readahead_bytes {
            0 => Readahead::automatic(
                table.initial_auto_readahead_size,
                table.max_auto_readahead_size,
                table.num_file_reads_for_auto_readahead,
            ),
            bytes => Readahead::fixed(bytes),
        };
        let cursor = DataBlockCursor::new(reader.global_sequence);
        Self { reader, options, index: HeldIndexPosition::default(), block: None, cursor, readahead, error: None }
    }

    /// The table.
    #[must_use]
    pub fn reader(&self) -> &Arc<TableReader> {
        &self.reader
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

    fn begin(&mut self) {
        self.error = None;
        self.cursor.reset();
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.error = Some(self.reader.loader.in_file(error));
        self.cursor.reset();
    }

    /// Moves the index; false at its end or after an error.
    fn move_index(
        &mut self,
        step: impl for<'a, 'o> FnOnce(&IndexContext<'a, 'o>, &mut IndexPosition<'a>) -> Result<()>,
    ) -> bool {
        let moved = self.index.step(&self.reader.index_context(&self.options), step);
        match moved {
            Ok(()) => self.index.valid(),
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Makes the index's block the current one; false after an error.
    fn load_block(&mut self) -> bool {
        let loaded = self.index.handle().and_then(|handle| {
            if self.block.as_ref().is_some_and(|(_, current)| *current == handle) {
                return Ok(());
            }
            let loader = &self.reader.loader;
            let block = loader.load(handle, BlockRole::Data, &self.options, Some(&mut self.readahead))?;
            block.data()?;
            self.block = Some((block, handle));
            Ok(())
        });
        match loaded {
            Ok(()) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    /// Takes over damage that the cursor found; true when there was any.
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
        while !self.cursor.valid() {
            if self.take_cursor_error() || !self.index.valid() {
                return;
            }
            if !self.move_index(|context, position| context.next(position)) || !self.load_block() {
                return;
            }
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_to_first(data);
            }
        }
    }

    #[inline(never)]
    fn skip_backward(&mut self) {
        while !self.cursor.valid() {
            if self.take_cursor_error() || !self.index.valid() {
                return;
            }
            if !self.move_index(|context, position| context.prev(position)) || !self.load_block() {
                return;
            }
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_to_last(data);
            }
        }
    }

    /// True when a filter says that no key shares the prefix of the target, and the caller wants no other keys.
    fn is_excluded_by_prefix(&mut self, target: &[u8]) -> bool {
        if self.options.total_order_seek || !self.options.prefix_same_as_start {
            return false;
        }
        match self.reader.prefix_may_match(&self.options, user_key(target)) {
            Ok(may_match) => !may_match,
            Err(error) => {
                self.fail(error);
                true
            }
        }
    }
}

impl InternalIterator for TableIter {
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
        self.begin();
        if self.move_index(|context, position| context.seek_to_first(position)) && self.load_block() {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_to_first(data);
            }
            self.skip_forward();
        }
    }

    fn seek_to_last(&mut self) {
        self.begin();
        if self.move_index(|context, position| context.seek_to_last(position)) && self.load_block() {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_to_last(data);
            }
            self.skip_backward();
        }
    }

    fn seek(&mut self, target: &[u8]) {
        self.begin();
        if self.is_excluded_by_prefix(target) {
            return;
        }
        if self.move_index(|context, position| context.seek(position, target)) && self.load_block() {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek(data, &self.reader.loader.comparator, target);
            }
            self.skip_forward();
        }
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.begin();
        if self.is_excluded_by_prefix(target) {
            return;
        }
        if !self.move_index(|context, position| context.seek(position, target)) {
            if self.error.is_none() {
                self.seek_to_last();
            }
            return;
        }
        if self.load_block() {
            if let Some((block, _)) = &self.block
                && let Ok(data) = block.data()
            {
                self.cursor.seek_for_prev(data, &self.reader.loader.comparator, target);
            }
            self.skip_backward();
        }
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

    fn prev(&mut self) {
        if !self.cursor.valid() {
            return;
        }
        if let Some((block, _)) = &self.block
            && let Ok(data) = block.data()
        {
            self.cursor.prev(data);
        }
        self.skip_backward();
    }

    fn status(&self) -> Result<()> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }
}
