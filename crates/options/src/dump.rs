//! Options as the LOG shows them, in RocksDB's lines: support tools, and tests of bindings, read them there.
//!
//! ```text
//! RocksDB version: 11.8.1                            the release whose formats and options these are
//! Options.max_background_jobs: 2                     one line for each option of the database
//! --------------- Options for column family [default]:
//! Options.write_buffer_size: 67108864                one line for each option of the family
//! table_factory options:   block_size: 4096          and one text for those of its tables, a line each
//! ```
//!
//! Booleans are 0 and 1. What RocksDB shows as a number though the OPTIONS file has a name for it, is a number here,
//! too.

use super::passthrough::{self, DefaultText, Passthrough};
use super::{ColumnFamilyOptions, ColumnFamilySettings, DbOptions, DbSettings};
use ferrock_base::file_checksum::UNKNOWN_FUNCTION;
use ferrock_base::option_table::{OptionInfo, OptionValue};
use ferrock_format::options_file::RocksDbVersion;
use ferrock_format::options_file::value::{NULL_OBJECT, parse_struct};
use ferrock_table::options::TableFactory;
use ferrock_table::options::{CompactOnDeletion, DeletionRule};
use ferrock_table::options::{DataBlockIndexType, IndexShorteningMode, IndexType, PrepopulateBlockCache};
use ferrock_table::{BlockBasedTableOptions, PlainTableOptions};

/// Of more families than this, RocksDB shows only the first.
pub const FAMILIES_SHOWN: usize = 10;

/// What a LOG begins with.
#[must_use]
pub fn db_lines(options: &DbOptions) -> Vec<String> {
    let mut lines = vec![
        format!("RocksDB version: {}", RocksDbVersion::CURRENT),
        format!("Ferrock version: {}; formats and options are of the release above", env!("CARGO_PKG_VERSION")),
        "DB SUMMARY".to_owned(),
    ];
    for info in DbSettings::TABLE {
        let value = match info.name {
            "wal_recovery_mode" => (options.wal_recovery_mode as u8).to_string(),
            "wal_compression" => options.wal_compression.as_u8().to_string(),
            name => shown(info, &options.settings.get(name).unwrap_or_default()),
        };
        lines.push(format!("Options.{}: {value}", info.name));
    }
    lines.extend(without_effect(&options.passthrough, passthrough::DB_OPTIONS));
    let components = &options.components;
    for (name, is_there) in [
        ("rate_limiter", components.rate_limiter.is_some()),
        ("write_buffer_manager", components.write_buffer_manager.is_some()),
        ("memory_budget", components.memory_budget.is_some()),
    ] {
        lines.push(format!("Options.{name}: {}", if is_there { "of the caller" } else { "(nil)" }));
    }
    let checksums = components.file_checksum_gen_factory.as_ref().map_or(UNKNOWN_FUNCTION, |factory| factory.name());
    lines.push(format!("Options.file_checksum_gen_factory: {checksums}"));
    lines.push("Options.statistics: (nil)".to_owned());
    let row_cache = if components.row_cache.is_some() { "of the caller" } else { "None" };
    lines.push(format!("Options.row_cache: {row_cache}"));
    let is_compiled_in = cfg!(any(target_feature = "sse4.2", target_feature = "crc"));
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "x86",
        "aarch64" => "Arm64",
        other => other,
    };
    lines.push(format!(
        "Fast CRC32 supported: {} on {architecture}",
        if is_compiled_in { "Supported" } else { "Not supported" }
    ));
    lines.push("Fast CRC32 at run time: used where the processor has it".to_owned());
    lines.push("Jemalloc supported: 0".to_owned());
    lines
}

