//! Reads one block-based table.
//!
//! A reader is opened once and shared; nothing in it changes afterwards except partitions that are kept when they are
//! first read. Data blocks come through the shared block cache when there is one.

mod block_decoder;
mod block_histogram;
mod block_loader;
mod cached_blocks;
mod contents;
mod description;
mod direction;
mod exclusion;
mod extent;
mod file_reads;
mod filter_reader;
mod index_fetcher;
mod index_position;
mod index_reader;
mod index_walk;
mod inspect;
mod iter;
mod late_index;
mod limit_progress;
mod limited;
mod lookup;
mod mapped_blocks;
mod meta_source;
mod near_partitions;
pub(crate) mod open;
mod params;
mod pause_state;
mod pausing;
mod placement;
mod planned_read;
pub(crate) mod properties_block;
mod read_options;
mod read_plan;
mod readahead;
mod resident;
mod resident_index;
mod row_bounds;
mod scan_bounds;
mod scan_estimate;
mod scan_plan;
mod scan_position;
mod side_blocks;
mod statistics;
mod table_blocks;
mod table_file;
mod uncache;
mod window;

pub use block_histogram::DataBlockHistogram;
pub use contents::{FooterDetails, RowsOfBlock, TableContents};
pub use iter::BlockTableIter;
pub use limited::{NextBlock, RowReach, RowsAhead};
pub use lookup::{Approach, BlockRead, LookupCounts, LookupRecorder, NoCounts, RoundReads, TableLookup};
pub use params::TableReaderParams;
pub use planned_read::PlannedRead;
pub use read_options::{LimitReads, ReadTier, TableReadOptions};
pub use resident::{LoadedBlock, NeededBlock};
pub use scan_bounds::ScanBounds;
pub use scan_estimate::ScanEstimate;
pub use scan_position::ScanPosition;
pub use statistics::{
    BlockSizes, DataStatistics, FilterFormats, FilterStatistics, HashIndexStatistics, IndexStatistics, TableStatistics,
};

use crate::adaptive::ReadHistory;
use crate::options::BlockBasedTableOptions;
use block_loader::BlockLoader;
use description::TableDescription;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::range_tombstone::FragmentedRangeTombstones;
use ferrock_base::{FileNumber, InternalComparator, SequenceNumber};
use ferrock_cache::Reservation;
use ferrock_format::properties::TableProperties;
use ferrock_vfs::FileSystem;
use std::path::Path;
use std::sync::Arc;
use table_blocks::TableBlocks;

/// An open table.
#[derive(Debug)]
pub struct BlockTable {
    blocks: TableBlocks,
    description: TableDescription,
    file_system: Arc<dyn FileSystem>,
    file_number: FileNumber,
    options: Arc<BlockBasedTableOptions>,
    range_tombstones: Option<Arc<FragmentedRangeTombstones>>,
    /// The extractor in force, whatever the filter was made with.
    prefix_extractor: Option<PrefixExtractor>,
    read_history: ReadHistory,
    /// The charge for the reader's own memory, as it was when the table was opened. Held for its drop only.
    _charge: Option<Reservation>,
}

impl BlockTable {
    #[inline]
    fn loader(&self) -> &BlockLoader {
        self.blocks.loader()
    }

    /// A new iterator, not positioned.
    #[must_use]
    pub fn iter(self: &Arc<Self>, options: TableReadOptions) -> BlockTableIter {
        self.iter_within(options, Arc::default())
    }

    /// A new iterator over the keys within bounds, not positioned.
    #[must_use]
    pub fn iter_within(self: &Arc<Self>, options: TableReadOptions, bounds: Arc<ScanBounds>) -> BlockTableIter {
        BlockTableIter::new(self.clone(), options, bounds)
    }

    /// The table block by block, for tools, which show everything that it holds.
    #[inline]
    #[must_use]
    pub fn contents(&self) -> TableContents<'_> {
        TableContents::new(&self.blocks, &self.description)
    }

    /// Order of the keys.
    #[inline]
    #[must_use]
    pub fn comparator(&self) -> &InternalComparator {
        self.loader().comparator()
    }

    /// The table's range tombstones, `None` when it has none.
    #[inline]
    #[must_use]
    pub fn range_tombstones(&self) -> Option<&Arc<FragmentedRangeTombstones>> {
        self.range_tombstones.as_ref()
    }

    /// The table's properties.
    #[inline]
    #[must_use]
    pub fn properties(&self) -> &Arc<TableProperties> {
        self.description.properties()
    }

    /// The sequence number that every entry shows, for an ingested file.
    #[inline]
    #[must_use]
    pub fn global_sequence(&self) -> Option<SequenceNumber> {
        self.loader().decoder().global_sequence()
    }

    /// The file system that opened the file.
    #[inline]
    #[must_use]
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        &self.file_system
    }

    /// The file.
    #[inline]
    #[must_use]
    pub fn file_path(&self) -> &Path {
        self.loader().file().path()
    }

    /// Number of the file.
    #[inline]
    #[must_use]
    pub fn file_number(&self) -> FileNumber {
        self.file_number
    }

    /// Bytes of the file.
    #[inline]
    #[must_use]
    pub fn file_size(&self) -> u64 {
        self.description.file_size()
    }

    /// True when the table has a filter that lookups ask.
    #[inline]
    #[must_use]
    pub fn has_filter(&self) -> bool {
        self.blocks.filter().is_some()
    }
}
