//! What is counted of a thread by the level of the tree, where the thread wants that.
//!
//! ```text
//! thread   [level 0: sum 0 .. sum 6] [level 1: ..] ..     as many as were counted; none before the thread wants them
//! ```

use crate::measures::measures;
use std::cell::RefCell;
use std::fmt::Write as _;

measures! {
    /// A sum of one thread and one level: see [`PerfContext::count_by_level`](crate::PerfContext::count_by_level).
    LevelMetric {
        BloomFilterUseful "bloom_filter_useful" counts "Lookups in a table that its filter of whole keys ended.",
        BloomFilterFullPositive "bloom_filter_full_positive" counts
            "Lookups in a table that its filter of whole keys let pass.",
        BloomFilterFullTruePositive "bloom_filter_full_true_positive" counts "Those whose key the table had.",
        UserKeyReturnCount "user_key_return_count" counts "Lookups that ended in a table.",
        GetFromTableNanos "get_from_table_nanos" counts "Nanoseconds of asking tables, by lookups of one key.",
        BlockCacheHitCount "block_cache_hit_count" counts "Blocks that were found in the block cache.",
        BlockCacheMissCount "block_cache_miss_count" counts
            "Blocks that were looked for in the block cache and not there.",
    }
}

const METRICS: usize = LevelMetric::ALL.len();

/// The sums of the levels from 0 on.
pub(crate) type LevelSums = Vec<[u64; METRICS]>;

/// No tree has so many levels.
const MAX_LEVELS: usize = 256;

thread_local! {
    static SUMS: RefCell<LevelSums> = const { RefCell::new(Vec::new()) };
}

/// Adds to a sum of the thread.
#[cold]
pub(crate) fn add(level: usize, metric: LevelMetric, amount: u64) {
    if level >= MAX_LEVELS {
        return;
    }
    SUMS.with_borrow_mut(|sums| {
        if sums.len() <= level {
            sums.resize(level + 1, [0; METRICS]);
        }
        let sum = &mut sums[level][metric as usize];
        *sum = sum.wrapping_add(amount);
    });
}

/// The sums of the thread.
pub(crate) fn of_thread() -> LevelSums {
    SUMS.with_borrow(Clone::clone)
}

/// Sets them to 0.
pub(crate) fn reset_thread() {
    SUMS.with_borrow_mut(Vec::clear);
}

/// RocksDB's text of the sums, behind that of the sums of all levels: `name = value@level0, value@level1`.
pub(crate) fn report(sums: &LevelSums, without_zeros: bool, out: &mut String) {
    for metric in LevelMetric::ALL {
        let value = |level: usize| sums[level][*metric as usize];
        let mut before = format!("{} = ", metric.name());
        for level in (0..sums.len()).filter(|level| !without_zeros || value(*level) != 0) {
            let comma = if out.is_empty() { "" } else { ", " };
            let _ = write!(out, "{comma}{before}{}@level{level}", value(level));
            before.clear();
        }
    }
}
