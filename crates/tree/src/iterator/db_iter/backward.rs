//! Going back: the versions of a key come oldest first, so they are folded on the way.

use super::{COVERED_BEFORE_LEAP, DbIterator, Position, merge_operands};
use crate::iterator::source::TombstoneIterator;
use crate::read::merge::{MergeBase, visible_value};
use ferrock_base::Result;
use ferrock_base::internal_key::ParsedInternalKey;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::types::ValueType;

impl<I: TombstoneIterator, O> DbIterator<I, O> {
    /// Finds the previous live key from the inner position on.
    pub(super) fn find_backward(&mut self) {
        self.position = Position::Invalid;
        let (mut dead, mut hidden) = (0u32, 0u64);
        self.inner.read_unread();
        while self.inner.valid() {
            let parsed = match ParsedInternalKey::parse(self.inner.key()) {
                Ok(parsed) => parsed,
                Err(error) => return self.fail(error),
            };
            if self.is_below_lower(parsed.user_key) || self.leaves_prefix(parsed.user_key) {
                return;
            }
            if dead > COVERED_BEFORE_LEAP {
                dead = 0;
                if self.is_covered(parsed.sequence) && self.inner.skip_covered_backward(self.options.view.newest()) {
                    continue;
                }
            }
            self.save_inner_key();
            match self.resolve_backward() {
                Ok(true) => {
                    self.position = Position::SavedBackward;
                    return;
                }
                Ok(false) => {
                    dead += 1;
                    hidden += 1;
                    if self.gives_up_after(hidden) {
                        return;
                    }
                    self.inner.read_unread();
                    if self.leap_back_over_run(hidden) {
                        return;
                    }
                }
                Err(error) => return self.fail(error),
            }
        }
    }

    /// Folds the versions of the saved key, oldest first, and leaves the inner iterator before them.
    /// True when the key is live, with its value in `saved_value`.
    fn resolve_backward(&mut self) -> Result<bool> {
        self.operands.clear();
        // The newest base so far: what is stored of it is in `saved_value`. It is interpreted only if the key's value
        // turns out to be made of it.
        let mut base: Option<ValueType> = None;
        let mut walked = 0;
        while self.inner.valid() && !self.inner.is_unread() {
            let parsed = ParsedInternalKey::parse(self.inner.key())?;
            if !self.is_saved_key(parsed.user_key) {
                break;
            }
            walked += 1;
            let invisible = !self.options.view.sees(parsed.sequence);
            if walked > self.options.max_sequential_skip_in_iterations {
                if !invisible {
                    return self.resolve_by_seek();
                }
                if parsed.sequence > self.options.view.newest() {
                    self.passed.work.reseeks += 1;
                    self.seek_before_saved_key();
                    break;
                }
            }
            if !invisible {
                if parsed.value_type.is_point_tombstone() || self.is_covered(parsed.sequence) {
                    base = None;
                    self.operands.clear();
                } else if parsed.value_type == ValueType::Merge {
                    self.operands.push(self.inner.value().to_vec());
                } else {
                    base = Some(parsed.value_type);
                    self.operands.clear();
                    self.saved_value.clear();
                    self.saved_value.extend_from_slice(self.inner.value());
                }
            }
            self.inner.prev_version(&self.saved_key);
        }
        self.inner.status()?;
        if let Some(value_type) = base.filter(|value_type| *value_type != ValueType::Value) {
            let stored = std::mem::take(&mut self.saved_value);
            let blobs = self.options.blobs.as_deref();
            self.saved_value = visible_value(&self.saved_key, value_type, &stored, blobs)?.into_vec();
        }
        if self.operands.is_empty() {
            return Ok(base.is_some());
        }
        let existing = std::mem::take(&mut self.saved_value);
        let base = if base.is_some() { MergeBase::Value(&existing) } else { MergeBase::None };
        merge_operands(&self.options, &self.saved_key, base, &self.operands, &mut self.saved_value)?;
        Ok(true)
    }

    /// The same for a key with many versions: from the newest visible one forward, then back before them all.
    fn resolve_by_seek(&mut self) -> Result<bool> {
        self.passed.work.reseeks += 1;
        self.seek_saved_key();
        let live = self.resolve_newest()?;
        self.seek_before_saved_key();
        self.inner.status()?;
        Ok(live)
    }

    fn resolve_newest(&mut self) -> Result<bool> {
        while self.inner.valid() {
            let parsed = ParsedInternalKey::parse(self.inner.key())?;
            if !self.is_saved_key(parsed.user_key) || !self.options.view.hides(parsed.sequence) {
                break;
            }
            self.inner.next();
        }
        if !self.inner.valid() {
            self.inner.status()?;
            return Ok(false);
        }
        let parsed = ParsedInternalKey::parse(self.inner.key())?;
        if !self.is_saved_key(parsed.user_key)
            || parsed.value_type.is_point_tombstone()
            || self.is_covered(parsed.sequence)
        {
            return Ok(false);
        }
        if parsed.value_type == ValueType::Merge {
            self.merge_forward()?;
            return Ok(true);
        }
        let (stored, blobs) = (self.inner.value(), self.options.blobs.as_deref());
        let visible = visible_value(parsed.user_key, parsed.value_type, stored, blobs)?;
        self.saved_value.clear();
        self.saved_value.extend_from_slice(&visible);
        Ok(true)
    }
}
