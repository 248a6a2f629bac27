//! Settings of a turn, drawn at random, as texts of the OPTIONS file.
//!
//! What decides how keys are ordered and merged is drawn once for a history ([`Fixed`]); everything else again for
//! every turn, so that one directory holds tables of many sorts. Format version, checksum and compression are not drawn
//! but counted through, so that few histories cover all of them from both engines.

use crate::random::Random;

/// Names and values.
pub type Texts = Vec<(String, String)>;

/// A kind of tables, by RocksDB's name of its factory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableKind {
    #[default]
    Block,
    Plain,
}

impl TableKind {
    /// The name that OPTIONS files have.
    pub fn factory(self) -> &'static str {
        match self {
            Self::Block => "BlockBasedTable",
            Self::Plain => "PlainTable",
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Plain => "plain",
        }
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "block" => Ok(Self::Block),
            "plain" => Ok(Self::Plain),
            _ => Err(format!("{text} is none of block, plain")),
        }
    }
}

/// Settings of a column family.
#[derive(Clone, Debug, Default)]
pub struct FamilySettings {
    pub family: Texts,
    /// Which tables it writes.
    pub kind: TableKind,
    /// It wrote tables of the other kind before.
    pub is_new_kind: bool,
    /// Options of tables of the kind.
    pub table: Texts,
}

/// Settings of a database.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub db: Texts,
    pub families: Vec<FamilySettings>,
}

impl Settings {
    /// Some family writes values to blob files before they are logged.
    pub fn writes_blobs_at_once(&self) -> bool {
        self.families.iter().any(|family| has(&family.family, "enable_blob_direct_write", "true"))
    }

    /// RocksDB refuses writes without log where it recycles logs.
    pub fn recycles_logs(&self) -> bool {
        self.db.iter().any(|(name, value)| name == "recycle_log_file_num" && value != "0")
    }
}

/// A release of RocksDB that takes turns with Ferrock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 11.8.1.
    Current,
    /// 7.8.3, which Debian ships.
    Old,
}

impl Release {
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "11.8.1",
            Self::Old => "7.8.3",
        }
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "11.8.1" => Ok(Self::Current),
            "7.8.3" => Ok(Self::Old),
            _ => Err(format!("{text} is none of 11.8.1, 7.8.3")),
        }
    }

    /// The format versions that the release writes.
    pub fn format_versions(self) -> &'static [&'static str] {
        match self {
            Self::Current => &["2", "3", "4", "5", "6", "7"],
            Self::Old => &["2", "3", "4", "5"],
        }
    }
}

pub const CHECKSUMS: [&str; 5] = ["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"];
pub const COMPRESSIONS: [&str; 7] = [
    "kNoCompression",
    "kSnappyCompression",
    "kZlibCompression",
    "kBZip2Compression",
    "kLZ4Compression",
    "kLZ4HCCompression",
    "kZSTD",
];
const FILTERS: [&str; 5] =
    ["nullptr", "bloomfilter:10:false", "bloomfilter:3.5:false", "ribbonfilter:10:-1", "ribbonfilter:9.9:1"];
const PREFIX_EXTRACTORS: [&str; 5] =
    ["nullptr", "rocksdb.CappedPrefix.2", "rocksdb.CappedPrefix.5", "rocksdb.FixedPrefix.4", "rocksdb.FixedPrefix.2"];
/// Kinds of memtables; the last two are of prefixes.
pub const MEMTABLES: [&str; 4] = [
    "SkipListFactory",
    "VectorRepFactory",
    "{id=HashSkipListRepFactory;bucket_count=50;}",
    "{id=HashLinkListRepFactory;bucket_count=50;}",
];
const RECOVERY_MODES: [&str; 4] =
    ["kPointInTimeRecovery", "kAbsoluteConsistency", "kTolerateCorruptedTailRecords", "kSkipAnyCorruptedRecords"];

/// The order of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Bytewise,
    Reverse,
}

