//! What runs when: flushes, compactions, callers that wait for them, pauses, background errors, the end.
//!
//! ```text
//! something changed --> schedule, finish_* ---> jobs that got a place ---> a thread for each: JobHost::run
//!                            ^                                                    |
//!                            +---------------- finish_flush, finish_compaction <--+
//! ```
//!
//! The scheduler knows which families there are, which of their memtables wait for a flush and which of their files a
//! job has. What to compact it asks the [`JobHost`], which runs the jobs, too. An idle database has no thread. A
//! quarter of the places for jobs, at least one, are for flushes: a flush must never wait behind a long compaction.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | places, pauses, waiting, closing |
//! | `family.rs` | what is known of one family |
//! | `memtables.rs` | from a full memtable to a flushed one |
//! | `compactions.rs` | automatic and manual compactions |
//! | `errors.rs`, `background_error.rs` | the background error: entering it, leaving it |
//!
//! One lock, which no other file of the crate can take. While it is held, no file is touched, no thread is started, no
//! listener is called and nothing is written to the LOG: lines are collected and written when the lock is given up. It
//! is taken before the state of the version set, the snapshot list and the write controller, and never after them.
//! A job that ends gives its place back and the next jobs get theirs in one step, so that a caller that waits for all
//! jobs sees no moment without one in between.

pub(crate) mod background_error;
mod compactions;
mod errors;
mod family;
mod memtables;

pub(crate) use compactions::{ManualPiece, ScheduledCompaction};
pub(crate) use errors::{NextAttempt, ResumeStart};
pub(crate) use family::FamilyJobs;
pub(crate) use memtables::{FlushInput, ForMemory, FullMemtables, LogChange, Switch};

use crate::column_family::ColumnFamilyData;
use crate::events::Events;
use crate::info_log::InfoLog;
use crate::options::InfoLogLevel;
use crate::write::controller::{StallCondition, WriteController};
use background_error::{BackgroundError, Reason};
use errors::AutoResume;
use ferrock_base::clock::Alarm;
use ferrock_base::thread::Spawner;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_tree::compaction::choice::{CompactionChoice, RunningCompactions};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How many jobs of each kind may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) flushes: usize,
    pub(crate) compactions: usize,
}

impl Places {
    /// Divides the places that the options give.
    pub(crate) fn of(max_background_jobs: i32) -> Self {
        let all = usize::try_from(max_background_jobs).unwrap_or(2);
        let flushes = (all / 4).max(1);
        Self { flushes, compactions: all.saturating_sub(flushes).max(1) }
    }
}

/// The database, as the scheduler sees it.
pub(crate) trait JobHost: Send + Sync {
    /// How many jobs may run at once, as the options say now.
    fn places(&self) -> Places;

    /// An automatic compaction of a family that does not conflict with those that run. Asked under the scheduler's
    /// lock: it must not block.
    fn pick_compaction(&self, data: &ColumnFamilyData, running: &RunningCompactions) -> Option<CompactionChoice>;

    /// True when an automatic compaction of the family is due. Asked under the scheduler's lock, too.
    fn is_compaction_due(&self, data: &ColumnFamilyData, running: &RunningCompactions) -> bool;

    /// How often in a row the database may try to leave a background error without a call.
    fn max_resume_attempts(&self) -> i32;

    /// The body of a job's thread. It ends with [`JobScheduler::finish_flush`] or
    /// [`JobScheduler::finish_compaction`].
    fn run(self: Arc<Self>, job: Job);

    /// The body of the thread that leaves a background error whose cause may pass. It ends when
    /// [`JobScheduler::begin_attempts`] or [`JobScheduler::end_attempts`] say so.
    fn resume(self: Arc<Self>);
}

/// A job that has its place.
pub(crate) enum Job {
    /// Flushes what is immutable of a family.
    Flush(u32),
    Compaction(ScheduledCompaction),
}

