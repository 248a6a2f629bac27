//! Options that are good alone and mean nothing together.
//!
//! RocksDB refuses an open with such options. The same ones are refused here, with the words that a program may look
//! for, by every function that takes options: opens, new families, and changes while the database is open. Some of them
//! have no effect here ([`passthrough`](super::passthrough)); a program that asks for them together is wrong all the
//! same, and would be refused as soon as it runs with RocksDB.

use super::adjust::is_default_ttl;
use super::budgeted;
use super::passthrough::{COLUMN_FAMILY_OPTIONS, DB_OPTIONS};
use super::{ColumnFamilyOptions, CompactionStyle, DbOptions, TableFactory};
use ferrock_base::{Error, Result};
use ferrock_table::options::{DataBlockIndexType, IndexType};

/// The first of some errors whose condition holds.
fn first(rows: impl IntoIterator<Item = (bool, fn(&'static str) -> Error, &'static str)>) -> Result<()> {
    rows.into_iter().find(|(is_wrong, ..)| *is_wrong).map_or(Ok(()), |(_, error, text)| Err(error(text)))
}

const INVALID: fn(&'static str) -> Error = |text| Error::invalid_argument(text);
const UNSUPPORTED: fn(&'static str) -> Error = |text| Error::not_supported(text);

/// Refuses options of a database that mean nothing together.
///
/// # Errors
/// `Invalid argument` or `Not implemented`, with the words of RocksDB.
pub fn check_db(db: &DbOptions) -> Result<()> {
    let kept = |name: &str| db.passthrough.get(DB_OPTIONS, name).unwrap_or_default();
    let is_on = |name: &str| kept(name) == "true";
    let unordered = is_on("unordered_write");
    let pipelined = is_on("enable_pipelined_write");
    first([
        (
            kept("read_io_executor_threads").parse::<i64>().is_ok_and(|threads| threads <= 0),
            INVALID,
            "read_io_executor_threads must be greater than zero",
        ),
        (
            db.allow_mmap_reads.is_on() && db.use_direct_reads,
            UNSUPPORTED,
            "If memory mapped reads (allow_mmap_reads) are enabled then direct I/O reads (use_direct_reads) must be disabled.",
        ),
        (
            db.allow_mmap_reads.is_on() && db.use_direct_io_for_compaction_reads,
            UNSUPPORTED,
            "If memory mapped reads (allow_mmap_reads) are enabled then compaction-only direct I/O reads \
             (use_direct_io_for_compaction_reads) must be disabled.",
        ),
        (
            is_on("allow_mmap_writes") && db.use_direct_io_for_flush_and_compaction,
            UNSUPPORTED,
            "If memory mapped writes (allow_mmap_writes) are enabled then direct I/O writes \
             (use_direct_io_for_flush_and_compaction) must be disabled.",
        ),
        (db.keep_log_file_num == 0, INVALID, "keep_log_file_num must be greater than 0"),
        (
            unordered && !db.allow_concurrent_memtable_write,
            INVALID,
            "unordered_write is incompatible with !allow_concurrent_memtable_write",
        ),
        (unordered && pipelined, INVALID, "unordered_write is incompatible with enable_pipelined_write"),
        (db.atomic_flush && pipelined, INVALID, "atomic_flush is incompatible with enable_pipelined_write"),
        (
            db.use_direct_io_for_flush_and_compaction && db.writable_file_max_buffer_size == 0,
            INVALID,
            "writes in direct IO require writable_file_max_buffer_size > 0",
        ),
        (
            !db.write_dbid_to_manifest && !db.write_identity_file,
            INVALID,
            "write_dbid_to_manifest and write_identity_file cannot both be false",
        ),
        (
            db.open_files_async && !is_on("skip_stats_update_on_db_open"),
            INVALID,
            "open_files_async requires skip_stats_update_on_db_open = true.",
        ),
    ])?;
    budgeted::check_db(db)
}

/// Refuses options of a family that mean nothing together, or with those of its database.
///
/// # Errors
/// `Invalid argument` or `Not implemented`, with the words of RocksDB.
pub fn check_family(db: &DbOptions, family: &ColumnFamilyOptions) -> Result<()> {
    let db_is_on = |name: &str| db.passthrough.get(DB_OPTIONS, name).is_some_and(|value| value == "true");
    let is_share = |number: f64| (0.0..=1.0).contains(&number);
    let collects_blobs = family.enable_blob_garbage_collection;
    let dictionary = &family.compression_opts.0;
    let is_plain = family.table_factory != TableFactory::BlockBased;
    first([
        (
            dictionary.zstd_max_train_bytes > 0 && dictionary.max_dict_bytes == 0,
            INVALID,
            "The dictionary size limit (`CompressionOptions::max_dict_bytes`) should be nonzero if we're using zstd's \
             dictionary generator.",
        ),
        (
            db.allow_concurrent_memtable_write && family.inplace_update_support,
            INVALID,
            "In-place memtable updates (inplace_update_support) is not compatible with concurrent writes \
             (allow_concurrent_memtable_write)",
        ),
        (
            db.allow_concurrent_memtable_write && !family.memtable_factory.allows_concurrent_writes(),
            INVALID,
            "Memtable doesn't allow concurrent writes (allow_concurrent_memtable_write)",
        ),
        (
            db_is_on("unordered_write") && family.max_successive_merges > 0,
            INVALID,
            "max_successive_merges larger than 0 is currently inconsistent with unordered_write",
        ),
        (
            (db.allow_ingest_behind || family.cf_allow_ingest_behind)
                && family.compaction_style != CompactionStyle::Universal
                && !family.is_from_file,
            UNSUPPORTED,
            "cf_allow_ingest_behind, and allow_ingest_behind of the database, need universal compaction: set \
             compaction_style to kCompactionStyleUniversal, or leave the option off",
        ),
        (
            collects_blobs && !is_share(family.blob_garbage_collection_age_cutoff),
            INVALID,
            "The age cutoff for blob garbage collection should be in the range [0.0, 1.0].",
        ),
        (
            collects_blobs && !is_share(family.blob_garbage_collection_force_threshold),
            INVALID,
            "The garbage ratio threshold for forcing blob garbage collection should be in the range [0.0, 1.0].",
        ),
        (
            !(0.0..f64::INFINITY).contains(&family.read_triggered_compaction_threshold),
            INVALID,
            "read_triggered_compaction_threshold must be >= 0.0 and finite. Use 0.0 to disable.",
        ),
        (
            !is_protection(family.memtable_protection_bytes_per_key),
            UNSUPPORTED,
            "Memtable per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key.",
        ),
        (
            !is_protection(family.block_protection_bytes_per_key),
            UNSUPPORTED,
            "Block per key-value checksum protection only supports 0, 1, 2, 4 or 8 bytes per key.",
        ),
        (
            is_plain && family.ttl > 0 && !is_default_ttl(family.ttl),
            UNSUPPORTED,
            "TTL is only supported in Block-Based Table format. ",
        ),
        (
            is_plain && ![0, u64::MAX - 1].contains(&family.periodic_compaction_seconds),
            UNSUPPORTED,
            "Periodic Compaction is only supported in Block-Based Table format. ",
        ),
    ])?;
    check_direct_writes(db, family)?;
    check_fifo(db, family)?;
    check_universal(family)?;
    check_table(family)?;
    budgeted::check_family(db, family)
}

fn is_protection(bytes: u32) -> bool {
    [0, 1, 2, 4, 8].contains(&bytes)
}

/// Values that go to blob files at once want one writer of memtables, and in RocksDB no other way to write.
fn check_direct_writes(db: &DbOptions, family: &ColumnFamilyOptions) -> Result<()> {
    if !family.enable_blob_direct_write {
        return Ok(());
    }
    let is_on = |name: &str| db.passthrough.get(DB_OPTIONS, name).is_some_and(|value| value == "true");
    let mempurge = family.passthrough.get(COLUMN_FAMILY_OPTIONS, "experimental_mempurge_threshold");
    first([
        (
            is_on("enable_pipelined_write"),
            UNSUPPORTED,
            "Blob direct write v1 does not support pipelined writes. (enable_blob_direct_write needs \
             enable_pipelined_write = false)",
        ),
        (
            db.allow_concurrent_memtable_write,
            UNSUPPORTED,
            "Blob direct write v1 does not support concurrent memtable writes. (enable_blob_direct_write needs \
             allow_concurrent_memtable_write = false)",
        ),
        (
            is_on("unordered_write"),
            UNSUPPORTED,
            "Blob direct write v1 does not support unordered writes. (enable_blob_direct_write needs unordered_write = \
             false)",
        ),
        (
            is_on("two_write_queues"),
            UNSUPPORTED,
            "Blob direct write v1 does not support two write queues. (enable_blob_direct_write needs two_write_queues = \
             false)",
        ),
        (
            mempurge.is_some_and(|value| value.parse::<f64>().is_ok_and(|threshold| threshold > 0.0)),
            UNSUPPORTED,
            "Blob direct write does not support MemPurge. (enable_blob_direct_write needs \
             experimental_mempurge_threshold = 0)",
        ),
    ])
}

fn check_fifo(db: &DbOptions, family: &ColumnFamilyOptions) -> Result<()> {
    let is_fifo = family.compaction_style == CompactionStyle::Fifo;
    let ages = &family.compaction_options_fifo.file_temperature_age_thresholds;
    first([
        (
            is_fifo && db.max_open_files != -1 && family.ttl > 0,
            UNSUPPORTED,
            "FIFO compaction only supported with max_open_files = -1.",
        ),
        (
            is_fifo && family.cf_paths.len() > 1,
            UNSUPPORTED,
            "More than one CF paths are only supported in universal and level compaction styles. ",
        ),
        (
            is_fifo && family.cf_paths.is_empty() && db.db_paths.len() > 1,
            UNSUPPORTED,
            "More than one DB paths are only supported in universal and level compaction styles. ",
        ),
        (is_fifo && db.open_files_async, UNSUPPORTED, "FIFO compaction is not supported with open_files_async = true."),
        (
            !ages.is_empty() && !is_fifo,
            UNSUPPORTED,
            "Option file_temperature_age_thresholds only supports FIFO compaction.",
        ),
        (
            !ages.is_empty() && family.num_levels > 1,
            UNSUPPORTED,
            "Option file_temperature_age_thresholds is only supported when num_levels = 1.",
        ),
        (
            ages.windows(2).any(|pair| pair[0].age >= pair[1].age),
            UNSUPPORTED,
            "Option file_temperature_age_thresholds requires elements to be sorted in increasing order with respect to \
             `age` field.",
        ),
    ])
}

fn check_universal(family: &ColumnFamilyOptions) -> Result<()> {
    let is_universal = family.compaction_style == CompactionStyle::Universal;
    let most_runs = family.compaction_options_universal.max_read_amp;
    first([
        (
            is_universal && most_runs < -1,
            UNSUPPORTED,
            "CompactionOptionsUniversal::max_read_amp should be at least -1.",
        ),
        (
            is_universal && most_runs > 0 && most_runs < family.level0_file_num_compaction_trigger,
            UNSUPPORTED,
            "CompactionOptionsUniversal::max_read_amp limits the number of sorted runs but is smaller than the compaction \
             trigger level0_file_num_compaction_trigger.",
        ),
    ])
}

/// Refuses options of tables. A family that was read from an OPTIONS file gets the nearest form of what cannot be
/// written.
fn check_table(family: &ColumnFamilyOptions) -> Result<()> {
    let table = &family.table;
    let is_set = !family.is_from_file;
    first([
        (
            is_set && table.index_type == IndexType::HashSearch && family.prefix_extractor.is_none(),
            INVALID,
            "Hash index is specified for block-based table, but prefix_extractor is not given (index_type = kHashSearch)",
        ),
        (
            table.cache_index_and_filter_blocks && table.no_block_cache,
            INVALID,
            "Enable cache_index_and_filter_blocks, , but block cache is disabled",
        ),
        (
            table.pin_l0_filter_and_index_blocks_in_cache && table.no_block_cache,
            INVALID,
            "Enable pin_l0_filter_and_index_blocks_in_cache, , but block cache is disabled",
        ),
        (
            is_set && table.block_align && family.compression.compresses(),
            INVALID,
            "Enable block_align, but compression enabled",
        ),
        (
            is_set && table.block_align && family.bottommost_compression.0.is_some_and(Kind::compresses),
            INVALID,
            "Enable block_align, but bottommost_compression enabled",
        ),
        (
            is_set && table.block_align && family.compression_per_level.iter().any(|kind| kind.compresses()),
            INVALID,
            "Enable block_align, but compression_per_level enabled",
        ),
        (
            is_set && table.block_align && !table.block_size.is_power_of_two(),
            INVALID,
            "Block alignment requested but block size is not a power of 2",
        ),
        (
            table.super_block_alignment_size > 0 && !table.super_block_alignment_size.is_power_of_two(),
            INVALID,
            "Super Block alignment requested but super block alignment size is not a power of 2",
        ),
        (
            table.super_block_alignment_size > u64::from(u32::MAX),
            INVALID,
            "Super block alignment size exceeds maximum number (4GiB) allowed",
        ),
        (
            (1..4).contains(&table.super_block_alignment_space_overhead_ratio),
            INVALID,
            "Super block alignment space overhead is too high",
        ),
        (
            table.data_block_index_type == DataBlockIndexType::BinaryAndHash
                && table.data_block_hash_table_util_ratio <= 0.0,
            INVALID,
            "data_block_hash_table_util_ratio should be greater than 0 when data_block_index_type is set to \
             kDataBlockBinaryAndHash",
        ),
    ])
}

/// Whether blocks are compressed.
trait Kind {
    fn compresses(self) -> bool;
}

impl Kind for super::CompressionType {
    fn compresses(self) -> bool {
        self != Self::NoCompression
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply_text;

    fn refusal(text: &str) -> Option<Error> {
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        apply_text(&mut db, &mut family, text).unwrap();
        check_db(&db).and_then(|()| check_family(&db, &family)).err()
    }

    #[test]
    fn what_means_nothing_together_is_refused() {
        for (text, words) in [
            ("unordered_write=true;enable_pipelined_write=true", "incompatible with enable_pipelined_write"),
            ("unordered_write=true;allow_concurrent_memtable_write=false", "!allow_concurrent_memtable_write"),
            ("unordered_write=true;max_successive_merges=2", "max_successive_merges"),
            ("allow_mmap_reads=true;use_direct_reads=true", "(use_direct_reads) must be disabled"),
            ("write_dbid_to_manifest=false;write_identity_file=false", "cannot both be false"),
            ("open_files_async=true", "skip_stats_update_on_db_open"),
            ("keep_log_file_num=0", "keep_log_file_num"),
            ("inplace_update_support=true", "inplace_update_support"),
            ("memtable_factory=prefix_hash:1000", "Memtable doesn't allow concurrent writes"),
            ("memtable_factory={id=HashLinkListRepFactory;bucket_count=9}", "Memtable doesn't allow concurrent writes"),
            (
                "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=1.5",
                "The age cutoff for blob garbage collection",
            ),
            (
                "enable_blob_garbage_collection=true;blob_garbage_collection_force_threshold=-0.5",
                "The garbage ratio threshold for forcing",
            ),
            ("table_factory=PlainTable;ttl=7", "TTL is only supported"),
            ("enable_blob_direct_write=true", "does not support concurrent memtable writes"),
            (
                "enable_blob_direct_write=true;allow_concurrent_memtable_write=false;enable_pipelined_write=true",
                "does not support pipelined writes",
            ),
            (
                "enable_blob_direct_write=true;allow_concurrent_memtable_write=false;experimental_mempurge_threshold=1.5",
                "does not support MemPurge",
            ),
            ("table_factory=PlainTable;periodic_compaction_seconds=7", "Periodic Compaction is only supported"),
            ("block_based_table_factory={no_block_cache=true;cache_index_and_filter_blocks=true}", "is disabled"),
            ("block_based_table_factory={index_type=kHashSearch}", "prefix_extractor is not given"),
            ("block_based_table_factory={block_align=true}", "but compression enabled"),
            ("block_based_table_factory={super_block_alignment_size=1000}", "not a power of 2"),
            ("compression_opts={zstd_max_train_bytes=1000}", "max_dict_bytes"),
            ("compaction_style=kCompactionStyleFIFO;max_open_files=100", "only supported with max_open_files = -1."),
            (
                "compaction_style=kCompactionStyleFIFO;open_files_async=true;skip_stats_update_on_db_open=true",
                "not supported with open_files_async",
            ),
            ("compaction_options_fifo={file_temperature_age_thresholds={{age=1}}}", "only supports FIFO"),
            (
                "compaction_style=kCompactionStyleFIFO;compaction_options_fifo={file_temperature_age_thresholds={{age=1}}}",
                "num_levels = 1",
            ),
            (
                "compaction_style=kCompactionStyleFIFO;num_levels=1;compaction_options_fifo=\
                 {file_temperature_age_thresholds={{age=2}:{age=2}}}",
                "increasing order",
            ),
        ] {
            let error = refusal(text).unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.message().contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn neighbours_of_what_is_refused_are_taken() {
        for text in [
            "",
            "unordered_write=true",
            "memtable_factory=vector",
            "table_factory=PlainTable;ttl=0",
            "blob_garbage_collection_age_cutoff=1.5",
            "table_factory=PlainTable",
            "memtable_factory={id=HashSkipListRepFactory;bucket_count=9};allow_concurrent_memtable_write=false",
            "allow_mmap_reads=true",
            "write_dbid_to_manifest=true;write_identity_file=false",
            "daily_offpeak_time_utc=23:30-03:15",
            "open_files_async=true;skip_stats_update_on_db_open=true",
            "block_based_table_factory={no_block_cache=true}",
            "block_based_table_factory={index_type=kHashSearch};prefix_extractor=fixed:3",
            "block_based_table_factory={block_align=true};compression=kNoCompression",
            "compression_opts={zstd_max_train_bytes=1000;max_dict_bytes=100}",
            "compaction_style=kCompactionStyleFIFO",
            "compaction_style=kCompactionStyleFIFO;max_open_files=100;ttl=0",
            "compaction_style=kCompactionStyleFIFO;num_levels=1;compaction_options_fifo=\
             {file_temperature_age_thresholds={{age=1;temperature=kWarm}:{age=2;temperature=kCold}}}",
        ] {
            assert_eq!(refusal(text).map(|error| error.to_string()), None, "{text}");
        }
    }
}
