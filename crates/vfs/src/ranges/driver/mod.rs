//! Reads of a file system on its shared ring: polled by tasks, or waited for by threads.
//!
//! ```text
//! mod.rs       the driver, and DriverTicket: a read as its owner holds it
//! state.rs     reads and requests: which read belongs to which request, and when each ends
//! waiting.rs   the waiting reads, by age and by place in the file: which of them share a request
//! thread.rs    submission, completion, and who sleeps for it: the driver's thread, or a waiting one
//!
//!              start           its request is made       completion taken           poll
//! read        ------> Waiting ------------------> Request -----------------> Done ---------> (gone)
//!                        |   joins a request in      ^ |      |
//!                        +---- flight --------------+ | drop, late         failed for several: Waiting, alone
//!                                                     v      v
//! request                    (in the ring) ---- its last read leaves: cancelled ---- completion taken: (gone)
//! ```
//!
//! A *read* is one range that a task waits for; a *request* is one entry of the ring. A request is made for the oldest
//! waiting read. Other waiting reads join it if they are of the same file object and near it, by the rule for batches
//! (`plan.rs`): they overlap, touch, or leave at most `gap_bytes` between them, and the whole request is no longer than
//! `max_request_bytes`, both as the context of the oldest read says. Thus requests keep the order in which reads began,
//! and no read is delayed so that others can join it. The reads of a request get views of the same memory, which is
//! freed with the last view. If the request fails or returns too few bytes, each read whose bytes are missing is
//! retried by a request of its own.
//!
//! A read joins a request that is *in flight* only if its context says `is_final`. A file may be truncated or rewritten
//! while it is open, and a read must return the bytes that the file had when the read began or later; the bytes of a
//! finished table never change. Waiting reads may share a request without `is_final`, because it begins after all of
//! them.
//!
//! The kernel writes to a request's memory until the request's completion arrives; until then the table of requests
//! ([`ring`](super::ring)) owns it. Dropping a read removes it from its request, and dropping the last read cancels the
//! request. The thread holds an `Arc` of the driver, so requests in flight are waited for even after every other owner
//! has dropped it; without a thread, closing the driver waits for them.
//!
//! A read that will be polled starts the thread, or the first poll that finds a read pending does. As long as there is
//! none, `start` submits, and a thread that waits for its read sleeps in the kernel itself: a scan that reads ahead and
//! blocks costs no hand-over between threads.
//!
//! With a thread and few requests in flight, `start` submits its read on the calling thread; with more, the driver's
//! thread submits it together with others, in the system call in which it sleeps. So a single read is submitted at
//! once, and of ten thousand most are submitted by the dozen. The kernel finishes a read on the thread that submitted
//! it, so the driver's thread should submit most. If a submitting thread exits, its buffered reads fail (EFAULT,
//! ECANCELED), including those that it submitted for other threads. So an error of the ring is never returned: the read
//! is repeated without the ring, and returns the result of that.
//!
//! The queues of the ring are accessed only under the lock; the kernel is entered without it. Calling wakers, and
//! dropping values whose `drop` may run foreign code, also waits until the lock is released ([`DeferredDrops`]).

mod state;
#[cfg(test)]
mod tests;
mod thread;
mod waiting;

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ferrock_base::clock::Clock;
use ferrock_base::thread::Spawner;

use super::pool::BufferPool;
use super::ring::RingDevice;
use crate::counters::IoCounters;
use crate::sync::{Condvar, Mutex};
use state::{DeferredDrops, DriverState, PollState};
pub(crate) use state::{MAX_REQUEST_BYTES, Outcome, ReadSpec};
use thread::FEW_IN_FLIGHT;

/// Submits the asynchronous reads of a file system to its ring, and wakes the tasks that poll them.
pub(crate) struct Driver {
    device: Box<dyn RingDevice>,
    pool: BufferPool,
    clock: Arc<dyn Clock>,
    counters: Arc<IoCounters>,
    spawner: Arc<dyn Spawner>,
    state: Mutex<DriverState>,
    /// Notified for the threads that `DriverState::blocked` counts.
    changed: Condvar,
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Driver").field("in_flight", &self.state.lock().in_flight()).finish_non_exhaustive()
    }
}

