//! Reading the records of a batch. Nothing is copied: a [`Record`] borrows the batch's bytes.

use super::{DEFAULT_COLUMN_FAMILY, HEADER_SIZE_BYTES, RecordKinds};
use ferrock_base::coding::{get_fixed32, get_fixed64, get_varint32};
use ferrock_base::{Error, Result, SequenceNumber, ValueType};

/// Which two-phase commit policy wrote a prepared section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreparePolicy {
    /// Keys reach the memtable at commit.
    WriteCommitted,
    /// Keys reach the memtable at prepare.
    WritePrepared,
    /// Keys may reach the memtable before prepare.
    WriteUnprepared,
}

/// One record of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the words of the format")]
pub enum Record<'a> {
    /// `key` now has `value`.
    Put { column_family: u32, key: &'a [u8], value: &'a [u8] },
    /// `key` is gone.
    Delete { column_family: u32, key: &'a [u8] },
    /// `key`, written exactly once since it was last deleted, is gone.
    SingleDelete { column_family: u32, key: &'a [u8] },
    /// `operand` is merged into the value of `key`.
    Merge { column_family: u32, key: &'a [u8], operand: &'a [u8] },
    /// Every key in `[begin, end)` is gone.
    DeleteRange { column_family: u32, begin: &'a [u8], end: &'a [u8] },
    /// The value of `key` lies in a blob file (see [`crate::blob_index`]).
    BlobIndex { column_family: u32, key: &'a [u8], index: &'a [u8] },
    /// `key` has wide columns (see [`crate::wide_column`]).
    PutEntity { column_family: u32, key: &'a [u8], entity: &'a [u8] },
    /// A put that remembers when it was written. `value_and_time` is what the memtable stores: the value and eight
    /// bytes of unix time.
    TimedPut { column_family: u32, key: &'a [u8], value_and_time: &'a [u8] },
    /// Bytes for the log only.
    LogData(&'a [u8]),
    /// A prepared section begins.
    BeginPrepare(PreparePolicy),
    /// A prepared section ends; it belongs to transaction `xid`.
    EndPrepare { xid: &'a [u8] },
    /// The prepared transaction `xid` commits.
    Commit { xid: &'a [u8] },
    /// As `Commit`; the keys get `timestamp` as their user-defined timestamp.
    CommitWithTimestamp { timestamp: &'a [u8], xid: &'a [u8] },
    /// The prepared transaction `xid` rolls back.
    Rollback { xid: &'a [u8] },
    /// Nothing. Marks a commit that was not prepared.
    Noop,
}

impl<'a> Record<'a> {
    /// The tag of its record, in the short form.
    fn kind(&self) -> ValueType {
        if let Some((_, kind, _, _)) = self.as_entry() {
            return kind;
        }
        match self {
            Self::LogData(_) => ValueType::LogData,
            Self::BeginPrepare(PreparePolicy::WriteCommitted) => ValueType::BeginPrepareXid,
            Self::BeginPrepare(PreparePolicy::WritePrepared) => ValueType::BeginPersistedPrepareXid,
            Self::BeginPrepare(PreparePolicy::WriteUnprepared) => ValueType::BeginUnprepareXid,
            Self::EndPrepare { .. } => ValueType::EndPrepareXid,
            Self::Commit { .. } => ValueType::CommitXid,
            Self::CommitWithTimestamp { .. } => ValueType::CommitXidAndTimestamp,
            Self::Rollback { .. } => ValueType::RollbackXid,
            _ => ValueType::Noop,
        }
    }

    /// True for the records that the batch's count counts.
    #[inline]
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.column_family().is_some()
    }

    /// The family the record is for, `None` for log data and markers.
    #[inline]
    #[must_use]
    pub fn column_family(&self) -> Option<u32> {
        match *self {
            Self::Put { column_family, .. }
            | Self::Delete { column_family, .. }
            | Self::SingleDelete { column_family, .. }
            | Self::Merge { column_family, .. }
            | Self::DeleteRange { column_family, .. }
            | Self::BlobIndex { column_family, .. }
            | Self::PutEntity { column_family, .. }
            | Self::TimedPut { column_family, .. } => Some(column_family),
            _ => None,
        }
    }

    /// A counted record in the form that a memtable stores: family, type, key, value (empty for the tombstones of one
    /// key).
    #[inline]
    #[must_use]
    pub fn as_entry(&self) -> Option<(u32, ValueType, &'a [u8], &'a [u8])> {
        Some(match *self {
            Self::Put { column_family, key, value } => (column_family, ValueType::Value, key, value),
            Self::Delete { column_family, key } => (column_family, ValueType::Deletion, key, &[]),
            Self::SingleDelete { column_family, key } => (column_family, ValueType::SingleDeletion, key, &[]),
            Self::Merge { column_family, key, operand } => (column_family, ValueType::Merge, key, operand),
            Self::DeleteRange { column_family, begin, end } => (column_family, ValueType::RangeDeletion, begin, end),
            Self::BlobIndex { column_family, key, index } => (column_family, ValueType::BlobIndex, key, index),
            Self::PutEntity { column_family, key, entity } => (column_family, ValueType::WideColumnEntity, key, entity),
            Self::TimedPut { column_family, key, value_and_time } => {
                (column_family, ValueType::ValuePreferredSeqno, key, value_and_time)
            }
            _ => return None,
        })
    }
}

/// The bytes of a batch, looked at where they lie (in a log reader's buffer, for instance).
#[derive(Clone, Copy, Debug)]
pub struct WriteBatchRef<'a> {
    pub(super) data: &'a [u8],
}

impl<'a> WriteBatchRef<'a> {
    /// Interprets `data` as a batch. Only the header is checked; records are checked as they are read, and
    /// [`verify`](Self::verify) checks them all.
    ///
    /// # Errors
    /// `Corruption` when `data` is shorter than a header.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        if data.len() < HEADER_SIZE_BYTES {
            return Err(Error::corruption(format!("write batch of {} bytes is too small for its header", data.len())));
        }
        Ok(Self { data })
    }

    /// The number of the first counted record.
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> SequenceNumber {
        SequenceNumber(get_fixed64(self.data, 0).unwrap_or(0))
    }

    /// The number of counted records according to the header.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u32 {
        get_fixed32(self.data, 8).unwrap_or(0)
    }

    /// Header and records.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The records.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> WriteBatchIter<'a> {
        WriteBatchIter { data: self.data, position: HEADER_SIZE_BYTES }
    }

    /// Reads every record, and says what kinds there are.
    ///
    /// # Errors
    /// `Corruption` when a record is malformed, when the count is wrong, or when the sequence number has more than
    /// 56 bits.
    pub fn verify(&self) -> Result<RecordKinds> {
        if self.sequence() > ferrock_base::MAX_SEQUENCE_NUMBER {
            return Err(Error::corruption(format!("write batch with sequence number {}", self.sequence())));
        }
        let (mut counted, mut kinds) = (0u64, RecordKinds::default());
        for record in self.iter() {
            let record = record?;
            counted += u64::from(record.is_counted());
            kinds.add(record.kind());
            kinds.add_family(record.column_family().unwrap_or(DEFAULT_COLUMN_FAMILY));
        }
        if counted != u64::from(self.count()) {
            return Err(Error::corruption(format!(
                "WriteBatch has wrong count: header says {}, found {counted}",
                self.count()
            )));
        }
        Ok(kinds)
    }
}

