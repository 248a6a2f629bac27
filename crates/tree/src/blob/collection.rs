//! Which blob files are collected: their values are written anew, until nothing refers to them any more.
//!
//! ```text
//! blob files of the version, oldest first    10   12   15   16   20   21   22   30        age cutoff 0.5
//!                                            |--- collected ---|
//! ```
//!
//! A compaction writes every value anew that it finds in one of the oldest files. What is young is left alone: much of
//! it will be overwritten before it is old, and then needs no copy. Where the old files are mostly garbage, and no
//! compaction comes by, one is [forced](BlobCollection::forced): of the tables that hold the oldest file.

use crate::version::Version;
use ferrock_base::FileNumber;
use ferrock_options::{BlobGarbageCollectionPolicy, ColumnFamilySettings};

/// The rule of one compaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlobCollection {
    is_enabled: bool,
    /// The share of the files, by number, that is collected.
    age_cutoff: f64,
    /// Where the share ends, as another process has worked it out.
    end: Option<FileNumber>,
}

impl BlobCollection {
    /// The rule of automatic compactions.
    #[must_use]
    pub fn automatic(settings: &ColumnFamilySettings) -> Self {
        Self::by_hand(settings, BlobGarbageCollectionPolicy::UseDefault, None)
    }

    /// The rule of a compaction that a caller requested. A cutoff that is no share counts as none.
    #[must_use]
    pub fn by_hand(
        settings: &ColumnFamilySettings,
        policy: BlobGarbageCollectionPolicy,
        age_cutoff: Option<f64>,
    ) -> Self {
        Self {
            is_enabled: match policy {
                BlobGarbageCollectionPolicy::Force => true,
                BlobGarbageCollectionPolicy::Disable => false,
                BlobGarbageCollectionPolicy::UseDefault => settings.enable_blob_garbage_collection,
            },
            age_cutoff: age_cutoff
                .filter(|cutoff| (0.0..=1.0).contains(cutoff))
                .unwrap_or(settings.blob_garbage_collection_age_cutoff),
            end: None,
        }
    }

    /// The rule of a compaction for which another process has chosen the files: those below a number.
    #[must_use]
    pub fn of_files_below(end: Option<FileNumber>) -> Self {
        Self { is_enabled: end.is_some(), age_cutoff: 1.0, end }
    }

    /// The files of a version below this number are collected; `None`: none is.
    #[must_use]
    pub fn below(&self, version: &Version) -> Option<FileNumber> {
        if !self.is_enabled {
            return None;
        }
        if self.end.is_some() {
            return self.end;
        }
        let newest = FileNumber(u64::MAX);
        Some(version.blob_files().keys().nth(self.count(version)).copied().unwrap_or(newest))
    }

    /// How many of the oldest files of a version are old enough.
    fn count(&self, version: &Version) -> usize {
        (self.age_cutoff * version.blob_files().len() as f64) as usize
    }

    /// The oldest file, if the files that are old enough have so much garbage that the tables which hold it are to be
    /// compacted for that alone.
    #[must_use]
    pub fn forced(settings: &ColumnFamilySettings, version: &Version) -> Option<FileNumber> {
        let (rule, threshold) = (Self::automatic(settings), settings.blob_garbage_collection_force_threshold);
        let count = rule.count(version);
        if !rule.is_enabled || count == 0 || threshold >= 1.0 {
            return None;
        }
        let (mut total, mut garbage) = (0u64, 0u64);
        for file in version.blob_files().values().take(count) {
            total = total.saturating_add(file.addition.total_blob_bytes);
            garbage = garbage.saturating_add(file.garbage_blob_bytes);
        }
        // Without the second condition a threshold of 0 would have everything written anew without end.
        let is_enough = garbage as f64 >= threshold * total as f64 && garbage > 0;
        version.blob_files().keys().next().filter(|_| is_enough).copied()
    }
}
