//! What is counted of a table while it is written, for its properties.

use super::sampling::Sampler;
use crate::collectors::{Collectors, FailedCollector};
use ferrock_base::internal_key::trailer;
use ferrock_base::types::ValueType;
use ferrock_format::properties::TableProperties;

/// What is counted of a table.
#[derive(Debug)]
pub(super) struct TableTotals {
    properties: TableProperties,
    smallest_sequence: u64,
    largest_sequence: u64,
    /// Entries of the blocks that were ended, and the most of one of them.
    ended_entries: u64,
    max_block_entries: u64,
    collectors: Collectors,
    /// Where blocks are drawn for estimates.
    sampler: Option<Sampler>,
}

impl TableTotals {
    pub(super) fn new(collectors: Collectors, sampler: Option<Sampler>) -> Self {
        Self {
            properties: TableProperties::for_new_table(),
            smallest_sequence: u64::MAX,
            largest_sequence: 0,
            ended_entries: 0,
            max_block_entries: 0,
            collectors,
            sampler,
        }
    }

    /// Entries so far, range tombstones included.
    #[inline]
    pub(super) fn entries(&self) -> u64 {
        self.properties.num_entries
    }

    /// Entries of the open block.
    #[inline]
    pub(super) fn open_entries(&self) -> u64 {
        self.properties.num_entries - self.properties.num_range_deletions - self.ended_entries
    }

    /// Data blocks that were ended.
    #[inline]
    pub(super) fn blocks(&self) -> u64 {
        self.properties.num_data_blocks
    }

    /// The most entries of a data block.
    pub(super) fn max_block_entries(&self) -> u64 {
        self.max_block_entries
    }

    /// Counts an entry of a file that has so many bytes of data blocks.
    #[inline]
    pub(super) fn add(&mut self, internal_key: &[u8], value: &[u8], value_type: ValueType, file_size: u64) {
        self.collectors.add(internal_key, value, value_type, self.properties.num_entries, file_size);
        self.properties.count_entry(internal_key, value, value_type);
        let sequence = trailer(internal_key) >> 8;
        self.smallest_sequence = self.smallest_sequence.min(sequence);
        self.largest_sequence = self.largest_sequence.max(sequence);
    }

    /// Counts a data block, which has the entries since the last one.
    pub(super) fn end_block(&mut self, block: &[u8]) {
        let bytes = block.len() as u64;
        let entries = self.properties.num_entries - self.properties.num_range_deletions;
        self.max_block_entries = self.max_block_entries.max(entries - self.ended_entries);
        self.ended_entries = entries;
        self.properties.num_data_blocks += 1;
        self.properties.uncompressed_data_size += bytes;
        self.collectors.add_block(bytes);
        if let Some(sample) = self.sampler.as_mut().and_then(|sampler| sampler.add(block)) {
            self.collectors.add_sample(sample.fast, sample.slow);
        }
    }

    /// True when a program's collectors look at the entries.
    pub(super) fn has_collectors(&self) -> bool {
        self.collectors.has_any()
    }

    /// Asks the rules about deletions, with so many bytes of data blocks at the last entry.
    pub(super) fn judge_deletions(&mut self, size_bytes: u64) {
        self.collectors.judge_deletions(&self.properties, size_bytes);
    }

    /// Adds what collectors have collected, and what was estimated, to the properties.
    pub(super) fn finish_collectors(&mut self) {
        if let Some(sampler) = &self.sampler {
            sampler.describe_in(&mut self.properties);
        }
        self.properties.property_collectors_names = self.collectors.names().to_owned();
        self.collectors.finish(&mut self.properties);
    }

    /// The properties, to which what is not counted is added.
    pub(super) fn properties_mut(&mut self) -> &mut TableProperties {
        &mut self.properties
    }

    /// The properties as they were written.
    pub(super) fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// Records in the properties between which sequence numbers the entries lie.
    pub(super) fn set_sequences(&mut self) {
        if self.properties.num_entries > 0 {
            self.properties.key_smallest_seqno = Some(self.smallest_sequence);
            self.properties.key_largest_seqno = Some(self.largest_sequence);
        }
    }

    /// The properties, whether the table asks for a compaction, and the collectors that failed.
    pub(super) fn into_parts(self) -> (TableProperties, bool, Vec<FailedCollector>) {
        let (needs_compaction, failed) = self.collectors.into_verdict();
        (self.properties, needs_compaction, failed)
    }
}
