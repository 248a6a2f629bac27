//! Where the headers of log records lie in a file: both ways of appending to reserved space store them last.
//!
//! ```text
//! file     | 32 KiB of a log        | 32 KiB of a log             | zeros ...
//!          | H record | H first part| H second part    | H record |
//! ```
//!
//! An append begins with a header, or with the padding of less than one that ends a block; each block begins with one.
//! Headers of further records of the same append are of no account: a reader comes to them through the first.

/// Block size of write-ahead logs.
pub(super) const LOG_BLOCK_BYTES: u64 = 32 << 10;
/// Covers a record header up to its type.
pub(super) const HEADER_BYTES: usize = 8;

/// Bytes from a position to the next multiple of `unit`.
#[inline]
pub(super) fn left_of(unit: u64, position: u64) -> u64 {
    unit - position % unit
}
