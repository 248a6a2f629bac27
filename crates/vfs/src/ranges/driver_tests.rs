//! The driver over a ring whose kernel a test plays: what belongs to whom, and (`cargo xtask models ferrock-vfs`) its
//! hand-overs under a model checker.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ferrock_base::Result;
use ferrock_base::clock::{Clock, SystemClock};

use super::context::{ReadClass, ReadLabel};
use super::driver::{Asked, Driver, Outcome, OwnedDriver, Watched};
use super::pool::BufferPool;
use super::reactor::{CANCEL_USER_DATA, Entry, RingDevice};
use crate::counters::IoCounters;
use crate::file_system::RandomAccessFile;
use crate::sync::{Condvar, Mutex};

/// Memory of a request, on its way to the kernel.
struct Target(u64, *mut u8, usize);

// SAFETY: the driver promises that nobody touches the memory until the completion was taken.
unsafe impl Send for Target {}

#[derive(Default)]
struct Queues {
    submitted: VecDeque<Target>,
    completed: VecDeque<(u64, i32)>,
    is_over: bool,
}

/// A ring whose kernel is a thread. It wakes a sleeper only for a completion that is still there.
#[derive(Default)]
struct Kernel {
    queues: Mutex<Queues>,
    moved: Condvar,
    is_broken: AtomicBool,
}

impl Kernel {
    /// Performs one read: every byte becomes 7. False when the kernel is told to end.
    fn perform(&self) -> bool {
        let mut queues = self.queues.lock();
        while queues.submitted.is_empty() && !queues.is_over {
            self.moved.wait(&mut queues);
        }
        let Some(Target(user_data, memory, length)) = queues.submitted.pop_front() else { return false };
        drop(queues);
        for index in 0..length {
            // SAFETY: as above, and `length` bytes were submitted.
            unsafe { memory.add(index).write(7) };
        }
        self.queues.lock().completed.push_back((user_data, length as i32));
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
    unsafe fn submit(&self, _entry: Entry) -> io::Result<()> {
        panic!("the driver pushes, and enters");
    }

    unsafe fn push(&self, entry: Entry) -> bool {
        let mut queues = self.0.queues.lock();
        match entry {
            Entry::Read { user_data, memory, length, .. } => {
                queues.submitted.push_back(Target(user_data, memory, length as usize));
            }
            // It comes too late.
            Entry::Cancel { .. } => queues.completed.push_back((CANCEL_USER_DATA, -2)),
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
                _ => {}
            }
        }
    }

    fn take(&self, each: &mut dyn FnMut(u64, i32)) {
        let taken = std::mem::take(&mut self.0.queues.lock().completed);
        taken.into_iter().for_each(|(user_data, result)| each(user_data, result));
    }

    fn wait(&self, _time: Option<Duration>) {
        panic!("the driver enters");
    }

    fn is_broken(&self) -> bool {
        self.0.is_broken.load(Ordering::Acquire)
    }
}

/// A file that is read by its descriptor alone.
#[derive(Debug)]
struct Descriptor;

impl RandomAccessFile for Descriptor {
    fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> Result<usize> {
        panic!("it has a descriptor");
    }
    fn size(&self) -> u64 {
        1 << 20
    }
    fn path(&self) -> &Path {
        Path::new("/descriptor")
    }
    fn raw_fd(&self) -> Option<i32> {
        Some(0)
    }
}

fn asked(file: &Arc<dyn RandomAccessFile>, end_us: u64) -> Asked {
    let label = ReadLabel::whole(ReadClass::Data, 8);
    Asked { file: Arc::clone(file), offset: 0, length: 8, label, end_us }
}

/// Whoever waits for a read sleeps here.
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

fn outcome(watched: &Watched) -> Outcome {
    block_on(std::future::poll_fn(|context| watched.poll(context)))
}

fn assert_landed(watched: &Watched) {
    match outcome(watched) {
        Outcome::Landed(memory, 8) => assert_eq!(memory.bytes(), [7; 8]),
        _ => panic!("it did not land"),
    }
}

fn driver(kernel: &Arc<Kernel>, pool: &BufferPool, spawner: Arc<dyn ferrock_base::thread::Spawner>) -> OwnedDriver {
    driver_with_clock(kernel, pool, spawner, SystemClock::shared())
}

fn driver_with_clock(
    kernel: &Arc<Kernel>,
    pool: &BufferPool,
    spawner: Arc<dyn ferrock_base::thread::Spawner>,
    clock: Arc<dyn Clock>,
) -> OwnedDriver {
    let device = Box::new(Device(Arc::clone(kernel)));
    OwnedDriver(Arc::new(Driver::new(device, pool.clone(), clock, Arc::<IoCounters>::default(), spawner)))
}

#[cfg(not(shuttle))]
mod real {
    use super::*;
    use ferrock_base::clock::ManualClock;
    use ferrock_base::thread::{Job, Join, Spawner, StdSpawner};
    use ferrock_base::{Error, ErrorKind};

    fn wait_until(condition: impl Fn() -> bool) {
        for _ in 0..10_000 {
            if condition() {
                return;
            }
            SystemClock::shared().sleep(Duration::from_millis(1));
        }
        panic!("it does not come");
    }

