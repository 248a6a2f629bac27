//! The counters of a database.

use crate::recorder::StripeCounters;
use crate::{Histogram, HistogramData, Recorder, StatsLevel, ThreadState, Ticker};
use ferrock_base::stripe::{STRIPES, Stripe};
use parking_lot::Mutex;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Tickers and histograms of one database, or of several that share the object.
///
/// A thread that counts has counters of its own: 2.7 KB, and 0.9 KB for each histogram that it adds to, for at most 31
/// threads at a time; those beyond them share one set.
///
/// ```
/// use ferrock_statistics::{Histogram, Statistics, StatsLevel, Ticker};
///
/// let statistics = Statistics::new(StatsLevel::default());
/// if let Some(recorder) = statistics.recorder() {
///     recorder.add(Ticker::NumberKeysRead, 1);
///     recorder.record(Histogram::DbGet, 17);
/// }
/// assert_eq!(statistics.ticker(Ticker::NumberKeysRead), 1);
/// assert_eq!(statistics.histogram(Histogram::DbGet).max(), 17);
/// assert!(statistics.to_string().contains("rocksdb.number.keys.read COUNT : 1\n"));
/// ```
pub struct Statistics {
    level: AtomicU8,
    stripes: [OnceLock<Box<StripeCounters>>; STRIPES],
    /// What had been counted when the counters were last set: it is taken off.
    base: Mutex<Base>,
}

#[derive(Default)]
struct Base {
    tickers: Vec<u64>,
    histograms: Vec<Option<HistogramData>>,
}

impl Default for Statistics {
    /// Counts at the level that RocksDB has by default.
    fn default() -> Self {
        Self::new(StatsLevel::default())
    }
}

impl Statistics {
    /// Counters at zero.
    #[must_use]
    pub fn new(level: StatsLevel) -> Self {
        let base = Base { tickers: vec![0; Ticker::ALL.len()], histograms: vec![None; Histogram::ALL.len()] };
        Self {
            level: AtomicU8::new(level as u8),
            stripes: std::array::from_fn(|_| OnceLock::new()),
            base: Mutex::new(base),
        }
    }

    /// What is counted.
    #[inline]
    #[must_use]
    pub fn level(&self) -> StatsLevel {
        StatsLevel::from_number(u32::from(self.level.load(Ordering::Relaxed)))
    }

    /// Changes what is counted from now on. What was counted stays.
    pub fn set_level(&self, level: StatsLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// What the thread that calls adds to its counters by; `None` where nothing is counted.
    #[inline]
    #[must_use]
    pub fn recorder(&self) -> Option<Recorder<'_>> {
        self.recorder_of(ThreadState::current())
    }

    /// As [`recorder`](Self::recorder), for a caller that has asked for its thread already.
    #[inline]
    #[must_use]
    pub fn recorder_of(&self, thread: ThreadState) -> Option<Recorder<'_>> {
        let level = self.level.load(Ordering::Relaxed);
        if level == StatsLevel::DisableAll as u8 {
            return None;
        }
        let stripe = thread.stripe();
        let counters = match self.stripes[stripe.index()].get() {
            Some(counters) => counters,
            None => self.first_of(stripe),
        };
        Some(Recorder::new(counters, stripe, level))
    }

    #[cold]
    fn first_of(&self, stripe: Stripe) -> &StripeCounters {
        self.stripes[stripe.index()].get_or_init(Box::default)
    }

    /// Adds to a ticker, if tickers are counted. A thread with more to add asks for a [`recorder`](Self::recorder).
    #[inline]
    pub fn add(&self, ticker: Ticker, amount: u64) {
        if let Some(recorder) = self.recorder() {
            recorder.add(ticker, amount);
        }
    }

    /// Adds a value to a histogram, if histograms are counted.
    #[inline]
    pub fn record(&self, histogram: Histogram, value: u64) {
        if let Some(recorder) = self.recorder() {
            recorder.record(histogram, value);
        }
    }

    fn counters(&self) -> impl Iterator<Item = &StripeCounters> {
        self.stripes.iter().filter_map(|stripe| stripe.get().map(|counters| &**counters))
    }

    fn counted(&self, ticker: Ticker) -> u64 {
        let of = |counters: &StripeCounters| counters.tickers[ticker as usize].load(Ordering::Relaxed);
        self.counters().fold(0, |sum, counters| sum.wrapping_add(of(counters)))
    }

    /// The value of a ticker.
    #[must_use]
    pub fn ticker(&self, ticker: Ticker) -> u64 {
        let base = self.base.lock();
        self.counted(ticker).wrapping_sub(base.tickers[ticker as usize])
    }

    /// All that was ever added to a ticker: what [`set_ticker`](Self::set_ticker), [`take_ticker`](Self::take_ticker)
    /// and [`reset`](Self::reset) do changes its value alone. The difference of two such sums is what was added between
    /// them.
    #[must_use]
    pub fn total(&self, ticker: Ticker) -> u64 {
        self.counted(ticker)
    }

    /// Gives a ticker another value: the next counts are added to it.
    pub fn set_ticker(&self, ticker: Ticker, value: u64) {
        let mut base = self.base.lock();
        base.tickers[ticker as usize] = self.counted(ticker).wrapping_sub(value);
    }

    /// The value of a ticker, which is 0 afterwards.
    pub fn take_ticker(&self, ticker: Ticker) -> u64 {
        let mut base = self.base.lock();
        let counted = self.counted(ticker);
        counted.wrapping_sub(std::mem::replace(&mut base.tickers[ticker as usize], counted))
    }

    fn gathered(&self, histogram: Histogram) -> Option<HistogramData> {
        let of_stripe =
            |counters: &StripeCounters| counters.histograms[histogram as usize].get().map(|counters| counters.data());
        self.counters().filter_map(of_stripe).reduce(|mut sum, data| {
            sum.merge(&data);
            sum
        })
    }

    /// What a histogram has counted.
    #[must_use]
    pub fn histogram(&self, histogram: Histogram) -> HistogramData {
        let base = self.base.lock();
        let mut data = self.gathered(histogram).unwrap_or_default();
        if let Some(base) = &base.histograms[histogram as usize] {
            data.subtract(base);
        }
        data
    }

    /// Begins from zero again: tickers and histograms.
    pub fn reset(&self) {
        let mut base = self.base.lock();
        for ticker in Ticker::ALL {
            base.tickers[*ticker as usize] = self.counted(*ticker);
        }
        for histogram in Histogram::ALL {
            base.histograms[*histogram as usize] = self.gathered(*histogram);
            let own = self.counters().filter_map(|counters| counters.histograms[*histogram as usize].get());
            own.for_each(|counters| {
                counters.min.store(u64::MAX, Ordering::Relaxed);
                counters.max.store(0, Ordering::Relaxed);
            });
        }
    }
}

