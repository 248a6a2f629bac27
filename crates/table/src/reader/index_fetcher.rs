//! Moves a position in an index, and loads the blocks that it comes to: from the cache, the file, or the partitions
//! that a scan holds.

use super::index_position::{KeepBlock, PositionOf};
use super::near_partitions::{IndexScan, Step};
use super::read_options::TableReadOptions;
use super::resident_index::ResidentIndex;
use crate::blocks::{BlockGuard, BlockRole};
use ferrock_base::{InternalComparator, Result};
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
    fn comparator(&self) -> &'a InternalComparator {
        self.resident.loader.comparator()
    }

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

    /// Goes to the first entry at or after `target`.
    #[inline]
    pub(crate) fn seek<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>, target: &[u8]) -> Result<()> {
        self.prepare(position)?;
        if let Some((top, cursor)) = &mut position.top {
            cursor.seek(top.index()?, self.comparator(), target);
            cursor.status()?;
            if !cursor.valid() {
                return Ok(());
            }
            position.leaf = Some(G::keep(self.leaf(top.index()?, cursor, Step::Seek)?));
        }
        if let Some(leaf) = &position.leaf {
            position.cursor.seek(leaf.index()?, self.comparator(), target);
            position.cursor.status()?;
        }
        self.skip_empty_forward(position)
    }

    pub(crate) fn seek_to_first<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        self.prepare(position)?;
        if let Some((top, cursor)) = &mut position.top {
            cursor.seek_to_first(top.index()?);
            cursor.status()?;
            if !cursor.valid() {
                return Ok(());
            }
            position.leaf = Some(G::keep(self.leaf(top.index()?, cursor, Step::Seek)?));
        }
        if let Some(leaf) = &position.leaf {
            position.cursor.seek_to_first(leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty_forward(position)
    }

    pub(crate) fn seek_to_last<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        self.prepare(position)?;
        if let Some((top, cursor)) = &mut position.top {
            cursor.seek_to_last(top.index()?);
            cursor.status()?;
            if !cursor.valid() {
                return Ok(());
            }
            position.leaf = Some(G::keep(self.leaf(top.index()?, cursor, Step::Seek)?));
        }
        if let Some(leaf) = &position.leaf {
            position.cursor.seek_to_last(leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty_backward(position)
    }

    pub(crate) fn next<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        if let Some(leaf) = &position.leaf {
            position.cursor.next(leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty_forward(position)
    }

    pub(crate) fn prev<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        if let Some(leaf) = &position.leaf {
            position.cursor.prev(leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty_backward(position)
    }

    /// Past the end of a leaf, goes on in the next one. Where that is to be read first, the position stays behind the
    /// end of this one, and the call may be made again.
    pub(crate) fn skip_empty_forward<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        while !position.cursor.valid() {
            let Some((top, cursor)) = &mut position.top else { return Ok(()) };
            let mut next = cursor.clone();
            next.next(top.index()?);
            next.status()?;
            if !next.valid() {
                *cursor = next;
                return Ok(());
            }
            let leaf = G::keep(self.leaf(top.index()?, &next, Step::Forward)?);
            *cursor = next;
            position.cursor.seek_to_first(leaf.index()?);
            position.cursor.status()?;
            position.leaf = Some(leaf);
        }
        Ok(())
    }

    /// The same before the beginning of a leaf.
    pub(crate) fn skip_empty_backward<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        while !position.cursor.valid() {
            let Some((top, cursor)) = &mut position.top else { return Ok(()) };
            let mut next = cursor.clone();
            next.prev(top.index()?);
            next.status()?;
            if !next.valid() {
                *cursor = next;
                return Ok(());
            }
            let leaf = G::keep(self.leaf(top.index()?, &next, Step::Backward)?);
            *cursor = next;
            position.cursor.seek_to_last(leaf.index()?);
            position.cursor.status()?;
            position.leaf = Some(leaf);
        }
        Ok(())
    }
}