/// The names of what looks at the entries of new tables, as RocksDB's collectors have them; the rule that there is by
/// default is no collector.
fn collectors(options: &ColumnFamilyOptions) -> Vec<String> {
    let rule = |rule: &DeletionRule| {
        let DeletionRule { window_size, deletion_trigger, deletion_ratio, .. } = rule;
        format!(
            "CompactOnDeletionCollector (Sliding window size = {window_size} Deletion trigger = {deletion_trigger} \
             Deletion ratio = {deletion_ratio})"
        )
    };
    let given = options.table_properties_collector_factories.iter().map(|factory| factory.name().to_owned());
    let rules = &options.compact_on_deletion;
    let rules = (*rules != CompactOnDeletion::default()).then(|| rules.0.iter().map(rule));
    let ratio = options.compact_for_tiering;
    let tiering = (ratio > 0.0).then(|| format!("CompactForTieringCollector, compaction trigger ratio:{ratio}"));
    given.chain(rules.into_iter().flatten()).chain(tiering).collect()
}

/// What a LOG says of a family when it is opened or created.
#[must_use]
pub fn family_lines(name: &str, options: &ColumnFamilyOptions) -> Vec<String> {
    let mut lines = vec![format!("--------------- Options for column family [{name}]:")];
    let none = || "None".to_owned();
    let merge_operator = options.merge_operator.as_ref().map_or_else(none, |operator| operator.name().to_owned());
    let filter = options.compaction_filter.as_ref().map_or_else(none, |filter| filter.name().to_owned());
    let factory = options.compaction_filter_factory.as_ref().map_or_else(none, |factory| factory.name().to_owned());
    let partitioner = options.sst_partitioner_factory.as_ref().map_or_else(none, |factory| factory.name().to_owned());
    let strategy = options.blob_direct_write_partition_strategy.as_ref();
    let strategy = strategy.map_or_else(none, |strategy| strategy.name().to_owned());
    let prefix = options.prefix_extractor.as_ref().map_or_else(|| NULL_OBJECT.to_owned(), |own| own.name());
    lines.push(format!("Options.comparator: {}", options.comparator.name()));
    lines.push(format!("Options.merge_operator: {merge_operator}"));
    lines.push(format!("Options.compaction_filter: {filter}"));
    lines.push(format!("Options.compaction_filter_factory: {factory}"));
    lines.push(format!("Options.sst_partitioner_factory: {partitioner}"));
    lines.push(format!("Options.blob_direct_write_partition_strategy: {strategy}"));
    lines.push(format!("Options.table_properties_collectors: {}", collectors(options).join("; ")));
    lines.push(format!("Options.prefix_extractor: {prefix}"));
    lines.push(format!("Options.table_factory: {}", options.table_factory.name()));
    lines.push(match &options.table_factory {
        TableFactory::BlockBased => table_text(options),
        TableFactory::Plain(plain) => plain_table_text(plain),
    });
    for info in ColumnFamilySettings::TABLE {
        let value = options.settings.get(info.name).unwrap_or_default();
        match info.name {
            "compression_opts"
            | "bottommost_compression_opts"
            | "compaction_options_fifo"
            | "compaction_options_universal" => lines.extend(fields(info.name, &value)),
            "compression" | "bottommost_compression" => {
                lines.push(format!("Options.{}: {}", info.name, compression(&value)));
            }
            "memtable_factory" => {
                lines.push(format!("Options.memtable_factory: {}", options.settings.memtable_factory.name()));
            }
            "compression_per_level" => lines.extend(
                value
                    .split(':')
                    .filter(|kind| !kind.is_empty())
                    .enumerate()
                    .map(|(level, kind)| format!("Options.compression[{level}]: {}", compression(kind))),
            ),
            "max_bytes_for_level_multiplier_additional" => lines.extend(
                value
                    .split(':')
                    .enumerate()
                    .map(|(level, factor)| format!("Options.max_bytes_for_level_multiplier_addtl[{level}]: {factor}")),
            ),
            name => lines.push(format!("Options.{name}: {}", shown(info, &value))),
        }
    }
    lines.extend(without_effect(&options.passthrough, passthrough::COLUMN_FAMILY_OPTIONS));
    lines
}

