//! Gathers row bounds as blocks end; writes a side block behind each index block, and the directory of them.

use super::block_writer::BlockWriter;
use super::strings::Strings;
use ferrock_base::internal_key::user_key;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{InternalComparator, Result};
use ferrock_format::block::{bound_between, encode_row_bounds, encode_row_bounds_directory};
use ferrock_format::handle::BlockHandle;
use std::ops::Range;

/// The row bounds of a table, as it fills.
#[derive(Debug)]
pub(super) struct RowBoundsLog {
    extractor: Option<PrefixExtractor>,
    /// First user key of the open block.
    first: Vec<u8>,
    /// User keys, one for each block that has begun.
    bounds: Strings,
    /// For each block that has ended: whether its separator has the user key of its last row.
    are_exact: Vec<bool>,
    sides: Vec<BlockHandle>,
    written_bytes: u64,
}

impl RowBoundsLog {
    pub(super) fn new(extractor: Option<&PrefixExtractor>) -> Self {
        Self {
            extractor: extractor.cloned(),
            first: Vec::new(),
            bounds: Strings::default(),
            are_exact: Vec::new(),
            sides: Vec::new(),
            written_bytes: 0,
        }
    }

    /// True when the open block has keys of one prefix alone, up to `last`, and the next one begins with another.
    /// Lookups behind the last row of a large partition, or before its first, are more frequent than lookups between
    /// other keys, so there both the separator and the bound are whole keys.
    pub(super) fn ends_prefix(&self, last: &[u8], next: Option<&[u8]>) -> bool {
        let (Some(extractor), Some(next)) = (&self.extractor, next) else { return false };
        let prefix = extractor.prefix(user_key(last));
        prefix != extractor.prefix(user_key(next)) && prefix == extractor.prefix(&self.first)
    }

    /// Notes that the table begins with this key.
    pub(super) fn begin(&mut self, comparator: &InternalComparator, first: &[u8]) {
        self.bounds.push(&bound_between(comparator.user(), None, user_key(first)));
        self.first.extend_from_slice(user_key(first));
    }

    /// Notes the end of a block, and where the next one begins. All are internal keys.
    pub(super) fn end_block(
        &mut self,
        comparator: &InternalComparator,
        separator: &[u8],
        last: &[u8],
        next: Option<&[u8]>,
        ends_prefix: bool,
    ) {
        self.are_exact.push(comparator.user().equal(user_key(separator), user_key(last)));
        if let Some(next) = next {
            let last = Some(user_key(last)).filter(|_| !ends_prefix);
            self.first.clear();
            self.first.extend_from_slice(user_key(next));
            self.bounds.push(&bound_between(comparator.user(), last, user_key(next)));
        }
    }

    pub(super) fn estimated_size(&self) -> u64 {
        (self.are_exact.len() * 5) as u64
    }

    /// The side block of the index block with these entries.
    pub(super) fn encode(&self, entries: Range<usize>) -> Vec<u8> {
        encode_row_bounds(entries.map(|entry| (self.bounds.get(entry), self.are_exact[entry])))
    }

    /// Writes a side block directly behind its index block.
    pub(super) fn write_side(&mut self, side: &[u8], writer: &mut BlockWriter) -> Result<()> {
        self.sides.push(writer.write_raw(side)?);
        self.written_bytes += side.len() as u64;
        Ok(())
    }

    /// Writes the directory; its handle, and the bytes of all that was written without trailers.
    pub(super) fn write_directory(&mut self, writer: &mut BlockWriter) -> Result<(BlockHandle, u64)> {
        let directory = encode_row_bounds_directory(&self.sides);
        let handle = writer.write_raw(&directory)?;
        Ok((handle, self.written_bytes + directory.len() as u64))
    }
}
