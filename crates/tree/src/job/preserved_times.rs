//! The times of sequence numbers that a job hands on: `preserve_internal_time_seconds`.

use super::JobContext;
use crate::compaction::choice::CompactionChoice;
use crate::seqno_time::{MOST_PAIRS, PAIRS_PER_TABLE, SeqnoToTimeMapping};
use ferrock_base::{MAX_SEQUENCE_NUMBER, SequenceNumber};
use ferrock_format::properties::{decode_seqno_time_map, encode_seqno_time_map};

/// What outputs are told of the times of their entries.
#[derive(Debug)]
pub(super) struct PreservedTimes {
    mapping: SeqnoToTimeMapping,
    /// Entries above it may be young enough that their times are kept: they keep their sequence numbers.
    pub(super) preserve_after: SequenceNumber,
}

impl PreservedTimes {
    /// Those of memtables, which the process saw being written.
    pub(super) fn of_flush(context: &JobContext) -> Self {
        Self { mapping: context.seqno_times.clone(), preserve_after: MAX_SEQUENCE_NUMBER }
    }

    /// Those that the inputs have. What a table says of them that cannot be read counts as nothing, which keeps more
    /// sequence numbers.
    pub(super) fn of_compaction(context: &JobContext, choice: &CompactionChoice) -> Self {
        let family = &context.family;
        let preserve_secs = family.options.preserve_internal_time_seconds;
        if preserve_secs == 0 {
            return Self { mapping: SeqnoToTimeMapping::default(), preserve_after: MAX_SEQUENCE_NUMBER };
        }
        let mut pairs = Vec::new();
        for (_, file) in choice.input_files() {
            if let Ok(table) = family.table_cache.get_ref(file) {
                pairs.extend(decode_seqno_time_map(&table.properties().seqno_to_time_map).unwrap_or_default());
            }
        }
        let now = context.clock.unix_seconds();
        let mut mapping = SeqnoToTimeMapping::of_pairs(pairs);
        mapping.keep_span(now, preserve_secs);
        // What the process saw may be more than what tables say, those that recovery wrote for one.
        let by = now.saturating_sub(preserve_secs);
        let preserve_after = mapping.last_seqno_by(by).max(context.seqno_times.last_seqno_by(by));
        mapping.keep_count(MOST_PAIRS as usize);
        Self { mapping, preserve_after }
    }

    /// The property of a table whose entries have numbers within these.
    pub(super) fn encoded_for(&self, smallest: SequenceNumber, largest: SequenceNumber) -> Vec<u8> {
        let mut of_table = self.mapping.of_range(smallest, largest);
        of_table.keep_count(PAIRS_PER_TABLE);
        encode_seqno_time_map(of_table.pairs())
    }
}
