//! The iterator over a memtable's point entries.

use crate::memtable::{MemTable, MemTableRep};
use crate::skiplist::{List, Position};
use crate::sorted::SortedEntries;
use ferrock_base::comparator::Comparator;
use ferrock_base::error::Result;
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
        MemTableIter { position: Position::default(), path: self.whole_path(), copy, table: self.clone() }
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

/// Where an iterator is to go.
#[derive(Clone, Copy)]
enum Place<'a> {
    First,
    Last,
    AtOrAfter(&'a [u8]),
    AtOrBefore(&'a [u8]),
}

impl MemTableIter {
    /// The memtable.
    #[must_use]
    pub fn table(&self) -> &Arc<MemTable> {
        &self.table
    }

    /// Copies the value under its lock, if values are written over.
    #[inline]
    fn settle(&mut self) {
        if self.copy.is_some() {
            self.copy_value();
        }
    }

    #[cold]
    fn copy_value(&mut self) {
        let (Some(copy), Some(locks)) = (&mut self.copy, &self.table.value_locks) else { return };
        copy.clear();
        let Some(key) = self.table.nodes.key(self.position) else { return };
        let _reading = locks.of(user_key(key)).read();
        copy.extend_from_slice(self.table.nodes.entry(self.position).map_or(&[], |(_, value)| value));
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
        self.position = self.list().map_or_else(Position::default, |list| match place {
            Place::First => nodes.first(list),
            Place::Last => nodes.last(list),
            Place::AtOrAfter(target) => nodes.seek(list, target),
            Place::AtOrBefore(target) => nodes.seek_for_prev(list, target),
        });
    }

    /// The next entry on a path that is not the usual one.
    #[inline(never)]
    fn next_otherwise(&mut self) {
        match &mut self.path {
            Path::Sorted(Some(entries), index) if self.position.is_some() => {
                *index += 1;
                self.position = entries.get(*index);
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
        };
        self.position = entries.get(*index);
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
            None => self.table.nodes.entry(self.position).map_or(&[], |(_, value)| value),
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
            MemTableRep::SkipList(list) if self.copy.is_none() && matches!(self.path, Path::List) => {
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
            Path::List if self.copy.is_none() => self.position = self.table.nodes.next(self.position),
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
                let position = self.list().map(|list| self.table.nodes.prev(list, self.position));
                self.position = position.unwrap_or_default();
            }
        }
        self.settle();
    }

    fn status(&self) -> Result<()> {
        Ok(())
    }

    /// In a hash table of lists, an iterator that is limited to a prefix follows one list; one whose prefix a Bloom
    /// filter does not have finds nothing.
    fn limit_to_prefix(&mut self, prefix: Option<(&PrefixExtractor, &[u8])>) {
        match prefix.and_then(|(extractor, prefix)| self.table.path_within(extractor, prefix)) {
            Some(path) => self.path = path,
            None if matches!(self.path, Path::Bucket(_) | Path::Nothing) => self.path = self.table.whole_path(),
            None => return,
        }
        self.position = Position::default();
        self.settle();
    }
}
