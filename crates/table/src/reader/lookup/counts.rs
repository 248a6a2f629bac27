//! What lookups count while they run.
//!
//! A lookup is handed where it counts: the counters of its database, those of its thread, or both. Where nothing counts
//! it is compiled without ([`NoCounts`]). A tally on the stack, whose sums were added at the end, was slower: most of
//! its sums are 0, and each had to be asked.

use ferrock_statistics::{PerfMetric, PerfRecorder, Recorder, Ticker};

/// Where lookups count: [`LookupRecorder`], or [`NoCounts`], with which nothing is counted and nothing paid.
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
pub struct NoCounts;

impl LookupCounts for NoCounts {
    #[inline(always)]
    fn note_data(&self, _: Option<usize>) {}
    #[inline(always)]
    fn note_filter(&self, _: bool, _: bool) {}
    #[inline(always)]
    fn note_true_positive(&self) {}
}

/// Counts in the statistics of a database, in the sums of the thread, in both or in neither.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookupRecorder<'s> {
    /// The statistics.
    pub recorder: Option<Recorder<'s>>,
    /// The sums of the thread.
    pub perf: Option<PerfRecorder>,
}

impl LookupCounts for LookupRecorder<'_> {
    #[inline]
    fn note_data(&self, found_bytes: Option<usize>) {
        let (found, bytes) = (found_bytes.is_some(), found_bytes.unwrap_or(0) as u64);
        if let Some(recorder) = self.recorder {
            if found {
                let (hit, of_data, read) =
                    (Ticker::BlockCacheHit, Ticker::BlockCacheDataHit, Ticker::BlockCacheBytesRead);
                recorder.add_all([(hit, 1), (of_data, 1), (read, bytes)]);
            } else {
                recorder.add_all([(Ticker::BlockCacheMiss, 1), (Ticker::BlockCacheDataMiss, 1)]);
            }
        }
        if let Some(perf) = self.perf.filter(|_| found) {
            perf.add_all([(PerfMetric::BlockCacheHitCount, 1), (PerfMetric::BlockCacheReadByte, bytes)]);
        }
    }

    #[inline]
    fn note_filter(&self, is_of_keys: bool, may_match: bool) {
        if let Some(recorder) = self.recorder {
            match (is_of_keys, may_match) {
                (true, false) => recorder.add(Ticker::BloomFilterUseful, 1),
                (true, true) => recorder.add(Ticker::BloomFilterFullPositive, 1),
                (false, false) => {
                    recorder.add_all([(Ticker::BloomFilterPrefixChecked, 1), (Ticker::BloomFilterPrefixUseful, 1)]);
                }
                (false, true) => recorder.add(Ticker::BloomFilterPrefixChecked, 1),
            }
        }
        if let Some(perf) = self.perf {
            perf.add(if may_match { PerfMetric::BloomSstHitCount } else { PerfMetric::BloomSstMissCount }, 1);
        }
    }

    #[inline]
    fn note_true_positive(&self) {
        if let Some(recorder) = self.recorder {
            recorder.add(Ticker::BloomFilterFullTruePositive, 1);
        }
    }
}
