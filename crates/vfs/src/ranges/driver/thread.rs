//! Submits requests to the ring, takes completions from it, and sleeps for them: on the driver's thread, or on a thread
//! that waits for its own read.

use std::sync::Arc;
use std::time::Duration;

use ferrock_base::thread::Job;

use super::Driver;
use super::state::{DeferredDrops, DriverState, Outcome};
use crate::ranges::ring::{RingUse, leave_to_the_kernel, push_cancellation};
use crate::sync::MutexGuard;

/// Most requests in flight; further reads wait.
// Small under the model checker, so that some of a model's few reads wait.
const MAX_IN_FLIGHT: usize = if cfg!(shuttle) { 2 } else { RingUse::Shared.entries() };
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
    /// the next completions. Without a thread they are pushed. True if the caller must enter the kernel.
    pub(super) fn submit_or_wake(&self, state: &mut DriverState, deferred: &mut DeferredDrops) -> bool {
        let (waiting, in_flight) = (state.waiting(), state.in_flight());
        if waiting > 0 && !state.has_thread {
            return self.fill(state, deferred) > 0;
        }
        if !state.is_asleep || waiting == 0 || in_flight >= MANY_IN_FLIGHT || waiting * WAKING_PART < in_flight {
            return false;
        }
        if in_flight < FEW_IN_FLIGHT { self.fill(state, deferred) > 0 } else { self.wake_thread(state) }
    }

    /// Queues an entry that wakes the thread and clears `is_asleep`, so that no other thread wakes it again or takes
    /// the completion that it wakes for.
    pub(super) fn wake_thread(&self, state: &mut DriverState) -> bool {
        let is_queued = push_cancellation(&*self.device, WAKE_ONLY);
        state.is_asleep &= !is_queued;
        is_queued
    }

    fn take(&self, state: &mut DriverState, deferred: &mut DeferredDrops) {
        self.device.take(&mut |user_data, result| state.complete(user_data, result, &self.counters, deferred));
        self.wake_blocked(state);
    }

    /// Wakes the threads that wait for reads which another thread takes: some have ended, or there is no leader now.
    fn wake_blocked(&self, state: &DriverState) {
        if state.blocked > 0 {
            self.changed.notify_all();
        }
    }

    fn block(&self, state: &mut MutexGuard<'_, DriverState>, time: Option<Duration>) {
        state.blocked += 1;
        match time {
            Some(time) => drop(self.changed.wait_for(state, time)),
            None => self.changed.wait(state),
        }
        state.blocked -= 1;
    }

    /// Waits for the outcome of a read. `time_left` is called before every sleep. Without the driver's thread, one of
    /// the waiting threads, the *leader*, sleeps in the kernel and takes completions for all. Meanwhile no other thread
    /// takes them, because the kernel wakes the leader only for a completion that is still in the queue.
    pub(super) fn wait(&self, number: usize, time_left: &dyn Fn() -> Option<Duration>) -> Outcome {
        loop {
            self.take_completions();
            let mut state = self.state.lock();
            if let Some(outcome) = state.take_outcome(number) {
                return outcome;
            }
            if self.device.is_broken() {
                self.wake_blocked(&state);
                return Outcome::WithoutRing;
            }
            // The ring has no room for it, or the pool no memory: the waiting thread reads it.
            if state.is_waiting(number) {
                return Outcome::WithoutRing;
            }
            let time = time_left();
            if time.is_some_and(|time| time.is_zero()) {
                return Outcome::Late;
            }
            if state.has_thread || state.has_leader {
                self.block(&mut state, time);
                continue;
            }
            state.has_leader = true;
            drop(state);
            self.enter(1, time);
            let mut state = self.state.lock();
            state.has_leader = false;
            self.wake_blocked(&state);
        }
    }

    /// Takes completions on the calling thread. Reads that the page cache could serve have completed when the
    /// submitting call returns.
    pub(in crate::ranges) fn take_completions(&self) {
        let mut deferred = DeferredDrops::default();
        loop {
            let mut state = self.state.lock();
            if !state.may_take() || state.in_flight() == 0 {
                return;
            }
            let before = state.in_flight();
            self.take(&mut state, &mut deferred);
            // The thread may not wake up for completions that were taken here. If none was, another thread has taken
            // them and called `submit_or_wake`.
            let must_enter = state.in_flight() < before && self.submit_or_wake(&mut state, &mut deferred);
            drop(state);
            deferred.run();
            if !must_enter {
                return;
            }
            self.enter(0, None);
        }
    }

    /// Starts the thread, for which `has_thread` was set. If that fails, all reads end.
    pub(super) fn start_thread(self: &Arc<Self>) -> bool {
        let driver = Arc::clone(self);
        let job: Job = Box::new(move || driver.serve());
        let is_started = self.spawner.spawn("ferrock-ring", job).is_ok();
        if !is_started {
            let (mut state, mut deferred) = (self.state.lock(), DeferredDrops::default());
            state.has_thread = false;
            state.abort_reads(&mut deferred);
            self.wake_blocked(&state);
            drop(state);
            deferred.run();
        }
        is_started
    }

    pub(super) fn enter(&self, wanted: usize, time: Option<Duration>) {
        self.counters.ring_calls(1);
        self.device.enter(wanted, time);
    }

    /// Pushes requests for waiting reads while the ring has room; returns how many.
    pub(super) fn fill(&self, state: &mut DriverState, deferred: &mut DeferredDrops) -> usize {
        let mut pushed = 0;
        let mut members = Vec::new();
        while state.in_flight() < MAX_IN_FLIGHT
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
                Err(_) if state.in_flight() > 0 => break,
                Err(error) => state.end_waiting(members[0], Outcome::Refused(error), deferred),
                Ok(memory) => {
                    if !state.launch(&*self.device, &plan, &members, memory, &self.counters, deferred) {
                        break;
                    }
                    pushed += 1;
                }
            }
        }
        pushed
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
            state.cancel(&*self.device, request);
        }
    }

    /// The loop of the driver's thread.
    fn serve(&self) {
        let mut deferred = DeferredDrops::default();
        let mut was_idle = false;
        let mut broken_polls = 0;
        let mut state = self.state.lock();
        while state.has_leader {
            // Its completion must stay in the queue until it wakes up.
            push_cancellation(&*self.device, WAKE_ONLY);
            drop(state);
            self.enter(0, None);
            state = self.state.lock();
            if state.has_leader {
                self.block(&mut state, Some(LOOK_TIME));
            }
        }
        drop(state);
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
                self.wake_blocked(&state);
                broken_polls += 1;
            }
            self.fill(&mut state, &mut deferred);
            let is_idle = state.in_flight() == 0 && state.waiting() == 0;
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
        let wanted = (state.in_flight() / GATHERED_PART).max(1);
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

    /// Lets the thread exit once all reads have ended. Without a thread, waits for all that is in flight, unless the
    /// ring is broken.
    pub(super) fn close(&self) {
        let mut deferred = DeferredDrops::default();
        let mut state = self.state.lock();
        state.is_closed = true;
        if state.has_thread {
            let must_wake = state.is_asleep && push_cancellation(&*self.device, WAKE_ONLY);
            drop(state);
            if must_wake {
                self.enter(0, None);
            }
            return;
        }
        loop {
            self.take(&mut state, &mut deferred);
            if state.in_flight() == 0 || state.has_leader {
                break;
            }
            if self.device.is_broken() {
                leave_to_the_kernel(state.take_requests());
                break;
            }
            drop(state);
            deferred.run();
            self.enter(1, Some(LOOK_TIME));
            state = self.state.lock();
        }
        drop(state);
        deferred.run();
    }
}
