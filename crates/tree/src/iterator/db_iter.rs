//! The iterator that users see: live keys of one snapshot with their values.
//!
//! ```text
//! forward     the inner iterator stands ON the current entry             key and value are borrowed from it
//!             or, for a value in a blob file, ON it                      the key is borrowed, the value saved
//!             or, after a merge, BEHIND the merged versions              key and value are saved
//! backward    the inner iterator stands BEFORE every version of the key  key and value are saved
//!             (what comes before may be unread: `limit.rs`)
//! ```
//!
//! Going forward the newest visible version of a key comes first and decides; going back it comes last, so the
//! versions are folded on the way. Long runs of hidden versions are jumped with a seek, long deleted ranges with a
//! leap of the merging iterator.
//!
//! The iterator owns everything it needs: `owner` keeps memtables and tables alive and is dropped last.

mod backward;
mod deleted_runs;
mod pause_state;
mod pausing;
mod rest;

pub use self::deleted_runs::{Hidden, IterWork, ScanMemory};
use self::deleted_runs::{Passed, Walk};
use self::pause_state::{InMemoryOnly, Pausing, Search, Stop};
use super::limit::RowLimit;
use super::merging::MergingIterator;
use super::source::TombstoneIterator;
use crate::blob::{BlobValue, FetchBlob};
use crate::read::merge::{Fetched, MergeBase, full_merge, visible_value};
use crate::read::pinned::{Pin, PinValue, PinnedValue};
use crate::read::view::ReadView;
use ferrock_base::comparator::Comparator;
use ferrock_base::internal_key::{ParsedInternalKey, TRAILER_SIZE, append_internal_key, user_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::merge::MergeOperator;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_base::{Error, ErrorKind, Result, SeekTarget};
use ferrock_statistics::{PerfLaps, PerfMetric, PerfRecorder};
use ferrock_table::{LimitReads, ScanBounds};
use std::ops::Range;
use std::sync::Arc;

/// Deleted keys in a row after which the iterator checks whether the range can be skipped. A leap seeks several
/// children; below this it is cheaper to walk.
const COVERED_BEFORE_LEAP: u32 = 8;

/// Options of an iterator.
#[derive(Clone, Debug)]
pub struct DbIteratorOptions {
    /// Order of the user keys.
    pub comparator: Comparator,
    /// The versions that are seen.
    pub view: ReadView,
    /// First user key that is shown.
    pub lower_bound: Option<Vec<u8>>,
    /// First user key that is no longer shown.
    pub upper_bound: Option<Vec<u8>>,
    /// Combines merge operands.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Fetches values that are in blob files.
    pub blobs: Option<Arc<dyn FetchBlob>>,
    /// Extracts the prefix for [`prefix_same_as_start`](Self::prefix_same_as_start).
    pub prefix_extractor: Option<PrefixExtractor>,
    /// The iterator ends where the prefix of the key it was placed at ends.
    pub prefix_same_as_start: bool,
    /// Rows after which the reader expects to stop; 0: no expectation.
    pub limit_hint: u64,
    /// What a scan with that expectation minimises.
    pub limit_reads: LimitReads,
    /// Hidden versions of a key that are walked over before the iterator seeks past them.
    pub max_sequential_skip_in_iterations: u64,
    /// Hidden entries that one step may pass over before the iterator gives up with `Incomplete`; 0: no bound.
    pub max_skippable_internal_keys: u64,
    /// What is remembered for the scans after this one.
    pub memory: Option<ScanMemory>,
}

impl DbIteratorOptions {
    /// Everything that `view` sees.
    #[must_use]
    pub fn new(comparator: Comparator, view: ReadView) -> Self {
        Self {
            comparator,
            view,
            lower_bound: None,
            upper_bound: None,
            merge_operator: None,
            blobs: None,
            prefix_extractor: None,
            prefix_same_as_start: false,
            limit_hint: 0,
            limit_reads: LimitReads::default(),
            max_sequential_skip_in_iterations: 8,
            max_skippable_internal_keys: 0,
            memory: None,
        }
    }

    /// True when the children are told where a scan ends.
    fn limits_scans(&self) -> bool {
        self.lower_bound.is_some() || self.upper_bound.is_some() || self.limit_hint > 0
    }

    /// What the children are told of where a scan ends.
    #[must_use]
    pub fn scan_bounds(&self) -> ScanBounds {
        ScanBounds::new(self.lower_bound.clone(), self.upper_bound.clone())
            .with_limit_hint(self.limit_hint)
            .with_limit_reads(self.limit_reads)
    }
}

/// Where the current key and value are.
#[derive(Clone, Debug)]
enum Position {
    Invalid,
    /// Forward, in the inner iterator, whose value is the user's.
    Inner,
    /// Forward, in the inner iterator; the range is the user's part of the inner value.
    InnerPart(Range<usize>),
    /// Forward, in the inner iterator; the value was fetched.
    InnerFetched(BlobValue),
    /// Forward, saved; the inner iterator is at or before the key's remaining versions, or behind them.
    SavedForward,
    /// Backward, saved; the inner iterator is before the key.
    SavedBackward,
}

/// Iterates over user keys. `O` keeps alive what the children read from.
#[derive(Debug)]
pub struct DbIterator<I, O> {
    inner: MergingIterator<I>,
    options: DbIteratorOptions,
    position: Position,
    /// The current user key, or while moving the one before.
    saved_key: Vec<u8>,
    saved_value: Vec<u8>,
    /// Merge operands of the current key.
    operands: Vec<Vec<u8>>,
    /// The prefix that the iterator must not leave.
    prefix: Option<Vec<u8>>,
    /// The children are limited to a prefix beside the bounds.
    is_narrowed: bool,
    /// The children have bounds, or a limit hint.
    has_limited_children: bool,
    pausing: Pausing,
    target: Vec<u8>,
    passed: Passed,
    error: Option<Error>,
    /// Held only to keep memtables and tables alive.
    _owner: O,
}

impl<I: TombstoneIterator, O> DbIterator<I, O> {
    /// An iterator that is not positioned yet.
    #[must_use]
    pub fn new(inner: MergingIterator<I>, mut options: DbIteratorOptions, owner: O) -> Self {
        // A seek may land on an entry that is to be skipped, so a step has to be possible after each.
        options.max_sequential_skip_in_iterations = options.max_sequential_skip_in_iterations.max(1);
        let mut iterator = Self {
            inner,
            options,
            position: Position::Invalid,
            saved_key: Vec::new(),
            saved_value: Vec::new(),
            operands: Vec::new(),
            prefix: None,
            is_narrowed: false,
            has_limited_children: false,
            pausing: Pausing::default(),
            target: Vec::new(),
            passed: Passed::default(),
            error: None,
            _owner: owner,
        };
        iterator.has_limited_children = iterator.options.limits_scans();
        iterator.limit_inner();
        iterator
    }

    /// Sets the inner iterator's row limit, if the scan is to minimise bytes.
    fn limit_inner(&mut self) {
        let options = &self.options;
        let is_exact = options.limit_hint > 0 && options.limit_reads == LimitReads::FewestBytes;
        self.inner.set_limit(is_exact.then(|| RowLimit {
            rows: options.limit_hint,
            lower_bound: options.lower_bound.clone(),
            upper_bound: options.upper_bound.clone(),
        }));
    }

    /// Sets the number of rows that the reader expects to read from the next placement on.
    pub fn set_limit_hint(&mut self, rows: u64) {
        self.options.limit_hint = rows;
        self.limit_inner();
    }

    /// True when the iterator is on an entry.
    #[inline]
    pub fn valid(&self) -> bool {
        !matches!(self.position, Position::Invalid)
    }

    /// The user key; empty when not valid.
    #[inline]
    pub fn key(&self) -> &[u8] {
        if self.valid() { &self.saved_key } else { &[] }
    }

    /// The value; empty when not valid.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match &self.position {
            Position::Inner => self.inner.value(),
            Position::InnerPart(range) => self.inner.value().get(range.clone()).unwrap_or_default(),
            Position::Invalid => &[],
            Position::InnerFetched(value) => value,
            Position::SavedForward | Position::SavedBackward => &self.saved_value,
        }
    }

    /// The value, to be kept after the iterator moved; not copied where it lies in a cached block.
    pub fn pin_value(&self) -> PinnedValue<I::Pin>
    where
        I: PinValue,
    {
        let pin = match self.position {
            Position::Inner | Position::InnerPart(_) => self.inner.current_child().and_then(PinValue::value_pin),
            Position::InnerFetched(PinnedValue::Pinned(ref pin, _)) => Pin::of_blob(pin),
            _ => None,
        };
        PinnedValue::new(self.value(), pin)
    }

    /// The error that ended the iteration, if one did.
    ///
    /// # Errors
    /// That of a child, or of a merge.
    pub fn status(&self) -> Result<()> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.inner.status(),
        }
    }

    /// Changes the bounds, and goes to the first key within them. Blocks that the iterator holds stay usable.
    pub fn fast_forward(&mut self, lower: Option<&[u8]>, upper: Option<&[u8]>, bounds: &Arc<ScanBounds>) {
        self.options.lower_bound = lower.map(<[u8]>::to_vec);
        self.options.upper_bound = upper.map(<[u8]>::to_vec);
        self.inner.set_bounds(bounds);
        (self.is_narrowed, self.has_limited_children) = (false, true);
        self.limit_inner();
        self.seek_to_first();
    }

    /// Goes to the first key.
    pub fn seek_to_first(&mut self) {
        if let Some(lower) = self.options.lower_bound.clone() {
            self.seek(&lower);
            return;
        }
        self.restart(None);
        let mut laps = PerfLaps::begin();
        self.inner.seek_to_first();
        laps.lap(PerfMetric::SeekInternalSeekTime);
        self.find_forward(false);
        self.adopt_prefix();
    }

    /// Goes to the last key.
    pub fn seek_to_last(&mut self) {
        self.restart(None);
        let mut laps = PerfLaps::begin();
        match self.options.upper_bound.take() {
            Some(upper) => {
                self.seek_inner_before(&upper);
                self.options.upper_bound = Some(upper);
            }
            None => self.inner.seek_to_last(),
        }
        laps.lap(PerfMetric::SeekInternalSeekTime);
        self.find_last();
        self.adopt_prefix();
    }

    /// Goes to the first key at or after `target`. The iterator is limited to the prefix of `target`, even if the lower
    /// bound is behind it.
    pub fn seek(&mut self, target: &[u8]) {
        let prefix = self.prefix_of(target);
        let order = &self.options.comparator;
        let clamped = self.options.lower_bound.as_deref().filter(|lower| order.compare(target, lower).is_lt());
        let target = clamped.unwrap_or(target);
        self.target.clear();
        append_internal_key(&mut self.target, target, self.options.view.newest(), ValueType::FOR_SEEK);
        if self.is_beyond_upper(target) {
            self.restart(prefix);
            return;
        }
        self.restart(prefix);
        let mut laps = PerfLaps::begin();
        self.inner.place(SeekTarget::AtOrAfter(&self.target));
        laps.lap(PerfMetric::SeekInternalSeekTime);
        if !self.take_plain_put::<false>() {
            self.find_forward(false);
        }
    }

    /// Goes to the last key at or before `target`.
    pub fn seek_for_prev(&mut self, target: &[u8]) {
        let prefix = self.prefix_of(target);
        self.restart(prefix);
        let mut laps = PerfLaps::begin();
        if self.is_beyond_upper(target)
            && let Some(upper) = self.options.upper_bound.take()
        {
            self.seek_inner_before(&upper);
            self.options.upper_bound = Some(upper);
        } else {
            self.target.clear();
            append_internal_key(&mut self.target, target, SequenceNumber(0), ValueType::FOR_SEEK_FOR_PREV);
            self.inner.seek_for_prev(&self.target);
        }
        laps.lap(PerfMetric::SeekInternalSeekTime);
        self.find_backward();
    }

    /// Goes to the next key.
    #[inline]
    pub fn next(&mut self) {
        self.inner.note_row();
        self.count_step();
        match self.position {
            Position::Invalid => {}
            Position::Inner => {
                if !self.step_to_plain_put() {
                    self.find_forward(true);
                }
            }
            Position::InnerPart(_) | Position::InnerFetched(_) => {
                self.inner.next();
                if !self.take_plain_put::<true>() {
                    self.find_forward(true);
                }
            }
            Position::SavedForward => self.find_forward(true),
            Position::SavedBackward => {
                self.seek_behind_saved_key();
                self.find_forward(true);
            }
        }
    }

    /// Goes to the previous key.
    pub fn prev(&mut self) {
        self.inner.note_row();
        match self.position {
            Position::Invalid => return,
            Position::Inner | Position::InnerPart(_) | Position::InnerFetched(_) | Position::SavedForward => {
                self.seek_before_saved_key();
            }
            Position::SavedBackward => {}
        }
        self.find_backward();
    }

    // --- bounds and prefixes -------------------------------------------------------------------------------------

    fn restart(&mut self, prefix: Option<Vec<u8>>) {
        self.position = Position::Invalid;
        self.error = None;
        self.pausing.clear();
        self.passed.end_steps(self.options.memory.as_ref());
        self.inner.restart_rows();
        if prefix.is_some() || self.is_narrowed {
            self.limit_children(prefix.as_deref());
        }
        self.prefix = prefix;
    }

    /// Limits what the children read to the bounds, and to a prefix. Only done here: children are also positioned in
    /// the middle of a scan, and such a target does not limit what the scan shows.
    fn limit_children(&mut self, prefix: Option<&[u8]>) {
        if self.is_narrowed && self.prefix.as_deref() == prefix {
            return;
        }
        let options = &self.options;
        let bounds = options.scan_bounds();
        let bounds = match (prefix, &options.prefix_extractor) {
            (Some(prefix), Some(extractor)) => bounds.within_prefix(extractor, &options.comparator, prefix),
            _ => bounds,
        };
        (self.is_narrowed, self.has_limited_children) = (prefix.is_some(), true);
        self.inner.set_bounds(&Arc::new(bounds));
    }

    fn prefix_of(&self, key: &[u8]) -> Option<Vec<u8>> {
        let extractor = self.options.prefix_extractor.as_ref().filter(|_| self.options.prefix_same_as_start)?;
        extractor.prefix(key).map(<[u8]>::to_vec)
    }

    /// The prefix of an iterator that was placed without a key is that of the key it found, or will find.
    fn adopt_prefix(&mut self) {
        if self.valid() {
            self.prefix = self.prefix_of(self.key());
        } else {
            self.pausing.adopt_prefix_later();
        }
    }

    #[inline]
    fn leaves_prefix(&self, key: &[u8]) -> bool {
        match (&self.prefix, &self.options.prefix_extractor) {
            (Some(prefix), Some(extractor)) => extractor.prefix(key) != Some(&prefix[..]),
            _ => false,
        }
    }

    #[inline]
    fn is_beyond_upper(&self, key: &[u8]) -> bool {
        let order = &self.options.comparator;
        self.options.upper_bound.as_ref().is_some_and(|upper| order.compare(key, upper).is_ge())
    }

    fn is_below_lower(&self, key: &[u8]) -> bool {
        let order = &self.options.comparator;
        self.options.lower_bound.as_ref().is_some_and(|lower| order.compare(key, lower).is_lt())
    }

    // --- moving the inner iterator -------------------------------------------------------------------------------

    #[inline]
    fn save_inner_key(&mut self) {
        self.saved_key.clear();
        self.saved_key.extend_from_slice(user_key(self.inner.key()));
    }

    #[inline]
    fn is_saved_key(&self, key: &[u8]) -> bool {
        self.options.comparator.equal(key, &self.saved_key)
    }

    /// To the last entry whose user key is smaller than `key`.
    fn seek_inner_before(&mut self, key: &[u8]) {
        self.target.clear();
        append_internal_key(&mut self.target, key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        self.inner.seek_for_prev(&self.target);
    }

    fn seek_before_saved_key(&mut self) {
        let key = std::mem::take(&mut self.saved_key);
        self.seek_inner_before(&key);
        self.saved_key = key;
    }

    /// To the oldest possible version of the saved key.
    fn seek_behind_saved_key(&mut self) {
        self.target.clear();
        append_internal_key(&mut self.target, &self.saved_key, SequenceNumber(0), ValueType::Deletion);
        self.inner.seek(&self.target);
    }

    /// To the newest version of the saved key that is visible.
    fn seek_saved_key(&mut self) {
        self.target.clear();
        append_internal_key(&mut self.target, &self.saved_key, self.options.view.newest(), ValueType::FOR_SEEK);
        self.inner.seek(&self.target);
    }

    /// True when one step passed over more hidden entries than it may; then the iterator has failed.
    #[inline]
    fn gives_up_after(&mut self, hidden: u64) -> bool {
        let bound = self.options.max_skippable_internal_keys;
        if bound == 0 || hidden <= bound {
            return false;
        }
        let what = format!("more than {bound} hidden entries in one step (max_skippable_internal_keys)");
        self.fail(Error::new(ErrorKind::Incomplete, what));
        true
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.position = Position::Invalid;
        self.error = Some(error);
    }

    /// True when a range tombstone that the view sees deletes the current entry.
    #[inline]
    fn is_covered(&self, sequence: SequenceNumber) -> bool {
        self.inner.covering_sequence(self.options.view.newest()).is_some_and(|tombstone| tombstone > sequence)
    }

    // --- forward -------------------------------------------------------------------------------------------------

    /// Goes to the next entry, and shows it if it is a plain put of another key. False: unknown.
    #[inline]
    fn step_to_plain_put(&mut self) -> bool {
        if self.has_general_steps() {
            self.inner.next();
            return false;
        }
        let (is_winner, key) = self.inner.step_within_block();
        if is_winner && take_if_plain::<true>(key, &mut self.saved_key, &self.options) {
            return true;
        }
        if key.is_empty() {
            self.inner.next();
        } else if is_winner {
            return false;
        } else {
            self.inner.settle_step();
        }
        self.take_plain_put::<true>()
    }

    /// Shows the entry under the inner iterator if it is a plain put; with `STEPS`, of another key than the saved one.
    /// False: unknown.
    ///
    /// One call down for the key and one copy; `key` and the next step then need nothing from below.
    #[inline]
    fn take_plain_put<const STEPS: bool>(&mut self) -> bool {
        let is_taken =
            !self.has_general_steps() && take_if_plain::<STEPS>(self.inner.key(), &mut self.saved_key, &self.options);
        if is_taken {
            self.position = Position::Inner;
        }
        is_taken
    }

    /// True where more than the entry itself says whether it is shown.
    #[inline]
    fn has_general_steps(&self) -> bool {
        self.options.comparator.can_keys_with_different_bytes_be_equal()
            || self.inner.has_range_tombstones()
            || self.prefix.is_some()
    }

    /// Finds the next live key from the inner position on. With `skipping`, entries of the saved key are hidden.
    #[inline]
    fn find_forward(&mut self, skipping: bool) {
        self.find_forward_from(Search { skipping, ..Search::default() });
    }

    fn find_forward_from(&mut self, search: Search) {
        let mut laps = PerfLaps::begin();
        let mut walk = Walk::default();
        let found = self.search_forward(search, &mut walk);
        self.end_walk(&mut walk);
        self.note_step();
        if let Some(value_type) = found {
            self.settle_forward(value_type);
        }
        laps.lap(PerfMetric::FindNextUserEntryTime);
    }

    /// The type of the newest visible version of the next live key, on which the inner iterator stands then.
    fn search_forward(&mut self, search: Search, walk: &mut Walk) -> Option<ValueType> {
        self.position = Position::Invalid;
        let Search { mut skipping, mut skipped, mut covered, mut hidden } = search;
        while self.inner.valid() {
            let parsed = match ParsedInternalKey::parse(self.inner.key()) {
                Ok(parsed) => parsed,
                Err(error) => {
                    self.fail(error);
                    return None;
                }
            };
            if self.is_beyond_upper(parsed.user_key) || self.leaves_prefix(parsed.user_key) {
                return None;
            }
            let (sequence, value_type) = (parsed.sequence, parsed.value_type);
            let same_key = (skipping || skipped > 0) && self.is_saved_key(parsed.user_key);
            if (skipping && same_key) || !self.options.view.sees(sequence) {
                let mut why = Hidden::Older;
                if !self.options.view.sees(sequence) {
                    self.end_walk(walk);
                    why = Hidden::Recent;
                }
                self.note_passed(walk, why);
                hidden += 1;
                if self.gives_up_after(hidden) {
                    return None;
                }
                skipped = if same_key { skipped + 1 } else { 1 };
                if !same_key {
                    self.save_inner_key();
                    skipping = false;
                }
                if skipped <= self.options.max_sequential_skip_in_iterations {
                    self.inner.next();
                } else if skipping {
                    skipped = 0;
                    self.passed.work.reseeks += 1;
                    self.seek_behind_saved_key();
                } else if sequence > self.options.view.newest() {
                    skipped = 0;
                    self.passed.work.reseeks += 1;
                    self.seek_saved_key();
                } else {
                    // The view hides a version behind the one that a seek finds.
                    self.inner.next();
                }
                continue;
            }
            let deleted_by_range = self.is_covered(sequence);
            if !deleted_by_range && !value_type.is_point_tombstone() {
                return Some(value_type);
            }
            covered = if deleted_by_range { covered + 1 } else { 0 };
            self.note_passed(walk, Hidden::Deleted);
            hidden += 1;
            if self.gives_up_after(hidden) {
                return None;
            }
            self.save_inner_key();
            (skipping, skipped) = (true, 0);
            if self.leap_over_run(walk) {
                covered = 0;
                continue;
            }
            if covered > COVERED_BEFORE_LEAP {
                covered = 0;
                if self.inner.skip_covered_forward(self.options.view.newest()) {
                    continue;
                }
            }
            self.inner.next();
        }
        self.pause_in_search(|| Search { skipping, skipped, covered, hidden });
        None
    }

    /// The inner iterator is on the newest visible version of a live key.
    #[inline]
    fn settle_forward(&mut self, value_type: ValueType) {
        self.save_inner_key();
        if value_type == ValueType::Value {
            self.position = Position::Inner;
            return;
        }
        if value_type == ValueType::Merge {
            self.operands.clear();
            return self.settle_merge();
        }
        match self.show_inner(value_type) {
            Ok(position) => self.position = position,
            Err(error) => self.stop(error, Stop::Value(value_type)),
        }
    }

    /// Continues merging the operands of the saved key from the inner position on.
    fn settle_merge(&mut self) {
        match self.merge_on() {
            Ok(()) => self.position = Position::SavedForward,
            Err(error) => self.stop(error, Stop::Merge),
        }
    }

    /// Shows the value under the inner iterator: where it lies, or fetched.
    fn show_inner(&mut self, value_type: ValueType) -> Result<Position> {
        let stored = self.inner.value();
        let (pauses, blobs) = (self.pausing.is_on(), self.options.blobs.as_deref());
        match visible_if_pausing(pauses, user_key(self.inner.key()), value_type, stored, blobs)? {
            Fetched::Stored([]) => Ok(Position::InnerPart(0..0)),
            Fetched::Stored(part) => {
                let start = part.as_ptr() as usize - stored.as_ptr() as usize;
                Ok(Position::InnerPart(start..start + part.len()))
            }
            Fetched::Blob(value) => Ok(Position::InnerFetched(value)),
        }
    }

    /// Merges the operands of the saved key from the inner position on into `saved_value`.
    fn merge_forward(&mut self) -> Result<()> {
        self.operands.clear();
        self.merge_on()
    }

    /// The same behind operands that were already collected.
    fn merge_on(&mut self) -> Result<()> {
        while self.inner.valid() {
            let parsed = ParsedInternalKey::parse(self.inner.key())?;
            if !self.is_saved_key(parsed.user_key) {
                break;
            }
            if self.options.view.hides(parsed.sequence) {
                self.inner.next();
                continue;
            }
            if parsed.value_type.is_point_tombstone() || self.is_covered(parsed.sequence) {
                break;
            }
            if parsed.value_type != ValueType::Merge {
                let (pauses, blobs) = (self.pausing.is_on(), self.options.blobs.as_deref());
                let (key, stored) = (&self.saved_key, self.inner.value());
                let existing = visible_if_pausing(pauses, key, parsed.value_type, stored, blobs)?;
                self.operands.reverse();
                let base = MergeBase::Value(&existing);
                return merge_operands(&self.options, key, base, &self.operands, &mut self.saved_value);
            }
            self.operands.push(self.inner.value().to_vec());
            self.inner.next();
        }
        self.inner.status()?;
        self.operands.reverse();
        merge_operands(&self.options, &self.saved_key, MergeBase::None, &self.operands, &mut self.saved_value)
    }
}