/// The options of a family's plain tables, in the same form.
fn plain_table_text(options: &PlainTableOptions) -> String {
    let mut text = String::from("table_factory options: ");
    for info in PlainTableOptions::TABLE {
        text.push_str(&format!("  {}: {}\n", info.name, shown(info, &options.get(info.name).unwrap_or_default())));
    }
    text
}

/// The options of a family's block-based tables: one text of many lines, without the `Options.` before them.
fn table_text(options: &ColumnFamilyOptions) -> String {
    let table = &options.table;
    let mut text = String::from("table_factory options: ");
    for info in BlockBasedTableOptions::TABLE {
        let number = |ordinal: Option<usize>| ordinal.map_or_else(String::new, |ordinal| ordinal.to_string());
        let value = match info.name {
            "index_type" => number(IndexType::ALL.iter().position(|(kind, _)| *kind == table.index_type)),
            // RocksDB knows the first two only.
            "data_block_index_type" if table.data_block_index_type != DataBlockIndexType::Auto => {
                number(DataBlockIndexType::ALL.iter().position(|(kind, _)| *kind == table.data_block_index_type))
            }
            "index_shortening" => {
                number(IndexShorteningMode::ALL.iter().position(|(kind, _)| *kind == table.index_shortening))
            }
            "prepopulate_block_cache" => {
                number(PrepopulateBlockCache::ALL.iter().position(|(kind, _)| *kind == table.prepopulate_block_cache))
            }
            "checksum" => (table.checksum as i32).to_string(),
            name => shown(info, &table.get(name).unwrap_or_default()),
        };
        text.push_str(&format!("  {}: {value}\n", info.name));
    }
    text.push_str(&format!("  filter_policy: {}", options.filter_policy));
    text
}

/// A value as the LOG has it.
fn shown(info: &OptionInfo, value: &str) -> String {
    if info.type_name == "bool" { u8::from(value == "true").to_string() } else { value.to_owned() }
}

fn compression(name: &str) -> &str {
    match name {
        "kDisableCompressionOption" => "Disabled",
        "kNoCompression" => "NoCompression",
        name => {
            let short = name.strip_prefix('k').unwrap_or(name);
            short.strip_suffix("Compression").unwrap_or(short)
        }
    }
}

/// One line for each field of a struct.
fn fields(name: &str, value: &str) -> Vec<String> {
    let fields = parse_struct(value).unwrap_or_default();
    fields.into_iter().map(|(field, value)| format!("Options.{name}.{field}: {value}")).collect()
}

