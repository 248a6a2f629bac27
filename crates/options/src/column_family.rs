//! Options of one column family: RocksDB's names and defaults.

use super::blob_partitions::BlobFilePartitionStrategy;
use super::concurrent_task_limiter::ConcurrentTaskLimiter;
use super::db_path::DbPath;
use super::fifo::CompactionOptionsFifo;
use super::in_place::InPlaceCallback;
use super::memtable_factory::{InsertHintPrefixes, MemTableFactory};
use super::passthrough::Passthrough;
use super::universal::CompactionOptionsUniversal;
use ferrock_base::compaction_filter::{CompactionFilter, CompactionFilterFactory};
use ferrock_base::merge::MergeOperator;
use ferrock_base::option_table::{OptionValue, Violation};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::sst_partitioner::SstPartitionerFactory;
use ferrock_base::table_properties_collector::TablePropertiesCollectorFactory;
use ferrock_base::{Comparator, Temperature, option_enum, option_table};
use ferrock_format::compression::{CompressionOptions, CompressionType};
use ferrock_format::filter::FilterPolicy;
use ferrock_table::options::{CompactOnDeletion, IndexType, TableFactory};
use ferrock_table::{BlockBasedTableOptions, CacheUsageOptions, TableBlockCache};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

option_enum! {
    /// The shape that compaction keeps.
    pub enum CompactionStyle {
        /// Levels, each a sorted run, each a multiple of the one above.
        Level = "kCompactionStyleLevel",
        /// Sorted runs, newest first, of which those of similar sizes are merged: see [`CompactionOptionsUniversal`].
        Universal = "kCompactionStyleUniversal",
        /// A queue of files, whose oldest are dropped when there is too much or they are too old: see
        /// [`CompactionOptionsFifo`].
        Fifo = "kCompactionStyleFIFO",
        /// None but by hand.
        None = "kCompactionStyleNone",
    }
}

option_enum! {
    /// Which file of a level goes down first.
    pub enum CompactionPriority {
        /// The largest, tombstones counted double.
        ByCompensatedSize = "kByCompensatedSize",
        /// The one whose newest entry is oldest.
        OldestLargestSeqFirst = "kOldestLargestSeqFirst",
        /// The one whose oldest entry is oldest.
        OldestSmallestSeqFirst = "kOldestSmallestSeqFirst",
        /// The one that drags along the least of the next level.
        MinOverlappingRatio = "kMinOverlappingRatio",
        /// One after the other through the key space.
        RoundRobin = "kRoundRobin",
    }
}

/// Compression of the bottommost level; `None` (`kDisableCompressionOption`) means the same as the other levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BottommostCompression(pub Option<CompressionType>);

impl OptionValue for BottommostCompression {
    fn parse_option(text: &str) -> Option<Self> {
        match text.trim() {
            "kDisableCompressionOption" => Some(Self(None)),
            text => CompressionType::parse_option(text).map(|kind| Self(Some(kind))),
        }
    }
    fn format_option(&self) -> String {
        self.0.map_or_else(|| "kDisableCompressionOption".to_owned(), |kind| kind.format_option())
    }
}

/// Levels and dictionaries of a compressor, in the `{level=3;...}` form of an OPTIONS file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompressionSettings(pub CompressionOptions);

impl CompressionSettings {
    /// The form before there were names:
    /// `window_bits:level:strategy:max_dict_bytes:zstd_max_train_bytes:parallel_threads: enabled`; what is missing at
    /// the end stays.
    fn with_numbers(&self, text: &str) -> Option<Self> {
        let mut options = self.0.clone();
        if text.is_empty() {
            return Some(Self(options));
        }
        for (index, number) in text.split(':').enumerate() {
            match index {
                0 => options.window_bits = OptionValue::parse_option(number)?,
                1 => options.level = OptionValue::parse_option(number)?,
                2 => options.strategy = OptionValue::parse_option(number)?,
                3 => options.max_dict_bytes = OptionValue::parse_option(number)?,
                4 => options.zstd_max_train_bytes = OptionValue::parse_option(number)?,
                5 => options.parallel_threads = OptionValue::parse_option(number)?,
                6 => options.enabled = OptionValue::parse_option(number)?,
                _ => return None,
            }
        }
        Some(Self(options))
    }
}

impl OptionValue for CompressionSettings {
    fn parse_option(text: &str) -> Option<Self> {
        Self::default().changed_by(text)
    }

