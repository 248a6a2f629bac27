//! How much a [`Statistics`](crate::Statistics) counts.

/// What is counted. A level has all that the levels before it have. Numbers and meaning are RocksDB's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StatsLevel {
    /// Nothing.
    DisableAll = 0,
    /// Tickers.
    ExceptHistogramOrTimers = 1,
    /// Histograms of sizes and numbers.
    ExceptTimers = 2,
    /// Times of operations, reads and syncs.
    #[default]
    ExceptDetailedTimers = 3,
    /// Times of parts of operations: the reads of tables by lookups, scans and verifications.
    ExceptTimeForMutex = 4,
    /// The same.
    All = 5,
}

impl StatsLevel {
    /// The level with RocksDB's number; a larger number is [`All`](Self::All).
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Self::DisableAll,
            1 => Self::ExceptHistogramOrTimers,
            2 => Self::ExceptTimers,
            3 => Self::ExceptDetailedTimers,
            4 => Self::ExceptTimeForMutex,
            _ => Self::All,
        }
    }
}
