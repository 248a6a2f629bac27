//! Chooses what to compact next. Everything here is a pure function of a version, options and what is running.
//!
//! ```text
//! covered        tables that lie under a range deletion, to be dropped
//! score          how badly each level needs a compaction
//! level0         level 0: trivial moves, level 0 into itself
//! file_order     which file of a level goes first
//! inputs         from a first file to a whole compaction: clean cuts, the next level, grandparents, trivial move
//! leveled        puts them together
//! fifo           what falls off the end of a queue
//! universal      sorted runs that become one
//! triggers       compactions for other reasons than size: marks, snapshots released, age
//! manual         `compact_range`
//! files          `compact_files`
//! within         files that lie in ranges, to be dropped or marked
//! output_path    which directory the output goes to
//! placement      what stays on the level above the last for its age
//! stall          when writers must slow down or stop
//! ```
//!
//! A family of style none is compacted by hand.

mod covered;
mod fifo;
mod file_order;
mod files;
mod input;
mod inputs;
mod level0;
mod leveled;
mod manual;
mod output_path;
mod placement;
mod round_robin;
mod score;
pub mod stall;
#[cfg(test)]
mod tests;
mod triggers;
mod universal;
mod within;

pub use files::{FilesRequest, pick_files};
pub use input::{PickerInput, Readable};
pub(crate) use inputs::{grandparents, max_output_file_size_bytes};
pub use manual::{ManualChoice, ManualRequest, ManualStep, manual_steps, manual_steps_below, pick_manual};
pub(crate) use placement::proximal_output;
#[cfg(test)]
pub use score::LevelScore;
pub use score::compaction_scores;
pub use within::{UserKeyRange, mark_overlapping, pick_within};

use super::choice::CompactionChoice;
use crate::version::Version;
use ferrock_options::{ColumnFamilySettings, CompactionShape};

/// The next compaction that the tree needs by itself; `None` when it needs none, or what it needs is busy.
#[must_use]
pub fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    match shape(input) {
        CompactionShape::Levels => covered::pick(input).or_else(|| leveled::pick(input)),
        CompactionShape::Runs => covered::pick(input).or_else(|| universal::pick(input)),
        CompactionShape::Queue => fifo::pick(input),
        CompactionShape::ByHand => None,
    }
}

/// The same, of what goes into the last level. Of sorted runs other choices are looked for if the first one goes
/// elsewhere.
#[must_use]
pub fn pick_into_last_level(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    match shape(input) {
        CompactionShape::Runs => universal::pick_where(input, CompactionChoice::merges_into_last_level),
        _ => pick(input).filter(CompactionChoice::merges_into_last_level),
    }
}

/// True when [`pick`] would look for something: a level over its target, or a file that asks for a compaction.
#[must_use]
pub fn needs_compaction(input: &PickerInput<'_>) -> bool {
    match shape(input) {
        CompactionShape::Levels => {
            let scores = compaction_scores(input.version, input.options);
            let can_move =
                |level| input.version.level(level).iter().any(|file| !placement::stays_on(input, level, file));
            scores.iter().any(|score| score.score >= 1.0 && can_move(score.level))
                || triggers::has_candidates(input)
                || covered::pick(input).is_some()
        }
        CompactionShape::Runs | CompactionShape::Queue => pick(input).is_some(),
        CompactionShape::ByHand => false,
    }
}

/// What [`StallInput::num_level_0_files`](stall::StallInput::num_level_0_files) counts in a version.
#[must_use]
pub fn num_counted_runs(settings: &ColumnFamilySettings, version: &Version) -> usize {
    if settings.compaction_shape() == CompactionShape::Runs {
        universal::num_runs(version)
    } else {
        version.level(0).len()
    }
}

/// What automatic compaction makes of the family now.
fn shape(input: &PickerInput<'_>) -> CompactionShape {
    match input.options.compaction_shape() {
        _ if input.options.disable_auto_compactions => CompactionShape::ByHand,
        CompactionShape::Levels if input.version.num_levels() < 2 => CompactionShape::ByHand,
        shape => shape,
    }
}
