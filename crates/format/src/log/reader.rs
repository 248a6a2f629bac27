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

use super::physical::{BlockSource, Physical, PhysicalReader};
use super::special::LogDescription;
use super::{
    IGNORABLE_TYPE_MASK, MAX_COMPRESSED_RECORD_BYTES, PredecessorWalInfo, TimestampSize, WalRecoveryMode, record_type,
};
use crate::compression::zstd_frame_decompress;
use ferrock_base::{ErrorKind, FileNumber, Result};
use std::borrow::Cow;

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

/// Reads the records of one log file.
pub struct LogReader<S> {
    physical: PhysicalReader<S>,
    mode: WalRecoveryMode,
    record_limit_bytes: usize,
    /// A First fragment was seen and no Last yet; where it starts.
    fragments_start: Option<u64>,
    /// Payload gathered so far.
    fragments: Vec<u8>,
    last_record_end: u64,
    has_torn_end: bool,
    description: LogDescription,
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
            physical: PhysicalReader::new(source, log_number),
            mode,
            record_limit_bytes: MAX_COMPRESSED_RECORD_BYTES,
            fragments_start: None,
            fragments: Vec::new(),
            last_record_end: 0,
            has_torn_end: false,
            description: LogDescription::default(),
        }
    }

    /// A reader of a MANIFEST: a torn end is not reported, other corruption is. No space is preallocated that a reader
    /// could see, so zeros inside a record are corruption: the record may have been acknowledged.
    pub fn manifest(source: S) -> Self {
        let mut reader = Self::new(source, FileNumber(0), WalRecoveryMode::TolerateCorruptedTailRecords);
        reader.physical.expect_no_reserved_tail();
        reader
    }

    /// Refuses records of more than `limit_bytes` in a compressed log. A frame of a few bytes can claim to hold
    /// gigabytes, so there must be a limit; the default is 1 GiB.
    #[must_use]
    pub fn with_record_limit(mut self, limit_bytes: usize) -> Self {
        self.record_limit_bytes = limit_bytes;
        self
    }

    /// Takes records whatever their checksums say: one that is damaged may be given out.
    #[must_use]
    pub fn without_checksums(mut self) -> Self {
        self.physical.trust_checksums();
        self
    }

    /// Where the blocks come from.
    pub fn source_mut(&mut self) -> &mut S {
        self.physical.source_mut()
    }

    /// After [`LogEvent::End`]: looks for bytes that the source has got meanwhile, and reads on there. The source must
    /// have ended behind a whole record.
    ///
    /// # Errors
    /// The error of the source.
    ///
    /// ```
    /// use ferrock_base::FileNumber;
    /// use ferrock_format::log::{HeaderFamily, LogEvent, LogReader, LogWriter, SliceSource, WalRecoveryMode};
    ///
    /// let (mut writer, mut log) = (LogWriter::new(FileNumber(7), HeaderFamily::Legacy), Vec::new());
    /// writer.encode_record(&[b"first"], &mut log);
    /// let end = log.len();
    /// writer.encode_record(&[b"second"], &mut log);
    /// let mode = WalRecoveryMode::TolerateCorruptedTailRecords;
    /// let mut reader = LogReader::new(SliceSource(&log[..end]), FileNumber(7), mode);
    /// let mut scratch = Vec::new();
    /// assert!(matches!(reader.read_record(&mut scratch)?, LogEvent::Record { data: b"first", .. }));
    /// assert!(matches!(reader.read_record(&mut scratch)?, LogEvent::End));
    /// *reader.source_mut() = SliceSource(&log[end..]);
    /// reader.read_on()?;
    /// assert!(matches!(reader.read_record(&mut scratch)?, LogEvent::Record { data: b"second", .. }));
    /// # Ok::<(), ferrock_base::Error>(())
    /// ```
    pub fn read_on(&mut self) -> Result<()> {
        self.physical.read_on()
    }

    /// True when all that was read of the source are whole records: then [`read_on`](Self::read_on) goes on with
    /// what comes behind them.
    #[must_use]
    pub fn is_behind_record(&self) -> bool {
        !self.has_torn_end && self.fragments_start.is_none() && self.physical.offset() == self.last_record_end
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
        self.description.timestamp_sizes()
    }

    /// The log's record about the log before it. Known after the first data record was read.
    #[must_use]
    pub fn predecessor(&self) -> Option<PredecessorWalInfo> {
        self.description.predecessor()
    }

    /// True when the log's payloads are compressed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.description.is_compressed()
    }

    /// True when the log has recyclable headers: its tail may be the rest of an earlier log.
    #[must_use]
    pub fn is_recyclable(&self) -> bool {
        self.physical.is_recyclable()
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
            let physical = self.physical.read(self.fragments_start.is_some())?;
            if let Some(found) = self.assemble(physical) {
                break found;
            }
        };
        let end = self.physical.offset();
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
        if self.description.is_compressed() {
            let stored = payload.clone().map_or(scratch.as_slice(), |range| self.physical.bytes(range));
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
        let data = payload.map_or(scratch.as_slice(), |range| self.physical.bytes(range));
        Ok(LogEvent::Record { physical_offset, data })
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
            Physical::BadLength { offset, size_bytes } if self.physical.is_at_end() => {
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
        if self.physical.is_recyclable() && self.mode == WalRecoveryMode::TolerateCorruptedTailRecords {
            // The rest of an earlier log need not start at a record, so this may be the end.
            self.physical.stop();
            return Some(self.torn_end());
        }
        Some(corruption(offset, size_bytes + dropped, what))
    }

    fn old_record(&mut self, offset: u64) -> Option<Found> {
        let dropped = self.drop_fragments();
        if self.mode == WalRecoveryMode::SkipAnyCorruptedRecords {
            return dropped.map(|(_, bytes)| corruption(offset, bytes, "error in middle of record"));
        }
        self.physical.stop();
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
                self.physical.note_legacy_data();
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
                    self.physical.go_back_to(offset);
                    return Some(corruption(start, bytes, "partial record without end"));
                }
                if fragment == record_type::FULL {
                    return Some(Found::InBlock { physical_offset: offset, payload });
                }
                self.fragments_start = Some(offset);
                self.fragments.extend_from_slice(self.physical.bytes(payload));
                None
            }
            _ => {
                let Some(physical_offset) = self.fragments_start else {
                    return Some(corruption(offset, size_bytes, "missing start of fragmented record"));
                };
                self.fragments.extend_from_slice(self.physical.bytes(payload));
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
        let payload = self.physical.bytes(payload);
        let result = match kind {
            record_type::SET_COMPRESSION => {
                let is_first = self.last_record_end == 0 && self.fragments_start.is_none();
                self.description.set_compression(payload, is_first)
            }
            record_type::TIMESTAMP_SIZE | record_type::RECYCLABLE_TIMESTAMP_SIZE => {
                self.description.add_timestamp_sizes(payload)
            }
            record_type::PREDECESSOR | record_type::RECYCLABLE_PREDECESSOR => self.description.set_predecessor(payload),
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

fn corruption(offset: u64, bytes_dropped: u64, what: &'static str) -> Found {
    Found::Corruption { offset, bytes_dropped, what: Cow::Borrowed(what) }
}
