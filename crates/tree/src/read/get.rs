//! A point lookup in progress.
//!
//! ```text
//! memtable -> immutable memtables -> level 0 newest first -> level 1 -> ...
//!     |             |                       |
//!     +-------------+-----------------------+----> GetContext: not found -> (merging) -> found | deleted
//! ```
//!
//! Each source first reports its newest covering range tombstone, then its entries of the key, newest first, until the
//! context says that it has seen enough. No entry of the key in a source is newer than one in a source before it, so
//! the tombstones collected so far are all that can hide an entry.
//!
//! A source is a memtable or a file. A covering tombstone is older than what comes behind it in two cases only: entries
//! of the same source, and entries of the files with which the key goes on in the same level. Other sources behind it
//! are older in whole, so only such files are still asked:
//! [`Candidates::next_newer_than`](crate::version::Candidates::next_newer_than).
//!
//! A value in a blob file ends the search as any other does. The context has its index then, and the code that finishes
//! the lookup fetches it: at once, or as a future.

use super::merge::{MergeBase, Visible, full_merge, out_of_reach, visible};
use super::pinned::{Pin, PinnedValue};
use super::sampling;
use super::view::ReadView;
use crate::version::{Candidates, FileMetadata};
use ferrock_base::merge::MergeOperator;
use ferrock_base::types::{SequenceNumber, ValueType};
use ferrock_base::{Error, Result};
use std::sync::Arc;

/// The progress of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupState {
    /// Nothing of the key seen.
    NotFound,
    /// Merge operands seen and nothing to merge them with yet.
    Merging,
    /// The value is known.
    Found,
    /// The value, or what lies under the operands, is in a blob file.
    InBlob,
    /// The newest version is a tombstone.
    Deleted,
    /// The lookup failed.
    Failed,
}

/// Resolves the versions of one user key into its value.
#[derive(Debug)]
pub struct GetContext<'a, P: Pin> {
    user_key: &'a [u8],
    view: ReadView,
    merge_operator: Option<&'a (dyn MergeOperator + 'static)>,
    state: LookupState,
    covering: Option<SequenceNumber>,
    /// The value; for one in a blob file, its index.
    value: Option<PinnedValue<P>>,
    /// Newest first.
    operands: Vec<PinnedValue<P>>,
    error: Option<Error>,
    /// No entry but values, operands and tombstones was added.
    is_plain: bool,
    /// The files that it searches count it.
    is_sampled: bool,
    /// The level of the file that is searched; [`NO_LEVEL`] before the first.
    level: u8,
}

const NO_LEVEL: u8 = u8::MAX;

/// The state of an unfinished lookup, without borrows.
#[derive(Debug)]
pub struct SuspendedGet<P: Pin> {
    view: ReadView,
    covering: Option<SequenceNumber>,
    operands: Vec<PinnedValue<P>>,
    is_sampled: bool,
}

