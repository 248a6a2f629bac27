//! How a thread adds to the counters of a database.

use crate::buckets::{BUCKETS, bucket_of};
use crate::{Histogram, HistogramData, StatsLevel, Ticker};
use ferrock_base::stripe::Stripe;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one stripe.
#[derive(Debug)]
pub(crate) struct StripeCounters {
    pub(crate) tickers: [AtomicU64; Ticker::ALL.len()],
    pub(crate) histograms: [OnceLock<Box<HistogramCounters>>; Histogram::ALL.len()],
}

impl Default for StripeCounters {
    fn default() -> Self {
        Self {
            tickers: std::array::from_fn(|_| AtomicU64::new(0)),
            histograms: std::array::from_fn(|_| OnceLock::new()),
        }
    }
}

/// A histogram of one stripe. Its count is the sum of its buckets.
#[derive(Debug)]
pub(crate) struct HistogramCounters {
    pub(crate) buckets: [AtomicU64; BUCKETS],
    pub(crate) sum: AtomicU64,
    pub(crate) sum_of_squares: AtomicU64,
    pub(crate) min: AtomicU64,
    pub(crate) max: AtomicU64,
}

impl HistogramCounters {
    /// What was counted.
    pub(crate) fn data(&self) -> HistogramData {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut data = HistogramData::default();
        data.buckets.iter_mut().zip(&self.buckets).for_each(|(values, counter)| *values = get(counter));
        (data.sum, data.sum_of_squares) = (get(&self.sum), get(&self.sum_of_squares));
        (data.min, data.max) = (get(&self.min), get(&self.max));
        data
    }

    /// Adds a value, with locked instructions.
    #[cold]
    pub(crate) fn add_shared(&self, value: u64) {
        self.buckets[bucket_of(value)].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.sum_of_squares.fetch_add(value.wrapping_mul(value), Ordering::Relaxed);
        self.min.fetch_min(value, Ordering::Relaxed);
        self.max.fetch_max(value, Ordering::Relaxed);
    }

    pub(crate) fn new() -> Self {
        Self {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            sum: AtomicU64::new(0),
            sum_of_squares: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }
    }
}

/// Adds to the counters of the thread that made it: see [`Statistics::recorder`](crate::Statistics::recorder).
#[derive(Clone, Copy, Debug)]
pub struct Recorder<'s> {
    counters: &'s StripeCounters,
    stripe: Stripe,
    /// A [`StatsLevel`].
    level: u8,
}

impl<'s> Recorder<'s> {
    #[inline]
    pub(crate) fn new(counters: &'s StripeCounters, stripe: Stripe, level: u8) -> Self {
        Self { counters, stripe, level }
    }

    /// True when times of operations are counted.
    #[inline]
    #[must_use]
    pub fn is_timing(self) -> bool {
        self.level >= StatsLevel::ExceptDetailedTimers as u8
    }

    /// True when times of parts of operations are counted.
    #[inline]
    #[must_use]
    pub fn is_timing_parts(self) -> bool {
        self.level > StatsLevel::ExceptDetailedTimers as u8
    }

    /// Adds to a ticker.
    #[inline]
    pub fn add(self, ticker: Ticker, amount: u64) {
        self.add_all([(ticker, amount)]);
    }

    /// Adds to several tickers.
    #[inline]
    pub fn add_all<const N: usize>(self, rows: [(Ticker, u64); N]) {
        if self.stripe.is_shared() {
            return self.add_shared(&rows);
        }
        for (ticker, amount) in rows {
            debug_assert!(ticker.is_counted(), "{ticker:?} is declared to stay 0");
            self.stripe.add(&self.counters.tickers[ticker as usize], amount);
        }
    }

    #[cold]
    fn add_shared(self, rows: &[(Ticker, u64)]) {
        for (ticker, amount) in rows {
            debug_assert!(ticker.is_counted(), "{ticker:?} is declared to stay 0");
            self.stripe.add(&self.counters.tickers[*ticker as usize], *amount);
        }
    }

    /// Adds a value to a histogram, if the level has histograms.
    #[inline]
    pub fn record(self, histogram: Histogram, value: u64) {
        debug_assert!(histogram.is_counted(), "{histogram:?} is declared to stay 0");
        if self.level < StatsLevel::ExceptTimers as u8 {
            return;
        }
        match self.counters.histograms[histogram as usize].get() {
            Some(counters) => self.record_in(counters, value),
            None => self.record_first(histogram, value),
        }
    }

    #[inline]
    fn record_in(self, counters: &HistogramCounters, value: u64) {
        if self.stripe.is_shared() {
            return counters.add_shared(value);
        }
        self.stripe.add(&counters.buckets[bucket_of(value)], 1);
        self.stripe.add(&counters.sum, value);
        self.stripe.add(&counters.sum_of_squares, value.wrapping_mul(value));
        if value < counters.min.load(Ordering::Relaxed) {
            counters.min.store(value, Ordering::Relaxed);
        }
        if value > counters.max.load(Ordering::Relaxed) {
            counters.max.store(value, Ordering::Relaxed);
        }
    }

    #[cold]
    fn record_first(self, histogram: Histogram, value: u64) {
        let counters = self.counters.histograms[histogram as usize].get_or_init(|| Box::new(HistogramCounters::new()));
        self.record_in(counters, value);
    }
}
