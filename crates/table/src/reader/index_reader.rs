//! The index of a table, flat or partitioned, and a cursor over its data-block handles.

use super::block_loader::BlockLoader;
use super::meta_source::{MetaSource, Partitions, Resident};
use super::multi_get::{LoadedBlocks, NeededBlock};
use super::near_partitions::{IndexScan, Step};
use super::placement::Placement;
use super::read_options::TableReadOptions;
use crate::blocks::{BlockGuard, BlockRef, BlockRole, CachedBlock};
use ferrock_base::{Comparator, InternalComparator, Result};
use ferrock_format::block::{IndexBlock, IndexCursor, IndexEntry, RowBound};
use ferrock_format::handle::BlockHandle;
use std::ops::Deref;

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
                loader.side_blocks = super::row_bounds::open(loader, directory, &[handle])?;
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
            loader.side_blocks = super::row_bounds::open(loader, directory, &handles)?;
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

/// A position in an index: an entry of a leaf, and above it the leaf's entry in the top level.
///
/// `G` keeps its blocks: that of an [`IndexPosition`] may borrow those that the reader keeps.
#[derive(Debug)]
pub(crate) struct PositionOf<G> {
    top: Option<(G, IndexCursor)>,
    leaf: Option<G>,
    cursor: IndexCursor,
}

/// A position that may borrow blocks from the reader.
pub(crate) type IndexPosition<'a> = PositionOf<BlockGuard<'a>>;
/// A position that borrows nothing.
pub(crate) type OwnedPosition = PositionOf<BlockRef>;

impl<G> Default for PositionOf<G> {
    fn default() -> Self {
        Self { top: None, leaf: None, cursor: IndexCursor::default() }
    }
}

/// How a position keeps a block.
pub(crate) trait KeepBlock<'a>: Deref<Target = CachedBlock> {
    fn keep(guard: BlockGuard<'a>) -> Self;
}

impl<'a> KeepBlock<'a> for BlockGuard<'a> {
    #[inline]
    fn keep(guard: BlockGuard<'a>) -> Self {
        guard
    }
}

impl<'a> KeepBlock<'a> for BlockRef {
    #[inline]
    fn keep(guard: BlockGuard<'a>) -> Self {
        guard.into_held()
    }
}

impl<G: Deref<Target = CachedBlock>> PositionOf<G> {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.cursor.valid()
    }

    /// The data block's entry. Only when [`valid`](Self::valid).
    #[inline]
    pub(crate) fn entry(&self) -> Result<IndexEntry<'_>> {
        match &self.leaf {
            Some(leaf) => Ok(self.cursor.entry(leaf.index()?)),
            None => Ok(IndexEntry { handle: BlockHandle::NULL, first_key: None }),
        }
    }

    /// What the row bounds say about the data block, where the index block came with them.
    pub(super) fn row_bound(&self) -> Result<Option<RowBound>> {
        match &self.leaf {
            Some(leaf) => Ok(self.cursor.row_bound(leaf.index()?)),
            None => Ok(None),
        }
    }

    /// True when `accepts` is true of the separators of the `count` blocks before the entry's, as they are stored.
    /// Reads nothing: where an index partition begins, the top level has the last separator of the one before, and
    /// `in_memory` maybe all.
    pub(super) fn all_before<'b>(
        &self,
        count: usize,
        accepts: impl Fn(&[u8]) -> bool,
        in_memory: impl FnOnce(BlockHandle) -> Option<BlockGuard<'b>>,
    ) -> Result<bool> {
        let Some(leaf) = self.leaf.as_ref().filter(|_| self.cursor.valid()) else { return Ok(false) };
        let mut key = Vec::new();
        let mut left = count;
        // False at the first separator that is not accepted.
        let mut walk = |index: &IndexBlock, cursor: &mut IndexCursor, left: &mut usize| -> Result<bool> {
            while *left > 0 {
                cursor.prev(index);
                cursor.status()?;
                if !cursor.valid() {
                    break;
                }
                cursor.key_into(index, &mut key);
                if !accepts(&key) {
                    return Ok(false);
                }
                *left -= 1;
            }
            Ok(true)
        };
        if !walk(leaf.index()?, &mut self.cursor.clone(), &mut left)? {
            return Ok(false);
        }
        let Some((top, cursor)) = self.top.as_ref().filter(|_| left > 0) else { return Ok(left == 0) };
        let (top, mut cursor, mut of_last) = (top.index()?, cursor.clone(), 1);
        if !walk(top, &mut cursor, &mut of_last)? || of_last > 0 {
            return Ok(false);
        }
        left -= 1;
        let Some(previous) = (left > 0).then(|| in_memory(cursor.entry(top).handle)).flatten() else {
            return Ok(left == 0);
        };
        let mut last = IndexCursor::new();
        last.seek_to_last(previous.index()?);
        last.status()?;
        Ok(last.valid() && walk(previous.index()?, &mut last, &mut left)? && left == 0)
    }

    /// Replaces `out` with the separator key as stored.
    pub(crate) fn key_into(&self, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if let Some(leaf) = &self.leaf {
            self.cursor.key_into(leaf.index()?, out);
        }
        Ok(())
    }
}

/// The result of a seek in the index that reads nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IndexSeekResult {
    /// The key is in no data block.
    Absent,
    /// The key is in this data block, if in the table at all.
    Found(BlockHandle),
    /// A block of the index has to be read first.
    Missing(NeededBlock),
}

/// The reader's index and block loader, with which a position moves.
#[derive(Clone, Copy)]
pub(crate) struct IndexContext<'a, 'o> {
    pub(crate) index: &'a IndexReader,
    pub(crate) loader: &'a BlockLoader,
    pub(crate) options: &'o TableReadOptions,
    /// For an iterator: the partitions that it holds, and its bounds.
    pub(crate) scan: Option<IndexScan<'o>>,
}

