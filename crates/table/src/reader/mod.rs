//! Reads one block-based table.
//!
//! A reader is opened once and shared; nothing in it changes afterwards except partitions that are kept when they are
//! first read. Data blocks come through the shared block cache when there is one.

mod block_loader;
mod contents;
mod direction;
mod exclusion;
mod extent;
mod filter_reader;
mod index_fetcher;
mod index_position;
mod index_reader;
mod inspect;
mod iter;
mod limited;
mod lookup;
mod meta_source;
mod near_partitions;
mod open;
mod params;
mod pause_state;
mod pausing;
mod placement;
mod planned_read;
mod read_options;
mod readahead;
mod resident;
mod resident_index;
mod row_bounds;
mod scan_bounds;
mod scan_estimate;
mod scan_plan;
mod side_blocks;
mod statistics;
mod window;

pub use contents::FooterDetails;
pub use iter::BlockTableIter;
pub use limited::{NextBlock, RowReach, RowsAhead};
pub use lookup::{BlockRead, RoundReads, TableLookup};
pub use params::TableReaderParams;
pub use planned_read::PlannedRead;
pub use read_options::{LimitReads, ReadTier, TableReadOptions};
pub use resident::{LoadedBlock, NeededBlock};
pub use row_bounds::RowsOfBlock;
pub use scan_bounds::ScanBounds;
pub use scan_estimate::ScanEstimate;
pub use statistics::{
    BlockSizes, DataStatistics, FilterFormats, FilterStatistics, HashIndexStatistics, IndexStatistics, TableStatistics,
};

use crate::adaptive::ReadHistories;
use crate::options::BlockBasedTableOptions;
use crate::partition_boundary::PartitionBoundary;
use block_loader::BlockLoader;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::{FileNumber, SequenceNumber};
use ferrock_cache::Reservation;
use ferrock_format::handle::BlockHandle;
use ferrock_format::metaindex::MetaBlockHandles;
use ferrock_format::properties::TableProperties;
use ferrock_vfs::FileSystem;
use filter_reader::FilterReader;
use index_fetcher::IndexFetcher;
use index_reader::IndexReader;
use resident_index::ResidentIndex;
use std::path::Path;
use std::sync::Arc;

/// An open table.
#[derive(Debug)]
pub struct BlockTable {
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

impl BlockTable {
    #[inline]
    fn resident_index(&self) -> ResidentIndex<'_> {
        ResidentIndex { index: &self.index, loader: &self.loader }
    }

    #[inline]
    fn index_fetcher<'a, 'o>(&'a self, options: &'o TableReadOptions) -> IndexFetcher<'a, 'o> {
        IndexFetcher { resident: self.resident_index(), options, scan: None }
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
