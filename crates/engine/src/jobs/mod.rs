//! What runs when: flushes, compactions, callers that wait for them, pauses, background errors, the end.
//!
//! ```text
//! something changed --> schedule, finish_* ---> jobs that got a place ---> a thread for each: JobHost::run
//!                            ^                                                    |
//!                            +---------------- finish_flush, finish_compaction <--+
//! ```
//!
//! The scheduler knows which families there are, which of their memtables wait for a flush and which of their files a
//! job has. What to compact it asks the [`JobHost`], which runs the jobs, too. An idle database has no thread. Flushes
//! have places of their own ([`Places`]): a flush must never wait behind a long compaction.
//!
//! | file | has |
//! |---|---|
//! | `mod.rs` | places, pauses, waiting, closing |
//! | `family.rs` | what is known of one family |
//! | `memtables.rs` | from a full memtable to a flushed one |
//! | `flush_scope.rs` | which families one flush takes |
//! | `compactions.rs` | automatic and manual compactions |
//! | `idle.rs` | waiting for the end of all work |
//! | `stall_waits.rs` | flushes that wait until they would not slow writers down |
//! | `pressure.rs` | how busy jobs are, for listeners |
//! | `stops.rs` | what ends compactions before their time |
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
mod flush_scope;
mod idle;
mod memtables;
mod pressure;
mod stall_waits;
mod stops;

pub(crate) use compactions::{ManualPiece, PickedCompaction, ScheduledCompaction, Wanted};
pub(crate) use errors::{NextAttempt, ResumeStart};
pub(crate) use family::FamilyJobs;
pub(crate) use idle::IdleWait;
pub(crate) use memtables::{FlushInput, ForMemory, FullMemtables, LogChange, Switch};

use crate::column_family::ColumnFamilyData;
use crate::events::Events;
use crate::options::InfoLogLevel;
use crate::write::controller::{StallCondition, WriteController};
use background_error::{BackgroundError, Reason};
use errors::AutoResume;
use ferrock_base::clock::Alarm;
use ferrock_base::thread::{PoolPriority, PriorityPools, Spawner};
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_options::{AwaitsTask, Canceller, DbSettings, WaitCause, WriteStallCondition, WriteStallInfo};
use ferrock_statistics::Statistics;
use ferrock_tree::compaction::choice::{RunningCompactions, RunningId};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How many jobs of each kind may run at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) flushes: usize,
    pub(crate) compactions: usize,
}

impl Places {
    /// Divides the places that the options give, as RocksDB does.
    pub(crate) fn of(settings: &DbSettings) -> Self {
        let at_least_1 = |count: i32| usize::try_from(count).unwrap_or(0).max(1);
        if (settings.max_background_flushes, settings.max_background_compactions) != (-1, -1) {
            return Self {
                flushes: at_least_1(settings.max_background_flushes),
                compactions: at_least_1(settings.max_background_compactions),
            };
        }
        let all = at_least_1(settings.max_background_jobs);
        let flushes = (all / 4).max(1);
        Self { flushes, compactions: all.saturating_sub(flushes).max(1) }
    }
}

/// The database, as the scheduler sees it.
pub(crate) trait JobHost: AwaitsTask {
    /// How many jobs may run at once, as the options say now.
    fn places(&self) -> Places;

    /// An automatic compaction of a family that does not conflict with those that run. Asked under the scheduler's
    /// lock: it must not block.
    fn pick_compaction(
        &self,
        data: &ColumnFamilyData,
        running: &RunningCompactions,
        wanted: Wanted,
    ) -> Option<PickedCompaction>;

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

/// What one flush job takes: see `flush_scope.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlushScope {
    /// The id, and how many memtables it had switched since the database opened.
    Family(u32, u64),
    /// The same, by family.
    Cut(Arc<BTreeMap<u32, u64>>),
    All,
}

impl FlushScope {
    /// How many of the memtables that a family ever switched are in the scope; `None`: the family is not.
    fn end_of(&self, id: u32) -> Option<u64> {
        match self {
            Self::Family(only, end) => (*only == id).then_some(*end),
            Self::Cut(ends) => ends.get(&id).copied(),
            Self::All => Some(u64::MAX),
        }
    }
}

