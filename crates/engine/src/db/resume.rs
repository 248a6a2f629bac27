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

use super::{DbCore, State};
use crate::background_error::Reason;
use crate::column_family::ColumnFamilyData;
use crate::db::auto_resume;
use crate::db::background;
use crate::db::flush;
use crate::db::switch_memtable;
use crate::db::write;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{Error, FileNumber, Result};
use ferrock_format::version_edit::VersionEdit;
use ferrock_memtable::MemTable;
use ferrock_options::{ErrorRecoveryEvent, FlushEvent};
use ferrock_tree::job::{JobEnv, JobOutput};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What an attempt to leave the error came to, when it did not fail.
enum Attempt {
    /// Writes are accepted again; the error for which they were not.
    Done(Error),
    /// There is no error any more.
    NoError,
    /// A job began since they were waited for.
    JobsRun,
}

/// The memtables of a family on their way to a table.
struct FamilyFlush {
    data: Arc<ColumnFamilyData>,
    memtables: Vec<Arc<MemTable>>,
    written: JobOutput,
    elapsed_us: u64,
}

/// Enters, or deepens, the background-error state. The caller must not hold `state`.
pub(crate) fn set_background_error(core: &DbCore, reason: Reason, error: &Error) {
    let has_changed = note_background_error(core, &mut core.state.lock(), reason, error);
    if has_changed {
        core.events.tell(|listener| listener.on_background_error(error));
    }
}

/// As [`set_background_error`]; the listeners are the caller's business.
pub(crate) fn set_background_error_locked(core: &DbCore, state: &mut State, reason: Reason, error: &Error) {
    note_background_error(core, state, reason, error);
}

/// Returns true when the state changed.
fn note_background_error(core: &DbCore, state: &mut State, reason: Reason, error: &Error) -> bool {
    let has_changed = state.error.set(reason, error);
    if has_changed {
        core.has_background_error.store(true, Ordering::Release);
        core.events.log().error(|| format!("writes stop after a failed {reason:?}: {error}"));
        core.writes.controller().wake_sleeper();
    }
    auto_resume::begin_auto_resume(core, state);
    core.changed.notify_all();
    has_changed
}

/// Passes on the outcome of a change of the MANIFEST. When its record could not be written, writes stop: a crash
/// may leave the change or not, and what is acknowledged must not depend on that. The caller leads the write queue,
/// so no write comes in between, and does not hold `state`.
pub(crate) fn check_manifest<T>(core: &DbCore, outcome: Result<T>) -> Result<T> {
    outcome.inspect_err(|error| {
        if core.versions.is_uncertain() {
            set_background_error(core, Reason::Manifest, error);
        }
    })
}

/// Leaves the background-error state; see [`Db::resume`](super::Db::resume).
pub(crate) fn resume(core: &Arc<DbCore>) -> Result<()> {
    loop {
        wait_for_jobs_that_run(core)?;
        match write::exclusively(core, try_resume)?? {
            Attempt::JobsRun => {}
            Attempt::NoError => return Ok(()),
            Attempt::Done(old_error) => {
                tell_recovery_end(core, old_error, None);
                return Ok(());
            }
        }
    }
}

pub(super) fn tell_recovery_end(core: &DbCore, old_error: Error, new_error: Option<Error>) {
    let event = ErrorRecoveryEvent { old_error, new_error };
    core.events.tell(|listener| listener.on_error_recovery_end(&event));
}

/// Jobs that run may still fail with the old cause. While an error stands no other starts, so this ends; writers
/// get the error meanwhile.
fn wait_for_jobs_that_run(core: &DbCore) -> Result<()> {
    let mut state = core.state.lock();
    while state.error.standing().is_some() && (state.running_flushes > 0 || state.running_compactions > 0) {
        background::closing_error(core)?;
        core.changed.wait(&mut state);
    }
    Ok(())
}

fn try_resume(core: &Arc<DbCore>) -> Result<Attempt> {
    let state = core.state.lock();
    let Some(old_error) = state.error.standing().cloned() else { return Ok(Attempt::NoError) };
    if !state.error.is_resumable() {
        return state.error.check().map(|()| Attempt::NoError);
    }
    if state.running_flushes > 0 || state.running_compactions > 0 {
        return Ok(Attempt::JobsRun);
    }
    let errors_before = state.error.count();
    drop(state);
    recover_from_error(core)?;
    let mut state = core.state.lock();
    if state.error.count() != errors_before {
        // A manual compaction failed meanwhile; its error may be a worse one.
        state.error.check()?;
    }
    state.error.clear();
    state.auto_resume.times_left += 1;
    core.has_background_error.store(false, Ordering::Release);
    core.events.log().info(|| "writes are accepted again".to_owned());
    background::schedule(core, &mut state);
    core.changed.notify_all();
    core.resume_alarm.ring();
    Ok(Attempt::Done(old_error))
}

