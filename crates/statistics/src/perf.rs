//! What one thread does.
//!
//! ```text
//! thread   [level, ordinal: one word] [sum 0 .. sum 119]     no other thread reads or writes them
//! ```
//!
//! An operation asks once for the word, which it needs for its ordinal anyway, and goes on as if nothing were counted
//! where the level says so. RocksDB's default level counts; that of this crate does not, so that a program that never
//! asks pays nothing.

use crate::PerfMetric;
use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is counted of a thread. A level has all that the levels before it have. Numbers and meaning are RocksDB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PerfLevel {
    /// Not set: as [`Disable`](Self::Disable).
    Uninitialized = 0,
    /// Nothing.
    #[default]
    Disable = 1,
    /// Counts.
    EnableCount = 2,
    /// Times of delayed writes and of waiting.
    EnableWait = 3,
    /// Other times.
    EnableTimeExceptForMutex = 4,
    /// The same: no processor time is counted.
    EnableTimeAndCpuTimeExceptForMutex = 5,
    /// The same: no time is spent waiting for a mutex of the whole database.
    EnableTime = 6,
}

impl PerfLevel {
    /// The level with RocksDB's number; `None` for any other number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        const LEVELS: [PerfLevel; 7] = [
            PerfLevel::Uninitialized,
            PerfLevel::Disable,
            PerfLevel::EnableCount,
            PerfLevel::EnableWait,
            PerfLevel::EnableTimeExceptForMutex,
            PerfLevel::EnableTimeAndCpuTimeExceptForMutex,
            PerfLevel::EnableTime,
        ];
        LEVELS.get(usize::try_from(number).ok()?).copied()
    }

    /// The level of the thread that calls.
    #[must_use]
    pub fn of_thread() -> Self {
        Self::from_number(STATE.get() as u32 & LEVEL_MASK as u32).unwrap_or_default()
    }

    /// Sets the level of the thread that calls; what was counted stays.
    pub fn set_of_thread(self) {
        if self >= Self::EnableCount {
            IS_USED.store(true, Ordering::Relaxed);
        }
        STATE.set(STATE.get() & !LEVEL_MASK | self as u64);
    }
}

const METRICS: usize = PerfMetric::ALL.len();
const LEVEL_MASK: u64 = 0xff;
const ORDINAL_SHIFT: u32 = 8;

/// A thread counted, or counts.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The level in the lowest byte; above it the ordinal plus one, 0 before the thread has one.
    static STATE: Cell<u64> = const { Cell::new(PerfLevel::Disable as u64) };
    static SUMS: [Cell<u64>; METRICS] = const { [const { Cell::new(0) }; METRICS] };
}

/// What an operation asks of its thread, in one access.
#[derive(Clone, Copy, Debug)]
pub struct ThreadState(u64);

impl ThreadState {
    /// That of the thread that calls.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        let state = STATE.get();
        if state >> ORDINAL_SHIFT == 0 { Self::begin(state) } else { Self(state) }
    }

    #[cold]
    fn begin(state: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let ordinal = NEXT.fetch_add(1, Ordering::Relaxed);
        let state = state & LEVEL_MASK | ordinal << ORDINAL_SHIFT;
        STATE.set(state);
        Self(state)
    }

    /// A number that differs between threads.
    #[inline]
    #[must_use]
    pub fn ordinal(self) -> usize {
        ((self.0 >> ORDINAL_SHIFT) - 1) as usize
    }

    /// What counts for the thread; `None` where its level counts nothing.
    #[inline]
    #[must_use]
    pub fn perf(self) -> Option<PerfRecorder> {
        (self.0 & LEVEL_MASK >= PerfLevel::EnableCount as u64).then_some(PerfRecorder((self.0 & LEVEL_MASK) as u8))
    }
}

/// Adds to the sums of the thread that made it.
#[derive(Clone, Copy, Debug)]
pub struct PerfRecorder(u8);

impl PerfRecorder {
    /// That of the thread that calls; `None` where its level counts nothing.
    #[inline]
    #[must_use]
    pub fn of_thread() -> Option<Self> {
        if Self::is_used() { ThreadState::current().perf() } else { None }
    }

