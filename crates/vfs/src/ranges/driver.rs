//! Reads that wake who waits for them: one thread sleeps in the kernel for the completions of all.
//!
//! ```text
//!          start           room in the ring            completion taken           poll
//!   (free) ------> Waiting ----------------> InFlight -----------------> Landed ------> (free)
//!                    |  drop                   |  drop, late               |  drop
//!                    v                         v                           v
//!                  (free)                    Gone ---------------------> (free)
//!                                                  completion taken
//! ```
//!
//! The kernel writes to a read's memory until its completion says otherwise. So the memory belongs to the slot until then,
//! with the file that keeps the descriptor, and dropping a read only marks the slot. The thread shares the driver: what is in
//! flight is waited for, whoever else has gone.
//!
//! Whoever starts a read hands it to the kernel himself when few are in flight; otherwise the thread does, with those of
//! others, by the call that it sleeps in. So a single read is on its way at once, and of ten thousand most are submitted by
//! the dozen. The kernel ends a read on the thread that submitted it, which is why the thread should submit most.
//!
//! The queues of the ring are touched under the lock alone; the kernel is entered without it. Wakers are called, and whatever
//! somebody else's code may follow is dropped, without it as well ([`Later`]).

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ferrock_base::Error;
use ferrock_base::clock::Clock;
use ferrock_base::thread::{Job, Spawner};

use super::context::ReadLabel;
use super::pool::{BufferPool, PooledMemory};
use super::reactor::{Entry, RingDevice, leave_to_the_kernel};
use crate::counters::IoCounters;
use crate::file_system::RandomAccessFile;
use crate::sync::Mutex;

/// Most requests in flight; what is beyond waits in the order in which it was started.
const MAX_IN_FLIGHT: usize = 256;
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
// A model has few reads, and is to see both.
const FEW: usize = if cfg!(shuttle) { 1 } else { 4 };
const MANY: usize = 16;
const ROUSING_PART: usize = 4;
/// How often the thread looks for completions of a ring that takes no more calls before it leaves their memory to the kernel.
const LAST_LOOKS: u32 = 20_000;
/// The target of a cancellation that is there to wake the thread.
const NOBODY: u64 = u64::MAX - 1;

/// What is to be read.
pub(crate) struct Asked {
    /// Has a descriptor.
    pub(crate) file: Arc<dyn RandomAccessFile>,
    pub(crate) offset: u64,
    pub(crate) length: usize,
    pub(crate) label: ReadLabel,
    /// When the read took too long, in microseconds since 1970; `u64::MAX` is never.
    pub(crate) end_us: u64,
}

/// What became of a read.
pub(crate) enum Outcome {
    /// The kernel is done with it: the bytes read, or an error number below zero.
    Landed(PooledMemory, i32),
    /// The time was over first.
    Late,
    /// The ring does not work any more: it is to be read without.
    Broken,
    /// There is no memory for it.
    Refused(Error),
}

enum Reader {
    Polls(Option<Waker>),
    Done(Outcome),
    Gone,
}

struct Slot {
    reader: Reader,
    /// Until the kernel is done with it.
    asked: Option<Asked>,
    /// While the kernel may write to it.
    memory: Option<PooledMemory>,
    /// Its number is in the queue of those that wait.
    is_waiting: bool,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    free: Vec<usize>,
    waiting: VecDeque<usize>,
    in_flight: usize,
    /// No read ends before; `u64::MAX` when none has a time.
    next_end_us: u64,
    has_thread: bool,
    /// The thread is in the kernel, or about to be.
    is_asleep: bool,
    is_closed: bool,
}

/// What is done when the lock is free again.
#[derive(Default)]
struct Later {
    wakers: Vec<Waker>,
    asked: Vec<Asked>,
    memory: Vec<PooledMemory>,
    outcomes: Vec<Outcome>,
}

impl Later {
    fn run(&mut self) {
        for waker in self.wakers.drain(..) {
            // A waker that panics is the trouble of its task, not of those whose reads come behind.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        self.asked.clear();
        self.memory.clear();
        self.outcomes.clear();
    }
}

/// The reads of a file system that wake.
pub(crate) struct Driver {
    device: Box<dyn RingDevice>,
    pool: BufferPool,
    clock: Arc<dyn Clock>,
    counters: Arc<IoCounters>,
    spawner: Arc<dyn Spawner>,
    state: Mutex<State>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Driver").field("in_flight", &self.state.lock().in_flight).finish_non_exhaustive()
    }
}

impl State {
    fn add(&mut self, asked: Asked) -> usize {
        let slot = Slot { reader: Reader::Polls(None), asked: Some(asked), memory: None, is_waiting: true };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.waiting.push_back(number);
        number
    }

    /// Ends a read for who polls it.
    fn end(&mut self, number: usize, outcome: Outcome, later: &mut Later) {
        let slot = &mut self.slots[number];
        match std::mem::replace(&mut slot.reader, Reader::Gone) {
            Reader::Polls(waker) => {
                later.wakers.extend(waker);
                slot.reader = Reader::Done(outcome);
            }
            other => {
                slot.reader = other;
                later.outcomes.push(outcome);
            }
        }
    }

