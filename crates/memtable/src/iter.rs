//! The iterator over a memtable's point entries.

use crate::memtable::{MemTable, MemTableRep};
use crate::skiplist::{List, Place, Position};
use crate::sorted::SortedEntries;
use ferrock_base::comparator::Comparator;
use ferrock_base::error::{Error, Result};
use ferrock_base::internal_key::user_key;
use ferrock_base::iterator::InternalIterator;
use ferrock_base::prefix::PrefixExtractor;
use std::sync::Arc;

/// An iterator over the point entries of a memtable, which it keeps alive. In a skip list a step back costs a search, a
/// step forward does not.
#[derive(Clone, Debug)]
pub struct MemTableIter {
    // A position in `table`, which lives as long as the iterator.
    position: Position,
    path: Path,
    /// The value, in a memtable whose values are written over.
    copy: Option<Vec<u8>>,
    /// Entries are neither copied nor checked.
    is_plain: bool,
    /// What ended the iteration, until the iterator is placed again.
    error: Option<Error>,
    table: Arc<MemTable>,
}

/// How the iterator comes from an entry to the next one.
#[derive(Clone, Debug)]
enum Path {
    /// Along the links of the list of all entries.
    List,
    /// Along the links of the list of a bucket.
    Bucket(usize),
    /// To no entry: the Bloom filter has no entry of the prefix that is wanted.
    Nothing,
    /// Through an array, made when the iterator is first placed; with the index in it.
    Sorted(Option<Arc<SortedEntries>>, usize),
}

impl MemTable {
    /// An iterator over the point entries; it keeps the memtable alive, and sees every entry that was added before it
    /// was first placed. Entries that are added later may appear or not.
    #[must_use]
    pub fn iter(self: &Arc<Self>) -> MemTableIter {
        let copy = self.value_locks.as_ref().map(|_| Vec::new());
        MemTableIter {
            position: Position::default(),
            path: self.whole_path(),
            is_plain: copy.is_none() && !self.nodes.checks().is_any(),
            copy,
            error: None,
            table: self.clone(),
        }
    }

    fn whole_path(&self) -> Path {
        match &self.rep {
            MemTableRep::SkipList(_) => Path::List,
            MemTableRep::Hash(_) | MemTableRep::Vector(_) => Path::Sorted(None, 0),
        }
    }

    /// The path of an iterator that is limited to a prefix, if there is a shorter one than through everything: only
    /// where all keys between two of the prefix have it, too, and the memtable was made with the extractor that took
    /// it: that of a family may change.
    fn path_within(&self, by: &PrefixExtractor, prefix: &[u8]) -> Option<Path> {
        let extractor = match &self.rep {
            MemTableRep::Hash(lists) => lists.extractor(),
            _ => self.filtered_prefixes()?,
        };
        let by_bytes = matches!(self.comparator().user(), Comparator::Bytewise | Comparator::ReverseBytewise);
        if !by_bytes || extractor != by || !extractor.is_piece() || extractor.prefix(prefix) != Some(prefix) {
            return None;
        }
        // A prefix that is a piece of the key is its own prefix.
        match &self.rep {
            _ if !self.prefix_may_match(prefix) => Some(Path::Nothing),
            MemTableRep::Hash(lists) => Some(Path::Bucket(lists.bucket_of_prefix(Some(prefix)))),
            _ => None,
        }
    }
}

impl MemTableIter {
    /// The memtable.
    #[must_use]
    pub fn table(&self) -> &Arc<MemTable> {
        &self.table
    }

    /// Checks the entry if entries are checked, and copies its value under its lock if values are written over.
    #[inline]
    fn settle(&mut self) {
        if !self.is_plain {
            self.check_and_copy();
        }
    }

    #[cold]
    fn check_and_copy(&mut self) {
        let nodes = &self.table.nodes;
        let lock = self.table.value_locks.as_ref().zip(nodes.key(self.position));
        let reading = lock.map(|(locks, key)| locks.of(user_key(key)).read());
        if let Err(error) = nodes.check_entry(self.position) {
            (self.position, self.error) = (Position::default(), Some(error));
        }
        let nodes = &self.table.nodes;
        if let Some(copy) = &mut self.copy {
            copy.clear();
            copy.extend_from_slice(nodes.entry(self.position).map_or(&[], |(_, value)| value));
        }
        drop(reading);
    }

    /// The position that a checked step found, or none and the error.
    fn unless_failed(&mut self, found: Result<Position>) -> Position {
        found.unwrap_or_else(|error| {
            self.error = Some(error);
            Position::default()
        })
    }

    #[inline]
    fn is_checked(&self) -> bool {
        self.table.nodes.checks().is_any()
    }

