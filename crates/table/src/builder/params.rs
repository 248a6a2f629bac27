//! What a table is built from, and what is known about it afterwards.

use crate::charging::Charging;
use crate::collectors::{CollectorSet, FailedCollector};
use crate::options::{BlockBasedTableOptions, DeletionRule};
use crate::stored_blocks::{CopiedBlocks, StoredBlocks};
use ferrock_base::InternalComparator;
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::thread::Spawner;
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_format::filter::FilterPolicy;
use ferrock_format::properties::{TableProperties, UNKNOWN_COLUMN_FAMILY_ID};
use ferrock_statistics::Statistics;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How to write a table and what to say in its properties.
#[derive(Clone, Debug)]
pub struct TableBuilderParams {
    /// Order of the keys.
    pub comparator: InternalComparator,
    /// Form of the file. Values that cannot be written take their nearest form: see
    /// [`BlockBasedTableOptions::unsupported_for_writing`].
    pub options: Arc<BlockBasedTableOptions>,
    /// Compression of data and index blocks.
    pub compression: CompressionType,
    /// How hard to compress, and whether with a dictionary.
    pub compression_options: CompressionOptions,
    /// Filter to build.
    pub filter_policy: FilterPolicy,
    /// False leaves the filter out although there is a policy (`optimize_filters_for_hits` at the last level).
    pub build_filter: bool,
    /// Whether the filter in a plain table keeps its bits for a key in one line of the cache: 0 for no.
    pub bloom_locality: u32,
    /// Prefix extractor in force.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// Merge operator in force, by name.
    pub merge_operator_name: Option<String>,
    /// Column family.
    pub column_family_id: u64,
    /// Column family name; empty if unknown.
    pub column_family_name: Vec<u8>,
    /// The level of the output, -1 for a flush, the highest number if unknown: what the filter policy's
    /// `bloom_before_level` and `partition_from_level` are compared with.
    pub filter_level: i32,
    /// Unix seconds of the oldest ancestor, 0 unknown.
    pub creation_time: u64,
    /// Unix seconds of the oldest key, 0 unknown.
    pub oldest_key_time: u64,
    /// Unix seconds of the newest key, 0 unknown.
    pub newest_key_time: u64,
    /// Unix seconds of now, 0 unknown.
    pub file_creation_time: u64,
    /// Identity of the database.
    pub db_id: String,
    /// Session of the database.
    pub db_session_id: String,
    /// Host name.
    pub db_host_id: String,
    /// Number of the file.
    pub file_number: u64,
    /// Sequence numbers and their times, encoded; empty for none.
    pub seqno_to_time_map: Vec<u8>,
    /// Properties of the caller's own.
    pub user_collected: BTreeMap<Vec<u8>, Vec<u8>>,
    /// A file to be ingested elsewhere: it gets a place for a global sequence number.
    pub is_external: bool,
    /// Starts the threads that `compression_options.parallel_threads` asks for, or, where it asks for one and a
    /// processor is idle, another one; `None`: one thread does all.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// Counts what is done with the blocks of the table.
    pub statistics: Option<Arc<Statistics>>,
    /// Counts the processors that are idle: [`ferrock_vfs::idle_cpus`].
    pub idle_cpus: fn() -> usize,
    /// The cache that memory of the builder is charged to.
    pub charging: Option<Charging>,
    /// Deletions for which the table asks for a compaction; one of the rules is enough.
    pub deletion_rules: Vec<DeletionRule>,
    /// Collectors of properties.
    pub collectors: CollectorSet,
    /// The share of entries old enough for the last level for which a table of another level asks for a compaction; 0
    /// or less: they are not counted.
    pub compact_for_tiering: f64,
    /// One in so many data blocks is compressed for an estimate of what codecs would make of the table; 0: none is.
    pub sample_for_compression: u64,
    /// Blocks of the tables that the entries come from: the payload of one that comes out again is copied.
    pub stored_blocks: Option<Arc<StoredBlocks>>,
}

impl TableBuilderParams {
    /// A table in the default form, of no database.
    #[must_use]
    pub fn new(comparator: InternalComparator) -> Self {
        Self {
            comparator,
            options: Arc::default(),
            compression: CompressionType::NoCompression,
            compression_options: CompressionOptions::default(),
            filter_policy: FilterPolicy::None,
            build_filter: true,
            bloom_locality: 0,
            prefix_extractor: None,
            merge_operator_name: None,
            column_family_id: UNKNOWN_COLUMN_FAMILY_ID,
            column_family_name: Vec::new(),
            filter_level: i32::MAX,
            creation_time: 0,
            oldest_key_time: 0,
            newest_key_time: 0,
            file_creation_time: 0,
            db_id: String::new(),
            db_session_id: String::new(),
            db_host_id: String::new(),
            file_number: 0,
            seqno_to_time_map: Vec::new(),
            user_collected: BTreeMap::new(),
            is_external: false,
            spawner: None,
            statistics: None,
            idle_cpus: ferrock_vfs::idle_cpus,
            charging: None,
            deletion_rules: Vec::new(),
            collectors: CollectorSet::default(),
            compact_for_tiering: 0.0,
            sample_for_compression: 0,
            stored_blocks: None,
        }
    }
}

/// A finished table.
#[derive(Clone, Debug)]
pub struct TableSummary {
    /// Bytes of the file.
    pub file_size: u64,
    /// Bytes behind the data blocks.
    pub tail_size: u64,
    /// The properties that were written.
    pub properties: Arc<TableProperties>,
    /// Unique id for the MANIFEST; zeros when the table has no identity.
    pub unique_id: [u8; 16],
    /// Compressed blocks that `verify_compression` decompressed and found right; 0 without it.
    pub num_verified_blocks: u64,
    /// Data blocks that were copied from other tables.
    pub copied: CopiedBlocks,
    /// The table has as many deletions as one of the `deletion_rules` says, or as many old entries as
    /// `compact_for_tiering`, or a collector asks for a compaction.
    pub needs_compaction: bool,
    /// Collectors whose properties the table does not have.
    pub failed_collectors: Vec<FailedCollector>,
    /// First internal key among the point entries.
    pub first_key: Option<Vec<u8>>,
    /// Last internal key among the point entries.
    pub last_key: Option<Vec<u8>>,
}
