//! What callers ask for by hand: flush, compact_range.

use super::compact::ScheduledCompaction;
use super::{DbCore, ExclusiveManual};
use crate::background_error::Reason;
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::db::background;
use crate::db::cleanup;
use crate::db::compact;
use crate::db::flush;
use crate::db::resume;
use crate::db::switch_memtable;
use crate::options::{BottommostLevelCompaction, CompactRangeOptions, FlushOptions};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_tree::compaction::picker::{
    ManualChoice, ManualRequest, ManualStep, PickerInput, manual_steps, pick_manual,
};
use std::path::PathBuf;
use std::sync::Arc;

/// A live table, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The column family.
    pub column_family: String,
    /// The level.
    pub level: usize,
    /// The number in its name.
    pub number: FileNumber,
    /// The directory that the file is in.
    pub directory: PathBuf,
    /// Bytes in the file.
    pub size_bytes: u64,
    /// Smallest user key.
    pub smallest_user_key: Vec<u8>,
    /// Largest user key.
    pub largest_user_key: Vec<u8>,
    /// Oldest sequence number.
    pub smallest_sequence: ferrock_base::SequenceNumber,
    /// Newest sequence number.
    pub largest_sequence: ferrock_base::SequenceNumber,
    /// Checksum of the whole file, where one was recorded.
    pub file_checksum: Vec<u8>,
    /// What made the checksum.
    pub file_checksum_function_name: String,
}

/// See [`Db::flush_cf`].
pub(crate) fn flush_family(core: &Arc<DbCore>, family: &ColumnFamily, options: &FlushOptions) -> Result<()> {
    let data = &family.data;
    let check = || {
        if data.is_dropped() { Err(Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..])) } else { Ok(()) }
    };
    core.check_open()?;
    check()?;
    flush::flush_families(core, &[data.id], options.wait)?;
    check()
}

pub(super) fn compact_range(
    core: &Arc<DbCore>,
    data: &Arc<ColumnFamilyData>,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    options: &CompactRangeOptions,
) -> Result<()> {
    if !data.table_cache.paths().has(options.target_path_id) {
        let (id, count) = (options.target_path_id, data.table_cache.paths().count());
        return Err(Error::invalid_argument(format!("target_path_id = {id}: the family has {count} directories")));
    }
    flush::flush_families(core, &[data.id], true)?;
    let exclusive = options.exclusive_manual_compaction;
    begin_manual(core, data, exclusive)?;
    let result = compact_steps(core, data, begin, end, options);
    let result =
        result.and_then(|()| if options.change_level { move_up(core, data, options.target_level) } else { Ok(()) });
    // Closing waits for the job, and then for its clean-up.
    let cleanup = core.files.begin_cleanup();
    let mut state = core.state.lock();
    state.running_manual -= 1;
    if let Some(family) = state.families.get_mut(&data.id)
        && exclusive
    {
        family.exclusive_manual = ExclusiveManual { is_running: false, ..family.exclusive_manual };
    }
    background::schedule(core, &mut state);
    core.changed.notify_all();
    drop(state);
    if let Some(turn) = cleanup {
        cleanup::clean_up(core, turn);
    }
    result
}

/// Takes a place among the manual jobs. An exclusive one waits until nothing else compacts the family, and from the
/// moment that it waits nothing else begins to: else a family that always has something to compact would never be
/// quiet.
fn begin_manual(core: &Arc<DbCore>, data: &ColumnFamilyData, exclusive: bool) -> Result<()> {
    let mut state = core.state.lock();
    state.running_manual += 1;
    if exclusive && let Some(family) = state.families.get_mut(&data.id) {
        family.exclusive_manual.waiting += 1;
    }
    let result = loop {
        if let Err(error) = background::closing_error(core) {
            break Err(error);
        }
        let Some(family) = state.families.get_mut(&data.id) else {
            let message = format!("column family {} was dropped", data.name);
            break Err(Error::new(ErrorKind::ColumnFamilyDropped, message));
        };
        let may_begin = match exclusive {
            true => !family.exclusive_manual.is_running && family.running.is_empty(),
            // It would come between an exclusive one and the end of what that waits for.
            false => family.exclusive_manual.waiting == 0,
        };
        if may_begin {
            family.exclusive_manual.is_running |= exclusive;
            break Ok(());
        }
        core.changed.wait(&mut state);
    };
    if exclusive && let Some(family) = state.families.get_mut(&data.id) {
        family.exclusive_manual.waiting -= 1;
    }
    if result.is_err() {
        state.running_manual -= 1;
        // What it kept from beginning.
        background::schedule(core, &mut state);
    }
    core.changed.notify_all();
    result
}

