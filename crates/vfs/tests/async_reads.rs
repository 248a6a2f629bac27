//! Reads as futures: the same bytes by every backend, thousands at once on one thread, dropped at any moment.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use common::{forget_pages, on_a_thread_that_ends, pattern, wait_until};
use ferrock_base::ErrorKind;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, PendingRead, PoolLimits,
    PosixFileSystem, RandomAccessFile, RandomAccessOptions, ReadClass, ReadContext, WritableOptions,
};
use proptest::prelude::*;

const BYTES: usize = 1 << 20;

/// Which futures were woken; the polling thread sleeps here.
#[derive(Default)]
struct Woken {
    numbers: Mutex<Vec<usize>>,
    changed: Condvar,
}

struct NumberedWaker(usize, Arc<Woken>);

fn polled() -> ReadContext {
    ReadContext { is_polled: true, ..ReadContext::default() }
}

impl Wake for NumberedWaker {
    fn wake(self: Arc<Self>) {
        self.1.numbers.lock().unwrap().push(self.0);
        self.1.changed.notify_one();
    }
}

/// Some futures on one thread.
struct Tasks {
    woken: Arc<Woken>,
    reads: Vec<Option<PendingRead>>,
    wakers: Vec<Waker>,
}

impl Tasks {
    fn new(reads: Vec<PendingRead>) -> Self {
        let woken = Arc::new(Woken::default());
        let wakers = (0..reads.len()).map(|n| Arc::new(NumberedWaker(n, Arc::clone(&woken))).into()).collect();
        Self { woken, reads: reads.into_iter().map(Some).collect(), wakers }
    }

    fn poll(&mut self, number: usize) -> Option<ferrock_base::Result<ferrock_vfs::ReadBuffer>> {
        let read = self.reads[number].as_mut()?;
        match Pin::new(read).poll(&mut Context::from_waker(&self.wakers[number])) {
            Poll::Ready(result) => {
                self.reads[number] = None;
                Some(result)
            }
            Poll::Pending => None,
        }
    }

    /// Waits until futures are woken, and polls them.
    fn step(&mut self, each: &mut dyn FnMut(usize, ferrock_base::Result<ferrock_vfs::ReadBuffer>)) {
        let woken = Arc::clone(&self.woken);
        let mut numbers = woken.numbers.lock().unwrap();
        while numbers.is_empty() {
            let (guard, waited) = woken.changed.wait_timeout(numbers, Duration::from_secs(60)).unwrap();
            assert!(!waited.timed_out(), "no future was woken");
            numbers = guard;
        }
        let taken = std::mem::take(&mut *numbers);
        drop(numbers);
        for number in taken {
            if let Some(result) = self.poll(number) {
                each(number, result);
            }
        }
    }

    fn run(mut self, each: &mut dyn FnMut(usize, ferrock_base::Result<ferrock_vfs::ReadBuffer>)) {
        for number in 0..self.reads.len() {
            if let Some(result) = self.poll(number) {
                each(number, result);
            }
        }
        while self.reads.iter().any(Option::is_some) {
            self.step(each);
        }
    }
}

fn write(
    file_system: &dyn FileSystem,
    dir: &Path,
    options: &RandomAccessOptions,
) -> (Vec<u8>, Arc<dyn RandomAccessFile>) {
    let bytes = pattern(BYTES, 5);
    let path = dir.join("000001.sst");
    let mut file = file_system.create_writable(&path, &WritableOptions::default()).unwrap();
    file.append(&bytes).unwrap();
    file.close().unwrap();
    (bytes, file_system.open_random_access(&path, options).unwrap())
}

fn backends() -> Vec<PosixFileSystem> {
    let ring = PosixFileSystem::with_backend(None);
    let mut all = vec![PosixFileSystem::with_backend(Some("pread"))];
    if ring.io_backend() == "io_uring" {
        all.push(ring);
    }
    all
}

fn in_use(file_system: &dyn FileSystem) -> u64 {
    file_system.read_layer().unwrap().pool().usage().in_use_bytes
}

