//! Round robin (`compaction_pri=kRoundRobin`): the files of a level take turns, in the order of their keys.
//!
//! ```text
//! cursor of the level ------v
//! level        [a b] [c d] [e f] [g h] [i j]      target 2 files, 5 are there
//!                          |--- taken ---|        the three that are too many; the cursor goes to i
//! next level   [a     d]   [e  f] [g    k]
//! ```
//!
//! * A turn waits: where the file at the cursor is busy, none of the level is taken. Files that stay for their age
//!   ([`placement`]) have none.
//! * A level that is over its target gives up as many files at once as make up the difference, up to the last one, as
//!   long as all inputs stay within `max_compaction_bytes`. Moves take four files at most, as with other priorities.
//! * Whatever is added lies to the right, so that no file has two turns before all others had one.

use super::inputs::{Seed, complete, extend_trivial_move};
use super::{PickerInput, file_order, placement};
use crate::compaction::choice::{CompactionChoice, CompactionReason};
use crate::version::boundary::BoundaryRange;
use crate::version::{FileMetadata, total_size_bytes};
use std::sync::Arc;

/// The file of `level` whose turn it is, and what goes with it.
pub(super) fn pick(
    input: &PickerInput<'_>,
    reason: CompactionReason,
    level: usize,
    score: f64,
) -> Option<CompactionChoice> {
    let (version, output_level) = (input.version, level + 1);
    let files = version.level(level);
    let mut turns = file_order::file_order(input, level).into_iter();
    let index = turns.find(|&index| !placement::stays_on(input, level, &files[index]))?;
    let mut files = version.expand_to_clean_cut(level, &version.level(level)[index..=index])?;
    let range = BoundaryRange::of_files(version.comparator().user(), files.iter().map(|file| &**file))?;
    let is_move = version.overlapping_indexes(output_level, &range).is_empty();
    if is_move {
        files = extend_trivial_move(input, level, output_level, files, true);
    }
    let moves_several = is_move && files.len() > 1;
    if reason == CompactionReason::LevelMaxLevelSize && !moves_several {
        files = take_difference(input, level, files);
    }
    complete(input, Seed { reason, score, start_level: level, output_level, files, is_level_0_trivial_move: false })
}

/// Adds files behind `files` until the level would be within its target.
fn take_difference(input: &PickerInput<'_>, level: usize, mut files: Vec<Arc<FileMetadata>>) -> Vec<Arc<FileMetadata>> {
    let version = input.version;
    let level_files = version.level(level);
    let idle: u64 = level_files.iter().filter(|file| !file.is_being_compacted()).map(|file| file.size_bytes).sum();
    let difference = idle.saturating_sub(version.targets().max_bytes(level));
    while total_size_bytes(&files) < difference {
        let next = files.last().and_then(|last| level_files.iter().position(|file| Arc::ptr_eq(file, last)));
        let Some(next) = next.and_then(|last| level_files.get(last + 1)) else { break };
        match grown_by(input, level, &files, next) {
            Some(grown) => files = grown,
            None => break,
        }
    }
    files
}

/// `files` and `next`; `None` where something is busy, or the compaction would be too large.
fn grown_by(
    input: &PickerInput<'_>,
    level: usize,
    files: &[Arc<FileMetadata>],
    next: &Arc<FileMetadata>,
) -> Option<Vec<Arc<FileMetadata>>> {
    let (version, output_level) = (input.version, level + 1);
    let comparator = version.comparator().user();
    let mut grown = files.to_vec();
    grown.push(Arc::clone(next));
    let grown = version.expand_to_clean_cut(level, &grown)?;
    let range = BoundaryRange::of_files(comparator, grown.iter().map(|file| &**file))?;
    if input.running.writes_into(comparator, output_level, &range) {
        return None;
    }
    let overlapping = version.overlapping_inputs(output_level, &range);
    let below =
        if overlapping.is_empty() { overlapping } else { version.expand_to_clean_cut(output_level, &overlapping)? };
    let bytes = total_size_bytes(&grown).saturating_add(total_size_bytes(&below));
    (bytes <= input.options.max_compaction_bytes).then_some(grown)
}
