//! Reassembles records from fragments.
//!
//! What is reported and what ends the log depends on the recovery mode:
//!
//! | found | Tolerate | Absolute | PointInTime | SkipAny |
//! |---|---|---|---|---|
//! | 1 to 6 bytes at the end of the file | end | report | report | end |
//! | record longer than the file | end | report | report | end |
//! | end inside a fragmented record | end | report | report | end |
//! | recyclable record of another log | end | end; report inside a fragmented record | `OldRecord`; report inside | skip |
//! | wrong checksum, or wrong length before the end | report (end, in a recycled log) | report | report | report |
//! | type 0 with length 0 | rest of the block skipped, no report | same | same | same |
//! | the same inside a fragmented record, zeros to the end of the file | end | report | report | end |
//! | the same, and something behind the zeros | report | report | report | report |
//!
//! The last but one is what a writer leaves that reserves space and is killed inside an append of several blocks: a
//! torn end like any other. RocksDB, whose own torn ends are short files, reports it in every mode.
//!
//! After a report the reader can continue: the next call reads behind the corruption. Whether to do so is the caller's
//! decision (recovery stops, except in mode SkipAny).

use super::{
    BLOCK_SIZE_BYTES, IGNORABLE_TYPE_MASK, LEGACY_HEADER_SIZE_BYTES, PredecessorWalInfo, RECYCLABLE_HEADER_SIZE_BYTES,
    TimestampSize, WalRecoveryMode, record_type,
};
use crate::compression::zstd_frame_decompress;
use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::coding::get_fixed32;
use ferrock_base::{ErrorKind, FileNumber, Result};
use std::borrow::Cow;

/// The source of a reader's blocks.
pub trait BlockSource {
    /// Fills `buffer` from the next unread byte on and returns how many bytes it got. Fewer than the buffer holds means
    /// the end of the file.
    ///
    /// # Errors
    /// The error of reading the file; the reader returns it.
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize>;
}

impl<T: BlockSource + ?Sized> BlockSource for &mut T {
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (**self).read_block(buffer)
    }
}

impl<T: BlockSource + ?Sized> BlockSource for Box<T> {
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (**self).read_block(buffer)
    }
}

/// A log that lies in memory.
#[derive(Clone, Debug)]
pub struct SliceSource<'a>(pub &'a [u8]);

impl BlockSource for SliceSource<'_> {
    fn read_block(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let (now, later) = self.0.split_at(self.0.len().min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.0 = later;
        Ok(now.len())
    }
}

/// An event of a reader.
#[derive(Debug, PartialEq, Eq)]
pub enum LogEvent<'a> {
    /// A record.
    Record {
        /// Offset in the file of its first header.
        physical_offset: u64,
        /// Its payload, decompressed.
        data: &'a [u8],
    },
    /// Corruption that the recovery mode reports.
    Corruption {
        /// Offset in the file.
        offset: u64,
        /// Bytes that were skipped: the rest of a block, or the fragments gathered so far.
        bytes_dropped: u64,
        /// What is wrong.
        what: Cow<'static, str>,
    },
    /// The log ends at a record that an earlier user of the file wrote (mode PointInTime only; the others see `End`).
    OldRecord {
        /// Offset in the file.
        offset: u64,
    },
    /// Nothing follows.
    End,
}

/// Longest record taken from a compressed log, unless set otherwise.
const DEFAULT_RECORD_LIMIT_BYTES: usize = 1 << 30;

/// Reads the records of one log file.
pub struct LogReader<S> {
    source: S,
    log_number: FileNumber,
    mode: WalRecoveryMode,
    record_limit_bytes: usize,

    pub(super) block: Box<[u8]>,
    /// The unread part of `block`.
    position: usize,
    limit: usize,
    /// Offset in the file of the start of `block`.
    block_offset: u64,
    /// The last read was short.
    at_end: bool,

