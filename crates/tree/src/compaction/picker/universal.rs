//! Universal compaction: sorted runs that are merged when their sizes are alike, so that each entry is rewritten
//! seldom, at the price of more runs to read and more space for what is overwritten.
//!
//! ```text
//! runs, newest first     L0 #9   L0 #8   L0 #7   L4 (files of a level are one run)   L6
//!
//! periodic     a file is older than `periodic_compaction_seconds`     all runs, up to one that is busy
//! size         all runs but the oldest are too large beside it         the same, without some of the newest
//! ratio        the next run is no larger than those before it          from the newest such run on
//! number       too many runs                                           the newest ones, whatever their sizes
//! marked       the writer of a file, or a caller, marked it            the file and what it overlaps
//! reads        `read_triggered_compaction_threshold`                   the same
//! ```
//!
//! The runs of a merge follow each other in age, so that no older version of a key comes to lie over a newer one. The
//! output goes as deep as it can: to the last level if the oldest run is merged, else to the level above the next run,
//! which is level 0 if that is a file of level 0. A run that is being compacted is where it was until that is done, so
//! merges that run at once never cross.
//!
//! With `cf_allow_ingest_behind` the last level is no run: the level above it is the last one here, and nothing there
//! is at the bottom of the tree.
//!
//! With `incremental` a merge for size amplification is a part of the two oldest runs where it can be (`incremental`),
//! and other outputs end near the ends of files of the next run.
//!
//! RocksDB's rules, but for options with which nothing would be merged and writers would be stopped for good:
//! `max_merge_width` is at least 2, `min_merge_width` no more than that, and once writers are slowed down two runs are
//! merged at least.

mod incremental;

use super::inputs::{Seed, complete_into};
use super::{CompactionChoice, PickerInput, level0, placement, stall, triggers};
use crate::compaction::choice::{CompactionKind, CompactionReason, LevelInputs};
use crate::version::{FileMetadata, Version, total_size_bytes};
use ferrock_options::{CompactionOptionsUniversal, CompactionStopStyle, CompressionType};
use std::ops::Range;
use std::sync::Arc;

/// A file of level 0, or a deeper level that is not empty.
struct SortedRun<'a> {
    level: usize,
    files: &'a [Arc<FileMetadata>],
    size_bytes: u64,
    /// With what its deletions will free.
    compensated_bytes: u64,
    is_busy: bool,
}

impl<'a> SortedRun<'a> {
    fn new(version: &Version, level: usize, files: &'a [Arc<FileMetadata>]) -> Self {
        let statistics = version.accumulated_statistics();
        let compensated = files.iter().map(|file| statistics.compensated_size_bytes(file));
        Self {
            level,
            files,
            size_bytes: total_size_bytes(files),
            compensated_bytes: compensated.fold(0, u64::saturating_add),
            is_busy: files.iter().any(|file| file.is_being_compacted()),
        }
    }
}

/// The sorted runs of a version, newest first.
fn sorted_runs(version: &Version) -> Vec<SortedRun<'_>> {
    let newest = version.level(0).chunks(1).map(|file| SortedRun::new(version, 0, file));
    let deeper = (1..version.num_compacted_levels()).map(|level| SortedRun::new(version, level, version.level(level)));
    newest.chain(deeper).filter(|run| !run.files.is_empty()).collect()
}

/// How many sorted runs a version has.
pub(super) fn num_runs(version: &Version) -> usize {
    version.level(0).len()
        + (1..version.num_compacted_levels()).filter(|&level| !version.level(level).is_empty()).count()
}

/// How badly the runs need a compaction, from 1 on: how many are idle, beside the trigger.
pub(super) fn score(version: &Version, trigger: i32) -> f64 {
    let idle = |files: &[Arc<FileMetadata>]| files.first().is_some_and(|file| !file.is_being_compacted());
    let newest = version.level(0).chunks(1).filter(|file| idle(file)).count();
    let deeper = (1..version.num_compacted_levels()).filter(|&level| idle(version.level(level))).count();
    (newest + deeper) as f64 / f64::from(trigger.max(1))
}

/// The next compaction that the family needs by itself.
pub(super) fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    pick_where(input, |_| true)
}

