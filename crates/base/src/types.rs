//! Numbers of different meanings, each with its own type.

use crate::error::{Error, Result};
use std::fmt;

/// Position of a write in the total order of all writes: 56 bits, 0 = visible to every reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SequenceNumber(pub u64);

/// Largest sequence number: the trailer of an internal key has 56 bits for it.
pub const MAX_SEQUENCE_NUMBER: SequenceNumber = SequenceNumber((1 << 56) - 1);

impl SequenceNumber {
    /// The sequence number `count` writes later.
    #[inline]
    #[must_use]
    pub fn plus(self, count: u64) -> Self {
        Self(self.0 + count)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number in a file's name. One counter serves all numbered kinds of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FileNumber(pub u64);

impl fmt::Display for FileNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}", self.0)
    }
}

/// Type byte of an internal key or tag of a `WriteBatch` record.
///
/// The numbers are on disk and frozen; a retired one keeps its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ValueType {
    /// Point tombstone.
    Deletion = 0x00,
    /// A value.
    Value = 0x01,
    /// Merge operand.
    Merge = 0x02,
    /// Blob in the WAL only, never counted.
    LogData = 0x03,
    /// WAL form of [`Deletion`](Self::Deletion) with a column family id.
    ColumnFamilyDeletion = 0x04,
    /// WAL form of [`Value`](Self::Value) with a column family id.
    ColumnFamilyValue = 0x05,
    /// WAL form of [`Merge`](Self::Merge) with a column family id.
    ColumnFamilyMerge = 0x06,
    /// Tombstone for exactly one earlier put.
    SingleDeletion = 0x07,
    /// WAL form of [`SingleDeletion`](Self::SingleDeletion) with a column family id.
    ColumnFamilySingleDeletion = 0x08,
    /// Two-phase commit: a prepared section begins.
    BeginPrepareXid = 0x09,
    /// Two-phase commit: a prepared section ends.
    EndPrepareXid = 0x0A,
    /// Two-phase commit: commit.
    CommitXid = 0x0B,
    /// Two-phase commit: rollback.
    RollbackXid = 0x0C,
    /// Nothing.
    Noop = 0x0D,
    /// WAL form of [`RangeDeletion`](Self::RangeDeletion) with a column family id.
    ColumnFamilyRangeDeletion = 0x0E,
    /// Range tombstone: key = start, value = exclusive end.
    RangeDeletion = 0x0F,
    /// WAL form of [`BlobIndex`](Self::BlobIndex) with a column family id.
    ColumnFamilyBlobIndex = 0x10,
    /// Reference to a value in a blob file.
    BlobIndex = 0x11,
    /// Two-phase commit, write-prepared policy.
    BeginPersistedPrepareXid = 0x12,
    /// Two-phase commit, write-unprepared policy.
    BeginUnprepareXid = 0x13,
    /// Point tombstone of a key with a user-defined timestamp.
    DeletionWithTimestamp = 0x14,
    /// Two-phase commit with a commit timestamp.
    CommitXidAndTimestamp = 0x15,
    /// Serialized wide columns.
    WideColumnEntity = 0x16,
    /// WAL form of [`WideColumnEntity`](Self::WideColumnEntity) with a column family id.
    ColumnFamilyWideColumnEntity = 0x17,
    /// A value with eight bytes more: preferred sequence number (write time in the WAL).
    ValuePreferredSeqno = 0x18,
    /// WAL form of [`ValuePreferredSeqno`](Self::ValuePreferredSeqno) with a column family id.
    ColumnFamilyValuePreferredSeqno = 0x19,
}

impl ValueType {
    /// Highest type a data key can have: with it a seek key sorts before every entry of the same sequence number.
    pub const FOR_SEEK: Self = Self::ValuePreferredSeqno;
    /// Lowest type: with it a seek key sorts after every entry of the same sequence number.
    pub const FOR_SEEK_FOR_PREV: Self = Self::Deletion;

    /// The type with this number on disk.
    #[inline]
    #[must_use]
    pub fn from_u8(byte: u8) -> Option<Self> {
        use ValueType as T;
        const TABLE: [ValueType; 0x1A] = [
            T::Deletion,
            T::Value,
            T::Merge,
            T::LogData,
            T::ColumnFamilyDeletion,
            T::ColumnFamilyValue,
            T::ColumnFamilyMerge,
            T::SingleDeletion,
            T::ColumnFamilySingleDeletion,
            T::BeginPrepareXid,
            T::EndPrepareXid,
            T::CommitXid,
            T::RollbackXid,
            T::Noop,
            T::ColumnFamilyRangeDeletion,
            T::RangeDeletion,
            T::ColumnFamilyBlobIndex,
            T::BlobIndex,
            T::BeginPersistedPrepareXid,
            T::BeginUnprepareXid,
            T::DeletionWithTimestamp,
            T::CommitXidAndTimestamp,
            T::WideColumnEntity,
            T::ColumnFamilyWideColumnEntity,
            T::ValuePreferredSeqno,
            T::ColumnFamilyValuePreferredSeqno,
        ];
        TABLE.get(usize::from(byte)).copied()
    }

    /// True for the types a data block or memtable may hold.
    #[inline]
    #[must_use]
    pub fn is_point_entry(self) -> bool {
        matches!(
            self,
            Self::Deletion
                | Self::Value
                | Self::Merge
                | Self::SingleDeletion
                | Self::BlobIndex
                | Self::DeletionWithTimestamp
                | Self::WideColumnEntity
                | Self::ValuePreferredSeqno
        )
    }

    /// True for the tombstones of a single key.
    #[inline]
    #[must_use]
    pub fn is_point_tombstone(self) -> bool {
        matches!(self, Self::Deletion | Self::SingleDeletion | Self::DeletionWithTimestamp)
    }
}

impl TryFrom<u8> for ValueType {
    type Error = Error;

    fn try_from(byte: u8) -> Result<Self> {
        Self::from_u8(byte).ok_or_else(|| Error::corruption(format!("unknown value type {byte:#04x}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_types_keep_their_numbers() {
        for byte in 0..=0x19u8 {
            assert_eq!(ValueType::from_u8(byte).map(|kind| kind as u8), Some(byte));
        }
        assert_eq!(ValueType::from_u8(0x1A), None);
        assert!(ValueType::try_from(0xFF).is_err());
    }
}
