//! Building a batch.

use super::{
    DEFAULT_COLUMN_FAMILY, HEADER_SIZE_BYTES, PreparePolicy, Record, WriteBatchIter, WriteBatchRef, check_key,
    check_value,
};
use crate::wide_column::encode_entity;
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

/// Which kinds of record a batch holds, one bit for each tag (in its short form).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RecordKinds(u32);

impl RecordKinds {
    fn add(&mut self, kind: ValueType) {
        self.0 |= 1 << kind as u8;
    }

    fn has(self, kind: ValueType) -> bool {
        self.0 & (1 << kind as u8) != 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SavePoint {
    size_bytes: usize,
    count: u32,
    kinds: RecordKinds,
}

/// A key in two pieces: the key proper and its timestamp.
type KeyParts<'a> = (&'a [u8], &'a [u8]);

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
        view.verify()?;
        let mut kinds = RecordKinds::default();
        for record in view.iter() {
            kinds.add(kind_of(&record?));
        }
        Ok(Self { rep, kinds, save_points: Vec::new() })
    }

    /// Header and records, exactly as they go to the log.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.rep
    }

    /// The records without the header: what is appended to the first batch of a write group.
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

    /// True when nothing at all was added (log data counts as something).
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

    /// True when the batch holds nothing but puts, deletions and log data: the records that need no second look.
    #[must_use]
    pub fn is_simple(&self) -> bool {
        let simple = [ValueType::Value, ValueType::Deletion, ValueType::SingleDeletion, ValueType::LogData];
        let mask = simple.iter().fold(0u32, |mask, &kind| mask | 1 << kind as u8);
        self.kinds.0 & !mask == 0
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
        self.kinds.0 |= other.kinds.0;
        Ok(())
    }

    /// Remembers the present state for [`rollback_to_save_point`](Self::rollback_to_save_point). Save points nest.
    pub fn set_save_point(&mut self) {
        self.save_points.push(SavePoint { size_bytes: self.rep.len(), count: self.count(), kinds: self.kinds });
    }

    /// Takes back everything since the last save point, which is used up.
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
    fn add_key(&mut self, kinds: (ValueType, ValueType), column_family: u32, key: KeyParts<'_>) -> Result<()> {
        let key_size = key.0.len().saturating_add(key.1.len());
        check_key(key_size)?;
        self.start_record(kinds.0, kinds.1, column_family, key_size)?;
        self.put_parts(key);
        Ok(())
    }

    #[inline]
    fn add_pair(
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

    fn add_marker(&mut self, kind: ValueType, fields: &[&[u8]]) -> Result<()> {
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

/// Tags of the two forms of a record.
const PUT: (ValueType, ValueType) = (ValueType::Value, ValueType::ColumnFamilyValue);
const DELETE: (ValueType, ValueType) = (ValueType::Deletion, ValueType::ColumnFamilyDeletion);
const SINGLE_DELETE: (ValueType, ValueType) = (ValueType::SingleDeletion, ValueType::ColumnFamilySingleDeletion);
const MERGE: (ValueType, ValueType) = (ValueType::Merge, ValueType::ColumnFamilyMerge);
const DELETE_RANGE: (ValueType, ValueType) = (ValueType::RangeDeletion, ValueType::ColumnFamilyRangeDeletion);
const BLOB_INDEX: (ValueType, ValueType) = (ValueType::BlobIndex, ValueType::ColumnFamilyBlobIndex);
const ENTITY: (ValueType, ValueType) = (ValueType::WideColumnEntity, ValueType::ColumnFamilyWideColumnEntity);
const TIMED_PUT: (ValueType, ValueType) = (ValueType::ValuePreferredSeqno, ValueType::ColumnFamilyValuePreferredSeqno);

/// Updates. Each fails with `InvalidArgument` when a key or value is too long, and then leaves the batch as it was.
impl WriteBatch {
    /// Sets `key` of the default family to `value`.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_cf(DEFAULT_COLUMN_FAMILY, key, value)
    }

    /// Sets `key` to `value`.
    #[inline]
    pub fn put_cf(&mut self, column_family: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.add_pair(PUT, column_family, (key, &[]), (value, &[]))
    }

    /// Sets `key` at a user-defined timestamp to `value`.
    pub fn put_cf_with_timestamp(
        &mut self,
        column_family: u32,
        key: &[u8],
        timestamp: &[u8],
        value: &[u8],
    ) -> Result<()> {
        self.add_pair(PUT, column_family, (key, timestamp), (value, &[]))
    }

    /// Removes `key` of the default family.
    #[inline]
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.delete_cf(DEFAULT_COLUMN_FAMILY, key)
    }

    /// Removes `key`.
    #[inline]
    pub fn delete_cf(&mut self, column_family: u32, key: &[u8]) -> Result<()> {
        self.add_key(DELETE, column_family, (key, &[]))
    }

    /// Removes `key` as of a user-defined timestamp.
    pub fn delete_cf_with_timestamp(&mut self, column_family: u32, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.add_key(DELETE, column_family, (key, timestamp))
    }

    /// Removes `key` of the default family, which was put exactly once since it was last removed.
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.single_delete_cf(DEFAULT_COLUMN_FAMILY, key)
    }

    /// Removes `key`, which was put exactly once since it was last removed.
    pub fn single_delete_cf(&mut self, column_family: u32, key: &[u8]) -> Result<()> {
        self.add_key(SINGLE_DELETE, column_family, (key, &[]))
    }

    /// As [`single_delete_cf`](Self::single_delete_cf), as of a user-defined timestamp.
    pub fn single_delete_cf_with_timestamp(&mut self, column_family: u32, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.add_key(SINGLE_DELETE, column_family, (key, timestamp))
    }

    /// Merges `operand` into `key` of the default family.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_cf(DEFAULT_COLUMN_FAMILY, key, operand)
    }

    /// Merges `operand` into `key`.
    pub fn merge_cf(&mut self, column_family: u32, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add_pair(MERGE, column_family, (key, &[]), (operand, &[]))
    }

    /// Merges `operand` into `key` at a user-defined timestamp.
    pub fn merge_cf_with_timestamp(
        &mut self,
        column_family: u32,
        key: &[u8],
        timestamp: &[u8],
        operand: &[u8],
    ) -> Result<()> {
        self.add_pair(MERGE, column_family, (key, timestamp), (operand, &[]))
    }

    /// Removes every key of the default family in `[begin, end)`.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.delete_range_cf(DEFAULT_COLUMN_FAMILY, begin, end)
    }

    /// Removes every key in `[begin, end)`. An empty range is counted but removes nothing; a range that ends before
    /// it begins is refused by [`check_ranges`](Self::check_ranges) when the batch is written.
    pub fn delete_range_cf(&mut self, column_family: u32, begin: &[u8], end: &[u8]) -> Result<()> {
        check_key(end.len())?;
        self.add_pair(DELETE_RANGE, column_family, (begin, &[]), (end, &[]))
    }

    /// Removes every key in `[begin, end)` as of a user-defined timestamp.
    pub fn delete_range_cf_with_timestamp(
        &mut self,
        column_family: u32,
        begin: &[u8],
        end: &[u8],
        timestamp: &[u8],
    ) -> Result<()> {
        check_key(end.len().saturating_add(timestamp.len()))?;
        self.add_pair(DELETE_RANGE, column_family, (begin, timestamp), (end, timestamp))
    }

    /// Sets `key` of the default family to wide columns, given in any order. The column with the empty name is the
    /// one a plain read returns.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        self.put_entity_cf(DEFAULT_COLUMN_FAMILY, key, columns)
    }

    /// Sets `key` to wide columns, given in any order.
    pub fn put_entity_cf(&mut self, column_family: u32, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let mut sorted = columns.to_vec();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let entity = encode_entity(&sorted)?;
        self.put_encoded_entity_cf(column_family, key, &entity)
    }

    /// Sets `key` to an entity that is encoded already (see [`crate::wide_column`]).
    pub fn put_encoded_entity_cf(&mut self, column_family: u32, key: &[u8], entity: &[u8]) -> Result<()> {
        self.add_pair(ENTITY, column_family, (key, &[]), (entity, &[]))
    }

    /// Sets `key` to a reference into a blob file (see [`crate::blob_index`]).
    pub fn put_blob_index_cf(&mut self, column_family: u32, key: &[u8], index: &[u8]) -> Result<()> {
        self.add_pair(BLOB_INDEX, column_family, (key, &[]), (index, &[]))
    }

    /// Sets `key` to `value` as if written at `write_time_secs` (unix time). `u64::MAX` means no time: a plain put.
    /// RocksDB before 9.0 cannot read the record.
    pub fn timed_put_cf(&mut self, column_family: u32, key: &[u8], value: &[u8], write_time_secs: u64) -> Result<()> {
        if write_time_secs == u64::MAX {
            return self.put_cf(column_family, key, value);
        }
        self.add_pair(TIMED_PUT, column_family, (key, &[]), (value, &write_time_secs.to_le_bytes()))
    }

    /// Adds bytes that go to the log and nowhere else. Not counted.
    pub fn put_log_data(&mut self, blob: &[u8]) -> Result<()> {
        self.add_marker(ValueType::LogData, &[blob])
    }

    /// Two-phase commit: what follows is a prepared section.
    pub fn mark_begin_prepare(&mut self, policy: PreparePolicy) -> Result<()> {
        let kind = match policy {
            PreparePolicy::WriteCommitted => ValueType::BeginPrepareXid,
            PreparePolicy::WritePrepared => ValueType::BeginPersistedPrepareXid,
            PreparePolicy::WriteUnprepared => ValueType::BeginUnprepareXid,
        };
        self.add_marker(kind, &[])
    }

    /// Two-phase commit: the prepared section ends and belongs to `xid`.
    pub fn mark_end_prepare(&mut self, xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::EndPrepareXid, &[xid])
    }

    /// Two-phase commit: `xid` commits.
    pub fn mark_commit(&mut self, xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::CommitXid, &[xid])
    }

    /// Two-phase commit: `xid` commits and its keys get `timestamp`.
    pub fn mark_commit_with_timestamp(&mut self, timestamp: &[u8], xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::CommitXidAndTimestamp, &[timestamp, xid])
    }

    /// Two-phase commit: `xid` rolls back.
    pub fn mark_rollback(&mut self, xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::RollbackXid, &[xid])
    }

    /// Marks a commit through a transaction that was not prepared.
    pub fn mark_noop(&mut self) -> Result<()> {
        self.add_marker(ValueType::Noop, &[])
    }
}

/// The tag, in its short form, of a record.
fn kind_of(record: &Record<'_>) -> ValueType {
    if let Some((_, kind, _, _)) = record.as_entry() {
        return kind;
    }
    match record {
        Record::LogData(_) => ValueType::LogData,
        Record::BeginPrepare(PreparePolicy::WriteCommitted) => ValueType::BeginPrepareXid,
        Record::BeginPrepare(PreparePolicy::WritePrepared) => ValueType::BeginPersistedPrepareXid,
        Record::BeginPrepare(PreparePolicy::WriteUnprepared) => ValueType::BeginUnprepareXid,
        Record::EndPrepare { .. } => ValueType::EndPrepareXid,
        Record::Commit { .. } => ValueType::CommitXid,
        Record::CommitWithTimestamp { .. } => ValueType::CommitXidAndTimestamp,
        Record::Rollback { .. } => ValueType::RollbackXid,
        _ => ValueType::Noop,
    }
}

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