    /// A First fragment was seen and no Last yet; where it starts.
    pub(super) fragments_start: Option<u64>,
    /// Payload gathered so far.
    fragments: Vec<u8>,
    pub(super) last_record_end: u64,
    seen_recyclable: bool,
    seen_legacy_data: bool,
    /// Zeros to the end of the file end a fragmented record as the end of the file does.
    has_reserved_tail: bool,
    has_torn_end: bool,
    pub(super) is_compressed: bool,
    pub(super) timestamp_sizes: Vec<TimestampSize>,
    pub(super) predecessor: Option<PredecessorWalInfo>,
}

/// One step of the physical reader.
enum Physical {
    /// A record with a good checksum: its type, the offset of its header, its payload within `block`.
    Record { kind: u8, offset: u64, payload: std::ops::Range<usize> },
    /// The end of the file, cleanly.
    End,
    /// A few bytes at the end of the file, too few for a header.
    TruncatedHeader { offset: u64, size_bytes: u64 },
    /// The record is longer than what is left.
    BadLength { offset: u64, size_bytes: u64 },
    /// The checksum does not match.
    BadChecksum { offset: u64, size_bytes: u64 },
    /// A recyclable header in a log with legacy ones.
    MixedHeaders { offset: u64, size_bytes: u64 },
    /// A record of another log.
    OldRecord { offset: u64 },
    /// Preallocated space.
    Zeros { offset: u64 },
}

/// Outcome of a step of the logical reader; the payload is found afterwards so that nothing stays borrowed.
enum Found {
    InBlock { physical_offset: u64, payload: std::ops::Range<usize> },
    InFragments { physical_offset: u64 },
    Corruption { offset: u64, bytes_dropped: u64, what: Cow<'static, str> },
    OldRecord { offset: u64 },
    End,
}

impl<S: BlockSource> LogReader<S> {
    /// A reader of WAL `log_number` (0 for a MANIFEST).
    pub fn new(source: S, log_number: FileNumber, mode: WalRecoveryMode) -> Self {
        Self {
            source,
            log_number,
            mode,
            record_limit_bytes: DEFAULT_RECORD_LIMIT_BYTES,
            block: vec![0; BLOCK_SIZE_BYTES].into_boxed_slice(),
            position: 0,
            limit: 0,
            block_offset: 0,
            at_end: false,
            fragments_start: None,
            fragments: Vec::new(),
            last_record_end: 0,
            seen_recyclable: false,
            seen_legacy_data: false,
            has_reserved_tail: true,
            has_torn_end: false,
            is_compressed: false,
            timestamp_sizes: Vec::new(),
            predecessor: None,
        }
    }

    /// A reader of a MANIFEST: a torn end is not reported, other corruption is. No space is preallocated that a reader
    /// could see, so zeros inside a record are corruption: the record may have been acknowledged.
    pub fn manifest(source: S) -> Self {
        let reader = Self::new(source, FileNumber(0), WalRecoveryMode::TolerateCorruptedTailRecords);
        Self { has_reserved_tail: false, ..reader }
    }

    /// Refuses records of more than `limit_bytes` in a compressed log. A frame of a few bytes can claim to hold
    /// gigabytes, so there must be a limit; the default is 1 GiB.
    #[must_use]
    pub fn with_record_limit(mut self, limit_bytes: usize) -> Self {
        self.record_limit_bytes = limit_bytes;
        self
    }

    /// The end of the last returned record: the offset at which a writer continues, or to which a file can be
    /// truncated.
    #[must_use]
    pub fn last_record_end(&self) -> u64 {
        self.last_record_end
    }

    /// Timestamp sizes announced so far. A family that is not in it has size 0 in this log.
    #[must_use]
    pub fn timestamp_sizes(&self) -> &[TimestampSize] {
        &self.timestamp_sizes
    }

    /// The log's record about the log before it. Known after the first data record was read.
    #[must_use]
    pub fn predecessor(&self) -> Option<PredecessorWalInfo> {
        self.predecessor
    }

    /// True when the log's payloads are compressed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// True when the log has recyclable headers: its tail may be the rest of an earlier log.
    #[must_use]
    pub fn is_recyclable(&self) -> bool {
        self.seen_recyclable
    }

