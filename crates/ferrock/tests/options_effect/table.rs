//! Options of tables: most of them show in the properties of a table that is written with them.

use crate::Effect::{self, Elsewhere, Refused, Shown};
use crate::golden;
use crate::setup::{
    DIRECTORY, Setup, differs, differs_with, flush_all, flush_range, flushed_properties, force_compaction, key, number,
    only_properties, put_unlogged, value,
};
use ferrock::ReadOptions;
use ferrock::options::{CompressionType, FilterPolicy, PrefixExtractor};
use ferrock_format::footer::{Footer, MAX_FOOTER_SIZE};
use ferrock_format::trailer::BLOCK_TRAILER_SIZE;
use std::cmp::Ordering;
use std::path::Path;

const NOT_BUILT: &str = "true";

pub const EFFECTS: &[(&str, Effect)] = &[
    ("max_auto_readahead_size", Shown(|| reads_of_a_scan("max_auto_readahead_size", ["8192", "262144"]))),
    ("initial_auto_readahead_size", Shown(|| reads_of_a_scan("initial_auto_readahead_size", ["8192", "131072"]))),
    ("num_file_reads_for_auto_readahead", Shown(|| reads_of_a_scan("num_file_reads_for_auto_readahead", ["2", "40"]))),
    ("fail_if_no_udi_on_open", Refused(NOT_BUILT)),
    ("use_udi_as_primary_index", Refused(NOT_BUILT)),
    ("user_defined_index_factory", Refused("trie")),
    ("metadata_cache_options", Shown(metadata_cache_options)),
    ("pin_top_level_index_and_filter", Shown(pin_top_level_index_and_filter)),
    ("pin_l0_filter_and_index_blocks_in_cache", Shown(pin_l0_filter_and_index_blocks)),
    ("cache_index_and_filter_blocks", Shown(cache_index_and_filter_blocks)),
    ("cache_index_and_filter_blocks_with_high_priority", Shown(high_priority)),
    ("no_block_cache", Shown(no_block_cache)),
    ("prepopulate_block_cache", Shown(prepopulate_block_cache)),
    ("read_amp_bytes_per_bit", Refused("32")),
    (
        "index_block_search_type",
        Elsewhere("../format/src/block/interpolation.rs", "interpolation_looks_at_few_evenly_spread_keys"),
    ),
    ("format_version", Shown(format_version)),
    ("checksum", Shown(checksum)),
    ("block_size", Shown(|| smaller_second("block_size", ["4096", "16384"], |p| p.num_data_blocks))),
    ("block_size_deviation", Shown(|| smaller_second("block_size_deviation", ["60", "1"], |p| p.num_data_blocks))),
    ("block_restart_interval", Shown(|| smaller_second("block_restart_interval", ["1", "16"], |p| p.data_size))),
    (
        "index_block_restart_interval",
        Shown(|| smaller_second("index_block_restart_interval", ["1", "16"], |p| p.index_size)),
    ),
    ("metadata_block_size", Shown(metadata_block_size)),
    (
        "flush_block_policy_factory",
        Shown(|| {
            let values = ["FlushBlockEveryKeyPolicyFactory", "FlushBlockBySizePolicyFactory"];
            smaller_second("flush_block_policy_factory", values, |p| p.num_data_blocks);
        }),
    ),
    ("use_delta_encoding", Shown(|| smaller_second("use_delta_encoding", ["false", "true"], |p| p.data_size))),
    ("index_type", Shown(index_type)),
    (
        "index_shortening",
        Shown(|| {
            smaller_second("index_shortening", ["kNoShortening", "kShortenSeparators"], |p| p.index_size);
            let values = ["kShortenSeparators", "kShortenSeparatorsAndSuccessor"];
            smaller_second("index_shortening", values, |p| p.index_size);
        }),
    ),
    ("enable_index_compression", Shown(enable_index_compression)),
    ("data_block_index_type", Shown(data_block_index_type)),
    (
        "data_block_hash_table_util_ratio",
        Shown(|| {
            let [few, many] = differs_with(
                "data_block_hash_table_util_ratio",
                ["1.0", "0.25"],
                |setup| setup.set("data_block_index_type", "kDataBlockBinaryAndHash"),
                |setup| flushed_properties(&setup).data_size,
            );
            assert!(few < many, "{few}, {many}");
        }),
    ),
    (
        "separate_key_value_in_data_block",
        Shown(|| {
            differs("separate_key_value_in_data_block", ["false", "true"], |setup| {
                let properties = flushed_properties(&setup);
                let db = setup.open();
                for number in (0..3000).step_by(41) {
                    assert_eq!(db.get(key(number).as_bytes()).unwrap().unwrap().to_vec(), value(number));
                }
                (properties.separate_key_value_in_data_block, properties.data_size)
            });
        }),
    ),
    (
        "uniform_cv_threshold",
        Shown(|| {
            let hints =
                differs("uniform_cv_threshold", ["-1", "100"], |setup| flushed_properties(&setup).num_uniform_blocks);
            assert_eq!(hints, [Some(0), Some(1)]);
        }),
    ),
    ("whole_key_filtering", Shown(whole_key_filtering)),
    ("partition_filters", Shown(partition_filters)),
    (
        "partition_from_level",
        Shown(|| {
            let partitions = differs_with(
                "partition_from_level",
                ["0", "1"],
                |setup| setup.set("index_type", "kTwoLevelIndexSearch").set("metadata_block_size", "100000"),
                |setup| flushed_properties(&setup).index_partitions,
            );
            assert_eq!(partitions, [1, 0], "a flush writes to level 0");
        }),
    ),
    ("row_bounds", Shown(row_bounds)),
    ("partition_cut", Shown(partition_cut)),
    ("dense_block_size", Shown(|| dense_blocks("dense_block_size", ["0", "500"], &[], Ordering::Greater))),
    (
        "dense_index_limit",
        Shown(|| {
            let dense = [("dense_block_size", "500")];
            dense_blocks("dense_index_limit", ["0", "300"], &dense, Ordering::Less);
        }),
    ),
    (
        "large_partitions",
        Shown(|| {
            // `key000` and `key002`: dense from their first rows on.
            let dense = [("dense_block_size", "500")];
            dense_blocks("large_partitions", ["", "6b6579303030:6b6579303032"], &dense, Ordering::Greater);
        }),
    ),
    ("pad_to_sector", Shown(|| sectors("pad_to_sector"))),
    ("avoid_straddle", Shown(|| sectors("avoid_straddle"))),
    (
        "decouple_partitioned_filters",
        Shown(|| {
            differs("decouple_partitioned_filters", ["true", "false"], |setup| {
                flushed_properties(&setup).decoupled_partitioned_filters
            });
        }),
    ),
    (
        "optimize_filters_for_memory",
        Elsewhere("../table/tests/same_bytes.rs", "every_combination_of_options_gives_the_bytes_of_rocksdb"),
    ),
    ("detect_filter_construct_corruption", Shown(detect_filter_construct_corruption)),
    ("verify_compression", Shown(verify_compression)),
    ("block_align", Shown(block_align)),
    ("super_block_alignment_size", Shown(|| padding("super_block_alignment_size", ["0", "8192"]))),
    (
        "super_block_alignment_space_overhead_ratio",
        Shown(|| padding("super_block_alignment_space_overhead_ratio", ["1000000", "4"])),
    ),
];

