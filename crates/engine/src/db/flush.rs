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

use super::{DbCore, State};
use crate::background_error::Reason;
use crate::column_family::ColumnFamilyData;
use crate::db::background;
use crate::db::job_env;
use crate::db::resume;
use crate::db::switch_memtable;
use crate::db::write;
use crate::metrics::Statistics;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{FileNumber, Result};
use ferrock_format::version_edit::{NewFile, VersionEdit};
use ferrock_memtable::MemTable;
use ferrock_options::FlushEvent;
use ferrock_tree::job::{FlushJob, JobEnv, JobOutput};
use ferrock_tree::version::LogRelease;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The body of a flush job.
pub(crate) fn run_flush(core: &Arc<DbCore>, id: u32) {
    let result = flush_once(core, id);
    let mut state = core.state.lock();
    state.running_flushes -= 1;
    if let Some(family) = state.families.get_mut(&id) {
        family.is_flush_running = false;
        family.immutable.iter_mut().for_each(|immutable| immutable.is_flushing = false);
        if family.immutable.is_empty() {
            family.is_flush_requested = false;
        }
    }
    if let Err(error) = &result {
        resume::set_background_error_locked(core, &mut state, Reason::Flush, error);
    }
    // Also when the family was dropped under the job: others may wait for its place.
    background::schedule(core, &mut state);
    core.changed.notify_all();
    drop(state);
    background::dump_stats_if_due(core);
    match result {
        Ok(Some(event)) => core.events.tell(|listener| listener.on_flush_completed(&event)),
        Ok(None) => {}
        Err(error) => core.events.tell(|listener| listener.on_background_error(&error)),
    }
}

/// Flushes what is immutable of a family now.
fn flush_once(core: &Arc<DbCore>, id: u32) -> Result<Option<FlushEvent>> {
    let mut state = core.state.lock();
    let Some(family) = state.families.get_mut(&id) else { return Ok(None) };
    let data = Arc::clone(&family.data);
    let mut memtables = Vec::new();
    let mut log_number = FileNumber(0);
    for immutable in &mut family.immutable {
        immutable.is_flushing = true;
        memtables.push(Arc::clone(&immutable.memtable));
        log_number = immutable.log_number_after;
    }
    drop(state);
    if memtables.is_empty() {
        return Ok(None);
    }
    let before = core.env.clock.monotonic_us();
    let output = write_level_0(core, &data, &memtables, TableFileCreationReason::Flush)?;
    let file = output.files.first().cloned();
    if core.families.load().len() > 1 {
        let synced = core.writes.logs().sync_closed();
        if let Err(error) = synced {
            resume::set_background_error(core, Reason::Write, &error);
            core.discard(data.flush_directory(), &output.numbers);
            return Err(error);
        }
    }
    let mut edit =
        VersionEdit { log_number: Some(log_number), new_files: output.files, ..VersionEdit::for_column_family(id) };
    // Of two flushes at once, the second finds out which logs are needed after the first.
    let installs = core.installs.lock();
    log_release(core, &core.state.lock(), Some(LogChange::Flush { id, memtables: memtables.len() })).add_to(&mut edit);
    let applied = core.versions.log_and_apply(vec![edit]);
    core.files.release(&output.numbers);
    let mut state = core.state.lock();
    if let Err(error) = applied {
        if !data.is_dropped() {
            resume::set_background_error_locked(core, &mut state, Reason::Manifest, &error);
        }
        return Err(error);
    }
    retire_memtables(core, &mut state, id, memtables.len());
    drop(installs);
    let released = core.writes.logs().release_before(core.versions.min_log_number_to_keep());
    drop(state);
    open_new_tables(core, &data, file.as_slice().iter().map(|file| file.number));
    delete_logs(core, &released);
    let elapsed = core.env.clock.monotonic_us().saturating_sub(before);
    Ok(Some(note_flush(core, &data, file, memtables.len(), elapsed)))
}

pub(super) fn retire_memtables(core: &DbCore, state: &mut State, id: u32, count: usize) {
    let version = core.versions.current(id);
    if let Some(family) = state.families.get_mut(&id) {
        family.immutable.drain(..count);
        family.flushed_count += count as u64;
        switch_memtable::install_super_version(core, family, version);
        background::update_stall_condition(core, family, &family.data.options.load());
    }
}

