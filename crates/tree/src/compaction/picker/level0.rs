//! Level 0, whose files overlap each other.
//!
//! Only one compaction at a time takes files out of level 0, because files that overlap must leave together and oldest
//! first. Compactions of level 0 *into itself* are the exception: they merge a run of the newest files into one and so
//! keep the count of files down while the way to the base level is blocked or too expensive.

use super::PickerInput;
use crate::version::boundary::BoundaryRange;
use crate::version::{FileMetadata, multiply, total_size_bytes};
use std::sync::Arc;

/// Fewest files worth merging within level 0.
const MIN_FILES_FOR_INTRA_LEVEL_0: usize = 4;

type Files = Vec<Arc<FileMetadata>>;

/// Files that can be moved into the base level as they are: from the oldest on, as long as they overlap neither each
/// other nor anything in the base level. Sorted by key.
pub(super) fn trivial_move(input: &PickerInput<'_>, output_level: usize) -> Option<Files> {
    let version = input.version;
    // An empty base level gets its first files by a real compaction, which sorts out their sizes. And compression by
    // level would have to be compared for each file.
    if !input.options.compression_per_level.is_empty() || version.level(output_level).is_empty() {
        return None;
    }
    let comparator = version.comparator();
    let mut files = Files::new();
    let mut bounds: Option<(&[u8], &[u8])> = None;
    for file in version.level(0).iter().rev() {
        let (smallest, largest) = match bounds {
            None => (&*file.smallest, &*file.largest),
            Some((smallest, largest)) if comparator.compare(&file.largest, smallest).is_lt() => {
                (&*file.smallest, largest)
            }
            Some((smallest, largest)) if comparator.compare(&file.smallest, largest).is_gt() => {
                (smallest, &*file.largest)
            }
            Some(_) => break,
        };
        let range = BoundaryRange { smallest: Some(smallest.to_vec()), largest: Some(largest.to_vec()) };
        if file.is_being_compacted() || !version.overlapping_indexes(output_level, &range).is_empty() {
            break;
        }
        bounds = Some((smallest, largest));
        files.push(Arc::clone(file));
    }
    files.sort_by(|a, b| comparator.compare(&a.smallest, &b.smallest));
    (!files.is_empty()).then_some(files)
}

/// The newest files, when merging all of level 0 into a base level that is many times larger would write too much.
pub(super) fn intra_level_0_for_size(input: &PickerInput<'_>) -> Option<Files> {
    let version = input.version;
    let files = version.level(0);
    let trigger = usize::try_from(input.options.level0_file_num_compaction_trigger).unwrap_or(0).max(2);
    if files.len() < trigger {
        return None;
    }
    let factor = input.options.max_bytes_for_level_multiplier.max(10.0) * 2.0;
    // Deletions count: they belong further down.
    let statistics = version.accumulated_statistics();
    let bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(statistics.compensated_size_bytes(file)));
    if version.level_size_bytes(version.base_level()) <= multiply(bytes, factor) {
        return None;
    }
    let idle: Files = files.iter().take_while(|file| !file.is_being_compacted()).cloned().collect();
    (idle.len() >= trigger).then_some(idle)
}

/// A run of the newest files, when level 0 cannot be compacted into the base level now and files pile up.
pub(super) fn intra_level_0_when_blocked(input: &PickerInput<'_>) -> Option<Files> {
    let files = input.version.level(0);
    let trigger = usize::try_from(input.options.level0_file_num_compaction_trigger).unwrap_or(0);
    if files.len() < trigger + 2 {
        return None;
    }
    let (count, _) = newest_while_cheaper(files, input.options.max_compaction_bytes)?;
    (count >= MIN_FILES_FOR_INTRA_LEVEL_0).then(|| files[..count].to_vec())
}

/// How many of the newest files to merge, and the bytes rewritten per file saved: a run that is extended as long as
/// those do not grow. With one file they are `u64::MAX`.
pub(super) fn newest_while_cheaper(files: &[Arc<FileMetadata>], max_compaction_bytes: u64) -> Option<(usize, u64)> {
    let newest = files.first().filter(|file| !file.is_being_compacted())?;
    let mut bytes = newest.size_bytes;
    let mut bytes_per_saved_file = u64::MAX;
    let mut count = 1;
    for file in &files[1..] {
        bytes = bytes.saturating_add(file.size_bytes);
        let per_saved_file = bytes / count as u64;
        if file.is_being_compacted() || per_saved_file > bytes_per_saved_file || bytes > max_compaction_bytes {
            break;
        }
        bytes_per_saved_file = per_saved_file;
        count += 1;
    }
    Some((count, bytes_per_saved_file))
}

/// Files that a compaction from level 0 takes: those that overlap `first`, transitively. `None` when one is busy.
pub(super) fn overlapping_files(input: &PickerInput<'_>, first: &[Arc<FileMetadata>]) -> Option<Files> {
    let comparator = input.version.comparator().user();
    let range = BoundaryRange::of_files(comparator, first.iter().map(|file| &**file))?;
    let files = input.version.overlapping_inputs(0, &range);
    debug_assert!(total_size_bytes(&files) >= total_size_bytes(first));
    (!files.iter().any(|file| file.is_being_compacted())).then_some(files)
}
