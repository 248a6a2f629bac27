//! Places that an index names.

use ferrock_base::Result;
use ferrock_format::plain_table::Offsets;

/// Places to begin reading at, in the order of the keys there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Starts<'a> {
    OfBucket(Offsets<'a>),
    OfTable(&'a [u32]),
}

impl Starts<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::OfBucket(offsets) => offsets.len(),
            Self::OfTable(offsets) => offsets.len(),
        }
    }

    #[inline]
    pub(super) fn get(self, position: usize) -> Option<usize> {
        let offset = match self {
            Self::OfBucket(offsets) => offsets.get(position),
            Self::OfTable(offsets) => offsets.get(position).copied(),
        };
        offset.map(|offset| offset as usize)
    }

    /// The number of starts that `is_before` holds for, which are the first ones.
    #[inline]
    pub(super) fn partition_point(self, mut is_before: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(start) = self.get(middle) else { break };
            if is_before(start)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The last start before an offset; 0 if there is none, which every table begins with.
    pub(super) fn before(self, offset: usize) -> Result<usize> {
        let count = self.partition_point(|start| Ok(start < offset))?;
        Ok(count.checked_sub(1).and_then(|last| self.get(last)).unwrap_or(0))
    }
}
