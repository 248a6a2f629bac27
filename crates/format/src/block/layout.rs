//! The regions of a block, found from its end and checked once.

use super::hash_index::HashIndex;
use ferrock_base::coding::get_fixed32;
use ferrock_base::{Error, Result};

pub(super) const HAS_HASH_INDEX: u32 = 1 << 31;
const RESERVED: u32 = 1 << 30;
pub(super) const IS_UNIFORM: u32 = 1 << 29;
pub(super) const HAS_SEPARATE_VALUES: u32 = 1 << 28;
const RESTART_COUNT: u32 = (1 << 28) - 1;

/// Where the parts of a block lie.
///
/// Invariants: `entries_end <= values_end <= block length`; restarts are strictly increasing from 0 and each lies
/// before `entries_end` (one at 0 may stand in an empty block); the hash index lies inside the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    pub(super) entries_end: usize,
    pub(super) values_end: usize,
    pub(super) restarts_at: usize,
    pub(super) restart_count: usize,
    pub(super) hash_index: Option<HashIndex>,
    pub(super) has_separate_values: bool,
    pub(super) is_uniform: bool,
}

impl BlockLayout {
    /// Finds and checks the regions of an uncompressed block.
    ///
    /// # Errors
    /// `Corruption` naming the offset when the last word has a reserved bit, or a region does not fit into the block.
    pub fn parse(block: &[u8]) -> Result<Self> {
        let fail = |what: &str, at: usize| Err(Error::corruption(format!("block: {what}")).at_offset(at as u64));
        let Some(packed_at) = block.len().checked_sub(4).filter(|_| u32::try_from(block.len()).is_ok()) else {
            return fail("impossible length", 0);
        };
        let packed = get_fixed32(block, packed_at).unwrap_or(0);
        if packed & RESERVED != 0 {
            return fail("a reserved bit is set in the last word", packed_at);
        }
        let mut end = packed_at;
        let mut values_offset = None;
        if packed & HAS_SEPARATE_VALUES != 0 {
            let Some(at) = end.checked_sub(4) else { return fail("no room for the values offset", packed_at) };
            values_offset = get_fixed32(block, at).map(|offset| offset as usize);
            end = at;
        }
        let mut hash_index = None;
        if packed & HAS_HASH_INDEX != 0 {
            let Some(index) = HashIndex::parse(block, end) else { return fail("malformed hash index", end) };
            end = index.start();
            hash_index = Some(index);
        }
        let restart_count = (packed & RESTART_COUNT) as usize;
        let Some(restarts_at) = restart_count.checked_mul(4).and_then(|bytes| end.checked_sub(bytes)) else {
            return fail("more restarts than fit", packed_at);
        };
        let mut entries_end = values_offset.unwrap_or(restarts_at);
        if entries_end > restarts_at {
            return fail("the values begin behind their end", packed_at);
        }
        if restart_count == 0 {
            entries_end = 0;
        }
        let layout = Self {
            entries_end,
            values_end: restarts_at,
            restarts_at,
            restart_count,
            hash_index,
            has_separate_values: values_offset.is_some(),
            is_uniform: packed & IS_UNIFORM != 0,
        };
        layout.check_restarts(block)?;
        Ok(layout)
    }

    fn check_restarts(&self, block: &[u8]) -> Result<()> {
        let mut previous = None;
        for (index, word) in block[self.restarts_at..].as_chunks::<4>().0.iter().take(self.restart_count).enumerate() {
            let offset = u32::from_le_bytes(*word) as usize;
            let in_order = match previous {
                None => offset == 0,
                Some(previous) => offset > previous && offset < self.entries_end,
            };
            if !in_order {
                let message = format!("block: restart {index} at {offset} is out of order or out of bounds");
                return Err(Error::corruption(message).at_offset((self.restarts_at + 4 * index) as u64));
            }
            previous = Some(offset);
        }
        Ok(())
    }

    /// Number of restarts.
    #[must_use]
    pub fn restart_count(&self) -> usize {
        self.restart_count
    }

    /// True when the block carries a hash index.
    #[must_use]
    pub fn has_hash_index(&self) -> bool {
        self.hash_index.is_some()
    }

    /// True when the values lie behind the keys.
    #[must_use]
    pub fn has_separate_values(&self) -> bool {
        self.has_separate_values
    }

    /// True when the writer found the restart keys evenly spread (a hint for interpolation search).
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// Offset of the entry at restart `index`; `entries_end` past the last.
    #[inline]
    pub(super) fn restart(&self, block: &[u8], index: usize) -> usize {
        if index >= self.restart_count {
            return self.entries_end;
        }
        get_fixed32(block, self.restarts_at + 4 * index).map_or(self.entries_end, |offset| offset as usize)
    }
}
