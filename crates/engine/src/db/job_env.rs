//! The database as the place where jobs run: numbers of files, when to stop, and what a job works with.

use super::DbCore;
use crate::column_family::ColumnFamilyData;
use crate::metrics::Statistics;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_table::FailedCollector;
use ferrock_tree::job::{FamilyContext, JobContext, JobEnv, WrittenFiles};
use ferrock_tree::version::Version;
use std::sync::Arc;

/// What a job of the family works with, as of now. `version` has the blob files that its inputs refer to; `None`
/// for a family that was dropped. Without `epoch_number` the outputs get the family's next one.
pub(super) fn job_context(
    core: &DbCore,
    data: &ColumnFamilyData,
    version: Option<Arc<Version>>,
    epoch_number: Option<u64>,
) -> Result<JobContext> {
    let options = data.options.load_full();
    let block_cache = Arc::clone(core.block_cache_of(&options));
    Ok(JobContext {
        file_system: Arc::clone(&core.env.file_system),
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
            hash_index_choice: Arc::clone(&data.hash_index_choice),
            version: Arc::clone(&data.super_version.load().version),
        },
        snapshots: core.reads.snapshots().sequences(),
        blobs: version.map(|version| core.blobs_for_job(data.id, version)),
        epoch_number: match epoch_number {
            Some(epoch_number) => epoch_number,
            None => core.versions.new_epoch_number(data.id)?,
        },
    })
}

/// The database, where its jobs run.
pub(super) struct JobPlace<'a>(pub(super) &'a DbCore);

impl JobEnv for JobPlace<'_> {
    fn new_output(&self) -> FileNumber {
        self.0.files.reserve(|| self.0.versions.new_file_number())
    }

    fn check_stop(&self) -> Result<()> {
        self.0.jobs.check_not_closing()
    }

    fn discard(&self, files: &WrittenFiles) {
        self.0.files.discard(files);
    }

    fn run_at_once(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
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

    fn note_block_based(&self, family: &str, reason: &Error) {
        self.0.events.log().warn(|| format!("[{family}] block-based tables are written: {reason}"));
    }

    fn note_failed_collector(&self, family: &str, table: FileNumber, failed: &FailedCollector) {
        let FailedCollector { name, error } = failed;
        self.0.events.log().warn(|| format!("[{family}] table {table}: collector {name} failed: {error}"));
    }

    fn note_verified_blocks(&self, blocks: u64) {
        Statistics::add(&self.0.metrics.statistics().verified_blocks, blocks);
    }
}
