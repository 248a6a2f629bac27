//! The blocks that bounds, row bounds and filters exclude from a scan, so that they are not read.

use super::direction::Direction;
use super::filter_reader::FilterAnswer;
use super::scan_bounds::bounds_of_prefix;
use super::scan_position::ScanPosition;
use super::table_blocks::Question;
use ferrock_base::internal_key::user_key;
use ferrock_base::{Comparator, Result};

impl ScanPosition<'_> {
    /// True when nothing within the bounds lies ahead of the current block.
    pub(super) fn leaves_bounds(&self, scratch: &mut Vec<u8>) -> Result<bool> {
        let Some(end) = self.bounds.end(self.direction) else { return Ok(false) };
        let resident = self.blocks.resident_index();
        match self.direction {
            Direction::Forward => self.index.ends_before(&resident, end, scratch),
            Direction::Backward => self.index.begins_after(&resident, end, scratch),
        }
    }

    /// What the filter says of a seek to an internal key: whether the table has a key with the prefix of the target, if
    /// the caller or the bounds allow no other prefix, or the only key within the bounds.
    #[inline]
    pub(super) fn ask_filter(&self, target: &[u8]) -> Result<FilterAnswer> {
        // If the scan may continue to any key, no filter can exclude the table.
        if self.blocks.filter().is_none() || self.bounds.upper_key().is_none() && self.bounds.prefix().is_none() {
            return Ok(FilterAnswer::MayMatch);
        }
        self.ask_filter_within_bounds(user_key(target))
    }

    fn ask_filter_within_bounds(&self, target: &[u8]) -> Result<FilterAnswer> {
        let ask = |question| self.blocks.ask_for_scan(self.options, question);
        // Targets within a scan may have another prefix: where a deleted range ends, say.
        let wants_prefix = !self.options.total_order_seek
            && self.prefix_extractor.is_some_and(|extractor| {
                let of_scan = self.bounds.prefix_by(extractor);
                of_scan.is_some() && extractor.prefix(target) == of_scan
            });
        if wants_prefix {
            let answer = ask(Question::Prefix(target))?;
            if !matches!(answer, FilterAnswer::MayMatch) {
                return Ok(answer);
            }
        }
        // The first key that the scan can show.
        let first = match self.direction {
            Direction::Forward => Some(target),
            Direction::Backward => self.bounds.lower(),
        };
        let Some(first) = first else { return Ok(FilterAnswer::MayMatch) };
        if self.bounds.is_single_key(first) && matches!(self.blocks.loader().comparator().user(), Comparator::Bytewise)
        {
            return ask(Question::Key(first));
        }
        if wants_prefix || self.options.total_order_seek || !self.bounds_share_prefix(first) {
            return Ok(FilterAnswer::MayMatch);
        }
        ask(Question::Prefix(first))
    }

    /// True when all keys from `key` to the upper bound have one prefix. (Not so with capped prefixes: a longer key may
    /// have another prefix.)
    fn bounds_share_prefix(&self, key: &[u8]) -> bool {
        let (Some(extractor), Some(upper)) = (self.prefix_extractor, self.bounds.upper()) else { return false };
        if !extractor.covers_what_begins_with_it() {
            return false;
        }
        let order = self.blocks.loader().comparator().user();
        bounds_of_prefix(extractor, order, key)
            .is_some_and(|(_, end)| end.is_none_or(|end| order.compare(upper, end.user_key()).is_le()))
    }

    /// True when what is known of the current block's rows leaves none of them within the bounds, nor behind it, after
    /// a seek to an internal key.
    pub(super) fn is_empty_ahead(&self, target: &[u8]) -> Result<bool> {
        if self.begins_beyond_upper()? {
            return Ok(true);
        }
        let resident = self.blocks.resident_index();
        if resident.index.partition_cut().is_none() || !self.bounds_share_prefix(user_key(target)) {
            return Ok(false);
        }
        resident.partition_ended_before(self.index, user_key(target))
    }

    /// True when the row bounds say that the current block, and so what lies behind it, begins where the bounds end.
    pub(super) fn begins_beyond_upper(&self) -> Result<bool> {
        match self.bounds.upper_key() {
            Some(upper) => self.index.begins_at_or_after(&self.blocks.resident_index(), upper),
            None => Ok(false),
        }
    }

    /// True when no key at or after an internal key, in the direction of the scan, is within the bounds. Going back the
    /// upper bound itself is not.
    #[inline]
    pub(super) fn is_outside(&self, target: &[u8]) -> bool {
        let (order, target) = (self.blocks.loader().comparator().user(), user_key(target));
        if !self.direction.is_backward() {
            return self.bounds.upper().is_some_and(|upper| order.compare(target, upper).is_ge());
        }
        let Some(lower) = self.bounds.lower() else { return false };
        let is_upper = self.bounds.upper().is_some_and(|upper| order.equal(upper, target));
        let order = order.compare(target, lower);
        order.is_lt() || order.is_eq() && is_upper
    }

    /// True when the current block, which no key within the bounds lies behind, ends before the lower bound.
    pub(super) fn lies_below_bounds(&self, scratch: &mut Vec<u8>) -> Result<bool> {
        match self.bounds.lower_key() {
            Some(lower) => self.index.ends_below(&self.blocks.resident_index(), lower, scratch),
            None => Ok(false),
        }
    }

    /// True when the current block has nothing before an internal key that the index was placed for. Row bounds tell
    /// that, and for the exclusive upper bound separators may, too.
    pub(super) fn has_nothing_before(&self, target: &[u8], scratch: &mut Vec<u8>) -> Result<bool> {
        let (order, target) = (self.blocks.loader().comparator().user(), user_key(target));
        let resident = self.blocks.resident_index();
        match self.bounds.upper_key().filter(|upper| order.equal(target, upper.user_key())) {
            Some(upper) => self.index.follows_end(&resident, upper, scratch),
            None => self.index.begins_after_key(&resident, target),
        }
    }
}
