//! The parts in which an append comes into zeros that were reserved, so that a kill leaves no half of a log record.
//!
//! ```text
//! file     | 32 KiB of a log       | 32 KiB of a log           | zeros ...
//!          | records |H first part | H second part    | H last |
//!                    |<- segment ->|<--- segment ---->|<------>|
//! ```
//!
//! The headers of log records lie where an append begins, and at each multiple of the log's block size (behind padding
//! of less than a header). A log reader that meets zeros in the place of a header, and of all behind it, takes them for
//! the end. So the headers are stored after all that lies between them, front to back.

/// Block size of write-ahead logs; every block starts with a record header.
const LOG_BLOCK_BYTES: u64 = 32 << 10;
/// Covers a record header up to its type.
pub(super) const HEADER_BYTES: usize = 8;

/// Splits off what lies before the next multiple of the log's block size.
#[inline]
pub(super) fn split_at_block(position: u64, data: &[u8]) -> (&[u8], &[u8]) {
    let left_in_block = (LOG_BLOCK_BYTES - position % LOG_BLOCK_BYTES) as usize;
    data.split_at(left_in_block.min(data.len()))
}
