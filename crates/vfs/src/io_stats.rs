//! What the files of one thread cost it: RocksDB's I/O statistics context.
//!
//! ```text
//! thread   [sum of bytes_written .. fsync_nanos]   no other thread reads or writes them
//! ```
//!
//! Sums are added where a file system does the work, at the level that the thread has for its operations
//! (`PerfLevel`): from 2 on bytes, from 4 on times. A thread that asks for nothing pays for one look at its level.
//!
//! Of times the outermost counts: a read that waits for a ring, and makes it turn meanwhile, is one read. What a ring
//! or another thread reads ahead is in the bytes of the thread that takes it from the ring, and in no time but
//! that of the thread that waits.

use ferrock_base::clock::{Clock, Moment, SystemClock};
use ferrock_base::stripe::ThreadWord;
use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// From this level on bytes are counted: `PerfLevel::EnableCount`.
const COUNTS: u8 = 2;
/// From this level on times are counted: `PerfLevel::EnableTimeExceptForMutex`.
const TIMES: u8 = 4;

/// A sum of one thread: see [`IoStats`]. Times are in nanoseconds, and as fine as a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMetric {
    /// Bytes given to files.
    BytesWritten,
    /// Bytes read from files; those of a mapping are not seen.
    BytesRead,
    /// Opening and creating files.
    OpenNanos,
    /// Writing to files.
    WriteNanos,
    /// Reading from files, and waiting for such reads.
    ReadNanos,
    /// Making files durable.
    FsyncNanos,
}

impl IoMetric {
    /// Every sum, in the order of a report.
    pub const ALL: [Self; 6] =
        [Self::BytesWritten, Self::BytesRead, Self::OpenNanos, Self::WriteNanos, Self::ReadNanos, Self::FsyncNanos];

    /// RocksDB's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BytesWritten => "bytes_written",
            Self::BytesRead => "bytes_read",
            Self::OpenNanos => "open_nanos",
            Self::WriteNanos => "write_nanos",
            Self::ReadNanos => "read_nanos",
            Self::FsyncNanos => "fsync_nanos",
        }
    }
}

const METRICS: usize = IoMetric::ALL.len();

thread_local! {
    static SUMS: [Cell<u64>; METRICS] = const { [const { Cell::new(0) }; METRICS] };
    static IS_TIMING: Cell<bool> = const { Cell::new(false) };
}

/// The sums of one thread at one moment.
///
/// ```
/// use ferrock_base::stripe::ThreadWord;
/// use ferrock_vfs::{IoMetric, IoStats, MemoryFileSystem, write_file_synced};
/// use std::path::Path;
///
/// ThreadWord::set_level(2); // as `PerfLevel::EnableCount.set_of_thread()` does
/// IoStats::reset_thread();
/// write_file_synced(&MemoryFileSystem::new(), Path::new("/file"), b"twelve bytes")?;
/// assert_eq!(IoStats::of_thread().get(IoMetric::BytesWritten), 12);
/// assert_eq!(IoStats::of_thread().report(true), "bytes_written = 12");
/// # Ok::<(), ferrock_base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoStats([u64; METRICS]);

impl IoStats {
    /// The sums of the thread that calls.
    #[must_use]
    pub fn of_thread() -> Self {
        SUMS.with(|sums| Self(std::array::from_fn(|metric| sums[metric].get())))
    }

    /// Sets the sums of the thread that calls to 0.
    pub fn reset_thread() {
        SUMS.with(|sums| sums.iter().for_each(|sum| sum.set(0)));
    }

    /// One of the sums.
    #[must_use]
    pub fn get(&self, metric: IoMetric) -> u64 {
        self.0[metric as usize]
    }

    /// RocksDB's text: `name = value` of each, with commas between.
    #[must_use]
    pub fn report(&self, without_zeros: bool) -> String {
        let mut out = String::new();
        for metric in IoMetric::ALL.iter().filter(|metric| !without_zeros || self.get(**metric) != 0) {
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{} = {}", metric.name(), self.get(*metric));
        }
        out
    }
}

