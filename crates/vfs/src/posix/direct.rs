//! Appending with O_DIRECT: whole aligned units leave from an aligned buffer.
//!
//! ```text
//!        start (aligned)          start + filled
//! file ....|########################|pad|
//!          |<- written as units ------->|  then the file is cut back to start + filled
//! ```
//!
//! A flush writes the unfinished last unit padded with zeros and keeps it in the buffer; the next flush writes it again
//! with the bytes appended since.

use std::os::unix::fs::FileExt;

use ferrock_base::Result;

use super::device;
use super::retry::retry;
use super::target::Target;
use crate::aligned::AlignedBuffer;

const MAX_BUFFER_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(super) struct DirectAppend {
    buffer: AlignedBuffer,
    unit: usize,
    start: u64,
    filled: usize,
    /// The buffer holds bytes that were not written yet.
    dirty: bool,
}

impl DirectAppend {
    pub(super) fn new(target: &Target, buffer_bytes: usize) -> Result<Self> {
        let unit = device::direct_alignment(&target.file);
        let capacity = buffer_bytes.clamp(unit, MAX_BUFFER_BYTES).next_multiple_of(unit);
        let mut buffer = AlignedBuffer::new(capacity, unit);
        let filled = (target.position % unit as u64) as usize;
        let start = target.position - filled as u64;
        if filled > 0 {
            let read = retry(|| target.file.read_at(&mut buffer.bytes_mut()[..unit], start))
                .map_err(|error| target.error("read last block", error).at_offset(start))?;
            if read < filled {
                return Err(target.error("read last block", std::io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Ok(Self { buffer, unit, start, filled, dirty: false })
    }

    /// Appended bytes, buffered ones included.
    pub(super) fn size(&self) -> u64 {
        self.start + self.filled as u64
    }

    pub(super) fn append(&mut self, target: &mut Target, mut data: &[u8]) -> Result<()> {
        let capacity = self.buffer.bytes().len();
        while !data.is_empty() {
            let count = data.len().min(capacity - self.filled);
            self.buffer.bytes_mut()[self.filled..self.filled + count].copy_from_slice(&data[..count]);
            self.filled += count;
            self.dirty = true;
            data = &data[count..];
            if self.filled == capacity {
                target.write_at(self.start, self.buffer.bytes())?;
                self.start += capacity as u64;
                self.filled = 0;
                self.dirty = false;
            }
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, target: &mut Target) -> Result<()> {
        if !self.dirty {
            return Ok(());
        }
        let padded = self.filled.next_multiple_of(self.unit);
        self.buffer.bytes_mut()[self.filled..padded].fill(0);
        target.write_at(self.start, &self.buffer.bytes()[..padded])?;
        target.cut_padding(self.size())?;
        let whole = self.filled - self.filled % self.unit;
        self.buffer.bytes_mut().copy_within(whole..self.filled, 0);
        self.start += whole as u64;
        self.filled -= whole;
        self.dirty = false;
        Ok(())
    }
}
