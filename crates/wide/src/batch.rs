//! Batches of writes that are applied atomically.

use super::row::ColumnKey;
use super::scratch::Scratch;
use super::table::Table;
use super::tuple::{KeyTuple, RowRange};
use ferrock_base::Result;
use ferrock_engine::WriteBatch;
use ferrock_format::wide::ValueRef;

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

impl Table {
    /// Removes a row, if it is there.
    ///
    /// **Cost:** no read; a tombstone.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn delete_row(&self, partition: impl KeyTuple, clustering: impl KeyTuple) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete_row(self, partition, clustering)?;
        self.write(batch)
    }

    /// Removes the rows of a range of a partition.
    ///
    /// **Cost:** no read; one range tombstone, however many rows there are.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn delete_rows(&self, partition: impl KeyTuple, range: impl RowRange) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete_rows(self, partition, range)?;
        self.write(batch)
    }

    /// Removes all rows of a partition.
    ///
    /// **Cost:** no read; one range tombstone.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn delete_partition(&self, partition: impl KeyTuple) -> Result<()> {
        self.delete_rows(partition, ..)
    }

    /// Writes a batch; it may be of several tables of the database.
    ///
    /// # Errors
    /// As [`Db::write`](ferrock_engine::Db::write).
    pub fn write(&self, batch: Batch) -> Result<()> {
        if batch.count() == 0 {
            return Ok(());
        }
        self.core.db.write(batch.into_write_batch(), &self.write_options)
    }
}
