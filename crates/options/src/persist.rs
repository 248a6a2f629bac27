//! Options to and from the OPTIONS file.
//!
//! Reading never fails for a value: what cannot be had here is kept as text (and
//! written back), a note says so, and the nearest form is used. Only a file whose
//! grammar is broken is an error.

use super::passthrough::{self, DefaultText, Passthrough};
use super::{ColumnFamilyOptions, ColumnFamilySettings, DbOptions};
use ferrock_base::compaction_filter;
use ferrock_base::file_checksum;
use ferrock_base::merge;
use ferrock_base::option_table::{OptionInfo, OptionValue as _};
use ferrock_base::prefix::PrefixExtractor;
use ferrock_base::sst_partitioner;
use ferrock_base::{Comparator, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_format::filter::FilterPolicy;
use ferrock_format::options_file::value::{NULL_OBJECT, escape, format_struct, parse_struct, unescape};
use ferrock_format::options_file::{
    ColumnFamilySection, OptionScope, OptionsFile, RocksDbVersion, Section, TableSection, Version, is_deprecated,
};
use ferrock_table::options::DataBlockIndexType;
use ferrock_table::options::{BLOCK_BASED_TABLE, PLAIN_TABLE, TableFactory};
use ferrock_table::{BlockBasedTableOptions, PlainTableOptions};
use ferrock_vfs::{FileSystem, read_file};
use std::path::Path;
use std::sync::Arc;

/// Options that name an object. Reading one adds the note itself if there is no such object.
const COMPONENTS: &[&str] = &[
    "comparator",
    "merge_operator",
    "prefix_extractor",
    "compaction_filter",
    "compaction_filter_factory",
    "sst_partitioner_factory",
    "table_factory",
];

/// Those of the database.
const DB_COMPONENTS: &[&str] = &["file_checksum_gen_factory"];

/// Options read from an OPTIONS file.
#[derive(Clone, Debug, Default)]
pub struct LoadedOptions {
    /// Of the database.
    pub db: DbOptions,
    /// Of every column family, in the order of the file; the first is `default`.
    pub column_families: Vec<(String, ColumnFamilyOptions)>,
    /// What could not be taken over as it is.
    pub notes: Vec<String>,
    /// Names that this build does not know: a typing error, or an option of a later release.
    pub unknown: Vec<String>,
}

impl LoadedOptions {
    /// The options of a column family.
    #[must_use]
    pub fn column_family(&self, name: &str) -> Option<&ColumnFamilyOptions> {
        self.column_families.iter().find(|(known, _)| known == name).map(|(_, options)| options)
    }
}

/// Reads the newest OPTIONS file of a database directory; `None` when it has none.
///
/// # Errors
/// `Corruption` when the file's grammar is broken, `IO error` when it cannot be read.
pub fn load_latest(file_system: &dyn FileSystem, directory: &Path) -> Result<Option<LoadedOptions>> {
    let newest = file_system
        .children(directory)?
        .iter()
        .filter_map(|name| file_name::parse(name))
        .filter(|name| name.kind == FileKind::Options)
        .map(|name| name.number)
        .max();
    let Some(number) = newest else { return Ok(None) };
    load_file(file_system, &directory.join(file_name::options(number))).map(Some)
}

/// Reads an OPTIONS file.
///
/// # Errors
/// As for [`load_latest`].
pub fn load_file(file_system: &dyn FileSystem, path: &Path) -> Result<LoadedOptions> {
    let content = read_file(file_system, path)?;
    let file = OptionsFile::parse(&content).map_err(|error| error.in_file(path))?;
    Ok(from_file(&file))
}

/// Options of a database that are text: with a backslash before `:`, `#` and itself in the file.
const TEXTS: [&str; 4] = ["wal_dir", "db_log_dir", "daily_offpeak_time_utc", "db_host_id"];

/// Takes over what an OPTIONS file says.
#[must_use]
pub fn from_file(file: &OptionsFile) -> LoadedOptions {
    let mut loaded = LoadedOptions { unknown: unknown_names(file), ..LoadedOptions::default() };
    let notes = &mut loaded.notes;
    for statement in file.db.statements.iter().chain(&file.db.extensions) {
        let value =
            if TEXTS.contains(&&statement.name[..]) { unescape(&statement.value) } else { statement.value.clone() };
        let (name, value) = (&statement.name[..], &value[..]);
        if take_db_component(&mut loaded.db, notes, name, value) {
            continue;
        }
        let settings = &mut loaded.db.settings;
        take(
            notes,
            "database",
            name,
            value,
            |name, value| settings.set(name, value),
            || {
                loaded.db.passthrough.keep(passthrough::DB_OPTIONS, name, value);
            },
        );
    }
    notes.extend(loaded.db.adjust().iter().map(|adjustment| format!("database: {adjustment}")));
    report(notes, "database", OptionScope::Db, &loaded.db.passthrough, passthrough::DB_OPTIONS);
    for section in &file.column_families {
        let options = family_from(section, notes);
        loaded.column_families.push((section.name.clone(), options));
    }
    loaded
}

/// Names in a file that no option table lists. Names in comment lines, which only Ferrock writes, are not counted.
fn unknown_names(file: &OptionsFile) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut add = |section: &Section, scope: OptionScope, table: &[OptionInfo], kept: &[DefaultText], own: &[&str]| {
        for statement in &section.statements {
            let name = &statement.name[..];
            let is_known = table.iter().any(|info| info.name == name)
                || kept.iter().any(|(known, _)| *known == name)
                || own.contains(&name)
                || is_deprecated(scope, name);
            if !is_known {
                unknown.push(name.to_owned());
            }
        }
    };
    add(&file.db, OptionScope::Db, super::DbSettings::TABLE, passthrough::DB_OPTIONS, DB_COMPONENTS);
    for family in &file.column_families {
        let table = ColumnFamilySettings::TABLE;
        add(&family.options, OptionScope::ColumnFamily, table, passthrough::COLUMN_FAMILY_OPTIONS, COMPONENTS);
        if let Some(section) = family.table.as_ref().filter(|table| table.factory == BLOCK_BASED_TABLE) {
            let (table, kept) = (BlockBasedTableOptions::TABLE, passthrough::TABLE_OPTIONS);
            add(&section.options, OptionScope::BlockBasedTable, table, kept, &["filter_policy"]);
        }
    }
    unknown
}

