//! From the first files to a whole compaction.

use super::PickerInput;
use super::output_path::output_path_id;
use super::placement;
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use crate::version::boundary::{BoundaryRange, compare_boundaries};
use crate::version::{FileMetadata, Version, total_size_bytes};
use ferrock_base::internal_key::user_key;
use ferrock_options::CompactionPriority;
use std::sync::Arc;

/// What was picked, before the rest is added.
#[derive(Clone, Debug)]
pub(super) struct Seed {
    pub(super) reason: CompactionReason,
    pub(super) score: f64,
    pub(super) start_level: usize,
    pub(super) output_level: usize,
    /// A clean cut of the start level, none of it busy.
    pub(super) files: Vec<Arc<FileMetadata>>,
    /// Level 0 files known not to overlap each other or the output level.
    pub(super) is_level_0_trivial_move: bool,
}

/// Most files that one trivial move takes along: each move is a record in the MANIFEST, and what arrives below at once
/// must be compacted on at once.
const MAX_FILES_OF_TRIVIAL_MOVE: usize = 4;

/// Completes a seed. `None` when files that it needs are busy, or another compaction writes into its range.
pub(super) fn complete(input: &PickerInput<'_>, seed: Seed) -> Option<CompactionChoice> {
    let path_id = output_path_id(input.options, seed.output_level);
    complete_into(input, seed, path_id)
}

/// As [`complete`], with the directory of the output given.
pub(super) fn complete_into(input: &PickerInput<'_>, mut seed: Seed, output_path_id: u32) -> Option<CompactionChoice> {
    let version = input.version;
    let comparator = version.comparator().user();
    let mut output_files = Vec::new();
    if seed.output_level > seed.start_level && !seed.is_level_0_trivial_move {
        output_files = output_level_inputs(input, &mut seed)?;
    }
    let all = seed.files.iter().chain(&output_files).map(|file| &**file);
    let range = BoundaryRange::of_files(comparator, all)?;
    // Compactions into level 0 stay clear of each other by their files alone.
    if seed.output_level > 0 && input.running.writes_into(comparator, seed.output_level, &range) {
        return None;
    }
    let mut between = seed.start_level + 1..seed.output_level;
    if between.any(|level| !version.overlapping_indexes(level, &range).is_empty()) {
        // What lies there is older than the seed, and would hide the output.
        return None;
    }
    let grandparents =
        if seed.output_level > 0 { grandparents(version, seed.output_level, &range) } else { Vec::new() };
    let is_oldest = version
        .level(0)
        .last()
        .is_some_and(|oldest| seed.start_level == 0 && seed.files.iter().any(|file| Arc::ptr_eq(file, oldest)));
    let is_bottommost = !version.range_may_exist_below(seed.output_level, &range, is_oldest)
        && (seed.output_level > 0 || output_files.is_empty());
    let epoch_number = seed.files.iter().chain(&output_files).filter_map(|file| file.epoch_number).min();
    let next_compact_cursor = next_cursor(input, &seed);
    let mut inputs = vec![LevelInputs { level: seed.start_level, files: seed.files }];
    if !output_files.is_empty() {
        inputs.push(LevelInputs { level: seed.output_level, files: output_files });
    }
    let mut choice = CompactionChoice {
        reason: seed.reason,
        version: Arc::clone(version),
        start_level: seed.start_level,
        output_level: seed.output_level,
        proximal: None,
        output_path_id,
        compression: None,
        inputs,
        grandparents,
        kind: CompactionKind::Merge,
        output_temperature: None,
        is_bottommost,
        max_output_file_size_bytes: max_output_file_size_bytes(input, seed.output_level),
        max_compaction_bytes: input.options.max_compaction_bytes,
        epoch_number,
        next_compact_cursor,
        score: seed.score,
    };
    if !placement::place(input, &mut choice) {
        return None;
    }
    if is_trivial_move(input, &choice, seed.is_level_0_trivial_move) {
        choice.kind = CompactionKind::Move;
    }
    Some(choice)
}