/// How operands are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    StringAppend,
    Uint64Add,
}

/// How long the keys of a family are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths {
    #[default]
    Any,
    /// No more than [`SHORT_KEY`](crate::history::SHORT_KEY) bytes.
    Short,
    /// [`KEY_LENGTH`](crate::history::KEY_LENGTH) bytes.
    Equal,
}

/// What a history keeps.
#[derive(Clone, Debug)]
pub struct Fixed {
    pub release: Release,
    pub seed: u64,
    pub orders: Vec<Order>,
    pub merges: Vec<Merge>,
    /// No key is shorter; 4 suffices for every prefix extractor.
    pub shortest_key: usize,
    /// How long the keys of each family are.
    pub lengths: Vec<Lengths>,
    /// Plain tables cannot hold them.
    pub has_range_deletions: bool,
    num_levels: usize,
    is_universal: bool,
    /// Turns change between levels and a queue that is never longer than it may be.
    is_queue: bool,
    has_blobs: bool,
    /// Some values are the default columns of entities: RocksDB before 11 does not read those with blob files.
    pub has_entities: bool,
    recycles_logs: bool,
    /// RocksDB's turns may; atomic flushes, which do not go with that, are drawn in the other histories.
    pipelines_writes: bool,
    /// The prefix extractor of each family, in histories with plain tables: RocksDB opens those with no other.
    plain_extractors: Option<Vec<&'static str>>,
    /// Snapshots cannot be taken then.
    pub updates_in_place: bool,
}

impl Fixed {
    /// Values may go to blob files before they are logged: with one writer of memtables, in releases that know it.
    fn writes_blobs_at_once(&self) -> bool {
        self.has_blobs && self.release == Release::Current && !self.pipelines_writes && !self.updates_in_place
    }

    /// Nothing special.
    pub fn plain(release: Release, orders: Vec<Order>, merges: Vec<Merge>, shortest_key: usize) -> Self {
        Self {
            release,
            seed: 0,
            lengths: vec![Lengths::Any; orders.len()],
            has_range_deletions: true,
            orders,
            merges,
            shortest_key,
            num_levels: 7,
            is_universal: false,
            is_queue: false,
            has_blobs: false,
            has_entities: false,
            recycles_logs: false,
            pipelines_writes: false,
            plain_extractors: None,
            updates_in_place: false,
        }
    }

    /// Whether RocksDB compacts the database in the style that Ferrock does not have.
    pub fn is_universal(&self) -> bool {
        self.is_universal
    }

    pub fn draw(release: Release, seed: u64, random: &mut Random) -> Self {
        let second_is_reverse = random.percent(40);
        let add_first = random.percent(50);
        let mut drawn = Self {
            release,
            seed,
            orders: vec![Order::Bytewise, if second_is_reverse { Order::Reverse } else { Order::Bytewise }],
            merges: if add_first {
                vec![Merge::Uint64Add, Merge::StringAppend]
            } else {
                vec![Merge::StringAppend, Merge::Uint64Add]
            },
            shortest_key: if random.percent(50) { 4 } else { 0 },
            lengths: vec![Lengths::Any; 2],
            // A value that RocksDB updates in its place is as old as before, and what was deleted since covers it.
            has_range_deletions: !has_updates_in_place(seed),
            num_levels: random.between(3, 7),
            // Ferrock does not create such a database, but goes on with one.
            is_universal: random.percent(50) && !seed.is_multiple_of(2),
            // 7.8.3 drops files of a queue that was compacted by levels before, and dies of a compaction by hand there.
            is_queue: is_queue(seed) && release == Release::Current,
            has_blobs: random.percent(40),
            has_entities: seed % 4 < 2 && release == Release::Current && !has_updates_in_place(seed),
            // 7.8.3 recycles in one mode only, and crashes in it as soon as it flushes.
            recycles_logs: random.percent(20) && release == Release::Current,
            pipelines_writes: random.percent(50),
            plain_extractors: None,
            updates_in_place: has_updates_in_place(seed),
        };
        drawn.is_universal &= !drawn.is_queue;
        if seed % 3 == 2 {
            drawn.have_plain_tables(random);
        }
        if drawn.is_universal && random.percent(30) {
            drawn.num_levels = 1;
        }
        drawn
    }

