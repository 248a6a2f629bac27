//! What a database tells about itself as time passes: dumps of statistics into the LOG, and counts that begin from zero
//! again.
//!
//! ```text
//! every stats_dump_period_sec:  "DUMPING STATS": dbstats, cfstats of each family, "STATISTICS:" where there are some
//!
//! asked by      a job that begins
//!               the timer of the process (stats_timer.rs)      every other database
//!               the thread of wakeups.rs                       a database with a clock or threads of its own
//! ```
//!
//! Of these the one that comes first in a period dumps. As in RocksDB a family in which nothing happened since the last
//! dump is told once more and then in every eighth period, and a database that is open for reading dumps nothing.
//!
//! Counters never go back: [`Db::metrics`](super::Db::metrics) is scraped, and a reset would look there like a restart.
//! A reset notes what they are, and properties tell the difference.

use super::{DbCore, properties};
use crate::column_family::ColumnFamilyData;
use crate::metrics::levels::Activity;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// See [`Db::reset_stats`](super::Db::reset_stats).
pub(super) fn reset(core: &DbCore) {
    let now_us = core.env.clock.monotonic_us();
    core.metrics.reset(now_us, core.jobs.counts(0).errors);
    for data in core.families.load().iter() {
        data.jobs.reset(now_us);
        data.stalls.reset();
        data.table_cache.read_stats().reset_latencies();
    }
}

/// Tells what is due. Returns after how many microseconds the next is; `None`: never, as the options are.
pub(super) fn tell_if_due(core: &DbCore) -> Option<u64> {
    let period_us = period_us(core)?;
    let now_us = core.env.clock.monotonic_us();
    if core.metrics.begin_dump(now_us, period_us) {
        // A logger or a file system of the caller's that panics takes neither a job nor the timer with it.
        let _ = catch_unwind(AssertUnwindSafe(|| dump(core)));
    }
    Some(core.metrics.until_dump_us(now_us, period_us))
}

/// After how many microseconds something is due; `None`: never, as the options are.
pub(super) fn until_due_us(core: &DbCore) -> Option<u64> {
    Some(core.metrics.until_dump_us(core.env.clock.monotonic_us(), period_us(core)?))
}

/// Microseconds between two dumps; `None` without any.
fn period_us(core: &DbCore) -> Option<u64> {
    if core.jobs.is_read_only() || core.jobs.is_closing() {
        return None;
    }
    let seconds = core.options.load().stats_dump_period_sec;
    (seconds > 0).then(|| u64::from(seconds) * 1_000_000)
}

fn dump(core: &DbCore) {
    let log = core.events.log();
    log.info(|| "------- DUMPING STATS -------".to_owned());
    // Texts are made before the LOG is locked.
    let stats = properties::db_stats(core);
    log.info(|| stats);
    for data in core.families.load().iter() {
        if core.jobs.is_closing() {
            return;
        }
        if data.jobs.begin_dump(activity(data))
            && let Some(stats) = properties::property(core, data, "cfstats")
        {
            log.info(|| stats);
        }
    }
    if let Some(statistics) = core.metrics.statistics() {
        let statistics = format!("STATISTICS:\n{statistics}");
        log.info(|| statistics);
    }
}

/// What tells whether anything happened in a family.
fn activity(data: &ColumnFamilyData) -> Activity {
    let stalls = data.stalls.counts();
    let reads = data.table_cache.read_stats().latencies();
    Activity {
        jobs: data.jobs.now().all(),
        stalls: stalls.delays() + stalls.stops(),
        reads: reads.values().map(|histogram| histogram.count()).sum(),
    }
}
