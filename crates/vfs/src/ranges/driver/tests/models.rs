//! Concurrent reads under the model checker.

use super::*;
use ferrock_base::Result;
use ferrock_base::thread::{Job, Join};
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

fn played(kernel: &Arc<Kernel>, play: impl Fn(&Kernel) -> bool + Send + 'static) -> thread::JoinHandle<()> {
    let kernel = Arc::clone(kernel);
    thread::spawn(move || while play(&kernel) {})
}

/// Drops the driver, and checks that it left no memory and no file.
fn finish(owned: OwnedDriver, kernel: &Kernel, played: thread::JoinHandle<()>, file: &Arc<()>) {
    let driver = Arc::clone(&owned.0);
    drop(owned);
    while driver.has_thread() {
        thread::yield_now();
    }
    kernel.end();
    played.join().unwrap();
    assert_eq!((driver.pool.usage().in_use_bytes, Arc::strong_count(file)), (0, 1));
}

/// Every polling task is woken, whichever thread submitted its read; reads dropped meanwhile are freed once, after the
/// kernel is done with them; the driver's thread exits with its owner, and no thread sleeps for ever. Sleeps have no
/// timeout here: a lost wake-up is a deadlock.
fn wakes_and_drops() {
    let kernel = Arc::new(Kernel::default());
    let owned = driver(&kernel, &BufferPool::default(), Arc::new(ModelSpawner));
    let played = played(&kernel, Kernel::perform);
    let file = file();
    let reader = {
        let (driver, file) = (Arc::clone(&owned.0), Arc::clone(&file));
        thread::spawn(move || {
            let first = driver.start(spec(&file, 0, 8)).unwrap();
            let second = driver.start(spec(&file, 100, 8)).unwrap();
            assert_complete(&second, 100, 8);
            assert_complete(&first, 0, 8);
        })
    };
    let given_up = owned.0.start(spec(&file, 200, 8)).unwrap();
    let read = owned.0.start(spec(&file, 300, 8)).unwrap();
    let _ = given_up.poll(&Context::from_waker(Waker::noop()));
    drop(given_up);
    assert_complete(&read, 300, 8);
    drop(read);
    reader.join().unwrap();
    finish(owned, &kernel, played, &file);
}

/// The same with reads that may share requests, also those in flight: dropping one read takes nothing from the others.
fn joins_and_drops() {
    let kernel = Arc::new(Kernel::default());
    let owned = driver(&kernel, &BufferPool::default(), Arc::new(ModelSpawner));
    let played = played(&kernel, Kernel::perform);
    let file = file();
    let finals = |start, length| {
        let spec = spec(&file, start, length);
        ReadSpec { context: ReadContext { is_final: true, ..spec.context }, ..spec }
    };
    let reader = {
        let (driver, first, second, third) = (Arc::clone(&owned.0), finals(0, 8), finals(8, 8), finals(0, 8));
        thread::spawn(move || {
            let first = driver.start(first).unwrap();
            let second = driver.start(second).unwrap();
            let third = driver.start(third).unwrap();
            drop(first);
            assert_complete(&second, 8, 8);
            assert_complete(&third, 0, 8);
        })
    };
    let given_up = owned.0.start(finals(4, 8)).unwrap();
    let read = owned.0.start(finals(4, 2)).unwrap();
    let _ = given_up.poll(&Context::from_waker(Waker::noop()));
    drop(given_up);
    assert_complete(&read, 4, 2);
    drop(read);
    reader.join().unwrap();
    finish(owned, &kernel, played, &file);
}

/// Requests that fail: each read that shared one is read alone, and its task is woken in the end.
fn fails_and_drops() {
    const INTERRUPTED: i32 = 4;
    let kernel = Arc::new(Kernel::default());
    let owned = driver(&kernel, &BufferPool::default(), Arc::new(ModelSpawner));
    let count = AtomicBool::new(false);
    let played = played(&kernel, move |kernel| {
        // Every other request.
        let manner = if count.fetch_xor(true, Ordering::Relaxed) { Manner::Whole } else { Manner::Error(INTERRUPTED) };
        kernel.await_request() && kernel.perform_at(0, manner)
    });
    let file = file();
    let check = |read: &DriverTicket, start| match outcome(read) {
        Outcome::Complete(came) => assert_eq!(came.slice(start, 1).unwrap().bytes(), [byte_at(start)]),
        Outcome::WithoutRing => {}
        _ => panic!("it is neither read nor left to be read without the ring"),
    };
    let reader = {
        let (driver, file) = (Arc::clone(&owned.0), Arc::clone(&file));
        thread::spawn(move || {
            let reads = [0, 8, 16].map(|start| (start, driver.start(spec(&file, start, 8)).unwrap()));
            reads.iter().for_each(|(start, read)| check(read, *start));
        })
    };
    let given_up = owned.0.start(spec(&file, 8, 8)).unwrap();
    let read = owned.0.start(spec(&file, 0, 24)).unwrap();
    let _ = given_up.poll(&Context::from_waker(Waker::noop()));
    drop(given_up);
    check(&read, 0);
    drop(read);
    reader.join().unwrap();
    finish(owned, &kernel, played, &file);
}

