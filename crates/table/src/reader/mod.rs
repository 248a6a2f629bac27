//! Reads one block-based table.
//!
//! A reader is opened once and shared; nothing in it changes afterwards except partitions that are kept when they are
//! first read. Data blocks come through the shared block cache when there is one.

mod block_loader;
mod contents;
mod exclusion;
mod extent;
mod filter_miss_rate;
mod filter_reader;
mod get;
mod index_reader;
mod inspect;
mod iter;
mod limited;
mod meta_source;
mod multi_get;
mod near_partitions;
mod open;
mod pausing;
mod placement;
mod read_history;
mod read_options;
mod readahead;
mod row_bounds;
mod scan_bounds;
mod scan_estimate;
mod scan_plan;
mod statistics;
mod window;

pub use contents::FooterDetails;
pub use iter::TableIter;
pub use limited::{NextBlock, RowReach, RowsAhead};
pub use multi_get::{BlockRead, LoadedBlock, NeededBlock, RoundReads, TableLookup};
pub use read_options::{LimitReads, ReadTier, TableReadOptions};
pub use row_bounds::RowsOfBlock;
pub use scan_bounds::ScanBounds;
pub use scan_estimate::ScanEstimate;
pub use scan_plan::PlannedRead;
pub use statistics::{
    BlockSizes, DataStatistics, FilterFormats, FilterStatistics, HashIndexStatistics, IndexStatistics, TableStatistics,
};

use crate::blocks::TableBlockCache;
use crate::charging::CacheUsageOptions;
use crate::options::BlockBasedTableOptions;
use crate::partition_boundary::PartitionBoundary;
use crate::read_stats::ReadStats;
use block_loader::BlockLoader;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::{FileNumber, InternalComparator, Result, SequenceNumber};
use ferrock_cache::Reservation;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::TableProperties;
use ferrock_vfs::{FileSystem, RandomAccessFile};
use filter_reader::FilterReader;
use index_reader::{IndexContext, IndexReader};
use read_history::ReadHistories;
use std::path::Path;
use std::sync::Arc;

/// What is needed to open a table.
#[derive(Clone, Debug)]
pub struct TableReaderParams {
    /// Order of the keys; the table must have been written with it.
    pub comparator: InternalComparator,
    /// The file.
    pub file: Arc<dyn RandomAccessFile>,
    /// The file system that opened the file, for batches of reads.
    pub file_system: Arc<dyn FileSystem>,
    /// Size that the MANIFEST records; another size is corruption.
    pub file_size: u64,
    /// Number of the file.
    pub file_number: FileNumber,
    /// Level of the file, -1 if unknown.
    pub level: i32,
    /// A table of level 0 up to this size counts as one that a flush made, for what stays pinned in the cache.
    pub max_pinned_l0_file_size: u64,
    /// Caching policy; the form of the file is taken from the file.
    pub options: Arc<BlockBasedTableOptions>,
    /// Shared cache; without one, data blocks are read anew each time.
    pub cache: Option<Arc<TableBlockCache>>,
    /// Prefix extractor in force; prefix filters made by another one are not asked.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// Largest sequence number that the MANIFEST records: the global one of an ingested file.
    pub largest_sequence: Option<SequenceNumber>,
    /// Unique id that the MANIFEST records; zeros are none.
    pub expected_unique_id: Option<[u8; 16]>,
    /// Bytes behind the data blocks that the MANIFEST records: what to read at once when opening.
    pub tail_size: Option<u64>,
    /// Open without filters.
    pub skip_filters: bool,
    /// Counters of the lookups that read data blocks.
    pub read_stats: Option<Arc<ReadStats>>,
    /// Memory beside blocks that is charged to the cache.
    pub cache_usage: CacheUsageOptions,
}

impl TableReaderParams {
    /// Parameters for a file that no MANIFEST describes.
    #[must_use]
    pub fn new(
        file: Arc<dyn RandomAccessFile>,
        file_system: Arc<dyn FileSystem>,
        comparator: InternalComparator,
    ) -> Self {
        Self {
            comparator,
            file_size: file.size(),
            file,
            file_system,
            file_number: FileNumber(0),
            level: -1,
            max_pinned_l0_file_size: u64::MAX,
            options: Arc::default(),
            cache: None,
            prefix_extractor: None,
            largest_sequence: None,
            expected_unique_id: None,
            tail_size: None,
            skip_filters: false,
            read_stats: None,
            cache_usage: CacheUsageOptions::default(),
        }
    }
}

