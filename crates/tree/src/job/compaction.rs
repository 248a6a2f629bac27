//! Compaction: a chosen set of tables becomes new tables.
//!
//! The inputs are marked before the job starts and stay marked until it ended, so jobs that run at once never share a
//! file. Readers keep their Versions: jobs and readers never wait for each other.

use super::copy;
use super::events::stats_of_part;
use super::filter::filter_of;
use super::outputs::TableOutput;
use super::parts::{KeyPart, parts_of};
use super::plan::OutputPlan;
use super::preserved_times::PreservedTimes;
use super::read_blobs::CountedBlobs;
use super::streams::{Streams, Written};
use super::verify::verify;
use super::{
    EntriesRead, FileBegun, FileEnded, JobContext, JobEnv, JobOutput, WrittenFiles, check_entries, write_tables,
};
use crate::blob::{BlobCollection, BlobFlow, FetchBlob};
use crate::compaction::choice::{CompactionChoice, CompactionKind};
use crate::compaction::iterator::{
    CompactionIterator, CompactionIteratorOptions, CompactionRangeTombstones, DeeperLevels, DroppedEntries,
    Grandparent, OutputSplitter, RequiredEdges, SnapshotStripes, TombstoneFates,
};
use crate::counted_callbacks::counted_merges;
use crate::iterator::tables::{Child, table_level_iterator_for_job};
use crate::iterator::{ChildIterator, MergingIterator, RangeTombstoneSource, SourceIterator};
use crate::table_cache::TableCache;
use crate::version::boundary::BoundaryRange;
use crate::version::{FileMetadata, KeyNotBeyondLevel, Version};
use ferrock_base::compaction_filter::{FilterContext, TableFileCreationReason};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_options::{CompactionJobStats, CompactionPriority, CompactionStyle};
use ferrock_table::options::TableFactory;
use ferrock_table::{FailedCollector, StoredBlocks, Table, TableReadOptions};
use ferrock_vfs::{IoActivity, IoPriority, thread_cpu_ns};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// With more tables than these read at the same time, each reads less ahead.
const FULL_STREAMS: usize = 4;
/// But no less than this, where a device still reads at nearly its full speed.
const LEAST_READAHEAD_BYTES: usize = 256 << 10;

/// A compaction to be run.
#[derive(Debug)]
pub struct CompactionJob<'a> {
    /// The context of the job.
    pub context: &'a JobContext,
    /// The inputs and the form of the output.
    pub choice: &'a CompactionChoice,
    /// True if a caller requested the compaction; passed to compaction filters.
    pub is_manual: bool,
    /// Which blob files the compaction empties.
    pub collection: BlobCollection,
    /// The part of the inputs that is compacted; `None`: all of them.
    pub within: Option<KeyPart>,
    /// Parts that may be merged at once; 0: as the database's options say.
    pub max_subcompactions: u32,
}

