//! The search for a key in one data block.

use crate::blocks::{BlockRef, PinnedBlock};
use crate::reader::block_loader::BlockLoader;
use ferrock_base::internal_key::user_key;
use ferrock_base::{ParsedInternalKey, Result};

/// How a search within one block ended.
pub(super) enum Outcome {
    /// The visitor stopped, or the block holds larger keys: no more entries can follow.
    Done,
    /// The block ended; older entries of the key may be in the next one.
    EndOfBlock,
}

/// Visits the entries of the target's user key in one block. In the first block the search starts at the target;
/// where it goes on in another, at the beginning.
///
/// With user keys in the index, a user key never spans two blocks, so the end of the block is the end of the
/// search.
#[inline]
pub(super) fn search_block(
    loader: &BlockLoader,
    block: &BlockRef,
    block_offset: u64,
    target: &[u8],
    is_first: bool,
    visit: &mut impl FnMut(ParsedInternalKey<'_>, &[u8], &PinnedBlock<'_>) -> bool,
) -> Result<Outcome> {
    let data = block.data().map_err(|error| loader.in_file(error.at_offset(block_offset)))?;
    let comparator = loader.comparator();
    let mut cursor = loader.decoder().data_cursor();
    if is_first {
        cursor.seek_for_get(data, comparator, target);
    } else {
        cursor.seek(data, comparator, target);
    }
    while cursor.valid() {
        let key = cursor.key(data);
        if !comparator.user().equal(user_key(key), user_key(target)) {
            return Ok(Outcome::Done);
        }
        let pinned = PinnedBlock { block, value: cursor.value_range() };
        if !visit(ParsedInternalKey::parse(key)?, cursor.value(data), &pinned) {
            return Ok(Outcome::Done);
        }
        cursor.next(data);
    }
    cursor.status().map_err(|error| loader.in_file(error.offset_by(block_offset)))?;
    Ok(Outcome::EndOfBlock)
}
