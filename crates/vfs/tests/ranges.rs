//! Reads of ranges on the machine's files: both backends, through the page cache, around it and mapped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{forget_pages, on_a_thread_that_ends, pattern, wait_until};
use ferrock_base::ErrorKind;
use ferrock_vfs::{
    FileSystem, PoolLimits, PosixFileSystem, RandomAccessFile, RandomAccessOptions, RangeRead, ReadClass, ReadContext,
    WritableOptions, read_owned, read_range, read_ranges,
};

fn write(file_system: &dyn FileSystem, path: &Path, bytes: &[u8]) {
    let mut file = file_system.create_writable(path, &WritableOptions::default()).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    file.close().unwrap();
}

fn everywhere(bytes: &[u8], check: impl Fn(&PosixFileSystem, &Arc<dyn RandomAccessFile>, &str)) {
    for backend in ["pread", "io_uring"] {
        if backend == "io_uring" && !common::io_uring_works() {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let file_system = PosixFileSystem::with_backend(Some(backend));
        let path = dir.path().join("000001.sst");
        write(&file_system, &path, bytes);
        let ways = [
            RandomAccessOptions::default(),
            RandomAccessOptions { direct: true, ..Default::default() },
            RandomAccessOptions { mmap: true, ..Default::default() },
        ];
        for way in ways {
            match file_system.open_random_access(&path, &way) {
                Ok(file) => check(&file_system, &file, &format!("{backend} {way:?}")),
                Err(error) if way.direct && error.kind() == ErrorKind::NotSupported => {
                    println!("no direct I/O in {}: the page cache is tested alone", dir.path().display());
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

const RANGES: [(u64, usize); 9] = [
    (0, 1),
    (1, 4096),
    (1028, 1028),
    (2056, 1028),
    (100_000, 100_000),
    (150_000, 300_000),
    (999_000, 5000),
    (1_000_000, 10),
    (700_000, 0),
];

fn expected(bytes: &[u8], (offset, length): (u64, usize)) -> &[u8] {
    let start = (offset as usize).min(bytes.len());
    &bytes[start..(start + length).min(bytes.len())]
}

#[test]
fn ranges_are_what_the_file_holds() {
    let bytes = pattern(1_000_000, 5);
    everywhere(&bytes, |file_system, file, way| {
        for (max_request_bytes, io_timeout) in [(256 << 10, Duration::ZERO), (10_000, Duration::from_secs(600))] {
            let context = ReadContext { max_request_bytes, io_timeout, ..ReadContext::for_class(ReadClass::Data) };
            let mut reads = RANGES.map(|(offset, length)| RangeRead::new(file, offset, length));
            read_ranges(file_system, &mut reads, &context);
            for (read, range) in reads.iter().zip(RANGES) {
                assert!(read.result.as_ref().unwrap().bytes() == expected(&bytes, range), "{way}: {range:?}");
            }
            for range in RANGES {
                let read = read_range(&**file, range.0, range.1, &context).unwrap();
                assert!(read.bytes() == expected(&bytes, range), "{way}: {range:?}");
                let owned = read_owned(&**file, range.0, range.1, &context).unwrap();
                assert!(owned == expected(&bytes, range), "{way}: {range:?}");
            }
            let pending = RANGES.map(|(offset, length)| file_system.start_read(file, offset, length, &context));
            for (pending, range) in pending.into_iter().zip(RANGES) {
                assert!(pending.wait().unwrap().bytes() == expected(&bytes, range), "{way}: {range:?}");
            }
        }
        assert_eq!(file_system.read_layer().unwrap().pool().usage().in_use_bytes, 0, "{way}");
    });
}

/// Sets of reads of which the page cache has all, nothing, or a part, down to a part of one read.
#[test]
fn sets_are_read_from_the_page_cache_and_the_device_alike() {
    let bytes = pattern(1_000_000, 9);
    everywhere(&bytes, |file_system, file, way| {
        let context = ReadContext::for_class(ReadClass::Data);
        let ranges: Vec<_> = (0..60).map(|index| (index * 16_400_u64, 5000_usize)).chain([(996_000, 8000)]).collect();
        for kept in [0, 3, 61, 200] {
            forget_pages(file.path());
            // Every third, every one, and (behind all) a part of one.
            for &(offset, _) in ranges.iter().step_by(if kept == 3 { 3 } else { 1 }).take(kept) {
                read_range(&**file, offset, if kept == 61 { 5000 } else { 10 }, &context).unwrap();
            }
            let mut reads: Vec<_> =
                ranges.iter().map(|&(offset, length)| RangeRead::new(file, offset, length)).collect();
            read_ranges(file_system, &mut reads, &context);
            for (read, &range) in reads.iter().zip(&ranges) {
                assert!(read.result.as_ref().unwrap().bytes() == expected(&bytes, range), "{way}, {kept}: {range:?}");
            }
            let started: Vec<_> =
                ranges.iter().map(|&(offset, length)| file_system.start_read(file, offset, length, &context)).collect();
            for (read, &range) in started.into_iter().zip(&ranges) {
                assert!(read.wait().unwrap().bytes() == expected(&bytes, range), "{way}, {kept}: {range:?}");
            }
        }
    });
}

/// What is in memory pays for no ring: a call for each read, and none for a ring.
#[cfg(target_os = "linux")]
#[test]
fn what_the_page_cache_has_does_not_go_to_a_ring() {
    let bytes = pattern(400_000, 3);
    let dir = tempfile::tempdir().unwrap();
    let file_system = PosixFileSystem::with_backend(common::io_uring_works().then_some("io_uring"));
    let path = dir.path().join("000001.sst");
    write(&file_system, &path, &bytes);
    let file = file_system.open_random_access(&path, &RandomAccessOptions::default()).unwrap();
    let context = ReadContext::for_class(ReadClass::Data);
    // Every page is used before.
    assert_eq!(read_range(&*file, 0, bytes.len(), &context).unwrap().bytes(), bytes);
    let before = file_system.counters().snapshot();
    let mut reads: Vec<_> = (0..20).map(|index| RangeRead::new(&file, index * 20_000, 3000)).collect();
    read_ranges(&file_system, &mut reads, &context);
    let started = file_system.start_read(&file, 70_000, 9000, &context);
    assert!(started.is_ready() || !common::io_uring_works());
    assert_eq!(started.wait().unwrap().bytes(), &bytes[70_000..79_000]);
    let after = file_system.counters().snapshot();
    assert_eq!(after.read_requests - before.read_requests, 21);
    assert_eq!(after.read_calls - before.read_calls, 21, "none of a ring");
}

#[test]
fn requests_are_counted_once_on_both_backends() {
    let bytes = pattern(1_000_000, 6);
    everywhere(&bytes, |file_system, file, way| {
        let data = || file_system.counters().snapshot().class(ReadClass::Data);
        let context = ReadContext::for_class(ReadClass::Data);
        let places = [(5000u64, 1028usize), (6028, 1028), (500_000, 1028)];
        let before = data();
        let mut reads = places.map(|(offset, length)| RangeRead::new(file, offset, length));
        read_ranges(file_system, &mut reads, &context);
        let batch = data().since(before);
        let before = data();
        let _ = file_system.start_read(file, 5000, 2056, &context).wait().unwrap();
        let single = data().since(before);
        if file.mapping().is_some() {
            assert_eq!((batch.requests, single.requests), (0, 0), "{way}: nothing is asked of the device");
            return;
        }
        let unit = file.direct_alignment().unwrap_or(1) as u64;
        let span = |start: u64, end: u64| end.next_multiple_of(unit) - (start - start % unit);
        assert_eq!((batch.requests, batch.asked_bytes), (2, 3 * 1028), "{way}");
        assert_eq!(batch.device_bytes, span(5000, 7056) + span(500_000, 501_028), "{way}");
        assert_eq!((single.requests, single.asked_bytes), (1, 2056), "{way}");
        assert_eq!(single.device_bytes, span(5000, 7056), "{way}");
    });
}

/// The kernel ends a buffered read on the thread that submitted it, and fails it when that thread has ended.
#[test]
fn reads_outlive_the_threads_that_began_them() {
    let bytes = pattern(16 << 20, 11);
    everywhere(&bytes, |file_system, file, way| {
        let timed = ReadContext { io_timeout: Duration::from_secs(600), ..ReadContext::default() };
        for (round, context) in (0..40u64).zip([ReadContext::default(), timed].into_iter().cycle()) {
            forget_pages(file.path());
            let places = [0, 1, 2].map(|part| (((round * 7919 + part * 1300) % 4000) * 4096, 8192usize));
            let begin = || places.map(|(offset, length)| file_system.start_read(file, offset, length, &context));
            for (pending, range) in on_a_thread_that_ends(begin).into_iter().zip(places) {
                let read = pending.wait().unwrap_or_else(|error| panic!("{way}: {range:?}: {error}"));
                assert!(read.bytes() == expected(&bytes, range), "{way}: {range:?}");
            }
        }
        assert_eq!(file_system.read_layer().unwrap().pool().usage().in_use_bytes, 0, "{way}");
    });
}

#[test]
fn many_threads_share_the_reads_in_flight() {
    let bytes = pattern(1_000_000, 7);
    everywhere(&bytes, |file_system, file, way| {
        let context = ReadContext { max_request_bytes: 16 << 10, ..ReadContext::default() };
        std::thread::scope(|scope| {
            for thread in 0..6u64 {
                let (bytes, context) = (&bytes, &context);
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for step in 0..300u64 {
                        let offset = (thread * 7919 + step * 3571) % 990_000;
                        let length = 1 + ((step * 977) % 60_000) as usize;
                        if step % 16 == thread {
                            forget_pages(file.path());
                        }
                        let begin = || file_system.start_read(file, offset, length, context);
                        let pending = if step % 4 == 1 { on_a_thread_that_ends(begin) } else { begin() };
                        held.push(((offset, length), pending));
                        if held.len() > 5 {
                            let (range, pending) = held.remove((step % 5) as usize);
                            if step % 3 == 0 {
                                drop(pending);
                            } else {
                                assert!(pending.wait().unwrap().bytes() == expected(bytes, range), "{way}: {range:?}");
                            }
                        }
                    }
                });
            }
        });
        // The memory of abandoned reads is collected by the next read that the page cache does not answer.
        let deadline = Instant::now() + Duration::from_secs(60);
        let pool = file_system.read_layer().unwrap().pool().clone();
        while pool.usage().in_use_bytes > 0 {
            assert!(Instant::now() < deadline, "{way}: {pool:?}");
            forget_pages(file.path());
            let _ = file_system.start_read(file, 0, 1, &context).wait().unwrap();
        }
    });
}

/// A read abandoned in flight does not keep its memory from later reads.
#[test]
fn memory_of_reads_given_up_is_there_for_the_next() {
    let bytes = pattern(1_000_000, 8);
    everywhere(&bytes, |file_system, file, way| {
        let pool = file_system.read_layer().unwrap().pool();
        let limits = pool.limits();
        pool.set_limits(PoolLimits { total_bytes: 128 << 10, read_ahead_bytes: 64 << 10, ..limits });
        let context = ReadContext::default();
        for _ in 0..50 {
            let (deadline, mut patience) = (Instant::now() + Duration::from_secs(60), Duration::from_millis(5));
            drop(file_system.start_read(file, 0, 60_000, &context));
            // Once the device is done with it, there is room for a read ahead, and for a read of the whole limit.
            loop {
                let pending = file_system.start_read(file, 100_000, 60_000, &context);
                let until = Instant::now() + patience;
                while !pending.is_ready() && Instant::now() < until {
                    std::thread::yield_now();
                }
                // The device may be slower than that.
                patience *= 2;
                if pending.is_ready() {
                    break;
                }
                assert!(Instant::now() < deadline, "{way}: {pool:?}");
            }
            wait_until(way, || read_range(&**file, 200_000, 120_000, &context).is_ok());
        }
        pool.set_limits(limits);
    });
}

/// A pipe as a file: its reads complete when the test writes to it.
#[cfg(target_os = "linux")]
mod slow {
    use super::*;
    use ferrock_base::Result;
    use ferrock_vfs::{Descriptor, ReadLabel, ReadLayer};
    use std::io::{PipeReader, PipeWriter, Read, Write};
    use std::os::fd::AsRawFd;

    #[derive(Debug)]
    struct PipeFile {
        reader: Arc<PipeReader>,
        owner: Arc<PosixFileSystem>,
    }

    impl RandomAccessFile for PipeFile {
        fn read_at(&self, _offset: u64, buffer: &mut [u8], _label: ReadLabel) -> Result<usize> {
            Ok((&*self.reader).read(buffer).unwrap())
        }
        fn size(&self) -> u64 {
            1 << 30
        }
        fn path(&self) -> &Path {
            Path::new("/pipe")
        }
        fn descriptor(&self) -> Option<Descriptor> {
            Some(Descriptor::new(self.reader.as_raw_fd(), self.size(), Arc::clone(&self.reader) as _))
        }
        fn read_layer(&self) -> Option<&ReadLayer> {
            self.owner.read_layer()
        }
    }

    fn pipe() -> Option<(Arc<PosixFileSystem>, Arc<dyn RandomAccessFile>, PipeWriter)> {
        if !common::io_uring_works() {
            return None;
        }
        let file_system = Arc::new(PosixFileSystem::with_backend(Some("io_uring")));
        let (reader, writer) = std::io::pipe().unwrap();
        let file = Arc::new(PipeFile { reader: Arc::new(reader), owner: Arc::clone(&file_system) });
        Some((file_system, file, writer))
    }

    #[test]
    fn a_pending_read_is_not_ready_until_its_bytes_are_there() {
        let Some((file_system, file, mut writer)) = pipe() else { return };
        let context = ReadContext::default();
        let pending = file_system.start_read(&file, 0, 8, &context);
        assert!(!pending.is_ready());
        writer.write_all(b"ABCDEFGH").unwrap();
        while !pending.is_ready() {
            std::thread::yield_now();
        }
        assert_eq!(pending.wait().unwrap().bytes(), b"ABCDEFGH");
        assert_eq!(file_system.counters().snapshot().windows_waited, 0);
        // Two waiters at once: one sleeps in the kernel, the other is woken by it, in whatever order they end.
        let first = file_system.start_read(&file, 0, 4, &context);
        let second = file_system.start_read(&file, 4, 4, &context);
        std::thread::scope(|scope| {
            let waiters = [first, second].map(|pending| scope.spawn(move || pending.wait().unwrap().bytes().to_vec()));
            wait_until("both wait", || file_system.counters().snapshot().windows_waited == 2);
            writer.write_all(b"abcd").unwrap();
            wait_until("one has its bytes", || waiters.iter().any(|waiter| waiter.is_finished()));
            writer.write_all(b"efgh").unwrap();
            let mut got = waiters.map(|waiter| waiter.join().unwrap());
            got.sort();
            assert_eq!(got, [b"abcd".to_vec(), b"efgh".to_vec()]);
        });
        assert_eq!(file_system.counters().snapshot().windows_waited, 2);
    }

    #[test]
    fn a_read_that_takes_too_long_is_given_up() {
        let Some((file_system, file, mut writer)) = pipe() else { return };
        let context = ReadContext { io_timeout: Duration::from_millis(20), ..ReadContext::default() };
        let pool = file_system.read_layer().unwrap().pool().clone();
        let started = Instant::now();
        let error = file_system.start_read(&file, 0, 8, &context).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(started.elapsed() >= Duration::from_millis(15));
        // So is a read that was not started ahead, alone or in a batch.
        assert_eq!(read_range(&*file, 0, 8, &context).unwrap_err().kind(), ErrorKind::TimedOut);
        let mut reads = [RangeRead::new(&file, 0, 8), RangeRead::new(&file, 4096, 8)];
        read_ranges(&*file_system, &mut reads, &context);
        for read in reads {
            assert_eq!(read.result.unwrap_err().kind(), ErrorKind::TimedOut);
        }
        // Their requests are cancelled: the next read gets the bytes that are written now.
        let next = file_system.start_read(&file, 0, 8, &ReadContext::default());
        writer.write_all(b"ABCDEFGH").unwrap();
        assert_eq!(next.wait().unwrap().bytes(), b"ABCDEFGH");
        assert_eq!(pool.usage().in_use_bytes, 0);
    }

    #[test]
    fn a_read_outlives_the_thread_that_began_it() {
        let Some((file_system, file, mut writer)) = pipe() else { return };
        let begin = || file_system.start_read(&file, 0, 8, &ReadContext::default());
        let pending = std::thread::scope(|scope| scope.spawn(begin).join().unwrap());
        writer.write_all(b"ABCDEFGH").unwrap();
        assert_eq!(pending.wait().unwrap().bytes(), b"ABCDEFGH");
    }

    #[test]
    fn dropped_reads_free_their_memory_only_when_the_kernel_is_done() {
        let Some((file_system, file, writer)) = pipe() else { return };
        let pool = file_system.read_layer().unwrap().pool().clone();
        let pending: Vec<_> =
            (0..40).map(|_| file_system.start_read(&file, 0, 4096, &ReadContext::default())).collect();
        assert_eq!(pool.usage().in_use_bytes, 40 * 4096);
        drop(pending);
        assert_eq!(file_system.counters().snapshot().windows_discarded, 40);
        drop((file, file_system));
        assert_eq!(pool.usage().in_use_bytes, 0, "the end of the file system waits for what is in flight");
        drop(writer);
    }
}
