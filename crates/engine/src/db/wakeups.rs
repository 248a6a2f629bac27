//! A thread that looks for compactions which are due by age, or by reads, while nothing else changes the tree; and that
//! has statistics told (`stats.rs`) where the database has a clock or threads of its own.
//!
//! ```text
//! open, new family, changed options: settle -> is an age looked at, or its own clock? --no--> no thread, or it ends
//!                                                    | yes
//!                                   sleep, look at all families, sleep, ...      closing: woken at once, ends
//! ```
//!
//! Flushes, compactions and the release of a snapshot that a table waits for ([`Releases`]) have families looked at; on
//! a quiet database only time passes, and only this thread sees it. It looks every
//! `max_compaction_trigger_wakeup_seconds`, and more often where a family has an age that five looks of this length
//! would pass: as in RocksDB, what is due begins at most a fifth of its age late.
//!
//! Reads count in the tables that they meet (`read_triggered_compaction_threshold`) and wake no thread: where a family
//! has that option the thread runs, and looks at its tables whenever it looks at ages.
//!
//! Families whose ages are 30 days or more (the default of `ttl`) are no reason for a thread, unless
//! `max_compaction_trigger_wakeup_seconds` was changed: a process may have thousands of databases, and RocksDB has one
//! thread for all of theirs. Such a thread was rejected, because each database has a clock of its own. The defaults of
//! `stats_dump_period_sec` and `stats_persist_period_sec` are no reason either: on the machine's clock the timer of the
//! process (`stats_timer.rs`) has statistics told, and on another one this thread where it runs anyway, or another
//! period was asked for.

use super::{DbCore, stats, stats_timer};
use crate::metrics::Counters;
use crate::snapshot::ReleaseObserver;
use ferrock_base::SequenceNumber;
use ferrock_base::clock::{Alarm, Clock};
use ferrock_options::{ColumnFamilyOptions, CompactionShape, DbSettings};
use ferrock_tree::version::Version;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The thread comes this often within the age of what it looks for.
const LOOKS_WITHIN_AGE: u64 = 5;
/// Ages from here on start no thread by themselves.
const OLD_SECS: u64 = 30 * 24 * 3600;
/// Longer sleeps are of no use, and some clocks have no end of them.
const LONGEST_SLEEP_SECS: u64 = 365 * 24 * 3600;

/// Has all families looked at when a snapshot is released that kept old versions in their tables.
#[derive(Debug)]
pub(super) struct Releases(pub(super) Weak<DbCore>);

impl ReleaseObserver for Releases {
    fn released(&self) {
        if let Some(core) = self.0.upgrade()
            && core.reads.snapshots().end_wait(core.visible())
        {
            core.jobs.ask_all_families();
        }
    }
}

/// Notes what the tables of a family wait for that are at the bottom and not worth rewriting yet, before a choice is
/// made from what is. A family that is gone, without a version, has none.
pub(super) fn await_release(core: &DbCore, family: u32, version: Option<&Version>, options: &ColumnFamilyOptions) {
    // Runs are rewritten for their number and sizes alone, as in RocksDB.
    let is_compacted = options.compaction_shape() == CompactionShape::Levels && !options.disable_auto_compactions;
    let deepest =
        version.filter(|_| is_compacted).and_then(|version| Some((version, version.deepest_compacted_level()?)));
    loop {
        let threshold = core.reads.snapshots().bottommost_threshold(|| core.visible());
        let newest = deepest.and_then(|(version, level)| {
            let numbers = version.level(level).iter().map(|file| file.largest_seqno);
            // Rewritten at the bottom, all numbers are 0.
            numbers.filter(|number| *number >= threshold && *number > SequenceNumber(0)).min()
        });
        if core.reads.snapshots().await_release(family, newest, || core.visible()) {
            return;
        }
    }
}

/// Starts the thread where the options need it and it does not run; else has it look at them. Without a thread to be
/// had, the next call tries again. The timer of the process learns of the options, too.
pub(super) fn settle(core: &Arc<DbCore>) {
    stats_timer::settle(core);
    let mut is_running = core.wakeups.is_running.lock();
    if *is_running {
        return core.wakeups.wake();
    }
    if !is_needed(core) {
        return;
    }
    let (weak, clock, alarm) = (Arc::downgrade(core), Arc::clone(&core.env.clock), Arc::clone(&core.wakeups.alarm));
    let began_us = clock.monotonic_us();
    let started = core.env.spawner.spawn("ferrock:wakeups", Box::new(move || run(&weak, &*clock, &alarm, began_us)));
    match started {
        Ok(_) => *is_running = true,
        Err(error) => core.events.log().warn(|| format!("what is due by age waits for other work: {error}")),
    }
}

