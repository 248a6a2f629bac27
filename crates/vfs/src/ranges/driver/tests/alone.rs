//! Reads that share nothing.

use super::*;
use ferrock_base::clock::ManualClock;
use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
use ferrock_base::{Error, ErrorKind, Result};

#[test]
fn memory_stays_until_the_kernel_is_done() {
    let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
    let clock = Arc::new(ManualClock::new(1_000_000));
    let owned = driver_with_clock(&kernel, &pool, StdSpawner::shared(), Arc::clone(&clock) as Arc<dyn Clock>);
    let file = file();
    let dropped = owned.0.start(spec(&file, 0, 8)).unwrap();
    let late = owned.0.start(ReadSpec { end_us: 2_000_000, ..spec(&file, 1000, 8) }).unwrap();
    wait_until(|| kernel.submitted() == 2);
    drop(dropped);
    clock.advance(Duration::from_secs(2));
    assert!(matches!(outcome(&late), Outcome::Late));
    drop(late);
    assert_eq!(pool.usage().in_use_bytes, 8192, "the kernel still writes to both");
    drop(owned);
    assert_eq!(Arc::strong_count(&file), 3, "and has the descriptor of both");
    assert!(kernel.perform() && kernel.perform());
    wait_until(|| pool.usage().in_use_bytes == 0 && Arc::strong_count(&file) == 1);
}

#[test]
fn a_ring_that_breaks_ends_reads_and_keeps_its_memory() {
    let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
    let owned = driver(&kernel, &pool, StdSpawner::shared());
    let file = file();
    let reads: Vec<_> = (0..300).map(|n| owned.0.start(spec(&file, n * 1000, 8)).unwrap()).collect();
    wait_until(|| kernel.submitted() == 256);
    kernel.is_broken.store(true, Ordering::Release);
    kernel.moved.notify_all();
    assert!(reads.iter().all(|read| matches!(outcome(read), Outcome::WithoutRing)));
    assert!(owned.0.start(spec(&file, 0, 8)).is_none());
    drop(reads);
    assert_eq!(pool.usage().in_use_bytes, 256 * 4096, "waiting reads had none");
    // The last completions are still taken.
    while kernel.submitted() > 0 {
        assert!(kernel.perform());
    }
    wait_until(|| pool.usage().in_use_bytes == 0 || !owned.0.has_thread());
}

#[derive(Debug)]
struct NoThreads;

impl Spawner for NoThreads {
    fn spawn(&self, _name: &str, _job: Job) -> Result<Box<dyn Join>> {
        Err(Error::new(ErrorKind::Aborted, "no more threads"))
    }
}

#[test]
fn without_a_thread_reads_are_made_otherwise() {
    let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
    let owned = driver(&kernel, &pool, Arc::new(NoThreads));
    let file = file();
    for _ in 0..3 {
        let read = owned.0.start(spec(&file, 0, 8)).unwrap();
        assert!(matches!(outcome(&read), Outcome::WithoutRing));
    }
    // The ring has got the requests all the same.
    while kernel.submitted() > 0 {
        assert!(kernel.perform());
    }
    drop(owned);
    assert_eq!((pool.usage().in_use_bytes, Arc::strong_count(&file)), (0, 1));
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("requested by the test");
    }
}

#[test]
fn a_waker_that_panics_stops_no_other_read() {
    let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
    let owned = driver(&kernel, &pool, StdSpawner::shared());
    let file = file();
    let reads: Vec<_> = (0..3).map(|n| owned.0.start(spec(&file, n * 1000, 8)).unwrap()).collect();
    let panics = Waker::from(Arc::new(Panics));
    for read in &reads[..2] {
        assert!(read.poll(&Context::from_waker(&panics)).is_pending());
    }
    wait_until(|| kernel.submitted() == 3);
    for _ in 0..3 {
        assert!(kernel.perform());
    }
    for (at, read) in [2, 0, 1].map(|at| (at, &reads[at as usize])) {
        assert_complete(read, at * 1000, 8);
    }
    assert!(owned.0.has_thread());
}

#[test]
fn reads_beyond_the_ring_wait_their_turn() {
    let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
    let owned = driver(&kernel, &pool, StdSpawner::shared());
    let file = file();
    let mut reads: Vec<_> = (0..1000).map(|n| owned.0.start(spec(&file, n * 1000, 8)).unwrap()).collect();
    wait_until(|| kernel.submitted() == 256);
    assert_eq!(pool.usage().in_use_bytes, 256 * 4096);
    // Most of the waiting reads are dropped, and so never performed.
    reads.truncate(300);
    let played = {
        let kernel = Arc::clone(&kernel);
        move || while kernel.perform() {}
    };
    let join = StdSpawner.spawn("kernel", Box::new(played)).unwrap();
    (0..).zip(&reads).for_each(|(at, read)| assert_complete(read, at * 1000, 8));
    drop(reads);
    drop(owned);
    wait_until(|| pool.usage().in_use_bytes == 0);
    kernel.end();
    join.join().unwrap();
}
