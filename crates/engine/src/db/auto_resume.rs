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

use super::{DbCore, resume};
use crate::jobs::NextAttempt;
use ferrock_base::Error;
use ferrock_statistics::{Histogram, Ticker};
use std::time::Duration;

/// Why no further attempt follows.
enum Ended {
    /// There is no error any more, or only one that does not pass.
    NothingToDo,
    Closing,
    TooManyAttempts,
}

/// The body of the thread that leaves the error.
pub(super) fn run(core: &DbCore) {
    while let Some((error, reason, times_left)) = core.jobs.begin_attempts() {
        if !core.events.ask_for_recovery(reason.told(), &error) {
            core.events
                .log()
                .info(|| format!("a listener leaves it to Db::resume to accept writes again after: {error}"));
            core.jobs.end_attempts(true);
            return;
        }
        core.events.log().info(|| format!("trying to accept writes again after: {error}"));
        count(core, Ticker::ErrorHandlerAutoresumeCount);
        let ended = resume_with_retries(core, times_left);
        let is_given_up = !matches!(ended, Ended::NothingToDo);
        if let (true, Some(new_error)) = (is_given_up, core.jobs.standing_error()) {
            resume::tell_recovery_end(core, error, Some(new_error));
        }
        if core.jobs.end_attempts(is_given_up) {
            return;
        }
    }
}

fn resume_with_retries(core: &DbCore, times_left: u64) -> Ended {
    let mut attempts = 0_i32;
    loop {
        let last_attempt_us = match core.jobs.next_attempt(times_left) {
            NextAttempt::After(last_attempt_us) => last_attempt_us,
            NextAttempt::NothingToDo => return Ended::NothingToDo,
            NextAttempt::Closing => return Ended::Closing,
        };
        let options = core.options.load_full();
        let due_us = last_attempt_us.map_or(0, |last| last.saturating_add(options.bgerror_resume_retry_interval));
        let wait_us = due_us.saturating_sub(core.env.clock.monotonic_us());
        if wait_us > 0 {
            core.env.clock.sleep_unless(core.jobs.resume_alarm(), Duration::from_micros(wait_us));
            continue;
        }
        attempts += 1;
        count(core, Ticker::ErrorHandlerAutoresumeRetryTotalCount);
        let result = resume::resume(core);
        core.events.tell_collected();
        core.jobs.note_attempt(core.env.clock.monotonic_us());
        let Err(error) = result else {
            count(core, Ticker::ErrorHandlerAutoresumeSuccessCount);
            if let Some(recorder) = core.metrics.recorder() {
                recorder.record(Histogram::ErrorHandlerAutoresumeRetryCount, u64::from(attempts.unsigned_abs()));
            }
            return Ended::NothingToDo;
        };
        note_failed_attempt(core, attempts, &error);
        if attempts >= options.max_bgerror_resume_count {
            return Ended::TooManyAttempts;
        }
    }
}

fn count(core: &DbCore, ticker: Ticker) {
    if let Some(recorder) = core.metrics.recorder() {
        recorder.add(ticker, 1);
    }
}

/// The 1st, 2nd, 4th, ... goes into the LOG, which lies on the same full disk.
fn note_failed_attempt(core: &DbCore, attempts: i32, error: &Error) {
    if attempts.count_ones() == 1 {
        core.events.log().warn(|| format!("attempt {attempts} to accept writes again failed: {error}"));
    }
}
