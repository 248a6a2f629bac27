//! Records that are about the log, not in it. Each handler returns the error of an invalid record.

use super::{PredecessorWalInfo, TimestampSize, ZSTD_COMPRESSION};
use ferrock_base::coding::{Cursor, get_fixed32};
use ferrock_base::{FileNumber, SequenceNumber};

type Outcome = Result<(), &'static str>;

/// What a log says about itself.
#[derive(Debug, Default)]
pub(super) struct LogDescription {
    is_compressed: bool,
    timestamp_sizes: Vec<TimestampSize>,
    predecessor: Option<PredecessorWalInfo>,
}

impl LogDescription {
    pub(super) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    pub(super) fn timestamp_sizes(&self) -> &[TimestampSize] {
        &self.timestamp_sizes
    }

    pub(super) fn predecessor(&self) -> Option<PredecessorWalInfo> {
        self.predecessor
    }

    pub(super) fn set_compression(&mut self, payload: &[u8], is_first: bool) -> Outcome {
        if self.is_compressed {
            return Err("more than one SetCompression record");
        }
        if !is_first {
            return Err("SetCompression is not the first record");
        }
        if payload.len() != 4 || get_fixed32(payload, 0) != Some(ZSTD_COMPRESSION) {
            return Err("SetCompression record with an unknown compression type");
        }
        self.is_compressed = true;
        Ok(())
    }

    pub(super) fn add_timestamp_sizes(&mut self, payload: &[u8]) -> Outcome {
        let (entries, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err("UserDefinedTimestampSize record of a wrong length");
        }
        for &[a, b, c, d, low, high] in entries {
            let size = TimestampSize {
                column_family: u32::from_le_bytes([a, b, c, d]),
                size_bytes: u16::from_le_bytes([low, high]),
            };
            if size.size_bytes == 0 {
                return Err("UserDefinedTimestampSize record with a size of 0");
            }
            if self.timestamp_sizes.iter().any(|known| known.column_family == size.column_family) {
                return Err("timestamp size of a column family recorded twice");
            }
            self.timestamp_sizes.push(size);
        }
        Ok(())
    }

    pub(super) fn set_predecessor(&mut self, payload: &[u8]) -> Outcome {
        let mut cursor = Cursor::new(payload);
        let mut next = || cursor.fixed64("predecessor WAL info").map_err(|_| "PredecessorWALInfo of a wrong length");
        let info = PredecessorWalInfo {
            log_number: FileNumber(next()?),
            size_bytes: next()?,
            last_sequence: SequenceNumber(next()?),
        };
        if !cursor.is_empty() {
            return Err("PredecessorWALInfo of a wrong length");
        }
        self.predecessor = Some(info);
        Ok(())
    }
}
