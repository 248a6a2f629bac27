use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::limited;
use crate::{
    FileSystem, IoKind, IoPriority, LimiterMode, MemoryFileSystem, PendingRead, PosixFileSystem, RandomAccessFile,
    RandomAccessOptions, RangeRead, RateLimiter, ReadBuffer, ReadClass, ReadContext, ReadLabel, WritableOptions,
    WritePurpose, read_owned, read_range, read_ranges,
};

#[derive(Debug)]
struct Recorder {
    mode: LimiterMode,
    asked: Mutex<Vec<(u64, IoPriority)>>,
}

impl RateLimiter for Recorder {
    fn request(&self, bytes: u64, priority: IoPriority) {
        self.asked.lock().push((bytes, priority));
    }

    fn limits(&self, kind: IoKind) -> bool {
        self.mode.limits(kind)
    }
}

fn with_file(check: impl Fn(&dyn FileSystem, Arc<dyn RandomAccessFile>, &str)) {
    let directory = tempfile::tempdir().unwrap();
    let stores: [(Arc<dyn FileSystem>, _); 2] =
        [(Arc::new(MemoryFileSystem::new()), Path::new("/d")), (Arc::new(PosixFileSystem::new()), directory.path())];
    for (file_system, directory) in stores {
        file_system.create_dir_all(directory).unwrap();
        let path = directory.join("f");
        let mut file = file_system.create_writable(&path, &WritableOptions::for_purpose(WritePurpose::Other)).unwrap();
        file.append(&[7; 100_000]).unwrap();
        file.close().unwrap();
        for direct in [false, true] {
            // Some file systems have no direct reads.
            let options = RandomAccessOptions { direct, ..RandomAccessOptions::default() };
            if let Ok(file) = file_system.open_random_access(&path, &options) {
                check(&*file_system, file, &format!("direct {direct}, {}", directory.display()));
            }
        }
    }
}

/// Polls a read until it is over.
fn polled(read: PendingRead) -> ReadBuffer {
    let mut read = pin!(read);
    loop {
        match read.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => return result.unwrap(),
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

/// Each way of reading asks once for what the device is asked for, and only with a priority.
#[test]
fn every_read_of_a_range_asks_once() {
    with_file(|file_system, plain, what| {
        let recorder = Arc::new(Recorder { mode: LimiterMode::AllIo, asked: Mutex::default() });
        let shared: Arc<dyn RateLimiter> = Arc::<Recorder>::clone(&recorder);
        let file = limited(Arc::clone(&plain), Some(&shared));
        let unit = file.direct_alignment().unwrap_or(1) as u64;
        for priority in [None, Some(IoPriority::User), Some(IoPriority::Low)] {
            for (is_polled, io_timeout_ms) in [(false, 0), (true, 0), (false, 60_000)] {
                let context = ReadContext {
                    rate_limiter_priority: priority,
                    is_polled,
                    io_timeout: std::time::Duration::from_millis(io_timeout_ms),
                    ..ReadContext::for_class(ReadClass::Data)
                };
                let units = |from: u64, to: u64| to.next_multiple_of(unit) - from / unit * unit;
                let expect = |way: &str, spans: &[(u64, u64)]| {
                    let mut asked = std::mem::take(&mut *recorder.asked.lock());
                    let mut wanted: Vec<_> =
                        priority.iter().flat_map(|at| spans.iter().map(|span| (units(span.0, span.1), *at))).collect();
                    asked.sort_unstable();
                    wanted.sort_unstable();
                    assert_eq!(asked, wanted, "{way} {what} {context:?}");
                };
                read_range(&*file, 10, 1000, &context).unwrap();
                expect("read_range", &[(10, 1010)]);
                assert_eq!(read_owned(&*file, 5000, 300, &context).unwrap(), [7; 300]);
                expect("read_owned", &[(5000, 5300)]);
                assert_eq!(file_system.start_read(&file, 1, 20_000, &context).wait().unwrap().bytes(), [7; 20_000]);
                expect("start_read", &[(1, 20_001)]);
                let came = polled(file_system.start_read(&file, 1, 20_000, &context));
                assert_eq!(came.bytes().len(), 20_000);
                expect("polled", &[(1, 20_001)]);
                let mut reads = [RangeRead::new(&file, 0, 500), RangeRead::new(&file, 50_000, 500)];
                read_ranges(file_system, &mut reads, &context);
                assert!(reads.iter().all(|read| read.result.as_ref().unwrap().bytes() == [7; 500]));
                expect("read_ranges", &[(0, 500), (50_000, 50_500)]);
                file.read_at(0, &mut vec![0; 4096], ReadLabel::whole(ReadClass::Other, 4096)).unwrap();
                expect("read_at has no context", &[]);
            }
        }
    });
}

/// A limiter of writes leaves a file as it is.
#[test]
fn a_limiter_of_writes_is_not_wrapped_around_a_file() {
    with_file(|_, plain, what| {
        for (mode, is_wrapped) in
            [(LimiterMode::WritesOnly, false), (LimiterMode::ReadsOnly, true), (LimiterMode::AllIo, true)]
        {
            let limiter: Arc<dyn RateLimiter> = Arc::new(Recorder { mode, asked: Mutex::default() });
            let file = limited(Arc::clone(&plain), Some(&limiter));
            assert_eq!(Arc::ptr_eq(&file, &plain), !is_wrapped, "{what}");
            assert_eq!(file.rate_limiter().is_some(), is_wrapped);
            assert_eq!((file.size(), file.path()), (plain.size(), plain.path()));
            assert_eq!(file.direct_alignment(), plain.direct_alignment());
            assert_eq!(file.descriptor().is_some(), plain.descriptor().is_some());
            assert_eq!(file.reads_at_once(), plain.reads_at_once());
        }
        assert!(Arc::ptr_eq(&limited(Arc::clone(&plain), None), &plain));
    });
}
