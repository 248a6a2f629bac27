//! Range tombstones, cut into fragments that do not overlap.
//!
//! ```text
//! written:     [b,      g) @5            fragments:  [b, d) @5
//!                  [d,       k) @9                   [d, g) @9 @5
//!                                                    [g, k) @9
//! ```
//!
//! A fragment lists the sequence numbers of the tombstones over it, newest first. A
//! lookup finds the fragment by bisection and in it the newest tombstone that the
//! reader may see; an entry is deleted when its sequence number is smaller.
//!
//! Invariant: fragments are sorted, do not overlap, are not empty, and each has at
//! least one sequence number.

use crate::comparator::Comparator;
use crate::types::SequenceNumber;
use std::collections::BTreeMap;

/// Deletes the user keys in `[start, end)` that were written before `sequence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// First user key deleted.
    pub start: Vec<u8>,
    /// First user key not deleted.
    pub end: Vec<u8>,
    /// Entries with smaller sequence numbers are deleted.
    pub sequence: SequenceNumber,
}

/// One piece of the fragmented tombstones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// First user key covered.
    pub start: &'a [u8],
    /// First user key not covered.
    pub end: &'a [u8],
    /// Tombstones over the piece, newest first; never empty.
    pub sequences: &'a [SequenceNumber],
}

impl Fragment<'_> {
    /// The newest tombstone over the piece that a reader at `upper` sees.
    #[must_use]
    pub fn newest_at(&self, upper: SequenceNumber) -> Option<SequenceNumber> {
        let older = self.sequences.partition_point(|&sequence| sequence > upper);
        self.sequences.get(older).copied()
    }
}

#[derive(Clone, Debug)]
struct Piece {
    start: Vec<u8>,
    end: Vec<u8>,
    first_sequence: usize,
    sequence_count: usize,
}

/// Tombstones as sorted fragments. Immutable once built.
#[derive(Clone, Debug, Default)]
pub struct FragmentedRangeTombstones {
    comparator: Comparator,
    pieces: Vec<Piece>,
    sequences: Vec<SequenceNumber>,
    tombstone_count: usize,
}