impl CompactionJob<'_> {
    /// Runs the compaction. The tables that it wrote can be opened, but belong to no Version yet.
    ///
    /// # Errors
    /// Of the file system; `Corruption` when inputs do not give as many entries as they hold; the error with which
    /// `env` stopped the job. No file is left.
    pub fn run(&self, env: &dyn JobEnv) -> Result<JobOutput> {
        match self.choice.kind {
            CompactionKind::Merge => write_tables(&self.context.family, env, |factory, is_out_of_limits| {
                self.merge(env, factory, is_out_of_limits)
            }),
            CompactionKind::Move => Ok(JobOutput { files: self.moved_files(), ..JobOutput::default() }),
            CompactionKind::Drop => Ok(JobOutput::default()),
            CompactionKind::Copy => copy::copy_inputs(self.context, self.choice, env),
        }
    }

    /// The change of the tree that replaces the inputs by `output`.
    #[must_use]
    pub fn edit(&self, output: &JobOutput) -> VersionEdit {
        let choice = self.choice;
        let gone = choice.input_files().filter(|(level, _)| !self.stays(*level));
        let deleted = gone.map(|(level, file)| DeletedFile { level: level as u32, number: file.number });
        let cursor = choice.next_compact_cursor.iter();
        VersionEdit {
            deleted_files: deleted.collect(),
            new_files: output.files.clone(),
            blob_file_additions: output.blob_files.clone(),
            blob_file_garbages: output.garbage.clone(),
            compact_cursors: cursor.map(|cursor| (choice.start_level as u32, cursor.clone())).collect(),
            ..VersionEdit::for_column_family(self.context.family.id)
        }
    }

    fn moved_files(&self) -> Vec<NewFile> {
        let level = self.choice.output_level as u32;
        let moved = self.choice.input_files().filter(|(level, _)| !self.stays(*level));
        moved.map(|(_, file)| NewFile { level, ..file.recorded().clone() }).collect()
    }

    /// True for files of a move that are on the output level already.
    fn stays(&self, level: usize) -> bool {
        self.choice.kind == CompactionKind::Move && level == self.choice.output_level
    }

    fn merge(&self, env: &dyn JobEnv, factory: &TableFactory, is_out_of_limits: &mut bool) -> Result<JobOutput> {
        let (family, choice) = (&self.context.family, self.choice);
        env.check_stop()?;
        // Of open tables more is known.
        let held = held_entries(&family.table_cache, choice)?;
        let plan = OutputPlan {
            context: self.context,
            level: choice.output_level,
            path_id: choice.output_path_id,
            reason: TableFileCreationReason::Compaction,
            base_level: choice.version.base_level(),
            is_bottommost: choice.is_bottommost,
            oldest_ancestor_time: choice.oldest_ancestor_time_within(&BoundaryRange::default()),
            oldest_key_time: 0,
            choice: Some(choice),
            newest_key_time: choice.input_files().map(|(_, file)| file.newest_key_time_secs()).max().unwrap_or(0),
            compression: choice.compression,
            chosen_temperature: choice.output_temperature,
            times: PreservedTimes::of_compaction(self.context, choice),
            priority: IoPriority::Low,
            collect_blobs_below: self.collection.below(&choice.version),
            stored_blocks: None,
        };
        let most = match self.max_subcompactions {
            0 => self.context.db.max_subcompactions,
            most => most,
        };
        let style = family.options.compaction_style;
        let parts = parts_of(choice, self.within.as_ref(), style, &family.table_cache, most as usize)?;
        let done: Vec<OnceLock<PartOutput>> = parts.iter().map(|_| OnceLock::new()).collect();
        let has_failed = AtomicBool::new(false);
        let env = Stoppable { env, is_stopped: &has_failed };
        env.env.run_at_once(parts.len(), &|index| {
            if let (Some(part), Some(slot)) = (parts.get(index), done.get(index)) {
                env.note_part_begun(index);
                let start_ns = thread_cpu_ns();
                let mut output = self.merge_part(&env, &plan, factory, part);
                output.cpu_us = thread_cpu_ns().saturating_sub(start_ns) / 1000;
                let stats = stats_of_part(&output.dropped, &output.output, output.cpu_us);
                env.note_part_ended(index, &stats, &output.result);
                has_failed.fetch_or(output.result.is_err(), Ordering::Relaxed);
                slot.get_or_init(|| output);
            }
        });
        let (mut output, mut result) = (JobOutput::default(), Ok(()));
        let (mut dropped, mut read, mut cpu_us) = (DroppedEntries::default(), BlobFlow::default(), 0);
        for part in done.into_iter().filter_map(OnceLock::into_inner) {
            *is_out_of_limits |= part.is_out_of_limits;
            cpu_us += part.cpu_us;
            dropped.absorb(&part.dropped);
            read.absorb(&part.blobs_read);
            output.append(part.output);
            // A part that was stopped because another one failed has no news: the error of the other is the result.
            result = match (result, part.result) {
                (Err(error), Err(other)) if error.kind() == ErrorKind::Aborted => Err(other),
                (Err(error), _) | (Ok(()), Err(error)) => Err(error),
                (Ok(()), Ok(())) => Ok(()),
            };
        }
        (output.dropped, output.parts) = (dropped, parts.len());
        output.garbage = read.garbage(&output.blobs, &choice.version);
        output.blobs_read = read;
        output.stats = stats_of_part(&dropped, &output, cpu_us);
        output.read = EntriesRead { entries: dropped.input_entries, is_exact: !dropped.skipped_by_filter };
        let checked = result
            .and_then(|()| match held {
                Some(held) if !dropped.skipped_by_filter && self.within.is_none() => {
                    check_entries(family, "compaction", "tables", dropped.input_entries, held)
                }
                _ => Ok(()),
            })
            .and_then(|()| verify(self.context, &output, TableFileCreationReason::Compaction, plan.io_priority(&env)));
        match checked {
            Ok(()) => Ok(output),
            Err(error) => {
                env.discard(&output.written);
                Err(error)
            }
        }
    }

    /// Reads the inputs of one part and writes its outputs.
    fn merge_part(
        &self,
        env: &dyn JobEnv,
        plan: &OutputPlan<'_>,
        factory: &TableFactory,
        part: &KeyPart,
    ) -> PartOutput {
        let (family, choice) = (&self.context.family, self.choice);
        let plan = &OutputPlan { stored_blocks: plan.new_stored_blocks(), ..plan.clone() };
        let Inputs { children, tombstones } = match self.open_inputs(plan, plan.io_priority(env)) {
            Ok(inputs) => inputs,
            Err(error) => return PartOutput::failed(error),
        };
        let merged = MergingIterator::new(family.comparator.clone(), children);
        let tombstones = CompactionRangeTombstones::new(family.comparator.clone(), tombstones);
        let deeper = DeeperInVersion {
            version: Arc::clone(&choice.version),
            level: choice.output_level,
            is_bottommost: choice.is_bottommost,
            keys: choice.version.key_not_beyond_level(choice.output_level, choice.is_bottommost),
        };
        let blob_read_bytes = Arc::new(AtomicU64::new(0));
        let options = match self.iterator_options(plan, part, &blob_read_bytes) {
            Ok(options) => options,
            Err(error) => return PartOutput::failed(error),
        };
        let mut input = CompactionIterator::new(merged, tombstones, deeper, options);
        input.seek_to_first();
        let TombstoneFates { surviving, obsolete } = input.tombstone_fates();
        let surviving = part.clip(family.comparator.user(), surviving);
        let Written { result, is_out_of_limits, mut output } = match &choice.proximal {
            Some(proximal) => {
                let streams = Streams { env, plan, factory, proximal };
                streams.write(&mut input, surviving, self.splitter(factory), self.proximal_splitter(factory))
            }
            None => Written::of(TableOutput::new(env, plan, factory, surviving), |output| {
                output.write_all(&mut input, self.splitter(factory))
            }),
        };
        output.blob_read_bytes += blob_read_bytes.load(Ordering::Relaxed);
        PartOutput {
            result,
            is_out_of_limits,
            output,
            blobs_read: input.blobs_read().clone(),
            dropped: DroppedEntries { range_tombstones: obsolete, ..*input.dropped() },
            cpu_us: 0,
        }
    }

    /// Those of one part, which has a filter of its own if a factory makes them.
    fn iterator_options(
        &self,
        plan: &OutputPlan<'_>,
        part: &KeyPart,
        blob_read_bytes: &Arc<AtomicU64>,
    ) -> Result<CompactionIteratorOptions> {
        let (family, choice) = (&self.context.family, self.choice);
        let filter_context = FilterContext {
            is_bottommost: choice.is_bottommost,
            is_manual: self.is_manual,
            column_family_id: family.id,
            input_level: choice.start_level,
            output_level: choice.output_level,
        };
        Ok(CompactionIteratorOptions {
            stripes: SnapshotStripes::new(self.context.snapshots.clone()),
            merge_operator: counted_merges(family.options.merge_operator.as_ref(), family.table_cache.statistics()),
            blobs: self.context.blobs.clone().map(|blobs| -> Arc<dyn FetchBlob> {
                Arc::new(CountedBlobs { blobs, read_bytes: Arc::clone(blob_read_bytes) })
            }),
            compaction_filter: filter_of(
                family,
                TableFileCreationReason::Compaction,
                choice.is_full(),
                filter_context,
            )?,
            bottommost: choice.is_bottommost,
            preserve_sequence_after: plan.times.preserve_after,
            start: part.begin.clone(),
            end: part.end.clone(),
            ..CompactionIteratorOptions::new(family.comparator.clone(), Vec::new())
        })
    }

    fn splitter(&self, factory: &TableFactory) -> OutputSplitter {
        let (comparator, choice) = (self.context.family.comparator.clone(), self.choice);
        if choice.output_level == 0 {
            return OutputSplitter::never(comparator);
        }
        let grandparents = choice.grandparents.iter().map(|file| Grandparent {
            smallest: file.smallest.clone(),
            largest: file.largest.clone(),
            size_bytes: file.size_bytes,
        });
        let most_bytes = match self.context.family.options.target_file_size_is_upper_bound {
            true => choice.max_output_file_size_bytes,
            false => choice.most_output_bytes(),
        };
        OutputSplitter::new(
            comparator,
            choice.max_output_file_size_bytes.min(factory.cut_bytes()),
            choice.max_compaction_bytes,
            grandparents.collect(),
        )
        .growing_to(most_bytes.min(factory.cut_bytes()))
        .only_at_limit(self.context.family.options.compaction_style == CompactionStyle::Universal)
        .with_edges(self.required_edges())
        .with_partitioner(choice.partitioner(&self.context.family.options))
    }

    /// Of outputs on the proximal level: what is below them is made by the same job.
    fn proximal_splitter(&self, factory: &TableFactory) -> OutputSplitter {
        let (comparator, choice) = (self.context.family.comparator.clone(), self.choice);
        let target = choice.max_output_file_size_bytes.min(factory.cut_bytes());
        OutputSplitter::new(comparator, target, choice.max_compaction_bytes, Vec::new())
            .with_partitioner(choice.partitioner(&self.context.family.options))
    }

    /// Where outputs end whatever their size: around old inputs of the output level where the `ttl` is of use, and at
    /// the cursor of that level where its files take turns.
    fn required_edges(&self) -> RequiredEdges {
        let (options, choice) = (&self.context.family.options, self.choice);
        if options.compaction_style != CompactionStyle::Level {
            return RequiredEdges::default();
        }
        let cursor = match options.compaction_pri {
            CompactionPriority::RoundRobin => choice.version.compact_cursor(choice.output_level).map(<[u8]>::to_vec),
            _ => None,
        };
        let limit_secs = self.context.clock.unix_seconds().checked_sub(options.ttl / 2);
        let has_young_and_old = choice.inputs.len() > 1
            && !choice.is_bottommost
            && options.ttl > 0
            && options.compaction_pri == CompactionPriority::MinOverlappingRatio;
        let (Some(limit_secs), true, Some(inputs)) = (limit_secs, has_young_and_old, choice.inputs.last()) else {
            return RequiredEdges::new(Vec::new(), cursor);
        };
        let is_old = |file: &&Arc<FileMetadata>| {
            file.oldest_ancester_time_secs > 0
                && file.oldest_ancester_time_secs < limit_secs
                && file.size_bytes > options.target_file_size_base / 2
        };
        let old = inputs.files.iter().filter(is_old).map(|file| (file.smallest.clone(), file.largest.clone()));
        RequiredEdges::new(old.collect(), cursor)
    }

    /// How many tables a part reads at the same time.
    fn streams(&self) -> usize {
        self.choice.inputs.iter().map(|inputs| if inputs.level == 0 { inputs.files.len() } else { 1 }).sum()
    }

    fn open_inputs(&self, plan: &OutputPlan<'_>, priority: IoPriority) -> Result<Inputs> {
        let add_input = || plan.stored_blocks.as_ref().map(StoredBlocks::add_input);
        let family = &self.context.family;
        let read_options = TableReadOptions {
            fill_cache: false,
            total_order_seek: true,
            readahead_bytes: readahead_bytes(self.context.db.compaction_readahead_size, self.streams()),
            rate_limiter_priority: Some(priority),
            activity: IoActivity::Compaction,
            ..TableReadOptions::default()
        };
        let mut opened = Inputs { children: Vec::new(), tombstones: Vec::new() };
        for inputs in &self.choice.inputs {
            for file in &inputs.files {
                // Of other levels only the range deletions are taken here; `LevelTables` opens them for their rows.
                let table = match inputs.level {
                    0 => family.table_cache.get_for_compaction(file)?,
                    _ => family.table_cache.get_for_job(file, IoActivity::Compaction)?,
                };
                if let Some(fragments) = table.range_tombstones() {
                    let fragments = Arc::clone(fragments);
                    opened.tombstones.push(RangeTombstoneSource::truncated(fragments, &file.smallest, &file.largest));
                }
                if inputs.level == 0 {
                    let mut iter = table.iter(read_options);
                    if let Some(stored) = add_input() {
                        iter.keep_stored(&stored);
                    }
                    let iter = SourceIterator::new(iter, family.comparator.clone(), None);
                    opened.children.push(ChildIterator::Table(iter));
                }
            }
            if inputs.level > 0 {
                let level = table_level_iterator_for_job(
                    Arc::clone(&family.table_cache),
                    inputs.files.clone(),
                    family.comparator.clone(),
                    read_options,
                    add_input(),
                );
                opened.children.push(ChildIterator::Level(level));
            }
        }
        Ok(opened)
    }
}

