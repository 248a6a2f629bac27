//! Where in the file the blocks of a scan lie, as far as the index in memory tells. Nothing is read for it.
//!
//! ```text
//! forward    |=== block ===|======|======|======| . . . . . .
//!            ^ current                          ^ sure
//! backward   . . . . . . . |======|======|======|=== block ===|
//!                          ^ sure                             ^ end of the current block
//! ```
//!
//! What lies between the current block and `sure` belongs to the scan: to read it is at most early. What lies behind it
//! may belong to the scan or not, and is never read: where the other bound is found in a partition that is in memory,
//! the scan ends at `sure`; otherwise the next partition tells how it goes on, and a scan that comes there needs it
//! anyway.

use super::index_position::OwnedPosition;
use super::resident_index::ResidentIndex;
use super::scan_bounds::BoundKey;
use crate::adaptive::NEAR_BYTES;
use ferrock_base::Result;
use ferrock_base::internal_key::user_key;
use ferrock_format::block::{IndexBlock, IndexCursor};
use ferrock_format::handle::BlockHandle;

/// The far end of a scan, seen from its current block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Everything up to this offset belongs to the scan.
    pub(crate) sure: u64,
    /// The scan has a bound at this end, and it was found: nothing behind `sure` belongs to the scan. Or the bound's
    /// partition is not in memory, but so few partitions away that the scan is assumed to reach it.
    pub(crate) is_exact: bool,
}

impl Extent {
    fn exact(at: u64) -> Self {
        Self { sure: at, is_exact: true }
    }

    /// The extent of a scan without a bound, which may go on to the end of the data, and may stop anywhere.
    pub(crate) fn unbounded(at: u64) -> Self {
        Self { sure: at, is_exact: false }
    }
}

fn end_of(handle: BlockHandle) -> u64 {
    handle.end_with_trailer().unwrap_or(handle.offset)
}

fn last_end(index: &IndexBlock) -> Option<u64> {
    let mut cursor = IndexCursor::new();
    cursor.seek_to_last(index);
    cursor.valid().then(|| end_of(cursor.entry(index).handle))
}

/// True when the partitions from the cursor to `last` are few.
fn are_near(
    top: &IndexBlock,
    cursor: &mut IndexCursor,
    last: BlockHandle,
    step: impl Fn(&mut IndexCursor, &IndexBlock),
) -> bool {
    let mut bytes = 0u64;
    while cursor.valid() {
        let handle = cursor.entry(top).handle;
        bytes = bytes.saturating_add(handle.size);
        if bytes > NEAR_BYTES {
            return false;
        }
        if handle == last {
            return true;
        }
        step(cursor, top);
    }
    false
}

/// True when the row bounds say that no row of the block at the cursor is before `upper`.
fn begins_at_or_after(
    resident: &ResidentIndex<'_>,
    index: &IndexBlock,
    cursor: &IndexCursor,
    upper: &BoundKey,
) -> bool {
    let order = resident.loader.comparator().user();
    cursor.row_bound(index).is_some_and(|bound| order.compare(upper.user_key(), bound.key()).is_le())
}

/// Where a scan up to `upper` ends, whose last block is the one at the cursor, or the one before it when that begins
/// too late.
fn end_of_needed(resident: &ResidentIndex<'_>, index: &IndexBlock, last: &IndexCursor, upper: &BoundKey) -> u64 {
    let mut needed = last.clone();
    if begins_at_or_after(resident, index, last, upper) {
        needed.prev(index);
    }
    end_of(if needed.valid() { needed.entry(index).handle } else { last.entry(index).handle })
}

