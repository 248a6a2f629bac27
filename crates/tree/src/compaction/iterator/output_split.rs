//! Where an output file ends, and which keys and range tombstones belong to it.
//!
//! ```text
//! outputs        [first .. last][upper)[first' .. last'][upper') ...
//! tombstones         |---------- stored whole in both --------|
//! boundaries     smallest .......... (first', max, 0F)  = exclusive: tombstones reach up to the next file
//! ```
//!
//! A tombstone that spans several outputs is stored whole in each; the boundaries cut it. Between two outputs there is
//! no gap: one ends where the next begins, so that no deleted key falls through. When both have versions of one user
//! key, the boundary is the earlier file's last key itself.

use super::required_edges::RequiredEdges;
use ferrock_base::comparator::InternalComparator;
use ferrock_base::internal_key::{
    RANGE_TOMBSTONE_SENTINEL, make_internal_key, pack_trailer, sequence, trailer, user_key,
};
use ferrock_base::range_tombstone::RangeTombstone;
use ferrock_base::sst_partitioner::{PartitionerRequest, SstPartitioner};
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber, ValueType};

/// A file two levels below the inputs: outputs that overlap many of them are expensive to compact later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grandparent {
    /// Smallest internal key.
    pub smallest: Vec<u8>,
    /// Largest internal key.
    pub largest: Vec<u8>,
    /// Size of the file.
    pub size_bytes: u64,
}

/// How well the size of an output is to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// It is not larger.
    AtMost,
    /// It is of this size, now that all of it is written.
    Exact,
}

/// The size of the current output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputSize {
    /// So far.
    pub bytes: u64,
    /// What the file would have at most if it ended behind the next entry, where it must not exceed its target; else 0.
    pub with_entry_bytes: u64,
}

/// Decides before which keys a new output begins.
#[derive(Debug)]
pub struct OutputSplitter {
    order: InternalComparator,
    target_file_size_bytes: u64,
    /// The output ends here at the latest.
    most_bytes: u64,
    max_compaction_bytes: u64,
    grandparents: Vec<Grandparent>,
    /// Edges count only where the output has overlapped enough.
    only_at_limit: bool,
    /// The grandparent that the last key lies in, or, in a gap, the one behind it.
    index: usize,
    in_gap: bool,
    seen_key: bool,
    overlapped_bytes: u64,
    boundaries_in_output: u64,
    edges: RequiredEdges,
    /// Asked before everything else.
    partitioner: Option<Box<dyn SstPartitioner>>,
}

impl OutputSplitter {
    /// Cuts near `target_file_size_bytes`, earlier at edges of `grandparents` (in key order, not overlapping).
    #[must_use]
    pub fn new(
        order: InternalComparator,
        target_file_size_bytes: u64,
        max_compaction_bytes: u64,
        grandparents: Vec<Grandparent>,
    ) -> Self {
        Self {
            order,
            target_file_size_bytes,
            most_bytes: target_file_size_bytes,
            max_compaction_bytes,
            grandparents,
            only_at_limit: false,
            index: 0,
            in_gap: true,
            seen_key: false,
            overlapped_bytes: 0,
            boundaries_in_output: 0,
            edges: RequiredEdges::default(),
            partitioner: None,
        }
    }

    /// Cuts at edges only where the output and what it overlaps are more than `max_compaction_bytes`: sorted runs of
    /// universal families, with `incremental`.
    #[must_use]
    pub fn only_at_limit(mut self, only_at_limit: bool) -> Self {
        self.only_at_limit = only_at_limit;
        self
    }

    /// Lets an output grow up to `most_bytes`, if it comes to no good edge before.
    #[must_use]
    pub fn growing_to(mut self, most_bytes: u64) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    /// Cuts also at `edges`.
    #[must_use]
    pub fn with_edges(mut self, edges: RequiredEdges) -> Self {
        self.edges = edges;
        self
    }

    /// Cuts also where the partitioner says.
    #[must_use]
    pub fn with_partitioner(mut self, partitioner: Option<Box<dyn SstPartitioner>>) -> Self {
        self.partitioner = partitioner;
        self
    }

    /// True where the exact size is asked for at each key, for a partitioner.
    #[must_use]
    pub fn asks_for_sizes(&self) -> bool {
        self.partitioner.as_ref().is_some_and(|partitioner| partitioner.uses_file_size())
    }

