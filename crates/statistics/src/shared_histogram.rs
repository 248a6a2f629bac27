//! A histogram that any thread adds to, for what is rare.

use crate::HistogramData;
use crate::recorder::HistogramCounters;

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
        self.0.add_shared(value);
    }

    /// What was added so far.
    #[must_use]
    pub fn data(&self) -> HistogramData {
        self.0.data()
    }
}
