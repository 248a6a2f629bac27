//! Reads ahead without a ring: a few threads, which are started when there is something to read and exit when idle.
//!
//! ```text
//!          start           a thread takes it        it is read
//!   Queued ------> Queued -----------------> Running ---------> Done
//!     |  wait: the waiting thread reads it     |  wait: until it is read
//!     |  drop: it is not read                  |  drop: the bytes are thrown away
//!     v                                        v
//!   Taken                                    Taken
//! ```
//!
//! A thread that waits for a queued read performs it itself: progress needs no pool thread, and one that cannot be
//! started costs only time. The memory that a pool thread writes to belongs to the read, never to its caller.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ferrock_base::thread::{PoolQueue, Spawner, StdSpawner, ThreadPool, Work};
use ferrock_base::{Error, ErrorKind, Result};

use super::buffer::ReadBuffer;
use crate::sync::{Condvar, Mutex};

const MAX_THREADS: usize = 8;

/// Performs a read. It owns the file.
pub(crate) type ReadJob = Box<dyn FnOnce() -> Result<ReadBuffer> + Send>;

enum TaskState {
    /// Not begun by any thread.
    Queued(ReadJob),
    Running,
    Done(Result<ReadBuffer>),
    /// Its result was returned, or it was abandoned.
    Taken,
}

/// A read that a pool thread or a waiting thread performs.
struct Task {
    state: Mutex<TaskState>,
    done: Condvar,
    /// Waker of the polling task. Store it before reading `state`; take it after changing `state`.
    waker: Mutex<Option<Waker>>,
    offset: u64,
}

impl Task {
    /// Performs the read if it is still queued; true if it did.
    fn run(&self) -> bool {
        let job = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, TaskState::Running) {
                TaskState::Queued(job) => job,
                other => {
                    *state = other;
                    return false;
                }
            }
        };
        let mut unfinished = Unfinished { task: Some(self) };
        let result = job();
        unfinished.task = None;
        self.finish(result);
        true
    }

    fn finish(&self, result: Result<ReadBuffer>) {
        let mut state = self.state.lock();
        // The result of a read that was abandoned meanwhile is dropped below, without the lock.
        let unwanted = match *state {
            TaskState::Running => std::mem::replace(&mut *state, TaskState::Done(result)),
            _ => TaskState::Done(result),
        };
        drop(state);
        drop(unwanted);
        self.done.notify_all();
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Ends a task with an error if its job panics, which a foreign file may do, so that no thread waits for it for
/// ever.
struct Unfinished<'t> {
    task: Option<&'t Task>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(task) = self.task {
            let message = "the file panicked while it was read; see what the panic printed";
            task.finish(Err(Error::new(ErrorKind::Aborted, message).at_offset(task.offset)));
        }
    }
}

/// A read in the queue of the threads.
struct Queued(Arc<Task>);

impl Work for Queued {
    fn perform(self) {
        self.0.run();
    }
}

/// Removes a read from the queue that no pool thread must perform any more.
fn forget(queue: &PoolQueue<Queued>, task: &Arc<Task>) {
    queue.retain(|queued| !Arc::ptr_eq(&queued.0, task));
}

/// The reading threads of a file system. There are none before the first read, and none some seconds after the last.
#[derive(Debug)]
pub(crate) struct IoThreads {
    pool: ThreadPool<Queued>,
}

impl Default for IoThreads {
    fn default() -> Self {
        Self::with_spawner(StdSpawner::shared())
    }
}

impl IoThreads {
    pub(crate) fn with_spawner(spawner: Arc<dyn Spawner>) -> Self {
        Self { pool: ThreadPool::new(spawner, "ferrock-io", MAX_THREADS) }
    }

    /// How many threads there are now.
    pub(crate) fn count(&self) -> usize {
        self.pool.count()
    }

    /// Begins a read at `offset`.
    pub(crate) fn start(&self, offset: u64, job: ReadJob) -> TaskTicket {
        let state = Mutex::new(TaskState::Queued(job));
        let task = Arc::new(Task { state, done: Condvar::default(), waker: Mutex::default(), offset });
        // If there is no pool thread, the thread that waits for the read performs it.
        self.pool.add(Queued(Arc::clone(&task)));
        TaskTicket { task, queue: self.pool.queue() }
    }
}

