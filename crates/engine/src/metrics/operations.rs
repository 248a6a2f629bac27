//! What reads and writes add to the statistics of the database and to the sums of their thread.
//!
//! An operation asks once whether anything counts ([`counts`](super::DatabaseCounters::counts)), and is another
//! function where something does, which tells the [`Watch`] at its end.

use super::DatabaseCounters;
use ferrock_base::Result;
use ferrock_base::clock::{Clock, Moment};
use ferrock_statistics::{Histogram, LevelMetric, PerfMetric, PerfRecorder, Recorder, Statistics, ThreadState, Ticker};
use ferrock_table::{LookupCounts, LookupRecorder, NoCounts};
use ferrock_tree::read::pinned::Pin;
use ferrock_tree::read::{GetContext, PinnedValue};
use std::sync::Arc;

/// An operation that is counted.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a, C = LookupRecorder<'a>> {
    counts: C,
    clock: &'a dyn Clock,
    begun: Moment,
}

/// The value of a lookup.
type Found<P> = Result<Option<PinnedValue<P>>>;

impl<'a, C: LookupCounts> Watch<'a, C> {
    #[inline(always)]
    pub(crate) fn new(counts: C, clock: &'a dyn Clock) -> Self {
        let is_timed = counts.recorder().is_some_and(Recorder::is_timing);
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
    pub(crate) fn counts(&self) -> &C {
        &self.counts
    }

    /// Counts a lookup that is over.
    #[inline]
    pub(crate) fn end_get<P: Pin>(&self, found: &Found<P>) {
        let bytes = value_bytes(found);
        if let Some(perf) = self.counts.perf() {
            perf.add(PerfMetric::GetReadBytes, bytes);
        }
        let Some(recorder) = self.counts.recorder() else { return };
        recorder.add_all([(Ticker::NumberKeysRead, 1), (Ticker::BytesRead, bytes)]);
        recorder.record(Histogram::BytesPerRead, bytes);
        self.record_time(recorder, Histogram::DbGet);
    }
}

/// Counts where a lookup ended, which went on to tables or did not.
#[inline]
pub(crate) fn note_lookup<P: Pin>(counts: &impl LookupCounts, context: &GetContext<'_, P>, asked_tables: bool) {
    if let Some(perf) = counts.perf() {
        perf.add(PerfMetric::InternalMergePointLookupCount, context.num_operands() as u64);
        if let Some(level) = context.hit_level().filter(|_| asked_tables) {
            perf.add_of_level(level, LevelMetric::UserKeyReturnCount, 1);
        }
    }
    let Some(recorder) = counts.recorder() else { return };
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

/// A read whose values come as a future: counted when it is over, on whichever thread that is.
#[derive(Debug)]
pub(crate) struct FutureWatch {
    statistics: Option<Arc<Statistics>>,
    clock: Arc<dyn Clock>,
    begun: Moment,
}

impl FutureWatch {
    /// Begins now; `None` where nothing counts.
    pub(crate) fn begin(counters: &DatabaseCounters, thread: ThreadState, clock: &Arc<dyn Clock>) -> Option<Self> {
        if !counters.counts(thread) {
            return None;
        }
        Some(Self { statistics: counters.statistics().cloned(), clock: Arc::clone(clock), begun: clock.moment() })
    }

    fn watch(&self) -> Watch<'_> {
        let recorder = self.statistics.as_ref().and_then(|statistics| statistics.recorder());
        let counts = LookupRecorder { recorder, perf: PerfRecorder::of_thread() };
        Watch { counts, clock: &*self.clock, begun: self.begun }
    }

    /// The lookup of one key is over.
    pub(crate) fn end_get<P: Pin>(&self, found: &Found<P>) {
        self.watch().end_get(found);
    }

    /// The lookups of many keys are over.
    pub(crate) fn end_batch<P: Pin>(&self, found: &[Found<P>]) {
        BatchCounts::end(&self.watch(), found);
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
            let operands = contexts.iter().map(GetContext::num_operands).sum::<usize>();
            perf.add(PerfMetric::InternalMergePointLookupCount, operands as u64);
            for level in contexts.iter().filter_map(GetContext::hit_level) {
                perf.add_of_level(level, LevelMetric::UserKeyReturnCount, 1);
            }
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
