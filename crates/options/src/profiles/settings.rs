//! What each profile sets, and why.
//!
//! A setting is an option by its name in an OPTIONS file, a text, and a reason. Options that a helper sets have no text
//! of their own here: the helper has the value, and this list the reason. What a build cannot have, as a compressor
//! that was left out, is not set.

use super::Profile;
use crate::{ColumnFamilyOptions, CompressionType, DbOptions, FilterPolicy, OptionSection, TableFactory};
use ferrock_base::option_table::OptionValue as _;

/// Half of the options that a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Database,
    Family,
    Table,
}

impl Half {
    pub(super) fn has(self, section: &OptionSection) -> bool {
        match section {
            OptionSection::Database => self == Self::Database,
            OptionSection::Family(_) => self == Self::Family,
            OptionSection::Table { .. } => self == Self::Table,
            OptionSection::Component => false,
        }
    }
}

/// An option that a profile sets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) half: Half,
    pub(super) name: &'static str,
    /// `None`: a helper sets it.
    pub(super) text: Option<&'static str>,
    pub(super) reason: &'static str,
}

const fn db(name: &'static str, text: &'static str, reason: &'static str) -> Setting {
    Setting { half: Half::Database, name, text: Some(text), reason }
}
const fn family(name: &'static str, text: &'static str, reason: &'static str) -> Setting {
    Setting { half: Half::Family, name, text: Some(text), reason }
}
const fn table(name: &'static str, text: &'static str, reason: &'static str) -> Setting {
    Setting { half: Half::Table, name, text: Some(text), reason }
}
const fn helped(half: Half, name: &'static str, reason: &'static str) -> Setting {
    Setting { half, name, text: None, reason }
}

const LEVELS: Setting = family(
    "compaction_style",
    "kCompactionStyleLevel",
    "levels keep space and reads near their least; each byte is written some ten times",
);
const DYNAMIC: Setting = family(
    "level_compaction_dynamic_level_bytes",
    "true",
    "level sizes follow the last level, so that about a tenth of the space is for what is overwritten",
);
const BLOCK_BASED: Setting =
    family("table_factory", "BlockBasedTable", "block-based tables are read by blocks, which the cache keeps");
const LZ4: Setting = family("compression", "kLZ4Compression", "LZ4 costs little time where data is soon written again");
const BOTTOM_ZSTD: Setting = family(
    "bottommost_compression",
    "kZSTD",
    "nine tenths of the data lie in the last level and are seldom written there: the stronger compressor pays",
);
const BLOOM: Setting = table(
    "filter_policy",
    "bloomfilter:10:false",
    "a lookup passes over 99 of 100 tables that lack its key; 10 bits of memory for each key",
);
const PARTITIONED: Setting =
    table("index_type", "kTwoLevelIndexSearch", "of a large index only the parts that reads ask for are in memory");
const FILTER_PARTITIONS: Setting = table("partition_filters", "true", "the same for filters");
const IN_CACHE: Setting = table(
    "cache_index_and_filter_blocks",
    "true",
    "indexes and filters count within the cache, so that memory stays bounded while the data grows",
);
const PIN_LEVEL_0: Setting = table(
    "pin_l0_filter_and_index_blocks_in_cache",
    "true",
    "every lookup asks the tables of level 0, so that their indexes and filters stay in the cache",
);

const BALANCED: &[Setting] = &[
    db("max_background_jobs", "4", "one flush and three compactions at once: two jobs fall behind busy writers"),
    LEVELS,
    DYNAMIC,
    LZ4,
    BOTTOM_ZSTD,
    BLOCK_BASED,
    table("block_size", "16384", "a quarter of the index of 4 KiB blocks, and blocks that compress better"),
    BLOOM,
    PARTITIONED,
    FILTER_PARTITIONS,
    IN_CACHE,
    PIN_LEVEL_0,
];

const POINT_LOOKUP: &[Setting] = &[
    db("max_background_jobs", "4", "compactions that keep up leave a lookup fewer tables to ask"),
    db("max_open_files", "-1", "no lookup has to open a table first"),
    LEVELS,
    DYNAMIC,
    BLOCK_BASED,
    helped(Half::Family, "memtable_prefix_bloom_size_ratio", "the memtable's filter spares most searches of it"),
    helped(Half::Family, "memtable_whole_key_filtering", "that filter needs whole keys where there are no prefixes"),
    table("block_size", "4096", "a lookup reads and decodes one block, so that a small one is enough"),
    helped(Half::Table, "data_block_index_type", "a hash finds a key in its block without bisection"),
    helped(Half::Table, "data_block_hash_table_util_ratio", "three entries for four buckets: few keys collide"),
    helped(Half::Table, "filter_policy", BLOOM.reason),
    table(
        "cache_index_and_filter_blocks",
        "false",
        "indexes and filters stay with the open tables, so that a lookup reads one data block at most for each table",
    ),
];