    /// The slot is free when nobody has to do with it any more: neither reader nor kernel nor queue.
    fn release(&mut self, number: usize, later: &mut Later) {
        let slot = &mut self.slots[number];
        if matches!(slot.reader, Reader::Gone) && slot.memory.is_none() {
            later.asked.extend(slot.asked.take());
            if !slot.is_waiting {
                self.free.push(number);
            }
        }
    }

    fn complete(&mut self, user_data: u64, result: i32, later: &mut Later) {
        let Ok(number) = usize::try_from(user_data) else { return };
        // A cancellation says nothing.
        let Some(memory) = self.slots.get_mut(number).and_then(|slot| slot.memory.take()) else { return };
        self.in_flight -= 1;
        later.asked.extend(self.slots[number].asked.take());
        self.end(number, Outcome::Landed(memory, result), later);
        self.release(number, later);
    }

    /// Ends all reads that have not landed.
    fn break_off(&mut self, later: &mut Later) {
        while let Some(number) = self.waiting.pop_front() {
            self.slots[number].is_waiting = false;
            later.asked.extend(self.slots[number].asked.take());
            self.end(number, Outcome::Broken, later);
            self.release(number, later);
        }
        for number in 0..self.slots.len() {
            if self.slots[number].memory.is_some() && matches!(self.slots[number].reader, Reader::Polls(_)) {
                self.end(number, Outcome::Broken, later);
            }
        }
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
        let state = State { next_end_us: u64::MAX, ..State::default() };
        Self { device, pool, clock, counters, spawner, state: Mutex::new(state) }
    }

    /// True while its thread is there.
    pub(crate) fn has_thread(&self) -> bool {
        self.state.lock().has_thread
    }

    /// Begins a read; `None` when the ring does not work any more.
    pub(crate) fn start(self: &Arc<Self>, asked: Asked) -> Option<Watched> {
        let mut later = Later::default();
        let mut state = self.state.lock();
        if self.device.is_broken() {
            return None;
        }
        let is_first_to_end = asked.end_us < state.next_end_us;
        state.next_end_us = state.next_end_us.min(asked.end_us);
        let slot = state.add(asked);
        let needs_thread = !std::mem::replace(&mut state.has_thread, true);
        if is_first_to_end && state.is_asleep {
            self.rouse(&mut state);
        }
        let must_enter = self.hand_over(&mut state, &mut later) || is_first_to_end;
        drop(state);
        if must_enter {
            self.enter(0, None);
        }
        later.run();
        if must_enter {
            self.take_what_came();
        }
        if needs_thread && !self.start_thread() {
            self.state.lock().break_off(&mut later);
            later.run();
        }
        Some(Watched { driver: Arc::clone(self), slot })
    }

    /// Sees to it that what waits gets into the ring while the thread sleeps: puts it there, or rouses the thread, or leaves
    /// it to the completions that will. True when the kernel must be entered.
    fn hand_over(&self, state: &mut State, later: &mut Later) -> bool {
        let waiting = state.waiting.len();
        if !state.is_asleep || waiting == 0 || state.in_flight >= MANY || waiting * ROUSING_PART < state.in_flight {
            return false;
        }
        if state.in_flight < FEW { self.fill(state, later) > 0 } else { self.rouse(state) }
    }

    /// Wakes the thread, which is not asleep any more then: nobody else needs to, or takes the completion that it wakes for.
    fn rouse(&self, state: &mut State) -> bool {
        let is_roused = self.push_cancellation(NOBODY);
        state.is_asleep &= !is_roused;
        is_roused
    }

    /// Takes completions without the thread: what the kernel had in memory is there when the call returns.
    fn take_what_came(&self) {
        let mut later = Later::default();
        loop {
            let mut state = self.state.lock();
            if !state.is_asleep {
                return;
            }
            self.device.take(&mut |user_data, result| state.complete(user_data, result, &mut later));
            // The thread may not be woken for what was taken here.
            let must_enter = self.hand_over(&mut state, &mut later);
            drop(state);
            later.run();
            if !must_enter {
                return;
            }
            self.enter(0, None);
        }
    }

    fn start_thread(self: &Arc<Self>) -> bool {
        let driver = Arc::clone(self);
        let job: Job = Box::new(move || driver.serve());
        let is_started = self.spawner.spawn("ferrock-ring", job).is_ok();
        if !is_started {
            self.state.lock().has_thread = false;
        }
        is_started
    }

    fn enter(&self, wanted: usize, time: Option<Duration>) {
        self.counters.ring_calls(1);
        self.device.enter(wanted, time);
    }

