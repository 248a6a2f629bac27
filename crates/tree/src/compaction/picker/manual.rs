//! `compact_range`: which levels, and piece by piece which files.
//!
//! A manual compaction walks down the levels that hold data of the range, each into the next, and may end by rewriting
//! the deepest one in place. Each step is cut into pieces of about `max_compaction_bytes`; a piece says where the next
//! one begins. Of a queue no range is compacted: a step is the compaction that its options ask for. The sorted runs of
//! a universal family become one, whatever the range.

use super::inputs::{Seed, complete_into};
use super::universal::{Everything, pick_everything};
use super::{PickerInput, fifo};
use crate::compaction::choice::{CompactionChoice, CompactionReason};
use crate::version::boundary::BoundaryRange;
use crate::version::{FileMetadata, Version, total_size_bytes};
use ferrock_base::FileNumber;
use ferrock_options::{BottommostLevelCompaction, ColumnFamilyOptions, CompactionShape, CompactionStyle};
use std::sync::Arc;

/// One level's part of a manual compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManualStep {
    /// Where the files are.
    pub input_level: usize,
    /// Where they go.
    pub output_level: usize,
}

/// A piece of a step.
#[derive(Clone, Debug)]
pub struct ManualRequest<'a> {
    /// The step.
    pub step: ManualStep,
    /// First user key; `None` for all.
    pub begin: Option<&'a [u8]>,
    /// Last user key, inclusive; `None` for all.
    pub end: Option<&'a [u8]>,
    /// Files with this number or a larger one were made by this manual compaction and are not rewritten in place.
    pub ignore_files_from: FileNumber,
    /// The directory that outputs go to.
    pub target_path_id: u32,
}

/// The answer to a [`ManualRequest`].
#[derive(Clone, Debug)]
pub enum ManualChoice {
    /// Nothing (more) to do for the step.
    Done,
    /// Files are busy: wait until a running compaction ends, then ask again.
    Conflict,
    /// Run this, then ask again from `next_begin` on; `None` when the step is then done.
    Compact {
        /// The compaction.
        choice: Box<CompactionChoice>,
        /// User key to begin the next piece with.
        next_begin: Option<Vec<u8>>,
    },
}

/// The steps that compact the user keys `[begin, end]`, in order, by what the levels hold now.
#[must_use]
pub fn manual_steps(
    version: &Version,
    options: &ColumnFamilyOptions,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    bottommost: BottommostLevelCompaction,
) -> Vec<ManualStep> {
    if options.compaction_shape() == CompactionShape::Queue {
        return vec![ManualStep { input_level: 0, output_level: 0 }];
    }
    if options.compaction_shape() == CompactionShape::Runs {
        return vec![ManualStep { input_level: 0, output_level: version.num_compacted_levels() - 1 }];
    }
    let levels = levels_with(version, begin, end, FileNumber(u64::MAX));
    let Some(&first) = levels.first() else { return Vec::new() };
    if version.num_levels() == 1 {
        return vec![ManualStep { input_level: 0, output_level: 0 }];
    }
    // Dynamic targets do without levels above the last where they can, and so does RocksDB's manual compaction.
    let is_dynamic = options.level_compaction_dynamic_level_bytes && options.compaction_style == CompactionStyle::Level;
    let deepest = if is_dynamic { version.num_levels() - 1 } else { levels.last().copied().unwrap_or(first) };
    steps_down(version, options, first, deepest, bottommost)
}

/// The steps behind those of [`manual_steps`], which ended in the level `reached`: for tables of the range that a
/// compaction beside them has moved below it, past the step that would have rewritten them. Such a table is older than
/// the call and so has a number before `made_since`; one that was written or ingested since is no reason.
#[must_use]
pub fn manual_steps_below(
    version: &Version,
    options: &ColumnFamilyOptions,
    begin: Option<&[u8]>,
    end: Option<&[u8]>,
    bottommost: BottommostLevelCompaction,
    reached: usize,
    made_since: FileNumber,
) -> Vec<ManualStep> {
    if options.compaction_shape() != CompactionShape::Levels || version.num_levels() == 1 {
        return Vec::new();
    }
    match levels_with(version, begin, end, made_since).last() {
        Some(&deepest) if deepest > reached => steps_down(version, options, reached, deepest, bottommost),
        _ => Vec::new(),
    }
}

/// The levels that hold tables of the range with numbers before `made_since`.
fn levels_with(version: &Version, begin: Option<&[u8]>, end: Option<&[u8]>, made_since: FileNumber) -> Vec<usize> {
    let range = BoundaryRange::of_user_keys(begin, end);
    let comparator = version.comparator().user();
    let is_wanted = |file: &FileMetadata| file.number < made_since && range.overlaps(comparator, file);
    (0..version.num_levels()).filter(|&level| version.level(level).iter().any(|file| is_wanted(file))).collect()
}

