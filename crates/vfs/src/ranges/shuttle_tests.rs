//! Pending reads of several threads under a model checker: `cargo xtask models ferrock-vfs`.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::Result;
use ferrock_base::thread::{Job, Join, Spawner};
use shuttle::thread;

use super::context::ReadContext;
use super::plan::{Run, Wanted};
use super::pool::BufferPool;
use super::reactor::{CANCEL_USER_DATA, Entry, Reactor, RingDevice, Ticket};
use super::threads::IoThreads;
use crate::file_system::{FileSystem, RandomAccessFile};
use crate::memory::MemoryFileSystem;
use crate::options::{RandomAccessOptions, WritableOptions};
use crate::sync::{Condvar, Mutex};

const ITERATIONS: usize = 5000;

/// Random schedules, then schedules with few, well-placed preemptions.
fn check(model: impl Fn() + Send + Sync + Clone + 'static) {
    shuttle::check_random(model.clone(), ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, 3);
}

/// Memory of a request in the kernel's queue.
struct Target(u64, *mut u8, usize);

// SAFETY: the reactor promises that no thread accesses the memory until the completion is taken.
unsafe impl Send for Target {}

#[derive(Default)]
struct Queues {
    submitted: VecDeque<Target>,
    completed: VecDeque<(u64, i32)>,
}

/// A ring whose kernel is a thread. It wakes a sleeper only for a completion that is still there.
#[derive(Default)]
struct Kernel {
    queues: Mutex<Queues>,
    moved: Condvar,
}

impl Kernel {
    /// Performs so many reads: every byte becomes the number of the request.
    fn perform(&self, reads: usize) {
        for _ in 0..reads {
            let mut queues = self.queues.lock();
            while queues.submitted.is_empty() {
                self.moved.wait(&mut queues);
            }
            let Target(user_data, memory, length) = queues.submitted.pop_front().unwrap();
            drop(queues);
            for index in 0..length {
                // SAFETY: as above, and `length` bytes were submitted.
                unsafe { memory.add(index).write(user_data as u8 + 1) };
            }
            self.queues.lock().completed.push_back((user_data, length as i32));
            self.moved.notify_all();
        }
    }
}

struct Device(Arc<Kernel>);

impl RingDevice for Device {
    unsafe fn submit(&self, entry: Entry) -> io::Result<()> {
        let mut queues = self.0.queues.lock();
        match entry {
            Entry::Read { user_data, memory, length, .. } => {
                queues.submitted.push_back(Target(user_data, memory, length as usize));
            }
            // The cancellation comes too late.
            Entry::Cancel { .. } => queues.completed.push_back((CANCEL_USER_DATA, -2)),
        }
        drop(queues);
        self.0.moved.notify_all();
        Ok(())
    }

    unsafe fn push(&self, entry: Entry) -> bool {
        // SAFETY: the same contract.
        unsafe { self.submit(entry) }.is_ok()
    }

    fn enter(&self, wanted: usize, time: Option<Duration>) {
        if wanted > 0 {
            self.wait(time);
        }
    }

    fn take(&self, each: &mut dyn FnMut(u64, i32)) {
        let taken = std::mem::take(&mut self.0.queues.lock().completed);
        taken.into_iter().for_each(|(user_data, result)| each(user_data, result));
    }

    fn wait(&self, _time: Option<Duration>) {
        let mut queues = self.0.queues.lock();
        while queues.completed.is_empty() {
            self.0.moved.wait(&mut queues);
        }
    }

    fn is_broken(&self) -> bool {
        false
    }
}

fn start(reactor: &Arc<Reactor>, pool: &BufferPool) -> Ticket {
    let run = Run::of(Wanted { index: 0, start: 0, end: 8 }, 1);
    reactor.start(0, &run, [4usize, 4].into_iter(), pool.take(8).unwrap()).ok().unwrap()
}

