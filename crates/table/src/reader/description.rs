//! What the file of a table says of itself: its properties, where its blocks lie, and what follows from both.

use super::block_loader::BlockLoader;
use super::index_reader::IndexReader;
use crate::MAX_BLOCK_ENTRIES_PROPERTY;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::TableProperties;
use std::sync::Arc;

/// What the file of a table says of itself.
#[derive(Debug)]
pub(crate) struct TableDescription {
    properties: Arc<TableProperties>,
    meta: MetaBlockHandles,
    metaindex: BlockHandle,
    index: BlockHandle,
    file_size: u64,
    /// Offset at or behind the end of every data block.
    data_end: u64,
    /// The most entries that a data block has, where the table says so and no user key lies in two blocks.
    max_block_entries: Option<u64>,
}

impl TableDescription {
    /// Of the file of `loader`, whose metaindex and index have these handles.
    pub(super) fn new(
        properties: TableProperties,
        meta: MetaBlockHandles,
        [metaindex, index]: [BlockHandle; 2],
        index_reader: &IndexReader,
        loader: &BlockLoader,
    ) -> Self {
        let known = [meta.properties, meta.compression_dictionary, meta.range_deletion, meta.full_filter];
        let known = known.into_iter().chain([meta.partitioned_filter, Some(metaindex), Some(index)]);
        let known = known.flatten().map(|handle| handle.offset).chain(index_reader.first_partition());
        let recorded = [Some(properties.data_size), properties.tail_start_offset];
        let end = known.chain(recorded.into_iter().flatten().filter(|&end| end > 0)).min();
        let data_end = end.unwrap_or(u64::MAX).min(loader.blocks_end());
        let max_block_entries = max_block_entries(&properties).filter(|_| loader.decoder().separators_are_exact());
        let (properties, file_size) = (Arc::new(properties), loader.file().size());
        Self { properties, meta, metaindex, index, file_size, data_end, max_block_entries }
    }

    #[inline]
    pub(crate) fn properties(&self) -> &Arc<TableProperties> {
        &self.properties
    }

    #[inline]
    pub(crate) fn meta(&self) -> &MetaBlockHandles {
        &self.meta
    }

    #[inline]
    pub(crate) fn metaindex(&self) -> BlockHandle {
        self.metaindex
    }

    /// The index block, or the top level of the index.
    #[inline]
    pub(crate) fn index(&self) -> BlockHandle {
        self.index
    }

    #[inline]
    pub(crate) fn file_size(&self) -> u64 {
        self.file_size
    }

    /// An upper bound of the end of the data blocks: no scan reads ahead beyond it.
    #[inline]
    pub(crate) fn data_end(&self) -> u64 {
        self.data_end
    }

    /// The most entries that a data block has, where that is known and no user key lies in two blocks.
    #[inline]
    pub(crate) fn max_block_entries(&self) -> Option<u64> {
        self.max_block_entries
    }

    /// Bytes of the data blocks.
    pub(crate) fn data_size(&self) -> u64 {
        let recorded = self.properties.data_size;
        if recorded > 0 && recorded < self.file_size { recorded } else { self.metaindex.offset }
    }

    /// Bytes of data, and their share of the rest of the file.
    pub(crate) fn with_metadata(&self, data_bytes: u64) -> u64 {
        let scaled = u128::from(data_bytes) * u128::from(self.file_size) / u128::from(self.data_size().max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX).min(self.file_size)
    }

    /// Data blocks that `rows` take on average, at most.
    pub(crate) fn blocks_of_rows(&self, rows: u64) -> u64 {
        let data_blocks = self.properties.num_data_blocks.max(1);
        let rows_per_block = (self.properties.num_entries.saturating_add(data_blocks / 2) / data_blocks).max(1);
        rows.div_ceil(rows_per_block)
    }
}

/// The most entries that a data block has, as the table says it.
fn max_block_entries(properties: &TableProperties) -> Option<u64> {
    let value = properties.user_collected.get(MAX_BLOCK_ENTRIES_PROPERTY)?;
    std::str::from_utf8(value).ok()?.parse().ok().filter(|&entries| entries > 0)
}
