//! A random workload over a database in memory, with random options, and the history that a crash is judged by.
//!
//! The history is written down around every call: what is asked for before it, what is certain after it. A crash clone
//! is taken between reading the one and reading the other, so both are bounds whatever thread the crash comes in.
//!
//! Every batch leaves a marker of its own in the default family, so a recovered database shows which batches it has.
//! The marker is at a random place of the batch: the newest number of a log is often that of a record that no table
//! keeps.

use crate::model::{Changes, Op};
use crate::workers::{Conduct, InProcess};
use ferrock::options::{
    CompactionFilter, CompactionFilterFactory, CompactionStyle, DbPath, FileTemperatureAge, FilterContext,
    FilterDecision, FilterFactoryContext, FixedPrefixFactory, LimiterMode, PrefixExtractor, RateLimiter,
    SstFileManager, SstFileManagerOptions, TableFileCreationReason, Temperature, TokenBucket, TokenBucketOptions,
    apply_text,
};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, CompactionOptions, Db, DbOptions, ErrorKind, FlushOptions,
    LiveFile, WriteBatch, WriteOptions,
};
use ferrock_base::ValueType;
use ferrock_base::clock::ManualClock;
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::sync::{Arc, Mutex};

pub const PATH: &str = "/data/db";
/// Calls of one run.
const STEPS: usize = 120;
/// The family whose writes go to no log.
pub const UNLOGGED: &str = "unlogged";
/// What the keys of markers begin with.
pub const MARKER: &[u8] = b"~";

pub fn marker(batch: usize) -> Vec<u8> {
    format!("~{batch:06}").into_bytes()
}

/// A column family's life.
#[derive(Clone, Debug)]
pub struct FamilyLife {
    pub name: String,
    /// Known once its creation returned.
    pub id: Option<u32>,
    pub is_drop_issued: bool,
    pub is_drop_acknowledged: bool,
}

/// What was asked and what was answered.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Batches in the order of their sequence numbers.
    pub batches: Vec<Arc<Changes>>,
    /// So many of them are acknowledged as durable.
    pub durable: usize,
    /// So many of them survive the death of the process.
    pub written: usize,
    /// Keys written to the family without a log, and how many of them a flush made durable.
    pub unlogged: usize,
    pub unlogged_durable: usize,
    pub families: Vec<FamilyLife>,
    /// Tables that the database dropped because they lay under a range deletion.
    pub range_deleted_tables: u64,
    /// The database was created, durably.
    pub is_created: bool,
}

pub type SharedHistory = Arc<Mutex<History>>;

/// What differs from seed to seed.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    avoid_flush_during_recovery: bool,
    min_write_buffer_number_to_merge: i32,
    write_buffer_size: usize,
    db_write_buffer_size: u64,
    max_total_wal_size: u64,
    manual_wal_flush: bool,
    has_unlogged_family: bool,
    /// No second family, ever: nothing is synced but what was asked for.
    is_single_family: bool,
    max_manifest_file_size: u64,
    has_wal_dir: bool,
    has_paths: bool,
    /// Mostly small batches that end in records which no table keeps.
    is_fleeting: bool,
    memtable: u64,
    is_in_place: bool,
    /// Families are often cleared, and have tables that are dropped then.
    is_cleared: bool,
    tables: u64,
    blobs: u64,
    atomicity: Atomicity,
    /// Logs that nothing needs go to an archive.
    keeps_logs: bool,
    compresses_logs: bool,
    tracks_logs: bool,
}

/// Whether all families become durable together, and whether that is all that keeps them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atomicity {
    /// Logs do.
    Logged,
    /// `atomic_flush`, and logs.
    LoggedAndFlushed,
    /// `atomic_flush`, and no batch goes to a log: what survives are the batches before the last flush.
    Flushed,
    /// `force_atomic_flush` of each flush, memtables that never are full, and no batch goes to a log.
    Forced,
}

impl Atomicity {
    fn is_logged(self) -> bool {
        matches!(self, Self::Logged | Self::LoggedAndFlushed)
    }
}

