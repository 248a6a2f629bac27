//! Running compactions: a chosen set of tables becomes new tables, installed by one edit.
//!
//! The inputs are marked before the job starts and stay marked until it ended, so jobs
//! that run at once never share a file. Readers keep their versions; nothing waits for
//! them and they wait for nothing.

use super::table_output::{OutputPlan, TableOutput};
use super::{DbCore, FamilyState, State};
use crate::background_error::Reason;
use crate::column_family::ColumnFamilyData;
use crate::statistics::Statistics;
use ferrock_base::compaction_filter::{FilterContext, TableFileCreationReason};
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::version_edit::{BlobFileGarbage, DeletedFile, NewFile, VersionEdit};
use ferrock_options::CompactionEvent;
use ferrock_table::TableReadOptions;
use ferrock_tree::compaction::choice::{CompactionChoice, RunningId};
use ferrock_tree::compaction::iterator::{
    CompactionIterator, CompactionIteratorOptions, CompactionRangeTombstones, DeeperLevels, Grandparent,
    OutputSplitter, SnapshotStripes,
};
use ferrock_tree::compaction::picker::{self, PickerInput};
use ferrock_tree::iterator::tables::{Child, table_level_iterator_for_job};
use ferrock_tree::iterator::{ChildIterator, MergingIterator, RangeTombstoneSource, SourceIterator};
use ferrock_tree::version::{KeyNotBeyondLevel, Version};
use ferrock_vfs::IoPriority;
use std::sync::Arc;

/// A compaction that has its place.
pub(crate) struct CompactionJob {
    pub(crate) data: Arc<ColumnFamilyData>,
    pub(crate) choice: CompactionChoice,
    pub(crate) running: RunningId,
    pub(crate) job_id: u64,
    pub(crate) is_manual: bool,
}

/// What a job has made.
#[derive(Default)]
struct Written {
    files: Vec<NewFile>,
    /// Numbers reserved, also of files that were not finished.
    numbers: Vec<FileNumber>,
    /// Records of blob files that no output refers to any more.
    garbage: Vec<BlobFileGarbage>,
}

/// What lies below the output of a job.
struct Below {
    version: Arc<Version>,
    level: usize,
    is_bottommost: bool,
    keys: KeyNotBeyondLevel,
}

impl DeeperLevels for Below {
    fn key_not_exists_beyond_output_level(&mut self, user_key: &[u8]) -> bool {
        self.keys.check(user_key)
    }
    fn range_not_exists_beyond_output_level(&self, start: &[u8], end: &[u8]) -> bool {
        // A compaction within level 0 leaves older files of that level alone, and nobody looked at those.
        self.is_bottommost || (self.level != 0 && !self.version.user_range_may_exist_below(self.level, start, end))
    }
}

impl DbCore {
    /// Chooses an automatic compaction and gives it its place.
    pub(crate) fn pick_compaction(&self, state: &mut State) -> Option<CompactionJob> {
        let now_secs = self.clock.unix_seconds();
        let bottommost_threshold = self.snapshots.bottommost_threshold(|| self.visible());
        // Each time another family is asked first, so that none waits for ever behind a busy one.
        let mut ids: Vec<u32> = state.families.keys().copied().collect();
        let turn = usize::try_from(state.next_job_id).unwrap_or(0) % ids.len().max(1);
        ids.rotate_left(turn);
        for id in ids {
            let Some(family) = state.families.get_mut(&id) else { continue };
            let options = family.data.options.load_full();
            if options.disable_auto_compactions || family.exclusive_manual.keeps_others_out() {
                continue;
            }
            let Some(version) = self.versions.current(family.data.id) else { continue };
            let input = PickerInput {
                version: &version,
                options: &options,
                running: &family.running,
                bottommost_threshold,
                now_secs,
            };
            if let Some(choice) = picker::pick(&input) {
                let running = family.running.start(&choice);
                let job_id = state.next_job_id;
                state.next_job_id += 1;
                return Some(CompactionJob {
                    data: Arc::clone(&family.data),
                    choice,
                    running,
                    job_id,
                    is_manual: false,
                });
            }
        }
        None
    }

