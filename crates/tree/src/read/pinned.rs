//! Values that outlive the read that found them.

use ferrock_table::ValuePin;
use std::fmt;
use std::ops::{Deref, Range};

/// Keeps the bytes that a value lies in alive and unmoved: a handle on a cached block.
pub trait Pin: Clone + Send + Sync + 'static {
    /// All bytes kept.
    fn bytes(&self) -> &[u8];

    /// The handle for a value of a blob file that is kept in place; `None`: such a value is copied.
    fn of_blob(_pin: &ValuePin) -> Option<Self> {
        None
    }
}

/// For sources whose values are always copied.
#[derive(Clone, Copy, Debug)]
pub enum NoPin {}

impl Pin for NoPin {
    fn bytes(&self) -> &[u8] {
        match *self {}
    }
}

impl Pin for std::sync::Arc<Vec<u8>> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A source of entries that can keep the value it stands on alive.
pub trait PinValue {
    /// The handle.
    type Pin: Pin;
    /// Keeps the current value's bytes; `None` when the value has to be copied.
    fn value_pin(&self) -> Option<Self::Pin>;
}

impl PinValue for ferrock_base::iterator::VecIterator {
    type Pin = NoPin;
    fn value_pin(&self) -> Option<NoPin> {
        None
    }
}

/// A value: a copy, or a part of a pinned block that is not copied.
#[derive(Clone)]
pub enum PinnedValue<P> {
    /// A copy.
    Owned(Vec<u8>),
    /// A part of a pinned block.
    Pinned(P, Range<usize>),
}

impl<P: Pin> PinnedValue<P> {
    /// Pins `value` where it lies when it is part of the bytes that `pin` keeps, and copies it otherwise.
    pub fn new(value: &[u8], pin: Option<P>) -> Self {
        if let Some(pin) = pin {
            let bytes = pin.bytes();
            let start = (value.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
            if let Some(end) = start.checked_add(value.len())
                && end <= bytes.len()
            {
                return Self::Pinned(pin, start..end);
            }
        }
        Self::Owned(value.to_vec())
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Pinned(pin, range) => pin.bytes().get(range.clone()).unwrap_or_default(),
        }
    }

    /// How many bytes there are.
    #[inline]
    #[must_use]
    pub fn byte_len(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Pinned(_, range) => range.len(),
        }
    }

    /// The bytes as a vector of their own; copies what is pinned.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Pinned(..) => self.as_slice().to_vec(),
        }
    }

    /// The first `length` bytes, or all if there are fewer; nothing is copied.
    #[must_use]
    pub fn truncated(self, length: usize) -> Self {
        match self {
            Self::Owned(mut bytes) => {
                bytes.truncate(length);
                Self::Owned(bytes)
            }
            Self::Pinned(pin, range) => {
                let end = range.end.min(range.start.saturating_add(length));
                Self::Pinned(pin, range.start..end)
            }
        }
    }

    /// True when nothing was copied.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        matches!(self, Self::Pinned(..))
    }
}

impl<P> From<Vec<u8>> for PinnedValue<P> {
    fn from(value: Vec<u8>) -> Self {
        Self::Owned(value)
    }
}

impl<P: Pin> Deref for PinnedValue<P> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl<P: Pin> AsRef<[u8]> for PinnedValue<P> {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl<P: Pin> fmt::Debug for PinnedValue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_slice().escape_ascii())
    }
}

impl<P: Pin, T: AsRef<[u8]> + ?Sized> PartialEq<T> for PinnedValue<P> {
    fn eq(&self, other: &T) -> bool {
        self.as_slice() == other.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn only_what_lies_in_the_block_is_pinned() {
        let block = Arc::new(b"0123456789".to_vec());
        let inside = PinnedValue::new(&block[3..5], Some(block.clone()));
        assert!(inside.is_pinned());
        assert_eq!(inside, b"34");
        let outside = PinnedValue::new(b"34", Some(block));
        assert!(!outside.is_pinned());
        assert_eq!(outside, b"34");
        assert_eq!((inside.clone().truncated(1), outside.truncated(1)), (inside.truncated(1), b"3".to_vec().into()));
    }
}