/// Keys of the workload that are too short for a prefix are in block-based tables in any case.
const TABLES: [&str; 3] =
    ["BlockBasedTable", "PlainTable", "{id=PlainTable;encoding_type=kPrefix;store_index_in_file=true;}"];

/// Keys of the workload that share a prefix are in one list; those too short for one are in another.
const MEMTABLES: [&str; 4] =
    ["skip_list", "vector", "prefix_hash:10", "{id=hash_linkedlist;bucket_count=3;threshold=8;}"];

/// Where values are.
const BLOBS: [&str; 4] = [
    "",
    "enable_blob_files=true;enable_blob_direct_write=true;blob_direct_write_partitions=2;min_blob_size=40;\
     blob_file_size=5000;enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=0.5",
    "enable_blob_files=true;min_blob_size=60;blob_file_size=3000;enable_blob_garbage_collection=true;\
     blob_garbage_collection_age_cutoff=0.5;blob_garbage_collection_force_threshold=0.3",
    "enable_blob_files=true;blob_file_starting_level=1;blob_compression_type=kLZ4Compression;blob_file_size=10000",
];

/// What [`Run::change_options`] draws from.
const DATABASE_ONLINE: [(&str, &str); 10] = [
    ("max_background_jobs", "1"),
    ("max_background_jobs", "4"),
    ("max_subcompactions", "3"),
    ("delayed_write_rate", "4000000"),
    ("max_total_wal_size", "50000"),
    ("wal_bytes_per_sync", "4096"),
    ("bytes_per_sync", "4096"),
    ("strict_bytes_per_sync", "true"),
    ("strict_bytes_per_sync", "false"),
    ("compaction_readahead_size", "0"),
];
const FAMILY_ONLINE: [(&str, &str); 16] = [
    ("write_buffer_size", "30000"),
    ("write_buffer_size", "100000"),
    ("max_write_buffer_number", "6"),
    ("level0_file_num_compaction_trigger", "4"),
    ("level0_slowdown_writes_trigger", "4"),
    ("level0_slowdown_writes_trigger", "20"),
    ("soft_pending_compaction_bytes_limit", "60000"),
    ("target_file_size_base", "5000"),
    ("max_bytes_for_level_base", "20000"),
    ("max_bytes_for_level_multiplier", "3"),
    ("max_compaction_bytes", "30000"),
    ("compression", "kLZ4Compression"),
    ("min_blob_size", "10"),
    ("blob_file_size", "2000"),
    ("blob_garbage_collection_age_cutoff", "1.0"),
    ("paranoid_file_checks", "true"),
];

/// A limiter whose waits take no time: only they move its clock. Every other request waits.
fn limiter() -> Arc<dyn RateLimiter> {
    let options =
        TokenBucketOptions { mode: LimiterMode::AllIo, single_burst_bytes: 5000, ..TokenBucketOptions::new(100_000) };
    Arc::new(TokenBucket::with_options(&options, Arc::new(ManualClock::passing_sleeps(0))).unwrap())
}