/// An open table.
#[derive(Debug)]
pub struct TableReader {
    loader: BlockLoader,
    file_system: Arc<dyn FileSystem>,
    file_number: FileNumber,
    file_size: u64,
    level: i32,
    options: Arc<BlockBasedTableOptions>,
    properties: Arc<TableProperties>,
    meta: MetaBlockHandles,
    metaindex: BlockHandle,
    index_handle: BlockHandle,
    index: IndexReader,
    filter: Option<FilterReader>,
    range_tombstones: Option<Arc<FragmentedRangeTombstones>>,
    global_sequence: Option<SequenceNumber>,
    /// The extractor in force, whatever the filter was made with.
    prefix_extractor: Option<PrefixExtractor>,
    /// Offset at or behind the end of every data block.
    data_end: u64,
    histories: ReadHistories,
    /// The prefix extractor in force, if large partitions end on cuts by it.
    partition_cut: Option<PartitionBoundary>,
    /// The most entries that a data block has, where the table says so and no user key lies in two blocks.
    max_block_entries: Option<u64>,
    /// True with partition boundaries or row bounds: the table can exclude some keys without reading a data block.
    knows_gaps: bool,
    /// The charge for the reader's own memory, as it was when the table was opened. Held for its drop only.
    _charge: Option<Reservation>,
}

impl TableReader {
    /// Opens a table: reads its footer, metaindex, properties, index, filter and range tombstones.
    ///
    /// # Errors
    /// `Corruption` for a file that is no table or whose blocks are damaged; `NotSupported` for a format or a feature
    /// that this release does not have; `InvalidArgument` when it was written with another comparator; `Io`;
    /// `MemoryLimit` when the block cache has no room for what the reader is charged with.
    pub fn open(params: TableReaderParams) -> Result<Arc<Self>> {
        open::open(params)
    }

    /// The properties of a table, read without opening it: among others the comparator that opening needs.
    ///
    /// # Errors
    /// `Corruption` for a file that is no table or whose properties are damaged; `Io` when it cannot be read.
    pub fn properties_of(params: &TableReaderParams) -> Result<TableProperties> {
        open::properties_of(params)
    }

    #[inline]
    fn index_context<'a, 'o>(&'a self, options: &'o TableReadOptions) -> IndexContext<'a, 'o> {
        IndexContext { index: &self.index, loader: &self.loader, options, scan: None }
    }

    /// A new iterator, not positioned.
    #[must_use]
    pub fn iter(self: &Arc<Self>, options: TableReadOptions) -> TableIter {
        TableIter::new(self.clone(), options, Arc::default())
    }

    /// A new iterator over the keys within bounds, not positioned.
    #[must_use]
    pub fn iter_within(self: &Arc<Self>, options: TableReadOptions, bounds: Arc<ScanBounds>) -> TableIter {
        TableIter::new(self.clone(), options, bounds)
    }

    /// The table's range tombstones, `None` when it has none.
    #[inline]
    #[must_use]
    pub fn range_tombstones(&self) -> Option<&Arc<FragmentedRangeTombstones>> {
        self.range_tombstones.as_ref()
    }

    /// The table's properties.
    #[must_use]
    pub fn properties(&self) -> &Arc<TableProperties> {
        &self.properties
    }

    /// The sequence number that every entry shows, for an ingested file.
    #[must_use]
    pub fn global_sequence(&self) -> Option<SequenceNumber> {
        self.global_sequence
    }

    /// The file system that opened the file.
    #[must_use]
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        &self.file_system
    }

    /// The file.
    #[must_use]
    pub fn file_path(&self) -> &Path {
        self.loader.file.path()
    }

    /// Number of the file.
    #[must_use]
    pub fn file_number(&self) -> FileNumber {
        self.file_number
    }

    /// Bytes of the file.
    #[must_use]
    pub fn file_size(&self) -> u64 {
        self.file_size
    }

    /// Level at which it was opened.
    #[must_use]
    pub fn level(&self) -> i32 {
        self.level
    }

    /// True when the table has a filter that lookups ask.
    #[must_use]
    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }
}
