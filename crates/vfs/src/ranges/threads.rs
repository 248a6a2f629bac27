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

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ferrock_base::Result;
use ferrock_base::thread::{Job, Spawner, StdSpawner};

use super::buffer::ReadBuffer;
use super::context::ReadContext;
use crate::file_system::RandomAccessFile;
use crate::sync::{Condvar, Mutex};

const MAX_THREADS: usize = 8;
/// A thread without work ends after so long.
const IDLE_TIME: Duration = Duration::from_secs(2);

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
    offset: u64,
    length: usize,
    context: ReadContext,
}

impl Task {
    /// Performs it, if nobody did or gave it up.
    fn run(&self) {
        let file = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, State::Running) {
                State::Queued(file) => file,
                other => {
                    *state = other;
                    return;
                }
            }
        };
        let result = file.read_range(self.offset, self.length, &self.context);
        // The file may be closed by this, which is no business of who waits.
        drop(file);
        let mut state = self.state.lock();
        // What was given up meanwhile is dropped here, behind the lock.
        let unwanted = match *state {
            State::Running => std::mem::replace(&mut *state, State::Done(result)),
            _ => State::Done(result),
        };
        drop(state);
        drop(unwanted);
        self.done.notify_all();
    }
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Arc<Task>>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
}

impl Shared {
    /// What a thread does.
    fn serve(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                drop(queue);
                task.run();
                drop(task);
                queue = self.queue.lock();
                continue;
            }
            if queue.is_closed {
                break;
            }
            queue.idle += 1;
            let waited = self.work.wait_for(&mut queue, IDLE_TIME);
            queue.idle -= 1;
            if waited.timed_out() && queue.tasks.is_empty() {
                break;
            }
        }
        queue.threads -= 1;
    }
}

/// The threads of a file system. There are none before the first read, and none some seconds after the last.
pub(crate) struct IoThreads {
    shared: Arc<Shared>,
    spawner: Arc<dyn Spawner>,
}

impl Default for IoThreads {
    fn default() -> Self {
        Self::with_spawner(StdSpawner::shared())
    }
}

impl fmt::Debug for IoThreads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("IoThreads").field("threads", &self.count()).finish()
    }
}

impl IoThreads {
    pub(crate) fn with_spawner(spawner: Arc<dyn Spawner>) -> Self {
        Self { shared: Arc::default(), spawner }
    }

    /// Threads there are now.
    pub(crate) fn count(&self) -> usize {
        self.shared.queue.lock().threads
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
        let task = Arc::new(Task { state, done: Condvar::default(), offset, length, context: *context });
        let mut queue = self.shared.queue.lock();
        queue.tasks.push_back(Arc::clone(&task));
        let wants_thread = queue.idle < queue.tasks.len() && queue.threads < MAX_THREADS;
        queue.threads += usize::from(wants_thread);
        drop(queue);
        self.shared.work.notify_one();
        if wants_thread {
            let shared = Arc::clone(&self.shared);
            let job: Job = Box::new(move || shared.serve());
            if self.spawner.spawn("ferrock-io", job).is_err() {
                // Whoever waits for the read performs it.
                self.shared.queue.lock().threads -= 1;
            }
        }
        TaskTicket { task, shared: Arc::clone(&self.shared) }
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        // Not joined: the last owner of a file, and so of this, may be one of the threads.
        self.shared.queue.lock().is_closed = true;
        self.shared.work.notify_all();
    }
}

/// A read that threads perform. Dropping it gives it up.
pub(crate) struct TaskTicket {
    task: Arc<Task>,
    shared: Arc<Shared>,
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
        self.task.run();
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

impl Drop for TaskTicket {
    fn drop(&mut self) {
        let left = std::mem::replace(&mut *self.task.state.lock(), State::Taken);
        if let State::Queued(_) = left {
            self.shared.queue.lock().tasks.retain(|task| !Arc::ptr_eq(task, &self.task));
        }
        drop(left);
    }
}
