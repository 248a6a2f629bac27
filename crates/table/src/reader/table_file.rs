//! The file of a table as one whose blocks can be read again, for a builder that stores them as the file does.

use super::BlockTable;
use super::read_options::TableReadOptions;
use crate::stored_blocks::StoredFile;
use bytes::Bytes;
use ferrock_base::Result;
use ferrock_format::block::DataBlock;
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::ReadClass;
use std::sync::Arc;

/// The file of an open table, and how it is read.
#[derive(Debug)]
pub(super) struct TableFile {
    table: Arc<BlockTable>,
    options: TableReadOptions,
}

impl TableFile {
    pub(super) fn shared(table: &Arc<BlockTable>, options: TableReadOptions) -> Arc<dyn StoredFile> {
        Arc::new(Self { table: Arc::clone(table), options })
    }

    fn read(&self, handle: BlockHandle) -> Result<(DataBlock, u8, Option<Bytes>)> {
        let loader = self.table.loader();
        let context = self.options.read_context(ReadClass::Data);
        let stored = loader.read_bytes(handle.offset, loader.stored_length(handle)?, &context)?;
        loader.decoder().decode_data(stored, handle, true)
    }
}

impl StoredFile for TableFile {
    fn read_again(&self, handle: BlockHandle) -> Option<(DataBlock, u8, Option<Bytes>)> {
        // The block is there without that, and is compressed.
        self.read(handle).ok()
    }
}
