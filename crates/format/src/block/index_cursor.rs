//! A position in an index block.
//!
//! Targets are internal keys. Where the index holds user keys, only the user key of the target counts: one user key
//! then never spans two blocks.

use super::entry::bad_entry;
use super::entry_sums::changed_in_memory;
use super::index::{Form, IndexBlock, IndexEntry};
use super::index_search::{RestartHeads, restart_key};
use super::index_walker::IndexWalker;
use super::row_bounds::RowBound;
use crate::handle::BlockHandle;
use ferrock_base::internal_key::{trailer, user_key};
use ferrock_base::{Error, InternalComparator, Result};
use std::cmp::Ordering;

/// A position in an [`IndexBlock`]; every call must be given the block of the last seek.
#[derive(Clone, Debug, Default)]
pub struct IndexCursor {
    valid: bool,
    /// Ordinal of the entry in a flat index, restart of its interval otherwise.
    position: usize,
    walker: IndexWalker,
    error: Option<Error>,
}

impl IndexCursor {
    /// A cursor without a position.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True on an entry.
    #[inline]
    #[must_use]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// The corruption that ended the iteration.
    ///
    /// # Errors
    /// `Corruption` with the offset of the entry that is malformed. It stays until the next seek.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Makes the cursor invalid.
    pub fn reset(&mut self) {
        self.valid = false;
        self.error = None;
    }

