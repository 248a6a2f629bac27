//! Compactions of a database: chosen, run as [`CompactionJob`]s of the tree, installed by one VersionEdit each.
//!
//! The inputs are marked before a compaction starts and stay marked until it ended, so compactions that run at once
//! never share a file. Readers keep their Versions; nothing waits for them and they wait for nothing.

use super::job_env::JobPlace;
use super::{DbCore, cleanup, event_log, flush, job_env, job_events, remote, space, wakeups};
use crate::column_family::ColumnFamilyData;
use crate::events::Event;
use crate::jobs::background_error::Reason;
use crate::jobs::{PickedCompaction, ScheduledCompaction, StoppedBy, Wanted};
use crate::metrics::Counters;
use crate::metrics::running::{JobDescription, JobKind, JobProgress};
use crate::options::{BlobGarbageCollectionPolicy, ColumnFamilyOptions};
use crate::spans;
use ferrock_base::{Error, ErrorKind, MAX_SEQUENCE_NUMBER, Result};
use ferrock_options::CompactionJobInfo;
use ferrock_statistics::{Histogram, Recorder, Ticker};
use ferrock_table::CopiedBlocks;
use ferrock_tree::blob::BlobCollection;
use ferrock_tree::compaction::choice::{CompactionKind, CompactionReason, RunningCompactions};
use ferrock_tree::compaction::picker::{self, PickerInput, Readable};
use ferrock_tree::file_counts::WrittenBy;
use ferrock_tree::job::{CompactionJob, JobOutput};
use ferrock_tree::version::Version;
use std::sync::{Arc, OnceLock};

/// An automatic compaction of a family that does not conflict with those that run, and fits into the space there is.
pub(super) fn pick_compaction(
    core: &DbCore,
    data: &ColumnFamilyData,
    running: &RunningCompactions,
    wanted: Wanted,
) -> Option<PickedCompaction> {
    let options = data.options.load_full();
    let version = core.versions.current(data.id);
    wakeups::await_release(core, data.id, version.as_deref(), &options);
    let version = version.filter(|_| !options.disable_auto_compactions)?;
    let readable = readable(core, data);
    let input = PickerInput { readable: readable.as_ref(), ..picker_input(core, &version, &options, running) };
    let choice = match wanted {
        Wanted::Any => picker::pick(&input),
        Wanted::IntoLastLevel => picker::pick_into_last_level(&input),
    }?;
    let space = space::reserve(core, &choice).ok()?;
    Some((choice, space))
}

/// True when an automatic compaction of the family is due.
pub(super) fn is_compaction_due(core: &DbCore, data: &ColumnFamilyData, running: &RunningCompactions) -> bool {
    let options = data.options.load_full();
    let Some(version) = core.versions.current(data.id) else { return false };
    if options.disable_auto_compactions {
        return false;
    }
    let readable = readable(core, data);
    let input = PickerInput { readable: readable.as_ref(), ..picker_input(core, &version, &options, running) };
    picker::needs_compaction(&input)
}

/// What can be read now, for a family that has range deletions.
fn readable(core: &DbCore, data: &ColumnFamilyData) -> Option<Readable> {
    data.table_cache.has_range_deletions().then(|| {
        // First: a snapshot that is not in the list is taken behind it, and at no older number.
        let latest = core.visible();
        Readable { snapshots: core.reads.snapshots().sequences(), latest }
    })
}

/// What a choice is made from, as of now.
pub(super) fn picker_input<'a>(
    core: &DbCore,
    version: &'a Arc<Version>,
    options: &'a ColumnFamilyOptions,
    running: &'a RunningCompactions,
) -> PickerInput<'a> {
    let now_secs = core.env.clock.unix_seconds();
    let mut bottommost_threshold = core.reads.snapshots().bottommost_threshold(|| core.visible());
    if options.kept_times_secs() > 0 {
        // A rewrite would leave younger numbers as they are, and the file due.
        let by = now_secs.saturating_sub(options.kept_times_secs());
        bottommost_threshold = bottommost_threshold.min(core.seqno_times.last_seqno_by(by).plus(1));
    }
    let early_secs = core.options.load().daily_offpeak_time_utc.early_secs(now_secs);
    let earliest_snapshot = core.reads.snapshots().oldest().unwrap_or(MAX_SEQUENCE_NUMBER);
    let readable = None;
    PickerInput { version, options, running, bottommost_threshold, earliest_snapshot, readable, now_secs, early_secs }
}

