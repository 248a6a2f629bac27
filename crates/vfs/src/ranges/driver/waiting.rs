//! The reads that wait for a place in the ring: in the order in which they began, and by what they want of which file.
//!
//! ```text
//! order    5 -> 9 -> 2 -> 7                 a request begins with the oldest ...
//! index    |--9--|--5--|   |-2-|    |-7-|   ... and takes along those that are near it (here 9, and 2 over a gap)
//! ```
//!
//! Neighbours are looked for from the oldest outwards, as far as each is near what was found. Blocks of a table overlap
//! whole or not at all, and of such ranges none is missed.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use super::slots::{Chain, Links};
use crate::ranges::plan::Stretch;

/// A read as others look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Tells files apart, for as long as a read holds the file.
    pub(super) file: usize,
    pub(super) stretch: Stretch,
    /// It shares no request: one that it shared failed.
    pub(super) is_alone: bool,
}

/// What may share a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most unwanted bytes between two ranges.
    pub(super) gap_bytes: u64,
    /// Longest request, unless one read alone is longer.
    pub(super) max_bytes: u64,
}

#[derive(Default)]
pub(super) struct Waiting {
    order: Chain,
    /// File, first byte and number of those that are not alone.
    index: BTreeSet<(usize, u64, usize)>,
}

impl Waiting {
    pub(super) fn length(&self) -> usize {
        self.order.length()
    }

    pub(super) fn oldest(&self) -> Option<usize> {
        self.order.first()
    }

    /// Adds the youngest.
    pub(super) fn push(&mut self, links: &mut Links, number: usize, spot: &Spot) {
        self.order.push(links, number);
        if !spot.is_alone {
            self.index.insert((spot.file, spot.stretch.asked_start, number));
        }
    }

    pub(super) fn remove(&mut self, links: &mut Links, number: usize, spot: &Spot) {
        self.order.remove(links, number);
        if !spot.is_alone {
            self.index.remove(&(spot.file, spot.stretch.asked_start, number));
        }
    }

    /// Puts reads that are alone before all others.
    pub(super) fn put_first(&mut self, links: &mut Links, alone: Chain) {
        self.order.put_first(links, alone);
    }

    /// Lists, behind the read that a request begins with, those that join it, and says what the request reads.
    pub(super) fn join<'s>(
        &self,
        members: &mut Vec<usize>,
        first: &Spot,
        limits: Limits,
        stretch_of: impl Fn(usize) -> Option<&'s Stretch>,
    ) -> Stretch {
        let mut whole = first.stretch;
        let (Some(&oldest), false) = (members.first(), first.is_alone) else { return whole };
        let max_bytes = limits.max_bytes.max(whole.length());
        let place = (first.file, first.stretch.asked_start, oldest);
        for &(file, _, number) in self.index.range(..place).rev() {
            let Some(before) = stretch_of(number).filter(|_| file == first.file) else { break };
            let joined = before.with(&whole);
            // Those before it begin earlier still.
            if !before.is_near(&whole, limits.gap_bytes) || joined.length() > max_bytes {
                break;
            }
            whole = joined;
            members.push(number);
        }
        for &(file, _, number) in self.index.range((Excluded(place), Unbounded)) {
            let Some(behind) = stretch_of(number).filter(|_| file == first.file) else { break };
            if !whole.is_near(behind, limits.gap_bytes) {
                break;
            }
            let joined = whole.with(behind);
            if joined.length() <= max_bytes {
                whole = joined;
                members.push(number);
            }
        }
        whole
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::ranges::plan::Wanted;
    use proptest::prelude::*;

    const UNIT: u64 = 512;

    fn spots(ranges: &[(usize, u64, u64)]) -> Vec<Spot> {
        let stretch = |start, end| Stretch::of(&Wanted { index: 0, start, end }, UNIT);
        ranges
            .iter()
            .map(|&(file, start, length)| Spot { file, stretch: stretch(start, start + length), is_alone: false })
            .collect()
    }

    /// What the oldest takes along, by number, and the request.
    fn join(spots: &[Spot], gap_bytes: u64, max_bytes: u64) -> (Vec<usize>, Stretch) {
        let (mut waiting, mut links) = (Waiting::default(), Links::default());
        for (number, spot) in spots.iter().enumerate() {
            waiting.push(&mut links, number, spot);
        }
        let mut members = vec![0];
        let limits = Limits { gap_bytes, max_bytes };
        let whole = waiting.join(&mut members, &spots[0], limits, |number| spots.get(number).map(|spot| &spot.stretch));
        for (number, spot) in spots.iter().enumerate() {
            waiting.remove(&mut links, number, spot);
        }
        assert!(waiting.length() == 0 && waiting.index.is_empty());
        members[1..].sort_unstable();
        (members, whole)
    }

    #[test]
    fn neighbours_join_as_far_as_the_gap_and_the_length_allow() {
        let same = join(&spots(&[(1, 4096, 4096), (1, 4096, 4096), (2, 4096, 4096), (1, 4096, 4096)]), 0, 1 << 18);
        assert_eq!((same.0, same.1.length()), (vec![0, 1, 3], 4096));
        // In a row, on both sides; the last lies one unit away.
        let row =
            spots(&[(1, 9000, 100), (1, 8704, 10), (1, 9216, 600), (1, 10_000, 200), (1, 8192, 5), (1, 10_752, 5)]);
        let (members, whole) = join(&row, 0, 1 << 18);
        assert_eq!((members, whole.start, whole.end), (vec![0, 1, 2, 3, 4], 8192, 10_240));
        // Its first byte lies 552 behind the last that is wanted.
        assert_eq!(join(&row, 551, 1 << 18).0.len(), 5);
        assert_eq!(join(&row, 552, 1 << 18).0.len(), 6);
        // What is before comes first; 9216..10240 would be too much then.
        assert_eq!(join(&row, 0, 1024).0, [0, 1, 4]);
        assert_eq!(join(&row, 0, 1).0, [0, 1], "others join it only where it reads anyway");
        assert_eq!(join(&spots(&[(1, 0, 8192), (1, 4096, 4096), (1, 8192, 1)]), 0, 1).0, [0, 1]);
    }

    proptest! {
        /// Against the definition, for ranges that are the same or apart, as blocks are.
        #[test]
        fn all_near_blocks_join(
            blocks in prop::collection::vec((0usize..2, 0u64..40), 1..40),
            gap in prop::sample::select(vec![0u64, 1000, 4096, 9000]),
        ) {
            let places: Vec<_> = blocks.iter().map(|&(file, block)| (file, block * 1500, 1500)).collect();
            let spots = spots(&places);
            let (members, whole) = join(&spots, gap, u64::MAX);
            let mut expected = vec![0];
            let mut reached = spots[0].stretch;
            loop {
                let next = (0..spots.len()).find(|&number| {
                    let stretch = &spots[number].stretch;
                    let (low, high) = if stretch.start < reached.start { (stretch, &reached) } else { (&reached, stretch) };
                    spots[number].file == spots[0].file && !expected.contains(&number) && low.is_near(high, gap)
                });
                let Some(next) = next else { break };
                reached = reached.with(&spots[next].stretch);
                expected.push(next);
            }
            expected[1..].sort_unstable();
            prop_assert_eq!((members, whole), (expected, reached));
        }
    }
}