    /// For histories that every engine must answer alike: both families have block-based tables in the order of bytes.
    /// `has_blobs` if a history asks for blob files itself.
    pub fn draw_alike(seed: u64, has_blobs: bool, random: &mut Random) -> Self {
        let mut fixed = Self::plain(Release::Current, vec![Order::Bytewise; 2], vec![Merge::StringAppend; 2], 3);
        fixed.seed = seed;
        fixed.num_levels = random.between(2, 7);
        fixed.is_universal = random.percent(40);
        fixed.has_blobs = random.percent(40) || has_blobs;
        fixed.recycles_logs = random.percent(20);
        fixed.pipelines_writes = random.percent(50);
        fixed
    }

    fn have_plain_tables(&mut self, random: &mut Random) {
        // 7.8.3 dies of fixed prefixes here too, of keys that are asked for and shorter.
        let known = if self.release == Release::Old { &PREFIX_EXTRACTORS[..3] } else { &PREFIX_EXTRACTORS[..] };
        let extractors: Vec<_> = self.orders.iter().map(|_| *random.choose(known)).collect();
        self.has_range_deletions = false;
        (self.has_blobs, self.has_entities) = (false, false);
        self.is_universal = false;
        // Nothing turns all tables of a queue into one kind.
        self.is_queue = false;
        self.lengths.fill(Lengths::Short);
        self.shortest_key = 4;
        self.plain_extractors = Some(extractors);
    }
}

/// RocksDB takes no queue in several directories.
fn is_queue(seed: u64) -> bool {
    seed.is_multiple_of(4)
}

fn has_updates_in_place(seed: u64) -> bool {
    seed % 8 == 5
}

/// Collects texts.
struct Drawn<'a> {
    random: &'a mut Random,
    texts: Texts,
}

impl Drawn<'_> {
    fn set(&mut self, name: &str, value: impl ToString) {
        self.texts.push((name.to_owned(), value.to_string()));
    }

    fn one_of(&mut self, name: &str, values: &[&str]) {
        let value = *self.random.choose(values);
        self.set(name, value);
    }

    fn flag(&mut self, name: &str, percent: usize) {
        let value = self.random.percent(percent);
        self.set(name, value);
    }
}

/// Settings for a turn of Ferrock, or of RocksDB.
///
/// `kinds` says which tables the families have, and then which they will have.
pub fn draw(
    fixed: &Fixed,
    random: &mut Random,
    turn: usize,
    is_ferrock: bool,
    is_first: bool,
    kinds: &mut [TableKind],
) -> Settings {
    let mut db = Drawn { random, texts: Vec::new() };
    draw_db(&mut db, fixed, is_ferrock, is_first);
    let mut db = db.texts;
    let families = (0..fixed.orders.len()).map(|family| {
        let mut drawn = Drawn { random: &mut *random, texts: Vec::new() };
        let prefix = draw_family(&mut drawn, fixed, family, is_ferrock, is_first);
        // Each engine has every other turn.
        let round = fixed.seed as usize + turn / 2 + family;
        let compression = COMPRESSIONS[(round + fixed.seed as usize) % COMPRESSIONS.len()];
        drawn.set("compression", compression);
        let has_prefixes = prefix.contains("Capped") || fixed.shortest_key == 4 && prefix != "nullptr";
        let memtable = MEMTABLES[(round + turn) % if has_prefixes { MEMTABLES.len() } else { 2 }];
        drawn.set("memtable_factory", memtable);
        let texts = std::mem::take(&mut drawn.texts);
        // RocksDB reads tables of one kind only; Ferrock turns one into the other.
        let old_kind = kinds[family];
        if fixed.plain_extractors.is_some() && (is_ferrock || is_first) {
            kinds[family] = if drawn.random.percent(60) { TableKind::Plain } else { TableKind::Block };
        }
        match kinds[family] {
            TableKind::Block => draw_table(&mut drawn, fixed, round, has_prefixes),
            TableKind::Plain => draw_plain_table(&mut drawn, fixed, prefix != "nullptr"),
        }
        let is_new_kind = !is_first && kinds[family] != old_kind;
        FamilySettings { family: texts, kind: kinds[family], is_new_kind, table: drawn.texts }
    });
    let families: Vec<FamilySettings> = families.collect();
    let takes_many_writers = |family: &FamilySettings| {
        let is_other = |name: &str, usual: &str| family.family.iter().any(|text| text.0 == name && text.1 != usual);
        !is_other("memtable_factory", MEMTABLES[0]) && !is_other("inplace_update_support", "false")
    };
    let writes_at_once = families.iter().any(|family| has(&family.family, "enable_blob_direct_write", "true"));
    let are_concurrent = families.iter().all(takes_many_writers) && !writes_at_once;
    db.push(("allow_concurrent_memtable_write".to_owned(), are_concurrent.to_string()));
    Settings { db, families }
}