/// A job that has its place.
pub(crate) enum Job {
    /// Flushes what is immutable of families.
    Flush(FlushScope),
    Compaction(ScheduledCompaction),
}

/// What may stop a compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoppedBy<'a> {
    /// Only the end of the database.
    Closing,
    /// Also an abort of all.
    Abort,
    /// Also the switch for calls, and a canceller.
    Caller(Option<&'a Canceller>),
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
    /// The option `atomic_flush`.
    is_flush_atomic: bool,
    /// [Cuts](FlushScope::Cut) that wait for their flush, oldest first.
    cuts: VecDeque<Arc<BTreeMap<u32, u64>>>,
    running_flushes: usize,
    running_compactions: usize,
    /// What callers do on their own threads and closing waits for: manual jobs that run or wait for their turn, OPTIONS
    /// files being written.
    holds: usize,
    /// Of them compactions that can be stopped.
    stoppable_calls: usize,
    /// Callers that want no background work now.
    pauses: usize,
    next_job_id: u64,
    /// Compactions begun: whose turn it is among families.
    compactions_begun: u64,
    /// Of many families, the first that is asked next for a compaction, whether it changed or not.
    next_asked: usize,
    auto_resume: AutoResume,
}

impl State {
    fn runs_jobs(&self) -> bool {
        self.running_flushes > 0 || self.running_compactions > 0
    }

    /// Manual compactions run on their callers' threads and show in the families alone.
    fn runs_pieces(&self) -> bool {
        self.families.values().any(|family| !family.running.is_empty())
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
    stops: stops::Stops,
    is_read_only: bool,
    /// Wakes the thread that waits for its next attempt to leave a background error.
    resume_alarm: Arc<Alarm>,
    /// Of the writers, which are slowed down while jobs are behind.
    controller: Arc<WriteController>,
    events: Arc<Events>,
    /// What the database counts in.
    statistics: Option<Arc<Statistics>>,
    spawner: Arc<dyn Spawner>,
    /// Shared with other databases; their locks are leaves.
    pools: Option<Arc<PriorityPools>>,
    host: Weak<dyn JobHost>,
}

/// What a scheduler works with.
pub(crate) struct JobSchedulerParts {
    /// No job ever starts.
    pub(crate) is_read_only: bool,
    /// The option `atomic_flush`.
    pub(crate) is_flush_atomic: bool,
    pub(crate) controller: Arc<WriteController>,
    pub(crate) events: Arc<Events>,
    /// What the database counts in.
    pub(crate) statistics: Option<Arc<Statistics>>,
    pub(crate) spawner: Arc<dyn Spawner>,
    pub(crate) pools: Option<Arc<PriorityPools>>,
    pub(crate) host: Weak<dyn JobHost>,
}

/// The lock, and what is told when it is given up: lines for the LOG, and stalls for listeners. Fields are dropped in
/// their order.
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

/// The line of a change of a stall condition.
fn stall_line(info: &WriteStallInfo, numbers: &str) -> String {
    let WriteStallInfo { column_family, cause, previous, current } = info;
    let of = if column_family.is_empty() { String::new() } else { format!("[{column_family}] ") };
    format!("{of}writes are {} (were {}) for {}: {numbers}", current.name(), previous.name(), cause.name())
}

struct Lines<'a> {
    scheduler: &'a JobScheduler,
    collected: Vec<(InfoLogLevel, String)>,
    /// Listeners are to be told of stall conditions.
    has_stalls: bool,
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

