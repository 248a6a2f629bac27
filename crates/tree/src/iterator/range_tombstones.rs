//! The range tombstones of one source as an iterator sees them: cut to the file's boundaries, with a cursor.
//!
//! ```text
//! stored in the file    b ------------------------------- x      whole fragments, also beyond the file
//! file boundaries            [smallest ............ largest]
//! effective                  f -------------------- r            truncated
//! ```
//!
//! A table stores every fragment that overlaps it in full; only the boundaries in the MANIFEST say which part counts.
//! Beyond them the tombstone may be outdated: newer entries there may have had their sequence numbers zeroed.
//!
//! The truncation is by *internal* keys, because versions of one user key may be spread over neighbouring files.
//! - A largest key with the range tombstone sentinel excludes its user key.
//! - A largest key of sequence number 0 is the exclusive end itself.
//! - Any other largest key is covered, and what is older than it is not: the end is `(largest user key, sequence - 1)`.

use ferrock_base::comparator::{Comparator, InternalComparator};
use ferrock_base::internal_key::{
    RANGE_TOMBSTONE_SENTINEL, append_internal_key, make_internal_key, sequence, trailer, user_key,
};
use ferrock_base::range_tombstone::{FragmentedRangeTombstones, RangeTombstone};
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
use std::cell::Cell;
use std::sync::Arc;

/// The exclusive internal-key end up to which the tombstones of a file with this `largest` key count.
#[must_use]
pub fn truncation_limit(largest: &[u8]) -> Vec<u8> {
    let newest = sequence(largest);
    if trailer(largest) == RANGE_TOMBSTONE_SENTINEL || newest.0 == 0 {
        return largest.to_vec();
    }
    make_internal_key(user_key(largest), SequenceNumber(newest.0 - 1), ValueType::FOR_SEEK)
}

/// The tombstones of one memtable or table, truncated, with a cursor that makes queries for neighbouring keys cheap.
#[derive(Clone, Debug)]
pub struct RangeTombstoneSource {
    fragments: Arc<FragmentedRangeTombstones>,
    /// Inclusive internal key.
    smallest: Option<Vec<u8>>,
    /// Exclusive internal key.
    limit: Option<Vec<u8>>,
    /// First fragment that ends after the last key asked about.
    cursor: Cell<usize>,
}

impl RangeTombstoneSource {
    /// Tombstones that count everywhere: those of a memtable.
    #[must_use]
    pub fn new(fragments: Arc<FragmentedRangeTombstones>) -> Self {
        Self { fragments, smallest: None, limit: None, cursor: Cell::new(0) }
    }

    /// Tombstones of a table whose boundaries in the MANIFEST are the internal keys `smallest` and `largest`.
    #[must_use]
    pub fn truncated(fragments: Arc<FragmentedRangeTombstones>, smallest: &[u8], largest: &[u8]) -> Self {
        Self {
            fragments,
            smallest: Some(smallest.to_vec()),
            limit: Some(truncation_limit(largest)),
            cursor: Cell::new(0),
        }
    }

    /// The fragments, not truncated.
    #[must_use]
    pub fn fragments(&self) -> &Arc<FragmentedRangeTombstones> {
        &self.fragments
    }

    /// Inclusive internal key from which the tombstones count; `None` = from the start.
    #[must_use]
    pub fn smallest(&self) -> Option<&[u8]> {
        self.smallest.as_deref()
    }

    /// Exclusive internal key up to which the tombstones count; `None` = to the end.
    #[must_use]
    pub fn limit(&self) -> Option<&[u8]> {
        self.limit.as_deref()
    }

    /// True when there may be tombstones from one user key to another, both included; `None`: from the start, to the
    /// end.
    #[must_use]
    pub fn overlaps(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        let first = from.map_or(0, |from| self.fragments.first_ending_after(from));
        let order = self.fragments.comparator();
        self.fragments.get(first).is_some_and(|first| to.is_none_or(|to| order.compare(first.start, to).is_le()))
    }

    fn contains(&self, order: &InternalComparator, key: &[u8]) -> bool {
        self.smallest.as_ref().is_none_or(|smallest| order.compare(smallest, key).is_le())
            && self.limit.as_ref().is_none_or(|limit| order.compare(key, limit).is_lt())
    }

    /// Puts the cursor on the fragment over `key`, or on the next one; true when it is over it.
    fn locate(&self, key: &[u8]) -> bool {
        let order = self.fragments.comparator();
        let at = self.cursor.get();
        if let Some(fragment) = self.fragments.get(at)
            && order.compare(key, fragment.end).is_lt()
        {
            if order.compare(fragment.start, key).is_le() {
                return true;
            }
            let after_previous = match at.checked_sub(1).and_then(|index| self.fragments.get(index)) {
                Some(previous) => order.compare(previous.end, key).is_le(),
                None => true,
            };
            if after_previous {
                return false;
            }
        }
        let at = self.fragments.first_ending_after(key);
        self.cursor.set(at);
        self.fragments.get(at).is_some_and(|fragment| order.compare(fragment.start, key).is_le())
    }

