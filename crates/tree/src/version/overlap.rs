//! Which files a range of keys touches.

use super::boundary::{BoundaryRange, compare_boundaries};
use super::{FileMetadata, Version};
use ferrock_base::Comparator;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

impl Version {
    /// Indexes of the files of a sorted level (1 and deeper) that share a user key with `range`. Binary search.
    #[must_use]
    pub fn overlapping_indexes(&self, level: usize, range: &BoundaryRange) -> Range<usize> {
        let files = self.level(level);
        let comparator = self.comparator().user();
        let start = files.partition_point(|file| range.is_after(comparator, file));
        let count = files[start..].partition_point(|file| !range.is_before(comparator, file));
        start..start + count
    }

    /// The files of `level` that share a user key with `range`, in the order of the level. In level 0, where files
    /// overlap each other, every file found widens the range: the result is closed under overlap.
    #[must_use]
    pub fn overlapping_inputs(&self, level: usize, range: &BoundaryRange) -> Vec<Arc<FileMetadata>> {
        if level > 0 {
            return self.level(level)[self.overlapping_indexes(level, range)].to_vec();
        }
        let comparator = self.comparator().user();
        let files = self.level(0);
        let mut range = range.clone();
        let mut is_taken = vec![false; files.len()];
        loop {
            let mut has_grown = false;
            for (file, is_taken) in files.iter().zip(&mut is_taken) {
                if !*is_taken && range.overlaps(comparator, file) {
                    *is_taken = true;
                    has_grown |= widen(comparator, &mut range, file);
                }
            }
            if !has_grown {
                break;
            }
        }
        files.iter().zip(is_taken).filter(|(_, is_taken)| *is_taken).map(|(file, _)| Arc::clone(file)).collect()
    }

    /// The files of a sorted level that lie in `range` as a whole and share no user key with a file outside: what can
    /// be added to a compaction of the range without touching more of the next level.
    #[must_use]
    pub fn clean_inputs_within(&self, level: usize, range: &BoundaryRange) -> Vec<Arc<FileMetadata>> {
        let files = self.level(level);
        let comparator = self.comparator().user();
        let mut inside = self.overlapping_indexes(level, range);
        let starts_inside = |file: &FileMetadata| match &range.smallest {
            Some(smallest) => compare_boundaries(comparator, &file.smallest, smallest).is_ge(),
            None => true,
        };
        let ends_inside = |file: &FileMetadata| match &range.largest {
            Some(largest) => compare_boundaries(comparator, &file.largest, largest).is_le(),
            None => true,
        };
        let touches = |a: usize, b: usize| share_user_key(comparator, &files[a], &files[b]);
        while !inside.is_empty()
            && (!starts_inside(&files[inside.start]) || (inside.start > 0 && touches(inside.start - 1, inside.start)))
        {
            inside.start += 1;
        }
        while !inside.is_empty()
            && (!ends_inside(&files[inside.end - 1])
                || (inside.end < files.len() && touches(inside.end - 1, inside.end)))
        {
            inside.end -= 1;
        }
        files[inside].to_vec()
    }

    /// `files` of `level` with all that share a user key with them, transitively: a *clean cut*. `None` when one of
    /// them is being compacted.
    #[must_use]
    pub fn expand_to_clean_cut(&self, level: usize, files: &[Arc<FileMetadata>]) -> Option<Vec<Arc<FileMetadata>>> {
        // Level 0 files are chosen together with what they overlap; two of them may share a key without harm otherwise.
        let expanded = if level == 0 {
            files.to_vec()
        } else {
            let range = BoundaryRange::of_files(self.comparator().user(), files.iter().map(|file| &**file))?;
            self.clean_cut(level, self.overlapping_indexes(level, &range)).1
        };
        (!expanded.iter().any(|file| file.is_being_compacted())).then_some(expanded)
    }

    fn clean_cut(&self, level: usize, mut inside: Range<usize>) -> (Range<usize>, Vec<Arc<FileMetadata>>) {
        let files = self.level(level);
        let comparator = self.comparator().user();
        while inside.start > 0 && share_user_key(comparator, &files[inside.start - 1], &files[inside.start]) {
            inside.start -= 1;
        }
        while inside.end < files.len() && share_user_key(comparator, &files[inside.end - 1], &files[inside.end]) {
            inside.end += 1;
        }
        let cut = files[inside.clone()].to_vec();
        (inside, cut)
    }