    /// Never cuts: outputs to level 0, whose files are sorted runs of their own.
    #[must_use]
    pub fn never(order: InternalComparator) -> Self {
        Self::new(order, u64::MAX, u64::MAX, Vec::new())
    }

    /// True when the current output, with `last` as its last internal key, should end before `key`; `None` where it has
    /// no entry yet. To be called once for each key, in order.
    ///
    /// `size` is asked for what the output takes at most, and only where that may be too much, or a partitioner uses
    /// it, for what it takes exactly.
    #[inline]
    pub fn should_cut_between<S: FnMut(Precision) -> OutputSize>(
        &mut self,
        key: &[u8],
        current: Option<(&[u8], S)>,
    ) -> bool {
        let Some((last, mut size)) = current else { return self.should_cut(key, 0, false, || 0) };
        let at_most = size(Precision::AtMost);
        let uses_size = self.asks_for_sizes();
        let is_boundary = self.partitioner.as_mut().is_some_and(|partitioner| {
            partitioner.should_partition(&PartitionerRequest {
                prev_user_key: user_key(last),
                current_user_key: user_key(key),
                current_output_file_size: if uses_size { size(Precision::Exact).bytes.max(1) } else { 0 },
            })
        });
        let is_too_large =
            at_most.with_entry_bytes > self.most_bytes && size(Precision::Exact).with_entry_bytes > self.most_bytes;
        self.should_cut(key, at_most.bytes.max(1), is_boundary || is_too_large, || size(Precision::Exact).bytes)
    }

    /// The same without a partitioner.
    #[cfg(test)]
    pub fn should_cut_before(&mut self, key: &[u8], output_size_bytes: u64) -> bool {
        self.should_cut(key, output_size_bytes, false, || output_size_bytes)
    }

    /// `most_size` of the output is 0 where it has no entry.
    fn should_cut(
        &mut self,
        key: &[u8],
        most_size: u64,
        is_boundary: bool,
        mut exact_size: impl FnMut() -> u64,
    ) -> bool {
        let overlapped_before = self.overlapped_bytes;
        let crossed = self.move_to(key);
        let is_at_edge = self.edges.is_passed(&self.order, key);
        let cut = most_size > 0
            && (is_boundary
                || is_at_edge
                || (most_size >= self.most_bytes && exact_size() >= self.most_bytes)
                || (crossed > 0 && self.is_good_edge(crossed, overlapped_before, exact_size())));
        if cut {
            self.boundaries_in_output = 0;
            self.overlapped_bytes = self.bytes_at_position();
        }
        cut
    }

    /// Whether to end the output between two keys that have `crossed` edges of grandparents between them.
    fn is_good_edge(&self, crossed: u64, overlapped_before: u64, output_size_bytes: u64) -> bool {
        if self.overlapped_bytes.saturating_add(output_size_bytes) > self.max_compaction_bytes {
            return true;
        }
        if self.only_at_limit {
            return false;
        }
        // A whole grandparent lies between the keys: cutting spares a later compaction from rewriting it.
        let skips_a_file = crossed >= if self.in_gap { 2 } else { 3 };
        if skips_a_file && self.overlapped_bytes - overlapped_before > self.target_file_size_bytes / 8 {
            return true;
        }
        // The more edges passed, the larger the output may grow before the next edge is taken.
        let percent = 50 + (self.boundaries_in_output * 5).min(40);
        u128::from(output_size_bytes) * 100 >= u128::from(self.target_file_size_bytes) * u128::from(percent)
    }

    /// Moves on to `key` and returns how many edges of grandparents were crossed since the last key.
    #[inline]
    fn move_to(&mut self, key: &[u8]) -> u64 {
        if self.grandparents.is_empty() { 0 } else { self.cross(key) }
    }

    fn cross(&mut self, key: &[u8]) -> u64 {
        let mut crossed = 0;
        while let Some(file) = self.grandparents.get(self.index) {
            if self.in_gap {
                if self.order.compare(key, &file.smallest).is_lt() {
                    break;
                }
                if self.seen_key {
                    crossed += 1;
                    self.overlapped_bytes += file.size_bytes;
                }
                self.in_gap = false;
            } else {
                if self.order.compare(key, &file.largest).is_le() {
                    break;
                }
                crossed += u64::from(self.seen_key);
                self.in_gap = true;
                self.index += 1;
            }
        }
        if !self.seen_key {
            self.seen_key = true;
            self.overlapped_bytes = self.bytes_at_position();
        }
        self.boundaries_in_output += crossed;
        crossed
    }

