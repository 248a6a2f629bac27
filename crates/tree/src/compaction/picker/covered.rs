//! Tables that lie under a range deletion as a whole: dropped by an edit, and not read.
//!
//! ```text
//! above    L0 #9      ------[=========== 90 ===========)------          a range tombstone and its number
//! below    L5           [ #4 10..60 ] [ #5 20..70 ]  [ #6 ..80 ]        #4 and #5 go, #6 reaches over the end
//! ```
//!
//! What lies below a table is deeper, or older in level 0. The entries and the range tombstones of a table that goes
//! all have numbers below that of the tombstone over them, and no reader sees them without it: no snapshot is from the
//! oldest of them on and before the tombstone, and the tombstone itself is visible, so that no later snapshot is. Where
//! several tombstones of a table follow each other without a gap, each has to be newer than what lies under it. A
//! tombstone counts within the bounds of its own table, which are internal keys. That other versions of a key are in a
//! neighbour that stays does no harm: they are as deleted as those that go.
//!
//! Tombstones are known of tables that are open, and [`Covers`](crate::version::Covers) says which are worth a look. A
//! tombstone in a memtable counts when it was flushed; tombstones of several tables are not put together.
//!
//! Queues and families that are compacted by hand keep what they have. No compaction filter is shown what goes here.
//! Tables that refer to blob files stay: what they refer to is garbage from then on, and counting it takes a look at
//! every reference, without which a file that other tables refer to would never be found to be empty.

use super::{PickerInput, Readable};
use crate::compaction::choice::{CompactionChoice, CompactionKind, CompactionReason, LevelInputs};
use crate::version::overlap::ends_before;
use crate::version::{FileMetadata, Version};
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// All tables that can be dropped now.
pub(super) fn pick(input: &PickerInput<'_>) -> Option<CompactionChoice> {
    let readable = input.readable?;
    let version = input.version;
    let mut gone: BTreeSet<(usize, usize)> = BTreeSet::new();
    for level in 0..version.num_levels() {
        for (at, table) in version.level(level).iter().enumerate() {
            let Some(covers) = table.covers() else { continue };
            covers.look(|fragments, run| {
                let above = Above { table, level, at, fragments, run };
                above.for_all_under(version, readable, &mut |place, file, is_readable| {
                    if !is_readable && !file.is_being_compacted() {
                        gone.insert(place);
                    }
                })
            });
        }
    }
    let mut inputs: Vec<LevelInputs> = Vec::new();
    for (level, at) in gone {
        let file = Arc::clone(version.level(level).get(at)?);
        match inputs.last_mut() {
            Some(inputs) if inputs.level == level => inputs.files.push(file),
            _ => inputs.push(LevelInputs { level, files: vec![file] }),
        }
    }
    let level = inputs.first()?.level;
    let reason = CompactionReason::RangeDeletion;
    Some(CompactionChoice::of_whole_files(CompactionKind::Drop, reason, version, inputs, level))
}

/// What is called for a file under a run: its level and place there, and whether some reader may see it.
type ForDeleted<'a> = dyn FnMut((usize, usize), &FileMetadata, bool) + 'a;

/// A run of range tombstones, and where it is.
struct Above<'a> {
    table: &'a FileMetadata,
    level: usize,
    at: usize,
    fragments: &'a FragmentedRangeTombstones,
    run: &'a Range<usize>,
}

impl Above<'_> {
    /// Calls `each` for every file that the run deletes, with its place and whether some reader may see it. False when
    /// there is none.
    fn for_all_under(&self, version: &Version, readable: &Readable, each: &mut ForDeleted<'_>) -> bool {
        let order = version.comparator().user();
        let first = self.fragments.get(self.run.start);
        let last = self.run.end.checked_sub(1).and_then(|last| self.fragments.get(last));
        let (Some(begin), Some(end)) = (first.map(|first| first.start), last.map(|last| last.end)) else {
            return false;
        };
        let mut has_any = false;
        let deepest = version.deepest_non_empty_level().unwrap_or(0);
        for level in self.level..=deepest {
            let files = version.level(level);
            let from = match level {
                0 => self.at + 1,
                _ if level == self.level => continue,
                _ => files.partition_point(|file| order.compare(file.smallest_user_key(), begin).is_lt()),
            };
            for (at, file) in files.iter().enumerate().skip(from) {
                let is_within = order.compare(begin, file.smallest_user_key()).is_le() && ends_before(order, file, end);
                // Of files in order all others end later.
                if !is_within && level > 0 {
                    break;
                }
                if is_within
                    && file.oldest_blob_file_number.is_none()
                    && self.has_in_bounds(version, file)
                    && let Some(is_readable) = self.deletes(version, file, readable)
                {
                    has_any = true;
                    each((level, at), file, is_readable);
                }
            }
        }
        has_any
    }

    /// True where the file lies within the bounds of the table that has the tombstones.
    fn has_in_bounds(&self, version: &Version, file: &FileMetadata) -> bool {
        let order = version.comparator();
        order.compare(&self.table.smallest, &file.smallest).is_le()
            && order.compare(&file.largest, &self.table.largest).is_le()
    }

    /// Whether some reader may see what the file has, where every fragment over it has a tombstone that is newer than
    /// all of it; `None` where one has none.
    fn deletes(&self, version: &Version, file: &FileMetadata, readable: &Readable) -> Option<bool> {
        let order = version.comparator().user();
        let seen_by = readable.snapshots.partition_point(|snapshot| *snapshot < file.smallest_seqno);
        let seen_by = readable.snapshots.get(seen_by);
        let mut is_readable = false;
        let begin = self.fragments.first_ending_after(file.smallest_user_key());
        for index in begin..self.run.end {
            let fragment = self.fragments.get(index)?;
            // The oldest that is newer than the file is seen by the most readers.
            let newer = fragment.sequences.partition_point(|sequence| *sequence > file.largest_seqno);
            let tombstone = *newer.checked_sub(1).and_then(|at| fragment.sequences.get(at))?;
            is_readable |= tombstone > readable.latest || seen_by.is_some_and(|snapshot| *snapshot < tombstone);
            if ends_before(order, file, fragment.end) {
                return Some(is_readable);
            }
        }
        None
    }
}
