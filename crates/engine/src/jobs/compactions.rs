//! Automatic and manual compactions: which files are taken, and when one may begin.
//!
//! The inputs are marked before a compaction starts and stay marked until it ended, so compactions that run at once
//! never share a file.

use super::{JobHost, JobScheduler, State, StoppedBy};
use crate::column_family::ColumnFamilyData;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_options::{AwaitsTask, CompactionStyle, SpaceReservation, TaskLimiterToken};
use ferrock_tree::compaction::choice::{CompactionChoice, RunningCompactions, RunningId};
use ferrock_tree::compaction::picker::ManualChoice;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// So many families are asked for a compaction whenever a place is free, whatever is known of them: all, but where
/// there are thousands. Of those the ones are asked that changed, and so many of the others in turn, for time passes
/// and snapshots go.
const FAMILIES_ASKED: usize = 64;

/// Which automatic compactions are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Any,
    IntoLastLevel,
}

/// A compaction that has its place among those that run.
pub(crate) struct ScheduledCompaction {
    pub(crate) data: Arc<ColumnFamilyData>,
    pub(crate) choice: CompactionChoice,
    pub(crate) running: RunningId,
    pub(crate) job_id: u64,
    pub(crate) is_manual: bool,
    /// The choice has the oldest run alone, and the inputs are chosen when there is a thread for them: see
    /// [`JobScheduler::claim`].
    pub(crate) is_intent: bool,
    /// Kept for its outputs, where space is bounded.
    pub(crate) space: Option<SpaceReservation>,
    /// Of the family's limiter. It is not dropped under the lock: that may start a job of this database.
    pub(crate) token: Option<TaskLimiterToken>,
}

/// A compaction that may begin, and the space for its outputs where that is bounded.
pub(crate) type PickedCompaction = (CompactionChoice, Option<SpaceReservation>);

/// A piece of a manual compaction, and the user key that the next one begins with.
pub(crate) type ManualPiece = (ScheduledCompaction, Option<Vec<u8>>);

impl State {
    /// Chooses an automatic compaction and gives it a place.
    ///
    /// A merge of a universal family into the last level waits for the threads of that if there are such. With
    /// `reduce_file_locking` it keeps its oldest run meanwhile, and no more: writers are not stopped by files that
    /// nothing reads yet.
    pub(super) fn begin_compaction_job(
        &mut self,
        host: &Arc<dyn JobHost>,
        has_bottom_threads: bool,
    ) -> Option<ScheduledCompaction> {
        for id in self.families_to_ask() {
            let Some(family) = self.families.get(&id) else { continue };
            if family.exclusive_manual.keeps_others_out() {
                continue;
            }
            if let Some((choice, space)) = host.pick_compaction(&family.data, &family.running, Wanted::Any) {
                let limiter = family.data.options.load().compaction_thread_limiter.clone();
                let token = match limiter.map(|limiter| limiter.begin(&waiting_for_a_task(host))) {
                    // It stays due, and is asked for again when a task ends.
                    Some(None) => continue,
                    Some(token) => token,
                    None => None,
                };
                self.running_compactions += 1;
                if has_bottom_threads && choice.merges_into_last_level() && reduces_file_locking(&family.data) {
                    let mut intent = self.begin_compaction(id, choice.of_oldest_run(), None, false)?;
                    (intent.is_intent, intent.token) = (true, token);
                    return Some(intent);
                }
                let job = self.begin_compaction(id, choice, space, false)?;
                return Some(ScheduledCompaction { token, ..job });
            }
            family.may_compact.store(false, Ordering::Relaxed);
        }
        None
    }

    /// Chooses the inputs of an intent anew. `None` when there is nothing to compact into the last level any more, or
    /// an exclusive manual compaction waits.
    fn claim(&mut self, host: &dyn JobHost, id: u32) -> Option<ScheduledCompaction> {
        let family = self.families.get(&id)?;
        if family.exclusive_manual.keeps_others_out() {
            return None;
        }
        let (choice, space) = host.pick_compaction(&family.data, &family.running, Wanted::IntoLastLevel)?;
        self.begin_compaction(id, choice, space, false)
    }

    /// Each time another family comes first, so that none waits for ever behind a busy one.
    fn families_to_ask(&mut self) -> Vec<u32> {
        let count = self.families.len();
        if count <= FAMILIES_ASKED {
            let mut ids: Vec<u32> = self.families.keys().copied().collect();
            let turn = usize::try_from(self.compactions_begun).unwrap_or(0) % count.max(1);
            ids.rotate_left(turn);
            return ids;
        }
        let from = self.next_asked % count;
        self.next_asked = from + FAMILIES_ASKED;
        let is_turn = |at: usize| (at + count - from) % count < FAMILIES_ASKED;
        let all = self.families.iter().enumerate();
        let asked = all.filter(|(at, (_, family))| family.may_compact.load(Ordering::Relaxed) || is_turn(*at));
        let mut ids: Vec<u32> = asked.map(|(_, (id, _))| *id).collect();
        let turn = usize::try_from(self.compactions_begun).unwrap_or(0) % ids.len().max(1);
        ids.rotate_left(turn);
        ids
    }

