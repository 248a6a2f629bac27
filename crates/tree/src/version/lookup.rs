//! Which files can hold a user key, and which overlap a range: the first step of every read.
//!
//! The answers come from the [`FileIndex`](super::file_index::FileIndex). A level in which the key equals a bound of a
//! file is searched by full keys from that file on: trailers say whether the key's visible versions begin in it.

use super::file_index::KeyLocation;
use super::overlap::ends_before;
use super::{FileMetadata, Version};
use ferrock_base::internal_key::LookupKey;
use ferrock_base::{Comparator, SequenceNumber};
use std::ops::Range;
use std::sync::Arc;

impl Version {
    /// The files that can hold `key`, with their levels, in the order in which they must be read: level 0 newest first;
    /// of each deeper level the one file that can hold it, and after it those that go on with the same user key. Does
    /// not allocate.
    #[inline]
    #[must_use]
    pub fn candidates<'a>(&'a self, key: &'a LookupKey) -> Candidates<'a> {
        let mut unasked = self.candidates_of(key);
        unasked.find();
        unasked.0
    }

    /// The same, to be found where it is: the answer is much to copy.
    #[inline]
    #[must_use]
    pub fn candidates_of<'a>(&'a self, key: &'a LookupKey) -> UnaskedCandidates<'a> {
        UnaskedCandidates(Candidates { version: self, key, found: KeyLocation::default(), aside: Aside::Nothing })
    }

    /// The files of a sorted level (1 and deeper) that overlap the user keys from `lower`, inclusive, to `upper`,
    /// exclusive; all where a bound is missing.
    #[must_use]
    pub fn file_runs(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> FileRuns<'_> {
        let find =
            |bound: Option<&[u8]>| bound.map(|bound| self.index().find(self.levels(), self.comparator().user(), bound));
        FileRuns { version: self, lower: find(lower), upper: find(upper) }
    }

    /// The files of `level` that can hold `key`, in the order in which they must be read, by a search of the level
    /// alone.
    #[cfg(test)]
    #[must_use]
    pub fn files_for_user_key<'a>(&'a self, level: usize, key: &'a LookupKey) -> FilesForUserKey<'a> {
        self.search_level(level, 0, key)
    }

    /// The same among the files from `from` on.
    fn search_level<'a>(&'a self, level: usize, from: usize, key: &'a LookupKey) -> FilesForUserKey<'a> {
        let files = self.level(level).get(from..).unwrap_or_default();
        let comparator = self.comparator();
        let is_behind = |file: &Arc<FileMetadata>| comparator.compare(&file.largest, key.internal_key()).is_lt();
        // Mostly the first is it.
        let start = match files.first() {
            Some(first) if level > 0 && is_behind(first) => files.partition_point(is_behind),
            _ => 0,
        };
        let (files, user_key) = (&files[start..], key.user_key());
        FilesForUserKey { files, user_key, comparator: comparator.user(), is_sorted: level > 0 }
    }

    /// Whether the bounds of `file` admit `user_key`.
    #[inline]
    #[must_use]
    pub fn file_may_hold(&self, file: &FileMetadata, user_key: &[u8]) -> bool {
        let comparator = self.comparator().user();
        !comparator.compare(file.smallest_user_key(), user_key).is_gt() && !ends_before(comparator, file, user_key)
    }
}

/// Answer of [`Version::candidates_of`].
#[derive(Clone, Debug)]
pub struct UnaskedCandidates<'a>(Candidates<'a>);

impl<'a> UnaskedCandidates<'a> {
    /// The candidates that are left, after [`find`](Self::find).
    #[inline]
    pub fn left(&mut self) -> &mut Candidates<'a> {
        &mut self.0
    }

    /// The candidates. Not inlined, so that it can be counted.
    #[inline(never)]
    pub fn find(&mut self) -> &mut Candidates<'a> {
        let candidates = &mut self.0;
        let (version, key) = (candidates.version, candidates.key);
        let (index, order) = (version.index(), version.comparator().user());
        index.find_into(version.levels(), order, key.user_key(), &mut candidates.found);
        candidates.found.tied |= index.plain();
        candidates.found.inside |= candidates.found.tied;
        candidates.aside = if index.scans_level0() { Aside::Scan { next: 0 } } else { Aside::Nothing };
        candidates
    }
}

/// Iterator of [`Version::candidates`]. It may be kept and continued later; a clone continues from the same position.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    version: &'a Version,
    key: &'a LookupKey,
    /// Candidates that remain: `newest`: files of level 0, as bits (of the last 64 compared, if level 0 is scanned);
    /// `inside`: levels; `tied`: levels that full keys decide in.
    found: KeyLocation,
    aside: Aside<'a>,
}

/// Work that remains before the next level.
#[derive(Clone, Debug)]
enum Aside<'a> {
    Nothing,
    /// Level 0 has too many files for masks: the next file to compare.
    Scan {
        next: usize,
    },
    /// The remaining files of a level in which full keys decide.
    Run {
        level: usize,
        files: FilesForUserKey<'a>,
    },
}

