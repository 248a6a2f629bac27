//! `incremental`: less size amplification by a part of the two oldest runs, instead of a merge of everything.
//!
//! ```text
//! newer runs          [d]    [g..h]           their files that lie in the window go along
//! second-oldest run   [a..c][d..f][g..i][p..q]      a window of its files ...
//! oldest run          [a..e][f..g][h..j][k..m]...   ... and all that it overlaps here
//! ```
//!
//! A window grows file by file until it and what it overlaps are more than half of `max_compaction_bytes`; the other
//! half is for files that share a key with it and for those of newer runs. Among all windows the one with the lowest
//! *fanout* is taken: bytes of the oldest run per byte of the window. A window never spans a file of the oldest run
//! that no file of it overlaps.
//!
//! What is newer than the window is not all taken along, and is merged once more later. So a fanout of more than 1.8
//! times that of the whole merge is refused, and everything is merged, as without the option. Files of level 0 overlap
//! each other and are not divided: with a second-oldest run there, everything is merged, too.
//!
//! Order of versions: a file of a newer run goes along only if what lies between it and the window in age, and overlaps
//! it, goes along, too. Unlike in RocksDB, a level whose files overlap the window but do not lie in it ends the search.

use super::super::inputs::{Seed, output_level_inputs};
use super::{CompactionChoice, Picker, SortedRun, score};
use crate::compaction::choice::{CompactionReason, LevelInputs};
use crate::version::boundary::BoundaryRange;
use crate::version::{FileMetadata, Version};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Of the fanout of a merge of everything, what a part may have.
const MOST_FANOUT: f64 = 1.8;

/// A part of the two oldest runs, for size amplification; `newer_bytes` are those of all runs but the oldest that would
/// be merged otherwise. `None` when there is no part that is worth it, or it is busy.
pub(super) fn pick(picker: &Picker<'_>, newer_bytes: u64) -> Option<CompactionChoice> {
    let (input, version) = (picker.input, picker.input.version);
    let [newer @ .., second, oldest] = &picker.runs[..] else { return None };
    if second.level == 0 {
        return None;
    }
    let most_fanout = oldest.size_bytes as f64 / newer_bytes.max(1) as f64 * MOST_FANOUT;
    let windows = Windows::new(version, second, oldest);
    let window = windows.lowest_fanout(input.options.max_compaction_bytes / 2, most_fanout)?;
    let mut seed = Seed {
        reason: CompactionReason::UniversalSizeAmplification,
        score: score(version, input.options.level0_file_num_compaction_trigger),
        start_level: second.level,
        output_level: oldest.level,
        files: version.expand_to_clean_cut(second.level, &second.files[window])?,
        is_level_0_trivial_move: false,
    };
    let overlapped = output_level_inputs(input, &mut seed)?;
    let mut inputs = newer_inputs(version, newer, &seed.files);
    inputs.push(LevelInputs { level: second.level, files: seed.files });
    if !overlapped.is_empty() {
        inputs.push(LevelInputs { level: oldest.level, files: overlapped });
    }
    let path_id = picker.path_id(oldest.size_bytes);
    picker.choice_of(seed.reason, inputs, seed.output_level, path_id)
}

/// Files of newer runs that lie in the range of `files`, so that merging them costs nothing more in the oldest run.
fn newer_inputs(version: &Version, newer: &[SortedRun<'_>], files: &[Arc<FileMetadata>]) -> Vec<LevelInputs> {
    let comparator = version.comparator().user();
    let range_of = |files: &[Arc<FileMetadata>]| BoundaryRange::of_files(comparator, files.iter().map(|file| &**file));
    let mut range = range_of(files).unwrap_or_default();
    let mut inputs = Vec::new();
    for run in newer.iter().rev().take_while(|run| run.level > 0 && !run.is_busy) {
        let files = version.clean_inputs_within(run.level, &range);
        match range_of(&files) {
            Some(taken) => range = taken,
            None if version.overlapping_indexes(run.level, &range).is_empty() => continue,
            None => break,
        }
        inputs.push(LevelInputs { level: run.level, files });
    }
    inputs.reverse();
    inputs
}

/// The files of the second-oldest run, and what each overlaps in the oldest.
struct Windows {
    /// Bytes of the files before each file of the second-oldest run, and of all at the end.
    bytes_before: Vec<u64>,
    /// The same of the oldest run.
    overlapped_before: Vec<u64>,
    /// Indexes of the files of the oldest run that each file overlaps.
    overlapped: Vec<Range<usize>>,
}

impl Windows {
    fn new(version: &Version, second: &SortedRun<'_>, oldest: &SortedRun<'_>) -> Self {
        let overlapped = |file: &Arc<FileMetadata>| {
            let range = BoundaryRange { smallest: Some(file.smallest.clone()), largest: Some(file.largest.clone()) };
            version.overlapping_indexes(oldest.level, &range)
        };
        Self {
            bytes_before: sums(second.files),
            overlapped_before: sums(oldest.files),
            overlapped: second.files.iter().map(overlapped).collect(),
        }
    }

    /// The window with the lowest fanout below `most_fanout`, among those that just exceed `size_bytes`.
    fn lowest_fanout(&self, size_bytes: u64, most_fanout: f64) -> Option<RangeInclusive<usize>> {
        let mut best = None;
        let (mut start, mut lowest, count) = (0, most_fanout, self.overlapped.len());
        for end in 0..count {
            if end > 0 && self.overlapped[end].start > self.overlapped[end - 1].end {
                start = end;
            }
            let size = |start: usize| if start > end { 0 } else { self.own(start, end) + self.below(start, end) };
            if size(start) <= size_bytes && end + 1 < count {
                continue;
            }
            if start <= end && self.own(start, end) > 0 {
                let fanout = self.below(start, end) as f64 / self.own(start, end) as f64;
                if fanout < lowest {
                    (lowest, best) = (fanout, Some(start..=end));
                }
            }
            while size(start) > size_bytes {
                start += 1;
            }
        }
        best
    }

    fn own(&self, start: usize, end: usize) -> u64 {
        self.bytes_before[end + 1] - self.bytes_before[start]
    }

    fn below(&self, start: usize, end: usize) -> u64 {
        let (first, behind) = (self.overlapped[start].start, self.overlapped[end].end);
        self.overlapped_before[behind] - self.overlapped_before[first]
    }
}

fn sums(files: &[Arc<FileMetadata>]) -> Vec<u64> {
    let mut all = 0u64;
    let before = files.iter().map(|file| {
        all = all.saturating_add(file.size_bytes);
        all
    });
    std::iter::once(0).chain(before).collect()
}