fn smaller_second(name: &str, values: [&str; 2], measure: fn(&ferrock_format::properties::TableProperties) -> u64) {
    let [first, second] = differs(name, values, |setup| measure(&flushed_properties(&setup)));
    assert!(second < first, "{name}: {first}, then {second}");
}

/// Reads of a whole scan with nothing cached.
fn reads_of_a_scan(name: &str, values: [&str; 2]) {
    let options = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    differs(name, values, |setup| reads_of_a_scan_with(&setup, &options));
}

pub fn reads_of_a_scan_with(setup: &Setup, options: &ReadOptions) -> u64 {
    let db = setup.open();
    flush_range(&db, 0..6000);
    let before = setup.memory_counters();
    let mut iter = db.iter(options);
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next();
    }
    assert_eq!(count, 6000);
    setup.memory_counters() - before
}

impl Setup {
    /// Reads so far.
    pub fn memory_counters(&self) -> u64 {
        use ferrock_vfs::FileSystem;
        self.memory.counters().snapshot().read_requests
    }

    pub fn with_cache(mut self, capacity_bytes: usize) -> Self {
        self.db.components.block_cache = Some(ferrock_table::TableBlockCache::new(ferrock_cache::CacheOptions {
            capacity_bytes,
            shard_bits: Some(0),
            ..ferrock_cache::CacheOptions::default()
        }));
        self
    }
}

