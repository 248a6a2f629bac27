//! Compactions for other reasons than size, in this order:
//!
//! | trigger | files | output |
//! |---|---|---|
//! | marked | `needs_compaction` or by a caller, not in the deepest level | next level |
//! | bottommost | nothing below, newest write older than the threshold, not too young | same level |
//! | ttl | data older than `ttl`, not in the deepest level; with round robin below level 0 the file whose turn it is, in a level that has such data | next level |
//! | periodic | written more than `periodic_compaction_seconds` ago | with dynamic levels next level; else, or at the end, same level |
//! | blobs | refers to the oldest blob file, where the oldest have too much garbage | same level |
//! | reads | more than `read_triggered_compaction_threshold` collapsible reads a byte, most of them first; in the deepest level only of level 0 | next level; of level 0, where it is the deepest, same level |

use super::inputs::{Seed, complete};
use super::{PickerInput, level0, placement, round_robin};
use crate::blob::BlobCollection;
use crate::compaction::choice::{CompactionChoice, CompactionReason};
use crate::version::FileMetadata;
use crate::version::boundary::BoundaryRange;
use ferrock_base::SequenceNumber;
use ferrock_options::CompactionPriority;
use std::sync::Arc;

const TRIGGERS: [CompactionReason; 6] = [
    CompactionReason::FilesMarkedForCompaction,
    CompactionReason::BottommostFiles,
    CompactionReason::Ttl,
    CompactionReason::PeriodicCompaction,
    CompactionReason::ForcedBlobGc,
    CompactionReason::ReadTriggered,
];

pub(super) fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    TRIGGERS.into_iter().find_map(|reason| {
        if reason == CompactionReason::ReadTriggered {
            return most_read_first(input).into_iter().find_map(|(level, file)| compact(input, reason, level, file));
        }
        let mut candidates = candidates(input, reason).peekable();
        if reason == CompactionReason::Ttl
            && input.options.compaction_pri == CompactionPriority::RoundRobin
            && let Some((level, _)) = candidates.peek().filter(|(level, _)| *level > 0)
            && let Some(choice) = round_robin::pick(input, CompactionReason::RoundRobinTtl, *level, 0.0)
        {
            return Some(choice);
        }
        candidates.find_map(|(level, file)| compact(input, reason, level, file))
    })
}

/// True when some idle file asks for a compaction.
pub(super) fn has_candidates(input: &PickerInput<'_>) -> bool {
    TRIGGERS.into_iter().any(|reason| candidates(input, reason).next().is_some())
}

fn candidates<'a>(
    input: &'a PickerInput<'_>,
    reason: CompactionReason,
) -> impl Iterator<Item = (usize, &'a Arc<FileMetadata>)> {
    let deepest = deepest_level(input);
    let is_forced = reason == CompactionReason::ForcedBlobGc;
    let garbage = if is_forced { BlobCollection::forced(&input.options.settings, input.version) } else { None };
    input.version.files().filter(move |(level, file)| {
        let is_at_its_end = *level == deepest
            && match reason {
                CompactionReason::FilesMarkedForCompaction | CompactionReason::ReadTriggered => *level > 0,
                CompactionReason::Ttl => true,
                _ => false,
            };
        let is_due = match garbage {
            Some(_) => file.oldest_blob_file_number == garbage,
            None => is_due(input, reason, *level, file),
        };
        let stays = goes_down(input, reason, *level) && placement::stays_on(input, *level, file);
        *level < input.version.num_compacted_levels()
            && !is_at_its_end
            && !file.is_being_compacted()
            && is_due
            && !stays
    })
}

/// Files that reads make due, with the most reads a byte first. The reads of a moment: they go on being counted.
pub(super) fn most_read_first<'a>(input: &'a PickerInput<'_>) -> Vec<(usize, &'a Arc<FileMetadata>)> {
    if !input.options.counts_reads() {
        return Vec::new();
    }
    let due = candidates(input, CompactionReason::ReadTriggered);
    let mut due: Vec<_> = due.map(|(level, file)| (reads_per_byte(file), level, file)).collect();
    due.sort_by(|a, b| b.0.total_cmp(&a.0));
    due.into_iter().map(|(_, level, file)| (level, file)).collect()
}

fn reads_per_byte(file: &FileMetadata) -> f64 {
    file.collapsible_reads() as f64 / (file.size_bytes as f64).max(1.0)
}

fn is_read_in_vain(input: &PickerInput<'_>, file: &FileMetadata) -> bool {
    input.options.counts_reads() && reads_per_byte(file) > input.options.read_triggered_compaction_threshold
}

fn deepest_level(input: &PickerInput<'_>) -> usize {
    input.version.deepest_compacted_level().unwrap_or(0)
}

