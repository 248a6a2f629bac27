//! What a database tells about itself as time passes: dumps of statistics into the LOG, snapshots of them for its
//! history, and counts that begin from zero again.
//!
//! ```text
//! every stats_dump_period_sec:  "DUMPING STATS": dbstats, cfstats of each family, "STATISTICS:" where there are some
//! every stats_persist_period_sec:  a snapshot of the statistics (stats_history.rs), where there are some
//!
//! asked by      a job that begins
//!               the timer of the process (stats_timer.rs)      every other database
//!               the thread of wakeups.rs                       a database with a clock or threads of its own
//! ```
//!
//! Of these the one that comes first in a period dumps, or takes the snapshot. As in RocksDB a family in which nothing
//! happened since the last dump is told once more and then in every eighth period, and a database that is open for
//! reading does neither.
//!
//! Counters never go back: [`Db::metrics`](super::Db::metrics) is scraped, and a reset would look there like a restart.
//! A reset notes what they are, and properties tell the difference.

use super::{DbCore, properties, stats_history};
use crate::column_family::ColumnFamilyData;
use crate::metrics::levels::Activity;
use ferrock_options::DbSettings;
use ferrock_statistics::Statistics;
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

/// Which thread asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    /// One that begins a job, for which writers may wait: it writes nothing to the database.
    Job,
    /// One that is there for it.
    Timer,
}

/// Tells what is due where a job begins.
pub(super) fn job_begins(core: &DbCore) {
    tell(core, Asker::Job);
}

/// Tells what is due. Returns after how many microseconds the next is; `None`: never, as the options are.
pub(super) fn tell_if_due(core: &DbCore) -> Option<u64> {
    tell(core, Asker::Timer);
    until_due_us(core)
}

fn tell(core: &DbCore, asker: Asker) {
    let now_us = core.env.clock.monotonic_us();
    // A logger or a file system of the caller's that panics takes neither a job nor the timer with it.
    if let Some(period_us) = period_us(core, core.options.load().stats_dump_period_sec)
        && core.metrics.dumps().begin(now_us, period_us)
    {
        let _ = catch_unwind(AssertUnwindSafe(|| dump(core)));
    }
    if let Some((statistics, period_us)) = kept_statistics(core)
        && (asker == Asker::Timer || !core.options.load().persist_stats_to_disk)
        && core.metrics.snapshots().begin(now_us, period_us)
    {
        let _ = catch_unwind(AssertUnwindSafe(|| stats_history::keep(core, statistics)));
    }
}

/// After how many microseconds something is due; `None`: never, as the options are.
pub(super) fn until_due_us(core: &DbCore) -> Option<u64> {
    let now_us = core.env.clock.monotonic_us();
    let dump = period_us(core, core.options.load().stats_dump_period_sec);
    let dump = dump.map(|period_us| core.metrics.dumps().until_us(now_us, period_us));
    let snapshot = kept_statistics(core).map(|(_, period_us)| core.metrics.snapshots().until_us(now_us, period_us));
    dump.into_iter().chain(snapshot).min()
}

/// True where a thread of the database's own is asked for: by another period than the default one, or by snapshots that
/// jobs do not take.
pub(super) fn wants_thread(core: &DbCore) -> bool {
    let (options, defaults) = (core.options.load(), DbSettings::default());
    let is_dumped = period_us(core, options.stats_dump_period_sec).is_some();
    (is_dumped && options.stats_dump_period_sec != defaults.stats_dump_period_sec)
        || (kept_statistics(core).is_some()
            && (options.persist_stats_to_disk || options.stats_persist_period_sec != defaults.stats_persist_period_sec))
}

/// The statistics that snapshots are taken of, and the microseconds between two of them.
fn kept_statistics(core: &DbCore) -> Option<(&Statistics, u64)> {
    let statistics = core.metrics.statistics()?;
    Some((statistics, period_us(core, core.options.load().stats_persist_period_sec)?))
}

/// A period in microseconds; `None` where nothing is told.
fn period_us(core: &DbCore, seconds: u32) -> Option<u64> {
    let is_told = seconds > 0 && !core.jobs.is_read_only() && !core.jobs.is_closing();
    is_told.then(|| u64::from(seconds) * 1_000_000)
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