    /// True when an automatic compaction of the family is due.
    pub(crate) fn is_compaction_due(&self, family: &FamilyState) -> bool {
        let options = family.data.options.load_full();
        let Some(version) = self.versions.current(family.data.id) else { return false };
        !options.disable_auto_compactions
            && picker::needs_compaction(&PickerInput {
                version: &version,
                options: &options,
                running: &family.running,
                bottommost_threshold: self.snapshots.bottommost_threshold(|| self.visible()),
                now_secs: self.clock.unix_seconds(),
            })
    }

    /// The body of an automatic compaction.
    pub(crate) fn run_compaction(self: &Arc<Self>, job: CompactionJob) {
        let result = self.compact(&job);
        // The version that the job read goes first: while somebody holds it, the clean-up below keeps its files.
        let CompactionJob { data, running, choice, .. } = job;
        drop(choice);
        let mut state = self.state.lock();
        state.running_compactions -= 1;
        if let Some(family) = state.families.get_mut(&data.id) {
            family.running.finish(running);
        }
        match &result {
            Ok(()) => {}
            Err(error) if data.is_dropped() => {
                self.info_log.info(|| format!("compaction of a dropped family: {error}"))
            }
            Err(error) => self.set_background_error_locked(&mut state, Reason::Compaction, error),
        }
        self.schedule(&mut state);
        let cleans_up = self.begin_cleanup(&mut state);
        self.changed.notify_all();
        drop(state);
        if cleans_up {
            self.clean_up();
        }
        if let Err(error) = result {
            self.listeners.iter().for_each(|listener| listener.on_background_error(&error));
        }
        self.dump_stats_if_due();
    }

    /// Runs a compaction and installs its outputs. The inputs stay marked.
    pub(crate) fn compact(self: &Arc<Self>, job: &CompactionJob) -> Result<()> {
        let before = self.clock.monotonic_us();
        let mut event = compaction_event(job);
        self.listeners.iter().for_each(|listener| listener.on_compaction_begin(&event));
        let Written { files, numbers, garbage } = if job.choice.is_trivial_move {
            Written { files: moved_files(&job.choice), ..Written::default() }
        } else {
            self.write_compaction(job)?
        };
        event.output_files = files.iter().map(|file| file.number).collect();
        let written: u64 = if job.choice.is_trivial_move { 0 } else { files.iter().map(|file| file.size_bytes).sum() };
        let edit = VersionEdit {
            deleted_files: job
                .choice
                .input_files()
                .map(|(level, file)| DeletedFile { level: level as u32, number: file.number })
                .collect(),
            new_files: files,
            blob_file_garbages: garbage,
            compact_cursors: job
                .choice
                .next_compact_cursor
                .iter()
                .map(|cursor| (job.choice.start_level as u32, cursor.clone()))
                .collect(),
            ..VersionEdit::for_column_family(job.data.id)
        };
        let installs = self.installs.lock();
        let applied = self.versions.log_and_apply(vec![edit]);
        let mut state = self.state.lock();
        for number in &numbers {
            state.pending_outputs.remove(&number.0);
        }
        if let Err(error) = applied {
            // The files stay: the edit may have reached the disk.
            if !job.data.is_dropped() {
                self.set_background_error_locked(&mut state, Reason::Manifest, &error);
            }
            return Err(error);
        }
        if let Some(family) = state.families.get(&job.data.id) {
            self.install_super_version(family, self.versions.current(job.data.id));
            self.update_stall_condition(family, &family.data.options.load());
        }
        drop(state);
        drop(installs);
        self.open_new_tables(&job.data, event.output_files.iter().copied());
        self.note_compaction(job, &event, written, self.clock.monotonic_us().saturating_sub(before));
        self.listeners.iter().for_each(|listener| listener.on_compaction_completed(&event));
        Ok(())
    }

