//! The direction of a scan.

use ferrock_base::SeekTarget;
use ferrock_format::block::{IndexBlock, IndexCursor};

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// That of a scan that is placed at a target.
    #[inline]
    pub(crate) fn from_target(target: SeekTarget<'_>) -> Self {
        if target.is_backward() { Self::Backward } else { Self::Forward }
    }

    #[inline]
    pub(crate) fn is_backward(self) -> bool {
        self == Self::Backward
    }

    /// Moves a cursor to the next entry in this direction.
    #[inline]
    pub(crate) fn step(self, cursor: &mut IndexCursor, index: &IndexBlock) {
        match self {
            Self::Forward => cursor.next(index),
            Self::Backward => cursor.prev(index),
        }
    }

    /// Moves a cursor to the first entry in this direction.
    pub(crate) fn begin(self, cursor: &mut IndexCursor, index: &IndexBlock) {
        match self {
            Self::Forward => cursor.seek_to_first(index),
            Self::Backward => cursor.seek_to_last(index),
        }
    }
}

/// The movement for which an index position needs a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Seek,
    /// From one partition to the next.
    Cross(Direction),
}
