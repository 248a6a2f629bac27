//! What is asked of both libraries: a sequence of calls, a pure function of its seed.
//!
//! A call names its arguments completely, so that no answer of a library decides what it is asked next. Automatic
//! compactions are off: what a flush leaves is there until a call compacts it.

use crate::random::Random;

/// Handles of column families; slot 0 is the default one.
pub const SLOTS: usize = 3;

/// How a number goes through the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Unsigned,
    Size,
    Wide,
    Real,
    Flag,
}

/// An option with `rocksdb_options_set_NAME` and `rocksdb_options_get_NAME`, and numbers to set it to. What an open may
/// make of such a number is in the OPTIONS file afterwards.
pub struct Setter {
    pub name: &'static str,
    pub kind: Kind,
    pub values: &'static [f64],
    /// RocksDB may be opened with every one of the values.
    pub is_for_open: bool,
}

const fn setter(name: &'static str, kind: Kind, values: &'static [f64], is_for_open: bool) -> Setter {
    Setter { name, kind, values, is_for_open }
}

/// Numbers within and out of bounds.
pub const SETTERS: &[Setter] = &[
    setter("max_open_files", Kind::Int, &[-1.0, -2.0, 0.0, 5.0, 100.0], true),
    setter("write_buffer_size", Kind::Size, &[0.0, 1.0, 65_535.0, 1e6, LARGEST_BUFFER], true),
    setter("arena_block_size", Kind::Size, &[0.0, 1.0, 5000.0], true),
    setter("max_write_buffer_number", Kind::Int, &[-3.0, 0.0, 1.0, 4.0], true),
    setter("min_write_buffer_number_to_merge", Kind::Int, &[-1.0, 0.0, 1.0, 9.0], true),
    setter("num_levels", Kind::Int, &[-1.0, 0.0, 1.0, 2.0, 12.0], false),
    setter("level0_file_num_compaction_trigger", Kind::Int, &[0.0, 1.0, 30.0], true),
    setter("level0_slowdown_writes_trigger", Kind::Int, &[-1.0, 2.0, 50.0], true),
    setter("level0_stop_writes_trigger", Kind::Int, &[1.0, 3.0, 60.0], true),
    setter("target_file_size_base", Kind::Wide, &[100_000.0, 1e9], true),
    setter("max_bytes_for_level_base", Kind::Wide, &[100_000.0, 1e12], true),
    setter("max_bytes_for_level_multiplier", Kind::Real, &[-1.0, 0.0, 0.5, 3.0], true),
    setter("memtable_prefix_bloom_size_ratio", Kind::Real, &[-1.0, 0.1, 0.5, 9.0], true),
    setter("soft_pending_compaction_bytes_limit", Kind::Size, &[0.0, 1000.0, 1e13], true),
    setter("hard_pending_compaction_bytes_limit", Kind::Size, &[0.0, 1000.0], true),
    setter("max_background_jobs", Kind::Int, &[-1.0, 0.0, 3.0], true),
    setter("keep_log_file_num", Kind::Size, &[0.0, 3.0], true),
    setter("wal_recovery_mode", Kind::Int, &[0.0, 1.0, 2.0, 3.0], true),
    setter("statistics_level", Kind::Int, &[-1.0, 0.0, 1.0, 5.0, 6.0, 90.0], false),
    setter("compaction_style", Kind::Int, &[0.0, 1.0, 2.0, 3.0], false),
    setter("compression", Kind::Int, &[0.0, 1.0, 7.0], false),
    setter("bottommost_compression", Kind::Int, &[0.0, 4.0, 255.0], false),
    setter("info_log_level", Kind::Int, &[0.0, 2.0, 4.0], false),
    setter("stats_dump_period_sec", Kind::Unsigned, &[0.0, 77.0], true),
    setter("max_successive_merges", Kind::Size, &[0.0, 3.0], true),
    setter("table_cache_numshardbits", Kind::Int, &[1.0, 6.0, 19.0], true),
    setter("bytes_per_sync", Kind::Wide, &[0.0, 4096.0], true),
    setter("recycle_log_file_num", Kind::Size, &[0.0, 2.0], true),
    setter("allow_concurrent_memtable_write", Kind::Flag, &[0.0, 1.0], true),
    setter("enable_blob_gc", Kind::Flag, &[0.0, 1.0], false),
    setter("blob_gc_age_cutoff", Kind::Real, &[-0.5, 0.25, 7.0], false),
    setter("use_direct_reads", Kind::Flag, &[0.0, 1.0], false),
    setter("atomic_flush", Kind::Flag, &[0.0, 1.0], false),
    setter("wal_compression", Kind::Int, &[0.0, 7.0], false),
];