fn cache_index_and_filter_blocks() {
    let [without, with] = differs_with(
        "cache_index_and_filter_blocks",
        ["false", "true"],
        |setup| setup.with_cache(8 << 20),
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..3000);
            db.get(key(5).as_bytes()).unwrap();
            number(&db, "block-cache-usage")
        },
    );
    assert!(with > without + 1000, "the index is charged to the cache: {without}, {with}");
}

/// Floods the cache with blocks of another family, a little more each time: an index at high priority stays longer.
fn high_priority() {
    let [low, high] = differs_with(
        "cache_index_and_filter_blocks_with_high_priority",
        ["false", "true"],
        |setup| setup.with_cache(200 << 10).set("cache_index_and_filter_blocks", "true"),
        |setup| {
            let (db, families) = setup.try_open_families(&["default", "flood"]).unwrap();
            put_unlogged(&db, &families[0], 0..1000);
            put_unlogged(&db, &families[1], 0..6000);
            flush_all(&db);
            // The index came into the cache when the table was opened, and was not used since.
            let mut iter = db.iter_cf(&families[1], &ReadOptions::default());
            iter.seek_to_first();
            while iter.valid() {
                iter.next();
            }
            drop(iter);
            let before = setup.memory_counters();
            db.get(key(2).as_bytes()).unwrap().unwrap();
            setup.memory_counters() - before
        },
    );
    assert_eq!([low, high], [2, 1], "index and data, or data alone");
}

/// Reads of a lookup after everything left the cache that is not pinned, in level 0 and in the last level.
fn reads_after_the_cache_was_emptied(setup: &Setup) -> [u64; 2] {
    let db = setup.open();
    flush_range(&db, 0..3000);
    let cache = setup.db.components.block_cache.clone().unwrap();
    let reads = || {
        db.get(key(5).as_bytes()).unwrap().unwrap();
        cache.set_capacity(0);
        cache.set_capacity(8 << 20);
        let before = setup.memory_counters();
        db.get(key(5).as_bytes()).unwrap().unwrap();
        setup.memory_counters() - before
    };
    let level_0 = reads();
    force_compaction(&db);
    [level_0, reads()]
}

fn with_metadata_in_the_cache(mut setup: Setup) -> Setup {
    setup.family.filter_policy = FilterPolicy::bloom(10.0);
    setup.with_cache(8 << 20).set("cache_index_and_filter_blocks", "true")
}

fn pin_l0_filter_and_index_blocks() {
    let name = "pin_l0_filter_and_index_blocks_in_cache";
    let measured = differs_with(name, ["false", "true"], with_metadata_in_the_cache, |setup| {
        reads_after_the_cache_was_emptied(&setup)
    });
    // Filter, index, data; or the data alone, in level 0.
    assert_eq!(measured, [[3, 3], [1, 3]]);
    // Partitions too.
    let partitioned = with_metadata_in_the_cache(Setup::new())
        .set("index_type", "kTwoLevelIndexSearch")
        .set("partition_filters", "true")
        .set("metadata_block_size", "600");
    assert_eq!(reads_after_the_cache_was_emptied(&partitioned.set(name, "true")), [1, 3]);
}

