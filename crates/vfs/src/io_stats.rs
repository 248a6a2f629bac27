//! What one thread does to files: RocksDB's I/O statistics context.
//!
//! ```text
//! thread   [sum 0 .. sum 11]     no other thread reads or writes them
//!
//! level of the thread   0, 1     2, 3                 4                 5, 6
//! what is counted       nothing  bytes of all files   also times of     also times of the processor
//!                                                     machine's files
//! ```
//!
//! The level is that of the perf context, from the word of the thread ([`ferrock_base::stripe::ThreadWord`]): where it
//! counts nothing, an operation on a file pays one load and one comparison.
//!
//! A thread's sums have what is done on that thread. Reads that a ring's own thread completes, reads and writes of
//! background threads, and loads from a mapping are not among the sums of the thread that asks for them.

use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::LazyLock;

use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::stripe::ThreadWord;

use crate::thread_cpu::thread_cpu_ns;

/// A sum of one thread: see [`IoStatsContext`]. The order is that of RocksDB's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum IoMetric {
    /// Bytes that reads returned.
    BytesRead = 0,
    /// Bytes that went from a buffer of this process to a file, padding of direct writes included.
    BytesWritten = 1,
    /// Nanoseconds of opening and creating files.
    OpenNanos = 2,
    /// Nanoseconds of reserving space for files.
    AllocateNanos = 3,
    /// Nanoseconds of writing.
    WriteNanos = 4,
    /// Nanoseconds of reading.
    ReadNanos = 5,
    /// Nanoseconds of starting to write a part of a file back (`bytes_per_sync`).
    RangeSyncNanos = 6,
    /// Nanoseconds of syncs of files.
    FsyncNanos = 7,
    /// Nanoseconds of what comes before a write, reserving space among it.
    PrepareWriteNanos = 8,
    /// Nanoseconds of writing to the LOG: not counted, 0.
    LoggerNanos = 9,
    /// Nanoseconds of the processor in writing.
    CpuWriteNanos = 10,
    /// Nanoseconds of the processor in reading.
    CpuReadNanos = 11,
}

impl IoMetric {
    /// Every sum, in the order of the report.
    pub const ALL: [Self; 12] = [
        Self::BytesRead,
        Self::BytesWritten,
        Self::OpenNanos,
        Self::AllocateNanos,
        Self::WriteNanos,
        Self::ReadNanos,
        Self::RangeSyncNanos,
        Self::FsyncNanos,
        Self::PrepareWriteNanos,
        Self::LoggerNanos,
        Self::CpuWriteNanos,
        Self::CpuReadNanos,
    ];

    /// RocksDB's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BytesWritten => "bytes_written",
            Self::BytesRead => "bytes_read",
            Self::OpenNanos => "open_nanos",
            Self::AllocateNanos => "allocate_nanos",
            Self::WriteNanos => "write_nanos",
            Self::ReadNanos => "read_nanos",
            Self::RangeSyncNanos => "range_sync_nanos",
            Self::FsyncNanos => "fsync_nanos",
            Self::PrepareWriteNanos => "prepare_write_nanos",
            Self::LoggerNanos => "logger_nanos",
            Self::CpuWriteNanos => "cpu_write_nanos",
            Self::CpuReadNanos => "cpu_read_nanos",
        }
    }
}

const METRICS: usize = IoMetric::ALL.len();

/// From this level on bytes are counted.
const COUNTS: u8 = 2;
/// From this level on times are, too.
const TIMES: u8 = 4;
/// From this level on those of the processor are, too.
const CPU_TIMES: u8 = 5;

static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::default);

thread_local! {
    static SUMS: [Cell<u64>; METRICS] = const { [const { Cell::new(0) }; METRICS] };
}

fn add(metric: IoMetric, amount: u64) {
    SUMS.with(|sums| {
        let sum = &sums[metric as usize];
        sum.set(sum.get().wrapping_add(amount));
    });
}

/// Adds bytes to a sum of the thread that calls, if its level counts.
#[inline]
pub(crate) fn count_bytes(metric: IoMetric, bytes: u64) {
    if ThreadWord::current().level() >= COUNTS {
        add(metric, bytes);
    }
}

/// Performs an operation, and adds how long it took to a sum of the thread that calls, if its level has times.
#[inline]
pub(crate) fn timed<T>(metric: IoMetric, perform: impl FnOnce() -> T) -> T {
    if ThreadWord::current().level() < TIMES {
        return perform();
    }
    let start = CLOCK.monotonic_ns();
    let result = perform();
    add(metric, CLOCK.monotonic_ns().saturating_sub(start));
    result
}

/// As [`timed`], and the time of the processor to another sum where the level has that.
#[inline]
pub(crate) fn timed_with_cpu<T>(metric: IoMetric, cpu: IoMetric, perform: impl FnOnce() -> T) -> T {
    if ThreadWord::current().level() < CPU_TIMES {
        return timed(metric, perform);
    }
    let start = thread_cpu_ns();
    let result = timed(metric, perform);
    add(cpu, thread_cpu_ns().saturating_sub(start));
    result
}

/// What one thread did to files until one moment.
///
/// The level of the perf context says what is counted: bytes from 2 (`PerfLevel::EnableCount`), times from 4
/// (`EnableTimeExceptForMutex`), times of the processor from 5. Times are those of the machine's files; files in memory
/// have bytes only.
///
/// ```
/// use ferrock_base::stripe::ThreadWord;
/// use ferrock_vfs::{FileSystem, IoMetric, IoStatsContext, MemoryFileSystem, WritableOptions};
/// use std::path::Path;
///
/// # fn main() -> ferrock_base::Result<()> {
/// ThreadWord::set_level(2); // as `PerfLevel::EnableCount.set_of_thread()` does
/// IoStatsContext::reset_thread();
/// let mut file = MemoryFileSystem::new().create_writable(Path::new("/file"), &WritableOptions::default())?;
/// file.append(b"hello")?;
/// file.close()?;
/// assert_eq!(IoStatsContext::of_thread().get(IoMetric::BytesWritten), 5);
/// assert_eq!(IoStatsContext::of_thread().report(true), "bytes_written = 5");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoStatsContext([u64; METRICS]);

impl IoStatsContext {
    /// The sums of the thread that calls.
    #[must_use]
    pub fn of_thread() -> Self {
        SUMS.with(|sums| Self(std::array::from_fn(|metric| sums[metric].get())))
    }

    /// Sets the sums of the thread that calls to 0.
    pub fn reset_thread() {
        SUMS.with(|sums| sums.iter().for_each(|sum| sum.set(0)));
    }

    /// One of the sums: bytes or nanoseconds, as its name says.
    #[must_use]
    pub fn get(&self, metric: IoMetric) -> u64 {
        self.0[metric as usize]
    }

    /// RocksDB's text: `name = value` of each, with commas between; without its `thread_pool_id`.
    #[must_use]
    pub fn report(&self, without_zeros: bool) -> String {
        let mut out = String::new();
        for metric in IoMetric::ALL.into_iter().filter(|metric| !without_zeros || self.get(*metric) != 0) {
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{} = {}", metric.name(), self.get(metric));
        }
        out
    }
}
