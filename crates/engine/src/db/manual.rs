//! What callers ask for by hand: flush, compact_range.

use super::compact::{self, Request};
use super::manual_files::{Moved, move_level, move_when_quiet};
use super::manual_turn::in_turn;
use super::{DbCore, flush};
use crate::column_family::{ColumnFamily, ColumnFamilyData};
use crate::jobs::{ManualPiece, StoppedBy};
use crate::options::{BottommostLevelCompaction, CompactRangeOptions, CompactionStyle, FlushOptions};
use ferrock_base::{Error, ErrorKind, FileNumber, Result};
use ferrock_options::FlushReason;
use ferrock_tree::compaction::picker::{
    ManualChoice, ManualRequest, ManualStep, manual_steps, manual_steps_below, pick_manual,
};
use ferrock_tree::version::Version;
use std::collections::VecDeque;
use std::sync::Arc;

/// See [`Db::flush_cfs`].
pub(crate) fn flush_families(core: &DbCore, families: &[ColumnFamily], options: &FlushOptions) -> Result<()> {
    let check = || match families.iter().find(|family| family.data.is_dropped()) {
        Some(family) => Err(Error::new(ErrorKind::ColumnFamilyDropped, family.name())),
        None => Ok(()),
    };
    core.jobs.check_open()?;
    check()?;
    let mut ids: Vec<u32> = families.iter().map(ColumnFamily::id).collect();
    ids.sort_unstable();
    ids.dedup();
    flush::flush_families(core, &ids, options, StoppedBy::Closing, FlushReason::ManualFlush)?;
    check()
}

pub(super) fn compact_range(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    options: &CompactRangeOptions,
) -> Result<()> {
    if !data.table_cache.paths().has(options.target_path_id) {
        let (id, count) = (options.target_path_id, data.table_cache.paths().count());
        return Err(Error::invalid_argument(format!("target_path_id = {id}: the family has {count} directories")));
    }
    if options.change_level && data.options.load().compaction_style == CompactionStyle::Fifo {
        return Err(Error::not_supported("FIFO compaction does not support change_level."));
    }
    let stopped_by = StoppedBy::Caller(options.canceled.as_ref());
    core.jobs.check_stop(stopped_by)?;
    let flush = FlushOptions { allow_write_stall: options.allow_write_stall, ..FlushOptions::default() };
    flush::flush_families(core, &[data.id], &flush, stopped_by, FlushReason::ManualCompaction)?;
    let is_exclusive = options.exclusive_manual_compaction;
    let change = || move_when_quiet(core, data, stopped_by, || change_level(core, data, options.target_level));
    in_turn(core, data, is_exclusive, stopped_by, || {
        compact_steps(core, data, begin, end, options)?;
        if options.change_level && is_exclusive { change() } else { Ok(()) }
    })?;
    // A level is moved in a turn of its own where the compaction had none.
    if options.change_level && !is_exclusive { in_turn(core, data, true, stopped_by, change) } else { Ok(()) }
}

fn compact_steps(
    core: &DbCore,
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
    let made_since = core.versions.next_file_number();
    let mut steps: VecDeque<ManualStep> = manual_steps(&version, &data.options.load(), begin, end, mode).into();
    drop(version);
    while let Some(step) = steps.pop_front() {
        let reached = compact_step(core, data, step, begin, end, ignore_files_from, options)?;
        // The base level may have risen since the steps were made: what went there goes on from there.
        for level in (reached..step.output_level).rev() {
            steps.push_front(ManualStep { input_level: level, output_level: level + 1 });
        }
        if steps.is_empty()
            && let Some(version) = core.versions.current(data.id)
        {
            // While a step waited, a compaction beside it may have moved tables past the last of them. Each time it
            // goes deeper, so it ends. (RocksDB leaves such tables as they are.)
            let (options, reached) = (data.options.load(), step.output_level);
            steps.extend(manual_steps_below(&version, &options, begin, end, mode, reached, made_since));
        }
    }
    Ok(())
}

