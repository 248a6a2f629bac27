//! `WriteBatch`: a group of updates applied as one, and the payload of every WAL data record.
//!
//! ```text
//! fixed64 sequence | fixed32 count | record*
//!
//! record = u8 tag | [varint32 column family id] | body        (the id only in the column-family form of a tag)
//!   put, merge, blob index, entity, timed put    lps key, lps value
//!   delete, single delete                        lps key
//!   delete range                                 lps begin, lps end (exclusive)
//!   log data, end prepare, commit, rollback      lps bytes
//!   commit with timestamp                        lps timestamp, lps transaction id
//!   begin prepare (three policies), noop         nothing
//! ```
//!
//! Invariants:
//! - `count` is the number of *counted* records: those that name a key. Log data and markers are not counted.
//! - The first counted record gets `sequence`, each further one the next number. One exception: a range deletion
//!   whose begin equals its end is counted but takes no number, so later records get one less than their position
//!   suggests.
//! - Column family 0 is always written in the short form; the long form with id 0 is accepted on reading.
//!
//! A batch has no comparator, so it cannot detect that a range ends before it begins. Such a batch must not reach the
//! log (replaying it fails): the engine calls [`WriteBatch::check_ranges`] first.

mod builder;
mod iterator;
mod kinds;
#[cfg(test)]
mod tests;
mod updates;

pub use builder::WriteBatch;
pub use iterator::{PreparePolicy, Record, WriteBatchIter, WriteBatchRef};
pub use kinds::RecordKinds;

use ferrock_base::{Error, Result};

/// Bytes before the first record: sequence and count.
pub const HEADER_SIZE_BYTES: usize = 12;

/// Longest key: a key and its 8-byte trailer must fit a 32-bit length.
pub const MAX_KEY_SIZE_BYTES: usize = u32::MAX as usize - 8;

/// Longest value.
pub const MAX_VALUE_SIZE_BYTES: usize = u32::MAX as usize;

/// The id of the family `default`.
pub const DEFAULT_COLUMN_FAMILY: u32 = 0;

fn check_key(size_bytes: usize) -> Result<()> {
    if size_bytes > MAX_KEY_SIZE_BYTES {
        return Err(Error::invalid_argument(format!("key of {size_bytes} bytes, the limit is {MAX_KEY_SIZE_BYTES}")));
    }
    Ok(())
}

fn check_value(size_bytes: usize) -> Result<()> {
    if size_bytes > MAX_VALUE_SIZE_BYTES {
        return Err(Error::invalid_argument(format!(
            "value of {size_bytes} bytes, the limit is {MAX_VALUE_SIZE_BYTES}"
        )));
    }
    Ok(())
}
