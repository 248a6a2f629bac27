//! Reading a table from one end to the other, for checks and statistics: windows of one size. Scans have
//! [`Window`](super::window::Window).

use super::block_loader::{BlockLoader, short_read};
use crate::blocks::{BlockRole, CachedBlock};
use ferrock_base::Result;
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::{IoActivity, ReadClass, ReadContext, ReadLabel};
use std::borrow::Cow;
use std::ops::Range;

/// The window of one pass.
#[derive(Clone, Debug)]
pub(crate) struct Readahead {
    /// Bytes read behind the block that is needed; 0: blocks are read one by one.
    window_bytes: usize,
    activity: IoActivity,
    start: u64,
    buffer: Vec<u8>,
}

impl Readahead {
    /// Windows of `bytes` from the first read on.
    pub(crate) fn fixed(bytes: usize) -> Self {
        Self { window_bytes: bytes, activity: IoActivity::Unknown, start: 0, buffer: Vec::new() }
    }

    /// The same, of a pass for some work.
    pub(crate) fn during(self, activity: IoActivity) -> Self {
        Self { activity, ..self }
    }

    /// A data block, read and decoded. No lookup counts it.
    pub(crate) fn data_block(
        &mut self,
        loader: &BlockLoader,
        handle: BlockHandle,
        verify: bool,
    ) -> Result<CachedBlock> {
        let length = loader.stored_length(handle).map_err(|error| loader.in_file(error))?;
        let stored = self.bytes(loader, handle.offset, length, BlockRole::Data.read_class());
        let stored = stored.map_err(|error| loader.in_file(error))?;
        loader.decode_stored(stored, handle, BlockRole::Data, verify)
    }

    /// The bytes at `offset`, from memory, the window, a new window or, without windows, the file.
    pub(crate) fn bytes<'a>(
        &'a mut self,
        loader: &'a BlockLoader,
        offset: u64,
        length: usize,
        class: ReadClass,
    ) -> Result<Cow<'a, [u8]>> {
        let context = ReadContext { activity: self.activity, ..ReadContext::for_class(class) };
        if self.window_bytes == 0 {
            return loader.read_bytes(offset, length, &context);
        }
        if let Some(bytes) = loader.bytes_in_memory(offset, length) {
            return Ok(Cow::Borrowed(bytes));
        }
        if self.buffered(offset, length).is_none() {
            self.fill(loader, offset, length, &context)?;
        }
        let range = self.buffered(offset, length).ok_or_else(|| short_read(offset, length, 0))?;
        Ok(Cow::Borrowed(&self.buffer[range]))
    }

    /// Reads the window that begins at `offset`.
    fn fill(&mut self, loader: &BlockLoader, offset: u64, length: usize, context: &ReadContext) -> Result<()> {
        // The window never exceeds the file.
        let available = loader.blocks_end().saturating_sub(offset);
        let wanted = (length.saturating_add(self.window_bytes) as u64).min(available).max(length as u64);
        let wanted = usize::try_from(wanted).unwrap_or(length);
        self.buffer.clear();
        self.buffer.resize(wanted, 0);
        self.start = offset;
        let label = ReadLabel::whole(context.class, wanted);
        let read = loader.read_counted(context.activity, || loader.file().read_at(offset, &mut self.buffer, label))?;
        self.buffer.truncate(read);
        if read < length {
            return Err(short_read(offset, length, read));
        }
        Ok(())
    }

    fn buffered(&self, offset: u64, length: usize) -> Option<Range<usize>> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(length)?;
        (to <= self.buffer.len()).then_some(from..to)
    }
}
