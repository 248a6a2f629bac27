//! Changes of options while a database is open.
//!
//! What may change is what RocksDB 11 lets change, and is said where an option is declared: the mutability of a row of
//! an option table, [`passthrough`] for what has no row. The names here are those of objects, which no table has:
//!
//! ```text
//! block_based_table_factory={block_size=8k;filter_policy=...}      options of tables, if it writes such ones
//! plain_table_factory={...}                                        the same
//! table_factory=PlainTable, table_factory={id=BlockBasedTable;...} the kind of tables that are written
//! prefix_extractor=fixed:4
//! compression_opts.level=5, compression_opts={level=5}            one field of several: the others stay
//! ```
//!
//! Names of options of block-based tables may stand alone, which RocksDB does not take. What is fixed is refused, with
//! what to do instead.

use super::passthrough;
use super::text::{apply_plain_table_text, apply_table_text, not_recognized, set_table_factory};
use super::{ColumnFamilyOptions, ColumnFamilySettings, DbOptions, DbSettings, TableFactory};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::options_file::{OptionScope, is_deprecated};

/// Objects of a family, or of its tables, that stay for as long as the database is open.
const FIXED_OBJECTS: &[&str] = &[
    "blob_cache",
    "comparator",
    "compaction_filter",
    "compaction_filter_factory",
    "compaction_thread_limiter",
    "memtable",
    "merge_operator",
    "sst_partitioner_factory",
    "table_properties_collectors",
];

/// The same of a database. (The others are in `NEVER_WRITTEN`.)
const FIXED_DB_OBJECTS: &[&str] = &["db_paths", "listeners", "rate_limiter_bytes_per_sec"];

/// Options that have fields, of which one may be named behind a dot.
const WITH_FIELDS: &[&str] = &[
    "blob_compression_opts",
    "block_based_table_factory",
    "bottommost_compression_opts",
    "compaction_options_fifo",
    "compaction_options_universal",
    "compression_opts",
    "plain_table_factory",
    "table_factory",
];

/// Why an option stays as it is, and what helps.
fn fixed(prefix: &str, name: &str) -> String {
    format!(
        "{prefix}: {name} cannot be changed while the database is open; close the database, and open it with the \
         value that is wanted"
    )
}

fn not_changeable(name: &str) -> Error {
    Error::invalid_argument(fixed("Option not changeable", name))
}

impl DbOptions {
    /// Sets an option that may change while the database is open from its text.
    #[doc(hidden)]
    pub fn set_mutable(&mut self, name: &str, value: &str) -> Result<()> {
        let row = DbSettings::TABLE.iter().find(|info| info.name == name);
        let is_object =
            FIXED_DB_OBJECTS.contains(&name) || passthrough::NEVER_WRITTEN.iter().any(|(object, _)| *object == name);
        let is_fixed = row.map_or_else(
            || is_object || passthrough::is_fixed(passthrough::DB_OPTIONS, name),
            |info| !info.flags.is_mutable,
        );
        if is_fixed {
            return Err(Error::new(ErrorKind::NotFound, fixed("Unrecognized option", name)));
        }
        if self.settings.set(name, value)?
            || self.passthrough.set(passthrough::DB_OPTIONS, name, value)?
            || is_deprecated(OptionScope::Db, name)
        {
            return Ok(());
        }
        Err(Error::new(ErrorKind::NotFound, format!("Unrecognized option: {name} is no option of a database")))
    }
}

impl ColumnFamilyOptions {
    /// Sets an option of the family or of its tables that may change while the database is open from its text.
    #[doc(hidden)]
    pub fn set_mutable(&mut self, name: &str, value: &str) -> Result<()> {
        if let Some((object, field)) = name.split_once('.')
            && WITH_FIELDS.contains(&object)
        {
            return self.set_field(object, field, value);
        }
        match name {
            "prefix_extractor" => {
                self.prefix_extractor = PrefixExtractor::built_in(value)?;
                return Ok(());
            }
            "table_factory" => return set_table_factory(self, value),
            "block_based_table_factory" if self.table_factory == TableFactory::BlockBased => {
                return apply_table_text(self, value, not_recognized);
            }
            "plain_table_factory" if self.table_factory != TableFactory::BlockBased => {
                return apply_plain_table_text(self, value, not_recognized);
            }
            "block_based_table_factory" | "plain_table_factory" => {
                let kind = self.table_factory.name();
                return Err(Error::invalid_argument(format!(
                    "Cannot modify {kind} as {name}; table_factory changes the kind of tables"
                )));
            }
            _ => {}
        }
        let row = ColumnFamilySettings::TABLE.iter().find(|info| info.name == name);
        let is_fixed = row.map_or_else(
            || FIXED_OBJECTS.contains(&name) || passthrough::is_fixed(passthrough::COLUMN_FAMILY_OPTIONS, name),
            |info| !info.flags.is_mutable,
        );
        if is_fixed {
            return Err(not_changeable(name));
        }
        if self.settings.set(name, value)?
            || self.passthrough.set(passthrough::COLUMN_FAMILY_OPTIONS, name, value)?
            || is_deprecated(OptionScope::ColumnFamily, name)
            || self.table.set(name, value)?
            || is_deprecated(OptionScope::BlockBasedTable, name)
        {
            return Ok(());
        }
        Err(Error::invalid_argument(format!("Extra option not recognized: {name} is no option of a column family")))
    }

    /// `name.field = value`.
    fn set_field(&mut self, name: &str, field: &str, value: &str) -> Result<()> {
        let name = match name {
            "table_factory" if self.table_factory == TableFactory::BlockBased => "block_based_table_factory",
            "table_factory" => "plain_table_factory",
            _ => name,
        };
        let value =
            if value.contains(';') && !value.starts_with('{') { format!("{{{value}}}") } else { value.to_owned() };
        self.set_mutable(name, &format!("{{{field}={value}}}"))
    }
}