fn has(texts: &[(String, String)], name: &str, value: &str) -> bool {
    texts.iter().any(|text| text.0 == name && text.1 == value)
}

fn draw_db(drawn: &mut Drawn, fixed: &Fixed, is_ferrock: bool, is_first: bool) {
    drawn.set("create_if_missing", is_first);
    drawn.set("create_missing_column_families", is_first);
    drawn.set("paranoid_checks", true);
    // What lies behind the end of a recycled log is damage to the other modes; RocksDB does not recycle with them.
    drawn.one_of("wal_recovery_mode", if fixed.recycles_logs { &RECOVERY_MODES[..1] } else { &RECOVERY_MODES });
    drawn.one_of("max_open_files", &["-1", "-1", "20"]);
    drawn.one_of("max_background_jobs", &["1", "2", "4"]);
    // RocksDB cannot begin in the middle of a plain table with prefixes: "total_order_seek not implemented".
    let parts: &[&str] = if fixed.plain_extractors.is_some() { &["1"] } else { &["1", "2", "7"] };
    drawn.one_of("max_subcompactions", parts);
    drawn.one_of("max_total_wal_size", &["0", "100000"]);
    drawn.one_of("max_manifest_file_size", &["1073741824", "4096"]);
    drawn.flag("avoid_flush_during_recovery", 30);
    drawn.flag("avoid_flush_during_shutdown", 30);
    drawn.flag("manual_wal_flush", 20);
    drawn.one_of("wal_compression", &["kNoCompression", "kNoCompression", "kZSTD"]);
    // In all turns or in none: an open without it that only reads ends RocksDB's process where the MANIFEST lists logs.
    drawn.set("track_and_verify_wals_in_manifest", fixed.seed % 10 < 3);
    drawn.flag("write_dbid_to_manifest", 50);
    drawn.flag("allow_mmap_reads", if fixed.plain_extractors.is_some() { 50 } else { 15 });
    drawn.flag("allow_fallocate", 70);
    drawn.one_of("bytes_per_sync", &["0", "65536"]);
    // Delays that cost no time: `draw_family` has the limits.
    if is_ferrock && fixed.seed % 5 < 3 {
        drawn.set("delayed_write_rate", 1 << 30);
    }
    if is_ferrock {
        drawn.flag("atomic_flush", if fixed.pipelines_writes { 0 } else { 40 });
        return;
    }
    drawn.set("recycle_log_file_num", if fixed.recycles_logs { 2 } else { 0 });
    drawn.flag("enable_pipelined_write", if fixed.pipelines_writes { 60 } else { 0 });
    // 7.8.3 as Debian builds it dies of an assertion in atomic flushes.
    let flushes_together = !fixed.pipelines_writes && fixed.release == Release::Current;
    drawn.flag("atomic_flush", if flushes_together { 40 } else { 0 });
    if fixed.release == Release::Current {
        drawn.flag("track_and_verify_wals", 20);
    }
}