    /// True when the log ended although a record was cut off there.
    #[must_use]
    pub fn has_torn_end(&self) -> bool {
        self.has_torn_end
    }

    /// The next record or event. Records lie in `scratch` or in the reader.
    ///
    /// # Errors
    /// The error of the source. Corruption is an event, not an error.
    pub fn read_record<'a>(&'a mut self, scratch: &'a mut Vec<u8>) -> Result<LogEvent<'a>> {
        let found = loop {
            let physical = self.read_physical()?;
            if let Some(found) = self.assemble(physical) {
                break found;
            }
        };
        let end = self.block_offset + self.position as u64;
        let (physical_offset, payload) = match found {
            Found::End => return Ok(LogEvent::End),
            Found::OldRecord { offset } => return Ok(LogEvent::OldRecord { offset }),
            Found::Corruption { offset, bytes_dropped, what } => {
                return Ok(LogEvent::Corruption { offset, bytes_dropped, what });
            }
            Found::InBlock { physical_offset, payload } => (physical_offset, Some(payload)),
            Found::InFragments { physical_offset } => {
                std::mem::swap(scratch, &mut self.fragments);
                self.fragments.clear();
                (physical_offset, None)
            }
        };
        if self.is_compressed {
            let stored = payload.clone().map_or(scratch.as_slice(), |range| &self.block[range]);
            if !stored.is_empty() {
                match zstd_frame_decompress(stored, self.record_limit_bytes) {
                    Ok(plain) => *scratch = plain,
                    // This build cannot read the log; nothing in it is damaged.
                    Err(error) if error.kind() == ErrorKind::NotSupported => return Err(error),
                    Err(error) => {
                        let bytes_dropped = stored.len() as u64;
                        let what = format!("cannot decompress record: {}", error.message()).into();
                        return Ok(LogEvent::Corruption { offset: physical_offset, bytes_dropped, what });
                    }
                }
                self.last_record_end = end;
                return Ok(LogEvent::Record { physical_offset, data: scratch });
            }
        }
        self.last_record_end = end;
        let data = payload.map_or(scratch.as_slice(), |range| &self.block[range]);
        Ok(LogEvent::Record { physical_offset, data })
    }

    /// Reads the next physical record.
    fn read_physical(&mut self) -> Result<Physical> {
        loop {
            let offset = self.block_offset + self.position as u64;
            let left = self.limit - self.position;
            let size_bytes = left as u64;
            if left < LEGACY_HEADER_SIZE_BYTES {
                if !self.at_end {
                    self.refill()?;
                    continue;
                }
                self.position = self.limit;
                return Ok(if left == 0 { Physical::End } else { Physical::TruncatedHeader { offset, size_bytes } });
            }
            let header = &self.block[self.position..self.limit];
            let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
            let kind = header[6];
            let is_recyclable = is_recyclable_type(kind);
            let header_size = if is_recyclable { RECYCLABLE_HEADER_SIZE_BYTES } else { LEGACY_HEADER_SIZE_BYTES };
            if left < header_size {
                // Padding of a recyclable log, or a header cut off by the end of the file.
                self.position = self.limit;
                if self.at_end {
                    return Ok(Physical::TruncatedHeader { offset, size_bytes });
                }
                continue;
            }
            if header_size + length > left {
                self.position = self.limit;
                return Ok(Physical::BadLength { offset, size_bytes });
            }
            if is_recyclable {
                if self.seen_legacy_data {
                    self.position = self.limit;
                    return Ok(Physical::MixedHeaders { offset, size_bytes });
                }
                self.seen_recyclable = true;
                if get_fixed32(header, 7) != Some(self.log_number.0 as u32) {
                    self.position += header_size + length;
                    return Ok(Physical::OldRecord { offset });
                }
            }
            if kind == record_type::ZERO && length == 0 {
                let is_zero = header.iter().all(|byte| *byte == 0);
                self.position = self.limit;
                let may_be_torn = is_zero && self.has_reserved_tail && self.fragments_start.is_some();
                if may_be_torn && self.only_zeros_follow()? {
                    return Ok(Physical::End);
                }
                return Ok(Physical::Zeros { offset });
            }
            if get_fixed32(header, 0) != Some(mask_crc(crc32c(&header[6..header_size + length]))) {
                // The length may be wrong, so the rest of the block cannot be trusted.
                self.position = self.limit;
                return Ok(Physical::BadChecksum { offset, size_bytes });
            }
            let start = self.position + header_size;
            self.position = start + length;
            return Ok(Physical::Record { kind, offset, payload: start..start + length });
        }
    }