fn steps_down(
    version: &Version,
    options: &ColumnFamilyOptions,
    first: usize,
    deepest: usize,
    bottommost: BottommostLevelCompaction,
) -> Vec<ManualStep> {
    let mut steps = Vec::new();
    let mut level = first;
    while level < deepest || level == 0 {
        let output_level = if level == 0 { version.base_level() } else { level + 1 };
        steps.push(ManualStep { input_level: level, output_level });
        level = output_level;
    }
    let rewrites_bottom = match bottommost {
        BottommostLevelCompaction::Skip => false,
        BottommostLevelCompaction::IfHaveCompactionFilter => options.has_compaction_filter(),
        BottommostLevelCompaction::Force | BottommostLevelCompaction::ForceOptimized => true,
    };
    if rewrites_bottom {
        steps.push(ManualStep { input_level: level, output_level: level });
    }
    steps
}

/// The next piece of a step.
#[must_use]
pub fn pick_manual(input: &PickerInput<'_>, request: &ManualRequest<'_>) -> ManualChoice {
    if input.options.compaction_shape() == CompactionShape::Queue {
        return match fifo::pick_any(input) {
            Some(choice) => ManualChoice::Compact { choice: Box::new(choice), next_begin: None },
            // It may be what the caller asks for.
            None if input.running.uses_level_0() => ManualChoice::Conflict,
            None => ManualChoice::Done,
        };
    }
    if input.options.compaction_shape() == CompactionShape::Runs {
        return match pick_everything(input, request.target_path_id) {
            Everything::Merge(choice) => ManualChoice::Compact { choice, next_begin: None },
            Everything::Busy => ManualChoice::Conflict,
            Everything::Nothing => ManualChoice::Done,
        };
    }
    let version = input.version;
    let ManualStep { input_level, mut output_level } = request.step;
    if input_level == 0 && output_level > 0 {
        // The step is of a version that compactions have changed: the base level may be another one now, and what is
        // there is newer than what lies below it.
        output_level = version.base_level();
    }
    let range = BoundaryRange::of_user_keys(request.begin, request.end);
    let mut files = version.overlapping_inputs(input_level, &range);
    if files.is_empty() {
        return ManualChoice::Done;
    }
    if input_level == 0 && input.running.uses_level_0() {
        return ManualChoice::Conflict;
    }
    // In level 0 files overlap: one that came meanwhile must not part those that are merged.
    if input_level > 0 && input_level == output_level && !skip_made(&mut files, request.ignore_files_from) {
        return ManualChoice::Done;
    }
    if input_level > 0 {
        cut_to_size(input, output_level, &mut files);
    }
    let Some(files) = version.expand_to_clean_cut(input_level, &files) else { return ManualChoice::Conflict };
    let seed = Seed {
        reason: CompactionReason::ManualCompaction,
        score: 0.0,
        start_level: input_level,
        output_level,
        files,
        is_level_0_trivial_move: false,
    };
    match complete_into(input, seed, request.target_path_id) {
        Some(choice) => {
            // The choice may have taken more files than were asked for.
            let taken = choice.inputs.first().map_or(&[][..], |inputs| &inputs.files);
            ManualChoice::Compact { next_begin: next_begin(input, request, taken), choice: Box::new(choice) }
        }
        None => ManualChoice::Conflict,
    }
}

/// Leaves the first run of files that this manual compaction did not make; false when it made all of them.
fn skip_made(files: &mut Vec<Arc<FileMetadata>>, made_from: FileNumber) -> bool {
    let is_made = |file: &Arc<FileMetadata>| file.number >= made_from;
    let first = files.iter().position(|file| !is_made(file)).unwrap_or(files.len());
    files.drain(..first);
    if let Some(end) = files.iter().position(is_made) {
        files.truncate(end);
    }
    !files.is_empty()
}

/// Drops files from the end until the rest and what it overlaps below is about `max_compaction_bytes`. The file that
/// crosses the limit stays, so that every piece makes progress.
fn cut_to_size(input: &PickerInput<'_>, output_level: usize, files: &mut Vec<Arc<FileMetadata>>) {
    let version = input.version;
    let mut size = 0u64;
    let smallest = files.first().map(|file| file.smallest.clone());
    let cut = files.iter().position(|file| {
        size = size.saturating_add(file.size_bytes);
        let range = BoundaryRange { smallest: smallest.clone(), largest: Some(file.largest.clone()) };
        let below = &version.level(output_level)[version.overlapping_indexes(output_level, &range)];
        size.saturating_add(total_size_bytes(below)) >= input.options.max_compaction_bytes
    });
    if let Some(cut) = cut {
        files.truncate(cut + 1);
    }
}

/// The first user key of the level behind `files`, if it is still in the request's range.
fn next_begin(input: &PickerInput<'_>, request: &ManualRequest<'_>, files: &[Arc<FileMetadata>]) -> Option<Vec<u8>> {
    if request.step.input_level == 0 {
        return None;
    }
    let level_files = input.version.level(request.step.input_level);
    let last = files.last()?;
    let position = level_files.iter().position(|file| Arc::ptr_eq(file, last))?;
    let next = level_files.get(position + 1)?.smallest_user_key();
    let comparator = input.version.comparator().user();
    let is_inside = request.end.is_none_or(|end| comparator.compare(next, end).is_le());
    is_inside.then(|| next.to_vec())
}
