//! Times of what a thread does, and of what a database does.
//!
//! ```text
//! timer          adds to                from the level on
//! PerfTimer      a sum of its thread    of waiting 3, others 4, of the processor 5 (`PerfLevel`)
//! MeasureTimer   a ticker, a histogram  of operations 3, of their parts 4 (`StatsLevel`)
//! ```
//!
//! A timer below its level holds nothing, and costs one look at the level. Times are those of the machine's clock, also
//! in a database that was given another one.

use crate::{Histogram, LevelMetric, PerfMetric, PerfRecorder, Recorder, Ticker};
use ferrock_base::clock::{Clock, SystemClock};
use std::sync::LazyLock;

static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::default);

/// Adds the nanoseconds for which it lives to a sum of the thread, which makes and drops it.
///
/// ```
/// use ferrock_statistics::{PerfContext, PerfLevel, PerfMetric, PerfTimer};
///
/// let sum = || PerfContext::of_thread().get(PerfMetric::GetSnapshotTime);
/// drop(PerfTimer::begin(PerfMetric::GetSnapshotTime));
/// assert_eq!(sum(), 0, "the level of a thread has no times unless it is asked for");
/// PerfLevel::EnableTime.set_of_thread();
/// let timer = PerfTimer::begin(PerfMetric::GetSnapshotTime);
/// let work: u64 = (0..100_000).map(std::hint::black_box).sum();
/// drop(timer);
/// assert!(work > 0 && sum() > 0);
/// ```
#[derive(Debug)]
#[must_use = "it counts the time until it is dropped"]
pub struct PerfTimer(Option<Running>);

#[derive(Debug)]
struct Running {
    recorder: PerfRecorder,
    sum: Sum,
    begun_ns: u64,
    now_ns: fn() -> u64,
    /// Sums whose growth is not part of it.
    others: &'static [PerfMetric],
    /// What they were when it began.
    others_before: u64,
}

/// What a timer adds to.
#[derive(Clone, Copy, Debug)]
enum Sum {
    OfThread(PerfMetric),
    OfLevel(usize, LevelMetric),
}

impl PerfTimer {
    /// Begins, where the level of the thread has times.
    #[inline]
    pub fn begin(metric: PerfMetric) -> Self {
        Self::of(PerfRecorder::of_thread(), metric)
    }

    /// As [`begin`](Self::begin), for a caller that has asked for its thread already.
    #[inline]
    pub fn of(recorder: Option<PerfRecorder>, metric: PerfMetric) -> Self {
        match recorder {
            Some(recorder) if recorder.is_timing() => Self::started(recorder, Sum::OfThread(metric), monotonic_ns),
            _ => Self(None),
        }
    }

    /// Begins, where the level of the thread has times and they are also counted by the level of the tree.
    #[inline]
    pub fn of_level(recorder: Option<PerfRecorder>, level: usize, metric: LevelMetric) -> Self {
        match recorder {
            Some(recorder) if recorder.counts_by_level() && recorder.is_timing() => {
                Self::started(recorder, Sum::OfLevel(level, metric), monotonic_ns)
            }
            _ => Self(None),
        }
    }

    /// Begins, where the level of the thread has times of waiting.
    #[inline]
    pub fn of_wait(recorder: Option<PerfRecorder>, metric: PerfMetric) -> Self {
        match recorder {
            Some(recorder) if recorder.is_timing_waits() => {
                Self::started(recorder, Sum::OfThread(metric), monotonic_ns)
            }
            _ => Self(None),
        }
    }

    /// Begins, where the level of the thread has times of the processor, which `processor_ns` tells.
    #[inline]
    pub fn of_processor(recorder: Option<PerfRecorder>, metric: PerfMetric, processor_ns: fn() -> u64) -> Self {
        match recorder {
            Some(recorder) if recorder.is_timing_processor() => {
                Self::started(recorder, Sum::OfThread(metric), processor_ns)
            }
            _ => Self(None),
        }
    }

    /// As [`of`](Self::of), without the time that `others` grow by meanwhile: that of parts with sums of their own.
    #[inline]
    pub fn of_rest(recorder: Option<PerfRecorder>, metric: PerfMetric, others: &'static [PerfMetric]) -> Self {
        let mut timer = Self::of(recorder, metric);
        if let Some(running) = &mut timer.0 {
            (running.others, running.others_before) = (others, running.sum_of(others));
        }
        timer
    }

    #[cold]
    fn started(recorder: PerfRecorder, sum: Sum, now_ns: fn() -> u64) -> Self {
        Self(Some(Running { recorder, sum, begun_ns: now_ns(), now_ns, others: &[], others_before: 0 }))
    }
}

impl Drop for PerfTimer {
    #[inline]
    fn drop(&mut self) {
        if let Some(running) = &self.0 {
            running.end();
        }
    }
}

impl Running {
    fn sum_of(&self, metrics: &[PerfMetric]) -> u64 {
        metrics.iter().fold(0, |sum, metric| sum.wrapping_add(self.recorder.sum(*metric)))
    }

    #[cold]
    fn end(&self) {
        let others_ns = self.sum_of(self.others).wrapping_sub(self.others_before);
        let took_ns = (self.now_ns)().saturating_sub(self.begun_ns).saturating_sub(others_ns);
        match self.sum {
            Sum::OfThread(metric) => self.recorder.add(metric, took_ns),
            Sum::OfLevel(level, metric) => self.recorder.add_of_level(level, metric, took_ns),
        }
    }
}

