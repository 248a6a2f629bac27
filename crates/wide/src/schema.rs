//! Schemas: the components and columns of a table, and the options that suit it.

use ferrock_base::components::LeadingComponents;
use ferrock_base::{Error, Result};
use ferrock_engine::options::{ColumnFamilyOptions, FilterPolicy, PrefixExtractor};
use ferrock_format::wide::{Column, ColumnType, Component, KeyColumn, SchemaRecord};
use ferrock_table::options::IndexType;

/// The components of a table's keys and the columns of its rows.
///
/// ```
/// use ferrock::wide::{ColumnType, Schema};
/// let schema = Schema::new()
///     .partition_by("sensor", ColumnType::U64)
///     .partition_by("month", ColumnType::U32)
///     .clustered_by_descending("at", ColumnType::Timestamp)
///     .column(1, "value", ColumnType::F64)
///     .column(2, "note", ColumnType::Text);
/// assert_eq!(schema.partition().len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    record: SchemaRecord,
}

impl Schema {
    /// Without components and columns. It needs one partition component at least.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more component of the partition key.
    #[must_use]
    pub fn partition_by(mut self, name: &str, column_type: ColumnType) -> Self {
        self.record.partition.push(key_column(name, Component::ascending(column_type)));
        self
    }

    /// The same, large values first.
    #[must_use]
    pub fn partition_by_descending(mut self, name: &str, column_type: ColumnType) -> Self {
        self.record.partition.push(key_column(name, Component::descending(column_type)));
        self
    }

    /// One more clustering component: rows of a partition are in the order of these. Without any a partition is one
    /// row.
    #[must_use]
    pub fn clustered_by(mut self, name: &str, column_type: ColumnType) -> Self {
        self.record.clustering.push(key_column(name, Component::ascending(column_type)));
        self
    }

    /// The same, large values first: the newest row of a clock.
    #[must_use]
    pub fn clustered_by_descending(mut self, name: &str, column_type: ColumnType) -> Self {
        self.record.clustering.push(key_column(name, Component::descending(column_type)));
        self
    }

    /// A column. Rows store the id, from 1 on: it must never be reused for another column, even if this one is no
    /// longer used. Ids below 128 take one byte.
    #[must_use]
    pub fn column(mut self, id: u32, name: &str, column_type: ColumnType) -> Self {
        let at = self.record.columns.partition_point(|column| column.id <= id);
        self.record.columns.insert(at, Column { id, name: name.to_owned(), column_type });
        self
    }

    /// The components that name a partition.
    #[must_use]
    pub fn partition(&self) -> &[KeyColumn] {
        &self.record.partition
    }

    /// The components that name a row in it.
    #[must_use]
    pub fn clustering(&self) -> &[KeyColumn] {
        &self.record.clustering
    }

    /// The columns, by their ids.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.record.columns
    }

    /// The extractor of the partition's prefix: `fixed:N` if all its components have a fixed length, else one that only
    /// Ferrock has (RocksDB then reads the tables without it).
    #[must_use]
    pub fn prefix_extractor(&self) -> PrefixExtractor {
        let leading = LeadingComponents::new(self.partition().iter().map(|column| column.component.shape()));
        match leading.fixed_length() {
            Some(length) => PrefixExtractor::Fixed(length),
            None => PrefixExtractor::Components(leading),
        }
    }

    /// Options for the column family of a table, for [`Db::open_cf`](ferrock_engine::Db::open_cf). All but the
    /// comparator and the prefix extractor may be changed.
    ///
    /// | option | value | why |
    /// |---|---|---|
    /// | `prefix_extractor` | [that of the schema](Self::prefix_extractor) | a prefix is a partition |
    /// | `filter_policy` | Bloom, 10 bits | one entry for each partition of a table, as `whole_key_filtering` is off: an absent partition costs no read, and the filter stays small |
    /// | `block_size` | 1 KiB | a row costs 1 KiB of reading, not 4 |
    /// | `index_type` | `kTwoLevelIndexSearch` | large tables have small blocks' index in partitions |
    /// | `row_bounds` | on | a slice that ends between two blocks does not read the second |
    /// | `partition_cut` | on | a slice behind the last row of a large partition reads nothing |
    #[must_use]
    pub fn column_family_options(&self) -> ColumnFamilyOptions {
        let mut options = ColumnFamilyOptions::default();
        options.prefix_extractor = Some(self.prefix_extractor());
        options.filter_policy = FilterPolicy::bloom(10.0);
        let table = &mut options.table;
        table.whole_key_filtering = false;
        table.block_size = 1 << 10;
        table.index_type = IndexType::TwoLevelIndexSearch;
        table.row_bounds = true;
        table.partition_cut = true;
        options
    }

    pub(super) fn record(&self) -> &SchemaRecord {
        &self.record
    }

    pub(super) fn from_record(record: SchemaRecord) -> Self {
        Self { record }
    }

    /// The union of a table's schema and this one; the same when this one adds nothing.
    ///
    /// # Errors
    /// `Invalid argument` if the two conflict.
    pub(super) fn added_to(&self, stored: &SchemaRecord) -> Result<SchemaRecord> {
        for (own, stored, what) in [
            (&self.record.partition, &stored.partition, "partition"),
            (&self.record.clustering, &stored.clustering, "clustering"),
        ] {
            if own != stored {
                let (own, stored) = (describe(own), describe(stored));
                return Err(Error::invalid_argument(format!(
                    "schema: the {what} components are ({own}), but the table has ({stored}); components never change"
                )));
            }
        }
        let mut merged = stored.clone();
        for column in &self.record.columns {
            match merged.columns.binary_search_by_key(&column.id, |known| known.id) {
                Ok(at) if merged.columns[at] == *column => {}
                Ok(at) => {
                    let known = &merged.columns[at];
                    return Err(Error::invalid_argument(format!(
                        "schema: column {} is {} {}, but the table has {} {}; give a new column a new id",
                        column.id, column.name, column.column_type, known.name, known.column_type
                    )));
                }
                Err(at) => merged.columns.insert(at, column.clone()),
            }
        }
        merged.check()?;
        Ok(merged)
    }
}

fn key_column(name: &str, component: Component) -> KeyColumn {
    KeyColumn { name: name.to_owned(), component }
}

fn describe(components: &[KeyColumn]) -> String {
    let each = components.iter().map(|column| format!("{} {}", column.name, column.component));
    each.collect::<Vec<_>>().join(", ")
}
