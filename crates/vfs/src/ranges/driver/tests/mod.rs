//! The driver over a ring whose kernel a test plays: which reads share which requests, and (`cargo xtask models
//! ferrock-vfs`) its concurrency under a model checker.
//!
//! ```text
//! mod.rs       the kernel, a file, and a task that waits
//! alone.rs     reads that share nothing: memory, broken rings, threads, wakers
//! joining.rs   reads that share requests
//! random.rs    the same, in any order
//! models.rs    under the model checker
//! ```
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[cfg(not(shuttle))]
mod alone;
#[cfg(not(shuttle))]
mod joining;
#[cfg(shuttle)]
mod models;
#[cfg(not(shuttle))]
mod random;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::thread::Spawner;

use super::{Driver, DriverTicket, Outcome, OwnedDriver, ReadSpec};
use crate::counters::IoCounters;
use crate::ranges::context::{ReadClass, ReadContext, ReadLabel};
use crate::ranges::plan::{ReadSpan, Wanted};
use crate::ranges::pool::BufferPool;
use crate::ranges::ring::{CANCEL_USER_DATA, Descriptor, Entry, RingDevice};
use crate::sync::{Condvar, Mutex};

/// The byte of the file at an offset.
fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9E37_79B9) >> 11) as u8
}

/// A request in the kernel's queue.
struct Target {
    user_data: u64,
    offset: u64,
    memory: *mut u8,
    length: usize,
}

// SAFETY: the driver promises that no thread accesses the memory until the completion is taken.
unsafe impl Send for Target {}

#[derive(Default)]
struct Queues {
    submitted: VecDeque<Target>,
    completed: VecDeque<(u64, i32)>,
    cancelled: Vec<u64>,
    is_over: bool,
}

/// How the kernel performs a request.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Whole,
    /// Only so many bytes of it.
    #[cfg(not(shuttle))]
    Short(usize),
    Error(i32),
}

/// A ring whose kernel is a thread. It wakes a sleeper only for a completion that is still there.
#[derive(Default)]
struct Kernel {
    queues: Mutex<Queues>,
    moved: Condvar,
    is_broken: AtomicBool,
}

impl Kernel {
    /// Performs the oldest request. False if the test has ended the kernel.
    fn perform(&self) -> bool {
        self.await_request() && self.perform_at(0, Manner::Whole)
    }

    /// Waits until there is a request. False if the test has ended the kernel and there is none.
    fn await_request(&self) -> bool {
        let mut queues = self.queues.lock();
        while queues.submitted.is_empty() && !queues.is_over {
            self.moved.wait(&mut queues);
        }
        !queues.submitted.is_empty()
    }

    /// Performs the request with so many before it, if there is one.
    fn perform_at(&self, index: usize, manner: Manner) -> bool {
        let Some(target) = self.queues.lock().submitted.remove(index) else { return false };
        let Target { user_data, offset, memory, length } = target;
        let (count, result) = match manner {
            Manner::Whole => (length, length as i32),
            #[cfg(not(shuttle))]
            Manner::Short(count) => (count.min(length), count.min(length) as i32),
            Manner::Error(error) => (0, -error),
        };
        for index in 0..count {
            // SAFETY: as above, and `length` bytes were submitted.
            unsafe { memory.add(index).write(byte_at(offset + index as u64)) };
        }
        self.queues.lock().completed.push_back((user_data, result));
        self.moved.notify_all();
        true
    }

    fn end(&self) {
        self.queues.lock().is_over = true;
        self.moved.notify_all();
    }

    #[cfg(not(shuttle))]
    fn submitted(&self) -> usize {
        self.queues.lock().submitted.len()
    }
}

struct Device(Arc<Kernel>);

impl RingDevice for Device {
    unsafe fn push(&self, entry: Entry) -> bool {
        let mut queues = self.0.queues.lock();
        match entry {
            Entry::Read { user_data, memory, length, offset, .. } => {
                queues.submitted.push_back(Target { user_data, offset, memory, length: length as usize });
            }
            // The cancellation comes too late.
            Entry::Cancel { target } => {
                queues.cancelled.push(target);
                queues.completed.push_back((CANCEL_USER_DATA, -2));
            }
        }
        drop(queues);
        self.0.moved.notify_all();
        true
    }

    fn enter(&self, wanted: usize, time: Option<Duration>) {
        let mut queues = self.0.queues.lock();
        while wanted > 0 && queues.completed.is_empty() && !self.is_broken() {
            match time {
                Some(time) if self.0.moved.wait_for(&mut queues, time).timed_out() => return,
                Some(_) => {}
                None => self.0.moved.wait(&mut queues),
            }
        }
    }

    fn take(&self, each: &mut dyn FnMut(u64, i32)) {
        let taken = std::mem::take(&mut self.0.queues.lock().completed);
        taken.into_iter().for_each(|(user_data, result)| each(user_data, result));
    }

    fn queued(&self) -> usize {
        0
    }

    fn is_broken(&self) -> bool {
        self.0.is_broken.load(Ordering::Acquire)
    }
}

const FILE_BYTES: u64 = 1 << 40;

/// A read of the file that lives as long as a value.
fn spec(file: &Arc<()>, start: u64, length: u64) -> ReadSpec {
    let span = ReadSpan::of(&Wanted { index: 0, start, end: start + length }, 1);
    let descriptor = Descriptor::new(0, FILE_BYTES, Arc::clone(file) as _);
    let context = ReadContext { is_polled: true, ..ReadContext::for_class(ReadClass::Data) };
    let label = ReadLabel { class: ReadClass::Data, asked_bytes: length };
    ReadSpec { descriptor, span, piece_bytes: 1 << 30, label, context, end_us: u64::MAX }
}

fn file() -> Arc<()> {
    Arc::new(())
}

/// A thread that waits for a read sleeps here.
#[derive(Default)]
struct Sleeper {
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock() = true;
        self.changed.notify_all();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let sleeper = Arc::new(Sleeper::default());
    let waker = Waker::from(Arc::clone(&sleeper));
    loop {
        if let Poll::Ready(out) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return out;
        }
        let mut is_woken = sleeper.is_woken.lock();
        while !std::mem::take(&mut *is_woken) {
            sleeper.changed.wait(&mut is_woken);
        }
    }
}

fn outcome(ticket: &DriverTicket) -> Outcome {
    block_on(std::future::poll_fn(|context| ticket.poll(context)))
}

/// The read completed, and has the bytes of this range.
fn assert_complete(ticket: &DriverTicket, start: u64, length: u64) {
    let Outcome::Complete(came) = outcome(ticket) else { panic!("it did not complete") };
    let view = came.slice(start, length as usize).unwrap();
    let expected: Vec<u8> = (start..start + length).map(byte_at).collect();
    assert_eq!(view.bytes(), expected);
}

fn driver(kernel: &Arc<Kernel>, pool: &BufferPool, spawner: Arc<dyn Spawner>) -> OwnedDriver {
    driver_with_clock(kernel, pool, spawner, SystemClock::shared())
}

fn driver_with_clock(
    kernel: &Arc<Kernel>,
    pool: &BufferPool,
    spawner: Arc<dyn Spawner>,
    clock: Arc<dyn Clock>,
) -> OwnedDriver {
    let device = Box::new(Device(Arc::clone(kernel)));
    OwnedDriver(Arc::new(Driver::new(device, pool.clone(), clock, Arc::<IoCounters>::default(), spawner)))
}

#[cfg(not(shuttle))]
fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if condition() {
            return;
        }
        SystemClock::shared().sleep(Duration::from_millis(1));
    }
    panic!("the condition does not become true");
}