impl FragmentedRangeTombstones {
    /// Fragments `tombstones`, which may overlap and come in any order. Empty and inverted ranges delete nothing.
    #[must_use]
    pub fn new(comparator: Comparator, mut tombstones: Vec<RangeTombstone>) -> Self {
        tombstones.retain(|tombstone| comparator.compare(&tombstone.start, &tombstone.end).is_lt());
        let tombstone_count = tombstones.len();
        tombstones.sort_by(|a, b| comparator.compare(&a.start, &b.start).then(b.sequence.cmp(&a.sequence)));
        let mut boundaries: Vec<&[u8]> =
            tombstones.iter().flat_map(|tombstone| [&tombstone.start[..], &tombstone.end[..]]).collect();
        boundaries.sort_by(|a, b| comparator.compare(a, b));
        boundaries.dedup_by(|a, b| comparator.equal(a, b));

        let mut pieces = Vec::new();
        let mut sequences = Vec::new();
        // Tombstones over the current piece: sequence number -> how many. (Their ends are not needed: each tombstone
        // leaves the map at its own end.)
        let mut active: BTreeMap<SequenceNumber, usize> = BTreeMap::new();
        let mut ends: Vec<(&[u8], SequenceNumber)> =
            tombstones.iter().map(|tombstone| (&tombstone.end[..], tombstone.sequence)).collect();
        ends.sort_by(|a, b| comparator.compare(a.0, b.0));
        let (mut next_start, mut next_end) = (0, 0);
        for pair in boundaries.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            while next_end < ends.len() && comparator.compare(ends[next_end].0, start).is_le() {
                if let Some(count) = active.get_mut(&ends[next_end].1) {
                    *count -= 1;
                    if *count == 0 {
                        active.remove(&ends[next_end].1);
                    }
                }
                next_end += 1;
            }
            while next_start < tombstones.len() && comparator.compare(&tombstones[next_start].start, start).is_le() {
                *active.entry(tombstones[next_start].sequence).or_insert(0) += 1;
                next_start += 1;
            }
            if active.is_empty() {
                continue;
            }
            let first_sequence = sequences.len();
            sequences.extend(active.keys().rev().copied());
            pieces.push(Piece {
                start: start.to_vec(),
                end: end.to_vec(),
                first_sequence,
                sequence_count: sequences.len() - first_sequence,
            });
        }
        Self { comparator, pieces, sequences, tombstone_count }
    }

    /// True if no key is deleted.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Number of fragments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Number of tombstones that were fragmented.
    #[must_use]
    pub fn tombstone_count(&self) -> usize {
        self.tombstone_count
    }

    /// The order of the keys.
    #[must_use]
    pub fn comparator(&self) -> &Comparator {
        &self.comparator
    }

    /// The fragment at `index`, in key order.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Fragment<'_>> {
        self.pieces.get(index).map(|piece| Fragment {
            start: &piece.start,
            end: &piece.end,
            sequences: &self.sequences[piece.first_sequence..piece.first_sequence + piece.sequence_count],
        })
    }

    /// All fragments in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Fragment<'_>> + ExactSizeIterator {
        (0..self.pieces.len()).map(|index| {
            let piece = &self.pieces[index];
            Fragment {
                start: &piece.start,
                end: &piece.end,
                sequences: &self.sequences[piece.first_sequence..piece.first_sequence + piece.sequence_count],
            }
        })
    }

    /// Index of the first fragment that ends after `user_key`: the one over it, or the next one.
    #[must_use]
    pub fn first_ending_after(&self, user_key: &[u8]) -> usize {
        self.pieces.partition_point(|piece| self.comparator.compare(&piece.end, user_key).is_le())
    }

    /// The fragment over `user_key`.
    #[must_use]
    pub fn covering(&self, user_key: &[u8]) -> Option<Fragment<'_>> {
        let fragment = self.get(self.first_ending_after(user_key))?;
        self.comparator.compare(fragment.start, user_key).is_le().then_some(fragment)
    }

    /// The newest tombstone over `user_key` that a reader at `upper` sees.
    #[must_use]
    pub fn max_covering_sequence(&self, user_key: &[u8], upper: SequenceNumber) -> Option<SequenceNumber> {
        if self.is_empty() {
            return None;
        }
        self.covering(user_key)?.newest_at(upper)
    }

    /// Bytes held, for memory accounting.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let keys: usize = self.pieces.iter().map(|piece| piece.start.capacity() + piece.end.capacity()).sum();
        keys + self.pieces.capacity() * size_of::<Piece>() + self.sequences.capacity() * size_of::<SequenceNumber>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tombstone(start: &str, end: &str, sequence: u64) -> RangeTombstone {
        RangeTombstone { start: start.into(), end: end.into(), sequence: SequenceNumber(sequence) }
    }

    #[test]
    fn overlapping_tombstones_are_cut_at_every_end() {
        let list = vec![tombstone("d", "k", 9), tombstone("b", "g", 5), tombstone("x", "a", 3)];
        let fragments = FragmentedRangeTombstones::new(Comparator::Bytewise, list);
        let shown: Vec<String> = fragments
            .iter()
            .map(|piece| {
                let sequences: Vec<u64> = piece.sequences.iter().map(|sequence| sequence.0).collect();
                format!("{}-{} {sequences:?}", piece.start.escape_ascii(), piece.end.escape_ascii())
            })
            .collect();
        assert_eq!(shown, ["b-d [5]", "d-g [9, 5]", "g-k [9]"]);
        assert_eq!(fragments.max_covering_sequence(b"e", SequenceNumber(8)), Some(SequenceNumber(5)));
        assert_eq!(fragments.max_covering_sequence(b"k", SequenceNumber(99)), None);
    }

    proptest! {
        #[test]
        fn fragments_answer_like_the_list(
            list in prop::collection::vec((0u8..20, 0u8..20, 1u64..12), 0..14),
            key in 0u8..20,
            upper in 0u64..14,
            reverse in any::<bool>(),
        ) {
            let comparator = if reverse { Comparator::ReverseBytewise } else { Comparator::Bytewise };
            let tombstones: Vec<RangeTombstone> = list
                .iter()
                .map(|&(start, end, sequence)| RangeTombstone {
                    start: vec![start],
                    end: vec![end],
                    sequence: SequenceNumber(sequence),
                })
                .collect();
            let expected = tombstones
                .iter()
                .filter(|t| comparator.compare(&t.start, &[key]).is_le() && comparator.compare(&[key], &t.end).is_lt())
                .map(|t| t.sequence)
                .filter(|sequence| sequence.0 <= upper)
                .max();
            let fragments = FragmentedRangeTombstones::new(comparator.clone(), tombstones);
            prop_assert_eq!(fragments.max_covering_sequence(&[key], SequenceNumber(upper)), expected);
            for pair in 1..fragments.len() {
                let (left, right) = (fragments.get(pair - 1).unwrap(), fragments.get(pair).unwrap());
                prop_assert!(comparator.compare(left.end, right.start).is_le());
            }
        }
    }
}