pub(super) fn note_flush(
    core: &DbCore,
    data: &ColumnFamilyData,
    file: Option<NewFile>,
    memtables: usize,
    us: u64,
) -> FlushEvent {
    let size_bytes = file.as_ref().map_or(0, |file| file.size_bytes);
    Statistics::add(&core.metrics.statistics().flushes, 1);
    Statistics::add(&core.metrics.statistics().flush_bytes, size_bytes);
    Statistics::add(&core.metrics.statistics().flush_us, us);
    let file_number = file.map(|file| file.number);
    core.events.log().info(|| {
        format!("[{}] flushed {memtables} memtables to {file_number:?}, {size_bytes} bytes in {us} us", data.name)
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
    FlushJob { context: &context, memtables, reason }.run(core)
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

/// Which logs no family needs any more once `change` is done.
pub(crate) fn log_release(core: &DbCore, state: &State, change: Option<LogChange>) -> LogRelease {
    let needed = state.families.values().filter_map(|family| {
        let id = family.data.id;
        match change {
            Some(LogChange::Drop { id: dropped }) if dropped == id => None,
            Some(LogChange::Flush { id: flushed, memtables }) if flushed == id && memtables > 0 => {
                let last = family.immutable.get(memtables - 1).map(|last| last.log_number_after);
                if family.immutable.len() > memtables { last } else { Some(family.memtable_log_number) }
            }
            _ if family.immutable.is_empty() => Some(family.memtable_log_number),
            _ => Some(core.versions.family(id).map_or(FileNumber(0), |family| family.log_number)),
        }
    });
    match needed.min().filter(|needed| *needed > core.versions.min_log_number_to_keep()) {
        Some(needed) => {
            LogRelease { min_log_number_to_keep: Some(needed), last_sequence: core.writes.logs().began_after(needed) }
        }
        None => LogRelease::default(),
    }
}

/// Lets go of the logs that no family needs any more, in the MANIFEST first. For when no change of the tree does:
/// every memtable is empty, and the logs hold nothing that a flush would write.
pub(crate) fn release_logs(core: &DbCore, state: &mut State) -> Result<Vec<FileNumber>> {
    if core.writes.logs().size().older == 0 {
        return Ok(Vec::new());
    }
    let release = log_release(core, state, None);
    let Some(needed) = release.min_log_number_to_keep else { return Ok(Vec::new()) };
    let mut edit = VersionEdit::for_column_family(0);
    release.add_to(&mut edit);
    if let Err(error) = core.versions.log_and_apply(vec![edit]) {
        resume::set_background_error_locked(core, state, Reason::Manifest, &error);
        return Err(error);
    }
    Ok(core.writes.logs().release_before(needed))
}

pub(crate) fn delete_logs(core: &DbCore, numbers: &[FileNumber]) {
    if !numbers.is_empty() && keeps_newest_log(core) {
        core.files.remove_logs(numbers);
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

/// Switches the memtables of `ids` and, when `wait`, returns when what they held is in tables.
pub(crate) fn flush_families(core: &Arc<DbCore>, ids: &[u32], wait: bool) -> Result<()> {
    let (targets, released) = write::exclusively(core, |core| -> Result<(FlushTargets, Vec<FileNumber>)> {
        let mut state = core.state.lock();
        state.error.check()?;
        switch_memtable::switch_memtables(core, &mut state, ids)?;
        let released = release_logs(core, &mut state)?;
        let mut targets = FlushTargets::new();
        for id in ids {
            if let Some(family) = state.families.get_mut(id) {
                family.is_flush_requested = !family.immutable.is_empty();
                targets.push((*id, family.switched_count));
            }
        }
        background::schedule(core, &mut state);
        Ok((targets, released))
    })??;
    delete_logs(core, &released);
    if !wait {
        return Ok(());
    }
    let mut state = core.state.lock();
    loop {
        state.error.check()?;
        let is_done =
            |(id, target): &(u32, u64)| state.families.get(id).is_none_or(|family| family.flushed_count >= *target);
        if targets.iter().all(is_done) {
            return Ok(());
        }
        if core.is_closing.load(Ordering::Acquire) && state.running_flushes == 0 {
            return background::closing_error(core);
        }
        core.changed.wait(&mut state);
    }
}

/// Families, and how many memtables of each a flush waits for.
type FlushTargets = Vec<(u32, u64)>;

/// A change of the tree that may let logs go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LogChange {
    /// The oldest `memtables` immutable memtables of a family become a table.
    Flush { id: u32, memtables: usize },
    /// A family goes.
    Drop { id: u32 },
}
