//! The database as the host of its jobs, and how it ends.

use super::{DbCore, auto_resume, cleanup, compact, flush, properties, write};
use crate::column_family::ColumnFamilyData;
use crate::jobs::{Job, JobHost, Places};
use ferrock_base::Result;
use ferrock_tree::compaction::choice::{CompactionChoice, RunningCompactions};
use std::sync::Arc;

impl JobHost for DbCore {
    fn places(&self) -> Places {
        Places::of(self.options.load().max_background_jobs)
    }

    fn pick_compaction(&self, data: &ColumnFamilyData, running: &RunningCompactions) -> Option<CompactionChoice> {
        compact::pick_compaction(self, data, running)
    }

    fn is_compaction_due(&self, data: &ColumnFamilyData, running: &RunningCompactions) -> bool {
        compact::is_compaction_due(self, data, running)
    }

    fn max_resume_attempts(&self) -> i32 {
        self.options.load().max_bgerror_resume_count
    }

    fn run(self: Arc<Self>, job: Job) {
        match job {
            Job::Flush(id) => flush::run_flush(&self, id),
            Job::Compaction(job) => compact::run_compaction(&self, job),
        }
        dump_stats_if_due(&self);
    }

    fn resume(self: Arc<Self>) {
        auto_resume::run(&self);
    }
}

/// Dumps the statistics into the LOG when their period is over. Asked after every job: an idle database has nothing
/// new to say.
fn dump_stats_if_due(core: &DbCore) {
    let period_us = u64::from(core.options.load().stats_dump_period_sec) * 1_000_000;
    let now = core.env.clock.monotonic_us();
    if core.metrics.begin_dump(now, period_us) {
        for data in core.families.load().iter() {
            if let Some(stats) = properties::property(core, data, "cfstats") {
                core.events.log().info(|| stats);
            }
        }
        core.events.log().info(|| properties::db_stats(core));
    }
}

/// Waits until no job runs or waits for its turn.
pub(super) fn wait_for_background_work(core: &DbCore) -> Result<()> {
    let result = core.jobs.wait_until_idle();
    core.files.wait();
    result
}

/// Ends the database: no new work, wait for what runs, flush what no log has, close the log, give up the lock.
pub(super) fn close(core: &DbCore) -> Result<()> {
    if core.jobs.is_read_only() || core.jobs.is_closing() {
        return Ok(());
    }
    // Closing waits for the writer that leads the queue, which must not wait for its delay or for the end of a stop.
    core.writes.controller().end_delays();
    core.jobs.end_all_pauses();
    let mut result = Ok(());
    if core.writes.has_unlogged_writes() && !core.options.load().avoid_flush_during_shutdown && !core.jobs.has_error() {
        let ids: Vec<u32> = core.families.load().iter().map(|data| data.id).collect();
        result = flush::flush_families(core, &ids, true);
    }
    // Writers that are in the queue finish; those that come later are refused.
    if !write::exclusively(core, || core.jobs.begin_closing()).unwrap_or(false) {
        return result;
    }
    core.files.stop();
    core.jobs.wait_for_the_end();
    core.files.wait();
    if core.files.is_cleanup_owed() {
        // A job ended while closing waited for it, or while a reader held its inputs: they would stay beside its
        // outputs until the next open.
        cleanup::delete_unneeded_files(core);
    }
    result = result.and(core.writes.logs().close());
    core.events.log().info(|| "closed".to_owned());
    core.files.unlock_directory();
    result
}
