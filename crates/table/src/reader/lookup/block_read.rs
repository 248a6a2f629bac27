//! The block that one lookup needs, read as a future.

use crate::reader::resident::{LoadedBlock, NeededBlock};
use crate::reader::{BlockTable, TableReadOptions};
use ferrock_base::Result;
use ferrock_vfs::{PendingRead, ReadBuffer, ReadContext};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The future of a block that a lookup needs. Any executor can poll it; dropping it abandons the read without waiting.
#[derive(Debug)]
#[must_use = "a block that is not polled for is read in vain"]
pub struct BlockRead {
    table: Arc<BlockTable>,
    options: TableReadOptions,
    needed: NeededBlock,
    read: PendingRead,
}

impl BlockRead {
    /// Begins to read a block that a lookup in `table` needs.
    pub(crate) fn start(table: &Arc<BlockTable>, options: &TableReadOptions, needed: NeededBlock) -> Self {
        let read = match table.blocks.needed_length(needed) {
            Ok(length) => {
                let context = ReadContext { is_polled: true, ..options.read_context(needed.role.read_class()) };
                table.file_system.start_read(table.loader().file(), needed.handle.offset, length, &context)
            }
            Err(error) => PendingRead::ready(Err(error)),
        };
        Self { table: Arc::clone(table), options: *options, needed, read }
    }

    /// Equal for two reads only if they are of the same block.
    #[must_use]
    pub fn identity(&self) -> (usize, u64) {
        (Arc::as_ptr(&self.table).addr(), self.needed.handle.offset)
    }

    /// The table that the block is of.
    #[must_use]
    pub fn table(&self) -> &Arc<BlockTable> {
        &self.table
    }
}

impl NeededBlock {
    /// As [`BlockRead::identity`], of a read that would be started for it.
    #[must_use]
    pub fn identity_in(&self, table: &Arc<BlockTable>) -> (usize, u64) {
        (Arc::as_ptr(table).addr(), self.handle.offset)
    }
}

impl Future for BlockRead {
    /// The block, checked, decoded and (where that is wanted) in the cache.
    type Output = Result<LoadedBlock>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let read = ready!(Pin::new(&mut self.read).poll(context));
        let offset = self.needed.handle.offset;
        // One cache lookup costs less than checking, copying and decoding a block, and evicting another for it. Only if
        // the read was shared can another lookup have decoded the block.
        if read.as_ref().is_ok_and(ReadBuffer::is_shared)
            && let Some(block) = self.table.blocks.made_meanwhile(self.needed)
        {
            return Poll::Ready(Ok(LoadedBlock { offset, block }));
        }
        let stored = read.as_ref().map(ReadBuffer::bytes).map_err(Clone::clone);
        let block = self.table.blocks.finish_read(&self.options, self.needed, stored);
        Poll::Ready(block.map(|block| LoadedBlock { offset, block }))
    }
}
