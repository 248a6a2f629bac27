//! The index of a table, flat or partitioned.

use super::block_loader::BlockLoader;
use super::meta_source::{MetaSource, Partitions};
use super::placement::Placement;
use super::read_options::TableReadOptions;
use super::uncache::{Uncaching, Yield, visit_handles};
use crate::blocks::{BlockRole, CachedBlock};
use crate::partition_boundary::PartitionBoundary;
use ferrock_base::Result;
use ferrock_format::block::IndexCursor;
use ferrock_format::handle::BlockHandle;

/// The index of one table.
#[derive(Debug)]
pub(crate) struct IndexReader {
    /// The only block, or the top level.
    root: MetaSource,
    partitions: Option<Partitions>,
    /// Offset of the first partition.
    first_partition: Option<u64>,
    /// What is guaranteed of large partitions of keys, by the prefix extractor in force.
    partition_cut: Option<PartitionBoundary>,
    /// True with such a guarantee or row bounds: the index can exclude some keys from the block that it leads to.
    knows_gaps: bool,
}

impl IndexReader {
    /// Reads the index, and before its partitions the directory of the row bounds.
    pub(crate) fn open(
        loader: &mut BlockLoader,
        handle: BlockHandle,
        row_bounds: Option<BlockHandle>,
        partition_cut: Option<PartitionBoundary>,
        placement: &Placement,
    ) -> Result<Self> {
        if !loader.cache().index_is_partitioned() {
            if let Some(directory) = row_bounds {
                loader.open_side_blocks(directory, &[handle])?;
            }
            let root = MetaSource::open_index(loader, handle, placement)?;
            let knows_gaps = partition_cut.is_some() || !loader.side_blocks().is_empty();
            return Ok(Self { root, partitions: None, first_partition: None, partition_cut, knows_gaps });
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
        let knows_gaps = partition_cut.is_some() || !loader.side_blocks().is_empty();
        Ok(Self { root, partitions, first_partition, partition_cut, knows_gaps })
    }

    /// The only block, or the top level.
    #[inline]
    pub(crate) fn root(&self) -> &MetaSource {
        &self.root
    }

    #[inline]
    pub(crate) fn partitions(&self) -> Option<&Partitions> {
        self.partitions.as_ref()
    }

    #[inline]
    pub(crate) fn first_partition(&self) -> Option<u64> {
        self.first_partition
    }

    /// What is guaranteed of large partitions of keys.
    #[inline]
    pub(crate) fn partition_cut(&self) -> Option<&PartitionBoundary> {
        self.partition_cut.as_ref()
    }

    /// True when the index can exclude some keys from the block that it leads to.
    #[inline]
    pub(crate) fn knows_gaps(&self) -> bool {
        self.knows_gaps
    }

    /// Takes the data blocks that the index names, and then its own blocks, out of the cache: see
    /// [`uncache`](super::uncache).
    pub(super) fn uncache(&self, uncaching: &mut Uncaching<'_>) {
        let (mut of_data, mut of_partitions) =
            (Yield::new(uncaching.aggressiveness), Yield::new(uncaching.aggressiveness));
        match (self.root.peek(uncaching.loader), &self.partitions) {
            (Some(root), None) => uncaching.erase_named_by(&root, &mut of_data),
            (Some(root), Some(partitions)) => visit_handles(&root, |handle| {
                let partition = partitions.peek(uncaching.loader, handle);
                if let Some(partition) = &partition {
                    uncaching.erase_named_by(partition, &mut of_data);
                }
                drop(partition);
                if !partitions.holds(handle) {
                    of_partitions.note(uncaching.erase(handle));
                }
                of_partitions.goes_on()
            }),
            (None, _) => {}
        }
        if let Some(partitions) = &self.partitions {
            partitions.uncache_pinned(uncaching);
        }
        self.root.uncache(uncaching);
    }

    #[inline]
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
