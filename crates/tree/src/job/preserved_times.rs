//! The times of sequence numbers that a job hands on: `preserve_internal_time_seconds`, and what follows from them for
//! where entries go: `preclude_last_level_data_seconds`.

use super::JobContext;
use crate::compaction::choice::CompactionChoice;
use crate::seqno_time::{MOST_PAIRS, PAIRS_PER_TABLE, SeqnoToTimeMapping};
use ferrock_base::{MAX_SEQUENCE_NUMBER, SequenceNumber};
use ferrock_format::properties::{decode_seqno_time_map, encode_seqno_time_map};

/// What outputs are told of the times of their entries.
#[derive(Clone, Debug)]
pub(super) struct PreservedTimes {
    mapping: SeqnoToTimeMapping,
    /// Entries above it may be young enough that their times are kept: they keep their sequence numbers.
    pub(super) preserve_after: SequenceNumber,
    /// Entries and range tombstones above it go to the proximal level. None of them is at or below `preserve_after` and
    /// seen by every snapshot, so none has lost its number.
    pub(super) proximal_after: SequenceNumber,
    /// Entries up to it are old enough for the last level, wherever they go; `None` where age decides nothing.
    pub(super) old_through: Option<SequenceNumber>,
}

impl PreservedTimes {
    /// Those of memtables, which the process saw being written.
    pub(super) fn of_flush(context: &JobContext) -> Self {
        let none = MAX_SEQUENCE_NUMBER;
        let now = context.clock.unix_seconds();
        let last_by = |age_secs: u64| context.seqno_times.last_seqno_by(now.saturating_sub(age_secs));
        let old_through = old_through(context, last_by);
        Self { mapping: context.seqno_times.clone(), preserve_after: none, proximal_after: none, old_through }
    }

    /// Those that the inputs have. What a table says of them that cannot be read counts as nothing, which keeps more
    /// sequence numbers.
    pub(super) fn of_compaction(context: &JobContext, choice: &CompactionChoice) -> Self {
        let (family, none) = (&context.family, MAX_SEQUENCE_NUMBER);
        let kept_secs = family.options.kept_times_secs();
        if kept_secs == 0 {
            let mapping = SeqnoToTimeMapping::default();
            return Self { mapping, preserve_after: none, proximal_after: none, old_through: None };
        }
        let mut pairs = Vec::new();
        for (_, file) in choice.input_files() {
            if let Ok(table) = family.table_cache.get_ref(file) {
                pairs.extend(decode_seqno_time_map(&table.properties().seqno_to_time_map).unwrap_or_default());
            }
        }
        let now = context.clock.unix_seconds();
        let mut mapping = SeqnoToTimeMapping::of_pairs(pairs);
        mapping.keep_span(now, kept_secs);
        // What the process saw may be more than what tables say, those that recovery wrote for one.
        let last_by = |age_secs: u64| {
            let by = now.saturating_sub(age_secs);
            mapping.last_seqno_by(by).max(context.seqno_times.last_seqno_by(by))
        };
        let preserve_after = last_by(kept_secs);
        let old_through = old_through(context, last_by);
        let proximal_after = match (&choice.proximal, old_through) {
            (Some(proximal), Some(old_through)) => old_through.max(proximal.keep_in_last_level_through),
            _ => none,
        };
        mapping.keep_count(MOST_PAIRS as usize);
        Self { mapping, preserve_after, proximal_after, old_through }
    }

    /// The property of a table whose entries have numbers within these. Beside the pairs that RocksDB writes it has one
    /// behind them where without it nothing would say by when the newest entry had been written: where entries go by
    /// their age, that of the newest counts as much as that of the oldest.
    pub(super) fn encoded_for(&self, smallest: SequenceNumber, largest: SequenceNumber) -> Vec<u8> {
        let mut of_table = self.mapping.around(smallest, largest);
        of_table.keep_count(PAIRS_PER_TABLE);
        encode_seqno_time_map(of_table.pairs())
    }
}

/// The last number that is old enough for the last level, given those that had been written so many seconds ago. What
/// was written since the oldest snapshot is likely to be read, so it is not.
fn old_through(context: &JobContext, last_by: impl Fn(u64) -> SequenceNumber) -> Option<SequenceNumber> {
    let age_secs = Some(context.family.options.preclude_last_level_data_seconds).filter(|secs| *secs > 0)?;
    let earliest_snapshot = context.snapshots.iter().min().copied().unwrap_or(MAX_SEQUENCE_NUMBER);
    Some(last_by(age_secs).min(earliest_snapshot))
}
