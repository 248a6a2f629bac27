//! A histogram that any thread adds to, for what is rare.

use crate::HistogramData;
use crate::buckets::bucket_of;
use crate::recorder::HistogramCounters;
use std::sync::atomic::Ordering;

/// A histogram that any thread adds to, with locked instructions.
///
/// ```
/// let histogram = ferrock_statistics::SharedHistogram::default();
/// histogram.add(7);
/// assert_eq!(histogram.data().max(), 7);
/// ```
#[derive(Debug)]
pub struct SharedHistogram(HistogramCounters);

impl Default for SharedHistogram {
    fn default() -> Self {
        Self(HistogramCounters::new())
    }
}

impl SharedHistogram {
    /// Adds a value.
    pub fn add(&self, value: u64) {
        self.0.buckets[bucket_of(value)].fetch_add(1, Ordering::Relaxed);
        self.0.sum.fetch_add(value, Ordering::Relaxed);
        self.0.sum_of_squares.fetch_add(value.wrapping_mul(value), Ordering::Relaxed);
        self.0.min.fetch_min(value, Ordering::Relaxed);
        self.0.max.fetch_max(value, Ordering::Relaxed);
    }

    /// What was added so far.
    #[must_use]
    pub fn data(&self) -> HistogramData {
        self.0.data()
    }
}
