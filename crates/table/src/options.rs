//! `BlockBasedTableOptions`: every key that RocksDB writes into a `[TableOptions/BlockBasedTable ...]` section.
//!
//! Components stand beside the table, not in it: the block cache is handed to the reader, the filter policy to reader
//! and builder, and both come from the engine, which knows their texts.
//!
//! Values whose *writing* is not built are reported by
//! [`unsupported_for_writing`](BlockBasedTableOptions::unsupported_for_writing); the builder then writes the nearest
//! form, which every reader understands. Reading supports all of them.

mod deletion_rule;
mod large_partitions;
mod plain;

pub use deletion_rule::{CompactOnDeletion, DeletionRule};
pub use large_partitions::LargePartitions;
pub use plain::{BLOCK_BASED_TABLE, PLAIN_TABLE, PlainEncodingType, PlainTableOptions, TableFactory};

use ferrock_base::checksum::ChecksumType;
use ferrock_base::option_table::{OptionValue, Violation};
use ferrock_base::{option_enum, option_table};
use ferrock_format::footer::{LATEST_FORMAT_VERSION, OLDEST_WRITTEN_FORMAT_VERSION};

option_enum! {
    /// How data blocks are found.
    pub enum IndexType {
        /// One sorted block.
        BinarySearch = "kBinarySearch",
        /// A hash of key prefixes beside the sorted block.
        HashSearch = "kHashSearch",
        /// Sorted partitions under a top level.
        TwoLevelIndexSearch = "kTwoLevelIndexSearch",
        /// One sorted block that also holds the first key of every data block.
        BinarySearchWithFirstKey = "kBinarySearchWithFirstKey",
    }
}

option_enum! {
    /// How keys are found in a data block.
    pub enum DataBlockIndexType {
        /// Bisection over restarts.
        BinarySearch = "kDataBlockBinarySearch",
        /// A hash index for point lookups too.
        BinaryAndHash = "kDataBlockBinaryAndHash",
        /// Ferrock only: a hash index if the reads of the column family make it pay, decided for each table as it is
        /// written. In an OPTIONS file RocksDB sees `kDataBlockBinarySearch`. A table built outside a database has no
        /// read statistics and gets none.
        Auto = "kDataBlockAuto",
    }
}

option_enum! {
    /// How the writer shortens index keys.
    pub enum IndexShorteningMode {
        /// Whole last keys.
        NoShortening = "kNoShortening",
        /// Short separators between blocks; the last entry keeps its whole key.
        ShortenSeparators = "kShortenSeparators",
        /// Short separators, and a short successor for the last entry.
        ShortenSeparatorsAndSuccessor = "kShortenSeparatorsAndSuccessor",
    }
}

option_enum! {
    /// The search within index blocks that the reader prefers.
    pub enum IndexBlockSearchType {
        /// Bisection.
        Binary = "kBinary",
        /// Interpolation between evenly spread keys.
        Interpolation = "kInterpolation",
        /// As the block's hint says.
        Auto = "kAuto",
    }
}

option_enum! {
    /// When new blocks are put into the block cache as they are written.
    pub enum PrepopulateBlockCache {
        /// Never.
        Disable = "kDisable",
        /// Those of flushes.
        FlushOnly = "kFlushOnly",
        /// Those of flushes and compactions.
        FlushAndCompaction = "kFlushAndCompaction",
    }
}

option_enum! {
    /// Which metadata blocks stay pinned in the cache.
    pub enum PinningTier {
        /// As the older options say.
        Fallback = "kFallback",
        /// None.
        None = "kNone",
        /// Those of flushed tables and tables of their size.
        FlushedAndSimilar = "kFlushedAndSimilar",
        /// All.
        All = "kAll",
    }
}

option_enum! {
    /// When a data block is complete.
    pub enum FlushBlockPolicy {
        /// When it reaches its size.
        BySize = "FlushBlockBySizePolicyFactory",
        /// After every key.
        EveryKey = "FlushBlockEveryKeyPolicyFactory",
    }
}

