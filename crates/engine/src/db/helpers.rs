//! Threads that do what would block whoever polls a future: few, started when there is work and gone two seconds after.
//!
//! They hold neither the database nor what the work is for beyond the work itself.

use ferrock_base::thread::{Job, Spawner};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

const MAX_THREADS: usize = 4;
/// A thread without work ends after so long.
const IDLE_TIME: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
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
        while let Some(job) = self.next() {
            // A job that panics has told who waits for it, and the others are still to be done.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// The next job; `None` ends the thread. It is counted off before the lock is free: whoever brings a job behind that starts
    /// a thread for it.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        while queue.jobs.is_empty() && !queue.is_closed {
            queue.idle += 1;
            let waited = self.work.wait_for(&mut queue, IDLE_TIME);
            queue.idle -= 1;
            if waited.timed_out() {
                break;
            }
        }
        let job = queue.jobs.pop_front();
        queue.threads -= usize::from(job.is_none());
        job
    }
}

/// The threads of a database. They end some seconds after their last work, or with the database when that is done.
pub(crate) struct Helpers {
    shared: Arc<Shared>,
    spawner: Arc<dyn Spawner>,
}

impl fmt::Debug for Helpers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helpers").field("threads", &self.count()).finish()
    }
}

impl Helpers {
    pub(crate) fn new(spawner: Arc<dyn Spawner>) -> Self {
        Self { shared: Arc::default(), spawner }
    }

    /// Threads there are now.
    pub(crate) fn count(&self) -> usize {
        self.shared.queue.lock().threads
    }

    /// Has a job done by a thread; where none can be started and none is there, by the caller.
    pub(crate) fn run(&self, job: Job) {
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(job);
        let wants_thread = queue.idle < queue.jobs.len() && queue.threads < MAX_THREADS;
        queue.threads += usize::from(wants_thread);
        drop(queue);
        self.shared.work.notify_one();
        if !wants_thread {
            return;
        }
        let shared = Arc::clone(&self.shared);
        if self.spawner.spawn("ferrock-scan", Box::new(move || shared.serve())).is_err() {
            let mut queue = self.shared.queue.lock();
            queue.threads -= 1;
            while queue.threads == 0
                && let Some(job) = queue.jobs.pop_front()
            {
                drop(queue);
                job();
                queue = self.shared.queue.lock();
            }
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.work.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::clock::{Clock, SystemClock};
    use ferrock_base::thread::{Join, StdSpawner};
    use ferrock_base::{Error, ErrorKind, Result};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn count_to(helpers: &Helpers, jobs: usize) -> Arc<AtomicUsize> {
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..jobs {
            let done = Arc::clone(&done);
            helpers.run(Box::new(move || {
                done.fetch_add(1, Ordering::Relaxed);
            }));
        }
        done
    }

    #[test]
    fn all_jobs_are_done_by_few_threads_also_when_one_panics() {
        let clock = SystemClock::default();
        let helpers = Helpers::new(StdSpawner::shared());
        for _ in 0..10 {
            helpers.run(Box::new(|| panic!("as it was told")));
            let done = count_to(&helpers, 100);
            assert!(helpers.count() <= MAX_THREADS);
            while done.load(Ordering::Relaxed) < 100 {
                clock.sleep(Duration::from_millis(1));
            }
        }
    }

    #[derive(Debug)]
    struct NoThreads;

    impl Spawner for NoThreads {
        fn spawn(&self, _name: &str, _job: Job) -> Result<Box<dyn Join>> {
            Err(Error::new(ErrorKind::Aborted, "no more threads"))
        }
    }

    #[test]
    fn without_threads_the_caller_does_it() {
        let helpers = Helpers::new(Arc::new(NoThreads));
        assert_eq!(count_to(&helpers, 10).load(Ordering::Relaxed), 10);
        assert_eq!(helpers.count(), 0);
    }
}