/// What a thread does that has come for an intent.
fn choose_now(core: &DbCore, intent: ScheduledCompaction) -> Option<ScheduledCompaction> {
    let ScheduledCompaction { data, running, choice, token, .. } = intent;
    // The version goes first, and closing waits for the job, and then for its clean-up, as below.
    drop(choice);
    let cleanup = core.files.begin_cleanup();
    let chosen = core.jobs.claim(&data, running);
    if let Some(turn) = cleanup {
        cleanup::clean_up(core, turn);
    }
    // The task goes on; without one it ends here.
    chosen.map(|chosen| ScheduledCompaction { token, ..chosen })
}

/// The body of an automatic compaction.
pub(super) fn run_compaction(core: &DbCore, mut job: ScheduledCompaction) {
    if job.is_intent {
        let Some(chosen) = choose_now(core, job) else { return };
        job = chosen;
    }
    let result = compact(core, &job, Request::of(StoppedBy::Abort));
    // The version that the job read goes first: while the job holds it, the clean-up below keeps its files.
    let ScheduledCompaction { data, running, choice, space, token, .. } = job;
    drop((choice, space));
    // Closing waits for the job, and then for its clean-up.
    let cleanup = core.files.begin_cleanup();
    match &result {
        Ok(_) => {}
        Err(error) if is_stop(error) => core.events.log().info(|| format!("[{}] compaction: {error}", data.name)),
        Err(error) if data.is_dropped() => {
            core.events.log().info(|| format!("compaction of a dropped family: {error}"));
        }
        Err(error) => {
            if !core.jobs.raise_error(Reason::Compaction, error) {
                core.env.clock.sleep(flush::BEFORE_NEXT_ATTEMPT);
            }
        }
    }
    let _open = core.jobs.hold_for_listeners();
    core.jobs.finish_compaction(data.id, running);
    // Behind that: what begins in its place may need the place of the job, too.
    drop(token);
    core.files.deletion().tell_of_space();
    if let Some(turn) = cleanup {
        cleanup::clean_up(core, turn);
    }
    core.events.tell(|| Event::BackgroundJobPressureChanged(core.jobs.pressure()));
}

/// True for a compaction that was told to end, by a caller, by the end of the database, or by a service that ran it:
/// nothing went wrong.
fn is_stop(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Incomplete | ErrorKind::ShutdownInProgress | ErrorKind::Aborted)
}

/// How a compaction is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub(super) stopped_by: StoppedBy<'a>,
    /// 0: as the options say.
    pub(super) max_subcompactions: u32,
    /// Which blob files it empties, where a caller decides that.
    pub(super) blob_collection: Option<(BlobGarbageCollectionPolicy, Option<f64>)>,
    /// Takes what listeners are told of its end.
    pub(super) told: Option<&'a OnceLock<CompactionJobInfo>>,
}

impl<'a> Request<'a> {
    /// As the options say.
    pub(super) fn of(stopped_by: StoppedBy<'a>) -> Self {
        Self { stopped_by, max_subcompactions: 0, blob_collection: None, told: None }
    }
}

/// Runs a compaction on the thread of its caller, and gives its files and its space free.
///
/// # Errors
/// `CompactionTooLarge`, and nothing has changed, where there is no space for it.
pub(super) fn compact_by_hand(core: &DbCore, mut job: ScheduledCompaction, request: Request<'_>) -> Result<JobOutput> {
    let result = space::reserve(core, &job.choice).and_then(|space| {
        job.space = space;
        compact(core, &job, request)
    });
    if let Err(error) = &result
        && !is_stop(error)
        && error.kind() != ErrorKind::CompactionTooLarge
        && !job.data.is_dropped()
    {
        core.jobs.raise_error(Reason::Compaction, error);
    }
    core.jobs.finish_manual_piece(job.data.id, job.running);
    drop(job);
    core.files.deletion().tell_of_space();
    result
}

/// Runs a compaction and installs its outputs. The inputs stay marked.
pub(super) fn compact(core: &DbCore, scheduled: &ScheduledCompaction, request: Request<'_>) -> Result<JobOutput> {
    let _span = spans::compaction(core.files.database(), &scheduled.data.name, &scheduled.choice);
    let before = core.env.clock.monotonic_us();
    let info = |output: Option<&JobOutput>, status: Result<()>| {
        let us = core.env.clock.monotonic_us().saturating_sub(before);
        let aborted = status.as_ref().is_err_and(is_stop);
        let info = job_events::compaction(core, scheduled, output, us, status);
        Box::new(CompactionJobInfo { aborted, ..info })
    };
    event_log::compaction_started(core, scheduled);
    core.events.tell(|| Event::CompactionBegin(info(None, Ok(()))));
    let pre_commit = |output: &JobOutput| core.events.tell(|| Event::CompactionPreCommit(info(Some(output), Ok(()))));
    let result = run_and_install(core, scheduled, request, before, &pre_commit);
    if let (Err(error), Some(recorder)) = (&result, core.metrics.recorder())
        && is_stop(error)
    {
        let is_aborted = core.jobs.num_aborts() > 0;
        recorder.add(if is_aborted { Ticker::CompactionAborted } else { Ticker::CompactionCancelled }, 1);
    }
    let us = core.env.clock.monotonic_us().saturating_sub(before);
    event_log::compaction_finished(core, scheduled, us, &result);
    core.events.tell_collected();
    let completed = || {
        let status = result.as_ref().map_or_else(|error| Err(error.clone()), |_| Ok(()));
        info(result.as_ref().ok(), status)
    };
    if let Some(told) = request.told {
        told.get_or_init(|| *completed());
    }
    core.events.tell(|| Event::CompactionCompleted(completed()));
    result
}

