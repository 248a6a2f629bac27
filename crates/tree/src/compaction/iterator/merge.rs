//! Folding merge operands on the way through flush and compaction.
//!
//! ```text
//! operands of one stripe over     becomes
//!   a put or an entity            one value          with the newest operand's sequence number
//!   a tombstone                   one value
//!   nothing, at the bottom        one value
//!   nothing known                 one operand, if the operator can; else all as they are
//! ```

use super::context::DeeperLevels;
use super::rules::CompactionIterator;
use super::stripes::is_below_stripe;
use crate::read::merge::{MergeBase, full_merge, full_merge_entity, require_operator, visible_value};
use ferrock_base::compaction_filter::FilterDecision;
use ferrock_base::internal_key::{make_internal_key, user_key};
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::{SequenceNumber, ValueType};
use ferrock_base::{Error, Result};

/// The entry or condition that ended a run of operands.
enum RunEnd {
    /// A value or tombstone of the same stripe, of this type; the input stands on it.
    Base(ValueType),
    /// A snapshot, or an entry that cannot be merged with.
    Stripe,
    /// The last version of the key.
    Key,
    /// The filter moved the input on.
    Skipped,
}

/// Operands, newest first.
type Operands = Vec<(SequenceNumber, Vec<u8>)>;

impl<I: InternalIterator, D: DeeperLevels> CompactionIterator<I, D> {
    /// Folds the operands from the input's entry on. `stripe` and `below` bound their stripe.
    pub(super) fn merge(&mut self, stripe: SequenceNumber, below: SequenceNumber) -> Result<bool> {
        require_operator(self.options.merge_operator.as_deref())?;
        let mut operands = Operands::new();
        let end = self.collect_operands(stripe, below, &mut operands)?;
        if operands.is_empty() || matches!(end, RunEnd::Skipped) {
            // Operands that the filter or a range tombstone removed hide nothing.
            self.current.forget();
            return Ok(false);
        }
        match end {
            RunEnd::Base(base_type) => self.merge_with_base(base_type, stripe, &operands),
            RunEnd::Key if self.options.bottommost => self.write_merged(None, &operands),
            RunEnd::Key | RunEnd::Stripe | RunEnd::Skipped => self.merge_partially(operands),
        }
    }

    fn collect_operands(
        &mut self,
        stripe: SequenceNumber,
        below: SequenceNumber,
        operands: &mut Operands,
    ) -> Result<RunEnd> {
        while self.input_valid() {
            let (sequence, value_type) = self.parse_input()?;
            if !self.is_current_user_key(user_key(self.input.key())) {
                return Ok(RunEnd::Key);
            }
            if is_below_stripe(sequence, below) {
                return Ok(RunEnd::Stripe);
            }
            if value_type != ValueType::Merge {
                return Ok(RunEnd::Base(value_type));
            }
            if self.tombstones.deletes(self.input.key(), sequence, stripe) {
                self.dropped.range_deleted += 1;
                self.advance();
                continue;
            }
            match self.filter_operand(sequence) {
                FilterDecision::Keep => operands.push((sequence, self.input.value().to_vec())),
                FilterDecision::ChangeValue(value) => operands.push((sequence, value)),
                FilterDecision::ChangeEntity(_) => {
                    return Err(Error::invalid_argument(format!(
                        "the compaction filter makes an entity of the merge operand at key {}: give ChangeValue, Remove \
                         or Keep for operands",
                        self.current.user_key().escape_ascii()
                    )));
                }
                FilterDecision::Remove | FilterDecision::Purge => self.dropped.filtered += 1,
                FilterDecision::RemoveAndSkipUntil(until) => {
                    self.dropped.filtered += 1;
                    self.skip_input_until(&until);
                    return Ok(RunEnd::Skipped);
                }
            }
            self.advance();
        }
        self.input.status()?;
        Ok(RunEnd::Key)
    }

    fn filter_operand(&self, sequence: SequenceNumber) -> FilterDecision {
        let Some((filter, context)) = &self.options.compaction_filter else { return FilterDecision::Keep };
        if sequence <= self.options.stripes.latest() {
            return FilterDecision::Keep;
        }
        let key = self.current.user_key();
        match filter.filter(context, key, ValueType::Merge, self.input.value()) {
            FilterDecision::RemoveAndSkipUntil(until)
                if self.options.comparator.user().compare(&until, key).is_le() =>
            {
                FilterDecision::Keep
            }
            decision => decision,
        }
    }

    fn merge_with_base(&mut self, base_type: ValueType, stripe: SequenceNumber, operands: &Operands) -> Result<bool> {
        let (sequence, _) = self.parse_input()?;
        let deleted = base_type.is_point_tombstone() || self.tombstones.deletes(self.input.key(), sequence, stripe);
        if !deleted && base_type == ValueType::BlobIndex && self.options.blobs.is_none() {
            // The value cannot be fetched here: the operands stay, and so must the entry under them.
            self.current.forget();
            return self.merge_partially(operands.clone());
        }
        let value = self.input.value().to_vec();
        self.advance();
        if deleted {
            return self.write_merged(None, operands);
        }
        self.write_merged(Some((base_type, &value)), operands)
    }

    /// Writes the operands folded over `base`, an entry's type and what is stored of it.
    fn write_merged(&mut self, base: Option<(ValueType, &[u8])>, operands: &Operands) -> Result<bool> {
        let Some((newest, _)) = operands.first() else { return Ok(false) };
        let list: Vec<&[u8]> = operands.iter().rev().map(|(_, operand)| operand.as_slice()).collect();
        let (operator, blobs) = (self.options.merge_operator.as_deref(), self.options.blobs.as_deref());
        let key = self.current.user_key();
        let mut value_type = ValueType::Value;
        match base {
            None => full_merge(operator, key, MergeBase::None, &list, self.output.buffer_mut())?,
            Some((ValueType::WideColumnEntity, entity)) => {
                *self.output.buffer_mut() = full_merge_entity(operator, key, entity, &list, blobs)?;
                value_type = ValueType::WideColumnEntity;
            }
            Some((base_type, stored)) => {
                let existing = visible_value(key, base_type, stored, blobs)?;
                full_merge(operator, key, MergeBase::Value(&existing), &list, self.output.buffer_mut())?;
            }
        }
        self.output.set_made(make_internal_key(key, *newest, value_type));
        self.at_next = true;
        Ok(true)
    }

    /// Folds the operands into one where the operator can, and writes them all otherwise.
    fn merge_partially(&mut self, operands: Operands) -> Result<bool> {
        let operator = require_operator(self.options.merge_operator.as_deref())?;
        let list: Vec<&[u8]> = operands.iter().rev().map(|(_, operand)| operand.as_slice()).collect();
        let mut folded = Vec::new();
        let wanted = list.len() >= 2 || operator.allow_single_operand();
        let entries: Vec<(SequenceNumber, Vec<u8>)> =
            if wanted && operator.partial_merge(self.current.user_key(), &list, &mut folded) {
                operands.iter().take(1).map(|(newest, _)| (*newest, std::mem::take(&mut folded))).collect()
            } else {
                operands
            };
        let key = |sequence| make_internal_key(self.current.user_key(), sequence, ValueType::Merge);
        let entries = entries.into_iter().map(|(sequence, operand)| (key(sequence), operand)).collect();
        self.at_next = true;
        Ok(self.output.set_all(entries))
    }
}
