//! `preclude_last_level_data_seconds`: what compactions into the last level may leave on the level above it, the
//! *proximal* one.
//!
//! ```text
//! proximal    [a  c]  [e---g] [h---k]  [p t]        inputs: e..k, and what they overlap below
//!                      |---------------|            the range in which young entries may stay
//! last        [a--b] [d---f] [g------m] [n--z]      entries that are here already stay here
//! ```
//!
//! A compaction has such a range if its output is the last level of at least three, its first inputs lie above that
//! level, and no file of the proximal level lies in the range of the inputs above the last level but those that are
//! inputs. The range is reserved like that of the output level. Entries of the last level have no place there: where
//! the range is that of the other inputs, what is not newer than all of them stays below.
//!
//! For universal families all keys of the inputs may go up, those of the last level too, if the proximal level has no
//! other files at all. Such a compaction may begin in the last level.
//!
//! These are RocksDB's rules. Two more keep compactions from running for nothing and without end, as RocksDB's can:
//!
//! * A file of the proximal level *stays* while its oldest entry is too young, or newer than the oldest snapshot. No
//!   compaction begins by itself that has nothing but such files to move down. A table tells the age when it is opened;
//!   before, and if it does not know, the file is as old as itself, so that it is not rewritten again and again.
//! * What lies on the proximal level beyond its target is no reason to slow writers down.

use super::PickerInput;
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, ProximalOutput};
use crate::version::FileMetadata;
use crate::version::boundary::BoundaryRange;
use ferrock_base::SequenceNumber;
use ferrock_options::{ColumnFamilySettings, CompactionShape};
use std::sync::Arc;

/// The level above the last, of families that place entries by their age.
pub(super) fn proximal_level(settings: &ColumnFamilySettings, num_levels: usize) -> Option<usize> {
    let has_levels = matches!(settings.compaction_shape(), CompactionShape::Levels | CompactionShape::Runs);
    let is_on = settings.preclude_last_level_data_seconds > 0 && has_levels;
    num_levels.checked_sub(2).filter(|level| is_on && *level > 0)
}

/// What a compaction may leave on the proximal level; `None`: nothing.
pub(crate) fn proximal_output(
    settings: &ColumnFamilySettings,
    choice: &CompactionChoice,
) -> Option<Box<ProximalOutput>> {
    let version = &choice.version;
    let level = proximal_level(settings, version.num_levels())?;
    if choice.kind != CompactionKind::Merge || choice.output_level != level + 1 {
        return None;
    }
    let order = version.comparator().user();
    let is_input = |file: &Arc<FileMetadata>| choice.input_files().any(|(_, input)| Arc::ptr_eq(input, file));
    let is_free = || version.level(level).iter().all(is_input);
    if settings.compaction_shape() == CompactionShape::Runs && is_free() {
        let keep_in_last_level_through = SequenceNumber(0);
        return Some(Box::new(ProximalOutput { level, range: choice.range(), keep_in_last_level_through }));
    }
    let above = choice.input_files().filter(|(level, _)| *level < choice.output_level).map(|(_, file)| &**file);
    let range = BoundaryRange::of_files(order, above)?;
    if !version.overlapping_inputs(level, &range).iter().all(is_input) {
        return None;
    }
    let in_last = choice.input_files().filter(|(level, _)| *level == choice.output_level);
    let newest = in_last.map(|(_, file)| file.largest_seqno).max();
    Some(Box::new(ProximalOutput { level, range, keep_in_last_level_through: newest.unwrap_or_default() }))
}

/// Gives a choice its proximal output; false where that lies where another compaction writes, or where all would stay
/// where it is.
pub(super) fn place(input: &PickerInput<'_>, choice: &mut CompactionChoice) -> bool {
    choice.proximal = proximal_output(&input.options.settings, choice);
    let Some(proximal) = &choice.proximal else { return true };
    let order = choice.version.comparator().user();
    let mut first = choice.inputs.iter().filter(|inputs| inputs.level < choice.output_level);
    let is_in_vain = choice.reason != CompactionReason::ManualCompaction
        && choice.start_level == proximal.level
        && first.all(|inputs| inputs.files.iter().all(|file| stays(input, file)));
    !is_in_vain && !input.running.writes_into(order, proximal.level, &proximal.range)
}

/// True for a file of the proximal level of which a compaction would move nothing down.
pub(super) fn stays(input: &PickerInput<'_>, file: &FileMetadata) -> bool {
    // What is in a file had been written when the file was.
    let oldest_by = match file.oldest_entry_by_secs() {
        0 => file.file_creation_time_secs,
        known => known,
    };
    let is_young =
        oldest_by > 0 && oldest_by.saturating_add(input.options.preclude_last_level_data_seconds) > input.now_secs;
    file.smallest_seqno > SequenceNumber(0) && (is_young || file.smallest_seqno > input.earliest_snapshot)
}

/// The same, of a file of any level; those of others never stay.
pub(super) fn stays_on(input: &PickerInput<'_>, level: usize, file: &FileMetadata) -> bool {
    proximal_level(&input.options.settings, input.version.num_levels()) == Some(level) && stays(input, file)
}