    /// The newest tombstone over the internal key `key` that a reader at `upper` sees.
    #[must_use]
    pub fn covering_sequence(
        &self,
        order: &InternalComparator,
        key: &[u8],
        upper: SequenceNumber,
    ) -> Option<SequenceNumber> {
        if self.fragments.is_empty() || !self.locate(user_key(key)) {
            return None;
        }
        let newest = self.fragments.get(self.cursor.get())?.newest_at(upper)?;
        self.contains(order, key).then_some(newest)
    }

    /// Writes to `target` the internal key behind everything that is covered without a gap from `key` on.
    /// Only to be called when a tombstone visible at `upper` covers `key`.
    pub fn covered_until(
        &self,
        order: &InternalComparator,
        key: &[u8],
        upper: SequenceNumber,
        target: &mut Vec<u8>,
    ) -> bool {
        if self.covering_sequence(order, key, upper).is_none() {
            return false;
        }
        let mut at = self.cursor.get();
        let Some(mut last) = self.fragments.get(at) else { return false };
        while let Some(next) = self.fragments.get(at + 1)
            && order.user().equal(last.end, next.start)
            && next.newest_at(upper).is_some()
        {
            last = next;
            at += 1;
        }
        target.clear();
        append_internal_key(target, last.end, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        if let Some(limit) = &self.limit
            && order.compare(limit, target).is_lt()
        {
            target.clear();
            target.extend_from_slice(limit);
        }
        true
    }

    /// Writes to `target` the internal key from which on everything up to `key` is covered without a gap.
    pub fn covered_from(
        &self,
        order: &InternalComparator,
        key: &[u8],
        upper: SequenceNumber,
        target: &mut Vec<u8>,
    ) -> bool {
        if self.covering_sequence(order, key, upper).is_none() {
            return false;
        }
        let mut at = self.cursor.get();
        let Some(mut first) = self.fragments.get(at) else { return false };
        while let Some(previous) = at.checked_sub(1).and_then(|index| self.fragments.get(index))
            && order.user().equal(previous.end, first.start)
            && previous.newest_at(upper).is_some()
        {
            first = previous;
            at -= 1;
        }
        target.clear();
        append_internal_key(target, first.start, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK);
        if let Some(smallest) = &self.smallest
            && order.compare(target, smallest).is_lt()
        {
            target.clear();
            target.extend_from_slice(smallest);
        }
        true
    }
}

/// The newest tombstone of a table that a point lookup of `user_key` at `upper` must respect.
///
/// By user key, not by internal keys as iterators truncate: where the versions of the key go on in the next file of the
/// level, that file has the same tombstone, as long as this one has. All files of a level that share a user key are
/// compacted together.
#[must_use]
pub fn covering_sequence_in_file(
    fragments: &FragmentedRangeTombstones,
    smallest: &[u8],
    largest: &[u8],
    key: &[u8],
    upper: SequenceNumber,
) -> Option<SequenceNumber> {
    if fragments.is_empty() {
        return None;
    }
    let order = fragments.comparator();
    let before_end = match order.compare(key, user_key(largest)) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Equal => trailer(largest) != RANGE_TOMBSTONE_SENTINEL,
        std::cmp::Ordering::Greater => false,
    };
    if !before_end || order.compare(key, user_key(smallest)).is_lt() {
        return None;
    }
    fragments.max_covering_sequence(key, upper)
}

/// The tombstones of a compaction input, one per fragment and sequence number, clipped by user key to its boundaries:
/// what the outputs have to carry on.
pub fn clip_to_file(
    fragments: &FragmentedRangeTombstones,
    smallest: &[u8],
    largest: &[u8],
    out: &mut Vec<RangeTombstone>,
) {
    let order = fragments.comparator();
    for fragment in fragments.iter() {
        let start = later(order, fragment.start, user_key(smallest));
        let end = earlier(order, fragment.end, user_key(largest));
        if order.compare(start, end).is_ge() {
            continue;
        }
        out.extend(fragment.sequences.iter().map(|&sequence| RangeTombstone {
            start: start.to_vec(),
            end: end.to_vec(),
            sequence,
        }));
    }
}

fn later<'a>(order: &Comparator, a: &'a [u8], b: &'a [u8]) -> &'a [u8] {
    if order.compare(a, b).is_lt() { b } else { a }
}

