//! Flush: immutable memtables of families become one table of level 0 each.
//!
//! Order matters for what a crash leaves. Before the tables count, the logs that were
//! switched away from are synced when there is more than one family: a table of this
//! family must not survive with records that came after lost records of another one.
//!
//! A flush is one VersionEdit for each of its families, and all of these are one atomic group: the table, the family's
//! log number, the oldest log that is still needed, and a last sequence number that covers every log let go. The
//! tables alone do not cover them: the newest numbers of a log may be in no table (a put and a single delete that met,
//! an empty range deletion, a family dropped since), and the log behind it says that they were written. A crash between
//! two records would leave a log that recovery skips and misses.
//!
//! When the table of one family cannot be written, none of the job's count, and all are written again later. A family
//! that was dropped meanwhile is left out.

use super::job_env::JobPlace;
use super::job_events::{self, FlushedFamily};
use super::{DbCore, direct_writes, event_log, job_env, space, switch_memtable, tracked_logs, write};
use crate::column_family::ColumnFamilyData;
use crate::events::Event;
use crate::jobs::background_error::Reason;
use crate::jobs::{FlushInput, FlushScope, LogChange, StoppedBy, Switch};
use crate::metrics::Counters;
use crate::metrics::running::{JobDescription, JobKind};
use crate::spans;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{ErrorKind, FileNumber, Result};
use ferrock_format::version_edit::{BlobFileAddition, BlobFileGarbage, NewFile, VersionEdit};
use ferrock_memtable::MemTable;
use ferrock_options::{FlushOptions, FlushReason, ManualFlushInfo};
use ferrock_statistics::{Histogram, Recorder, Ticker};
use ferrock_tree::file_counts::WrittenBy;
use ferrock_tree::job::{FlushJob, JobOutput};
use ferrock_tree::version::LogRelease;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The memtables of a family, and the table that they became.
pub(super) struct FamilyFlush {
    pub(super) data: Arc<ColumnFamilyData>,
    pub(super) memtables: Vec<Arc<MemTable>>,
    log_number_after: FileNumber,
    pub(super) output: JobOutput,
    /// The files with the values that were written at once.
    direct: (Vec<BlobFileAddition>, Vec<BlobFileGarbage>),
    /// Such files to which the table does not refer.
    unused: Vec<FileNumber>,
    elapsed_us: u64,
    job_id: u64,
    reason: FlushReason,
}

impl FamilyFlush {
    /// What the MANIFEST is to know of the files.
    pub(super) fn edit(&self) -> VersionEdit {
        let (additions, garbage) = self.direct.clone();
        VersionEdit {
            log_number: Some(self.log_number_after),
            new_files: self.output.files.clone(),
            blob_file_additions: self.output.blob_files.iter().cloned().chain(additions).collect(),
            blob_file_garbages: garbage,
            ..VersionEdit::for_column_family(self.data.id)
        }
    }
}

/// How long work waits that failed, and of whose failure a listener says that it counts for nothing.
pub(super) const BEFORE_NEXT_ATTEMPT: Duration = Duration::from_secs(1);

/// The body of a flush job.
pub(super) fn run_flush(core: &DbCore, scope: &FlushScope) {
    let (flushed, events) = match flush_once(core, scope) {
        Ok(flushed) => flushed,
        Err(error) => {
            core.events.tell_collected();
            if !core.jobs.raise_error(Reason::Flush, &error) {
                core.env.clock.sleep(BEFORE_NEXT_ATTEMPT);
            }
            Flushed::default()
        }
    };
    if !flushed.is_empty() {
        space::note_flushed(core);
    }
    // Before a caller that waits for the flush goes on.
    for event in events {
        core.events.tell(|| event);
    }
    core.events.tell_collected();
    let _open = core.jobs.hold_for_listeners();
    core.jobs.finish_flush(scope, &flushed);
    core.events.tell(|| Event::BackgroundJobPressureChanged(core.jobs.pressure()));
}

/// How many memtables of which families a job flushed, and what is told of it.
type Flushed = (Vec<(u32, usize)>, Vec<Event>);