const WRITE_HEAVY: &[Setting] = &[
    db("max_background_jobs", "8", "two flushes and six compactions at once keep up with writers for longer"),
    db("max_subcompactions", "4", "a merge of large runs is shared by four threads, so that it ends sooner"),
    db("wal_bytes_per_sync", "1048576", "the log goes to the device as it grows, and not in bursts"),
    family(
        "compaction_style",
        "kCompactionStyleUniversal",
        "sorted runs are merged a few times where levels rewrite each byte ten times and more",
    ),
    family("write_buffer_size", "134217728", "larger runs, of which fewer are merged"),
    family("max_write_buffer_number", "6", "writers go on while four memtables wait for their flush"),
    family("min_write_buffer_number_to_merge", "2", "what two memtables overwrite is written once"),
    family("level0_file_num_compaction_trigger", "8", "eight runs gather before they are merged"),
    family("level0_slowdown_writes_trigger", "40", "room for bursts before writers slow down"),
    family("level0_stop_writes_trigger", "60", "room for bursts before writers stop"),
    LZ4,
    BLOCK_BASED,
    table("filter_policy", "bloomfilter:10:false", "a lookup may have to ask a dozen runs, and filters spare most"),
];

const SCAN: &[Setting] = &[
    db("max_background_jobs", "4", "compactions that keep up leave a scan fewer runs to merge"),
    LEVELS,
    DYNAMIC,
    family("level0_file_num_compaction_trigger", "2", "each table of level 0 is one more run in every scan"),
    family("target_file_size_base", "134217728", "a scan opens half as many tables"),
    LZ4,
    BOTTOM_ZSTD,
    BLOCK_BASED,
    table("block_size", "32768", "a scan uses the whole block: fewer reads, smaller indexes, better compression"),
    table("initial_auto_readahead_size", "65536", "the second read of a scan already brings two blocks"),
    table("max_auto_readahead_size", "2097152", "long scans read 2 MiB at a time"),
];

const TINY: &[Setting] = &[
    db("max_background_jobs", "2", "each job has buffers of its own"),
    db("max_subcompactions", "1", "each thread of a compaction has buffers of its own"),
    db("max_open_files", "64", "an open table takes memory, so that only those in use stay open"),
    db("max_file_opening_threads", "1", "each thread that opens tables has buffers of its own"),
    db("db_write_buffer_size", "4194304", "the memtables of all families together"),
    db("compaction_readahead_size", "262144", "a buffer for each input of a compaction"),
    db("writable_file_max_buffer_size", "262144", "a buffer for each file that is written"),
    db("max_log_file_size", "1048576", "the LOG of a small device stays small"),
    db("keep_log_file_num", "4", "the same"),
    LEVELS,
    DYNAMIC,
    family("write_buffer_size", "2097152", "a memtable of 2 MiB"),
    family("max_write_buffer_number", "2", "one more is written to while one is flushed"),
    family("target_file_size_base", "8388608", "small tables have small indexes, and are soon compacted"),
    family("max_bytes_for_level_base", "33554432", "four tables; a multiple of what level 0 gathers"),
    family("soft_pending_compaction_bytes_limit", "268435456", "a small device falls behind by less"),
    family("hard_pending_compaction_bytes_limit", "1073741824", "the same, for writers to stop"),
    LZ4,
    BLOCK_BASED,
    BLOOM,
    PARTITIONED,
    FILTER_PARTITIONS,
    IN_CACHE,
];