fn take(
    notes: &mut Vec<String>,
    place: &str,
    name: &str,
    value: &str,
    set: impl FnOnce(&str, &str) -> Result<bool>,
    keep: impl FnOnce(),
) {
    match set(name, value) {
        Ok(true) => {}
        Ok(false) => keep(),
        Err(error) => notes.push(format!("{place}: {}; the default is used", error.message())),
    }
}

/// Sets a struct field by field, so that one that is not known does not take the others along: with the default of a
/// limit, data would be dropped that was to be kept.
fn take_fields(notes: &mut Vec<String>, place: &str, name: &str, value: &str, settings: &mut ColumnFamilySettings) {
    let fields = match parse_struct(value) {
        Ok(fields) => fields,
        Err(error) => return notes.push(format!("{place}: {name}: {}; the default is used", error.message())),
    };
    for (field, value) in fields {
        let text = format_struct([(field, value)]);
        take(notes, place, name, &text, |name, text| settings.set(name, text), || {});
    }
}

fn report(notes: &mut Vec<String>, place: &str, scope: OptionScope, kept: &Passthrough, table: &[DefaultText]) {
    let is_said =
        |name: &str| is_deprecated(scope, name) || COMPONENTS.contains(&name) || DB_COMPONENTS.contains(&name);
    for (name, value) in kept.iter().filter(|(name, _)| !is_said(name)) {
        let known = if table.iter().any(|(known, _)| *known == name) { "has no effect" } else { "is not known" };
        notes.push(format!("{place}: {name} = {value} {known}; it is kept in the OPTIONS file"));
    }
}

