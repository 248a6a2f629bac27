//! Pools of threads by priority, which databases share: how many jobs of each kind may run at once, whatever the
//! options of each database say.
//!
//! ```text
//! submit ---> a thread of its own while the pool has one free
//!        \--> the queue of the pool ---> the next thread whose job ended, or that a larger pool has free
//! ```
//!
//! Invariants: a job runs once, and is never dropped while a thread of its pool runs; an idle pool has no thread; jobs
//! of a pool begin in their order. Where a thread cannot be started and none runs, `submit` says so and drops the job.

use super::{Job, Spawner};
use crate::error::Result;
use crate::sync::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Which pool: RocksDB's priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolPriority {
    /// Compactions into the last level, if the pool has threads.
    Bottom,
    /// Compactions.
    Low,
    /// Flushes; without threads they are done by those of `Low`.
    High,
}

struct Waiting {
    owner: usize,
    name: &'static str,
    spawner: Arc<dyn Spawner>,
    job: Job,
}

#[derive(Default)]
struct Pool {
    threads: usize,
    running: usize,
    waiting: VecDeque<Waiting>,
}

/// Pools of threads by priority, which databases share.
pub struct PriorityPools {
    pools: [Mutex<Pool>; 3],
}

impl Default for PriorityPools {
    /// As many threads as RocksDB begins with: one for flushes, one for compactions.
    fn default() -> Self {
        let pool = |threads| Mutex::new(Pool { threads, ..Pool::default() });
        Self { pools: [pool(0), pool(1), pool(1)] }
    }
}

impl fmt::Debug for PriorityPools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads =
            [PoolPriority::Bottom, PoolPriority::Low, PoolPriority::High].map(|priority| self.threads(priority));
        f.debug_struct("PriorityPools").field("threads", &threads).finish_non_exhaustive()
    }
}

impl PriorityPools {
    fn pool(&self, priority: PoolPriority) -> &Mutex<Pool> {
        &self.pools[priority as usize]
    }

    /// How many threads a pool may have.
    #[must_use]
    pub fn threads(&self, priority: PoolPriority) -> usize {
        self.pool(priority).lock().threads
    }

    /// Changes how many threads a pool may have. Jobs that wait begin if there are more; those that run go on.
    pub fn set_threads(self: &Arc<Self>, priority: PoolPriority, threads: usize) {
        self.pool(priority).lock().threads = threads;
        self.start_waiting(priority);
    }

    /// Gives a pool at least so many threads.
    pub fn raise_threads(self: &Arc<Self>, priority: PoolPriority, threads: usize) {
        let mut pool = self.pool(priority).lock();
        pool.threads = pool.threads.max(threads);
        drop(pool);
        self.start_waiting(priority);
    }

    /// Runs a job on a thread of a pool, at once or when one is free. `owner` names the database that may take it back.
    ///
    /// # Errors
    /// `Io` when no thread could be started and none runs; the job is dropped then.
    pub fn submit(
        self: &Arc<Self>,
        priority: PoolPriority,
        owner: usize,
        spawner: &Arc<dyn Spawner>,
        name: &'static str,
        job: Job,
    ) -> Result<()> {
        let waiting = Waiting { owner, name, spawner: Arc::clone(spawner), job };
        let mut pool = self.pool(priority).lock();
        pool.waiting.push_back(waiting);
        if pool.running >= pool.threads {
            return Ok(());
        }
        pool.running += 1;
        drop(pool);
        let Err(error) = self.start(priority, spawner, name) else { return Ok(()) };
        let mut pool = self.pool(priority).lock();
        pool.running -= 1;
        if pool.running > 0 {
            return Ok(());
        }
        let own = pool.waiting.iter().rposition(|waiting| waiting.owner == owner && waiting.name == name);
        match own.and_then(|own| pool.waiting.remove(own)) {
            Some(_) => Err(error),
            // A thread that has ended meanwhile took it.
            None => Ok(()),
        }
    }