    /// As in RocksDB, fields that are not named stay.
    fn changed_by(&self, text: &str) -> Option<Self> {
        let body = text.trim();
        let body = body.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(body);
        if !body.contains('=') {
            return self.with_numbers(body);
        }
        let mut options = self.0.clone();
        for field in body.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=')?;
            match name.trim() {
                "window_bits" => options.window_bits = OptionValue::parse_option(value)?,
                "level" => options.level = OptionValue::parse_option(value)?,
                "strategy" => options.strategy = OptionValue::parse_option(value)?,
                "max_dict_bytes" => options.max_dict_bytes = OptionValue::parse_option(value)?,
                "zstd_max_train_bytes" => options.zstd_max_train_bytes = OptionValue::parse_option(value)?,
                "parallel_threads" => options.parallel_threads = OptionValue::parse_option(value)?,
                "enabled" => options.enabled = OptionValue::parse_option(value)?,
                "max_dict_buffer_bytes" => options.max_dict_buffer_bytes = OptionValue::parse_option(value)?,
                "use_zstd_dict_trainer" => options.use_zstd_dict_trainer = OptionValue::parse_option(value)?,
                "max_compressed_bytes_per_kb" => {
                    options.max_compressed_bytes_per_kb = OptionValue::parse_option(value)?
                }
                "checksum" => options.checksum = OptionValue::parse_option(value)?,
                _ => return None,
            }
        }
        Some(Self(options))
    }
    fn format_option(&self) -> String {
        let (o, default) = (&self.0, CompressionOptions::default());
        let mut text = String::from("{");
        // Fields that 7.8 does not know, and would refuse, are written only when they say something.
        if o.checksum != default.checksum {
            text.push_str(&format!("checksum={};", o.checksum));
        }
        if o.max_compressed_bytes_per_kb != default.max_compressed_bytes_per_kb {
            text.push_str(&format!("max_compressed_bytes_per_kb={};", o.max_compressed_bytes_per_kb));
        }
        text.push_str(&format!(
            "max_dict_buffer_bytes={};enabled={};max_dict_bytes={};parallel_threads={};zstd_max_train_bytes={};level={};\
             use_zstd_dict_trainer={};strategy={};window_bits={};}}",
            o.max_dict_buffer_bytes,
            o.enabled,
            o.max_dict_bytes,
            o.parallel_threads,
            o.zstd_max_train_bytes,
            o.level,
            o.use_zstd_dict_trainer,
            o.strategy,
            o.window_bits,
        ));
        text
    }
}

option_enum! {
    /// When new values in blob files are put into the blob cache as they are written.
    pub enum PrepopulateBlobCache {
        /// Never.
        Disable = "kDisable",
        /// Those of flushes.
        FlushOnly = "kFlushOnly",
    }
}

/// What automatic compaction makes of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionShape {
    /// Levels, each several times as large as the one above.
    Levels,
    /// Sorted runs: each table of level 0, and each level.
    Runs,
    /// Level 0 is a queue: its oldest tables are dropped.
    Queue,
    /// Nothing is compacted but by `compact_range`.
    ByHand,
}

impl ColumnFamilySettings {
    /// False where flushes write what is soon merged: of universal families with a `compression_size_percent`.
    #[doc(hidden)]
    pub fn compresses_flushes(&self) -> bool {
        self.compaction_style != CompactionStyle::Universal
            || self.compaction_options_universal.compression_size_percent < 0
    }

    /// True where reads may start compactions, so that tables count them.
    #[doc(hidden)]
    #[inline]
    pub fn counts_reads(&self) -> bool {
        self.read_triggered_compaction_threshold > 0.0
    }

    /// Seconds for which the times when entries were written are kept; 0: they are not.
    #[doc(hidden)]
    #[inline]
    pub fn kept_times_secs(&self) -> u64 {
        self.preserve_internal_time_seconds.max(self.preclude_last_level_data_seconds)
    }

    /// True when the last level is for files that are ingested behind.
    #[doc(hidden)]
    pub fn reserves_last_level(&self) -> bool {
        self.cf_allow_ingest_behind && self.compaction_shape() == CompactionShape::Runs
    }

    /// The shape of the style.
    #[doc(hidden)]
    pub fn compaction_shape(&self) -> CompactionShape {
        match self.compaction_style {
            CompactionStyle::Level => CompactionShape::Levels,
            CompactionStyle::Universal => CompactionShape::Runs,
            CompactionStyle::Fifo => CompactionShape::Queue,
            CompactionStyle::None => CompactionShape::ByHand,
        }
    }
}

