//! The database as the host of its jobs, and how it ends.

use super::{DbCore, auto_resume, cleanup, compact, direct_writes, flush, open, options_file, remote, stats, write};
use crate::column_family::ColumnFamilyData;
use crate::files::Awaited;
use crate::jobs::{IdleWait, Job, JobHost, PickedCompaction, Places, Wanted};
use crate::options::WaitForCompactOptions;
use ferrock_base::Result;
use ferrock_options::{AwaitsTask, FlushReason};
use ferrock_tree::compaction::choice::RunningCompactions;
use ferrock_tree::version::ReadBack;
use ferrock_vfs::process_memory::FreePages;
use std::sync::Arc;

impl AwaitsTask for DbCore {
    fn task_may_begin(&self) {
        self.jobs.schedule();
    }
}

impl JobHost for DbCore {
    fn places(&self) -> Places {
        Places::of(&self.options.load())
    }

    fn pick_compaction(
        &self,
        data: &ColumnFamilyData,
        running: &RunningCompactions,
        wanted: Wanted,
    ) -> Option<PickedCompaction> {
        compact::pick_compaction(self, data, running, wanted)
    }

    fn is_compaction_due(&self, data: &ColumnFamilyData, running: &RunningCompactions) -> bool {
        compact::is_compaction_due(self, data, running)
    }

    fn max_resume_attempts(&self) -> i32 {
        self.options.load().max_bgerror_resume_count
    }

    fn run(self: Arc<Self>, job: Job) {
        // A caller that waits for the job finds them in the LOG.
        stats::job_begins(&self);
        match job {
            Job::Flush(scope) => flush::run_flush(&self, &scope),
            Job::Compaction(job) => compact::run_compaction(&self, job),
        }
        // Nothing of the database is held while the allocator is at it.
        drop(self);
        FreePages::of_process().return_if_due();
    }

    fn resume(self: Arc<Self>) {
        auto_resume::run(&self);
    }
}

/// See [`Db::wait_for_compact`](super::Db::wait_for_compact).
pub(super) fn wait_for_compact(core: &DbCore, options: &WaitForCompactOptions) -> Result<()> {
    let clock = &*core.env.clock;
    let timeout_us = u64::try_from(options.timeout.as_micros()).unwrap_or(u64::MAX);
    let wait = IdleWait {
        abort_on_pause: options.abort_on_pause,
        deadline_us: (timeout_us > 0).then(|| clock.monotonic_us().saturating_add(timeout_us)),
    };
    if options.flush || (options.close_db && is_flush_owed(core)) {
        flush::flush_all(core, FlushReason::ManualFlush)?;
    }
    core.jobs.wait_until_idle(clock, wait)?;
    if options.wait_for_purge && core.files.is_cleanup_put_off() {
        cleanup::delete_obsolete_files(core);
    }
    // A compaction's thread removes the inputs after the scheduler has counted the job as ended.
    let awaited = if options.wait_for_purge { Awaited::All } else { Awaited::CleanUps };
    core.files.wait_within(awaited, || wait.time_left(clock))?;
    if options.close_db { close(core) } else { Ok(()) }
}

/// See [`Db::cancel_all_background_work`](super::Db::cancel_all_background_work).
pub(super) fn cancel_all_background_work(core: &DbCore, wait: bool) -> Result<()> {
    core.jobs.check_open()?;
    core.events.tell_shutdown();
    core.jobs.end_all_pauses();
    if !core.jobs.is_canceled() && is_flush_owed(core) {
        flush::flush_all(core, FlushReason::ShutDown)?;
    }
    // A writer must not wait for what never comes.
    core.writes.controller().end_delays();
    core.jobs.cancel_jobs(false);
    remote::cancel(core);
    if wait {
        core.jobs.cancel_jobs(true);
        core.files.wait();
    }
    Ok(())
}

/// True when there are writes that only a flush keeps, and the options say that it has to; and when values are in blob
/// files that only the log knows, whatever the options say.
fn is_flush_owed(core: &DbCore) -> bool {
    let has_unlogged = core.writes.has_unlogged_writes() && !core.options.load().avoid_flush_during_shutdown;
    (has_unlogged || direct_writes::has_files(core)) && !core.jobs.has_error()
}

/// Ends the database: no new work, wait for what runs, flush what no log has, close the log, give up the lock.
pub(super) fn close(core: &DbCore) -> Result<()> {
    if core.jobs.is_read_only() || core.jobs.is_closing() {
        let ended = open::end_following(core);
        return ended.and(core.tracer.end_if_on().map(drop));
    }
    core.events.tell_shutdown();
    // Closing waits for the writer that leads the queue, which must not wait for its delay or for the end of a stop.
    core.writes.controller().end_delays();
    core.jobs.end_all_pauses();
    let mut result = Ok(());
    if !core.jobs.is_canceled() && is_flush_owed(core) {
        result = flush::flush_all(core, FlushReason::ShutDown);
    }
    // Writers that are in the queue finish; those that come later are refused.
    if !write::exclusively(core, || core.jobs.begin_closing()).unwrap_or(false) {
        return result;
    }
    core.wakeups.wake();
    core.files.stop();
    remote::cancel(core);
    core.jobs.wait_for_the_end();
    core.events.tell_collected_first();
    core.events.wait_until_told();
    core.files.wait();
    result = result.and(options_file::write_what_waits(core));
    if core.files.is_cleanup_owed() {
        // A job ended while closing waited for it, or while a reader held its inputs: they would stay beside its
        // outputs until the next open.
        cleanup::delete_unneeded_files(core);
    }
    if core.options.load().verify_manifest_content_on_close {
        result = result.and(read_manifest_back(core));
    }
    result = result.and(core.writes.logs().close()).and(core.tracer.end_if_on().map(drop));
    core.events.log().info(|| "closed".to_owned());
    core.files.unlock_directory();
    result
}

/// The option `verify_manifest_content_on_close`. A MANIFEST that is replaced stays beside the new one until the next
/// open.
fn read_manifest_back(core: &DbCore) -> Result<()> {
    match core.versions.read_manifest_back()? {
        ReadBack::NotOpen | ReadBack::Good => {}
        ReadBack::Replaced(damage) => {
            core.events
                .log()
                .error(|| format!("{damage}; the MANIFEST was written anew before the database is closed"));
        }
    }
    Ok(())
}