    /// Takes the place of an automatic compaction back.
    pub(super) fn end_compaction_job(&mut self, id: u32, running: RunningId) {
        self.running_compactions -= 1;
        if let Some(family) = self.families.get_mut(&id) {
            family.finish_compaction(running);
        }
    }

    /// A call ends that [`begin_manual`](JobScheduler::begin_manual) let begin, or refused.
    fn end_call(&mut self, by: StoppedBy<'_>) {
        self.holds -= 1;
        self.stoppable_calls -= usize::from(is_stoppable(by));
    }

    /// Marks the inputs of a compaction.
    fn begin_compaction(
        &mut self,
        id: u32,
        choice: CompactionChoice,
        space: Option<SpaceReservation>,
        is_manual: bool,
    ) -> Option<ScheduledCompaction> {
        let family = self.families.get_mut(&id)?;
        let running = family.running.start(&choice);
        let job_id = self.next_job_id;
        self.next_job_id += 1;
        self.compactions_begun += 1;
        Some(ScheduledCompaction {
            data: Arc::clone(&family.data),
            choice,
            running,
            job_id,
            is_manual,
            is_intent: false,
            space,
            token: None,
        })
    }
}

fn reduces_file_locking(data: &ColumnFamilyData) -> bool {
    let options = data.options.load();
    options.compaction_style == CompactionStyle::Universal && options.compaction_options_universal.reduce_file_locking
}

/// Where a limiter says that a task may begin.
fn waiting_for_a_task(host: &Arc<dyn JobHost>) -> Weak<dyn AwaitsTask> {
    let host: Arc<dyn AwaitsTask> = Arc::clone(host) as Arc<dyn AwaitsTask>;
    Arc::downgrade(&host)
}

fn is_stoppable(by: StoppedBy<'_>) -> bool {
    matches!(by, StoppedBy::Caller(_))
}

impl JobScheduler {
    /// A number for a job that is no compaction.
    pub(crate) fn new_job_id(&self) -> u64 {
        let mut state = self.lock();
        let id = state.next_job_id;
        state.next_job_id += 1;
        id
    }

    /// An automatic compaction ended: its place and its inputs go to the next jobs.
    pub(crate) fn finish_compaction(&self, id: u32, running: RunningId) {
        self.change(|state| state.end_compaction_job(id, running));
    }

    /// There is a thread for an intent: its oldest run is let go, and what is to be merged now is marked. `None`: the
    /// place is given back, there is nothing to do any more.
    pub(crate) fn claim(&self, data: &ColumnFamilyData, intent: RunningId) -> Option<ScheduledCompaction> {
        let host = self.host.upgrade();
        self.change(|state| {
            if let Some(family) = state.families.get_mut(&data.id) {
                family.finish_compaction(intent);
            }
            let may_begin =
                state.pauses == 0 && state.error.standing().is_none() && !self.is_ending() && !self.is_aborting();
            let chosen = host.filter(|_| may_begin).and_then(|host| state.claim(&*host, data.id));
            if chosen.is_none() {
                state.running_compactions -= 1;
            }
            chosen
        })
    }

    /// Takes a place among the manual jobs. An exclusive one waits until nothing else compacts the family, and from the
    /// moment that it waits nothing else begins to: else a family that always has something to compact would never be
    /// quiet.
    ///
    /// # Errors
    /// `ShutdownInProgress` when the database closes first, `Incomplete` when it is stopped, `ColumnFamilyDropped`.
    pub(crate) fn begin_manual(&self, data: &ColumnFamilyData, exclusive: bool, by: StoppedBy<'_>) -> Result<()> {
        let result = self.wait_for_manual_turn(data, exclusive, by);
        if result.is_err() {
            // What it kept from beginning.
            self.change(|state| state.end_call(by));
        }
        result
    }

