//! From the logs of the process before to the first log of this one: what they held becomes tables, or stays in
//! memtables, and the MANIFEST says so.

use super::logs::{log_recovery, newest_log_elsewhere, read_logs};
use crate::column_family::ColumnFamilyData;
use crate::db::log_blobs::{self, LogBlobs};
use crate::db::recovery::{LogRecovery, OpenLog, RecoveredLogs};
use crate::db::switch_memtable::MAX_LIVE_LOGS;
use crate::db::{DbCore, event_log, flush};
use crate::write::wal::LiveLog;
use ferrock_base::compaction_filter::TableFileCreationReason;
use ferrock_base::{FileNumber, Result};
use ferrock_format::version_edit::VersionEdit;
use ferrock_vfs::{WritableOptions, WritePurpose};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads the logs, brings what they held into tables, and begins a new log and a new MANIFEST.
pub(super) fn recover_and_begin(core: &DbCore) -> Result<()> {
    let recovery = log_recovery(core, false);
    let logs = recovery.open()?;
    let numbers: Vec<FileNumber> = logs.iter().map(OpenLog::number).collect();
    event_log::recovery(core, &numbers, |job_id| recover_logs(core, &recovery, logs, job_id))
}

fn recover_logs(core: &DbCore, recovery: &LogRecovery<'_>, logs: Vec<OpenLog>, job_id: u64) -> Result<()> {
    let mut edits: BTreeMap<u32, VersionEdit> = BTreeMap::new();
    let mut blobs = log_blobs::find_log_blobs(core)?;
    let recovered =
        read_logs(core, recovery, logs, |data| flush_recovered(core, data, &mut edits, &mut blobs, job_id))?;
    // Damaged logs are not kept: see recovery.rs. Nor are logs without an entry that is not in a table, or as many
    // as make the next open slow: each open adds one, and only a flush lets them go.
    let has_entries = core.families.load().iter().any(|data| !data.memtable.load().is_empty());
    for memtable in core.families.load().iter().map(|data| data.memtable.load()).filter(|memtable| !memtable.is_empty())
    {
        // A log does not tell when its entries were written.
        memtable.note_written(|| core.env.clock.unix_seconds());
    }
    let keeps_memtables = edits.is_empty()
        && has_entries
        && recovered.logs.len() < MAX_LIVE_LOGS
        && !recovered.is_damaged
        && core.options.load().avoid_flush_during_recovery
        && !blobs.is_any_needed(&recovered.blob_ends);
    if !keeps_memtables {
        for data in core.families.load().iter() {
            flush_recovered(core, data, &mut edits, &mut blobs, job_id)?;
        }
    }
    edits.values_mut().try_for_each(|edit| blobs.add_files(core, &recovered.blob_ends, edit))?;
    if let Some(last) = recovered.last_sequence {
        core.writes.publisher().raise(last);
        core.versions.advance_last_sequence(last);
    }
    if let Some((newest, _)) = recovered.logs.last() {
        core.versions.mark_file_number_used(*newest);
    }
    begin_log(core, &recovered, keeps_memtables)?;
    commit_recovery(core, recovered, edits, keeps_memtables).inspect(|()| blobs.remove_unused(core, keeps_memtables))
}

fn begin_log(core: &DbCore, recovered: &RecoveredLogs, keeps_memtables: bool) -> Result<()> {
    let (logs, mut kept) = (core.writes.logs(), Vec::new());
    if keeps_memtables {
        for &(number, size_bytes) in &recovered.logs {
            // What the process before did not sync would be missing below what this one syncs.
            let path = core.files.places().log(number);
            core.env.file_system.reopen_writable(&path, &WritableOptions::for_purpose(WritePurpose::Log))?.sync()?;
            kept.push(LiveLog { number, size_bytes });
        }
    }
    logs.begin(kept, core.visible(), core.versions.new_file_number())?;
    if keeps_memtables || core.files.places().has_separate_logs() {
        // The MANIFEST is about to vouch for the logs that are kept, so their names have to be durable, too. And
        // before the OPTIONS file names another directory: one without any log is taken for one that is not
        // mounted.
        logs.sync_directory()?;
    }
    Ok(())
}

fn commit_recovery(
    core: &DbCore,
    recovered: RecoveredLogs,
    mut flushed: BTreeMap<u32, VersionEdit>,
    keeps_memtables: bool,
) -> Result<()> {
    let newest = recovered.logs.last().map(|(number, _)| *number).or_else(|| newest_log_elsewhere(core));
    let mut edits = Vec::new();
    for view in core.versions.families() {
        let mut edit = flushed.remove(&view.id).unwrap_or_else(|| VersionEdit::for_column_family(view.id));
        if !keeps_memtables && let Some(newest) = newest {
            edit.log_number = Some(FileNumber(newest.0 + 1).max(view.log_number));
        }
        if view.id == 0
            && !keeps_memtables
            && let Some(newest) = newest
        {
            edit.min_log_number_to_keep = Some(FileNumber(newest.0 + 1));
        }
        // A crash may have kept the record that made a tracked log needless, and not the one that says so.
        if view.id == 0 && keeps_memtables && !core.versions.tracked_wals().is_empty() {
            edit.min_log_number_to_keep = Some(core.versions.oldest_needed_log());
        }
        edits.push(edit);
    }
    let written: Vec<(u32, Vec<FileNumber>)> = edits
        .iter()
        .map(|edit| (edit.column_family, edit.new_files.iter().map(|file| file.number).collect()))
        .collect();
    core.versions.log_and_apply(edits)?;
    core.files.release_all();
    core.jobs.install_recovered(core.writes.logs().current_number(), |id| core.versions.current(id));
    for (id, numbers) in written {
        if let Some(data) = core.families.load().get(id) {
            flush::open_new_tables(core, data, numbers.into_iter());
        }
    }
    Ok(())
}

/// Writes the memtable of a family to a table and begins a new one. The table counts when the edits are applied.
fn flush_recovered(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    edits: &mut BTreeMap<u32, VersionEdit>,
    blobs: &mut LogBlobs,
    job_id: u64,
) -> Result<()> {
    let memtable = data.memtable.load_full();
    if memtable.is_empty() {
        return Ok(());
    }
    let (memtables, kind) = ([Arc::clone(&memtable)], TableFileCreationReason::Recovery);
    let output = flush::write_level_0(core, data, &memtables, kind, "Recovery", job_id)?;
    data.memtable.store(data.new_memtable());
    let edit = edits.entry(data.id).or_insert_with(|| VersionEdit::for_column_family(data.id));
    edit.new_files.extend(output.files);
    edit.blob_file_additions.extend(output.blob_files);
    blobs.add_written(data.id, &output.blobs);
    Ok(())
}
