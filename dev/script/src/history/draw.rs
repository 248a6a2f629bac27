//! How histories are drawn.

use super::{Change, EXTRA, FAMILIES, History, SINGLE, Step, Value};
use std::collections::BTreeSet;

/// Options that a family may get while it is open, whatever else it has: none makes a read other than it was, none
/// lets entries go by their age, and all of them together ask for no more than a history takes.
const SETTINGS: &[(&str, &[&str])] = &[
    ("write_buffer_size", &["65536", "131072", "1048576"]),
    ("max_write_buffer_number", &["2", "4"]),
    ("disable_auto_compactions", &["true", "false", "false"]),
    ("level0_file_num_compaction_trigger", &["1", "2", "4"]),
    ("target_file_size_base", &["300", "2000", "65536"]),
    ("max_bytes_for_level_base", &["1000", "8000", "131072"]),
    ("max_bytes_for_level_multiplier", &["2", "10"]),
    ("max_compaction_bytes", &["1", "5000", "1677721600"]),
    ("max_sequential_skip_in_iterations", &["0", "1", "8"]),
    ("max_successive_merges", &["0", "1", "3"]),
    ("strict_max_successive_merges", &["true", "false"]),
    ("memtable_max_range_deletions", &["0", "1", "3"]),
    ("memtable_prefix_bloom_size_ratio", &["0", "0.1"]),
    ("memtable_whole_key_filtering", &["true", "false"]),
    ("bottommost_file_compaction_delay", &["0", "1"]),
    ("compression", &["kNoCompression", "kLZ4Compression", "kZSTD"]),
    ("bottommost_compression", &["kDisableCompressionOption", "kZSTD"]),
    ("block_based_table_factory", &["{block_size=128;}", "{block_size=4096;}", "{block_restart_interval=2;}"]),
    ("compaction_options_universal", &["{size_ratio=50;}", "{max_size_amplification_percent=20;}"]),
    ("paranoid_file_checks", &["true", "false"]),
    ("enable_blob_files", &["true", "true", "false"]),
    ("min_blob_size", &["0", "3", "100"]),
    ("blob_file_size", &["1", "300", "268435456"]),
    ("blob_compression_type", &["kNoCompression", "kLZ4Compression"]),
    ("enable_blob_garbage_collection", &["true", "false"]),
    ("blob_garbage_collection_age_cutoff", &["0.25", "1"]),
    ("blob_garbage_collection_force_threshold", &["0.2", "1"]),
    ("blob_file_starting_level", &["0", "1"]),
];

impl History {
    /// Draws a history of so many steps; `below` gives a number below another one, at least 1.
    pub fn draw(steps: usize, below: &mut dyn FnMut(u64) -> u64) -> Self {
        // Tailing iterators of RocksDB do without range deletions, so some histories do, too.
        let has_ranges = below(4) > 0;
        let mut draw = Draw { below, there: BTreeSet::new(), snapshots: 0, has_ranges, has_extra: false };
        Self((0..steps).map(|_| draw.step()).collect())
    }
}

struct Draw<'a> {
    below: &'a mut dyn FnMut(u64) -> u64,
    /// Keys for single deletion that are there.
    there: BTreeSet<(usize, String)>,
    snapshots: u32,
    /// Ranges are deleted.
    has_ranges: bool,
    /// The family that comes and goes is there.
    has_extra: bool,
}