    fn wait_for_manual_turn(&self, data: &ColumnFamilyData, exclusive: bool, by: StoppedBy<'_>) -> Result<()> {
        let mut state = self.lock();
        state.holds += 1;
        state.stoppable_calls += usize::from(is_stoppable(by));
        if exclusive && let Some(family) = state.families.get_mut(&data.id) {
            family.exclusive_manual.waiting += 1;
        }
        let result = loop {
            if let Err(error) = self.check_stop(by) {
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
            self.wait_or_look(&mut state, by);
        };
        if exclusive && let Some(family) = state.families.get_mut(&data.id) {
            family.exclusive_manual.waiting -= 1;
        }
        self.changed.notify_all();
        result
    }

    /// Gives back what [`begin_manual`](Self::begin_manual) took.
    pub(crate) fn finish_manual(&self, id: u32, exclusive: bool, by: StoppedBy<'_>) {
        self.change(|state| {
            state.end_call(by);
            if let Some(family) = state.families.get_mut(&id)
                && exclusive
            {
                family.exclusive_manual.is_running = false;
                family.may_compact.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Waits until the next piece of a manual compaction can run, and marks its files. `choose` is asked under the lock
    /// and must not block.
    ///
    /// # Errors
    /// The background error that stands, `ShutdownInProgress` when the database closes first, `Incomplete` when the
    /// compaction is stopped.
    pub(crate) fn begin_manual_piece(
        &self,
        id: u32,
        by: StoppedBy<'_>,
        mut choose: impl FnMut(&RunningCompactions) -> ManualChoice,
    ) -> Result<Option<ManualPiece>> {
        let mut state = self.lock();
        loop {
            state.error.check()?;
            self.check_stop(by)?;
            if state.pauses == 0 {
                let Some(family) = state.families.get(&id) else { return Ok(None) };
                match choose(&family.running) {
                    ManualChoice::Done => return Ok(None),
                    ManualChoice::Compact { choice, next_begin } => {
                        // As in RocksDB it is counted, and not held back.
                        let limiter = family.data.options.load().compaction_thread_limiter.clone();
                        let job = state.begin_compaction(id, *choice, None, true).map(|mut job| {
                            job.token = limiter.map(|limiter| limiter.force());
                            job
                        });
                        return Ok(job.map(|job| (job, next_begin)));
                    }
                    ManualChoice::Conflict => {}
                }
            }
            self.wait_or_look(&mut state, by);
        }
    }

    /// Marks the files of a compaction that does not wait for others. `choose` is asked under the lock and must not
    /// block. Pauses do not hold it.
    ///
    /// # Errors
    /// Those of `choose`, and of [`begin_manual_piece`](Self::begin_manual_piece); `ColumnFamilyDropped`.
    pub(crate) fn begin_at_once(
        &self,
        data: &ColumnFamilyData,
        by: StoppedBy<'_>,
        choose: impl FnOnce(&RunningCompactions) -> Result<CompactionChoice>,
    ) -> Result<ScheduledCompaction> {
        let mut state = self.lock();
        state.error.check()?;
        self.check_stop(by)?;
        let dropped = || Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..]);
        let family = state.families.get(&data.id).ok_or_else(dropped)?;
        let choice = choose(&family.running)?;
        state.begin_compaction(data.id, choice, None, true).ok_or_else(dropped)
    }

    /// Marks where files from outside go, so that no compaction that begins writes there. `choose` is asked under the
    /// lock and must not block. Pauses do not hold it.
    ///
    /// # Errors
    /// Those of `choose`; the background error that stands; `ColumnFamilyDropped`.
    pub(crate) fn begin_ingestion(
        &self,
        data: &ColumnFamilyData,
        choose: impl FnOnce(&RunningCompactions) -> Result<Vec<CompactionChoice>>,
    ) -> Result<Vec<RunningId>> {
        let mut state = self.lock();
        state.error.check()?;
        let dropped = || Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..]);
        let family = state.families.get_mut(&data.id).ok_or_else(dropped)?;
        let choices = choose(&family.running)?;
        Ok(choices.iter().map(|choice| family.running.start(choice)).collect())
    }

    /// A piece of a manual compaction ended.
    pub(crate) fn finish_manual_piece(&self, id: u32, running: RunningId) {
        let mut state = self.lock();
        if let Some(family) = state.families.get_mut(&id) {
            family.finish_compaction(running);
        }
        self.changed.notify_all();
    }

    /// Waits until nothing compacts the family, or until it is gone. The next job may begin at once.
    ///
    /// # Errors
    /// Those of a call that is stopped.
    pub(crate) fn wait_until_quiet(&self, id: u32, by: StoppedBy<'_>) -> Result<()> {
        let mut state = self.lock();
        loop {
            self.check_stop(by)?;
            if state.families.get(&id).is_none_or(|family| family.running.is_empty()) {
                return Ok(());
            }
            self.wait_or_look(&mut state, by);
        }
    }

    /// Marks the inputs of a compaction that is to run alone. `None` when another one of the family runs, or the family
    /// is gone.
    pub(crate) fn begin_alone(&self, id: u32, choice: CompactionChoice) -> Option<ScheduledCompaction> {
        let mut state = self.lock();
        let is_quiet = state.families.get(&id).is_some_and(|family| family.running.is_empty());
        if is_quiet { state.begin_compaction(id, choice, None, true) } else { None }
    }
}
