//! A batch with an index of its records.

use crate::index::{Index, Update, UpdateKind};
use ferrock_base::merge::MergeOperator;
use ferrock_base::{Comparator, Error, Result};
use ferrock_engine::{ColumnFamily, Db, PinnedSlice, ReadOptions, WriteBatch, WriteOptions};
use ferrock_format::write_batch::Record;
use parking_lot::RwLock;
use std::ops::Range;
use std::sync::Arc;

/// What becomes of older updates of a key in the index. The batch keeps every record either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexMode {
    /// A value or a deletion takes their place: the index has one entry for a key, and its operands behind it.
    #[default]
    OverwriteKeys,
    /// They stay in the index, where nothing reads them: adding is cheaper.
    KeepAll,
}

/// What a batch knows of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchLookup {
    /// Nothing: the database says.
    NotInBatch,
    /// It removes the key.
    Deleted,
    /// The key will have this value.
    Value(Vec<u8>),
    /// These operands, oldest first, are merged into what the database has.
    MergeOver(Vec<Vec<u8>>),
}

/// A batch and its index.
#[derive(Debug, Default)]
pub(crate) struct Indexed {
    pub(crate) batch: WriteBatch,
    pub(crate) index: Index,
    mode: IndexMode,
}

/// What the updates of a key come to.
pub(crate) enum Resolved<'a> {
    Absent,
    Deleted,
    Value(&'a [u8]),
    /// Operands, oldest first, over what is below.
    Merge(MergeBase<'a>, Vec<&'a [u8]>),
}

/// What operands of a batch are merged into.
pub(crate) enum MergeBase<'a> {
    /// What the database has.
    Database,
    /// A value of the batch, or nothing.
    Known(Option<&'a [u8]>),
}

impl Indexed {
    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.batch.data().get(range.clone()).unwrap_or_default()
    }

    /// What the updates of a key come to.
    pub(crate) fn resolve(&self, family: u32, key: &[u8]) -> Resolved<'_> {
        let mut operands = Vec::new();
        let base = self.index.updates_of(family, key).find_map(|update| match update.kind {
            UpdateKind::Put => Some(MergeBase::Known(Some(self.bytes(&update.value)))),
            UpdateKind::Delete => Some(MergeBase::Known(None)),
            UpdateKind::Merge => {
                operands.push(self.bytes(&update.value));
                None
            }
        });
        operands.reverse();
        match (base, operands.is_empty()) {
            (None, true) => Resolved::Absent,
            (Some(MergeBase::Known(Some(value))), true) => Resolved::Value(value),
            (Some(_), true) => Resolved::Deleted,
            (base, false) => Resolved::Merge(base.unwrap_or(MergeBase::Database), operands),
        }
    }

    /// Indexes the record that was added last, whose value has so many bytes.
    fn note(&mut self, family: u32, key: &[u8], kind: UpdateKind, value_length: usize) {
        let end = self.batch.byte_size();
        let update = Update { kind, value: end.saturating_sub(value_length)..end };
        self.index.add(family, key, update, self.mode == IndexMode::OverwriteKeys);
    }

    /// Makes the index anew from the records of the batch.
    fn rebuild(&mut self) -> Result<()> {
        let Self { batch, index, mode } = self;
        index.clear();
        let start = batch.data().as_ptr() as usize;
        for record in batch.iter() {
            let (family, key, kind, value): (_, _, _, &[u8]) = match record? {
                Record::Put { column_family, key, value } => (column_family, key, UpdateKind::Put, value),
                Record::Merge { column_family, key, operand } => (column_family, key, UpdateKind::Merge, operand),
                Record::Delete { column_family, key } | Record::SingleDelete { column_family, key } => {
                    (column_family, key, UpdateKind::Delete, &[])
                }
                _ => continue,
            };
            let begin = (value.as_ptr() as usize).wrapping_sub(start);
            let value = begin..begin.wrapping_add(value.len());
            index.add(family, key, Update { kind, value }, *mode == IndexMode::OverwriteKeys);
        }
        Ok(())
    }
}

/// Operands merged into what is below them.
///
/// # Errors
/// `InvalidArgument` without an operator, `Corruption` when it cannot merge.
pub(crate) fn merge(
    operator: Option<&dyn MergeOperator>,
    key: &[u8],
    existing: Option<&[u8]>,
    operands: &[&[u8]],
) -> Result<Vec<u8>> {
    let operator = operator.ok_or_else(|| {
        Error::invalid_argument("the batch has merge operands, and the column family no merge_operator to merge them")
    })?;
    let mut merged = Vec::new();
    if operator.full_merge(key, existing, operands, &mut merged) {
        return Ok(merged);
    }
    Err(Error::corruption(format!(
        "merge operator {} failed on {} operands of key {}",
        operator.name(),
        operands.len(),
        key.escape_ascii()
    )))
}

