//! Everything that learns from reads: what is observed, for how long, and what is decided from it.
//!
//! | | observed | for how long | decided | shown by |
//! |---|---|---|---|---|
//! | `FilterMissRate` | lookups of a table that find nothing, with a partitioned filter in the cache | last 32 or so, while the table is open | share of missing filter partitions that are read | `--experiment=scarce-memory` |
//! | `ReadHistory` | bytes that scans with bounds read of a table, and those left unused | last 8 MiB, while the table is open | whether windows trust the bounds | `seekrandom --max_scan_distance` |
//! | `CrossingRamp` | index partitions that one scan crosses | until it is placed anew | bytes of partitions in its next read | `fast-forward` |
//! | [`ReadStats`] | lookups, range reads and block reads of a family | while it is open | nothing by itself: [`HashIndexChoice`], statistics | |
//! | [`HashIndexChoice`] | the same, since its last decision | 2000 reads and more | whether the next table has a data-block hash index | `--experiment=hash-index`, `hash-index-sweep` |
//!
//! Nothing is kept across a reopening. The figures are in docs/benchmarks.md, under *Adaptive guesses*.

mod filter_miss_rate;
mod hash_index_choice;
mod partition_runs;
mod read_history;
mod read_stats;

pub use hash_index_choice::{Decision, HASH_INDEX_PROPERTY, HashIndexChoice};
pub use read_stats::{ReadCounts, ReadStats};

pub(crate) use filter_miss_rate::FilterMissRate;
pub(crate) use partition_runs::{CrossingRamp, EAGER_BYTES, NEAR_BYTES};
pub(crate) use read_history::ReadHistory;
