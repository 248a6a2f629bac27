//! The options that decide what a table is like, and the values that are combined.
//!
//! A *factor* is one of them, or a few that mean something together only. A *row* chooses a value of every factor. Some
//! values do not go together ([`conflict`]): RocksDB refuses or changes such options itself. Those of plain tables are
//! a list of their own (`plain.rs`).

use super::plain;
use crate::check::Reads;
use crate::random::Random;
use crate::settings::{FamilySettings, Lengths, Merge, Order, Release, TableKind};

/// A factor; the names of its values are those of the OPTIONS file where it is one option.
pub struct Factor {
    pub name: &'static str,
    values: &'static [&'static str],
    /// What 7.8.3 knows; of block-based tables, the first is a value that goes with everything.
    old_values: &'static [&'static str],
}

impl Factor {
    pub fn values(&self, release: Release) -> &'static [&'static str] {
        match release {
            Release::Current => self.values,
            Release::Old => self.old_values,
        }
    }
}

/// All releases know all values.
pub(super) const fn factor(name: &'static str, values: &'static [&'static str]) -> Factor {
    Factor { name, values, old_values: values }
}

/// What the OPTIONS of 7.8.3 do not have.
const NEWER: &[&str] =
    &["separate_key_value_in_data_block", "uniform_cv_threshold", "flush_block_policy_factory", "use_delta_encoding"];

/// Options of Ferrock's own.
const OWN: &[&str] = &["row_bounds", "partition_cut", "dense_blocks", "sectors"];

pub(super) const FLAG: &[&str] = &["false", "true"];

/// Where the factors of [`conflict`] stand.
const INDEX: usize = 0;
const PREFIX_EXTRACTOR: usize = 1;
const INDEX_RESTART_INTERVAL: usize = 2;
const COMPRESSION: usize = 3;
const ALIGNMENT: usize = 4;

const FACTORS: &[Factor] = &[
    Factor {
        name: "index",
        values: &[
            "kBinarySearch",
            "kTwoLevelIndexSearch",
            "kTwoLevelIndexSearch, filters coupled",
            "kTwoLevelIndexSearch, filters decoupled",
            "kBinarySearchWithFirstKey",
            "kHashSearch",
        ],
        old_values: &[
            "kBinarySearch",
            "kTwoLevelIndexSearch",
            "kTwoLevelIndexSearch, filters coupled",
            "kBinarySearchWithFirstKey",
            "kHashSearch",
        ],
    },
    factor(
        "prefix_extractor",
        &["rocksdb.CappedPrefix.3", "rocksdb.FixedPrefix.4", "rocksdb.FixedPrefix.2", "nullptr"],
    ),
    factor("index_block_restart_interval", &["1", "3", "16"]),
    factor("compression", &crate::settings::COMPRESSIONS),
    Factor { name: "alignment", values: &["none", "block_align", "super_block"], old_values: &["none", "block_align"] },
    factor(
        "filter_policy",
        &[
            "nullptr",
            "bloomfilter:10:false",
            "bloomfilter:3.5:false",
            "ribbonfilter:10:-1",
            "ribbonfilter:9.9:1",
            "ribbonfilter:7:2147483647",
        ],
    ),
    factor("metadata_block_size", &["4096", "256", "16"]),
    factor("data_block_index", &["binary", "hash 0.5", "hash 0.75", "hash 1.0"]),
    factor("checksum", &crate::settings::CHECKSUMS),
    factor("whole_key_filtering", FLAG),
    Factor { name: "format_version", values: &["7", "6", "5", "4", "3", "2"], old_values: &["5", "4", "3", "2"] },
    factor("index_shortening", &["kShortenSeparators", "kNoShortening", "kShortenSeparatorsAndSuccessor"]),
    factor("block_restart_interval", &["16", "3", "1"]),
    factor("dictionary", &["none", "raw", "trained", "finalized"]),
    factor("block_size", &["4096", "1024", "64"]),
    Factor { name: "separate_key_value_in_data_block", values: FLAG, old_values: &["false"] },
    factor("enable_index_compression", FLAG),
    Factor { name: "uniform_cv_threshold", values: &["-1", "0.3", "1000"], old_values: &["-1"] },
    Factor { name: "use_delta_encoding", values: FLAG, old_values: &["true"] },
    Factor {
        name: "flush_block_policy_factory",
        values: &["FlushBlockBySizePolicyFactory", "FlushBlockEveryKeyPolicyFactory"],
        old_values: &["FlushBlockBySizePolicyFactory"],
    },
    factor("optimize_filters_for_hits", FLAG),
    factor("cache_index_and_filter_blocks", FLAG),
    // Ferrock's own: of what Ferrock writes.
    factor("row_bounds", FLAG),
    factor("partition_cut", FLAG),
    factor("dense_blocks", &["none", "inside", "declared"]),
    factor("sectors", &["none", "pad_to_sector", "avoid_straddle"]),
    factor("comparator", &["leveldb.BytewiseComparator", "rocksdb.ReverseBytewiseComparator"]),
];

/// The number of a value for each factor.
pub type Row = Vec<usize>;

/// The factors of a kind of tables.
pub fn of_kind(kind: TableKind) -> &'static [Factor] {
    match kind {
        TableKind::Block => FACTORS,
        TableKind::Plain => plain::FACTORS,
    }
}

