//! A few threads for work that comes in bursts: started when there is work, and exiting two seconds after the last.
//!
//! ```text
//! add ---> queue ---> an idle thread, else a new one, up to `max_threads`
//!            |
//!            +------> the thread that added the work, or waits for it, if no pool thread could be started
//! ```
//!
//! A pool thread that exits decrements the count under the lock under which it found the queue empty, so work that is
//! added later starts another thread. Work that panics ends neither its thread nor the work behind it.

use super::{Job, Spawner};
use crate::sync::{Condvar, Mutex};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A thread exits after so long without work.
const IDLE_TIME: Duration = Duration::from_secs(2);

/// A piece of work that is performed once.
pub trait Work: Send + 'static {
    /// Performs the work.
    fn perform(self);
}

impl Work for Job {
    fn perform(self) {
        self();
    }
}

struct Queue<W> {
    waiting: VecDeque<W>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

struct Shared<W> {
    queue: Mutex<Queue<W>>,
    work_added: Condvar,
}

impl<W: Work> Shared<W> {
    /// The loop of a pool thread.
    fn serve(&self) {
        while let Some(work) = self.next() {
            // Work that panics has told the threads that wait for it (a drop guard of its own does that); the rest of
            // the queue is still performed.
            let _ = catch_unwind(AssertUnwindSafe(|| work.perform()));
        }
    }

    /// Waits for the next work; `None` if the thread must exit, and then it is no longer counted.
    fn next(&self) -> Option<W> {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() && !queue.is_closed {
            queue.idle += 1;
            let waited = self.work_added.wait_for(&mut queue, IDLE_TIME);
            queue.idle -= 1;
            if waited.timed_out() {
                break;
            }
        }
        let work = queue.waiting.pop_front();
        queue.threads -= usize::from(work.is_none());
        work
    }
}

/// A pool of threads. After it is dropped they perform the queued work and exit; the drop does not wait for them.
pub struct ThreadPool<W: Work> {
    shared: Arc<Shared<W>>,
    spawner: Arc<dyn Spawner>,
    name: &'static str,
    max_threads: usize,
}

impl<W: Work> fmt::Debug for ThreadPool<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("name", &self.name).field("threads", &self.count()).finish()
    }
}

impl<W: Work> ThreadPool<W> {
    /// A pool of at most `max_threads` threads, all called `name`; starts none yet.
    #[must_use]
    pub fn new(spawner: Arc<dyn Spawner>, name: &'static str, max_threads: usize) -> Self {
        let queue = Queue { waiting: VecDeque::new(), threads: 0, idle: 0, is_closed: false };
        Self {
            shared: Arc::new(Shared { queue: Mutex::new(queue), work_added: Condvar::default() }),
            spawner,
            name,
            max_threads,
        }
    }

    /// How many threads there are now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shared.queue.lock().threads
    }

    /// The work that no thread has begun, for a thread that waits for some of it.
    #[must_use]
    pub fn queue(&self) -> PoolQueue<W> {
        PoolQueue { shared: Arc::clone(&self.shared) }
    }

    /// Adds work to the queue. False if there is no thread for it: then it stays in the queue until it is
    /// [taken](PoolQueue::take).
    pub fn add(&self, work: W) -> bool {
        let mut queue = self.shared.queue.lock();
        queue.waiting.push_back(work);
        let wants_thread = queue.idle < queue.waiting.len() && queue.threads < self.max_threads;
        queue.threads += usize::from(wants_thread);
        drop(queue);
        self.shared.work_added.notify_one();
        if !wants_thread {
            return true;
        }
        let shared = Arc::clone(&self.shared);
        if self.spawner.spawn(self.name, Box::new(move || shared.serve())).is_ok() {
            return true;
        }
        let mut queue = self.shared.queue.lock();
        queue.threads -= 1;
        queue.threads > 0
    }

    /// Has work performed by a pool thread, or, if there is none, by the calling thread.
    pub fn run(&self, work: W) {
        if self.add(work) {
            return;
        }
        let queue = self.queue();
        while let Some(work) = queue.take() {
            work.perform();
        }
    }
}

impl<W: Work> Drop for ThreadPool<W> {
    fn drop(&mut self) {
        // Not joined: the last owner may be one of the threads.
        self.shared.queue.lock().is_closed = true;
        self.shared.work_added.notify_all();
    }
}

