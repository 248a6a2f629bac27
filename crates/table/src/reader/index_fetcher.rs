//! Moves a position in an index, and loads the blocks that it comes to: from the cache, the file, or the partitions
//! that a scan holds.

use super::direction::{Direction, Step};
use super::index_position::{KeepBlock, PositionOf};
use super::index_walk::{self, IndexBlocks};
use super::near_partitions::IndexScan;
use super::read_options::TableReadOptions;
use super::resident::Resident;
use super::resident_index::ResidentIndex;
use crate::blocks::BlockRole;
use ferrock_base::{InternalComparator, Result, SeekTarget};
use ferrock_format::block::{IndexBlock, IndexCursor};

/// The index of a table, and how one read or scan loads what is missing of it.
#[derive(Clone, Copy)]
pub(crate) struct IndexFetcher<'a, 'o> {
    pub(crate) resident: ResidentIndex<'a>,
    pub(crate) options: &'o TableReadOptions,
    /// For an iterator: the partitions that it holds, and its bounds.
    pub(crate) scan: Option<IndexScan<'o>>,
}

impl<'a> IndexBlocks<'a> for IndexFetcher<'a, '_> {
    #[inline]
    fn comparator(&self) -> &InternalComparator {
        self.resident.loader.comparator()
    }

    #[inline]
    fn is_partitioned(&self) -> bool {
        self.resident.index.partitions().is_some()
    }

    fn root(&self) -> Result<Resident<'a>> {
        let ResidentIndex { index, loader } = self.resident;
        index.root().get(loader, self.options).map(Resident::Block)
    }

    fn partition(&self, top: &IndexBlock, cursor: &IndexCursor, step: Step) -> Result<Resident<'a>> {
        let ResidentIndex { index, loader } = self.resident;
        let Some(partitions) = index.partitions() else { return self.root() };
        let leaf = match &self.scan {
            Some(scan) => scan.leaf(&self.resident, self.options, partitions, (top, cursor), step),
            None => partitions.get(loader, cursor.entry(top).handle, BlockRole::Index, self.options),
        };
        leaf.map(Resident::Block)
    }
}

impl<'a> IndexFetcher<'a, '_> {
    /// Goes to the entry of a target; of one before which entries are wanted, too, to the first entry at or after it.
    #[inline]
    pub(crate) fn place<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>, target: SeekTarget<'_>) -> Result<()> {
        index_walk::place(self, position, target).map(drop)
    }

    /// Goes to the next entry in a direction.
    pub(crate) fn step<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>, direction: Direction) -> Result<()> {
        index_walk::step(self, position, direction).map(drop)
    }

    /// Past the end of a leaf, goes on in the next one. Where that is to be read first, the position stays behind the
    /// end of this one, and the call may be made again.
    pub(crate) fn skip_empty<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        direction: Direction,
    ) -> Result<()> {
        index_walk::skip_empty(self, position, direction).map(drop)
    }
}