    fn bytes_at_position(&self) -> u64 {
        if self.in_gap { 0 } else { self.grandparents.get(self.index).map_or(0, |file| file.size_bytes) }
    }
}

/// The boundary (an internal key) between an output that ends with `last` and one that begins with `next_first`: the
/// end of one and the beginning of the other.
#[must_use]
pub fn boundary_between(order: &InternalComparator, last: &[u8], next_first: &[u8]) -> Vec<u8> {
    if order.compare_user_keys(last, next_first).is_eq() {
        return last.to_vec();
    }
    sentinel(user_key(next_first))
}

/// A boundary that excludes `user_key`: where a part of a job's key range begins or ends.
#[must_use]
pub fn sentinel(user_key: &[u8]) -> Vec<u8> {
    make_internal_key(user_key, MAX_SEQUENCE_NUMBER, ValueType::RangeDeletion)
}

/// What a finished output stores besides its entries, and its boundaries for the MANIFEST.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputContents {
    /// Range tombstones to store, in the order to store them.
    pub tombstones: Vec<RangeTombstone>,
    /// Smallest internal key; `None` when the file is empty.
    pub smallest: Option<Vec<u8>>,
    /// Largest internal key; `None` when the file is empty.
    pub largest: Option<Vec<u8>>,
}

impl OutputContents {
    /// True when there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.smallest.is_none()
    }

    fn include(&mut self, order: &InternalComparator, smallest: Vec<u8>, largest: Vec<u8>) {
        if self.smallest.as_ref().is_none_or(|key| order.compare(&smallest, key).is_lt()) {
            self.smallest = Some(smallest);
        }
        if self.largest.as_ref().is_none_or(|key| order.compare(&largest, key).is_gt()) {
            self.largest = Some(largest);
        }
    }
}

/// Selects from the `surviving` tombstones those that an output must store.
///
/// `points` are its first and last key, if it has entries; `lower` and `upper` its boundaries with its neighbours
/// ([`boundary_between`], or [`sentinel`] at the ends of a part of a job), `None` where it has none.
#[must_use]
pub fn output_contents(
    order: &InternalComparator,
    surviving: &[RangeTombstone],
    points: Option<(&[u8], &[u8])>,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> OutputContents {
    let mut contents = OutputContents::default();
    if let Some((first, last)) = points {
        contents.include(order, first.to_vec(), last.to_vec());
    }
    for tombstone in surviving {
        let start = make_internal_key(&tombstone.start, tombstone.sequence, ValueType::RangeDeletion);
        if upper.is_some_and(|upper| order.compare(&start, upper).is_ge())
            || lower.is_some_and(|lower| order.user().compare(&tombstone.end, user_key(lower)).is_le())
        {
            continue;
        }
        let end = sentinel(&tombstone.end);
        let smallest = match lower {
            Some(lower) if order.compare(&start, lower).is_le() => first_behind(lower, tombstone.sequence),
            _ => start,
        };
        let largest = match upper {
            Some(upper) if order.compare(&end, upper).is_gt() => upper.to_vec(),
            _ => end,
        };
        // Nothing is left of it between boundaries that share a user key.
        if order.compare(&smallest, &largest).is_gt() {
            continue;
        }
        contents.include(order, smallest, largest);
        contents.tombstones.push(tombstone.clone());
    }
    contents
}

/// The key with which a tombstone of `newest` that came from the left of `lower` begins: behind `lower`, so that files
/// do not overlap, and before every entry of that user key that it can delete.
fn first_behind(lower: &[u8], newest: SequenceNumber) -> Vec<u8> {
    let from = if trailer(lower) == RANGE_TOMBSTONE_SENTINEL {
        newest
    } else {
        newest.min(SequenceNumber(sequence(lower).0.saturating_sub(1)))
    };
    let mut key = user_key(lower).to_vec();
    key.extend_from_slice(&pack_trailer(from, ValueType::RangeDeletion).to_le_bytes());
    key
}