/// Which tables are partitioned where `index_type` is `kTwoLevelIndexSearch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PartitionFromLevel {
    /// By size: indexes and filters that would be a single partition, as those of small tables, are written whole (an
    /// index only beside a whole filter). That spares the top level and its search.
    #[default]
    Automatic,
    /// Tables of this level and below; 0 is all, as RocksDB does. A flush writes to level 0.
    Level(u32),
}

impl OptionValue for PartitionFromLevel {
    fn parse_option(text: &str) -> Option<Self> {
        match text.trim() {
            "kAutomatic" => Some(Self::Automatic),
            level => level.parse().ok().map(Self::Level),
        }
    }

    fn format_option(&self) -> String {
        match self {
            Self::Automatic => "kAutomatic".to_owned(),
            Self::Level(level) => level.to_string(),
        }
    }
}

/// `metadata_cache_options`: `{name=tier;...}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataCacheOptions {
    /// Top-level index of partitioned indexes and filters.
    pub top_level_index_pinning: PinningTier,
    /// Partitions.
    pub partition_pinning: PinningTier,
    /// Everything that is not partitioned.
    pub unpartitioned_pinning: PinningTier,
}

impl Default for MetadataCacheOptions {
    fn default() -> Self {
        Self {
            top_level_index_pinning: PinningTier::Fallback,
            partition_pinning: PinningTier::Fallback,
            unpartitioned_pinning: PinningTier::Fallback,
        }
    }
}

impl OptionValue for MetadataCacheOptions {
    fn parse_option(text: &str) -> Option<Self> {
        Self::default().changed_by(text)
    }

    /// As in RocksDB, fields that are not named stay.
    fn changed_by(&self, text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let mut options = *self;
        for field in text.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=')?;
            let tier = PinningTier::parse_option(value)?;
            match name.trim() {
                "top_level_index_pinning" => options.top_level_index_pinning = tier,
                "partition_pinning" => options.partition_pinning = tier,
                "unpartitioned_pinning" => options.unpartitioned_pinning = tier,
                _ => return None,
            }
        }
        Some(options)
    }

    fn format_option(&self) -> String {
        format!(
            "{{unpartitioned_pinning={};partition_pinning={};top_level_index_pinning={};}}",
            self.unpartitioned_pinning.format_option(),
            self.partition_pinning.format_option(),
            self.top_level_index_pinning.format_option()
        )
    }
}