impl Draw {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x0000_D2A4);
        let mut one_of = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
        let mut draw = Self {
            avoid_flush_during_recovery: one_of(&[0, 1]) == 1,
            min_write_buffer_number_to_merge: one_of(&[1, 2, 3]) as i32,
            write_buffer_size: one_of(&[64 << 10, 64 << 10, 96 << 10]) as usize,
            db_write_buffer_size: one_of(&[0, 0, 100_000]),
            max_total_wal_size: one_of(&[0, 60_000, 150_000]),
            manual_wal_flush: one_of(&[0, 0, 0, 1]) == 1,
            has_unlogged_family: one_of(&[0, 0, 1]) == 1,
            is_single_family: one_of(&[0, 0, 0, 1]) == 1,
            max_manifest_file_size: one_of(&[700, 700, 4000]),
            is_fleeting: one_of(&[0, 1]) == 1,
            has_wal_dir: one_of(&[0, 0, 1]) == 1,
            has_paths: one_of(&[0, 0, 1]) == 1,
            memtable: one_of(&[0, 1, 2, 3]),
            is_in_place: one_of(&[0, 0, 1]) == 1,
            is_cleared: seed % 4 == 1,
            tables: one_of(&[0, 0, 1, 2]),
            blobs: one_of(&[0, 1, 1, 2, 3]),
            atomicity: match one_of(&[0, 0, 0, 1, 2, 2, 3]) {
                0 => Atomicity::Logged,
                1 => Atomicity::LoggedAndFlushed,
                2 => Atomicity::Flushed,
                _ => Atomicity::Forced,
            },
            keeps_logs: one_of(&[0, 0, 1]) == 1,
            compresses_logs: one_of(&[0, 0, 1]) == 1,
            tracks_logs: one_of(&[0, 1]) == 1,
        };
        if !draw.atomicity.is_logged() {
            (draw.has_unlogged_family, draw.is_single_family) = (false, false);
        }
        if draw.is_cleared {
            // Beside markers, blob files and plain tables hardly any table would be dropped.
            (draw.tables, draw.blobs, draw.is_single_family) = (0, 0, false);
        }
        if draw.atomicity == Atomicity::Forced {
            (draw.write_buffer_size, draw.db_write_buffer_size) = (64 << 20, 0);
        }
        draw
    }
}

pub fn options(file_system: &MemoryFileSystem, seed: u64) -> DbOptions {
    let draw = Draw::new(seed);
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_file_opening_threads = 1;
    options.max_background_jobs = 3;
    options.max_subcompactions = 1 + (seed % 4) as u32;
    options.allow_concurrent_memtable_write = draw.memtable == 0 && !draw.is_in_place && draw.blobs != 1;
    // Every change of the tree is close to a new MANIFEST.
    options.max_manifest_file_size = draw.max_manifest_file_size;
    options.max_manifest_space_amp_pct = 0;
    options.max_total_wal_size = draw.max_total_wal_size;
    options.db_write_buffer_size = draw.db_write_buffer_size;
    options.manual_wal_flush = draw.manual_wal_flush;
    if draw.compresses_logs {
        options.wal_compression = ferrock::options::CompressionType::Zstd;
    }
    options.track_and_verify_wals_in_manifest = draw.tracks_logs;
    options.avoid_flush_during_recovery = draw.avoid_flush_during_recovery;
    options.atomic_flush = matches!(draw.atomicity, Atomicity::LoggedAndFlushed | Atomicity::Flushed);
    options.wal_ttl_seconds = if draw.keeps_logs { 50 } else { 0 };
    // Logs and tables in directories of their own, whose entries are as unsynced as all others.
    if draw.has_wal_dir {
        options.wal_dir = "/logs/db".to_owned();
    }
    if draw.has_paths {
        options.db_paths = vec![DbPath::new("/data/tables", 100_000), DbPath::new("/data/more-tables", 0)];
    }
    options.components.file_system = Some(Arc::new(file_system.clone()));
    // Compactions run elsewhere, mostly.
    if seed % 4 < 2 {
        let conducts = [Conduct::Honest, Conduct::Honest, Conduct::Truncated, Conduct::Honest, Conduct::NotTaken];
        let service = InProcess::with_paths(Arc::new(file_system.clone()), &conducts, options.db_paths.clone());
        service.set_all_families(&family_options(seed));
        options.components.compaction_service = Some(service);
    }
    if seed % 7 == 2 {
        options.components.rate_limiter = Some(limiter());
    }
    // Trash that stays, trash that goes while the workload runs, or none.
    if !seed.is_multiple_of(3) {
        options.components.sst_file_manager = Some(SstFileManager::new(SstFileManagerOptions {
            delete_rate_bytes_per_second: if seed % 3 == 1 { 1 } else { 1 << 30 },
            max_trash_db_ratio: 10.0,
            bytes_max_delete_chunk: 3000,
        }));
    }
    options
}

