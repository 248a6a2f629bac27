//! From the records of a batch to the memtables, in the write path and in recovery.
//!
//! Numbering: the first counted record gets the batch's sequence number, every further
//! one the next. A range deletion with equal ends is counted in the header but neither
//! inserted nor numbered, as RocksDB has it: later records of its batch come one early.

use crate::column_family::ColumnFamilyData;
use crate::snapshot::SnapshotList;
use arc_swap::Guard;
use ferrock_base::{Error, ErrorKind, Result, SequenceNumber, ValueType};
use ferrock_format::write_batch::{Record, WriteBatch, WriteBatchIter};
use ferrock_memtable::MemTable;
use ferrock_statistics::Ticker;
use std::sync::Arc;

/// How entries enter the memtable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertMode {
    /// This thread alone inserts.
    Exclusive,
    /// Other threads insert at the same time.
    Concurrent,
}

/// Where the records of a family go.
pub(crate) enum Target<'a> {
    /// Into this memtable.
    MemTable(&'a ColumnFamilyData, Guard<Arc<MemTable>>),
    /// Nowhere: the family is gone, or already has them in its tables. They keep their sequence numbers.
    Skip,
}

/// What becomes of an operand when its thread alone inserts: the value to insert instead, or `None`.
pub(crate) type MergeOnWrite = fn(&ColumnFamilyData, &MemTable, &[u8], &[u8], SequenceNumber) -> Option<Vec<u8>>;

/// Remembers the target of the family last seen: most batches have one family.
pub(crate) struct Inserter<'a, F> {
    find: F,
    merge: Option<MergeOnWrite>,
    snapshots: Option<&'a SnapshotList>,
    mode: InsertMode,
    last: Option<(u32, Target<'a>)>,
    next: SequenceNumber,
}

impl<'a, F: FnMut(u32) -> Result<Target<'a>>> Inserter<'a, F> {
    pub(crate) fn new(mode: InsertMode, first: SequenceNumber, find: F) -> Self {
        Self { find, merge: None, snapshots: None, mode, last: None, next: first }
    }

    /// Asks `merge` what becomes of operands, if this thread alone inserts.
    pub(crate) fn merging(mut self, merge: MergeOnWrite) -> Self {
        self.merge = Some(merge).filter(|_| self.mode == InsertMode::Exclusive);
        self
    }

    /// Writes over no value that one of these snapshots sees.
    pub(crate) fn keeping(mut self, snapshots: &'a SnapshotList) -> Self {
        self.snapshots = Some(snapshots);
        self
    }

    /// How many of the numbers up to `end` the records have not used. An empty range deletion uses none, as in RocksDB.
    pub(crate) fn unused_before(&self, end: SequenceNumber) -> u64 {
        end.0.saturating_sub(self.next.0)
    }

    /// Where the last record went.
    pub(crate) fn into_last(self) -> Option<Target<'a>> {
        self.last.map(|(_, target)| target)
    }

    /// Inserts every record of a batch.
    pub(crate) fn insert_all(&mut self, records: WriteBatchIter<'_>) -> Result<()> {
        for record in records {
            self.insert(&record?)?;
        }
        Ok(())
    }

    fn insert(&mut self, record: &Record<'_>) -> Result<()> {
        let Some((family, value_type, key, value)) = record.as_entry() else {
            return unsupported_marker(record);
        };
        let find = &mut self.find;
        if self.last.as_ref().is_none_or(|(id, _)| *id != family) {
            self.last = Some((family, find(family)?));
        }
        let Some((_, Target::MemTable(data, memtable))) = &self.last else {
            // The records behind it had these numbers when they were written: an empty range had none then, either.
            self.next = self.next.plus(u64::from(value_type != ValueType::RangeDeletion || key != value));
            return Ok(());
        };
        if value_type == ValueType::RangeDeletion {
            match data.comparator.user().compare(key, value) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Ok(()),
                std::cmp::Ordering::Greater => return Err(inverted_range(key, value)),
            }
        }
        if value_type == ValueType::Merge
            && let Some(merge) = self.merge
            && let Some(merged) = merge(data, memtable, key, value, self.next)
        {
            memtable.add(self.next, ValueType::Value, key, &merged)?;
            self.next = self.next.plus(1);
            return Ok(());
        }
        match self.mode {
            InsertMode::Exclusive if value_type == ValueType::Value && memtable.writes_in_place() => {
                let kept = self.snapshots.map_or(SequenceNumber(0), SnapshotList::newest);
                let is_updated = memtable.add_in_place(self.next, key, value, kept)?;
                if is_updated {
                    count_update(data);
                }
            }
            InsertMode::Exclusive => memtable.add(self.next, value_type, key, value)?,
            InsertMode::Concurrent => memtable.add_concurrent(self.next, value_type, key, value)?,
        }
        self.next = self.next.plus(1);
        Ok(())
    }
}

#[cold]
fn inverted_range(begin: &[u8], end: &[u8]) -> Error {
    let (begin, end) = (begin.escape_ascii(), end.escape_ascii());
    Error::invalid_argument(format!("delete_range: begin {begin} is behind end {end}"))
}

/// Markers carry no data. Those of two-phase commit change what the data means, so they are refused.
fn unsupported_marker(record: &Record<'_>) -> Result<()> {
    match record {
        Record::LogData(_) | Record::Noop => Ok(()),
        _ => Err(prepared_transactions()),
    }
}

/// For a log with transactions of two-phase commit.
#[cold]
pub(crate) fn prepared_transactions() -> Error {
    Error::new(
        ErrorKind::NotSupported,
        "the log holds prepared transactions: open the database with two-phase commit, finish them, and try again",
    )
}

/// Appends a record to a batch as it is.
///
/// # Errors
/// `NotSupported` for markers of two-phase commit.
pub(crate) fn copy_record(out: &mut WriteBatch, record: &Record<'_>) -> Result<()> {
    match *record {
        Record::Put { column_family, key, value } => out.put_cf(column_family, key, value),
        Record::Delete { column_family, key } => out.delete_cf(column_family, key),
        Record::SingleDelete { column_family, key } => out.single_delete_cf(column_family, key),
        Record::Merge { column_family, key, operand } => out.merge_cf(column_family, key, operand),
        Record::DeleteRange { column_family, begin, end } => out.delete_range_cf(column_family, begin, end),
        Record::BlobIndex { column_family, key, index } => out.put_blob_index_cf(column_family, key, index),
        Record::PutEntity { column_family, key, entity } => out.put_encoded_entity_cf(column_family, key, entity),
        Record::TimedPut { column_family, key, value_and_time } => match value_and_time.split_last_chunk() {
            Some((value, time)) => out.timed_put_cf(column_family, key, value, u64::from_le_bytes(*time)),
            None => Err(Error::corruption("a timed put without its time")),
        },
        Record::LogData(data) => out.put_log_data(data),
        Record::Noop => out.mark_noop(),
        _ => Err(Error::not_supported("two-phase commit records in a batch")),
    }
}

/// Not inlined: the compiler would look up the counters of the thread for every batch, before it is known whether one
/// is needed.
#[cold]
fn count_update(data: &ColumnFamilyData) {
    if let Some(statistics) = data.table_cache.statistics() {
        statistics.add(Ticker::NumberKeysUpdated, 1);
    }
}
