//! Whether tables get a data-block hash index, where `data_block_index_type` is `kDataBlockAuto`.
//!
//! A hash index spares a point lookup most of the search within its block. It is of no use to range reads, and it makes
//! blocks a few percent larger: if not all blocks fit into the cache, a few percent of those that did no longer do, and
//! have to be read. So it pays if
//!
//! ```text
//! lookups                    at least half of all reads
//! lookups that read a block  below 40 %, the rule of thumb of RocksDB's authors
//! lookups x time saved   >=  reads x share of blocks in the cache x growth of blocks x time of a block's read
//! ```
//!
//! The last line supposes that all blocks are read equally often; if some are read more often, the growth costs less.
//! The time of a read is measured, since it is anything from a copy out of the page cache to a seek of a disk. The
//! growth follows from the size of the family's entries.
//!
//! Each family counts its reads. Before a table is written, the counts since the last decision decide anew, if there
//! are enough of them; otherwise the last decision stays. As tables are rewritten by compaction, a family follows its
//! load. Nothing is kept across a reopening: the first reads decide.

use super::read_stats::{ReadCounts, ReadStats};
use ferrock_base::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// Table property that records the decision and its reasons.
pub const HASH_INDEX_PROPERTY: &[u8] = b"ferrock.data.block.index";
/// Fewest reads from which a share is computed.
const MIN_READS: u64 = 2000;
/// Share of reads, in percent, that must be point lookups.
const MIN_LOOKUP_PERCENT: u64 = 50;
/// Share of lookups, in percent, from which on reading blocks outweighs searching in them,
/// <https://rocksdb.org/blog/2018/08/23/data-block-hash-index.html>.
const MAX_MISS_PERCENT: u64 = 40;
/// What a lookup saves, in nanoseconds of CPU: up to 30 with a million keys (`db_bench --experiment=hash-index`), 160
/// with two million (`hash-index-sweep`, everything cached).
const SAVED_NS: f64 = 100.0;
/// Share of lookups, in percent, up to which block reads are first reads: every block, once read, is assumed to stay in
/// memory.
const COLD_MISS_PERCENT: f64 = 0.5;

/// A decision and the measurements behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// The next tables get one.
    pub uses_hash_index: bool,
    reads: ReadCounts,
    /// Bytes of hash index for each byte of data.
    growth: f64,
}

impl Decision {
    fn by(reads: ReadCounts, growth: f64) -> Self {
        let mut decision = Self { uses_hash_index: false, reads, growth };
        let all = reads.lookups + reads.range_reads;
        let is_point_load = reads.lookups * 100 >= all * MIN_LOOKUP_PERCENT;
        let is_cached = reads.block_reads * 100 < reads.lookups * MAX_MISS_PERCENT;
        let saved = reads.lookups as f64 * SAVED_NS;
        // Batches of reads are not timed: a family with batches only has no measurement.
        let is_known = reads.timed_block_reads > 0 || decision.loses_nothing();
        decision.uses_hash_index = is_point_load && is_cached && is_known && saved >= all as f64 * decision.cost_ns();
        decision
    }

    /// What larger blocks cost a read.
    fn cost_ns(&self) -> f64 {
        if self.loses_nothing() {
            return 0.0;
        }
        let miss_percent = percent(self.reads.block_reads, self.reads.lookups);
        (1.0 - miss_percent / 100.0) * self.growth * self.block_read_us() * 1000.0
    }

    /// Every block stays in memory, however large.
    fn loses_nothing(&self) -> bool {
        percent(self.reads.block_reads, self.reads.lookups) <= COLD_MISS_PERCENT
    }

    fn block_read_us(&self) -> f64 {
        self.reads.block_read_us as f64 / self.reads.timed_block_reads.max(1) as f64
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadCounts { lookups, range_reads, block_reads, .. } = self.reads;
        let all = lookups + range_reads;
        if all == 0 {
            return write!(f, "kDataBlockBinarySearch: fewer than {MIN_READS} reads so far");
        }
        let chosen = if self.uses_hash_index { "kDataBlockBinaryAndHash" } else { "kDataBlockBinarySearch" };
        write!(
            f,
            "{chosen}: of {all} reads {:.1} % were point lookups (a hash index pays from {MIN_LOOKUP_PERCENT} %), of which {:.1} % \
             read a data block (below {MAX_MISS_PERCENT} %); blocks grow by {:.1} %, which costs a read {:.0} ns at {:.1} us a block \
             (a lookup saves {SAVED_NS} ns)",
            percent(lookups, all),
            percent(block_reads, lookups),
            self.growth * 100.0,
            self.cost_ns(),
            self.block_read_us(),
        )
    }
}