fn add_sum(metric: IoMetric, amount: u64) {
    SUMS.with(|sums| {
        let sum = &sums[metric as usize];
        sum.set(sum.get().wrapping_add(amount));
    });
}

/// Adds bytes to a sum of the thread, if its level counts.
#[inline]
pub(crate) fn add(metric: IoMetric, bytes: u64) {
    if ThreadWord::current().level() >= COUNTS {
        add_sum(metric, bytes);
    }
}

fn clock() -> &'static SystemClock {
    static CLOCK: OnceLock<SystemClock> = OnceLock::new();
    CLOCK.get_or_init(SystemClock::default)
}

/// Adds the time until it is dropped to a sum of the thread that made it.
#[derive(Debug)]
pub(crate) struct IoTimer(Option<(IoMetric, Moment)>);

impl IoTimer {
    /// One that counts nothing where the level of the thread has no times, or another one runs.
    #[inline]
    pub(crate) fn start(metric: IoMetric) -> Self {
        if ThreadWord::current().level() < TIMES { Self(None) } else { Self::start_counting(metric) }
    }

    #[cold]
    fn start_counting(metric: IoMetric) -> Self {
        if IS_TIMING.replace(true) { Self(None) } else { Self(Some((metric, clock().moment()))) }
    }
}

impl Drop for IoTimer {
    fn drop(&mut self) {
        if let Some((metric, begun)) = self.0.take() {
            IS_TIMING.set(false);
            add_sum(metric, clock().elapsed_us(begun).saturating_mul(1000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        FileSystem, MemoryFileSystem, PosixFileSystem, RandomAccessOptions, ReadContext, WritableOptions, WritePurpose,
        read_owned, read_range,
    };
    use std::sync::Arc;

    #[test]
    fn a_thread_counts_its_bytes_and_the_time_of_the_outermost() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let memory = MemoryFileSystem::new();
        memory.create_dir_all(directory.path()).unwrap();
        let stores: [Arc<dyn FileSystem>; 2] = [Arc::new(memory), Arc::new(PosixFileSystem::new())];
        for store in stores {
            let work = || {
                let mut file =
                    store.create_writable(&path, &WritableOptions::for_purpose(WritePurpose::Other)).unwrap();
                file.append(&[7; 10_000]).unwrap();
                file.sync().unwrap();
                file.close().unwrap();
                let file = store.open_random_access(&path, &RandomAccessOptions::default()).unwrap();
                read_range(&*file, 100, 1000, &ReadContext::default()).unwrap();
                read_owned(&*file, 100, 1000, &ReadContext::default()).unwrap();
                store.start_read(&file, 0, 500, &ReadContext::default()).wait().unwrap();
            };
            ThreadWord::set_level(1);
            work();
            assert_eq!(IoStats::of_thread().report(true), "", "nothing is counted unless it is asked for");
            ThreadWord::set_level(COUNTS);
            work();
            assert_eq!(IoStats::of_thread().report(true), "bytes_written = 10000, bytes_read = 2500");
            ThreadWord::set_level(TIMES);
            IoStats::reset_thread();
            let begun = clock().moment();
            (0..30).for_each(|_| work());
            let (counted, took) = (IoStats::of_thread(), clock().elapsed_us(begun) * 1000);
            assert_eq!(counted.get(IoMetric::BytesRead), 30 * 2500);
            let sum: u64 = IoMetric::ALL[2..].iter().map(|metric| counted.get(*metric)).sum();
            assert!(sum <= took, "no time counts twice: {counted:?} of {took}");
            IoStats::reset_thread();
        }
        {
            let outer = IoTimer::start(IoMetric::ReadNanos);
            assert!(IoTimer::start(IoMetric::ReadNanos).0.is_none() && outer.0.is_some());
        }
        assert!(IoTimer::start(IoMetric::ReadNanos).0.is_some());
        ThreadWord::set_level(1);
    }
}