impl Draw<'_> {
    fn number(&mut self, below: u64) -> usize {
        (self.below)(below) as usize
    }

    fn key(&mut self) -> String {
        format!("k{:02}", self.number(40))
    }

    fn family(&mut self) -> usize {
        let family = self.number(FAMILIES as u64);
        if self.has_extra && self.number(4) == 0 { EXTRA } else { family }
    }

    /// Two keys in order; seldom the same.
    fn range(&mut self) -> (String, String) {
        let (a, b) = (self.key(), self.key());
        if self.number(12) == 0 {
            return (a.clone(), a);
        }
        if a < b { (a, b) } else { (b, a) }
    }

    fn bound(&mut self) -> Option<String> {
        (self.number(3) == 0).then(|| self.key())
    }

    fn value(&mut self) -> Value {
        let size = match self.number(10) {
            0 => 0,
            1 => self.number(3000),
            2..5 => self.number(200),
            _ => 1 + self.number(20),
        };
        Value(self.number(1000) as u32, size)
    }

    fn snapshot(&mut self) -> Option<u32> {
        let wanted = self.snapshots > 0 && self.number(3) == 0;
        wanted.then(|| self.number(u64::from(self.snapshots)) as u32)
    }

    fn change(&mut self) -> Change {
        let family = self.family();
        match self.number(21) {
            0..7 => Change::Put(family, self.key(), self.value()),
            7 | 20 => Change::Entity(family, self.key(), self.value()),
            8..12 => Change::Delete(family, self.key()),
            12..15 => Change::Merge(family, self.key(), Value(self.number(1000) as u32, 1 + self.number(12))),
            15 | 16 if !self.has_ranges => Change::Delete(family, self.key()),
            15 | 16 => {
                if self.number(4) == 0 {
                    // Wide enough that whole tables lie under it.
                    return Change::DeleteRange(family, "k".to_owned(), SINGLE.to_owned());
                }
                let (begin, end) = self.range();
                Change::DeleteRange(family, begin, end)
            }
            _ => {
                let key = format!("{SINGLE}{}", self.number(4));
                if self.there.remove(&(family, key.clone())) {
                    return Change::SingleDelete(family, key);
                }
                self.there.insert((family, key.clone()));
                Change::Put(family, key, self.value())
            }
        }
    }

    fn step(&mut self) -> Step {
        let family = self.family();
        match self.number(50) {
            0..18 => {
                // Of several some are none.
                let changes = if self.number(4) == 0 { self.number(7) } else { 1 };
                Step::Write((0..changes).map(|_| self.change()).collect())
            }
            18..21 => Step::Flush(family),
            21 => Step::Compact(family, self.bound(), self.bound()),
            22 => Step::Compact(family, None, None),
            23 | 24 => {
                self.snapshots += 1;
                Step::Snapshot(self.snapshots - 1)
            }
            25 => Step::Release(self.number(u64::from(self.snapshots) + 1) as u32),
            26..29 => Step::Get(family, self.key(), self.snapshot()),
            29 => {
                let snapshot = self.snapshot();
                let keys = 1 + self.number(8);
                Step::Many(family, snapshot, (0..keys).map(|_| self.key()).collect())
            }
            30..34 => Step::Scan {
                family,
                lower: self.bound(),
                upper: self.bound(),
                snapshot: self.snapshot(),
                is_backward: self.number(2) == 0,
            },
            34..39 => {
                let moves = (0..self.number(12)).map(|_| if self.number(4) == 0 { 'p' } else { 'n' }).collect();
                let (target, snapshot, is_backward) = (self.key(), self.snapshot(), self.number(3) == 0);
                Step::Walk { family, target, snapshot, moves, is_backward }
            }
            39 => Step::Reopen,
            _ => self.other_step(family),
        }
    }

    /// Steps of which a history has few.
    fn other_step(&mut self, family: usize) -> Step {
        match self.number(20) {
            0..5 => {
                let &(name, values) = &SETTINGS[self.number(SETTINGS.len() as u64)];
                Step::Set(family, name.to_owned(), values[self.number(values.len() as u64)].to_owned())
            }
            5..8 => {
                let (snapshot, keys) = (self.snapshot(), 1 + self.number(8));
                Step::Across(snapshot, (0..keys).map(|_| (self.family(), self.key())).collect())
            }
            8..11 => {
                let (target, moves) = (self.key(), "n".repeat(self.number(12)));
                Step::Tail { family, target, moves }
            }
            11..14 => {
                let (target, snapshot, is_auto) = (self.key(), self.snapshot(), self.number(2) == 0);
                Step::Prefix { family, target, snapshot, is_auto }
            }
            14 | 15 => Step::Suggest(family, self.bound(), self.bound()),
            16 if self.has_ranges => {
                let (begin, end) = self.range();
                Step::Unlink(family, begin, end)
            }
            17 | 18 if self.has_extra => {
                self.has_extra = false;
                self.there.retain(|(family, _)| *family != EXTRA);
                Step::Drop
            }
            16.. => {
                self.has_extra = true;
                Step::Create
            }
        }
    }
}