fn earlier<'a>(order: &Comparator, a: &'a [u8], b: &'a [u8]) -> &'a [u8] {
    if order.compare(b, a).is_lt() { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragments(list: &[(u8, u8, u64)]) -> Arc<FragmentedRangeTombstones> {
        let list = list.iter().map(|&(start, end, sequence)| RangeTombstone {
            start: vec![start],
            end: vec![end],
            sequence: SequenceNumber(sequence),
        });
        Arc::new(FragmentedRangeTombstones::new(Comparator::Bytewise, list.collect()))
    }

    fn key(user: u8, sequence: u64) -> Vec<u8> {
        make_internal_key(&[user], SequenceNumber(sequence), ValueType::Value)
    }

    fn covered(source: &RangeTombstoneSource, user: u8, sequence: u64) -> bool {
        let order = InternalComparator::default();
        source.covering_sequence(&order, &key(user, sequence), MAX_SEQUENCE_NUMBER).is_some_and(|s| s.0 > sequence)
    }

    #[test]
    fn a_sentinel_excludes_its_user_key() {
        let sentinel = make_internal_key(b"m", MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);
        let source = RangeTombstoneSource::truncated(fragments(&[(b'a', b'z', 9)]), &key(b'c', 5), &sentinel);
        assert!(covered(&source, b'l', 3));
        assert!(!covered(&source, b'm', 3));
        assert!(!covered(&source, b'b', 3));
        assert!(covered(&source, b'c', 5));
    }

    #[test]
    fn a_point_key_is_covered_but_nothing_older() {
        let source = RangeTombstoneSource::truncated(fragments(&[(b'a', b'z', 9)]), &key(b'c', 5), &key(b'm', 6));
        assert!(covered(&source, b'm', 7));
        assert!(covered(&source, b'm', 6));
        assert!(!covered(&source, b'm', 5));
        let zero = RangeTombstoneSource::truncated(fragments(&[(b'a', b'z', 9)]), &key(b'c', 5), &key(b'm', 0));
        assert!(covered(&zero, b'l', 0));
        assert!(!covered(&zero, b'm', 0));
    }

    #[test]
    fn runs_of_fragments_are_jumped_as_one() {
        let order = InternalComparator::default();
        let source = RangeTombstoneSource::new(fragments(&[(1, 4, 9), (4, 8, 5), (8, 12, 20)]));
        let mut target = Vec::new();
        assert!(source.covered_until(&order, &key(2, 1), SequenceNumber(10), &mut target));
        assert_eq!(user_key(&target), [8]);
        assert!(source.covered_from(&order, &key(6, 1), SequenceNumber(10), &mut target));
        assert_eq!(user_key(&target), [1]);
        assert!(!source.covered_until(&order, &key(9, 1), SequenceNumber(10), &mut target));
    }

    #[test]
    fn leaps_and_outputs_end_at_the_files_boundaries() {
        let order = InternalComparator::default();
        let list = fragments(&[(1, 20, 9)]);
        let source = RangeTombstoneSource::truncated(list.clone(), &key(5, 3), &key(12, 4));
        let mut target = Vec::new();
        assert!(source.covered_until(&order, &key(8, 1), SequenceNumber(10), &mut target));
        assert_eq!(target, truncation_limit(&key(12, 4)));
        assert!(source.covered_from(&order, &key(8, 1), SequenceNumber(10), &mut target));
        assert_eq!(target, key(5, 3));
        let mut clipped = Vec::new();
        clip_to_file(&list, &key(5, 3), &key(12, 4), &mut clipped);
        assert_eq!(clipped, [RangeTombstone { start: vec![5], end: vec![12], sequence: SequenceNumber(9) }]);
        clipped.clear();
        clip_to_file(&list, &key(20, 3), &key(30, 4), &mut clipped);
        assert!(clipped.is_empty());
        let at = |user: u8| covering_sequence_in_file(&list, &key(5, 3), &key(12, 4), &[user], SequenceNumber(10));
        assert_eq!([4, 5, 12, 13].map(|user| at(user).is_some()), [false, true, true, false]);
        let sentinel = make_internal_key(&[12], MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion);
        assert!(covering_sequence_in_file(&list, &key(5, 3), &sentinel, &[12], SequenceNumber(10)).is_none());
    }

    proptest! {
        #[test]
        fn the_cursor_never_changes_an_answer(
            list in prop::collection::vec((0u8..30, 0u8..30, 1u64..12), 0..14),
            bounds in (0u8..30, 0u64..12, 0u8..30, 0u64..12),
            asked in prop::collection::vec((0u8..30, 0u64..12, 0u64..14), 1..60),
        ) {
            let order = InternalComparator::default();
            let (smallest, largest) = (key(bounds.0, bounds.1), key(bounds.2, bounds.3));
            let source = RangeTombstoneSource::truncated(fragments(&list), &smallest, &largest);
            let limit = truncation_limit(&largest);
            for (user, sequence, upper) in asked {
                let key = key(user, sequence);
                let inside = order.compare(&smallest, &key).is_le() && order.compare(&key, &limit).is_lt();
                let expected = list
                    .iter()
                    .filter(|&&(start, end, at)| inside && start <= user && user < end && at <= upper)
                    .map(|&(_, _, at)| SequenceNumber(at))
                    .max();
                prop_assert_eq!(source.covering_sequence(&order, &key, SequenceNumber(upper)), expected);
            }
        }
    }
}