/// Counts for the properties of a database, and of one of its families.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobCounts {
    pub(crate) is_flush_pending: bool,
    pub(crate) running_flushes: usize,
    pub(crate) running_compactions: usize,
    pub(crate) running_sorted_runs: usize,
    pub(crate) errors: u64,
}

struct State {
    families: BTreeMap<u32, FamilyJobs>,
    error: BackgroundError,
    running_flushes: usize,
    running_compactions: usize,
    /// What callers do on their own threads and closing waits for: manual jobs that run or wait for their turn, OPTIONS
    /// files being written.
    holds: usize,
    /// Callers that want no background work now.
    pauses: usize,
    next_job_id: u64,
    auto_resume: AutoResume,
}

impl State {
    fn runs_jobs(&self) -> bool {
        self.running_flushes > 0 || self.running_compactions > 0
    }
}

/// See the [module](self).
pub(crate) struct JobScheduler {
    state: Mutex<State>,
    /// A job ended, a condition changed, an error came or went.
    changed: Condvar,
    /// What `state.error` says, for the fast path of a write.
    has_error: AtomicBool,
    is_closing: AtomicBool,
    is_read_only: bool,
    /// Wakes the thread that waits for its next attempt to leave a background error.
    resume_alarm: Arc<Alarm>,
    /// Of the writers, which are slowed down while jobs are behind.
    controller: Arc<WriteController>,
    events: Arc<Events>,
    spawner: Arc<dyn Spawner>,
    host: Weak<dyn JobHost>,
}

/// What a scheduler works with.
pub(crate) struct JobSchedulerParts {
    /// No job ever starts.
    pub(crate) is_read_only: bool,
    pub(crate) controller: Arc<WriteController>,
    pub(crate) events: Arc<Events>,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) host: Weak<dyn JobHost>,
}

/// The lock, and the lines for the LOG that are written when it is given up. Fields are dropped in their order.
struct Locked<'a> {
    state: MutexGuard<'a, State>,
    #[cfg(test)]
    _mark: LockMark,
    lines: Lines<'a>,
}

#[cfg(test)]
thread_local! {
    static IS_LOCKED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Tells tests which thread has the lock.
#[cfg(test)]
struct LockMark;

#[cfg(test)]
impl LockMark {
    fn new() -> Self {
        IS_LOCKED.with(|is_locked| is_locked.set(true));
        Self
    }
}

#[cfg(test)]
impl Drop for LockMark {
    fn drop(&mut self) {
        IS_LOCKED.with(|is_locked| is_locked.set(false));
    }
}

/// True when this thread has the lock of a scheduler.
#[cfg(test)]
pub(crate) fn is_locked_by_this_thread() -> bool {
    IS_LOCKED.with(std::cell::Cell::get)
}

struct Lines<'a> {
    log: &'a InfoLog,
    collected: Vec<(InfoLogLevel, String)>,
}

impl Lines<'_> {
    fn info(&mut self, line: String) {
        self.collected.push((InfoLogLevel::Info, line));
    }

    fn warn(&mut self, line: String) {
        self.collected.push((InfoLogLevel::Warn, line));
    }

    fn error(&mut self, line: String) {
        self.collected.push((InfoLogLevel::Error, line));
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        for (level, line) in self.collected.drain(..) {
            match level {
                InfoLogLevel::Error => self.log.error(|| line),
                InfoLogLevel::Warn => self.log.warn(|| line),
                _ => self.log.info(|| line),
            }
        }
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

/// Something that closing waits for, until it is dropped.
pub(crate) struct HoldsOpen<'a>(&'a JobScheduler);

impl Drop for HoldsOpen<'_> {
    fn drop(&mut self) {
        self.0.lock().holds -= 1;
        self.0.changed.notify_all();
    }
}

