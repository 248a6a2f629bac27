//! Reads ahead without a ring: a few threads, started when there is something to read and gone when there is not.
//!
//! ```text
//!          start           a thread takes it        it is read
//!   Queued ------> Queued -----------------> Running ---------> Done
//!     |  wait: the waiter takes it             |  wait: until it is read
//!     |  drop: nobody reads it                 |  drop: what is read is thrown away
//!     v                                        v
//!   Taken                                    Taken
//! ```
//!
//! A read that no thread has begun belongs to whoever waits for it: no thread is needed for progress, and one that cannot be
//! started costs time alone. Everything a thread writes to belongs to the read, never to its asker.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ferrock_base::thread::{PoolQueue, Spawner, StdSpawner, ThreadPool, Work};
use ferrock_base::{Error, ErrorKind, Result};

use super::buffer::ReadBuffer;
use super::context::ReadContext;
use crate::file_system::RandomAccessFile;
use crate::sync::{Condvar, Mutex};

const MAX_THREADS: usize = 8;

enum State {
    /// No thread has begun it.
    Queued(Arc<dyn RandomAccessFile>),
    Running,
    Done(Result<ReadBuffer>),
    /// Nobody wants it any more.
    Taken,
}

/// A read for the threads.
struct Task {
    state: Mutex<State>,
    done: Condvar,
    /// Of who polls. Set before the state is looked at, taken after it was changed.
    waker: Mutex<Option<Waker>>,
    offset: u64,
    length: usize,
    context: ReadContext,
}

impl Task {
    /// Performs it, if nobody did or gave it up; true when it did.
    fn run(&self) -> bool {
        let file = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, State::Running) {
                State::Queued(file) => file,
                other => {
                    *state = other;
                    return false;
                }
            }
        };
        let mut unfinished = Unfinished { task: Some(self) };
        let result = file.read_range(self.offset, self.length, &self.context);
        unfinished.task = None;
        // The file may be closed by this, which is no business of who waits.
        drop(file);
        self.finish(result);
        true
    }

    fn finish(&self, result: Result<ReadBuffer>) {
        let mut state = self.state.lock();
        // What was given up meanwhile is dropped here, behind the lock.
        let unwanted = match *state {
            State::Running => std::mem::replace(&mut *state, State::Done(result)),
            _ => State::Done(result),
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

/// A read that ends here was ended by a panic in the file, which may be anybody's: who waits for it must not for ever.
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

/// Takes a read off the queue that no thread is needed for any more.
fn forget(queue: &PoolQueue<Queued>, task: &Arc<Task>) {
    queue.retain(|queued| !Arc::ptr_eq(&queued.0, task));
}

/// The threads of a file system. There are none before the first read, and none some seconds after the last.
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

    /// Threads there are now.
    pub(crate) fn count(&self) -> usize {
        self.pool.count()
    }

    /// Begins a read.
    pub(crate) fn start(
        &self,
        file: Arc<dyn RandomAccessFile>,
        offset: u64,
        length: usize,
        context: &ReadContext,
    ) -> TaskTicket {
        let state = Mutex::new(State::Queued(file));
        let task = Arc::new(Task {
            state,
            done: Condvar::default(),
            waker: Mutex::default(),
            offset,
            length,
            context: *context,
        });
        // Where there is no thread, whoever waits for the read performs it.
        self.pool.add(Queued(Arc::clone(&task)));
        TaskTicket { task, queue: self.pool.queue() }
    }
}

/// A read that threads perform. Dropping it gives it up.
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
        matches!(*self.task.state.lock(), State::Done(_))
    }

    /// The outcome; `None` when the time was over before. `time_left` is asked before every sleep.
    pub(crate) fn wait(self, time_left: &dyn Fn() -> Option<Duration>) -> Option<Result<ReadBuffer>> {
        // Does nothing unless no thread has begun it.
        if self.task.run() {
            forget(&self.queue, &self.task);
        }
        let mut state = self.task.state.lock();
        loop {
            if let State::Done(_) = *state {
                let State::Done(result) = std::mem::replace(&mut *state, State::Taken) else { return None };
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
    /// The outcome, once; before, the context's waker is called when there is one.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Result<ReadBuffer>> {
        let before = self.task.waker.lock().replace(context.waker().clone());
        drop(before);
        // Where no thread could be started, whoever polls performs the read.
        if !self.queue.has_threads() && self.task.run() {
            forget(&self.queue, &self.task);
        }
        let mut state = self.task.state.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(result) => Poll::Ready(result),
            other => {
                *state = other;
                Poll::Pending
            }
        }
    }
}

impl Drop for TaskTicket {
    fn drop(&mut self) {
        let left = std::mem::replace(&mut *self.task.state.lock(), State::Taken);
        if let State::Queued(_) = left {
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
    use std::path::Path;

    /// Panics when it is read, or reads zeros.
    #[derive(Debug)]
    struct TestFile {
        panics: bool,
    }

    impl RandomAccessFile for TestFile {
        fn read_at(&self, _offset: u64, buffer: &mut [u8]) -> Result<usize> {
            assert!(!self.panics, "as it was told");
            buffer.fill(0);
            Ok(buffer.len())
        }
        fn size(&self) -> u64 {
            1 << 20
        }
        fn path(&self) -> &Path {
            Path::new("/panics")
        }
    }

    #[derive(Debug)]
    struct NoThreads;

    impl Spawner for NoThreads {
        fn spawn(&self, _name: &str, _job: Job) -> Result<Box<dyn Join>> {
            Err(Error::new(ErrorKind::Aborted, "no more threads"))
        }
    }

    fn start(threads: &IoThreads, panics: bool) -> TaskTicket {
        threads.start(Arc::new(TestFile { panics }), 4096, 100, &ReadContext::default())
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
        // More than there are threads, and nobody waits for one in its place.
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
