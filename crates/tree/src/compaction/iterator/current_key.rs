//! The user key whose versions are looked at, and what became of those so far.

use ferrock_base::comparator::Comparator;
use ferrock_base::internal_key::{trailer, user_key};
use ferrock_base::types::SequenceNumber;
use ferrock_base::{Error, Result};
use std::cmp::Ordering;

/// The user key whose versions are looked at.
#[derive(Debug, Default)]
pub(super) struct CurrentKey {
    user_key: Vec<u8>,
    /// False: the next entry is treated as the first of its key whatever its key is.
    is_known: bool,
    /// Trailer of the last entry looked at, for the check of the input's order.
    last_trailer: Option<u64>,
    /// Upper end of the stripe of the last entry.
    stripe: Option<SequenceNumber>,
    has_output: bool,
    is_zeroed: bool,
    /// The next entry is the put under a single delete that had to stay: only the fact that it was written matters.
    clears_next_value: bool,
}

impl CurrentKey {
    #[inline]
    pub(super) fn user_key(&self) -> &[u8] {
        &self.user_key
    }

    #[inline]
    pub(super) fn is(&self, order: &Comparator, user_key: &[u8]) -> bool {
        order.equal(user_key, &self.user_key)
    }

    /// Has the next entry treated as the first of its key.
    pub(super) fn forget(&mut self) {
        self.is_known = false;
    }

    /// The same after the input was moved by a seek.
    pub(super) fn forget_place(&mut self) {
        (self.is_known, self.last_trailer) = (false, None);
    }

    /// Records that the input steps over an entry with this trailer.
    #[inline]
    pub(super) fn note_step(&mut self, trailer: u64) {
        self.last_trailer = Some(trailer);
    }

    /// Begins an entry: notices a new user key, and checks the order of the input. True for the first entry of a key.
    pub(super) fn begin_entry(&mut self, order: &Comparator, key: &[u8]) -> Result<bool> {
        // Before the first key there is nothing to compare with: comparators are given keys only.
        let is_first = self.last_trailer.is_none() && !self.is_known;
        let order = (!is_first).then(|| order.compare(user_key(key), &self.user_key));
        if let Some(last) = self.last_trailer {
            // An equal trailer comes again only where an entry is looked at a second time after its predecessor.
            let ascends = match order {
                None | Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => trailer(key) < last,
                Some(Ordering::Less) => false,
            };
            if !ascends {
                return Err(Error::corruption(format!(
                    "compaction input out of order: {}@{} after {}@{}",
                    user_key(key).escape_ascii(),
                    trailer(key) >> 8,
                    self.user_key.escape_ascii(),
                    last >> 8
                )));
            }
        }
        if self.is_known && order == Some(Ordering::Equal) {
            return Ok(false);
        }
        self.user_key.clear();
        self.user_key.extend_from_slice(user_key(key));
        self.is_known = true;
        (self.stripe, self.has_output, self.is_zeroed) = (None, false, false);
        Ok(true)
    }

    /// Records the stripe of the entry, and returns that of the one before.
    #[inline]
    pub(super) fn enter_stripe(&mut self, stripe: SequenceNumber) -> Option<SequenceNumber> {
        self.stripe.replace(stripe)
    }

    /// Has the next entry treated as the first of its stripe.
    pub(super) fn forget_stripe(&mut self) {
        self.stripe = None;
    }

    /// Records that an entry of the key was written.
    pub(super) fn note_output(&mut self) {
        self.has_output = true;
    }

    /// True when an entry of the key was written.
    pub(super) fn has_output(&self) -> bool {
        self.has_output
    }

    /// Records that an entry of the key was written without its sequence number.
    pub(super) fn note_zeroed(&mut self) {
        self.is_zeroed = true;
    }

    /// True when an entry of the key was written without its sequence number.
    pub(super) fn is_zeroed(&self) -> bool {
        self.is_zeroed
    }

    /// Has the next entry written without its value.
    pub(super) fn clear_next_value(&mut self, clears: bool) {
        self.clears_next_value = clears;
    }

    /// True for an entry that is to be written without its value.
    pub(super) fn takes_cleared_value(&mut self) -> bool {
        std::mem::take(&mut self.clears_next_value)
    }
}