/// Flushes what is immutable of families now.
fn flush_once(core: &DbCore, scope: &FlushScope) -> Result<Flushed> {
    let inputs = core.jobs.flush_inputs(scope);
    if inputs.is_empty() {
        return Ok(Flushed::default());
    }
    let job_id = core.jobs.new_job_id();
    let _span = spans::flush(core.files.database(), job_id, inputs.len());
    let memory = inputs.iter().flat_map(|input| &input.memtables);
    let bytes = memory.map(|memtable| memtable.approximate_memory_bytes() as u64).sum();
    let flushing = core.writes.memory_pace().begin(inputs.iter().map(|input| input.data.id).collect(), bytes);
    let flushes = write_tables(core, inputs, job_id)?;
    if flushes.is_empty() {
        return Ok(Flushed::default());
    }
    if core.families.load().len_with_leaving() > 1 {
        let synced = core.writes.logs().sync_closed(&|| direct_writes::sync_values(core));
        if let Err(error) = synced {
            core.jobs.set_error(Reason::Write, &error);
            discard(core, &flushes);
            return Err(error);
        }
        core.metrics.count_sync();
        if let Err(error) = tracked_logs::record(core) {
            discard(core, &flushes);
            return Err(error);
        }
    }
    let (flushes, released) = install(core, flushes)?;
    flushing.done();
    let flushed = flushes.iter().map(|flush| (flush.data.id, flush.memtables.len())).collect();
    let events = end_flushes(core, flushes);
    delete_logs(core, &released);
    Ok((flushed, events))
}

/// Makes the tables count, all at once, and shows them to readers. Also returns the logs that are not needed any more.
fn install(core: &DbCore, flushes: Vec<FamilyFlush>) -> Result<(Vec<FamilyFlush>, Vec<FileNumber>)> {
    // Of two flushes at once, the second finds out which logs are needed after the first. No family goes meanwhile.
    let installs = core.installs.lock();
    let exists = |flush: &FamilyFlush| core.versions.family(flush.data.id).is_some();
    let (flushes, dropped): (Vec<_>, Vec<_>) = flushes.into_iter().partition(exists);
    let mut edits: Vec<VersionEdit> = flushes.iter().map(FamilyFlush::edit).collect();
    let flushed: Vec<(u32, usize)> = flushes.iter().map(|flush| (flush.data.id, flush.memtables.len())).collect();
    let mut released = Vec::new();
    if let Some(first) = edits.first_mut() {
        log_release(core, Some(LogChange::Flush(&flushed))).add_to(first);
        let applied = core.versions.log_and_apply_atomic(edits);
        flushes.iter().for_each(|flush| core.files.hand_over(&flush.output.written));
        if let Err(error) = applied {
            core.jobs.set_error(Reason::Manifest, &error);
            drop(installs);
            discard(core, &dropped);
            return Err(error);
        }
        core.jobs.retire_memtables(flushed.iter().map(|&(id, count)| (id, count, core.versions.current(id))));
        released = core.writes.logs().release_before(core.versions.min_log_number_to_keep());
    }
    drop(installs);
    discard(core, &dropped);
    Ok((flushes, released))
}

/// Writes memtables to tables that do not count yet, family by family. A failure leaves none of them.
pub(super) fn write_tables(core: &DbCore, inputs: Vec<FlushInput>, job_id: u64) -> Result<Vec<FamilyFlush>> {
    // What was sealed is told before its flush.
    core.events.tell_collected_first();
    for input in &inputs {
        event_log::flush_started(core, input, job_id);
        core.events.tell(|| job_events::flush_begin(input, job_id));
    }
    let mut flushes: Vec<FamilyFlush> = Vec::new();
    for FlushInput { data, memtables, log_number_after, reason } in inputs {
        let before = core.env.clock.monotonic_us();
        let written = direct_writes::complete(core, &memtables).and_then(|files| {
            let (kind, why) = (TableFileCreationReason::Flush, reason.name());
            Ok((write_level_0(core, &data, &memtables, kind, why, job_id)?, files))
        });
        match written {
            Ok((output, files)) => {
                let elapsed_us = core.env.clock.monotonic_us().saturating_sub(before);
                let direct = direct_writes::additions(&files, &output.blobs);
                let is_unused = |number: &FileNumber| !direct.0.iter().any(|file| file.number == *number);
                let unused = files.iter().map(|file| file.number).filter(is_unused).collect();
                flushes.push(FamilyFlush {
                    data,
                    memtables,
                    log_number_after,
                    output,
                    direct,
                    unused,
                    elapsed_us,
                    job_id,
                    reason,
                });
            }
            // What it wrote counts for nothing, and the others go on without it.
            Err(error) if error.kind() == ErrorKind::ColumnFamilyDropped => {}
            Err(error) => {
                discard(core, &flushes);
                return Err(error);
            }
        }
    }
    Ok(flushes)
}

