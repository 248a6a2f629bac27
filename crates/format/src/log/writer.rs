//! Cutting records into fragments.

use super::{
    BLOCK_SIZE_BYTES, LEGACY_HEADER_SIZE_BYTES, PredecessorWalInfo, RECYCLABLE_HEADER_SIZE_BYTES, TimestampSize,
    ZSTD_COMPRESSION, record_type,
};
use ferrock_base::checksum::{crc32c, mask_crc};
use ferrock_base::{Error, FileNumber, Result};

/// Payload of a fragment that is there to move the next one.
const SHORT_FRAGMENT_BYTES: usize = 32;

/// The kind of header that a log uses throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderFamily {
    /// Seven bytes. MANIFESTs always, WALs unless they are recycled.
    Legacy,
    /// Eleven bytes, with the log number: WALs of a database with `recycle_log_file_num > 0`.
    Recyclable,
}

impl HeaderFamily {
    fn header_size_bytes(self) -> usize {
        match self {
            Self::Legacy => LEGACY_HEADER_SIZE_BYTES,
            Self::Recyclable => RECYCLABLE_HEADER_SIZE_BYTES,
        }
    }
}

/// Encodes records of one log file. Holds only the position in the present block.
///
/// ```
/// use ferrock_base::FileNumber;
/// use ferrock_format::log::{HeaderFamily, LogWriter};
/// let mut writer = LogWriter::new(FileNumber(4), HeaderFamily::Legacy);
/// let mut out = Vec::new();
/// writer.encode_record(&[b"hello ", b"log"], &mut out);
/// assert_eq!(out.len(), 7 + 9);
/// ```
#[derive(Clone, Debug)]
pub struct LogWriter {
    log_number: FileNumber,
    family: HeaderFamily,
    block_offset: usize,
}

impl LogWriter {
    /// A writer at the start of a file.
    #[must_use]
    pub fn new(log_number: FileNumber, family: HeaderFamily) -> Self {
        Self { log_number, family, block_offset: 0 }
    }

    /// A writer that goes on at `file_offset`, the end of the last valid record.
    #[must_use]
    pub fn resume(log_number: FileNumber, family: HeaderFamily, file_offset: u64) -> Self {
        Self { log_number, family, block_offset: (file_offset % BLOCK_SIZE_BYTES as u64) as usize }
    }

    /// The number of the log.
    #[must_use]
    pub fn log_number(&self) -> FileNumber {
        self.log_number
    }

    /// Offset in the present block.
    #[must_use]
    pub fn block_offset(&self) -> usize {
        self.block_offset
    }

    /// Appends to `out` the fragments of one record whose payload is the concatenation of `payload_parts`.
    ///
    /// An empty payload makes one empty record. In a compressed log the payload is a whole ZSTD frame (an empty
    /// record stays empty).
    pub fn encode_record(&mut self, payload_parts: &[&[u8]], out: &mut Vec<u8>) {
        let header_size = self.family.header_size_bytes();
        let mut left: usize = payload_parts.iter().map(|part| part.len()).sum();
        if self.block_offset + header_size + left <= BLOCK_SIZE_BYTES {
            return self.encode_whole(payload_parts, left, out);
        }
        let fragments = left / (BLOCK_SIZE_BYTES - header_size) + 2;
        out.reserve(left + fragments * (header_size + RECYCLABLE_HEADER_SIZE_BYTES));
        let mut parts = payload_parts.iter().copied();
        let mut part: &[u8] = &[];
        let mut is_first = true;
        loop {
            self.pad_for(header_size, out);
            // The room can be zero: a First fragment without payload is legal.
            let room = BLOCK_SIZE_BYTES - self.block_offset - header_size;
            let length = left.min(room);
            left -= length;
            let kind = match (is_first, left == 0) {
                (true, true) => record_type::FULL,
                (true, false) => record_type::FIRST,
                (false, true) => record_type::LAST,
                (false, false) => record_type::MIDDLE,
            };
            let start = self.start_header(self.data_type(kind), length, self.family, out);
            let mut missing = length;
            while missing > 0 {
                if part.is_empty() {
                    part = parts.next().unwrap_or_default();
                    continue;
                }
                let (now, later) = part.split_at(part.len().min(missing));
                out.extend_from_slice(now);
                missing -= now.len();
                part = later;
            }
            self.finish(start, out);
            is_first = false;
            if left == 0 {
                return;
            }
        }
    }

    /// Appends to `out` the fragments of a record of a compressed log: a whole ZSTD frame.
    ///
    /// RocksDB 7.8 takes a fragment for the one before it where both begin at the same place of their blocks, as the
    /// middle ones of [`encode_record`](Self::encode_record) do, and loses the record. So a fragment at the beginning
    /// of a block is a short one, unless it is the last, and another one follows it in the block.
    pub fn encode_compressed_record(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        let header_size = self.family.header_size_bytes();
        if self.block_offset + header_size + frame.len() <= BLOCK_SIZE_BYTES {
            return self.encode_whole(&[frame], frame.len(), out);
        }
        out.reserve(frame.len() + (frame.len() / BLOCK_SIZE_BYTES + 2) * 3 * RECYCLABLE_HEADER_SIZE_BYTES);
        let (mut left, mut is_first) = (frame, true);
        loop {
            self.pad_for(header_size, out);
            let room = BLOCK_SIZE_BYTES - self.block_offset - header_size;
            let is_last = left.len() <= room;
            let (now, later) = left.split_at(if is_last || self.block_offset > 0 {
                left.len().min(room)
            } else {
                SHORT_FRAGMENT_BYTES
            });
            let kind = match (is_first, is_last) {
                (true, true) => record_type::FULL,
                (true, false) => record_type::FIRST,
                (false, false) => record_type::MIDDLE,
                (false, true) => record_type::LAST,
            };
            let start = self.start_header(self.data_type(kind), now.len(), self.family, out);
            out.extend_from_slice(now);
            self.finish(start, out);
            if is_last {
                return;
            }
            (left, is_first) = (later, false);
        }
    }

