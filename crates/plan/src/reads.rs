//! What reads cost: blocks that come from files, for lookups of keys that are there, of keys that are not, and for
//! short scans.
//!
//! ```text
//! lookup   runs newest first:  filter -> says no, but for its false positives -> index -> data block
//!          the newest version of a key lies in run i with  d_i * (1 - d_1) * ... * (1 - d_(i-1))
//! scan     one data block of every run
//! ```
//!
//! Keys are asked at random, all alike, so the cache holds each block with the same probability; index and filter,
//! where they are in the cache, are held before data blocks, as `cache_index_and_filter_blocks_with_high_priority`
//! asks.

use crate::memory::Memory;
use crate::simulation::Run;
use crate::sizes::Sizes;
use ferrock_options::ColumnFamilyOptions;

/// What reads cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reads {
    /// Sorted runs: files of level 0, and levels. The worst case of a lookup, and what a scan merges.
    pub sorted_runs: f64,
    /// Share of keys that are not in a table and that its filter lets pass.
    pub false_positive_rate: f64,
    /// Data blocks that the lookup of a key that is there looks into, from the cache or not.
    pub blocks_per_hit: f64,
    /// The same of a key that is not there.
    pub blocks_per_miss: f64,
    /// Share of data blocks that the cache holds.
    pub data_cached: f64,
    /// Blocks of all kinds that the lookup of a key that is there reads from files.
    pub file_reads_per_hit: f64,
    /// The same of a key that is not there.
    pub file_reads_per_miss: f64,
    /// Data blocks that a scan of a few entries reads from files.
    pub file_reads_per_scan: f64,
}

impl Reads {
    /// Of a tree.
    #[must_use]
    pub fn of(runs: &[Run], family: &ColumnFamilyOptions, sizes: &Sizes, memory: &Memory, rate: f64) -> Self {
        // A queue's run stands for many files of level 0, each of which is a run.
        let count = |run: &Run| if run.level == 0 { run.files } else { 1.0 };
        let sorted_runs: f64 = runs.iter().map(count).sum();
        let last = runs.last().map_or(0, |run| run.level);
        let passes = |run: &Run| if family.optimize_filters_for_hits && run.level == last { 1.0 } else { rate };
        let mut reads = Self { sorted_runs, false_positive_rate: rate, ..Self::default() };
        reads.blocks_per_miss = runs.iter().map(|run| passes(run) * count(run)).sum();
        // Expected looks before the run that has the key, and the share of keys that are found at all.
        let (mut not_found, mut found, mut looks) = (1.0, 0.0, 0.0);
        let (mut before, mut runs_before, mut probes) = (0.0, 0.0, 0.0);
        for run in runs {
            let here = not_found * (run.density * 1.0).clamp(0.0, 1.0);
            looks += here * (before + 1.0);
            probes += here * (runs_before + 1.0);
            found += here;
            not_found -= here;
            before += passes(run) * count(run);
            runs_before += count(run);
        }
        if found > 0.0 {
            reads.blocks_per_hit = looks / found;
            probes /= found;
        }
        let data: f64 = runs.iter().map(|run| sizes.parts(run.density).data.of(run.files, run.entries)).sum();
        reads.data_cached = (memory.cache_for_data_bytes / data.max(1.0)).min(1.0);
        let data_missing = 1.0 - reads.data_cached;
        // A block of the index before each data block, a filter for each run that is asked.
        let side_missing = 1.0 - memory.metadata_cached;
        let side = |probes: f64, blocks: f64| {
            let filters = if rate < 1.0 { probes } else { 0.0 };
            side_missing * (filters + blocks)
        };
        reads.file_reads_per_hit = reads.blocks_per_hit * data_missing + side(probes, reads.blocks_per_hit);
        reads.file_reads_per_miss = reads.blocks_per_miss * data_missing + side(sorted_runs, reads.blocks_per_miss);
        reads.file_reads_per_scan = sorted_runs * (data_missing + side_missing);
        reads
    }
}
