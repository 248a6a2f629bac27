//! Automatic and manual compactions: which files are taken, and when one may begin.
//!
//! The inputs are marked before a compaction starts and stay marked until it ended, so compactions that run at once
//! never share a file.

use super::{JobHost, JobScheduler, State};
use crate::column_family::ColumnFamilyData;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_tree::compaction::choice::{CompactionChoice, RunningCompactions, RunningId};
use ferrock_tree::compaction::picker::ManualChoice;
use std::sync::Arc;

/// A compaction that has its place among those that run.
pub(crate) struct ScheduledCompaction {
    pub(crate) data: Arc<ColumnFamilyData>,
    pub(crate) choice: CompactionChoice,
    pub(crate) running: RunningId,
    pub(crate) job_id: u64,
    pub(crate) is_manual: bool,
}

/// A piece of a manual compaction, and the user key that the next one begins with.
pub(crate) type ManualPiece = (ScheduledCompaction, Option<Vec<u8>>);

impl State {
    /// Chooses an automatic compaction and gives it a place.
    pub(super) fn begin_compaction_job(&mut self, host: &dyn JobHost) -> Option<ScheduledCompaction> {
        // Each time another family is asked first, so that none waits for ever behind a busy one.
        let mut ids: Vec<u32> = self.families.keys().copied().collect();
        let turn = usize::try_from(self.next_job_id).unwrap_or(0) % ids.len().max(1);
        ids.rotate_left(turn);
        for id in ids {
            let Some(family) = self.families.get(&id) else { continue };
            if !family.exclusive_manual.keeps_others_out()
                && let Some(choice) = host.pick_compaction(&family.data, &family.running)
            {
                self.running_compactions += 1;
                return self.begin_compaction(id, choice, false);
            }
        }
        None
    }

    /// Takes the place of an automatic compaction back.
    pub(super) fn end_compaction_job(&mut self, id: u32, running: RunningId) {
        self.running_compactions -= 1;
        if let Some(family) = self.families.get_mut(&id) {
            family.running.finish(running);
        }
    }

    /// Marks the inputs of a compaction.
    fn begin_compaction(&mut self, id: u32, choice: CompactionChoice, is_manual: bool) -> Option<ScheduledCompaction> {
        let family = self.families.get_mut(&id)?;
        let running = family.running.start(&choice);
        let job_id = self.next_job_id;
        self.next_job_id += 1;
        Some(ScheduledCompaction { data: Arc::clone(&family.data), choice, running, job_id, is_manual })
    }
}

impl JobScheduler {
    /// An automatic compaction ended: its place and its inputs go to the next jobs.
    pub(crate) fn finish_compaction(&self, id: u32, running: RunningId) {
        self.change(|state| state.end_compaction_job(id, running));
    }

    /// Takes a place among the manual jobs. An exclusive one waits until nothing else compacts the family, and from the
    /// moment that it waits nothing else begins to: else a family that always has something to compact would never be
    /// quiet.
    ///
    /// # Errors
    /// `ShutdownInProgress` when the database closes first, `ColumnFamilyDropped`.
    pub(crate) fn begin_manual(&self, data: &ColumnFamilyData, exclusive: bool) -> Result<()> {
        let result = self.wait_for_manual_turn(data, exclusive);
        if result.is_err() {
            // What it kept from beginning.
            self.change(|state| state.holds -= 1);
        }
        result
    }

    fn wait_for_manual_turn(&self, data: &ColumnFamilyData, exclusive: bool) -> Result<()> {
        let mut state = self.lock();
        state.holds += 1;
        if exclusive && let Some(family) = state.families.get_mut(&data.id) {
            family.exclusive_manual.waiting += 1;
        }
        let result = loop {
            if let Err(error) = self.check_not_closing() {
                break Err(error);
            }
            let Some(family) = state.families.get_mut(&data.id) else {
                let message = format!("column family {} was dropped", data.name);
                break Err(Error::new(ErrorKind::ColumnFamilyDropped, message));
            };
            let may_begin = match exclusive {
                true => !family.exclusive_manual.is_running && family.running.is_empty(),
                // It would come between an exclusive one and the end of what that waits for.
                false => family.exclusive_manual.waiting == 0,
            };
            if may_begin {
                family.exclusive_manual.is_running |= exclusive;
                break Ok(());
            }
            self.wait(&mut state);
        };
        if exclusive && let Some(family) = state.families.get_mut(&data.id) {
            family.exclusive_manual.waiting -= 1;
        }
        self.changed.notify_all();
        result
    }

    /// Gives back what [`begin_manual`](Self::begin_manual) took.
    pub(crate) fn finish_manual(&self, id: u32, exclusive: bool) {
        self.change(|state| {
            state.holds -= 1;
            if let Some(family) = state.families.get_mut(&id)
                && exclusive
            {
                family.exclusive_manual.is_running = false;
            }
        });
    }

    /// Waits until the next piece of a manual compaction can run, and marks its files. `choose` is asked under the lock
    /// and must not block.
    ///
    /// # Errors
    /// The background error that stands, `ShutdownInProgress` when the database closes first.
    pub(crate) fn begin_manual_piece(
        &self,
        id: u32,
        mut choose: impl FnMut(&RunningCompactions) -> ManualChoice,
    ) -> Result<Option<ManualPiece>> {
        let mut state = self.lock();
        loop {
            state.error.check()?;
            self.check_not_closing()?;
            if state.pauses == 0 {
                let Some(family) = state.families.get(&id) else { return Ok(None) };
                match choose(&family.running) {
                    ManualChoice::Done => return Ok(None),
                    ManualChoice::Compact { choice, next_begin } => {
                        return Ok(state.begin_compaction(id, *choice, true).map(|job| (job, next_begin)));
                    }
                    ManualChoice::Conflict => {}
                }
            }
            self.wait(&mut state);
        }
    }

    /// A piece of a manual compaction ended.
    pub(crate) fn finish_manual_piece(&self, id: u32, running: RunningId) {
        let mut state = self.lock();
        if let Some(family) = state.families.get_mut(&id) {
            family.running.finish(running);
        }
        self.changed.notify_all();
    }

    /// Marks the inputs of a compaction that is to run alone. `None` when another one of the family runs, or the family
    /// is gone.
    pub(crate) fn begin_alone(&self, id: u32, choice: CompactionChoice) -> Option<ScheduledCompaction> {
        let mut state = self.lock();
        let is_quiet = state.families.get(&id).is_some_and(|family| family.running.is_empty());
        if is_quiet { state.begin_compaction(id, choice, true) } else { None }
    }
}