/// A read that threads perform, as its owner holds it. Dropping it abandons the read.
pub(crate) struct TaskTicket {
    task: Arc<Task>,
    queue: PoolQueue<Queued>,
}

impl fmt::Debug for TaskTicket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TaskTicket").field("offset", &self.task.offset).finish_non_exhaustive()
    }
}

impl TaskTicket {
    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.task.state.lock(), TaskState::Done(_))
    }

    /// Waits for the outcome; `None` if the time was over before. `time_left` is called before every sleep.
    pub(crate) fn wait(self, time_left: &dyn Fn() -> Option<Duration>) -> Option<Result<ReadBuffer>> {
        // Performs the read here if no thread has begun it.
        if self.task.run() {
            forget(&self.queue, &self.task);
        }
        let mut state = self.task.state.lock();
        loop {
            if let TaskState::Done(_) = *state {
                let TaskState::Done(result) = std::mem::replace(&mut *state, TaskState::Taken) else { return None };
                return Some(result);
            }
            match time_left() {
                Some(time) if time.is_zero() => return None,
                Some(time) => drop(self.task.done.wait_for(&mut state, time)),
                None => self.task.done.wait(&mut state),
            }
        }
    }
}

impl TaskTicket {
    /// Returns the outcome once. Until it is there, returns `Pending` and keeps the context's waker for it.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Result<ReadBuffer>> {
        let before = self.task.waker.lock().replace(context.waker().clone());
        drop(before);
        // If no thread could be started, the polling thread performs the read.
        if !self.queue.has_threads() && self.task.run() {
            forget(&self.queue, &self.task);
        }
        let mut state = self.task.state.lock();
        match std::mem::replace(&mut *state, TaskState::Taken) {
            TaskState::Done(result) => Poll::Ready(result),
            other => {
                *state = other;
                Poll::Pending
            }
        }
    }
}

impl Drop for TaskTicket {
    fn drop(&mut self) {
        let left = std::mem::replace(&mut *self.task.state.lock(), TaskState::Taken);
        if let TaskState::Queued(_) = left {
            forget(&self.queue, &self.task);
        }
        drop(left);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use ferrock_base::thread::{Job, Join};

    #[derive(Debug)]
    struct NoThreads;

    impl Spawner for NoThreads {
        fn spawn(&self, _name: &str, _job: Job) -> Result<Box<dyn Join>> {
            Err(Error::new(ErrorKind::Aborted, "no more threads"))
        }
    }

    fn start(threads: &IoThreads, panics: bool) -> TaskTicket {
        threads.start(
            4096,
            Box::new(move || {
                assert!(!panics, "requested by the test");
                Ok(ReadBuffer::from_vec(4096, vec![0; 100]))
            }),
        )
    }

    #[test]
    fn a_file_that_panics_is_an_error_for_its_reader_alone() {
        let threads = IoThreads::default();
        for _ in 0..20 {
            let ticket = start(&threads, true);
            while !ticket.is_done() {
                std::thread::yield_now();
            }
            let error = ticket.wait(&|| None).unwrap().unwrap_err();
            assert!(error.to_string().contains("panicked"), "{error}");
            assert_eq!(start(&threads, false).wait(&|| None).unwrap().unwrap().bytes(), [0; 100]);
        }
        // More reads than threads, and no waiting thread performs one itself.
        let tickets: Vec<_> = (0..100).map(|index| start(&threads, index % 10 != 9)).collect();
        while !tickets.iter().all(TaskTicket::is_done) {
            std::thread::yield_now();
        }
        assert!((1..=MAX_THREADS).contains(&threads.count()), "{threads:?}");
    }

    #[test]
    fn without_threads_nothing_is_left_behind() {
        let threads = IoThreads::with_spawner(Arc::new(NoThreads));
        for _ in 0..100 {
            assert_eq!(start(&threads, false).wait(&|| None).unwrap().unwrap().len(), 100);
            drop(start(&threads, false));
        }
        assert_eq!((threads.count(), threads.pool.queue().len()), (0, 0));
    }
}