/// The first of the compactions that the family needs of which `fits` is true.
pub(super) fn pick_where(input: &PickerInput<'_>, fits: fn(&CompactionChoice) -> bool) -> Option<CompactionChoice> {
    let picker = Picker::new(input);
    let trigger = usize::try_from(input.options.level0_file_num_compaction_trigger).unwrap_or(0);
    let is_due = picker.runs.len() >= trigger;
    picker
        .periodic()
        .filter(fits)
        .or_else(|| is_due.then(|| picker.for_size_amplification()).flatten().filter(fits))
        .or_else(|| is_due.then(|| picker.for_size_ratio()).flatten().filter(fits))
        .or_else(|| is_due.then(|| picker.for_number()).flatten().filter(fits))
        .or_else(|| picker.marked().filter(fits))
        .or_else(|| picker.most_read().filter(fits))
}

/// What a caller asks for: all runs become one.
pub(super) enum Everything {
    Nothing,
    Busy,
    Merge(Box<CompactionChoice>),
}

/// All runs, to be merged into the last level.
pub(super) fn pick_everything(input: &PickerInput<'_>, output_path_id: u32) -> Everything {
    let picker = Picker::new(input);
    let all = 0..picker.runs.len();
    if all.is_empty() {
        return Everything::Nothing;
    }
    if picker.runs.iter().any(|run| run.is_busy) {
        return Everything::Busy;
    }
    match picker.merge_into(CompactionReason::ManualCompaction, all, output_path_id, true) {
        Some(choice) => Everything::Merge(Box::new(choice)),
        None => Everything::Busy,
    }
}

struct Picker<'a> {
    input: &'a PickerInput<'a>,
    options: &'a CompactionOptionsUniversal,
    runs: Vec<SortedRun<'a>>,
}

impl<'a> Picker<'a> {
    fn new(input: &'a PickerInput<'a>) -> Self {
        let options = &input.options.compaction_options_universal;
        Self { input, options, runs: sorted_runs(input.version) }
    }

    /// The first of the runs that end with `last` and of which none is busy.
    fn first_idle_before(&self, last: usize) -> usize {
        self.runs[..last].iter().rposition(|run| run.is_busy).map_or(0, |busy| busy + 1)
    }

    fn periodic(&self) -> Option<CompactionChoice> {
        let due = |files: &[Arc<FileMetadata>]| files.iter().any(|file| triggers::is_old(self.input, file));
        if !self.runs.iter().any(|run| due(run.files)) {
            return None;
        }
        let last = self.runs.len() - 1;
        let first = self.first_idle_before(last);
        // A lone oldest run is only rewritten for its own age.
        if self.runs[last].is_busy || (first == last && !due(self.runs[last].files)) {
            return None;
        }
        self.merge(CompactionReason::PeriodicCompaction, first..last + 1, true)
    }

    fn for_size_amplification(&self) -> Option<CompactionChoice> {
        let mut last = self.runs.len().checked_sub(1)?;
        let leaves_last_level = self.leaves_last_level();
        if leaves_last_level {
            last = last.checked_sub(1)?;
        }
        let oldest = &self.runs[last];
        let mut first = self.first_idle_before(last);
        if oldest.is_busy || first == last {
            return None;
        }
        let mut newer_bytes = compensated_bytes(&self.runs[first..last]);
        first = self.leave_newest(first, last, &mut newer_bytes);
        let percent = u64::from(self.options.max_size_amplification_percent);
        if newer_bytes.saturating_mul(100) < percent.saturating_mul(oldest.size_bytes) {
            return None;
        }
        if self.options.incremental
            && !leaves_last_level
            && let Some(part) = incremental::pick(self, newer_bytes)
        {
            return Some(part);
        }
        self.merge(CompactionReason::UniversalSizeAmplification, first..last + 1, true)
    }

    /// True where the last level is no measure of the runs above it, because it has data of another age.
    fn leaves_last_level(&self) -> bool {
        let proximal = placement::proximal_level(self.input.options, self.input.version.num_levels());
        proximal.is_some_and(|proximal| self.runs.last().is_some_and(|oldest| oldest.level == proximal + 1))
    }