/// Notes on the options that a database and its families are opened with: values without effect and, for options from
/// a file, values replaced by their nearest form. Adjustments to bounds have notes of their own.
pub fn notes_of(db: &DbOptions, families: &[(String, ColumnFamilyOptions)]) -> Vec<String> {
    let mut notes = Vec::new();
    report(&mut notes, "database", OptionScope::Db, &db.passthrough, passthrough::DB_OPTIONS);
    if db.components.row_cache.is_some() {
        notes.push("database: row_cache has no effect; give its memory to the block cache".to_owned());
    }
    for (name, options) in families {
        let place = format!("column family {name}");
        let table = passthrough::COLUMN_FAMILY_OPTIONS;
        report(&mut notes, &place, OptionScope::ColumnFamily, &options.passthrough, table);
        notes.extend(options.without_effect().iter().map(|option| format!("{place}: {option}")));
        if options.is_from_file {
            notes.extend(options.unsupported().iter().map(|option| format!("{place}: {option}")));
        }
    }
    notes
}

fn family_from(section: &ColumnFamilySection, notes: &mut Vec<String>) -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions { is_from_file: true, ..ColumnFamilyOptions::default() };
    let place = format!("column family {}", section.name);
    for statement in section.options.statements.iter().chain(&section.options.extensions) {
        let (name, value) = (&statement.name[..], &statement.value[..]);
        if take_component(&mut options, notes, &place, name, value) {
            continue;
        }
        let (settings, kept) = (&mut options.settings, &mut options.passthrough);
        if matches!(name, "compaction_options_fifo" | "compaction_options_universal") && value.contains('=') {
            take_fields(notes, &place, name, value, settings);
            continue;
        }
        take(
            notes,
            &place,
            name,
            value,
            |name, value| settings.set(name, value),
            || {
                kept.keep(passthrough::COLUMN_FAMILY_OPTIONS, name, value);
            },
        );
    }
    if let Some(table) = &section.table {
        take_table(&mut options, table, notes, &place);
    }
    notes.extend(options.adjust().iter().map(|adjustment| format!("{place}: {adjustment}")));
    report(notes, &place, OptionScope::ColumnFamily, &options.passthrough, passthrough::COLUMN_FAMILY_OPTIONS);
    notes.extend(options.without_effect().iter().map(|option| format!("{place}: {option}")));
    notes.extend(options.unsupported().iter().map(|option| format!("{place}: {option}")));
    options
}

/// Sets an option of the database that names an object; false if `name` is not such an option.
fn take_db_component(db: &mut DbOptions, notes: &mut Vec<String>, name: &str, value: &str) -> bool {
    if name != "file_checksum_gen_factory" {
        return false;
    }
    match file_checksum::built_in(value) {
        Ok(factory) => db.components.file_checksum_gen_factory = factory,
        Err(error) => {
            notes.push(format!("database: {}; files that are written have no checksum", error.message()));
            db.passthrough.keep(&[], name, value);
        }
    }
    true
}

/// Sets an option that names an object; false if `name` is not such an option.
fn take_component(
    options: &mut ColumnFamilyOptions,
    notes: &mut Vec<String>,
    place: &str,
    name: &str,
    value: &str,
) -> bool {
    let result = match name {
        "comparator" => Comparator::built_in(value).map(|comparator| options.comparator = comparator),
        "merge_operator" => merge::built_in(value).map(|operator| options.merge_operator = operator),
        "prefix_extractor" => PrefixExtractor::built_in(value).map(|extractor| options.prefix_extractor = extractor),
        "sst_partitioner_factory" => {
            sst_partitioner::built_in(value).map(|factory| options.sst_partitioner_factory = factory)
        }
        "compaction_filter" => {
            options.compaction_filter = compaction_filter::built_in(value);
            if value != "nullptr" && options.compaction_filter.is_none() {
                notes.push(format!("{place}: compaction filter {value} is not built in; none is used"));
            }
            return true;
        }
        // None is built in.
        "compaction_filter_factory" => {
            if value != "nullptr" {
                notes.push(format!("{place}: compaction filter factory {value} is not built in; none is used"));
                options.passthrough.keep(&[], name, value);
            }
            return true;
        }
        "table_factory" => {
            match value {
                BLOCK_BASED_TABLE => options.table_factory = TableFactory::BlockBased,
                PLAIN_TABLE => options.table_factory = TableFactory::Plain(Arc::default()),
                other => notes.push(format!("{place}: tables are written as {BLOCK_BASED_TABLE} instead of {other}")),
            }
            return true;
        }
        _ => return false,
    };
    if let Err(error) = result {
        notes.push(format!("{place}: {}", error.message()));
        options.passthrough.keep(&[], name, value);
    }
    true
}

