//! Compaction filters: a caller's decision over which entries compaction, and flush if the filter wants it, keeps.

use crate::error::Result;
use crate::types::ValueType;
use std::fmt;
use std::sync::Arc;

/// What happens to an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterDecision {
    /// Leave it.
    Keep,
    /// Replace it by a tombstone.
    Remove,
    /// Replace it by a single-delete tombstone.
    Purge,
    /// Give it another value. An entity becomes a plain value.
    ChangeValue(Vec<u8>),
    /// Make it an entity of these columns, names and values in any order. A name that comes twice ends the job with
    /// `InvalidArgument`, and so does this decision about a merge operand.
    ChangeEntity(Vec<(Vec<u8>, Vec<u8>)>),
    /// Drop every entry from this key up to (not including) the given user key, without tombstones.
    RemoveAndSkipUntil(Vec<u8>),
}

/// The compaction or flush in which a filter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterContext {
    /// The output holds all remaining entries of its key range: no older entries of these keys lie below it.
    pub is_bottommost: bool,
    /// The compaction was started by `compact_range`.
    pub is_manual: bool,
    /// The column family.
    pub column_family_id: u32,
    /// The first input level of a compaction; 0 for a flush.
    pub input_level: usize,
    /// Level the output goes to; 0 for a flush.
    pub output_level: usize,
}

/// Why a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFileCreationReason {
    /// A memtable is full, or `flush` was called.
    Flush,
    /// A compaction, automatic or manual.
    Compaction,
    /// The database is opened, and its log holds entries that no table has.
    Recovery,
}

/// Decides, entry by entry, what compaction keeps.
///
/// [`filter`](Self::filter) is called for the newest value of a key, whether a snapshot sees it or not: an entry that
/// it removes is gone for snapshots, too. It is called for each merge operand that is newer than every snapshot. For a
/// wide-column entity [`filter_entity`](Self::filter_entity) is called in its place, if the filter wants that. Neither
/// is called for tombstones and older versions, nor when an automatic compaction only moves a table to another level.
/// For an entry that stays, every later compaction may call it again.
pub trait CompactionFilter: Send + Sync {
    /// The name in the LOG and in OPTIONS files.
    fn name(&self) -> &str;
    /// Whether tables written for this reason are filtered: by default only those of compactions.
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction
    }
    /// Decides on one entry; `value_type` is `Value` or `Merge`.
    fn filter(&self, context: &FilterContext, key: &[u8], value_type: ValueType, value: &[u8]) -> FilterDecision;
    /// Decides on a value in a blob file by its key alone (`FilterBlobByKey`), before it is read. `None`, the default:
    /// the value is read and passed to [`filter`](Self::filter). A value in a table is passed to `filter` at once, so a
    /// filter that decides by keys does so in both.
    fn filter_blob_by_key(&self, _context: &FilterContext, _key: &[u8]) -> Option<FilterDecision> {
        None
    }
    /// Whether [`filter_entity`](Self::filter_entity) is to be called: `false` by default, and entities stay as they
    /// are without being decoded.
    fn filters_entities(&self) -> bool {
        false
    }
    /// Decides on an entity by its columns, names and values in ascending order of the names (`FilterV3` for
    /// `kWideColumnEntity`). Values in blob files are read first. By default it stays.
    ///
    /// ```
    /// use ferrock_base::compaction_filter::{CompactionFilter, FilterContext, FilterDecision};
    /// use ferrock_base::types::ValueType;
    ///
    /// /// Drops entities whose column `state` says `done`.
    /// struct DropsDone;
    ///
    /// impl CompactionFilter for DropsDone {
    ///     fn name(&self) -> &str {
    ///         "example.DropsDone"
    ///     }
    ///     fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
    ///         FilterDecision::Keep
    ///     }
    ///     fn filters_entities(&self) -> bool {
    ///         true
    ///     }
    ///     fn filter_entity(&self, _: &FilterContext, _: &[u8], columns: &[(&[u8], &[u8])]) -> FilterDecision {
    ///         match columns.iter().any(|column| *column == (&b"state"[..], &b"done"[..])) {
    ///             true => FilterDecision::Remove,
    ///             false => FilterDecision::Keep,
    ///         }
    ///     }
    /// }
    /// ```
    fn filter_entity(&self, _context: &FilterContext, _key: &[u8], _columns: &[(&[u8], &[u8])]) -> FilterDecision {
        FilterDecision::Keep
    }
}

/// The job for which a factory makes a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterFactoryContext {
    /// The compaction takes in every table of the family; `false` for a flush.
    pub is_full: bool,
    /// The compaction was started by `compact_range`.
    pub is_manual: bool,
    /// The column family.
    pub column_family_id: u32,
    /// The first input level of a compaction; `None` for tables that are made of memtables.
    pub input_level: Option<usize>,
    /// Why the tables are written.
    pub reason: TableFileCreationReason,
}

/// Makes a compaction filter for each job that writes tables.
///
/// A filter is made for one job, or for one part of it (`max_subcompactions`), and used by that alone, on one thread:
/// what it counts or caches meets no other job. [`create`](Self::create) itself may be called by
/// several jobs at once. As in RocksDB, compactions do not ask the factory of a family that has a `compaction_filter`,
/// too; flushes do, unless that filter wants their tables itself.
///
/// ```
/// use ferrock_base::compaction_filter::{
///     CompactionFilter, CompactionFilterFactory, FilterFactoryContext, RemoveEmptyValues,
/// };
/// use std::sync::Arc;
///
/// struct WhenFull;
///
/// impl CompactionFilterFactory for WhenFull {
///     fn name(&self) -> &str {
///         "example.WhenFull"
///     }
///     fn create(&self, context: &FilterFactoryContext) -> ferrock_base::Result<Option<Arc<dyn CompactionFilter>>> {
///         Ok(context.is_full.then(|| Arc::new(RemoveEmptyValues) as _))
///     }
/// }
/// ```
pub trait CompactionFilterFactory: Send + Sync {
    /// The name in the LOG and in OPTIONS files.
    fn name(&self) -> &str;
    /// Whether filters are made for tables written for this reason: by default only for those of compactions.
    fn should_filter_table_file_creation(&self, reason: TableFileCreationReason) -> bool {
        reason == TableFileCreationReason::Compaction
    }
    /// A filter for one job, or `None` to leave all its entries. Its own `should_filter_table_file_creation` is not
    /// asked.
    ///
    /// # Errors
    /// An error ends the job, which leaves no file.
    fn create(&self, context: &FilterFactoryContext) -> Result<Option<Arc<dyn CompactionFilter>>>;
}

impl fmt::Debug for dyn CompactionFilterFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
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
