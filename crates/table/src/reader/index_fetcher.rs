//! Moves a position in an index, and loads the blocks that it comes to: from the cache, the file, or the partitions
//! that a scan holds.

use super::direction::Direction;
use super::index_position::{KeepBlock, PositionOf};
use super::near_partitions::{IndexScan, Step};
use super::read_options::TableReadOptions;
use super::resident_index::ResidentIndex;
use crate::blocks::{BlockGuard, BlockRole};
use ferrock_base::{Result, SeekTarget};
use ferrock_format::block::{IndexBlock, IndexCursor};

/// The index of a table, and how one read or scan loads what is missing of it.
#[derive(Clone, Copy)]
pub(crate) struct IndexFetcher<'a, 'o> {
    pub(crate) resident: ResidentIndex<'a>,
    pub(crate) options: &'o TableReadOptions,
    /// For an iterator: the partitions that it holds, and its bounds.
    pub(crate) scan: Option<IndexScan<'o>>,
}

impl<'a> IndexFetcher<'a, '_> {
    /// The partition at the cursor of the top level.
    fn leaf(&self, top: &IndexBlock, cursor: &IndexCursor, step: Step) -> Result<BlockGuard<'a>> {
        let ResidentIndex { index, loader } = self.resident;
        match (index.partitions(), &self.scan) {
            (Some(partitions), Some(scan)) => scan.leaf(&self.resident, self.options, partitions, (top, cursor), step),
            (Some(partitions), None) => {
                partitions.get(loader, cursor.entry(top).handle, BlockRole::Index, self.options)
            }
            (None, _) => index.root().get(loader, self.options),
        }
    }

    /// Opens the root, once per position.
    fn prepare<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        let ResidentIndex { index, loader } = self.resident;
        if index.partitions().is_some() {
            if position.top.is_none() {
                let root = G::keep(index.root().get(loader, self.options)?);
                position.top = Some((root, IndexCursor::new()));
            }
            position.cursor.reset();
            position.leaf = None;
        } else if position.leaf.is_none() {
            position.leaf = Some(G::keep(index.root().get(loader, self.options)?));
        }
        Ok(())
    }

    /// Goes to the entry of a target; of one before which entries are wanted, too, to the first entry at or after it.
    #[inline]
    pub(crate) fn place<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>, target: SeekTarget<'_>) -> Result<()> {
        let order = self.resident.loader.comparator();
        let search = |cursor: &mut IndexCursor, index: &IndexBlock| {
            match target {
                SeekTarget::First => cursor.seek_to_first(index),
                SeekTarget::Last => cursor.seek_to_last(index),
                SeekTarget::AtOrAfter(key) | SeekTarget::AtOrBefore(key) => cursor.seek(index, order, key),
            }
            cursor.status()
        };
        self.prepare(position)?;
        if let Some((top, cursor)) = &mut position.top {
            search(cursor, top.index()?)?;
            if !cursor.valid() {
                return Ok(());
            }
            position.leaf = Some(G::keep(self.leaf(top.index()?, cursor, Step::Seek)?));
        }
        if let Some(leaf) = &position.leaf {
            search(&mut position.cursor, leaf.index()?)?;
        }
        let is_last = matches!(target, SeekTarget::Last);
        self.skip_empty(position, if is_last { Direction::Backward } else { Direction::Forward })
    }

    /// Goes to the next entry in a direction.
    pub(crate) fn step<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>, direction: Direction) -> Result<()> {
        if let Some(leaf) = &position.leaf {
            direction.step(&mut position.cursor, leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty(position, direction)
    }

    /// Past the end of a leaf, goes on in the next one. Where that is to be read first, the position stays behind the
    /// end of this one, and the call may be made again.
    pub(crate) fn skip_empty<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        direction: Direction,
    ) -> Result<()> {
        while !position.cursor.valid() {
            let Some((top, cursor)) = &mut position.top else { return Ok(()) };
            let mut next = cursor.clone();
            direction.step(&mut next, top.index()?);
            next.status()?;
            if !next.valid() {
                *cursor = next;
                return Ok(());
            }
            let leaf = G::keep(self.leaf(top.index()?, &next, Step::Cross(direction))?);
            *cursor = next;
            direction.begin(&mut position.cursor, leaf.index()?);
            position.cursor.status()?;
            position.leaf = Some(leaf);
        }
        Ok(())
    }
}
