//! A level of files that do not overlap, as one sorted run.
//!
//! ```text
//! files      [a ---- f][f' -- k]      [p ---- t]
//! opened               ^^^^^^^^ one at a time, when an entry of it is needed
//! ```
//!
//! Range tombstones come with the files. Those of every file passed since the last seek are kept, because the merged
//! position may still lie inside a file that this level has already left: its tombstones still hide entries of deeper
//! levels. So a file is never skipped without being opened, even when it holds nothing but tombstones, unless it lies
//! outside the bounds.

use super::range_tombstones::RangeTombstoneSource;
use super::source::TombstoneIterator;
use crate::read::sampling;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Error, ErrorKind, OwnedSeekTarget, Result, SeekTarget};
use ferrock_table::{NextBlock, PlannedRead, RowReach, RowsAhead, ScanBounds, ScanEstimate, ScanMachine, ScanRead};
use ferrock_vfs::{PendingRead, ReadBuffer};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// An opened file of a level.
#[derive(Debug)]
pub struct OpenedTable<I> {
    /// Its entries.
    pub iter: I,
    /// Its range tombstones, not truncated.
    pub tombstones: Option<Arc<FragmentedRangeTombstones>>,
}

/// The files of one level in key order and the means to open them. Boundaries are internal keys from the MANIFEST.
pub trait LevelSource {
    /// Iterator over one table.
    type Iter: ScanMachine;
    /// Number of files.
    fn file_count(&self) -> usize;
    /// Smallest key of the file at `index`.
    fn smallest(&self, index: usize) -> &[u8];
    /// Largest key of the file at `index`.
    fn largest(&self, index: usize) -> &[u8];
    /// Opens the file at `index`. Called only when the iterator needs an entry or tombstone of it.
    ///
    /// # Errors
    /// Those of opening the table. The iterator then becomes invalid and reports the error as its status.
    fn open(&self, index: usize) -> Result<OpenedTable<Self::Iter>>;
    /// The same, with an iterator over another file that is not needed any more.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    fn reopen(&self, index: usize, former: Self::Iter) -> Result<OpenedTable<Self::Iter>> {
        drop(former);
        self.open(index)
    }
    /// Files that overlap the bounds; other files are ignored.
    fn run(&self) -> Range<usize> {
        0..self.file_count()
    }
    /// True when the file at `index`, which is open, stays open whether an iterator has it or not.
    fn stays_open(&self, index: usize) -> bool {
        let _ = index;
        true
    }
    /// Switches pausing on or off. While it is on, tables that are not open are not opened (`TryAgain`), and iterators
    /// over the others pause.
    fn set_pausing(&mut self, pauses: bool) {
        let _ = pauses;
    }
    /// Changes the bounds of tables that are opened from now on, and the run of files.
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        let _ = bounds;
    }
    /// Counts reads of the file at `index` that a compaction would end.
    fn add_collapsible_reads(&self, index: usize, reads: u64) {
        let _ = (index, reads);
    }
}

/// Iterates over one level.
#[derive(Debug)]
pub struct LevelIterator<S: LevelSource> {
    source: S,
    order: InternalComparator,
    bounds: Arc<ScanBounds>,
    file: Option<(usize, S::Iter)>,
    /// The previous file, kept while the next one is not open.
    left: Option<(usize, S::Iter)>,
    /// Of the files opened since the last seek, by file index.
    tombstones: Vec<(usize, RangeTombstoneSource)>,
    error: Option<Error>,
    paused: Option<Paused>,
    counts_reads: bool,
}

/// Where a level paused.
#[derive(Debug)]
enum Paused {
    /// Before the file of a target was opened.
    Before(OwnedSeekTarget),
    /// Behind the file, before the next one in the direction was opened.
    Behind { index: usize, goes_back: bool },
    /// In the file that it stands on.
    Within { goes_back: bool },
}

impl<S: LevelSource> LevelIterator<S> {
    /// Iterates over the files of `source`; files wholly outside of `bounds` are not opened.
    #[must_use]
    pub fn new(source: S, order: InternalComparator, bounds: Arc<ScanBounds>) -> Self {
        Self {
            source,
            order,
            bounds,
            file: None,
            left: None,
            tombstones: Vec::new(),
            error: None,
            paused: None,
            counts_reads: false,
        }
    }

    /// Has a sample of its placements and steps counted by the files that they end in.
    #[must_use]
    pub fn counting_reads(self, counts_reads: bool) -> Self {
        Self { counts_reads, ..self }
    }

    /// Counts a placement or a step that the sample takes.
    #[cold]
    fn count_read(&self, is_taken: fn() -> bool) {
        if let Some((index, iter)) = &self.file
            && iter.valid()
            && is_taken()
            && sampling::is_collapsible(iter.key())
        {
            self.source.add_collapsible_reads(*index, sampling::READS_PER_SAMPLE);
        }
    }