/// Removes tables that never counted.
fn discard(core: &DbCore, flushes: &[FamilyFlush]) {
    flushes.iter().for_each(|flush| core.files.discard(&flush.output.written));
}

/// Opens the tables, counts the flushes, and lets go of the memtables. Returns what listeners are told, if there are
/// any.
pub(super) fn end_flushes(core: &DbCore, flushes: Vec<FamilyFlush>) -> Vec<Event> {
    let mut events = Vec::new();
    for flush in flushes {
        if core.events.has_listeners() {
            events.push(job_events::flush_completed(&FlushedFamily {
                data: &flush.data,
                memtables: &flush.memtables,
                output: &flush.output,
                blob_files: &flush.edit().blob_file_additions,
                job_id: flush.job_id,
                reason: flush.reason,
            }));
        }
        end_flush(core, flush);
    }
    events
}

fn end_flush(core: &DbCore, flush: FamilyFlush) {
    let FamilyFlush { data, memtables, output, unused, elapsed_us, job_id, reason, .. } = flush;
    direct_writes::abandon_files(&memtables, &unused);
    let (file, blob_bytes) = (output.files.first().cloned(), output.blob_size_bytes());
    open_new_tables(core, &data, output.files.iter().map(|file| file.number));
    data.jobs.add_flush(&output, elapsed_us);
    if let Some(recorder) = core.metrics.recorder() {
        record_flush(recorder, &memtables, &output, reason);
    }
    note_flush(core, &data, file, blob_bytes, memtables.len(), elapsed_us);
    event_log::flush_finished(core, &data, job_id);
}

/// Counts why memtables were flushed, and what was in them.
fn record_flush(recorder: Recorder<'_>, memtables: &[Arc<MemTable>], output: &JobOutput, reason: FlushReason) {
    let memory = memtables.iter().map(|memtable| memtable.approximate_memory_bytes() as u64).sum();
    match reason {
        FlushReason::WriteBufferFull => {
            recorder.add(Ticker::FlushReasonWriteBufferFull, 1);
            recorder.record(Histogram::FlushWriteBufferFullMemtableMemoryBytes, memory);
        }
        FlushReason::WriteBufferManager => {
            recorder.add(Ticker::FlushReasonWriteBufferManager, 1);
            recorder.record(Histogram::FlushWriteBufferManagerMemtableMemoryBytes, memory);
        }
        FlushReason::MemtableMaxRangeDeletions => recorder.add(Ticker::FlushReasonMemtableMaxRangeDeletions, 1),
        _ => {}
    }
    recorder.add(Ticker::MemtablePayloadBytesAtFlush, output.payload.bytes);
    recorder.add(Ticker::MemtableGarbageBytesAtFlush, output.payload.garbage_bytes);
    let data = output.dropped.input_key_bytes + output.dropped.input_value_bytes;
    recorder.record(Histogram::FlushMemtableTotalDataSize, data);
    recorder.record(Histogram::FlushMemtableMemoryBytes, memory);
}