impl OwnedPosition {
    /// The extent of a scan that goes forward from the current block up to `upper`. `data_end`: no data block ends
    /// behind it.
    pub(crate) fn forward_extent(
        &self,
        resident: &ResidentIndex<'_>,
        upper: Option<&BoundKey>,
        data_end: u64,
    ) -> Result<Extent> {
        let (Some(upper), Some((leaf, _))) = (upper, self.leaf_entry()) else { return Ok(Extent::unbounded(data_end)) };
        let (leaf, order) = (leaf.index()?, resident.loader.comparator());
        let target = upper.end_target(resident.loader.decoder().separators_are_exact());
        let mut last = IndexCursor::new();
        last.seek(leaf, order, target);
        if last.valid() {
            return Ok(Extent::exact(end_of_needed(resident, leaf, &last, upper)));
        }
        let sure = last_end(leaf).unwrap_or(data_end);
        let (Some((top, top_cursor)), Some(partitions)) = (self.top_entry(), resident.index.partitions()) else {
            return Ok(Extent::exact(sure));
        };
        let top = top.index()?;
        last.seek(top, order, target);
        if !last.valid() {
            last.seek_to_last(top);
        }
        let last_handle = last.entry(top).handle;
        if let Some(block) = partitions.peek(resident.loader, last_handle) {
            let index = block.index()?;
            let mut at = IndexCursor::new();
            at.seek(index, order, target);
            let end = if at.valid() { Some(end_of_needed(resident, index, &at, upper)) } else { last_end(index) };
            return Ok(Extent::exact(end.unwrap_or(sure)));
        }
        let mut sure = sure;
        let mut at = top_cursor.clone();
        loop {
            at.next(top);
            if !at.valid() || at.entry(top).handle == last_handle {
                break;
            }
            let Some(block) = partitions.peek(resident.loader, at.entry(top).handle) else { break };
            sure = last_end(block.index()?).unwrap_or(sure);
        }
        let mut at = top_cursor.clone();
        Ok(Extent { sure, is_exact: are_near(top, &mut at, last_handle, IndexCursor::next) })
    }

    /// The extent of a scan that goes back from the current block down to `lower`.
    pub(crate) fn backward_extent(&self, resident: &ResidentIndex<'_>, lower: Option<&BoundKey>) -> Result<Extent> {
        let (Some(lower), Some((leaf, _))) = (lower, self.leaf_entry()) else { return Ok(Extent::unbounded(0)) };
        let (leaf, order) = (leaf.index()?, resident.loader.comparator());
        let first_of = |index: &IndexBlock, target: Option<&[u8]>| {
            let mut cursor = IndexCursor::new();
            match target {
                Some(target) => cursor.seek(index, order, target),
                None => cursor.seek_to_first(index),
            }
            cursor.valid().then(|| cursor.entry(index).handle.offset)
        };
        let begins_here = match self.top_entry() {
            None => true,
            Some((top, cursor)) => {
                let top = top.index()?;
                let mut first = IndexCursor::new();
                first.seek(top, order, lower.target());
                !first.valid() || first.entry(top).handle == cursor.entry(top).handle
            }
        };
        if begins_here {
            return Ok(Extent::exact(first_of(leaf, Some(lower.target())).unwrap_or(0)));
        }
        let sure = first_of(leaf, None).unwrap_or(0);
        let (Some((top, top_cursor)), Some(partitions)) = (self.top_entry(), resident.index.partitions()) else {
            return Ok(Extent::exact(sure));
        };
        let top = top.index()?;
        let mut first = IndexCursor::new();
        first.seek(top, order, lower.target());
        let first_handle = first.entry(top).handle;
        if let Some(block) = partitions.peek(resident.loader, first_handle) {
            let start = first_of(block.index()?, Some(lower.target())).unwrap_or(sure);
            return Ok(Extent::exact(start));
        }
        let mut sure = sure;
        let mut at = top_cursor.clone();
        loop {
            at.prev(top);
            if !at.valid() || at.entry(top).handle == first_handle {
                break;
            }
            let Some(block) = partitions.peek(resident.loader, at.entry(top).handle) else { break };
            sure = first_of(block.index()?, None).unwrap_or(sure);
        }
        let mut at = top_cursor.clone();
        Ok(Extent { sure, is_exact: are_near(top, &mut at, first_handle, IndexCursor::prev) })
    }