/// Waits until the memory of abandoned reads is returned.
fn assert_nothing_in_use(file_system: &dyn FileSystem) {
    wait_until("the memory is returned", || in_use(file_system) == 0);
}

#[test]
fn ten_thousand_reads_on_one_thread() {
    for direct in [false, true] {
        for file_system in backends() {
            let dir = tempfile::tempdir().unwrap();
            let options = RandomAccessOptions { direct, ..RandomAccessOptions::default() };
            let (bytes, file) = write(&file_system, dir.path(), &options);
            let context = ReadContext { class: ReadClass::Data, ..polled() };
            let place = |number: usize| (number * 7919 % BYTES, 1 + number % 5000);
            let reads = (0..10_000)
                .map(|number| {
                    let (offset, length) = place(number);
                    file_system.start_read(&file, offset as u64, length, &context)
                })
                .collect();
            let mut count = 0;
            Tasks::new(reads).run(&mut |number, result| {
                let (offset, length) = place(number);
                let end = (offset + length).min(BYTES);
                assert!(result.unwrap().bytes() == &bytes[offset..end], "read {number}");
                count += 1;
            });
            assert_eq!(count, 10_000);
            assert_nothing_in_use(&file_system);
            let counters = file_system.counters().snapshot();
            let requests = counters.class(ReadClass::Data).requests;
            assert!(counters.read_calls < 20_000, "{} system calls", counters.read_calls);
            if file_system.io_backend() == "io_uring" && direct {
                // The reads overlap, and those that wait for room in the ring share requests. How many wait is a matter
                // of how quick the device is beside this thread.
                assert!(requests < 10_000, "{requests} requests");
            } else if direct {
                assert_eq!(requests, 10_000);
            }
        }
    }
}

/// The kernel ends a buffered read on the thread that submitted it, and fails it when that thread has ended: here also
/// reads of other threads, which wait for room in the ring or share the request.
#[test]
fn reads_outlive_the_threads_that_began_them() {
    for direct in [false, true] {
        for file_system in backends() {
            let dir = tempfile::tempdir().unwrap();
            let options = RandomAccessOptions { direct, ..RandomAccessOptions::default() };
            let (bytes, file) = write(&file_system, dir.path(), &options);
            for round in 0..60 {
                forget_pages(file.path());
                let context = ReadContext { is_final: round % 2 == 0, ..polled() };
                let place = |number: usize| ((round * 17 + number * 61) % 250 * 4096, 8000);
                let start = |number: usize| {
                    let (offset, length) = place(number);
                    file_system.start_read(&file, offset as u64, length, &context)
                };
                let mut reads: Vec<_> = (0..round % 7).map(start).collect();
                reads.extend(on_a_thread_that_ends(|| (round % 7..round % 7 + 3).map(start).collect::<Vec<_>>()));
                reads.push(start(round % 7));
                let numbers: Vec<_> = (0..round % 7 + 3).chain([round % 7]).collect();
                Tasks::new(reads).run(&mut |at, result| {
                    let (offset, length) = place(numbers[at]);
                    assert!(result.unwrap().bytes() == &bytes[offset..(offset + length).min(BYTES)], "round {round}");
                });
            }
            assert_nothing_in_use(&file_system);
        }
    }
}

#[test]
fn the_thread_ends_and_comes_back() {
    for file_system in backends() {
        let dir = tempfile::tempdir().unwrap();
        let (bytes, file) = write(&file_system, dir.path(), &RandomAccessOptions::default());
        for _ in 0..2 {
            forget_pages(file.path());
            let read = file_system.start_read(&file, 5, 100, &polled());
            let needs_a_thread = !read.is_ready();
            Tasks::new(vec![read]).run(&mut |_, result| assert_eq!(result.unwrap().bytes(), &bytes[5..105]));
            let layer = file_system.read_layer().unwrap();
            assert!(layer.thread_count() > 0 || !needs_a_thread);
            wait_until("the thread ends some seconds after the last read", || layer.thread_count() == 0);
        }
    }
}