fn note_flush(
    core: &DbCore,
    data: &ColumnFamilyData,
    file: Option<NewFile>,
    blob_bytes: u64,
    memtables: usize,
    us: u64,
) {
    let size_bytes = file.as_ref().map_or(0, |file| file.size_bytes);
    Counters::add(&core.metrics.counters().flushes, 1);
    Counters::add(&core.metrics.counters().flush_bytes, size_bytes + blob_bytes);
    Counters::add(&core.metrics.counters().flush_us, us);
    if let Some(recorder) = core.metrics.recorder() {
        recorder.add(Ticker::FlushWriteBytes, size_bytes + blob_bytes);
        if recorder.is_timing() {
            recorder.record(Histogram::FlushTime, us);
        }
    }
    let file_number = file.map(|file| file.number);
    core.events.log().info(|| {
        let in_blobs = if blob_bytes > 0 { format!(" and {blob_bytes} in blob files") } else { String::new() };
        let table = file_number.map_or_else(|| "no table".to_owned(), |number| format!("table {number}"));
        format!("[{}] flushed {memtables} memtables to {table}, {size_bytes} bytes{in_blobs} in {us} us", data.name)
    });
}

/// Writes memtables of a family to tables of level 0 that can be opened. They do not count yet. A failure leaves
/// none. `why` is what the list of running jobs says.
pub(crate) fn write_level_0(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    memtables: &[Arc<MemTable>],
    reason: TableFileCreationReason,
    why: &'static str,
    job_id: u64,
) -> Result<JobOutput> {
    let context = job_env::job_context(core, data, core.versions.current(data.id), None, WrittenBy::Flush)?;
    let description = JobDescription {
        kind: JobKind::Flush,
        job_id,
        family: data.name.clone(),
        reason: why,
        is_manual: false,
        start_level: None,
        output_level: 0,
        inputs: memtables.len(),
        input_bytes: memtables.iter().map(|memtable| memtable.data_size_bytes()).sum(),
    };
    let progress = core.metrics.running().begin(&*core.env.clock, description);
    FlushJob { context: &context, memtables, reason }.run(&JobPlace::of_flush(core, job_id, &progress))
}

/// Opens tables that were just installed: estimates and the choice of compactions need to know what is in them.
/// What cannot be opened is reported to the read that needs it.
pub(crate) fn open_new_tables(core: &DbCore, data: &ColumnFamilyData, numbers: impl Iterator<Item = FileNumber>) {
    let Some(version) = core.versions.current(data.id) else { return };
    let numbers: BTreeSet<FileNumber> = numbers.collect();
    for (_, file) in version.files().filter(|(_, file)| numbers.contains(&file.number)) {
        if let Err(error) = data.table_cache.get_ref(file) {
            core.events.log().warn(|| format!("[{}] a new table: {error}", data.name));
        }
    }
}

pub(crate) fn delete_logs(core: &DbCore, numbers: &[FileNumber]) {
    if numbers.is_empty() {
        return;
    }
    if keeps_newest_log(core) {
        core.files.retire_logs(numbers);
    } else {
        core.files.note_logs(numbers);
    }
}

/// Makes the name of the log in use durable, where logs have a directory of their own: one without any log counts
/// as a volume that is not mounted when the database is opened.
pub(crate) fn keeps_newest_log(core: &DbCore) -> bool {
    if !core.files.places().has_separate_logs() {
        return true;
    }
    let result = core.writes.logs().sync_directory();
    if let Err(error) = &result {
        core.events.log().warn(|| format!("obsolete logs stay, the directory of the logs cannot be synced: {error}"));
    }
    result.is_ok()
}

/// Which logs no family needs any more once `change` is done.
pub(super) fn log_release(core: &DbCore, change: Option<LogChange<'_>>) -> LogRelease {
    let log_number_of = |id| core.versions.log_number(id);
    let needed = core.jobs.oldest_needed_log(change, log_number_of);
    match needed.filter(|needed| *needed > core.versions.min_log_number_to_keep()) {
        Some(needed) => {
            LogRelease { min_log_number_to_keep: Some(needed), last_sequence: core.writes.logs().began_after(needed) }
        }
        None => LogRelease::default(),
    }
}