    /// Appends a record that fits into the present block, as most do.
    fn encode_whole(&mut self, payload_parts: &[&[u8]], length: usize, out: &mut Vec<u8>) {
        out.reserve(RECYCLABLE_HEADER_SIZE_BYTES + length);
        let start = self.start_header(self.data_type(record_type::FULL), length, self.family, out);
        payload_parts.iter().for_each(|part| out.extend_from_slice(part));
        self.finish(start, out);
    }

    /// Appends the record after which payloads are ZSTD frames. Must be the first record of the file.
    pub fn encode_set_zstd_compression(&mut self, out: &mut Vec<u8>) {
        self.encode_special(record_type::SET_COMPRESSION, HeaderFamily::Legacy, &ZSTD_COMPRESSION.to_le_bytes(), out);
    }

    /// Appends the timestamp sizes of families that have timestamps. Each family is announced once in a log, before
    /// its first data record.
    ///
    /// # Errors
    /// `InvalidArgument` for a size of 0, and for more families than fit a record.
    pub fn encode_timestamp_sizes(&mut self, sizes: &[TimestampSize], out: &mut Vec<u8>) -> Result<()> {
        let mut payload = Vec::with_capacity(sizes.len() * 6);
        for size in sizes {
            if size.size_bytes == 0 {
                let family = size.column_family;
                return Err(Error::invalid_argument(format!("column family {family} has no timestamps to announce")));
            }
            payload.extend_from_slice(&size.column_family.to_le_bytes());
            payload.extend_from_slice(&size.size_bytes.to_le_bytes());
        }
        if payload.len() > BLOCK_SIZE_BYTES - RECYCLABLE_HEADER_SIZE_BYTES {
            return Err(Error::invalid_argument("timestamp sizes of too many column families for one log record"));
        }
        let kind = match self.family {
            HeaderFamily::Legacy => record_type::TIMESTAMP_SIZE,
            HeaderFamily::Recyclable => record_type::RECYCLABLE_TIMESTAMP_SIZE,
        };
        self.encode_special(kind, self.family, &payload, out);
        Ok(())
    }

    /// Appends the record about the WAL before this one. Comes before any data.
    pub fn encode_predecessor(&mut self, info: &PredecessorWalInfo, out: &mut Vec<u8>) {
        let mut payload = [0; 24];
        payload[..8].copy_from_slice(&info.log_number.0.to_le_bytes());
        payload[8..16].copy_from_slice(&info.size_bytes.to_le_bytes());
        payload[16..].copy_from_slice(&info.last_sequence.0.to_le_bytes());
        let kind = match self.family {
            HeaderFamily::Legacy => record_type::PREDECESSOR,
            HeaderFamily::Recyclable => record_type::RECYCLABLE_PREDECESSOR,
        };
        self.encode_special(kind, self.family, &payload, out);
    }

    fn encode_special(&mut self, kind: u8, family: HeaderFamily, payload: &[u8], out: &mut Vec<u8>) {
        self.pad_for(family.header_size_bytes() + payload.len(), out);
        let start = self.start_header(kind, payload.len(), family, out);
        out.extend_from_slice(payload);
        self.finish(start, out);
    }

    fn data_type(&self, kind: u8) -> u8 {
        match self.family {
            HeaderFamily::Legacy => kind,
            HeaderFamily::Recyclable => kind + record_type::RECYCLABLE_OFFSET,
        }
    }

    /// Fills the block with zeros if it has less than `size` left.
    fn pad_for(&mut self, size: usize, out: &mut Vec<u8>) {
        let left = BLOCK_SIZE_BYTES - self.block_offset;
        if left < size {
            out.resize(out.len() + left, 0);
            self.block_offset = 0;
        }
    }

    /// Appends a header without its checksum; returns where it starts.
    fn start_header(&self, kind: u8, length: usize, family: HeaderFamily, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let [low, high] = (length as u16).to_le_bytes();
        out.extend_from_slice(&[0, 0, 0, 0, low, high, kind]);
        if family == HeaderFamily::Recyclable {
            out.extend_from_slice(&(self.log_number.0 as u32).to_le_bytes());
        }
        start
    }

    /// Fills in the checksum of the record that starts at `start` and ends with the buffer.
    fn finish(&mut self, start: usize, out: &mut [u8]) {
        let crc = mask_crc(crc32c(&out[start + 6..]));
        out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        self.block_offset += out.len() - start;
        if self.block_offset == BLOCK_SIZE_BYTES {
            self.block_offset = 0;
        }
    }
}
