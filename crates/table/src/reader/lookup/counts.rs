//! What lookups count while they run.
//!
//! A lookup is handed where it counts, and is compiled once for each: for nothing ([`NoCounts`]), for the statistics of
//! its database alone (a [`Recorder`]), and for these and the sums of its thread ([`LookupRecorder`]). A tally on the
//! stack, whose sums were added at the end, was slower: most of its sums are 0, and each had to be asked.

use ferrock_statistics::{LevelMetric, PerfMetric, PerfRecorder, Recorder, Ticker};

/// Where lookups count.
pub trait LookupCounts {
    /// The statistics, if they are counted.
    fn recorder(&self) -> Option<Recorder<'_>>;

    /// The sums of the thread, if they are counted.
    fn perf(&self) -> Option<PerfRecorder>;

    /// Counts a look for a data block of a level's table in the cache, which found a block of so many bytes.
    #[inline]
    fn note_data(&self, level: usize, found_bytes: Option<usize>) {
        let (found, bytes) = (found_bytes.is_some(), found_bytes.unwrap_or(0) as u64);
        if let Some(recorder) = self.recorder() {
            if found {
                let (hit, of_data, read) =
                    (Ticker::BlockCacheHit, Ticker::BlockCacheDataHit, Ticker::BlockCacheBytesRead);
                recorder.add_all([(hit, 1), (of_data, 1), (read, bytes)]);
            } else {
                recorder.add_all([(Ticker::BlockCacheMiss, 1), (Ticker::BlockCacheDataMiss, 1)]);
            }
        }
        let Some(perf) = self.perf() else { return };
        if found {
            perf.add_all([(PerfMetric::BlockCacheHitCount, 1), (PerfMetric::BlockCacheReadByte, bytes)]);
            perf.add_of_level(level, LevelMetric::BlockCacheHitCount, 1);
        } else {
            perf.add_of_level(level, LevelMetric::BlockCacheMissCount, 1);
        }
    }

    /// Counts the answer of a filter of whole keys, or of prefixes, of a level's table.
    #[inline]
    fn note_filter(&self, level: usize, is_of_keys: bool, may_match: bool) {
        if let Some(recorder) = self.recorder() {
            match (is_of_keys, may_match) {
                (true, false) => recorder.add(Ticker::BloomFilterUseful, 1),
                (true, true) => recorder.add(Ticker::BloomFilterFullPositive, 1),
                (false, false) => {
                    recorder.add_all([(Ticker::BloomFilterPrefixChecked, 1), (Ticker::BloomFilterPrefixUseful, 1)]);
                }
                (false, true) => recorder.add(Ticker::BloomFilterPrefixChecked, 1),
            }
        }
        if let Some(perf) = self.perf() {
            perf.add(if may_match { PerfMetric::BloomSstHitCount } else { PerfMetric::BloomSstMissCount }, 1);
            if is_of_keys {
                let (passed, ended) = (LevelMetric::BloomFilterFullPositive, LevelMetric::BloomFilterUseful);
                perf.add_of_level(level, if may_match { passed } else { ended }, 1);
            }
        }
    }

    /// Counts a key that was in a level's table after a filter of whole keys, or of prefixes, had let it pass.
    #[inline]
    fn note_true_positive(&self, level: usize, is_of_keys: bool) {
        if let Some(recorder) = self.recorder() {
            let (of_keys, of_prefixes) = (Ticker::BloomFilterFullTruePositive, Ticker::BloomFilterPrefixTruePositive);
            recorder.add(if is_of_keys { of_keys } else { of_prefixes }, 1);
        }
        if let Some(perf) = self.perf().filter(|_| is_of_keys) {
            perf.add_of_level(level, LevelMetric::BloomFilterFullTruePositive, 1);
        }
    }
}

/// Counts nothing, and nothing is paid.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCounts;

impl LookupCounts for NoCounts {
    #[inline(always)]
    fn recorder(&self) -> Option<Recorder<'_>> {
        None
    }
    #[inline(always)]
    fn perf(&self) -> Option<PerfRecorder> {
        None
    }
}

/// Counts in the statistics of a database alone.
impl LookupCounts for Recorder<'_> {
    #[inline(always)]
    fn recorder(&self) -> Option<Recorder<'_>> {
        Some(*self)
    }
    #[inline(always)]
    fn perf(&self) -> Option<PerfRecorder> {
        None
    }
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
    #[inline(always)]
    fn recorder(&self) -> Option<Recorder<'_>> {
        self.recorder
    }
    #[inline(always)]
    fn perf(&self) -> Option<PerfRecorder> {
        self.perf
    }
}
