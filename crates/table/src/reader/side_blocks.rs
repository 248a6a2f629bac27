//! Which index blocks have row bounds in a side block directly behind them.
//!
//! ```text
//! [index partition][side block]      one read brings both; see row_bounds
//! ```

use ferrock_base::{Error, Result};
use ferrock_format::block::decode_row_bounds_directory;
use ferrock_format::handle::BlockHandle;

/// Which index partitions have a side block directly behind them.
#[derive(Debug, Default)]
pub(crate) struct SideBlocks {
    /// Offset of the partition and payload bytes of its side block, by offset.
    by_partition: Vec<(u64, u64)>,
}

impl SideBlocks {
    /// The side blocks that the bytes of a directory name, of a table with these index partitions.
    pub(crate) fn of_directory(directory: &[u8], partitions: &[BlockHandle], blocks_end: u64) -> Result<Self> {
        match decode_row_bounds_directory(directory)? {
            Some(sides) => Self::new(partitions, &sides, blocks_end),
            None => Ok(Self::default()),
        }
    }

    /// Pairs the partitions with the handles of a decoded directory. A side block that is not directly behind its
    /// partition is left out: reading it would cost a request.
    fn new(partitions: &[BlockHandle], sides: &[BlockHandle], blocks_end: u64) -> Result<Self> {
        if partitions.len() != sides.len() {
            let (sides, partitions) = (sides.len(), partitions.len());
            return Err(Error::corruption(format!(
                "row bounds of {sides} index partitions in a table of {partitions}"
            )));
        }
        let mut by_partition = Vec::with_capacity(sides.len());
        for (partition, side) in partitions.iter().zip(sides) {
            if !side.is_null() && partition.end_with_trailer() == Some(side.offset) {
                side.checked_len_with_trailer(blocks_end)?;
                by_partition.push((partition.offset, side.size));
            }
        }
        by_partition.sort_unstable();
        by_partition.dedup_by_key(|pair| pair.0);
        // Side blocks must not overlap partitions: otherwise a small file could make a reader hold its size many times.
        let mut begins: Vec<u64> = partitions.iter().map(|partition| partition.offset).collect();
        begins.sort_unstable();
        for (partition, side) in partitions.iter().zip(sides) {
            let next = begins.partition_point(|&begin| begin <= partition.offset);
            let is_held = by_partition.binary_search_by_key(&partition.offset, |pair| pair.0).is_ok();
            if is_held && begins.get(next).is_some_and(|&next| side.end_with_trailer().is_none_or(|end| end > next)) {
                return Err(Error::corruption("row bounds overlap an index partition").at_offset(side.offset));
            }
        }
        Ok(Self { by_partition })
    }

    /// The side block of an index partition.
    pub(crate) fn behind(&self, partition: BlockHandle) -> Option<BlockHandle> {
        let index = self.by_partition.binary_search_by_key(&partition.offset, |pair| pair.0).ok()?;
        Some(BlockHandle::new(partition.end_with_trailer()?, self.by_partition[index].1))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_partition.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.by_partition.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_blocks_elsewhere_are_left_out() {
        let partitions = [BlockHandle::new(0, 95), BlockHandle::new(200, 95), BlockHandle::new(400, 95)];
        let sides = [BlockHandle::new(100, 20), BlockHandle::new(1000, 20), BlockHandle::NULL];
        let known = SideBlocks::new(&partitions, &sides, 2000).unwrap();
        assert_eq!(partitions.map(|partition| known.behind(partition)), [Some(sides[0]), None, None]);
        assert!(SideBlocks::new(&partitions, &sides[..2], 2000).unwrap_err().is_corruption());
        assert!(SideBlocks::new(&partitions, &sides, 120).unwrap_err().is_corruption());
    }
}
