//! Tables with many deletions close together: how a writer notices them.
//!
//! ```text
//! entries      p p d p | d d d p | p p d p | ...     in buckets of an equal number of entries
//! deletions       1        3         1               of each of the last 128 buckets, the window
//! ```
//!
//! A scan walks over every deletion, so a table with a long run of them asks for a compaction although no level is
//! full: its `NewFile` record is marked. The rules and their fields are those of RocksDB's
//! `CompactOnDeletionCollector`, and so is the ring of 128 buckets, so the same entries make the same mark.
//! Deletions of one key count; range tombstones are entries like others.
//!
//! An entry that is no deletion costs nothing here: its number is counted for the properties anyway, and the ring moves
//! on when the next deletion comes.

use crate::options::DeletionRule;

const BUCKETS: u64 = 128;

/// Counts the deletions of one table by one rule.
#[derive(Clone, Debug)]
pub(crate) struct DeletionWindow {
    rule: DeletionRule,
    bucket_entries: u64,
    /// Number of the newest bucket with a deletion, from the beginning of the table.
    newest: u64,
    deletions: [u64; BUCKETS as usize],
    in_window: u64,
    most_in_window: u64,
}

impl DeletionWindow {
    fn new(rule: &DeletionRule) -> Self {
        Self {
            rule: rule.clone(),
            bucket_entries: rule.window_size.div_ceil(BUCKETS),
            newest: 0,
            deletions: [0; BUCKETS as usize],
            in_window: 0,
            most_in_window: 0,
        }
    }

    /// One window for each rule.
    pub(crate) fn of_rules(rules: &[DeletionRule]) -> Vec<Self> {
        rules.iter().map(Self::new).collect()
    }

    /// Counts a deletion that `entries` entries are before.
    pub(crate) fn count_deletion(&mut self, entries: u64) {
        if self.bucket_entries == 0 {
            return;
        }
        let bucket = entries / self.bucket_entries;
        // Buckets that the window has left, which the new ones take the places of.
        for passed in (self.newest + 1..=bucket).take(BUCKETS as usize) {
            self.in_window -= std::mem::take(&mut self.deletions[(passed % BUCKETS) as usize]);
        }
        self.newest = bucket;
        self.deletions[(bucket % BUCKETS) as usize] += 1;
        self.in_window += 1;
        self.most_in_window = self.most_in_window.max(self.in_window);
    }

    /// Whether a table asks for a compaction that has so many entries, `deletions` of them of one key, and so many
    /// bytes of data blocks at its last entry.
    pub(crate) fn needs_compaction(&self, entries: u64, deletions: u64, size_bytes: u64) -> bool {
        let rule = &self.rule;
        if entries == 0 || size_bytes < rule.min_file_size {
            return false;
        }
        let is_dense = self.bucket_entries > 0 && self.most_in_window >= rule.deletion_trigger;
        let has_ratio = rule.deletion_ratio > 0.0 && rule.deletion_ratio <= 1.0;
        is_dense || (has_ratio && deletions as f64 / entries as f64 >= rule.deletion_ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::random::Random;

    fn rule(window_size: u64, deletion_trigger: u64, deletion_ratio: f64, min_file_size: u64) -> DeletionRule {
        DeletionRule { window_size, deletion_trigger, deletion_ratio, min_file_size }
    }

    fn is_marked(rule: &DeletionRule, entries: &[bool], size_bytes: u64) -> bool {
        let mut window = DeletionWindow::new(rule);
        for (index, _) in entries.iter().enumerate().filter(|(_, is_deletion)| **is_deletion) {
            window.count_deletion(index as u64);
        }
        let deletions = entries.iter().filter(|is_deletion| **is_deletion).count() as u64;
        window.needs_compaction(entries.len() as u64, deletions, size_bytes)
    }

    /// The window as it is described: after each entry, the deletions of its bucket and of the 127 before it.
    fn naive(rule: &DeletionRule, entries: &[bool], size_bytes: u64) -> bool {
        let bucket = rule.window_size.div_ceil(128) as usize;
        let dense = |end: usize| {
            let begin = ((end / bucket + 1).saturating_sub(128)) * bucket;
            let deletions = entries[begin..=end].iter().filter(|is_deletion| **is_deletion).count();
            deletions as u64 >= rule.deletion_trigger
        };
        let deletions = entries.iter().filter(|is_deletion| **is_deletion).count() as f64;
        let is_over = rule.deletion_ratio > 0.0
            && rule.deletion_ratio <= 1.0
            && deletions / entries.len() as f64 >= rule.deletion_ratio;
        !entries.is_empty()
            && size_bytes >= rule.min_file_size
            && (is_over || (bucket > 0 && (0..entries.len()).any(dense)))
    }

    #[test]
    fn the_window_is_that_of_the_description() {
        let mut random = Random::new(1);
        let (mut marked, mut unmarked) = (0, 0);
        for _ in 0..3000 {
            let window_size = [0, 1, 2, 127, 128, 129, 200, 256, 300][random.below(9) as usize];
            let trigger = random.below(window_size.max(1) + 2);
            let ratio = [0.0, -1.0, 0.2, 0.5, 1.0, 1.5][random.below(6) as usize];
            let rule = rule(window_size, trigger, ratio, random.below(3));
            let one_in = random.below(6) + 1;
            // Quiet stretches, so that the ring turns without deletions.
            let quiet = random.below(400);
            let entries: Vec<bool> = (0..random.below(1200))
                .map(|index| (index / (quiet + 1)).is_multiple_of(2) && random.below(one_in) == 0)
                .collect();
            let size_bytes = random.below(3);
            let expected = naive(&rule, &entries, size_bytes);
            assert_eq!(is_marked(&rule, &entries, size_bytes), expected, "{rule:?} {entries:?}");
            if expected { marked += 1 } else { unmarked += 1 }
        }
        assert!(marked > 500 && unmarked > 500, "{marked} marked, {unmarked} not");
    }

    #[test]
    fn deletions_that_are_far_apart_do_not_add_up() {
        let rule = rule(128, 2, 0.0, 0);
        let with = |second: usize| (0..400).map(|index| index == 5 || index == second).collect::<Vec<_>>();
        assert!(is_marked(&rule, &with(5 + 127), 0));
        assert!(!is_marked(&rule, &with(5 + 128), 0), "the window has left the first");
        assert!(!is_marked(&rule, &with(5 + 256), 0), "the ring has turned as a whole");
    }
}
