//! Readahead of scans: a window of the file that grows while reads stay sequential.

use super::block_loader::short_read;
use ferrock_base::Result;
use ferrock_vfs::{RandomAccessFile, ReadContext, ReadLabel};

/// The policy and the window of one iterator.
#[derive(Clone, Debug)]
pub(crate) struct Readahead {
    /// Bytes of the next window; 0 until automatic readahead begins.
    window_bytes: usize,
    initial_bytes: usize,
    max_bytes: usize,
    /// Sequential reads before automatic readahead begins.
    threshold: u64,
    sequential_reads: u64,
    /// Where a sequential reader goes on.
    expected_offset: u64,
    start: u64,
    buffer: Vec<u8>,
}

impl Readahead {
    /// Automatic readahead from `initial_bytes`, doubled up to `max_bytes`, after `threshold` sequential reads.
    pub(crate) fn automatic(initial_bytes: usize, max_bytes: usize, threshold: u64) -> Self {
        Self {
            window_bytes: 0,
            initial_bytes: initial_bytes.min(max_bytes),
            max_bytes,
            threshold,
            sequential_reads: 0,
            expected_offset: u64::MAX,
            start: 0,
            buffer: Vec::new(),
        }
    }

    /// Windows of `bytes` from the first read on.
    pub(crate) fn fixed(bytes: usize) -> Self {
        Self { window_bytes: bytes, ..Self::automatic(bytes, bytes, 0) }
    }

    /// The bytes at `offset`, when they are in the window or a new window pays. `None`: read just what is wanted.
    pub(crate) fn read(
        &mut self,
        file: &dyn RandomAccessFile,
        offset: u64,
        length: usize,
        blocks_end: u64,
        context: &ReadContext,
    ) -> Result<Option<&[u8]>> {
        let is_sequential = offset == self.expected_offset;
        self.expected_offset = offset.saturating_add(length as u64);
        if let Some(range) = self.buffered(offset, length) {
            return Ok(self.buffer.get(range));
        }
        if is_sequential {
            self.sequential_reads += 1;
        } else {
            self.sequential_reads = 0;
            // A jump starts over; a fixed window stays as it is.
            if self.initial_bytes < self.max_bytes || self.threshold > 0 {
                self.window_bytes = 0;
            }
        }
        if self.max_bytes == 0 || self.window_bytes == 0 && self.sequential_reads < self.threshold {
            return Ok(None);
        }
        self.window_bytes = self.window_bytes.max(self.initial_bytes);
        // The file bounds the window: never more memory than there are bytes.
        let available = blocks_end.saturating_sub(offset);
        let wanted = (length.saturating_add(self.window_bytes) as u64).min(available).max(length as u64);
        let wanted = usize::try_from(wanted).unwrap_or(length);
        let mut buffer = std::mem::take(&mut self.buffer);
        if context.is_timed() {
            buffer = file.read_owned(offset, wanted, context)?;
        } else {
            buffer.clear();
            buffer.resize(wanted, 0);
            let read = file.read_at_as(offset, &mut buffer, ReadLabel::whole(context.class, wanted))?;
            buffer.truncate(read);
        }
        let read = buffer.len();
        self.start = offset;
        self.buffer = buffer;
        if read < length {
            return Err(short_read(offset, length, read));
        }
        self.window_bytes = self.window_bytes.saturating_mul(2).min(self.max_bytes);
        Ok(self.buffer.get(..length))
    }

    fn buffered(&self, offset: u64, length: usize) -> Option<std::ops::Range<usize>> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(length)?;
        (to <= self.buffer.len()).then_some(from..to)
    }
}
