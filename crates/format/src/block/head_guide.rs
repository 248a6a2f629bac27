//! A first guess at where a head lies among many.
//!
//! Bisection of a large index looks at places far apart: each is a line of memory that was not touched lately, and none
//! can be fetched before the one ahead of it was compared. A guide needs one access to itself and one to the heads.
//!
//! ```text
//! ranks  u32 x (buckets + 1)    rank of the first head in a bucket, or behind it
//!
//! bucket of a head = (head - smallest head) >> shift
//! ```
//!
//! Where heads are not evenly spread, buckets hold many, and bisection goes on within one.
//!
//! Invariant: heads before `ranks[b]` lie in buckets before `b`, and all others in `b` or behind it.

use std::ops::Range;

/// Fewest heads for a bucket on average. Evenly spread ones are up to four times as many, two lines of memory, as the
/// number of buckets follows from a shift.
const HEADS_PER_BUCKET: usize = 4;
/// Fewer heads are found as fast without: they are few lines.
const SMALLEST_GUIDED: usize = 256;

/// See the module.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HeadGuide {
    smallest: u64,
    shift: u32,
    /// Empty when there is none.
    ranks: Box<[u32]>,
}

impl HeadGuide {
    /// A guide to these heads; none when they are few, or out of order as in a damaged block.
    pub(super) fn build(heads: &[u64]) -> Self {
        let (Some(&smallest), Some(&largest)) = (heads.first(), heads.last()) else { return Self::default() };
        if heads.len() < SMALLEST_GUIDED || u32::try_from(heads.len()).is_err() || !heads.is_sorted() {
            return Self::default();
        }
        let wanted = heads.len() / HEADS_PER_BUCKET;
        let span = largest - smallest;
        // The smallest shift that leaves at most as many buckets as wanted.
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(wanted.ilog2());
        let bucket = |head: u64| ((head - smallest) >> shift) as usize;
        let mut ranks = Vec::with_capacity(bucket(largest) + 2);
        for (rank, &head) in heads.iter().enumerate() {
            while ranks.len() <= bucket(head) {
                ranks.push(rank as u32);
            }
        }
        ranks.push(heads.len() as u32);
        Self { smallest, shift, ranks: ranks.into_boxed_slice() }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.ranks.len() * size_of::<u32>()
    }

    /// Among which of `count` heads the first at or after `target` lies, unless it is the one behind them.
    #[inline]
    pub(super) fn window(&self, target: u64, count: usize) -> Range<usize> {
        if self.ranks.is_empty() {
            return 0..count;
        }
        let Some(offset) = target.checked_sub(self.smallest) else { return 0..0 };
        let bucket = usize::try_from(offset >> self.shift).unwrap_or(usize::MAX);
        match self.ranks.get(bucket..).and_then(|ranks| ranks.first_chunk::<2>()) {
            Some(&[start, end]) => start as usize..end as usize,
            None => count..count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(heads: &[u64]) {
        let guide = HeadGuide::build(heads);
        let near = heads.iter().flat_map(|&head| [head.saturating_sub(1), head, head.saturating_add(1)]);
        for target in near.chain([0, 1, u64::MAX / 2, u64::MAX]) {
            let expected = heads.partition_point(|&head| head < target);
            let window = guide.window(target, heads.len());
            let found = window.start + heads[window].partition_point(|&head| head < target);
            assert_eq!(found, expected, "{target} in {} heads", heads.len());
        }
    }

    #[test]
    fn every_shape_of_heads() {
        check(&[]);
        check(&[7]);
        let even: Vec<u64> = (0..5000).map(|number| number * 1_000_003).collect();
        check(&even);
        check(&vec![9; 300]);
        check(&vec![u64::MAX; 300]);
        let mut ends = vec![0; 200];
        ends.extend(vec![u64::MAX; 200]);
        check(&ends);
        let powers: Vec<u64> = (0..1000).map(|number| 1u64 << (number / 16)).collect();
        check(&powers);
    }

    #[test]
    fn windows_are_short_where_heads_are_even() {
        let heads: Vec<u64> = (0..10_000).map(|number| number * 1_000_003).collect();
        let guide = HeadGuide::build(&heads);
        let widest = heads.iter().map(|&head| guide.window(head, heads.len()).len()).max();
        assert!(widest.is_some_and(|widest| widest <= 4 * HEADS_PER_BUCKET + 1), "{widest:?}");
        assert!(guide.memory_bytes() <= heads.len() + 8, "{}", guide.memory_bytes());
    }

    #[test]
    fn heads_out_of_order_have_no_guide() {
        let mut heads: Vec<u64> = (0..300).collect();
        heads.swap(10, 20);
        assert_eq!(HeadGuide::build(&heads), HeadGuide::default());
    }

    proptest! {
        #[test]
        fn windows_hold_what_bisection_finds(
            mut heads in prop::collection::vec(prop_oneof![any::<u64>(), 0..2000u64, u64::MAX - 50..=u64::MAX], 200..1200)
        ) {
            heads.sort_unstable();
            check(&heads);
        }
    }
}
