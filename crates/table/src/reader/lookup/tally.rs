//! What lookups count while they run.
//!
//! A lookup asks neither for the statistics of its database nor for its thread's: it adds to this, which lies on the
//! stack, and the code that ends the lookup adds the sums to both, if there are any. Where nothing counts, lookups are
//! compiled without.

use ferrock_statistics::{PerfMetric, PerfRecorder, Recorder, Ticker};
use std::cell::Cell;

/// Where lookups count: [`LookupTally`], or [`NoTally`], with which nothing is counted and nothing paid.
pub trait LookupCounts {
    /// Counts a look for a data block in the cache, which found a block of so many bytes.
    fn note_data(&self, found_bytes: Option<usize>);
    /// Counts the answer of a filter of whole keys, or of prefixes.
    fn note_filter(&self, is_of_keys: bool, may_match: bool);
    /// Counts a key that was there after a filter of whole keys had let it pass.
    fn note_true_positive(&self);
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTally;

impl LookupCounts for NoTally {
    #[inline(always)]
    fn note_data(&self, _: Option<usize>) {}
    #[inline(always)]
    fn note_filter(&self, _: bool, _: bool) {}
    #[inline(always)]
    fn note_true_positive(&self) {}
}

/// Counts of one or more lookups.
#[derive(Debug, Default)]
pub struct LookupTally {
    data_hits: Cell<u64>,
    data_misses: Cell<u64>,
    hit_bytes: Cell<u64>,
    filter_useful: Cell<u64>,
    filter_positive: Cell<u64>,
    filter_true_positive: Cell<u64>,
    prefix_checked: Cell<u64>,
    prefix_useful: Cell<u64>,
}

#[inline]
fn add(counter: &Cell<u64>, amount: u64) {
    counter.set(counter.get() + amount);
}

impl LookupCounts for LookupTally {
    #[inline]
    fn note_data(&self, found_bytes: Option<usize>) {
        match found_bytes {
            Some(bytes) => {
                add(&self.data_hits, 1);
                add(&self.hit_bytes, bytes as u64);
            }
            None => add(&self.data_misses, 1),
        }
    }

    #[inline]
    fn note_filter(&self, is_of_keys: bool, may_match: bool) {
        match (is_of_keys, may_match) {
            (true, false) => add(&self.filter_useful, 1),
            (true, true) => add(&self.filter_positive, 1),
            (false, _) => {
                add(&self.prefix_checked, 1);
                add(&self.prefix_useful, u64::from(!may_match));
            }
        }
    }

    #[inline]
    fn note_true_positive(&self) {
        add(&self.filter_true_positive, 1);
    }
}

impl LookupTally {
    /// Adds the counts to those of a database.
    pub fn record(&self, recorder: Recorder<'_>) {
        let rows = [
            (Ticker::BlockCacheHit, &self.data_hits),
            (Ticker::BlockCacheDataHit, &self.data_hits),
            (Ticker::BlockCacheBytesRead, &self.hit_bytes),
            (Ticker::BlockCacheMiss, &self.data_misses),
            (Ticker::BlockCacheDataMiss, &self.data_misses),
            (Ticker::BloomFilterUseful, &self.filter_useful),
            (Ticker::BloomFilterFullPositive, &self.filter_positive),
            (Ticker::BloomFilterFullTruePositive, &self.filter_true_positive),
            (Ticker::BloomFilterPrefixChecked, &self.prefix_checked),
            (Ticker::BloomFilterPrefixUseful, &self.prefix_useful),
        ];
        for (ticker, count) in rows {
            if count.get() > 0 {
                recorder.add(ticker, count.get());
            }
        }
    }

    /// Adds the counts to those of a thread.
    pub fn record_perf(&self, perf: PerfRecorder) {
        perf.add(PerfMetric::BlockCacheHitCount, self.data_hits.get());
        perf.add(PerfMetric::BlockCacheReadByte, self.hit_bytes.get());
        let prefix_positive = self.prefix_checked.get() - self.prefix_useful.get();
        perf.add(PerfMetric::BloomSstHitCount, self.filter_positive.get() + prefix_positive);
        perf.add(PerfMetric::BloomSstMissCount, self.filter_useful.get() + self.prefix_useful.get());
    }
}