pub fn family_options(seed: u64) -> ColumnFamilyOptions {
    let draw = Draw::new(seed);
    let mut options = ColumnFamilyOptions::default();
    options.write_buffer_size = draw.write_buffer_size;
    options.min_write_buffer_number_to_merge = draw.min_write_buffer_number_to_merge;
    options.max_write_buffer_number = draw.min_write_buffer_number_to_merge + 2;
    options.arena_block_size = 4096;
    options.target_file_size_base = 20_000;
    options.max_bytes_for_level_base = 40_000;
    options.level0_file_num_compaction_trigger = 2;
    // Writers wait for compactions.
    if seed % 7 > 4 {
        (options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger) = (2, 3);
    }
    if seed % 5 == 3 {
        options.compaction_style = CompactionStyle::Universal;
        options.num_levels = if seed.is_multiple_of(2) { 1 } else { 4 };
        options.settings.compaction_options_universal.allow_trivial_move = seed.is_multiple_of(3);
        options.settings.compaction_options_universal.incremental = seed % 4 < 2;
        options.settings.compaction_options_universal.max_size_amplification_percent = 20;
        options.max_compaction_bytes = 60_000;
    }
    if seed.is_multiple_of(3) {
        assert!(options.settings.set("compact_on_deletion", "{window_size=128;deletion_trigger=8;}").unwrap());
    }
    options.paranoid_file_checks = seed % 4 == 2;
    options.memtable_max_range_deletions = if seed % 3 == 1 { 1 + (seed % 4) as u32 } else { 0 };
    options.memtable_op_scan_flush_trigger = if seed % 5 == 1 { 2 } else { 0 };
    options.min_tombstones_for_range_conversion = (seed % 3) as u32;
    options.verify_output_flags = if seed % 4 == 1 { 0b11 | 1 << 10 } else { 0 };
    if seed % 4 >= 2 {
        // Most keys are `key` and three digits.
        options.sst_partitioner_factory = Some(Arc::new(FixedPrefixFactory { length: 4 + (seed % 3) as usize }));
    }
    if seed % 4 == 1 {
        options.compaction_filter_factory = Some(Arc::new(Rewrites));
    }
    // A queue is in one directory; this one loses nothing.
    if seed % 5 == 4 && !draw.has_paths {
        options.compaction_style = CompactionStyle::Fifo;
        options.settings.compaction_options_fifo.allow_compaction = true;
        options.ttl = 0;
        if seed.is_multiple_of(2) {
            // Every table of a flush changes its temperature, by a copy or by a merge.
            options.num_levels = 1;
            let fifo = &mut options.settings.compaction_options_fifo;
            fifo.file_temperature_age_thresholds = vec![FileTemperatureAge { temperature: Temperature::Ice, age: 0 }];
            fifo.allow_trivial_copy_when_change_temperature = seed % 4 == 2;
        }
    }
    // Some of the output of compactions, or all of it, stays on the level above the last.
    options.preclude_last_level_data_seconds = [0, 1, 1000][(seed / 7 % 3) as usize];
    options.read_triggered_compaction_threshold = if (seed / 2).is_multiple_of(2) { 0.0 } else { 0.00001 };
    options.merge_operator = Some(Arc::new(StringAppend::default()));
    options.prefix_extractor = Some(PrefixExtractor::Fixed(5));
    options.inplace_update_support = draw.is_in_place;
    assert!(options.settings.set("memtable_factory", MEMTABLES[draw.memtable as usize]).unwrap());
    let (mut of_database, tables) = (DbOptions::default(), TABLES[draw.tables as usize]);
    apply_text(&mut of_database, &mut options, &format!("table_factory={tables}")).unwrap();
    apply_text(&mut of_database, &mut options, BLOBS[draw.blobs as usize]).unwrap();
    options
}

/// Makes filters that write each value anew, for jobs of every kind.
struct Rewrites;

impl CompactionFilter for Rewrites {
    fn name(&self) -> &str {
        "test.Rewrites"
    }
    fn filter(&self, _: &FilterContext, _: &[u8], _: ValueType, value: &[u8]) -> FilterDecision {
        FilterDecision::ChangeValue(value.to_vec())
    }
}