fn draw_family(drawn: &mut Drawn, fixed: &Fixed, family: usize, is_ferrock: bool, is_first: bool) -> String {
    if is_first {
        let order = fixed.orders[family];
        let reverse = order == Order::Reverse;
        drawn.set(
            "comparator",
            if reverse { "rocksdb.ReverseBytewiseComparator" } else { "leveldb.BytewiseComparator" },
        );
        let merge = fixed.merges[family];
        let adds = merge == Merge::Uint64Add;
        drawn.set("merge_operator", if adds { "UInt64AddOperator" } else { "{id=StringAppendOperator;delimiter=,;}" });
        drawn.set("num_levels", fixed.num_levels);
        let style = if fixed.is_universal { "kCompactionStyleUniversal" } else { "kCompactionStyleLevel" };
        if !fixed.is_queue {
            drawn.set("compaction_style", style);
        }
    }
    if fixed.is_queue {
        drawn.one_of(
            "compaction_style",
            &["kCompactionStyleFIFO", "kCompactionStyleFIFO", "kCompactionStyleFIFO", "kCompactionStyleLevel"],
        );
        drawn.one_of("compaction_options_fifo", &["{allow_compaction=true}", "{allow_compaction=false}"]);
        // With an age a queue needs all of its tables open.
        drawn.set("ttl", 0);
    }
    if fixed.is_universal {
        drawn.one_of(
            "compaction_options_universal",
            &[
                "{size_ratio=1}",
                "{size_ratio=50;max_size_amplification_percent=20}",
                "{min_merge_width=3;stop_style=kCompactionStopStyleSimilarSize}",
                "{allow_trivial_move=true;compression_size_percent=50}",
                "{incremental=true;max_size_amplification_percent=20}",
            ],
        );
    }
    // 7.8.3 as Debian builds it dies of keys that are shorter than a fixed prefix.
    let is_fixed_fatal = fixed.release == Release::Old && fixed.shortest_key == 0;
    let extractors = if is_fixed_fatal { &PREFIX_EXTRACTORS[..3] } else { &PREFIX_EXTRACTORS[..] };
    let mut prefix = (*drawn.random.choose(extractors)).to_owned();
    if let Some(extractors) = &fixed.plain_extractors {
        extractors[family].clone_into(&mut prefix);
    }
    drawn.set("prefix_extractor", &prefix);
    drawn.set("force_consistency_checks", true);
    draw_ages_and_turns(drawn, fixed, is_ferrock);
    drawn.one_of("write_buffer_size", &["65536", "131072", "1048576"]);
    drawn.one_of("max_write_buffer_number", &["2", "4"]);
    // RocksDB 11.8.1 now and then waits for ever in a manual flush when this is not 1.
    drawn.one_of("min_write_buffer_number_to_merge", if is_ferrock { &["1", "2"] } else { &["1"] });
    drawn.one_of("level0_file_num_compaction_trigger", &["2", "4"]);
    drawn.one_of("target_file_size_base", &["16384", "65536", "1048576"]);
    drawn.one_of("max_bytes_for_level_base", &["32768", "131072", "1048576"]);
    drawn.one_of("max_bytes_for_level_multiplier", &["2.000000", "4.000000", "10.000000"]);
    drawn.flag("level_compaction_dynamic_level_bytes", if fixed.is_universal || fixed.is_queue { 0 } else { 50 });
    drawn.flag("disable_auto_compactions", 20);
    drawn.flag("optimize_filters_for_hits", 20);
    drawn.one_of("memtable_prefix_bloom_size_ratio", &["0.000000", "0.100000"]);
    drawn.flag("memtable_whole_key_filtering", 30);
    // RocksDB seeks after so many, which it does not do in a plain table with prefixes.
    let skips = if fixed.plain_extractors.is_some() { &["1000000"][..] } else { &["8", "1"] };
    drawn.one_of("max_sequential_skip_in_iterations", skips);
    drawn.one_of("bloom_locality", &["0", "1"]);
    drawn.flag("inplace_update_support", if fixed.updates_in_place { 60 } else { 0 });
    let mut bottommost = vec!["kDisableCompressionOption"; 3];
    bottommost.extend(COMPRESSIONS);
    drawn.one_of("bottommost_compression", &bottommost);
    let dictionary = if drawn.random.percent(25) { 2048 } else { 0 };
    let train = if drawn.random.percent(50) { dictionary * 8 } else { 0 };
    let threads = if drawn.random.percent(20) { 3 } else { 1 };
    drawn.set(
        "compression_opts",
        format!(
            "{{max_dict_buffer_bytes=0;enabled=false;max_dict_bytes={dictionary};parallel_threads={threads};\
             zstd_max_train_bytes={train};level=32767;use_zstd_dict_trainer=true;strategy=0;window_bits=-14;}}"
        ),
    );
    drawn.set("paranoid_file_checks", true);
    // RocksDB's own turns are without: a flush of 11.8.1 waits for ever where universal compactions end no delay.
    if is_ferrock && !fixed.is_queue && fixed.seed % 5 < 3 {
        drawn.set("level0_slowdown_writes_trigger", ["4", "20"][(fixed.seed % 2) as usize]);
        drawn.set("soft_pending_compaction_bytes_limit", ["1", "100000", "1000000000"][(fixed.seed % 3) as usize]);
    }
    if !is_ferrock {
        drawn.one_of("memtable_protection_bytes_per_key", &["0", "8"]);
    }
    if fixed.has_blobs {
        drawn.flag("enable_blob_files", 85);
        drawn.one_of("min_blob_size", &["0", "20", "300"]);
        drawn.one_of("blob_file_size", &["500", "20000", "268435456"]);
        // 7.8.3 fails to flush what the others make larger.
        let kinds = ["kNoCompression", "kLZ4Compression", "kZSTD"];
        drawn.one_of("blob_compression_type", if fixed.release == Release::Old { &kinds } else { &COMPRESSIONS });
        drawn.one_of("blob_file_starting_level", &["0", "0", "1"]);
        drawn.flag("enable_blob_garbage_collection", 60);
        drawn.one_of("blob_garbage_collection_age_cutoff", &["0.250000", "0.500000", "1.000000"]);
        drawn.one_of("blob_garbage_collection_force_threshold", &["1.000000", "0.500000", "0.200000"]);
        drawn.one_of("blob_compaction_readahead_size", &["0", "300", "2097152"]);
        // RocksDB's own turns are without: histories in which 11.8.1 wrote so ended in blob files that it did not find.
        if fixed.writes_blobs_at_once() {
            let is_direct = is_ferrock && has(&drawn.texts, "enable_blob_files", "true") && drawn.random.percent(60);
            drawn.set("enable_blob_direct_write", is_direct);
            if is_direct {
                drawn.one_of("blob_direct_write_partitions", &["2", "3"]);
            }
        }
    }
    prefix
}