    /// True when the row bounds say that no row of the current block is before `upper`.
    pub(crate) fn begins_at_or_after(&self, resident: &ResidentIndex<'_>, upper: &BoundKey) -> Result<bool> {
        let rows = self.rows(resident.loader.comparator().user())?;
        Ok(rows.is_some_and(|rows| rows.begins_at_or_after(upper.user_key())))
    }

    /// True when the row bounds say that every row of the current block is behind `user_key`.
    pub(crate) fn begins_after_key(&self, resident: &ResidentIndex<'_>, user_key: &[u8]) -> Result<bool> {
        let rows = self.rows(resident.loader.comparator().user())?;
        Ok(rows.is_some_and(|rows| rows.begins_after(user_key)))
    }

    /// True when everything behind the current block is at or behind `upper`.
    pub(crate) fn ends_before(
        &self,
        resident: &ResidentIndex<'_>,
        upper: &BoundKey,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some((leaf, cursor)) = self.leaf_entry() else { return Ok(false) };
        cursor.key_into(leaf.index()?, scratch);
        let separator = resident.loader.decoder().separator_user_key(scratch);
        let end = user_key(upper.end_target(resident.loader.decoder().separators_are_exact()));
        if resident.loader.comparator().user().compare(separator, end).is_ge() {
            return Ok(true);
        }
        let index = leaf.index()?;
        let mut next = cursor.clone();
        next.next(index);
        Ok(begins_at_or_after(resident, index, &next, upper))
    }

    /// True when everything up to the end of the current block is before `lower`.
    pub(crate) fn ends_below(
        &self,
        resident: &ResidentIndex<'_>,
        lower: &BoundKey,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some((leaf, cursor)) = self.leaf_entry() else { return Ok(false) };
        cursor.key_into(leaf.index()?, scratch);
        let separator = resident.loader.decoder().separator_user_key(scratch);
        Ok(resident.loader.comparator().user().compare(separator, lower.user_key()).is_lt())
    }

    /// True when everything before the current block is before `lower`.
    pub(crate) fn begins_after(
        &self,
        resident: &ResidentIndex<'_>,
        lower: &BoundKey,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let separator = self.previous_separator(resident, scratch)?;
        let order = resident.loader.comparator().user();
        Ok(separator.is_some_and(|separator| order.compare(separator, lower.user_key()).is_lt()))
    }

    /// True when the current block has nothing before `upper`, as the one before it already ends there.
    pub(crate) fn follows_end(
        &self,
        resident: &ResidentIndex<'_>,
        upper: &BoundKey,
        scratch: &mut Vec<u8>,
    ) -> Result<bool> {
        let separator = self.previous_separator(resident, scratch)?;
        let end = user_key(upper.end_target(resident.loader.decoder().separators_are_exact()));
        let order = resident.loader.comparator().user();
        if separator.is_some_and(|separator| order.compare(separator, end).is_ge()) {
            return Ok(true);
        }
        self.begins_at_or_after(resident, upper)
    }

    /// The user key of the separator before the current block; `None` for the first block.
    pub(super) fn previous_separator<'k>(
        &self,
        resident: &ResidentIndex<'_>,
        scratch: &'k mut Vec<u8>,
    ) -> Result<Option<&'k [u8]>> {
        let Some((leaf, cursor)) = self.leaf_entry() else { return Ok(None) };
        let mut index = leaf.index()?;
        let mut previous = cursor.clone();
        previous.prev(index);
        previous.status()?;
        if !previous.valid() {
            // The last separator of a partition is its key in the top level.
            let Some((top, cursor)) = self.top_entry() else { return Ok(None) };
            index = top.index()?;
            previous = cursor.clone();
            previous.prev(index);
            previous.status()?;
        }
        if !previous.valid() {
            return Ok(None);
        }
        previous.key_into(index, scratch);
        Ok(Some(resident.loader.decoder().separator_user_key(scratch)))
    }
}
