//! The compaction filter of a job, or of a part of one: that of the family's options, or one that their factory makes.
//!
//! | tables of | asked first | else |
//! |---|---|---|
//! | a compaction | `compaction_filter`, whatever it answers | `compaction_filter_factory` |
//! | memtables | `compaction_filter`, if it wants them | `compaction_filter_factory` |
//!
//! RocksDB never asks a `compaction_filter` about tables of memtables; one that does not want them is none here.

use super::FamilyContext;
use crate::counted_callbacks::counted_filter;
use ferrock_base::Result;
use ferrock_base::compaction_filter::{
    CompactionFilter, CompactionFilterFactory, FilterContext, FilterFactoryContext, TableFileCreationReason,
};
use std::sync::Arc;

/// A filter with what it is told of each entry's job.
pub(super) type JobFilter = (Arc<dyn CompactionFilter>, FilterContext);

/// The filter of a job or part; `is_full` says whether the job takes in every table of the family.
///
/// # Errors
/// Those of the factory.
pub(super) fn filter_of(
    family: &FamilyContext,
    reason: TableFileCreationReason,
    is_full: bool,
    entries: FilterContext,
) -> Result<Option<JobFilter>> {
    let (options, statistics) = (&family.options, family.table_cache.statistics());
    if let Some(filter) = &options.compaction_filter {
        let is_wanted = filter.should_filter_table_file_creation(reason);
        if is_wanted || reason == TableFileCreationReason::Compaction {
            return Ok(is_wanted.then(|| (counted_filter(Arc::clone(filter), statistics), entries)));
        }
    }
    let wants = |factory: &&Arc<dyn CompactionFilterFactory>| factory.should_filter_table_file_creation(reason);
    let Some(factory) = options.compaction_filter_factory.as_ref().filter(wants) else { return Ok(None) };
    let made = factory.create(&FilterFactoryContext {
        is_full,
        is_manual: entries.is_manual,
        column_family_id: entries.column_family_id,
        input_level: (reason == TableFileCreationReason::Compaction).then_some(entries.input_level),
        reason,
    })?;
    Ok(made.map(|filter| (counted_filter(filter, statistics), entries)))
}
