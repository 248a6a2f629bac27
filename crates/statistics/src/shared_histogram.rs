//! A histogram that any thread adds to, for what is rare.

use crate::HistogramData;
use crate::recorder::HistogramCounters;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;

/// A histogram that any thread adds to, with locked instructions.
///
/// ```
/// let histogram = ferrock_statistics::SharedHistogram::default();
/// histogram.add(7);
/// assert_eq!(histogram.data().max(), 7);
/// ```
#[derive(Debug)]
pub struct SharedHistogram {
    counters: HistogramCounters,
    /// What is taken off: what was there at the last reset. A leaf.
    base: Mutex<Option<HistogramData>>,
}

impl Default for SharedHistogram {
    fn default() -> Self {
        Self { counters: HistogramCounters::new(), base: Mutex::new(None) }
    }
}

impl SharedHistogram {
    /// Adds a value.
    pub fn add(&self, value: u64) {
        self.counters.add_shared(value);
    }

    /// What was added so far, since the last [`reset`](Self::reset).
    #[must_use]
    pub fn data(&self) -> HistogramData {
        let base = self.base.lock();
        let mut data = self.counters.data();
        if let Some(base) = &*base {
            data.subtract(base);
        }
        data
    }

    /// Begins from zero again. Values that come meanwhile count before it or behind it.
    ///
    /// ```
    /// let histogram = ferrock_statistics::SharedHistogram::default();
    /// histogram.add(7);
    /// histogram.reset();
    /// histogram.add(3);
    /// assert_eq!((histogram.data().count(), histogram.data().sum(), histogram.data().max()), (1, 3, 3));
    /// ```
    pub fn reset(&self) {
        let mut base = self.base.lock();
        *base = Some(self.counters.data());
        self.counters.min.store(u64::MAX, Ordering::Relaxed);
        self.counters.max.store(0, Ordering::Relaxed);
    }
}