option_table! {
    /// Settings of one column family.
    pub struct ColumnFamilySettings {
        /// Bytes of a memtable after which it is flushed.
        mutable write_buffer_size: usize = 64 << 20, (64 << 10)..=(64 << 30);
        /// Memtables that may exist at once; writers stop when one more is needed.
        mutable max_write_buffer_number: i32 = 2, 2..=i32::MAX;
        /// Full memtables that are flushed into one file together.
        fixed min_write_buffer_number_to_merge: i32 = 1, 1..=i32::MAX;
        /// Bytes that a memtable takes from the allocator at a time, rounded up to 4 KiB; only its first block is
        /// always 4 KiB, so that idle families stay small. What is larger than a quarter of this gets a block of its
        /// own. 0: an eighth of `write_buffer_size`, at most 1 MiB.
        mutable arena_block_size: usize = 0;
        /// Share of the write buffer for a Bloom filter over the memtable; 0: none.
        mutable memtable_prefix_bloom_size_ratio: f64 = 0.0, 0.0..=0.25;
        /// The memtable's filter also holds whole keys.
        mutable memtable_whole_key_filtering: bool = false;
        /// The structure of memtables. Those of hash tables are written to by one thread at a time, so they need
        /// `allow_concurrent_memtable_write` to be off, and without a `prefix_extractor` they are skip lists.
        fixed memtable_factory: MemTableFactory = MemTableFactory::default();
        /// Takes the prefixes whose keys are mostly written in ascending order: a write then begins where the last one
        /// of its prefix went. Only for writes that are alone in their group, and skip lists. `nullptr`: no prefixes,
        /// and one such place for all keys.
        fixed memtable_insert_with_hint_prefix_extractor: InsertHintPrefixes = InsertHintPrefixes(None);
        /// Memory is taken in whole pages of this size, from their boundaries on, so that the system can back a
        /// memtable with huge pages. (Transparent ones: none are reserved.) 0: no matter where.
        mutable memtable_huge_page_size: usize = 0, 0..=(1 << 30);
        /// Operands of one key in a memtable from which on a further one is merged with the value when it is written.
        /// Without `strict_max_successive_merges` only where that needs no file. 0: never.
        mutable max_successive_merges: usize = 0;
        /// Merges as `max_successive_merges` says even where files have to be read.
        mutable strict_max_successive_merges: bool = false;
        /// A put writes its value over that of the newest put of its key in the memtable, if it is not longer. Reads
        /// without a snapshot may then see a value that is newer than the moment they began at, and not whole batches;
        /// what a snapshot sees stays. Needs `allow_concurrent_memtable_write` to be off.
        fixed inplace_update_support: bool = false;
        /// Locks of a memtable whose values are written over, each of some of the keys.
        mutable inplace_update_num_locks: usize = 10_000, 1..=(1 << 20);
        /// Range deletions in a memtable at which it is flushed, however small it is: every read looks through those of
        /// the memtable. 0: any number.
        mutable memtable_max_range_deletions: u32 = 0;
        /// Hidden entries of the memtable (deletions, and what is deleted or overwritten) that one step of an iterator
        /// going forward passes over for the memtable to be flushed at the next write. 0: any number.
        mutable memtable_op_scan_flush_trigger: u32 = 0;
        /// The same on average of the steps of an iterator between two seeks, if together they pass over at least
        /// `memtable_op_scan_flush_trigger`. 0, or with that option 0: any number.
        mutable memtable_avg_op_scan_flush_trigger: u32 = 0;
        /// Deleted entries in a row that an iterator going forward remembers for those after it, which leap over them.
        /// Ferrock keeps such runs in memory, and RocksDB writes a range tombstone into the memtable, for which it
        /// takes no less than this. 0: 64 here, and never in RocksDB.
        mutable min_tombstones_for_range_conversion: u32 = 0;
        /// Bytes of a checksum behind every entry of a memtable, compared when the entry is read, by a flush too: a
        /// bit that turns over in memory is found before it is shown or written to a table. Of 0 (none), 1, 2, 4 and 8
        /// bytes; for memtables that begin from then on.
        mutable memtable_protection_bytes_per_key: u32 = 0;
        /// Searches compare the checksums of all entries of a memtable that they meet, not only of those on both sides
        /// of where they end. Needs `memtable_protection_bytes_per_key`.
        mutable memtable_verify_per_key_checksum_on_seek: bool = false;
        /// Reads of a memtable compare each key that they meet with the one before it: one out of order is corruption.
        /// For memtables that begin from then on.
        mutable paranoid_memory_checks: bool = false;
        /// Keeps checksums of the entries of data and index blocks in memory, compared whenever a cursor comes to them:
        /// for blocks that tables load which are opened from then on. Of 0 (none), 1, 2, 4 and 8; any but 0 keeps eight
        /// bytes for each restart interval, and for each entry of an index. Blocks that are read where they are mapped
        /// have none.
        mutable block_protection_bytes_per_key: u32 = 0;
        /// Levels of the tree.
        fixed num_levels: i32 = 7, 1..=64;
        /// Files in level 0 that start a compaction.
        mutable level0_file_num_compaction_trigger: i32 = 4, 1..=i32::MAX;
        /// Files in level 0 from which on writers are slowed down.
        mutable level0_slowdown_writes_trigger: i32 = 20, -1..=i32::MAX;
        /// Files in level 0 at which writers stop.
        mutable level0_stop_writes_trigger: i32 = 36, 1..=i32::MAX;
        /// Bytes of the first level below 0.
        mutable max_bytes_for_level_base: u64 = 256 << 20, 1..=u64::MAX;
        /// How much larger each level is than the one above.
        mutable max_bytes_for_level_multiplier: f64 = 10.0, 1.0..=1e6;
        /// Factors on top of the multiplier, level by level.
        mutable max_bytes_for_level_multiplier_additional: Vec<i32> = vec![1; 7];
        /// Level sizes follow the last level, so that space amplification stays near 1.1.
        fixed level_compaction_dynamic_level_bytes: bool = true;
        /// Bytes of a table written by compaction.
        mutable target_file_size_base: u64 = 64 << 20, 1..=u64::MAX;
        /// How much larger tables are on each deeper level.
        mutable target_file_size_multiplier: i32 = 1, 1..=i32::MAX;
        /// Compactions end a table before an entry that would make its file larger than the target; a single entry may
        /// be larger. Without it the file may exceed the target by an entry and by what is written at its end.
        mutable target_file_size_is_upper_bound: bool = false;
        /// Bytes that one compaction may read. 0: 25 times `target_file_size_base`.
        mutable max_compaction_bytes: u64 = 0;
        /// Compact only by hand.
        mutable disable_auto_compactions: bool = false;
        /// The shape that compaction keeps.
        fixed compaction_style: CompactionStyle = CompactionStyle::Level;
        /// What a family of style FIFO drops.
        mutable compaction_options_fifo: CompactionOptionsFifo = CompactionOptionsFifo::default();
        /// Which sorted runs of a family of style universal are merged.
        mutable compaction_options_universal: CompactionOptionsUniversal = CompactionOptionsUniversal::default();
        /// Deletions for which a table is compacted although no level is full. In place of RocksDB's
        /// `CompactOnDeletionCollector`, whose fields a rule has.
        ///
        /// ```
        /// # extern crate ferrock_options as ferrock;
        /// # use ferrock::{CompactOnDeletion, DeletionRule};
        /// let mut options = ferrock::ColumnFamilyOptions::default();
        /// let dense = DeletionRule { window_size: 1000, deletion_trigger: 300, ..DeletionRule::default() };
        /// options.compact_on_deletion = CompactOnDeletion(vec![dense]);
        /// ```
        own_mutable compact_on_deletion: CompactOnDeletion = CompactOnDeletion::default();
        /// Which file of a level goes down first.
        fixed compaction_pri: CompactionPriority = CompactionPriority::MinOverlappingRatio;
        /// Bytes of waiting compaction from which on writers are slowed down; 0: never.
        mutable soft_pending_compaction_bytes_limit: u64 = 64 << 30;
        /// Bytes of waiting compaction at which writers stop; 0: never.
        mutable hard_pending_compaction_bytes_limit: u64 = 256 << 30;
        /// Seconds after which data is compacted although nothing else asks for it; 0: never.
        mutable ttl: u64 = 30 * 24 * 3600;
        /// Seconds after which every file is rewritten; 0: never.
        mutable periodic_compaction_seconds: u64 = 0;
        /// Seconds for which a table with nothing below it is left alone, although no snapshot needs its older
        /// versions and deletions any more and a rewrite would drop them. 0: at once. What is not due yet is looked at
        /// again when a snapshot is released and when the tree changes.
        mutable bottommost_file_compaction_delay: u32 = 0;
        /// A table is compacted when reads of it that found nothing but deletions, merge operands, or nothing at all,
        /// come to more than so many for each byte of it: 0.01 is a beginning. A sample of reads is counted, from the
        /// open on. What is due is looked at when the tree changes, and every `max_compaction_trigger_wakeup_seconds`.
        /// 0: reads start no compactions.
        mutable read_triggered_compaction_threshold: f64 = 0.0;
        /// Check the order of files at every change of the tree.
        fixed force_consistency_checks: bool = true;
        /// The last level is reserved for files that are ingested with `ingest_behind`: no compaction works on it, and
        /// none drops what would hide their rows. For universal compaction, with 3 levels at least; on from the first
        /// write of the family until the files are in. Families of other styles refuse it.
        fixed cf_allow_ingest_behind: bool = false;
        /// Every table that is written is read again before it is installed, and its entries are compared with what
        /// was added. A table that differs fails its flush or compaction.
        mutable paranoid_file_checks: bool = false;
        /// How compactions verify what they wrote. Bits: 0, the checksums of all blocks; 1, every entry, as of
        /// `paranoid_file_checks`; 2, the checksum of the whole file, with `file_checksum_gen_factory`; and 10 for
        /// compactions of this process, 11 for those of others, without which the first ones do nothing there.
        mutable verify_output_flags: u32 = 0;
        /// The temperature that new tables are recorded with, a hint to the file system.
        mutable default_write_temperature: Temperature = Temperature::Unknown;
        /// The temperature that tables without a recorded one are opened with, a hint to the file system.
        fixed default_temperature: Temperature = Temperature::Unknown;
        /// Seconds for which the times when entries were written are kept: tables get samples of them as a property,
        /// and entries that may be younger keep their sequence numbers, so that they compress less well. 0: none are
        /// kept.
        mutable preserve_internal_time_seconds: u64 = 0;
        /// Compactions into the last level write entries that are younger than so many seconds into the level above it
        /// instead: see the chapter on compaction. The times of entries are kept as with
        /// `preserve_internal_time_seconds`. 0: all entries go to the last level.
        mutable preclude_last_level_data_seconds: u64 = 0;
        /// With `preclude_last_level_data_seconds`: a table of another level of which at least this share of the
        /// entries is old enough for the last level when it is written is compacted downwards soon, although no level
        /// is full. In place of RocksDB's `CompactForTieringCollector`, whose `compaction_trigger_ratio` it is: 0 or
        /// less is off, and above 1 tables only tell how many there are (`rocksdb.eligible.last.level.entries`).
        own_mutable compact_for_tiering: f64 = 0.0;
        /// That of tables which compactions write into the last level; `kUnknown`: `default_write_temperature`. Has no
        /// effect with FIFO compaction.
        mutable last_level_temperature: Temperature = Temperature::Unknown;
        /// Compression of blocks.
        mutable compression: CompressionType = CompressionType::Lz4.if_built();
        /// Compression level by level; empty: `compression` everywhere.
        mutable compression_per_level: Vec<CompressionType> = Vec::new();
        /// Levels and dictionaries of `compression`.
        mutable compression_opts: CompressionSettings = CompressionSettings::default();
        /// Compression of the bottommost level.
        mutable bottommost_compression: BottommostCompression = BottommostCompression(None);
        /// Levels and dictionaries of `bottommost_compression`, when `enabled`.
        mutable bottommost_compression_opts: CompressionSettings = CompressionSettings::default();
        /// About one in so many data blocks is also compressed by a fast codec (LZ4) and by a slow one (Zstandard), and
        /// the properties of the table estimate from them how large its data would be with each
        /// (`fast_compression_estimated_data_size`, `slow_compression_estimated_data_size`). What is stored is the
        /// same. 1: all blocks; 0: none.
        mutable sample_for_compression: u64 = 0;
        /// Values of at least `min_blob_size` bytes are written to blob files, and tables refer to them: compactions
        /// then copy references instead of values.
        mutable enable_blob_files: bool = false;
        /// With `enable_blob_files`: such values are written to blob files at once, by the writer, and the log and the
        /// memtable have references in their place.
        fixed enable_blob_direct_write: bool = false;
        /// Blob files of a family that take such values in turn. 0 is 1.
        fixed blob_direct_write_partitions: u32 = 1;
        /// Bytes from which on a value goes into a blob file. An empty value never does.
        mutable min_blob_size: u64 = 0;
        /// Bytes after which a blob file is finished and another begun.
        mutable blob_file_size: u64 = 256 << 20;
        /// Compression of values in blob files, each by itself.
        mutable blob_compression_type: CompressionType = CompressionType::NoCompression;
        /// Level and such of `blob_compression_type`. Blob files have no dictionaries.
        mutable blob_compression_opts: CompressionSettings = CompressionSettings::default();
        /// The first level whose new tables get blob files. Values that come down to it in a compaction are moved.
        mutable blob_file_starting_level: i32 = 0;
        /// Compactions write the values anew that they find in the oldest blob files, so that these can be deleted.
        mutable enable_blob_garbage_collection: bool = false;
        /// The share of the blob files, from the oldest on, that is emptied that way.
        mutable blob_garbage_collection_age_cutoff: f64 = 0.25;
        /// The share of garbage in these files from which on tables that refer to the oldest of them are compacted for
        /// that alone. 1: never.
        mutable blob_garbage_collection_force_threshold: f64 = 1.0;
        /// Bytes of a blob file that a compaction which collects it reads at a time; 0: each value by itself.
        mutable blob_compaction_readahead_size: u64 = 0;
        /// Blocks of a table that a compaction or a deletion took out of the tree leave the block cache when nothing
        /// reads it any more, and do not wait until they are the oldest. They have to be looked for: `n` looks on for
        /// as long as a share of about `0.99^(n-1)` of them is found, so 1 ends at the first that is not there, 69
        /// where fewer than half are, and 10,000 looks for all. 0: they go by age. A copy of the file elsewhere, as in
        /// a checkpoint, has blocks of its own and keeps them.
        mutable uncache_aggressiveness: u32 = 0;
        /// When new values are put into the `blob_cache` as they are written, before the first read can want them.
        mutable prepopulate_blob_cache: PrepopulateBlobCache = PrepopulateBlobCache::Disable;
        /// Above 0, the filters of plain tables keep the bits of a key in one line of the processor's cache.
        fixed bloom_locality: u32 = 0;
        /// The bottommost level gets no filters: nearly every lookup that comes there finds its key.
        fixed optimize_filters_for_hits: bool = false;
        /// Hidden versions of a key that an iterator walks over before it seeks past them.
        mutable max_sequential_skip_in_iterations: u64 = 8;
    }
}

