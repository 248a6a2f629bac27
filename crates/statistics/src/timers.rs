//! Times of what a thread does, and of what a database does.
//!
//! ```text
//! timer          adds to                from the level on
//! PerfTimer      a sum of its thread    of waiting 3, others 4, of the processor 5 (`PerfLevel`)
//! PerfLaps       the same, part by part
//! MeasureTimer   a ticker, a histogram  of operations 3, of their parts 4 (`StatsLevel`)
//! ```
//!
//! A timer below its level holds nothing, and costs one look at the level. Times are those of the machine's clock, also
//! in a database that was given another one.
//!
//! Inside an operation that takes a microsecond, work is a closure ([`PerfTimer::time`]) or ends with a lap
//! ([`PerfLaps`]): a look at a flag, and one at a register behind it. Timers that are dropped cost more, for they are
//! also dropped when a thread panics, and keep what they surround from being inlined. With them in all these places a
//! seek took 4.5 % more instructions than without the sums, and a put 4.9 %; with these 0.4 and 0.6
//! (`cargo xtask instructions`).

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
pub struct PerfTimer {
    /// 0: it counts nothing. The only field that is looked at then, so that it stays in a register and the others,
    /// constants where a timer is made, are never stored.
    begun_ns: u64,
    metric: PerfMetric,
    now_ns: fn() -> u64,
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
        Self::started(recorder.is_some_and(PerfRecorder::is_timing), metric, monotonic_ns)
    }

    /// Begins, where the level of the thread has times of the processor, which `processor_ns` tells.
    #[inline]
    pub fn of_processor(recorder: Option<PerfRecorder>, metric: PerfMetric, processor_ns: fn() -> u64) -> Self {
        Self::started(recorder.is_some_and(PerfRecorder::is_timing_processor), metric, processor_ns)
    }

    /// Runs `work`, and adds its time where the level of the thread has times.
    ///
    /// ```
    /// use ferrock_statistics::{PerfContext, PerfLevel, PerfMetric, PerfTimer};
    ///
    /// PerfLevel::EnableTime.set_of_thread();
    /// let sum = PerfTimer::time(PerfMetric::BlockSeekNanos, || (0..100_000).map(std::hint::black_box).sum::<u64>());
    /// assert!(sum > 0 && PerfContext::of_thread().get(PerfMetric::BlockSeekNanos) > 0);
    /// ```
    #[inline(always)]
    pub fn time<R>(metric: PerfMetric, work: impl FnOnce() -> R) -> R {
        let mut laps = PerfLaps::begin();
        let result = work();
        laps.lap(metric);
        result
    }

    /// As [`time`](Self::time), for a caller that has asked for its thread already.
    #[inline(always)]
    pub fn time_of<R>(recorder: Option<PerfRecorder>, metric: PerfMetric, work: impl FnOnce() -> R) -> R {
        let mut laps = PerfLaps::of(recorder);
        let result = work();
        laps.lap(metric);
        result
    }

    /// Runs `work`, and adds its time where the level of the thread has times and they are also counted by the level of
    /// the tree.
    #[inline(always)]
    pub fn time_of_level<R>(
        recorder: Option<PerfRecorder>,
        level: usize,
        metric: LevelMetric,
        work: impl FnOnce() -> R,
    ) -> R {
        let is_wanted = recorder.is_some_and(|recorder| recorder.counts_by_level() && recorder.is_timing());
        let begun_ns = if is_wanted { begin_at(monotonic_ns) } else { 0 };
        let result = work();
        if begun_ns > 0 {
            end_of_level(begun_ns, level, metric);
        }
        result
    }

    #[inline(always)]
    fn started(is_wanted: bool, metric: PerfMetric, now_ns: fn() -> u64) -> Self {
        Self { begun_ns: if is_wanted { begin_at(now_ns) } else { 0 }, metric, now_ns }
    }
}

impl Drop for PerfTimer {
    #[inline(always)]
    fn drop(&mut self) {
        if self.begun_ns > 0 {
            end(self.begun_ns, self.metric, self.now_ns);
        }
    }
}

/// Nothing is 0 but what does not count.
#[cold]
fn begin_at(now_ns: fn() -> u64) -> u64 {
    now_ns().max(1)
}

#[cold]
fn end(begun_ns: u64, metric: PerfMetric, now_ns: fn() -> u64) {
    let took_ns = now_ns().saturating_sub(begun_ns);
    if let Some(recorder) = PerfRecorder::of_thread() {
        recorder.add(metric, took_ns);
    }
}

#[cold]
fn end_of_level(begun_ns: u64, level: usize, metric: LevelMetric) {
    let took_ns = monotonic_ns().saturating_sub(begun_ns);
    if let Some(recorder) = PerfRecorder::of_thread() {
        recorder.add_of_level(level, metric, took_ns);
    }
}

/// Adds the parts of an operation, which follow each other, to sums of the thread: the end of a part says which.
///
/// ```
/// use ferrock_statistics::{PerfContext, PerfLaps, PerfLevel, PerfMetric};
///
/// let work = || (0..100_000).map(std::hint::black_box).sum::<u64>();
/// PerfLevel::EnableTime.set_of_thread();
/// let mut laps = PerfLaps::begin();
/// work();
/// laps.lap(PerfMetric::WriteWalTime);
/// work();
/// laps.lap(PerfMetric::WriteMemtableTime);
/// let sums = PerfContext::of_thread();
/// assert!(sums.get(PerfMetric::WriteWalTime) > 0 && sums.get(PerfMetric::WriteMemtableTime) > 0);
/// ```
#[derive(Debug)]
pub struct PerfLaps {
    /// When the part began; 0: nothing is timed.
    begun_ns: u64,
}

