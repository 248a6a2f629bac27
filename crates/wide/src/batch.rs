//! Batches of writes that are applied atomically.

use super::row::ColumnKey;
use super::table::{Core, Table};
use super::tuple::{KeyTuple, RowRange};
use ferrock_base::Result;
use ferrock_engine::WriteBatch;
use ferrock_format::wide::{MAX_KEY_BYTES, ValueRef, begin_row, put_column};

/// The thread's reusable buffers into which rows are encoded.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    /// The end of a range.
    pub(super) end: Vec<u8>,
    pub(super) row: Vec<u8>,
}

/// Largest buffer, in bytes, that a thread keeps for its next row.
const MAX_KEPT_BYTES: usize = 1 << 20;

impl Scratch {
    #[inline]
    pub(super) fn let_go_of_large(&mut self) {
        if self.row.capacity() > MAX_KEPT_BYTES {
            self.row = Vec::new();
        }
    }

    #[inline]
    pub(super) fn encode_row<K: ColumnKey>(&mut self, core: &Core, columns: &[(K, ValueRef<'_>)]) -> Result<()> {
        self.row.clear();
        begin_row(&mut self.row);
        let known = core.schema.columns();
        let mut last = 0;
        for (key, value) in columns {
            let column = key.find(known)?;
            if column.id <= last {
                return self.encode_sorted(core, columns);
            }
            last = column.id;
            put_column(&mut self.row, column.id, core.checked(column, *value)?);
        }
        Ok(())
    }

    /// The same for columns that are not in the order of their ids.
    #[cold]
    fn encode_sorted<K: ColumnKey>(&mut self, core: &Core, columns: &[(K, ValueRef<'_>)]) -> Result<()> {
        self.row.clear();
        begin_row(&mut self.row);
        let mut sorted = Vec::with_capacity(columns.len());
        for (key, value) in columns {
            let column = key.find(core.schema.columns())?;
            sorted.push((column, core.checked(column, *value)?));
        }
        sorted.sort_by_key(|(column, _)| column.id);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0.id == pair[1].0.id) {
            return Err(core.wrong(&format!("column {:?} is given twice", pair[0].0.name)));
        }
        sorted.into_iter().for_each(|(column, value)| put_column(&mut self.row, column.id, value));
        Ok(())
    }

    /// Key and end of the rows of a partition within a range; false when none can be in it.
    pub(super) fn encode_range(
        &mut self,
        core: &Core,
        partition: &impl KeyTuple,
        range: &impl RowRange,
    ) -> Result<bool> {
        let mut prefix = Vec::new();
        core.encode_partition(partition, &mut prefix)?;
        let (lower, upper) = core.bounds_of(&prefix, core.partition_count, range)?;
        self.key = lower;
        // Behind every row: no key is that long.
        self.end = upper.unwrap_or_else(|| vec![0xff; MAX_KEY_BYTES + 1]);
        Ok(self.key < self.end)
    }
}

/// Writes to one or more tables of a database that are seen, and survive, together or not at all.
///
/// ```
/// use ferrock::wide::{Batch, ColumnType, Schema, Table};
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::Db::open(directory.path(), options)?;
/// let schema = Schema::new().partition_by("user", ColumnType::U64).clustered_by("n", ColumnType::U32);
/// let table = Table::open_or_create(&db, "events", schema)?;
/// let mut batch = Batch::new();
/// batch.delete_partition(&table, 7)?;
/// batch.insert::<&str>(&table, 7, 1, &[])?;
/// batch.insert::<&str>(&table, 8, 1, &[])?;
/// table.write(batch)?;
/// assert_eq!(table.scan().iter()?.count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    batch: WriteBatch,
    scratch: Scratch,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a row in, as [`Table::insert`]. After an error the batch is as it was.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn insert<K: ColumnKey>(
        &mut self,
        table: &Table,
        partition: impl KeyTuple,
        clustering: impl KeyTuple,
        columns: &[(K, ValueRef<'_>)],
    ) -> Result<()> {
        let core = table.core();
        core.encode_key(&partition, &clustering, &mut self.scratch.key)?;
        self.scratch.encode_row(core, columns)?;
        self.batch.put_cf(core.family.id(), &self.scratch.key, &self.scratch.row)
    }

    /// Removes a row, as [`Table::delete_row`].
    ///
    /// # Errors
    /// The same.
    pub fn delete_row(&mut self, table: &Table, partition: impl KeyTuple, clustering: impl KeyTuple) -> Result<()> {
        let core = table.core();
        core.encode_key(&partition, &clustering, &mut self.scratch.key)?;
        self.batch.delete_cf(core.family.id(), &self.scratch.key)
    }

    /// Removes the rows of a range, as [`Table::delete_rows`].
    ///
    /// # Errors
    /// The same.
    pub fn delete_rows(&mut self, table: &Table, partition: impl KeyTuple, range: impl RowRange) -> Result<()> {
        let core = table.core();
        if self.scratch.encode_range(core, &partition, &range)? {
            self.batch.delete_range_cf(core.family.id(), &self.scratch.key, &self.scratch.end)?;
        }
        Ok(())
    }

    /// Removes a partition, as [`Table::delete_partition`].
    ///
    /// # Errors
    /// The same.
    pub fn delete_partition(&mut self, table: &Table, partition: impl KeyTuple) -> Result<()> {
        self.delete_rows(table, partition, ..)
    }

    /// Number of writes so far.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.batch.count()
    }

    /// Converts it to a batch of the engine, to be written together with other keys by
    /// [`Db::write`](ferrock_engine::Db::write).
    #[must_use]
    pub fn into_write_batch(self) -> WriteBatch {
        self.batch
    }
}
