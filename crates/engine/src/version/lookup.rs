//! Which files of a level can hold a user key: the search of every point read.
//!
//! [`Version::candidates`] is what readers use. It is the seam for a file indexer, which narrows the search of each level
//! by where the search of another level ended.

use super::overlap::ends_before;
use super::{FileMetadata, Version};
use ferrock_base::Comparator;
use ferrock_base::internal_key::LookupKey;
use std::sync::Arc;

impl Version {
    /// The files that can hold `key`, with their levels, in the order in which they must be read: newer data first.
    /// A later file is looked for only when it is asked for.
    #[inline]
    #[must_use]
    pub fn candidates<'a>(&'a self, key: &'a LookupKey) -> Candidates<'a> {
        Candidates { version: self, key, level: 0, files: self.files_for_user_key(0, key) }
    }

    /// The files of `level` that can hold `key`, in the order in which they must be read: level 0 newest first; deeper
    /// levels the one file that can hold it, and after it those that go on with the same user key. Does not allocate.
    #[inline]
    #[must_use]
    pub fn files_for_user_key<'a>(&'a self, level: usize, key: &'a LookupKey) -> FilesForUserKey<'a> {
        let files = self.level(level);
        let comparator = self.comparator();
        let start = if level == 0 {
            0
        } else {
            files.partition_point(|file| comparator.compare(&file.largest, key.internal_key()).is_lt())
        };
        FilesForUserKey {
            files: &files[start..],
            user_key: key.user_key(),
            comparator: comparator.user(),
            is_sorted: level > 0,
        }
    }

    /// Whether the bounds of `file` admit `user_key`.
    #[inline]
    #[must_use]
    pub fn file_may_hold(&self, file: &FileMetadata, user_key: &[u8]) -> bool {
        let comparator = self.comparator().user();
        !comparator.compare(file.smallest_user_key(), user_key).is_gt() && !ends_before(comparator, file, user_key)
    }
}

/// Iterator of [`Version::candidates`]. It may be kept and gone on with later; a clone goes on from the same place.
#[derive(Clone, Debug)]
pub struct Candidates<'a> {
    version: &'a Version,
    key: &'a LookupKey,
    level: usize,
    files: FilesForUserKey<'a>,
}

impl<'a> Iterator for Candidates<'a> {
    type Item = (usize, &'a Arc<FileMetadata>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(file) = self.files.next() {
                return Some((self.level, file));
            }
            if self.level + 1 >= self.version.num_levels() {
                return None;
            }
            self.level += 1;
            self.files = self.version.files_for_user_key(self.level, self.key);
        }
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

    #[inline]
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