/// Which files are compacted when, and what is noted of their age.
fn draw_ages_and_turns(drawn: &mut Drawn, fixed: &Fixed, is_ferrock: bool) {
    drawn.one_of(
        "compaction_pri",
        &[
            "kMinOverlappingRatio",
            "kByCompensatedSize",
            "kOldestLargestSeqFirst",
            "kOldestSmallestSeqFirst",
            "kRoundRobin",
        ],
    );
    drawn.one_of("max_compaction_bytes", &["1677721600", "100000"]);
    // Plain tables know no ages, and RocksDB makes one number of both for sorted runs.
    let has_ages = !fixed.is_queue && !fixed.is_universal && fixed.plain_extractors.is_none();
    if has_ages {
        // A second is over before a turn is.
        drawn.one_of("ttl", &["0", "1", "2592000"]);
        drawn.one_of("periodic_compaction_seconds", &["0", "1", "2592000"]);
    }
    if fixed.release == Release::Current {
        drawn.one_of("preserve_internal_time_seconds", &["0", "0", "1", "100000"]);
        // RocksDB compacts what stays above the last level again and again where levels are over their targets, or
        // above `max_size_amplification_percent` of universal (while a snapshot keeps it there, a flush waits for
        // ever), and 11.8.1 miscounts the blob files of compactions that write to two levels.
        if !fixed.is_queue {
            let ages: &[&str] = match (is_ferrock, fixed.has_blobs || fixed.is_universal) {
                (true, _) => &["0", "0", "1", "100000"],
                (false, true) => &["0"],
                (false, false) => &["0", "1"],
            };
            drawn.one_of("preclude_last_level_data_seconds", ages);
        }
        if drawn.random.percent(20) {
            drawn.set("read_triggered_compaction_threshold", "0.000001");
        }
        // As the default Ferrock leaves it out of OPTIONS files, which older releases read, too.
        if drawn.random.percent(40) {
            drawn.set("default_write_temperature", "kWarm");
        }
        // A queue has no last level: RocksDB takes it back there.
        if !fixed.is_queue {
            drawn.one_of("last_level_temperature", &["kUnknown", "kCold"]);
        }
    }
}