    /// The entry; the null handle when not [`valid`](Self::valid).
    #[inline]
    #[must_use]
    pub fn entry<'a>(&self, block: &'a IndexBlock) -> IndexEntry<'a> {
        if self.valid {
            match &block.form {
                Form::Flat(flat) | Form::Interpolated(flat) => {
                    if let Some(entry) = flat.entry(self.position) {
                        return IndexEntry { handle: entry.handle, first_key: entry.first_key };
                    }
                }
                Form::Restarts { bytes, .. } => {
                    let first_key = block.format.has_first_key.then(|| self.walker.first_key(bytes));
                    return IndexEntry { handle: self.walker.handle, first_key };
                }
            }
        }
        IndexEntry { handle: BlockHandle::NULL, first_key: None }
    }

    /// The row bounds of the entry's data block; `None` without them.
    #[must_use]
    pub fn row_bound(&self, block: &IndexBlock) -> Option<RowBound> {
        let bounds = block.row_bounds().filter(|_| self.valid)?;
        let ordinal = match &block.form {
            Form::Flat(_) | Form::Interpolated(_) => self.position,
            Form::Restarts { bytes, .. } => {
                let mut ordinal = block.restart_ordinal(self.position)?;
                let mut walker = IndexWalker::default();
                walker.go_to(block.layout.restart(bytes, self.position));
                while walker.next_at < self.walker.at && walker.step(bytes, &block.layout, block.format).ok()? {
                    ordinal += 1;
                }
                ordinal
            }
        };
        bounds.bound(ordinal)
    }

    /// Replaces `out` with the stored key: a user key or an internal key, as the block's format says.
    pub fn key_into(&self, block: &IndexBlock, out: &mut Vec<u8>) {
        out.clear();
        if !self.valid {
            return;
        }
        match &block.form {
            Form::Flat(flat) | Form::Interpolated(flat) => flat.key_into(self.position, out),
            Form::Restarts { .. } => out.extend_from_slice(self.walker.key.as_slice()),
        }
    }

    /// Goes to the first entry.
    pub fn seek_to_first(&mut self, block: &IndexBlock) {
        self.reset();
        self.position = 0;
        match &block.form {
            Form::Flat(flat) | Form::Interpolated(flat) => self.settle(block, flat.len()),
            Form::Restarts { bytes, .. } if self.enter(block, 0) => {
                self.walker.go_to(0);
                self.step(block, bytes);
            }
            Form::Restarts { .. } => {}
        }
    }

    /// Goes to the last entry.
    pub fn seek_to_last(&mut self, block: &IndexBlock) {
        self.reset();
        match &block.form {
            Form::Flat(flat) | Form::Interpolated(flat) => {
                self.position = flat.len().saturating_sub(1);
                self.settle(block, flat.len());
            }
            Form::Restarts { bytes, .. } => {
                let restart = block.layout.restart_count.saturating_sub(1);
                self.go_to_last_before(block, bytes, restart, block.layout.entries_end);
            }
        }
    }

    /// Goes to the first entry at or after the internal key `target`.
    #[inline]
    pub fn seek(&mut self, block: &IndexBlock, comparator: &InternalComparator, target: &[u8]) {
        self.reset();
        match &block.form {
            Form::Flat(flat) => {
                self.position = flat.lower_bound(user_key(target), trailer(target));
                self.valid = self.position < flat.len();
            }
            Form::Interpolated(flat) => {
                self.position = flat.lower_bound_by_interpolation(user_key(target), trailer(target));
                self.valid = self.position < flat.len();
            }
            Form::Restarts { bytes, heads } => self.seek_restarts(block, bytes, heads.as_ref(), comparator, target),
        }
        if block.is_protected() {
            self.check_flat_place(block, comparator, target);
        }
    }

    /// [`check_place`](Self::check_place) for a flat index; that of the others is part of the search.
    #[cold]
    #[inline(never)]
    fn check_flat_place(&mut self, block: &IndexBlock, comparator: &InternalComparator, target: &[u8]) {
        let (Form::Flat(flat) | Form::Interpolated(flat)) = &block.form else { return };
        self.check_place(block, comparator, target, self.position, |position| {
            let mut key = Vec::new();
            flat.key_into(position, &mut key);
            (position < flat.len()).then_some(key)
        });
    }

    /// Makes the cursor valid if there is an entry of a flat index at its position, as it was loaded.
    #[inline(always)]
    fn settle(&mut self, block: &IndexBlock, entries: usize) {
        self.valid = self.position < entries && self.enter(block, self.position);
    }

    /// False, with the error, when the entry of a flat index, or the restart interval, is not as it was loaded.
    #[inline(always)]
    fn enter(&mut self, block: &IndexBlock, piece: usize) -> bool {
        let holds = block.piece_holds(piece);
        if !holds {
            self.refuse();
        }
        holds
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self) {
        self.fail(changed_in_memory());
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.valid = false;
        self.error = Some(error);
    }

    /// Compares the checksums of the two pieces between which a search of a protected block ended, the second of which
    /// is `place`, and their keys with the target: the place is then right, whatever the search read on its way.
    #[inline(never)]
    fn check_place(
        &mut self,
        block: &IndexBlock,
        comparator: &InternalComparator,
        target: &[u8],
        place: usize,
        key: impl Fn(usize) -> Option<Vec<u8>>,
    ) {
        let is_right = |piece: usize, wanted: fn(Ordering) -> bool| {
            let Some(key) = key(piece) else { return true };
            block.piece_holds(piece) && wanted(compare(block, comparator, &key, target))
        };
        if place.checked_sub(1).is_some_and(|before| !is_right(before, Ordering::is_lt))
            || !is_right(place, Ordering::is_ge)
        {
            self.refuse();
        }
    }

    /// Goes one entry forward.
    pub fn next(&mut self, block: &IndexBlock) {
        if !self.valid {
            return;
        }
        match &block.form {
            Form::Flat(flat) | Form::Interpolated(flat) => {
                self.position += 1;
                self.settle(block, flat.len());
            }
            Form::Restarts { bytes, .. } => self.step(block, bytes),
        }
    }

    /// Goes one entry back.
    pub fn prev(&mut self, block: &IndexBlock) {
        if !self.valid {
            return;
        }
        match &block.form {
            Form::Flat(flat) | Form::Interpolated(flat) => match self.position.checked_sub(1) {
                Some(position) => {
                    self.position = position;
                    self.settle(block, flat.len());
                }
                None => self.valid = false,
            },
            Form::Restarts { bytes, .. } => {
                let stop = self.walker.at;
                let mut restart = self.position;
                while restart > 0 && block.layout.restart(bytes, restart) >= stop {
                    restart -= 1;
                }
                self.go_to_last_before(block, bytes, restart, stop);
            }
        }
    }

    /// Goes to the last entry of the interval at `restart` that begins before `stop`.
    fn go_to_last_before(&mut self, block: &IndexBlock, bytes: &[u8], restart: usize, stop: usize) {
        self.valid = false;
        self.position = restart;
        if !self.enter(block, restart) {
            return;
        }
        self.walker.go_to(block.layout.restart(bytes, restart));
        while self.walker.next_at < stop {
            self.step(block, bytes);
            if !self.valid {
                return;
            }
        }
    }

    fn step(&mut self, block: &IndexBlock, bytes: &[u8]) {
        match self.walker.step(bytes, &block.layout, block.format) {
            Ok(found) => {
                self.valid = found;
                while found && self.walker.at >= block.layout.restart(bytes, self.position + 1) {
                    self.position += 1;
                    if !self.enter(block, self.position) {
                        return;
                    }
                }
            }
            Err(error) => self.fail(error),
        }
    }

    fn seek_restarts(
        &mut self,
        block: &IndexBlock,
        bytes: &[u8],
        heads: Option<&RestartHeads>,
        comparator: &InternalComparator,
        target: &[u8],
    ) {
        // A table of range tombstones alone has an index with one restart and no entry at it.
        if block.is_empty() {
            return;
        }
        let candidates = match heads {
            Some(heads) => heads.candidates(user_key(target)),
            None => 0..block.layout.restart_count,
        };
        let (mut low, mut high) = (candidates.start, candidates.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(key) = restart_key(bytes, &block.layout, block.format, middle) else {
                let at = block.layout.restart(bytes, middle);
                self.error = Some(bad_entry("malformed entry at a restart", at));
                return;
            };
            if compare(block, comparator, key, target).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if block.is_protected() {
            self.check_place(block, comparator, target, low, |restart| {
                let has = restart < block.layout.restart_count;
                has.then(|| restart_key(bytes, &block.layout, block.format, restart).unwrap_or_default().to_vec())
            });
            if self.error.is_some() {
                return;
            }
        }
        self.position = low.saturating_sub(1);
        self.walker.go_to(block.layout.restart(bytes, self.position));
        self.step(block, bytes);
        while self.valid && compare(block, comparator, self.walker.key.as_slice(), target).is_lt() {
            self.step(block, bytes);
        }
    }
}

fn compare(block: &IndexBlock, comparator: &InternalComparator, key: &[u8], target: &[u8]) -> Ordering {
    if block.format.key_is_user_key {
        comparator.user().compare(key, user_key(target))
    } else {
        comparator.compare(key, target)
    }
}