    fn note_compaction(&self, job: &CompactionJob, event: &CompactionEvent, written: u64, us: u64) {
        let statistics = &self.statistics;
        if job.choice.is_trivial_move {
            Statistics::add(&statistics.trivial_moves, 1);
        } else {
            Statistics::add(&statistics.compactions, 1);
            Statistics::add(&statistics.compaction_read_bytes, job.choice.input_size_bytes());
            Statistics::add(&statistics.compaction_write_bytes, written);
            Statistics::add(&statistics.compaction_us, us);
        }
        self.info_log.info(|| {
            format!(
                "[{}] compaction {}: {} (score {:.2}) from L{} to L{}, {} files in, {} files out, {written} bytes, {us} us{}",
                job.data.name,
                job.job_id,
                job.choice.reason.name(),
                job.choice.score,
                job.choice.start_level,
                job.choice.output_level,
                event.input_files.len(),
                event.output_files.len(),
                if job.choice.is_trivial_move { ", moved" } else { "" },
            )
        });
    }

    fn write_compaction(&self, job: &CompactionJob) -> Result<Written> {
        let (data, choice) = (&job.data, &job.choice);
        let options = data.options.load_full();
        let plan = OutputPlan {
            data: Arc::clone(data),
            options: Arc::clone(&options),
            level: choice.output_level,
            path_id: choice.output_path_id,
            is_flush: false,
            base_level: choice.version.base_level(),
            is_bottommost: choice.is_bottommost,
            epoch_number: match choice.epoch_number {
                Some(epoch) => epoch,
                None => self.versions.new_epoch_number(data.id)?,
            },
            oldest_ancestor_time: oldest_ancestor_time(choice),
            priority: IoPriority::Low,
        };
        let (children, sources, expected) = self.open_inputs(data, choice)?;
        let merged = MergingIterator::new(data.comparator.clone(), children);
        let tombstones = CompactionRangeTombstones::new(data.comparator.clone(), sources);
        let filter_context = FilterContext {
            is_bottommost: choice.is_bottommost,
            is_manual: job.is_manual,
            column_family_id: data.id,
            input_level: choice.start_level,
            output_level: choice.output_level,
        };
        let below = Below {
            version: Arc::clone(&choice.version),
            level: choice.output_level,
            is_bottommost: choice.is_bottommost,
            keys: choice.version.key_not_beyond_level(choice.output_level, choice.is_bottommost),
        };
        let iterator_options = CompactionIteratorOptions {
            stripes: SnapshotStripes::new(self.snapshots.sequences()),
            merge_operator: options.merge_operator.clone(),
            blobs: Some(self.blobs_for_job(data.id, Arc::clone(&choice.version))),
            compaction_filter: options
                .compaction_filter
                .clone()
                .filter(|filter| filter.should_filter_table_file_creation(TableFileCreationReason::Compaction))
                .map(|filter| (filter, filter_context)),
            bottommost: choice.is_bottommost,
            ..CompactionIteratorOptions::new(data.comparator.clone(), Vec::new())
        };
        let mut input = CompactionIterator::new(merged, tombstones, below, iterator_options);
        input.seek_to_first();
        let mut output = TableOutput::new(self, &plan, input.surviving_tombstones());
        let splitter = self.splitter(data, choice);
        let mut result = output.write_all(&mut input, splitter);
        let (files, numbers) = (std::mem::take(&mut output.files), std::mem::take(&mut output.numbers));
        let garbage = input.blobs_read().garbage(&output.blobs_written, &choice.version);
        drop(output);
        let dropped = input.dropped();
        if result.is_ok()
            && !dropped.skipped_by_filter
            && let Some(expected) = expected
            && dropped.input_entries != expected
        {
            result = Err(Error::corruption(format!(
                "[{}] a compaction read {} entries of tables that hold {expected}",
                data.name, dropped.input_entries
            )));
        }
        let reason = TableFileCreationReason::Compaction;
        result = result.and_then(|()| files.iter().try_for_each(|file| self.verify_new_table(data, file, reason)));
        match result {
            Ok(()) => Ok(Written { files, numbers, garbage }),
            Err(error) => {
                self.discard_outputs(plan.directory(), &numbers);
                Err(error)
            }
        }
    }

