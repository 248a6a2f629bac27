//! The costs of the demo: bytes written and time spent, by purpose. The child's share comes over the pipe, since its
//! counters die with it.

use ferrock::Db;
use ferrock_base::Result;
use ferrock_vfs::{FileSystem, IoSnapshot, WritePurpose};
use std::collections::BTreeMap;
use std::path::Path;

/// Names of the engine's counters that the demo shows, in its property `ferrock.statistics`.
const COUNTERS: &[&str] = &[
    "bytes_written",
    "wal_us",
    "wal_syncs",
    "memtable_us",
    "stall_us",
    "flushes",
    "flush_us",
    "flush_bytes",
    "compactions",
    "trivial_moves",
    "compaction_us",
    "compaction_read_bytes",
    "compaction_write_bytes",
];

/// Costs of a stretch of work.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cost {
    counters: BTreeMap<String, u64>,
    /// File requests for one lookup of a random key, before and after the compaction.
    pub(super) reads_per_get_before: f64,
    pub(super) reads_per_get_after: f64,
    /// Bytes written to files while everything was compacted.
    pub(super) compact_range_bytes: u64,
}

impl Cost {
    /// The costs of an open database, and what went to files between two moments.
    pub(super) fn of(db: &Db, before: &IoSnapshot, after: &IoSnapshot) -> Self {
        let mut cost = Self::default();
        let statistics = db.property("ferrock.statistics").unwrap_or_default();
        for (name, value) in statistics.lines().filter_map(|line| line.split_once('=')) {
            if let (true, Ok(value)) = (COUNTERS.contains(&name), value.parse()) {
                cost.counters.insert(name.to_owned(), value);
            }
        }
        for purpose in WritePurpose::ALL {
            let written = |io: &IoSnapshot| io.purpose(purpose).append_bytes;
            let bytes = written(after).saturating_sub(written(before));
            cost.counters.insert(format!("file_{}_bytes", purpose.name()), bytes);
        }
        cost
    }

    /// One counter; 0 when it was not counted.
    pub(super) fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Bytes written to files of every kind.
    pub(super) fn file_bytes(&self) -> u64 {
        WritePurpose::ALL.iter().map(|purpose| self.get(&format!("file_{}_bytes", purpose.name()))).sum()
    }

    /// Every counter.
    pub(super) fn counters(&self) -> &BTreeMap<String, u64> {
        &self.counters
    }

    /// Adds the counters of other work.
    pub(super) fn add(&mut self, other: &Self) {
        for (name, value) in &other.counters {
            *self.counters.entry(name.clone()).or_default() += value;
        }
    }

    /// The form in the pipe.
    pub(super) fn to_line(&self) -> String {
        let fields: Vec<String> = self.counters.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("cost{}\n", fields.concat())
    }

    /// From the pipe.
    pub(super) fn from_line(line: &str) -> Option<Self> {
        let fields = line.strip_prefix("cost")?.split_ascii_whitespace();
        let parse =
            |field: &str| field.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        Some(Self { counters: fields.map(parse).collect::<Option<_>>()?, ..Self::default() })
    }
}

/// Files and bytes of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LevelSummary {
    pub(super) level: usize,
    pub(super) files: u64,
    pub(super) size_bytes: u64,
}

impl LevelSummary {
    /// The levels that have files, from the top.
    pub(super) fn of(db: &Db) -> Result<Vec<Self>> {
        let mut levels: BTreeMap<usize, Self> = BTreeMap::new();
        for file in db.live_files() {
            let summary = levels.entry(file.level).or_default();
            summary.level = file.level;
            summary.files += 1;
            summary.size_bytes += file.size_bytes;
        }
        Ok(levels.into_values().collect())
    }

    /// Sorted runs that a lookup may have to look into: every file of level 0, and one file of each level below.
    pub(super) fn sorted_runs(levels: &[Self]) -> u64 {
        levels.iter().map(|level| if level.level == 0 { level.files } else { 1 }).sum()
    }

    /// Bytes of all levels.
    pub(super) fn total_bytes(levels: &[Self]) -> u64 {
        levels.iter().map(|level| level.size_bytes).sum()
    }
}

/// Bytes of the logs in a directory.
pub(super) fn log_files_bytes(file_system: &dyn FileSystem, directory: &Path) -> Result<u64> {
    let names = file_system.children(directory)?;
    names.iter().filter(|name| name.ends_with(".log")).map(|name| file_system.file_size(&directory.join(name))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_pass_the_pipe() {
        let mut cost = Cost::from_line("cost wal_us=12 flushes=3").unwrap();
        assert_eq!(Cost::from_line(cost.to_line().trim_end()), Some(cost.clone()));
        assert_eq!(Cost::from_line("cost"), Some(Cost::default()));
        assert_eq!(Cost::from_line("cost wal_us=1x"), None);
        assert_eq!(Cost::from_line("other"), None);
        cost.add(&Cost::from_line("cost wal_us=5 file_log_bytes=7 file_table_bytes=1").unwrap());
        assert_eq!((cost.get("wal_us"), cost.get("flushes"), cost.get("none"), cost.file_bytes()), (17, 3, 0, 8));
    }

    #[test]
    fn runs_of_levels() {
        let level = |level, files| LevelSummary { level, files, size_bytes: 10 };
        let levels = [level(0, 3), level(5, 4), level(6, 40)];
        assert_eq!((LevelSummary::sorted_runs(&levels), LevelSummary::total_bytes(&levels)), (5, 30));
    }
}