/// Options that RocksDB refuses together, and neighbours that it takes.
const COMBINATIONS: &[&str] = &[
    "unordered_write=true;enable_pipelined_write=true",
    "unordered_write=true;allow_concurrent_memtable_write=false",
    "unordered_write=true;max_successive_merges=3",
    "atomic_flush=true;enable_pipelined_write=true",
    "allow_mmap_reads=true;use_direct_reads=true",
    "allow_mmap_reads=true;use_direct_io_for_compaction_reads=true",
    "allow_mmap_writes=true;use_direct_io_for_flush_and_compaction=true",
    "use_direct_io_for_flush_and_compaction=true;writable_file_max_buffer_size=0",
    "keep_log_file_num=0",
    "read_io_executor_threads=0",
    "write_dbid_to_manifest=false;write_identity_file=false",
    "daily_offpeak_time_utc=23:30",
    "daily_offpeak_time_utc=04:30-04:30",
    "daily_offpeak_time_utc=23:30-03:15",
    "inplace_update_support=true",
    "inplace_update_support=true;allow_concurrent_memtable_write=false",
    "memtable_factory=vector",
    "memtable_factory=prefix_hash:1000",
    "memtable_factory=prefix_hash:1000;allow_concurrent_memtable_write=false",
    "memtable_factory={id=hash_linkedlist;threshold=2};prefix_extractor=fixed:3",
    "open_files_async=true",
    "open_files_async=true;skip_stats_update_on_db_open=true",
    "memtable_protection_bytes_per_key=3",
    "block_protection_bytes_per_key=5",
    "enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=2",
    "enable_blob_garbage_collection=true;blob_garbage_collection_force_threshold=-1",
    "compression_opts={max_dict_bytes=0;zstd_max_train_bytes=1000}",
    "compression=kDisableCompressionOption",
    "read_triggered_compaction_threshold=-1",
    "block_based_table_factory={no_block_cache=true;cache_index_and_filter_blocks=true}",
    "block_based_table_factory={no_block_cache=true;pin_l0_filter_and_index_blocks_in_cache=true}",
    "block_based_table_factory={no_block_cache=true}",
    "block_based_table_factory={index_type=kHashSearch}",
    "block_based_table_factory={index_type=kHashSearch};prefix_extractor=fixed:3",
    "block_based_table_factory={block_align=true}",
    "block_based_table_factory={block_align=true;block_size=5000};compression=kNoCompression",
    "block_based_table_factory={block_align=true};compression=kNoCompression;bottommost_compression=kZSTD",
    "block_based_table_factory={format_version=99}",
    "block_based_table_factory={super_block_alignment_size=1000}",
    "block_based_table_factory={super_block_alignment_size=4096;super_block_alignment_space_overhead_ratio=2}",
    "block_based_table_factory={data_block_index_type=kDataBlockBinaryAndHash;data_block_hash_table_util_ratio=0}",
    "wal_recovery_mode=kAbsoluteConsistency;recycle_log_file_num=2",
    "create_if_missing=false",
    "error_if_exists=true",
    "comparator=rocksdb.ReverseBytewiseComparator",
    "table_factory=PlainTable;ttl=5",
    "table_factory={id=PlainTable;user_key_len=7};periodic_compaction_seconds=5",
    "atomic_flush=true;min_write_buffer_number_to_merge=3",
];

/// Numbers that an open brings into their bounds; the last open of every other seed has one of these texts.
const OUT_OF_BOUNDS: &[&str] = &["arena_block_size=1", "max_background_jobs=-1", "max_background_jobs=0"];