    /// True when the rest of the file is zeros. Otherwise the next block is the first one that has anything else in it.
    fn only_zeros_follow(&mut self) -> Result<bool> {
        while !self.at_end {
            self.refill()?;
            if self.block[..self.limit].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            self.position = self.limit;
        }
        Ok(true)
    }

    fn refill(&mut self) -> Result<()> {
        self.block_offset += self.limit as u64;
        self.position = 0;
        self.limit = 0;
        self.limit = self.source.read_block(&mut self.block)?.min(BLOCK_SIZE_BYTES);
        self.at_end = self.limit < BLOCK_SIZE_BYTES;
        Ok(())
    }

    /// Processes a physical record. `None` if it completes no event.
    fn assemble(&mut self, physical: Physical) -> Option<Found> {
        let strict = self.mode.reports_incomplete_end();
        match physical {
            Physical::Record { kind, offset, payload } => self.assemble_record(kind, offset, payload),
            Physical::End => {
                let dropped = self.drop_fragments();
                Some(match dropped {
                    Some((offset, bytes)) if strict => corruption(offset, bytes, "error reading trailing data"),
                    Some(_) => self.torn_end(),
                    None => Found::End,
                })
            }
            Physical::TruncatedHeader { offset, size_bytes } => {
                let dropped = self.drop_fragments().map_or(0, |(_, bytes)| bytes);
                let what = "truncated header";
                Some(if strict { corruption(offset, size_bytes + dropped, what) } else { self.torn_end() })
            }
            Physical::BadLength { offset, size_bytes } if self.at_end => {
                let dropped = self.drop_fragments().map_or(0, |(_, bytes)| bytes);
                let what = "truncated record body";
                Some(if strict { corruption(offset, size_bytes + dropped, what) } else { self.torn_end() })
            }
            Physical::BadLength { offset, size_bytes } => self.bad_record(offset, size_bytes, "bad record length"),
            Physical::BadChecksum { offset, size_bytes } => self.bad_record(offset, size_bytes, "checksum mismatch"),
            Physical::MixedHeaders { offset, size_bytes } => {
                let dropped = self.drop_fragments().map_or(0, |(_, bytes)| bytes);
                Some(corruption(offset, size_bytes + dropped, "recyclable record after a legacy one"))
            }
            Physical::OldRecord { offset } => self.old_record(offset),
            Physical::Zeros { offset } => {
                self.drop_fragments().map(|(_, bytes)| corruption(offset, bytes, "error in middle of record"))
            }
        }
    }

    fn bad_record(&mut self, offset: u64, size_bytes: u64, what: &'static str) -> Option<Found> {
        let dropped = self.drop_fragments().map_or(0, |(_, bytes)| bytes);
        if self.seen_recyclable && self.mode == WalRecoveryMode::TolerateCorruptedTailRecords {
            // The rest of an earlier log need not start at a record, so this may be the end.
            self.stop();
            return Some(self.torn_end());
        }
        Some(corruption(offset, size_bytes + dropped, what))
    }