pub fn metadata_cache_options() {
    let reads = |value: &str, is_partitioned: bool| {
        let mut setup = with_metadata_in_the_cache(Setup::new()).set("metadata_cache_options", value);
        if is_partitioned {
            setup = setup.set("index_type", "kTwoLevelIndexSearch").set("partition_filters", "true");
            setup = setup.set("metadata_block_size", "600");
        }
        reads_after_the_cache_was_emptied(&setup)
    };
    assert_eq!(reads("{}", false), [3, 3]);
    assert_eq!(reads("{unpartitioned_pinning=kFlushedAndSimilar;}", false), [1, 3]);
    assert_eq!(reads("{unpartitioned_pinning=kAll;}", false), [1, 1]);
    assert_eq!(reads("{partition_pinning=kAll;}", false), [3, 3]);
    assert_eq!(reads("{}", true), [3, 3]);
    assert_eq!(reads("{partition_pinning=kFlushedAndSimilar;}", true), [1, 3]);
    assert_eq!(reads("{partition_pinning=kAll;}", true), [1, 1]);
    assert_eq!(reads("{top_level_index_pinning=kNone;partition_pinning=kNone;}", true), [5, 5]);
    assert_eq!(reads("{top_level_index_pinning=kFlushedAndSimilar;}", true), [3, 5]);
}

/// It changes nothing that is right; what it finds, only the builder's own tests can have.
fn detect_filter_construct_corruption() {
    for value in ["false", "true"] {
        for policy in [FilterPolicy::bloom(10.0), FilterPolicy::ribbon(10.0, -1)] {
            let mut setup = Setup::new().set("detect_filter_construct_corruption", value);
            setup.family.filter_policy = policy;
            assert_eq!(flushed_properties(&setup).num_filter_entries, 3000);
        }
    }
    crate::sources::check_test(
        "detect_filter_construct_corruption",
        "../format/src/filter/tests.rs",
        "detect_filter_construct_corruption_finds_a_flipped_bit",
    );
}

/// A table with partitions, which RocksDB wrote: its top level is with the open table, or in the cache, where the next
/// block pushes it out.
fn pin_top_level_index_and_filter() {
    let [pinned, cached] = differs_with(
        "pin_top_level_index_and_filter",
        ["true", "false"],
        |setup| setup.with_cache(8 << 20).set("cache_index_and_filter_blocks", "true"),
        |setup| {
            golden::copy_to(&setup, "r7.8-index-twolevel-partfilter-many");
            let db = setup.open();
            let mut iter = db.iter(&ReadOptions { fill_cache: false, ..ReadOptions::default() });
            iter.seek_to_first();
            let first = iter.key().to_vec();
            drop(iter);
            let with_the_table = number(&db, "estimate-table-readers-mem");
            // With room for nothing, the cache forgets what is not pinned.
            let cache = setup.db.components.block_cache.clone().unwrap();
            cache.set_capacity(0);
            cache.set_capacity(8 << 20);
            let before = setup.memory_counters();
            db.get(&first).unwrap().unwrap();
            (with_the_table, setup.memory_counters() - before)
        },
    );
    assert!(pinned.0 > cached.0 + 100, "memory of open tables: {pinned:?}, {cached:?}");
    assert!(pinned.1 < cached.1, "reads of a lookup: {pinned:?}, {cached:?}");
}

fn verify_compression() {
    let verified = differs_with(
        "verify_compression",
        ["false", "true"],
        |mut setup| {
            setup.family.compression = CompressionType::Zstd;
            setup
        },
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..3000);
            let statistics = db.property("ferrock.statistics").unwrap();
            let line = statistics.lines().find_map(|line| line.strip_prefix("verified_blocks="));
            // The index is the one block more.
            let verified: u64 = line.unwrap().parse().unwrap();
            let data_blocks = only_properties(&db).num_data_blocks;
            assert!(verified == 0 || verified == data_blocks + 1, "{verified} of {data_blocks}");
            verified
        },
    );
    assert!(verified[0] == 0 && verified[1] > 50, "{verified:?}");
    // What it is for, a compressor that is wrong, only the builder's own tests can have.
    crate::sources::check_test(
        "verify_compression",
        "../table/src/builder/block_writer/tests.rs",
        "verify_compression_catches_a_wrong_compressor",
    );
}