fn awaited(file: &Arc<()>, start: u64) -> ReadSpec {
    let spec = spec(file, start, 8);
    ReadSpec { context: ReadContext { is_polled: false, ..spec.context }, ..spec }
}

/// Threads that wait for their reads take completions for each other: each gets its own bytes, whichever of them sleeps
/// in the kernel. A read that is given up is freed once, after the kernel is done with it, at the latest with the
/// driver.
fn waiters() {
    let kernel = Arc::new(Kernel::default());
    let pool = BufferPool::default();
    let owned = driver(&kernel, &pool, Arc::new(ModelSpawner));
    let played = played(&kernel, Kernel::perform);
    let file = file();
    let waiter = {
        let (driver, file) = (Arc::clone(&owned.0), Arc::clone(&file));
        thread::spawn(move || {
            // Two pieces of one request.
            let ticket = driver.start(ReadSpec { piece_bytes: 4, ..awaited(&file, 0) });
            await_complete(ticket.unwrap(), 0, 8);
            let ticket = driver.start(awaited(&file, 100)).unwrap();
            let _ = ticket.is_complete();
            await_complete(ticket, 100, 8);
        })
    };
    drop(owned.0.start(awaited(&file, 200)).unwrap());
    let late = owned.0.start(awaited(&file, 300)).unwrap().wait(&|| Some(Duration::ZERO));
    assert!(!matches!(late, Outcome::Refused(_)));
    drop(late);
    await_complete(owned.0.start(awaited(&file, 400)).unwrap(), 400, 8);
    waiter.join().unwrap();
    drop(owned);
    assert_eq!((pool.usage().in_use_bytes, Arc::strong_count(&file)), (0, 1));
    kernel.end();
    played.join().unwrap();
}

/// With room for two requests, a third waits; a thread that waits for such a read performs it itself.
fn await_complete(ticket: DriverTicket, start: u64, length: u64) {
    match ticket.wait(&|| None) {
        Outcome::Complete(came) => {
            let expected: Vec<u8> = (start..start + length).map(byte_at).collect();
            assert_eq!(came.slice(start, length as usize).unwrap().bytes(), expected);
        }
        Outcome::WithoutRing => {}
        _ => panic!("it has neither time nor limit"),
    }
}

/// A task polls, so that the driver's thread takes over from a thread that sleeps in the kernel for its own read.
fn a_poll_among_waiters() {
    let kernel = Arc::new(Kernel::default());
    let owned = driver(&kernel, &BufferPool::default(), Arc::new(ModelSpawner));
    let played = played(&kernel, Kernel::perform);
    let file = file();
    let waiter = {
        let (driver, file) = (Arc::clone(&owned.0), Arc::clone(&file));
        thread::spawn(move || {
            await_complete(driver.start(awaited(&file, 0)).unwrap(), 0, 8);
            await_complete(driver.start(awaited(&file, 100)).unwrap(), 100, 8);
        })
    };
    let polled = owned.0.start(awaited(&file, 200)).unwrap();
    assert_complete(&polled, 200, 8);
    drop(polled);
    waiter.join().unwrap();
    finish(owned, &kernel, played, &file);
}

#[test]
fn shuttle_waiters_take_completions_for_each_other() {
    shuttle::check_random(waiters, ITERATIONS);
    shuttle::check_pct(waiters, ITERATIONS, 3);
}

#[test]
fn shuttle_a_polling_task_joins_waiters() {
    shuttle::check_random(a_poll_among_waiters, ITERATIONS);
    shuttle::check_pct(a_poll_among_waiters, ITERATIONS, 3);
}

#[test]
fn shuttle_the_driver_wakes_polling_tasks() {
    shuttle::check_random(wakes_and_drops, ITERATIONS);
}

#[test]
fn shuttle_the_driver_wakes_polling_tasks_with_few_preemptions() {
    shuttle::check_pct(wakes_and_drops, ITERATIONS, 3);
}

#[test]
fn shuttle_reads_join_and_are_dropped() {
    shuttle::check_random(joins_and_drops, ITERATIONS);
    shuttle::check_pct(joins_and_drops, ITERATIONS, 3);
}

#[test]
fn shuttle_requests_of_several_reads_fail() {
    shuttle::check_random(fails_and_drops, ITERATIONS);
    shuttle::check_pct(fails_and_drops, ITERATIONS, 3);
}
