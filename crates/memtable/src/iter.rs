//! The iterator over a memtable's point entries.

use crate::memtable::MemTable;
use crate::skiplist::Position;
use ferrock_base::error::Result;
use ferrock_base::iterator::InternalIterator;
use std::sync::Arc;

/// An iterator over the point entries of a memtable, which it keeps alive. A step back costs a search, a step forward
/// does not.
#[derive(Clone)]
pub struct MemTableIter {
    // A position in `table`, which lives as long as the iterator.
    position: Position,
    table: Arc<MemTable>,
}

impl MemTable {
    /// An iterator over the point entries; it keeps the memtable alive, and sees entries that are added at later
    /// positions.
    #[must_use]
    pub fn iter(self: &Arc<Self>) -> MemTableIter {
        MemTableIter { position: Position::default(), table: self.clone() }
    }
}

impl MemTableIter {
    /// The memtable.
    #[must_use]
    pub fn table(&self) -> &Arc<MemTable> {
        &self.table
    }
}

impl InternalIterator for MemTableIter {
    #[inline]
    fn valid(&self) -> bool {
        self.position.is_some()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.table.list().key(self.position).unwrap_or_default()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.table.entry(self.position).map_or(&[], |(_, value)| value)
    }

    fn seek_to_first(&mut self) {
        self.position = self.table.list().first();
    }

    fn seek_to_last(&mut self) {
        self.position = self.table.list().last();
    }

    fn seek(&mut self, target: &[u8]) {
        self.position = self.table.list().seek(target);
    }

    fn seek_for_prev(&mut self, target: &[u8]) {
        self.position = self.table.list().seek_for_prev(target);
    }

    #[inline]
    fn next(&mut self) {
        self.position = self.table.list().next(self.position);
    }

    fn prev(&mut self) {
        self.position = self.table.list().prev(self.position);
    }

    fn status(&self) -> Result<()> {
        Ok(())
    }
}
