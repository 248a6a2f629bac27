//! Building a batch.

use super::{
    DEFAULT_COLUMN_FAMILY, HEADER_SIZE_BYTES, Record, RecordKinds, WriteBatchIter, WriteBatchRef, check_key,
    check_value,
};
use ferrock_base::coding::{put_varint32, put_varint64};
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber, ValueType};
use std::cmp::Ordering;

/// Updates to be applied as one.
///
/// ```
/// use ferrock_format::write_batch::{Record, WriteBatch};
/// let mut batch = WriteBatch::new();
/// batch.put(b"k1", b"v1")?;
/// batch.delete_cf(1, b"k2")?;
/// assert_eq!(batch.count(), 2);
/// let records = batch.iter().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(records[1], Record::Delete { column_family: 1, key: b"k2" });
/// # Ok::<(), ferrock_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteBatch {
    /// Header and records, exactly as they go to the log.
    rep: Vec<u8>,
    kinds: RecordKinds,
    save_points: Vec<SavePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SavePoint {
    size_bytes: usize,
    count: u32,
    kinds: RecordKinds,
}

/// A key in two pieces: the key proper and its timestamp.
pub(super) type KeyParts<'a> = (&'a [u8], &'a [u8]);

impl Default for WriteBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl WriteBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty batch with room for `records_size_bytes` of encoded records.
    #[must_use]
    pub fn with_capacity(records_size_bytes: usize) -> Self {
        let mut rep = Vec::with_capacity(HEADER_SIZE_BYTES.saturating_add(records_size_bytes));
        rep.resize(HEADER_SIZE_BYTES, 0);
        Self { rep, kinds: RecordKinds::default(), save_points: Vec::new() }
    }

    /// A batch from its bytes, every record and the count checked.
    ///
    /// # Errors
    /// `Corruption` when the bytes are not a batch.
    pub fn from_data(data: impl Into<Vec<u8>>) -> Result<Self> {
        let rep = data.into();
        let view = WriteBatchRef::new(&rep)?;
        let kinds = view.verify()?;
        Ok(Self { rep, kinds, save_points: Vec::new() })
    }

    /// Header and records, exactly as they go to the log.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.rep
    }

    /// The records without the header, as they are appended to the first batch of a write group.
    #[inline]
    #[must_use]
    pub fn records(&self) -> &[u8] {
        &self.rep[HEADER_SIZE_BYTES..]
    }

    /// The bytes, leaving the batch.
    #[must_use]
    pub fn into_data(self) -> Vec<u8> {
        self.rep
    }

    /// The encoded size, header included.
    #[inline]
    #[must_use]
    pub fn byte_size(&self) -> usize {
        self.rep.len()
    }

    /// Number of counted records.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u32 {
        self.view().count()
    }

    /// True when the batch is empty (log data counts as content).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rep.len() == HEADER_SIZE_BYTES
    }

    /// The number the first counted record gets.
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> SequenceNumber {
        self.view().sequence()
    }

    /// Sets the number the first counted record gets.
    pub fn set_sequence(&mut self, sequence: SequenceNumber) {
        self.rep[..8].copy_from_slice(&sequence.0.to_le_bytes());
    }

    /// A header for a group of batches that together hold `count` counted records.
    #[must_use]
    pub fn encode_header(sequence: SequenceNumber, count: u32) -> [u8; HEADER_SIZE_BYTES] {
        let mut header = [0; HEADER_SIZE_BYTES];
        header[..8].copy_from_slice(&sequence.0.to_le_bytes());
        header[8..].copy_from_slice(&count.to_le_bytes());
        header
    }

    /// The batch's bytes as a view.
    #[inline]
    #[must_use]
    pub fn view(&self) -> WriteBatchRef<'_> {
        WriteBatchRef { data: &self.rep }
    }

    /// The records.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> WriteBatchIter<'_> {
        self.view().iter()
    }

    /// True when the batch holds a merge operand.
    #[must_use]
    pub fn has_merge(&self) -> bool {
        self.kinds.has(ValueType::Merge)
    }

    /// True when the batch holds a range deletion.
    #[must_use]
    pub fn has_delete_range(&self) -> bool {
        self.kinds.has(ValueType::RangeDeletion)
    }

    /// True when the batch holds only puts, deletions and log data for the default family: the records that need no
    /// second look.
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.kinds.are_all_of(&[ValueType::Value, ValueType::Deletion, ValueType::SingleDeletion, ValueType::LogData])
    }

    /// Refuses a range deletion that ends before it begins. `compare` orders two keys of a family.
    ///
    /// # Errors
    /// `InvalidArgument` naming the family; whatever `compare` fails with.
    pub fn check_ranges(&self, mut compare: impl FnMut(u32, &[u8], &[u8]) -> Result<Ordering>) -> Result<()> {
        if !self.has_delete_range() {
            return Ok(());
        }
        for record in self.iter() {
            if let Record::DeleteRange { column_family, begin, end } = record?
                && compare(column_family, begin, end)? == Ordering::Greater
            {
                return Err(Error::invalid_argument(format!(
                    "delete_range of column family {column_family}: end key comes before start key"
                )));
            }
        }
        Ok(())
    }

    /// Empties the batch and forgets its save points; keeps its memory.
    pub fn clear(&mut self) {
        self.rep.clear();
        self.rep.resize(HEADER_SIZE_BYTES, 0);
        self.kinds = RecordKinds::default();
        self.save_points.clear();
    }

    /// Adds the records of `other` after the own ones.
    ///
    /// # Errors
    /// `InvalidArgument` when the counts together exceed 32 bits.
    pub fn append(&mut self, other: &Self) -> Result<()> {
        let count = self.count().checked_add(other.count()).ok_or_else(too_many)?;
        self.rep.extend_from_slice(other.records());
        self.set_count(count);
        self.kinds.add_all(other.kinds);
        Ok(())
    }

    /// Remembers the present state for [`rollback_to_save_point`](Self::rollback_to_save_point). Save points nest.
    pub fn set_save_point(&mut self) {
        self.save_points.push(SavePoint { size_bytes: self.rep.len(), count: self.count(), kinds: self.kinds });
    }

    /// Removes all records since the last save point, and the save point.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let point = self.save_points.pop().ok_or_else(no_save_point)?;
        self.rep.truncate(point.size_bytes);
        self.set_count(point.count);
        self.kinds = point.kinds;
        Ok(())
    }

    /// Forgets the last save point; the records stay.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.save_points.pop().map(drop).ok_or_else(no_save_point)
    }

    fn set_count(&mut self, count: u32) {
        self.rep[8..HEADER_SIZE_BYTES].copy_from_slice(&count.to_le_bytes());
    }

    /// Counts one more record and writes its tag.
    #[inline]
    fn start_record(&mut self, kind: ValueType, in_family: ValueType, column_family: u32, body: usize) -> Result<()> {
        let count = self.count().checked_add(1).ok_or_else(too_many)?;
        self.rep.reserve(body + 16);
        self.set_count(count);
        self.kinds.add(kind);
        if column_family == DEFAULT_COLUMN_FAMILY {
            self.rep.push(kind as u8);
        } else {
            self.kinds.add_family(column_family);
            self.rep.push(in_family as u8);
            put_varint32(&mut self.rep, column_family);
        }
        Ok(())
    }

    #[inline]
    fn put_parts(&mut self, (first, second): KeyParts<'_>) {
        put_varint64(&mut self.rep, (first.len() + second.len()) as u64);
        self.rep.extend_from_slice(first);
        self.rep.extend_from_slice(second);
    }

    #[inline]
    pub(super) fn add_key(
        &mut self,
        kinds: (ValueType, ValueType),
        column_family: u32,
        key: KeyParts<'_>,
    ) -> Result<()> {
        let key_size = key.0.len().saturating_add(key.1.len());
        check_key(key_size)?;
        self.start_record(kinds.0, kinds.1, column_family, key_size)?;
        self.put_parts(key);
        Ok(())
    }

    #[inline]
    pub(super) fn add_pair(
        &mut self,
        kinds: (ValueType, ValueType),
        column_family: u32,
        key: KeyParts<'_>,
        value: KeyParts<'_>,
    ) -> Result<()> {
        let key_size = key.0.len().saturating_add(key.1.len());
        let value_size = value.0.len().saturating_add(value.1.len());
        check_key(key_size)?;
        check_value(value_size)?;
        self.start_record(kinds.0, kinds.1, column_family, key_size.saturating_add(value_size))?;
        self.put_parts(key);
        self.put_parts(value);
        Ok(())
    }

    pub(super) fn add_marker(&mut self, kind: ValueType, fields: &[&[u8]]) -> Result<()> {
        for field in fields {
            check_value(field.len())?;
        }
        self.kinds.add(kind);
        self.rep.push(kind as u8);
        for field in fields {
            self.put_parts((field, &[]));
        }
        Ok(())
    }
}

/// The tag, in its short form, of a record.
#[cold]
fn too_many() -> Error {
    Error::invalid_argument("a write batch cannot hold more than 2^32 - 1 updates")
}

#[cold]
fn no_save_point() -> Error {
    Error::new(ErrorKind::NotFound, "the write batch has no save point")
}

impl<'a> IntoIterator for &'a WriteBatch {
    type Item = Result<Record<'a>>;
    type IntoIter = WriteBatchIter<'a>;

    fn into_iter(self) -> WriteBatchIter<'a> {
        self.iter()
    }
}