/// Files of the output level that the seed overlaps. Where that costs nothing more below, the seed grows.
pub(super) fn output_level_inputs(input: &PickerInput<'_>, seed: &mut Seed) -> Option<Vec<Arc<FileMetadata>>> {
    let version = input.version;
    let comparator = version.comparator().user();
    let range = BoundaryRange::of_files(comparator, seed.files.iter().map(|file| &**file))?;
    let overlapping = version.overlapping_inputs(seed.output_level, &range);
    if overlapping.is_empty() {
        return Some(overlapping);
    }
    let output_files = version.expand_to_clean_cut(seed.output_level, &overlapping)?;
    if let Some(grown) = grow(input, seed, &output_files) {
        seed.files = grown;
    }
    Some(output_files)
}

/// More files of the start level that drag along no further file of the output level.
fn grow(input: &PickerInput<'_>, seed: &Seed, output_files: &[Arc<FileMetadata>]) -> Option<Vec<Arc<FileMetadata>>> {
    let version = input.version;
    let comparator = version.comparator().user();
    let limit = input.options.max_compaction_bytes.saturating_mul(2);
    let output_size = total_size_bytes(output_files);
    let fits = |files: &[Arc<FileMetadata>]| {
        files.len() > seed.files.len()
            && output_size.saturating_add(total_size_bytes(files)) < limit
            && !files.iter().any(|file| file.is_being_compacted())
    };
    let all = seed.files.iter().chain(output_files).map(|file| &**file);
    let mut range = BoundaryRange::of_files(comparator, all)?;
    if input.options.compaction_pri == CompactionPriority::RoundRobin
        && seed.reason == CompactionReason::LevelMaxLevelSize
        && let Some(first) = seed.files.first()
    {
        // Files to the left had their turn.
        range.smallest = Some(first.smallest.clone());
    }
    let touching = version.overlapping_inputs(seed.start_level, &range);
    if let Some(touching) = version.expand_to_clean_cut(seed.start_level, &touching).filter(|files| fits(files)) {
        let range = BoundaryRange::of_files(comparator, touching.iter().map(|file| &**file))?;
        let dragged = version.overlapping_inputs(seed.output_level, &range);
        let dragged = version.expand_to_clean_cut(seed.output_level, &dragged);
        if dragged.is_some_and(|dragged| dragged.len() == output_files.len()) {
            return Some(touching);
        }
    }
    if seed.start_level == 0 {
        // Part of level 0 is only safe to take when it is closed under overlap, which the first try looked at.
        return None;
    }
    Some(version.clean_inputs_within(seed.start_level, &range)).filter(|files| fits(files))
}

/// Adds neighbours to a single file that is likely to be moved without being rewritten.
pub(super) fn extend_trivial_move(
    input: &PickerInput<'_>,
    level: usize,
    output_level: usize,
    files: Vec<Arc<FileMetadata>>,
    only_to_the_right: bool,
) -> Vec<Arc<FileMetadata>> {
    let [first] = &files[..] else { return files };
    if !input.options.compression_per_level.is_empty() {
        return files;
    }
    let level_files = input.version.level(level);
    let Some(start) = level_files.iter().position(|file| Arc::ptr_eq(file, first)) else { return files };
    let comparator = input.version.comparator().user();
    let shares_key = |left: &FileMetadata, right: &FileMetadata| {
        compare_boundaries(comparator, &left.largest, &right.smallest).is_ge()
    };
    let (mut begin, mut end, mut size) = (start, start + 1, first.size_bytes);
    let can_take = |begin: usize, end: usize, size: u64, added: &FileMetadata| {
        let range = BoundaryRange {
            smallest: Some(level_files[begin].smallest.clone()),
            largest: Some(level_files[end - 1].largest.clone()),
        };
        !added.is_being_compacted()
            && size <= input.options.max_compaction_bytes
            && input.version.overlapping_indexes(output_level, &range).is_empty()
            && level_files.get(end).is_none_or(|right| !shares_key(&level_files[end - 1], right))
            && (begin == 0 || !shares_key(&level_files[begin - 1], &level_files[begin]))
    };
    while let Some(right) = level_files.get(end).filter(|_| end - begin < MAX_FILES_OF_TRIVIAL_MOVE) {
        let grown = size.saturating_add(right.size_bytes);
        if !can_take(begin, end + 1, grown, right) {
            break;
        }
        (end, size) = (end + 1, grown);
    }
    while begin > 0 && !only_to_the_right && end - begin < MAX_FILES_OF_TRIVIAL_MOVE {
        let left = &level_files[begin - 1];
        let grown = size.saturating_add(left.size_bytes);
        if !can_take(begin - 1, end, grown, left) {
            break;
        }
        (begin, size) = (begin - 1, grown);
    }
    level_files[begin..end].to_vec()
}