/// Whether anything was read from files after a flush, and after a compaction of two tables.
fn prepopulate_block_cache() {
    let is_read = |value: &str| {
        let setup = Setup::new()
            .with_cache(8 << 20)
            .set("cache_index_and_filter_blocks", "true")
            .set("index_type", "kTwoLevelIndexSearch")
            .set("partition_filters", "true")
            .set("metadata_block_size", "600")
            .set("prepopulate_block_cache", value);
        let db = setup.open();
        let scan_reads = |from: u32| {
            // Opens the table, if the engine has not yet.
            db.get(key(from).as_bytes()).unwrap().unwrap();
            let before = setup.memory_counters();
            (from..3000).for_each(|number| assert!(db.get(key(number).as_bytes()).unwrap().is_some()));
            setup.memory_counters() - before > 0
        };
        flush_range(&db, 0..3000);
        let after_flush = scan_reads(0);
        flush_range(&db, 1000..3000);
        force_compaction(&db);
        [after_flush, scan_reads(0)]
    };
    assert_eq!(is_read("kDisable"), [true, true]);
    assert_eq!(is_read("kFlushOnly"), [false, true]);
    assert_eq!(is_read("kFlushAndCompaction"), [false, false]);
}

fn no_block_cache() {
    differs_with(
        "no_block_cache",
        ["false", "true"],
        |setup| setup.with_cache(8 << 20),
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..1000);
            let before = number(&db, "block-cache-usage");
            db.get(key(5).as_bytes()).unwrap().unwrap();
            number(&db, "block-cache-usage") > before
        },
    );
}

fn footer(setup: &Setup) -> Footer {
    flushed_properties(setup);
    let name = setup.files(|name| name.ends_with(".sst")).pop().unwrap();
    let content = setup.read(&name);
    assert!(Path::new(DIRECTORY).is_absolute());
    Footer::decode(&content[content.len() - MAX_FOOTER_SIZE..], content.len() as u64).unwrap()
}

fn format_version() {
    for version in 2..=7u32 {
        let setup = Setup::new().set("format_version", &version.to_string());
        assert_eq!(footer(&setup).format_version, version);
    }
}

fn checksum() {
    let values = ["kCRC32c", "kxxHash", "kxxHash64", "kXXH3", "kNoChecksum"];
    let kinds = values.map(|value| format!("{:?}", footer(&Setup::new().set("checksum", value)).checksum_type));
    for (index, kind) in kinds.iter().enumerate() {
        assert!(!kinds[..index].contains(kind), "{kinds:?}");
    }
}

fn metadata_block_size() {
    let [small, large] = differs_with(
        "metadata_block_size",
        ["512", "4096"],
        |mut setup| {
            setup.family.filter_policy = FilterPolicy::bloom(10.0);
            setup.set("index_type", "kTwoLevelIndexSearch").set("partition_filters", "true")
        },
        |setup| {
            let properties = flushed_properties(&setup);
            (properties.index_partitions, properties.filter_size)
        },
    );
    // More partitions, and more in the index over those of the filter.
    assert!(small.0 > 2 * large.0 && small.1 > large.1, "{small:?}, {large:?}");
}

fn index_type() {
    let values = ["kBinarySearch", "kHashSearch", "kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"];
    for (number, value) in values.into_iter().enumerate() {
        let mut setup = Setup::new();
        setup.family.prefix_extractor = Some(PrefixExtractor::Fixed(7));
        let setup = setup.set("index_type", value).set("partition_from_level", "0");
        let properties = flushed_properties(&setup);
        assert_eq!(properties.index_type, Some(number as u32), "{value}");
        assert_eq!(properties.index_partitions > 0, value == "kTwoLevelIndexSearch");
        let db = setup.open();
        for number in (0..3000).step_by(41) {
            assert_eq!(db.get(key(number).as_bytes()).unwrap().unwrap().to_vec(), self::value(number));
        }
    }
    // A hash of nothing is refused.
    assert!(Setup::new().set("index_type", "kHashSearch").try_open().unwrap_err().message().contains("index_type"));
}

