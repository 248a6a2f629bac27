//! The index of a table, flat or partitioned.

use super::block_loader::BlockLoader;
use super::meta_source::{MetaSource, Partitions};
use super::placement::Placement;
use super::read_options::TableReadOptions;
use crate::blocks::{BlockRole, CachedBlock};
use ferrock_base::Result;
use ferrock_format::block::IndexCursor;
use ferrock_format::handle::BlockHandle;

/// The index of one table.
#[derive(Debug)]
pub(crate) struct IndexReader {
    /// The only block, or the top level.
    pub(crate) root: MetaSource,
    pub(crate) partitions: Option<Partitions>,
    /// Offset of the first partition.
    pub(crate) first_partition: Option<u64>,
}

impl IndexReader {
    /// Reads the index, and before its partitions the directory of the row bounds.
    pub(crate) fn open(
        loader: &mut BlockLoader,
        handle: BlockHandle,
        row_bounds: Option<BlockHandle>,
        placement: &Placement,
    ) -> Result<Self> {
        if !loader.index_is_partitioned {
            if let Some(directory) = row_bounds {
                loader.open_side_blocks(directory, &[handle])?;
            }
            let root = MetaSource::open(loader, handle, BlockRole::Index, placement.unpartitioned)?;
            return Ok(Self { root, partitions: None, first_partition: None });
        }
        let root = MetaSource::open(loader, handle, BlockRole::IndexTop, placement.top_level)?;
        let handles = {
            let top = root.get(loader, &TableReadOptions::default())?;
            handles(&top)?
        };
        if let Some(directory) = row_bounds {
            loader.open_side_blocks(directory, &handles)?;
        }
        let first_partition = handles.iter().map(|handle| handle.offset).min();
        let partitions = Some(Partitions::open(loader, handles, BlockRole::Index, placement)?);
        Ok(Self { root, partitions, first_partition })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.root.memory_bytes() + self.partitions.as_ref().map_or(0, Partitions::memory_bytes)
    }
}

/// Every handle in an index block.
pub(crate) fn handles(block: &CachedBlock) -> Result<Vec<BlockHandle>> {
    let index = block.index()?;
    let mut cursor = IndexCursor::new();
    let mut handles = Vec::with_capacity(index.len());
    cursor.seek_to_first(index);
    while cursor.valid() {
        handles.push(cursor.entry(index).handle);
        cursor.next(index);
    }
    cursor.status()?;
    Ok(handles)
}
