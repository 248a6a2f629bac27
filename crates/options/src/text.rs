//! Options from one line of text, as command lines and bindings give them:
//! `write_buffer_size=8m;compression=kZSTD;block_based_table_factory={block_size=16k;filter_policy=bloomfilter:10};`
//!
//! Here the caller speaks, not a file: an unknown name is an error, and so is asking for what is not built. Hints
//! without effect are kept ([`passthrough`]), and numbers out of their bounds are adjusted when the text is used.

use super::passthrough::{self, Passthrough};
use super::{ColumnFamilyOptions, DbOptions, MemTableFactory, MemoryBudget};
use ferrock_base::merge;
use ferrock_base::option_table::{OptionValue, parse_integer};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{Comparator, Error, Result, compaction_filter, file_checksum, sst_partitioner};
use ferrock_cache::CacheOptions;
use ferrock_format::filter::FilterPolicy;
use ferrock_format::options_file::value::{NULL_OBJECT, parse_struct};
use ferrock_format::options_file::{OptionScope, canonical_name, is_deprecated};
use ferrock_table::options::{BLOCK_BASED_TABLE, PLAIN_TABLE, TableFactory};
use ferrock_table::{PlainTableOptions, TableBlockCache};
use std::sync::Arc;

/// Changes options of a database and of a column family by a text. Retired names are accepted and do nothing; hints
/// that have no effect here are kept and noted when a database is opened.
///
/// # Errors
/// `Invalid argument` for a text that is no list of `name=value`, a name that is no option's, and a value that is not
/// one of its option; `Not implemented` for a value that asks for what is not built and is no mere hint. Then the
/// options may have changed in part.
///
/// ```
/// # mod ferrock { pub use ferrock_options::*; pub mod options { pub use ferrock_options::*; } }
/// let (mut db, mut family) = (ferrock::DbOptions::default(), ferrock::ColumnFamilyOptions::default());
/// ferrock::options::apply_text(&mut db, &mut family, "max_background_jobs=4;write_buffer_size=8m")?;
/// assert_eq!((db.max_background_jobs, family.write_buffer_size), (4, 8 << 20));
/// # Ok::<(), ferrock_base::Error>(())
/// ```
pub fn apply_text(db: &mut DbOptions, family: &mut ColumnFamilyOptions, text: &str) -> Result<()> {
    // What an OPTIONS file asked for stays; only what is new here is refused.
    let known = if family.is_from_file { family.unsupported() } else { Vec::new() };
    for (name, value) in parse_struct(text)? {
        let name = canonical_name(name);
        if name == "memtable_factory" && MemTableFactory::has_unknown_field(value) {
            return Err(not_recognized(name));
        }
        let is_known = set_component(family, name, value)?
            || set_db_component(db, name, value)?
            || db.settings.set(name, value)?
            || family.settings.set(name, value)?
            || db.passthrough.set(passthrough::DB_OPTIONS, name, value)?
            || family.passthrough.set(passthrough::COLUMN_FAMILY_OPTIONS, name, value)?
            || Passthrough::default().set(passthrough::NEVER_WRITTEN, name, value)?
            || is_deprecated(OptionScope::Db, name)
            || is_deprecated(OptionScope::ColumnFamily, name);
        if !is_known {
            return Err(not_recognized(name));
        }
    }
    match family.unsupported().into_iter().find(|value| !known.contains(value)) {
        Some(first) => Err(Error::not_supported(first)),
        None => Ok(()),
    }
}

pub(crate) fn not_recognized(name: &str) -> Error {
    Error::invalid_argument(format!("Extra option not recognized: {name}"))
}

/// Changes the options of a family's tables. `unknown` is the error of a name that is none of theirs.
pub(crate) fn apply_table_text(family: &mut ColumnFamilyOptions, text: &str, unknown: fn(&str) -> Error) -> Result<()> {
    for (name, value) in parse_struct(text)? {
        match name {
            "filter_policy" => family.filter_policy = FilterPolicy::parse(value)?,
            "block_cache" if matches!(value, "" | NULL_OBJECT) => family.block_cache = None,
            "block_cache" => {
                family.block_cache = Some(TableBlockCache::new(cache_options(name, value)?));
            }
            _ => {
                let is_known = family.table.set(name, value)?
                    || family.passthrough.set(passthrough::TABLE_OPTIONS, name, value)?
                    || Passthrough::default().set(passthrough::NEVER_WRITTEN, name, value)?
                    || is_deprecated(OptionScope::BlockBasedTable, name);
                if !is_known {
                    return Err(unknown(name));
                }
            }
        }
    }
    Ok(())
}