/// The value of a factor in a row.
pub(super) fn chosen(factors: &[Factor], release: Release, row: &Row, name: &str) -> &'static str {
    let known = factors.iter().zip(row).find(|(factor, _)| factor.name == name);
    known.map_or("", |(factor, value)| factor.values(release)[*value])
}

/// Whether two values, each a factor and its value, do not go together.
pub fn conflict(kind: TableKind, release: Release, first: (usize, usize), second: (usize, usize)) -> bool {
    match kind {
        TableKind::Block => conflict_of_blocks(release, first, second),
        TableKind::Plain => plain::conflict(release, first, second),
    }
}

fn conflict_of_blocks(release: Release, first: (usize, usize), second: (usize, usize)) -> bool {
    let is = |choice: (usize, usize), factor: usize, value: &str| {
        choice.0 == factor && FACTORS[factor].values(release)[choice.1] == value
    };
    let either = |(factor, value): (usize, &str), other: &dyn Fn((usize, usize)) -> bool| {
        is(first, factor, value) && other(second) || is(second, factor, value) && other(first)
    };
    // A hash is one of prefixes, and needs a restart at every entry.
    let no_hash = |choice: (usize, usize)| {
        is(choice, PREFIX_EXTRACTOR, "nullptr") || choice.0 == INDEX_RESTART_INTERVAL && !is(choice, choice.0, "1")
    };
    let compressed = |choice: (usize, usize)| choice.0 == COMPRESSION && !is(choice, COMPRESSION, "kNoCompression");
    either((INDEX, "kHashSearch"), &no_hash) || either((ALIGNMENT, "block_align"), &compressed)
}

/// A row as a person reads it: what is not the first value.
pub fn describe(kind: TableKind, release: Release, row: &Row) -> String {
    let chosen = of_kind(kind).iter().zip(row).filter(|(_, value)| **value != 0);
    chosen
        .map(|(factor, value)| format!("{}={}", factor.name, factor.values(release)[*value]))
        .collect::<Vec<_>>()
        .join(" ")
}

/// What is known of a family beside its settings.
pub struct RowFamily {
    pub settings: FamilySettings,
    pub order: Order,
    pub merge: Merge,
    /// Length of the prefix.
    pub prefix: Option<usize>,
    /// No key may be shorter.
    pub shortest_key: usize,
    pub is_compressed: bool,
    pub has_dictionary: bool,
    /// Whole keys or prefixes go into filters.
    pub has_filter_keys: bool,
    pub has_filter_partitions: bool,
    /// Filter partitions end where index partitions do.
    pub is_coupled: bool,
    /// Options of Ferrock's own, which RocksDB is not told.
    pub own: Vec<(String, String)>,
    pub lengths: Lengths,
    /// How long the keys may be that RocksDB reads from mapped tables.
    pub mapped_lengths: Lengths,
    /// What RocksDB reads of it.
    pub rocksdb_reads: Reads,
}

