//! Figures for properties and for write stalls.

use super::Version;
use super::blob_file::BlobFileMetadata;
use super::boundary::BoundaryRange;
use ferrock_options::{ColumnFamilySettings, CompactionShape};

impl Version {
    /// Bytes that compactions must rewrite until every level is within its target: level 0 if it is due, then for every
    /// level its excess, with the share of the next level that the excess drags along.
    #[must_use]
    pub fn estimated_compaction_needed_bytes(&self, settings: &ColumnFamilySettings) -> u64 {
        let level_0_size = self.level_size_bytes(0);
        let trigger = usize::try_from(settings.level0_file_num_compaction_trigger).unwrap_or(0);
        let is_level_0_due = self.level(0).len() >= trigger.max(1) || level_0_size >= settings.max_bytes_for_level_base;
        self.needed_bytes(settings, if is_level_0_due { level_0_size } else { 0 })
    }

    /// What [`estimated_compaction_needed_bytes`](Self::estimated_compaction_needed_bytes) comes to once
    /// `unflushed_bytes` of memtables are in level 0, and level 0 is due.
    #[must_use]
    pub fn looming_compaction_needed_bytes(&self, settings: &ColumnFamilySettings, unflushed_bytes: u64) -> u64 {
        self.needed_bytes(settings, self.level_size_bytes(0).saturating_add(unflushed_bytes))
    }

    /// Bytes to rewrite when `from_level_0` leaves level 0.
    fn needed_bytes(&self, settings: &ColumnFamilySettings, from_level_0: u64) -> u64 {
        if settings.compaction_shape() != CompactionShape::Levels || self.num_levels() < 2 {
            return 0;
        }
        let mut incoming = from_level_0;
        let mut needed = incoming;
        let is_placed = settings.preclude_last_level_data_seconds > 0 && self.num_levels() > 2;
        for level in self.base_level()..self.num_levels() - 1 {
            let mut size = self.level_size_bytes(level);
            if level == self.base_level() && from_level_0 > 0 {
                needed = needed.saturating_add(size);
            }
            size = size.saturating_add(incoming);
            if is_placed && level == self.num_levels() - 2 {
                // How much stays there is for the ages of the data to say.
                break;
            }
            incoming = size.saturating_sub(self.targets().max_bytes(level));
            let next_size = self.level_size_bytes(level + 1);
            if incoming > 0 && next_size > 0 {
                let fan_out = next_size as f64 / size as f64 + 1.0;
                needed = needed.saturating_add((incoming as f64 * fan_out) as u64);
            }
        }
        needed
    }

    /// Bytes of the data that a read of everything would find: the last sorted run, and of the runs above the files
    /// that no deeper file overlaps; and the records of blob files that are no garbage.
    #[must_use]
    pub fn estimated_live_data_size_bytes(&self) -> u64 {
        let comparator = self.comparator().user();
        let mut size = 0u64;
        for level in (1..self.num_levels()).rev() {
            for file in self.level(level) {
                let range = BoundaryRange::of_files(comparator, [&**file]);
                if range.is_some_and(|range| !self.range_overlaps_below(level, &range)) {
                    size = size.saturating_add(file.size_bytes);
                }
            }
        }
        let mut counted: Vec<BoundaryRange> = Vec::new();
        for file in self.level(0) {
            let Some(range) = BoundaryRange::of_files(comparator, [&**file]) else { continue };
            let is_counted = counted.iter().any(|other| range.overlaps_range(comparator, other));
            if !is_counted && !self.range_overlaps_below(0, &range) {
                size = size.saturating_add(file.size_bytes);
                counted.push(range);
            }
        }
        let live = |file: &BlobFileMetadata| file.addition.total_blob_bytes.saturating_sub(file.garbage_blob_bytes);
        self.blob_files().values().fold(size, |size, file| size.saturating_add(live(file)))
    }

    fn range_overlaps_below(&self, level: usize, range: &BoundaryRange) -> bool {
        (level + 1..self.num_levels()).any(|deeper| !self.overlapping_indexes(deeper, range).is_empty())
    }

    /// Keys in the tables: entries less tombstones and what they remove, scaled up from the tables opened so far.
    #[must_use]
    pub fn estimated_num_keys(&self) -> u64 {
        let known = self.accumulated_statistics();
        if known.num_files == 0 {
            return 0;
        }
        let deletions = known.totals.num_deletions.saturating_mul(2);
        let keys = known.totals.num_entries.saturating_sub(deletions);
        let num_files = self.num_files() as u64;
        if known.num_files == num_files {
            return keys;
        }
        let scaled = u128::from(keys) * u128::from(num_files) / u128::from(known.num_files);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}
