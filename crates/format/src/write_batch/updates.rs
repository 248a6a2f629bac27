//! The updates a batch can be given, one method each.

use super::{DEFAULT_COLUMN_FAMILY, PreparePolicy, WriteBatch, check_key};
use crate::wide_column::encode_entity;
use ferrock_base::{Result, ValueType};

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
    ///
    /// # Errors
    /// `InvalidArgument` for a key or a value that is too long for a record, and for the update after the 2³²-th; the
    /// batch is then unchanged.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_cf(DEFAULT_COLUMN_FAMILY, key, value)
    }

    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[inline]
    pub fn put_cf(&mut self, column_family: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.add_pair(PUT, column_family, (key, &[]), (value, &[]))
    }

    /// Sets `key` at a user-defined timestamp to `value`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put); the timestamp counts as a part of the key.
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
    ///
    /// # Errors
    /// `InvalidArgument` for a key that is too long for a record, and for the update after the 2³²-th; the batch is
    /// then unchanged.
    #[inline]
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.delete_cf(DEFAULT_COLUMN_FAMILY, key)
    }

    /// Removes `key`.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    #[inline]
    pub fn delete_cf(&mut self, column_family: u32, key: &[u8]) -> Result<()> {
        self.add_key(DELETE, column_family, (key, &[]))
    }

    /// Removes `key` as of a user-defined timestamp.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete); the timestamp counts as a part of the key.
    pub fn delete_cf_with_timestamp(&mut self, column_family: u32, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.add_key(DELETE, column_family, (key, timestamp))
    }

    /// Removes `key` of the default family, which was put exactly once since it was last removed.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.single_delete_cf(DEFAULT_COLUMN_FAMILY, key)
    }

    /// Removes `key`, which was put exactly once since it was last removed.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete).
    pub fn single_delete_cf(&mut self, column_family: u32, key: &[u8]) -> Result<()> {
        self.add_key(SINGLE_DELETE, column_family, (key, &[]))
    }

    /// As [`single_delete_cf`](Self::single_delete_cf), as of a user-defined timestamp.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete); the timestamp counts as a part of the key.
    pub fn single_delete_cf_with_timestamp(&mut self, column_family: u32, key: &[u8], timestamp: &[u8]) -> Result<()> {
        self.add_key(SINGLE_DELETE, column_family, (key, timestamp))
    }

    /// Merges `operand` into `key` of the default family.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), of which the operand is the value.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_cf(DEFAULT_COLUMN_FAMILY, key, operand)
    }

    /// Merges `operand` into `key`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), of which the operand is the value.
    pub fn merge_cf(&mut self, column_family: u32, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add_pair(MERGE, column_family, (key, &[]), (operand, &[]))
    }

    /// Merges `operand` into `key` at a user-defined timestamp.
    ///
    /// # Errors
    /// Those of [`put`](Self::put), of which the operand is the value; the timestamp counts as a part of the key.
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
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete), for each of the two keys.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.delete_range_cf(DEFAULT_COLUMN_FAMILY, begin, end)
    }

    /// Removes every key in `[begin, end)`. An empty range is counted but removes nothing; a range that ends before
    /// it begins is refused by [`check_ranges`](Self::check_ranges) when the batch is written.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete), for each of the two keys.
    pub fn delete_range_cf(&mut self, column_family: u32, begin: &[u8], end: &[u8]) -> Result<()> {
        check_key(end.len())?;
        self.add_pair(DELETE_RANGE, column_family, (begin, &[]), (end, &[]))
    }

    /// Removes every key in `[begin, end)` as of a user-defined timestamp.
    ///
    /// # Errors
    /// Those of [`delete`](Self::delete), for each of the two keys with its timestamp.
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
    ///
    /// # Errors
    /// Those of [`put`](Self::put); `InvalidArgument` when the name of a column comes twice.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        self.put_entity_cf(DEFAULT_COLUMN_FAMILY, key, columns)
    }

    /// Sets `key` to wide columns, given in any order.
    ///
    /// # Errors
    /// Those of [`put_entity`](Self::put_entity).
    pub fn put_entity_cf(&mut self, column_family: u32, key: &[u8], columns: &[(&[u8], &[u8])]) -> Result<()> {
        let mut sorted = columns.to_vec();
        sorted.sort_by(|a, b| a.0.cmp(b.0));
        let entity = encode_entity(&sorted)?;
        self.put_encoded_entity_cf(column_family, key, &entity)
    }

    /// Sets `key` to an entity that is encoded already (see [`crate::wide_column`]).
    ///
    /// # Errors
    /// Those of [`put`](Self::put). The entity's own form is not checked.
    pub fn put_encoded_entity_cf(&mut self, column_family: u32, key: &[u8], entity: &[u8]) -> Result<()> {
        self.add_pair(ENTITY, column_family, (key, &[]), (entity, &[]))
    }

    /// Sets `key` to a reference into a blob file (see [`crate::blob_index`]).
    ///
    /// # Errors
    /// Those of [`put`](Self::put). The reference's own form is not checked.
    pub fn put_blob_index_cf(&mut self, column_family: u32, key: &[u8], index: &[u8]) -> Result<()> {
        self.add_pair(BLOB_INDEX, column_family, (key, &[]), (index, &[]))
    }

    /// Sets `key` to `value` as if written at `write_time_secs` (unix time). `u64::MAX` means no time: a plain put.
    /// RocksDB before 9.0 cannot read the record.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn timed_put_cf(&mut self, column_family: u32, key: &[u8], value: &[u8], write_time_secs: u64) -> Result<()> {
        if write_time_secs == u64::MAX {
            return self.put_cf(column_family, key, value);
        }
        self.add_pair(TIMED_PUT, column_family, (key, &[]), (value, &write_time_secs.to_le_bytes()))
    }

    /// Adds bytes that go to the log and nowhere else. Not counted.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are too long for a record.
    pub fn put_log_data(&mut self, blob: &[u8]) -> Result<()> {
        self.add_marker(ValueType::LogData, &[blob])
    }

    /// Two-phase commit: what follows is a prepared section.
    ///
    /// # Errors
    /// None today: the marker has no field that could be too long.
    pub fn mark_begin_prepare(&mut self, policy: PreparePolicy) -> Result<()> {
        let kind = match policy {
            PreparePolicy::WriteCommitted => ValueType::BeginPrepareXid,
            PreparePolicy::WritePrepared => ValueType::BeginPersistedPrepareXid,
            PreparePolicy::WriteUnprepared => ValueType::BeginUnprepareXid,
        };
        self.add_marker(kind, &[])
    }

    /// Two-phase commit: the prepared section ends and belongs to `xid`.
    ///
    /// # Errors
    /// `InvalidArgument` for an `xid` that is too long for a record.
    pub fn mark_end_prepare(&mut self, xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::EndPrepareXid, &[xid])
    }

    /// Two-phase commit: `xid` commits.
    ///
    /// # Errors
    /// `InvalidArgument` for an `xid` that is too long for a record.
    pub fn mark_commit(&mut self, xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::CommitXid, &[xid])
    }

    /// Two-phase commit: `xid` commits and its keys get `timestamp`.
    ///
    /// # Errors
    /// `InvalidArgument` for a timestamp or an `xid` that is too long for a record.
    pub fn mark_commit_with_timestamp(&mut self, timestamp: &[u8], xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::CommitXidAndTimestamp, &[timestamp, xid])
    }

    /// Two-phase commit: `xid` rolls back.
    ///
    /// # Errors
    /// `InvalidArgument` for an `xid` that is too long for a record.
    pub fn mark_rollback(&mut self, xid: &[u8]) -> Result<()> {
        self.add_marker(ValueType::RollbackXid, &[xid])
    }

    /// Marks a commit through a transaction that was not prepared.
    ///
    /// # Errors
    /// None today: the marker has no field that could be too long.
    pub fn mark_noop(&mut self) -> Result<()> {
        self.add_marker(ValueType::Noop, &[])
    }
}
