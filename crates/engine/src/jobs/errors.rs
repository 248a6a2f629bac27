//! The background error of a database: entering it, the attempts to leave it, leaving it.

use super::background_error::{Reason, severity};
use super::{BackgroundError, JobScheduler, State};
use crate::events::Event;
use ferrock_base::clock::Alarm;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_statistics::Ticker;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What is kept of the attempts to leave the error.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AutoResume {
    /// The database is open: a thread may keep it alive until it is closed.
    is_allowed: bool,
    /// How often the state was left, by whichever thread: an error that came after that is another one.
    times_left: u64,
    /// When the last attempt ended, in monotonic microseconds.
    last_attempt_us: Option<u64>,
}

/// Where a call that leaves the error begins.
pub(crate) enum ResumeStart {
    /// The error, and how many there were by now.
    Error(Error, u64),
    /// There is no error.
    NoError,
    /// A job runs that may still fail with the old cause.
    JobsRun,
}

/// What the thread that leaves the error does next.
pub(crate) enum NextAttempt {
    /// An attempt, not before the last one is long enough ago; when that ended, in monotonic microseconds.
    After(Option<u64>),
    /// There is no error any more, or only one that does not pass.
    NothingToDo,
    Closing,
}

impl JobScheduler {
    /// Enters, or deepens, the background-error state. Listeners are told when that is new, by
    /// [`tell_collected`](crate::events::Events::tell_collected): the caller may hold locks.
    pub(crate) fn set_error(&self, reason: Reason, error: &Error) {
        if self.note_error(reason, error) {
            self.events.collect(|| Event::BackgroundError(reason.told(), error.clone()));
        }
    }

    /// Asks the listeners what the failure of work counts for that can be tried again, and enters the state for that.
    /// False when they let it count for nothing. The caller holds no lock of the database.
    pub(crate) fn raise_error(&self, reason: Reason, error: &Error) -> bool {
        if BackgroundError::counts_for_nothing(error) {
            return true;
        }
        // It was told where it happened.
        if self.standing_error().is_some_and(|standing| standing.to_string() == error.to_string()) {
            self.note_error(reason, error);
            return true;
        }
        match self.events.ask_of_error(reason.told(), error) {
            Some(error) => {
                self.note_error(reason, &error);
                true
            }
            None => {
                self.events.log().warn(|| format!("a listener lets writes go on after a failed {reason:?}: {error}"));
                false
            }
        }
    }

    /// As [`set_error`](Self::set_error), of which no listener is told. True when the state changed.
    fn note_error(&self, reason: Reason, error: &Error) -> bool {
        let mut locked = self.lock();
        let has_changed = locked.error.set(reason, error);
        if has_changed {
            self.count_error(error, locked.error.is_passing());
            self.has_error.store(true, Ordering::Release);
            let severity = severity(reason, error.kind()).name();
            locked.lines.error(format!("writes stop after a failed {reason:?} ({severity}): {error}"));
        }
        let starts_attempts = self.may_start_attempts(&mut locked);
        self.changed.notify_all();
        drop(locked);
        if has_changed {
            self.controller.wake_sleeper();
        }
        if starts_attempts {
            self.start_attempts();
        }
        has_changed
    }