    /// The iterator of the file that the level stands on.
    #[must_use]
    pub fn current_file(&self) -> Option<&S::Iter> {
        self.file.as_ref().map(|(_, iter)| iter)
    }

    fn partition_point(&self, mut before: impl FnMut(usize) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = self.source.run();
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    fn is_beyond_upper(&self, index: usize) -> bool {
        let order = self.order.user();
        self.bounds.upper().is_some_and(|upper| order.compare(user_key(self.source.smallest(index)), upper).is_ge())
    }

    #[inline]
    fn is_below_lower(&self, index: usize) -> bool {
        let order = self.order.user();
        self.bounds.lower().is_some_and(|lower| order.compare(user_key(self.source.largest(index)), lower).is_lt())
    }

    /// True when entries of the file at `index` may be within the bounds, for a level that comes to it in a direction.
    #[inline]
    fn may_enter(&self, index: usize, is_backward: bool) -> bool {
        let run = self.source.run();
        if is_backward {
            index >= run.start && !self.is_below_lower(index)
        } else {
            index < run.end && !self.is_beyond_upper(index)
        }
    }

    /// The file that follows one in a direction, if its entries may be within the bounds.
    fn next_file(&self, index: usize, is_backward: bool) -> Option<usize> {
        let next = if is_backward { index.checked_sub(1)? } else { index + 1 };
        self.may_enter(next, is_backward).then_some(next)
    }

    /// Enters a file, or leaves the level; false when there is none, or after an error.
    #[inline]
    fn enter_or_leave(&mut self, index: Option<usize>) -> bool {
        if index.is_none() {
            self.file = None;
        }
        index.is_some_and(|index| self.enter(index))
    }

    /// Opens the file at `index` or stays in it; false after an error.
    fn enter(&mut self, index: usize) -> bool {
        if self.file.as_ref().is_some_and(|(open, _)| *open == index) {
            return true;
        }
        let (opened, previous) = match self.file.take().or_else(|| self.left.take()) {
            Some((last, iter)) if last.abs_diff(index) != 1 => (self.source.reopen(index, iter), None),
            neighbour => (self.source.open(index), neighbour),
        };
        match opened {
            Ok(mut opened) => {
                if let Some((_, iter)) = &previous {
                    opened.iter.continue_from(iter);
                }
                if let Some(fragments) = opened.tombstones.filter(|fragments| !fragments.is_empty()) {
                    self.keep_tombstones(index, fragments);
                }
                self.file = Some((index, opened.iter));
                true
            }
            Err(error) => {
                self.left = previous.filter(|_| error.kind() == ErrorKind::TryAgain);
                self.error = Some(error);
                false
            }
        }
    }

    fn keep_tombstones(&mut self, index: usize, fragments: Arc<FragmentedRangeTombstones>) {
        if let Err(at) = self.tombstones.binary_search_by_key(&index, |(file, _)| *file) {
            let (smallest, largest) = (self.source.smallest(index), self.source.largest(index));
            self.tombstones.insert(at, (index, RangeTombstoneSource::truncated(fragments, smallest, largest)));
        }
    }

    /// Begins a seek that ends in the file at `index` or behind it: drops the tombstones of other files.
    fn restart(&mut self, index: usize) {
        (self.error, self.paused) = (None, None);
        self.left = None;
        let open = self.file.as_ref().map(|(open, _)| *open);
        if !self.tombstones.is_empty() {
            self.tombstones.retain(|(file, _)| *file == index && open == Some(index));
        }
    }

    /// Goes on to the following files while the open one has no entry left.
    #[inline]
    fn skip_empty(&mut self, goes_back: bool, may_read: bool) {
        while let Some((index, iter)) = &self.file {
            if iter.valid() {
                return;
            }
            if let Err(error) = iter.status() {
                return self.stop(error, goes_back);
            }
            let index = *index;
            if !self.enter_behind(index, goes_back, may_read) {
                return;
            }
        }
    }

    /// Goes to the first entry of the file behind the one at `index`, or to the last entry of the one before; false
    /// when there is no file to go to.
    fn enter_behind(&mut self, index: usize, goes_back: bool, may_read: bool) -> bool {
        if !self.enter_or_leave(self.next_file(index, goes_back)) {
            self.pause_for_file(|| Paused::Behind { index, goes_back });
            return false;
        }
        if let Some((_, iter)) = &mut self.file {
            iter.place(if goes_back { SeekTarget::Last } else { SeekTarget::First }, may_read);
        }
        true
    }

    /// Stops where the iterator over the file did: permanently, or until it is resumed.
    #[cold]
    fn stop(&mut self, error: Error, goes_back: bool) {
        if error.kind() == ErrorKind::TryAgain {
            self.paused = Some(Paused::Within { goes_back });
        } else {
            self.file = None;
        }
        self.error = Some(error);
    }

    /// Pauses, if a file could not be entered because it is not open.
    #[cold]
    fn pause_for_file(&mut self, at: impl FnOnce() -> Paused) {
        if self.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::TryAgain) {
            self.paused = Some(at());
        }
    }