    /// Puts what waits into the ring, as far as there is room, and says how much that was.
    fn fill(&self, state: &mut State, later: &mut Later) -> usize {
        let mut pushed = 0;
        while state.in_flight < MAX_IN_FLIGHT
            && let Some(&number) = state.waiting.front()
        {
            let slot = &mut state.slots[number];
            if let (Some(asked), Reader::Polls(_)) = (&slot.asked, &slot.reader) {
                match self.pool.take(asked.length) {
                    // Others will give theirs back.
                    Err(_) if state.in_flight > 0 => return pushed,
                    Err(error) => state.end(number, Outcome::Refused(error), later),
                    Ok(memory) => {
                        if !self.push(number, slot, memory) {
                            return pushed;
                        }
                        state.in_flight += 1;
                        pushed += 1;
                    }
                }
            }
            state.waiting.pop_front();
            state.slots[number].is_waiting = false;
            state.release(number, later);
        }
        pushed
    }

    /// Puts a read into the ring; false when that is full.
    fn push(&self, number: usize, slot: &mut Slot, memory: PooledMemory) -> bool {
        let Some(Asked { file, offset, length, label, .. }) = &slot.asked else { return false };
        let (Some(fd), offset, length, label) = (file.raw_fd(), *offset, *length, *label) else { return false };
        let memory = slot.memory.insert(memory);
        let target = memory.bytes_mut().as_mut_ptr();
        let entry = Entry::Read { user_data: number as u64, fd, offset, memory: target, length: length as u32 };
        // SAFETY: `length` bytes of the memory are the slot's, which keeps them, and the file with its descriptor, until the
        // completion was taken: `release` frees no slot with memory, and nothing looks into it before. A driver is not
        // dropped before, for its thread shares it; a ring that broke keeps them for ever.
        let is_pushed = unsafe { self.device.push(entry) };
        if is_pushed {
            self.counters.device_request(label, length as u64);
        } else {
            slot.memory = None;
        }
        is_pushed
    }

    fn push_cancellation(&self, target: u64) -> bool {
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
        state.next_end_us = u64::MAX;
        for number in 0..state.slots.len() {
            let slot = &state.slots[number];
            let (Reader::Polls(_), Some(asked)) = (&slot.reader, &slot.asked) else { continue };
            if asked.end_us > now_us {
                state.next_end_us = state.next_end_us.min(asked.end_us);
                continue;
            }
            if slot.memory.is_some() {
                self.push_cancellation(number as u64);
            }
            state.end(number, Outcome::Late, later);
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
            self.device.take(&mut |user_data, result| state.complete(user_data, result, &mut later));
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
            let is_idle = state.in_flight == 0 && state.waiting.is_empty();
            let is_over = is_idle && (was_idle || state.is_closed || last_looks > 0);
            if is_over || last_looks > LAST_LOOKS {
                if !is_idle {
                    // Nobody can say whether the kernel will still write to this memory, so nobody else gets it.
                    let kept: Vec<_> =
                        state.slots.iter_mut().map(|slot| (slot.memory.take(), slot.asked.take())).collect();
                    leave_to_the_kernel(kept);
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
    fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let must_wake = state.has_thread && state.is_asleep && self.push_cancellation(NOBODY);
        drop(state);
        if must_wake {
            self.enter(0, None);
        }
    }
}

/// The driver as a file system has it: with that, its thread ends.
#[derive(Debug)]
pub(crate) struct OwnedDriver(pub(crate) Arc<Driver>);

impl Drop for OwnedDriver {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A read that wakes. Dropping it gives it up.
pub(crate) struct Watched {
    driver: Arc<Driver>,
    slot: usize,
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Watched").field(&self.slot).finish()
    }
}

impl Watched {
    /// What became of the read, once; before, the context's waker is called when there is something.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Outcome> {
        let mut state = self.driver.state.lock();
        let slot = &mut state.slots[self.slot];
        match &mut slot.reader {
            Reader::Polls(Some(waker)) if waker.will_wake(context.waker()) => Poll::Pending,
            Reader::Polls(waker) => {
                let before = waker.replace(context.waker().clone());
                drop(state);
                drop(before);
                Poll::Pending
            }
            Reader::Gone => Poll::Pending,
            Reader::Done(_) => match std::mem::replace(&mut slot.reader, Reader::Polls(None)) {
                Reader::Done(outcome) => Poll::Ready(outcome),
                _ => Poll::Pending,
            },
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let driver = &*self.driver;
        let mut later = Later::default();
        let mut state = driver.state.lock();
        let slot = &mut state.slots[self.slot];
        let (reader, is_in_flight) = (std::mem::replace(&mut slot.reader, Reader::Gone), slot.memory.is_some());
        let is_wanted = matches!(reader, Reader::Polls(_));
        state.release(self.slot, &mut later);
        let mut must_enter = false;
        if is_in_flight && is_wanted && !driver.device.is_broken() {
            must_enter = driver.push_cancellation(self.slot as u64) && state.is_asleep;
        }
        drop(state);
        drop(reader);
        if must_enter {
            driver.enter(0, None);
        }
        later.run();
    }
}