/// Texts of options, good and bad.
const TEXTS: &[&str] = &[
    "",
    ";",
    "=",
    "write_buffer_size",
    "write_buffer_size=",
    "write_buffer_size=64MB",
    "write_buffer_size=64M",
    "write_buffer_size=64m",
    "write_buffer_size=1G",
    "write_buffer_size=0x1000",
    "write_buffer_size=-1",
    "write_buffer_size=99999999999999999999999",
    "write_buffer_size=8k;",
    " write_buffer_size = 4096 ; num_levels = 3 ",
    "num_levels=3x",
    "num_levels=x",
    "num_levels=1;num_levels=5",
    "num_levels=9999999999",
    "max_open_files=-17",
    "create_if_missing=yes",
    "create_if_missing=1",
    "create_if_missing=TRUE",
    "create_if_missing=on",
    "memtable_factory=skip_list",
    "memtable_factory=SkipListFactory",
    "memtable_factory=skip_list:32",
    "memtable_factory={id=SkipListFactory;lookahead=3}",
    "memtable_factory=vector",
    "memtable_factory=VectorRepFactory:10",
    "memtable_factory={id=vector;count=7;}",
    "memtable_factory={id=vector;nonsense=7;}",
    "memtable_factory={id=prefix_hash;bucket_count=5;skiplist_height=3;branching_factor=2}",
    "memtable_factory=hash_linkedlist:9",
    "memtable_insert_with_hint_prefix_extractor=rocksdb.CappedPrefix.3",
    "max_successive_merges=4;strict_max_successive_merges=true",
    "inplace_update_num_locks=7;memtable_huge_page_size=2097152",
    "memtable=skip_list",
    "table_factory=PlainTable",
    "table_factory={id=PlainTable;user_key_len=7;encoding_type=kPrefix;hash_table_ratio=0.5}",
    "table_factory={id=PlainTable;store_index_in_file=true;index_sparseness=3;bloom_bits_per_key=4;full_scan_mode=true}",
    "table_factory={id=PlainTable;nonsense=1}",
    "table_factory={id=PlainTable;encoding_type=kNonsense}",
    "bloom_locality=1",
    "statistics=nullptr",
    "compaction_filter=nullptr",
    "merge_operator=nullptr",
    "prefix_extractor=nullptr",
    "prefix_extractor=rocksdb.FixedPrefix.4",
    "prefix_extractor=nonsense",
    "comparator=nonsense",
    "comparator=leveldb.BytewiseComparator",
    "merge_operator=nonsense",
    "compression=kNonsense",
    "compression=zstd",
    "compression=kZSTD",
    "compression=7",
    "compaction_pri=kMinOverlappingRatio",
    "compaction_style=kCompactionStyleLevel",
    "table_factory=BlockBasedTable",
    "table_factory=nonsense",
    "block_based_table_factory={block_size=4096}",
    "block_based_table_factory={block_size=4096;nonsense=1}",
    "block_based_table_factory={block_size=x}",
    "block_based_table_factory={block_cache=8M}",
    "block_based_table_factory={block_cache=nullptr}",
    "block_based_table_factory={filter_policy=nullptr}",
    "block_based_table_factory={filter_policy=bloomfilter:10:false}",
    "block_based_table_factory={filter_policy=nonsense}",
    "block_based_table_factory={checksum=kNonsense}",
    "block_based_table_factory={block_size=4096",
    "block_based_table_factory=}",
    "nonsense=1",
    "nonsense",
    "rate_limiter=nullptr",
    "rate_limiter_bytes_per_sec=1000",
    "sst_partitioner_factory=nullptr",
    "max_bytes_for_level_multiplier=2.5",
    "max_bytes_for_level_multiplier=abc",
    "max_bytes_for_level_multiplier_additional=1:2:3",
    "max_bytes_for_level_multiplier_additional=1:x",
    "compression_per_level=kNoCompression:kSnappyCompression",
    "compression_per_level=kNoCompression:kNonsense",
    "compression_opts=4:5:6:7",
    "compression_opts={level=4;strategy=1}",
    "compression_opts={nonsense=4}",
    "compaction_options_universal={size_ratio=60}",
    "compaction_options_fifo={max_table_files_size=5}",
    "stats_dump_period_sec=-1",
    "info_log_level=INFO_LEVEL",
    "info_log_level=3",
    "wal_recovery_mode=kAbsoluteConsistency",
    "bloom_locality=1",
    "file_checksum_gen_factory=nullptr",
    "row_cache=nullptr",
    "db_host_id=__hostname__",
    "ttl=5",
    "report_bg_io_stats=true",
    "soft_rate_limit=0.5",
];