    fn tombstones_over(&self, key: &[u8]) -> Option<&RangeTombstoneSource> {
        let behind = self.tombstones.partition_point(|(_, source)| {
            source.smallest().is_none_or(|smallest| self.order.compare(smallest, key).is_le())
        });
        self.tombstones.get(behind.checked_sub(1)?).map(|(_, source)| source)
    }
}

impl<S: LevelSource> InternalIterator for LevelIterator<S> {
    #[inline]
    fn valid(&self) -> bool {
        self.file.as_ref().is_some_and(|(_, iter)| iter.valid())
    }
    #[inline]
    fn key(&self) -> &[u8] {
        self.file.as_ref().map_or(&[], |(_, iter)| iter.key())
    }
    #[inline]
    fn value(&self) -> &[u8] {
        self.file.as_ref().map_or(&[], |(_, iter)| iter.value())
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
        if let Some((_, iter)) = &mut self.file {
            iter.next();
            if !iter.valid() {
                self.skip_empty(false, true);
            }
            if self.counts_reads {
                self.count_read(sampling::takes_step);
            }
        }
    }
    #[inline]
    fn step_within_block(&mut self) -> &[u8] {
        match &mut self.file {
            Some((_, iter)) if !self.counts_reads => iter.step_within_block(),
            _ => &[],
        }
    }
    #[inline]
    fn prev(&mut self) {
        if let Some((_, iter)) = &mut self.file {
            iter.prev();
            if !iter.valid() {
                self.skip_empty(true, true);
            }
            if self.counts_reads {
                self.count_read(sampling::takes_step);
            }
        }
    }
    fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.file.as_ref().map_or(Ok(()), |(_, iter)| iter.status()),
        }
    }
}

impl<S: LevelSource> LevelIterator<S> {
    /// The file in which a target is searched.
    fn file_of(&self, place: SeekTarget<'_>) -> Option<usize> {
        let behind = match place {
            SeekTarget::First => return Some(self.partition_point(|index| self.is_below_lower(index))),
            SeekTarget::AtOrAfter(target) => {
                let before = |index| self.order.compare(self.source.largest(index), target).is_lt();
                return Some(self.partition_point(before));
            }
            SeekTarget::Last => self.partition_point(|index| !self.is_beyond_upper(index)),
            SeekTarget::AtOrBefore(target) => {
                self.partition_point(|index| self.order.compare(self.source.smallest(index), target).is_le())
            }
        };
        behind.checked_sub(1)
    }

    #[inline]
    fn enter_for(&mut self, place: SeekTarget<'_>) -> bool {
        let index = self.file_of(place);
        self.restart(index.unwrap_or(usize::MAX));
        self.enter_or_leave(index.filter(|&index| self.may_enter(index, place.is_backward())))
    }
}

