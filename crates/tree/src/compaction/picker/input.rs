//! What a choice depends on.

use crate::compaction::choice::RunningCompactions;
use crate::version::Version;
use ferrock_base::SequenceNumber;
use ferrock_options::ColumnFamilyOptions;
use std::sync::Arc;

/// What can be read: the numbers that compactions keep readable.
#[derive(Clone, Debug, Default)]
pub struct Readable {
    /// Those of the snapshots there are, ascending.
    pub snapshots: Vec<SequenceNumber>,
    /// No snapshot that is not among these is older than this.
    pub latest: SequenceNumber,
}

/// What a choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct PickerInput<'a> {
    /// The family's files.
    pub version: &'a Arc<Version>,
    /// The family's options.
    pub options: &'a ColumnFamilyOptions,
    /// Compactions under way.
    pub running: &'a RunningCompactions,
    /// Files at the bottom whose newest write is older than this are rewritten so that their sequence numbers become 0.
    /// The caller raises it to the oldest snapshot (the last sequence when there is none) when a snapshot is released;
    /// 0 asks for nothing.
    pub bottommost_threshold: SequenceNumber,
    /// The oldest snapshot; [`MAX_SEQUENCE_NUMBER`](ferrock_base::MAX_SEQUENCE_NUMBER) without one.
    pub earliest_snapshot: SequenceNumber,
    /// What can be read, where a table of the family may have range deletions; `None` where none has.
    pub readable: Option<&'a Readable>,
    /// Unix time.
    pub now_secs: u64,
    /// Files that `periodic_compaction_seconds` makes due within so many seconds are due:
    /// [`DailyOffpeak::early_secs`](ferrock_options::DailyOffpeak::early_secs).
    pub early_secs: u64,
}
