//! `delete_files_in_ranges` and `suggest_compact_range`: files by the ranges that callers name.

use super::PickerInput;
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use crate::version::Version;
use crate::version::boundary::BoundaryRange;
use std::sync::Arc;

/// User keys from the first to the last, both inclusive; `None`: all before, all behind.
pub type UserKeyRange<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// The files of all levels but 0 that lie in one of the ranges as a whole, share no user key with a file outside, and
/// are not busy, to be dropped. Without `includes_end` a file whose largest key is the end of its range stays. `None`
/// for no files.
#[must_use]
pub fn pick_within(
    input: &PickerInput<'_>,
    ranges: &[UserKeyRange<'_>],
    includes_end: bool,
) -> Option<CompactionChoice> {
    let (version, order) = (input.version, input.version.comparator().user());
    let mut inputs: Vec<LevelInputs> = Vec::new();
    for level in 1..version.num_levels() {
        let mut taken = vec![false; version.level(level).len()];
        for &(begin, end) in ranges {
            for file in version.clean_inputs_within(level, &BoundaryRange::of_user_keys(begin, end)) {
                let is_at_end = end.is_some_and(|end| order.equal(file.largest_user_key(), end));
                if file.is_being_compacted() || !includes_end && is_at_end {
                    continue;
                }
                if let Some(at) = version.level(level).iter().position(|other| Arc::ptr_eq(other, &file)) {
                    taken[at] = true;
                }
            }
        }
        let files = version.level(level).iter().zip(taken).filter(|(_, taken)| *taken);
        let files: Vec<_> = files.map(|(file, _)| Arc::clone(file)).collect();
        if !files.is_empty() {
            inputs.push(LevelInputs { level, files });
        }
    }
    let level = inputs.first()?.level;
    let reason = CompactionReason::ManualCompaction;
    Some(CompactionChoice::of_whole_files(CompactionKind::Drop, reason, version, inputs, level))
}

/// Marks the files that overlap a range: each is compacted into the next level when a thread is free, but for those of
/// the deepest one.
pub fn mark_overlapping(version: &Version, (begin, end): UserKeyRange<'_>) {
    let range = BoundaryRange::of_user_keys(begin, end);
    for level in 0..version.num_levels() {
        for file in version.overlapping_inputs(level, &range) {
            file.mark_for_compaction();
        }
    }
}
