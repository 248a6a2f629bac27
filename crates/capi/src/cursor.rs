//! What an iterator of C goes over: a family of a database, one whose values have times, or one with a batch over it.

use ferrock::indexed_batch::IndexedIter;
use ferrock::ttl::TtlIter;
use ferrock::{Iter, Result};

/// See the head of the module. What is called most is first.
pub(crate) enum Cursor {
    /// A family as it is.
    Plain(Iter),
    /// A family of a database whose entries expire.
    Timed(TtlIter),
    /// A family as a batch will leave it.
    Indexed(Box<IndexedIter>),
}

/// The same call on either.
macro_rules! on_each {
    ($cursor:expr, $iter:ident => $call:expr) => {
        match $cursor {
            Cursor::Plain($iter) => $call,
            Cursor::Timed($iter) => $call,
            Cursor::Indexed($iter) => $call,
        }
    };
}

impl Cursor {
    #[inline]
    pub(crate) fn valid(&self) -> bool {
        on_each!(self, iter => iter.valid())
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        on_each!(self, iter => iter.key())
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        on_each!(self, iter => iter.value())
    }

    pub(crate) fn seek_to_first(&mut self) {
        on_each!(self, iter => iter.seek_to_first());
    }

    pub(crate) fn seek_to_last(&mut self) {
        on_each!(self, iter => iter.seek_to_last());
    }

    #[inline]
    pub(crate) fn seek(&mut self, key: &[u8]) {
        on_each!(self, iter => iter.seek(key));
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) {
        on_each!(self, iter => iter.seek_for_prev(key));
    }

    #[inline]
    pub(crate) fn next(&mut self) {
        on_each!(self, iter => iter.next());
    }

    #[inline]
    pub(crate) fn prev(&mut self) {
        on_each!(self, iter => iter.prev());
    }

    pub(crate) fn status(&self) -> Result<()> {
        on_each!(self, iter => iter.status())
    }
}
