//! The compaction filter of the model's families, and its factory: they remove the keys that [`keys::is_doomed`] names.

use crate::keys;
use ferrock::options::{
    CompactionFilter, CompactionFilterFactory, FilterContext, FilterDecision, FilterFactoryContext,
};
use ferrock_base::ValueType;
use ferrock_base::compaction_filter::TableFileCreationReason;
use std::sync::{Arc, Mutex};

/// What filters were asked by manual compactions.
pub type Asked = Arc<Mutex<Vec<(FilterContext, Vec<u8>)>>>;

/// Removes the keys that are doomed.
pub struct RemoveDoomed {
    pub asked_by_flushes: bool,
    pub asked: Asked,
}

impl CompactionFilter for RemoveDoomed {
    fn name(&self) -> &str {
        "test.RemoveDoomed"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.asked_by_flushes || reason == TableFileCreationReason::Compaction
    }
    fn filter(&self, context: &FilterContext, key: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        if context.is_manual {
            self.asked.lock().expect("not poisoned").push((*context, key.to_vec()));
        }
        if keys::is_doomed(key) { FilterDecision::Remove } else { FilterDecision::Keep }
    }
    fn filter_blob_by_key(&self, context: &FilterContext, key: &[u8]) -> Option<FilterDecision> {
        // The value of every other key is read first.
        key.len().is_multiple_of(2).then(|| self.filter(context, key, ValueType::Value, b""))
    }
}

impl CompactionFilterFactory for RemoveDoomed {
    fn name(&self) -> &str {
        "test.MakeRemoveDoomed"
    }
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        self.asked_by_flushes || reason == TableFileCreationReason::Compaction
    }
    fn create(&self, _context: &FilterFactoryContext) -> ferrock::Result<Option<Arc<dyn CompactionFilter>>> {
        let (asked_by_flushes, asked) = (self.asked_by_flushes, Arc::clone(&self.asked));
        Ok(Some(Arc::new(Self { asked_by_flushes, asked })))
    }
}
