//! One immutable state of a column family's tree.

use super::blob_file::BlobFileMetadata;
use super::file_index::FileIndex;
use super::level_targets::{LevelTargets, num_levels};
use super::{FileMetadata, FileStatistics};
use ferrock_base::{FileNumber, InternalComparator};
use ferrock_options::ColumnFamilySettings;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The files of a level, shared by all versions between two changes of the level.
pub type LevelFiles = Arc<[Arc<FileMetadata>]>;

/// Files and bytes of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelSummary {
    /// Files.
    pub num_files: usize,
    /// Bytes of all files.
    pub size_bytes: u64,
}

/// Observer of the drops of versions: files that only a dropped version had may be removed.
pub trait ReleaseObserver: std::fmt::Debug + Send + Sync {
    /// Called by the thread that drops the last reference to a version. The thread may hold the lock of the version set
    /// and locks of the engine, so an implementation may only acquire locks under which no other is acquired.
    fn on_version_released(&self);
}

/// All tables of a column family at one moment.
///
/// Invariants, established by [`VersionBuilder`](super::VersionBuilder):
///
/// - level 0 is ordered newest first;
/// - every deeper level is ordered by key and its files do not overlap as internal keys (a user key may span adjacent
///   files, the newer versions in the first);
/// - a file number occurs once.
#[derive(Debug)]
pub struct Version {
    comparator: InternalComparator,
    levels: Vec<LevelFiles>,
    index: FileIndex,
    level_sizes_bytes: Vec<u64>,
    /// The largest number of a file in each level.
    level_largest_numbers: Vec<FileNumber>,
    /// Where round-robin compaction of each level goes on.
    compact_cursors: Vec<Option<Vec<u8>>>,
    blob_files: Arc<BTreeMap<FileNumber, Arc<BlobFileMetadata>>>,
    targets: LevelTargets,
    /// No compaction reads the last level, or writes there: it is for files that are ingested behind.
    reserves_last_level: bool,
    observer: OnceLock<Arc<dyn ReleaseObserver>>,
}

impl Drop for Version {
    fn drop(&mut self) {
        if let Some(observer) = self.observer.get() {
            observer.on_version_released();
        }
    }
}

impl Version {
    /// A version without files.
    #[must_use]
    pub fn empty(comparator: InternalComparator, settings: &ColumnFamilySettings) -> Self {
        let levels = vec![LevelFiles::from([]); num_levels(settings)];
        let cursors = vec![None; levels.len()];
        Self::from_parts(comparator, settings, levels, cursors, Arc::default(), None)
    }

    /// A version of files that are in order already. The index of files shared with `base` is copied, not rebuilt.
    pub(super) fn from_parts(
        comparator: InternalComparator,
        settings: &ColumnFamilySettings,
        levels: Vec<LevelFiles>,
        compact_cursors: Vec<Option<Vec<u8>>>,
        blob_files: Arc<BTreeMap<FileNumber, Arc<BlobFileMetadata>>>,
        base: Option<&Self>,
    ) -> Self {
        // Of a level that is the base's, what is known of it is, too.
        let known = |level: usize, files: &LevelFiles| base.filter(|base| base.shares_level(level, files));
        let (mut level_sizes_bytes, mut level_largest_numbers) = (Vec::new(), Vec::new());
        for (level, files) in levels.iter().enumerate() {
            let (size, largest) = match known(level, files) {
                Some(base) => (base.level_sizes_bytes[level], base.level_largest_numbers[level]),
                None => (total_size_bytes(files), files.iter().map(|file| file.number).max().unwrap_or_default()),
            };
            level_sizes_bytes.push(size);
            level_largest_numbers.push(largest);
        }
        let targets = LevelTargets::new(settings, &level_sizes_bytes);
        let reserves_last_level = settings.reserves_last_level() && levels.len() > 2;
        let base = base.map(|base| (&base.index, &*base.levels));
        let index = FileIndex::build(comparator.user(), &levels, base);
        Self {
            comparator,
            levels,
            index,
            level_sizes_bytes,
            level_largest_numbers,
            compact_cursors,
            blob_files,
            targets,
            reserves_last_level,
            observer: OnceLock::new(),
        }
    }

