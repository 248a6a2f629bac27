//! Values of tables of any kind, kept in place.

use crate::blocks::{BlockPin, PinnedBlock};
#[cfg(any(test, feature = "test-kinds"))]
use crate::entries_table::EntryPin;
use crate::plain::{PlainPin, PlainValue};
use std::ops::Deref;

/// Where the value lies that a lookup visits.
#[derive(Clone, Copy, Debug)]
pub enum ValueSource<'a> {
    /// In a block.
    Block(&'a PinnedBlock<'a>),
    /// In a plain table.
    Plain(PlainValue<'a>),
    /// In a table of tests.
    #[cfg(any(test, feature = "test-kinds"))]
    Entries(&'a EntryPin),
}

impl ValueSource<'_> {
    /// Keeps the value readable after the lookup: one reference count, no copy.
    #[inline]
    #[must_use]
    pub fn pin(self) -> ValuePin {
        match self {
            Self::Block(block) => ValuePin::Block(block.pin()),
            Self::Plain(value) => ValuePin::Plain(value.pin()),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(entry) => ValuePin::Entries(entry.clone()),
        }
    }
}

/// A value kept in place in its table.
#[derive(Clone, Debug)]
pub enum ValuePin {
    /// In a block.
    Block(BlockPin),
    /// In a plain table.
    Plain(PlainPin),
    /// In a table of tests.
    #[cfg(any(test, feature = "test-kinds"))]
    Entries(EntryPin),
}

impl ValuePin {
    /// The value.
    #[inline]
    #[must_use]
    pub fn value(&self) -> &[u8] {
        match self {
            Self::Block(pin) => pin.value(),
            Self::Plain(pin) => pin.value(),
            #[cfg(any(test, feature = "test-kinds"))]
            Self::Entries(pin) => pin.value(),
        }
    }
}

impl Deref for ValuePin {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.value()
    }
}
