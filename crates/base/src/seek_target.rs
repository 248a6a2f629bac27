//! The target of a placement: what the four seeks of an [`InternalIterator`] have in common.

use crate::iterator::InternalIterator;

/// Where an iterator is to go.
///
/// ```
/// use ferrock_base::iterator::{EmptyIterator, InternalIterator};
/// use ferrock_base::SeekTarget;
/// let mut iterator = EmptyIterator::default();
/// SeekTarget::First.apply(&mut iterator);
/// assert!(!iterator.valid());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTarget<'a> {
    /// To the first entry.
    First,
    /// To the last entry.
    Last,
    /// To the first entry at or after an internal key.
    AtOrAfter(&'a [u8]),
    /// To the last entry at or before an internal key.
    AtOrBefore(&'a [u8]),
}

impl<'a> SeekTarget<'a> {
    /// The internal key of the target.
    #[must_use]
    pub fn target(self) -> Option<&'a [u8]> {
        match self {
            Self::First | Self::Last => None,
            Self::AtOrAfter(target) | Self::AtOrBefore(target) => Some(target),
        }
    }

    /// True for a backward scan.
    #[must_use]
    pub fn is_backward(self) -> bool {
        matches!(self, Self::Last | Self::AtOrBefore(_))
    }

    /// Positions `iterator` at the target.
    #[inline]
    pub fn apply<I: InternalIterator>(self, iterator: &mut I) {
        match self {
            Self::First => iterator.seek_to_first(),
            Self::Last => iterator.seek_to_last(),
            Self::AtOrAfter(target) => iterator.seek(target),
            Self::AtOrBefore(target) => iterator.seek_for_prev(target),
        }
    }
}

/// A [`SeekTarget`] that borrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnedSeekTarget {
    target: Option<Vec<u8>>,
    is_backward: bool,
}

impl OwnedSeekTarget {
    /// A copy of a target.
    #[must_use]
    pub fn new(target: SeekTarget<'_>) -> Self {
        Self { target: target.target().map(<[u8]>::to_vec), is_backward: target.is_backward() }
    }

    /// The target.
    #[must_use]
    pub fn place(&self) -> SeekTarget<'_> {
        match (&self.target, self.is_backward) {
            (None, false) => SeekTarget::First,
            (None, true) => SeekTarget::Last,
            (Some(target), false) => SeekTarget::AtOrAfter(target),
            (Some(target), true) => SeekTarget::AtOrBefore(target),
        }
    }
}
