//! Chooses what to compact next. Everything here is a pure function of a version, options and what is running.
//!
//! ```text
//! score          how badly each level needs a compaction
//! level0         level 0: trivial moves, level 0 into itself
//! file_order     which file of a level goes first
//! inputs         from a first file to a whole compaction: clean cuts, the next level, grandparents, trivial move
//! leveled        puts them together
//! triggers       compactions for other reasons than size: marks, snapshots released, age
//! manual         `compact_range`
//! output_path    which directory the output goes to
//! stall          when writers must slow down or stop
//! ```
//!
//! Only leveled compaction chooses by itself. A column family whose options say universal, FIFO or none keeps its files
//! as they are and is compacted by hand only; it opens, reads and writes like any other.

mod file_order;
mod inputs;
mod level0;
mod leveled;
mod manual;
mod output_path;
mod score;
pub mod stall;
#[cfg(test)]
mod tests;
mod triggers;

pub use manual::{ManualChoice, ManualRequest, ManualStep, manual_steps, pick_manual};
#[cfg(test)]
pub use score::LevelScore;
pub use score::compaction_scores;

use super::choice::{CompactionChoice, RunningCompactions};
use crate::options::{ColumnFamilyOptions, CompactionStyle};
use crate::version::Version;
use ferrock_base::SequenceNumber;
use std::sync::Arc;

/// What a choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct PickerInput<'a> {
    /// The family's files.
    pub version: &'a Arc<Version>,
    /// The family's options.
    pub options: &'a ColumnFamilyOptions,
    /// Compactions under way.
    pub running: &'a RunningCompactions,
    /// Files at the bottom whose newest write is older than this are rewritten so that their sequence numbers become 0.
    /// The caller raises it to the oldest snapshot (the last sequence when there is none) when a snapshot is released;
    /// 0 asks for nothing.
    pub bottommost_threshold: SequenceNumber,
    /// Unix time.
    pub now_secs: u64,
}

/// The next compaction that the tree needs by itself; `None` when it needs none, or what it needs is busy.
#[must_use]
pub fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    if input.options.compaction_style != CompactionStyle::Level
        || input.options.disable_auto_compactions
        || input.version.num_levels() < 2
    {
        return None;
    }
    leveled::pick(input)
}

/// True when [`pick`] would look for something: a level over its target, or a file that asks for a compaction.
#[must_use]
pub fn needs_compaction(input: &PickerInput<'_>) -> bool {
    if input.options.compaction_style != CompactionStyle::Level
        || input.options.disable_auto_compactions
        || input.version.num_levels() < 2
    {
        return false;
    }
    compaction_scores(input.version, input.options).first().is_some_and(|score| score.score >= 1.0)
        || triggers::has_candidates(input)
}
