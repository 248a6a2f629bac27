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

impl DbCore {
    /// Enters, or deepens, the background-error state. The caller must not hold `state`.
    pub(crate) fn set_background_error(&self, reason: Reason, error: &Error) {
        let has_changed = self.note_background_error(&mut self.state.lock(), reason, error);
        if has_changed {
            self.events.tell(|listener| listener.on_background_error(error));
        }
    }

    /// As [`set_background_error`](Self::set_background_error); the listeners are the caller's business.
    pub(crate) fn set_background_error_locked(&self, state: &mut State, reason: Reason, error: &Error) {
        self.note_background_error(state, reason, error);
    }

    /// Returns true when the state changed.
    fn note_background_error(&self, state: &mut State, reason: Reason, error: &Error) -> bool {
        let has_changed = state.error.set(reason, error);
        if has_changed {
            self.has_background_error.store(true, Ordering::Release);
            self.events.log().error(|| format!("writes stop after a failed {reason:?}: {error}"));
            self.writes.controller().wake_sleeper();
        }
        self.begin_auto_resume(state);
        self.changed.notify_all();
        has_changed
    }

    /// Passes on the outcome of a change of the MANIFEST. When its record could not be written, writes stop: a crash
    /// may leave the change or not, and what is acknowledged must not depend on that. The caller leads the write queue,
    /// so no write comes in between, and does not hold `state`.
    pub(crate) fn check_manifest<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            if self.versions.is_uncertain() {
                self.set_background_error(Reason::Manifest, error);
            }
        })
    }

    /// Leaves the background-error state; see [`Db::resume`](super::Db::resume).
    pub(crate) fn resume(self: &Arc<Self>) -> Result<()> {
        loop {
            self.wait_for_jobs_that_run()?;
            match self.exclusively(Self::try_resume)?? {
                Attempt::JobsRun => {}
                Attempt::NoError => return Ok(()),
                Attempt::Done(old_error) => {
                    self.tell_recovery_end(old_error, None);
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn tell_recovery_end(&self, old_error: Error, new_error: Option<Error>) {
        let event = ErrorRecoveryEvent { old_error, new_error };
        self.events.tell(|listener| listener.on_error_recovery_end(&event));
    }

    /// Jobs that run may still fail with the old cause. While an error stands no other starts, so this ends; writers
    /// get the error meanwhile.
    fn wait_for_jobs_that_run(&self) -> Result<()> {
        let mut state = self.state.lock();
        while state.error.standing().is_some() && (state.running_flushes > 0 || state.running_compactions > 0) {
            self.closing_error()?;
            self.changed.wait(&mut state);
        }
        Ok(())
    }

    fn try_resume(self: &Arc<Self>) -> Result<Attempt> {
        let state = self.state.lock();
        let Some(old_error) = state.error.standing().cloned() else { return Ok(Attempt::NoError) };
        if !state.error.is_resumable() {
            return state.error.check().map(|()| Attempt::NoError);
        }
        if state.running_flushes > 0 || state.running_compactions > 0 {
            return Ok(Attempt::JobsRun);
        }
        let errors_before = state.error.count();
        drop(state);
        self.recover_from_error()?;
        let mut state = self.state.lock();
        if state.error.count() != errors_before {
            // A manual compaction failed meanwhile; its error may be a worse one.
            state.error.check()?;
        }
        state.error.clear();
        state.auto_resume.times_left += 1;
        self.has_background_error.store(false, Ordering::Release);
        self.events.log().info(|| "writes are accepted again".to_owned());
        self.schedule(&mut state);
        self.changed.notify_all();
        self.resume_alarm.ring();
        Ok(Attempt::Done(old_error))
    }

    /// Makes everything that readers see durable without the old logs, and the old logs needless. The caller leads the
    /// write queue, and no flush runs.
    fn recover_from_error(self: &Arc<Self>) -> Result<()> {
        let mut state = self.state.lock();
        let ids: Vec<u32> = state.families.keys().copied().collect();
        self.switch_memtables(&mut state, &ids)?;
        let log_number = self.writes.logs().current_number();
        drop(state);
        let flushes =
            self.flush_all_for_resume().inspect_err(|error| self.set_background_error(Reason::Flush, error))?;
        let events = self.commit_resume(log_number, flushes)?;
        let next = self.visible().plus(1);
        let proved = self.writes.logs().prove(next);
        proved.inspect_err(|error| self.set_background_error(Reason::Write, error))?;
        for event in events {
            self.events.tell(|listener| listener.on_flush_completed(&event));
        }
        Ok(())
    }

    /// Writes what is immutable, of every family, to tables that do not count yet.
    fn flush_all_for_resume(&self) -> Result<Vec<FamilyFlush>> {
        let waiting: Vec<(Arc<ColumnFamilyData>, Vec<Arc<MemTable>>)> = {
            let state = self.state.lock();
            let families = state.families.values().filter(|family| !family.immutable.is_empty());
            let memtables_of = |family: &super::FamilyState| {
                family.immutable.iter().map(|immutable| Arc::clone(&immutable.memtable)).collect()
            };
            families.map(|family| (Arc::clone(&family.data), memtables_of(family))).collect()
        };
        let mut flushes: Vec<FamilyFlush> = Vec::with_capacity(waiting.len());
        for (data, memtables) in waiting {
            match self.flush_family_for_resume(data, memtables) {
                Ok(flush) => flushes.push(flush),
                Err(error) => {
                    flushes.iter().for_each(|flush| self.discard(flush.data.flush_directory(), &flush.written.numbers));
                    return Err(error);
                }
            }
        }
        Ok(flushes)
    }

    fn flush_family_for_resume(
        &self,
        data: Arc<ColumnFamilyData>,
        memtables: Vec<Arc<MemTable>>,
    ) -> Result<FamilyFlush> {
        let before = self.clock.monotonic_us();
        let written = self.write_level_0(&data, &memtables, TableFileCreationReason::Flush)?;
        let elapsed_us = self.clock.monotonic_us().saturating_sub(before);
        Ok(FamilyFlush { data, memtables, written, elapsed_us })
    }

    /// Makes the tables count and the logs before `log_number` needless, in one change.
    fn commit_resume(&self, log_number: FileNumber, flushes: Vec<FamilyFlush>) -> Result<Vec<FlushEvent>> {
        let visible = self.visible();
        let installs = self.installs.lock();
        let mut edits: Vec<VersionEdit> = Vec::new();
        for view in self.versions.families() {
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
        let applied = self.versions.log_and_apply_atomic(edits);
        self.files.release(flushes.iter().flat_map(|flush| &flush.written.numbers));
        let mut state = self.state.lock();
        if let Err(error) = applied {
            // The files stay: the change may have reached the disk.
            drop(state);
            self.set_background_error(Reason::Manifest, &error);
            return Err(error);
        }
        for flush in &flushes {
            self.retire_memtables(&mut state, flush.data.id, flush.memtables.len());
        }
        state.families.values_mut().for_each(|family| family.is_flush_requested = false);
        let released = self.writes.logs().release_all_before(log_number, visible);
        drop(state);
        drop(installs);
        self.delete_logs(&released);
        let mut events = Vec::with_capacity(flushes.len());
        for FamilyFlush { data, memtables, written, elapsed_us } in flushes {
            self.open_new_tables(&data, written.files.iter().map(|file| file.number));
            events.push(self.note_flush(&data, written.files.first().cloned(), memtables.len(), elapsed_us));
        }
        Ok(events)
    }
}