impl JobScheduler {
    /// A scheduler without families.
    pub(crate) fn new(parts: JobSchedulerParts) -> Self {
        let JobSchedulerParts { is_read_only, controller, events, spawner, host } = parts;
        let state = State {
            families: BTreeMap::new(),
            error: BackgroundError::default(),
            running_flushes: 0,
            running_compactions: 0,
            holds: 0,
            pauses: 0,
            next_job_id: 1,
            auto_resume: AutoResume::default(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            has_error: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            is_read_only,
            resume_alarm: Arc::default(),
            controller,
            events,
            spawner,
            host,
        }
    }

    fn lock(&self) -> Locked<'_> {
        Locked {
            state: self.state.lock(),
            #[cfg(test)]
            _mark: LockMark::new(),
            lines: Lines { log: self.events.log(), collected: Vec::new() },
        }
    }

    fn wait(&self, locked: &mut Locked<'_>) {
        self.changed.wait(&mut locked.state);
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// Refuses what changes a database that is read-only or closed.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_read_only || self.is_closing() { Err(self.not_open()) } else { Ok(()) }
    }

    #[cold]
    fn not_open(&self) -> Error {
        if self.is_read_only {
            return Error::not_supported("Not supported operation in read only mode. The database is open read-only");
        }
        Error::new(ErrorKind::ShutdownInProgress, "the database is closed")
    }

    /// Ends what a job or a caller does once the database is being closed.
    pub(crate) fn check_not_closing(&self) -> Result<()> {
        if self.is_closing() {
            return Err(Error::new(ErrorKind::ShutdownInProgress, "the database is closing"));
        }
        Ok(())
    }

    /// Starts as many jobs as there are places and work for.
    pub(crate) fn schedule(&self) {
        self.change(|_| ());
    }

    /// Changes the state, and gives the places that the change made free, or the work that it made, to the next jobs:
    /// no other thread sees a moment in between. Their threads start when the lock is given up.
    fn change<R>(&self, change: impl FnOnce(&mut Locked<'_>) -> R) -> R {
        let host = self.host.upgrade();
        let mut locked = self.lock();
        let result = change(&mut locked);
        let jobs = host.as_ref().map(|host| self.assign(&mut locked, &**host)).unwrap_or_default();
        self.changed.notify_all();
        drop(locked);
        if let Some(host) = host {
            jobs.into_iter().for_each(|job| self.start(&host, job));
        }
        result
    }

    fn assign(&self, state: &mut State, host: &dyn JobHost) -> Vec<Job> {
        let mut jobs = Vec::new();
        // Jobs give up when the database closes. One begun then would too, and begin the next, without end.
        if self.is_read_only || state.pauses > 0 || state.error.standing().is_some() || self.is_closing() {
            return jobs;
        }
        let places = host.places();
        while state.running_flushes < places.flushes {
            let Some(id) = state.begin_flush_job() else { break };
            jobs.push(Job::Flush(id));
        }
        while state.running_compactions < places.compactions {
            let Some(job) = state.begin_compaction_job(host) else { break };
            jobs.push(Job::Compaction(job));
        }
        jobs
    }

    /// Gives a job its thread. Without one it loses its place.
    fn start(&self, host: &Arc<dyn JobHost>, job: Job) {
        let (name, place) = match &job {
            Job::Flush(id) => ("ferrock:flush", (*id, None)),
            Job::Compaction(job) => ("ferrock:compact", (job.data.id, Some(job.running))),
        };
        let host = Arc::clone(host);
        let Err(error) = self.spawner.spawn(name, Box::new(move || host.run(job))) else { return };
        let mut locked = self.lock();
        match place {
            (id, None) => locked.end_flush_job(id),
            (id, Some(running)) => locked.end_compaction_job(id, running),
        }
        self.changed.notify_all();
        drop(locked);
        self.set_error(Reason::Compaction, &error);
    }

    /// From now on closing waits until the hold is dropped.
    ///
    /// # Errors
    /// `Shutdown in progress` when the database is closed or closing.
    pub(crate) fn hold_open(&self) -> Result<HoldsOpen<'_>> {
        // Closing sets its flag first and then waits for what it counts under this lock.
        let mut locked = self.lock();
        self.check_not_closing()?;
        locked.holds += 1;
        Ok(HoldsOpen(self))
    }

