//! A read that a scan has planned and that its driver makes.

use super::direction::Direction;
use super::near_partitions::PartitionRun;
use super::resident::NeededBlock;
use ferrock_vfs::ReadClass;
use std::ops::Range;

/// A read that a scan has planned: make it, with those of other scans, and
/// [`supply`](super::BlockTableIter::supply) its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRead {
    pub(super) range: Range<u64>,
    pub(super) purpose: Purpose,
}

/// What a planned read is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Index(PartitionRun),
    Data(Direction),
    /// Another block, which is kept where the table keeps blocks of its role.
    Block(NeededBlock),
}

impl PlannedRead {
    pub(super) fn index(run: PartitionRun) -> Self {
        Self { range: run.range(), purpose: Purpose::Index(run) }
    }

    /// Bytes of a window.
    pub(super) fn data(range: Range<u64>, direction: Direction) -> Self {
        Self { range, purpose: Purpose::Data(direction) }
    }

    /// A block of `length` bytes.
    pub(super) fn block(needed: NeededBlock, length: usize) -> Self {
        let start = needed.handle.offset;
        Self { range: start..start + length as u64, purpose: Purpose::Block(needed) }
    }

    /// Where it begins in the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.range.start
    }

    /// Bytes to read.
    #[must_use]
    pub fn length(&self) -> usize {
        usize::try_from(self.range.end - self.range.start).unwrap_or(usize::MAX)
    }

    /// Where data is to be read.
    pub(super) fn data_range(&self) -> Option<&Range<u64>> {
        Some(&self.range).filter(|_| matches!(self.purpose, Purpose::Data(_)))
    }

    /// What the file layer counts it as.
    #[must_use]
    pub fn class(&self) -> ReadClass {
        match self.purpose {
            Purpose::Index(_) => ReadClass::Index,
            Purpose::Data(_) => ReadClass::Data,
            Purpose::Block(needed) => needed.role.read_class(),
        }
    }
}
