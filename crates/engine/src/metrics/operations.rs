//! What reads and writes add to the statistics of the database and to the sums of their thread.
//!
//! An operation asks once whether anything counts ([`counts`](super::DatabaseCounters::counts)), and is another
//! function where something does, which tells the [`Watch`] at its end.

use ferrock_base::Result;
use ferrock_base::clock::{Clock, Moment};
use ferrock_statistics::{Histogram, PerfMetric, PerfRecorder, Recorder, Ticker};
use ferrock_table::{LookupCounts, LookupRecorder, NoCounts};
use ferrock_tree::read::pinned::Pin;
use ferrock_tree::read::{GetContext, PinnedValue};

/// An operation that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    counts: LookupRecorder<'a>,
    clock: &'a dyn Clock,
    begun: Moment,
}

/// The value of a lookup.
type Found<P> = Result<Option<PinnedValue<P>>>;

impl<'a> Watch<'a> {
    #[inline(always)]
    pub(super) fn new(counts: LookupRecorder<'a>, clock: &'a dyn Clock) -> Self {
        let is_timed = match (counts.recorder, counts.perf) {
            (Some(recorder), _) if recorder.is_timing() => true,
            (_, perf) => perf.is_some_and(PerfRecorder::is_timing),
        };
        let begun = if is_timed { clock.moment() } else { Moment::default() };
        Self { counts, clock, begun }
    }

    #[inline]
    fn record_time(&self, recorder: Recorder<'_>, histogram: Histogram) {
        if recorder.is_timing() {
            recorder.record(histogram, self.clock.elapsed_us(self.begun));
        }
    }

    /// Where lookups count what they do in tables.
    #[inline]
    pub(crate) fn counts(&self) -> &LookupRecorder<'a> {
        &self.counts
    }

    /// Counts where a lookup ended, which went on to tables or did not.
    #[inline]
    pub(crate) fn note_lookup<P: Pin>(&self, context: &GetContext<'_, P>, asked_tables: bool) {
        if let Some(perf) = self.counts.perf {
            perf.add(PerfMetric::GetFromMemtableCount, 1);
        }
        let Some(recorder) = self.counts.recorder else { return };
        if !asked_tables {
            return recorder.add(Ticker::MemtableHit, 1);
        }
        match context.hit_level() {
            None => recorder.add(Ticker::MemtableMiss, 1),
            Some(0) => recorder.add_all([(Ticker::MemtableMiss, 1), (Ticker::GetHitL0, 1)]),
            Some(1) => recorder.add_all([(Ticker::MemtableMiss, 1), (Ticker::GetHitL1, 1)]),
            Some(_) => recorder.add_all([(Ticker::MemtableMiss, 1), (Ticker::GetHitL2AndUp, 1)]),
        }
        if context.num_operands() > 0 {
            recorder.record(Histogram::ReadNumMergeOperands, context.num_operands() as u64);
        }
    }

    /// Counts a lookup that is over.
    #[inline]
    pub(crate) fn end_get<P: Pin>(&self, found: &Found<P>) {
        let bytes = value_bytes(found);
        if let Some(perf) = self.counts.perf {
            perf.add(PerfMetric::GetReadBytes, bytes);
        }
        let Some(recorder) = self.counts.recorder else { return };
        recorder.add_all([(Ticker::NumberKeysRead, 1), (Ticker::BytesRead, bytes)]);
        recorder.record(Histogram::BytesPerRead, bytes);
        self.record_time(recorder, Histogram::DbGet);
    }
}

/// Where a batch of lookups is counted; [`NoCounts`]: nowhere.
pub(crate) trait BatchCounts<P: Pin> {
    /// Where its lookups in tables count.
    type OfLookups: LookupCounts;

    fn of_lookups(&self) -> &Self::OfLookups;
    /// Of these lookups `asking` went on to tables.
    fn note_search(&self, contexts: &[GetContext<'_, P>], asking: u64);
    /// The batch is over.
    fn end(&self, found: &[Found<P>]);
}

impl<P: Pin> BatchCounts<P> for NoCounts {
    type OfLookups = Self;

    fn of_lookups(&self) -> &Self {
        self
    }
    fn note_search(&self, _: &[GetContext<'_, P>], _: u64) {}
    fn end(&self, _: &[Found<P>]) {}
}

impl<'a, P: Pin> BatchCounts<P> for Watch<'a> {
    type OfLookups = LookupRecorder<'a>;

    fn of_lookups(&self) -> &LookupRecorder<'a> {
        &self.counts
    }

    fn note_search(&self, contexts: &[GetContext<'_, P>], asking: u64) {
        if let Some(perf) = self.counts.perf {
            perf.add(PerfMetric::GetFromMemtableCount, contexts.len() as u64);
        }
        let Some(recorder) = self.counts.recorder else { return };
        recorder.add_all([(Ticker::MemtableHit, contexts.len() as u64 - asking), (Ticker::MemtableMiss, asking)]);
        for context in contexts.iter().filter(|_| asking > 0) {
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

    fn end(&self, found: &[Found<P>]) {
        let bytes = found.iter().map(value_bytes).sum();
        if let Some(perf) = self.counts.perf {
            perf.add(PerfMetric::MultigetReadBytes, bytes);
        }
        let Some(recorder) = self.counts.recorder else { return };
        let keys_found = found.iter().filter(|found| matches!(found, Ok(Some(_)))).count() as u64;
        recorder.add_all([
            (Ticker::NumberMultigetCalls, 1),
            (Ticker::NumberMultigetKeysRead, found.len() as u64),
            (Ticker::NumberMultigetKeysFound, keys_found),
            (Ticker::NumberMultigetBytesRead, bytes),
        ]);
        recorder.record(Histogram::BytesPerMultiget, bytes);
        self.record_time(recorder, Histogram::DbMultiget);
    }
}

/// A write whose time is counted when this is dropped.
pub(crate) struct WriteWatch<'a> {
    recorder: Recorder<'a>,
    clock: &'a dyn Clock,
    begun: Moment,
}

impl<'a> WriteWatch<'a> {
    pub(super) fn new(recorder: Recorder<'a>, clock: &'a dyn Clock) -> Self {
        Self { recorder, clock, begun: clock.moment() }
    }
}

impl Drop for WriteWatch<'_> {
    fn drop(&mut self) {
        self.recorder.record(Histogram::DbWrite, self.clock.elapsed_us(self.begun));
    }
}

#[inline]
fn value_bytes<P: Pin>(found: &Found<P>) -> u64 {
    found.as_ref().ok().and_then(Option::as_ref).map_or(0, |value| value.byte_len() as u64)
}