/// The choice of one column family.
#[derive(Debug)]
pub struct HashIndexChoice {
    sample: Arc<ReadStats>,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    decision: Decision,
    /// The counts at the decision.
    counts: ReadCounts,
}

impl HashIndexChoice {
    /// A choice that follows `sample`.
    #[must_use]
    pub fn new(sample: Arc<ReadStats>) -> Self {
        Self { sample, last: Mutex::default() }
    }

    /// The decision for the next table. `growth` is the bytes of hash index for each byte of data, for when it is
    /// wanted.
    pub fn decide(&self, growth: impl FnOnce() -> f64) -> Decision {
        let counts = self.sample.counts();
        let mut last = self.last.lock();
        let reads = counts.since(&last.counts);
        if reads.lookups + reads.range_reads >= MIN_READS {
            *last = Last { decision: Decision::by(reads, growth()), counts };
        }
        last.decision
    }

    /// The latest decision.
    #[must_use]
    pub fn last(&self) -> Decision {
        self.last.lock().decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 us a read of a block.
    fn reads(lookups: u64, range_reads: u64, block_reads: u64) -> ReadCounts {
        ReadCounts { lookups, range_reads, block_reads, timed_block_reads: 10, block_read_us: 40 }
    }

    #[test]
    fn point_reads_of_cached_blocks_get_a_hash_index() {
        for (counts, wanted) in [
            (reads(10_000, 0, 0), true),
            (reads(10_000, 10_000, 3999), true),
            (reads(10_000, 10_001, 0), false),
            (reads(10_000, 0, 4000), false),
            (reads(0, 10_000, 0), false),
        ] {
            let decision = Decision::by(counts, 0.01);
            assert_eq!(decision.uses_hash_index, wanted, "{decision}");
        }
        let text = Decision::by(reads(3000, 1000, 600), 0.01).to_string();
        assert!(text.starts_with("kDataBlockBinaryAndHash: of 4000 reads 75.0 % were point lookups"), "{text}");
        assert!(text.contains("20.0 % read a data block"), "{text}");
        assert!(text.contains("grow by 1.0 %, which costs a read 32 ns at 4.0 us a block"), "{text}");
    }

    #[test]
    fn growth_must_not_cost_more_than_the_search_saves() {
        // 4 % of blocks that were in memory are read at 4 us: 160 ns for the 100 that are saved.
        assert!(!Decision::by(reads(10_000, 0, 100), 0.04).uses_hash_index);
        assert!(Decision::by(reads(10_000, 0, 100), 0.02).uses_hash_index);
        assert!(
            !Decision::by(reads(10_000, 9_000, 100), 0.02).uses_hash_index,
            "range reads pay as well, and save nothing"
        );
        // With everything in memory larger blocks cost nothing; the few reads are the first of their blocks.
        assert!(Decision::by(reads(10_000, 0, 0), 0.5).uses_hash_index);
        assert!(Decision::by(reads(10_000, 0, 50), 0.5).uses_hash_index);
        // Reads of batches only, which are not timed.
        let untimed = ReadCounts { timed_block_reads: 0, block_read_us: 0, ..reads(10_000, 0, 100) };
        assert!(!Decision::by(untimed, 0.001).uses_hash_index);
        // Slow reads.
        let slow = ReadCounts { block_read_us: 10_000, ..reads(10_000, 0, 100) };
        assert!(!Decision::by(slow, 0.01).uses_hash_index);
    }

    #[test]
    fn few_reads_change_nothing_and_many_do() {
        let sample = Arc::new(ReadStats::default());
        let choice = HashIndexChoice::new(Arc::clone(&sample));
        let decide = || choice.decide(|| 0.01).uses_hash_index;
        sample.note_lookups(0, MIN_READS - 1);
        assert!(!decide());
        sample.note_lookups(3, 1);
        assert!(decide());
        assert!(choice.last().uses_hash_index);
        (0..MIN_READS - 1).for_each(|_| sample.note_range_read(1));
        assert!(decide(), "not yet");
        sample.note_range_read(1);
        assert!(!decide(), "the reads since the last decision count, not all");
    }
}
