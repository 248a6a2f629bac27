//! Tables as children of a merging iterator: what the iterator layer asks of tables, answered by the table cache.

use crate::iterator::{ChildIterator, LevelIterator, LevelSource, OpenedTable};
use crate::read::pinned::{Pin, PinValue};
use crate::table_cache::TableCache;
use crate::version::FileMetadata;
use ferrock_base::{InternalComparator, Result};
use ferrock_memtable::MemTableIter;
use ferrock_table::{BlockPin, TableIter, TableReadOptions};
use std::sync::Arc;

impl Pin for BlockPin {
    fn bytes(&self) -> &[u8] {
        self.value()
    }
}

impl PinValue for TableIter {
    type Pin = BlockPin;
    fn value_pin(&self) -> Option<BlockPin> {
        TableIter::value_pin(self)
    }
}

/// The files of a level and the cache they are opened through.
pub(crate) struct LevelTables {
    cache: Arc<TableCache>,
    files: Vec<Arc<FileMetadata>>,
    options: TableReadOptions,
    is_for_job: bool,
}

impl LevelSource for LevelTables {
    type Iter = TableIter;
    fn file_count(&self) -> usize {
        self.files.len()
    }
    fn smallest(&self, index: usize) -> &[u8] {
        self.files.get(index).map_or(&[], |file| &file.smallest)
    }
    fn largest(&self, index: usize) -> &[u8] {
        self.files.get(index).map_or(&[], |file| &file.largest)
    }
    fn open(&self, index: usize) -> Result<OpenedTable<TableIter>> {
        let file = self.files.get(index).ok_or_else(|| ferrock_base::Error::corruption("a level has no such file"))?;
        let table = if self.is_for_job { self.cache.get_for_job(file)? } else { self.cache.get(file)? };
        let tombstones = table.range_tombstones().cloned();
        Ok(OpenedTable { iter: table.iter(self.options), tombstones })
    }
}

/// Iterates over a sorted run of tables.
pub(crate) type TableLevelIterator = LevelIterator<LevelTables>;
/// A child of the iterator that users see.
pub(crate) type Child = ChildIterator<MemTableIter, LevelTables>;

/// An iterator over `files`, which are in key order and do not overlap.
pub(crate) fn table_level_iterator(
    cache: Arc<TableCache>,
    files: Vec<Arc<FileMetadata>>,
    order: InternalComparator,
    options: TableReadOptions,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
) -> TableLevelIterator {
    LevelIterator::new(LevelTables { cache, files, options, is_for_job: false }, order, lower, upper)
}

/// An iterator over all of `files`, for a compaction.
pub(crate) fn table_level_iterator_for_job(
    cache: Arc<TableCache>,
    files: Vec<Arc<FileMetadata>>,
    order: InternalComparator,
    options: TableReadOptions,
) -> TableLevelIterator {
    LevelIterator::new(LevelTables { cache, files, options, is_for_job: true }, order, None, None)
}