fn run_and_install(
    core: &DbCore,
    scheduled: &ScheduledCompaction,
    request: Request<'_>,
    before: u64,
    pre_commit: &dyn Fn(&JobOutput),
) -> Result<JobOutput> {
    let (data, choice) = (&scheduled.data, &scheduled.choice);
    let context = job_env::job_context(
        core,
        data,
        Some(Arc::clone(&choice.version)),
        choice.epoch_number,
        WrittenBy::Compaction,
    )?;
    let settings = &context.family.options.settings;
    let collection = match request.blob_collection {
        None => BlobCollection::automatic(settings),
        Some((policy, cutoff)) => BlobCollection::by_hand(settings, policy, cutoff),
    };
    let (is_manual, max_subcompactions) = (scheduled.is_manual, request.max_subcompactions);
    let job = CompactionJob { context: &context, choice, is_manual, collection, within: None, max_subcompactions };
    let progress = choice.kind.writes_files().then(|| list(core, scheduled));
    let (remote, output) = match remote::run(core, scheduled, &context, collection, progress.as_ref())? {
        Some((remote, output)) => (Some(remote), output),
        None => {
            if let Some(progress) = &progress {
                progress.begin_anew();
            }
            let place = JobPlace::of_compaction(core, request.stopped_by, Some(scheduled), progress.as_ref());
            (None, job.run(&place)?)
        }
    };
    if let Some(progress) = &progress {
        progress.installs();
    }
    pre_commit(&output);
    let written = if choice.kind.writes_files() { output.size_bytes() } else { 0 };
    let installs = core.installs.lock();
    let applied = core.versions.log_and_apply(vec![job.edit(&output)]);
    core.files.hand_over(&output.written);
    if let Err(error) = applied {
        // The files stay: the edit may have reached the disk.
        if !data.is_dropped() {
            core.jobs.set_error(Reason::Manifest, &error);
        }
        return Err(error);
    }
    core.jobs.install(data.id, core.versions.current(data.id));
    drop(installs);
    if let Some(remote) = remote {
        remote.installed();
    }
    flush::open_new_tables(core, data, output.files.iter().map(|file| file.number));
    let us = core.env.clock.monotonic_us().saturating_sub(before);
    note_compaction(core, scheduled, &output, written, us);
    data.jobs.add_compaction(choice, &output, us);
    if let Some(recorder) = core.metrics.recorder() {
        record_compaction(recorder, scheduled, &output, written, us);
    }
    Ok(output)
}

/// Lists a compaction among the jobs that run.
fn list<'a>(core: &'a DbCore, job: &ScheduledCompaction) -> JobProgress<'a> {
    let choice = &job.choice;
    let description = JobDescription {
        kind: JobKind::Compaction,
        job_id: job.job_id,
        family: job.data.name.clone(),
        reason: choice.reason.name(),
        is_manual: job.is_manual,
        start_level: Some(choice.start_level),
        output_level: choice.output_level,
        inputs: choice.input_files().count(),
        input_bytes: choice.input_size_bytes(),
    };
    core.metrics.running().begin(&*core.env.clock, description)
}