    /// Takes back the jobs of an owner that have not begun, in all pools, and runs them on this thread.
    pub fn run_waiting_of(&self, owner: usize) {
        for pool in &self.pools {
            let mut pool = pool.lock();
            let all = std::mem::take(&mut pool.waiting);
            let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|waiting| waiting.owner == owner);
            pool.waiting = others.into();
            drop(pool);
            own.into_iter().for_each(|waiting| (waiting.job)());
        }
    }

    fn start_waiting(self: &Arc<Self>, priority: PoolPriority) {
        let starts: Vec<_> = {
            let mut pool = self.pool(priority).lock();
            let count = pool.threads.saturating_sub(pool.running).min(pool.waiting.len());
            pool.running += count;
            pool.waiting.iter().take(count).map(|waiting| (Arc::clone(&waiting.spawner), waiting.name)).collect()
        };
        for (spawner, name) in starts {
            if self.start(priority, &spawner, name).is_err() {
                // The next thread takes what waits.
                self.pool(priority).lock().running -= 1;
            }
        }
    }

    /// Starts a thread, which is counted already.
    fn start(self: &Arc<Self>, priority: PoolPriority, spawner: &Arc<dyn Spawner>, name: &str) -> Result<()> {
        let pools = Arc::clone(self);
        spawner.spawn(name, Box::new(move || pools.serve(priority))).map(drop)
    }

    /// The body of a thread: jobs one by one, while the pool may have it.
    fn serve(&self, priority: PoolPriority) {
        loop {
            let mut pool = self.pool(priority).lock();
            let next = if pool.running > pool.threads { None } else { pool.waiting.pop_front() };
            let Some(waiting) = next else {
                pool.running -= 1;
                return;
            };
            drop(pool);
            // A job that panics ends neither its thread nor the jobs behind it.
            let _ = catch_unwind(AssertUnwindSafe(waiting.job));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::thread::{Join, StdSpawner};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    /// Jobs that say when they begin and end when they are told to.
    struct Rig {
        pools: Arc<PriorityPools>,
        spawner: Arc<dyn Spawner>,
        begun: (Sender<usize>, Receiver<usize>),
        ends: Vec<Sender<()>>,
    }

    impl Rig {
        fn new() -> Self {
            let (pools, spawner) = (Arc::default(), StdSpawner::shared());
            Self { pools, spawner, begun: channel(), ends: Vec::new() }
        }

        fn submit(&mut self, priority: PoolPriority, owner: usize) {
            let (end, ended) = channel();
            let (number, begun) = (self.ends.len(), self.begun.0.clone());
            self.ends.push(end);
            let job = Box::new(move || {
                begun.send(number).unwrap();
                let _ = ended.recv();
            });
            self.pools.submit(priority, owner, &self.spawner, "job", job).unwrap();
        }

        fn end(&self, number: usize) {
            self.ends[number].send(()).unwrap();
        }

        fn next(&self) -> usize {
            self.begun.1.recv_timeout(Duration::from_secs(60)).unwrap()
        }

        fn runs_no_other(&self) -> bool {
            self.begun.1.try_recv().is_err()
        }
    }

    #[test]
    fn jobs_wait_for_a_thread_of_their_pool() {
        let mut rig = Rig::new();
        (0..3).for_each(|_| rig.submit(PoolPriority::Low, 1));
        rig.submit(PoolPriority::High, 1);
        let mut first = [rig.next(), rig.next()];
        first.sort_unstable();
        assert_eq!(first, [0, 3]);
        assert!(rig.runs_no_other());
        rig.end(0);
        assert_eq!(rig.next(), 1);
        rig.pools.raise_threads(PoolPriority::Low, 2);
        rig.pools.raise_threads(PoolPriority::Low, 1);
        assert_eq!((rig.next(), rig.pools.threads(PoolPriority::Low)), (2, 2));
        // A smaller pool ends no job.
        rig.pools.set_threads(PoolPriority::Low, 1);
        rig.submit(PoolPriority::Low, 1);
        rig.end(1);
        assert!(rig.runs_no_other());
        rig.end(2);
        assert_eq!(rig.next(), 4);
        rig.end(4);
        rig.end(3);
    }

    #[test]
    fn an_owner_takes_back_what_has_not_begun() {
        let mut rig = Rig::new();
        rig.pools.set_threads(PoolPriority::Low, 0);
        for owner in [1, 2, 1] {
            rig.submit(PoolPriority::Low, owner);
        }
        (0..3).for_each(|number| rig.end(number));
        rig.pools.run_waiting_of(1);
        assert_eq!((rig.next(), rig.next()), (0, 2));
        assert!(rig.runs_no_other());
        rig.pools.set_threads(PoolPriority::Low, 1);
        assert_eq!(rig.next(), 1);
    }

    #[derive(Debug, Default)]
    struct Failing(AtomicBool);

    impl Spawner for Failing {
        fn spawn(&self, name: &str, job: Job) -> Result<Box<dyn Join>> {
            if self.0.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Io, "no thread"));
            }
            StdSpawner.spawn(name, job)
        }
    }

    #[test]
    fn without_a_thread_a_job_waits_for_one_that_runs_or_is_refused() {
        let (pools, spawner) = (Arc::new(PriorityPools::default()), Arc::new(Failing::default()));
        let shared: Arc<dyn Spawner> = Arc::clone(&spawner) as Arc<dyn Spawner>;
        let ran = Arc::new(AtomicUsize::new(0));
        let count = || -> Job {
            let ran = Arc::clone(&ran);
            Box::new(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            })
        };
        spawner.0.store(true, Ordering::SeqCst);
        assert!(pools.submit(PoolPriority::High, 1, &shared, "job", count()).is_err());
        spawner.0.store(false, Ordering::SeqCst);
        pools.set_threads(PoolPriority::High, 2);
        let (go, gone) = channel::<()>();
        pools
            .submit(
                PoolPriority::High,
                1,
                &shared,
                "job",
                Box::new(move || {
                    let _ = gone.recv();
                }),
            )
            .unwrap();
        spawner.0.store(true, Ordering::SeqCst);
        pools.submit(PoolPriority::High, 1, &shared, "job", count()).unwrap();
        // One that panics does not keep the next from running.
        pools.submit(PoolPriority::High, 1, &shared, "job", Box::new(|| panic!("a job panics"))).unwrap();
        pools.submit(PoolPriority::High, 1, &shared, "job", count()).unwrap();
        drop(go);
        while ran.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        assert_eq!(ran.load(Ordering::SeqCst), 2);
    }
}