/// The usual entry: a put that the view sees, within the bounds, with `STEPS` of another key than the saved one. Saves
/// its user key. False: unknown.
#[inline(always)]
fn take_if_plain<const STEPS: bool>(key: &[u8], saved_key: &mut Vec<u8>, options: &DbIteratorOptions) -> bool {
    let Some((user_key, trailer)) = key.split_last_chunk::<TRAILER_SIZE>() else { return false };
    let trailer = u64::from_le_bytes(*trailer);
    let is_put = trailer as u8 == ValueType::Value as u8 && options.view.sees(SequenceNumber(trailer >> 8));
    // Keys that differ mostly do so in their last bytes.
    let has_same_length = user_key.len() == saved_key.len();
    let differs = !STEPS
        || !has_same_length
        || user_key.last_chunk::<8>() != saved_key.last_chunk::<8>()
        || user_key != &saved_key[..];
    let is_beyond = |upper: &Vec<u8>| options.comparator.compare(user_key, upper).is_ge();
    if !is_put || !differs || options.upper_bound.as_ref().is_some_and(is_beyond) {
        return false;
    }
    if has_same_length {
        saved_key.copy_from_slice(user_key);
    } else {
        saved_key.clear();
        saved_key.extend_from_slice(user_key);
    }
    true
}

/// [`visible_value`] of an iterator that pauses where it would read a value, or reads it.
fn visible_if_pausing<'v>(
    pauses: bool,
    key: &[u8],
    value_type: ValueType,
    stored: &'v [u8],
    blobs: Option<&dyn FetchBlob>,
) -> Result<Fetched<'v>> {
    match blobs {
        Some(blobs) if pauses => visible_value(key, value_type, stored, Some(&InMemoryOnly(blobs))),
        blobs => visible_value(key, value_type, stored, blobs),
    }
}

impl<I, O> Drop for DbIterator<I, O> {
    fn drop(&mut self) {
        self.passed.end_steps(self.options.memory.as_ref());
    }
}

fn merge_operands(
    options: &DbIteratorOptions,
    key: &[u8],
    base: MergeBase<'_>,
    operands: &[Vec<u8>],
    out: &mut Vec<u8>,
) -> Result<()> {
    if let Some(perf) = PerfRecorder::of_thread() {
        perf.add(PerfMetric::InternalMergeCount, operands.len() as u64);
    }
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    full_merge(options.merge_operator.as_deref(), key, base, &operands, out)
}

#[cfg(test)]
mod tests;