impl fmt::Display for Statistics {
    /// RocksDB's text: a line for each ticker, then one for each histogram.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ticker in Ticker::ALL {
            writeln!(f, "{} COUNT : {}", ticker.name(), self.ticker(*ticker))?;
        }
        for histogram in Histogram::ALL {
            let data = self.histogram(*histogram);
            writeln!(
                f,
                "{} P50 : {:.6} P95 : {:.6} P99 : {:.6} P100 : {:.6} COUNT : {} SUM : {}",
                histogram.name(),
                data.median(),
                data.percentile(95.0),
                data.percentile(99.0),
                data.max() as f64,
                data.count(),
                data.sum(),
            )?;
        }
        Ok(())
    }
}

impl fmt::Debug for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics").field("level", &self.level()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_leave_their_counts() {
        let statistics = Statistics::default();
        for _ in 0..3 {
            std::thread::scope(|scope| {
                for _ in 0..40 {
                    scope.spawn(|| {
                        (0..100).for_each(|value| {
                            let recorder = statistics.recorder().expect("the level counts");
                            recorder.add(Ticker::BytesRead, 2);
                            recorder.record(Histogram::DbGet, value);
                        });
                    });
                }
            });
        }
        assert_eq!(statistics.ticker(Ticker::BytesRead), 3 * 40 * 100 * 2);
        let data = statistics.histogram(Histogram::DbGet);
        assert_eq!((data.count(), data.sum(), data.min(), data.max()), (12_000, 120 * 4950, 0, 99));
    }

    #[test]
    fn a_reset_begins_from_zero() {
        let statistics = Statistics::default();
        statistics.add(Ticker::BytesRead, 5);
        statistics.record(Histogram::DbGet, 1000);
        statistics.reset();
        assert_eq!(statistics.ticker(Ticker::BytesRead), 0);
        assert_eq!(statistics.histogram(Histogram::DbGet), HistogramData::default());
        statistics.add(Ticker::BytesRead, 7);
        statistics.record(Histogram::DbGet, 3);
        assert_eq!(statistics.histogram(Histogram::DbGet), [3].into_iter().collect());
        assert_eq!(statistics.take_ticker(Ticker::BytesRead), 7);
        assert_eq!(statistics.ticker(Ticker::BytesRead), 0);
        statistics.set_ticker(Ticker::BytesRead, 100);
        statistics.add(Ticker::BytesRead, 1);
        assert_eq!(statistics.ticker(Ticker::BytesRead), 101);
        assert_eq!(statistics.total(Ticker::BytesRead), 5 + 7 + 1);
    }

    #[test]
    fn a_level_counts_what_it_says() {
        let counted = |level: StatsLevel| {
            let statistics = Statistics::new(level);
            statistics.add(Ticker::BytesRead, 1);
            statistics.record(Histogram::BytesPerRead, 1);
            let timing = statistics.recorder().map(Recorder::is_timing);
            (statistics.ticker(Ticker::BytesRead), statistics.histogram(Histogram::BytesPerRead).count(), timing)
        };
        assert_eq!(counted(StatsLevel::DisableAll), (0, 0, None));
        assert_eq!(counted(StatsLevel::ExceptHistogramOrTimers), (1, 0, Some(false)));
        assert_eq!(counted(StatsLevel::ExceptTimers), (1, 1, Some(false)));
        assert_eq!(counted(StatsLevel::ExceptDetailedTimers), (1, 1, Some(true)));
        assert_eq!(counted(StatsLevel::All), (1, 1, Some(true)));
    }

    #[test]
    fn the_text_has_a_line_for_each_measure() {
        let statistics = Statistics::default();
        let values = [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 6];
        values.into_iter().for_each(|value| statistics.record(Histogram::SstReadMicros, value));
        let text = statistics.to_string();
        assert_eq!(text.lines().count(), 263 + 80);
        assert!(text.starts_with("rocksdb.block.cache.miss COUNT : 0\n"));
        let line = "rocksdb.sst.read.micros P50 : 1.666667 P95 : 4.600000 P99 : 5.720000 P100 : 6.000000 COUNT : 14 SUM : 34\n";
        assert!(text.contains(line), "{text}");
    }
}