    /// Leaves some of the newest files of level 0 out of a merge for size amplification, where that changes little: a
    /// long merge keeps the runs that it reads, and a few flushes later writers would be stopped.
    fn leave_newest(&self, first: usize, last: usize, newer_bytes: &mut u64) -> usize {
        let num_level_0 = self.runs[first..last].iter().filter(|run| run.level == 0).count();
        let Some(most_left) = num_level_0.checked_sub(1).map(|most| most.min(last - first - 1)) else { return first };
        let stop = usize::try_from(self.input.options.level0_stop_writes_trigger).unwrap_or(0);
        let until_stop = stop.saturating_sub(last - first + 1);
        let width = |runs: u32| usize::try_from(runs).unwrap_or(usize::MAX).saturating_sub(until_stop).min(most_left);
        let oldest_bytes = self.runs[last].size_bytes;
        let percent = u64::from(self.options.max_size_amplification_percent);
        let least = newer_bytes.saturating_mul(9) / 10;
        let mut left = 0;
        for candidate in width(self.options.min_merge_width)..=width(self.options.max_merge_width) {
            let bytes = newer_bytes.saturating_sub(compensated_bytes(&self.runs[first + left..first + candidate]));
            if bytes.saturating_mul(100) < percent.saturating_mul(oldest_bytes) || bytes < least {
                break;
            }
            (left, *newer_bytes) = (candidate, bytes);
        }
        first + left
    }

    fn for_size_ratio(&self) -> Option<CompactionChoice> {
        let runs = self.series(self.options.size_ratio, self.least(), usize::MAX)?;
        self.merge_series(CompactionReason::UniversalSizeRatio, runs)
    }

    fn for_number(&self) -> Option<CompactionChoice> {
        let idle = self.runs.iter().filter(|run| !run.is_busy).count();
        let mut excess = idle.saturating_sub(self.most_runs());
        let mut least = self.least();
        if self.runs.len() >= stall::runs_that_hold_up(self.input.options) {
            // Writers are held up: any merge is better than none.
            (excess, least) = (excess.max(1), 2);
        }
        let runs = if excess > 0 { self.series(u32::MAX, least, excess + 1) } else { None }?;
        self.merge_series(CompactionReason::UniversalSortedRunNum, runs)
    }

    /// Runs from which on the newest are merged whatever their sizes.
    fn most_runs(&self) -> usize {
        let trigger = self.input.options.level0_file_num_compaction_trigger;
        let most = match self.options.max_read_amp {
            0 if self.options.stop_style == CompactionStopStyle::TotalSize => return self.runs_by_size(),
            most if most > 0 => most,
            _ => trigger,
        };
        usize::try_from(most).unwrap_or(0)
    }

    /// How many runs it takes, from a memtable on and each as large as the ratio lets it grow, until one is as large as
    /// the largest.
    fn runs_by_size(&self) -> usize {
        let largest = self.runs.iter().map(|run| run.size_bytes).max().unwrap_or(0) as f64;
        let growth = (100.0 + f64::from(self.options.size_ratio)) / 100.0;
        let (mut count, mut size, mut all) = (1, (self.input.options.write_buffer_size as f64).max(1.0), 0.0);
        while size < largest {
            all += size;
            size = growth * all;
            count += 1;
        }
        count
    }

    fn least(&self) -> usize {
        usize::try_from(self.options.min_merge_width).unwrap_or(usize::MAX).max(2)
    }

    /// The newest series of at least `least` and at most `most` idle runs, and no more than `max_merge_width`, that fit
    /// each other by `ratio`.
    fn series(&self, ratio: u32, least: usize, most: usize) -> Option<Range<usize>> {
        // A width that would merge nothing is 2.
        let width = usize::try_from(self.options.max_merge_width.max(2)).unwrap_or(usize::MAX);
        let (least, most) = (least.min(width), most.min(width));
        let fits = |size: u64, next: u64| size as f64 * (100.0 + f64::from(ratio)) / 100.0 >= next as f64;
        let mut start = 0;
        while start < self.runs.len() {
            if self.runs[start].is_busy {
                start += 1;
                continue;
            }
            let mut size = self.runs[start].compensated_bytes;
            let mut end = start + 1;
            for next in self.runs[end..].iter().take_while(|run| !run.is_busy) {
                if end - start >= most || !fits(size, next.size_bytes) {
                    break;
                }
                size = match self.options.stop_style {
                    CompactionStopStyle::TotalSize => size.saturating_add(next.compensated_bytes),
                    CompactionStopStyle::SimilarSize if fits(next.size_bytes, size) => next.compensated_bytes,
                    CompactionStopStyle::SimilarSize => break,
                };
                end += 1;
            }
            if end - start >= least {
                return Some(start..end);
            }
            start += 1;
        }
        None
    }

