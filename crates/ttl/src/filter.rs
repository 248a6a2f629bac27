//! The compaction filter that drops what is too old, around that of the caller.
//!
//! It is always made by a factory, also around a filter that the caller gave without one: only a factory is told why
//! tables are written, and which of the caller's filter and factory is asked depends on that.

use crate::suffix::split;
use ferrock_base::clock::Clock;
use ferrock_base::compaction_filter::{
    CompactionFilter, CompactionFilterFactory, FilterContext, FilterDecision, FilterFactoryContext,
    TableFileCreationReason,
};
use ferrock_base::{Result, ValueType};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time to live of a family, which may change while compactions run.
#[derive(Debug, Default)]
pub(crate) struct TimeToLive(AtomicU64);

impl TimeToLive {
    pub(crate) fn new(ttl: Option<Duration>) -> Self {
        let own = Self::default();
        own.set(ttl);
        own
    }

    /// Whole seconds, of which a part counts as one; 0 never expires.
    pub(crate) fn set(&self, ttl: Option<Duration>) {
        let ttl = ttl.unwrap_or_default();
        let seconds = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
        self.0.store(seconds, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<Duration> {
        Some(self.0.load(Ordering::Relaxed)).filter(|seconds| *seconds > 0).map(Duration::from_secs)
    }

    /// True when a value of that time has outlived it.
    fn is_over(&self, time_secs: u32, clock: &dyn Clock) -> bool {
        self.get().is_some_and(|ttl| u64::from(time_secs).saturating_add(ttl.as_secs()) < clock.unix_seconds())
    }
}

/// Makes the filters of a family.
pub(crate) struct TtlFilterFactory {
    pub(crate) ttl: Arc<TimeToLive>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The caller's, asked for what it wants.
    pub(crate) filter: Option<Arc<dyn CompactionFilter>>,
    /// The caller's, asked where its filter is not.
    pub(crate) factory: Option<Arc<dyn CompactionFilterFactory>>,
}

impl TtlFilterFactory {
    /// The filter of the caller's for a job, by the rules of a database without times.
    fn user_filter(&self, context: &FilterFactoryContext) -> Result<Option<Arc<dyn CompactionFilter>>> {
        if let Some(filter) = &self.filter {
            if filter.should_filter_table_file_creation(context.reason) {
                return Ok(Some(Arc::clone(filter)));
            }
            if context.reason == TableFileCreationReason::Compaction {
                return Ok(None);
            }
        }
        match &self.factory {
            Some(factory) if factory.should_filter_table_file_creation(context.reason) => factory.create(context),
            _ => Ok(None),
        }
    }
}

impl CompactionFilterFactory for TtlFilterFactory {
    fn name(&self) -> &str {
        "TtlCompactionFilterFactory"
    }

    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction
            || self.filter.as_ref().is_some_and(|filter| filter.should_filter_table_file_creation(reason))
            || self.factory.as_ref().is_some_and(|factory| factory.should_filter_table_file_creation(reason))
    }

    fn create(&self, context: &FilterFactoryContext) -> Result<Option<Arc<dyn CompactionFilter>>> {
        // Only compactions drop by age, whatever else the caller's filter wants to see.
        let ttl = (context.reason == TableFileCreationReason::Compaction).then(|| Arc::clone(&self.ttl));
        let user = self.user_filter(context)?;
        Ok(Some(Arc::new(TtlFilter { ttl, clock: Arc::clone(&self.clock), user })))
    }
}

/// The filter of one job.
struct TtlFilter {
    ttl: Option<Arc<TimeToLive>>,
    clock: Arc<dyn Clock>,
    user: Option<Arc<dyn CompactionFilter>>,
}

impl CompactionFilter for TtlFilter {
    fn name(&self) -> &str {
        "TtlCompactionFilter"
    }

    fn filter(&self, context: &FilterContext, key: &[u8], value_type: ValueType, stored: &[u8]) -> FilterDecision {
        // What has no time is not of this database: a read reports it, and nothing decides about it.
        let Some((value, suffix)) = split(stored) else { return FilterDecision::Keep };
        // Operands go with the value that they are merged into, as in RocksDB.
        if value_type != ValueType::Merge
            && self.ttl.as_ref().is_some_and(|ttl| ttl.is_over(u32::from_le_bytes(*suffix), &*self.clock))
        {
            return FilterDecision::Remove;
        }
        let Some(user) = &self.user else { return FilterDecision::Keep };
        match user.filter(context, key, value_type, value) {
            // A changed value is as old as it was.
            FilterDecision::ChangeValue(mut changed) => {
                changed.extend_from_slice(suffix);
                FilterDecision::ChangeValue(changed)
            }
            // An entity has no time.
            FilterDecision::ChangeEntity(_) => FilterDecision::Keep,
            other => other,
        }
    }

    fn filter_blob_by_key(&self, context: &FilterContext, key: &[u8]) -> Option<FilterDecision> {
        match self.user.as_ref()?.filter_blob_by_key(context, key)? {
            // Both need the time, which is in the file.
            FilterDecision::Keep | FilterDecision::ChangeValue(_) | FilterDecision::ChangeEntity(_) => None,
            decision => Some(decision),
        }
    }
}
