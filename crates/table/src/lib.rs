//! SST reader and writer over files and cache.
//!
//! ```text
//! Table, TableIter    an open table of any kind, and an iterator over it
//! BlockTable          the block-based kind; opens footer, metaindex, properties, index, filter, range tombstones
//!   get               filter -> index -> data block, without an allocation
//!   multi_get         the same for a batch, whose reads are submitted together
//!   iter              BlockTableIter: both directions, with readahead
//!   contents          what it consists of, block by block, for tools; sizes and shapes of its blocks
//! PlainTable          RocksDB's plain tables, read from memory
//! TableBuilder        writes one of any kind
//! BlockTableBuilder   a block-based one: data blocks as keys come, everything else at the end
//! PlainTableBuilder   a plain one: records as keys come
//! ```
//!
//! The tree and the engine hold a [`Table`] and name no kind. The feature `test-kinds` adds one for tests
//! (`entries_table`).
//!
//! The bytes are described where they are decoded, in `ferrock-format`; this crate does the I/O. Every block is
//! verified once, when it is loaded: into the shared cache, or into the reader's own memory.
#![warn(missing_docs)]

pub mod adaptive;
pub mod blocks;
pub mod builder;
mod charging;
mod collectors;
mod deletion_window;
#[cfg(any(test, feature = "test-kinds"))]
pub mod entries_table;
mod old_entries;
pub mod options;
mod partition_boundary;
pub mod plain;
pub mod reader;
mod scan_machine;
mod stored_blocks;
mod table;
mod table_builder;
mod table_iter;
mod value;

/// Property of a table with row bounds: the bytes of its side blocks and their directory, in decimal.
pub const ROW_BOUNDS_PROPERTY: &[u8] = b"ferrock.row-bounds";

/// Property of a table with row bounds: the most entries that one of its data blocks has, in decimal.
pub const MAX_BLOCK_ENTRIES_PROPERTY: &[u8] = b"ferrock.max-block-entries";

pub use adaptive::{ReadCounts, ReadStats};
pub use blocks::{BlockPin, CachedBlock, PinnedBlock, TableBlockCache};
pub use builder::{BlockTableBuilder, TableBuilderParams, TableSize, TableSummary};
pub use charging::{CacheUsageOptions, ChargeDecision, Charging};
pub use collectors::{CollectorSet, FailedCollector};
pub use options::{BlockBasedTableOptions, PlainTableOptions};
pub use partition_boundary::{PARTITION_CUT_FROM_PROPERTY, PARTITION_CUT_PROPERTY};
pub use plain::{PlainPin, PlainTable, PlainTableBuilder, PlainTableIter, PlainValue};
pub use reader::{
    Approach, BlockRead, BlockTable, BlockTableIter, DataBlockHistogram, FooterDetails, LimitReads, LoadedBlock,
    LookupCounts, LookupRecorder, NeededBlock, NextBlock, NoCounts, PlannedRead, ReadTier, RoundReads, RowReach,
    RowsAhead, RowsOfBlock, ScanBounds, ScanEstimate, TableContents, TableLookup, TableReadOptions, TableReaderParams,
    TableStatistics,
};
pub use scan_machine::{ScanMachine, ScanRead};
pub use stored_blocks::{CopiedBlocks, StoredBlocks, StoredInput};
pub use table::Table;
pub use table_builder::TableBuilder;
pub use table_iter::TableIter;
pub use value::{ValuePin, ValueSource};