fn is_due(input: &PickerInput<'_>, reason: CompactionReason, level: usize, file: &Arc<FileMetadata>) -> bool {
    match reason {
        CompactionReason::FilesMarkedForCompaction => is_marked(file),
        CompactionReason::BottommostFiles => {
            file.largest_seqno > SequenceNumber(0)
                && file.largest_seqno < input.bottommost_threshold
                && !is_too_young(input, file)
                && is_at_the_bottom(input, level, file)
        }
        CompactionReason::Ttl => is_older(input, file.oldest_ancester_time_secs, input.options.ttl),
        CompactionReason::PeriodicCompaction => is_old(input, file),
        CompactionReason::ReadTriggered => is_read_in_vain(input, file),
        _ => false,
    }
}

fn is_older(input: &PickerInput<'_>, time_secs: u64, age_secs: u64) -> bool {
    age_secs > 0 && time_secs > 0 && time_secs < input.now_secs.saturating_sub(age_secs)
}

/// True for a file that `bottommost_file_compaction_delay` still protects. One of unknown age is old.
fn is_too_young(input: &PickerInput<'_>, file: &FileMetadata) -> bool {
    let delay_secs = u64::from(input.options.bottommost_file_compaction_delay);
    delay_secs > 0 && file.written_at_secs() > input.now_secs.saturating_sub(delay_secs)
}

/// True for a file that its writer, or a caller, marked.
pub(super) fn is_marked(file: &FileMetadata) -> bool {
    file.needs_compaction || file.is_marked()
}

/// True for a file that was not rewritten for `periodic_compaction_seconds`; at an off-peak time, for one that comes to
/// be so old before the next.
pub(super) fn is_old(input: &PickerInput<'_>, file: &FileMetadata) -> bool {
    let (age_secs, time_secs) = (input.options.periodic_compaction_seconds, file.written_at_secs());
    // At most by half of its time: with the off-peak time of a day and an age of hours, each file would be due as soon
    // as it is written, without end, as in RocksDB.
    let early_secs = input.early_secs.min(age_secs / 2);
    let limit = input.now_secs.checked_sub(age_secs).map(|limit| limit.saturating_add(early_secs));
    age_secs > 0 && time_secs > 0 && limit.is_some_and(|limit| time_secs < limit)
}

/// A rewrite with nothing below it makes the sequence numbers 0, so that the file is not due again. Where a file shares
/// a key with a neighbour that has data below it, both are rewritten and keep their numbers, once: if all versions of
/// the key are older than every snapshot, with nothing below them, one is left of them, in one file, and the next
/// rewrite is of that alone. If the neighbour has newer ones, both versions may stay where they are: such a file waits
/// until no snapshot is in the way.
fn is_at_the_bottom(input: &PickerInput<'_>, level: usize, file: &Arc<FileMetadata>) -> bool {
    let version = input.version;
    let is_oldest = version.level(0).last().is_some_and(|oldest| oldest.number == file.number);
    let has_data_below = |range: &BoundaryRange| version.range_may_exist_below(level, range, is_oldest);
    let range = BoundaryRange { smallest: Some(file.smallest.clone()), largest: Some(file.largest.clone()) };
    if has_data_below(&range) {
        return false;
    }
    let Some(files) = version.expand_to_clean_cut(level, std::slice::from_ref(file)) else { return true };
    let is_newer = files.iter().any(|file| file.largest_seqno >= input.bottommost_threshold);
    let all = BoundaryRange::of_files(version.comparator().user(), files.iter().map(|file| &**file));
    !(is_newer && all.is_some_and(|range| has_data_below(&range)))
}

fn goes_down(input: &PickerInput<'_>, reason: CompactionReason, level: usize) -> bool {
    match reason {
        CompactionReason::FilesMarkedForCompaction | CompactionReason::Ttl => true,
        // Entries meet what lies below them, and become part of the levels that the tree has now.
        CompactionReason::PeriodicCompaction => {
            input.options.level_compaction_dynamic_level_bytes && level < deepest_level(input)
        }
        CompactionReason::ReadTriggered => level < deepest_level(input),
        _ => false,
    }
}

fn compact(
    input: &PickerInput<'_>,
    reason: CompactionReason,
    level: usize,
    file: &Arc<FileMetadata>,
) -> Option<CompactionChoice> {
    if level == 0 && input.running.uses_level_0() {
        return None;
    }
    let output_level = match (level, goes_down(input, reason, level)) {
        (0, true) => input.version.base_level(),
        (_, true) => level + 1,
        (_, false) => level,
    };
    let first = std::slice::from_ref(file);
    let files = if level == 0 && output_level > 0 {
        level0::overlapping_files(input, first)?
    } else {
        input.version.expand_to_clean_cut(level, first)?
    };
    let seed = Seed { reason, score: 0.0, start_level: level, output_level, files, is_level_0_trivial_move: false };
    complete(input, seed)
}