option_table! {
    /// How a block-based table is written, and how its blocks are cached.
    pub struct BlockBasedTableOptions {
        /// Largest automatic readahead of a scan, in bytes; 0 turns it off.
        mutable max_auto_readahead_size: usize = 262_144;
        /// First automatic readahead of a scan, in bytes; doubled until the largest.
        mutable initial_auto_readahead_size: usize = 8192;
        /// Automatic readahead begins with this sequential read of a scan, with no more than the scan has used; 0: at
        /// once, with the first size.
        mutable num_file_reads_for_auto_readahead: u64 = 2;
        /// Refuse tables without a user-defined index.
        mutable fail_if_no_udi_on_open: bool = false;
        /// Search a user-defined index first.
        mutable use_udi_as_primary_index: bool = false;
        /// The user-defined index.
        mutable user_defined_index_factory: String = "nullptr".to_owned();
        /// Which metadata blocks stay pinned in the cache. A pinned top level is with the open table; pinned partitions
        /// are read when it is opened.
        mutable metadata_cache_options: MetadataCacheOptions = MetadataCacheOptions::default();
        /// Keep the top level of partitioned indexes and filters with the open table, also when index and filter blocks
        /// are in the block cache. Matters only together with `cache_index_and_filter_blocks`.
        mutable pin_top_level_index_and_filter: bool = true;
        /// Keep index and filter blocks of level 0 in the cache, partitions in any case, for as long as the table is
        /// open: those of tables no larger than half as much again as a write buffer.
        mutable pin_l0_filter_and_index_blocks_in_cache: bool = false;
        /// Keep index and filter blocks in the block cache instead of with the open table. Partitions are there in any
        /// case.
        mutable cache_index_and_filter_blocks: bool = false;
        /// Insert them at high priority.
        mutable cache_index_and_filter_blocks_with_high_priority: bool = true;
        /// Read without a block cache.
        mutable no_block_cache: bool = false;
        /// Put the blocks of new tables into the block cache before they can be read: the finished table is read once,
        /// so that nothing has to be kept in memory while it is written.
        mutable prepopulate_block_cache: PrepopulateBlockCache = PrepopulateBlockCache::Disable;
        /// Bytes per bit of the read-amplification bitmap; 0 is off.
        mutable read_amp_bytes_per_bit: u32 = 0;
        /// The search within index blocks: bisection, or interpolation between bytewise keys, everywhere or where the
        /// writer marked a block as evenly spread (see `uniform_cv_threshold`). It counts for tables that are opened
        /// from then on.
        mutable index_block_search_type: IndexBlockSearchType = IndexBlockSearchType::Binary;
        /// Version of the file format.
        mutable format_version: u32 = LATEST_FORMAT_VERSION, OLDEST_WRITTEN_FORMAT_VERSION..=LATEST_FORMAT_VERSION;
        /// Checksum of the blocks.
        mutable checksum: ChecksumType = ChecksumType::Xxh3;
        /// Bytes of a data block before compression.
        mutable block_size: u64 = 4096, 1..=(1 << 31);
        /// Percent of the block size by which a block may stay smaller, so that the next entry does not exceed it.
        mutable block_size_deviation: i32 = 10, 0..=100 => 0;
        /// Entries between restarts of data blocks.
        mutable block_restart_interval: i32 = 16, 1..=i32::MAX;
        /// Entries between restarts of index blocks.
        mutable index_block_restart_interval: i32 = 1, 1..=i32::MAX;
        /// Bytes of an index or filter partition.
        mutable metadata_block_size: u64 = 4096, 1..=(1 << 31);
        /// When a data block is complete.
        mutable flush_block_policy_factory: FlushBlockPolicy = FlushBlockPolicy::BySize;
        /// Whether keys share bytes with their predecessor.
        mutable use_delta_encoding: bool = true;
        /// How data blocks are found. A hash needs a prefix extractor.
        mutable index_type: IndexType = IndexType::BinarySearch;
        /// How index keys are shortened.
        mutable index_shortening: IndexShorteningMode = IndexShorteningMode::ShortenSeparators;
        /// Whether index blocks may be compressed.
        mutable enable_index_compression: bool = true;
        /// How keys are found in a data block. A hash index is written only where the comparator says that keys of
        /// different bytes are different keys.
        mutable data_block_index_type: DataBlockIndexType = DataBlockIndexType::BinarySearch;
        /// Entries per bucket of the data-block hash index; 0 is 0.75.
        mutable data_block_hash_table_util_ratio: f64 = 0.75, 0.0..=1.0;
        /// Store values behind the keys of their block. RocksDB before 11.0 does not read such blocks.
        mutable separate_key_value_in_data_block: bool = false;
        /// Deviation of the gaps between restart keys, as a share of their mean, below which an index block is marked
        /// as evenly spread; negative is never. RocksDB before 11.1 does not read such blocks.
        mutable uniform_cv_threshold: f64 = -1.0;
        /// Whether whole keys go into the filter.
        mutable whole_key_filtering: bool = true;
        /// Which tables are partitioned, if `index_type` asks for it: `kAutomatic`, or the number of a level, from
        /// which on all are. Tables of the levels above it are read often and in many places, so that their whole index
        /// and filter are wanted anyway.
        own_mutable partition_from_level: PartitionFromLevel = PartitionFromLevel::Automatic;
        /// Note for every data block where its rows begin, in blocks of Ferrock's own beside the index that RocksDB
        /// skips: a lookup of a key between two blocks then reads no data, and a scan needs no block beyond its bound
        /// to know that.
        own_mutable row_bounds: bool = false;
        /// End the data block where a partition of several blocks ends (all keys of one prefix), give its index entries
        /// index partitions of their own, and say so in a property: a lookup behind its last row then reads no data.
        /// Needs a prefix extractor `fixed`, `capped` or of components; nothing happens without one.
        own_mutable partition_cut: bool = false;
        /// With `partition_cut`: bytes of the data blocks of large partitions, from where they turn out to be large; 0
        /// is `block_size`. Small rows of a large partition are then read in small blocks, while small partitions share
        /// larger ones.
        own_mutable dense_block_size: u64 = 0, 0..=(1 << 31);
        /// Bytes of index of one large partition after which the size of its blocks doubles, and once more for each as
        /// many; 0 is never. Nothing happens without `dense_block_size`.
        own_mutable dense_index_limit: u64 = 10 << 20;
        /// With `partition_cut`: prefixes of partitions that are large from their first row on, in hexadecimal, with
        /// `:` between them. Such a partition begins and ends with a data block.
        own_mutable large_partitions: LargePartitions = LargePartitions::default();
        /// Bytes of a sector that every data block begins at, and every partition of index and filter; 0 is none.
        own_mutable pad_to_sector: u64 = 0, 0..=65_536;
        /// Bytes of a sector; these blocks begin at one only where they then lie in fewer. 0 is none.
        own_mutable avoid_straddle: u64 = 0, 0..=65_536;
        /// Whether filters are partitioned like the index; nothing happens unless it is.
        mutable partition_filters: bool = false;
        /// Whether filter partitions are cut on their own.
        mutable decouple_partitioned_filters: bool = true;
        /// Let filters grow into what the allocator hands out beyond their size. Nothing here says how much that is, so
        /// sizes are exact either way: those of RocksDB without this.
        mutable optimize_filters_for_memory: bool = true;
        /// Check filters as they are built: that no hash changed in memory, and that each is found. A difference fails
        /// the flush or compaction.
        mutable detect_filter_construct_corruption: bool = false;
        /// Decompress every block after compressing it and compare; a difference fails the flush or compaction.
        mutable verify_compression: bool = false;
        /// Pad data blocks so that each begins at a multiple of a page, or of the block size if that is smaller; only
        /// without compression.
        mutable block_align: bool = false;
        /// Boundary that data blocks avoid to straddle; 0 is none.
        mutable super_block_alignment_size: u64 = 0;
        /// Share of a block that may be lost to such padding, as a divisor.
        mutable super_block_alignment_space_overhead_ratio: u64 = 128;
    }
}