    #[test]
    fn memory_stays_until_the_kernel_is_done() {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let clock = Arc::new(ManualClock::new(1_000_000));
        let owned = driver_with_clock(&kernel, &pool, StdSpawner::shared(), Arc::clone(&clock) as Arc<dyn Clock>);
        let file: Arc<dyn RandomAccessFile> = Arc::new(Descriptor);
        let dropped = owned.0.start(asked(&file, u64::MAX)).unwrap();
        let late = owned.0.start(asked(&file, 2_000_000)).unwrap();
        wait_until(|| kernel.submitted() == 2);
        drop(dropped);
        clock.advance(Duration::from_secs(2));
        assert!(matches!(outcome(&late), Outcome::Late));
        drop(late);
        assert_eq!(pool.usage().in_use_bytes, 8192, "the kernel still writes to both");
        assert_eq!(Arc::strong_count(&file), 3, "and has the descriptor of both");
        drop(owned);
        assert!(kernel.perform() && kernel.perform());
        wait_until(|| pool.usage().in_use_bytes == 0 && Arc::strong_count(&file) == 1);
    }

    #[test]
    fn a_ring_that_breaks_ends_reads_and_keeps_its_memory() {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let owned = driver(&kernel, &pool, StdSpawner::shared());
        let file: Arc<dyn RandomAccessFile> = Arc::new(Descriptor);
        let reads: Vec<_> = (0..300).map(|_| owned.0.start(asked(&file, u64::MAX)).unwrap()).collect();
        wait_until(|| kernel.submitted() == 256);
        kernel.is_broken.store(true, Ordering::Release);
        kernel.moved.notify_all();
        assert!(reads.iter().all(|read| matches!(outcome(read), Outcome::Broken)));
        assert!(owned.0.start(asked(&file, u64::MAX)).is_none());
        drop(reads);
        assert_eq!(pool.usage().in_use_bytes, 256 * 4096, "those that waited had none");
        // The last completions are taken still.
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
        let file: Arc<dyn RandomAccessFile> = Arc::new(Descriptor);
        for _ in 0..3 {
            let read = owned.0.start(asked(&file, u64::MAX)).unwrap();
            assert!(matches!(outcome(&read), Outcome::Broken));
        }
        assert_eq!((pool.usage().in_use_bytes, kernel.submitted()), (0, 0));
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as it was told");
        }
    }

    #[test]
    fn a_waker_that_panics_stops_nobody_else() {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let owned = driver(&kernel, &pool, StdSpawner::shared());
        let file: Arc<dyn RandomAccessFile> = Arc::new(Descriptor);
        let reads: Vec<_> = (0..3).map(|_| owned.0.start(asked(&file, u64::MAX)).unwrap()).collect();
        let panics = Waker::from(Arc::new(Panics));
        for read in &reads[..2] {
            assert!(read.poll(&Context::from_waker(&panics)).is_pending());
        }
        wait_until(|| kernel.submitted() > 0);
        for _ in 0..3 {
            assert!(kernel.perform());
        }
        assert_landed(&reads[2]);
        reads[..2].iter().for_each(assert_landed);
        assert!(owned.0.has_thread());
    }

    #[test]
    fn reads_beyond_the_ring_wait_their_turn() {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let owned = driver(&kernel, &pool, StdSpawner::shared());
        let file: Arc<dyn RandomAccessFile> = Arc::new(Descriptor);
        let mut reads: Vec<_> = (0..1000).map(|_| owned.0.start(asked(&file, u64::MAX)).unwrap()).collect();
        wait_until(|| kernel.submitted() == 256);
        assert_eq!(pool.usage().in_use_bytes, 256 * 4096);
        // Most of those that wait are dropped: nobody reads them.
        reads.truncate(300);
        let played = {
            let kernel = Arc::clone(&kernel);
            move || while kernel.perform() {}
        };
        let join = StdSpawner.spawn("kernel", Box::new(played)).unwrap();
        reads.iter().for_each(assert_landed);
        drop(reads);
        drop(owned);
        wait_until(|| pool.usage().in_use_bytes == 0);
        kernel.end();
        join.join().unwrap();
    }
}

#[cfg(shuttle)]
mod models {
    use super::*;
    use ferrock_base::thread::{Job, Join, Spawner};
    use shuttle::thread;

    const ITERATIONS: usize = 3000;

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

    /// Whoever polls is woken, by whichever thread submitted; what is dropped meanwhile is freed once, after the kernel; the
    /// driver's thread ends with its owner, and none sleeps for ever. Sleeps have no end here: a lost wake-up is a deadlock.
    fn wakes_and_drops() {
        let (kernel, pool) = (Arc::new(Kernel::default()), BufferPool::default());
        let owned = driver(&kernel, &pool, Arc::new(ModelSpawner));
        let played = {
            let kernel = Arc::clone(&kernel);
            thread::spawn(move || while kernel.perform() {})
        };
        let file: Arc<dyn RandomAccessFile> = Arc::new(Descriptor);
        let reader = {
            let (driver, file) = (Arc::clone(&owned.0), Arc::clone(&file));
            thread::spawn(move || {
                let first = driver.start(asked(&file, u64::MAX)).unwrap();
                let second = driver.start(asked(&file, u64::MAX)).unwrap();
                assert_landed(&second);
                assert_landed(&first);
            })
        };
        let given_up = owned.0.start(asked(&file, u64::MAX)).unwrap();
        let read = owned.0.start(asked(&file, u64::MAX)).unwrap();
        let _ = given_up.poll(&Context::from_waker(Waker::noop()));
        drop(given_up);
        assert_landed(&read);
        drop(read);
        reader.join().unwrap();
        let driver = Arc::clone(&owned.0);
        drop(owned);
        while driver.has_thread() {
            thread::yield_now();
        }
        kernel.end();
        played.join().unwrap();
        assert_eq!((pool.usage().in_use_bytes, Arc::strong_count(&file)), (0, 1));
    }

    #[test]
    fn shuttle_the_driver_wakes_who_polls() {
        shuttle::check_random(wakes_and_drops, ITERATIONS);
    }

    #[test]
    fn shuttle_the_driver_wakes_who_polls_with_few_preemptions() {
        shuttle::check_pct(wakes_and_drops, ITERATIONS, 3);
    }
}
