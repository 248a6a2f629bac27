//! The reads that wait for room in the ring: in the order in which they began, and by file and offset.
//!
//! ```text
//! order    5 -> 9 -> 2 -> 7                 a request is made for the oldest ...
//! index    |--9--|--5--|   |-2-|    |-7-|   ... and includes those near it (here 9, and 2 across a gap)
//! ```
//!
//! The search for neighbours goes outwards from the oldest read and ends, in each direction, at the first read that is
//! not near the range found so far. Blocks of a table are either equal or disjoint; among such ranges this finds every
//! neighbour.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use crate::ranges::plan::ReadSpan;
use crate::ranges::slots::{Chain, Links};

/// Where a read lies: its file and its range there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileSpan {
    /// The address of the file object, unique for as long as a read holds the file.
    pub(super) file: usize,
    pub(super) span: ReadSpan,
    /// The read must not share a request, because one that it shared failed.
    pub(super) is_alone: bool,
}

/// Which reads may share a request.
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
    /// File, first byte and number of the reads that are not alone.
    index: BTreeSet<(usize, u64, usize)>,
}

impl Waiting {
    pub(super) fn length(&self) -> usize {
        self.order.length()
    }

    pub(super) fn oldest(&self) -> Option<usize> {
        self.order.first()
    }

    /// Adds a read as the youngest.
    pub(super) fn push(&mut self, links: &mut Links, number: usize, file_span: &FileSpan) {
        self.order.push(links, number);
        if !file_span.is_alone {
            self.index.insert((file_span.file, file_span.span.asked_start, number));
        }
    }

    pub(super) fn remove(&mut self, links: &mut Links, number: usize, file_span: &FileSpan) {
        self.order.remove(links, number);
        if !file_span.is_alone {
            self.index.remove(&(file_span.file, file_span.span.asked_start, number));
        }
    }

    /// Puts reads that must be alone before all others.
    pub(super) fn put_first(&mut self, links: &mut Links, alone: Chain) {
        self.order.put_first(links, alone);
    }

    /// Appends to `members`, which holds the oldest read, the reads that join its request; returns the range of the
    /// request.
    pub(super) fn join<'s>(
        &self,
        members: &mut Vec<usize>,
        first: &FileSpan,
        limits: Limits,
        span_of: impl Fn(usize) -> Option<&'s ReadSpan>,
    ) -> ReadSpan {
        let mut whole = first.span;
        let (Some(&oldest), false) = (members.first(), first.is_alone) else { return whole };
        let max_bytes = limits.max_bytes.max(whole.length());
        let place = (first.file, first.span.asked_start, oldest);
        for &(file, _, number) in self.index.range(..place).rev() {
            let Some(before) = span_of(number).filter(|_| file == first.file) else { break };
            let joined = before.with(&whole);
            // Reads before this one begin earlier still.
            if !before.is_near(&whole, limits.gap_bytes) || joined.length() > max_bytes {
                break;
            }
            whole = joined;
            members.push(number);
        }
        for &(file, _, number) in self.index.range((Excluded(place), Unbounded)) {
            let Some(behind) = span_of(number).filter(|_| file == first.file) else { break };
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

    fn file_spans(ranges: &[(usize, u64, u64)]) -> Vec<FileSpan> {
        let span = |start, end| ReadSpan::of(&Wanted { index: 0, start, end }, UNIT);
        ranges
            .iter()
            .map(|&(file, start, length)| FileSpan { file, span: span(start, start + length), is_alone: false })
            .collect()
    }

    /// The members of the oldest read's request, by number, and its range.
    fn join(file_spans: &[FileSpan], gap_bytes: u64, max_bytes: u64) -> (Vec<usize>, ReadSpan) {
        let (mut waiting, mut links) = (Waiting::default(), Links::default());
        for (number, file_span) in file_spans.iter().enumerate() {
            waiting.push(&mut links, number, file_span);
        }
        let mut members = vec![0];
        let limits = Limits { gap_bytes, max_bytes };
        let whole = waiting.join(&mut members, &file_spans[0], limits, |number| {
            file_spans.get(number).map(|file_span| &file_span.span)
        });
        for (number, file_span) in file_spans.iter().enumerate() {
            waiting.remove(&mut links, number, file_span);
        }
        assert!(waiting.length() == 0 && waiting.index.is_empty());
        members[1..].sort_unstable();
        (members, whole)
    }

    #[test]
    fn neighbours_join_as_far_as_the_gap_and_the_length_allow() {
        let same = join(&file_spans(&[(1, 4096, 4096), (1, 4096, 4096), (2, 4096, 4096), (1, 4096, 4096)]), 0, 1 << 18);
        assert_eq!((same.0, same.1.length()), (vec![0, 1, 3], 4096));
        // In a row, on both sides; the last lies one unit away.
        let row = file_spans(&[
            (1, 9000, 100),
            (1, 8704, 10),
            (1, 9216, 600),
            (1, 10_000, 200),
            (1, 8192, 5),
            (1, 10_752, 5),
        ]);
        let (members, whole) = join(&row, 0, 1 << 18);
        assert_eq!((members, whole.start, whole.end), (vec![0, 1, 2, 3, 4], 8192, 10_240));
        // Its first byte lies 552 behind the last that is wanted.
        assert_eq!(join(&row, 551, 1 << 18).0.len(), 5);
        assert_eq!(join(&row, 552, 1 << 18).0.len(), 6);
        // Reads before the oldest are tried first; 9216..10240 would then be too long.
        assert_eq!(join(&row, 0, 1024).0, [0, 1, 4]);
        assert_eq!(join(&row, 0, 1).0, [0, 1], "others join it only where it reads anyway");
        assert_eq!(join(&file_spans(&[(1, 0, 8192), (1, 4096, 4096), (1, 8192, 1)]), 0, 1).0, [0, 1]);
    }

    proptest! {
        /// Compares with the definition, for ranges that are equal or disjoint, as blocks are.
        #[test]
        fn all_near_blocks_join(
            blocks in prop::collection::vec((0usize..2, 0u64..40), 1..40),
            gap in prop::sample::select(vec![0u64, 1000, 4096, 9000]),
        ) {
            let places: Vec<_> = blocks.iter().map(|&(file, block)| (file, block * 1500, 1500)).collect();
            let file_spans = file_spans(&places);
            let (members, whole) = join(&file_spans, gap, u64::MAX);
            let mut expected = vec![0];
            let mut reached = file_spans[0].span;
            loop {
                let next = (0..file_spans.len()).find(|&number| {
                    let span = &file_spans[number].span;
                    let (low, high) = if span.start < reached.start { (span, &reached) } else { (&reached, span) };
                    file_spans[number].file == file_spans[0].file && !expected.contains(&number) && low.is_near(high, gap)
                });
                let Some(next) = next else { break };
                reached = reached.with(&file_spans[next].span);
                expected.push(next);
            }
            expected[1..].sort_unstable();
            prop_assert_eq!((members, whole), (expected, reached));
        }
    }
}