    /// Counts an error whose cause may pass, or not.
    fn count_error(&self, error: &Error, is_passing: bool) {
        let Some(recorder) = self.statistics.as_ref().and_then(|statistics| statistics.recorder()) else { return };
        recorder.add(Ticker::ErrorHandlerBgErrorCount, 1);
        if matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace) {
            recorder.add(Ticker::ErrorHandlerBgIoErrorCount, 1);
            recorder.add(Ticker::ErrorHandlerBgRetryableIoErrorCount, u64::from(is_passing));
        }
    }

    /// From now on errors whose cause may pass are left without a call.
    pub(crate) fn allow_attempts(&self) {
        let mut locked = self.lock();
        locked.auto_resume.is_allowed = true;
        let starts_attempts = self.may_start_attempts(&mut locked);
        drop(locked);
        if starts_attempts {
            self.start_attempts();
        }
    }

    /// True for the caller that has to start the thread that leaves the error: it is one to be left, and none runs.
    fn may_start_attempts(&self, state: &mut State) -> bool {
        let may_start = state.auto_resume.is_allowed
            && state.error.is_passing()
            && !state.error.is_recovering()
            && !self.is_ending()
            && self.host.upgrade().is_some_and(|host| host.max_resume_attempts() > 0);
        if may_start {
            // Closing waits for it from now on.
            state.error.set_recovering(true);
        }
        may_start
    }

    fn start_attempts(&self) {
        let started = match self.host.upgrade() {
            Some(host) => self.spawner.spawn("ferrock:resume", Box::new(move || host.resume())).map(|_| true),
            None => Ok(false),
        };
        if let Ok(true) = started {
            return;
        }
        let mut locked = self.lock();
        locked.error.set_recovering(false);
        if let Err(error) = started {
            locked.lines.warn(format!("writes wait for Db::resume: {error}"));
        }
        self.changed.notify_all();
    }

    /// The error that stands.
    pub(crate) fn standing_error(&self) -> Option<Error> {
        self.lock().error.standing().cloned()
    }

    /// True while an error stands: what [`check_error`](Self::check_error) would say, without a lock.
    #[inline]
    pub(crate) fn has_error(&self) -> bool {
        self.has_error.load(Ordering::Acquire)
    }

    /// What a writer is told.
    ///
    /// # Errors
    /// The background error that stands.
    #[inline]
    pub(crate) fn check_error(&self) -> Result<()> {
        if self.has_error() { self.check_error_locked() } else { Ok(()) }
    }

    #[cold]
    fn check_error_locked(&self) -> Result<()> {
        self.lock().error.check()
    }

    /// Waits for jobs that run while an error stands: they may still fail with the old cause. No other starts, so this
    /// ends; writers get the error meanwhile.
    ///
    /// # Errors
    /// `ShutdownInProgress` when the database closes first.
    pub(crate) fn wait_for_jobs_that_run(&self) -> Result<()> {
        let mut locked = self.lock();
        while locked.error.standing().is_some() && locked.runs_jobs() {
            self.check_not_closing()?;
            self.wait(&mut locked);
        }
        Ok(())
    }

    /// Looks whether the error may be left now. The caller leads the write queue.
    ///
    /// # Errors
    /// The error, when only reopening helps.
    pub(crate) fn begin_resume(&self) -> Result<ResumeStart> {
        let locked = self.lock();
        let Some(error) = locked.error.standing().cloned() else { return Ok(ResumeStart::NoError) };
        if !locked.error.is_resumable() {
            locked.error.check()?;
        }
        if locked.runs_jobs() {
            return Ok(ResumeStart::JobsRun);
        }
        Ok(ResumeStart::Error(error, locked.error.count()))
    }

    /// Leaves the error: everything that readers see is durable. `errors_before` is what
    /// [`begin_resume`](Self::begin_resume) gave.
    ///
    /// # Errors
    /// An error that came meanwhile.
    pub(crate) fn finish_resume(&self, errors_before: u64) -> Result<()> {
        self.change(|locked| {
            if locked.error.count() != errors_before {
                // A manual compaction failed meanwhile; its error may be a worse one.
                locked.error.check()?;
            }
            locked.error.clear();
            locked.auto_resume.times_left += 1;
            self.has_error.store(false, Ordering::Release);
            locked.lines.info("writes are accepted again".to_owned());
            self.resume_alarm.ring();
            Ok(())
        })
    }

    /// The error that the thread of attempts is to leave, what failed, and what tells it from a later one. `None`: the
    /// thread ends.
    pub(crate) fn begin_attempts(&self) -> Option<(Error, Reason, u64)> {
        let mut locked = self.lock();
        let error = locked.error.standing_with_reason().map(|(error, reason)| (error.clone(), reason));
        if error.is_none() {
            locked.error.set_recovering(false);
            self.changed.notify_all();
        }
        error.map(|(error, reason)| (error, reason, locked.auto_resume.times_left))
    }

    /// Whether another attempt to leave an error follows. Arms the alarm that ends the wait before it.
    pub(crate) fn next_attempt(&self, times_left: u64) -> NextAttempt {
        self.resume_alarm.arm();
        if self.is_ending() {
            return NextAttempt::Closing;
        }
        let locked = self.lock();
        if !locked.error.is_passing() || locked.auto_resume.times_left != times_left {
            return NextAttempt::NothingToDo;
        }
        NextAttempt::After(locked.auto_resume.last_attempt_us)
    }

    /// Rings when there is a reason to look again before the next attempt is due.
    pub(crate) fn resume_alarm(&self) -> &Arc<Alarm> {
        &self.resume_alarm
    }

    /// An attempt ended, whatever it came to.
    pub(crate) fn note_attempt(&self, now_us: u64) {
        self.lock().auto_resume.last_attempt_us = Some(now_us);
    }

    /// True when the thread of attempts ends: with `is_given_up`, or when no error is left that may pass. In one step
    /// with that look: an error that comes after it starts a thread of its own.
    pub(crate) fn end_attempts(&self, is_given_up: bool) -> bool {
        let mut locked = self.lock();
        let ends = is_given_up || !locked.error.is_passing();
        if ends {
            locked.error.set_recovering(false);
            self.changed.notify_all();
        }
        ends
    }
}