impl PerfLaps {
    /// Begins the first part, where the level of the thread has times.
    #[inline(always)]
    #[must_use]
    pub fn begin() -> Self {
        Self { begun_ns: if PerfRecorder::is_used() { begin_of_thread(PerfRecorder::is_timing) } else { 0 } }
    }

    /// Begins the first part of an operation that may have to wait, where the level of the thread has times of waiting.
    #[inline(always)]
    #[must_use]
    pub fn begin_with_waits() -> Self {
        Self { begun_ns: if PerfRecorder::is_used() { begin_of_thread(PerfRecorder::is_timing_waits) } else { 0 } }
    }

    /// As [`begin`](Self::begin), for a caller that has asked for its thread already.
    #[inline(always)]
    #[must_use]
    pub fn of(recorder: Option<PerfRecorder>) -> Self {
        Self { begun_ns: if recorder.is_some() { begin_of_thread(PerfRecorder::is_timing) } else { 0 } }
    }

    /// Ends a part, whose time is added where the level of the thread has times, and begins the next one.
    #[inline(always)]
    pub fn lap(&mut self, metric: PerfMetric) {
        if self.begun_ns > 0 {
            self.begun_ns = end_of_part(self.begun_ns, metric, PerfRecorder::is_timing);
        }
    }

    /// The same for a part in which the thread waited, where the level has times of waiting.
    #[inline(always)]
    pub fn lap_of_wait(&mut self, metric: PerfMetric) {
        if self.begun_ns > 0 {
            self.begun_ns = end_of_part(self.begun_ns, metric, PerfRecorder::is_timing_waits);
        }
    }
}

#[cold]
#[inline(never)]
fn begin_of_thread(is_wanted: fn(PerfRecorder) -> bool) -> u64 {
    match PerfRecorder::of_thread() {
        Some(recorder) if is_wanted(recorder) => begin_at(monotonic_ns),
        _ => 0,
    }
}

/// Returns when the next part begins.
#[cold]
#[inline(never)]
fn end_of_part(begun_ns: u64, metric: PerfMetric, is_wanted: fn(PerfRecorder) -> bool) -> u64 {
    let now_ns = begin_at(monotonic_ns);
    if let Some(recorder) = PerfRecorder::of_thread().filter(|recorder| is_wanted(*recorder)) {
        recorder.add(metric, now_ns.saturating_sub(begun_ns));
    }
    now_ns
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
    fn the_parts_of_an_operation_add_up_to_it() {
        let parts = [PerfMetric::WritePreAndPostProcessTime, PerfMetric::WriteWalTime];
        let sums = |level: PerfLevel| {
            level.set_of_thread();
            PerfContext::reset_thread();
            let begun_ns = monotonic_ns();
            let work = || {
                let from_ns = monotonic_ns();
                while monotonic_ns() < from_ns + 2000 {}
            };
            let mut laps = PerfLaps::begin_with_waits();
            work();
            laps.lap(parts[0]);
            work();
            laps.lap_of_wait(PerfMetric::WriteThreadWaitNanos);
            work();
            laps.lap(parts[1]);
            let whole_ns = monotonic_ns() - begun_ns;
            let context = PerfContext::of_thread();
            (parts.map(|part| context.get(part)), context.get(PerfMetric::WriteThreadWaitNanos), whole_ns)
        };
        let (timed, waited_ns, whole_ns) = sums(PerfLevel::EnableTime);
        assert!(timed[0] >= 2000 && waited_ns >= 2000 && timed[1] >= 2000, "{timed:?} {waited_ns}");
        assert!(timed[0] + timed[1] + waited_ns <= whole_ns, "{timed:?} {waited_ns} of {whole_ns}");
        let (timed, waited_ns, _) = sums(PerfLevel::EnableWait);
        assert!(timed == [0, 0] && waited_ns > 0, "{timed:?} {waited_ns}");
        let (timed, waited_ns, _) = sums(PerfLevel::EnableCount);
        assert!(timed == [0, 0] && waited_ns == 0, "{timed:?} {waited_ns}");
    }

    #[test]
    fn each_kind_of_time_has_its_level() {
        let begun = |level: PerfLevel| {
            level.set_of_thread();
            PerfContext::reset_thread();
            let recorder = PerfRecorder::of_thread();
            let timers = [
                PerfTimer::of(recorder, PerfMetric::GetSnapshotTime),
                PerfTimer::of_processor(recorder, PerfMetric::GetCpuNanos, || 1),
            ];
            timers.map(|timer| timer.begun_ns > 0)
        };
        assert_eq!(begun(PerfLevel::Disable), [false; 2]);
        assert_eq!(begun(PerfLevel::EnableWait), [false; 2]);
        assert_eq!(begun(PerfLevel::EnableTimeExceptForMutex), [true, false]);
        assert_eq!(begun(PerfLevel::EnableTimeAndCpuTimeExceptForMutex), [true; 2]);
        assert_eq!(begun(PerfLevel::EnableTime), [true; 2]);
    }
}
