//! From the hash of a key to the number of its slot: an open-addressed table that one writer changes while readers
//! probe.
//!
//! ```text
//! word    [ slot number + 1: 32 bits | tag: 16 bits | displacements: 16 bits ]     slot field 0 = free
//! ```
//!
//! Linear probing from the hash's home. The displacement count of a word says how many keys in the table were probed
//! past it; a probe ends at the first word with count 0. Counts go up before a key is placed and down after it is
//! removed, so a reader never misses a key that is there throughout; and removing leaves no tombstones, so probes stay
//! short however long the table lives. A count that reached its maximum stays there, which makes probes longer, never
//! wrong.

use crate::sync::{AtomicU64, Ordering};

const DISPLACEMENTS: u64 = 0xffff;
const TAG_SHIFT: u32 = 16;
const TAG: u64 = 0xffff << TAG_SHIFT;
const SLOT_SHIFT: u32 = 32;
const SLOT: u64 = 0xffff_ffff << SLOT_SHIFT;

/// The table.
pub(crate) struct Index {
    words: Box<[AtomicU64]>,
    mask: usize,
}

impl Index {
    /// A table of `length` words, a power of two.
    pub(crate) fn new(length: usize) -> Self {
        debug_assert!(length.is_power_of_two());
        Self { words: (0..length).map(|_| AtomicU64::new(0)).collect(), mask: length - 1 }
    }

    /// Words of the table; at most half of them should be in use.
    pub(crate) fn length(&self) -> usize {
        self.words.len()
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }

    /// Bits of the hash that choose neither the home (low bits) nor the shard (high bits).
    #[inline]
    fn tag(hash: u64) -> u64 {
        ((hash >> 36) << TAG_SHIFT) & TAG
    }

    /// Returns the first value that `accept` returns for a slot with this hash. `accept` may get slots of other keys.
    #[inline]
    pub(crate) fn find<T>(&self, hash: u64, mut accept: impl FnMut(u32) -> Option<T>) -> Option<T> {
        let tag = Self::tag(hash);
        let mut at = self.home(hash);
        let end = at.wrapping_add(self.words.len());
        loop {
            // Acquire: the slot that the word names is initialised.
            let word = self.words[at & self.mask].load(Ordering::Acquire);
            if word & TAG == tag
                && word & SLOT != 0
                && let Some(found) = accept((word >> SLOT_SHIFT) as u32 - 1)
            {
                return Some(found);
            }
            at = at.wrapping_add(1);
            if word & DISPLACEMENTS == 0 || at == end {
                return None;
            }
        }
    }

    /// Adds a slot. For the one writer; the table must have a free word.
    pub(crate) fn insert(&self, hash: u64, slot: u32) {
        let mut at = self.home(hash);
        for _ in 0..self.words.len() {
            let word = self.words[at].load(Ordering::Relaxed);
            if word & SLOT == 0 {
                let entry = (u64::from(slot) + 1) << SLOT_SHIFT | Self::tag(hash) | word & DISPLACEMENTS;
                self.words[at].store(entry, Ordering::Release);
                return;
            }
            if word & DISPLACEMENTS != DISPLACEMENTS {
                self.words[at].store(word + 1, Ordering::Release);
            }
            at = (at + 1) & self.mask;
        }
        debug_assert!(false, "the index is full");
    }

    /// Removes a slot that was inserted with this hash. For the one writer.
    pub(crate) fn remove(&self, hash: u64, slot: u32) {
        let home = self.home(hash);
        let entry = (u64::from(slot) + 1) << SLOT_SHIFT;
        let distance = (0..self.words.len())
            .find(|distance| self.words[(home + distance) & self.mask].load(Ordering::Relaxed) & SLOT == entry);
        let Some(distance) = distance else {
            debug_assert!(false, "the slot is not in the index");
            return;
        };
        let word = &self.words[(home + distance) & self.mask];
        word.store(word.load(Ordering::Relaxed) & DISPLACEMENTS, Ordering::Release);
        for passed in 0..distance {
            let word = &self.words[(home + passed) & self.mask];
            let value = word.load(Ordering::Relaxed);
            if value & DISPLACEMENTS != DISPLACEMENTS {
                word.store(value - 1, Ordering::Release);
            }
        }
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.len() * size_of::<AtomicU64>()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use ferrock_base::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn finds_what_is_there_through_any_churn() {
        let index = Index::new(64);
        let mut random = Random::new(1);
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        for step in 0..40_000u32 {
            // Few homes, so that probes are long and wrap around.
            let hash = (random.below(4) + 60) | random.below(3) << 36;
            let slot = random.below(50) as u32;
            match model.remove(&slot) {
                Some(hash) => index.remove(hash, slot),
                None => {
                    index.insert(hash, slot);
                    model.insert(slot, hash);
                }
            }
            if step % 16 == 0 {
                for (&slot, &hash) in &model {
                    let found = index.find(hash, |candidate| (candidate == slot).then_some(()));
                    assert_eq!(found, Some(()), "step {step}");
                }
            }
        }
        for (slot, hash) in model {
            index.remove(hash, slot);
        }
        assert!(index.words.iter().all(|word| word.load(Ordering::Relaxed) == 0), "displacements are left over");
    }
}