/// A batch of writes that can be read before it is written: alone, or over a database.
///
/// Its records are those of a [`WriteBatch`], in the order in which they were added; the last one of a key counts. The
/// order of a family's keys is that of the [`ColumnFamily`] with which it is first used; functions without a family
/// mean the default one, in the order of bytes or that of [`with_comparator`](Self::with_comparator).
///
/// The example of the crate shows it in use.
#[derive(Debug, Default)]
pub struct WriteBatchWithIndex {
    /// Shared with iterators, which see what is added as they move.
    pub(crate) shared: Arc<RwLock<Indexed>>,
}

impl WriteBatchWithIndex {
    /// An empty batch. The default has [`IndexMode::OverwriteKeys`].
    #[must_use]
    pub fn new(mode: IndexMode) -> Self {
        Self::with_comparator(Comparator::Bytewise, mode)
    }

    /// An empty batch whose functions without a family order keys by `comparator`.
    #[must_use]
    pub fn with_comparator(comparator: Comparator, mode: IndexMode) -> Self {
        let mut indexed = Indexed { mode, ..Indexed::default() };
        if !matches!(comparator, Comparator::Bytewise) {
            indexed.index.know(0, &comparator);
        }
        Self { shared: Arc::new(RwLock::new(indexed)) }
    }

    fn add(
        &mut self,
        family: Option<&ColumnFamily>,
        (key, kind, value_length): (&[u8], UpdateKind, usize),
        add: impl FnOnce(&mut WriteBatch, u32) -> Result<()>,
    ) -> Result<()> {
        let mut indexed = self.shared.write();
        let id = family.map_or(0, ColumnFamily::id);
        if let Some(family) = family {
            indexed.index.know(id, family.comparator());
        }
        add(&mut indexed.batch, id)?;
        indexed.note(id, key, kind, value_length);
        Ok(())
    }