impl RowFamily {
    /// Nothing special.
    pub(super) fn new(settings: FamilySettings, merge: Merge) -> Self {
        Self {
            settings,
            order: Order::Bytewise,
            merge,
            prefix: None,
            shortest_key: 0,
            is_compressed: false,
            has_dictionary: false,
            has_filter_keys: false,
            has_filter_partitions: false,
            is_coupled: false,
            own: Vec::new(),
            lengths: Lengths::Any,
            mapped_lengths: Lengths::Any,
            rocksdb_reads: Reads::All,
        }
    }
}

/// The settings that a row stands for.
pub fn family(kind: TableKind, release: Release, row: &Row, random: &mut Random) -> RowFamily {
    match kind {
        TableKind::Block => family_of_blocks(release, row, random),
        TableKind::Plain => plain::family(release, row, random),
    }
}

fn family_of_blocks(release: Release, row: &Row, random: &mut Random) -> RowFamily {
    let value_of = |name: &str| chosen(FACTORS, release, row, name);
    let merge = if random.percent(50) { Merge::StringAppend } else { Merge::Uint64Add };
    let mut settings = base_settings(merge);
    // Else RocksDB's filters are as large as `malloc` happened to make them.
    settings.table.push(("optimize_filters_for_memory".to_owned(), "false".to_owned()));
    let mut own = Vec::new();
    for (factor, value) in FACTORS.iter().zip(row) {
        let value = factor.values(release)[*value];
        let mut own_option = |name: &str, value: &str| own.push((name.to_owned(), value.to_owned()));
        match (factor.name, value) {
            ("row_bounds" | "partition_cut", "false") | ("sectors" | "dense_blocks", "none") => continue,
            ("row_bounds" | "partition_cut", _) => own_option(factor.name, value),
            ("sectors", _) => own_option(value, "512"),
            ("dense_blocks", _) => {
                own_option("dense_block_size", "200");
                own_option("dense_index_limit", "300");
                if value == "declared" {
                    own_option("large_partitions", &declared());
                }
            }
            _ => {}
        }
        if OWN.contains(&factor.name) {
            continue;
        }
        set(&mut settings, release, factor.name, value);
    }
    let extractor = value_of("prefix_extractor");
    // What RocksDB does not do right with keys that have no prefix (README.md).
    let is_wrong = release == Release::Old
        || value_of("index") == "kHashSearch"
        || value_of("index").contains("filters") && value_of("whole_key_filtering") == "false";
    let has_short_keys = !(extractor.contains("Fixed") && is_wrong);
    RowFamily {
        order: if value_of("comparator").contains("Reverse") { Order::Reverse } else { Order::Bytewise },
        prefix: extractor.rsplit_once('.').and_then(|(_, digits)| digits.parse().ok()),
        shortest_key: if has_short_keys { 0 } else { 4 },
        is_compressed: value_of("compression") != "kNoCompression",
        has_dictionary: value_of("dictionary") != "none",
        has_filter_keys: value_of("whole_key_filtering") == "true" || extractor != "nullptr",
        has_filter_partitions: value_of("index").contains("filters"),
        is_coupled: value_of("index").ends_with("filters coupled"),
        own,
        ..RowFamily::new(settings, merge)
    }
}

/// Partitions that are declared large, of every length of prefix: some with many rows, some with none.
fn declared() -> String {
    let prefixes = ["aa", "aaa", "aaa_", "ca", "cat", "cat:", "five", "gg", "iiii", "zzz", "zzzz"];
    let hex = |prefix: &str| prefix.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    prefixes.map(hex).join(":")
}