fn note_compaction(core: &DbCore, job: &ScheduledCompaction, output: &JobOutput, written: u64, us: u64) {
    let copied = output.copied;
    // Those that stay on the level above the last.
    let above = output.files.iter().filter(|file| (file.level as usize) < job.choice.output_level).count();
    let counters = core.metrics.counters();
    match (job.choice.kind, job.choice.reason) {
        (CompactionKind::Merge | CompactionKind::Copy, _) => {
            Counters::add(&counters.compactions, 1);
            Counters::add(&counters.compaction_read_bytes, job.choice.input_size_bytes());
            Counters::add(&counters.compaction_write_bytes, written);
            Counters::add(&counters.compaction_copied_blocks, copied.blocks);
            Counters::add(&counters.compaction_copied_bytes, copied.bytes);
            Counters::add(&counters.compaction_us, us);
        }
        (CompactionKind::Move, _) => Counters::add(&counters.trivial_moves, 1),
        (CompactionKind::Drop, CompactionReason::FifoTtl) => Counters::add(&counters.fifo_ttl_compactions, 1),
        (CompactionKind::Drop, CompactionReason::FifoMaxSize) => {
            Counters::add(&counters.fifo_max_size_compactions, 1);
        }
        (CompactionKind::Drop, CompactionReason::RangeDeletion) => {
            Counters::add(&counters.range_deleted_tables, job.choice.input_files().count() as u64);
        }
        (CompactionKind::Drop, _) => {}
    }
    let above = match &job.choice.proximal {
        Some(proximal) if above > 0 => format!(", {above} of them to L{}", proximal.level),
        _ => String::new(),
    };
    let copied = match copied {
        CopiedBlocks { blocks: 0, .. } => String::new(),
        CopiedBlocks { blocks, bytes } => format!(", {bytes} of them in {blocks} copied blocks"),
    };
    core.events.log().info(|| {
        format!(
            "[{}] compaction {}: {} (score {:.2}) from L{} to L{}, {} files in, {} files out{above}, {written} bytes\
             {copied}, {us} us{}",
            job.data.name,
            job.job_id,
            job.choice.reason.name(),
            job.choice.score,
            job.choice.start_level,
            job.choice.output_level,
            job.choice.input_files().count(),
            output.files.len(),
            match job.choice.kind {
                CompactionKind::Merge => "",
                CompactionKind::Move => ", moved",
                CompactionKind::Drop => ", dropped",
                CompactionKind::Copy => ", copied",
            },
        )
    });
}

/// Counts a compaction that was installed.
fn record_compaction(
    recorder: Recorder<'_>,
    scheduled: &ScheduledCompaction,
    output: &JobOutput,
    written: u64,
    us: u64,
) {
    let choice = &scheduled.choice;
    match (choice.kind, choice.reason) {
        (CompactionKind::Drop, CompactionReason::FifoTtl) => recorder.add(Ticker::FifoTtlCompactions, 1),
        (CompactionKind::Drop, CompactionReason::FifoMaxSize) => recorder.add(Ticker::FifoMaxSizeCompactions, 1),
        (_, CompactionReason::ChangeTemperature) => recorder.add(Ticker::FifoChangeTemperatureCompactions, 1),
        _ => {}
    }
    if !choice.kind.writes_files() {
        return;
    }
    let read = choice.input_size_bytes();
    recorder.add(Ticker::CompactReadBytes, read);
    recorder.add(Ticker::CompactionCpuTotalTime, output.stats.cpu_us);
    recorder.add(Ticker::CompactWriteBytes, written);
    let of_reason = match choice.reason {
        CompactionReason::FilesMarkedForCompaction => {
            Some((Ticker::CompactReadBytesMarked, Ticker::CompactWriteBytesMarked))
        }
        CompactionReason::PeriodicCompaction => {
            Some((Ticker::CompactReadBytesPeriodic, Ticker::CompactWriteBytesPeriodic))
        }
        CompactionReason::Ttl => Some((Ticker::CompactReadBytesTtl, Ticker::CompactWriteBytesTtl)),
        _ => None,
    };
    if let Some((read_ticker, write_ticker)) = of_reason {
        recorder.add(read_ticker, read);
        recorder.add(write_ticker, written);
    }
    recorder.add(Ticker::CompactionKeyDropNewerEntry, output.dropped.hidden);
    recorder.add(Ticker::CompactionKeyDropObsolete, output.dropped.obsolete);
    recorder.add(Ticker::CompactionKeyDropRangeDel, output.dropped.range_deleted);
    recorder.add(Ticker::CompactionKeyDropUser, output.dropped.filtered);
    recorder.add(Ticker::CompactionRangeDelDropObsolete, output.dropped.range_tombstones);
    recorder.add(Ticker::BlobDbGcNumKeysRelocated, output.collected.values);
    recorder.add(Ticker::BlobDbGcBytesRelocated, output.collected.bytes);
    // As in RocksDB: of divided ones alone, and of what a picker chose, the files of its first level.
    if output.parts > 1 {
        recorder.record(Histogram::NumSubcompactionsScheduled, output.parts as u64);
    }
    if !scheduled.is_manual {
        let files = choice.inputs.first().map_or(0, |inputs| inputs.files.len() as u64);
        recorder.record(Histogram::NumFilesInSingleCompaction, files);
    }
    if recorder.is_timing() {
        recorder.record(Histogram::CompactionTime, us);
        recorder.record(Histogram::CompactionCpuTime, output.stats.cpu_us);
    }
}