/// What one of so many `streams` reads ahead, if one alone reads `configured` bytes: all together hold no more than
/// [`FULL_STREAMS`] would. Thirty tables of level 0 with 2 MiB each were more memory than the memtables had.
fn readahead_bytes(configured: usize, streams: usize) -> usize {
    let shared = (configured / streams.max(1)).saturating_mul(FULL_STREAMS);
    shared.max(LEAST_READAHEAD_BYTES).min(configured)
}

/// The tables that a compaction reads.
struct Inputs {
    children: Vec<Child>,
    tombstones: Vec<RangeTombstoneSource>,
}

/// What a part read and wrote.
#[derive(Debug)]
struct PartOutput {
    result: Result<()>,
    /// The error is one that another kind of table would not have had.
    is_out_of_limits: bool,
    output: JobOutput,
    blobs_read: BlobFlow,
    dropped: DroppedEntries,
    /// What its thread took of the processor.
    cpu_us: u64,
}

impl PartOutput {
    fn failed(error: Error) -> Self {
        Self {
            result: Err(error),
            is_out_of_limits: false,
            output: JobOutput::default(),
            blobs_read: BlobFlow::default(),
            dropped: DroppedEntries::default(),
            cpu_us: 0,
        }
    }
}

/// The caller's services, which end the other parts when one failed.
struct Stoppable<'a> {
    env: &'a dyn JobEnv,
    is_stopped: &'a AtomicBool,
}

