//! Submits requests to the ring, takes completions from it, and runs the thread that waits for them.

use std::sync::Arc;
use std::time::Duration;

use ferrock_base::thread::Job;

use super::state::{DeferredDrops, DriverState, Plan};
use super::{Driver, Outcome};
use crate::ranges::reactor::{Entry, leave_to_the_kernel};

/// Most requests in flight; further reads wait.
// Small under the model checker, so that some of a model's few reads wait.
const MAX_IN_FLIGHT: usize = if cfg!(shuttle) { 2 } else { 256 };
/// The thread exits after it was idle for so long.
const IDLE_TIME: Duration = Duration::from_secs(2);
/// With requests in flight the thread sleeps at most so long, in case the kernel did not take one of them.
const LOOK_TIME: Duration = Duration::from_millis(50);
/// Longest sleep for more than one completion.
const GATHER_TIME: Duration = Duration::from_millis(1);
/// The thread sleeps until this part (one in so many) of the requests in flight has completed.
const GATHERED_PART: usize = 8;
/// With fewer requests in flight than this, `start` submits a read on the calling thread; the kernel then interrupts
/// that thread when the read is done. Up to [`MANY_IN_FLIGHT`], `start` wakes the driver's thread to submit, if the
/// waiting reads are at least one for [`WAKING_PART`] requests in flight. Beyond, completions wake the thread often
/// enough.
// Small under the model checker, so that a model's few reads meet all three cases.
pub(super) const FEW_IN_FLIGHT: usize = if cfg!(shuttle) { 1 } else { 4 };
const MANY_IN_FLIGHT: usize = if cfg!(shuttle) { MAX_IN_FLIGHT } else { 16 };
const WAKING_PART: usize = 4;
/// How often the thread polls a broken ring for completions before it leaves their memory to the kernel.
const MAX_BROKEN_POLLS: u32 = 20_000;
/// The target of a cancellation that only wakes the thread.
const WAKE_ONLY: u64 = u64::MAX - 1;

impl Driver {
    /// Gets waiting reads into the ring while the thread sleeps: pushes them, or wakes the thread, or leaves that to
    /// the next completions. True if the caller must enter the kernel.
    pub(super) fn submit_or_wake(&self, state: &mut DriverState, deferred: &mut DeferredDrops) -> bool {
        let waiting = state.waiting();
        if !state.is_asleep
            || waiting == 0
            || state.in_flight >= MANY_IN_FLIGHT
            || waiting * WAKING_PART < state.in_flight
        {
            return false;
        }
        if state.in_flight < FEW_IN_FLIGHT { self.fill(state, deferred) > 0 } else { self.wake_thread(state) }
    }

    /// Queues an entry that wakes the thread and clears `is_asleep`, so that no other thread wakes it again or takes
    /// the completion that it wakes for.
    pub(super) fn wake_thread(&self, state: &mut DriverState) -> bool {
        let is_queued = self.push_cancellation(WAKE_ONLY);
        state.is_asleep &= !is_queued;
        is_queued
    }

    fn take(&self, state: &mut DriverState, deferred: &mut DeferredDrops) {
        self.device.take(&mut |user_data, result| state.complete(user_data, result, &self.counters, deferred));
    }

    /// Takes completions on the calling thread. Reads that the page cache could serve have completed when the
    /// submitting call returns.
    pub(super) fn take_completions(&self) {
        let mut deferred = DeferredDrops::default();
        loop {
            let mut state = self.state.lock();
            if !state.is_asleep {
                return;
            }
            let before = state.in_flight;
            self.take(&mut state, &mut deferred);
            // The thread may not wake up for completions that were taken here. If none was, another thread has taken
            // them and called `submit_or_wake`.
            let must_enter = state.in_flight < before && self.submit_or_wake(&mut state, &mut deferred);
            drop(state);
            deferred.run();
            if !must_enter {
                return;
            }
            self.enter(0, None);
        }
    }

    pub(super) fn start_thread(self: &Arc<Self>) -> bool {
        let driver = Arc::clone(self);
        let job: Job = Box::new(move || driver.serve());
        let is_started = self.spawner.spawn("ferrock-ring", job).is_ok();
        if !is_started {
            self.state.lock().has_thread = false;
        }
        is_started
    }

    pub(super) fn enter(&self, wanted: usize, time: Option<Duration>) {
        self.counters.ring_calls(1);
        self.device.enter(wanted, time);
    }

