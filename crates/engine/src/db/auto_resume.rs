//! Leaves a background error without a call, when its cause may pass.
//!
//! ```text
//! error -> thread starts -> attempt -> interval -> attempt -> ... -> writes are accepted again
//!                                        ^ wakes early: closing, Db::resume, a worse error
//! ```
//!
//! An attempt is what `Db::resume` does (`resume.rs`). Two of them are `bgerror_resume_retry_interval` apart, also when
//! the first one succeeded and the error came back at once: a compaction that does not fit would fail again and again
//! without a pause. After `max_bgerror_resume_count` attempts that failed it is up to the caller. As in RocksDB the
//! first attempt comes at once, for a flush may well fit where a log did not, and frees the log.
//!
//! To ask the device how much is free, as RocksDB does for `NoSpace`, was rejected: quotas and reserved blocks make the
//! answer wrong, and an attempt that fails removes what it wrote.

use super::{DbCore, State};
use crate::db::resume;
use ferrock_base::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is kept of the attempts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AutoResume {
    /// The database is open: a thread may keep it alive until it is closed.
    is_allowed: bool,
    /// How often the state was left, by whichever thread: an error that came after that is another one.
    pub(super) times_left: u64,
    /// When the last attempt ended, in monotonic microseconds.
    last_attempt_us: Option<u64>,
}

/// Why no further attempt follows.
enum Ended {
    /// There is no error any more, or only one that does not pass.
    NothingToDo,
    Closing,
    TooManyAttempts,
}

/// From now on errors whose cause may pass are left without a call.
pub(crate) fn allow_auto_resume(core: &DbCore, state: &mut State) {
    state.auto_resume.is_allowed = true;
    begin_auto_resume(core, state);
}

/// Starts the thread that leaves the error, if it is one to be left and none runs.
pub(crate) fn begin_auto_resume(core: &DbCore, state: &mut State) {
    if !state.auto_resume.is_allowed
        || !state.error.is_passing()
        || state.error.is_recovering()
        || core.options.load().max_bgerror_resume_count <= 0
        || core.is_closing.load(Ordering::Acquire)
    {
        return;
    }
    let Some(job_core) = core.this.upgrade() else { return };
    match core.env.spawner.spawn("ferrock:resume", Box::new(move || run_auto_resume(job_core))) {
        Ok(_) => state.error.set_recovering(true),
        Err(error) => core.events.log().warn(|| format!("writes wait for Db::resume: {error}")),
    }
}

fn run_auto_resume(core: Arc<DbCore>) {
    loop {
        let (error, times_left) = {
            let mut state = core.state.lock();
            match state.error.standing().cloned() {
                Some(error) => (error, state.auto_resume.times_left),
                None => {
                    state.error.set_recovering(false);
                    core.changed.notify_all();
                    return;
                }
            }
        };
        core.events.log().info(|| format!("trying to accept writes again after: {error}"));
        core.events.tell(|listener| listener.on_error_recovery_begin(&error));
        let ended = resume_with_retries(&core, times_left);
        let new_error = core.state.lock().error.standing().cloned();
        if let (Ended::Closing | Ended::TooManyAttempts, Some(new_error)) = (&ended, new_error) {
            resume::tell_recovery_end(&core, error, Some(new_error));
        }
        // Under one lock: an error that comes after this look starts a thread of its own.
        let mut state = core.state.lock();
        if !matches!(ended, Ended::NothingToDo) || !state.error.is_passing() {
            state.error.set_recovering(false);
            core.changed.notify_all();
            return;
        }
    }
}

fn resume_with_retries(core: &Arc<DbCore>, times_left: u64) -> Ended {
    let mut attempts = 0_i32;
    loop {
        core.resume_alarm.arm();
        if core.is_closing.load(Ordering::Acquire) {
            return Ended::Closing;
        }
        let options = core.options.load_full();
        let state = core.state.lock();
        if !state.error.is_passing() || state.auto_resume.times_left != times_left {
            return Ended::NothingToDo;
        }
        let last_attempt_us = state.auto_resume.last_attempt_us;
        drop(state);
        let due_us = last_attempt_us.map_or(0, |last| last.saturating_add(options.bgerror_resume_retry_interval));
        let wait_us = due_us.saturating_sub(core.env.clock.monotonic_us());
        if wait_us > 0 {
            core.env.clock.sleep_unless(&core.resume_alarm, Duration::from_micros(wait_us));
            continue;
        }
        attempts += 1;
        let result = resume::resume(core);
        core.state.lock().auto_resume.last_attempt_us = Some(core.env.clock.monotonic_us());
        let Err(error) = result else { return Ended::NothingToDo };
        note_failed_attempt(core, attempts, &error);
        if attempts >= options.max_bgerror_resume_count {
            return Ended::TooManyAttempts;
        }
    }
}

/// The 1st, 2nd, 4th, ... goes into the LOG, which lies on the same full disk.
fn note_failed_attempt(core: &DbCore, attempts: i32, error: &Error) {
    if attempts.count_ones() == 1 {
        core.events.log().warn(|| format!("attempt {attempts} to accept writes again failed: {error}"));
    }
}
