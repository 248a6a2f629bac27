//! The layout of a table, determined without the reader: index and data blocks are decoded from the whole file, with
//! every key of every block.

use super::dataset::Key;
use ferrock_base::internal_key::user_key;
use ferrock_base::{Error, InternalComparator, InternalIterator};
use ferrock_console::failure::{Failure, Result};
use ferrock_format::block::{DataBlock, DataBlockIter, IndexBlock, IndexCursor, IndexFormat};
use ferrock_format::footer::{Footer, MAX_FOOTER_SIZE};
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlock;
use ferrock_format::properties::TableProperties;
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use ferrock_table::ROW_BOUNDS_PROPERTY;
use ferrock_vfs::{default_file_system, read_file};
use std::ops::Range;
use std::path::Path;

/// Index type of a two-level index in the properties.
const TWO_LEVEL: u32 = 2;

/// A data block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    /// Its bytes in the file, with the trailer.
    pub(crate) bytes: Range<u64>,
    pub(crate) keys: Vec<Key>,
    /// Its separator in the index: no key of the block is greater.
    pub(crate) separator: Vec<u8>,
    /// The index partition that names it.
    pub(crate) partition: usize,
}

impl Block {
    /// Its first key; a block is never empty.
    pub(crate) fn first(&self) -> &[u8] {
        self.keys.first().map_or(&[], |key| key)
    }

    /// Its last key.
    pub(crate) fn last(&self) -> &[u8] {
        self.keys.last().map_or(&[], |key| key)
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) blocks: Vec<Block>,
    /// Bytes of the index partitions, or of the one index block.
    pub(crate) partitions: Vec<Range<u64>>,
    /// Bytes of the filter partitions, each with the greatest key that it is for; none where the filter is one block.
    pub(crate) filters: Vec<(Vec<u8>, Range<u64>)>,
    /// Separators are user keys: no user key is spread over two blocks.
    pub(crate) separators_are_user_keys: bool,
    /// Names of the properties that only Ferrock writes.
    pub(crate) own_properties: Vec<Vec<u8>>,
}

fn bytes_of(handle: BlockHandle) -> Range<u64> {
    handle.offset..handle.offset + handle.size + BLOCK_TRAILER_SIZE as u64
}

/// The payload of a block that must not be compressed.
fn payload(file: &[u8], handle: BlockHandle) -> ferrock::Result<&[u8]> {
    let range = usize::try_from(handle.offset).ok().zip(usize::try_from(handle.size).ok());
    let found = range.and_then(|(offset, size)| {
        let stored = file.get(offset..offset.checked_add(size)?.checked_add(BLOCK_TRAILER_SIZE)?)?;
        Some((&stored[..size], stored[size]))
    });
    match found {
        Some((payload, 0)) => Ok(payload),
        Some(_) => Err(Error::not_supported("the block is compressed; write the data sets anew with --populate")
            .at_offset(handle.offset)),
        None => Err(Error::corruption("the block lies outside the file").at_offset(handle.offset)),
    }
}

/// Keys and handles of an index block.
fn entries(file: &[u8], handle: BlockHandle, format: IndexFormat) -> ferrock::Result<Vec<(Vec<u8>, BlockHandle)>> {
    let block = IndexBlock::new(payload(file, handle)?.to_vec(), format, &InternalComparator::default())?;
    let mut entries = Vec::with_capacity(block.len());
    let mut cursor = IndexCursor::new();
    cursor.seek_to_first(&block);
    let mut key = Vec::new();
    while cursor.valid() {
        cursor.key_into(&block, &mut key);
        let separator = if format.key_is_user_key { &key[..] } else { user_key(&key) };
        entries.push((separator.to_vec(), cursor.entry(&block).handle));
        cursor.next(&block);
    }
    cursor.status()?;
    Ok(entries)
}

/// The user keys of a data block.
fn keys(bytes: &[u8]) -> ferrock::Result<Vec<Key>> {
    let data = DataBlock::new(bytes.to_vec())?;
    let mut iter = DataBlockIter::new(&data, InternalComparator::default(), None);
    let mut keys = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        let key = Key::from_bytes(user_key(iter.key()));
        keys.push(
            key.ok_or_else(|| Error::not_supported("a key that no data set has; write them anew with --populate"))?,
        );
        iter.next();
    }
    iter.status()?;
    Ok(keys)
}

impl Layout {
    /// Reads a table.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let file = read_file(&*default_file_system(), path)?;
        Self::decode(&file).map_err(|error| Failure::Engine(error.in_file(path)))
    }

    fn decode(file: &[u8]) -> ferrock::Result<Self> {
        let footer = Footer::decode(&file[file.len().saturating_sub(MAX_FOOTER_SIZE)..], file.len() as u64)?;
        let metaindex = ferrock_format::block::MetaBlock::new(payload(file, footer.metaindex)?)?;
        let (mut index, mut filter, mut properties) = (footer.index, None, TableProperties::default());
        let (mut layout, mut meta_offsets) = (Self::default(), vec![footer.metaindex.offset]);
        for (name, value) in metaindex.entries()? {
            let Ok((handle, _)) = BlockHandle::decode(value) else { continue };
            meta_offsets.push(handle.offset);
            match MetaBlock::from_name(&name) {
                MetaBlock::Index => index = Some(handle),
                MetaBlock::PartitionedFilter(_) => filter = Some(handle),
                MetaBlock::Properties => {
                    let block = ferrock_format::block::MetaBlock::new(payload(file, handle)?)?;
                    let found = block.entries()?;
                    properties =
                        TableProperties::decode_entries(found.iter().map(|(name, value)| (&name[..], *value)))?;
                    let own = found.iter().map(|(name, _)| name.clone());
                    layout.own_properties = own.filter(|name| name.starts_with(b"ferrock.")).collect();
                }
                _ => {}
            }
        }
        let index = index.ok_or_else(|| Error::corruption("the metaindex names no index block"))?;
        let format = IndexFormat {
            key_is_user_key: properties.index_key_is_user_key != 0,
            value_is_delta_encoded: properties.index_value_is_delta_encoded != 0,
            has_first_key: false,
        };
        layout.separators_are_user_keys = format.key_is_user_key;
        let partitions = match properties.index_type {
            Some(TWO_LEVEL) => entries(file, index, format)?.into_iter().map(|(_, handle)| handle).collect(),
            _ => vec![index],
        };
        for (number, partition) in partitions.into_iter().enumerate() {
            layout.partitions.push(bytes_of(partition));
            for (separator, handle) in entries(file, partition, format)? {
                let keys = keys(payload(file, handle)?).map_err(|error| error.at_offset(handle.offset))?;
                layout.blocks.push(Block { bytes: bytes_of(handle), keys, separator, partition: number });
            }
        }
        if layout.own_properties.iter().any(|own| own == ROW_BOUNDS_PROPERTY) {
            // The row bounds of a partition lie behind it and are read with it.
            for number in 0..layout.partitions.len() {
                let (end, next) = (layout.partitions[number].end, layout.partitions.get(number + 1));
                let behind = meta_offsets.iter().copied().chain(next.map(|next| next.start));
                let behind = behind.chain([index.offset]).filter(|offset| *offset >= end).min();
                layout.partitions[number].end = behind.unwrap_or(end);
            }
        }
        if let Some(handle) = filter {
            let filters = entries(file, handle, format)?.into_iter();
            layout.filters = filters.map(|(last, handle)| (last, bytes_of(handle))).collect();
        }
        Ok(layout)
    }
}