/// Options of one column family.
///
/// ```
/// # extern crate ferrock_options as ferrock;
/// let mut options = ferrock::ColumnFamilyOptions::default();
/// options.write_buffer_size = 8 << 20;
/// options.table.block_size = 16 << 10;
/// ```
#[derive(Clone, Debug, Default)]
pub struct ColumnFamilyOptions {
    /// What an OPTIONS file can hold.
    pub settings: ColumnFamilySettings,
    /// Key order.
    pub comparator: Comparator,
    /// Combines what `merge` wrote.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// The part of a key that filters and prefix seeks go by.
    pub prefix_extractor: Option<PrefixExtractor>,
    /// With `inplace_update_support`: what a put makes of the value that is there.
    pub inplace_callback: Option<Arc<dyn InPlaceCallback>>,
    /// With `enable_blob_direct_write`: which of the memtable's blob files takes a value; `None`: they take turns.
    pub blob_direct_write_partition_strategy: Option<Arc<dyn BlobFilePartitionStrategy>>,
    /// Decides what compaction, and flush if it wants, keeps.
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
    /// Makes a filter for each compaction, and flush if it wants. Compactions ask it only without `compaction_filter`.
    pub compaction_filter_factory: Option<Arc<dyn CompactionFilterFactory>>,
    /// Makes partitioners, which say between which keys compaction ends a table.
    pub sst_partitioner_factory: Option<Arc<dyn SstPartitionerFactory>>,
    /// Makers of collectors, which store properties of a program in each table that is written.
    pub table_properties_collector_factories: Vec<Arc<dyn TablePropertiesCollectorFactory>>,
    /// Filters in tables.
    pub filter_policy: FilterPolicy,
    /// Which kind of tables is written. Tables of every kind are read.
    pub table_factory: TableFactory,
    /// How block-based tables are written and read.
    pub table: BlockBasedTableOptions,
    /// Cache of the family's blocks; `None`: the database's.
    pub block_cache: Option<Arc<TableBlockCache>>,
    /// Cache of the family's values in blob files, which may be a block cache; `None`: they are read each time, but
    /// with a `memory_budget`, whose cache takes them.
    pub blob_cache: Option<Arc<TableBlockCache>>,
    /// What is charged to the block cache beside blocks.
    pub cache_usage: CacheUsageOptions,
    /// Bounds the automatic compactions that run at once, of all families that have the same one.
    pub compaction_thread_limiter: Option<Arc<ConcurrentTaskLimiter>>,
    /// Directories of the family's tables; none: `db_paths` of the database. As in RocksDB no OPTIONS file has them.
    pub cf_paths: Vec<DbPath>,
    /// RocksDB's options that have no meaning here (yet), as an OPTIONS file had them.
    pub passthrough: Passthrough,
    /// Read from an OPTIONS file: what cannot be written is replaced by its nearest form instead of refused.
    #[doc(hidden)]
    pub is_from_file: bool,
}

