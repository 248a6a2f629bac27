//! Flush: memtables of a family become a table of level 0, and blob files where values are large enough for them.

use super::filter::filter_of;
use super::outputs::TableOutput;
use super::plan::OutputPlan;
use super::preserved_times::PreservedTimes;
use super::verify::verify;
use super::{JobContext, JobEnv, JobOutput, Payload, check_entries, write_tables};
use crate::blob::FetchBlob;
use crate::compaction::iterator::{
    CompactionIterator, CompactionIteratorOptions, CompactionRangeTombstones, OutputSplitter, SnapshotStripes,
    UnknownDeeper,
};
use crate::counted_callbacks::counted_merges;
use crate::iterator::tables::Child;
use crate::iterator::{ChildIterator, MergingIterator, RangeTombstoneSource, SourceIterator};
use ferrock_base::Result;
use ferrock_base::compaction_filter::{FilterContext, TableFileCreationReason};
use ferrock_format::compression::CompressionType;
use ferrock_memtable::MemTable;
use ferrock_table::options::TableFactory;
use ferrock_vfs::{IoPriority, thread_cpu_ns};
use std::sync::Arc;

/// Memtables to be flushed.
#[derive(Debug)]
pub struct FlushJob<'a> {
    /// The context of the job.
    pub context: &'a JobContext,
    /// The memtables, none of which is written to any more. They become one table.
    pub memtables: &'a [Arc<MemTable>],
    /// `Flush`, or `Recovery` for what was replayed from logs.
    pub reason: TableFileCreationReason,
}

impl FlushJob<'_> {
    /// Writes the tables. They can be opened, but belong to no Version yet.
    ///
    /// # Errors
    /// Of the file system; `Corruption` when the table does not hold what the memtables hold; the error with which
    /// `env` stopped the job. No file is left.
    pub fn run(&self, env: &dyn JobEnv) -> Result<JobOutput> {
        let start_ns = thread_cpu_ns();
        let mut output = write_tables(&self.context.family, env, |factory, is_out_of_limits| {
            self.write(env, factory, is_out_of_limits)
        })?;
        output.stats.cpu_us = thread_cpu_ns().saturating_sub(start_ns) / 1000;
        Ok(output)
    }

    fn write(&self, env: &dyn JobEnv, factory: &TableFactory, is_out_of_limits: &mut bool) -> Result<JobOutput> {
        let family = &self.context.family;
        let now = self.context.clock.unix_seconds();
        let plan = OutputPlan {
            context: self.context,
            level: 0,
            path_id: 0,
            reason: self.reason,
            base_level: 1,
            is_bottommost: false,
            compression: (!family.options.compresses_flushes()).then_some(CompressionType::NoCompression),
            chosen_temperature: None,
            oldest_ancestor_time: now,
            oldest_key_time: self
                .memtables
                .iter()
                .filter_map(|memtable| memtable.first_written_secs())
                .min()
                .unwrap_or(now),
            choice: None,
            newest_key_time: now,
            times: PreservedTimes::of_flush(self.context),
            priority: IoPriority::High,
            collect_blobs_below: None,
            stored_blocks: None,
        };
        let mut input = self.input()?;
        input.seek_to_first();
        let tombstones = input.tombstone_fates().surviving;
        // A key of a table has eight bytes more than that of a tombstone.
        let tombstone_bytes = tombstones.iter().map(|one| (one.start.len() + 8 + one.end.len()) as u64).sum();
        let mut output = TableOutput::new(env, &plan, factory, tombstones)?;
        let written = output.write_all(&mut input, OutputSplitter::never(family.comparator.clone()));
        *is_out_of_limits = output.is_out_of_limits();
        let mut output = output.into_output(&written);
        output.dropped = *input.dropped();
        output.payload = Payload::of(&output, tombstone_bytes);
        let held: u64 =
            self.memtables.iter().map(|memtable| memtable.num_entries() - memtable.num_range_deletes()).sum();
        let read = input.dropped().input_entries;
        let checked = written
            .and_then(|()| check_entries(family, "flush", "memtables", read, held))
            .and_then(|()| verify(self.context, &output, self.reason, plan.io_priority(env)));
        match checked {
            Ok(()) => Ok(output),
            Err(error) => {
                env.discard(&output.written);
                Err(error)
            }
        }
    }

    fn input(&self) -> Result<CompactionIterator<MergingIterator<Child>, UnknownDeeper>> {
        let family = &self.context.family;
        let child = |memtable: &Arc<MemTable>| {
            ChildIterator::MemTable(SourceIterator::new(memtable.iter(), family.comparator.clone(), None))
        };
        let merged = MergingIterator::new(family.comparator.clone(), self.memtables.iter().map(child).collect());
        let tombstones = self.memtables.iter().filter_map(|memtable| memtable.range_tombstones());
        let sources: Vec<RangeTombstoneSource> = tombstones.map(RangeTombstoneSource::new).collect();
        let filter_context = FilterContext {
            is_bottommost: false,
            is_manual: false,
            column_family_id: family.id,
            input_level: 0,
            output_level: 0,
        };
        let options = CompactionIteratorOptions {
            stripes: SnapshotStripes::new(self.context.snapshots.clone()),
            merge_operator: counted_merges(family.options.merge_operator.as_ref(), family.table_cache.statistics()),
            // Logs may hold references to values that were written directly to blob files.
            blobs: self.context.blobs.clone().map(|blobs| -> Arc<dyn FetchBlob> { blobs }),
            compaction_filter: filter_of(family, self.reason, false, filter_context)?,
            ..CompactionIteratorOptions::new(family.comparator.clone(), Vec::new())
        };
        let tombstones = CompactionRangeTombstones::new(family.comparator.clone(), sources);
        Ok(CompactionIterator::new(merged, tombstones, UnknownDeeper, options))
    }
}