fn partition_filters() {
    let sizes = differs_with(
        "partition_filters",
        ["false", "true"],
        |mut setup| {
            setup.family.filter_policy = FilterPolicy::bloom(10.0);
            setup.set("index_type", "kTwoLevelIndexSearch").set("metadata_block_size", "600")
        },
        |setup| {
            let size = flushed_properties(&setup).filter_size;
            let db = setup.open();
            let before = number(&db, "estimate-table-readers-mem");
            db.get(key(5).as_bytes()).unwrap().unwrap();
            (size, number(&db, "estimate-table-readers-mem") - before)
        },
    );
    assert!(sizes[1].0 > sizes[0].0, "partitions have an index: {sizes:?}");
    assert!(sizes[1].1 < 2000, "a lookup loads one partition: {sizes:?}");
}

fn block_align() {
    let aligned =
        differs("block_align", ["false", "true"], |setup| flushed_properties(&setup).data_size.is_multiple_of(4096));
    assert_eq!(aligned, [false, true]);
    let mut compressed = Setup::new().set("block_align", "true");
    compressed.family.compression = CompressionType::Zstd;
    assert!(compressed.try_open().unwrap_err().message().contains("block_align"));
}

/// The second value pads data blocks.
fn padding(name: &str, values: [&str; 2]) {
    let [without, with] = differs_with(
        name,
        values,
        |setup| {
            let setup = setup.set("super_block_alignment_size", "8192");
            setup.set("super_block_alignment_space_overhead_ratio", "4")
        },
        |setup| flushed_properties(&setup).data_size,
    );
    assert!(without < with, "{without}, {with}");
}

/// The table says what it has, and lookups between its rows find nothing as before.
fn row_bounds() {
    let sizes = differs("row_bounds", ["false", "true"], |setup| {
        let properties = flushed_properties(&setup);
        let db = setup.open();
        for number in 0..3000 {
            assert_eq!(db.get(key(number).as_bytes()).unwrap().unwrap().to_vec(), value(number));
            assert!(db.get(format!("{}+", key(number)).as_bytes()).unwrap().is_none());
        }
        let size = properties.user_collected.get(&b"ferrock.row-bounds"[..]).cloned();
        size.map(|size| String::from_utf8(size).unwrap().parse::<u64>().unwrap())
    });
    assert!(sizes[0].is_none() && sizes[1].is_some_and(|size| size > 100), "{sizes:?}");
}

const THOUSANDS: PrefixExtractor = PrefixExtractor::Fixed("key001".len());

/// Partitions of a thousand keys, of several blocks each.
fn partition_cut() {
    let [without, with] = differs_with(
        "partition_cut",
        ["false", "true"],
        |mut setup| {
            setup.family.prefix_extractor = Some(THOUSANDS);
            setup
        },
        |setup| {
            let properties = flushed_properties(&setup);
            let promise = properties.user_collected.get(&b"ferrock.partition-cut"[..]).cloned();
            (promise, properties.num_data_blocks)
        },
    );
    let name = THOUSANDS.name().into_bytes();
    assert_eq!((without.0, with.0), (None, Some(name)));
    assert!((without.1..=without.1 + 2).contains(&with.1), "{} and {} blocks", without.1, with.1);
}

/// Data blocks in a table of partitions of a thousand keys: their number changes as `second` says, and the rows are
/// there.
fn dense_blocks(name: &str, values: [&str; 2], others: &[(&str, &str)], second: Ordering) {
    let blocks = differs_with(
        name,
        values,
        |mut setup| {
            setup.family.prefix_extractor = Some(THOUSANDS);
            let setup = setup.set("partition_cut", "true");
            others.iter().fold(setup, |setup, (name, value)| setup.set(name, value))
        },
        |setup| {
            let properties = flushed_properties(&setup);
            assert!(properties.user_collected.contains_key(&b"ferrock.partition-cut"[..]));
            let db = setup.open();
            for number in 0..3000 {
                assert_eq!(db.get(key(number).as_bytes()).unwrap().unwrap().to_vec(), value(number));
            }
            properties.num_data_blocks
        },
    );
    assert_eq!(blocks[1].cmp(&blocks[0]), second, "{blocks:?}");
}