impl Deref for ColumnFamilyOptions {
    type Target = ColumnFamilySettings;
    fn deref(&self) -> &ColumnFamilySettings {
        &self.settings
    }
}

impl DerefMut for ColumnFamilyOptions {
    fn deref_mut(&mut self) -> &mut ColumnFamilySettings {
        &mut self.settings
    }
}

impl ColumnFamilyOptions {
    /// Every value that means nothing, alone or with the others. A number that is only out of its bounds is none of
    /// them: it is brought to the nearest good one when the family is opened.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let (mut settings, mut table) = (self.settings.clone(), self.table.clone());
        settings.bring_into_bounds();
        table.bring_into_bounds();
        let mut violations = settings.violations();
        violations.extend(table.violations());
        violations.extend(self.table.meaningless());
        let charged = self.cache_usage.enabled();
        if self.table.no_block_cache && !charged.is_empty() {
            violations.push(Violation {
                name: "cache_usage".to_owned(),
                value: format!("Enabled for {}", charged.join(", ")),
                bound: "not supported with no_block_cache = true: there is nothing to charge".to_owned(),
            });
        }
        if self.comparator.timestamp_size() > 0 {
            violations.push(Violation {
                name: "comparator".to_owned(),
                value: self.comparator.name().to_owned(),
                bound: "not supported: user-defined timestamps".to_owned(),
            });
        }
        let settings = &self.settings;
        for kind in std::iter::once(settings.compression)
            .chain(settings.compression_per_level.iter().copied())
            .chain(settings.bottommost_compression.0)
            .chain(settings.enable_blob_files.then_some(settings.blob_compression_type))
        {
            if let Err(error) = kind.check_built() {
                violations.push(Violation {
                    name: "compression".to_owned(),
                    value: kind.option_name().to_owned(),
                    bound: format!("not supported: {}", error.message()),
                });
            }
        }
        violations
    }

    /// Whether compactions may be filtered.
    #[must_use]
    #[doc(hidden)]
    pub fn has_compaction_filter(&self) -> bool {
        self.compaction_filter.is_some() || self.compaction_filter_factory.is_some()
    }

    fn is_uncompressed(&self) -> bool {
        let kinds = std::iter::once(self.settings.compression)
            .chain(self.settings.compression_per_level.iter().copied())
            .chain(self.settings.bottommost_compression.0);
        kinds.into_iter().all(|kind| kind == CompressionType::NoCompression)
    }

    /// Values that ask for something that is not built: refused when a caller sets them, noted when a file has them.
    #[must_use]
    #[doc(hidden)]
    pub fn unsupported(&self) -> Vec<String> {
        let mut all: Vec<String> = self.table.unsupported_for_writing().iter().map(ToString::to_string).collect();
        // From a caller both are refused: `combinations`.
        if self.is_from_file && self.table.index_type == IndexType::HashSearch && self.prefix_extractor.is_none() {
            all.push("index_type = kHashSearch needs a prefix extractor; the nearest form is kBinarySearch".to_owned());
        }
        if self.is_from_file
            && self.table.block_align
            && !(self.table.block_size.is_power_of_two() && self.is_uncompressed())
        {
            all.push(
                "block_align = true needs a block_size that is a power of two, and no compression; blocks are padded \
                 all the same"
                    .to_owned(),
            );
        }
        all
    }

    /// Values that are kept for RocksDB and have no effect, beside those that have no row in a table.
    #[must_use]
    #[doc(hidden)]
    pub fn without_effect(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.inplace_callback.is_some() && !self.settings.inplace_update_support {
            all.push("inplace_callback has no effect without inplace_update_support".to_owned());
        }
        if self.blob_direct_write_partition_strategy.is_some() && !self.settings.enable_blob_direct_write {
            let name = "blob_direct_write_partition_strategy";
            all.push(format!("{name} has no effect without enable_blob_direct_write"));
        }
        if self.settings.cf_allow_ingest_behind && !self.settings.reserves_last_level() {
            all.push("cf_allow_ingest_behind has no effect without universal compaction".to_owned());
        }
        all
    }

    /// Compression of a table written to `level`. `base_level` is the first level below 0 that holds data.
    #[must_use]
    #[doc(hidden)]
    pub fn compression_for(
        &self,
        level: usize,
        base_level: usize,
        is_bottommost: bool,
    ) -> (CompressionType, &CompressionOptions) {
        let s = &self.settings;
        if is_bottommost && let Some(kind) = s.bottommost_compression.0 {
            let settings = if s.bottommost_compression_opts.0.enabled {
                &s.bottommost_compression_opts
            } else {
                &s.compression_opts
            };
            return (kind, &settings.0);
        }
        let kind = if s.compression_per_level.is_empty() {
            s.compression
        } else {
            // With dynamic levels the list counts from the base level: entry 0 is level 0, entry 1 the base level.
            let index = if level == 0 { 0 } else { (level + 1).saturating_sub(base_level.max(1)).max(1) };
            s.compression_per_level[index.min(s.compression_per_level.len() - 1)]
        };
        (kind, &s.compression_opts.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::comparator::{Comparator, CustomComparator};
    use std::cmp::Ordering;
    use std::sync::Arc;

    struct WithTimestamps;

    impl CustomComparator for WithTimestamps {
        fn name(&self) -> &str {
            "test.BytewiseComparator.u64ts"
        }
        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.cmp(b)
        }
        fn timestamp_size(&self) -> usize {
            8
        }
    }

    #[test]
    fn an_order_with_timestamps_is_refused() {
        let mut options = ColumnFamilyOptions::default();
        assert!(options.violations().is_empty());
        options.comparator = Comparator::Custom(Arc::new(WithTimestamps));
        let violations: Vec<String> = options.violations().iter().map(ToString::to_string).collect();
        assert_eq!(
            violations,
            ["comparator = test.BytewiseComparator.u64ts is not supported: user-defined timestamps"]
        );
    }

    #[test]
    fn compression_settings_survive_their_text() {
        let text = "{checksum=true;max_compressed_bytes_per_kb=900;max_dict_buffer_bytes=0;enabled=true;\
                    max_dict_bytes=16384;parallel_threads=1;zstd_max_train_bytes=0;level=9;\
                    use_zstd_dict_trainer=true;strategy=0;window_bits=-14;}";
        let settings = CompressionSettings::parse_option(text).unwrap();
        assert_eq!((settings.0.level, settings.0.max_dict_bytes, settings.0.enabled), (9, 16384, true));
        assert_eq!(settings.format_option(), text);
        assert_eq!(CompressionSettings::parse_option("{level=x;}"), None);
        let old = CompressionSettings::parse_option("-14:9:0").unwrap().0;
        assert_eq!((old.window_bits, old.level, old.max_dict_bytes), (-14, 9, 0));
        assert_eq!(CompressionSettings::parse_option("{}").unwrap(), CompressionSettings::default());
        assert_eq!(CompressionSettings::parse_option("1:2:3:4:5:6:true:8"), None);
        assert!(CompressionSettings::default().format_option().contains("level=32767"));
    }

    #[test]
    fn compression_follows_the_level() {
        let mut options = ColumnFamilyOptions::default();
        options.compression_per_level =
            vec![CompressionType::NoCompression, CompressionType::Snappy, CompressionType::Zstd];
        options.bottommost_compression = BottommostCompression(Some(CompressionType::Zlib));
        assert_eq!(options.compression_for(0, 4, false).0, CompressionType::NoCompression);
        assert_eq!(options.compression_for(4, 4, false).0, CompressionType::Snappy);
        assert_eq!(options.compression_for(5, 4, false).0, CompressionType::Zstd);
        assert_eq!(options.compression_for(6, 4, true).0, CompressionType::Zlib);
    }
}