/// Runs a step. The highest level that the output of a piece went to; without a piece the step's own.
fn compact_step(
    core: &DbCore,
    data: &Arc<ColumnFamilyData>,
    step: ManualStep,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    ignore_files_from: FileNumber,
    options: &CompactRangeOptions,
) -> Result<usize> {
    let target_path_id = options.target_path_id;
    let wanted = Request {
        stopped_by: StoppedBy::Caller(options.canceled.as_ref()),
        max_subcompactions: options.max_subcompactions,
        blob_collection: Some((options.blob_garbage_collection_policy, options.blob_garbage_collection_age_cutoff)),
        told: None,
    };
    let (mut begin, mut reached) = (begin.map(<[u8]>::to_vec), step.output_level);
    loop {
        let request = ManualRequest { step, begin: begin.as_deref(), end, ignore_files_from, target_path_id };
        let Some((job, next_begin)) = begin_piece(core, data, &request, wanted.stopped_by)? else {
            return Ok(reached);
        };
        reached = reached.min(job.choice.output_level);
        compact::compact_by_hand(core, job, wanted)?;
        if next_begin.is_none() {
            return Ok(reached);
        }
        begin = next_begin;
    }
}

/// Waits until the next piece of a manual compaction can run, and marks its files.
fn begin_piece(
    core: &DbCore,
    data: &ColumnFamilyData,
    request: &ManualRequest<'_>,
    stopped_by: StoppedBy<'_>,
) -> Result<Option<ManualPiece>> {
    core.jobs.begin_manual_piece(data.id, stopped_by, |running| {
        let Some(version) = core.versions.current(data.id) else { return ManualChoice::Done };
        let options = data.options.load_full();
        pick_manual(&compact::picker_input(core, &version, &options, running), request)
    })
}

/// Moves the deepest level's files to `target`, or up to the highest level to which all levels are empty and large
/// enough for them.
fn change_level(core: &DbCore, data: &ColumnFamilyData, target: Option<usize>) -> Result<Moved> {
    let _installs = core.installs.lock();
    let Some(version) = core.versions.current(data.id) else { return Ok(Moved::Done) };
    let Some(deepest) = version.deepest_compacted_level() else { return Ok(Moved::Done) };
    let target = match target {
        Some(target) => checked_target(&version, deepest, target)?,
        None => highest_that_fits(&version, deepest),
    };
    if target == deepest {
        return Ok(Moved::Done);
    }
    move_level(core, data, &version, deepest, target)
}

/// The highest of the levels above `deepest` that are empty one after another and may hold what it holds; else itself.
fn highest_that_fits(version: &Version, deepest: usize) -> usize {
    let bytes = version.level_size_bytes(deepest);
    let fits = |&level: &usize| version.level(level).is_empty() && version.targets().max_bytes(level) >= bytes;
    (1..deepest).rev().take_while(fits).last().unwrap_or(deepest)
}

/// Refuses what would change the order of tables, with RocksDB's codes.
fn checked_target(version: &Version, deepest: usize, target: usize) -> Result<usize> {
    let levels = version.num_compacted_levels();
    if target >= levels {
        return Err(Error::invalid_argument(format!("target_level = {target}: the levels are 0 to {}", levels - 1)));
    }
    if target > deepest && deepest == 0 {
        return Err(Error::not_supported(format!(
            "target_level = {target}: tables of level 0 are not moved to other levels; use promote_l0, or compact them"
        )));
    }
    if let Some(full) = (target..deepest).find(|&level| !version.level(level).is_empty()) {
        return Err(Error::not_supported(format!(
            "target_level = {target}: level {full}, between it and the tables of level {deepest}, is not empty"
        )));
    }
    let tables = version.level(deepest).len();
    if target == 0 && target != deepest && tables > 1 {
        return Err(Error::new(
            ErrorKind::Aborted,
            format!("target_level = 0: level {deepest} has {tables} tables, of which level 0 takes one at most"),
        ));
    }
    Ok(target)
}
