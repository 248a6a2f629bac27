//! Which job runs when. Jobs start when there is work and a free place, on a thread
//! each; an idle database has none.
//!
//! A quarter of `max_background_jobs`, at least one, are places for flushes: a flush must
//! never wait behind a long compaction.

use super::{DbCore, FamilyState, State};
use crate::background_error::Reason;
use crate::db::cleanup;
use crate::db::compact;
use crate::db::flush;
use crate::db::pause;
use crate::db::properties;
use crate::db::resume;
use crate::db::write;
use crate::options::ColumnFamilyOptions;
use crate::write::controller::StallCondition;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_tree::compaction::picker::stall::{self, StallInput};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) fn max_background_flushes(core: &DbCore) -> usize {
    (max_background_jobs(core) / 4).max(1)
}

pub(crate) fn max_background_compactions(core: &DbCore) -> usize {
    max_background_jobs(core).saturating_sub(max_background_flushes(core)).max(1)
}

fn max_background_jobs(core: &DbCore) -> usize {
    usize::try_from(core.options.load().max_background_jobs).unwrap_or(2)
}

/// Starts as many jobs as there are places and work for.
pub(crate) fn schedule(core: &Arc<DbCore>, state: &mut State) {
    if core.is_read_only || state.pauses > 0 || state.error.standing().is_some() {
        return;
    }
    // Jobs give up when the database closes. One begun now would too, and begin the next, without end.
    if core.is_closing.load(Ordering::Acquire) {
        return;
    }
    schedule_flushes(core, state);
    schedule_compactions(core, state);
}

fn schedule_flushes(core: &Arc<DbCore>, state: &mut State) {
    while state.running_flushes < max_background_flushes(core) {
        // The one that has waited longest: a busy family must not keep an idle one, and with it the log, waiting.
        let waiting = state.families.values().filter(|family| needs_flush(family));
        let longest = waiting.min_by_key(|family| family.immutable.front().map(|first| first.log_number_after));
        let Some(id) = longest.map(|family| family.data.id) else { return };
        state.running_flushes += 1;
        if let Some(family) = state.families.get_mut(&id) {
            family.is_flush_running = true;
        }
        let job_core = Arc::clone(core);
        start_job(
            core,
            state,
            "ferrock:flush",
            move || flush::run_flush(&job_core, id),
            |state| {
                state.running_flushes -= 1;
                if let Some(family) = state.families.get_mut(&id) {
                    family.is_flush_running = false;
                }
            },
        );
    }
}

fn schedule_compactions(core: &Arc<DbCore>, state: &mut State) {
    while state.running_compactions < max_background_compactions(core) {
        let Some(job) = compact::pick_compaction(core, state) else { return };
        state.running_compactions += 1;
        let (id, running) = (job.data.id, job.running);
        let job_core = Arc::clone(core);
        start_job(
            core,
            state,
            "ferrock:compact",
            move || compact::run_compaction(&job_core, job),
            move |state| {
                state.running_compactions -= 1;
                if let Some(family) = state.families.get_mut(&id) {
                    family.running.finish(running);
                }
            },
        );
    }
}

fn start_job(
    core: &DbCore,
    state: &mut State,
    name: &str,
    job: impl FnOnce() + Send + 'static,
    undo: impl FnOnce(&mut State),
) {
    if let Err(error) = core.env.spawner.spawn(name, Box::new(job)) {
        undo(state);
        resume::set_background_error_locked(core, state, Reason::Compaction, &error);
    }
}

/// Dumps the statistics into the LOG when their period is over. Asked after every job: an idle database has nothing
/// new to say.
pub(crate) fn dump_stats_if_due(core: &DbCore) {
    let period_us = u64::from(core.options.load().stats_dump_period_sec) * 1_000_000;
    let now = core.env.clock.monotonic_us();
    if core.metrics.begin_dump(now, period_us) {
        for data in core.families.load().iter() {
            if let Some(stats) = properties::property(core, data, "cfstats") {
                core.events.log().info(|| stats);
            }
        }
        core.events.log().info(|| properties::db_stats(core));
    }
}

