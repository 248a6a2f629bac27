//! Reads that wake who waits for them: one thread sleeps in the kernel for the completions of all.
//!
//! ```text
//! mod.rs       the driver, and a read as its owner holds it
//! state.rs     reads and requests: who belongs to whom, and what ends when
//! waiting.rs   what waits, in its order and by its place in the file: what shares a request
//! slots.rs     numbered places and chains
//! thread.rs    what gets into the ring and out of it, and the thread
//!
//!              start           its request is made       completion taken           poll
//! read        ------> Waiting ---------------------> In ------------------> Over ---------> (gone)
//!                        |   a request in flight      ^ |      |
//!                        +---- brings its bytes ------+ | drop, late         failed for several: Waiting, alone
//!                                                       v      v
//! request                      (in the ring) ---- the last one leaves: cancelled ---- completion taken: (gone)
//! ```
//!
//! A *read* is what somebody waits for; a *request* is what the ring has. A request begins with the oldest read that waits.
//! Others that wait join it when they are for the same file object and near it, by the rule for batches
//! (`plan.rs`): they overlap, touch, or leave no more than `gap_bytes` between them, and all of it is no longer than
//! `max_request_bytes`, as the context of the oldest says. So the order stays that in which reads began, and reads that need
//! not wait never wait for company. Its readers get views of the same memory, which is free again with the last of them. When
//! it failed, or brought too little, each of those it had nothing for is read by a request of its own.
//!
//! A read joins a request that is *in flight* only if its context says `is_final`. A file may be cut or written anew under
//! its name while it is open, and a read must see what was there when it began; of a finished table that is always the same.
//! Those that wait need not say so: their request begins after all of them.
//!
//! The kernel writes to a request's memory until its completion says otherwise. So the memory belongs to the request until
//! then, with the file that keeps the descriptor; dropping a read takes it off its request, and dropping the last one asks
//! for an early end. The thread shares the driver: what is in flight is waited for, whoever else has gone.
//!
//! Whoever starts a read hands it to the kernel himself when few are in flight; otherwise the thread does, with those of
//! others, by the call that it sleeps in. So a single read is on its way at once, and of ten thousand most are submitted by
//! the dozen. The kernel ends a read on the thread that submitted it, which is why the thread should submit most. When that
//! thread has ended, its buffered reads fail (EFAULT, ECANCELED), also those that it submitted for others. So an error of the
//! ring is never handed on: the read is made again without the ring, and has the outcome of that.
//!
//! The queues of the ring are touched under the lock alone; the kernel is entered without it. Wakers are called, and whatever
//! somebody else's code may follow is dropped, without it as well ([`Later`]).

mod slots;
mod state;
#[cfg(test)]
mod tests;
mod thread;
mod waiting;

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use ferrock_base::Error;
use ferrock_base::clock::Clock;
use ferrock_base::thread::Spawner;

use super::buffer::ReadBuffer;
use super::context::ReadContext;
use super::plan::Stretch;
use super::pool::BufferPool;
use super::reactor::RingDevice;
use crate::counters::IoCounters;
use crate::file_system::RandomAccessFile;
use crate::sync::Mutex;
use state::{Later, Reader, State};
use thread::FEW;

/// Longest request that the ring takes.
pub(crate) const MAX_REQUEST_BYTES: u64 = 1 << 30;

/// What is to be read.
pub(crate) struct Asked {
    /// Has a descriptor.
    pub(crate) file: Arc<dyn RandomAccessFile>,
    /// Not empty, within the file, and no longer than [`MAX_REQUEST_BYTES`].
    pub(crate) stretch: Stretch,
    pub(crate) context: ReadContext,
    /// When the read took too long, in microseconds since 1970; `u64::MAX` is never.
    pub(crate) end_us: u64,
}

/// What became of a read.
pub(crate) enum Outcome {
    /// All bytes that were asked for, among others.
    Landed(ReadBuffer),
    /// The time was over first.
    Late,
    /// It is to be read without the ring, which does not work any more, or brought too little, or failed.
    WithoutRing,
    /// There is no memory for it.
    Refused(Error),
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

impl Driver {
    pub(crate) fn new(
        device: Box<dyn RingDevice>,
        pool: BufferPool,
        clock: Arc<dyn Clock>,
        counters: Arc<IoCounters>,
        spawner: Arc<dyn Spawner>,
    ) -> Self {
        Self { device, pool, clock, counters, spawner, state: Mutex::new(State::new()) }
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
        let number = state.add(asked, &self.counters);
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
        Some(Watched { driver: Arc::clone(self), number })
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
    number: usize,
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Watched").field(&self.number).finish()
    }
}

impl Watched {
    /// What became of the read, once; before, the context's waker is called when there is something.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Outcome> {
        let mut state = self.driver.state.lock();
        if state.in_flight <= FEW && state.read(self.number).is_some_and(|read| matches!(read.reader, Reader::Polls(_)))
        {
            // It may have come, and the thread be about to be woken for it: who reads by himself need not wait for that.
            drop(state);
            self.driver.take_what_came();
            state = self.driver.state.lock();
        }
        let Some(read) = state.read(self.number) else { return Poll::Pending };
        match &mut read.reader {
            Reader::Polls(Some(waker)) if waker.will_wake(context.waker()) => Poll::Pending,
            Reader::Polls(waker) => {
                let before = waker.replace(context.waker().clone());
                drop(state);
                drop(before);
                Poll::Pending
            }
            reader => match std::mem::replace(reader, Reader::Told) {
                Reader::Done(outcome) => Poll::Ready(outcome),
                _ => Poll::Pending,
            },
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let driver = &*self.driver;
        let mut state = driver.state.lock();
        let given_up = state.leave(self.number).filter(|_| !driver.device.is_broken());
        let read = state.remove_read(self.number);
        let is_pushed = given_up.is_some_and(|request| driver.push_cancellation(request as u64));
        let must_enter = is_pushed && state.is_asleep;
        drop(state);
        // What is dropped may be somebody else's: a waker, a file.
        drop(read);
        if must_enter {
            driver.enter(0, None);
        }
    }
}