/// Lets go of the logs that no family needs any more, in the MANIFEST first. For when no change of the tree does: every
/// memtable is empty, and the logs hold nothing that a flush would write.
fn release_logs(core: &DbCore) -> Result<Vec<FileNumber>> {
    if core.writes.logs().size().older == 0 {
        return Ok(Vec::new());
    }
    let _installs = core.installs.lock();
    let release = log_release(core, None);
    let Some(needed) = release.min_log_number_to_keep else { return Ok(Vec::new()) };
    let mut edit = VersionEdit::for_column_family(0);
    release.add_to(&mut edit);
    if let Err(error) = core.versions.log_and_apply(vec![edit]) {
        core.jobs.set_error(Reason::Manifest, &error);
        return Err(error);
    }
    Ok(core.writes.logs().release_before(needed))
}

/// Waits until a flush would not have writers slowed down. False when there is nothing left to flush.
fn wait_for_room(core: &DbCore, ids: &[u32], stopped_by: StoppedBy<'_>) -> Result<bool> {
    let all = if core.jobs.is_flush_atomic() { core.jobs.families() } else { Vec::new() };
    let ids = if all.is_empty() { ids } else { &all };
    let mut is_needed = ids.is_empty();
    for id in ids {
        is_needed |= core.jobs.wait_until_flush_would_not_stall(*id, stopped_by)?;
    }
    Ok(is_needed)
}

/// Options of a flush that waits for nothing but its own end.
pub(super) fn at_once() -> FlushOptions {
    FlushOptions { allow_write_stall: true, ..FlushOptions::default() }
}

/// Puts everything that memtables hold into tables.
pub(super) fn flush_all(core: &DbCore, reason: FlushReason) -> Result<()> {
    loop {
        let ids: Vec<u32> = core.families.load().iter().map(|family| family.id).collect();
        match flush_families(core, &ids, &at_once(), StoppedBy::Closing, reason) {
            // A family was dropped meanwhile.
            Err(error) if error.kind() == ErrorKind::ColumnFamilyDropped => {}
            outcome => return outcome,
        }
    }
}

/// Switches the memtables of `ids` and, when asked to wait, returns when what they held is in tables. With
/// `atomic_flush` these are all families, whichever are named.
pub(super) fn flush_families(
    core: &DbCore,
    ids: &[u32],
    options: &FlushOptions,
    stopped_by: StoppedBy<'_>,
    reason: FlushReason,
) -> Result<()> {
    if !options.allow_write_stall && !wait_for_room(core, ids, stopped_by)? {
        return Ok(());
    }
    let (targets, open) = write::exclusively(core, || -> Result<_> {
        core.jobs.check_error()?;
        let all = if core.jobs.is_flush_atomic() { core.jobs.families() } else { Vec::new() };
        let ids = if all.is_empty() { ids } else { &all };
        let switches: Vec<Switch> = ids.iter().map(|&id| Switch { id, flush_now: false, reason }).collect();
        switch_memtable::switch_memtables(core, &switches)?;
        let targets = core.jobs.request_flush(ids, options.force_atomic_flush, reason);
        core.jobs.schedule();
        Ok((targets, core.jobs.hold_open()?))
    })??;
    if core.events.has_listeners() {
        tell_of_manual_flush(core, &targets, reason);
    }
    // No writer waits for the MANIFEST, and closing waits for this.
    let released = release_logs(core).inspect_err(|_| core.events.tell_collected())?;
    delete_logs(core, &released);
    drop(open);
    if options.wait { core.jobs.wait_for_flush(&targets) } else { Ok(()) }
}

/// Tells listeners of families that a caller has flushed: of all at once where they are one step, else of each.
fn tell_of_manual_flush(core: &DbCore, targets: &[(u32, u64)], reason: FlushReason) {
    let families = core.families.load();
    let info = |(id, _): &(u32, u64)| {
        let data = families.get(*id)?;
        Some(ManualFlushInfo { column_family_id: *id, column_family: data.name.clone(), flush_reason: reason })
    };
    let infos: Vec<ManualFlushInfo> = targets.iter().filter_map(info).collect();
    if core.jobs.is_flush_atomic() {
        return core.events.tell(|| Event::ManualFlushScheduled(infos));
    }
    infos.into_iter().for_each(|info| core.events.tell(|| Event::ManualFlushScheduled(vec![info])));
}
