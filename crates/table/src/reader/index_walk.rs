//! How a position moves in an index, flat or partitioned, wherever its blocks come from.
//!
//! ```text
//! top level   [ a | f | p ]          cursor of the top level
//!                   |
//! partition   [ f | h | m ]          cursor of the leaf; past its end the walk goes on in the next partition
//! ```
//!
//! [`ResidentIndex`](super::resident_index::ResidentIndex) gives the walk what is in memory, and
//! [`IndexFetcher`](super::index_fetcher::IndexFetcher) loads. Where a block is missing, the walk returns it and may be
//! made again: the position is not valid, or it stands behind the end of a partition.

use super::direction::{Direction, Step};
use super::index_position::{KeepBlock, PositionOf};
use super::resident::{NeededBlock, Resident};
use ferrock_base::{InternalComparator, Result, SeekTarget};
use ferrock_format::block::{IndexBlock, IndexCursor};

/// The blocks of an index, for one walk.
pub(super) trait IndexBlocks<'a> {
    fn comparator(&self) -> &InternalComparator;
    fn is_partitioned(&self) -> bool;
    /// The only block, or the top level.
    fn root(&self) -> Result<Resident<'a>>;
    /// The partition at the cursor of the top level.
    fn partition(&self, top: &IndexBlock, cursor: &IndexCursor, step: Step) -> Result<Resident<'a>>;
}

/// Goes on with the block, or returns the one that is missing.
macro_rules! block_or_return {
    ($found:expr) => {
        match $found? {
            Resident::Block(block) => G::keep(block),
            Resident::Missing(needed) => return Ok(Some(needed)),
        }
    };
}

/// Goes to the entry of a target; of one before which entries are wanted, too, to the first entry at or after it. The
/// root is kept from an earlier target.
#[inline]
pub(super) fn place<'a, G: KeepBlock<'a>>(
    blocks: &impl IndexBlocks<'a>,
    position: &mut PositionOf<G>,
    target: SeekTarget<'_>,
) -> Result<Option<NeededBlock>> {
    let search = |cursor: &mut IndexCursor, index: &IndexBlock| {
        match target {
            SeekTarget::First => cursor.seek_to_first(index),
            SeekTarget::Last => cursor.seek_to_last(index),
            SeekTarget::AtOrAfter(key) | SeekTarget::AtOrBefore(key) => cursor.seek(index, blocks.comparator(), key),
        }
        cursor.status()
    };
    if blocks.is_partitioned() {
        position.cursor.reset();
        position.leaf = None;
        if position.top.is_none() {
            position.top = Some((block_or_return!(blocks.root()), IndexCursor::new()));
        }
    } else if position.leaf.is_none() {
        position.leaf = Some(block_or_return!(blocks.root()));
    }
    if let Some((top, cursor)) = &mut position.top {
        search(cursor, top.index()?)?;
        if !cursor.valid() {
            return Ok(None);
        }
        position.leaf = Some(block_or_return!(blocks.partition(top.index()?, cursor, Step::Seek)));
    }
    if let Some(leaf) = &position.leaf {
        search(&mut position.cursor, leaf.index()?)?;
    }
    if position.cursor.valid() {
        return Ok(None);
    }
    let is_last = matches!(target, SeekTarget::Last);
    skip_empty(blocks, position, if is_last { Direction::Backward } else { Direction::Forward })
}

/// Goes to the next entry in a direction.
pub(super) fn step<'a, G: KeepBlock<'a>>(
    blocks: &impl IndexBlocks<'a>,
    position: &mut PositionOf<G>,
    direction: Direction,
) -> Result<Option<NeededBlock>> {
    if let Some(leaf) = &position.leaf {
        direction.step(&mut position.cursor, leaf.index()?);
        position.cursor.status()?;
    }
    skip_empty(blocks, position, direction)
}

/// Past the end of a leaf, goes on in the next one.
#[inline]
pub(super) fn skip_empty<'a, G: KeepBlock<'a>>(
    blocks: &impl IndexBlocks<'a>,
    position: &mut PositionOf<G>,
    direction: Direction,
) -> Result<Option<NeededBlock>> {
    while !position.cursor.valid() {
        let Some((top, cursor)) = &mut position.top else { break };
        let mut next = cursor.clone();
        direction.step(&mut next, top.index()?);
        next.status()?;
        if !next.valid() {
            *cursor = next;
            break;
        }
        let leaf = block_or_return!(blocks.partition(top.index()?, &next, Step::Cross(direction)));
        *cursor = next;
        direction.begin(&mut position.cursor, leaf.index()?);
        position.cursor.status()?;
        position.leaf = Some(leaf);
    }
    Ok(None)
}