#[test]
fn what_needs_no_device_is_there_at_once() {
    for file_system in backends() {
        let dir = tempfile::tempdir().unwrap();
        let (_, file) = write(&file_system, dir.path(), &RandomAccessOptions::default());
        let poll = |offset, context: &ReadContext| {
            let mut read = file_system.start_read(&file, offset, 100, context);
            match Pin::new(&mut read).poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("it waits"),
            }
        };
        assert!(poll(BYTES as u64, &polled()).unwrap().is_empty());
        let late = ReadContext { deadline_us: 1, ..polled() };
        assert_eq!(poll(0, &late).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}

#[test]
fn time_is_watched() {
    for file_system in backends() {
        let dir = tempfile::tempdir().unwrap();
        let (bytes, file) = write(&file_system, dir.path(), &RandomAccessOptions::default());
        for io_timeout in [Duration::from_micros(1), Duration::from_millis(2), Duration::from_secs(600)] {
            let context = ReadContext { io_timeout, ..polled() };
            let reads = (0..2000).map(|n| file_system.start_read(&file, n * 100, 100, &context)).collect();
            Tasks::new(reads).run(&mut |number, result| match result {
                Ok(read) => assert!(read.bytes() == &bytes[number * 100..][..100]),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    assert!(io_timeout < Duration::from_secs(1), "{error}");
                }
            });
            assert_nothing_in_use(&file_system);
        }
    }
}

#[test]
fn too_little_memory_is_an_error_or_a_wait() {
    for file_system in backends() {
        let dir = tempfile::tempdir().unwrap();
        let (bytes, file) = write(&file_system, dir.path(), &RandomAccessOptions::default());
        let pool = file_system.read_layer().unwrap().pool();
        pool.set_limits(PoolLimits { total_bytes: 4096, ..PoolLimits::default() });
        let read = |length| file_system.start_read(&file, 0, length, &polled());
        let mut seen = [0, 0];
        Tasks::new(vec![read(100), read(8192), read(200)]).run(&mut |number, result| match result {
            Ok(read) => {
                seen[0] += 1;
                assert!(number != 1 && read.bytes() == &bytes[..[100, 0, 200][number]]);
            }
            Err(error) => {
                seen[1] += 1;
                assert_eq!(error.kind(), ErrorKind::MemoryLimit);
            }
        });
        assert!(seen[0] >= 1 && seen[1] >= 1, "{seen:?}");
        pool.set_limits(PoolLimits::default());
        Tasks::new(vec![read(8192)]).run(&mut |_, result| assert!(result.unwrap().bytes() == &bytes[..8192]));
        assert_nothing_in_use(&file_system);
    }
}

#[test]
fn errors_are_those_of_single_reads() {
    let file_system = FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let (bytes, file) = write(&file_system, Path::new("/"), &RandomAccessOptions::default());
    let failed = AtomicUsize::new(0);
    let rule = FaultRule::new(OperationKind::Read, "*.sst", Fault::Io).when(ferrock_vfs::Trigger::Nth(3));
    file_system.add_rule(rule);
    let reads = (0..10).map(|n| file_system.start_read(&file, n * 100, 100, &polled())).collect();
    Tasks::new(reads).run(&mut |number, result| match result {
        Ok(read) => assert!(read.bytes() == &bytes[number * 100..][..100]),
        Err(error) => {
            failed.fetch_add(1, Ordering::Relaxed);
            assert_eq!(error.kind(), ErrorKind::Io);
        }
    });
    assert_eq!(failed.into_inner(), 1);
}