fn take_table(options: &mut ColumnFamilyOptions, section: &TableSection, notes: &mut Vec<String>, place: &str) {
    match &section.factory[..] {
        BLOCK_BASED_TABLE => {}
        PLAIN_TABLE => return take_plain_table(options, section, notes, place),
        other => return notes.push(format!("{place}: options of {other} are not used")),
    }
    for statement in section.options.statements.iter().chain(&section.options.extensions) {
        let (name, value) = (&statement.name[..], &statement.value[..]);
        if name == "filter_policy" {
            match FilterPolicy::parse(value) {
                Ok(policy) => options.filter_policy = policy,
                Err(error) => notes.push(format!("{place}: {}; no filters are written", error.message())),
            }
            continue;
        }
        let (table, kept) = (&mut options.table, &mut options.passthrough);
        take(
            notes,
            place,
            name,
            value,
            |name, value| table.set(name, value),
            || {
                if !is_deprecated(OptionScope::BlockBasedTable, name) {
                    kept.keep(passthrough::TABLE_OPTIONS, name, value);
                }
            },
        );
    }
}

fn take_plain_table(options: &mut ColumnFamilyOptions, section: &TableSection, notes: &mut Vec<String>, place: &str) {
    let mut plain = PlainTableOptions::default();
    for statement in &section.options.statements {
        let (name, value) = (&statement.name[..], &statement.value[..]);
        take(notes, place, name, value, |name, value| plain.set(name, value), || {});
    }
    options.table_factory = TableFactory::Plain(Arc::new(plain));
}

/// The OPTIONS file of a database.
#[must_use]
pub fn to_file(db: &DbOptions, families: &[(String, ColumnFamilyOptions)]) -> OptionsFile {
    let mut file = OptionsFile {
        version: Some(Version { rocksdb_version: Some(RocksDbVersion::CURRENT), options_file_version: Some((1, 1)) }),
        ..OptionsFile::default()
    };
    push_table(&mut file.db, super::DbSettings::TABLE, |name| db.settings.get(name));
    let factory = db.components.file_checksum_gen_factory.as_ref().map(|factory| factory.name().to_owned());
    let factory = factory.or_else(|| db.passthrough.get(&[], "file_checksum_gen_factory"));
    file.db.push("file_checksum_gen_factory", factory.unwrap_or_else(|| NULL_OBJECT.to_owned()));
    push_kept(&mut file.db, &db.passthrough, &[passthrough::DB_OPTIONS]);
    for statement in file.db.statements.iter_mut().filter(|statement| TEXTS.contains(&&statement.name[..])) {
        statement.value = escape(&statement.value);
    }
    file.column_families = families.iter().map(|(name, options)| family_section(name, options)).collect();
    file
}

/// The sections of a family in the OPTIONS file of its database.
#[must_use]
pub fn family_section(name: &str, options: &ColumnFamilyOptions) -> ColumnFamilySection {
    let mut section = Section::new();
    push_table(&mut section, ColumnFamilySettings::TABLE, |name| {
        // RocksDB leaves the list out when it is empty.
        options.settings.get(name).filter(|value| name != "compression_per_level" || !value.is_empty())
    });
    push_components(&mut section, options);
    let tables = [passthrough::COLUMN_FAMILY_OPTIONS, passthrough::TABLE_OPTIONS];
    push_kept(&mut section, &options.passthrough, &tables);
    let table = TableSection { factory: options.table_factory.name().to_owned(), options: table_section(options) };
    ColumnFamilySection { name: name.to_owned(), options: section, table: Some(table) }
}