impl<'a> IntoIterator for WriteBatchRef<'a> {
    type Item = Result<Record<'a>>;
    type IntoIter = WriteBatchIter<'a>;

    fn into_iter(self) -> WriteBatchIter<'a> {
        self.iter()
    }
}

/// Iterator over the records of a batch. Ends after the first error.
#[derive(Clone, Debug)]
pub struct WriteBatchIter<'a> {
    data: &'a [u8],
    position: usize,
}

impl<'a> WriteBatchIter<'a> {
    /// Offset in the batch of the record that comes next.
    #[inline]
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    #[inline]
    fn varint32(&mut self) -> Option<u32> {
        let (value, length) = get_varint32(self.data.get(self.position..)?)?;
        self.position += length;
        Some(value)
    }

    #[inline]
    fn slice(&mut self) -> Option<&'a [u8]> {
        let length = self.varint32()? as usize;
        let end = self.position.checked_add(length)?;
        let bytes = self.data.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    /// The record after `tag`. `None` when its fields do not fit the bytes left.
    #[inline]
    fn body(&mut self, tag: ValueType) -> Option<Record<'a>> {
        use ValueType as T;
        let column_family = match tag {
            T::ColumnFamilyValue
            | T::ColumnFamilyDeletion
            | T::ColumnFamilySingleDeletion
            | T::ColumnFamilyMerge
            | T::ColumnFamilyRangeDeletion
            | T::ColumnFamilyBlobIndex
            | T::ColumnFamilyWideColumnEntity
            | T::ColumnFamilyValuePreferredSeqno => self.varint32()?,
            _ => DEFAULT_COLUMN_FAMILY,
        };
        Some(match tag {
            T::Value | T::ColumnFamilyValue => Record::Put { column_family, key: self.slice()?, value: self.slice()? },
            T::Deletion | T::ColumnFamilyDeletion => Record::Delete { column_family, key: self.slice()? },
            T::SingleDeletion | T::ColumnFamilySingleDeletion => {
                Record::SingleDelete { column_family, key: self.slice()? }
            }
            T::Merge | T::ColumnFamilyMerge => {
                Record::Merge { column_family, key: self.slice()?, operand: self.slice()? }
            }
            T::RangeDeletion | T::ColumnFamilyRangeDeletion => {
                Record::DeleteRange { column_family, begin: self.slice()?, end: self.slice()? }
            }
            T::BlobIndex | T::ColumnFamilyBlobIndex => {
                Record::BlobIndex { column_family, key: self.slice()?, index: self.slice()? }
            }
            T::WideColumnEntity | T::ColumnFamilyWideColumnEntity => {
                Record::PutEntity { column_family, key: self.slice()?, entity: self.slice()? }
            }
            T::ValuePreferredSeqno | T::ColumnFamilyValuePreferredSeqno => {
                let (key, value_and_time) = (self.slice()?, self.slice()?);
                if value_and_time.len() < 8 {
                    return None;
                }
                Record::TimedPut { column_family, key, value_and_time }
            }
            T::LogData => Record::LogData(self.slice()?),
            T::BeginPrepareXid => Record::BeginPrepare(PreparePolicy::WriteCommitted),
            T::BeginPersistedPrepareXid => Record::BeginPrepare(PreparePolicy::WritePrepared),
            T::BeginUnprepareXid => Record::BeginPrepare(PreparePolicy::WriteUnprepared),
            T::EndPrepareXid => Record::EndPrepare { xid: self.slice()? },
            T::CommitXid => Record::Commit { xid: self.slice()? },
            T::CommitXidAndTimestamp => Record::CommitWithTimestamp { timestamp: self.slice()?, xid: self.slice()? },
            T::RollbackXid => Record::Rollback { xid: self.slice()? },
            T::Noop => Record::Noop,
            T::DeletionWithTimestamp => return None,
        })
    }

    #[cold]
    fn fail(&mut self, start: usize, tag: u8) -> Error {
        self.position = self.data.len();
        let what = match ValueType::from_u8(tag) {
            None | Some(ValueType::DeletionWithTimestamp) => format!("unknown WriteBatch tag {tag:#04x}"),
            Some(kind) => format!("malformed WriteBatch record {kind:?}"),
        };
        Error::corruption(what).at_offset(start as u64)
    }
}

impl<'a> Iterator for WriteBatchIter<'a> {
    type Item = Result<Record<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let start = self.position;
        let tag = *self.data.get(start)?;
        self.position = start + 1;
        let record = ValueType::from_u8(tag).and_then(|kind| self.body(kind));
        Some(record.ok_or_else(|| self.fail(start, tag)))
    }
}
