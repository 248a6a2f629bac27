//! Options from one line of text, as command lines and bindings give them:
//! `write_buffer_size=8m;compression=kZSTD;block_based_table_factory={block_size=16k;filter_policy=bloomfilter:10};`
//!
//! Here the caller speaks, not a file: a name that nobody knows is an error, and so is asking for what is not built.

use super::passthrough;
use super::{ColumnFamilyOptions, DbOptions};
use ferrock_base::merge;
use ferrock_base::option_table::{OptionValue, parse_integer};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{Comparator, Error, Result, compaction_filter};
use ferrock_cache::CacheOptions;
use ferrock_format::filter::FilterPolicy;
use ferrock_format::options_file::value::parse_struct;
use ferrock_format::options_file::{OptionScope, is_deprecated};
use ferrock_table::TableBlockCache;

/// Changes options of a database and of a column family by a text. Retired names are accepted and do nothing.
///
/// # Errors
/// `Invalid argument` for a text that is no list of `name=value`, a name that is no option's, and a value that is not one
/// of its option; `Not implemented` for a value that asks for what is not built. Then the options may have changed in part.
///
/// ```
/// let (mut db, mut family) = (ferrock::DbOptions::default(), ferrock::ColumnFamilyOptions::default());
/// ferrock::options::apply_text(&mut db, &mut family, "max_background_jobs=4;write_buffer_size=8m")?;
/// assert_eq!((db.max_background_jobs, family.write_buffer_size), (4, 8 << 20));
/// # Ok::<(), ferrock::Error>(())
/// ```
pub fn apply_text(db: &mut DbOptions, family: &mut ColumnFamilyOptions, text: &str) -> Result<()> {
    // What an OPTIONS file asked for stays; only what is new here is refused.
    let known = if family.is_from_file { family.unsupported() } else { Vec::new() };
    for (name, value) in parse_struct(text)? {
        if name == "block_based_table_factory" {
            apply_table_text(family, value)?;
            continue;
        }
        let is_known = set_component(family, name, value)?
            || db.settings.set(name, value)?
            || family.settings.set(name, value)?
            || db.passthrough.set(passthrough::DB_OPTIONS, name, value)?
            || family.passthrough.set(passthrough::COLUMN_FAMILY_OPTIONS, name, value)?
            || is_deprecated(OptionScope::Db, name)
            || is_deprecated(OptionScope::ColumnFamily, name);
        if !is_known {
            return Err(Error::invalid_argument(format!("Extra option not recognized: {name}")));
        }
    }
    match family.unsupported().into_iter().find(|value| !known.contains(value)) {
        Some(first) => Err(Error::not_supported(first)),
        None => Ok(()),
    }
}

/// Changes the options of a family's tables.
fn apply_table_text(family: &mut ColumnFamilyOptions, text: &str) -> Result<()> {
    for (name, value) in parse_struct(text)? {
        match name {
            "filter_policy" => family.filter_policy = FilterPolicy::parse(value)?,
            "block_cache" => {
                family.block_cache = Some(TableBlockCache::new(cache_options(value)?));
            }
            _ => {
                let is_known = family.table.set(name, value)?
                    || family.passthrough.set(passthrough::TABLE_OPTIONS, name, value)?
                    || is_deprecated(OptionScope::BlockBasedTable, name);
                if !is_known {
                    return Err(Error::invalid_argument(format!("Extra option not recognized: {name}")));
                }
            }
        }
    }
    Ok(())
}

/// Options of a cache: a size, or a list of RocksDB's names and our `fail_when_full`.
fn cache_options(text: &str) -> Result<CacheOptions> {
    let mut options = CacheOptions::default();
    let wrong = |what: String| Error::invalid_argument(format!("option block_cache: {what}"));
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
            if family.compaction_filter.is_none() && !matches!(value, "" | "nullptr") {
                return Err(Error::not_supported(format!("compaction filter {value} is not built in")));
            }
        }
        "table_factory" => {
            if value != "BlockBasedTable" {
                return Err(Error::not_supported(format!("table_factory = {value} is not built yet")));
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_base::ErrorKind;

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
        let parsed = |text| cache_options(text).map(|options| (options.high_pri_pool_ratio, options.fail_when_full));
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

    #[test]
    fn what_cannot_be_had_is_an_error_of_its_kind() {
        use ErrorKind::{InvalidArgument, NotSupported};
        for (text, kind, part) in [
            ("no_such_option=1", InvalidArgument, "no_such_option"),
            ("block_based_table_factory={no_such_option=1}", InvalidArgument, "no_such_option"),
            ("max_open_files", InvalidArgument, "name=value"),
            ("max_open_files=many", InvalidArgument, "many"),
            ("block_based_table_factory={block_cache=much}", InvalidArgument, "much"),
            ("atomic_flush=true", NotSupported, "atomic_flush"),
            ("enable_blob_files=true", NotSupported, "enable_blob_files"),
            ("block_based_table_factory={index_type=kHashSearch}", NotSupported, "index_type"),
            ("block_based_table_factory={index_type=kHashSearch}", NotSupported, "index_type"),
            ("table_factory=PlainTable", NotSupported, "PlainTable"),
            ("compaction_filter=Mine", NotSupported, "Mine"),
        ] {
            let error = apply(text).unwrap_err();
            assert_eq!(error.kind(), kind, "{text}: {error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }
}
