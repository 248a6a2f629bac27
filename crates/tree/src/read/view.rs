//! Which versions of a key a read sees.
//!
//! A search begins at [`ReadView::newest`]: memtables and tables order the versions of a key by sequence number, so
//! the seek itself passes over what is newer. What it then finds is asked for with [`ReadView::hides`]. A view of a
//! sequence number hides none of that, and the question compiles to nothing; a view that leaves versions out (those of
//! transactions that are prepared and not committed) is a second variant here, and nothing of a search or an iterator
//! changes.
//!
//! Invariant: a range tombstone is seen by its sequence number alone. A kind of write that a view can hide must refuse
//! range deletions, as RocksDB's prepared transactions do.

use ferrock_base::types::SequenceNumber;
#[cfg(test)]
use std::collections::BTreeSet;
#[cfg(test)]
use std::sync::Arc;

/// The versions that a read sees.
#[derive(Clone, Debug)]
pub enum ReadView {
    /// Those whose sequence numbers are at most this one.
    UpTo(SequenceNumber),
    /// The same without those of some sequence numbers.
    #[cfg(test)]
    Without(SequenceNumber, Arc<BTreeSet<u64>>),
}

impl ReadView {
    /// The newest sequence number that the read can see: where a search begins.
    #[inline]
    #[must_use]
    pub fn newest(&self) -> SequenceNumber {
        match self {
            Self::UpTo(newest) => *newest,
            #[cfg(test)]
            Self::Without(newest, _) => *newest,
        }
    }

    /// True if the read does not see a version that is not newer than [`newest`](Self::newest).
    #[inline]
    #[must_use]
    pub fn hides(&self, sequence: SequenceNumber) -> bool {
        match self {
            Self::UpTo(_) => {
                let _ = sequence;
                false
            }
            #[cfg(test)]
            Self::Without(_, hidden) => hidden.contains(&sequence.0),
        }
    }

    /// True if the read sees the version with this sequence number.
    #[inline]
    #[must_use]
    pub fn sees(&self, sequence: SequenceNumber) -> bool {
        sequence <= self.newest() && !self.hides(sequence)
    }
}
