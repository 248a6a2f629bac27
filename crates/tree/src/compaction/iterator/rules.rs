//! The rules, applied entry by entry.
//!
//! ```text
//! versions of a key, newest first          stripe
//!   k@9 put        newest                  tip      written
//!   k@8 put        same stripe as k@9      tip      hidden: dropped
//!   ---- snapshot 7 ----
//!   k@5 delete     newest of its stripe    7        written, unless nothing is below it
//!   k@3 put        same stripe as k@5      7        dropped
//! ```
//!
//! Invariants
//! - What a snapshot, or a reader of the newest state, reads of a key through the output and everything older equals
//!   what it reads through the input and everything older.
//! - Output keys ascend strictly.
//! - Range tombstones count within the entry's stripe only; they are written by [`super::output_split`].

use super::context::{CompactionIteratorOptions, DeeperLevels, DroppedEntries};
use super::current_key::CurrentKey;
use super::entity_filter;
use super::output::Output;
use super::stripes::is_below_stripe;
use super::tombstones::{CompactionRangeTombstones, TombstoneFates};
use crate::blob::BlobFlow;
use crate::read::merge::timed_put_value;
use ferrock_base::compaction_filter::FilterDecision;
use ferrock_base::internal_key::{ParsedInternalKey, make_internal_key, trailer, user_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use ferrock_base::{Error, Result};

/// Yields the entries to write, in order.
#[derive(Debug)]
pub struct CompactionIterator<I, D> {
    pub(super) input: I,
    pub(super) options: CompactionIteratorOptions,
    pub(super) tombstones: CompactionRangeTombstones,
    pub(super) deeper: D,
    pub(super) dropped: DroppedEntries,
    blobs_read: BlobFlow,
    error: Option<Error>,
    pub(super) output: Output,
    /// The input already stands on the entry to look at next.
    pub(super) at_next: bool,
    pub(super) current: CurrentKey,
}

impl<I: InternalIterator, D: DeeperLevels> CompactionIterator<I, D> {
    /// An iterator over `input` that is not positioned yet.
    pub fn new(input: I, tombstones: CompactionRangeTombstones, deeper: D, options: CompactionIteratorOptions) -> Self {
        Self {
            input,
            options,
            tombstones,
            deeper,
            dropped: DroppedEntries::default(),
            blobs_read: BlobFlow::default(),
            error: None,
            output: Output::default(),
            at_next: false,
            current: CurrentKey::default(),
        }
    }

    /// Goes to the first output. To be called once.
    pub fn seek_to_first(&mut self) {
        match &self.options.start {
            Some(start) => self.input.seek(&make_internal_key(start, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)),
            None => self.input.seek_to_first(),
        }
        self.find_output();
    }

    /// True when positioned on an entry to write.
    #[inline]
    pub fn valid(&self) -> bool {
        self.output.is_there()
    }

    /// The internal key to write.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.output.key()
    }

    /// The value to write.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.output.own_value() {
            Some(value) => value,
            None => self.input.value(),
        }
    }

    /// The error that ended the iteration, if one did: the output is then not complete and must be thrown away.
    ///
    /// # Errors
    /// Of the input, of a merge, of a broken contract, or because the input is out of order.
    pub fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// What was read and dropped so far.
    pub fn dropped(&self) -> &DroppedEntries {
        &self.dropped
    }

    /// The references into blob files among what was read so far.
    pub fn blobs_read(&self) -> &BlobFlow {
        &self.blobs_read
    }

    /// The range tombstones to write, and those that are of no use any more.
    pub fn tombstone_fates(&self) -> TombstoneFates {
        let part = (self.options.start.as_deref(), self.options.end.as_deref());
        self.tombstones.fates(&self.options.stripes, self.options.bottommost, &self.deeper, part)
    }

    /// Goes to the next output.
    pub fn next(&mut self) {
        if !self.valid() {
            return;
        }
        self.current.note_output();
        if self.output.pop() {
            return;
        }
        self.output.set_there(false);
        if !std::mem::take(&mut self.at_next) {
            self.advance();
        }
        self.find_output();
    }

    fn find_output(&mut self) {
        while self.input_valid() {
            match self.process() {
                Ok(false) => {}
                Ok(true) => {
                    self.output.set_there(true);
                    self.zero_sequence();
                    return;
                }
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
            }
        }
        if let Err(error) = self.input.status() {
            self.error = Some(error);
        }
    }

    #[inline]
    pub(super) fn input_valid(&self) -> bool {
        self.input.valid()
            && self
                .options
                .end
                .as_ref()
                .is_none_or(|end| self.options.comparator.user().compare(user_key(self.input.key()), end).is_lt())
    }

    /// Steps over an input entry.
    #[inline]
    pub(super) fn advance(&mut self) {
        let (key, value) = (self.input.key(), self.input.value());
        self.dropped.input_entries += 1;
        self.dropped.input_key_bytes += key.len() as u64;
        self.dropped.input_value_bytes += value.len() as u64;
        self.current.note_step(trailer(key));
        if let Some(value_type) = ValueType::from_u8(trailer(key) as u8) {
            self.dropped.input_deletions += u64::from(value_type.is_point_tombstone());
            // A malformed reference is reported when it is written; one in a dropped entry does no harm.
            self.blobs_read.add_entry(key, value_type, value).ok();
        }
        self.input.next();
    }

    pub(super) fn skip_input_until(&mut self, key: &[u8]) {
        self.dropped.skipped_by_filter = true;
        self.current.forget_place();
        self.input.seek(&make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK));
    }

    #[inline]
    pub(super) fn is_current_user_key(&self, key: &[u8]) -> bool {
        self.current.is(self.options.comparator.user(), key)
    }

    /// The input's entry, checked.
    #[inline]
    pub(super) fn parse_input(&self) -> Result<(SequenceNumber, ValueType)> {
        parse_entry(self.input.key())
    }

    /// Looks at the entry the input stands on. True: it, or what it became, is to be written.
    fn process(&mut self) -> Result<bool> {
        // Looked up once: the key is a few calls away.
        let key = self.input.key();
        let (sequence, mut value_type) = parse_entry(key)?;
        let is_new_key = self.current.begin_entry(self.options.comparator.user(), key)?;
        let (stripe, below) = self.options.stripes.stripe(sequence);
        let last_stripe = self.current.enter_stripe(stripe);
        self.output.take_input(key);
        if is_new_key {
            match self.filter_value(sequence, value_type)? {
                Some(filtered) => value_type = filtered,
                None => return Ok(false),
            }
        }
        if self.current.takes_cleared_value() {
            self.output.set(self.current.user_key(), sequence, ValueType::Value, &[]);
            return Ok(true);
        }
        match value_type {
            ValueType::SingleDeletion => self.single_delete(sequence, below),
            _ if last_stripe == Some(stripe) => {
                self.dropped.hidden += 1;
                self.advance();
                Ok(false)
            }
            ValueType::Deletion | ValueType::DeletionWithTimestamp => self.delete(sequence, stripe, below),
            ValueType::Merge => self.merge(stripe, below),
            ValueType::ValuePreferredSeqno => self.timed_put(sequence, stripe),
            _ => Ok(self.keep_unless_range_deleted(sequence, stripe)),
        }
    }

    /// What the compaction filter says of the input's entry.
    fn decide(&self, value_type: ValueType) -> Result<FilterDecision> {
        let Some((filter, context)) = &self.options.compaction_filter else { return Ok(FilterDecision::Keep) };
        let key = self.current.user_key();
        match value_type {
            ValueType::Value => Ok(filter.filter(context, key, ValueType::Value, self.input.value())),
            ValueType::BlobIndex => match (filter.filter_blob_by_key(context, key), &self.options.blobs) {
                (Some(decision), _) => Ok(decision),
                (None, Some(blobs)) => {
                    let value = blobs.fetch(key, self.input.value())?;
                    Ok(filter.filter(context, key, ValueType::Value, &value))
                }
                (None, None) => Ok(FilterDecision::Keep),
            },
            ValueType::WideColumnEntity if filter.filters_entities() => {
                entity_filter::decide((&**filter, context), key, self.input.value(), self.options.blobs.as_deref())
            }
            _ => Ok(FilterDecision::Keep),
        }
    }

    /// Passes the newest value of a key to the compaction filter. `None`: the input was moved on.
    fn filter_value(&mut self, sequence: SequenceNumber, value_type: ValueType) -> Result<Option<ValueType>> {
        match self.decide(value_type)? {
            FilterDecision::Keep => Ok(Some(value_type)),
            FilterDecision::ChangeValue(value) => {
                self.output.set(self.current.user_key(), sequence, ValueType::Value, &value);
                Ok(Some(ValueType::Value))
            }
            FilterDecision::ChangeEntity(columns) => {
                let entity = entity_filter::encode(columns, self.current.user_key())?;
                self.output.set(self.current.user_key(), sequence, ValueType::WideColumnEntity, &entity);
                Ok(Some(ValueType::WideColumnEntity))
            }
            FilterDecision::Remove => {
                self.dropped.filtered += 1;
                self.output.set(self.current.user_key(), sequence, ValueType::Deletion, &[]);
                Ok(Some(ValueType::Deletion))
            }
            FilterDecision::Purge => {
                self.dropped.filtered += 1;
                self.output.set(self.current.user_key(), sequence, ValueType::SingleDeletion, &[]);
                Ok(Some(ValueType::SingleDeletion))
            }
            FilterDecision::RemoveAndSkipUntil(until) => {
                // A filter cannot skip backward.
                if self.options.comparator.user().compare(&until, self.current.user_key()).is_le() {
                    return Ok(Some(value_type));
                }
                self.dropped.filtered += 1;
                self.skip_input_until(&until);
                Ok(None)
            }
        }
    }

    #[inline]
    fn keep_unless_range_deleted(&mut self, sequence: SequenceNumber, stripe: SequenceNumber) -> bool {
        if !self.tombstones.is_empty() && self.tombstones.deletes(self.input.key(), sequence, stripe) {
            self.dropped.range_deleted += 1;
            self.advance();
            return false;
        }
        true
    }

    fn key_not_exists_beyond(&mut self) -> bool {
        self.options.bottommost || self.deeper.key_not_exists_beyond_output_level(self.current.user_key())
    }

    fn delete(&mut self, sequence: SequenceNumber, stripe: SequenceNumber, below: SequenceNumber) -> Result<bool> {
        if sequence <= self.options.stripes.earliest() && self.key_not_exists_beyond() {
            self.dropped.obsolete += 1;
            self.advance();
            return Ok(false);
        }
        if !self.options.bottommost {
            return Ok(self.keep_unless_range_deleted(sequence, stripe));
        }
        // Nothing is deeper, but a snapshot may need an older version: only then the tombstone is needed too.
        self.advance();
        while self.is_older_version() && !is_below_stripe(self.parse_input()?.0, below) {
            self.dropped.hidden += 1;
            self.advance();
        }
        if !self.is_older_version() {
            self.dropped.obsolete += 1;
            return Ok(false);
        }
        self.output.set_value(&[]);
        self.at_next = true;
        Ok(true)
    }

    /// True when the input stands on an entry of the current user key.
    fn is_older_version(&self) -> bool {
        self.input_valid() && self.is_current_user_key(user_key(self.input.key()))
    }

    fn single_delete(&mut self, sequence: SequenceNumber, below: SequenceNumber) -> Result<bool> {
        self.output.set_value(&[]);
        self.advance();
        if !self.is_older_version() {
            self.current.forget();
            self.input.status()?;
            let droppable = sequence <= self.options.stripes.earliest() && self.key_not_exists_beyond();
            if droppable || self.current.is_zeroed() {
                self.dropped.obsolete += 1;
                return Ok(false);
            }
            self.at_next = true;
            return Ok(true);
        }
        let (next_sequence, next_type) = self.parse_input()?;
        if self.current.is_zeroed() {
            // The newer entry of the key is in the oldest stripe, so both of these are under it, whatever they are.
            self.dropped.hidden += 1;
            self.dropped.obsolete += 1;
            self.advance();
            return Ok(false);
        }
        if is_below_stripe(next_sequence, below) {
            // A snapshot lies between the two: both stay.
            self.at_next = true;
            return Ok(true);
        }
        match next_type {
            // The older one deletes the put.
            ValueType::SingleDeletion => {
                self.dropped.obsolete += 1;
                self.dropped.single_delete_mismatches += 1;
                Ok(false)
            }
            ValueType::Deletion | ValueType::DeletionWithTimestamp => {
                self.dropped.single_delete_mismatches += 1;
                if self.options.enforce_single_delete_contracts {
                    return Err(Error::corruption(format!(
                        "SingleDelete over a Delete of key {} is violating the contract of SingleDelete",
                        self.current.user_key().escape_ascii()
                    )));
                }
                self.dropped.obsolete += 1;
                // The delete takes over, whatever stripe the single delete was in.
                self.current.forget_stripe();
                Ok(false)
            }
            _ => self.annihilate(sequence, next_type),
        }
    }

    /// A single delete and the put under it, in one stripe.
    fn annihilate(&mut self, sequence: SequenceNumber, next_type: ValueType) -> Result<bool> {
        if next_type == ValueType::Merge {
            self.dropped.single_delete_mismatches += 1;
        }
        let conflict_free = sequence <= self.options.earliest_write_conflict_snapshot;
        if self.current.has_output() || conflict_free {
            self.dropped.obsolete += 1;
            self.dropped.hidden += 1;
            self.advance();
            return Ok(false);
        }
        // A snapshot of a transaction must still see that the key was written, though not what.
        self.current.clear_next_value(next_type != ValueType::Merge);
        self.at_next = true;
        Ok(true)
    }

    fn timed_put(&mut self, sequence: SequenceNumber, stripe: SequenceNumber) -> Result<bool> {
        if !self.keep_unless_range_deleted(sequence, stripe) {
            return Ok(false);
        }
        if sequence > self.options.stripes.earliest() || !self.key_not_exists_beyond() {
            return Ok(true);
        }
        let packed = self.input.value();
        let value_size = timed_put_value(packed)?.len();
        let preferred = packed.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let swapped = sequence.min(SequenceNumber(preferred));
        let key = make_internal_key(self.current.user_key(), swapped, ValueType::Value);
        if self.tombstones.deletes(&key, swapped, stripe) {
            return Ok(true);
        }
        self.output.set(self.current.user_key(), swapped, ValueType::Value, &packed[..value_size]);
        Ok(true)
    }

    /// On the bottommost level, an entry visible to every reader needs no sequence number: equal trailers compress
    /// better.
    fn zero_sequence(&mut self) {
        let newest = self.options.stripes.earliest().min(self.options.preserve_sequence_after);
        if self.options.bottommost && self.output.zero_sequence(newest) {
            self.current.note_zeroed();
            self.dropped.zeroed += 1;
        }
    }
}

/// The number and the type of a point entry.
#[inline]
fn parse_entry(internal_key: &[u8]) -> Result<(SequenceNumber, ValueType)> {
    let parsed = ParsedInternalKey::parse(internal_key)?;
    if !parsed.value_type.is_point_entry() {
        return Err(Error::corruption(format!("entry of unexpected type {:?} in a compaction", parsed.value_type)));
    }
    Ok((parsed.sequence, parsed.value_type))
}
