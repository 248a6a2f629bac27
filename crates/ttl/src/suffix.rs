//! The time behind a value.
//!
//! ```text
//! [bytes of the caller][fixed32 unix seconds]
//! ```
//!
//! A time before the first release of RocksDB that wrote such values is no time: the value was written without one.

use ferrock_base::clock::Clock;
use ferrock_base::{Error, Result};
use ferrock_engine::{PinnedSlice, WriteBatch};
use ferrock_format::write_batch::Record;

/// Bytes behind each value.
pub(crate) const SUFFIX_SIZE_BYTES: usize = 4;

/// The earliest time that a value can have, in unix seconds: RocksDB's databases with times begin in May 2013.
pub(crate) const EARLIEST_TIME_SECS: u32 = 1_368_146_402;

/// The bytes that a value written now ends with.
pub(crate) fn suffix_of_now(clock: &dyn Clock) -> [u8; SUFFIX_SIZE_BYTES] {
    // The format has 32 bits, as RocksDB's.
    (clock.unix_seconds() as u32).to_le_bytes()
}

/// A stored value as the caller's bytes and the bytes of the time; `None` when it is too short for a time.
pub(crate) fn split(stored: &[u8]) -> Option<(&[u8], &[u8; SUFFIX_SIZE_BYTES])> {
    stored.split_last_chunk()
}

/// When a stored value was written, in unix seconds.
///
/// # Errors
/// `Corruption` when it ends with no time that can be one. `family` and `key` say where.
pub(crate) fn checked_time(stored: &[u8], family: &str, key: &[u8]) -> Result<u32> {
    let place = || format!("the value of key {} of column family {family}", key.escape_ascii());
    let hint = "was the database written without a time to live?";
    let Some((_, suffix)) = split(stored) else {
        let size = stored.len();
        return Err(Error::corruption(format!(
            "{} has {size} bytes, fewer than the {SUFFIX_SIZE_BYTES} of the time behind every value; {hint}",
            place()
        )));
    };
    let time = u32::from_le_bytes(*suffix);
    if time < EARLIEST_TIME_SECS {
        return Err(Error::corruption(format!(
            "{} ends with the time {time}, before {EARLIEST_TIME_SECS}, the earliest there can be; {hint}",
            place()
        )));
    }
    Ok(time)
}

/// A value that was read, without its time, and the time.
pub(crate) fn strip(stored: PinnedSlice, family: &str, key: &[u8]) -> Result<(PinnedSlice, u32)> {
    let time = checked_time(&stored, family, key)?;
    let length = stored.byte_len() - SUFFIX_SIZE_BYTES;
    Ok((stored.truncated(length), time))
}

/// The batch with the time of now behind each value and operand.
///
/// # Errors
/// `NotSupported` for what no time can be put behind: entities, timed puts, references to blob files, parts of
/// transactions. `InvalidArgument` for a value that is too long with it.
pub(crate) fn stamped(batch: &WriteBatch, clock: &dyn Clock) -> Result<WriteBatch> {
    let suffix = suffix_of_now(clock);
    let room = batch.byte_size().saturating_add((batch.count() as usize).saturating_mul(SUFFIX_SIZE_BYTES + 1));
    let mut with_times = WriteBatch::with_capacity(room);
    let mut value_and_time = Vec::new();
    let mut join = |value: &[u8]| {
        value_and_time.clear();
        value_and_time.extend_from_slice(value);
        value_and_time.extend_from_slice(&suffix);
        std::mem::take(&mut value_and_time)
    };
    for record in batch {
        match record? {
            Record::Put { column_family, key, value } => with_times.put_cf(column_family, key, &join(value))?,
            Record::Merge { column_family, key, operand } => with_times.merge_cf(column_family, key, &join(operand))?,
            Record::Delete { column_family, key } => with_times.delete_cf(column_family, key)?,
            Record::SingleDelete { column_family, key } => with_times.single_delete_cf(column_family, key)?,
            Record::DeleteRange { column_family, begin, end } => {
                with_times.delete_range_cf(column_family, begin, end)?;
            }
            Record::LogData(data) => with_times.put_log_data(data)?,
            other => return Err(refused(&other)),
        }
    }
    Ok(with_times)
}

#[cold]
fn refused(record: &Record<'_>) -> Error {
    let what = match record {
        Record::PutEntity { .. } => "an entity",
        Record::TimedPut { .. } => "a timed put",
        Record::BlobIndex { .. } => "a reference to a blob file",
        _ => "a part of a transaction",
    };
    Error::not_supported(format!(
        "a database with a time to live takes puts, merges and deletions; this batch has {what}"
    ))
}
