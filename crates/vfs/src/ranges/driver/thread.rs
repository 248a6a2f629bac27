//! What gets into the ring and out of it, and the thread that sleeps for that.

use std::sync::Arc;
use std::time::Duration;

use ferrock_base::thread::Job;

use super::state::{Later, Plan, State};
use super::{Driver, Outcome};
use crate::ranges::reactor::{Entry, leave_to_the_kernel};

/// Most requests in flight; what is beyond waits.
// A model has few reads, and is to see some wait.
const MAX_IN_FLIGHT: usize = if cfg!(shuttle) { 2 } else { 256 };
/// The thread ends when there was nothing to do for so long.
const IDLE_TIME: Duration = Duration::from_secs(2);
/// With reads in flight the thread sleeps no longer than this, should the kernel not have taken one of them.
const LOOK_TIME: Duration = Duration::from_millis(50);
/// So long at most the thread sleeps for more than one completion.
const GATHER_TIME: Duration = Duration::from_millis(1);
/// The thread sleeps for this part of what is in flight.
const GATHERED_PART: usize = 8;
/// With fewer in flight, who starts a read submits it himself; the kernel then interrupts him when it is done. Up to
/// [`MANY`] he rouses the thread to, when what waits is at least this part of what is in flight. Beyond, the thread is
/// woken often enough by what completes.
// A model has few reads, and is to see all three.
pub(super) const FEW: usize = if cfg!(shuttle) { 1 } else { 4 };
const MANY: usize = if cfg!(shuttle) { MAX_IN_FLIGHT } else { 16 };
const ROUSING_PART: usize = 4;
/// How often the thread looks for completions of a ring that takes no more calls before it leaves their memory to the kernel.
const LAST_LOOKS: u32 = 20_000;
/// The target of a cancellation that is there to wake the thread.
const NOBODY: u64 = u64::MAX - 1;

impl Driver {
    /// Sees to it that what waits gets into the ring while the thread sleeps: puts it there, or rouses the thread, or leaves
    /// it to the completions that will. True when the kernel must be entered.
    pub(super) fn hand_over(&self, state: &mut State, later: &mut Later) -> bool {
        let waiting = state.waiting();
        if !state.is_asleep || waiting == 0 || state.in_flight >= MANY || waiting * ROUSING_PART < state.in_flight {
            return false;
        }
        if state.in_flight < FEW { self.fill(state, later) > 0 } else { self.rouse(state) }
    }

    /// Wakes the thread, which is not asleep any more then: nobody else needs to, or takes the completion that it wakes for.
    pub(super) fn rouse(&self, state: &mut State) -> bool {
        let is_roused = self.push_cancellation(NOBODY);
        state.is_asleep &= !is_roused;
        is_roused
    }

    fn take(&self, state: &mut State, later: &mut Later) {
        self.device.take(&mut |user_data, result| state.complete(user_data, result, &self.counters, later));
    }