/// The work of a [`ThreadPool`] that no thread has begun.
pub struct PoolQueue<W: Work> {
    shared: Arc<Shared<W>>,
}

impl<W: Work> fmt::Debug for PoolQueue<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolQueue").field("length", &self.len()).finish()
    }
}

impl<W: Work> PoolQueue<W> {
    /// Number of pieces of work.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.queue.lock().waiting.len()
    }

    /// True if there is no work.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True while there are threads.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        self.shared.queue.lock().threads > 0
    }

    /// Takes the oldest work, if there is no thread for it.
    #[must_use]
    pub fn take(&self) -> Option<W> {
        let mut queue = self.shared.queue.lock();
        if queue.threads > 0 { None } else { queue.waiting.pop_front() }
    }

    /// Removes the work for which `keeps` is false. It is dropped under the lock of the queue, so it must not be the
    /// last owner of anything whose `drop` uses the pool.
    pub fn retain(&self, keeps: impl FnMut(&W) -> bool) {
        self.shared.queue.lock().waiting.retain(keeps);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::thread::{Join, StdSpawner};
    use crate::{Error, ErrorKind, Result};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const MAX_THREADS: usize = 4;

    fn counting(done: &Arc<AtomicUsize>) -> Job {
        let done = Arc::clone(done);
        Box::new(move || {
            done.fetch_add(1, Ordering::Relaxed);
        })
    }

    fn count_to(pool: &ThreadPool<Job>, jobs: usize) -> Arc<AtomicUsize> {
        let done = Arc::new(AtomicUsize::new(0));
        (0..jobs).for_each(|_| pool.run(counting(&done)));
        done
    }

    fn wait_for(done: &AtomicUsize, jobs: usize) {
        while done.load(Ordering::Relaxed) < jobs {
            SystemClock::default().sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn all_jobs_are_done_by_few_threads_also_when_one_panics() {
        let pool = ThreadPool::<Job>::new(StdSpawner::shared(), "test", MAX_THREADS);
        assert_eq!(pool.count(), 0);
        for _ in 0..10 {
            let panics: Job = Box::new(|| panic!("requested by the test"));
            pool.run(panics);
            let done = count_to(&pool, 100);
            assert!((1..=MAX_THREADS).contains(&pool.count()));
            wait_for(&done, 100);
        }
    }

    /// A spawner that starts so many threads and no more.
    #[derive(Debug)]
    struct FewThreads(AtomicUsize);

    impl Spawner for FewThreads {
        fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>> {
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
                Ok(_) => StdSpawner.spawn(name, job),
                Err(_) => Err(Error::new(ErrorKind::Aborted, "no more threads")),
            }
        }
    }

    fn few_threads(count: usize) -> ThreadPool<Job> {
        ThreadPool::new(Arc::new(FewThreads(AtomicUsize::new(count))), "test", MAX_THREADS)
    }

    #[test]
    fn without_threads_the_caller_does_it() {
        let pool = few_threads(0);
        assert_eq!(count_to(&pool, 10).load(Ordering::Relaxed), 10);
        assert_eq!((pool.count(), pool.queue().len()), (0, 0));
    }

    #[test]
    fn one_thread_is_enough_when_there_are_no_more() {
        let pool = few_threads(1);
        let done = count_to(&pool, 1000);
        wait_for(&done, 1000);
        assert_eq!(pool.count(), 1);
    }

    #[test]
    fn work_without_a_thread_waits_to_be_taken() {
        let (pool, done) = (few_threads(0), Arc::default());
        assert!(!pool.add(counting(&done)) && !pool.add(counting(&done)) && !pool.add(counting(&done)));
        let queue = pool.queue();
        assert!(!queue.has_threads());
        queue.take().expect("three wait").perform();
        let mut is_first = true;
        queue.retain(|_| std::mem::replace(&mut is_first, false));
        assert_eq!((done.load(Ordering::Relaxed), queue.len()), (1, 1));
        drop(pool);
        queue.take().expect("it outlives the pool").perform();
        assert!(queue.take().is_none() && queue.is_empty());
        assert_eq!(done.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn threads_end_with_the_pool_when_the_work_is_done() {
        let pool = ThreadPool::<Job>::new(StdSpawner::shared(), "test", MAX_THREADS);
        let done = count_to(&pool, 100);
        let queue = pool.queue();
        drop(pool);
        wait_for(&done, 100);
        while queue.has_threads() {
            SystemClock::default().sleep(Duration::from_millis(1));
        }
    }
}
