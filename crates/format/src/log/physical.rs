//! Reads the physical records of a log: blocks of the file, headers, checksums.

use super::{BLOCK_SIZE_BYTES, LEGACY_HEADER_SIZE_BYTES, RECYCLABLE_HEADER_SIZE_BYTES, record_type};
use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::coding::get_fixed32;
use ferrock_base::{FileNumber, Result};
use std::ops::Range;

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

/// One step of the physical reader.
pub(super) enum Physical {
    /// A record with a good checksum: its type, the offset of its header, its payload within `block`.
    Record { kind: u8, offset: u64, payload: Range<usize> },
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

/// Reads the physical records of one log file.
pub(super) struct PhysicalReader<S> {
    source: S,
    log_number: FileNumber,
    block: Box<[u8]>,
    /// The unread part of `block`.
    position: usize,
    limit: usize,
    /// Offset in the file of the start of `block`.
    block_offset: u64,
    /// The last read was short.
    at_end: bool,
    seen_recyclable: bool,
    seen_legacy_data: bool,
    /// Zeros to the end of the file end a fragmented record as the end of the file does.
    has_reserved_tail: bool,
    verifies_checksums: bool,
}

impl<S> PhysicalReader<S> {
    pub(super) fn new(source: S, log_number: FileNumber) -> Self {
        Self {
            source,
            log_number,
            block: vec![0; BLOCK_SIZE_BYTES].into_boxed_slice(),
            position: 0,
            limit: 0,
            block_offset: 0,
            at_end: false,
            seen_recyclable: false,
            seen_legacy_data: false,
            has_reserved_tail: true,
            verifies_checksums: true,
        }
    }

    /// Takes records whatever their checksums say.
    pub(super) fn trust_checksums(&mut self) {
        self.verifies_checksums = false;
    }

    pub(super) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Takes zeros inside a fragmented record for corruption, even if nothing else follows.
    pub(super) fn expect_no_reserved_tail(&mut self) {
        self.has_reserved_tail = false;
    }

    /// True when a header was recyclable.
    pub(super) fn is_recyclable(&self) -> bool {
        self.seen_recyclable
    }

    /// True when nothing follows the current block.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Offset in the file of the next record.
    pub(super) fn offset(&self) -> u64 {
        self.block_offset + self.position as u64
    }

    /// A payload of the current block.
    pub(super) fn bytes(&self, payload: Range<usize>) -> &[u8] {
        &self.block[payload]
    }

    /// Records that a legacy header had data: recyclable ones must not follow.
    pub(super) fn note_legacy_data(&mut self) {
        self.seen_legacy_data = true;
    }

    /// Reads the record at `offset`, which is in the current block, again.
    pub(super) fn go_back_to(&mut self, offset: u64) {
        self.position = (offset - self.block_offset) as usize;
    }

    /// Makes every later call return the end.
    pub(super) fn stop(&mut self) {
        self.position = self.limit;
        self.at_end = true;
    }
}

/// The size in the file, header and all, of the physical record that begins here, when its checksum says that it is
/// one: of a log with legacy headers, or of the log with this number where it has recyclable ones. Records without a
/// payload do not count, for zeros look like them.
///
/// ```
/// use ferrock_base::FileNumber;
/// use ferrock_format::log::{HeaderFamily, LogWriter, intact_record};
/// let mut bytes = Vec::new();
/// LogWriter::new(FileNumber(7), HeaderFamily::Recyclable).encode_record(&[b"payload"], &mut bytes);
/// assert_eq!(intact_record(&bytes, FileNumber(7)), Some(bytes.len()));
/// assert_eq!(intact_record(&bytes, FileNumber(8)), None, "of an earlier use of the file");
/// assert_eq!(intact_record(&bytes[1..], FileNumber(7)), None);
/// ```
#[must_use]
pub fn intact_record(bytes: &[u8], log_number: FileNumber) -> Option<usize> {
    let header = bytes.get(..LEGACY_HEADER_SIZE_BYTES)?;
    let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
    let header_size = match header[6] {
        record_type::FULL..=record_type::LAST => LEGACY_HEADER_SIZE_BYTES,
        record_type::RECYCLABLE_FULL..=record_type::RECYCLABLE_LAST
            if get_fixed32(bytes, LEGACY_HEADER_SIZE_BYTES) == Some(log_number.0 as u32) =>
        {
            RECYCLABLE_HEADER_SIZE_BYTES
        }
        _ => return None,
    };
    let covered = bytes.get(6..header_size + length).filter(|_| length > 0)?;
    (get_fixed32(header, 0) == Some(mask_crc(crc32c(covered)))).then_some(header_size + length)
}

impl<S: BlockSource> PhysicalReader<S> {
    /// Reads the next physical record. `in_record`: the one before ended inside a fragmented record.
    pub(super) fn read(&mut self, in_record: bool) -> Result<Physical> {
        loop {
            let offset = self.offset();
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
                let may_be_torn = is_zero && self.has_reserved_tail && in_record;
                if may_be_torn && self.only_zeros_follow()? {
                    return Ok(Physical::End);
                }
                return Ok(Physical::Zeros { offset });
            }
            if self.verifies_checksums
                && get_fixed32(header, 0) != Some(mask_crc(crc32c(&header[6..header_size + length])))
            {
                // The length may be wrong, so the rest of the block cannot be trusted.
                self.position = self.limit;
                return Ok(Physical::BadChecksum { offset, size_bytes });
            }
            let start = self.position + header_size;
            self.position = start + length;
            return Ok(Physical::Record { kind, offset, payload: start..start + length });
        }
    }

    /// Looks for bytes behind those that the source ended with, and reads on there.
    pub(super) fn read_on(&mut self) -> Result<()> {
        if self.at_end {
            self.limit += self.source.read_block(&mut self.block[self.limit..])?.min(BLOCK_SIZE_BYTES - self.limit);
            self.at_end = self.limit < BLOCK_SIZE_BYTES;
        }
        Ok(())
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
}

fn is_recyclable_type(kind: u8) -> bool {
    match kind {
        0..record_type::RECYCLABLE_FULL | record_type::SET_COMPRESSION => false,
        record_type::RECYCLABLE_FULL..=record_type::RECYCLABLE_LAST => true,
        _ => kind & 1 == 1,
    }
}