impl JobEnv for Stoppable<'_> {
    fn new_output(&self) -> FileNumber {
        self.env.new_output()
    }

    fn new_blob_output(&self) -> Result<FileNumber> {
        self.env.new_blob_output()
    }

    fn check_stop(&self) -> Result<()> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Aborted, "another part of the compaction failed"));
        }
        self.env.check_stop()
    }

    fn discard(&self, files: &WrittenFiles) {
        self.env.discard(files);
    }

    fn note_output(&self, path: PathBuf, bytes: u64) -> Result<()> {
        self.env.note_output(path, bytes)
    }

    fn note_block_based(&self, family: &str, reason: &Error) {
        self.env.note_block_based(family, reason);
    }

    fn note_failed_collector(&self, family: &str, table: FileNumber, failed: &FailedCollector) {
        self.env.note_failed_collector(family, table, failed);
    }

    fn are_writers_stalled(&self) -> bool {
        self.env.are_writers_stalled()
    }

    fn note_verified_blocks(&self, blocks: u64) {
        self.env.note_verified_blocks(blocks);
    }

    fn note_file_begun(&self, file: &FileBegun<'_>) {
        self.env.note_file_begun(file);
    }

    fn note_file_ended(&self, file: &FileEnded<'_>) {
        self.env.note_file_ended(file);
    }

    fn note_part_begun(&self, part: usize) {
        self.env.note_part_begun(part);
    }

    fn note_part_ended(&self, part: usize, stats: &CompactionJobStats, result: &Result<()>) {
        self.env.note_part_ended(part, stats, result);
    }
}