    /// Takes completions without the thread: what the kernel had in memory is there when the call returns.
    pub(super) fn take_what_came(&self) {
        let mut later = Later::default();
        loop {
            let mut state = self.state.lock();
            if !state.is_asleep {
                return;
            }
            let before = state.in_flight;
            self.take(&mut state, &mut later);
            // The thread may not be woken for what was taken here. Where nothing was, somebody else has handed over what waits.
            let must_enter = state.in_flight < before && self.hand_over(&mut state, &mut later);
            drop(state);
            later.run();
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

    /// Puts what waits into the ring, as far as there is room, and says how many requests that made.
    fn fill(&self, state: &mut State, later: &mut Later) -> usize {
        let mut pushed = 0;
        let mut members = Vec::new();
        while state.in_flight < MAX_IN_FLIGHT
            && let Some(mut plan) = state.plan(&mut members)
        {
            let mut taken = self.pool.take(plan.length());
            // There may be enough memory for one of them.
            if taken.is_err()
                && members.len() > 1
                && let Some(alone) = state.plan_alone(&mut members)
            {
                plan = alone;
                taken = self.pool.take(plan.length());
            }
            match taken {
                // Others will give theirs back.
                Err(_) if state.in_flight > 0 => break,
                Err(error) => state.end_waiting(members[0], Outcome::Refused(error), later),
                Ok(memory) => {
                    let Some(number) = state.prepare(members[0], plan.stretch, memory) else { break };
                    if !self.push(state, number, &plan) {
                        state.unprepare(number, later);
                        break;
                    }
                    state.launch(number, &members);
                    pushed += 1;
                }
            }
        }
        pushed
    }

    /// Puts a request into the ring; false when that is full.
    fn push(&self, state: &mut State, number: usize, plan: &Plan) -> bool {
        let Some(request) = state.request(number) else { return false };
        let Some(fd) = request.file.raw_fd() else { return false };
        let (offset, length) = (request.stretch.start, plan.length());
        let target = request.memory.bytes_mut().as_mut_ptr();
        let entry = Entry::Read { user_data: number as u64, fd, offset, memory: target, length: length as u32 };
        // SAFETY: the memory was taken for `length` bytes. It is the request's, which keeps it, and the file with its
        // descriptor, until the completion was taken: `State::complete` alone removes a request that was pushed, whoever
        // still waits for it, and nothing looks into its memory before; it gets readers' views only then. A driver is not
        // dropped before, for its thread shares it; a ring that broke keeps them for ever.
        let is_pushed = unsafe { self.device.push(entry) };
        if is_pushed {
            self.counters.device_request(plan.label, length as u64);
        }
        is_pushed
    }

    pub(super) fn push_cancellation(&self, target: u64) -> bool {
        // SAFETY: a cancellation has neither descriptor nor memory. One that is not taken changes nothing: the read ends by
        // itself.
        unsafe { self.device.push(Entry::Cancel { target }) }
    }

    /// Ends the reads whose time is over.
    fn expire(&self, state: &mut State, later: &mut Later) {
        if state.next_end_us == u64::MAX {
            return;
        }
        let now_us = self.clock.unix_us();
        if now_us < state.next_end_us {
            return;
        }
        let mut given_up = Vec::new();
        state.expire(now_us, &mut given_up, later);
        for request in given_up {
            self.push_cancellation(request as u64);
        }
    }

    /// What the thread does.
    fn serve(&self) {
        let mut later = Later::default();
        let mut was_idle = false;
        let mut last_looks = 0;
        loop {
            let mut state = self.state.lock();
            state.is_asleep = false;
            self.take(&mut state, &mut later);
            self.expire(&mut state, &mut later);
            if !later.wakers.is_empty() {
                drop(state);
                later.run();
                state = self.state.lock();
            }
            if self.device.is_broken() {
                state.break_off(&mut later);
                last_looks += 1;
            }
            self.fill(&mut state, &mut later);
            let is_idle = state.in_flight == 0 && state.waiting() == 0;
            let is_over = is_idle && (was_idle || state.is_closed || last_looks > 0);
            if is_over || last_looks > LAST_LOOKS {
                if !is_idle {
                    // Nobody can say whether the kernel will still write to this memory, so nobody else gets it.
                    leave_to_the_kernel(state.take_requests());
                }
                state.has_thread = false;
                drop(state);
                return later.run();
            }
            let (wanted, time) = self.sleep(&state, is_idle);
            state.is_asleep = true;
            drop(state);
            later.run();
            self.enter(wanted, Some(time));
            was_idle = is_idle;
        }
    }

    /// For how many completions the thread sleeps, and how long.
    fn sleep(&self, state: &State, is_idle: bool) -> (usize, Duration) {
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

    /// Lets the thread end when all reads have.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let must_wake = state.has_thread && state.is_asleep && self.push_cancellation(NOBODY);
        drop(state);
        if must_wake {
            self.enter(0, None);
        }
    }
}