/// Makes a family write plain tables, with some of their options changed.
pub(crate) fn apply_plain_table_text(
    family: &mut ColumnFamilyOptions,
    text: &str,
    unknown: fn(&str) -> Error,
) -> Result<()> {
    let mut options = PlainTableOptions::clone(&family.table_factory.plain_options());
    for (name, value) in parse_struct(text)? {
        if !options.set(name, value)? {
            return Err(unknown(name));
        }
    }
    family.table_factory = TableFactory::Plain(Arc::new(options));
    Ok(())
}

/// Which tables a family writes, as `PlainTable` or as `{id=BlockBasedTable;block_size=8k;...}`.
pub(crate) fn set_table_factory(family: &mut ColumnFamilyOptions, text: &str) -> Result<()> {
    let (id, options) = match text.trim().trim_start_matches('{').strip_prefix("id=") {
        Some(rest) => rest.trim_end_matches('}').split_once(';').unwrap_or((rest.trim_end_matches('}'), "")),
        None => (text, ""),
    };
    // RocksDB names the object.
    let unknown = |_: &str| not_recognized("table_factory");
    match id.trim() {
        BLOCK_BASED_TABLE => {
            family.table_factory = TableFactory::BlockBased;
            apply_table_text(family, options, unknown)
        }
        PLAIN_TABLE => {
            family.table_factory = TableFactory::default();
            apply_plain_table_text(family, options, unknown)
        }
        name => Err(Error::not_supported(format!(
            "table_factory = {name} is not built yet; use {BLOCK_BASED_TABLE} or {PLAIN_TABLE}"
        ))),
    }
}

/// Options of a cache: a size, or a list of RocksDB's names and our `fail_when_full`.
fn cache_options(option: &str, text: &str) -> Result<CacheOptions> {
    let mut options = CacheOptions::default();
    let wrong = |what: String| Error::invalid_argument(format!("option {option}: {what}"));
    let size = |value: &str| {
        let size = parse_integer(value).and_then(|bytes| usize::try_from(bytes).ok());
        size.ok_or_else(|| wrong(format!("{value:?} is not a size")))
    };
    if !text.contains('=') {
        return Ok(CacheOptions { capacity_bytes: size(text)?, ..options });
    }
    let mut ratios = Vec::new();
    for (name, value) in parse_struct(text)? {
        let flag = || bool::parse_option(value).ok_or_else(|| wrong(format!("{name} = {value:?} is no boolean")));
        let ratio = || {
            let ratio = value.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
            ratio.ok_or_else(|| wrong(format!("{name} = {value:?} is not between 0 and 1")))
        };
        match name {
            "capacity" => options.capacity_bytes = size(value)?,
            "num_shard_bits" => {
                let bits = parse_integer(value).filter(|bits| (-1..20).contains(bits));
                let bits = bits.ok_or_else(|| wrong(format!("{name} = {value:?} is not between -1 and 19")))?;
                options.shard_bits = u32::try_from(bits).ok();
            }
            "strict_capacity_limit" => options.strict_capacity_limit = flag()?,
            "fail_when_full" => options.fail_when_full = flag()?,
            "high_pri_pool_ratio" => {
                options.high_pri_pool_ratio = ratio()?;
                ratios.push(options.high_pri_pool_ratio);
            }
            "low_pri_pool_ratio" => {
                options.low_pri_pool_ratio = ratio()?;
                ratios.push(options.low_pri_pool_ratio);
            }
            _ => return Err(wrong(format!("{name} is no option of a block cache"))),
        }
    }
    if ratios.iter().sum::<f64>() > 1.0 {
        return Err(wrong("high_pri_pool_ratio and low_pri_pool_ratio are together more than 1".to_owned()));
    }
    Ok(options)
}

