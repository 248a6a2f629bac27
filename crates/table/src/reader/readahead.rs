//! Reading a table from one end to the other, for checks and statistics: windows of one size. Scans have
//! [`Window`](super::window::Window).

use super::block_loader::short_read;
use ferrock_base::Result;
use ferrock_vfs::{RandomAccessFile, ReadContext, ReadLabel};
use std::ops::Range;

/// The window of one pass.
#[derive(Clone, Debug)]
pub(crate) struct Readahead {
    /// Bytes read behind the block that is needed; 0: blocks are read one by one.
    window_bytes: usize,
    start: u64,
    buffer: Vec<u8>,
}

impl Readahead {
    /// Windows of `bytes` from the first read on.
    pub(crate) fn fixed(bytes: usize) -> Self {
        Self { window_bytes: bytes, start: 0, buffer: Vec::new() }
    }

    /// The bytes at `offset`, from the window or a new one. `None`: the caller reads just the block.
    pub(crate) fn read(
        &mut self,
        file: &dyn RandomAccessFile,
        offset: u64,
        length: usize,
        blocks_end: u64,
        context: &ReadContext,
    ) -> Result<Option<&[u8]>> {
        if let Some(range) = self.buffered(offset, length) {
            return Ok(self.buffer.get(range));
        }
        if self.window_bytes == 0 {
            return Ok(None);
        }
        // The window never exceeds the file.
        let available = blocks_end.saturating_sub(offset);
        let wanted = (length.saturating_add(self.window_bytes) as u64).min(available).max(length as u64);
        let wanted = usize::try_from(wanted).unwrap_or(length);
        self.buffer.clear();
        self.buffer.resize(wanted, 0);
        self.start = offset;
        let label = ReadLabel::whole(context.class, wanted);
        let read = file.read_at_as(offset, &mut self.buffer, label)?;
        self.buffer.truncate(read);
        if read < length {
            return Err(short_read(offset, length, read));
        }
        Ok(self.buffer.get(..length))
    }

    fn buffered(&self, offset: u64, length: usize) -> Option<Range<usize>> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(length)?;
        (to <= self.buffer.len()).then_some(from..to)
    }
}
