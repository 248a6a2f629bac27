//! Takes the blocks of a table out of the block cache, when its file is about to go: `uncache_aggressiveness`.
//!
//! No list says which blocks of a file are in the cache, so they are asked for one by one, each at the price of a
//! lookup that takes a lock. [`Yield`] ends that where too few of them are there, by RocksDB's rule: `n` goes on for as
//! long as the evidence allows that a share of `0.99^(n-1)` of the attempts is of use.
//!
//! ```text
//! filter      whole block, or partitions, then their index
//! data        in the order of the index, for as far as its blocks are in memory
//! index       partitions, then the top level or the only block
//! ```
//!
//! - Nothing is read from the file: a part of the index that is not in memory leads to blocks that hardly are.
//! - A block in use leaves the cache all the same; its users keep it, and it counts as used until the last is done.
//! - What the table holds in the cache (`Pinned`) goes always, and tells nothing about the rest.
//!
//! RocksDB ends at the first partition of an index that is not in the cache; here the walk goes on behind it, and the
//! partitions themselves have a yield. It also leaves the blocks of mapped files alone; those that lie in the mapping
//! are no blocks of the cache, and the others are treated like any.

use super::block_loader::BlockLoader;
use crate::blocks::CachedBlock;
use ferrock_format::block::IndexCursor;
use ferrock_format::handle::BlockHandle;

/// Whether attempts of one kind are worth going on with.
#[derive(Debug)]
pub(super) struct Yield {
    /// Failures that prove nothing yet.
    allowance: u64,
    /// The share of useful attempts below which it ends.
    least_share: f64,
    useful: u64,
    useless: u64,
}

impl Yield {
    /// For an aggressiveness of 1 at least.
    pub(super) fn new(aggressiveness: u32) -> Self {
        let allowance = u64::from(aggressiveness.min(3));
        let least_share = 0.99f64.powf(f64::from(aggressiveness) - 1.0);
        Self { allowance, least_share, useful: 0, useless: 0 }
    }

    /// False when a further attempt is not worth it.
    pub(super) fn goes_on(&self) -> bool {
        let beyond = match self.useless.checked_sub(self.allowance) {
            Some(beyond) => beyond as f64,
            None => return true,
        };
        let useful = self.useful as f64;
        (useful + 1.0) / (useful + beyond + 1.5) >= self.least_share
    }

    /// Counts an attempt, and returns whether it was of use.
    pub(super) fn note(&mut self, was_useful: bool) -> bool {
        *(if was_useful { &mut self.useful } else { &mut self.useless }) += 1;
        was_useful
    }
}

/// Removes blocks, and counts those that were there.
pub(super) struct Uncaching<'a> {
    pub(super) loader: &'a BlockLoader,
    pub(super) aggressiveness: u32,
    pub(super) removed: u64,
}

impl Uncaching<'_> {
    /// Counts what became of a block.
    pub(super) fn count(&mut self, was_there: bool) -> bool {
        self.removed += u64::from(was_there);
        was_there
    }

    /// Removes one block.
    pub(super) fn erase(&mut self, handle: BlockHandle) -> bool {
        let was_there = self.loader.cache().erase(handle);
        self.count(was_there)
    }

    /// Removes the blocks that an index block names, for as long as that is worth it.
    pub(super) fn erase_named_by(&mut self, index: &CachedBlock, worth: &mut Yield) {
        visit_handles(index, |handle| {
            worth.goes_on() && {
                worth.note(self.erase(handle));
                true
            }
        });
    }
}

/// Shows `visit` the handles of an index block in order, until it returns false. A damaged one ends it.
pub(super) fn visit_handles(block: &CachedBlock, mut visit: impl FnMut(BlockHandle) -> bool) {
    let Ok(index) = block.index() else { return };
    let mut cursor = IndexCursor::new();
    cursor.seek_to_first(index);
    while cursor.valid() && visit(cursor.entry(index).handle) {
        cursor.next(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts until it ends, of which each of `useful` in ten is of use, evenly.
    fn attempts(aggressiveness: u32, useful: u64) -> u64 {
        let mut worth = Yield::new(aggressiveness);
        let goes = (0..1_000_000).take_while(|attempt| {
            let goes_on = worth.goes_on();
            worth.note((attempt * useful) % 10 < useful);
            goes_on
        });
        goes.count() as u64
    }

    #[test]
    fn a_larger_number_goes_on_for_longer() {
        // Nothing is there. The first is evidence enough for 1; then it is a matter of the share.
        assert_eq!([1, 2, 3].map(|aggressiveness| attempts(aggressiveness, 0)), [1, 2, 3]);
        let counts = [11, 69, 230, 690, 1000].map(|aggressiveness| attempts(aggressiveness, 0));
        assert!(counts.is_sorted() && counts[0] <= 5 && counts[4] > 10_000, "{counts:?}");
        assert_eq!(attempts(10_000, 0), 1_000_000);
        // All are there.
        assert!([1, 2, 69, 10_000].iter().all(|aggressiveness| attempts(*aggressiveness, 10) == 1_000_000));
        // Half are there: 69 says 50 %.
        assert!(attempts(60, 5) < 1000 && attempts(80, 5) == 1_000_000, "{} {}", attempts(60, 5), attempts(80, 5));
    }

    #[test]
    fn no_number_is_too_large() {
        let mut worth = Yield::new(u32::MAX);
        (0..1_000_000).for_each(|_| assert!(!worth.note(false) && worth.goes_on()));
    }
}