impl CompactionFilterFactory for Rewrites {
    fn name(&self) -> &str {
        "test.MakeRewrites"
    }
    fn should_filter_table_file_creation(&self, _: TableFileCreationReason) -> bool {
        true
    }
    fn create(&self, _: &FilterFactoryContext) -> ferrock::Result<Option<Arc<dyn CompactionFilter>>> {
        Ok(Some(Arc::new(Self)))
    }
}

struct Run {
    file_system: MemoryFileSystem,
    history: SharedHistory,
    random: Random,
    seed: u64,
    draw: Draw,
    db: Db,
    /// Those that batches go to.
    families: Vec<ColumnFamily>,
    unlogged: Option<ColumnFamily>,
    /// Keys that were put once and wait for their single delete.
    singles: Vec<(u32, Vec<u8>)>,
}

/// Performs the workload of a seed.
pub fn run(file_system: &MemoryFileSystem, history: &SharedHistory, seed: u64) {
    let default = vec![("default".to_owned(), family_options(seed))];
    let (db, families) = Db::open_cf(PATH, options(file_system, seed), default).unwrap();
    {
        let mut history = history.lock().unwrap();
        history.is_created = true;
        let id = Some(0);
        let name = "default".to_owned();
        history.families.push(FamilyLife { name, id, is_drop_issued: false, is_drop_acknowledged: false });
    }
    let mut run = Run {
        file_system: file_system.clone(),
        history: Arc::clone(history),
        random: Random::new(seed),
        seed,
        draw: Draw::new(seed),
        db,
        families,
        unlogged: None,
        singles: Vec::new(),
    };
    if run.draw.has_unlogged_family && !run.draw.is_single_family {
        run.unlogged = Some(run.create(UNLOGGED));
    }
    for step in 0..STEPS {
        run.step(step);
    }
    if run.draw.atomicity == Atomicity::Forced {
        run.flush_all(true);
    }
    run.count_range_deleted();
    run.db.close().unwrap();
}

impl Run {
    fn step(&mut self, step: usize) {
        match self.random.below(100) {
            0..=67 => self.write(),
            68 => self.clear(),
            69..=72 if self.draw.is_cleared => self.clear(),
            69..=72 => self.write_nothing(),
            73..=76 => self.write_unlogged(),
            77..=82 => self.flush(),
            83..=85 => {
                let family = self.any_family();
                if self.draw.atomicity == Atomicity::Forced {
                    self.flush_all(true);
                }
                if self.random.one_in(2) {
                    self.compact_files(&family);
                } else {
                    self.db.compact_range_cf(&family, None, None, &CompactRangeOptions::default()).unwrap();
                }
            }
            86..=87 => {
                let issued = self.history.lock().unwrap().batches.len();
                self.db.sync_wal().unwrap();
                self.note_logged(issued, true);
            }
            88 => {
                let issued = self.history.lock().unwrap().batches.len();
                self.db.flush_wal(false).unwrap();
                self.note_logged(issued, false);
            }
            89..=92 => self.create_family(step),
            93..=95 => self.drop_family(),
            96..=97 => self.reopen(),
            98 => self.change_options(),
            _ => self.db.wait_for_background_work().unwrap(),
        }
    }

    /// Options that change while jobs run and writers wait; what they are is written down in a new OPTIONS file.
    fn change_options(&mut self) {
        if self.random.one_in(3) {
            let (name, value) = DATABASE_ONLINE[self.random.below(DATABASE_ONLINE.len() as u64) as usize];
            self.db.set_db_options(&[(name, value)]).unwrap();
            return;
        }
        let (name, value) = FAMILY_ONLINE[self.random.below(FAMILY_ONLINE.len() as u64) as usize];
        // Memtables that only a forced flush may empty stay as large as they are.
        if name == "write_buffer_size" && self.draw.atomicity == Atomicity::Forced {
            return;
        }
        let family = self.any_family();
        self.db.set_options_cf(&family, &[(name, value)]).unwrap();
    }

