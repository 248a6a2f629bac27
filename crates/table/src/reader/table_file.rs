//! An open table as a file whose blocks can be read again, for a builder that stores them as the file does.

use super::BlockTable;
use crate::stored_blocks::StoredFile;
use bytes::Bytes;
use ferrock_base::Result;
use ferrock_format::block::DataBlock;
use ferrock_format::handle::BlockHandle;
use ferrock_vfs::ReadContext;

impl StoredFile for BlockTable {
    fn read_again(&self, handle: BlockHandle, context: &ReadContext) -> Result<(DataBlock, u8, Option<Bytes>)> {
        let loader = self.loader();
        let stored = loader.read_bytes(handle.offset, loader.stored_length(handle)?, context)?;
        loader.decoder().decode_data(stored, handle, true)
    }
}