/// Properties, and whether their values follow from the calls alone.
const PROPERTIES: &[(&str, bool)] = &[
    ("rocksdb.num-files-at-level0", true),
    ("rocksdb.num-files-at-level1", true),
    ("rocksdb.num-files-at-level6", false),
    ("rocksdb.num-files-at-level7", true),
    ("rocksdb.num-files-at-level", true),
    ("rocksdb.num-files-at-levelx", true),
    ("rocksdb.num-files-at-level-1", true),
    ("rocksdb.num-files-at-level0x", true),
    ("rocksdb.compression-ratio-at-level0", false),
    ("rocksdb.compression-ratio-at-level9", false),
    ("rocksdb.stats", false),
    ("rocksdb.dbstats", false),
    ("rocksdb.cfstats", false),
    ("rocksdb.cfstats-no-file-histogram", false),
    ("rocksdb.cf-file-histogram", false),
    ("rocksdb.levelstats", false),
    ("rocksdb.sstables", false),
    ("rocksdb.options-statistics", false),
    ("rocksdb.aggregated-table-properties", false),
    ("rocksdb.aggregated-table-properties-at-level0", false),
    ("rocksdb.aggregated-table-properties-at-level70", false),
    ("rocksdb.block-cache-entry-stats", false),
    ("rocksdb.num-entries-active-mem-table", true),
    ("rocksdb.num-entries-imm-mem-tables", true),
    ("rocksdb.num-deletes-active-mem-table", true),
    ("rocksdb.num-deletes-imm-mem-tables", true),
    ("rocksdb.num-immutable-mem-table", true),
    ("rocksdb.num-immutable-mem-table-flushed", false),
    ("rocksdb.mem-table-flush-pending", true),
    ("rocksdb.compaction-pending", true),
    // RocksDB's thread counts as running for a moment after a manual compaction has returned.
    ("rocksdb.num-running-compactions", false),
    ("rocksdb.background-errors", true),
    ("rocksdb.cur-size-active-mem-table", false),
    ("rocksdb.cur-size-all-mem-tables", false),
    ("rocksdb.size-all-mem-tables", false),
    ("rocksdb.estimate-num-keys", true),
    ("rocksdb.estimate-table-readers-mem", false),
    ("rocksdb.is-file-deletions-enabled", true),
    ("rocksdb.num-snapshots", true),
    ("rocksdb.oldest-snapshot-time", true),
    ("rocksdb.oldest-snapshot-sequence", true),
    ("rocksdb.num-live-versions", false),
    ("rocksdb.current-super-version-number", false),
    ("rocksdb.estimate-live-data-size", false),
    ("rocksdb.min-log-number-to-keep", false),
    ("rocksdb.min-obsolete-sst-number-to-keep", false),
    ("rocksdb.total-sst-files-size", false),
    ("rocksdb.live-sst-files-size", false),
    ("rocksdb.base-level", false),
    ("rocksdb.estimate-pending-compaction-bytes", true),
    ("rocksdb.actual-delayed-write-rate", true),
    ("rocksdb.is-write-stopped", true),
    ("rocksdb.estimate-oldest-key-time", false),
    ("rocksdb.block-cache-capacity", true),
    ("rocksdb.block-cache-usage", false),
    ("rocksdb.block-cache-pinned-usage", false),
    ("rocksdb.num-blob-files", true),
    ("rocksdb.blob-stats", false),
    ("rocksdb.total-blob-file-size", true),
    ("rocksdb.live-blob-file-size", true),
    ("rocksdb.nonsense", true),
    ("nonsense", true),
    ("", true),
];

/// Changes of options while the database is open.
const CHANGES: &[(&str, &str)] = &[
    ("write_buffer_size", "131072"),
    ("write_buffer_size", "x"),
    ("write_buffer_size", ""),
    ("num_levels", "5"),
    ("nonsense", "1"),
    ("disable_auto_compactions", "true"),
    ("disable_auto_compactions", "maybe"),
    ("level0_file_num_compaction_trigger", "7"),
    ("max_bytes_for_level_multiplier", "3.5"),
    ("compression", "kNoCompression"),
    ("compression", "kNonsense"),
    ("max_write_buffer_number", "3"),
    ("comparator", "leveldb.BytewiseComparator"),
    ("memtable_protection_bytes_per_key", "3"),
    ("block_based_table_factory", "{block_size=8192}"),
    ("block_based_table_factory", "{nonsense=1}"),
    ("ttl", "100"),
    ("", ""),
];