    /// True for a level above one that is reserved: what is ingested behind must find all that hides it.
    fn may_get_data_below(&self, level: usize) -> bool {
        self.reserves_last_level() && level < self.num_compacted_levels()
    }

    /// True when data of `range` may lie below `level`. For level 0, `is_oldest_in_level_0` says whether the sorted run
    /// asked about ends with the oldest file; files in any deeper level count then, overlapping or not.
    #[must_use]
    pub fn range_may_exist_below(&self, level: usize, range: &BoundaryRange, is_oldest_in_level_0: bool) -> bool {
        if level == 0 && !is_oldest_in_level_0 || self.may_get_data_below(level) {
            return true;
        }
        (level + 1..self.num_levels()).any(|deeper| {
            !self.level(deeper).is_empty() && (level == 0 || !self.overlapping_indexes(deeper, range).is_empty())
        })
    }

    /// True when some file of a level deeper than `level` overlaps the user keys `[begin, end)`.
    #[must_use]
    pub fn user_range_may_exist_below(&self, level: usize, begin: &[u8], end: &[u8]) -> bool {
        if self.may_get_data_below(level) {
            return true;
        }
        let comparator = self.comparator().user();
        (level + 1..self.num_levels()).any(|deeper| {
            let files = self.level(deeper);
            let index = files.partition_point(|file| ends_before(comparator, file, begin));
            files.get(index).is_some_and(|file| comparator.compare(file.smallest_user_key(), end).is_lt())
        })
    }

    /// Answers, for user keys in ascending order, whether a key can exist below `level`.
    #[must_use]
    pub fn key_not_beyond_level(self: &Arc<Self>, level: usize, is_bottommost: bool) -> KeyNotBeyondLevel {
        KeyNotBeyondLevel { version: Arc::clone(self), level, is_bottommost, positions: vec![0; self.num_levels()] }
    }
}

/// True when adjacent files of a sorted level share a user key.
fn share_user_key(comparator: &Comparator, left: &FileMetadata, right: &FileMetadata) -> bool {
    compare_boundaries(comparator, &left.largest, &right.smallest).is_ge()
}

/// True when the file holds no user key from `key` on.
#[inline]
pub(crate) fn ends_before(comparator: &Comparator, file: &FileMetadata, key: &[u8]) -> bool {
    match comparator.compare(file.largest_user_key(), key) {
        Ordering::Less => true,
        Ordering::Equal => file.largest_is_exclusive(),
        Ordering::Greater => false,
    }
}

fn widen(comparator: &Comparator, range: &mut BoundaryRange, file: &FileMetadata) -> bool {
    let mut has_grown = false;
    if let Some(smallest) = &mut range.smallest
        && compare_boundaries(comparator, &file.smallest, smallest).is_lt()
    {
        smallest.clone_from(&file.smallest);
        has_grown = true;
    }
    if let Some(largest) = &mut range.largest
        && compare_boundaries(comparator, &file.largest, largest).is_gt()
    {
        largest.clone_from(&file.largest);
        has_grown = true;
    }
    has_grown
}

/// Whether a user key can exist below the level that a compaction writes to; see [`Version::key_not_beyond_level`].
///
/// A compaction queries it for every tombstone, in key order, so a position per level advances instead of a search.
#[derive(Clone, Debug)]
pub struct KeyNotBeyondLevel {
    version: Arc<Version>,
    level: usize,
    is_bottommost: bool,
    positions: Vec<usize>,
}

impl KeyNotBeyondLevel {
    /// True when no deeper file can hold `user_key`. Keys must come in ascending order.
    ///
    /// For level 0 it is true only at the bottom of the tree: older files of level 0 are not looked at.
    #[must_use]
    pub fn check(&mut self, user_key: &[u8]) -> bool {
        if self.is_bottommost {
            return true;
        }
        if self.level == 0 || self.version.may_get_data_below(self.level) {
            return false;
        }
        let comparator = self.version.comparator().user();
        for deeper in self.level + 1..self.version.num_levels() {
            let files = self.version.level(deeper);
            let position = &mut self.positions[deeper];
            while files.get(*position).is_some_and(|file| ends_before(comparator, file, user_key)) {
                *position += 1;
            }
            if let Some(file) = files.get(*position)
                && comparator.compare(file.smallest_user_key(), user_key).is_le()
            {
                return false;
            }
        }
        true
    }
}
