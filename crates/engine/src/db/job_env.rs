//! The database as the place where jobs run: numbers of files, when to stop, and what a job works with.

use super::{DbCore, event_log, job_events};
use crate::column_family::ColumnFamilyData;
use crate::jobs::{ScheduledCompaction, StoppedBy};
use crate::metrics::Counters;
use crate::metrics::running::JobProgress;
use crate::write::controller::StallCondition;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_options::CompactionJobStats;
use ferrock_table::FailedCollector;
use ferrock_tree::file_counts::{WrittenBy, counted};
use ferrock_tree::job::{FamilyContext, FileBegun, FileEnded, JobContext, JobEnv, WrittenFiles};
use ferrock_tree::seqno_time::SeqnoToTimeMapping;
use ferrock_tree::version::Version;
use std::path::PathBuf;
use std::sync::Arc;

/// What a job of the family works with, as of now. `version` has the blob files that its inputs refer to; `None`
/// for a family that was dropped. Without `epoch_number` the outputs get the family's next one.
pub(super) fn job_context(
    core: &DbCore,
    data: &ColumnFamilyData,
    version: Option<Arc<Version>>,
    epoch_number: Option<u64>,
    by: WrittenBy,
) -> Result<JobContext> {
    let options = data.options.load_full();
    let block_cache = Arc::clone(core.block_cache_of(&options));
    let preserves_times = options.kept_times_secs() > 0;
    Ok(JobContext {
        file_system: counted(&core.env.file_system, core.metrics.statistics(), &core.env.clock, by),
        clock: Arc::clone(&core.env.clock),
        db: core.options.load_full(),
        db_id: core.identity.db_id.clone(),
        session_id: core.identity.session_id.clone(),
        family: FamilyContext {
            id: data.id,
            name: data.name.clone(),
            comparator: data.comparator.clone(),
            options,
            table_cache: Arc::clone(&data.table_cache),
            block_cache,
            blob_cache: data.blob_cache.clone(),
            hash_index_choice: Arc::clone(&data.hash_index_choice),
            version: Arc::clone(&data.super_version.load().version),
            blob_directory: data.table_cache.paths().directory(0).to_path_buf(),
        },
        snapshots: core.reads.snapshots().sequences(),
        blobs: version.map(|version| core.blobs_for_job(data.id, version)),
        epoch_number: match epoch_number {
            Some(epoch_number) => epoch_number,
            None => core.versions.new_epoch_number(data.id)?,
        },
        seqno_times: if preserves_times { core.seqno_times.mapping() } else { SeqnoToTimeMapping::default() },
        copies_blocks: true,
    })
}

/// The database, where its jobs run.
pub(super) struct JobPlace<'a> {
    core: &'a DbCore,
    stopped_by: StoppedBy<'a>,
    /// The job ends when its outputs reach the bound of space.
    is_bounded: bool,
    /// For listeners, with the compaction that it is, if its parts are told of.
    job_id: u64,
    compaction: Option<&'a ScheduledCompaction>,
    /// Its place among the jobs that run, if it is listed.
    progress: Option<&'a JobProgress<'a>>,
}

impl<'a> JobPlace<'a> {
    /// Of a flush: what it writes is acknowledged, and needs the space however little there is.
    pub(super) fn of_flush(core: &'a DbCore, job_id: u64, progress: &'a JobProgress<'a>) -> Self {
        let (stopped_by, progress) = (StoppedBy::Closing, Some(progress));
        Self { core, stopped_by, is_bounded: false, job_id, compaction: None, progress }
    }

    pub(super) fn of_compaction(
        core: &'a DbCore,
        stopped_by: StoppedBy<'a>,
        compaction: Option<&'a ScheduledCompaction>,
        progress: Option<&'a JobProgress<'a>>,
    ) -> Self {
        let job_id = compaction.map_or(0, |compaction| compaction.job_id);
        Self { core, stopped_by, is_bounded: true, job_id, compaction, progress }
    }
}

impl JobEnv for JobPlace<'_> {
    fn new_output(&self) -> FileNumber {
        self.core.files.reserve(|| self.core.versions.new_file_number())
    }

    fn check_stop(&self) -> Result<()> {
        self.core.jobs.check_stop(self.stopped_by)
    }

    fn discard(&self, files: &WrittenFiles) {
        self.core.files.discard(files);
    }

    fn note_output(&self, path: PathBuf, bytes: u64) -> Result<()> {
        if let Some(progress) = self.progress {
            progress.add_written(bytes);
        }
        let deletion = self.core.files.deletion();
        deletion.count(path, bytes);
        if self.is_bounded { deletion.check_limit() } else { Ok(()) }
    }

    fn run_at_once(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        run_on_threads(count, run);
    }

    fn note_block_based(&self, family: &str, reason: &Error) {
        self.core.events.log().warn(|| format!("[{family}] block-based tables are written: {reason}"));
    }

    fn note_failed_collector(&self, family: &str, table: FileNumber, failed: &FailedCollector) {
        let FailedCollector { name, error } = failed;
        self.core.events.log().warn(|| format!("[{family}] table {table}: collector {name} failed: {error}"));
    }

    fn are_writers_stalled(&self) -> bool {
        self.core.writes.controller().condition() >= StallCondition::Delayed
    }

    fn note_verified_blocks(&self, blocks: u64) {
        Counters::add(&self.core.metrics.counters().verified_blocks, blocks);
    }

    fn note_file_begun(&self, file: &FileBegun<'_>) {
        self.core.events.tell(|| job_events::file_begun(self.core, self.job_id, file));
    }

    fn note_file_ended(&self, file: &FileEnded<'_>) {
        event_log::file_ended(self.core, self.job_id, file);
        self.core.events.tell(|| job_events::file_ended(self.core, self.job_id, file));
    }

    fn note_part_begun(&self, part: usize) {
        if let Some(compaction) = self.compaction {
            self.core.events.tell(|| job_events::part_begun(compaction, part));
        }
    }

    fn note_part_ended(&self, part: usize, stats: &CompactionJobStats, result: &Result<()>) {
        if let Some(compaction) = self.compaction {
            self.core.events.tell(|| job_events::part_ended(compaction, part, stats, result));
        }
    }
}

/// Calls `run` with each number below `count`, each on a thread of its own, and waits for all.
pub(super) fn run_on_threads(count: usize, run: &(dyn Fn(usize) + Sync)) {
    std::thread::scope(|scope| {
        for index in 1..count {
            let thread = std::thread::Builder::new().name(format!("ferrock-part-{index}"));
            // A part that gets no thread of its own is done by this one.
            if thread.spawn_scoped(scope, move || run(index)).is_err() {
                run(index);
            }
        }
        run(0);
    });
}
