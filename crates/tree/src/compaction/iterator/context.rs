//! Parameters and statistics of a compaction iterator.

use super::stripes::SnapshotStripes;
use crate::blob::FetchBlob;
use ferrock_base::compaction_filter::{CompactionFilter, FilterContext};
use ferrock_base::comparator::InternalComparator;
use ferrock_base::merge::MergeOperator;
use ferrock_base::types::{MAX_SEQUENCE_NUMBER, SequenceNumber};
use std::sync::Arc;

/// Answers questions about levels below the output level. Answers may err towards "it exists".
pub trait DeeperLevels {
    /// True when no deeper level can hold `user_key`. Asked in ascending key order.
    fn key_not_exists_beyond_output_level(&mut self, user_key: &[u8]) -> bool;
    /// True when no deeper level has a file that overlaps `[start, end)`.
    fn range_not_exists_beyond_output_level(&self, start: &[u8], end: &[u8]) -> bool;
}

/// No deeper level holds data of the output's key range.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingDeeper;

#[cfg(test)]
impl DeeperLevels for NothingDeeper {
    fn key_not_exists_beyond_output_level(&mut self, _user_key: &[u8]) -> bool {
        true
    }
    fn range_not_exists_beyond_output_level(&self, _start: &[u8], _end: &[u8]) -> bool {
        true
    }
}

/// Nothing is known about deeper levels: a flush.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownDeeper;

impl DeeperLevels for UnknownDeeper {
    fn key_not_exists_beyond_output_level(&mut self, _user_key: &[u8]) -> bool {
        false
    }
    fn range_not_exists_beyond_output_level(&self, _start: &[u8], _end: &[u8]) -> bool {
        false
    }
}

/// Options of a compaction iterator.
#[derive(Clone, Debug)]
pub struct CompactionIteratorOptions {
    /// Order of the keys.
    pub comparator: InternalComparator,
    /// Snapshots whose reads must stay the same.
    pub stripes: SnapshotStripes,
    /// A `SingleDelete` at or below it may vanish together with its put. Transactions lower it to see write conflicts.
    pub earliest_write_conflict_snapshot: SequenceNumber,
    /// Combines merge operands.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Fetches values in blob files, for merges over them and for the filter. Without it operands over a reference stay
    /// as they are, and the filter is not asked.
    pub blobs: Option<Arc<dyn FetchBlob>>,
    /// The compaction filter, with the context of the job.
    pub compaction_filter: Option<(Arc<dyn CompactionFilter>, FilterContext)>,
    /// No deeper level, and no file outside of the job in the output level or above that is older, overlaps the job.
    pub bottommost: bool,
    /// Entries above it keep their sequence numbers even in the bottommost level.
    pub preserve_sequence_after: SequenceNumber,
    /// A `SingleDelete` over a `Delete` is an error rather than a statistic.
    pub enforce_single_delete_contracts: bool,
    /// First user key of the job's part of the input; `None` = from the start.
    pub start: Option<Vec<u8>>,
    /// First user key behind the job's part of the input; `None` = to the end.
    pub end: Option<Vec<u8>>,
}

impl CompactionIteratorOptions {
    /// Keeps what `snapshots` and the newest readers see; not bottommost.
    #[must_use]
    pub fn new(comparator: InternalComparator, snapshots: Vec<SequenceNumber>) -> Self {
        Self {
            comparator,
            stripes: SnapshotStripes::new(snapshots),
            earliest_write_conflict_snapshot: MAX_SEQUENCE_NUMBER,
            merge_operator: None,
            blobs: None,
            compaction_filter: None,
            bottommost: false,
            preserve_sequence_after: MAX_SEQUENCE_NUMBER,
            enforce_single_delete_contracts: true,
            start: None,
            end: None,
        }
    }
}

/// Counts of entries read and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedEntries {
    /// Entries read.
    pub input_entries: u64,
    /// Bytes of the keys read.
    pub input_key_bytes: u64,
    /// Bytes of the values read.
    pub input_value_bytes: u64,
    /// Tombstones read.
    pub input_deletions: u64,
    /// Hidden by a newer version in the same stripe.
    pub hidden: u64,
    /// Tombstones with nothing left to delete.
    pub obsolete: u64,
    /// Deleted by a range tombstone.
    pub range_deleted: u64,
    /// Removed by the compaction filter.
    pub filtered: u64,
    /// Single deletes that met something else than one put.
    pub single_delete_mismatches: u64,
    /// Sequence numbers set to zero.
    pub zeroed: u64,
    /// Range tombstones with nothing left to delete.
    pub range_tombstones: u64,
    /// The filter skipped keys, so `input_entries` is less than the inputs hold.
    pub skipped_by_filter: bool,
}

impl DroppedEntries {
    /// Entries read that came to nothing.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.hidden + self.obsolete + self.range_deleted + self.filtered
    }

    /// Adds the counts of another part of the job.
    pub fn absorb(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.input_entries, other.input_entries),
            (&mut self.input_key_bytes, other.input_key_bytes),
            (&mut self.input_value_bytes, other.input_value_bytes),
            (&mut self.input_deletions, other.input_deletions),
            (&mut self.hidden, other.hidden),
            (&mut self.obsolete, other.obsolete),
            (&mut self.range_deleted, other.range_deleted),
            (&mut self.filtered, other.filtered),
            (&mut self.single_delete_mismatches, other.single_delete_mismatches),
            (&mut self.zeroed, other.zeroed),
            (&mut self.range_tombstones, other.range_tombstones),
        ] {
            *sum += more;
        }
        self.skipped_by_filter |= other.skipped_by_filter;
    }
}