    /// Adds: set the value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`WriteBatch::put`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(None, (key, UpdateKind::Put, value.len()), |batch, id| batch.put_cf(id, key, value))
    }

    /// Adds: set the value of a key of a family.
    ///
    /// # Errors
    /// Those of [`WriteBatch::put`].
    pub fn put_cf(&mut self, family: &ColumnFamily, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(Some(family), (key, UpdateKind::Put, value.len()), |batch, id| batch.put_cf(id, key, value))
    }

    /// Adds: remove a key of the default family.
    ///
    /// # Errors
    /// Those of [`WriteBatch::delete`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(None, (key, UpdateKind::Delete, 0), |batch, id| batch.delete_cf(id, key))
    }

    /// Adds: remove a key of a family.
    ///
    /// # Errors
    /// Those of [`WriteBatch::delete`].
    pub fn delete_cf(&mut self, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.add(Some(family), (key, UpdateKind::Delete, 0), |batch, id| batch.delete_cf(id, key))
    }

    /// Adds: remove a key of the default family that was put exactly once.
    ///
    /// # Errors
    /// Those of [`WriteBatch::single_delete`].
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(None, (key, UpdateKind::Delete, 0), |batch, id| batch.single_delete_cf(id, key))
    }

    /// Adds: remove a key of a family that was put exactly once.
    ///
    /// # Errors
    /// Those of [`WriteBatch::single_delete`].
    pub fn single_delete_cf(&mut self, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.add(Some(family), (key, UpdateKind::Delete, 0), |batch, id| batch.single_delete_cf(id, key))
    }

    /// Adds: merge an operand into the value of a key of the default family.
    ///
    /// # Errors
    /// Those of [`WriteBatch::merge`].
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(None, (key, UpdateKind::Merge, operand.len()), |batch, id| batch.merge_cf(id, key, operand))
    }

    /// Adds: merge an operand into the value of a key of a family.
    ///
    /// # Errors
    /// Those of [`WriteBatch::merge`].
    pub fn merge_cf(&mut self, family: &ColumnFamily, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(Some(family), (key, UpdateKind::Merge, operand.len()), |batch, id| batch.merge_cf(id, key, operand))
    }

    /// Adds bytes that go to the log and nowhere else.
    ///
    /// # Errors
    /// Those of [`WriteBatch::put_log_data`].
    pub fn put_log_data(&mut self, data: &[u8]) -> Result<()> {
        self.shared.write().batch.put_log_data(data)
    }

    /// Empties the batch and forgets its save points.
    pub fn clear(&mut self) {
        let mut indexed = self.shared.write();
        indexed.batch.clear();
        indexed.index.clear();
    }

    /// Remembers the present state for [`rollback_to_save_point`](Self::rollback_to_save_point). Save points nest.
    pub fn set_save_point(&mut self) {
        self.shared.write().batch.set_save_point();
    }

    /// Removes all records since the last save point, and the save point. The index is made anew: the cost grows with
    /// what is left.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let mut indexed = self.shared.write();
        indexed.batch.rollback_to_save_point()?;
        indexed.rebuild()
    }

    /// Forgets the last save point; the records stay.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.shared.write().batch.pop_save_point()
    }

    /// Number of counted records, those that others have overwritten included.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.shared.read().batch.count()
    }

    /// Looks at the records, as they will be written.
    pub fn read<R>(&self, look: impl FnOnce(&WriteBatch) -> R) -> R {
        look(&self.shared.read().batch)
    }

    /// Writes the batch atomically. It stays as it is.
    ///
    /// # Errors
    /// Those of [`Db::write`].
    pub fn write_to(&self, db: &Db, options: &WriteOptions) -> Result<()> {
        db.write_lent(&mut self.shared.write().batch, options)
    }

    /// What the batch knows of a key of a family. Operands over a value or a deletion of the batch are merged.
    ///
    /// # Errors
    /// `InvalidArgument` for such operands of a family without a merge operator, `Corruption` when that fails.
    ///
    /// ```
    /// # fn main() -> ferrock::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let mut options = ferrock::DbOptions::default();
    /// # options.create_if_missing = true;
    /// # let db = ferrock::Db::open(directory.path(), options)?;
    /// use ferrock::indexed_batch::{BatchLookup, WriteBatchWithIndex};
    /// let family = db.default_column_family()?;
    /// let mut batch = WriteBatchWithIndex::default();
    /// batch.delete(b"key")?;
    /// assert_eq!(batch.get_from_batch(&family, b"key")?, BatchLookup::Deleted);
    /// assert_eq!(batch.get_from_batch(&family, b"other")?, BatchLookup::NotInBatch);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_from_batch(&self, family: &ColumnFamily, key: &[u8]) -> Result<BatchLookup> {
        let options = family.options();
        self.look_up(family.id(), options.merge_operator.as_deref(), key)
    }

    /// As [`get_from_batch`](Self::get_from_batch) of a family by its number, and a merge operator.
    ///
    /// # Errors
    /// Those of [`get_from_batch`](Self::get_from_batch).
    pub fn look_up(&self, family: u32, operator: Option<&dyn MergeOperator>, key: &[u8]) -> Result<BatchLookup> {
        let indexed = self.shared.read();
        Ok(match indexed.resolve(family, key) {
            Resolved::Absent => BatchLookup::NotInBatch,
            Resolved::Deleted => BatchLookup::Deleted,
            Resolved::Value(value) => BatchLookup::Value(value.to_vec()),
            Resolved::Merge(MergeBase::Known(existing), operands) => {
                BatchLookup::Value(merge(operator, key, existing, &operands)?)
            }
            Resolved::Merge(MergeBase::Database, operands) => {
                BatchLookup::MergeOver(operands.into_iter().map(<[u8]>::to_vec).collect())
            }
        })
    }

    /// The value that a key of a family will have when the batch is written: the database is read where the batch does
    /// not say it all.
    ///
    /// # Errors
    /// Those of [`Db::get_cf`] and of [`get_from_batch`](Self::get_from_batch).
    pub fn get_from_batch_and_db(
        &self,
        db: &Db,
        family: &ColumnFamily,
        options: &ReadOptions,
        key: &[u8],
    ) -> Result<Option<PinnedSlice>> {
        self.get_over(family, key, || db.get_cf(family, options, key))
    }

    /// As [`get_from_batch_and_db`](Self::get_from_batch_and_db), over what `below` reads.
    ///
    /// # Errors
    /// Those of `below` and of [`get_from_batch`](Self::get_from_batch).
    pub fn get_over(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        below: impl FnOnce() -> Result<Option<PinnedSlice>>,
    ) -> Result<Option<PinnedSlice>> {
        match self.get_from_batch(family, key)? {
            BatchLookup::NotInBatch => below(),
            BatchLookup::Deleted => Ok(None),
            BatchLookup::Value(value) => Ok(Some(value.into())),
            BatchLookup::MergeOver(operands) => {
                let (existing, options) = (below()?, family.options());
                let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
                let merged = merge(options.merge_operator.as_deref(), key, existing.as_deref(), &operands)?;
                Ok(Some(merged.into()))
            }
        }
    }
}
