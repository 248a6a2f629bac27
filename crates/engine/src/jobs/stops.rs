//! What ends compactions before their time, and keeps others from beginning: aborts of all, calls that are switched
//! off, cancellers of single calls.
//!
//! Aborts and switches are counted; compactions go on when as many calls took them back. The counts change under the
//! scheduler's lock, so that nothing begins unseen, and jobs that run read them without it. The call that raises a
//! count waits until what it stops has ended, and leaves nothing behind.

use super::{JobScheduler, Locked, StoppedBy};
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_options::Canceller;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How often a call that waits looks at its canceller, which wakes no thread.
const LOOK_AT_CANCELLER: Duration = Duration::from_millis(20);

/// How often compactions were stopped and not let go on.
#[derive(Debug, Default)]
pub(super) struct Stops {
    /// Of all compactions.
    aborts: AtomicUsize,
    /// Of those that callers ask for.
    disabled_manual: AtomicUsize,
    /// No job starts any more, for good.
    is_canceled: AtomicBool,
}

impl JobScheduler {
    /// Ends a compaction that is being stopped.
    ///
    /// # Errors
    /// `ShutdownInProgress` when the database closes, `Incomplete` when the compaction is stopped.
    pub(crate) fn check_stop(&self, by: StoppedBy<'_>) -> Result<()> {
        self.check_not_closing()?;
        let is_stopped = |count: &AtomicUsize| count.load(Ordering::Acquire) > 0;
        if !matches!(by, StoppedBy::Closing) && is_stopped(&self.stops.aborts) {
            return Err(Error::new(ErrorKind::Incomplete, "Compaction aborted"));
        }
        if let StoppedBy::Caller(canceller) = by
            && (is_stopped(&self.stops.disabled_manual) || canceller.is_some_and(Canceller::is_canceled))
        {
            return Err(Error::new(ErrorKind::Incomplete, "Manual compaction paused"));
        }
        Ok(())
    }

    /// Waits for the next change; a call with a canceller waits only briefly.
    pub(super) fn wait_or_look(&self, locked: &mut Locked<'_>, by: StoppedBy<'_>) {
        match by {
            StoppedBy::Caller(Some(_)) => drop(self.changed.wait_for(&mut locked.state, LOOK_AT_CANCELLER)),
            _ => self.wait(locked),
        }
    }

    /// True while no compaction may begin.
    pub(super) fn is_aborting(&self) -> bool {
        self.stops.aborts.load(Ordering::Acquire) > 0
    }

    /// How often compactions are aborted now.
    pub(crate) fn num_aborts(&self) -> usize {
        self.stops.aborts.load(Ordering::Acquire)
    }

    /// True when jobs are ended for good, while the database is open.
    #[inline]
    pub(crate) fn is_canceled(&self) -> bool {
        self.stops.is_canceled.load(Ordering::Acquire)
    }

    /// Ends all jobs; none starts any more. With `wait` it returns when none runs.
    pub(crate) fn cancel_jobs(&self, wait: bool) {
        let locked = self.lock();
        self.stops.is_canceled.store(true, Ordering::Release);
        self.changed.notify_all();
        self.resume_alarm.ring();
        drop(locked);
        self.run_queued_jobs();
        let mut locked = self.lock();
        while wait && (locked.runs_jobs() || locked.error.is_recovering() || locked.stoppable_calls > 0) {
            self.wait(&mut locked);
        }
    }

    /// Ends all compactions, and returns when none runs any more.
    pub(crate) fn abort_compactions(&self) {
        let mut locked = self.lock();
        self.stops.aborts.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_all();
        while locked.running_compactions > 0 || locked.stoppable_calls > 0 {
            self.wait(&mut locked);
        }
    }

    /// Takes back one [`abort_compactions`](Self::abort_compactions).
    ///
    /// # Errors
    /// `InvalidArgument` without one.
    pub(crate) fn resume_compactions(&self) -> Result<()> {
        self.change(|_| take_back(&self.stops.aborts, "compactions are not aborted: there is nothing to resume"))
    }

    /// Ends the compactions that callers asked for, and returns when none runs any more.
    pub(crate) fn disable_manual(&self) {
        let mut locked = self.lock();
        self.stops.disabled_manual.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_all();
        while locked.stoppable_calls > 0 {
            self.wait(&mut locked);
        }
    }

    /// Takes back one [`disable_manual`](Self::disable_manual).
    ///
    /// # Errors
    /// `InvalidArgument` without one.
    pub(crate) fn enable_manual(&self) -> Result<()> {
        self.change(|_| take_back(&self.stops.disabled_manual, "manual compactions are not disabled"))
    }
}

fn take_back(count: &AtomicUsize, without: &str) -> Result<()> {
    let taken = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1));
    taken.map(drop).map_err(|_| Error::invalid_argument(without))
}