/// Padding makes the data larger, by less than a sector for each block.
fn sectors(name: &str) {
    let [without, with] = differs_with(
        name,
        ["0", "512"],
        |setup| setup.set("block_size", "1000"),
        |setup| {
            let properties = flushed_properties(&setup);
            (properties.data_size, properties.num_data_blocks)
        },
    );
    assert!(without.0 < with.0 && with.0 < without.0 + with.1 * 512, "{without:?}, {with:?}");
}

/// Data blocks end in a word whose highest bit says that they have a hash index.
fn data_block_index_type() {
    let values = ["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"];
    let has_hash_index = differs("data_block_index_type", values, |setup| {
        let db = setup.open();
        // One data block, at the beginning of the file.
        flush_range(&db, 0..5);
        let data_size = usize::try_from(only_properties(&db).data_size).unwrap();
        let content = setup.read(&setup.files(|name| name.ends_with(".sst")).pop().unwrap());
        for number in 0..5 {
            assert_eq!(db.get(key(number).as_bytes()).unwrap().unwrap().to_vec(), value(number));
        }
        content[data_size - BLOCK_TRAILER_SIZE - 1] & 0x80 != 0
    });
    assert_eq!(has_hash_index, [false, true]);
}

fn enable_index_compression() {
    let measured = differs_with(
        "enable_index_compression",
        ["false", "true"],
        |mut setup| {
            setup.family.compression = CompressionType::Zstd;
            setup
        },
        |setup| {
            let db = setup.open();
            flush_range(&db, 0..3000);
            db.live_files()[0].size_bytes
        },
    );
    assert!(measured[1] < measured[0]);
}

fn whole_key_filtering() {
    let measured = differs_with(
        "whole_key_filtering",
        ["true", "false"],
        |mut setup| {
            setup.family.filter_policy = FilterPolicy::bloom(10.0);
            setup.family.prefix_extractor = Some(PrefixExtractor::Fixed(7));
            setup
        },
        |setup| flushed_properties(&setup).filter_size,
    );
    assert!(measured[0] > measured[1], "prefixes alone are fewer: {measured:?}");
}

#[test]
fn more_bits_a_key_make_larger_filters() {
    let sizes = [0.0, 5.0, 10.0, 20.0].map(|bits| {
        let mut setup = Setup::new();
        setup.family.filter_policy = FilterPolicy::bloom(bits);
        flushed_properties(&setup).filter_size
    });
    assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{sizes:?}");
}

#[test]
fn ribbon_filters_are_smaller_and_kept_for_the_levels_they_are_for() {
    let size = |policy: FilterPolicy, compact: bool| {
        let mut setup = Setup::new();
        setup.family.filter_policy = policy;
        let db = setup.open();
        flush_range(&db, 0..3000);
        if compact {
            force_compaction(&db);
        }
        let properties = only_properties(&db);
        drop(db);
        let db = setup.open();
        for number in (0..3000).step_by(41) {
            assert_eq!(db.get(key(number).as_bytes()).unwrap().unwrap().to_vec(), value(number));
        }
        properties.filter_size
    };
    let bloom = size(FilterPolicy::bloom(10.0), false);
    let ribbon = size(FilterPolicy::ribbon(10.0, -1), false);
    assert!(ribbon < bloom * 3 / 4, "{ribbon}, {bloom}");
    assert_eq!(size(FilterPolicy::ribbon(10.0, 0), false), bloom, "a flush is before level 0");
    assert_eq!(size(FilterPolicy::ribbon(10.0, 0), true), ribbon);
    assert_eq!(size(FilterPolicy::ribbon(10.0, i32::MAX), true), bloom);
}
