//! Leveled compaction: levels by score, a file of the level by priority, then everything that belongs to it.

use super::inputs::{Seed, complete, extend_trivial_move};
use super::{PickerInput, compaction_scores, file_order, level0, placement, round_robin, triggers};
use crate::compaction::choice::{CompactionChoice, CompactionReason};
use crate::version::FileMetadata;
use crate::version::boundary::BoundaryRange;
use ferrock_options::CompactionPriority;
use std::sync::Arc;

pub(super) fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    pick_for_size(input).or_else(|| triggers::pick(input))
}

fn pick_for_size(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    let base_level = input.version.base_level();
    let mut is_level_0_waiting = false;
    for level_score in compaction_scores(input.version, input.options) {
        let (level, score) = (level_score.level, level_score.score);
        if score < 1.0 {
            break;
        }
        if is_level_0_waiting && level == base_level {
            // What waits to come down to the base level would be starved by compactions out of it.
            continue;
        }
        let chosen = if level == 0 { pick_from_level_0(input, score) } else { pick_from_level(input, level, score) };
        if chosen.is_some() {
            return chosen;
        }
        if level == 0 {
            is_level_0_waiting = true;
            let files = level0::intra_level_0_when_blocked(input);
            if let Some(chosen) = files.and_then(|files| complete(input, level_0_seed(files, 0, score, false))) {
                return Some(chosen);
            }
        }
    }
    None
}

fn level_0_seed(files: Vec<Arc<FileMetadata>>, output_level: usize, score: f64, is_level_0_trivial_move: bool) -> Seed {
    let reason = CompactionReason::Level0FilesNum;
    Seed { reason, score, start_level: 0, output_level, files, is_level_0_trivial_move }
}

fn pick_from_level_0(input: &PickerInput<'_>, score: f64) -> Option<CompactionChoice> {
    if input.running.uses_level_0() {
        let files = level0::intra_level_0_for_size(input)?;
        return complete(input, level_0_seed(files, 0, score, false));
    }
    let output_level = input.version.base_level();
    if let Some(files) = level0::trivial_move(input, output_level) {
        return complete(input, level_0_seed(files, output_level, score, true));
    }
    if let Some(files) = level0::intra_level_0_for_size(input) {
        return complete(input, level_0_seed(files, 0, score, false));
    }
    for index in file_order::file_order(input, 0) {
        let file = &input.version.level(0)[index];
        let files = level0::overlapping_files(input, std::slice::from_ref(file));
        let chosen = files.and_then(|files| complete(input, level_0_seed(files, output_level, score, false)));
        if chosen.is_some() {
            return chosen;
        }
    }
    None
}

fn pick_from_level(input: &PickerInput<'_>, level: usize, score: f64) -> Option<CompactionChoice> {
    if input.options.compaction_pri == CompactionPriority::RoundRobin {
        return round_robin::pick(input, CompactionReason::LevelMaxLevelSize, level, score);
    }
    let version = input.version;
    let comparator = version.comparator().user();
    let output_level = level + 1;
    let files = version.level(level);
    let mut order = file_order::file_order(input, level);
    order.retain(|&index| !placement::stays_on(input, level, &files[index]));
    order.into_iter().find_map(|index| {
        let mut files = version.expand_to_clean_cut(level, &version.level(level)[index..=index])?;
        let range = BoundaryRange::of_files(comparator, files.iter().map(|file| &**file))?;
        if version.overlapping_indexes(output_level, &range).is_empty() {
            files = extend_trivial_move(input, level, output_level, files, false);
        }
        let reason = CompactionReason::LevelMaxLevelSize;
        complete(input, Seed { reason, score, start_level: level, output_level, files, is_level_0_trivial_move: false })
    })
}