fn land(ticket: Ticket) {
    let completed = ticket.wait(&|| None).ok().unwrap();
    assert_eq!(completed.pieces, [(4, Some(4)), (4, Some(4))]);
    let bytes = completed.memory.bytes();
    // Both requests of one slot, and whole.
    assert!(bytes[0] != 0 && bytes[..4] == [bytes[0]; 4] && bytes[4..8] == [bytes[0] + 1; 4], "{bytes:?}");
}

/// Each thread gets its own bytes, whichever thread sleeps in the kernel; none sleeps for ever.
#[test]
fn shuttle_waiters_take_completions_for_each_other() {
    check(|| {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let reactor = Arc::new(Reactor::new(Box::new(Device(Arc::clone(&kernel)))));
        let mut threads = vec![thread::spawn(move || kernel.perform(8))];
        for _ in 0..2 {
            let (reactor, pool) = (Arc::clone(&reactor), pool.clone());
            threads.push(thread::spawn(move || {
                land(start(&reactor, &pool));
                let ticket = start(&reactor, &pool);
                let _ = ticket.is_complete();
                land(ticket);
            }));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(pool.usage().in_use_bytes, 0);
    });
}

/// An abandoned read is freed once, after the kernel is done with it, at the latest with the reactor.
#[test]
fn shuttle_reads_are_given_up_in_flight() {
    check(|| {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let reactor = Arc::new(Reactor::new(Box::new(Device(Arc::clone(&kernel)))));
        let kernel = thread::spawn(move || kernel.perform(6));
        let given_up = {
            let (reactor, pool) = (Arc::clone(&reactor), pool.clone());
            thread::spawn(move || {
                drop(start(&reactor, &pool));
                let ticket = start(&reactor, &pool);
                assert!(
                    ticket.wait(&|| Some(Duration::ZERO)).map_or(true, |completed| completed.memory.bytes()[0] != 0)
                );
            })
        };
        land(start(&reactor, &pool));
        drop(reactor);
        given_up.join().unwrap();
        assert_eq!(pool.usage().in_use_bytes, 0);
        kernel.join().unwrap();
    });
}

#[derive(Debug)]
struct ModelSpawner;

struct ModelJoin(thread::JoinHandle<()>);

impl Join for ModelJoin {
    fn join(self: Box<Self>) -> Result<()> {
        self.0.join().unwrap();
        Ok(())
    }
}

impl Spawner for ModelSpawner {
    fn spawn(&self, _name: &str, job: Job) -> Result<Box<dyn Join>> {
        Ok(Box::new(ModelJoin(thread::spawn(job))))
    }
}

fn file() -> (MemoryFileSystem, Arc<dyn RandomAccessFile>) {
    let file_system = MemoryFileSystem::new();
    let mut written = file_system.create_writable(Path::new("/f"), &WritableOptions::default()).unwrap();
    written.append(b"0123456789").unwrap();
    written.close().unwrap();
    let file = file_system.open_random_access(Path::new("/f"), &RandomAccessOptions::default()).unwrap();
    (file_system, file)
}

/// A read is performed once, by a pool thread or the waiting thread, or not at all if it is abandoned; the threads
/// exit.
#[test]
fn shuttle_threads_and_waiters_share_the_work() {
    check(|| {
        let (file_system, file) = file();
        let threads = IoThreads::with_spawner(Arc::new(ModelSpawner));
        let context = ReadContext::default();
        let start = |offset| threads.start(Arc::clone(&file), offset, 2, &context);
        let (first, second, third) = (start(0), start(2), start(4));
        let waiter = thread::spawn(move || second.wait(&|| None).unwrap().unwrap().bytes().to_vec());
        drop(third);
        assert_eq!(first.wait(&|| None).unwrap().unwrap().bytes(), b"01");
        assert_eq!(waiter.join().unwrap(), b"23");
        drop(threads);
        let performed = file_system.counters().snapshot().read_requests;
        assert!((2..=3).contains(&performed), "{performed} reads");
    });
}
