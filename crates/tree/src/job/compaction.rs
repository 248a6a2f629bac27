//! Compaction: a chosen set of tables becomes new tables.
//!
//! The inputs are marked before the job starts and stay marked until it ended, so jobs that run at once never share a
//! file. Readers keep their Versions: jobs and readers never wait for each other.

use super::outputs::{OutputPlan, TableOutput};
use super::{JobContext, JobEnv, JobOutput, check_entries, verify, write_tables};
use crate::blob::FetchBlob;
use crate::compaction::choice::{CompactionChoice, CompactionKind};
use crate::compaction::iterator::{
    CompactionIterator, CompactionIteratorOptions, CompactionRangeTombstones, DeeperLevels, Grandparent,
    OutputSplitter, SnapshotStripes,
};
use crate::iterator::tables::{Child, table_level_iterator_for_job};
use crate::iterator::{ChildIterator, MergingIterator, RangeTombstoneSource, SourceIterator};
use crate::version::{KeyNotBeyondLevel, Version};
use ferrock_base::Result;
use ferrock_base::compaction_filter::{FilterContext, TableFileCreationReason};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_table::options::TableFactory;
use ferrock_table::{Table, TableReadOptions};
use ferrock_vfs::IoPriority;
use std::sync::Arc;

/// A compaction to be run.
#[derive(Debug)]
pub struct CompactionJob<'a> {
    /// The context of the job.
    pub context: &'a JobContext,
    /// The inputs and the form of the output.
    pub choice: &'a CompactionChoice,
    /// True if a caller requested the compaction; passed to compaction filters.
    pub is_manual: bool,
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
        }
    }

    /// The change of the tree that replaces the inputs by `output`.
    #[must_use]
    pub fn edit(&self, output: &JobOutput) -> VersionEdit {
        let choice = self.choice;
        let deleted =
            choice.input_files().map(|(level, file)| DeletedFile { level: level as u32, number: file.number });
        let cursor = choice.next_compact_cursor.iter();
        VersionEdit {
            deleted_files: deleted.collect(),
            new_files: output.files.clone(),
            blob_file_garbages: output.garbage.clone(),
            compact_cursors: cursor.map(|cursor| (choice.start_level as u32, cursor.clone())).collect(),
            ..VersionEdit::for_column_family(self.context.family.id)
        }
    }

    fn moved_files(&self) -> Vec<NewFile> {
        let level = self.choice.output_level as u32;
        self.choice.input_files().map(|(_, file)| NewFile { level, ..file.recorded().clone() }).collect()
    }

    fn merge(&self, env: &dyn JobEnv, factory: &TableFactory, is_out_of_limits: &mut bool) -> Result<JobOutput> {
        let (family, choice) = (&self.context.family, self.choice);
        let Inputs { children, tombstones, entries } = self.open_inputs()?;
        let plan = OutputPlan {
            context: self.context,
            level: choice.output_level,
            path_id: choice.output_path_id,
            is_flush: false,
            base_level: choice.version.base_level(),
            is_bottommost: choice.is_bottommost,
            oldest_ancestor_time: oldest_ancestor_time(choice),
            // Of open tables more is known.
            newest_key_time: choice.input_files().map(|(_, file)| file.newest_key_time_secs()).max().unwrap_or(0),
            priority: IoPriority::Low,
        };
        let merged = MergingIterator::new(family.comparator.clone(), children);
        let tombstones = CompactionRangeTombstones::new(family.comparator.clone(), tombstones);
        let deeper = DeeperInVersion {
            version: Arc::clone(&choice.version),
            level: choice.output_level,
            is_bottommost: choice.is_bottommost,
            keys: choice.version.key_not_beyond_level(choice.output_level, choice.is_bottommost),
        };
        let mut input = CompactionIterator::new(merged, tombstones, deeper, self.iterator_options());
        input.seek_to_first();
        let mut output = TableOutput::new(env, &plan, factory, input.surviving_tombstones());
        let written = output.write_all(&mut input, self.splitter(factory));
        *is_out_of_limits = output.is_out_of_limits();
        let mut output = output.into_output();
        output.garbage = input.blobs_read().garbage(&output.blobs, &choice.version);
        let dropped = input.dropped();
        let checked = written
            .and_then(|()| match entries {
                Some(held) if !dropped.skipped_by_filter => {
                    check_entries(family, "compaction", "tables", dropped.input_entries, held)
                }
                _ => Ok(()),
            })
            .and_then(|()| verify(family, &output.files, TableFileCreationReason::Compaction));
        match checked {
            Ok(()) => Ok(output),
            Err(error) => {
                env.discard(plan.directory(), &output.numbers);
                Err(error)
            }
        }
    }

    fn iterator_options(&self) -> CompactionIteratorOptions {
        let (family, choice) = (&self.context.family, self.choice);
        let filter_context = FilterContext {
            is_bottommost: choice.is_bottommost,
            is_manual: self.is_manual,
            column_family_id: family.id,
            input_level: choice.start_level,
            output_level: choice.output_level,
        };
        let filter = family.options.compaction_filter.clone();
        CompactionIteratorOptions {
            stripes: SnapshotStripes::new(self.context.snapshots.clone()),
            merge_operator: family.options.merge_operator.clone(),
            blobs: self.context.blobs.clone().map(|blobs| -> Arc<dyn FetchBlob> { blobs }),
            compaction_filter: filter
                .filter(|filter| filter.should_filter_table_file_creation(TableFileCreationReason::Compaction))
                .map(|filter| (filter, filter_context)),
            bottommost: choice.is_bottommost,
            ..CompactionIteratorOptions::new(family.comparator.clone(), Vec::new())
        }
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
        OutputSplitter::new(
            comparator,
            choice.max_output_file_size_bytes.min(factory.cut_bytes()),
            choice.max_compaction_bytes,
            grandparents.collect(),
        )
    }

    fn open_inputs(&self) -> Result<Inputs> {
        let family = &self.context.family;
        let read_options = TableReadOptions {
            fill_cache: false,
            total_order_seek: true,
            readahead_bytes: self.context.db.compaction_readahead_size,
            ..TableReadOptions::default()
        };
        let mut opened = Inputs { children: Vec::new(), tombstones: Vec::new(), entries: Some(0) };
        for inputs in &self.choice.inputs {
            for file in &inputs.files {
                let table = family.table_cache.get_for_job(file)?;
                opened.entries = entries_with(opened.entries, &table);
                if let Some(fragments) = table.range_tombstones() {
                    let fragments = Arc::clone(fragments);
                    opened.tombstones.push(RangeTombstoneSource::truncated(fragments, &file.smallest, &file.largest));
                }
                if inputs.level == 0 {
                    let iter = SourceIterator::new(table.iter(read_options), family.comparator.clone(), None);
                    opened.children.push(ChildIterator::Table(iter));
                }
            }
            if inputs.level > 0 {
                let level = table_level_iterator_for_job(
                    Arc::clone(&family.table_cache),
                    inputs.files.clone(),
                    family.comparator.clone(),
                    read_options,
                );
                opened.children.push(ChildIterator::Level(level));
            }
        }
        Ok(opened)
    }
}

/// The tables that a compaction reads.
struct Inputs {
    children: Vec<Child>,
    tombstones: Vec<RangeTombstoneSource>,
    /// Entries that they hold; `None` where a table does not say.
    entries: Option<u64>,
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

fn entries_with(sum: Option<u64>, table: &Table) -> Option<u64> {
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
