//! Background errors, and the way back to writing.
//!
//! ```text
//! wait for jobs -> lead the queue -> new log -> memtables to tables -> one change of the MANIFEST -> prove the log
//! ```
//!
//! A failed write is *uncertain*: its record may be in the log, whole or in part, and a crash may bring it back.
//! `resume` ends that: when it returns, what failed is gone for good. So the old logs must never be read again, and the
//! MANIFEST has to say so durably, also when there was nothing to flush. And it has to say so for all families at once:
//! with some families past the old log and some not, a crash would bring back the part of a failed batch that belongs
//! to the latter. Therefore the tables, the log numbers of all families, `min_log_number_to_keep` and the last sequence
//! number are one atomic group of records, and the flush is done here and not by a job for each family.
//!
//! The error stands until all of that worked: no job starts, and no write is accepted.

use super::direct_writes;
use super::flush::FamilyFlush;
use super::{DbCore, cleanup, flush, switch_memtable, write};
use crate::events::Event;
use crate::jobs::background_error::Reason;
use crate::jobs::{FlushScope, ResumeStart, Switch};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::version_edit::VersionEdit;
use ferrock_options::{BackgroundErrorRecoveryInfo, FlushReason};

/// What an attempt to leave the error came to, when it did not fail.
enum Attempt {
    /// Writes are accepted again; the error for which they were not.
    Done(Error),
    /// There is no error any more.
    NoError,
    /// A job began since they were waited for.
    JobsRun,
}

/// Leaves the background-error state; see [`Db::resume`](super::Db::resume).
pub(super) fn resume(core: &DbCore) -> Result<()> {
    loop {
        core.jobs.wait_for_jobs_that_run()?;
        match write::exclusively(core, || try_resume(core))?? {
            Attempt::JobsRun => {}
            Attempt::NoError => return Ok(()),
            Attempt::Done(old_error) => {
                tell_recovery_end(core, old_error, None);
                return Ok(());
            }
        }
    }
}

/// Tells listeners. When writes are accepted again, what jobs left behind goes first: the outputs of one whose change
/// of the MANIFEST may have reached the disk stay until another one is known to be there.
pub(super) fn tell_recovery_end(core: &DbCore, old_error: Error, new_error: Option<Error>) {
    if new_error.is_none() {
        cleanup::delete_obsolete_files(core);
    }
    core.events.tell(|| Event::ErrorRecoveryEnd(Box::new(BackgroundErrorRecoveryInfo { old_error, new_error })));
}

fn try_resume(core: &DbCore) -> Result<Attempt> {
    let (old_error, errors_before) = match core.jobs.begin_resume()? {
        ResumeStart::Error(error, errors_before) => (error, errors_before),
        ResumeStart::NoError => return Ok(Attempt::NoError),
        ResumeStart::JobsRun => return Ok(Attempt::JobsRun),
    };
    if old_error.kind() == ErrorKind::SpaceLimit {
        core.files.deletion().check_limit()?;
    }
    recover_from_error(core)?;
    core.jobs.finish_resume(errors_before)?;
    Ok(Attempt::Done(old_error))
}

/// Makes everything that readers see durable without the old logs, and the old logs needless. The caller leads the
/// write queue, and no flush runs.
fn recover_from_error(core: &DbCore) -> Result<()> {
    // The write queue is led: listeners are told behind it.
    let _deferred = core.events.defer();
    let reason = FlushReason::ErrorRecovery;
    let all: Vec<Switch> = core.jobs.families().into_iter().map(|id| Switch { id, flush_now: false, reason }).collect();
    switch_memtable::switch_memtables(core, &all)?;
    let log_number = core.writes.logs().current_number();
    let mut inputs = core.jobs.flush_inputs(&FlushScope::All);
    inputs.iter_mut().for_each(|input| input.reason = reason);
    let flushes = flush::write_tables(core, inputs, core.jobs.new_job_id());
    let flushes = flushes.inspect_err(|error| core.jobs.set_error(Reason::Flush, error))?;
    let events = commit_resume(core, log_number, flushes)?;
    direct_writes::forget_failed(core);
    let next = core.visible().plus(1);
    let proved = core.writes.logs().prove(next, &|| direct_writes::sync_values(core));
    proved.inspect_err(|error| core.jobs.set_error(Reason::Write, error))?;
    for event in events {
        core.events.tell(|| event);
    }
    Ok(())
}

/// Makes the tables count and the logs before `log_number` needless, in one change.
fn commit_resume(core: &DbCore, log_number: FileNumber, flushes: Vec<FamilyFlush>) -> Result<Vec<Event>> {
    let visible = core.visible();
    let installs = core.installs.lock();
    let mut edits: Vec<VersionEdit> = Vec::new();
    for view in core.versions.families() {
        let flush = flushes.iter().find(|flush| flush.data.id == view.id);
        edits.push(VersionEdit {
            log_number: Some(log_number),
            min_log_number_to_keep: (view.id == 0).then_some(log_number),
            // What failed keeps its numbers: they are not given out again.
            last_sequence: Some(visible),
            ..flush.map_or_else(|| VersionEdit::for_column_family(view.id), FamilyFlush::edit)
        });
    }
    let applied = core.versions.log_and_apply_atomic(edits);
    for flush in &flushes {
        core.files.hand_over(&flush.output.written);
    }
    if let Err(error) = applied {
        // The files stay: the change may have reached the disk.
        drop(installs);
        core.jobs.set_error(Reason::Manifest, &error);
        return Err(error);
    }
    let flushed =
        flushes.iter().map(|flush| (flush.data.id, flush.memtables.len(), core.versions.current(flush.data.id)));
    core.jobs.retire_memtables(flushed);
    let released = core.writes.logs().release_before(log_number);
    drop(installs);
    flush::delete_logs(core, &released);
    let flushed: Vec<(u32, usize)> = flushes.iter().map(|flush| (flush.data.id, flush.memtables.len())).collect();
    let events = flush::end_flushes(core, flushes);
    core.jobs.note_flushed(flushed);
    Ok(events)
}