/// The body of the thread.
fn run(core: &Weak<DbCore>, clock: &dyn Clock, alarm: &Arc<Alarm>, mut looked_us: u64) {
    loop {
        // Before anything is looked at: what changes from here on ends the sleep below.
        alarm.arm();
        let Some(core) = core.upgrade() else { return };
        let mut is_running = core.wakeups.is_running.lock();
        if !is_needed(&core) {
            *is_running = false;
            return;
        }
        drop(is_running);
        let period_us = period_secs(&core).map(|seconds| seconds * 1_000_000);
        let (now_us, due_us) = (clock.monotonic_us(), period_us.map(|period_us| looked_us.saturating_add(period_us)));
        if due_us.is_some_and(|due_us| now_us >= due_us) {
            looked_us = now_us;
            core.events.log().info(|| "looking for compactions that are due by age".to_owned());
            core.jobs.ask_all_families();
            Counters::add(&core.metrics.counters().age_looks, 1);
            continue;
        }
        let until_told_us = tell_if_due(&core);
        drop(core);
        let until_us = due_us.map_or(u64::MAX, |due_us| due_us - now_us).min(until_told_us.unwrap_or(u64::MAX));
        clock.idle(alarm, Duration::from_micros(until_us.min(LONGEST_SLEEP_SECS * 1_000_000)));
    }
}

/// Tells statistics that are due; returns when the next are. `None` where the timer of the process does it.
fn tell_if_due(core: &DbCore) -> Option<u64> {
    // A close waits for it, and one that has begun tells nothing any more.
    let _hold = core.jobs.hold_open().ok()?;
    if stats_timer::is_shared(core) { None } else { stats::tell_if_due(core) }
}

/// True where the thread has something to do.
fn is_needed(core: &DbCore) -> bool {
    let tells = !stats_timer::is_shared(core) && stats::wants_thread(core);
    tells || period_secs(core).is_some()
}

/// How often the thread looks; `None` where it is of no use.
fn period_secs(core: &DbCore) -> Option<u64> {
    if core.jobs.is_read_only() || core.jobs.is_closing() {
        return None;
    }
    let families = core.families.load();
    let youngest = families.iter().filter_map(|data| shortest_age_secs(&data.options.load())).min();
    let longest = core.options.load().max_compaction_trigger_wakeup_seconds;
    let is_default = longest == DbSettings::default().max_compaction_trigger_wakeup_seconds;
    let looks_at_ages = youngest.is_some_and(|youngest| youngest < OLD_SECS || !is_default);
    if !looks_at_ages && !families.iter().any(|data| is_compacted_by_reads(&data.options.load())) {
        return None;
    }
    Some(longest.min(youngest.map_or(u64::MAX, |youngest| youngest / LOOKS_WITHIN_AGE)).clamp(1, LONGEST_SLEEP_SECS))
}

/// True where reads make tables of a family due, of which nothing else tells a quiet database.
fn is_compacted_by_reads(options: &ColumnFamilyOptions) -> bool {
    let has_levels = matches!(options.compaction_shape(), CompactionShape::Levels | CompactionShape::Runs);
    options.counts_reads() && has_levels && !options.disable_auto_compactions
}

/// The shortest age that makes a table of a family due.
fn shortest_age_secs(options: &ColumnFamilyOptions) -> Option<u64> {
    let temperatures = &options.compaction_options_fifo.file_temperature_age_thresholds;
    let ages = [
        options.periodic_compaction_seconds,
        options.ttl,
        temperatures.first().map_or(0, |first| first.age),
        u64::from(options.bottommost_file_compaction_delay),
        options.preclude_last_level_data_seconds,
    ];
    let ages = ages.into_iter().filter(|age| *age > 0 && *age <= u64::MAX / 2);
    ages.min().filter(|_| !options.disable_auto_compactions)
}