    fn merge_series(&self, reason: CompactionReason, runs: Range<usize>) -> Option<CompactionChoice> {
        let is_compressed = self.is_compressed(runs.end);
        self.merge(reason, runs, is_compressed)
    }

    /// Not while the runs behind the merge hold their share of all bytes: what is newer will be rewritten soon.
    fn is_compressed(&self, end: usize) -> bool {
        let Ok(percent) = u64::try_from(self.options.compression_size_percent) else { return true };
        let all = compensated_bytes(&self.runs);
        let older = self.runs[end..].iter().fold(0u64, |sum, run| sum.saturating_add(run.size_bytes));
        end == self.runs.len() || older.saturating_mul(100) < all.saturating_mul(percent)
    }

    fn merge(&self, reason: CompactionReason, runs: Range<usize>, is_compressed: bool) -> Option<CompactionChoice> {
        let is_series =
            !matches!(reason, CompactionReason::PeriodicCompaction | CompactionReason::UniversalSizeAmplification);
        let counted = if is_series { 0..runs.end } else { runs.clone() };
        let bytes = self.runs[counted].iter().fold(0u64, |sum, run| sum.saturating_add(run.size_bytes));
        self.merge_into(reason, runs, self.path_id(bytes), is_compressed)
    }

    /// Runs that follow each other become one. `None` when a compaction under way writes into their range.
    fn merge_into(
        &self,
        reason: CompactionReason,
        runs: Range<usize>,
        output_path_id: u32,
        is_compressed: bool,
    ) -> Option<CompactionChoice> {
        let version = self.input.version;
        let output_level = match self.runs.get(runs.end) {
            None => version.num_compacted_levels() - 1,
            Some(next) => next.level.saturating_sub(1),
        };
        let mut inputs: Vec<LevelInputs> = Vec::new();
        for run in &self.runs[runs.clone()] {
            match inputs.last_mut() {
                Some(inputs) if inputs.level == run.level => inputs.files.extend_from_slice(run.files),
                _ => inputs.push(LevelInputs { level: run.level, files: run.files.to_vec() }),
            }
        }
        let mut choice = self.choice_of(reason, inputs, output_level, output_path_id)?;
        choice.compression = (!is_compressed).then_some(CompressionType::NoCompression);
        if self.options.incremental
            && reason != CompactionReason::ManualCompaction
            && let Some(next) = self.runs.get(runs.end).filter(|next| next.level > 1)
        {
            choice.grandparents = next.files.to_vec();
        }
        Some(choice)
    }

    /// A merge of these files, which follow each other in age. `None` when a compaction under way writes into their
    /// range.
    fn choice_of(
        &self,
        reason: CompactionReason,
        inputs: Vec<LevelInputs>,
        output_level: usize,
        output_path_id: u32,
    ) -> Option<CompactionChoice> {
        let version = self.input.version;
        let mut choice = CompactionChoice::of_whole_files(CompactionKind::Merge, reason, version, inputs, output_level);
        let range = choice.range();
        let comparator = version.comparator().user();
        if output_level > 0 && self.input.running.writes_into(comparator, output_level, &range) {
            return None;
        }
        let of_level_0 = choice.inputs.first().filter(|inputs| inputs.level == 0);
        let has_oldest_of_level_0 = of_level_0
            .and_then(|inputs| inputs.files.last())
            .is_some_and(|last| version.level(0).last().is_some_and(|oldest| Arc::ptr_eq(oldest, last)));
        choice.is_bottommost = !version.range_may_exist_below(output_level, &range, has_oldest_of_level_0);
        choice.output_path_id = output_path_id;
        choice.max_output_file_size_bytes = super::inputs::max_output_file_size_bytes(self.input, output_level);
        if self.options.incremental {
            // An output may overlap about one file and a half of the next run.
            choice.max_compaction_bytes = (self.input.options.target_file_size_base / 2).saturating_mul(3);
        }
        choice.score = score(version, self.input.options.level0_file_num_compaction_trigger);
        if !placement::place(self.input, &mut choice) {
            return None;
        }
        if self.options.allow_trivial_move
            && output_level > 0
            && !matches!(reason, CompactionReason::PeriodicCompaction | CompactionReason::ManualCompaction)
            && choice.proximal.is_none()
            && is_disjoint(&choice)
        {
            choice.kind = CompactionKind::Move;
        }
        Some(choice)
    }