    /// Starts no job any more, and waits for those that run. Calls are counted.
    pub(crate) fn pause(&self) {
        let mut locked = self.lock();
        locked.pauses += 1;
        // Manual compactions run on their callers' threads and show in the families alone.
        while locked.runs_jobs() || locked.families.values().any(|family| !family.running.is_empty()) {
            self.wait(&mut locked);
        }
    }

    /// Takes back one [`pause`](Self::pause).
    ///
    /// # Errors
    /// `Invalid argument` when nothing is paused.
    pub(crate) fn end_pause(&self) -> Result<()> {
        self.change(|state| match state.pauses.checked_sub(1) {
            None => Err(Error::invalid_argument("Background work already unpaused")),
            Some(pauses) => {
                state.pauses = pauses;
                Ok(())
            }
        })
    }

    /// Takes back every [`pause`](Self::pause): closing waits for work that one would keep from starting.
    pub(crate) fn end_all_pauses(&self) {
        self.change(|state| state.pauses = 0);
    }

    /// Waits until no job runs or waits for its turn.
    ///
    /// # Errors
    /// The background error that stands then.
    pub(crate) fn wait_until_idle(&self) -> Result<()> {
        let mut locked = self.lock();
        loop {
            let may_start = locked.error.standing().is_none() && !self.is_closing();
            let is_busy = locked.runs_jobs() || (may_start && locked.families.values().any(FamilyJobs::needs_flush));
            if !is_busy {
                return locked.error.check();
            }
            self.wait(&mut locked);
        }
    }

    /// Waits while writers are stopped.
    ///
    /// # Errors
    /// The background error that comes meanwhile, `ShutdownInProgress` when the database is closed.
    pub(crate) fn wait_while_stopped(&self) -> Result<()> {
        let controller = &self.controller;
        let mut locked = self.lock();
        while controller.condition() == StallCondition::Stopped {
            if controller.is_over() {
                let what = "writes are stopped, and the database is closing";
                return Err(Error::new(ErrorKind::ShutdownInProgress, what));
            }
            // The time limit is a safety net: every change of the condition notifies.
            self.changed.wait_for(&mut locked.state, Duration::from_millis(500));
            locked.error.check()?;
            self.check_open()?;
        }
        Ok(())
    }

    /// From now on the database is being closed. False when it was before.
    pub(crate) fn begin_closing(&self) -> bool {
        !self.is_closing.swap(true, Ordering::AcqRel)
    }

    /// Waits until nothing runs that was begun before [`begin_closing`](Self::begin_closing).
    pub(crate) fn wait_for_the_end(&self) {
        let mut locked = self.lock();
        self.changed.notify_all();
        self.resume_alarm.ring();
        while locked.runs_jobs() || locked.error.is_recovering() || locked.holds > 0 {
            self.wait(&mut locked);
        }
    }

    /// Counts of now, for a family and the database.
    pub(crate) fn counts(&self, id: u32) -> JobCounts {
        let locked = self.lock();
        let family = locked.families.get(&id);
        JobCounts {
            is_flush_pending: family.is_some_and(FamilyJobs::needs_flush),
            running_flushes: locked.running_flushes,
            running_compactions: locked.running_compactions,
            running_sorted_runs: locked.families.values().map(|family| family.running.sorted_runs()).sum(),
            errors: locked.error.count(),
        }
    }

    /// True when an automatic compaction of the family is due.
    pub(crate) fn is_compaction_due(&self, id: u32) -> bool {
        let Some(host) = self.host.upgrade() else { return false };
        let locked = self.lock();
        locked.families.get(&id).is_some_and(|family| host.is_compaction_due(&family.data, &family.running))
    }
}