impl<'a, P: Pin> GetContext<'a, P> {
    /// Begins the lookup of what `view` sees of `user_key`.
    #[inline]
    #[must_use]
    pub fn new(user_key: &'a [u8], view: ReadView, merge_operator: Option<&'a (dyn MergeOperator + 'static)>) -> Self {
        Self {
            user_key,
            view,
            merge_operator,
            state: LookupState::NotFound,
            covering: None,
            value: None,
            operands: Vec::new(),
            error: None,
            is_plain: true,
            is_sampled: false,
            level: NO_LEVEL,
        }
    }

    /// Says which level is searched now.
    #[inline]
    pub fn enter_level(&mut self, level: usize) {
        // There are far fewer levels.
        self.level = level as u8;
    }

    /// The level that has the value, when it is in a table.
    #[must_use]
    pub fn hit_level(&self) -> Option<usize> {
        let is_found = matches!(self.state, LookupState::Found | LookupState::InBlob);
        (is_found && self.level != NO_LEVEL).then_some(usize::from(self.level))
    }

    /// Operands that were seen.
    #[must_use]
    pub fn num_operands(&self) -> usize {
        self.operands.len()
    }

    /// True as long as the result comes from values, operands and tombstones, and from no entry of another type.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Takes the state of a lookup that is to be resumed later. To be called while it is not done, or waits for a blob.
    pub fn suspend(&mut self) -> SuspendedGet<P> {
        debug_assert!(!self.is_done() || self.state == LookupState::InBlob);
        self.state = LookupState::NotFound;
        SuspendedGet {
            view: self.view.clone(),
            covering: self.covering.take(),
            operands: std::mem::take(&mut self.operands),
            is_sampled: self.is_sampled,
        }
    }

    /// Continues the lookup of `user_key` from the state taken by [`suspend`](Self::suspend).
    #[must_use]
    pub fn resume(
        user_key: &'a [u8],
        merge_operator: Option<&'a (dyn MergeOperator + 'static)>,
        found: SuspendedGet<P>,
    ) -> Self {
        let SuspendedGet { view, covering, operands, is_sampled } = found;
        let state = if operands.is_empty() { LookupState::NotFound } else { LookupState::Merging };
        Self { state, covering, operands, is_sampled, ..Self::new(user_key, view, merge_operator) }
    }

    /// Decides whether the files that the lookup searches count it: see [`sampling`].
    pub fn draw_sample(&mut self) {
        self.is_sampled = sampling::takes_lookup();
    }

    /// To be called when a file was searched in full.
    #[inline]
    pub fn note_searched(&self, file: &FileMetadata) {
        if self.is_sampled && !matches!(self.state, LookupState::Found | LookupState::InBlob | LookupState::Failed) {
            file.add_collapsible_reads(sampling::READS_PER_SAMPLE);
        }
    }

    /// The newest sequence number that the lookup can see.
    #[inline]
    #[must_use]
    pub fn newest(&self) -> SequenceNumber {
        self.view.newest()
    }

