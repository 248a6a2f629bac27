//! How badly each level needs a compaction.
//!
//! A score of 1 or more asks for one. With dynamic level targets, scores above 1 are scaled by 10, so that a level that
//! will soon receive much (its denominator grows by what is coming down) ranks below one that will not, and still asks.

use super::{fifo, universal};
use crate::version::{FileMetadata, Version};
use ferrock_options::{ColumnFamilySettings, CompactionShape};
use std::sync::Arc;

/// The score of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelScore {
    /// The level.
    pub level: usize,
    /// At least 1 when the level needs a compaction.
    pub score: f64,
}

const SCALE: f64 = 10.0;

/// Scores of all levels that data can leave, the most urgent first; of equal ones the upper level first. Files that are
/// being compacted do not count: their level is being relieved.
#[must_use]
pub fn compaction_scores(version: &Version, settings: &ColumnFamilySettings) -> Vec<LevelScore> {
    match settings.compaction_shape() {
        // Without the time: what a version alone asks for.
        CompactionShape::Queue => return vec![LevelScore { level: 0, score: fifo::score(version, settings, 0) }],
        CompactionShape::Runs => {
            let score = universal::score(version, settings.level0_file_num_compaction_trigger);
            return vec![LevelScore { level: 0, score }];
        }
        CompactionShape::Levels | CompactionShape::ByHand => {}
    }
    let statistics = version.accumulated_statistics();
    let compensated = |files: &[Arc<FileMetadata>]| {
        let idle = files.iter().filter(|file| !file.is_being_compacted());
        idle.fold(0u64, |sum, file| sum.saturating_add(statistics.compensated_size_bytes(file)))
    };
    let whole = |files: &[Arc<FileMetadata>]| {
        files.iter().fold(0u64, |sum, file| sum.saturating_add(statistics.compensated_size_bytes(file)))
    };
    let is_dynamic = settings.level_compaction_dynamic_level_bytes;
    let targets = version.targets();
    let mut scores = Vec::with_capacity(version.num_levels());
    let mut coming_down = 0u64;
    for level in 0..version.num_levels().saturating_sub(1) {
        let files = version.level(level);
        let idle_size = compensated(files);
        let size = version.level_size_bytes(level);
        if level == 0 {
            let num_idle = files.iter().filter(|file| !file.is_being_compacted()).count();
            scores.push(LevelScore { level, score: level_0_score(version, settings, num_idle, idle_size, &whole) });
            coming_down = coming_down.saturating_add(size);
            continue;
        }
        let target = targets.max_bytes(level).max(1);
        let unnecessary = targets.lowest_unnecessary_level().filter(|&lowest| level <= lowest);
        let mut score = idle_size as f64 / target as f64;
        if is_dynamic {
            if idle_size >= target {
                score = idle_size as f64 / target.saturating_add(coming_down) as f64 * SCALE;
            }
            if let Some(lowest) = unnecessary.filter(|_| idle_size > 0) {
                // To be drained, with less urgency than level 0.
                score = score.max(SCALE * (1.001 + 0.001 * (lowest - level) as f64));
            }
        }
        let leaving = if unnecessary.is_some() { size } else { size.saturating_sub(target) };
        coming_down = coming_down.saturating_add(leaving);
        scores.push(LevelScore { level, score });
    }
    scores.sort_by(|a, b| b.score.total_cmp(&a.score));
    scores
}

/// Level 0 counts files, because every read looks into all of them, and bytes, because it can hold few but huge ones.
fn level_0_score(
    version: &Version,
    settings: &ColumnFamilySettings,
    num_idle: usize,
    idle_size: u64,
    whole: &dyn Fn(&[Arc<FileMetadata>]) -> u64,
) -> f64 {
    let by_count = num_idle as f64 / f64::from(settings.level0_file_num_compaction_trigger.max(1));
    let base_bytes = settings.max_bytes_for_level_base.max(1);
    if !settings.level_compaction_dynamic_level_bytes {
        return by_count.max(idle_size as f64 / base_bytes as f64);
    }
    let mut score = by_count;
    if idle_size >= base_bytes {
        score = score.max(1.01);
    }
    let base_level = version.base_level();
    let target = version.targets().max_bytes(base_level);
    if idle_size > target {
        // Larger than the level it goes to: ahead of that level's own compactions, or it would be starved by them.
        // With what is being compacted: it is there until that is done.
        let base_level_size = whole(version.level(base_level));
        score = score.max(idle_size as f64 / base_level_size.max(target) as f64);
    }
    if score > 1.0 { score * SCALE } else { score }
}