/// A value that asks for something that is not built, and what happens instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedOption {
    /// The option.
    pub name: &'static str,
    /// Its value, as text.
    pub value: String,
    /// What happens instead.
    pub instead: &'static str,
}

impl std::fmt::Display for UnsupportedOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {} is not built yet; the nearest form is {}", self.name, self.value, self.instead)
    }
}

impl BlockBasedTableOptions {
    /// Values for which there is no nearest one: a later format, and a block whose size its 32-bit offsets cannot hold.
    #[must_use]
    #[doc(hidden)]
    pub fn meaningless(&self) -> Vec<Violation> {
        let is_unknown_format = self.format_version > LATEST_FORMAT_VERSION;
        let is_beyond_offsets = self.block_size > u64::from(u32::MAX);
        let mut all = self.violations();
        all.retain(|violation| match &violation.name[..] {
            "format_version" => is_unknown_format,
            "block_size" => is_beyond_offsets,
            _ => false,
        });
        all
    }

    /// Values that ask for something that is not built yet. An engine logs them when they come from an OPTIONS file and
    /// refuses them when its caller set them.
    #[must_use]
    pub fn unsupported_for_writing(&self) -> Vec<UnsupportedOption> {
        let no_index = self.user_defined_index_factory.is_empty() || self.user_defined_index_factory == "nullptr";
        let rows = [
            (!no_index, "user_defined_index_factory", "the ordinary index alone"),
            (self.use_udi_as_primary_index, "use_udi_as_primary_index", "the ordinary index"),
            (self.fail_if_no_udi_on_open, "fail_if_no_udi_on_open", "tables open by their ordinary index"),
            (self.read_amp_bytes_per_bit > 0, "read_amp_bytes_per_bit", "no read-amplification statistics"),
        ];
        rows.into_iter()
            .filter(|(unsupported, _, _)| *unsupported)
            .map(|(_, name, instead)| UnsupportedOption { name, value: self.get(name).unwrap_or_default(), instead })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A default-options section as RocksDB 11.8 writes it, without the component `filter_policy`.
    const SECTION: &str = "max_auto_readahead_size=262144 initial_auto_readahead_size=8192 fail_if_no_udi_on_open=false \
        metadata_cache_options={unpartitioned_pinning=kFallback;partition_pinning=kFallback;top_level_index_pinning=kFallback;} \
        pin_top_level_index_and_filter=true super_block_alignment_space_overhead_ratio=128 super_block_alignment_size=0 \
        verify_compression=false separate_key_value_in_data_block=false num_file_reads_for_auto_readahead=2 \
        format_version=7 use_udi_as_primary_index=false read_amp_bytes_per_bit=0 whole_key_filtering=true \
        prepopulate_block_cache=kDisable use_delta_encoding=true optimize_filters_for_memory=true \
        decouple_partitioned_filters=true partition_filters=false uniform_cv_threshold=-1.000000 \
        metadata_block_size=4096 index_block_restart_interval=1 block_size_deviation=10 block_size=4096 \
        no_block_cache=false checksum=kXXH3 user_defined_index_factory=nullptr \
        data_block_hash_table_util_ratio=0.750000 enable_index_compression=true index_shortening=kShortenSeparators \
        data_block_index_type=kDataBlockBinarySearch detect_filter_construct_corruption=false block_align=false \
        index_block_search_type=kBinary index_type=kBinarySearch pin_l0_filter_and_index_blocks_in_cache=false \
        cache_index_and_filter_blocks=false block_restart_interval=16 \
        cache_index_and_filter_blocks_with_high_priority=true flush_block_policy_factory=FlushBlockBySizePolicyFactory";

    #[test]
    fn every_key_has_its_name_and_default() {
        let options = BlockBasedTableOptions::default();
        let mut names = Vec::new();
        for (name, value) in SECTION.split_whitespace().map(|row| row.split_once('=').unwrap()) {
            assert_eq!(options.get(name).as_deref(), Some(value), "{name}");
            let mut again = options.clone();
            assert!(again.set(name, value).unwrap());
            assert_eq!(again, options);
            names.push(name);
        }
        let own = BlockBasedTableOptions::TABLE.iter().filter(|info| info.flags.is_own).count();
        assert_eq!(BlockBasedTableOptions::TABLE.len() - own, names.len());
        assert!(options.violations().is_empty() && options.unsupported_for_writing().is_empty());
    }

    #[test]
    fn what_is_not_written_is_said() {
        let mut options = BlockBasedTableOptions::default();
        options.set("index_type", "kTwoLevelIndexSearch").unwrap();
        options.set("user_defined_index_factory", "trie_index").unwrap();
        options.set("read_amp_bytes_per_bit", "32").unwrap();
        let names: Vec<&str> = options.unsupported_for_writing().iter().map(|option| option.name).collect();
        assert_eq!(names, ["user_defined_index_factory", "read_amp_bytes_per_bit"]);
        assert!(options.set("metadata_cache_options", "{partition_pinning=kSometimes;}").is_err());
        assert!(options.set("metadata_cache_options", "{partition_pinning=kAll;}").unwrap());
        assert_eq!(options.metadata_cache_options.partition_pinning, PinningTier::All);
        options.format_version = 1;
        assert_eq!(options.violations().len(), 1);
    }

    #[test]
    fn a_later_format_is_not_brought_to_a_known_one() {
        let names = |options: &BlockBasedTableOptions| -> Vec<String> {
            options.meaningless().into_iter().map(|violation| violation.name).collect()
        };
        let mut options =
            BlockBasedTableOptions { format_version: 1, block_size: 0, ..BlockBasedTableOptions::default() };
        assert_eq!(names(&options), Vec::<String>::new());
        options.bring_into_bounds();
        assert_eq!((options.format_version, options.block_size), (OLDEST_WRITTEN_FORMAT_VERSION, 1));
        options.format_version = LATEST_FORMAT_VERSION + 1;
        options.block_size = 1 << 32;
        assert_eq!(names(&options), ["format_version", "block_size"]);
    }
}
