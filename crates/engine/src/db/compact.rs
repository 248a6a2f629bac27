//! Compactions of a database: chosen, run as [`CompactionJob`]s of the tree, installed by one VersionEdit each.
//!
//! The inputs are marked before a compaction starts and stay marked until it ended, so compactions that run at once
//! never share a file. Readers keep their Versions; nothing waits for them and they wait for nothing.

use super::{DbCore, FamilyState, State};
use crate::background_error::Reason;
use crate::column_family::ColumnFamilyData;
use crate::db::background;
use crate::db::cleanup;
use crate::db::flush;
use crate::db::job_env;
use crate::db::resume;
use crate::db::switch_memtable;
use crate::metrics::Statistics;
use ferrock_base::Result;
use ferrock_options::CompactionEvent;
use ferrock_tree::compaction::choice::{CompactionChoice, CompactionKind, RunningId};
use ferrock_tree::compaction::picker::{self, PickerInput};
use ferrock_tree::job::CompactionJob;
use std::sync::Arc;

/// A compaction that has its place among those that run.
pub(crate) struct ScheduledCompaction {
    pub(crate) data: Arc<ColumnFamilyData>,
    pub(crate) choice: CompactionChoice,
    pub(crate) running: RunningId,
    pub(crate) job_id: u64,
    pub(crate) is_manual: bool,
}

/// Chooses an automatic compaction and gives it its place.
pub(crate) fn pick_compaction(core: &DbCore, state: &mut State) -> Option<ScheduledCompaction> {
    let now_secs = core.env.clock.unix_seconds();
    let bottommost_threshold = core.reads.snapshots().bottommost_threshold(|| core.visible());
    // Each time another family is asked first, so that none waits for ever behind a busy one.
    let mut ids: Vec<u32> = state.families.keys().copied().collect();
    let turn = usize::try_from(state.next_job_id).unwrap_or(0) % ids.len().max(1);
    ids.rotate_left(turn);
    for id in ids {
        let Some(family) = state.families.get_mut(&id) else { continue };
        let options = family.data.options.load_full();
        if options.disable_auto_compactions || family.exclusive_manual.keeps_others_out() {
            continue;
        }
        let Some(version) = core.versions.current(family.data.id) else { continue };
        let input = PickerInput {
            version: &version,
            options: &options,
            running: &family.running,
            bottommost_threshold,
            now_secs,
        };
        if let Some(choice) = picker::pick(&input) {
            let running = family.running.start(&choice);
            let job_id = state.next_job_id;
            state.next_job_id += 1;
            return Some(ScheduledCompaction {
                data: Arc::clone(&family.data),
                choice,
                running,
                job_id,
                is_manual: false,
            });
        }
    }
    None
}

/// True when an automatic compaction of the family is due.
pub(crate) fn is_compaction_due(core: &DbCore, family: &FamilyState) -> bool {
    let options = family.data.options.load_full();
    let Some(version) = core.versions.current(family.data.id) else { return false };
    !options.disable_auto_compactions
        && picker::needs_compaction(&PickerInput {
            version: &version,
            options: &options,
            running: &family.running,
            bottommost_threshold: core.reads.snapshots().bottommost_threshold(|| core.visible()),
            now_secs: core.env.clock.unix_seconds(),
        })
}

/// The body of an automatic compaction.
pub(crate) fn run_compaction(core: &Arc<DbCore>, job: ScheduledCompaction) {
    let result = compact(core, &job);
    // The version that the job read goes first: while the job holds it, the clean-up below keeps its files.
    let ScheduledCompaction { data, running, choice, .. } = job;
    drop(choice);
    // Closing waits for the job, and then for its clean-up.
    let cleanup = core.files.begin_cleanup();
    let mut state = core.state.lock();
    state.running_compactions -= 1;
    if let Some(family) = state.families.get_mut(&data.id) {
        family.running.finish(running);
    }
    match &result {
        Ok(()) => {}
        Err(error) if data.is_dropped() => {
            core.events.log().info(|| format!("compaction of a dropped family: {error}"))
        }
        Err(error) => resume::set_background_error_locked(core, &mut state, Reason::Compaction, error),
    }
    background::schedule(core, &mut state);
    core.changed.notify_all();
    drop(state);
    if let Some(turn) = cleanup {
        cleanup::clean_up(core, turn);
    }
    if let Err(error) = result {
        core.events.tell(|listener| listener.on_background_error(&error));
    }
    background::dump_stats_if_due(core);
}