const FLASH: &[Setting] = &[
    db("max_background_jobs", "8", "the device does many requests at the same time"),
    db("max_subcompactions", "4", "large compactions use several processors and more of the device"),
    db(
        "use_direct_io_for_flush_and_compaction",
        "true",
        "compactions do not push what reads use out of the page cache, and reach the device in large writes",
    ),
    LEVELS,
    DYNAMIC,
    family(
        "compaction_pri",
        "kMinOverlappingRatio",
        "the file goes down that drags along the least of the next level: the fewest bytes written",
    ),
    family("write_buffer_size", "134217728", "keys that are written often are flushed less often"),
    family("max_write_buffer_number", "4", "writers go on while memtables wait for the device"),
    family("max_bytes_for_level_base", "536870912", "as much as level 0 gathers, so that it goes down cheaply"),
    family("target_file_size_base", "134217728", "fewer and larger files are erased in whole blocks of the device"),
    LZ4,
    BOTTOM_ZSTD,
    BLOCK_BASED,
    table("block_size", "16384", "whole pages of the device, which compress better than 4 KiB"),
    table(
        "filter_policy",
        "{id=ribbonfilter:10:0;bloom_before_level=0;}",
        "filters of a Bloom filter's accuracy in seven tenths of its bytes; those of flushes are Bloom filters",
    ),
    PARTITIONED,
    FILTER_PARTITIONS,
    IN_CACHE,
    PIN_LEVEL_0,
];

const NO_COMPACTION: &str = "nothing is compacted before `compact_range`, so that the device is for flushes alone";
const NO_WAIT: &str = "no writer waits for compactions";
const BULK_LOAD: &[Setting] = &[
    helped(Half::Database, "max_background_flushes", "four memtables are written at once"),
    helped(Half::Database, "max_background_compactions", "of use for `compact_range` alone"),
    helped(Half::Family, "disable_auto_compactions", NO_COMPACTION),
    helped(Half::Family, "level0_file_num_compaction_trigger", NO_COMPACTION),
    helped(Half::Family, "level0_slowdown_writes_trigger", NO_WAIT),
    helped(Half::Family, "level0_stop_writes_trigger", NO_WAIT),
    helped(Half::Family, "soft_pending_compaction_bytes_limit", NO_WAIT),
    helped(Half::Family, "hard_pending_compaction_bytes_limit", NO_WAIT),
    helped(Half::Family, "max_compaction_bytes", "`compact_range` takes all of level 0 at once"),
    helped(Half::Family, "num_levels", "`compact_range` writes each byte once: from level 0 to level 1"),
    helped(Half::Family, "max_write_buffer_number", "writers go on while memtables are written"),
    helped(Half::Family, "min_write_buffer_number_to_merge", "each memtable is flushed as soon as it is full"),
    helped(Half::Family, "target_file_size_base", "fewer and larger tables"),
];

/// What a profile sets.
pub(super) fn of(profile: Profile) -> &'static [Setting] {
    match profile {
        Profile::Balanced => BALANCED,
        Profile::PointLookup => POINT_LOOKUP,
        Profile::WriteHeavy => WRITE_HEAVY,
        Profile::Scan => SCAN,
        Profile::Tiny => TINY,
        Profile::Flash => FLASH,
        Profile::BulkLoad => BULK_LOAD,
    }
}

/// Sets the database's half.
pub(super) fn set_db(profile: Profile, options: &mut DbOptions) {
    if profile == Profile::BulkLoad {
        options.prepare_for_bulk_load();
    }
    for (name, text) in texts(profile, Half::Database) {
        // The texts are good: a test sets all of them.
        let _ = options.settings.set(name, text);
    }
}

/// Sets a family's half.
pub(super) fn set_family(profile: Profile, options: &mut ColumnFamilyOptions) {
    match profile {
        Profile::BulkLoad => {
            options.prepare_for_bulk_load();
        }
        Profile::PointLookup => options.look_up_by_hash(),
        _ => {}
    }
    for (name, text) in texts(profile, Half::Family) {
        let is_left_out = match name {
            "compression" | "bottommost_compression" => {
                CompressionType::parse_option(text).is_none_or(|kind| kind.check_built().is_err())
            }
            "table_factory" => {
                options.table_factory = TableFactory::BlockBased;
                true
            }
            _ => false,
        };
        if !is_left_out {
            let _ = options.settings.set(name, text);
        }
    }
    for (name, text) in texts(profile, Half::Table) {
        match (name, FilterPolicy::parse(text)) {
            ("filter_policy", Ok(policy)) => options.filter_policy = policy,
            _ => {
                let _ = options.table.set(name, text);
            }
        }
    }
}

fn texts(profile: Profile, half: Half) -> impl Iterator<Item = (&'static str, &'static str)> {
    let settings = of(profile).iter().filter(move |setting| setting.half == half);
    settings.filter_map(|setting| setting.text.map(|text| (setting.name, text)))
}