    /// Sets the observer of the version's drop; a later call changes nothing.
    pub(super) fn set_observer(&self, observer: &Arc<dyn ReleaseObserver>) {
        self.observer.get_or_init(|| Arc::clone(observer));
    }

    /// The same files under other settings.
    #[must_use]
    pub fn with_settings(&self, settings: &ColumnFamilySettings) -> Self {
        Self::from_parts(
            self.comparator.clone(),
            settings,
            self.levels.clone(),
            self.compact_cursors.clone(),
            Arc::clone(&self.blob_files),
            Some(self),
        )
    }

    /// The order of its keys.
    #[inline]
    #[must_use]
    pub fn comparator(&self) -> &InternalComparator {
        &self.comparator
    }

    /// Levels of the tree, empty ones included.
    #[inline]
    #[must_use]
    pub fn num_levels(&self) -> usize {
        self.levels.len()
    }

    /// True when the last level is for files that are ingested behind alone: whatever lies above it may have data below
    /// it one day.
    #[inline]
    #[must_use]
    pub fn reserves_last_level(&self) -> bool {
        self.reserves_last_level
    }

    /// Levels that compactions work on: all, but for a last one that is reserved.
    #[inline]
    #[must_use]
    pub fn num_compacted_levels(&self) -> usize {
        self.levels.len() - usize::from(self.reserves_last_level)
    }

    /// The deepest level that has files and that compactions work on.
    #[must_use]
    pub fn deepest_compacted_level(&self) -> Option<usize> {
        self.levels[..self.num_compacted_levels()].iter().rposition(|files| !files.is_empty())
    }

    /// Which files can hold a key.
    #[inline]
    pub(super) fn index(&self) -> &FileIndex {
        &self.index
    }

    /// All levels.
    #[inline]
    pub(super) fn levels(&self) -> &[LevelFiles] {
        &self.levels
    }

    /// The files of a level; none for a level that does not exist.
    #[inline]
    #[must_use]
    pub fn level(&self, level: usize) -> &[Arc<FileMetadata>] {
        self.levels.get(level).map_or(&[], |files| files)
    }

    /// The files of a level, shared.
    #[must_use]
    pub fn level_shared(&self, level: usize) -> LevelFiles {
        self.levels.get(level).cloned().unwrap_or_else(|| LevelFiles::from([]))
    }

    /// True when `files` is this version's own list of the level.
    pub(super) fn shares_level(&self, level: usize, files: &LevelFiles) -> bool {
        self.levels.get(level).is_some_and(|own| Arc::ptr_eq(own, files))
    }

    /// The largest number of a table.
    pub(super) fn largest_number(&self) -> FileNumber {
        self.level_largest_numbers.iter().copied().max().unwrap_or_default()
    }

    /// Bytes in a level.
    #[must_use]
    pub fn level_size_bytes(&self, level: usize) -> u64 {
        self.level_sizes_bytes.get(level).copied().unwrap_or(0)
    }

    /// Files and bytes of every level.
    #[must_use]
    pub fn level_summaries(&self) -> Vec<LevelSummary> {
        let sizes = self.levels.iter().zip(&self.level_sizes_bytes);
        sizes.map(|(files, &size_bytes)| LevelSummary { num_files: files.len(), size_bytes }).collect()
    }