    fn splitter(&self, data: &ColumnFamilyData, choice: &CompactionChoice) -> OutputSplitter {
        if choice.output_level == 0 {
            return OutputSplitter::never(data.comparator.clone());
        }
        let grandparents = choice
            .grandparents
            .iter()
            .map(|file| Grandparent {
                smallest: file.smallest.clone(),
                largest: file.largest.clone(),
                size_bytes: file.size_bytes,
            })
            .collect();
        OutputSplitter::new(
            data.comparator.clone(),
            choice.max_output_file_size_bytes,
            choice.max_compaction_bytes,
            grandparents,
        )
    }

    /// Children, range tombstones, and how many entries the inputs hold (`None` where a table does not say).
    fn open_inputs(
        &self,
        data: &Arc<ColumnFamilyData>,
        choice: &CompactionChoice,
    ) -> Result<(Vec<Child>, Vec<RangeTombstoneSource>, Option<u64>)> {
        let read_options = TableReadOptions {
            fill_cache: false,
            total_order_seek: true,
            readahead_bytes: self.options.load().compaction_readahead_size,
            ..TableReadOptions::default()
        };
        let mut children = Vec::new();
        let mut sources = Vec::new();
        let mut expected = Some(0u64);
        for inputs in &choice.inputs {
            for file in &inputs.files {
                let table = data.table_cache.get_for_job(file)?;
                expected = expected_entries(expected, &table);
                if let Some(fragments) = table.range_tombstones() {
                    sources.push(RangeTombstoneSource::truncated(Arc::clone(fragments), &file.smallest, &file.largest));
                }
                if inputs.level == 0 {
                    let iter = SourceIterator::new(table.iter(read_options), data.comparator.clone(), None);
                    children.push(ChildIterator::Table(iter));
                }
            }
            if inputs.level > 0 {
                let level = table_level_iterator_for_job(
                    Arc::clone(&data.table_cache),
                    inputs.files.clone(),
                    data.comparator.clone(),
                    read_options,
                );
                children.push(ChildIterator::Level(level));
            }
        }
        Ok((children, sources, expected))
    }
}

fn expected_entries(sum: Option<u64>, table: &ferrock_table::TableReader) -> Option<u64> {
    let properties = table.properties();
    // Tables written before the format version was recorded do not keep the count exactly.
    if properties.format_version < 5 {
        return None;
    }
    sum.map(|sum| sum + properties.num_entries.saturating_sub(properties.num_range_deletions))
}

fn oldest_ancestor_time(choice: &CompactionChoice) -> u64 {
    let known = choice.input_files().map(|(_, file)| file.oldest_ancester_time_secs).filter(|time| *time > 0);
    known.min().unwrap_or(0)
}

fn moved_files(choice: &CompactionChoice) -> Vec<NewFile> {
    let level = choice.output_level as u32;
    choice.input_files().map(|(_, file)| NewFile { level, ..file.recorded().clone() }).collect()
}

fn compaction_event(job: &CompactionJob) -> CompactionEvent {
    CompactionEvent {
        job_id: job.job_id,
        column_family: job.data.name.clone(),
        start_level: job.choice.start_level,
        output_level: job.choice.output_level,
        input_files: job.choice.input_files().map(|(_, file)| file.number).collect(),
        output_files: Vec::new(),
        is_trivial_move: job.choice.is_trivial_move,
    }
}
