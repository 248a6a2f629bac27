//! Merge operators, compaction filters and rate limiters that count in the statistics of a database.
//!
//! A database without statistics calls them as they are. Options keep what they were given: only readers and jobs get
//! what counts.

use ferrock_base::ValueType;
use ferrock_base::clock::Clock;
use ferrock_base::compaction_filter::{CompactionFilter, FilterContext, FilterDecision, TableFileCreationReason};
use ferrock_base::merge::MergeOperator;
use ferrock_statistics::{Histogram, MeasureTimer, Statistics, Ticker};
use ferrock_vfs::{IoKind, IoPriority, RateLimiter};
use std::sync::Arc;

/// The operator, counted where there are statistics.
#[must_use]
pub fn counted_merges(
    operator: Option<&Arc<dyn MergeOperator>>,
    statistics: Option<&Arc<Statistics>>,
) -> Option<Arc<dyn MergeOperator>> {
    let operator = Arc::clone(operator?);
    match statistics {
        Some(statistics) => Some(Arc::new(CountedMerges { operator, statistics: Arc::clone(statistics) })),
        None => Some(operator),
    }
}

/// The filter, counted where there are statistics.
#[must_use]
pub(crate) fn counted_filter(
    filter: Arc<dyn CompactionFilter>,
    statistics: Option<&Arc<Statistics>>,
) -> Arc<dyn CompactionFilter> {
    match statistics {
        Some(statistics) => Arc::new(CountedFilter { filter, statistics: Arc::clone(statistics) }),
        None => filter,
    }
}

/// The limiter for requests of one kind, if it limits those, counted where there are statistics.
#[must_use]
pub fn counted_limiter(
    limiter: Option<&Arc<dyn RateLimiter>>,
    statistics: Option<&Arc<Statistics>>,
    clock: &Arc<dyn Clock>,
    kind: IoKind,
) -> Option<Arc<dyn RateLimiter>> {
    let limiter = Arc::clone(limiter.filter(|limiter| limiter.limits(kind))?);
    let Some(statistics) = statistics.map(Arc::clone) else { return Some(limiter) };
    Some(Arc::new(CountedLimiter { limiter, statistics, clock: Arc::clone(clock), kind }))
}

#[derive(Debug)]
struct CountedLimiter {
    limiter: Arc<dyn RateLimiter>,
    statistics: Arc<Statistics>,
    clock: Arc<dyn Clock>,
    kind: IoKind,
}

impl RateLimiter for CountedLimiter {
    fn request(&self, bytes: u64, priority: IoPriority) {
        let Some(recorder) = self.statistics.recorder() else { return self.limiter.request(bytes, priority) };
        let begun = self.clock.moment();
        let waits = self.limiter.request_counted(bytes, priority);
        let took_us = self.clock.elapsed_us(begun);
        let (of_bytes, requests, delayed, total_us, each_us) = match self.kind {
            IoKind::Read => (
                Ticker::RateLimiterBytesRead,
                Ticker::RateLimiterRequestsRead,
                Ticker::RateLimiterDelayedRequestsRead,
                Ticker::RateLimiterTotalWaitMicrosRead,
                Histogram::RateLimiterWaitMicrosRead,
            ),
            IoKind::Write => (
                Ticker::RateLimiterBytesWrite,
                Ticker::RateLimiterRequestsWrite,
                Ticker::RateLimiterDelayedRequestsWrite,
                Ticker::RateLimiterTotalWaitMicrosWrite,
                Histogram::RateLimiterWaitMicrosWrite,
            ),
        };
        recorder.add_all([(of_bytes, bytes), (requests, 1)]);
        if waits > 0 {
            recorder.add_all([(Ticker::NumberRateLimiterDrains, waits), (delayed, 1), (total_us, took_us)]);
            recorder.record(each_us, took_us);
        }
    }

    fn limits(&self, kind: IoKind) -> bool {
        kind == self.kind && self.limiter.limits(kind)
    }
}

struct CountedMerges {
    operator: Arc<dyn MergeOperator>,
    statistics: Arc<Statistics>,
}

impl MergeOperator for CountedMerges {
    fn name(&self) -> &str {
        self.operator.name()
    }

    fn options_id(&self) -> String {
        self.operator.options_id()
    }

    fn full_merge(&self, key: &[u8], existing: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let recorder = self.statistics.recorder();
        let timer = MeasureTimer::of_sum(recorder, Ticker::MergeOperationTotalTime);
        let is_merged = self.operator.full_merge(key, existing, operands, out);
        drop(timer);
        if let Some(recorder) = recorder.filter(|_| !is_merged) {
            recorder.add(Ticker::NumberMergeFailures, 1);
        }
        is_merged
    }

    fn partial_merge(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let _timer = MeasureTimer::of_sum(self.statistics.recorder(), Ticker::MergeOperationTotalTime);
        self.operator.partial_merge(key, operands, out)
    }

    fn allow_single_operand(&self) -> bool {
        self.operator.allow_single_operand()
    }
}

struct CountedFilter {
    filter: Arc<dyn CompactionFilter>,
    statistics: Arc<Statistics>,
}

impl CountedFilter {
    fn timer(&self) -> MeasureTimer<'_> {
        MeasureTimer::of_sum(self.statistics.recorder(), Ticker::FilterOperationTotalTime)
    }
}

impl CompactionFilter for CountedFilter {
    fn name(&self) -> &str {
        self.filter.name()
    }

    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.filter.should_filter_table_file_creation(reason)
    }

    fn filter(&self, context: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision {
        let _timer = self.timer();
        self.filter.filter(context, key, value_type, value)
    }

    fn filter_blob_by_key(&self, context: &FilterContext, key: &[u8]) -> Option<FilterDecision> {
        let _timer = self.timer();
        self.filter.filter_blob_by_key(context, key)
    }

    fn filters_entities(&self) -> bool {
        self.filter.filters_entities()
    }

    fn filter_entity(&self, context: &FilterContext, key: &[u8], columns: &[(&[u8], &[u8])]) -> FilterDecision {
        let _timer = self.timer();
        self.filter.filter_entity(context, key, columns)
    }
}