    /// What made a condition change are `numbers`.
    fn stall(&mut self, info: WriteStallInfo, numbers: &str) {
        self.warn(stall_line(&info, numbers));
        self.has_stalls |= self.scheduler.events.note_stall(info);
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        let JobScheduler { events, spawner, .. } = self.scheduler;
        for (level, line) in self.collected.drain(..) {
            match level {
                InfoLogLevel::Error => events.log().error(|| line),
                InfoLogLevel::Warn => events.log().warn(|| line),
                _ => events.log().info(|| line),
            }
        }
        if self.has_stalls {
            events.tell_stalls(spawner);
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
        let JobSchedulerParts { is_read_only, is_flush_atomic, controller, events, statistics, spawner, pools, host } =
            parts;
        let state = State {
            families: BTreeMap::new(),
            error: BackgroundError::default(),
            is_flush_atomic,
            cuts: VecDeque::new(),
            running_flushes: 0,
            running_compactions: 0,
            holds: 0,
            stoppable_calls: 0,
            pauses: 0,
            next_job_id: 1,
            compactions_begun: 1,
            next_asked: 0,
            auto_resume: AutoResume::default(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            has_error: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            stops: stops::Stops::default(),
            is_read_only,
            resume_alarm: Arc::default(),
            controller,
            events,
            statistics,
            spawner,
            pools,
            host,
        }
    }

    fn lock(&self) -> Locked<'_> {
        Locked {
            state: self.state.lock(),
            #[cfg(test)]
            _mark: LockMark::new(),
            lines: Lines { scheduler: self, collected: Vec::new(), has_stalls: false },
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

    /// Ends what a job or a caller does once the database is being closed, or its background work is canceled.
    pub(crate) fn check_not_closing(&self) -> Result<()> {
        let what = match () {
            () if self.is_closing() => "the database is closing",
            () if self.is_canceled() => "background work was canceled: close the database, and open it again",
            () => return Ok(()),
        };
        Err(Error::new(ErrorKind::ShutdownInProgress, what))
    }

    /// True when no job starts any more.
    pub(super) fn is_ending(&self) -> bool {
        self.is_closing() || self.is_canceled()
    }

    /// Starts as many jobs as there are places and work for.
    pub(crate) fn schedule(&self) {
        self.change(|_| ());
    }

    /// As [`schedule`](Self::schedule), of what was refused before, too.
    pub(crate) fn ask_all_families(&self) {
        self.change(|state| {
            state.families.values().for_each(|family| family.may_compact.store(true, Ordering::Relaxed));
        });
    }

    /// Changes the state, and gives the places that the change made free, or the work that it made, to the next jobs:
    /// no other thread sees a moment in between. Their threads start when the lock is given up.
    fn change<R>(&self, change: impl FnOnce(&mut Locked<'_>) -> R) -> R {
        let host = self.host.upgrade();
        let mut locked = self.lock();
        let result = change(&mut locked);
        let jobs = host.as_ref().map(|host| self.assign(&mut locked, host)).unwrap_or_default();
        self.changed.notify_all();
        drop(locked);
        if let Some(host) = host {
            jobs.into_iter().for_each(|job| self.start(&host, job));
        }
        result
    }

    fn assign(&self, state: &mut State, host: &Arc<dyn JobHost>) -> Vec<Job> {
        let mut jobs = Vec::new();
        // Jobs give up when the database closes. One begun then would too, and begin the next, without end.
        if self.is_read_only || state.pauses > 0 || state.error.standing().is_some() || self.is_ending() {
            return jobs;
        }
        let places = host.places();
        // Without threads of their own flushes share those of compactions, as in RocksDB.
        let shares_threads = self.pools.as_ref().is_some_and(|pools| pools.threads(PoolPriority::High) == 0);
        while state.running_flushes + if shares_threads { state.running_compactions } else { 0 } < places.flushes {
            let Some(scope) = state.begin_flush_job() else { break };
            jobs.push(Job::Flush(scope));
        }
        while state.running_compactions < places.compactions && !self.is_aborting() {
            let has_bottom_threads = self.pools.as_ref().is_some_and(|pools| pools.threads(PoolPriority::Bottom) > 0);
            let Some(job) = state.begin_compaction_job(host, has_bottom_threads) else { break };
            jobs.push(Job::Compaction(job));
        }
        jobs
    }

    /// Gives a job its thread, or its place in the queue of a pool. Without a thread it loses its place.
    fn start(&self, host: &Arc<dyn JobHost>, job: Job) {
        enum Place {
            Flush(FlushScope),
            Compaction(u32, RunningId),
        }
        let (name, place, is_for_bottom) = match &job {
            Job::Flush(scope) => ("ferrock:flush", Place::Flush(scope.clone()), false),
            Job::Compaction(job) => {
                let place = Place::Compaction(job.data.id, job.running);
                ("ferrock:compact", place, job.choice.merges_into_last_level())
            }
        };
        let host = Arc::clone(host);
        let job: ferrock_base::thread::Job = Box::new(move || host.run(job));
        let started = match &self.pools {
            None => self.spawner.spawn(name, job).map(drop),
            Some(pools) => {
                let has = |priority| pools.threads(priority) > 0;
                let priority = match &place {
                    Place::Flush(_) if has(PoolPriority::High) => PoolPriority::High,
                    Place::Compaction(..) if is_for_bottom && has(PoolPriority::Bottom) => PoolPriority::Bottom,
                    _ => PoolPriority::Low,
                };
                let submitted = pools.submit(priority, self.owner(), &self.spawner, name, job);
                if self.is_ending() {
                    self.run_queued_jobs();
                }
                submitted
            }
        };
        let Err(error) = started else { return };
        let mut locked = self.lock();
        match place {
            Place::Flush(scope) => locked.end_flush_job(&scope),
            Place::Compaction(id, running) => locked.end_compaction_job(id, running),
        }
        self.changed.notify_all();
        drop(locked);
        self.set_error(Reason::Compaction, &error);
    }

    /// The scheduler, for pools that it shares.
    fn owner(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Ends the jobs that wait for a thread of a pool: what runs now gives up.
    fn run_queued_jobs(&self) {
        if let Some(pools) = &self.pools {
            pools.run_waiting_of(self.owner());
        }
    }

    /// Gives shared pools at least as many threads as there are places, where these are more than `before`.
    pub(crate) fn raise_pools(&self, before: Places) {
        let (Some(pools), Some(host)) = (&self.pools, self.host.upgrade()) else { return };
        let now = host.places();
        for (priority, before, now) in [
            (PoolPriority::High, before.flushes, now.flushes),
            (PoolPriority::Low, before.compactions, now.compactions),
        ] {
            if now > before {
                pools.raise_threads(priority, now);
            }
        }
    }

    /// From now on closing waits until the hold is dropped.
    ///
    /// # Errors
    /// `Shutdown in progress` when the database is closed or closing.
    pub(crate) fn hold_open(&self) -> Result<HoldsOpen<'_>> {
        // Closing sets its flag first and then waits for what it counts under this lock.
        let mut locked = self.lock();
        if self.is_closing() {
            self.check_not_closing()?;
        }
        locked.holds += 1;
        Ok(HoldsOpen(self))
    }

    /// As [`hold_open`](Self::hold_open), for a job that runs and is about to end: closing waits until it has told
    /// listeners of that. `None` where there are no listeners.
    pub(crate) fn hold_for_listeners(&self) -> Option<HoldsOpen<'_>> {
        self.events.has_listeners().then(|| {
            self.lock().holds += 1;
            HoldsOpen(self)
        })
    }

    /// Starts no job any more, and waits for those that run. Calls are counted.
    pub(crate) fn pause(&self) {
        let mut locked = self.lock();
        locked.pauses += 1;
        while locked.runs_jobs() || locked.runs_pieces() {
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
            self.check_not_closing()?;
        }
        Ok(())
    }

    /// Tells the LOG and listeners that memtables of all families hold too much, or no more.
    pub(crate) fn tell_memory_stall(&self, is_stopped: bool, numbers: &str) {
        let mut conditions = [WriteStallCondition::Normal, WriteStallCondition::Stopped];
        if !is_stopped {
            conditions.reverse();
        }
        let [previous, current] = conditions;
        let info =
            WriteStallInfo { column_family: String::new(), cause: WaitCause::WriteBufferManager, previous, current };
        self.lock().lines.stall(info, numbers);
    }

    /// From now on the database is being closed. False when it was before.
    pub(crate) fn begin_closing(&self) -> bool {
        !self.is_closing.swap(true, Ordering::AcqRel)
    }

    /// Waits until nothing runs that was begun before [`begin_closing`](Self::begin_closing).
    pub(crate) fn wait_for_the_end(&self) {
        self.run_queued_jobs();
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