/// Runs a compaction and installs its outputs. The inputs stay marked.
pub(crate) fn compact(core: &Arc<DbCore>, scheduled: &ScheduledCompaction) -> Result<()> {
    let before = core.env.clock.monotonic_us();
    let (data, choice) = (&scheduled.data, &scheduled.choice);
    let mut event = compaction_event(scheduled);
    core.events.tell(|listener| listener.on_compaction_begin(&event));
    let context = job_env::job_context(core, data, Some(Arc::clone(&choice.version)), choice.epoch_number)?;
    let job = CompactionJob { context: &context, choice, is_manual: scheduled.is_manual };
    let output = job.run(&**core)?;
    event.output_files = output.files.iter().map(|file| file.number).collect();
    let written = if choice.kind == CompactionKind::Merge { output.size_bytes() } else { 0 };
    let installs = core.installs.lock();
    let applied = core.versions.log_and_apply(vec![job.edit(&output)]);
    core.files.release(&output.numbers);
    let mut state = core.state.lock();
    if let Err(error) = applied {
        // The files stay: the edit may have reached the disk.
        if !data.is_dropped() {
            resume::set_background_error_locked(core, &mut state, Reason::Manifest, &error);
        }
        return Err(error);
    }
    if let Some(family) = state.families.get(&data.id) {
        switch_memtable::install_super_version(core, family, core.versions.current(data.id));
        background::update_stall_condition(core, family, &family.data.options.load());
    }
    drop(state);
    drop(installs);
    flush::open_new_tables(core, data, event.output_files.iter().copied());
    note_compaction(core, scheduled, &event, written, core.env.clock.monotonic_us().saturating_sub(before));
    core.events.tell(|listener| listener.on_compaction_completed(&event));
    Ok(())
}

fn note_compaction(core: &DbCore, job: &ScheduledCompaction, event: &CompactionEvent, written: u64, us: u64) {
    let statistics = core.metrics.statistics();
    if job.choice.kind != CompactionKind::Merge {
        Statistics::add(&statistics.trivial_moves, 1);
    } else {
        Statistics::add(&statistics.compactions, 1);
        Statistics::add(&statistics.compaction_read_bytes, job.choice.input_size_bytes());
        Statistics::add(&statistics.compaction_write_bytes, written);
        Statistics::add(&statistics.compaction_us, us);
    }
    core.events.log().info(|| {
        format!(
            "[{}] compaction {}: {} (score {:.2}) from L{} to L{}, {} files in, {} files out, {written} bytes, {us} us{}",
            job.data.name,
            job.job_id,
            job.choice.reason.name(),
            job.choice.score,
            job.choice.start_level,
            job.choice.output_level,
            event.input_files.len(),
            event.output_files.len(),
            if job.choice.kind == CompactionKind::Merge { "" } else { ", moved" },
        )
    });
}

fn compaction_event(job: &ScheduledCompaction) -> CompactionEvent {
    CompactionEvent {
        job_id: job.job_id,
        column_family: job.data.name.clone(),
        start_level: job.choice.start_level,
        output_level: job.choice.output_level,
        input_files: job.choice.input_files().map(|(_, file)| file.number).collect(),
        output_files: Vec::new(),
        is_trivial_move: job.choice.kind == CompactionKind::Move,
    }
}
