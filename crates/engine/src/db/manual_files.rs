//! What callers do with whole files, without reading them: drop those of a range, move a level, suggest a compaction.

use super::DbCore;
use super::compact::{self, Request};
use super::manual_turn::in_turn;
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::jobs::StoppedBy;
use crate::jobs::background_error::Reason;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::version_edit::{DeletedFile, NewFile, VersionEdit};
use ferrock_tree::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use ferrock_tree::compaction::picker::{ManualChoice, UserKeyRange, mark_overlapping, pick_within};
use ferrock_tree::version::Version;
use std::sync::Arc;

/// See [`Db::delete_files_in_ranges_cf`](super::Db::delete_files_in_ranges_cf).
pub(super) fn delete_files_in_ranges(
    core: &DbCore,
    family: &ColumnFamily,
    ranges: &[UserKeyRange<'_>],
    includes_end: bool,
) -> Result<()> {
    let data = &family.data;
    core.jobs.check_open()?;
    in_turn(core, data, false, StoppedBy::Closing, || {
        let piece = core.jobs.begin_manual_piece(data.id, StoppedBy::Closing, |running| {
            let Some(version) = core.versions.current(data.id) else { return ManualChoice::Done };
            let options = data.options.load_full();
            match pick_within(&compact::picker_input(core, &version, &options, running), ranges, includes_end) {
                Some(choice) => ManualChoice::Compact { choice: Box::new(choice), next_begin: None },
                None => ManualChoice::Done,
            }
        });
        let Some((job, _)) = piece? else { return Ok(()) };
        let change = data.outside_changes.begin();
        let result = compact::compact(core, &job, Request::of(StoppedBy::Closing)).map(drop);
        drop(change);
        core.jobs.finish_manual_piece(data.id, job.running);
        result
    })
}

/// See [`Db::suggest_compact_range_cf`](super::Db::suggest_compact_range_cf).
pub(super) fn suggest_compact_range(core: &DbCore, family: &ColumnFamily, range: UserKeyRange<'_>) -> Result<()> {
    core.jobs.check_open()?;
    let Some(version) = core.versions.current(family.data.id) else {
        return Err(Error::new(ErrorKind::ColumnFamilyDropped, &family.data.name[..]));
    };
    mark_overlapping(&version, range);
    core.jobs.schedule();
    Ok(())
}

/// See [`Db::promote_l0_cf`](super::Db::promote_l0_cf).
pub(super) fn promote_l0(core: &DbCore, family: &ColumnFamily, target: usize) -> Result<()> {
    let data = &family.data;
    core.jobs.check_open()?;
    let by = StoppedBy::Closing;
    in_turn(core, data, true, by, || move_when_quiet(core, data, by, || promote_alone(core, data, target)))
}

/// Tries a move until no job of the family is in its way, as `compact_files` and ingestions may be, which take no
/// turns. `attempt` holds `installs` for its own time alone: the jobs that are waited for need it. The caller has an
/// exclusive turn.
///
/// # Errors
/// Those of `attempt`, and of a call that is stopped.
pub(super) fn move_when_quiet(
    core: &DbCore,
    data: &ColumnFamilyData,
    stopped_by: StoppedBy<'_>,
    attempt: impl Fn() -> Result<Moved>,
) -> Result<()> {
    while attempt()? == Moved::NotYet {
        core.jobs.wait_until_quiet(data.id, stopped_by)?;
    }
    Ok(())
}

/// What an attempt to move a level came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// All that was to be moved is.
    Done,
    /// A job of the family runs.
    NotYet,
}

fn promote_alone(core: &DbCore, data: &ColumnFamilyData, target: usize) -> Result<Moved> {
    let _installs = core.installs.lock();
    let Some(version) = core.versions.current(data.id) else {
        return Err(Error::new(ErrorKind::ColumnFamilyDropped, &data.name[..]));
    };
    let refuse = |why: String| Err(Error::invalid_argument(format!("promote_l0 to level {target}: {why}")));
    if target == 0 || target >= version.num_compacted_levels() {
        return refuse(format!("levels are 1 to {}", version.num_compacted_levels() - 1));
    }
    if let Some(level) = (1..=target).find(|&level| !version.level(level).is_empty()) {
        return refuse(format!("level {level} is not empty"));
    }
    let order = version.comparator().user();
    let mut files = version.level(0).to_vec();
    files.sort_by(|a, b| order.compare(a.smallest_user_key(), b.smallest_user_key()));
    let overlap = files
        .windows(2)
        .find(|pair| order.compare(pair[0].largest_user_key(), pair[1].smallest_user_key()).is_ge())
        .map(|pair| (pair[0].number, pair[1].number));
    if let Some((one, other)) = overlap {
        return refuse(format!("files {one} and {other} of level 0 overlap"));
    }
    if files.is_empty() {
        return Ok(Moved::Done);
    }
    move_level(core, data, &version, 0, target)
}

/// Records all files of a level on another one, which has none. The caller holds `installs`.
///
/// # Errors
/// Those of the MANIFEST.
pub(super) fn move_level(
    core: &DbCore,
    data: &ColumnFamilyData,
    version: &Arc<Version>,
    from: usize,
    to: usize,
) -> Result<Moved> {
    // The files are marked, so that no compaction that begins while the MANIFEST is written takes them.
    let files = version.level(from);
    let inputs = vec![LevelInputs { level: from, files: files.to_vec() }];
    let reason = CompactionReason::ManualCompaction;
    let choice = CompactionChoice::of_whole_files(CompactionKind::Move, reason, version, inputs, to);
    let Some(job) = core.jobs.begin_alone(data.id, choice) else { return Ok(Moved::NotYet) };
    let edit = VersionEdit {
        deleted_files: files.iter().map(|file| DeletedFile { level: from as u32, number: file.number }).collect(),
        new_files: files.iter().map(|file| NewFile { level: to as u32, ..file.recorded().clone() }).collect(),
        ..VersionEdit::for_column_family(data.id)
    };
    let result = core.versions.log_and_apply(vec![edit]);
    match &result {
        Ok(()) => {
            core.jobs.install(data.id, core.versions.current(data.id));
        }
        Err(error) => {
            core.jobs.set_error(Reason::Manifest, error);
        }
    }
    core.jobs.finish_manual_piece(data.id, job.running);
    result.map(|()| Moved::Done)
}