/// Tells the writers how far behind flush and compaction of a family are.
pub(crate) fn update_stall_condition(core: &DbCore, family: &FamilyState, options: &ColumnFamilyOptions) {
    let version = Arc::clone(&family.data.super_version.load().version);
    let input = StallInput {
        num_unflushed_memtables: family.immutable.len(),
        num_level_0_files: version.level(0).len(),
        compaction_needed_bytes: version.estimated_compaction_needed_bytes(options),
    };
    let wanted = stall::stall_condition(options, &input);
    family.data.stalls.add(wanted, family.running.uses_level_0());
    let condition = match wanted {
        stall::StallCondition::Normal => StallCondition::Normal,
        stall::StallCondition::Delayed(_) => StallCondition::Delayed,
        stall::StallCondition::Stopped(_) => StallCondition::Stopped,
    };
    let before = core.writes.controller().condition();
    let near_stop = stall::is_near_stop(options, &input);
    core.writes.controller().update(family.data.id, condition, input.compaction_needed_bytes, near_stop);
    let after = core.writes.controller().condition();
    if before != after {
        core.events.log().warn(|| format!("[{}] writes are {after:?} (were {before:?}): {wanted:?}", family.data.name));
        core.changed.notify_all();
    }
}

/// Waits until no job runs or waits for its turn.
pub(crate) fn wait_for_background_work(core: &DbCore) -> Result<()> {
    let mut state = core.state.lock();
    loop {
        let is_busy = state.running_flushes > 0
            || state.running_compactions > 0
            || (state.error.standing().is_none()
                && !core.is_closing.load(Ordering::Acquire)
                && state.families.values().any(needs_flush));
        if !is_busy {
            let result = state.error.check();
            drop(state);
            core.files.wait();
            return result;
        }
        core.changed.wait(&mut state);
    }
}

/// Ends the database: no new work, wait for what runs, flush what no log has, close the log, give up the lock.
pub(crate) fn close(core: &Arc<DbCore>) -> Result<()> {
    if core.is_read_only || core.is_closing.load(Ordering::Acquire) {
        return Ok(());
    }
    // Closing waits for the writer that leads the queue, which must not wait for its delay or for the end of a
    // stop.
    core.writes.controller().end_delays();
    pause::end_pauses(core);
    let mut result = Ok(());
    if core.writes.has_unlogged_writes()
        && !core.options.load().avoid_flush_during_shutdown
        && !core.has_background_error.load(Ordering::Acquire)
    {
        let ids: Vec<u32> = core.families.load().iter().map(|data| data.id).collect();
        result = flush::flush_families(core, &ids, true);
    }
    // Writers that are in the queue finish; those that come later are refused.
    let already = write::exclusively(core, |core| core.is_closing.swap(true, Ordering::AcqRel)).unwrap_or(true);
    if already {
        return result;
    }
    core.files.stop();
    let mut state = core.state.lock();
    core.changed.notify_all();
    core.resume_alarm.ring();
    while state.running_flushes > 0
        || state.running_compactions > 0
        || state.error.is_recovering()
        || state.running_manual > 0
    {
        core.changed.wait(&mut state);
    }
    drop(state);
    core.files.wait();
    if core.files.is_cleanup_owed() {
        // A job ended while closing waited for it, or while a reader held its inputs: they would stay beside its
        // outputs until the next open.
        cleanup::delete_unneeded_files(core);
    }
    result = result.and(core.writes.logs().close());
    core.events.log().info(|| "closed".to_owned());
    core.files.unlock_directory();
    result
}

pub(crate) fn closing_error(core: &DbCore) -> Result<()> {
    if core.is_closing.load(Ordering::Acquire) {
        return Err(Error::new(ErrorKind::ShutdownInProgress, "the database is closing"));
    }
    Ok(())
}

/// True when a flush of the family should run and none does.
pub(crate) fn needs_flush(family: &FamilyState) -> bool {
    if family.is_flush_running || family.immutable.is_empty() {
        return false;
    }
    let enough = usize::try_from(family.data.options.load().min_write_buffer_number_to_merge).unwrap_or(1);
    family.is_flush_requested || family.immutable.len() >= enough
}