impl Driver {
    pub(crate) fn new(
        device: Box<dyn RingDevice>,
        pool: BufferPool,
        clock: Arc<dyn Clock>,
        counters: Arc<IoCounters>,
        spawner: Arc<dyn Spawner>,
    ) -> Self {
        Self {
            device,
            pool,
            clock,
            counters,
            spawner,
            state: Mutex::new(DriverState::new()),
            changed: Condvar::default(),
        }
    }

    /// True while the driver's thread runs.
    pub(crate) fn has_thread(&self) -> bool {
        self.state.lock().has_thread
    }

    /// Begins a read; `None` if the ring is broken.
    pub(crate) fn start(self: &Arc<Self>, spec: ReadSpec) -> Option<DriverTicket> {
        let mut deferred = DeferredDrops::default();
        let mut state = self.state.lock();
        if self.device.is_broken() {
            return None;
        }
        // The thread gathers the reads of several tasks, from the first on.
        let needs_thread = spec.context.is_polled && !std::mem::replace(&mut state.has_thread, true);
        let is_first_to_end = spec.end_us < state.next_end_us;
        state.next_end_us = state.next_end_us.min(spec.end_us);
        let number = state.add(spec, &self.counters);
        if is_first_to_end && state.is_asleep {
            self.wake_thread(&mut state);
        }
        let must_enter = self.submit_or_wake(&mut state, &mut deferred) || is_first_to_end && state.has_thread;
        drop(state);
        if must_enter {
            self.enter(0, None);
        }
        deferred.run();
        if must_enter {
            self.take_completions();
        }
        if needs_thread {
            self.start_thread();
        }
        Some(DriverTicket { driver: Arc::clone(self), number })
    }
}

/// The driver as the file system owns it: dropping it lets the driver's thread exit.
#[derive(Debug)]
pub(crate) struct OwnedDriver(pub(crate) Arc<Driver>);

impl Drop for OwnedDriver {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A read of the driver. Dropping it abandons the read.
pub(crate) struct DriverTicket {
    driver: Arc<Driver>,
    number: usize,
}

impl fmt::Debug for DriverTicket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("DriverTicket").field(&self.number).finish()
    }
}

impl DriverTicket {
    /// Returns the outcome once. Until it is there, returns `Pending` and keeps the context's waker for it.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Outcome> {
        let mut state = self.driver.state.lock();
        let is_pending = |state: &mut DriverState| matches!(state.poll_state(self.number), Some(PollState::Pending(_)));
        if state.in_flight() <= FEW_IN_FLIGHT && is_pending(&mut state) {
            // The completion may already be in the ring while the thread is not yet awake: with few reads in flight,
            // taking it here saves that wait.
            drop(state);
            self.driver.take_completions();
            state = self.driver.state.lock();
        }
        if let Some(outcome) = state.take_outcome(self.number) {
            return Poll::Ready(outcome);
        }
        let Some(PollState::Pending(waker)) = state.poll_state(self.number) else { return Poll::Pending };
        let before = match waker {
            Some(waker) if waker.will_wake(context.waker()) => None,
            _ => waker.replace(context.waker().clone()),
        };
        let needs_thread = !std::mem::replace(&mut state.has_thread, true);
        drop(state);
        drop(before);
        if needs_thread && !self.driver.start_thread() {
            return self.driver.state.lock().take_outcome(self.number).map_or(Poll::Pending, Poll::Ready);
        }
        Poll::Pending
    }

    /// Waits for the outcome.
    pub(crate) fn wait(self, time_left: &dyn Fn() -> Option<Duration>) -> Outcome {
        self.driver.wait(self.number, time_left)
    }

    /// True if `wait` would return at once.
    pub(crate) fn is_complete(&self) -> bool {
        self.driver.take_completions();
        let mut state = self.driver.state.lock();
        !matches!(state.poll_state(self.number), Some(PollState::Pending(_))) || self.driver.device.is_broken()
    }
}

impl Drop for DriverTicket {
    fn drop(&mut self) {
        let driver = &*self.driver;
        let mut state = driver.state.lock();
        let given_up = state.leave(self.number).filter(|_| !driver.device.is_broken());
        let read = state.remove_read(self.number);
        let is_pushed = given_up.is_some_and(|request| state.cancel(&*driver.device, request));
        let must_enter = is_pushed && (state.is_asleep || !state.has_thread);
        drop(state);
        // Dropping the read may run foreign code: of a waker, or of a file.
        drop(read);
        if must_enter {
            driver.enter(0, None);
            driver.take_completions();
        }
    }
}
