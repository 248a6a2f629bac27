//! Checksums of the entries of a block in memory (`block_protection_bytes_per_key`).
//!
//! ```text
//! data block   | interval 0 | interval 1 | ... | restarts, hash index |    a sum of each, and one of what is behind
//! flat index   | entry 0 | entry 1 | ...                                   a sum of each
//! index        | interval 0 | interval 1 | ...                             a sum of each
//! ```
//!
//! The trailer of a stored block is verified when the block is loaded; a bit that turns over in memory after that is
//! seen by nothing else. The sums are taken from the bytes that were just verified. A cursor compares the sum of an
//! interval when it enters it, so that it shows no entry whose bytes changed since. A search also compares those of the
//! intervals on both sides of where it ends: the keys there are then what they were, so that a key which is not found
//! is not in the block, whatever the bisection read on its way.
//!
//! The sums are in memory alone, and go with the block. RocksDB keeps one, two, four or eight bytes for each key, and
//! compares them for each entry that it parses; it does not look at what a bisection reads. One sum of eight bytes for
//! an interval takes less memory from a restart interval of eight or nine on, whichever of these is asked for, and
//! covers the lengths of the entries too. A block that keeps its values apart has sums of the whole, which are compared
//! when a cursor is placed, and not as it goes on. Row bounds have no sums.

use ferrock_base::Error;
use ferrock_base::hash::hash64_with_seed;
use std::ops::Range;

/// The sums of the pieces of a block.
#[derive(Debug)]
pub(super) struct EntrySums(Box<[u64]>);

impl EntrySums {
    pub(super) fn new(sums: impl Iterator<Item = u64>) -> Self {
        Self(sums.collect())
    }

    /// True when the sum of a piece is what it was, or there is no such piece.
    pub(super) fn holds(&self, index: usize, now: impl FnOnce() -> u64) -> bool {
        self.0.get(index).is_none_or(|kept| *kept == now())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// The sum of a piece. A range that does not lie in the bytes has the sum of nothing.
pub(super) fn piece_sum(bytes: &[u8], index: usize, piece: Range<usize>) -> u64 {
    hash64_with_seed(bytes.get(piece).unwrap_or(&[]), index as u64)
}

/// The error of a piece of a block.
#[cold]
pub(super) fn changed_in_memory() -> Error {
    Error::corruption(
        "block: its entries changed in memory after they were loaded (block_protection_bytes_per_key): check the memory \
         of this machine; the block is loaded again once it has left the cache, the index of a table when it is opened",
    )
}
