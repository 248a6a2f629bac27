//! What is needed to open a table.

use crate::adaptive::ReadStats;
use crate::blocks::TableBlockCache;
use crate::charging::CacheUsageOptions;
use crate::options::{BlockBasedTableOptions, PlainTableOptions};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{FileNumber, InternalComparator, SequenceNumber, Temperature};
use ferrock_statistics::Statistics;
use ferrock_vfs::{FileSystem, IoActivity, RandomAccessFile};
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
    /// That level is the family's last one.
    pub is_last_level: bool,
    /// How the file is expected to be read.
    pub temperature: Temperature,
    /// For which work the table is opened.
    pub activity: IoActivity,
    /// A table of level 0 up to this size counts as one that a flush made, for what stays pinned in the cache.
    pub max_pinned_l0_file_size: u64,
    /// Caching policy; the form of the file is taken from the file.
    pub options: Arc<BlockBasedTableOptions>,
    /// How index and filter of a plain table are made that has none in its file.
    pub plain_options: Arc<PlainTableOptions>,
    /// Whether the filter that is made for a plain table keeps its bits for a key in one line of the cache.
    pub bloom_locality: u32,
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
    /// Keep checksums of the entries of blocks (`block_protection_bytes_per_key`).
    pub protects_blocks: bool,
    /// Open without filters.
    pub skip_filters: bool,
    /// Counters of the lookups that read data blocks.
    pub read_stats: Option<Arc<ReadStats>>,
    /// Counts what is done with the blocks of the table.
    pub statistics: Option<Arc<Statistics>>,
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
            is_last_level: false,
            temperature: Temperature::Unknown,
            activity: IoActivity::Unknown,
            max_pinned_l0_file_size: u64::MAX,
            options: Arc::default(),
            plain_options: Arc::default(),
            bloom_locality: 0,
            cache: None,
            prefix_extractor: None,
            largest_sequence: None,
            expected_unique_id: None,
            tail_size: None,
            protects_blocks: false,
            skip_filters: false,
            read_stats: None,
            statistics: None,
            cache_usage: CacheUsageOptions::default(),
        }
    }
}
