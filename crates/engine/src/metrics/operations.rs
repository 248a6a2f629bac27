//! What reads and writes add to the statistics of the database and to the sums of their thread.
//!
//! An operation asks once whether anything counts ([`counts`](super::DatabaseCounters::counts)), and is another
//! function where something does, which tells the [`Watch`] at its end.

use ferrock_base::Result;
use ferrock_base::clock::Clock;
use ferrock_statistics::{Histogram, PerfMetric, PerfRecorder, Recorder, Ticker};
use ferrock_table::{LookupCounts, LookupTally, NoTally};
use ferrock_tree::read::pinned::Pin;
use ferrock_tree::read::{GetContext, PinnedValue};

/// An operation that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    recorder: Option<Recorder<'a>>,
    perf: Option<PerfRecorder>,
    clock: &'a dyn Clock,
    begun_us: u64,
}

/// The value of a lookup.
type Found<P> = Result<Option<PinnedValue<P>>>;

impl<'a> Watch<'a> {
    pub(super) fn new(recorder: Option<Recorder<'a>>, perf: Option<PerfRecorder>, clock: &'a dyn Clock) -> Self {
        let is_timed = recorder.is_some_and(Recorder::is_timing) || perf.is_some_and(PerfRecorder::is_timing);
        let begun_us = if is_timed { clock.monotonic_us() } else { 0 };
        Self { recorder, perf, clock, begun_us }
    }

    fn record_time(&self, histogram: Histogram) {
        if let Some(recorder) = self.recorder.filter(|recorder| recorder.is_timing()) {
            recorder.record(histogram, self.clock.monotonic_us().saturating_sub(self.begun_us));
        }
    }

    /// Counts what lookups did in tables.
    pub(crate) fn note_tally(&self, tally: &LookupTally) {
        if let Some(perf) = self.perf {
            tally.record_perf(perf);
        }
        if let Some(recorder) = self.recorder {
            tally.record(recorder);
        }
    }

    /// Counts where lookups ended: `asking` of them went on to tables.
    pub(crate) fn note_search<P: Pin>(&self, contexts: &[GetContext<'_, P>], asking: u64) {
        if let Some(perf) = self.perf {
            perf.add(PerfMetric::GetFromMemtableCount, contexts.len() as u64);
        }
        let Some(recorder) = self.recorder else { return };
        let in_memtables = contexts.len() as u64 - asking;
        if in_memtables > 0 {
            recorder.add(Ticker::MemtableHit, in_memtables);
        }
        if asking == 0 {
            return;
        }
        recorder.add(Ticker::MemtableMiss, asking);
        for context in contexts {
            match context.hit_level() {
                None => {}
                Some(0) => recorder.add(Ticker::GetHitL0, 1),
                Some(1) => recorder.add(Ticker::GetHitL1, 1),
                Some(_) => recorder.add(Ticker::GetHitL2AndUp, 1),
            }
            if context.num_operands() > 0 {
                recorder.record(Histogram::ReadNumMergeOperands, context.num_operands() as u64);
            }
        }
    }

    /// Counts a lookup that is over.
    pub(crate) fn end_get<P: Pin>(&self, found: &Found<P>) {
        let bytes = value_bytes(found);
        if let Some(perf) = self.perf {
            perf.add(PerfMetric::GetReadBytes, bytes);
        }
        let Some(recorder) = self.recorder else { return };
        recorder.add(Ticker::NumberKeysRead, 1);
        recorder.add(Ticker::BytesRead, bytes);
        recorder.record(Histogram::BytesPerRead, bytes);
        self.record_time(Histogram::DbGet);
    }

    /// Counts a batch of lookups that is over.
    pub(crate) fn end_multi_get<P: Pin>(&self, found: &[Found<P>]) {
        let bytes = found.iter().map(value_bytes).sum();
        if let Some(perf) = self.perf {
            perf.add(PerfMetric::MultigetReadBytes, bytes);
        }
        let Some(recorder) = self.recorder else { return };
        let keys_found = found.iter().filter(|found| matches!(found, Ok(Some(_)))).count();
        recorder.add(Ticker::NumberMultigetCalls, 1);
        recorder.add(Ticker::NumberMultigetKeysRead, found.len() as u64);
        recorder.add(Ticker::NumberMultigetKeysFound, keys_found as u64);
        recorder.add(Ticker::NumberMultigetBytesRead, bytes);
        recorder.record(Histogram::BytesPerMultiget, bytes);
        self.record_time(Histogram::DbMultiget);
    }
}

/// Where a batch of lookups is counted; [`NoTally`]: nowhere.
pub(crate) trait BatchCounts<P: Pin> {
    /// Where its lookups in tables count.
    type Tally: LookupCounts;

    fn tally(&self) -> &Self::Tally;
    /// Of these lookups `asking` went on to tables.
    fn note_search(&self, contexts: &[GetContext<'_, P>], asking: u64);
    /// The batch is over.
    fn end(&self, found: &[Found<P>]);
}

impl<P: Pin> BatchCounts<P> for NoTally {
    type Tally = Self;

    fn tally(&self) -> &Self {
        self
    }
    fn note_search(&self, _: &[GetContext<'_, P>], _: u64) {}
    fn end(&self, _: &[Found<P>]) {}
}

/// A batch of lookups that is counted.
pub(crate) struct CountedBatch<'a> {
    watch: Watch<'a>,
    tally: LookupTally,
}

impl<'a> CountedBatch<'a> {
    pub(crate) fn new(watch: Watch<'a>) -> Self {
        Self { watch, tally: LookupTally::default() }
    }
}

impl<P: Pin> BatchCounts<P> for CountedBatch<'_> {
    type Tally = LookupTally;

    fn tally(&self) -> &LookupTally {
        &self.tally
    }
    fn note_search(&self, contexts: &[GetContext<'_, P>], asking: u64) {
        self.watch.note_search(contexts, asking);
    }
    fn end(&self, found: &[Found<P>]) {
        self.watch.note_tally(&self.tally);
        self.watch.end_multi_get(found);
    }
}

/// A write whose time is counted when this is dropped.
pub(crate) struct WriteWatch<'a> {
    recorder: Recorder<'a>,
    clock: &'a dyn Clock,
    begun_us: u64,
}

impl<'a> WriteWatch<'a> {
    pub(super) fn new(recorder: Recorder<'a>, clock: &'a dyn Clock) -> Self {
        Self { recorder, clock, begun_us: clock.monotonic_us() }
    }
}

impl Drop for WriteWatch<'_> {
    fn drop(&mut self) {
        let took_us = self.clock.monotonic_us().saturating_sub(self.begun_us);
        self.recorder.record(Histogram::DbWrite, took_us);
    }
}

fn value_bytes<P: Pin>(found: &Found<P>) -> u64 {
    found.as_ref().ok().and_then(Option::as_ref).map_or(0, |value| value.as_slice().len() as u64)
}