    /// The list that the iterator follows, unless it goes through an array, or the list is empty.
    #[inline]
    fn list(&self) -> Option<List<'_>> {
        let nodes = &self.table.nodes;
        match (&self.table.rep, &self.path) {
            (MemTableRep::SkipList(list), _) => Some(list.list(nodes)),
            (MemTableRep::Hash(lists), Path::Bucket(bucket)) => lists.list(nodes, *bucket),
            _ => None,
        }
    }

    #[inline]
    fn go(&mut self, place: Place<'_>) {
        self.error = None;
        self.find(place);
        self.settle();
    }

    #[inline(never)]
    fn find(&mut self, place: Place<'_>) {
        match self.path {
            Path::Sorted(..) => return self.find_in_array(place),
            Path::Nothing => return self.position = Position::default(),
            Path::List | Path::Bucket(_) => {}
        }
        let nodes = &self.table.nodes;
        let found = match self.list() {
            None => Ok(Position::default()),
            Some(list) if nodes.checks().is_any() => nodes.find_checked(list, place),
            Some(list) => Ok(match place {
                Place::First => nodes.first(list),
                Place::Last => nodes.last(list),
                Place::AtOrAfter(target) => nodes.seek(list, target),
                Place::AtOrBefore(target) => nodes.seek_for_prev(list, target),
                Place::Before(target) => nodes.last_before(list, target),
            }),
        };
        self.position = self.unless_failed(found);
    }

    /// The next entry on a path that is not the usual one.
    #[inline(never)]
    fn next_otherwise(&mut self) {
        let is_checked = self.is_checked();
        match &mut self.path {
            Path::Sorted(Some(entries), index) if self.position.is_some() => {
                *index += 1;
                self.position = entries.get(*index);
            }
            _ if is_checked => {
                let next = self.table.nodes.next_checked(self.position);
                self.position = self.unless_failed(next);
            }
            _ => self.position = self.table.nodes.next(self.position),
        }
        self.settle();
    }

    fn find_in_array(&mut self, place: Place<'_>) {
        let Path::Sorted(array, index) = &mut self.path else { return };
        let nodes = &self.table.nodes;
        if array.is_none() {
            *array = self.table.rep.sorted(nodes);
        }
        let Some(entries) = array else { return };
        *index = match place {
            Place::First => 0,
            Place::Last => entries.len().wrapping_sub(1),
            Place::AtOrAfter(target) => entries.count_before(nodes, target),
            Place::AtOrBefore(target) => entries.last_up_to(nodes, target),
            Place::Before(target) => entries.count_before(nodes, target).wrapping_sub(1),
        };
        self.position = entries.get(*index);
        if nodes.checks().is_any()
            && let Err(error) = entries.check_place(nodes, *index)
        {
            (self.position, self.error) = (Position::default(), Some(error));
        }
    }
}

impl InternalIterator for MemTableIter {
    #[inline]
    fn valid(&self) -> bool {
        self.position.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.table.nodes.key(self.position).unwrap_or_default()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match &self.copy {
            None => self.table.nodes.value(self.position).unwrap_or_default(),
            Some(copy) => copy,
        }
    }

    fn seek_to_first(&mut self) {
        self.go(Place::First);
    }

    fn seek_to_last(&mut self) {
        self.go(Place::Last);
    }

    fn seek(&mut self, target: &[u8]) {
        match &self.table.rep {
            MemTableRep::SkipList(list) if self.is_plain && matches!(self.path, Path::List) => {
                let nodes = &self.table.nodes;
                self.position = nodes.seek(list.list(nodes), target);
            }
            _ => self.go(Place::AtOrAfter(target)),
        }
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.go(Place::AtOrBefore(target));
    }

    #[inline]
    fn next(&mut self) {
        match self.path {
            Path::List if self.is_plain => self.position = self.table.nodes.next(self.position),
            _ => self.next_otherwise(),
        }
    }

    fn prev(&mut self) {
        match &mut self.path {
            Path::Sorted(Some(entries), index) if self.position.is_some() => {
                *index = index.wrapping_sub(1);
                self.position = entries.get(*index);
            }
            _ => {
                let nodes = &self.table.nodes;
                let found = match (self.list(), nodes.key(self.position)) {
                    (Some(list), Some(key)) if self.is_checked() => nodes.find_checked(list, Place::Before(key)),
                    (Some(list), Some(key)) => Ok(nodes.last_before(list, key)),
                    _ => Ok(Position::default()),
                };
                self.position = self.unless_failed(found);
            }
        }
        self.settle();
    }

    fn status(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// In a hash table of lists, an iterator that is limited to a prefix follows one list; one whose prefix a Bloom
    /// filter does not have finds nothing.
    fn limit_to_prefix(&mut self, prefix: Option<(&PrefixExtractor, &[u8])>) {
        match prefix.and_then(|(extractor, prefix)| self.table.path_within(extractor, prefix)) {
            Some(path) => self.path = path,
            None if matches!(self.path, Path::Bucket(_) | Path::Nothing) => self.path = self.table.whole_path(),
            None => return,
        }
        (self.position, self.error) = (Position::default(), None);
        self.settle();
    }
}
