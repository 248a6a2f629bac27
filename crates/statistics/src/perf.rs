//! What one thread does.
//!
//! ```text
//! thread   [word: ordinal, stripe, level] [sum 0 .. sum 119]     no other thread reads or writes them
//!          [sums by the level of the tree: perf_levels.rs]
//! ```
//!
//! An operation asks once for the word, which it needs for its ordinal anyway, and goes on as if nothing were counted
//! where the level says so. RocksDB's default level counts; that of this crate does not, so that a program that never
//! asks pays nothing.

use crate::perf_levels::{self, LevelSums};
use crate::{LevelMetric, PerfMetric};
use ferrock_base::stripe::{Stripe, ThreadWord};
use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// The same, and times of the processor.
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
        Self::from_number(u32::from(ThreadWord::current().level())).unwrap_or_default()
    }

    /// Sets the level of the thread that calls; what was counted stays.
    pub fn set_of_thread(self) {
        if self >= Self::EnableCount {
            IS_USED.store(true, Ordering::Relaxed);
        }
        ThreadWord::set_level(self as u8);
    }
}

const METRICS: usize = PerfMetric::ALL.len();

/// A thread counted, or counts.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SUMS: [Cell<u64>; METRICS] = const { [const { Cell::new(0) }; METRICS] };
}

/// What an operation asks of its thread, in one access.
#[derive(Clone, Copy, Debug)]
pub struct ThreadState(ThreadWord);

impl ThreadState {
    /// That of the thread that calls.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        Self(ThreadWord::current())
    }

    /// A number that differs between threads.
    #[inline]
    #[must_use]
    pub fn ordinal(self) -> usize {
        self.0.ordinal()
    }

    /// The counters that the thread adds to.
    #[inline]
    pub(crate) fn stripe(self) -> Stripe {
        self.0.stripe()
    }

    /// What counts for the thread; `None` where its level counts nothing.
    #[inline]
    #[must_use]
    pub fn perf(self) -> Option<PerfRecorder> {
        let level = self.0.level();
        let by_level = self.0.counts_by_level();
        (level >= PerfLevel::EnableCount as u8).then_some(PerfRecorder { level, by_level })
    }
}

/// Adds to the sums of the thread that made it.
#[derive(Clone, Copy, Debug)]
pub struct PerfRecorder {
    /// A [`PerfLevel`].
    level: u8,
    /// Also by the level of the tree.
    by_level: bool,
}

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
        self.level >= PerfLevel::EnableTimeExceptForMutex as u8
    }

    /// True when times of the processor are counted.
    #[inline]
    #[must_use]
    pub fn is_timing_processor(self) -> bool {
        self.level >= PerfLevel::EnableTimeAndCpuTimeExceptForMutex as u8
    }

    /// True when times of waiting are counted.
    #[inline]
    #[must_use]
    pub fn is_timing_waits(self) -> bool {
        self.level >= PerfLevel::EnableWait as u8
    }

    /// True when something is also counted by the level of the tree.
    #[inline]
    #[must_use]
    pub fn counts_by_level(self) -> bool {
        self.by_level
    }

    /// Adds to a sum of a level of the tree, where those are counted.
    #[inline]
    pub fn add_of_level(self, level: usize, metric: LevelMetric, amount: u64) {
        if self.by_level {
            perf_levels::add(level, metric, amount);
        }
    }

    /// One of the sums of the thread.
    #[must_use]
    pub fn sum(self, metric: PerfMetric) -> u64 {
        SUMS.with(|sums| sums[metric as usize].get())
    }

    /// Adds to a sum.
    #[inline]
    pub fn add(self, metric: PerfMetric, amount: u64) {
        self.add_all([(metric, amount)]);
    }

    /// Adds to several sums.
    #[inline]
    pub fn add_all<const N: usize>(self, rows: [(PerfMetric, u64); N]) {
        SUMS.with(|sums| {
            for (metric, amount) in rows {
                debug_assert!(metric.is_counted(), "{metric:?} is declared to stay 0");
                let sum = &sums[metric as usize];
                sum.set(sum.get().wrapping_add(amount));
            }
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
pub struct PerfContext {
    sums: Box<[u64; METRICS]>,
    levels: LevelSums,
}

impl PerfContext {
    /// The sums of the thread that calls.
    #[must_use]
    pub fn of_thread() -> Self {
        let sums = SUMS.with(|sums| Box::new(std::array::from_fn(|metric| sums[metric].get())));
        Self { sums, levels: perf_levels::of_thread() }
    }

    /// Sets the sums of the thread that calls to 0.
    pub fn reset_thread() {
        SUMS.with(|sums| sums.iter().for_each(|sum| sum.set(0)));
        perf_levels::reset_thread();
    }

    /// From now on the thread that calls counts [some sums](LevelMetric) by the level of the tree, too, or does not any
    /// more; what was counted stays. RocksDB's `EnablePerLevelPerfContext`.
    ///
    /// ```
    /// use ferrock_statistics::{LevelMetric, PerfContext, PerfLevel, PerfRecorder};
    ///
    /// PerfLevel::EnableCount.set_of_thread();
    /// PerfContext::count_by_level(true);
    /// if let Some(recorder) = PerfRecorder::of_thread() {
    ///     recorder.add_of_level(2, LevelMetric::BlockCacheHitCount, 5); // as a lookup does
    /// }
    /// let context = PerfContext::of_thread();
    /// assert_eq!(context.get_of_level(2, LevelMetric::BlockCacheHitCount), 5);
    /// assert_eq!(context.report(true), "block_cache_hit_count = 5@level2");
    /// ```
    pub fn count_by_level(counts: bool) {
        ThreadWord::set_counts_by_level(counts);
    }

    /// One of the sums of a level of the tree, from 0 on.
    #[must_use]
    pub fn get_of_level(&self, level: usize, metric: LevelMetric) -> u64 {
        self.levels.get(level).map_or(0, |sums| sums[metric as usize])
    }

    /// One of the sums.
    #[must_use]
    pub fn get(&self, metric: PerfMetric) -> u64 {
        self.sums[metric as usize]
    }

    /// RocksDB's text: `name = value` of each, with commas between.
    #[must_use]
    pub fn report(&self, without_zeros: bool) -> String {
        let mut out = String::new();
        for metric in PerfMetric::ALL.iter().filter(|metric| !without_zeros || self.get(**metric) != 0) {
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{} = {}", metric.name(), self.get(*metric));
        }
        perf_levels::report(&self.levels, without_zeros, &mut out);
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