#[derive(Clone, Debug)]
enum Step {
    Start(u64, usize),
    /// So many reads, begun by a thread that ends.
    StartAway(u64, usize),
    /// Drops the file's pages from the page cache.
    Forget,
    /// So many reads around one place, as callers say of final files or not.
    Burst(u64, usize, bool),
    Poll(usize),
    Drop(usize),
    Finish(usize),
    Sleep,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..BYTES as u64, 1usize..20_000).prop_map(|(offset, length)| Step::Start(offset, length)),
        2 => (0..BYTES as u64, 1usize..6).prop_map(|(at, count)| Step::StartAway(at, count)),
        2 => Just(Step::Forget),
        1 => (0..BYTES as u64, 1usize..300, any::<bool>()).prop_map(|(at, count, is_final)| Step::Burst(at, count, is_final)),
        2 => any::<usize>().prop_map(Step::Poll),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Finish),
        1 => Just(Step::Sleep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Reads are dropped before they were polled, while they wait, in flight and completed: the others have the right
    /// bytes, all memory is returned, even if the file system is dropped first, and there are no more requests than
    /// reads, except for reads that were begun by threads that have exited.
    #[test]
    fn reads_are_dropped_at_any_moment(steps in proptest::collection::vec(step(), 1..200), direct in any::<bool>()) {
        for file_system in backends() {
            let dir = tempfile::tempdir().unwrap();
            let options = RandomAccessOptions { direct, ..RandomAccessOptions::default() };
            let (bytes, file) = write(&file_system, dir.path(), &options);
            let pool = file_system.read_layer().unwrap().pool().clone();
            let mut reads: Vec<(usize, usize, PendingRead)> = Vec::new();
            let mut started = 0;
            for step in &steps {
                let pick = |number: usize| (!reads.is_empty()).then(|| number % reads.len());
                match *step {
                    Step::Start(offset, length) => {
                        let read = file_system.start_read(&file, offset, length, &polled());
                        reads.push((offset as usize, length, read));
                        started += 1;
                    }
                    Step::StartAway(at, count) => {
                        let start = |number| {
                            let (offset, length) = ((at + number * 91_000) % BYTES as u64, 1 + number as usize * 3000);
                            (offset as usize, length, file_system.start_read(&file, offset, length, &polled()))
                        };
                        reads.extend(on_a_thread_that_ends(|| (0..count as u64).map(start).collect::<Vec<_>>()));
                        started += count as u64;
                    }
                    Step::Forget => forget_pages(file.path()),
                    Step::Burst(at, count, is_final) => for number in 0..count as u64 {
                        let context = ReadContext { gap_bytes: at % 3 * 4096, is_final, ..polled() };
                        let (offset, length) = ((at + number * 7919 % 50_000).min(BYTES as u64 - 1), 1 + number as usize * 11);
                        let read = file_system.start_read(&file, offset, length, &context);
                        reads.push((offset as usize, length, read));
                        started += 1;
                    },
                    Step::Poll(number) => if let Some(at) = pick(number) {
                        let (offset, length, read) = &mut reads[at];
                        if let Poll::Ready(result) = Pin::new(read).poll(&mut Context::from_waker(Waker::noop())) {
                            prop_assert!(result.unwrap().bytes() == &bytes[*offset..(*offset + *length).min(BYTES)]);
                            drop(reads.swap_remove(at));
                        }
                    },
                    Step::Drop(number) => if let Some(at) = pick(number) {
                        drop(reads.swap_remove(at));
                    },
                    Step::Finish(number) => if let Some(at) = pick(number) {
                        let (offset, length, read) = reads.swap_remove(at);
                        Tasks::new(vec![read]).run(&mut |_, result| {
                            assert!(result.unwrap().bytes() == &bytes[offset..(offset + length).min(BYTES)]);
                        });
                    },
                    // The device and the thread of completions come further.
                    Step::Sleep => ferrock_base::clock::SystemClock::shared().sleep(Duration::from_micros(50)),
                }
            }
            // A read that fails with the thread that submitted it is read alone, then without the ring.
            let has_ended_threads = steps.iter().any(|step| matches!(step, Step::StartAway(..)));
            let most = if has_ended_threads { 3 * started } else { started };
            prop_assert!(file_system.counters().snapshot().class(ReadClass::Other).requests <= most);
            drop(file);
            drop(file_system);
            drop(reads);
            wait_until("the memory is returned", || pool.usage().in_use_bytes == 0);
        }
    }
}
