//! Waiting until no job runs or is due.

use super::{FamilyJobs, JobHost, JobScheduler, State, Wanted};
use ferrock_base::clock::Clock;
use ferrock_base::{Error, ErrorKind, Result};
use std::time::Duration;

/// How long, and through what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleWait {
    /// Not through a pause.
    pub(crate) abort_on_pause: bool,
    /// In monotonic microseconds.
    pub(crate) deadline_us: Option<u64>,
}

impl IdleWait {
    /// The time that is left; `None` for all that it takes.
    ///
    /// # Errors
    /// `TimedOut` when there is none.
    pub(crate) fn time_left(&self, clock: &dyn Clock) -> Result<Option<Duration>> {
        let Some(deadline_us) = self.deadline_us else { return Ok(None) };
        match deadline_us.saturating_sub(clock.monotonic_us()) {
            0 => Err(Error::new(ErrorKind::TimedOut, "flushes and compactions go on: wait again, or longer")),
            left_us => Ok(Some(Duration::from_micros(left_us))),
        }
    }
}

impl JobScheduler {
    /// Waits until no job runs or waits for its turn, or for the end of a pause.
    ///
    /// # Errors
    /// The background error that stands then; `Aborted`, `TimedOut` as `wait` says; `ShutdownInProgress` when jobs
    /// are canceled.
    pub(crate) fn wait_until_idle(&self, clock: &dyn Clock, wait: IdleWait) -> Result<()> {
        let host = self.host.upgrade();
        let mut locked = self.lock();
        loop {
            if self.is_canceled() {
                return self.check_not_closing();
            }
            if wait.abort_on_pause && locked.pauses > 0 {
                return Err(Error::new(ErrorKind::Aborted, "background work is paused"));
            }
            let may_start = locked.error.standing().is_none() && !self.is_closing();
            let is_busy =
                locked.runs_jobs() || locked.runs_pieces() || (may_start && self.has_work(&locked, host.as_deref()));
            if !is_busy {
                return locked.error.check();
            }
            match wait.time_left(clock)? {
                None => self.wait(&mut locked),
                Some(left) => drop(self.changed.wait_for(&mut locked.state, left)),
            }
        }
    }

    /// True when a job will begin, at the end of a pause or an abort if there is one.
    fn has_work(&self, state: &State, host: Option<&dyn JobHost>) -> bool {
        if state.families.values().any(FamilyJobs::needs_flush) {
            return true;
        }
        // Else what is due has begun, unless a limiter holds it back.
        let are_held = state.pauses > 0 || self.is_aborting();
        let is_held = |family: &FamilyJobs| {
            are_held || family.data.options.load().compaction_thread_limiter.as_ref().is_some_and(|own| own.is_full())
        };
        let is_due = |family: &FamilyJobs| {
            host.is_some_and(|host| host.pick_compaction(&family.data, &family.running, Wanted::Any).is_some())
        };
        state.families.values().any(|family| is_held(family) && is_due(family))
    }
}
