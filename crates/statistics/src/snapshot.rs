//! What a [`Statistics`] had counted at one moment.

use crate::{Histogram, HistogramData, Statistics, Ticker};

/// The tickers and histograms that count, in the order of RocksDB's numbers. Each is read by itself: a count that comes
/// while others are read may be in one of them alone.
///
/// ```
/// use ferrock_statistics::{Statistics, Ticker};
///
/// let statistics = Statistics::default();
/// statistics.add(Ticker::BytesRead, 7);
/// let snapshot = statistics.snapshot();
/// assert!(snapshot.tickers.contains(&(Ticker::BytesRead, 7)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatisticsSnapshot {
    /// Every ticker that counts, with its value.
    pub tickers: Vec<(Ticker, u64)>,
    /// Every histogram that counts, with its values.
    pub histograms: Vec<(Histogram, HistogramData)>,
}

impl Statistics {
    /// What was counted until now.
    #[must_use]
    pub fn snapshot(&self) -> StatisticsSnapshot {
        let tickers = Ticker::ALL.iter().filter(|ticker| ticker.is_counted());
        let histograms = Histogram::ALL.iter().filter(|histogram| histogram.is_counted());
        StatisticsSnapshot {
            tickers: tickers.map(|ticker| (*ticker, self.ticker(*ticker))).collect(),
            histograms: histograms.map(|histogram| (*histogram, self.histogram(*histogram))).collect(),
        }
    }
}