/// The levels below the output of a compaction.
struct DeeperInVersion {
    version: Arc<Version>,
    level: usize,
    is_bottommost: bool,
    keys: KeyNotBeyondLevel,
}

impl DeeperLevels for DeeperInVersion {
    fn key_not_exists_beyond_output_level(&mut self, user_key: &[u8]) -> bool {
        self.keys.check(user_key)
    }
    fn range_not_exists_beyond_output_level(&self, start: &[u8], end: &[u8]) -> bool {
        // A compaction within level 0 leaves older files of that level alone, and no search covers those.
        self.is_bottommost || (self.level != 0 && !self.version.user_range_may_exist_below(self.level, start, end))
    }
}

/// Entries that the inputs hold, without range tombstones; `None` where a table does not say.
pub(super) fn held_entries(tables: &TableCache, choice: &CompactionChoice) -> Result<Option<u64>> {
    choice
        .input_files()
        .try_fold(Some(0), |sum, (_, file)| Ok(entries_with(sum, &tables.get_for_job(file, IoActivity::Compaction)?)))
}

fn entries_with(sum: Option<u64>, table: &Table) -> Option<u64> {
    let properties = table.properties();
    // Tables written before the format version was recorded do not keep the count exactly.
    if properties.format_version < 5 {
        return None;
    }
    sum.map(|sum| sum + properties.num_entries.saturating_sub(properties.num_range_deletions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_share_what_is_read_ahead() {
        let configured = 2 << 20;
        for (streams, bytes) in
            [(0, 2 << 20), (1, 2 << 20), (4, 2 << 20), (8, 1 << 20), (32, 256 << 10), (1000, 256 << 10)]
        {
            assert_eq!(readahead_bytes(configured, streams), bytes, "{streams}");
        }
        assert_eq!(readahead_bytes(0, 10), 0, "none was asked for");
        assert_eq!(readahead_bytes(100, 10), 100);
        assert_eq!(readahead_bytes(usize::MAX, 8), usize::MAX / 8 * 4);
    }
}