/// Takes the options that name an object; false when `name` is none of them.
fn set_component(family: &mut ColumnFamilyOptions, name: &str, value: &str) -> Result<bool> {
    match name {
        "comparator" => family.comparator = Comparator::built_in(value)?,
        "merge_operator" => family.merge_operator = merge::built_in(value)?,
        "prefix_extractor" => family.prefix_extractor = PrefixExtractor::built_in(value)?,
        "compaction_filter" => {
            family.compaction_filter = compaction_filter::built_in(value);
            if family.compaction_filter.is_none() && !matches!(value, "" | NULL_OBJECT) {
                return Err(Error::not_supported(format!("compaction filter {value} is not built in")));
            }
        }
        "sst_partitioner_factory" => family.sst_partitioner_factory = sst_partitioner::built_in(value)?,
        "compaction_filter_factory" => {
            if !matches!(value, "" | NULL_OBJECT) {
                return Err(Error::not_supported(format!("compaction filter factory {value} is not built in")));
            }
            family.compaction_filter_factory = None;
        }
        "blob_cache" if matches!(value, "" | NULL_OBJECT) => family.blob_cache = None,
        "blob_cache" => family.blob_cache = Some(TableBlockCache::new(cache_options(name, value)?)),
        "table_factory" => set_table_factory(family, value)?,
        "block_based_table_factory" => {
            family.table_factory = TableFactory::BlockBased;
            apply_table_text(family, value, not_recognized)?;
        }
        "plain_table_factory" => apply_plain_table_text(family, value, not_recognized)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// `memory_budget` as bytes, 0 or `nullptr` for none, and what makes checksums of files.
fn set_db_component(db: &mut DbOptions, name: &str, value: &str) -> Result<bool> {
    match name {
        "memory_budget" => {
            let bytes = if value == NULL_OBJECT { 0 } else { memory_budget_bytes(value)? };
            db.components.memory_budget = (bytes > 0).then(|| MemoryBudget::new(bytes));
        }
        "file_checksum_gen_factory" => db.components.file_checksum_gen_factory = file_checksum::built_in(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// The bytes of a budget as a text says them: `256MB`.
///
/// # Errors
/// `Invalid argument` for a text that is no number of bytes.
pub fn memory_budget_bytes(value: &str) -> Result<usize> {
    let bytes = parse_integer(value).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| {
        Error::invalid_argument(format!("option memory_budget = {value}: not a number of bytes, such as 256MB"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnFamilySettings, DbSettings};
    use ferrock_base::ErrorKind;
    use ferrock_format::options_file::{OptionsFile, Section};

    fn apply(text: &str) -> Result<(DbOptions, ColumnFamilyOptions)> {
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        apply_text(&mut db, &mut family, text).map(|()| (db, family))
    }

    #[test]
    fn a_text_reaches_every_kind_of_option() {
        let (db, family) = apply(
            "max_open_files=100; num_levels=5; merge_operator=uint64add; prefix_extractor=fixed:4; atomic_flush=false; \
             skip_log_error_on_recovery=true; \
             block_based_table_factory={block_size=8k; block_cache=1m; filter_policy=bloomfilter:10:false}; \
             compression_opts=-14:3:0:4096; inplace_update_support=0; access_hint_on_compaction_start=NORMAL",
        )
        .unwrap();
        assert_eq!((db.max_open_files, family.num_levels), (100, 5));
        assert_eq!((family.compression_opts.0.level, family.compression_opts.0.max_dict_bytes), (3, 4096));
        assert_eq!((family.table.block_size, family.filter_policy), (8192, FilterPolicy::bloom(10.0)));
        assert_eq!(family.block_cache.unwrap().capacity(), 1 << 20);
        assert_eq!(family.prefix_extractor, Some(PrefixExtractor::Fixed(4)));
        assert_eq!(family.merge_operator.unwrap().name(), "UInt64AddOperator");
    }

    #[test]
    fn a_block_cache_is_a_size_or_a_list() {
        let of = |text: &str| {
            let (_, family) = apply(&format!("block_based_table_factory={{block_cache={text}}}"))?;
            let cache = family.block_cache.ok_or_else(|| Error::invalid_argument("no cache"))?;
            Ok::<_, Error>((cache.capacity(), cache.shard_count(), cache.has_strict_capacity_limit()))
        };
        assert_eq!(of("1m").unwrap(), (1 << 20, 1, false));
        let all = "{capacity=8m;num_shard_bits=3;strict_capacity_limit=true;high_pri_pool_ratio=0.6;low_pri_pool_ratio=0.4;\
                   fail_when_full=true}";
        assert_eq!(of(all).unwrap(), (8 << 20, 8, true));
        assert_eq!(of("{capacity=8m;num_shard_bits=-1}").unwrap(), (8 << 20, 4, false));
        for (text, part) in [
            ("{capacity=much}", "much"),
            ("{capacity=1m;num_shard_bits=20}", "num_shard_bits"),
            ("{capacity=1m;high_pri_pool_ratio=1.5}", "high_pri_pool_ratio"),
            ("{high_pri_pool_ratio=0.6;low_pri_pool_ratio=0.6}", "more than 1"),
            ("{capacity=1m;strict_capacity_limit=perhaps}", "strict_capacity_limit"),
            ("{capacity=1m;secondary_cache=x}", "secondary_cache"),
        ] {
            let error = of(text).unwrap_err();
            assert!(error.kind() == ErrorKind::InvalidArgument && error.to_string().contains(part), "{text}: {error}");
        }
        let parsed = |text| {
            cache_options("block_cache", text).map(|options| (options.high_pri_pool_ratio, options.fail_when_full))
        };
        assert_eq!(parsed("high_pri_pool_ratio=0.6;fail_when_full=true").unwrap(), (0.6, true));
    }

    #[test]
    fn what_a_file_asked_for_does_not_stand_in_the_way() {
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        family.is_from_file = true;
        family.table.partition_filters = true;
        apply_text(&mut db, &mut family, "write_buffer_size=1m").unwrap();
        let error = apply_text(&mut db, &mut family, "block_based_table_factory={index_type=kHashSearch}").unwrap_err();
        assert!(error.to_string().contains("index_type"), "{error}");
    }

    /// What RocksDB 11.8.1 writes for a database that was opened with default options.
    const DEFAULTS: &str = include_str!("testdata/OPTIONS-rocksdb-11.8.1");

    #[test]
    fn every_default_of_rocksdb_is_accepted_alone_and_changes_nothing() {
        let file = OptionsFile::parse(DEFAULTS.as_bytes()).unwrap();
        let loaded = crate::from_file(&file);
        assert_eq!((&loaded.notes[..], &loaded.unknown[..]), (&[] as &[String], &[] as &[String]));
        let family_section = &file.column_families[0];
        let table = family_section.table.as_ref().unwrap();
        let lines = |section: &Section| -> Vec<(String, String)> {
            section.statements.iter().map(|row| (row.name.clone(), row.value.clone())).collect()
        };
        let own = lines(&file.db).into_iter().chain(lines(&family_section.options));
        let own = own.map(|(name, value)| format!("{name}={value}"));
        let nested = lines(&table.options).into_iter();
        let nested = nested.map(|(name, value)| format!("block_based_table_factory={{{name}={value}}}"));
        let mut count = 0;
        for text in own.chain(nested) {
            let (db, mut family) = apply(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            count += 1;
            let (mut default_db, mut default_family) = (DbOptions::default(), ColumnFamilyOptions::default());
            // Two that say what follows from the others at open, or of the program that wrote the file.
            default_db.create_if_missing = db.create_if_missing;
            family.settle();
            default_family.settle();
            assert_eq!(db.settings, default_db.settings, "{text}");
            assert_eq!((&family.settings, &family.table), (&default_family.settings, &default_family.table), "{text}");
            assert_eq!((db.passthrough.iter().count(), family.passthrough.iter().count()), (0, 0), "{text}");
        }
        assert_eq!(count, 227, "options in the file");
    }

    #[test]
    fn defaults_are_accepted_in_the_other_forms_that_rocksdb_takes() {
        for text in [
            "memtable_factory=skip_list",
            "memtable={id=skip_list}",
            "memtable_factory={id=SkipListFactory;}",
            "statistics=nullptr",
            "row_cache=nullptr;env=nullptr;rate_limiter_bytes_per_sec=0;daily_offpeak_time_utc=",
            "write_buffer_size=64MB;target_file_size_base=64m;max_bytes_for_level_base=256MB;blob_file_size=256M",
            "max_manifest_file_size=1G;soft_pending_compaction_bytes_limit=64GB",
            "compaction_options_fifo={max_table_files_size=1073741824;allow_compaction=false;age_for_warm=0;}",
            "{table_factory=BlockBasedTable}",
            "table_factory={id=BlockBasedTable;block_size=4K;}",
            "block_based_table_factory={block_cache=nullptr;persistent_cache=nullptr;filter_policy=nullptr;\
             metadata_cache_options={unpartitioned_pinning=kFallback;partition_pinning=kFallback;}}",
            "compression_opts={level=32767;max_dict_bytes=0;};bottommost_compression=kDisableCompressionOption",
            "compression_per_level={};bottommost_compression_opts=-14:32767:0:0",
            "table_properties_collectors={};prefix_extractor=nullptr;memtable_insert_with_hint_prefix_extractor=nullptr",
            "max_write_buffer_size_to_maintain=0;max_write_buffer_number_to_maintain=0",
            "memtable_veirfy_per_key_checksum_on_seek=false",
        ] {
            let (db, family) = apply(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (db.settings, family.settings),
                (DbSettings::default(), ColumnFamilySettings::default()),
                "{text}"
            );
            assert_eq!((db.passthrough.iter().count(), family.passthrough.iter().count()), (0, 0), "{text}");
        }
        let (_, family) = apply("table_factory={id=BlockBasedTable;block_size=8K;}").unwrap();
        assert_eq!(family.table.block_size, 8192);
    }

    #[test]
    fn hints_are_accepted_and_kept() {
        let (db, family) = apply("use_fsync=true; log_readahead_size=3; report_bg_io_stats=1").unwrap();
        assert_eq!(db.passthrough.iter().collect::<Vec<_>>(), [("log_readahead_size", "3"), ("use_fsync", "true")]);
        assert_eq!(family.passthrough.iter().collect::<Vec<_>>(), [("report_bg_io_stats", "1")]);
    }

    #[test]
    fn what_cannot_be_had_is_an_error_of_its_kind() {
        use ErrorKind::{InvalidArgument, NotSupported};
        for (text, kind, part) in [
            ("no_such_option=1", InvalidArgument, "no_such_option"),
            ("block_based_table_factory={no_such_option=1}", InvalidArgument, "no_such_option"),
            ("max_open_files", InvalidArgument, "name=value"),
            ("max_open_files=many", InvalidArgument, "many"),
            ("block_based_table_factory={block_cache=much}", InvalidArgument, "much"),
            ("memtable_factory=cuckoo", InvalidArgument, "cuckoo"),
            ("memtable_factory={id=vector;nonsense=1}", InvalidArgument, "not recognized: memtable_factory"),
            ("memtable_factory={id=hash_linkedlist;log_when_flash=maybe}", InvalidArgument, "maybe"),
            ("two_write_queues=true", NotSupported, "two_write_queues"),
            ("table_factory=CuckooTable", NotSupported, "CuckooTable"),
            ("compaction_filter=Mine", NotSupported, "Mine"),
            ("compaction_filter_factory=Mine", NotSupported, "Mine"),
            ("sst_partitioner_factory=Mine", NotSupported, "Mine"),
            ("sst_partitioner_factory={id=SstPartitionerFixedPrefixFactory;length=x}", InvalidArgument, "length=x"),
            ("table_factory={id=CuckooTable;}", NotSupported, "CuckooTable"),
            ("plain_table_factory={no_such_option=1}", InvalidArgument, "no_such_option"),
            ("table_factory={id=PlainTable;no_such_option=1}", InvalidArgument, "not recognized: table_factory"),
            ("plain_table_factory={encoding_type=kNone}", InvalidArgument, "kNone"),
            ("two_write_queues=true", NotSupported, "two_write_queues"),
            ("allow_mmap_writes=true", NotSupported, "allow_mmap_writes"),
            ("persist_user_defined_timestamps=false", NotSupported, "persist_user_defined_timestamps"),
            ("statistics=mine", NotSupported, "statistics"),
            ("use_fsync=perhaps", InvalidArgument, "perhaps"),
            ("max_background_compactions=some", InvalidArgument, "some"),
        ] {
            let error = apply(text).unwrap_err();
            assert_eq!(error.kind(), kind, "{text}: {error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