/// The options of the tables that a family writes.
fn table_section(options: &ColumnFamilyOptions) -> Section {
    let mut table = Section::new();
    if let TableFactory::Plain(plain) = &options.table_factory {
        push_table(&mut table, PlainTableOptions::TABLE, |name| plain.get(name));
        return table;
    }
    push_table(&mut table, BlockBasedTableOptions::TABLE, |name| {
        // RocksDB has the fixed choices only. A comment line with Ferrock's own text follows, which replaces this
        // value when Ferrock reads the file.
        let is_auto =
            name == "data_block_index_type" && options.table.data_block_index_type == DataBlockIndexType::Auto;
        if is_auto { Some(DataBlockIndexType::BinarySearch.format_option()) } else { options.table.get(name) }
    });
    if options.table.data_block_index_type == DataBlockIndexType::Auto {
        table.push_extension("data_block_index_type", DataBlockIndexType::Auto.format_option());
    }
    table.push("filter_policy", options.filter_policy.to_string());
    for (name, value) in options.passthrough.entries(passthrough::TABLE_OPTIONS) {
        let known = passthrough::TABLE_OPTIONS.iter().find(|(known, _)| *known == name);
        if !passthrough::is_left_out(name, value, known.map_or("", |(_, default)| default)) {
            table.push(name, value);
        }
    }
    table
}

fn push_table(section: &mut Section, table: &[OptionInfo], get: impl Fn(&str) -> Option<String>) {
    for info in table {
        let Some(value) = get(info.name) else { continue };
        if passthrough::is_left_out(info.name, &value, &(info.default_text)()) {
            continue;
        }
        if info.flags.is_own {
            section.push_extension(info.name, value);
        } else {
            section.push(info.name, value);
        }
    }
}

fn push_kept(section: &mut Section, kept: &Passthrough, tables: &[&[DefaultText]]) {
    for (name, value) in kept.entries(tables[0]) {
        let default = tables[0].iter().find(|(known, _)| *known == name).map_or("", |(_, default)| default);
        if !passthrough::is_left_out(name, value, default) {
            section.push(name, value);
        }
    }
    // Names that no release up to ours knows would make RocksDB refuse the file: they are kept as comments.
    let is_known = |name: &str| {
        COMPONENTS.contains(&name)
            || DB_COMPONENTS.contains(&name)
            || tables.iter().any(|table| table.iter().any(|(known, _)| *known == name))
    };
    for (name, value) in kept.iter().filter(|(name, _)| !is_known(name)) {
        section.push_extension(name, value);
    }
}