/// The same of the database.
const DB_CHANGES: &[(&str, &str)] = &[
    ("max_background_jobs", "3"),
    ("max_background_jobs", "x"),
    ("max_open_files", "500"),
    ("bytes_per_sync", "4096"),
    ("nonsense", "1"),
    ("create_if_missing", "true"),
    ("wal_dir", "/nowhere"),
    ("stats_dump_period_sec", "7"),
    ("delayed_write_rate", "1000000"),
    ("write_buffer_size", "1000000"),
    ("daily_offpeak_time_utc", "1:30-2:30"),
    ("daily_offpeak_time_utc", "01:30-02:30"),
];

/// Names of column families: text, bytes that are none, one that is there, and none.
const NAMES: &[&[u8]] = &[
    b"second",
    b"third",
    b"\xff\xfe\x80",
    b"caf\xe9",
    "h\u{e9}\u{1f600}".as_bytes(),
    b"default",
    b"a b=c;{d}\\",
    b"",
    b"x]\n[y",
];

/// A record of a batch.
#[derive(Clone, Debug)]
pub enum Record {
    Put(usize, Vec<u8>, Vec<u8>),
    Merge(usize, Vec<u8>, Vec<u8>),
    Delete(usize, Vec<u8>),
    SingleDelete(usize, Vec<u8>),
    DeleteRange(usize, Vec<u8>, Vec<u8>),
}

/// Where options are loaded from.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Database,
    Empty,
    Missing,
}

/// How the database is opened.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    pub text: String,
    /// Members of [`SETTERS`] and of their values.
    pub setters: Vec<(usize, usize)>,
    pub is_read_only: bool,
    /// Only the default family, whatever there is.
    pub default_only: bool,
}

