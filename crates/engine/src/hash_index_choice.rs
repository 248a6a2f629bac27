//! Whether tables get a data-block hash index, where `data_block_index_type` is `kDataBlockAuto`.
//!
//! A hash index spares a point lookup the search within its block. It is of no use to range reads, and it makes blocks a
//! few percent larger: where blocks do not fit the cache, a lookup then reads more, and reading costs far more than
//! searching. So it pays where most reads are point lookups and most of these find their block in memory.
//!
//! Each family counts its reads. Before a table is written, the counts since the last decision decide anew, if they are
//! many enough to say something; otherwise the last decision stays. As tables are rewritten by compaction, a family follows
//! its load. Nothing is kept across a reopening: the first reads decide.

use ferrock_table::{ReadCounts, ReadSample};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Table property that says what was decided and why.
pub(crate) const HASH_INDEX_PROPERTY: &[u8] = b"ferrock.data.block.index";
/// Reads from which on a share means something.
const MIN_READS: u64 = 2000;
/// Share of reads, in percent, that must be point lookups.
const MIN_LOOKUP_PERCENT: u64 = 50;
/// Share of lookups, in percent, from which on reading blocks outweighs searching in them: what RocksDB's authors found,
/// <https://rocksdb.org/blog/2018/08/23/data-block-hash-index.html>.
const MAX_MISS_PERCENT: u64 = 40;

/// A decision and the reads it was made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) uses_hash_index: bool,
    reads: ReadCounts,
}

impl Decision {
    fn by(reads: ReadCounts) -> Self {
        let all = reads.lookups + reads.range_reads;
        let is_point_load = reads.lookups * 100 >= all * MIN_LOOKUP_PERCENT;
        let is_cached = reads.block_reads * 100 < reads.lookups * MAX_MISS_PERCENT;
        Self { uses_hash_index: is_point_load && is_cached, reads }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadCounts { lookups, range_reads, block_reads } = self.reads;
        let all = lookups + range_reads;
        if all == 0 {
            return write!(f, "kDataBlockBinarySearch: fewer than {MIN_READS} reads so far");
        }
        let chosen = if self.uses_hash_index { "kDataBlockBinaryAndHash" } else { "kDataBlockBinarySearch" };
        let percent = |part: u64, whole: u64| part as f64 * 100.0 / whole.max(1) as f64;
        write!(
            f,
            "{chosen}: of {all} reads {:.1} % were point lookups (a hash index pays from {MIN_LOOKUP_PERCENT} %), of which {:.1} % \
             read a data block (below {MAX_MISS_PERCENT} %)",
            percent(lookups, all),
            percent(block_reads, lookups),
        )
    }
}

/// The choice of one column family.
#[derive(Debug)]
pub(crate) struct HashIndexChoice {
    sample: Arc<ReadSample>,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    decision: Decision,
    /// The counts it was made at.
    counts: ReadCounts,
}

impl HashIndexChoice {
    pub(crate) fn new(sample: Arc<ReadSample>) -> Self {
        Self { sample, last: Mutex::default() }
    }

    /// The decision for the next table.
    pub(crate) fn decide(&self) -> Decision {
        let counts = self.sample.counts();
        let mut last = self.last.lock();
        let reads = counts.since(&last.counts);
        if reads.lookups + reads.range_reads >= MIN_READS {
            *last = Last { decision: Decision::by(reads), counts };
        }
        last.decision
    }

    /// The latest decision.
    pub(crate) fn last(&self) -> Decision {
        self.last.lock().decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(lookups: u64, range_reads: u64, block_reads: u64) -> ReadCounts {
        ReadCounts { lookups, range_reads, block_reads }
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
            let decision = Decision::by(counts);
            assert_eq!(decision.uses_hash_index, wanted, "{decision}");
        }
        let text = Decision::by(reads(3000, 1000, 600)).to_string();
        assert!(text.starts_with("kDataBlockBinaryAndHash: of 4000 reads 75.0 % were point lookups"), "{text}");
        assert!(text.contains("20.0 % read a data block"), "{text}");
    }

    #[test]
    fn few_reads_change_nothing_and_many_do() {
        let sample = Arc::new(ReadSample::default());
        let choice = HashIndexChoice::new(Arc::clone(&sample));
        sample.note_lookups(0, MIN_READS - 1);
        assert!(!choice.decide().uses_hash_index);
        sample.note_lookups(3, 1);
        assert!(choice.decide().uses_hash_index);
        assert!(choice.last().uses_hash_index);
        (0..MIN_READS - 1).for_each(|_| sample.note_range_read(1));
        assert!(choice.decide().uses_hash_index, "not yet");
        sample.note_range_read(1);
        assert!(!choice.decide().uses_hash_index, "the reads since the last decision count, not all");
    }
}
