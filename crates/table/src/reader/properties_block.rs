//! The properties block of a table. Old ingestions wrote the global sequence number into it without renewing its
//! checksum, so a mismatch is tried again with those eight bytes zeroed.

use super::block_loader::BlockLoader;
use ferrock_base::{Error, Result};
use ferrock_format::block::MetaBlock;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::{TableProperties, names};
use ferrock_format::trailer;
use ferrock_vfs::ReadContext;

/// Reads and decodes the properties.
pub(super) fn read_properties(
    loader: &BlockLoader,
    meta: &MetaBlockHandles,
    format_version: u32,
) -> Result<TableProperties> {
    let Some(handle) = meta.properties else {
        if format_version >= 6 {
            return Err(Error::corruption("the metaindex names no properties block"));
        }
        return Ok(TableProperties::default());
    };
    let bytes = read_properties_block(loader, handle)?;
    decode_properties(&bytes).map_err(|error| error.context("properties").offset_by(handle.offset))
}

/// The verified bytes of the properties block, as they are in the file.
pub(super) fn read_properties_block(loader: &BlockLoader, handle: BlockHandle) -> Result<Vec<u8>> {
    let length = loader.stored_length(handle)?;
    let stored = loader.read_bytes(handle.offset, length, &ReadContext::default())?.into_owned();
    if let Err(mismatch) = loader.decoder().verify(&stored, handle) {
        let mut zeroed = stored.clone();
        let (payload, _, _) = trailer::split(&stored, handle.offset)?;
        let Some(place) = global_sequence_place(payload) else { return Err(mismatch) };
        let Some(bytes) = zeroed.get_mut(place) else { return Err(mismatch) };
        bytes.fill(0);
        loader.decoder().verify(&zeroed, handle).map_err(|_| mismatch)?;
    }
    let mut payload = stored;
    payload.truncate(length - trailer::BLOCK_TRAILER_SIZE);
    Ok(payload)
}

/// Where the global sequence number is, of a block's payload.
pub(super) fn global_sequence_place(payload: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut place = None;
    MetaBlock::new(payload)
        .and_then(|block| {
            block.for_each(|name, value, at| {
                if name == names::EXTERNAL_SST_FILE_GLOBAL_SEQNO.as_bytes() && value.len() == 8 {
                    place = Some(at..at + 8);
                }
                Ok(())
            })
        })
        .ok()?;
    place
}

pub(crate) fn decode_properties(bytes: &[u8]) -> Result<TableProperties> {
    let entries = MetaBlock::new(bytes)?.entries()?;
    TableProperties::decode_entries(entries.iter().map(|(name, value)| (&name[..], *value)))
}
