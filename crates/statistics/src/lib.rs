//! What a database does, in numbers under RocksDB's names.
//!
//! ```text
//! Statistics     tickers (sums) and histograms of one database, or of several that share the object
//!   stripe 0     [ticker 0 .. ticker 262] [histogram 0 .. histogram 79, each made at its first value]
//!   stripe ..    one for each thread that counts, so that none waits for the cache line of another
//! PerfContext    sums of one thread, which the thread itself resets and reads
//! ```
//!
//! | file | is |
//! |---|---|
//! | `tickers.rs`, `histograms.rs`, `perf_metrics.rs` | the tables of names, in the order of RocksDB's numbers |
//! | `measures.rs` | the macro that makes enums of them |
//! | `buckets.rs`, `histogram_data.rs` | buckets, and what is computed from them |
//! | `statistics.rs`, `recorder.rs` | the counters of a database, and how a thread adds to them |
//! | `shared_histogram.rs` | a histogram by itself |
//! | `snapshot.rs` | what a database had counted at one moment |
//! | `level.rs` | what is counted |
//! | `perf.rs`, `perf_levels.rs` | the counters of a thread, and those by the level of the tree |
//! | `timers.rs` | how long something takes |
//!
//! A count that is added by one thread is seen by another at once or a little later; none is lost. A reset keeps what
//! there was as a base that is taken off, so that it waits for no thread that counts.

mod buckets;
mod histogram_data;
mod histograms;
mod level;
mod measures;
mod perf;
mod perf_levels;
mod perf_metrics;
mod recorder;
mod shared_histogram;
mod snapshot;
mod statistics;
mod tickers;
mod timers;

pub use histogram_data::HistogramData;
pub use histograms::Histogram;
pub use level::StatsLevel;
pub use perf::{PerfContext, PerfLevel, PerfRecorder, ThreadState};
pub use perf_levels::LevelMetric;
pub use perf_metrics::PerfMetric;
pub use recorder::Recorder;
pub use shared_histogram::SharedHistogram;
pub use snapshot::StatisticsSnapshot;
pub use statistics::Statistics;
pub use tickers::Ticker;
pub use timers::{MeasureTimer, PerfLaps, PerfTimer};
