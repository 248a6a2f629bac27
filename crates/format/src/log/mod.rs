//! Log files: the framing of WALs and MANIFESTs.
//!
//! ```text
//! file             = block*                          32768 bytes each, the last may be short
//! block            = physical record* padding        a record never spans blocks; fewer than 7 bytes left = padding
//! physical record  = header | length bytes of payload
//!
//! legacy header       fixed32 masked crc | fixed16 length | u8 type                                        7 bytes
//! recyclable header   fixed32 masked crc | fixed16 length | u8 type | fixed32 low half of the log number  11 bytes
//! ```
//!
//! The crc covers the type byte, the log number if there is one, and the payload. A logical record is one `Full`
//! fragment, or `First`, any number of `Middle`, `Last`.
//!
//! | type | what |
//! |---|---|
//! | 0 | preallocated space: with length 0, the rest of the block is skipped |
//! | 1 2 3 4 | Full, First, Middle, Last with the legacy header |
//! | 5 6 7 8 | the same with the recyclable header |
//! | 9 | SetCompression (legacy header always): fixed32 type, only 7 (ZSTD) |
//! | 10 11 | UserDefinedTimestampSize, legacy and recyclable: { fixed32 column family, fixed16 size }* |
//! | 130 131 | PredecessorWALInfo, legacy and recyclable: fixed64 number, fixed64 size, fixed64 last sequence |
//!
//! Unknown types from 128 are skipped, others are reported.
//!
//! Invariants: one file uses one header family; types from 9 on are never fragmented; there is no end mark, so the
//! end of the file, zeros, or (in a recycled file) a record of another log number end the log.
//!
//! Both halves are pure: [`LogReader`] pulls blocks from a [`BlockSource`], [`LogWriter`] appends fragments to a
//! buffer that the caller then hands to its file in one operation.

mod physical;
mod reader;
mod special;
#[cfg(test)]
mod tests;
mod writer;

pub use physical::{BlockSource, SliceSource, intact_record};
pub use reader::{LogEvent, LogReader};
pub use writer::{HeaderFamily, LogWriter};

use ferrock_base::{Error, FileNumber, SequenceNumber};
use std::str::FromStr;

/// Size of a block.
pub const BLOCK_SIZE_BYTES: usize = 32768;
/// Size of a legacy header.
pub const LEGACY_HEADER_SIZE_BYTES: usize = 7;
/// Size of a recyclable header.
pub const RECYCLABLE_HEADER_SIZE_BYTES: usize = 11;

/// Bytes that a record takes in a log that is not reused: a header in each block that it reaches into. What pads the
/// block before it is not counted.
#[must_use]
pub fn legacy_size_bytes(record_bytes: usize) -> usize {
    let fragments = record_bytes.div_ceil(BLOCK_SIZE_BYTES - LEGACY_HEADER_SIZE_BYTES).max(1);
    record_bytes.saturating_add(LEGACY_HEADER_SIZE_BYTES * fragments)
}

/// Longest record of a compressed log. A frame of a few bytes can claim to hold gigabytes, so there must be a limit.
pub const MAX_COMPRESSED_RECORD_BYTES: usize = 1 << 30;

/// Bit of a record type that lets readers skip the record if they do not know the type.
const IGNORABLE_TYPE_MASK: u8 = 0x80;
/// The only compression a log can have.
const ZSTD_COMPRESSION: u32 = 7;

/// Types of physical records. The numbers are on disk and frozen.
mod record_type {
    pub const ZERO: u8 = 0;
    pub const FULL: u8 = 1;
    pub const FIRST: u8 = 2;
    pub const MIDDLE: u8 = 3;
    pub const LAST: u8 = 4;
    /// Distance of the recyclable forms from the legacy ones.
    pub const RECYCLABLE_OFFSET: u8 = 4;
    pub const RECYCLABLE_FULL: u8 = 5;
    pub const RECYCLABLE_LAST: u8 = 8;
    pub const SET_COMPRESSION: u8 = 9;
    pub const TIMESTAMP_SIZE: u8 = 10;
    pub const RECYCLABLE_TIMESTAMP_SIZE: u8 = 11;
    pub const PREDECESSOR: u8 = 130;
    pub const RECYCLABLE_PREDECESSOR: u8 = 131;
}

/// How much corruption a WAL may have. Option `wal_recovery_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WalRecoveryMode {
    /// An incomplete end is accepted (a crash while appending), other corruption is an error.
    TolerateCorruptedTailRecords,
    /// All corruption is an error.
    AbsoluteConsistency,
    /// Records before the first corruption are recovered, later ones are dropped.
    #[default]
    PointInTimeRecovery,
    /// All readable records are recovered.
    SkipAnyCorruptedRecords,
}

impl WalRecoveryMode {
    /// Every mode, in the order of the option's values.
    pub const ALL: [Self; 4] = [
        Self::TolerateCorruptedTailRecords,
        Self::AbsoluteConsistency,
        Self::PointInTimeRecovery,
        Self::SkipAnyCorruptedRecords,
    ];

    /// The text in an OPTIONS file.
    #[must_use]
    pub fn option_name(self) -> &'static str {
        match self {
            Self::TolerateCorruptedTailRecords => "kTolerateCorruptedTailRecords",
            Self::AbsoluteConsistency => "kAbsoluteConsistency",
            Self::PointInTimeRecovery => "kPointInTimeRecovery",
            Self::SkipAnyCorruptedRecords => "kSkipAnyCorruptedRecords",
        }
    }

    /// The text on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TolerateCorruptedTailRecords => "tolerate_corrupted_tail_records",
            Self::AbsoluteConsistency => "absolute_consistency",
            Self::PointInTimeRecovery => "point_in_time",
            Self::SkipAnyCorruptedRecords => "skip_any_corrupted_records",
        }
    }

    /// True for the modes in which a log that ends in the middle of a record is reported.
    fn reports_incomplete_end(self) -> bool {
        matches!(self, Self::AbsoluteConsistency | Self::PointInTimeRecovery)
    }
}

impl FromStr for WalRecoveryMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let named = Self::ALL.into_iter().find(|mode| text == mode.option_name() || text == mode.name());
        named.or((text == "point_in_time_recovery").then_some(Self::PointInTimeRecovery)).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|mode| mode.name()).collect();
            Error::invalid_argument(format!("unknown WAL recovery mode {text:?}; one of {}", names.join(", ")))
        })
    }
}

/// The record of a WAL about the WAL before it (option `track_and_verify_wals`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredecessorWalInfo {
    /// Number of the earlier WAL.
    pub log_number: FileNumber,
    /// Its size.
    pub size_bytes: u64,
    /// Sequence number in the header of its last batch; 0 = it has none.
    pub last_sequence: SequenceNumber,
}

/// Timestamp size of one column family, as a WAL announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampSize {
    /// The family.
    pub column_family: u32,
    /// Bytes at the end of every key.
    pub size_bytes: u16,
}