/// Nothing happens by itself.
pub(super) fn base_settings(merge: Merge) -> FamilySettings {
    let operator = match merge {
        Merge::StringAppend => "{id=StringAppendOperator;delimiter=,;}",
        Merge::Uint64Add => "UInt64AddOperator",
    };
    let family = [
        ("merge_operator", operator),
        ("disable_auto_compactions", "true"),
        ("level_compaction_dynamic_level_bytes", "false"),
        ("num_levels", "3"),
        ("write_buffer_size", "67108864"),
        ("target_file_size_base", "67108864"),
    ];
    let family = family.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    FamilySettings { family, ..FamilySettings::default() }
}

fn set(settings: &mut FamilySettings, release: Release, name: &str, value: &str) {
    let mut family = |name: &str, value: &str| settings.family.push((name.to_owned(), value.to_owned()));
    let mut table = |name: &str, value: &str| settings.table.push((name.to_owned(), value.to_owned()));
    match (name, value) {
        ("prefix_extractor" | "compression" | "optimize_filters_for_hits" | "comparator", _) => family(name, value),
        ("alignment", "none") => {}
        ("alignment", "block_align") => table("block_align", "true"),
        ("alignment", _) => {
            table("super_block_alignment_size", "8192");
            table("super_block_alignment_space_overhead_ratio", "4");
        }
        ("index", _) => {
            let (kind, filters) = value.split_once(", filters ").unwrap_or((value, "whole"));
            table("index_type", kind);
            // RocksDB 11.8.1 crashes in a flush when filters are in partitions and the index is not.
            table("partition_filters", if filters == "whole" { "false" } else { "true" });
            if release == Release::Current {
                table("decouple_partitioned_filters", if filters == "decoupled" { "true" } else { "false" });
            }
        }
        ("data_block_index", "binary") => table("data_block_index_type", "kDataBlockBinarySearch"),
        ("data_block_index", _) => {
            table("data_block_index_type", "kDataBlockBinaryAndHash");
            table("data_block_hash_table_util_ratio", value.trim_start_matches("hash "));
        }
        ("dictionary", _) => {
            let (dictionary, train, trainer) = match value {
                "raw" => (2048, 0, true),
                "trained" => (2048, 32768, true),
                "finalized" => (2048, 32768, false),
                _ => (0, 0, true),
            };
            family(
                "compression_opts",
                &format!(
                    "{{max_dict_buffer_bytes=0;enabled=false;max_dict_bytes={dictionary};parallel_threads=1;\
                     zstd_max_train_bytes={train};level=32767;use_zstd_dict_trainer={trainer};strategy=0;window_bits=-14;}}"
                ),
            );
        }
        _ if release == Release::Old && NEWER.contains(&name) => {}
        _ => table(name, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_go_both_ways_and_spare_first_values() {
        let kinds = [TableKind::Block, TableKind::Plain];
        for (kind, release) in kinds.into_iter().flat_map(|kind| [(kind, Release::Current), (kind, Release::Old)]) {
            let choices = |(number, factor): (usize, &Factor)| {
                (0..factor.values(release).len()).map(move |value| (number, value))
            };
            let choices: Vec<(usize, usize)> = of_kind(kind).iter().enumerate().flat_map(choices).collect();
            for first in &choices {
                for second in choices.iter().filter(|second| second.0 != first.0) {
                    assert_eq!(conflict(kind, release, *first, *second), conflict(kind, release, *second, *first));
                    let is_spared = kind == TableKind::Block && second.1 == 0;
                    assert!(!is_spared || !conflict(kind, release, *first, *second));
                }
            }
        }
        assert_eq!(FACTORS[ALIGNMENT].name, "alignment");
        assert_eq!(FACTORS[INDEX_RESTART_INTERVAL].name, "index_block_restart_interval");
        assert!(conflict(TableKind::Block, Release::Old, (INDEX, 4), (PREFIX_EXTRACTOR, 3)));
        assert!(conflict(TableKind::Block, Release::Old, (ALIGNMENT, 1), (COMPRESSION, 1)));
    }
}