/// Everything of RocksDB's that `set_options` takes: rows of the tables, options without effect, and objects. For the
/// test that compares it with RocksDB's own list.
#[must_use]
#[doc(hidden)]
pub fn mutable_names() -> Vec<&'static str> {
    let rows = [DbSettings::TABLE, ColumnFamilySettings::TABLE];
    let rows = rows.into_iter().flatten().filter(|info| info.flags.is_mutable && !info.flags.is_own);
    let kept = [passthrough::DB_OPTIONS, passthrough::COLUMN_FAMILY_OPTIONS];
    let kept = kept
        .into_iter()
        .flat_map(|table| table.iter().map(|(name, _)| *name).filter(move |name| !passthrough::is_fixed(table, name)));
    let objects = ["block_based_table_factory", "plain_table_factory", "prefix_extractor", "table_factory"];
    let mut all: Vec<&str> = rows.map(|info| info.name).chain(kept).chain(objects).collect();
    all.sort_unstable();
    all
}

/// Everything of RocksDB's that `set_options` and `set_db_options` refuse because it is fixed.
#[must_use]
#[doc(hidden)]
pub fn fixed_names() -> Vec<&'static str> {
    let rows = [DbSettings::TABLE, ColumnFamilySettings::TABLE];
    let rows = rows.into_iter().flatten().filter(|info| !info.flags.is_mutable && !info.flags.is_own);
    let kept = [passthrough::DB_OPTIONS, passthrough::COLUMN_FAMILY_OPTIONS];
    let kept = kept
        .into_iter()
        .flat_map(|table| table.iter().map(|(name, _)| *name).filter(move |name| passthrough::is_fixed(table, name)));
    let mut all: Vec<&str> = rows.map(|info| info.name).chain(kept).chain(FIXED_OBJECTS.iter().copied()).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_format::filter::FilterPolicy;
    use ferrock_table::options::{BLOCK_BASED_TABLE, PLAIN_TABLE};

    fn changed(family: &ColumnFamilyOptions, name: &str, value: &str) -> Result<ColumnFamilyOptions> {
        let mut family = family.clone();
        family.set_mutable(name, value).map(|()| family)
    }

    #[test]
    fn a_field_changes_and_the_others_stay() {
        let mut family = ColumnFamilyOptions::default();
        for (name, value) in [
            ("compression_opts", "{level=5;max_dict_bytes=100}"),
            ("compression_opts.level", "7"),
            ("compression_opts", "{strategy=1}"),
            ("compaction_options_universal.size_ratio", "9"),
            ("compaction_options_fifo.max_table_files_size", "1m"),
            ("block_based_table_factory.block_size", "8k"),
            ("table_factory.filter_policy", "bloomfilter:10"),
            ("block_based_table_factory", "{metadata_cache_options={partition_pinning=kAll}}"),
            ("block_based_table_factory", "{metadata_cache_options={unpartitioned_pinning=kNone}}"),
            ("block_based_table_factory", "{block_cache=1m}"),
            ("prefix_extractor", "capped:3"),
        ] {
            family = changed(&family, name, value).unwrap_or_else(|error| panic!("{name} = {value}: {error}"));
        }
        let compression = &family.compression_opts.0;
        assert_eq!((compression.level, compression.max_dict_bytes, compression.strategy), (7, 100, 1));
        assert_eq!(family.compaction_options_universal.size_ratio, 9);
        assert_eq!(family.compaction_options_fifo.max_table_files_size, 1 << 20);
        assert_eq!((family.table.block_size, &family.filter_policy), (8192, &FilterPolicy::bloom(10.0)));
        let pinning = family.table.get("metadata_cache_options").unwrap();
        assert!(pinning.contains("unpartitioned_pinning=kNone;partition_pinning=kAll"), "{pinning}");
        assert_eq!(family.block_cache.unwrap().capacity(), 1 << 20);
        assert_eq!(family.prefix_extractor, Some(PrefixExtractor::Capped(3)));
    }

    #[test]
    fn tables_change_their_kind_by_its_name_alone() {
        let family = ColumnFamilyOptions::default();
        let error = changed(&family, "plain_table_factory", "{bloom_bits_per_key=4}").unwrap_err();
        assert!(error.to_string().contains("Cannot modify BlockBasedTable as plain_table_factory"), "{error}");
        let plain = changed(&family, "table_factory", PLAIN_TABLE).unwrap();
        assert!(changed(&plain, "block_based_table_factory", "{block_size=4k}").is_err());
        assert!(changed(&plain, "plain_table_factory", "{bloom_bits_per_key=4}").is_ok());
        let back = changed(&plain, "table_factory", BLOCK_BASED_TABLE).unwrap();
        assert_eq!(back.table_factory, TableFactory::BlockBased);
    }

    #[test]
    fn what_is_fixed_says_what_to_do() {
        let names = fixed_names();
        assert!(names.contains(&"num_levels") && names.contains(&"comparator"), "{names:?}");
        for name in ["num_levels", "comparator", "max_write_buffer_size_to_maintain", "merge_operator"] {
            let error = changed(&ColumnFamilyOptions::default(), name, "1").unwrap_err();
            assert!(error.to_string().contains("Option not changeable"), "{error}");
            assert!(error.to_string().contains("close the database, and open it"), "{error}");
        }
        for name in ["wal_dir", "statistics", "use_fsync", "info_log_level", "rate_limiter"] {
            let error = DbOptions::default().set_mutable(name, "1").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            assert!(error.to_string().contains("cannot be changed while the database is open"), "{error}");
        }
    }
}
