//! Search among sorted numbers by guessing: where keys are evenly spread, a number's place follows from its size.
//!
//! ```text
//! low             high            guess = low + (target - heads[low]) / (heads[high] - heads[low]) * (high - low)
//!  v               v
//!  3   9  14  22  31    target 20: the guess is near 22; its neighbourhood becomes the range
//! ```
//!
//! A guess that leaves more than half of the range is followed by a bisection, so uneven keys cost at most about twice
//! the steps of bisection.

/// Index of the first number at or after `target`, as `partition_point` finds it, and how many numbers were compared.
pub(super) fn lower_bound(heads: &[u64], target: u64) -> (usize, usize) {
    let (Some(&first), Some(&last)) = (heads.first(), heads.last()) else { return (0, 0) };
    if target <= first {
        return (0, 2);
    }
    if target > last {
        return (heads.len(), 2);
    }
    // What lies at `low` is smaller than the target, what lies at `high` is not.
    let (mut low, mut high) = (0, heads.len() - 1);
    let (mut below, mut above) = (first, last);
    let (mut looks, mut bisects) = (2, false);
    while high - low > 1 {
        let length = high - low;
        let guess = if bisects {
            low + length / 2
        } else {
            let share = (target - below) as f64 / (above - below) as f64;
            low + (share * length as f64) as usize
        };
        let middle = guess.clamp(low + 1, high - 1);
        looks += 1;
        if heads[middle] < target {
            (low, below) = (middle, heads[middle]);
        } else {
            (high, above) = (middle, heads[middle]);
        }
        bisects = !bisects && high - low > length / 2;
    }
    (high, looks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(heads: &[u64], target: u64) -> usize {
        let (found, looks) = lower_bound(heads, target);
        assert_eq!(found, heads.partition_point(|&head| head < target), "{target} in {heads:?}");
        looks
    }

    proptest! {
        #[test]
        fn it_finds_what_bisection_finds(
            mut heads in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..50, (0u32..64).prop_map(|bit| 1 << bit)], 0..200),
            targets in prop::collection::vec(any::<u64>(), 20),
        ) {
            heads.sort_unstable();
            let near = heads.clone();
            for target in near.iter().flat_map(|&head| [head.wrapping_sub(1), head, head.wrapping_add(1)]) {
                check(&heads, target);
            }
            for target in targets.into_iter().chain([0, 1, u64::MAX]) {
                let looks = check(&heads, target);
                prop_assert!(looks <= 2 * heads.len().max(1).ilog2() as usize + 5, "{looks} of {}", heads.len());
            }
        }
    }

    #[test]
    fn interpolation_looks_at_few_evenly_spread_keys() {
        // What `index_block_search_type = kInterpolation` is for.
        let heads: Vec<u64> = (0..10_000).map(|number| number * 1_000_003 + number % 7).collect();
        let looks: usize = heads.iter().map(|head| check(&heads, head + 1)).sum();
        let bisection = 10_000usize.ilog2() as usize + 1;
        assert!(looks < heads.len() * bisection / 2, "{looks} looks for {} targets", heads.len());
    }
}
