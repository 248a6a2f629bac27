//! Options of databases with a [memory budget](super::MemoryBudget): what they take from it, what it makes of their
//! families' tables, and what is refused because no budget could bound it.

use crate::{ColumnFamilyOptions, DbOptions};
use ferrock_base::Error;
use ferrock_base::option_table::Adjustment;
use ferrock_table::ChargeDecision;
use ferrock_table::options::IndexType;
use std::sync::Arc;

impl DbOptions {
    /// With a budget, takes its block cache and its write buffer manager.
    #[doc(hidden)]
    pub fn adopt_budget(&mut self) {
        if let Some(budget) = &self.components.memory_budget {
            self.components.block_cache = Some(Arc::clone(budget.cache()));
            self.components.write_buffer_manager = Some(Arc::clone(budget.write_buffer_manager()));
        }
    }
}

/// Refuses what would be outside of the budget.
pub(crate) fn check_db(db: &DbOptions) -> Result<(), Error> {
    let components = &db.components;
    let Some(budget) = &components.memory_budget else { return Ok(()) };
    let is_other_cache = components.block_cache.as_ref().is_some_and(|cache| !Arc::ptr_eq(cache, budget.cache()));
    let manager = components.write_buffer_manager.as_ref();
    let is_other_manager = manager.is_some_and(|manager| !Arc::ptr_eq(manager, budget.write_buffer_manager()));
    let problem = if is_other_cache {
        "block_cache is another cache than that of memory_budget: leave it unset"
    } else if is_other_manager {
        "write_buffer_manager is another one than that of memory_budget: leave it unset"
    } else if db.allow_mmap_reads.is_on() {
        "allow_mmap_reads maps files into memory, which memory_budget cannot bound: turn one of them off"
    } else {
        return Ok(());
    };
    Err(Error::invalid_argument(problem))
}

/// As [`check_db`], of a family.
pub(crate) fn check_family(db: &DbOptions, family: &ColumnFamilyOptions) -> Result<(), Error> {
    let Some(budget) = &db.components.memory_budget else { return Ok(()) };
    if family.block_cache.as_ref().is_some_and(|cache| !Arc::ptr_eq(cache, budget.cache())) {
        let problem = "block_cache of the family is another cache than that of memory_budget: leave it unset";
        return Err(Error::invalid_argument(problem));
    }
    if family.blob_cache.as_ref().is_some_and(|cache| !Arc::ptr_eq(cache, budget.cache())) {
        let problem = "blob_cache of the family is another cache than that of memory_budget: leave it unset";
        return Err(Error::invalid_argument(problem));
    }
    if family.table.no_block_cache {
        let problem =
            "no_block_cache keeps indexes and filters where memory_budget cannot bound them: turn one of them off";
        return Err(Error::invalid_argument(problem));
    }
    Ok(())
}

/// With a budget, nothing that grows with the data may be outside of the cache.
pub(crate) fn charge(db: &DbOptions, family: &mut ColumnFamilyOptions) -> Vec<Adjustment> {
    if db.components.memory_budget.is_none() {
        return Vec::new();
    }
    let usage = &mut family.cache_usage;
    for decision in [
        &mut usage.compression_dictionary_building_buffer,
        &mut usage.filter_construction,
        &mut usage.block_based_table_reader,
    ] {
        *decision = ChargeDecision::Enabled;
    }
    let (before, table) = (family.table.clone(), &mut family.table);
    table.cache_index_and_filter_blocks = true;
    if table.index_type == IndexType::BinarySearch {
        table.index_type = IndexType::TwoLevelIndexSearch;
    }
    table.partition_filters = table.index_type == IndexType::TwoLevelIndexSearch;
    let changed = ["cache_index_and_filter_blocks", "index_type", "partition_filters"].map(|name| {
        let (was, used) = (before.get(name).unwrap_or_default(), table.get(name).unwrap_or_default());
        (was != used).then(|| Adjustment::new(name, &was, "outside of memory_budget".to_owned(), &used))
    });
    changed.into_iter().flatten().collect()
}