impl<'a> IndexContext<'a, '_> {
    /// True when what follows a block is larger than its separator as a user key: see
    /// [`ScanBounds`](super::ScanBounds).
    pub(crate) fn separators_are_exact(&self) -> bool {
        self.loader.index_format.key_is_user_key && matches!(self.comparator().user(), Comparator::Bytewise)
    }

    fn comparator(&self) -> &'a InternalComparator {
        &self.loader.comparator
    }

    /// The partition at the cursor of the top level.
    fn leaf(&self, top: &IndexBlock, cursor: &IndexCursor, step: Step) -> Result<BlockGuard<'a>> {
        match (&self.index.partitions, &self.scan) {
            (Some(partitions), Some(scan)) => scan.leaf(self, partitions, (top, cursor), step),
            (Some(partitions), None) => {
                partitions.get(self.loader, cursor.entry(top).handle, BlockRole::Index, self.options)
            }
            (None, _) => self.index.root.get(self.loader, self.options),
        }
    }

    /// Opens the root, once per position.
    fn prepare<G: KeepBlock<'a>>(&self, position: &mut PositionOf<G>) -> Result<()> {
        if self.index.partitions.is_some() {
            if position.top.is_none() {
                let root = G::keep(self.index.root.get(self.loader, self.options)?);
                position.top = Some((root, IndexCursor::new()));
            }
            position.cursor.reset();
            position.leaf = None;
        } else if position.leaf.is_none() {
            position.leaf = Some(G::keep(self.index.root.get(self.loader, self.options)?));
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

    /// As [`seek`](Self::seek) on a fresh position, but a block that is not in memory is not read: it is returned, and
    /// the position is not valid.
    #[inline]
    pub(crate) fn seek_resident<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        target: &[u8],
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        let mut leaf = match self.index.root.resident(self.loader, loaded) {
            Resident::Block(root) => root,
            Resident::Missing(needed) => return Ok(Some(needed)),
        };
        if let Some(partitions) = &self.index.partitions {
            let mut cursor = IndexCursor::new();
            cursor.seek(leaf.index()?, self.comparator(), target);
            cursor.status()?;
            if !cursor.valid() {
                return Ok(None);
            }
            let handle = cursor.entry(leaf.index()?).handle;
            let partition = match partitions.find(self.loader, handle, BlockRole::Index, loaded) {
                Resident::Block(partition) => partition,
                Resident::Missing(needed) => return Ok(Some(needed)),
            };
            position.top = Some((G::keep(std::mem::replace(&mut leaf, partition)), cursor));
        }
        position.cursor.seek(leaf.index()?, self.comparator(), target);
        position.cursor.status()?;
        position.leaf = Some(G::keep(leaf));
        self.skip_empty_resident(position, loaded)
    }

    /// As [`next`](Self::next), but a partition that is not in memory is not read: it is returned, and the position
    /// stands between the partitions until this is called again.
    pub(crate) fn next_resident<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        if let Some(leaf) = &position.leaf {
            position.cursor.next(leaf.index()?);
            position.cursor.status()?;
        }
        self.skip_empty_resident(position, loaded)
    }

    #[inline]
    fn skip_empty_resident<G: KeepBlock<'a>>(
        &self,
        position: &mut PositionOf<G>,
        loaded: &LoadedBlocks,
    ) -> Result<Option<NeededBlock>> {
        while !position.cursor.valid() {
            let (Some((top, cursor)), Some(partitions)) = (&mut position.top, &self.index.partitions) else { break };
            let mut next = cursor.clone();
            next.next(top.index()?);
            next.status()?;
            if !next.valid() {
                *cursor = next;
                break;
            }
            let handle = next.entry(top.index()?).handle;
            let leaf = match partitions.find(self.loader, handle, BlockRole::Index, loaded) {
                Resident::Block(leaf) => G::keep(leaf),
                Resident::Missing(needed) => return Ok(Some(needed)),
            };
            *cursor = next;
            position.cursor.seek_to_first(leaf.index()?);
            position.cursor.status()?;
            position.leaf = Some(leaf);
        }
        Ok(None)
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

/// A position that borrows nothing, for iterators that outlive the call.
#[derive(Debug, Default)]
pub(crate) struct HeldIndexPosition {
    position: OwnedPosition,
}

impl HeldIndexPosition {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.position.valid()
    }

    pub(crate) fn handle(&self) -> Result<BlockHandle> {
        self.position.entry().map(|entry| entry.handle)
    }

    pub(super) fn position(&self) -> &OwnedPosition {
        &self.position
    }

    /// The block of the current entry and the cursor in it.
    pub(super) fn leaf(&self) -> Option<(&CachedBlock, &IndexCursor)> {
        self.position.leaf.as_deref().map(|leaf| (leaf, &self.position.cursor))
    }

    /// The top level of a partitioned index and the cursor in it.
    pub(super) fn top(&self) -> Option<(&CachedBlock, &IndexCursor)> {
        self.position.top.as_ref().map(|(top, cursor)| (&**top, cursor))
    }

    /// Makes the position invalid.
    pub(crate) fn reset(&mut self) {
        self.position.cursor.reset();
    }

    /// Moves by `step`; after an error the position is not valid.
    pub(crate) fn step(&mut self, step: impl FnOnce(&mut OwnedPosition) -> Result<()>) -> Result<()> {
        let result = step(&mut self.position);
        if result.is_err() {
            self.position.cursor.reset();
        }
        result
    }
}