/// One question.
#[derive(Clone, Debug)]
pub enum Call {
    /// The OPTIONS file of another database, with nothing set.
    Defaults,
    /// Closes the database if it is open.
    Open(Opening),
    /// The same directory once more, while it is open.
    OpenAgain,
    /// While it is open.
    Destroy,
    Create(usize, &'static [u8]),
    Drop(usize),
    /// Gives the handle back.
    Forget(usize),
    Write(Record),
    Batch(Vec<Record>),
    Get(usize, Vec<u8>),
    Scan(usize),
    Flush(usize),
    Compact(usize),
    Property(usize, &'static str, bool),
    Change(usize, &'static str, &'static str),
    ChangeDb(&'static str, &'static str),
    Text(&'static str),
    Set(usize, usize),
    Load(Place),
    List,
    /// The newest OPTIONS file.
    OptionsFile,
    /// The lines that a LOG begins with.
    Log,
}

/// The calls of a seed.
pub fn calls(seed: u64) -> Vec<Call> {
    let mut random = Random::new(seed);
    let mut calls = vec![Call::Defaults, Call::Text(TEXTS[seed as usize % TEXTS.len()])];
    calls.push(Call::Load(*random.choose(&[Place::Empty, Place::Missing])));
    // A log with operands cannot be recovered without an operator: a database has it always or never.
    let merges = seed.is_multiple_of(2);
    let rounds = random.between(2, 4);
    for round in 0..rounds {
        if round > 0 {
            // Every combination comes again after so many seeds.
            let combination = COMBINATIONS[(seed as usize * 3 + round) % COMBINATIONS.len()];
            calls.push(Call::Open(Opening { text: with_operator(combination, merges), ..Opening::default() }));
            calls.extend([Call::OptionsFile, Call::Log]);
        }
        let opening = opening(round, merges, &mut random);
        calls.push(Call::Open(opening));
        calls.extend([Call::OptionsFile, Call::Log]);
        for _ in 0..random.between(20, 45) {
            let call = call(merges, &mut random);
            // A dropped family is dropped again.
            let is_doubled = matches!(call, Call::Drop(slot) if slot > 0) && seed.is_multiple_of(3);
            calls.extend(std::iter::repeat_n(call, if is_doubled { 2 } else { 1 }));
        }
    }
    if merges {
        let text = with_operator(OUT_OF_BOUNDS[seed as usize / 2 % OUT_OF_BOUNDS.len()], merges);
        calls.push(Call::Open(Opening { text, ..Opening::default() }));
        calls.extend([Call::OptionsFile, Call::Log]);
    } else {
        // RocksDB takes no writes afterwards.
        let operand = Record::Merge(random.below(SLOTS), key(&mut random), b"m".to_vec());
        calls.push(if random.percent(50) { Call::Write(operand) } else { Call::Batch(vec![operand]) });
    }
    calls
}

fn with_operator(text: &str, merges: bool) -> String {
    if merges && !text.contains("merge_operator") {
        return format!("{text};merge_operator=stringappend").trim_start_matches(';').to_owned();
    }
    text.to_owned()
}

/// For a write buffer as large as RocksDB takes: it would reserve the disk for a log of 70 GB.
const LARGEST_BUFFER: f64 = 1e12;
const WITHOUT_RESERVE: &str = "allow_fallocate=false";

fn opening(round: usize, merges: bool, random: &mut Random) -> Opening {
    let mut setters = Vec::new();
    while random.percent(60) {
        let setter = random.below(SETTERS.len());
        let value = random.below(SETTERS[setter].values.len());
        // A LOG must be kept: RocksDB refuses such a number, which is asked for elsewhere.
        let is_refused = SETTERS[setter].name == "keep_log_file_num" && value == 0;
        if SETTERS[setter].is_for_open && !is_refused {
            setters.push((setter, value));
        }
    }
    let is_read_only = round > 0 && random.percent(15);
    let default_only = round > 0 && random.percent(15);
    let mut text = *random.choose(&["", "", "max_total_wal_size=100000", "use_fsync=true"]);
    if setters.iter().any(|&(setter, value)| SETTERS[setter].values[value] == LARGEST_BUFFER) {
        text = WITHOUT_RESERVE;
    }
    Opening { text: with_operator(text, merges), setters, is_read_only, default_only }
}

fn key(random: &mut Random) -> Vec<u8> {
    (*random.choose(&[&b""[..], b"a", b"ab", b"b", b"\xff", b"k1", b"k2", b"k3", b"k4"])).to_vec()
}

fn record(merges: bool, random: &mut Random) -> Record {
    let slot = random.below(SLOTS);
    match random.below(10) {
        0..5 => {
            let length = random.below(6);
            Record::Put(slot, key(random), random.bytes(length))
        }
        5 if merges => Record::Merge(slot, key(random), b"m".to_vec()),
        6 => Record::SingleDelete(slot, key(random)),
        7 => {
            let (mut first, mut last) = (key(random), key(random));
            if first > last {
                std::mem::swap(&mut first, &mut last);
            }
            Record::DeleteRange(slot, first, last)
        }
        _ => Record::Delete(slot, key(random)),
    }
}

fn call(merges: bool, random: &mut Random) -> Call {
    let slot = random.below(SLOTS);
    match random.below(100) {
        0..18 => Call::Write(record(merges, random)),
        18..24 => {
            let size = random.below(4);
            Call::Batch((0..size).map(|_| record(merges, random)).collect())
        }
        24..34 => Call::Get(slot, key(random)),
        34..39 => Call::Scan(slot),
        39..44 => Call::Flush(slot),
        44..46 => Call::Compact(slot),
        46..66 => {
            let (name, is_exact) = *random.choose(PROPERTIES);
            Call::Property(slot, name, is_exact)
        }
        66..72 => Call::Create(random.between(1, SLOTS - 1), random.choose::<&[u8]>(NAMES)),
        72..75 => Call::Drop(slot),
        75 => Call::Forget(random.between(1, SLOTS - 1)),
        76..80 => {
            let (name, value) = *random.choose(CHANGES);
            Call::Change(slot, name, value)
        }
        80..82 => {
            let (name, value) = *random.choose(DB_CHANGES);
            Call::ChangeDb(name, value)
        }
        82..89 => Call::Text(random.choose::<&str>(TEXTS)),
        89..94 => {
            let setter = random.below(SETTERS.len());
            Call::Set(setter, random.below(SETTERS[setter].values.len()))
        }
        94..96 => Call::Load(*random.choose(&[Place::Database, Place::Empty, Place::Missing])),
        96 => Call::List,
        97 => Call::OpenAgain,
        98 => Call::Destroy,
        _ => Call::OptionsFile,
    }
}

impl Record {
    pub fn slot(&self) -> usize {
        match self {
            Self::Put(slot, ..) | Self::Merge(slot, ..) | Self::Delete(slot, _) => *slot,
            Self::SingleDelete(slot, _) | Self::DeleteRange(slot, ..) => *slot,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Put(..) => "put",
            Self::Merge(..) => "merge",
            Self::Delete(..) => "delete",
            Self::SingleDelete(..) => "single delete",
            Self::DeleteRange(..) => "delete a range",
        }
    }
}