fn without_effect(kept: &Passthrough, table: &[DefaultText]) -> Vec<String> {
    let mut lines = Vec::new();
    for ((name, value), (_, default)) in kept.entries(table).zip(table) {
        match *default {
            _ if default.starts_with('{') => lines.extend(fields(name, value)),
            "true" | "false" => {
                lines.push(format!("Options.{name}: {}", u8::from(bool::parse_option(value) == Some(true))));
            }
            NULL_OBJECT if value == NULL_OBJECT => lines.push(format!("Options.{name}: None")),
            _ if default.contains('.') => {
                let value = f64::parse_option(value).map_or_else(|| value.to_owned(), |number| number.format_option());
                lines.push(format!("Options.{name}: {value}"));
            }
            _ => lines.push(format!("Options.{name}: {value}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_deletions_are_shown_as_rocksdbs_collectors() {
        let mut options = ColumnFamilyOptions::default();
        let line = |options: &ColumnFamilyOptions| {
            let lines = family_lines("default", options);
            lines.into_iter().find(|line| line.starts_with("Options.table_properties_collectors: ")).unwrap()
        };
        assert_eq!(line(&options), "Options.table_properties_collectors: ");
        let rule =
            |deletion_ratio| DeletionRule { window_size: 5, deletion_trigger: 10, deletion_ratio, min_file_size: 0 };
        options.compact_on_deletion = CompactOnDeletion(vec![rule(0.5), rule(0.0)]);
        let one = "CompactOnDeletionCollector (Sliding window size = 5 Deletion trigger = 10 Deletion ratio = ";
        assert_eq!(line(&options), format!("Options.table_properties_collectors: {one}0.5); {one}0)"));
        options.compact_for_tiering = 0.25;
        let tiering = "CompactForTieringCollector, compaction trigger ratio:0.25";
        assert_eq!(line(&options), format!("Options.table_properties_collectors: {one}0.5); {one}0); {tiering}"));
    }

    /// Lines of the LOG of RocksDB 11.8.1 for a database with default options.
    #[test]
    fn lines_are_those_of_rocksdb() {
        let lines =
            [db_lines(&DbOptions::default()), family_lines("default", &ColumnFamilyOptions::default())].concat();
        let text = lines.join("\n") + "\n";
        for line in [
            "RocksDB version: 11.8.1\n",
            "Options.create_if_missing: 0\n",
            "Options.max_open_files: -1\n",
            "Options.wal_recovery_mode: 2\n",
            "Options.use_fsync: 0\n",
            "Options.wal_filter: None\n",
            "Options.max_background_jobs: 2\n",
            "Jemalloc supported: 0\n",
            "--------------- Options for column family [default]:\n",
            "Options.comparator: leveldb.BytewiseComparator\n",
            "Options.merge_operator: None\n",
            "Options.prefix_extractor: nullptr\n",
            "Options.memtable_factory: SkipListFactory\n",
            "  cache_index_and_filter_blocks: 0\n",
            "  index_type: 0\n",
            "  index_shortening: 1\n",
            "  data_block_index_type: 0\n",
            "  data_block_hash_table_util_ratio: 0.750000\n",
            "  checksum: 4\n",
            "  format_version: 7\n",
            "  index_block_restart_interval: 1\n",
            "  prepopulate_block_cache: 0\n",
            "  filter_policy: nullptr\n",
            "Options.write_buffer_size: 67108864\n",
            "Options.compression: LZ4\n",
            "Options.bottommost_compression: Disabled\n",
            "Options.compression_opts.window_bits: -14\n",
            "Options.bottommost_compression_opts.enabled: false\n",
            "Options.max_bytes_for_level_multiplier: 10.000000\n",
            "Options.max_bytes_for_level_multiplier_addtl[6]: 1\n",
            "Options.ttl: 2592000\n",
            "Options.compaction_style: kCompactionStyleLevel\n",
            "Options.compaction_options_fifo.max_table_files_size: 1073741824\n",
            "Options.experimental_mempurge_threshold: 0.000000\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        assert!(text.starts_with("RocksDB version: "));
    }

    #[test]
    fn what_is_set_is_shown() {
        let (mut db, mut family) = (DbOptions::default(), ColumnFamilyOptions::default());
        let text = "use_fsync=true;experimental_mempurge_threshold=1;ttl=86400;compression_per_level=kNoCompression:kZSTD;\
                    memtable_factory=vector:9;block_based_table_factory={cache_index_and_filter_blocks=true;data_block_index_type=kDataBlockBinaryAndHash}";
        super::super::apply_text(&mut db, &mut family, text).unwrap();
        let text = [db_lines(&db), family_lines("one", &family)].concat().join("\n") + "\n";
        for line in [
            "Options.use_fsync: 1\n",
            "Options.experimental_mempurge_threshold: 1.000000\n",
            "Options.ttl: 86400\n",
            "Options.memtable_factory: VectorRepFactory\n",
            "Options.compression[1]: ZSTD\n",
            "  cache_index_and_filter_blocks: 1\n",
            "  data_block_index_type: 1\n",
            "Options for column family [one]:\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
    }
}