    /// A marked file: within level 0 all runs behind it; else what it overlaps in the next level that is not empty.
    fn marked(&self) -> Option<CompactionChoice> {
        let version = self.input.version;
        if version.num_levels() == 1 {
            let is_marked =
                |run: &SortedRun<'_>| !run.is_busy && run.files.iter().any(|file| triggers::is_marked(file));
            let (_, newer) = self.runs.split_last()?;
            let first = newer.iter().position(is_marked)?;
            let busy = self.runs[first..].iter().position(|run| run.is_busy);
            let end = busy.map_or(self.runs.len(), |at| first + at);
            let reason = CompactionReason::FilesMarkedForCompaction;
            return (end - first > 1).then(|| self.merge(reason, first..end, true)).flatten();
        }
        version
            .files()
            .filter(|(level, file)| {
                *level < version.num_compacted_levels() && !file.is_being_compacted() && triggers::is_marked(file)
            })
            .find_map(|(level, file)| self.compact_file(CompactionReason::FilesMarkedForCompaction, level, file))
    }

    /// The file that reads make due.
    fn most_read(&self) -> Option<CompactionChoice> {
        let due = triggers::most_read_first(self.input);
        due.into_iter().find_map(|(level, file)| self.compact_file(CompactionReason::ReadTriggered, level, file))
    }

    /// A file, with what it overlaps in the next level that is not empty; with one level, what it overlaps in level 0.
    fn compact_file(
        &self,
        reason: CompactionReason,
        level: usize,
        file: &Arc<FileMetadata>,
    ) -> Option<CompactionChoice> {
        let (input, version) = (self.input, self.input.version);
        if level == 0 && input.running.uses_level_0() {
            return None;
        }
        let last = version.num_compacted_levels() - 1;
        let below = (level + 1..=last).find(|&below| !version.level(below).is_empty());
        // Of a run that is the oldest nothing is freed by moving a file down.
        let output_level = if level == 0 { below.unwrap_or(last) } else { below? };
        let first = std::slice::from_ref(file);
        let files = if level == 0 {
            level0::overlapping_files(input, first)?
        } else {
            version.expand_to_clean_cut(level, first)?
        };
        if output_level == 0 && files.len() < 2 {
            return None;
        }
        let seed = Seed {
            reason,
            score: score(version, input.options.level0_file_num_compaction_trigger),
            start_level: level,
            output_level,
            files,
            is_level_0_trivial_move: false,
        };
        complete_into(input, seed, self.path_id(version.level_size_bytes(output_level)))
    }

    /// The first directory that has room for an output of `bytes`, and together with those before it for all that will
    /// be written before the output is merged again.
    fn path_id(&self, bytes: u64) -> u32 {
        let Some((_, others)) = self.input.options.cf_paths.split_last() else { return 0 };
        let ratio = u64::from(self.options.size_ratio).min(100);
        let future = (u128::from(bytes) * u128::from(100 - ratio) / 100) as u64;
        let mut before = 0u64;
        for (id, path) in (0u32..).zip(others) {
            let room = path.target_size_bytes;
            if room > bytes && before.saturating_add(room - bytes) > future {
                return id;
            }
            before = before.saturating_add(room);
        }
        u32::try_from(others.len()).unwrap_or(u32::MAX)
    }
}

fn compensated_bytes(runs: &[SortedRun<'_>]) -> u64 {
    runs.iter().fold(0, |sum, run| sum.saturating_add(run.compensated_bytes))
}

/// True when no two files of the inputs overlap.
fn is_disjoint(choice: &CompactionChoice) -> bool {
    let order = choice.version.comparator().user();
    let mut files: Vec<&FileMetadata> = choice.input_files().map(|(_, file)| &**file).collect();
    files.sort_by(|a, b| order.compare(a.smallest_user_key(), b.smallest_user_key()));
    files.windows(2).all(|pair| order.compare(pair[0].largest_user_key(), pair[1].smallest_user_key()).is_lt())
}
