//! The blocks that bounds, row bounds and filters exclude from a scan, so that they are not read.

use super::BlockTableIter;
use super::direction::Direction;
use super::filter_reader::FilterAnswer;
use super::scan_bounds::bounds_of_prefix;
use super::table_blocks::Question;
use ferrock_base::internal_key::user_key;
use ferrock_base::{Comparator, Result};

impl BlockTableIter {
    /// True when nothing within the bounds lies ahead of the current block.
    pub(super) fn leaves_bounds(&mut self) -> bool {
        let bounds = &*self.bounds;
        let resident = self.reader.blocks.resident_index();
        let outside = match (self.direction, bounds.upper_key(), bounds.lower_key()) {
            (Direction::Forward, Some(upper), _) => self.index.ends_before(&resident, upper, &mut self.scratch),
            (Direction::Backward, _, Some(lower)) => self.index.begins_after(&resident, lower, &mut self.scratch),
            _ => return false,
        };
        match outside {
            Ok(outside) => outside,
            Err(error) => {
                self.fail(error);
                true
            }
        }
    }

    /// True when a filter excludes the table from a seek: it has no key with the prefix of the target, if the caller or
    /// the bounds allow no other prefix, or lacks the only key within the bounds. True also when a block of the filter
    /// is needed first, whose read is then planned, and after an error.
    pub(super) fn is_excluded_by_filter(&mut self, target: &[u8]) -> bool {
        // If the scan may continue to any key, no filter can exclude the table.
        if self.reader.blocks.filter().is_none() || self.bounds.upper_key().is_none() && self.bounds.prefix().is_none()
        {
            return false;
        }
        // Targets within a scan may have another prefix: where a deleted range ends, say.
        let prefix_of_target = || self.reader.prefix_extractor.as_ref()?.prefix(user_key(target));
        let wants_prefix = !self.options.total_order_seek
            && self.bounds.prefix().is_some_and(|prefix| prefix_of_target() == Some(prefix));
        let answer = || {
            if wants_prefix {
                let answer = self.reader.blocks.ask_for_scan(&self.options, Question::Prefix(user_key(target)))?;
                if !matches!(answer, FilterAnswer::MayMatch) {
                    return Ok(answer);
                }
            }
            // The first key that the scan can show.
            let first = match self.direction {
                Direction::Forward => Some(user_key(target)),
                Direction::Backward => self.bounds.lower(),
            };
            let Some(first) = first else { return Ok(FilterAnswer::MayMatch) };
            if self.bounds.is_single_key(first) && matches!(self.reader.comparator().user(), Comparator::Bytewise) {
                return self.reader.blocks.ask_for_scan(&self.options, Question::Key(first));
            }
            if wants_prefix || self.options.total_order_seek || !self.bounds_share_prefix(first) {
                return Ok(FilterAnswer::MayMatch);
            }
            self.reader.blocks.ask_for_scan(&self.options, Question::Prefix(first))
        };
        match answer() {
            Ok(FilterAnswer::MayMatch) => return false,
            Ok(FilterAnswer::Absent) => {}
            Ok(FilterAnswer::Needs(needed)) => {
                self.plan_block(needed);
                if let (None, Err(error)) = (&self.planned, self.options.may_read()) {
                    self.fail(error);
                }
            }
            Err(error) => self.fail(error),
        }
        true
    }

    /// True when all keys from `key` to the upper bound have one prefix. (Not so with capped prefixes: a longer key may
    /// have another prefix.)
    pub(super) fn bounds_share_prefix(&self, key: &[u8]) -> bool {
        let (Some(extractor), Some(upper)) = (&self.reader.prefix_extractor, self.bounds.upper()) else { return false };
        if !extractor.covers_what_begins_with_it() {
            return false;
        }
        let order = self.reader.comparator().user();
        bounds_of_prefix(extractor, order, key)
            .is_some_and(|(_, end)| end.is_none_or(|end| order.compare(upper, end.user_key()).is_le()))
    }

    /// True when what is known of the current block's rows leaves none of them within the bounds, nor behind it.
    pub(super) fn is_empty_ahead(&mut self, target: &[u8]) -> bool {
        let Some(upper) = self.bounds.upper_key() else { return false };
        let resident = self.reader.blocks.resident_index();
        let is_empty = || -> Result<bool> {
            if self.index.begins_at_or_after(&resident, upper)? {
                return Ok(true);
            }
            if resident.index.partition_cut().is_none() || !self.bounds_share_prefix(user_key(target)) {
                return Ok(false);
            }
            resident.partition_ended_before(self.index.position(), user_key(target))
        };
        match is_empty() {
            Ok(is_empty) => is_empty,
            Err(error) => {
                self.fail(error);
                true
            }
        }
    }

    /// True when the row bounds say that the current block, and so what lies behind it, begins where the bounds end.
    pub(super) fn begins_beyond_upper(&mut self) -> bool {
        let Some(upper) = self.bounds.upper_key() else { return false };
        let resident = self.reader.blocks.resident_index();
        match self.index.begins_at_or_after(&resident, upper) {
            Ok(is_beyond) => is_beyond,
            Err(error) => {
                self.fail(error);
                true
            }
        }
    }

    /// True when no key at or after the target is within the bounds.
    #[inline]
    pub(super) fn is_beyond_upper(&self, target: &[u8]) -> bool {
        let order = self.reader.comparator().user();
        self.bounds.upper().is_some_and(|upper| order.compare(user_key(target), upper).is_ge())
    }

    /// True when no key at or before the target is within the bounds; the upper bound itself is not.
    pub(super) fn is_below_lower(&self, target: &[u8]) -> bool {
        let order = self.reader.comparator().user();
        let Some(lower) = self.bounds.lower() else { return false };
        let target = user_key(target);
        let is_upper = self.bounds.upper().is_some_and(|upper| order.equal(upper, target));
        let order = order.compare(target, lower);
        order.is_lt() || order.is_eq() && is_upper
    }

    /// True when the current block, which no key within the bounds lies behind, ends before the lower bound.
    pub(super) fn lies_below_bounds(&mut self) -> bool {
        let bounds = &*self.bounds;
        let Some(lower) = bounds.lower_key() else { return false };
        let resident = self.reader.blocks.resident_index();
        match self.index.ends_below(&resident, lower, &mut self.scratch) {
            Ok(is_below) => is_below,
            Err(error) => {
                self.fail(error);
                true
            }
        }
    }
}