fn monotonic_ns() -> u64 {
    CLOCK.monotonic_ns()
}

/// Adds the time for which it lives to the statistics of a database.
///
/// ```
/// use ferrock_statistics::{Histogram, MeasureTimer, Statistics, StatsLevel, Ticker};
///
/// let statistics = Statistics::new(StatsLevel::ExceptDetailedTimers);
/// drop(MeasureTimer::of_part(statistics.recorder(), Histogram::DecompressionTimesNanos));
/// assert_eq!(statistics.histogram(Histogram::DecompressionTimesNanos).count(), 0, "parts are not timed");
/// statistics.set_level(StatsLevel::All);
/// drop(MeasureTimer::of_part(statistics.recorder(), Histogram::DecompressionTimesNanos));
/// assert_eq!(statistics.histogram(Histogram::DecompressionTimesNanos).count(), 1);
/// let timer = MeasureTimer::of_sum(statistics.recorder(), Ticker::MergeOperationTotalTime);
/// let work: u64 = (0..100_000).map(std::hint::black_box).sum();
/// drop(timer);
/// assert!(work > 0 && statistics.ticker(Ticker::MergeOperationTotalTime) > 0);
/// ```
#[derive(Debug)]
#[must_use = "it counts the time until it is dropped"]
pub struct MeasureTimer<'s>(Option<(Recorder<'s>, Measure, u64)>);

#[derive(Clone, Copy, Debug)]
enum Measure {
    Nanos(Ticker),
    PartNanos(Histogram),
    Micros(Histogram),
}

impl<'s> MeasureTimer<'s> {
    /// Begins a part of an operation, whose nanoseconds are counted where the level has times of parts.
    #[inline]
    pub fn of_part(recorder: Option<Recorder<'s>>, histogram: Histogram) -> Self {
        let recorder = recorder.filter(|recorder| recorder.is_timing_parts());
        Self(recorder.map(|recorder| (recorder, Measure::PartNanos(histogram), monotonic_ns())))
    }

    /// Begins something whose nanoseconds have a sum, where the level has times.
    #[inline]
    pub fn of_sum(recorder: Option<Recorder<'s>>, ticker: Ticker) -> Self {
        let recorder = recorder.filter(|recorder| recorder.is_timing());
        Self(recorder.map(|recorder| (recorder, Measure::Nanos(ticker), monotonic_ns())))
    }

    /// Begins something whose microseconds are counted, where the level has times.
    #[inline]
    pub fn of_micros(recorder: Option<Recorder<'s>>, histogram: Histogram) -> Self {
        let recorder = recorder.filter(|recorder| recorder.is_timing());
        Self(recorder.map(|recorder| (recorder, Measure::Micros(histogram), monotonic_ns())))
    }
}

impl Drop for MeasureTimer<'_> {
    fn drop(&mut self) {
        let Some((recorder, measure, begun_ns)) = self.0 else { return };
        let took_ns = monotonic_ns().saturating_sub(begun_ns);
        match measure {
            Measure::Nanos(ticker) => recorder.add(ticker, took_ns),
            Measure::PartNanos(histogram) => recorder.record(histogram, took_ns),
            Measure::Micros(histogram) => recorder.record(histogram, took_ns / 1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PerfContext, PerfLevel};

    #[test]
    fn a_rest_has_no_time_of_its_parts() {
        PerfLevel::EnableTime.set_of_thread();
        PerfContext::reset_thread();
        let recorder = PerfRecorder::of_thread();
        let parts = &[PerfMetric::WriteWalTime];
        let timer = PerfTimer::of_rest(recorder, PerfMetric::WritePreAndPostProcessTime, parts);
        recorder.expect("the level counts").add(PerfMetric::WriteWalTime, u64::MAX / 2);
        drop(timer);
        assert_eq!(PerfContext::of_thread().get(PerfMetric::WritePreAndPostProcessTime), 0);
        drop(PerfTimer::of_rest(recorder, PerfMetric::WritePreAndPostProcessTime, parts));
        assert!(PerfContext::of_thread().get(PerfMetric::WritePreAndPostProcessTime) > 0);
    }

    #[test]
    fn each_kind_of_time_has_its_level() {
        let begun = |level: PerfLevel| {
            level.set_of_thread();
            PerfContext::reset_thread();
            let recorder = PerfRecorder::of_thread();
            let timers = [
                PerfTimer::of_wait(recorder, PerfMetric::WriteThreadWaitNanos),
                PerfTimer::of(recorder, PerfMetric::GetSnapshotTime),
                PerfTimer::of_processor(recorder, PerfMetric::GetCpuNanos, || 1),
            ];
            timers.map(|timer| timer.0.is_some())
        };
        assert_eq!(begun(PerfLevel::Disable), [false; 3]);
        assert_eq!(begun(PerfLevel::EnableCount), [false; 3]);
        assert_eq!(begun(PerfLevel::EnableWait), [true, false, false]);
        assert_eq!(begun(PerfLevel::EnableTimeExceptForMutex), [true, true, false]);
        assert_eq!(begun(PerfLevel::EnableTimeAndCpuTimeExceptForMutex), [true; 3]);
        assert_eq!(begun(PerfLevel::EnableTime), [true; 3]);
    }
}
