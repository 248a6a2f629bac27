//! Tables as children of a merging iterator: the iterator layer's traits, implemented over the table cache.

use crate::iterator::{ChildIterator, LevelIterator, LevelSource, OpenedTable};
use crate::read::pinned::{Pin, PinValue};
use crate::table_cache::TableCache;
use crate::version::{FileMetadata, LevelFiles, Version};
use ferrock_base::{Error, ErrorKind, InternalComparator, Result};
use ferrock_memtable::MemTableIter;
use ferrock_statistics::{PerfLaps, PerfMetric, PerfTimer};
use ferrock_table::{ReadTier, ScanBounds, StoredInput, Table, TableIter, TableReadOptions, ValuePin};
use std::ops::Range;
use std::sync::Arc;

impl Pin for ValuePin {
    fn bytes(&self) -> &[u8] {
        self.value()
    }

    fn of_blob(pin: &ValuePin) -> Option<Self> {
        Some(pin.clone())
    }
}

impl PinValue for TableIter {
    type Pin = ValuePin;
    fn value_pin(&self) -> Option<ValuePin> {
        TableIter::value_pin(self)
    }
}

/// The files of a level and the cache they are opened through.
pub struct LevelTables {
    cache: Arc<TableCache>,
    files: LevelFiles,
    /// The version and the level that the files are of, where they are a sorted level as a whole.
    level: Option<(Arc<Version>, usize)>,
    /// The files that overlap the bounds.
    run: Range<usize>,
    options: TableReadOptions,
    bounds: Arc<ScanBounds>,
    is_for_job: bool,
    /// Where blocks of the files are kept for the builder of the job.
    stored: Option<StoredInput>,
}

impl LevelTables {
    /// The table of the file at `index`, opened where the options allow it.
    fn table(&self, index: usize) -> Result<Table> {
        let file = self.files.get(index).ok_or_else(|| Error::corruption("a level has no such file"))?;
        PerfTimer::time(PerfMetric::FindTableNanos, || {
            if self.is_for_job {
                self.cache.get_for_compaction(file)
            } else if self.options.read_tier == ReadTier::BlockCacheOnly || self.options.pauses {
                let kind = if self.options.pauses { ErrorKind::TryAgain } else { ErrorKind::Incomplete };
                let table = self.cache.get_if_open(file);
                table.ok_or_else(|| Error::new(kind, "the table is not open and the read may not open it"))
            } else {
                self.cache.get_for(file, self.options.activity)
            }
        })
    }
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
        let mut laps = PerfLaps::begin();
        let table = self.table(index)?;
        let tombstones = table.range_tombstones().cloned();
        let mut iter = table.iter_within(self.options, Arc::clone(&self.bounds));
        laps.lap(PerfMetric::NewTableIteratorNanos);
        if let Some(stored) = &self.stored {
            iter.keep_stored(stored);
        }
        Ok(OpenedTable { iter, tombstones })
    }
    fn reopen(&self, index: usize, former: TableIter) -> Result<OpenedTable<TableIter>> {
        let mut laps = PerfLaps::begin();
        let table = self.table(index)?;
        let tombstones = table.range_tombstones().cloned();
        let mut iter = table.iter_in_place_of(former, self.options, Arc::clone(&self.bounds));
        laps.lap(PerfMetric::NewTableIteratorNanos);
        if let Some(stored) = &self.stored {
            iter.keep_stored(stored);
        }
        Ok(OpenedTable { iter, tombstones })
    }
    fn run(&self) -> Range<usize> {
        self.run.clone()
    }
    fn stays_open(&self, index: usize) -> bool {
        self.files.get(index).is_some_and(|file| file.open_table().get().is_some())
    }
    fn set_pausing(&mut self, pauses: bool) {
        self.options.pauses = pauses;
    }
    fn set_bounds(&mut self, bounds: &Arc<ScanBounds>) {
        self.bounds = Arc::clone(bounds);
        if let Some((version, level)) = &self.level {
            self.run = version.file_runs(bounds.lower(), bounds.upper()).in_level(*level);
        }
    }
    fn add_collapsible_reads(&self, index: usize, reads: u64) {
        if let Some(file) = self.files.get(index) {
            file.add_collapsible_reads(reads);
        }
    }
}

/// Iterates over a sorted run of tables.
pub type TableLevelIterator = LevelIterator<LevelTables>;
/// A child of the iterator that users see.
pub type Child = ChildIterator<MemTableIter, LevelTables>;

/// An iterator over a sorted level, whose files `run` overlap the bounds.
pub fn table_level_iterator(
    cache: Arc<TableCache>,
    (version, level): (&Arc<Version>, usize),
    run: Range<usize>,
    options: TableReadOptions,
    bounds: Arc<ScanBounds>,
) -> TableLevelIterator {
    let (files, order) = (version.level_shared(level), version.comparator().clone());
    let level = Some((Arc::clone(version), level));
    let bounds_of_files = Arc::clone(&bounds);
    let source =
        LevelTables { cache, files, level, run, options, bounds: bounds_of_files, is_for_job: false, stored: None };
    LevelIterator::new(source, order, bounds)
}

/// An iterator over one file.
pub fn table_file_iterator(
    cache: Arc<TableCache>,
    file: &Arc<FileMetadata>,
    order: InternalComparator,
    options: TableReadOptions,
    bounds: Arc<ScanBounds>,
) -> TableLevelIterator {
    let (files, bounds_of_files) = (LevelFiles::from([Arc::clone(file)]), Arc::clone(&bounds));
    let (level, run) = (None, 0..1);
    let source =
        LevelTables { cache, files, level, run, options, bounds: bounds_of_files, is_for_job: false, stored: None };
    LevelIterator::new(source, order, bounds)
}

/// An iterator over all of `files`, for a compaction. `stored`: where their blocks are kept for its builder.
pub fn table_level_iterator_for_job(
    cache: Arc<TableCache>,
    files: Vec<Arc<FileMetadata>>,
    order: InternalComparator,
    options: TableReadOptions,
    stored: Option<StoredInput>,
) -> TableLevelIterator {
    let (run, files, level) = (0..files.len(), files.into(), None);
    let source = LevelTables { cache, files, level, run, options, bounds: Arc::default(), is_for_job: true, stored };
    LevelIterator::new(source, order, Arc::default())
}

#[cfg(test)]
mod tests;
