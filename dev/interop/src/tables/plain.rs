//! The options that decide what a plain table is like, and the values that are combined.

use super::factors::{FLAG, Factor, Row, RowFamily, base_settings, chosen, factor};
use crate::check::Reads;
use crate::random::Random;
use crate::settings::{Lengths, Merge, Order, Release, TableKind};

/// Where the factors of [`conflict`] stand.
const INDEX: usize = 0;
const PREFIX_EXTRACTOR: usize = 1;

pub const FACTORS: &[Factor] = &[
    // Prefixes for each bucket, and whether the index goes into the file.
    factor("index", &["0", "0.75", "0.05", "0 stored", "0.75 stored", "0.05 stored"]),
    factor(
        "prefix_extractor",
        &["rocksdb.FixedPrefix.4", "rocksdb.CappedPrefix.3", "rocksdb.FixedPrefix.2", "nullptr"],
    ),
    factor("encoding_type", &["kPlain", "kPrefix"]),
    factor("user_key_len", &["0", "7"]),
    factor("bloom_bits_per_key", &["10", "0", "3"]),
    factor("index_sparseness", &["16", "2", "1", "0"]),
    factor("bloom_locality", &["0", "1"]),
    factor("full_scan_mode", FLAG),
    factor("memtable_factory", &["skip_list", "vector", "prefix_hash:50", "hash_linkedlist:50"]),
    factor("comparator", &["leveldb.BytewiseComparator", "rocksdb.ReverseBytewiseComparator"]),
];

/// Whether two values do not go together. RocksDB opens tables without an extractor with an index of all keys only, and
/// stores no index of prefixes that is not a hash.
pub fn conflict(release: Release, first: (usize, usize), second: (usize, usize)) -> bool {
    let is = |choice: (usize, usize), factor: usize, value: &str| {
        choice.0 == factor && FACTORS[factor].values(release)[choice.1] == value
    };
    let either = |index: (usize, usize), extractor: (usize, usize)| {
        if index.0 != INDEX || extractor.0 != PREFIX_EXTRACTOR {
            return false;
        }
        let is_hash = !is(index, INDEX, "0") && !is(index, INDEX, "0 stored");
        if is(extractor, PREFIX_EXTRACTOR, "nullptr") { is_hash } else { is(index, INDEX, "0 stored") }
    };
    either(first, second) || either(second, first)
}

/// The settings that a row stands for.
pub fn family(release: Release, row: &Row, random: &mut Random) -> RowFamily {
    let value_of = |name: &str| chosen(FACTORS, release, row, name);
    let merge = if random.percent(50) { Merge::StringAppend } else { Merge::Uint64Add };
    let mut settings = base_settings(merge);
    settings.kind = TableKind::Plain;
    settings.table = vec![("huge_page_tlb_size".to_owned(), "0".to_owned())];
    // RocksDB seeks past many versions of a key, which it does not do in a plain table with prefixes.
    settings.family.push(("max_sequential_skip_in_iterations".to_owned(), "1000000".to_owned()));
    for factor in FACTORS {
        let setting = (factor.name.to_owned(), value_of(factor.name).to_owned());
        match factor.name {
            "index" => {
                let ratio = setting.1.trim_end_matches(" stored");
                settings.table.push(("hash_table_ratio".to_owned(), ratio.to_owned()));
                settings.table.push(("store_index_in_file".to_owned(), (ratio != setting.1).to_string()));
            }
            "prefix_extractor" | "bloom_locality" | "memtable_factory" | "comparator" => settings.family.push(setting),
            _ => settings.table.push(setting),
        }
    }
    let lengths = if value_of("user_key_len") == "0" { Lengths::Any } else { Lengths::Equal };
    // RocksDB then reads prefixes of longer keys from freed memory.
    let is_prefixed = value_of("encoding_type") == "kPrefix";
    let extractor = value_of("prefix_extractor");
    let reads = match (value_of("full_scan_mode"), extractor) {
        ("true", _) => Reads::Scan,
        (_, "nullptr") => Reads::Forward,
        _ => Reads::WithinPrefix,
    };
    RowFamily {
        order: if value_of("comparator").contains("Reverse") { Order::Reverse } else { Order::Bytewise },
        prefix: extractor.rsplit_once('.').and_then(|(_, digits)| digits.parse().ok()),
        shortest_key: if extractor.contains("Fixed") { 4 } else { 0 },
        lengths,
        mapped_lengths: if is_prefixed && lengths == Lengths::Any { Lengths::Short } else { lengths },
        rocksdb_reads: reads,
        ..RowFamily::new(settings, merge)
    }
}
