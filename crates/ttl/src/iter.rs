//! Iterators over values without their times.

use crate::suffix::{SUFFIX_SIZE_BYTES, checked_time};
use ferrock_base::Result;
use ferrock_engine::{Iter, PinnedSlice};

/// Iterates over the keys of a family of a [`TtlDb`](crate::TtlDb), as [`Iter`] does, with values as they were put.
///
/// ```
/// # fn main() -> ferrock::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let mut options = ferrock::DbOptions::default();
/// # options.create_if_missing = true;
/// # let db = ferrock::ttl::TtlDb::open(directory.path(), options, None)?;
/// db.put(b"key", b"value")?;
/// let mut iter = db.iter(&ferrock::ReadOptions::default());
/// iter.seek_to_first();
/// assert_eq!((iter.key(), iter.value()), (&b"key"[..], &b"value"[..]));
/// println!("written at {} s", iter.time_secs());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TtlIter {
    iter: Iter,
    family: String,
    /// What the iterator stands on: its time, or what is wrong with it.
    time: Result<u32>,
}

impl TtlIter {
    pub(crate) fn new(iter: Iter, family: &str) -> Self {
        Self { iter, family: family.to_owned(), time: Ok(0) }
    }

    fn place(&mut self, go: impl FnOnce(&mut Iter)) {
        go(&mut self.iter);
        let is_on_entry = self.iter.valid();
        let check = || checked_time(self.iter.value(), &self.family, self.iter.key());
        self.time = if is_on_entry { check() } else { Ok(0) };
    }

    /// True when positioned on a key. When false, [`status`](Self::status) tells whether the end or an error was met.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.iter.valid() && self.time.is_ok()
    }

    /// The key; empty when not valid. Good until the iterator moves.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        if self.valid() { self.iter.key() } else { &[] }
    }

    /// The value, without its time; empty when not valid. Good until the iterator moves.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        let stored = if self.valid() { self.iter.value() } else { &[] };
        &stored[..stored.len().saturating_sub(SUFFIX_SIZE_BYTES)]
    }

    /// The value, kept: without a copy when it lies in a cached block.
    #[must_use]
    pub fn pin_value(&self) -> PinnedSlice {
        let length = self.value().len();
        self.iter.pin_value().truncated(length)
    }

    /// When the value was written, in unix seconds; of merged operands, when they were merged. 0 when not valid.
    #[must_use]
    pub fn time_secs(&self) -> u32 {
        if self.valid() { self.time.as_ref().copied().unwrap_or_default() } else { 0 }
    }

    /// Goes to the first key within the bounds.
    pub fn seek_to_first(&mut self) {
        self.place(Iter::seek_to_first);
    }

    /// Goes to the last key within the bounds.
    pub fn seek_to_last(&mut self) {
        self.place(Iter::seek_to_last);
    }

    /// Goes to the first key at or after `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.place(|iter| iter.seek(key));
    }

    /// Goes to the last key at or before `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        self.place(|iter| iter.seek_for_prev(key));
    }

    /// Goes to the next key. Does nothing when not valid.
    pub fn next(&mut self) {
        if self.valid() {
            self.place(Iter::next);
        }
    }

    /// Goes to the previous key. Does nothing when not valid.
    pub fn prev(&mut self) {
        if self.valid() {
            self.place(Iter::prev);
        }
    }

    /// The error that ended the iteration, if one did.
    ///
    /// # Errors
    /// Those of [`Iter::status`], and `Corruption` naming the key whose value has no time.
    pub fn status(&self) -> Result<()> {
        self.iter.status()?;
        self.time.clone().map(drop)
    }
}
