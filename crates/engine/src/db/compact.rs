//! Compactions of a database: chosen, run as [`CompactionJob`]s of the tree, installed by one VersionEdit each.
//!
//! The inputs are marked before a compaction starts and stay marked until it ended, so compactions that run at once
//! never share a file. Readers keep their Versions; nothing waits for them and they wait for nothing.

use super::job_env::JobPlace;
use super::{DbCore, cleanup, flush, job_env};
use crate::column_family::ColumnFamilyData;
use crate::jobs::ScheduledCompaction;
use crate::jobs::background_error::Reason;
use crate::metrics::Statistics;
use crate::options::{ColumnFamilyOptions, CompactRangeOptions};
use ferrock_base::Result;
use ferrock_options::CompactionEvent;
use ferrock_tree::blob::BlobCollection;
use ferrock_tree::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, RunningCompactions};
use ferrock_tree::compaction::picker::{self, PickerInput};
use ferrock_tree::job::CompactionJob;
use ferrock_tree::version::Version;
use std::sync::Arc;

/// An automatic compaction of a family that does not conflict with those that run.
pub(super) fn pick_compaction(
    core: &DbCore,
    data: &ColumnFamilyData,
    running: &RunningCompactions,
) -> Option<CompactionChoice> {
    let options = data.options.load_full();
    if options.disable_auto_compactions {
        return None;
    }
    let version = core.versions.current(data.id)?;
    picker::pick(&picker_input(core, &version, &options, running))
}

/// True when an automatic compaction of the family is due.
pub(super) fn is_compaction_due(core: &DbCore, data: &ColumnFamilyData, running: &RunningCompactions) -> bool {
    let options = data.options.load_full();
    let Some(version) = core.versions.current(data.id) else { return false };
    !options.disable_auto_compactions && picker::needs_compaction(&picker_input(core, &version, &options, running))
}

/// What a choice is made from, as of now.
pub(super) fn picker_input<'a>(
    core: &DbCore,
    version: &'a Arc<Version>,
    options: &'a ColumnFamilyOptions,
    running: &'a RunningCompactions,
) -> PickerInput<'a> {
    PickerInput {
        version,
        options,
        running,
        bottommost_threshold: core.reads.snapshots().bottommost_threshold(|| core.visible()),
        now_secs: core.env.clock.unix_seconds(),
    }
}

/// The body of an automatic compaction.
pub(super) fn run_compaction(core: &DbCore, job: ScheduledCompaction) {
    let result = compact(core, &job, None);
    // The version that the job read goes first: while the job holds it, the clean-up below keeps its files.
    let ScheduledCompaction { data, running, choice, .. } = job;
    drop(choice);
    // Closing waits for the job, and then for its clean-up.
    let cleanup = core.files.begin_cleanup();
    match &result {
        Ok(()) => {}
        Err(error) if data.is_dropped() => {
            core.events.log().info(|| format!("compaction of a dropped family: {error}"));
        }
        Err(error) => {
            core.jobs.note_error(Reason::Compaction, error);
        }
    }
    core.jobs.finish_compaction(data.id, running);
    if let Some(turn) = cleanup {
        cleanup::clean_up(core, turn);
    }
    if let Err(error) = result {
        core.events.tell(|listener| listener.on_background_error(&error));
    }
}

/// Runs a compaction and installs its outputs. The inputs stay marked. `by_hand` is what a caller asked for.
pub(super) fn compact(
    core: &DbCore,
    scheduled: &ScheduledCompaction,
    by_hand: Option<&CompactRangeOptions>,
) -> Result<()> {
    let before = core.env.clock.monotonic_us();
    let (data, choice) = (&scheduled.data, &scheduled.choice);
    let mut event = compaction_event(scheduled);
    core.events.tell(|listener| listener.on_compaction_begin(&event));
    let context = job_env::job_context(core, data, Some(Arc::clone(&choice.version)), choice.epoch_number)?;
    let settings = &context.family.options.settings;
    let collection = match by_hand {
        None => BlobCollection::automatic(settings),
        Some(options) => {
            let (policy, cutoff) = (options.blob_garbage_collection_policy, options.blob_garbage_collection_age_cutoff);
            BlobCollection::by_hand(settings, policy, cutoff)
        }
    };
    let job = CompactionJob { context: &context, choice, is_manual: scheduled.is_manual, collection };
    let output = job.run(&JobPlace(core))?;
    event.output_files = output.files.iter().map(|file| file.number).collect();
    let written = if choice.kind == CompactionKind::Merge { output.size_bytes() } else { 0 };
    let installs = core.installs.lock();
    let applied = core.versions.log_and_apply(vec![job.edit(&output)]);
    core.files.hand_over(&output.written);
    if let Err(error) = applied {
        // The files stay: the edit may have reached the disk.
        if !data.is_dropped() {
            core.jobs.note_error(Reason::Manifest, &error);
        }
        return Err(error);
    }
    core.jobs.install(data.id, core.versions.current(data.id));
    drop(installs);
    flush::open_new_tables(core, data, event.output_files.iter().copied());
    note_compaction(core, scheduled, &event, written, core.env.clock.monotonic_us().saturating_sub(before));
    core.events.tell(|listener| listener.on_compaction_completed(&event));
    Ok(())
}

fn note_compaction(core: &DbCore, job: &ScheduledCompaction, event: &CompactionEvent, written: u64, us: u64) {
    let statistics = core.metrics.statistics();
    match (job.choice.kind, job.choice.reason) {
        (CompactionKind::Merge, _) => {
            Statistics::add(&statistics.compactions, 1);
            Statistics::add(&statistics.compaction_read_bytes, job.choice.input_size_bytes());
            Statistics::add(&statistics.compaction_write_bytes, written);
            Statistics::add(&statistics.compaction_us, us);
        }
        (CompactionKind::Move, _) => Statistics::add(&statistics.trivial_moves, 1),
        (CompactionKind::Drop, CompactionReason::FifoTtl) => Statistics::add(&statistics.fifo_ttl_compactions, 1),
        (CompactionKind::Drop, CompactionReason::FifoMaxSize) => {
            Statistics::add(&statistics.fifo_max_size_compactions, 1);
        }
        (CompactionKind::Drop, _) => {}
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
            match job.choice.kind {
                CompactionKind::Merge => "",
                CompactionKind::Move => ", moved",
                CompactionKind::Drop => ", dropped",
            },
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
