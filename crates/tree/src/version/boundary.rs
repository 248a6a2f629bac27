//! Comparing the boundaries of files.
//!
//! Two files of a level may share a user key (the newer versions in the first); a compaction that moves one of them
//! must move the other too, or an older version would lie above a newer one. So ranges are compared by *user key*, with
//! one exception: a `largest` that is the exclusive end of a range tombstone does not reach its own user key.
//!
//! ```text
//! [a@9 .. k@5] [k@3 .. z@1]        share k: never part them
//! [a@9 .. k@sentinel] [k@3 .. z@1] do not share k: may be parted
//! ```

use super::FileMetadata;
use ferrock_base::Comparator;
use ferrock_base::internal_key::{RANGE_TOMBSTONE_SENTINEL, trailer, user_key};
use std::cmp::Ordering;

/// Compares two boundaries (internal keys) by user key; an exclusive end sorts before its user key.
#[inline]
#[must_use]
pub fn compare_boundaries(comparator: &Comparator, a: &[u8], b: &[u8]) -> Ordering {
    comparator.compare(user_key(a), user_key(b)).then_with(|| {
        let a_is_exclusive = trailer(a) == RANGE_TOMBSTONE_SENTINEL;
        let b_is_exclusive = trailer(b) == RANGE_TOMBSTONE_SENTINEL;
        b_is_exclusive.cmp(&a_is_exclusive)
    })
}

/// A range of keys between two boundaries, both internal keys; `None` is without bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoundaryRange {
    /// Where it begins.
    pub smallest: Option<Vec<u8>>,
    /// Where it ends, inclusive unless the trailer is the range tombstone sentinel.
    pub largest: Option<Vec<u8>>,
}

impl BoundaryRange {
    /// The range of user keys `[begin, end]`; `None` is without bound.
    #[must_use]
    pub fn of_user_keys(begin: Option<&[u8]>, end: Option<&[u8]>) -> Self {
        use ferrock_base::internal_key::make_internal_key;
        use ferrock_base::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};
        Self {
            smallest: begin.map(|key| make_internal_key(key, MAX_SEQUENCE_NUMBER, ValueType::FOR_SEEK)),
            largest: end.map(|key| make_internal_key(key, SequenceNumber(0), ValueType::Deletion)),
        }
    }

    /// The smallest range that holds all `files`; `None` when there are none.
    pub fn of_files<'a>(comparator: &Comparator, files: impl IntoIterator<Item = &'a FileMetadata>) -> Option<Self> {
        let mut files = files.into_iter();
        let first = files.next()?;
        let (mut smallest, mut largest) = (&first.smallest, &first.largest);
        for file in files {
            if compare_boundaries(comparator, &file.smallest, smallest).is_lt() {
                smallest = &file.smallest;
            }
            if compare_boundaries(comparator, &file.largest, largest).is_gt() {
                largest = &file.largest;
            }
        }
        Some(Self { smallest: Some(smallest.clone()), largest: Some(largest.clone()) })
    }

    /// True when `file` begins after the range.
    #[inline]
    #[must_use]
    pub fn is_before(&self, comparator: &Comparator, file: &FileMetadata) -> bool {
        self.largest.as_ref().is_some_and(|largest| compare_boundaries(comparator, &file.smallest, largest).is_gt())
    }

    /// True when `file` ends before the range.
    #[inline]
    #[must_use]
    pub fn is_after(&self, comparator: &Comparator, file: &FileMetadata) -> bool {
        self.smallest.as_ref().is_some_and(|smallest| compare_boundaries(comparator, &file.largest, smallest).is_lt())
    }

    /// True when `file` shares a user key with the range.
    #[inline]
    #[must_use]
    pub fn overlaps(&self, comparator: &Comparator, file: &FileMetadata) -> bool {
        !self.is_before(comparator, file) && !self.is_after(comparator, file)
    }

    /// True when the ranges share a user key.
    #[must_use]
    pub fn overlaps_range(&self, comparator: &Comparator, other: &Self) -> bool {
        let is_apart = |end: &Option<Vec<u8>>, start: &Option<Vec<u8>>| match (end, start) {
            (Some(end), Some(start)) => compare_boundaries(comparator, end, start).is_lt(),
            _ => false,
        };
        !is_apart(&self.largest, &other.smallest) && !is_apart(&other.largest, &self.smallest)
    }
}