    /// Some files of a family, wherever they may go. With automatic compactions under way they may be gone or busy.
    fn compact_files(&mut self, family: &ColumnFamily) {
        let mut files = self.db.live_files();
        files.retain(|file| file.column_family == family.name() && self.random.one_in(2));
        let names: Vec<String> = files.iter().map(LiveFile::name).collect();
        let options = CompactionOptions {
            output_file_size_limit: [u64::MAX, 3000][self.random.below(2) as usize],
            allow_trivial_move: self.random.one_in(2),
            ..CompactionOptions::default()
        };
        let level = self.random.below(5) as usize;
        if let Err(error) = self.db.compact_files_cf(family, &names, level, Some(0), &options) {
            assert!(matches!(error.kind(), ErrorKind::InvalidArgument | ErrorKind::Aborted), "{error}");
        }
    }

    /// Notes what a sync, a close or handing on the log says of the first `count` batches.
    fn note_logged(&self, count: usize, is_durable: bool) {
        if self.draw.atomicity.is_logged() {
            self.note(count, is_durable);
        }
    }

    /// The first `count` batches are durable, or survive the process.
    fn note(&self, count: usize, is_durable: bool) {
        let mut history = self.history.lock().unwrap();
        history.written = history.written.max(count);
        if is_durable {
            history.durable = history.durable.max(count);
        }
    }

    fn any_family(&mut self) -> ColumnFamily {
        self.families[self.random.below(self.families.len() as u64) as usize].clone()
    }

    fn any_op(&mut self, number: usize, id: u32) -> Vec<Op> {
        let key = format!("key{:03}", self.random.below(150)).into_bytes();
        match self.random.below(20) {
            0..=3 => vec![Op::Delete(key)],
            4 => vec![Op::Merge(key, format!("m{number}").into_bytes())],
            // Plain tables have no deletions of ranges.
            5 if self.draw.tables > 0 => vec![Op::Delete(key)],
            // An empty one, mostly.
            5 if self.random.below(3) > 0 => vec![Op::DeleteRange(key.clone(), key)],
            5 if self.random.one_in(2) => vec![self.everything(id)],
            5 => {
                let end = format!("key{:03}", self.random.below(150)).into_bytes();
                vec![Op::DeleteRange(key.clone().min(end.clone()), key.max(end))]
            }
            6 => {
                let single = format!("single{number}.{}", self.random.next_u64()).into_bytes();
                self.singles.push((id, single.clone()));
                vec![Op::Put(single, b"once".to_vec())]
            }
            7 if !self.singles.is_empty() => {
                let index = self.random.below(self.singles.len() as u64) as usize;
                if self.singles[index].0 != id {
                    return Vec::new();
                }
                vec![Op::SingleDelete(self.singles.swap_remove(index).1)]
            }
            8 => self.fleeting(number),
            _ => {
                let large = if self.draw.is_fleeting { 20 } else { 4 };
                let size = if self.random.one_in(large) { self.random.below(6000) } else { self.random.below(100) };
                let mut value = format!("{number}:").into_bytes();
                value.extend((0..size).map(|_| self.random.next_u64() as u8));
                vec![if number % 6 == 5 { Op::PutEntity(key, value) } else { Op::Put(key, value) }]
            }
        }
    }

    /// All of a family but the markers: whole tables of families without any lie under it.
    fn everything(&mut self, id: u32) -> Op {
        self.singles.retain(|(family, _)| *family != id);
        Op::DeleteRange(Vec::new(), b"~".to_vec())
    }

    /// Deletes all of a family that is in tables, by one record, which comes into a table of its own.
    fn clear(&mut self) {
        let family = self.any_family();
        if self.draw.tables > 0 {
            return self.write();
        }
        self.flush_family(&family, true);
        let number = self.history.lock().unwrap().batches.len() + 1;
        let change = (family.id(), self.everything(family.id()));
        self.write_changes(number, vec![change, (0, Op::Put(marker(number), Vec::new()))]);
        self.flush_family(&family, true);
    }