/// Makes everything that readers see durable without the old logs, and the old logs needless. The caller leads the
/// write queue, and no flush runs.
fn recover_from_error(core: &Arc<DbCore>) -> Result<()> {
    let mut state = core.state.lock();
    let ids: Vec<u32> = state.families.keys().copied().collect();
    switch_memtable::switch_memtables(core, &mut state, &ids)?;
    let log_number = core.writes.logs().current_number();
    drop(state);
    let flushes = flush_all_for_resume(core).inspect_err(|error| set_background_error(core, Reason::Flush, error))?;
    let events = commit_resume(core, log_number, flushes)?;
    let next = core.visible().plus(1);
    let proved = core.writes.logs().prove(next);
    proved.inspect_err(|error| set_background_error(core, Reason::Write, error))?;
    for event in events {
        core.events.tell(|listener| listener.on_flush_completed(&event));
    }
    Ok(())
}

/// Writes what is immutable, of every family, to tables that do not count yet.
fn flush_all_for_resume(core: &DbCore) -> Result<Vec<FamilyFlush>> {
    let waiting: Vec<(Arc<ColumnFamilyData>, Vec<Arc<MemTable>>)> = {
        let state = core.state.lock();
        let families = state.families.values().filter(|family| !family.immutable.is_empty());
        let memtables_of = |family: &super::FamilyState| {
            family.immutable.iter().map(|immutable| Arc::clone(&immutable.memtable)).collect()
        };
        families.map(|family| (Arc::clone(&family.data), memtables_of(family))).collect()
    };
    let mut flushes: Vec<FamilyFlush> = Vec::with_capacity(waiting.len());
    for (data, memtables) in waiting {
        match flush_family_for_resume(core, data, memtables) {
            Ok(flush) => flushes.push(flush),
            Err(error) => {
                flushes.iter().for_each(|flush| core.discard(flush.data.flush_directory(), &flush.written.numbers));
                return Err(error);
            }
        }
    }
    Ok(flushes)
}

fn flush_family_for_resume(
    core: &DbCore,
    data: Arc<ColumnFamilyData>,
    memtables: Vec<Arc<MemTable>>,
) -> Result<FamilyFlush> {
    let before = core.env.clock.monotonic_us();
    let written = flush::write_level_0(core, &data, &memtables, TableFileCreationReason::Flush)?;
    let elapsed_us = core.env.clock.monotonic_us().saturating_sub(before);
    Ok(FamilyFlush { data, memtables, written, elapsed_us })
}

/// Makes the tables count and the logs before `log_number` needless, in one change.
fn commit_resume(core: &DbCore, log_number: FileNumber, flushes: Vec<FamilyFlush>) -> Result<Vec<FlushEvent>> {
    let visible = core.visible();
    let installs = core.installs.lock();
    let mut edits: Vec<VersionEdit> = Vec::new();
    for view in core.versions.families() {
        let flush = flushes.iter().find(|flush| flush.data.id == view.id);
        edits.push(VersionEdit {
            log_number: Some(log_number),
            new_files: flush.map(|flush| flush.written.files.clone()).unwrap_or_default(),
            min_log_number_to_keep: (view.id == 0).then_some(log_number),
            // What failed keeps its numbers: they are not given out again.
            last_sequence: Some(visible),
            ..VersionEdit::for_column_family(view.id)
        });
    }
    let applied = core.versions.log_and_apply_atomic(edits);
    core.files.release(flushes.iter().flat_map(|flush| &flush.written.numbers));
    let mut state = core.state.lock();
    if let Err(error) = applied {
        // The files stay: the change may have reached the disk.
        drop(state);
        set_background_error(core, Reason::Manifest, &error);
        return Err(error);
    }
    for flush in &flushes {
        flush::retire_memtables(core, &mut state, flush.data.id, flush.memtables.len());
    }
    state.families.values_mut().for_each(|family| family.is_flush_requested = false);
    let released = core.writes.logs().release_all_before(log_number, visible);
    drop(state);
    drop(installs);
    flush::delete_logs(core, &released);
    let mut events = Vec::with_capacity(flushes.len());
    for FamilyFlush { data, memtables, written, elapsed_us } in flushes {
        flush::open_new_tables(core, &data, written.files.iter().map(|file| file.number));
        events.push(flush::note_flush(core, &data, written.files.first().cloned(), memtables.len(), elapsed_us));
    }
    Ok(events)
}