impl<S: LevelSource> ScanMachine for LevelIterator<S> {
    // Inlined into its only caller it is too large to have its own parts inlined: 30 instructions of a seek more.
    #[inline(never)]
    fn place(&mut self, target: SeekTarget<'_>, may_read: bool) {
        if !self.enter_for(target) {
            return self.pause_for_file(|| Paused::Before(OwnedSeekTarget::new(target)));
        }
        if let Some((_, iter)) = &mut self.file {
            iter.place(target, may_read);
        }
        self.skip_empty(target.is_backward(), may_read);
        if self.counts_reads {
            self.count_read(sampling::takes_lookup);
        }
    }
    #[inline]
    fn is_paused(&self) -> bool {
        self.paused.is_some()
    }
    fn resume(&mut self, may_read: bool) {
        let Some(paused) = self.paused.take() else { return };
        self.error = None;
        match paused {
            Paused::Before(target) => self.place(target.place(), may_read),
            Paused::Behind { index, goes_back } => {
                if self.enter_behind(index, goes_back, may_read) {
                    self.skip_empty(goes_back, may_read);
                }
            }
            Paused::Within { goes_back } => {
                if let Some((_, iter)) = &mut self.file {
                    iter.resume(may_read);
                }
                self.skip_empty(goes_back, may_read);
                if self.counts_reads {
                    self.count_read(sampling::takes_lookup);
                }
            }
        }
    }
    fn estimate(&self, place: SeekTarget<'_>, planned: Option<&ScanRead>) -> ScanEstimate {
        let Some((index, iter)) = &self.file else { return ScanEstimate::default() };
        let mut estimate = iter.estimate(place, planned);
        // The bound from the table and that from the MANIFEST: the tighter of the two.
        let (own, farther) = if place.is_backward() {
            (user_key(self.source.largest(*index)), Ordering::Less)
        } else {
            (user_key(self.source.smallest(*index)), Ordering::Greater)
        };
        let known = estimate.bound.take().filter(|known| self.order.user().compare(known, own) == farther);
        estimate.bound = known.or_else(|| Some(own.to_vec()));
        estimate
    }
    fn supply(&mut self, read: &PlannedRead, bytes: Result<ReadBuffer>) {
        if let Some((_, iter)) = &mut self.file {
            iter.supply(read, bytes);
        }
    }
    fn set_pausing(&mut self, pauses: bool) {
        self.source.set_pausing(pauses);
        if let Some((_, iter)) = &mut self.file {
            iter.set_pausing(pauses);
        }
    }
    fn pending_read(&self) -> Option<ScanRead> {
        match (&self.paused, &self.file) {
            (Some(Paused::Within { .. }), Some((_, iter))) => iter.pending_read(),
            _ => None,
        }
    }
    fn take_started(&mut self) -> Option<PendingRead> {
        self.file.as_mut()?.1.take_started()
    }
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        self.bounds = Arc::clone(bounds);
        self.source.set_bounds(bounds);
        if let Some((_, iter)) = &mut self.file {
            iter.set_bounds(bounds);
        }
    }
    fn rest(&mut self) {
        (self.left, self.error, self.paused) = (None, None, None);
        match &mut self.file {
            Some((index, iter)) if self.source.stays_open(*index) => {
                iter.rest();
                let open = *index;
                self.tombstones.retain(|(file, _)| *file == open);
            }
            _ => {
                self.file = None;
                self.tombstones.clear();
            }
        }
    }
    fn next_block(&mut self, is_backward: bool) -> NextBlock {
        let Some((index, iter)) = &mut self.file else { return NextBlock::InMemory };
        let next = iter.next_block(is_backward);
        if next != NextBlock::Outside {
            return next;
        }
        let index = *index;
        match self.next_file(index, is_backward) {
            // The files of a level may share a user key.
            Some(next) => {
                let begin = if is_backward { self.source.largest(next) } else { self.source.smallest(next) };
                NextBlock::Unread { key: user_key(begin).to_vec(), is_behind: false }
            }
            None => NextBlock::Outside,
        }
    }
    fn rows_ahead(&self, reach: &RowReach<'_>) -> RowsAhead {
        let Some((index, iter)) = &self.file else {
            return if self.error.is_some() { RowsAhead::Unknown } else { RowsAhead::AtMostInAll(0) };
        };
        let order = self.order.user();
        let begins_behind = |file: usize| {
            let begin = if reach.is_backward { self.source.largest(file) } else { self.source.smallest(file) };
            reach.is_before(order, user_key(begin))
        };
        if begins_behind(*index) {
            return RowsAhead::AtMost(0);
        }
        let RowsAhead::AtMostInAll(rows) = iter.rows_ahead(reach) else { return iter.rows_ahead(reach) };
        match self.next_file(*index, reach.is_backward) {
            None => RowsAhead::AtMostInAll(rows),
            Some(next) if begins_behind(next) => RowsAhead::AtMost(rows),
            Some(_) => RowsAhead::Unknown,
        }
    }
    fn guaranteed_blocks(&self, missing: u64, is_needed: bool, others: &mut dyn FnMut(&[u8]) -> Option<u64>) -> u64 {
        let Some((_, iter)) = &self.file else { return u64::from(is_needed) };
        iter.guaranteed_blocks(missing, is_needed, others)
    }
    fn allow_blocks(&mut self, blocks: u64) {
        if let Some((_, iter)) = &mut self.file {
            iter.allow_blocks(blocks);
        }
    }
}

impl<S: LevelSource> TombstoneIterator for LevelIterator<S> {
    fn may_delete_in(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        self.tombstones.iter().any(|(_, source)| source.overlaps(from, to))
    }
    #[inline]
    fn has_range_tombstones(&self) -> bool {
        !self.tombstones.is_empty()
    }
    fn covering_sequence(&self, key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        self.tombstones_over(key)?.covering_sequence(&self.order, key, upper)
    }
    fn covered_until(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool {
        self.tombstones_over(key).is_some_and(|source| source.covered_until(&self.order, key, upper, target))
    }
    fn covered_from(&self, key: &[u8], upper: SequenceNumber, target: &mut Vec<u8>) -> bool {
        self.tombstones_over(key).is_some_and(|source| source.covered_from(&self.order, key, upper, target))
    }
}