/// The overlapping files of the first level below the output level that has any.
pub(crate) fn grandparents(version: &Version, output_level: usize, range: &BoundaryRange) -> Vec<Arc<FileMetadata>> {
    (output_level + 1..version.num_levels())
        .map(|level| version.overlapping_inputs(level, range))
        .find(|files| !files.is_empty())
        .unwrap_or_default()
}

/// Whether the inputs can be recorded on the output level without being rewritten.
pub(super) fn is_trivial_move(
    input: &PickerInput<'_>,
    choice: &CompactionChoice,
    is_level_0_trivial_move: bool,
) -> bool {
    let (options, version) = (input.options, input.version);
    let [inputs] = &choice.inputs[..] else { return false };
    if choice.start_level == choice.output_level
        || (choice.start_level == 0 && !is_level_0_trivial_move && inputs.files.len() > 1)
        || (choice.reason == CompactionReason::ManualCompaction && options.has_compaction_filter())
        // Each entry of it goes where its age says.
        || choice.proximal.is_some()
        || inputs.files.iter().any(|file| file.path_id != choice.output_path_id)
        // The bottom is where the deletions of a marked file go.
        || (choice.is_bottommost && inputs.files.iter().any(|file| file.needs_compaction))
    {
        return false;
    }
    // A file that a filter or another compressor would change on the way down is rewritten.
    let base_level = version.base_level();
    let here = options.compression_for(choice.start_level, base_level, false).0;
    let there = options.compression_for(choice.output_level, base_level, choice.is_bottommost).0;
    if here != there {
        return false;
    }
    // As in RocksDB, a partitioner is asked where there is a level below.
    let mut partitioner =
        if choice.output_level + 1 < version.num_levels() { choice.partitioner(options) } else { None };
    inputs.files.iter().all(|file| {
        let (smallest, largest) = (file.smallest_user_key(), user_key(&file.largest));
        if partitioner.as_mut().is_some_and(|partitioner| !partitioner.can_do_trivial_move(smallest, largest)) {
            return false;
        }
        let range = BoundaryRange { smallest: Some(file.smallest.clone()), largest: Some(file.largest.clone()) };
        let below = version.overlapping_indexes(choice.output_level + 1, &range);
        let below = total_size_bytes(&version.level(choice.output_level + 1)[below]);
        below.saturating_add(file.size_bytes) <= choice.max_compaction_bytes
    })
}

/// Target size of output files: `target_file_size_base` on the first two levels that hold data, then multiplied. Level
/// 0 gets a single file, or it would have as many as before.
pub(crate) fn max_output_file_size_bytes(input: &PickerInput<'_>, output_level: usize) -> u64 {
    if output_level == 0 {
        return u64::MAX;
    }
    let options = input.options;
    let base_level = input.version.base_level();
    let step = if options.level_compaction_dynamic_level_bytes && output_level >= base_level {
        output_level - base_level
    } else {
        output_level
    };
    let factor = u64::try_from(options.target_file_size_multiplier).unwrap_or(1).max(1);
    (1..step).fold(options.target_file_size_base, |size, _| size.saturating_mul(factor))
}

/// Where round-robin compaction goes on: the file behind those taken, or the first one again.
fn next_cursor(input: &PickerInput<'_>, seed: &Seed) -> Option<Vec<u8>> {
    if input.options.compaction_pri != CompactionPriority::RoundRobin || seed.start_level == 0 {
        return None;
    }
    let files = input.version.level(seed.start_level);
    let last = seed.files.last()?;
    let position = files.iter().position(|file| Arc::ptr_eq(file, last))?;
    let next = files.get(position + 1).or(files.first())?;
    Some(next.smallest.clone())
}