    /// False when no thread of the process ever counted: all that most programs pay for the sums of threads.
    #[inline]
    #[must_use]
    pub fn is_used() -> bool {
        IS_USED.load(Ordering::Relaxed)
    }

    /// True when times are counted.
    #[inline]
    #[must_use]
    pub fn is_timing(self) -> bool {
        self.0 >= PerfLevel::EnableTimeExceptForMutex as u8
    }

    /// True when times of waiting are counted.
    #[inline]
    #[must_use]
    pub fn is_timing_waits(self) -> bool {
        self.0 >= PerfLevel::EnableWait as u8
    }

    /// Adds to a sum.
    #[inline]
    pub fn add(self, metric: PerfMetric, amount: u64) {
        debug_assert!(metric.is_counted(), "{metric:?} is declared to stay 0");
        SUMS.with(|sums| {
            let sum = &sums[metric as usize];
            sum.set(sum.get().wrapping_add(amount));
        });
    }
}

/// The sums of one thread at one moment.
///
/// ```
/// use ferrock_statistics::{PerfContext, PerfLevel, PerfMetric, PerfRecorder};
///
/// PerfLevel::EnableCount.set_of_thread();
/// PerfContext::reset_thread();
/// if let Some(recorder) = PerfRecorder::of_thread() {
///     recorder.add(PerfMetric::GetReadBytes, 100); // as a lookup does
/// }
/// let context = PerfContext::of_thread();
/// assert_eq!(context.get(PerfMetric::GetReadBytes), 100);
/// assert_eq!(context.report(true), "get_read_bytes = 100");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfContext(Box<[u64; METRICS]>);

impl PerfContext {
    /// The sums of the thread that calls.
    #[must_use]
    pub fn of_thread() -> Self {
        SUMS.with(|sums| Self(Box::new(std::array::from_fn(|metric| sums[metric].get()))))
    }

    /// Sets the sums of the thread that calls to 0.
    pub fn reset_thread() {
        SUMS.with(|sums| sums.iter().for_each(|sum| sum.set(0)));
    }

    /// One of the sums.
    #[must_use]
    pub fn get(&self, metric: PerfMetric) -> u64 {
        self.0[metric as usize]
    }

    /// RocksDB's text: `name = value` of each, with commas between.
    #[must_use]
    pub fn report(&self, without_zeros: bool) -> String {
        let mut out = String::new();
        for metric in PerfMetric::ALL.iter().filter(|metric| !without_zeros || self.get(**metric) != 0) {
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{} = {}", metric.name(), self.get(*metric));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_sums_of_its_own() {
        assert!(PerfRecorder::of_thread().is_none(), "nothing is counted unless it is asked for");
        PerfLevel::EnableTime.set_of_thread();
        let recorder = PerfRecorder::of_thread().expect("the level counts");
        assert!(recorder.is_timing() && recorder.is_timing_waits());
        recorder.add(PerfMetric::BlockReadCount, 2);
        let other = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    assert_eq!(PerfLevel::of_thread(), PerfLevel::Disable);
                    (ThreadState::current().ordinal(), PerfContext::of_thread().get(PerfMetric::BlockReadCount))
                })
                .join()
                .expect("the thread ends")
        });
        assert_ne!(other.0, ThreadState::current().ordinal());
        assert_eq!(other.1, 0);
        assert_eq!(PerfContext::of_thread().get(PerfMetric::BlockReadCount), 2);
        PerfContext::reset_thread();
        assert_eq!(PerfContext::of_thread().report(true), "");
        assert_eq!(PerfLevel::of_thread(), PerfLevel::EnableTime, "a reset keeps the level");
    }

    #[test]
    fn levels_have_rocksdbs_numbers() {
        for number in 0..7 {
            assert_eq!(PerfLevel::from_number(number).map(|level| level as u32), Some(number));
        }
        assert_eq!(PerfLevel::from_number(7), None);
    }
}