    /// Pushes requests for waiting reads while the ring has room; returns how many.
    fn fill(&self, state: &mut DriverState, deferred: &mut DeferredDrops) -> usize {
        let mut pushed = 0;
        let mut members = Vec::new();
        while state.in_flight < MAX_IN_FLIGHT
            && let Some(mut plan) = state.plan(&mut members)
        {
            let mut taken = self.pool.take(plan.length());
            // There may be enough memory for the first read alone.
            if taken.is_err()
                && members.len() > 1
                && let Some(alone) = state.plan_alone(&mut members)
            {
                plan = alone;
                taken = self.pool.take(plan.length());
            }
            match taken {
                // Requests in flight will give memory back.
                Err(_) if state.in_flight > 0 => break,
                Err(error) => state.end_waiting(members[0], Outcome::Refused(error), deferred),
                Ok(memory) => {
                    let Some(number) = state.add_request(members[0], plan.span, memory) else { break };
                    if !self.push(state, number, &plan) {
                        state.discard_request(number, deferred);
                        break;
                    }
                    state.launch(number, &members);
                    pushed += 1;
                }
            }
        }
        pushed
    }

    /// Pushes a request into the ring; false if that is full.
    fn push(&self, state: &mut DriverState, number: usize, plan: &Plan) -> bool {
        let Some(request) = state.request(number) else { return false };
        let Some(fd) = request.file.raw_fd() else { return false };
        let (offset, length) = (request.span.start, plan.length());
        let target = request.memory.bytes_mut().as_mut_ptr();
        let entry = Entry::Read { user_data: number as u64, fd, offset, memory: target, length: length as u32 };
        // SAFETY: the memory was taken for `length` bytes. The request owns it, and the file with its descriptor, until
        // the completion is taken: only `DriverState::complete` removes a request that was pushed, even if no read
        // waits for it any more, and nothing accesses its memory before; readers get views only then. The driver is not
        // dropped before, because its thread shares it; the memory of a broken ring is leaked.
        let is_pushed = unsafe { self.device.push(entry) };
        if is_pushed {
            self.counters.device_request(plan.label, length as u64);
        }
        is_pushed
    }

    pub(super) fn push_cancellation(&self, target: u64) -> bool {
        // SAFETY: a cancellation has neither descriptor nor memory. If the ring does not take it, the read just
        // completes normally.
        unsafe { self.device.push(Entry::Cancel { target }) }
    }

    /// Ends the reads that timed out.
    fn expire(&self, state: &mut DriverState, deferred: &mut DeferredDrops) {
        if state.next_end_us == u64::MAX {
            return;
        }
        let now_us = self.clock.unix_us();
        if now_us < state.next_end_us {
            return;
        }
        let mut given_up = Vec::new();
        state.expire(now_us, &mut given_up, deferred);
        for request in given_up {
            self.push_cancellation(request as u64);
        }
    }

    /// The loop of the driver's thread.
    fn serve(&self) {
        let mut deferred = DeferredDrops::default();
        let mut was_idle = false;
        let mut broken_polls = 0;
        loop {
            let mut state = self.state.lock();
            state.is_asleep = false;
            self.take(&mut state, &mut deferred);
            self.expire(&mut state, &mut deferred);
            if !deferred.wakers.is_empty() {
                drop(state);
                deferred.run();
                state = self.state.lock();
            }
            if self.device.is_broken() {
                state.abort_reads(&mut deferred);
                broken_polls += 1;
            }
            self.fill(&mut state, &mut deferred);
            let is_idle = state.in_flight == 0 && state.waiting() == 0;
            let is_over = is_idle && (was_idle || state.is_closed || broken_polls > 0);
            if is_over || broken_polls > MAX_BROKEN_POLLS {
                if !is_idle {
                    // The kernel may still write to this memory, so it is never freed or used again.
                    leave_to_the_kernel(state.take_requests());
                }
                state.has_thread = false;
                drop(state);
                return deferred.run();
            }
            let (wanted, time) = self.sleep(&state, is_idle);
            state.is_asleep = true;
            drop(state);
            deferred.run();
            self.enter(wanted, Some(time));
            was_idle = is_idle;
        }
    }

    /// For how many completions the thread sleeps, and how long at most.
    fn sleep(&self, state: &DriverState, is_idle: bool) -> (usize, Duration) {
        let wanted = (state.in_flight / GATHERED_PART).max(1);
        let time = match wanted {
            _ if is_idle => IDLE_TIME,
            1 => LOOK_TIME,
            _ => GATHER_TIME,
        };
        if state.next_end_us == u64::MAX {
            return (wanted, time);
        }
        let left_us = state.next_end_us.saturating_sub(self.clock.unix_us()).max(1);
        (wanted, time.min(Duration::from_micros(left_us)))
    }

    /// Lets the thread exit once all reads have ended.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let must_wake = state.has_thread && state.is_asleep && self.push_cancellation(WAKE_ONLY);
        drop(state);
        if must_wake {
            self.enter(0, None);
        }
    }
}