impl<'a> Iterator for Candidates<'a> {
    type Item = (usize, &'a Arc<FileMetadata>);

    #[inline(never)]
    fn next(&mut self) -> Option<Self::Item> {
        if !matches!(self.aside, Aside::Nothing) {
            return self.next_aside();
        }
        if self.found.newest != 0 {
            let index = self.found.newest.trailing_zeros() as usize;
            self.found.newest &= self.found.newest - 1;
            return self.version.level(0).get(index).map(|file| (0, file));
        }
        if self.found.inside == 0 {
            return None;
        }
        let level = self.found.inside.trailing_zeros() as usize;
        self.found.inside &= self.found.inside - 1;
        if self.found.tied >> level & 1 == 0 {
            return self.version.level(level).get(self.found.rank(level) / 2).map(|file| (level, file));
        }
        self.enter(level)
    }
}

impl<'a> Candidates<'a> {
    /// The next candidate with which the key goes on in the level of the last one, if that can have entries newer than
    /// `covering`: the newest range tombstone over the key in the candidates so far.
    ///
    /// All others are older in whole. The sources of level 0 and the levels are each older than the one before, for one
    /// key and tombstones over it alike: a compaction takes all files of a level that share a user key, and a file's
    /// tombstones count only between its boundaries. Within a level the tombstone lies in each of the files that the
    /// key is spread over, beside entries that are newer than it.
    #[inline]
    #[must_use]
    pub fn next_newer_than(&mut self, covering: SequenceNumber) -> Option<&'a Arc<FileMetadata>> {
        let Aside::Run { files, .. } = &mut self.aside else { return None };
        files.find(|file| file.largest_seqno > covering)
    }

    /// Does the work that remains before the next level. Kept out of `next`, which thereby needs fewer registers.
    #[cold]
    fn next_aside(&mut self) -> Option<(usize, &'a Arc<FileMetadata>)> {
        let item = match &mut self.aside {
            Aside::Nothing => None,
            Aside::Scan { .. } => self.scan_newest().map(|file| (0, file)),
            Aside::Run { level, files } => files.next().map(|file| (*level, file)),
        };
        if item.is_some() {
            return item;
        }
        self.aside = Aside::Nothing;
        self.next()
    }

    fn scan_newest(&mut self) -> Option<&'a Arc<FileMetadata>> {
        let Aside::Scan { next } = &mut self.aside else { return None };
        let (files, user_key) = (self.version.level(0), self.key.user_key());
        loop {
            while self.found.newest != 0 {
                let index = next.saturating_sub(64) + self.found.newest.trailing_zeros() as usize;
                self.found.newest &= self.found.newest - 1;
                if let Some(file) = files.get(index)
                    && self.version.file_may_hold(file, user_key)
                {
                    return Some(file);
                }
            }
            if *next >= files.len() {
                return None;
            }
            self.found.newest = self.version.index().scan_level0(*next, files.len(), user_key);
            *next += 64;
        }
    }

    /// Begins a level in which full keys decide.
    #[cold]
    fn enter(&mut self, level: usize) -> Option<(usize, &'a Arc<FileMetadata>)> {
        let is_plain = self.version.index().plain() >> level & 1 == 1;
        let from = if is_plain { 0 } else { self.found.rank(level) / 2 };
        self.aside = Aside::Run { level, files: self.version.search_level(level, from, self.key) };
        self.next_aside()
    }
}

/// Iterator of [`Version::files_for_user_key`].
#[derive(Clone, Debug)]
pub struct FilesForUserKey<'a> {
    files: &'a [Arc<FileMetadata>],
    user_key: &'a [u8],
    comparator: &'a Comparator,
    is_sorted: bool,
}

impl<'a> Iterator for FilesForUserKey<'a> {
    type Item = &'a Arc<FileMetadata>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some((file, rest)) = self.files.split_first() {
            self.files = rest;
            if self.comparator.compare(file.smallest_user_key(), self.user_key).is_gt() {
                if self.is_sorted {
                    // So do all files behind it.
                    self.files = &[];
                    return None;
                }
                continue;
            }
            if self.is_sorted || !ends_before(self.comparator, file, self.user_key) {
                return Some(file);
            }
        }
        None
    }
}

/// Answer of [`Version::file_runs`].
#[derive(Clone, Debug)]
pub struct FileRuns<'a> {
    version: &'a Version,
    lower: Option<KeyLocation>,
    upper: Option<KeyLocation>,
}

impl FileRuns<'_> {
    /// The run of a level: indexes of its files.
    #[must_use]
    pub fn in_level(&self, level: usize) -> Range<usize> {
        let files = self.version.level(level);
        if self.version.index().plain() >> (level & 63) & 1 == 1 {
            return 0..files.len();
        }
        let behind = self.upper.as_ref().map_or(files.len(), |upper| upper.rank(level).div_ceil(2));
        let first = self.lower.as_ref().map_or(0, |lower| self.first(files, lower, level));
        let behind = behind.min(files.len());
        first.min(behind)..behind
    }

    fn first(&self, files: &[Arc<FileMetadata>], lower: &KeyLocation, level: usize) -> usize {
        let rank = lower.rank(level);
        let is_tied = lower.tied >> (level & 63) & 1 == 1;
        // The bound may be the exclusive end of the file that it seems to lie in.
        let is_end = is_tied && rank % 2 == 1 && files.get(rank / 2).is_some_and(|file| file.largest_is_exclusive());
        rank / 2 + usize::from(is_end)
    }
}