    /// Records of which a flush leaves nothing.
    fn fleeting(&mut self, number: usize) -> Vec<Op> {
        let key = format!("fleeting{number}.{}", self.random.next_u64()).into_bytes();
        if self.random.one_in(2) && self.draw.tables == 0 {
            return vec![Op::DeleteRange(key.clone(), key)];
        }
        vec![Op::Put(key.clone(), b"job".to_vec()), Op::SingleDelete(key)]
    }

    fn write(&mut self) {
        self.write_with_last(None);
    }

    /// Writes a batch, the last record of which goes to this family.
    fn write_with_last(&mut self, last: Option<u32>) {
        let number = self.history.lock().unwrap().batches.len() + 1;
        let mut changes: Changes = Vec::new();
        for _ in 0..=self.random.below(4) {
            let id = self.any_family().id();
            changes.extend(self.any_op(number, id).into_iter().map(|op| (id, op)));
        }
        let place = self.random.below(changes.len() as u64 + 1) as usize;
        changes.insert(place, (0, Op::Put(marker(number), Vec::new())));
        if self.draw.is_fleeting && self.random.one_in(2) {
            let id = self.any_family().id();
            changes.extend(self.fleeting(number).into_iter().map(|op| (id, op)));
        }
        changes.extend(last.map(|id| (id, Op::Put(format!("last{number}").into_bytes(), b"of the log".to_vec()))));
        self.write_changes(number, changes);
    }

    /// Writes a batch, which has the number of the next one and its marker.
    fn write_changes(&mut self, number: usize, changes: Changes) {
        let mut batch = WriteBatch::new();
        changes.iter().for_each(|(id, op)| op.add_to(&mut batch, *id));
        let is_logged = self.draw.atomicity.is_logged();
        let sync = self.random.one_in(6) && is_logged;
        self.history.lock().unwrap().batches.push(Arc::new(changes));
        self.db.write(batch, &WriteOptions { sync, disable_wal: !is_logged, ..WriteOptions::default() }).unwrap();
        if sync || !self.draw.manual_wal_flush {
            self.note_logged(number, sync);
        }
    }