    /// The key looked up.
    #[must_use]
    pub fn user_key(&self) -> &'a [u8] {
        self.user_key
    }

    /// True when older sources cannot change the result.
    #[inline]
    #[must_use]
    pub fn is_done(&self) -> bool {
        !matches!(self.state, LookupState::NotFound | LookupState::Merging)
    }

    /// True if the tables have to be searched after the memtables.
    #[inline]
    #[must_use]
    pub fn needs_tables(&self) -> bool {
        !self.is_done() && self.covering.is_none()
    }

    /// The next file to search, after a memtable or file was searched in full. Behind a range tombstone over the key
    /// that is only one that can have newer entries than the tombstone.
    #[inline]
    #[must_use]
    pub fn next_file<'v>(&mut self, candidates: &mut Candidates<'v>) -> Option<&'v Arc<FileMetadata>> {
        if self.is_done() || self.covering.is_some() {
            return self.next_file_at_the_end(candidates);
        }
        let (level, file) = candidates.next()?;
        self.enter_level(level);
        Some(file)
    }

    /// [`Self::next_file`] of a lookup that is done or under a tombstone, out of the way of the others.
    #[cold]
    fn next_file_at_the_end<'v>(&self, candidates: &mut Candidates<'v>) -> Option<&'v Arc<FileMetadata>> {
        let covering = self.covering.filter(|_| !self.is_done())?;
        candidates.next_newer_than(covering)
    }

    /// Records the newest range tombstone of the next source over the key (visible to the reader, truncated to the
    /// file). To be called before the source's entries are added.
    #[inline]
    pub fn add_covering_tombstone(&mut self, sequence: Option<SequenceNumber>) {
        self.covering = self.covering.max(sequence);
    }

    /// Adds the next older entry of the key. `pin` keeps `value` alive where the source can; it is asked only for
    /// values that are needed. True: go on to the next older entry.
    #[inline]
    pub fn add(
        &mut self,
        sequence: SequenceNumber,
        value_type: ValueType,
        value: &[u8],
        pin: impl FnOnce() -> Option<P>,
    ) -> bool {
        if self.is_done() {
            return false;
        }
        if self.view.hides(sequence) {
            return true;
        }
        if self.covering.is_some_and(|covering| covering > sequence) {
            return self.end_of_history();
        }
        match value_type {
            ValueType::Value if self.state == LookupState::NotFound => {
                self.value = Some(PinnedValue::new(value, pin()));
                self.state = LookupState::Found;
                false
            }
            ValueType::Merge => {
                self.state = LookupState::Merging;
                self.operands.push(PinnedValue::new(value, pin()));
                true
            }
            ValueType::Deletion | ValueType::SingleDeletion | ValueType::DeletionWithTimestamp => self.end_of_history(),
            _ => {
                if let Err(error) = self.add_base(value_type, value, pin) {
                    self.fail(error);
                }
                false
            }
        }
    }

    /// The lookup ends here with `error`; the first error stays.
    #[cold]
    pub fn fail(&mut self, error: Error) {
        self.state = LookupState::Failed;
        self.error.get_or_insert(error);
    }

    fn add_base(&mut self, value_type: ValueType, value: &[u8], pin: impl FnOnce() -> Option<P>) -> Result<()> {
        self.is_plain &= value_type == ValueType::Value;
        match visible(value_type, value)? {
            Visible::Value(base) if self.state == LookupState::Merging => return self.merge(MergeBase::Value(base)),
            Visible::Value(value) => {
                self.value = Some(PinnedValue::new(value, pin()));
                self.state = LookupState::Found;
            }
            Visible::InBlob(index) => {
                self.value = Some(PinnedValue::new(index, pin()));
                self.state = LookupState::InBlob;
            }
        }
        Ok(())
    }

    /// The index of the blob that the lookup ended at, until it is [supplied](Self::supply_blob).
    #[inline]
    #[must_use]
    pub fn blob_index(&self) -> Option<&PinnedValue<P>> {
        self.value.as_ref().filter(|_| self.state == LookupState::InBlob)
    }

    /// Fetches the blob that the lookup ended at, if it did.
    #[inline]
    pub fn fetch_blob(&mut self, fetch: impl FnOnce(&[u8]) -> Result<PinnedValue<P>>) {
        if let Some(index) = self.blob_index() {
            let blob = fetch(index);
            self.supply_blob(blob);
        }
    }

    /// Takes the blob: the value, or the base of the operands.
    #[cold]
    pub fn supply_blob(&mut self, blob: Result<PinnedValue<P>>) {
        let merged = match blob {
            Ok(base) if !self.operands.is_empty() => self.merge(MergeBase::Value(&base)),
            Ok(value) => {
                self.value = Some(value);
                self.state = LookupState::Found;
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = merged {
            self.fail(error);
        }
    }

    /// Ends the lookup, as older entries cannot matter. Always false: no need to go on.
    fn end_of_history(&mut self) -> bool {
        if self.state == LookupState::Merging {
            if let Err(error) = self.merge(MergeBase::None) {
                self.fail(error);
            }
        } else {
            self.state = LookupState::Deleted;
        }
        false
    }

    fn merge(&mut self, base: MergeBase<'_>) -> Result<()> {
        let operands: Vec<&[u8]> = self.operands.iter().rev().map(PinnedValue::as_slice).collect();
        let mut out = Vec::new();
        full_merge(self.merge_operator, self.user_key, base, &operands, &mut out)?;
        self.value = Some(PinnedValue::Owned(out));
        self.state = LookupState::Found;
        Ok(())
    }

    /// The result, after every source was asked or [`is_done`](Self::is_done) said that no more need be.
    ///
    /// # Errors
    /// The error of a source or of the merge operator; `NotSupported` for a blob that was not supplied.
    #[inline]
    pub fn finish(mut self) -> Result<Option<PinnedValue<P>>> {
        if self.state == LookupState::Merging {
            self.end_of_history();
        }
        match self.error {
            Some(error) => Err(error),
            None if self.state == LookupState::InBlob => Err(out_of_reach()),
            None => Ok(self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::FetchBlob;
    use crate::blob::fake::FakeBlobs;
    use ferrock_base::ErrorKind;
    use ferrock_base::merge::StringAppend;
    use ferrock_base::types::{MAX_SEQUENCE_NUMBER, ValueType as T};
    use ferrock_format::wide_column::encode_entity;

    const ALL: ReadView = ReadView::UpTo(MAX_SEQUENCE_NUMBER);

    fn get(covering: Option<u64>, entries: &[(u64, T, &[u8])]) -> Result<Option<Vec<u8>>> {
        get_in(ALL, covering, entries)
    }

    fn get_in(view: ReadView, covering: Option<u64>, entries: &[(u64, T, &[u8])]) -> Result<Option<Vec<u8>>> {
        let operator = StringAppend::default();
        let mut context = GetContext::<Arc<Vec<u8>>>::new(b"k", view, Some(&operator));
        context.add_covering_tombstone(covering.map(SequenceNumber));
        for &(sequence, value_type, value) in entries {
            if !context.add(SequenceNumber(sequence), value_type, value, || None) {
                assert!(context.is_done());
                break;
            }
        }
        context.fetch_blob(|index| FakeBlobs.fetch(b"k", index).map(|value| value.into_vec().into()));
        Ok(context.finish()?.map(PinnedValue::into_vec))
    }

    fn value(covering: Option<u64>, entries: &[(u64, T, &[u8])]) -> Option<String> {
        get(covering, entries).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn versions_resolve() {
        let entity = encode_entity(&[(b"", b"d"), (b"c", b"v")]).unwrap();
        let bare = encode_entity(&[(b"c", b"v")]).unwrap();
        assert_eq!(value(None, &[]), None);
        assert_eq!(value(None, &[(3, T::Value, b"p"), (2, T::Value, b"q")]).as_deref(), Some("p"));
        assert_eq!(value(None, &[(3, T::Deletion, b""), (2, T::Value, b"q")]), None);
        assert_eq!(value(None, &[(3, T::SingleDeletion, b""), (2, T::Value, b"q")]), None);
        let merged = [(3, T::Merge, &b"b"[..]), (2, T::Merge, b"a"), (1, T::Value, b"p")];
        assert_eq!(value(None, &merged).as_deref(), Some("p,a,b"));
        assert_eq!(value(Some(2), &merged).as_deref(), Some("a,b"));
        assert_eq!(value(Some(3), &merged).as_deref(), Some("b"));
        assert_eq!(value(Some(4), &merged), None);
        assert_eq!(value(None, &merged[..2]).as_deref(), Some("a,b"));
        assert_eq!(value(None, &[(3, T::Merge, b"b"), (2, T::Deletion, b"")]).as_deref(), Some("b"));
        assert_eq!(value(None, &[(3, T::WideColumnEntity, &entity)]).as_deref(), Some("d"));
        assert_eq!(value(None, &[(3, T::WideColumnEntity, &bare)]).as_deref(), Some(""));
        assert_eq!(value(None, &[(4, T::Merge, b"x"), (3, T::WideColumnEntity, &bare)]).as_deref(), Some(",x"));
        assert_eq!(value(None, &[(3, T::ValuePreferredSeqno, b"tp12345678")]).as_deref(), Some("tp"));
        let over_timed: [(u64, T, &[u8]); 2] = [(4, T::Merge, b"x"), (3, T::ValuePreferredSeqno, b"tp12345678")];
        assert_eq!(value(None, &over_timed).as_deref(), Some("tp,x"));
    }

    #[test]
    fn a_blob_ends_the_search_and_is_fetched_last() {
        assert_eq!(value(None, &[(3, T::BlobIndex, b"i"), (2, T::Value, b"q")]).as_deref(), Some("blob of k at i"));
        let merged = [(4, T::Merge, &b"x"[..]), (3, T::BlobIndex, b"i"), (2, T::Value, b"q")];
        assert_eq!(value(None, &merged).as_deref(), Some("blob of k at i,x"));
        assert_eq!(value(Some(3), &merged).as_deref(), Some("blob of k at i,x"), "the tombstone is as old as the blob");
        assert_eq!(value(Some(4), &merged).as_deref(), Some("x"), "the tombstone hides it, and nothing is fetched");
        let operator = StringAppend::default();
        let mut context = GetContext::<Arc<Vec<u8>>>::new(b"k", ALL, Some(&operator));
        assert!(context.add(SequenceNumber(4), T::Merge, b"x", || None));
        assert!(!context.add(SequenceNumber(3), T::BlobIndex, b"i", || None));
        assert_eq!(context.blob_index().map(PinnedValue::as_slice), Some(&b"i"[..]));
        let found = context.suspend();
        let mut context = GetContext::resume(b"k", Some(&operator as &dyn MergeOperator), found);
        context.supply_blob(Ok(b"base".to_vec().into()));
        assert_eq!(context.finish().unwrap().unwrap(), b"base,x");
    }

    #[test]
    fn failures_are_said() {
        let mut context = GetContext::<Arc<Vec<u8>>>::new(b"k", ALL, None);
        assert!(!context.add(SequenceNumber(1), T::BlobIndex, b"i", || None));
        assert_eq!(context.finish().unwrap_err().kind(), ErrorKind::NotSupported, "an index is no value");
        assert!(get(None, &[(3, T::BlobIndex, b"bad")]).unwrap_err().is_corruption());
        assert!(get(None, &[(4, T::Merge, b"x"), (3, T::BlobIndex, b"bad")]).unwrap_err().is_corruption());
        assert!(get(None, &[(3, T::ValuePreferredSeqno, b"short")]).unwrap_err().is_corruption());
        assert!(get(None, &[(3, T::WideColumnEntity, b"\xff")]).unwrap_err().is_corruption());
        assert!(get(None, &[(3, T::Noop, b"")]).unwrap_err().is_corruption());
        let mut context = GetContext::<Arc<Vec<u8>>>::new(b"k", ALL, None);
        assert!(context.add(SequenceNumber(1), T::Merge, b"x", || None));
        assert_eq!(context.finish().unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn a_covering_tombstone_hides_what_is_older_than_itself() {
        let operator = StringAppend::default();
        let mut context = GetContext::<Arc<Vec<u8>>>::new(b"k", ALL, Some(&operator));
        context.add_covering_tombstone(Some(SequenceNumber(5)));
        assert!(!context.is_done(), "the source's own entries may be newer");
        assert!(context.add(SequenceNumber(7), T::Merge, b"x", || None));
        assert!(context.add(SequenceNumber(6), T::Merge, b"w", || None), "the next file of the level may be newer");
        assert!(!context.add(SequenceNumber(4), T::Value, b"v", || None));
        assert_eq!(context.finish().unwrap().unwrap(), b"w,x");
    }

    #[test]
    fn a_value_in_a_block_is_not_copied() {
        let block = Arc::new(b"..value..12345678".to_vec());
        let mut context = GetContext::new(b"k", ALL, None);
        context.add(SequenceNumber(1), T::Value, &block[2..7], || Some(block.clone()));
        let value = context.finish().unwrap().unwrap();
        assert!(value.is_pinned());
        assert_eq!(value, b"value");
    }

    #[test]
    fn a_view_hides_versions() {
        let entries: &[(u64, T, &[u8])] =
            &[(9, T::Deletion, b""), (7, T::Merge, b"c"), (5, T::Value, b"b"), (3, T::Value, b"a")];
        let without = |hidden: &[u64]| {
            let view = ReadView::Without(SequenceNumber(9), Arc::new(hidden.iter().copied().collect()));
            get_in(view, None, entries).unwrap().map(|value| String::from_utf8(value).unwrap())
        };
        assert_eq!(without(&[]), None);
        assert_eq!(without(&[9]).as_deref(), Some("b,c"));
        assert_eq!(without(&[7, 9]).as_deref(), Some("b"));
        assert_eq!(without(&[5, 9]).as_deref(), Some("a,c"));
        assert_eq!(without(&[3, 5, 7, 9]), None);
    }
}
