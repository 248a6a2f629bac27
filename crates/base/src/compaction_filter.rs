//! Compaction filters: a caller's say over what flush and compaction keep.

use crate::types::ValueType;
use std::fmt;
use std::sync::Arc;

/// What to do with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterDecision {
    /// Leave it.
    Keep,
    /// Replace it by a tombstone.
    Remove,
    /// Replace it by a single-delete tombstone.
    Purge,
    /// Give it another value.
    ChangeValue(Vec<u8>),
    /// Drop every entry from this key up to (not including) the given user key, without tombstones.
    RemoveAndSkipUntil(Vec<u8>),
}

/// Where a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterContext {
    /// The output holds everything that is left of its key range.
    pub is_bottommost: bool,
    /// Somebody called `compact_range`.
    pub is_manual: bool,
    /// The column family.
    pub column_family_id: u32,
    /// Level the output goes to; 0 for a flush.
    pub output_level: usize,
}

/// Decides, entry by entry, what flush and compaction keep. Called for the newest value of a key and for merge operands.
pub trait CompactionFilter: Send + Sync {
    /// For the LOG and OPTIONS.
    fn name(&self) -> &str;
    /// Decides about one entry; `value_type` is `Value` or `Merge`.
    fn filter(&self, context: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision;
}

impl fmt::Debug for dyn CompactionFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `RemoveEmptyValueCompactionFilter`: drops entries whose value is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct RemoveEmptyValues;

impl CompactionFilter for RemoveEmptyValues {
    fn name(&self) -> &str {
        "RemoveEmptyValueCompactionFilter"
    }
    fn filter(&self, _context: &FilterContext, _key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision {
        if value_type == ValueType::Value && value.is_empty() { FilterDecision::Remove } else { FilterDecision::Keep }
    }
}

/// The built-in filter of that name; `nullptr` and unknown names are none.
#[must_use]
pub fn built_in(name: &str) -> Option<Arc<dyn CompactionFilter>> {
    (name == "RemoveEmptyValueCompactionFilter").then(|| Arc::new(RemoveEmptyValues) as Arc<dyn CompactionFilter>)
}