    /// An empty batch is a common way to ask for a sync. An inverted range is refused and changes nothing.
    fn write_nothing(&mut self) {
        if self.random.one_in(3) {
            let family = self.any_family();
            let mut batch = WriteBatch::new();
            batch.put_cf(family.id(), b"refused", b"with the range").unwrap();
            batch.delete_range_cf(family.id(), b"key1", b"key0").unwrap();
            self.db.write(batch, &WriteOptions::default()).unwrap_err();
            return;
        }
        let issued = self.history.lock().unwrap().batches.len();
        let sync = self.random.one_in(2);
        self.db.write(WriteBatch::new(), &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        if sync {
            self.note_logged(issued, true);
        }
    }

    fn write_unlogged(&mut self) {
        let Some(family) = self.unlogged.clone() else { return };
        for _ in 0..=self.random.below(3) {
            let number = self.history.lock().unwrap().unlogged;
            self.history.lock().unwrap().unlogged += 1;
            let options = WriteOptions { disable_wal: true, ..WriteOptions::default() };
            self.db.put_cf(&family, format!("{number:06}").as_bytes(), b"unlogged", &options).unwrap();
        }
    }

    fn flush(&mut self) {
        let wait = self.random.one_in(2);
        if let Some(family) = self.unlogged.clone().filter(|_| self.random.one_in(4)) {
            let unlogged = self.history.lock().unwrap().unlogged;
            self.db.flush_cf(&family, &FlushOptions { wait, ..FlushOptions::default() }).unwrap();
            if wait {
                self.history.lock().unwrap().unlogged_durable = unlogged;
            }
            return;
        }
        let family = self.any_family();
        self.flush_family(&family, wait);
    }

    fn flush_family(&self, family: &ColumnFamily, wait: bool) {
        if self.draw.atomicity == Atomicity::Forced {
            return self.flush_all(wait);
        }
        let issued = self.history.lock().unwrap().batches.len();
        self.db.flush_cf(family, &FlushOptions { wait, ..FlushOptions::default() }).unwrap();
        if wait && self.draw.atomicity == Atomicity::Flushed {
            self.note(issued, true);
        }
    }

    /// Flushes all families in one step.
    fn flush_all(&self, wait: bool) {
        let issued = self.history.lock().unwrap().batches.len();
        self.db
            .flush_cfs(&self.families, &FlushOptions { wait, force_atomic_flush: true, ..FlushOptions::default() })
            .unwrap();
        if wait {
            self.note(issued, true);
        }
    }

    fn create(&mut self, name: &str) -> ColumnFamily {
        let life = FamilyLife { name: name.to_owned(), id: None, is_drop_issued: false, is_drop_acknowledged: false };
        self.history.lock().unwrap().families.push(life);
        let family = self.db.create_column_family(name, family_options(self.seed)).unwrap();
        self.history.lock().unwrap().families.last_mut().unwrap().id = Some(family.id());
        family
    }

    fn create_family(&mut self, step: usize) {
        if self.families.len() >= 4 || self.draw.is_single_family {
            return;
        }
        // Names return; ids never do.
        let name = format!("family{}", step % 5);
        if self.families.iter().any(|family| family.name() == name) {
            return;
        }
        let family = self.create(&name);
        self.families.push(family);
    }

    fn drop_family(&mut self) {
        if self.families.len() < 2 {
            return;
        }
        let index = 1 + self.random.below(self.families.len() as u64 - 1) as usize;
        if self.random.one_in(2) {
            self.hold_back_log(index);
        }
        let family = self.families.remove(index);
        self.singles.retain(|(id, _)| *id != family.id());
        self.note_drop(&family, |life| life.is_drop_issued = true);
        self.db.drop_column_family(&family).unwrap();
        self.note_drop(&family, |life| life.is_drop_acknowledged = true);
    }

    /// The newest records of a log are those of one family, which alone holds that log back: its drop lets go of them.
    fn hold_back_log(&mut self, index: usize) {
        let id = self.families[index].id();
        self.write_with_last(Some(id));
        for other in 0..self.families.len() {
            if other != index && !self.random.one_in(8) {
                match self.draw.atomicity {
                    Atomicity::Forced => self.flush_all(true),
                    _ => self.db.flush_cf(&self.families[other], &FlushOptions::default()).unwrap(),
                }
            }
        }
        for _ in 0..=self.random.below(2) {
            self.write();
        }
    }

    fn note_drop(&self, family: &ColumnFamily, note: impl FnOnce(&mut FamilyLife)) {
        let mut history = self.history.lock().unwrap();
        note(history.families.iter_mut().find(|life| life.id == Some(family.id())).unwrap());
    }

    fn count_range_deleted(&self) {
        let text = self.db.property("ferrock.statistics").unwrap();
        let count = text.lines().find_map(|line| line.strip_prefix("range_deleted_tables=")?.parse::<u64>().ok());
        self.history.lock().unwrap().range_deleted_tables += count.unwrap();
    }

    fn reopen(&mut self) {
        let all = self.families.iter().chain(&self.unlogged);
        let descriptors = all.map(|family| (family.name().to_owned(), family_options(self.seed))).collect();
        let issued = self.history.lock().unwrap().batches.len();
        if self.draw.atomicity == Atomicity::Forced {
            self.flush_all(true);
        }
        self.families.clear();
        self.count_range_deleted();
        let had_unlogged = self.unlogged.take().is_some();
        self.db.clone().close().unwrap();
        // Closing hands the log to the operating system, and flushes what is in none.
        self.note(issued, !self.draw.atomicity.is_logged());
        let (db, mut families) = Db::open_cf(PATH, options(&self.file_system, self.seed), descriptors).unwrap();
        self.unlogged = if had_unlogged { families.pop() } else { None };
        (self.db, self.families) = (db, families);
    }
}