fn compact_steps(
    core: &Arc<DbCore>,
    data: &Arc<ColumnFamilyData>,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    options: &CompactRangeOptions,
) -> Result<()> {
    let Some(version) = core.versions.current(data.id) else { return Ok(()) };
    let mode = options.bottommost_level_compaction;
    // A filter has seen what the steps before wrote into the bottommost level; only `Force` rewrites that, too.
    let ignore_files_from = match mode {
        BottommostLevelCompaction::IfHaveCompactionFilter | BottommostLevelCompaction::ForceOptimized => {
            core.versions.next_file_number()
        }
        BottommostLevelCompaction::Skip | BottommostLevelCompaction::Force => FileNumber(u64::MAX),
    };
    let steps = manual_steps(&version, &data.options.load(), begin, end, mode);
    for step in steps {
        compact_step(core, data, step, begin, end, ignore_files_from, options.target_path_id)?;
    }
    Ok(())
}

fn compact_step(
    core: &Arc<DbCore>,
    data: &Arc<ColumnFamilyData>,
    step: ManualStep,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    ignore_files_from: FileNumber,
    target_path_id: u32,
) -> Result<()> {
    let mut begin = begin.map(<[u8]>::to_vec);
    loop {
        let Some((job, next_begin)) =
            start_manual_piece(core, data, step, begin.as_deref(), end, ignore_files_from, target_path_id)?
        else {
            return Ok(());
        };
        let result = compact::compact(core, &job);
        let mut state = core.state.lock();
        if let Some(family) = state.families.get_mut(&data.id) {
            family.running.finish(job.running);
        }
        if let Err(error) = &result
            && !data.is_dropped()
        {
            resume::set_background_error_locked(core, &mut state, Reason::Compaction, error);
        }
        core.changed.notify_all();
        drop(state);
        result?;
        if next_begin.is_none() {
            return Ok(());
        }
        begin = next_begin;
    }
}

/// Waits until the next piece of a manual compaction can run, and marks its files.
fn start_manual_piece(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    step: ManualStep,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    ignore_files_from: FileNumber,
    target_path_id: u32,
) -> Result<Option<(ScheduledCompaction, Option<Vec<u8>>)>> {
    let mut state = core.state.lock();
    loop {
        state.error.check()?;
        background::closing_error(core)?;
        if state.pauses > 0 {
            core.changed.wait(&mut state);
            continue;
        }
        let Some(version) = core.versions.current(data.id) else { return Ok(None) };
        let Some(family) = state.families.get_mut(&data.id) else { return Ok(None) };
        let options = data.options.load();
        let input = PickerInput {
            version: &version,
            options: &options,
            running: &family.running,
            bottommost_threshold: core.reads.snapshots().bottommost_threshold(|| core.visible()),
            now_secs: core.env.clock.unix_seconds(),
        };
        match pick_manual(&input, &ManualRequest { step, begin, end, ignore_files_from, target_path_id }) {
            ManualChoice::Done => return Ok(None),
            ManualChoice::Compact { choice, next_begin } => {
                let running = family.running.start(&choice);
                let job_id = state.next_job_id;
                state.next_job_id += 1;
                let job =
                    ScheduledCompaction { data: Arc::clone(data), choice: *choice, running, job_id, is_manual: true };
                return Ok(Some((job, next_begin)));
            }
            ManualChoice::Conflict => core.changed.wait(&mut state),
        }
    }
}

/// Moves the deepest level's files up to the highest empty level that can hold them, or to `target`.
fn move_up(core: &DbCore, data: &ColumnFamilyData, target: Option<usize>) -> Result<()> {
    let _installs = core.installs.lock();
    let mut state = core.state.lock();
    let Some(family) = state.families.get(&data.id) else { return Ok(()) };
    let Some(version) = core.versions.current(data.id) else { return Ok(()) };
    let Some(deepest) = version.deepest_non_empty_level() else { return Ok(()) };
    let first_free = (1..deepest).rev().take_while(|&level| version.level(level).is_empty()).last();
    let target = match target {
        Some(target) if target == 0 || target >= version.num_levels() => {
            return Err(Error::invalid_argument(format!(
                "target_level = {target} is out of 1..={}",
                version.num_levels() - 1
            )));
        }
        Some(target) if target != deepest && (target > deepest || first_free.is_none_or(|free| target < free)) => {
            return Err(Error::invalid_argument(format!(
                "target_level = {target}: the levels from it to {deepest} are not empty"
            )));
        }
        Some(target) => target,
        None => first_free.unwrap_or(deepest),
    };
    if target == deepest || !family.running.is_empty() {
        return Ok(());
    }
    let files = version.level(deepest);
    let edit = VersionEdit {
        deleted_files: files.iter().map(|file| DeletedFile { level: deepest as u32, number: file.number }).collect(),
        new_files: files.iter().map(|file| NewFile { level: target as u32, ..file.recorded().clone() }).collect(),
        ..VersionEdit::for_column_family(data.id)
    };
    if let Err(error) = core.versions.log_and_apply(vec![edit]) {
        resume::set_background_error_locked(core, &mut state, Reason::Manifest, &error);
        return Err(error);
    }
    if let Some(family) = state.families.get(&data.id) {
        switch_memtable::install_super_version(core, family, core.versions.current(data.id));
    }
    Ok(())
}
