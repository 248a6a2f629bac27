//! Flush: immutable memtables become one table of level 0.
//!
//! Order matters for what a crash leaves. Before the table counts, the logs that were
//! switched away from are synced when there is more than one family: a table of this
//! family must not survive with records that came after lost records of another one.
//!
//! A flush is one VersionEdit: the table, the family's log number, the oldest log that is still needed, and a last
//! sequence number that covers every log let go. The table alone does not cover them: the newest numbers of a log may
//! be in no table (a put and a single delete that met, an empty range deletion, a family dropped since), and the log
//! behind it says that they were written. A crash between two records would leave a log that recovery skips and misses.

use super::job_env::JobPlace;
use super::{DbCore, job_env, switch_memtable, write};
use crate::column_family::ColumnFamilyData;
use crate::jobs::background_error::Reason;
use crate::jobs::{FlushInput, LogChange, Switch};
use crate::metrics::Statistics;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{FileNumber, Result};
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_memtable::MemTable;
use ferrock_options::FlushEvent;
use ferrock_tree::job::{FlushJob, JobOutput};
use ferrock_tree::version::LogRelease;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The body of a flush job.
pub(super) fn run_flush(core: &DbCore, id: u32) {
    let result = flush_once(core, id);
    if let Err(error) = &result {
        core.jobs.note_error(Reason::Flush, error);
    }
    core.jobs.finish_flush(id, result.as_ref().map_or(0, |(_, flushed)| *flushed));
    match result {
        Ok((Some(event), _)) => core.events.tell(|listener| listener.on_flush_completed(&event)),
        Ok((None, _)) => {}
        Err(error) => core.events.tell(|listener| listener.on_background_error(&error)),
    }
}

/// Flushes what is immutable of a family now; also says how many memtables that was.
fn flush_once(core: &DbCore, id: u32) -> Result<(Option<FlushEvent>, usize)> {
    let Some(FlushInput { data, memtables, log_number_after }) = core.jobs.flush_input(id) else {
        return Ok((None, 0));
    };
    let before = core.env.clock.monotonic_us();
    let output = write_level_0(core, &data, &memtables, TableFileCreationReason::Flush)?;
    let (file, blob_bytes) = (output.files.first().cloned(), output.blob_size_bytes());
    if core.families.load().len() > 1 {
        let synced = core.writes.logs().sync_closed();
        if let Err(error) = synced {
            core.jobs.set_error(Reason::Write, &error);
            core.files.discard(&output.written);
            return Err(error);
        }
    }
    let mut edit = VersionEdit {
        log_number: Some(log_number_after),
        new_files: output.files,
        blob_file_additions: output.blob_files,
        ..VersionEdit::for_column_family(id)
    };
    // Of two flushes at once, the second finds out which logs are needed after the first.
    let installs = core.installs.lock();
    log_release(core, Some(LogChange::Flush { id, memtables: memtables.len() })).add_to(&mut edit);
    let applied = core.versions.log_and_apply(vec![edit]);
    core.files.hand_over(&output.written);
    if let Err(error) = applied {
        if !data.is_dropped() {
            core.jobs.note_error(Reason::Manifest, &error);
        }
        return Err(error);
    }
    core.jobs.retire_memtables([(id, memtables.len(), core.versions.current(id))]);
    let released = core.writes.logs().release_before(core.versions.min_log_number_to_keep());
    drop(installs);
    open_new_tables(core, &data, file.as_slice().iter().map(|file| file.number));
    delete_logs(core, &released);
    let elapsed = core.env.clock.monotonic_us().saturating_sub(before);
    Ok((Some(note_flush(core, &data, file, blob_bytes, memtables.len(), elapsed)), memtables.len()))
}

pub(super) fn note_flush(
    core: &DbCore,
    data: &ColumnFamilyData,
    file: Option<NewFile>,
    blob_bytes: u64,
    memtables: usize,
    us: u64,
) -> FlushEvent {
    let size_bytes = file.as_ref().map_or(0, |file| file.size_bytes);
    Statistics::add(&core.metrics.statistics().flushes, 1);
    Statistics::add(&core.metrics.statistics().flush_bytes, size_bytes + blob_bytes);
    Statistics::add(&core.metrics.statistics().flush_us, us);
    let file_number = file.map(|file| file.number);
    core.events.log().info(|| {
        let in_blobs = if blob_bytes > 0 { format!(" and {blob_bytes} in blob files") } else { String::new() };
        format!(
            "[{}] flushed {memtables} memtables to {file_number:?}, {size_bytes} bytes{in_blobs} in {us} us",
            data.name
        )
    });
    FlushEvent { column_family: data.name.clone(), file_number, size_bytes }
}

/// Writes memtables of a family to tables of level 0 that can be opened. They do not count yet. A failure leaves
/// none.
pub(crate) fn write_level_0(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    memtables: &[Arc<MemTable>],
    reason: TableFileCreationReason,
) -> Result<JobOutput> {
    let context = job_env::job_context(core, data, core.versions.current(data.id), None)?;
    FlushJob { context: &context, memtables, reason }.run(&JobPlace(core))
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
        core.files.remove_logs(numbers);
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
pub(super) fn log_release(core: &DbCore, change: Option<LogChange>) -> LogRelease {
    let log_number_of = |id| core.versions.family(id).map(|family| family.log_number);
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
        core.jobs.note_error(Reason::Manifest, &error);
        return Err(error);
    }
    Ok(core.writes.logs().release_before(needed))
}

/// Switches the memtables of `ids` and, when `wait`, returns when what they held is in tables.
pub(super) fn flush_families(core: &DbCore, ids: &[u32], wait: bool) -> Result<()> {
    let switches: Vec<Switch> = ids.iter().map(|&id| Switch { id, flush_now: false }).collect();
    let (targets, open) = write::exclusively(core, || -> Result<_> {
        core.jobs.check_error()?;
        switch_memtable::switch_memtables(core, &switches)?;
        let targets = core.jobs.request_flush(ids);
        core.jobs.schedule();
        Ok((targets, core.jobs.hold_open()?))
    })??;
    // No writer waits for the MANIFEST, and closing waits for this.
    let released = release_logs(core)?;
    delete_logs(core, &released);
    drop(open);
    if wait { core.jobs.wait_for_flush(&targets) } else { Ok(()) }
}