fn push_components(section: &mut Section, options: &ColumnFamilyOptions) {
    let none = || "nullptr".to_owned();
    let kept = |name: &str| options.passthrough.get(&[], name);
    section.push("comparator", options.comparator.name());
    let operator = options.merge_operator.as_ref().map(|operator| operator.options_id());
    section.push("merge_operator", operator.or_else(|| kept("merge_operator")).unwrap_or_else(none));
    match &options.prefix_extractor {
        // RocksDB cannot make this object, and reads the tables without it. A comment line with Ferrock's own text
        // follows, which replaces this value when Ferrock reads the file.
        Some(own @ PrefixExtractor::Components(_)) => {
            section.push("prefix_extractor", none());
            section.push_extension("prefix_extractor", own.name());
        }
        Some(extractor) => section.push("prefix_extractor", extractor.name()),
        None => section.push("prefix_extractor", kept("prefix_extractor").unwrap_or_else(none)),
    }
    let filter = options.compaction_filter.as_ref().map(|filter| filter.name().to_owned());
    section.push("compaction_filter", filter.unwrap_or_else(none));
    let factory = options.compaction_filter_factory.as_ref().map(|factory| factory.name().to_owned());
    let factory = factory.or_else(|| kept("compaction_filter_factory"));
    section.push("compaction_filter_factory", factory.unwrap_or_else(none));
    let partitioner = options.sst_partitioner_factory.as_ref().map(|factory| factory.options_id());
    let partitioner = partitioner.or_else(|| kept("sst_partitioner_factory"));
    section.push("sst_partitioner_factory", partitioner.unwrap_or_else(none));
    section.push("table_factory", options.table_factory.name());
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrock_format::compression::CompressionType;
    use std::sync::Arc;

    #[test]
    fn options_survive_the_file() {
        let mut db = DbOptions::default();
        db.max_background_jobs = 7;
        db.wal_dir = r"/a:b/#1\c".to_owned();
        let mut family = ColumnFamilyOptions::default();
        family.write_buffer_size = 1 << 20;
        family.compression = CompressionType::Zstd;
        family.merge_operator = Some(Arc::new(merge::StringAppend::new("|")));
        family.prefix_extractor = Some(PrefixExtractor::Fixed(4));
        family.filter_policy = FilterPolicy::bloom(10.0);
        family.table.block_size = 8192;
        let families = vec![("default".to_owned(), family), ("we:ird #1".to_owned(), ColumnFamilyOptions::default())];
        let text = to_file(&db, &families).format().unwrap();
        assert!(text.contains(r"wal_dir=/a\:b/\#1\\c"), "as RocksDB writes it: {text}");
        let loaded = from_file(&OptionsFile::parse(text.as_bytes()).unwrap());
        assert_eq!(loaded.notes, Vec::<String>::new());
        assert_eq!(loaded.db.settings, db.settings);
        assert_eq!(loaded.column_families[1].0, "we:ird #1");
        let back = loaded.column_family("default").unwrap();
        assert_eq!(back.settings, families[0].1.settings);
        assert_eq!(back.table, families[0].1.table);
        assert_eq!(back.prefix_extractor, families[0].1.prefix_extractor);
        assert_eq!(back.merge_operator.as_ref().unwrap().options_id(), "{id=StringAppendOperator;delimiter=|;}");
        assert_eq!(to_file(&loaded.db, &loaded.column_families).format().unwrap(), text);
    }

    #[test]
    fn a_field_that_is_not_known_leaves_the_limit_as_it_is() {
        let text = "[DBOptions]\n[CFOptions \"default\"]\n compaction_style=kCompactionStyleFIFO\n num_levels=1\n \
                    compaction_options_fifo={tomorrow=1;max_table_files_size=77;\
                    file_temperature_age_thresholds={{temperature=kWarm;age=1;}:{age=2;}};allow_compaction=maybe;}\n";
        let loaded = from_file(&OptionsFile::parse(text.as_bytes()).unwrap());
        assert_eq!(loaded.notes.len(), 2, "{:#?}", loaded.notes);
        let family = loaded.column_family("default").unwrap();
        assert_eq!(family.compaction_options_fifo.max_table_files_size, 77);
        assert_eq!(family.compaction_options_fifo.file_temperature_age_thresholds.len(), 2);
    }

    #[test]
    fn what_cannot_be_had_is_kept_and_said() {
        let text = "[DBOptions]\n recycle_log_file_num=3\n max_background_jobs=many\n tomorrow=1\n\
                    [CFOptions \"default\"]\n merge_operator=MyOwn\n num_levels=0\n disallow_memtable_writes=true\n";
        let loaded = from_file(&OptionsFile::parse(text.as_bytes()).unwrap());
        assert_eq!(loaded.notes.len(), 6, "{:#?}", loaded.notes);
        assert_eq!(loaded.unknown, ["tomorrow"]);
        assert_eq!(loaded.db.max_background_jobs, 2);
        let family = loaded.column_family("default").unwrap();
        assert_eq!(family.num_levels, 2, "the nearest for levels");
        let back = to_file(&loaded.db, &loaded.column_families).format().unwrap();
        for kept in
            ["# ferrock: tomorrow=1", "recycle_log_file_num=3", "merge_operator=MyOwn", "disallow_memtable_writes=true"]
        {
            assert!(back.contains(kept), "{kept}");
        }
    }
}