fn draw_plain_table(drawn: &mut Drawn, fixed: &Fixed, has_prefixes: bool) {
    drawn.one_of("encoding_type", &["kPlain", "kPrefix"]);
    drawn.one_of("bloom_bits_per_key", &["10", "0", "3"]);
    // RocksDB's index of a table with prefix encoding has to have the distances of the one it was written with.
    drawn.set("index_sparseness", ["16", "2", "1"][(fixed.seed / 3 % 3) as usize]);
    // RocksDB stores an index of all keys, or a hash of prefixes.
    drawn.one_of("hash_table_ratio", if has_prefixes { &["0.750000", "0.050000"] } else { &["0.000000"] });
    drawn.flag("store_index_in_file", 50);
}

fn draw_table(drawn: &mut Drawn, fixed: &Fixed, round: usize, takes_all_keys: bool) {
    let versions = fixed.release.format_versions();
    drawn.set("format_version", versions[round % versions.len()]);
    drawn.set("checksum", CHECKSUMS[(2 * round + fixed.seed as usize) % CHECKSUMS.len()]);
    drawn.one_of("block_size", &["128", "1024", "4096", "16384"]);
    drawn.one_of("block_restart_interval", &["1", "4", "16"]);
    drawn.one_of("index_block_restart_interval", &["1", "5"]);
    drawn.one_of("filter_policy", &FILTERS);
    drawn.flag("whole_key_filtering", 70);
    drawn.flag("cache_index_and_filter_blocks", 30);
    drawn.flag("enable_index_compression", 70);
    let shortening = ["kNoShortening", "kShortenSeparators", "kShortenSeparatorsAndSuccessor"];
    drawn.one_of("index_shortening", &shortening);
    drawn.flag("verify_compression", 30);
    let kinds = ["kBinarySearch", "kTwoLevelIndexSearch", "kBinarySearchWithFirstKey", "kHashSearch"];
    // RocksDB's hash index loses (or, with assertions, dies of) keys that are shorter than the prefix, and needs a
    // restart at every index entry.
    let kind = *drawn.random.choose(&kinds[..if takes_all_keys { 4 } else { 3 }]);
    let kind = if kind == "kHashSearch" && drawn.texts.contains(&("index_block_restart_interval".into(), "5".into())) {
        "kBinarySearch"
    } else {
        kind
    };
    drawn.set("index_type", kind);
    let partition = kind == "kTwoLevelIndexSearch" && drawn.random.percent(60);
    drawn.set("partition_filters", partition);
    drawn.one_of("metadata_block_size", &["256", "4096"]);
    drawn.one_of("data_block_index_type", &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"]);
}