    fn old_record(&mut self, offset: u64) -> Option<Found> {
        let dropped = self.drop_fragments();
        if self.mode == WalRecoveryMode::SkipAnyCorruptedRecords {
            return dropped.map(|(_, bytes)| corruption(offset, bytes, "error in middle of record"));
        }
        self.stop();
        Some(match dropped {
            Some((start, bytes)) if self.mode.reports_incomplete_end() => {
                corruption(start, bytes, "error reading trailing data")
            }
            Some(_) => self.torn_end(),
            None if self.mode == WalRecoveryMode::PointInTimeRecovery => Found::OldRecord { offset },
            None => Found::End,
        })
    }

    fn torn_end(&mut self) -> Found {
        self.has_torn_end = true;
        Found::End
    }

    /// Makes every later call return the end.
    fn stop(&mut self) {
        self.position = self.limit;
        self.at_end = true;
    }

    /// Drops the fragments gathered so far; returns their offset and number of bytes, if there were any.
    fn drop_fragments(&mut self) -> Option<(u64, u64)> {
        let start = self.fragments_start.take()?;
        let size_bytes = self.fragments.len() as u64;
        self.fragments.clear();
        Some((start, size_bytes))
    }

    fn assemble_record(&mut self, kind: u8, offset: u64, payload: std::ops::Range<usize>) -> Option<Found> {
        let fragment = match kind {
            record_type::FULL..=record_type::LAST => {
                self.seen_legacy_data = true;
                kind
            }
            record_type::RECYCLABLE_FULL..=record_type::RECYCLABLE_LAST => kind - record_type::RECYCLABLE_OFFSET,
            _ => return self.special_record(kind, offset, payload),
        };
        let size_bytes = payload.len() as u64;
        match fragment {
            record_type::FULL | record_type::FIRST => {
                // A First without payload that is followed by another start lost nothing.
                let interrupted = self.drop_fragments().filter(|&(_, bytes)| bytes > 0);
                if let Some((start, bytes)) = interrupted {
                    // Read this one again next time, with nothing pending.
                    self.position = (offset - self.block_offset) as usize;
                    return Some(corruption(start, bytes, "partial record without end"));
                }
                if fragment == record_type::FULL {
                    return Some(Found::InBlock { physical_offset: offset, payload });
                }
                self.fragments_start = Some(offset);
                self.fragments.extend_from_slice(&self.block[payload]);
                None
            }
            _ => {
                let Some(physical_offset) = self.fragments_start else {
                    return Some(corruption(offset, size_bytes, "missing start of fragmented record"));
                };
                self.fragments.extend_from_slice(&self.block[payload]);
                if fragment == record_type::MIDDLE {
                    return None;
                }
                self.fragments_start = None;
                Some(Found::InFragments { physical_offset })
            }
        }
    }

    /// A record that is about the log, not in it.
    fn special_record(&mut self, kind: u8, offset: u64, payload: std::ops::Range<usize>) -> Option<Found> {
        let size_bytes = payload.len() as u64;
        let result = match kind {
            record_type::SET_COMPRESSION => self.set_compression(payload),
            record_type::TIMESTAMP_SIZE | record_type::RECYCLABLE_TIMESTAMP_SIZE => self.add_timestamp_sizes(payload),
            record_type::PREDECESSOR | record_type::RECYCLABLE_PREDECESSOR => self.set_predecessor(payload),
            _ => {
                let dropped = self.drop_fragments().map_or(0, |(_, bytes)| bytes);
                if kind & IGNORABLE_TYPE_MASK != 0 {
                    return None;
                }
                let what = Cow::from(format!("unknown record type {kind}"));
                return Some(Found::Corruption { offset, bytes_dropped: size_bytes + dropped, what });
            }
        };
        result.err().map(|what| corruption(offset, size_bytes, what))
    }
}

fn is_recyclable_type(kind: u8) -> bool {
    match kind {
        0..record_type::RECYCLABLE_FULL | record_type::SET_COMPRESSION => false,
        record_type::RECYCLABLE_FULL..=record_type::RECYCLABLE_LAST => true,
        _ => kind & 1 == 1,
    }
}

fn corruption(offset: u64, bytes_dropped: u64, what: &'static str) -> Found {
    Found::Corruption { offset, bytes_dropped, what: Cow::Borrowed(what) }
}