    /// Every file with its level, from level 0 down.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetadata>)> {
        self.levels.iter().enumerate().flat_map(|(level, files)| files.iter().map(move |file| (level, file)))
    }

    /// Files in all levels.
    #[must_use]
    pub fn num_files(&self) -> usize {
        self.levels.iter().map(|files| files.len()).sum()
    }

    /// The deepest level that has files.
    #[must_use]
    pub fn deepest_non_empty_level(&self) -> Option<usize> {
        self.levels.iter().rposition(|files| !files.is_empty())
    }

    /// The blob files, by number.
    #[must_use]
    pub fn blob_files(&self) -> &BTreeMap<FileNumber, Arc<BlobFileMetadata>> {
        &self.blob_files
    }

    pub(super) fn blob_files_shared(&self) -> Arc<BTreeMap<FileNumber, Arc<BlobFileMetadata>>> {
        Arc::clone(&self.blob_files)
    }

    /// Where round-robin compaction of a level goes on: an internal key.
    #[must_use]
    pub fn compact_cursor(&self, level: usize) -> Option<&[u8]> {
        self.compact_cursors.get(level).and_then(|cursor| cursor.as_deref())
    }

    pub(super) fn compact_cursors(&self) -> &[Option<Vec<u8>>] {
        &self.compact_cursors
    }

    /// How large each level should be.
    #[must_use]
    pub fn targets(&self) -> &LevelTargets {
        &self.targets
    }

    /// The level that level 0 is compacted into.
    #[must_use]
    pub fn base_level(&self) -> usize {
        self.targets.base_level()
    }

    /// Sums of what is known about the tables opened so far.
    #[must_use]
    pub fn accumulated_statistics(&self) -> AccumulatedStatistics {
        let mut sums = AccumulatedStatistics::default();
        for (_, file) in self.files() {
            if let Some(statistics) = file.statistics() {
                sums.add(file, &statistics);
            }
        }
        sums
    }
}

/// Sums over the tables whose statistics are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccumulatedStatistics {
    /// Tables in the sums.
    pub num_files: u64,
    /// Their bytes.
    pub size_bytes: u64,
    /// Their counts.
    pub totals: FileStatistics,
}

impl AccumulatedStatistics {
    fn add(&mut self, file: &FileMetadata, statistics: &FileStatistics) {
        let totals = &mut self.totals;
        self.num_files += 1;
        for (sum, value) in [
            (&mut self.size_bytes, file.size_bytes),
            (&mut totals.num_entries, statistics.num_entries),
            (&mut totals.num_deletions, statistics.num_deletions),
            (&mut totals.num_range_deletions, statistics.num_range_deletions),
            (&mut totals.raw_key_size_bytes, statistics.raw_key_size_bytes),
            (&mut totals.raw_value_size_bytes, statistics.raw_value_size_bytes),
        ] {
            *sum = sum.saturating_add(value);
        }
    }

    /// Bytes that an average value takes in a file: its raw size times the ratio of file size to raw size.
    #[must_use]
    pub fn average_value_size_bytes(&self) -> u64 {
        let values = self.totals.num_entries.saturating_sub(self.totals.num_deletions);
        let raw = self.totals.raw_key_size_bytes.saturating_add(self.totals.raw_value_size_bytes);
        if values == 0 || raw == 0 {
            return 0;
        }
        let average = u128::from(self.totals.raw_value_size_bytes / values) * u128::from(self.size_bytes);
        u64::try_from(average / u128::from(raw)).unwrap_or(u64::MAX)
    }

    /// The size by which a file is ranked for compaction: tombstones that outnumber values count as the values that
    /// they will remove, twice, and range tombstones by the estimate made when the file was written.
    #[must_use]
    pub fn compensated_size_bytes(&self, file: &FileMetadata) -> u64 {
        const DELETION_WEIGHT: u64 = 2;
        let mut size = file.size_bytes;
        if let Some(statistics) = file.statistics() {
            let deletions = statistics.num_deletions.saturating_sub(statistics.num_range_deletions).saturating_mul(2);
            let excess = deletions.saturating_sub(statistics.num_entries);
            let per_deletion = self.average_value_size_bytes().saturating_mul(DELETION_WEIGHT);
            size = size.saturating_add(excess.saturating_mul(per_deletion));
        }
        size.saturating_add(file.compensated_range_deletion_size_bytes)
    }
}

/// Bytes of files. Sizes come from the MANIFEST, so the sum saturates.
pub(crate) fn total_size_bytes(files: &[Arc<FileMetadata>]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.size_bytes))
}
