//! Compaction filters: a caller's say over what compaction, and flush if it wants, keeps.

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
    /// The level that a compaction relieves; 0 for a flush.
    pub input_level: usize,
    /// Level the output goes to; 0 for a flush.
    pub output_level: usize,
}

/// What a table is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFileCreationReason {
    /// A memtable is full, or somebody called `flush`.
    Flush,
    /// A compaction, whoever asked for it.
    Compaction,
    /// The database opens, and its log holds what no table has.
    Recovery,
}

/// Decides, entry by entry, what compaction keeps.
///
/// Asked about the newest value of a key, whether a snapshot sees it or not: what is removed is gone for snapshots too.
/// Merge operands are asked about one by one, but only those that are newer than every snapshot. Not asked about
/// tombstones, older versions and wide-column entities, nor when an automatic compaction only moves a table to another
/// level. An entry that stays may be asked about again by every later compaction.
pub trait CompactionFilter: Send + Sync {
    /// For the LOG and OPTIONS.
    fn name(&self) -> &str;
    /// Whether tables written for this reason are filtered: by default those of compactions alone.
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction
    }
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
