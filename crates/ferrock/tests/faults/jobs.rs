//! Every kind of job fails once at each of its file operations: nothing is lost, no file stays behind that nothing
//! references, nothing stays marked as being compacted, the state is what the table of severities says, and the job
//! succeeds once the fault is gone.
//!
//! A kind is a database that is made once (`make`), and what begins the job in a copy of it (`act`). The n-th operation
//! of a kind on files of a kind fails, for n = 1, 2, ... until the job has no such operation.

use crate::rig::DIRECTORY;
use crate::workers::{Conduct, InProcess};
use ferrock::options::{
    BlobGarbageCollectionPolicy, BottommostLevelCompaction, CompactionService, CompactionStyle, CompressionType,
};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, CompactionJobInfo, CompactionOptions, Db, DbOptions,
    ErrorKind, EventListener, FlushOptions, ReadOptions, Result, WaitForCompactOptions, WriteOptions,
};
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
    read_file,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What fails, of which files.
const OPERATIONS: &[(OperationKind, &str)] = &[
    (OperationKind::Create, "*.sst"),
    (OperationKind::Append, "*.sst"),
    (OperationKind::Sync, "*.sst"),
    (OperationKind::Close, "*.sst"),
    (OperationKind::Open, "*.sst"),
    (OperationKind::Read, "*.sst"),
    (OperationKind::Remove, "*.sst"),
    (OperationKind::Create, "*.blob"),
    (OperationKind::Append, "*.blob"),
    (OperationKind::Sync, "*.blob"),
    (OperationKind::Open, "*.blob"),
    (OperationKind::Read, "*.blob"),
    (OperationKind::Create, "MANIFEST-*"),
    (OperationKind::Append, "MANIFEST-*"),
    (OperationKind::Sync, "MANIFEST-*"),
    (OperationKind::Rename, "CURRENT"),
    (OperationKind::Create, "*.dbtmp"),
    (OperationKind::Append, "*.dbtmp"),
    (OperationKind::Sync, "*.dbtmp"),
    (OperationKind::SyncDir, "*"),
];
/// Of more operations of one kind than this every third one fails.
const ALL_FAIL: u64 = 12;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// The compactions that began: from which level to which, and whether tables only moved.
#[derive(Default)]
struct Seen(Mutex<BTreeSet<(usize, usize, bool)>>);

impl EventListener for Seen {
    fn on_compaction_completed(&self, event: &CompactionJobInfo) {
        let is_move = event.stats.num_input_files_trivially_moved > 0;
        if event.status.is_ok() {
            self.0.lock().unwrap().insert((event.base_input_level, event.output_level, is_move));
        }
    }
}

/// A kind of job.
struct Kind {
    name: &'static str,
    options: fn(&mut DbOptions, &mut ColumnFamilyOptions),
    make: fn(&Db, &[ColumnFamily]),
    act: fn(&Db, &[ColumnFamily]) -> Result<()>,
    /// A compaction that the job consists of.
    compaction: Option<(usize, usize, bool)>,
    is_remote: bool,
    /// Rows may go.
    drops: bool,
    /// What may fail so that writes stop, and how bad that is, as the LOG names it.
    stops: &'static [&'static str],
}

const FLUSH: &str = "Flush (soft)";
const COMPACTION: &str = "Compaction (soft)";
const MANIFEST: &str = "Manifest (hard)";

impl Kind {
    const fn new(
        name: &'static str,
        options: fn(&mut DbOptions, &mut ColumnFamilyOptions),
        make: fn(&Db, &[ColumnFamily]),
        act: fn(&Db, &[ColumnFamily]) -> Result<()>,
    ) -> Self {
        Self {
            name,
            options,
            make,
            act,
            compaction: None,
            is_remote: false,
            drops: false,
            stops: &[COMPACTION, MANIFEST],
        }
    }

    const fn stops(self, stops: &'static [&'static str]) -> Self {
        Self { stops, ..self }
    }

    const fn compacts(mut self, from: usize, to: usize, is_trivial_move: bool) -> Self {
        self.compaction = Some((from, to, is_trivial_move));
        self
    }
}

fn put(db: &Db, family: &ColumnFamily, numbers: std::ops::Range<u32>, round: u8) {
    for number in numbers {
        let key = format!("key{number:06}");
        db.put_cf(family, key.as_bytes(), &[round; 200], &WriteOptions::default()).unwrap();
    }
}

fn flush(db: &Db, family: &ColumnFamily) {
    db.flush_cf(family, &FlushOptions::default()).unwrap();
}

/// Overlapping tables in level 0 above data of the last level.
fn overlapping(db: &Db, families: &[ColumnFamily]) {
    put(db, &families[0], 0..150, 0);
    db.compact_range(None, None).unwrap();
    for round in 1..5 {
        put(db, &families[0], 0..50, round);
        flush(db, &families[0]);
    }
}

/// Small tables above a base level that is many times larger.
fn small_above_large(db: &Db, families: &[ColumnFamily]) {
    put(db, &families[0], 0..1500, 0);
    db.compact_range(None, None).unwrap();
    for round in 1..6 {
        put(db, &families[0], 0..2, round);
        put(db, &families[0], 1498..1500, round);
        flush(db, &families[0]);
    }
}

fn memtables(db: &Db, families: &[ColumnFamily]) {
    families.iter().for_each(|family| put(db, family, 0..60, 1));
}

fn disjoint(db: &Db, families: &[ColumnFamily]) {
    for round in 0..5_u32 {
        put(db, &families[0], round * 30..round * 30 + 20, 1);
        flush(db, &families[0]);
    }
}

/// Lets automatic compactions begin where the rule is there already.
fn automatic(db: &Db, _: &[ColumnFamily]) -> Result<()> {
    db.continue_background_work()?;
    db.wait_for_background_work()
}

fn flush_all(db: &Db, families: &[ColumnFamily]) -> Result<()> {
    db.flush_cfs(families, &FlushOptions::default())
}

fn forced(db: &Db, families: &[ColumnFamily], options: CompactRangeOptions) -> Result<()> {
    let options = CompactRangeOptions { bottommost_level_compaction: BottommostLevelCompaction::Force, ..options };
    db.compact_range_cf(&families[0], None, None, &options)
}

fn by_hand(db: &Db, families: &[ColumnFamily]) -> Result<()> {
    forced(db, families, CompactRangeOptions::default())
}

fn collecting(db: &Db, families: &[ColumnFamily]) -> Result<()> {
    let options = CompactRangeOptions {
        blob_garbage_collection_policy: BlobGarbageCollectionPolicy::Force,
        blob_garbage_collection_age_cutoff: Some(1.0),
        ..CompactRangeOptions::default()
    };
    forced(db, families, options)
}

fn named_files(db: &Db, families: &[ColumnFamily]) -> Result<()> {
    let names: Vec<_> = db.live_files().iter().filter(|file| file.level == 0).map(|file| file.name()).collect();
    // The retry of a job that succeeded has nothing to do.
    if names.is_empty() {
        return Ok(());
    }
    db.compact_files_cf(&families[0], &names, 6, None, &CompactionOptions::default()).map(drop)
}

fn plain(_: &mut DbOptions, _: &mut ColumnFamilyOptions) {}

fn blobs(_: &mut DbOptions, family: &mut ColumnFamilyOptions) {
    family.enable_blob_files = true;
    family.min_blob_size = 100;
    family.blob_file_size = 4096;
}

fn in_parts(db: &mut DbOptions, family: &mut ColumnFamilyOptions) {
    db.max_subcompactions = 4;
    family.target_file_size_base = 4096;
}

fn queue(_: &mut DbOptions, family: &mut ColumnFamilyOptions) {
    family.compaction_style = CompactionStyle::Fifo;
    family.ttl = 0;
    family.compaction_options_fifo.max_table_files_size = 15_000;
}

fn merging_queue(db: &mut DbOptions, family: &mut ColumnFamilyOptions) {
    queue(db, family);
    family.compaction_options_fifo.max_table_files_size = 1 << 30;
    family.compaction_options_fifo.allow_compaction = true;
}

fn runs(_: &mut DbOptions, family: &mut ColumnFamilyOptions) {
    family.compaction_style = CompactionStyle::Universal;
}

fn small_manifest(db: &mut DbOptions, _: &mut ColumnFamilyOptions) {
    db.max_manifest_file_size = 1;
    db.max_manifest_space_amp_pct = 0;
}

fn atomic(db: &mut DbOptions, _: &mut ColumnFamilyOptions) {
    db.atomic_flush = true;
}

const KINDS: &[Kind] = &[
    Kind::new("flush", plain, memtables, flush_all).stops(&[FLUSH, MANIFEST]),
    Kind::new("flush that begins a MANIFEST", small_manifest, memtables, flush_all).stops(&[FLUSH, MANIFEST]),
    Kind::new("flush with blob files", blobs, memtables, flush_all).stops(&[FLUSH, MANIFEST]),
    Kind::new("atomic flush", atomic, memtables, flush_all).stops(&[FLUSH, MANIFEST]),
    Kind::new("leveled", plain, overlapping, automatic).compacts(0, 6, false),
    Kind::new("leveled, with a new MANIFEST", small_manifest, overlapping, automatic).compacts(0, 6, false),
    Kind::new("within level 0", plain, small_above_large, automatic).compacts(0, 0, false),
    Kind::new("trivial move", plain, disjoint, automatic).compacts(0, 6, true).stops(&[MANIFEST]),
    Kind::new("universal", runs, overlapping, automatic),
    Kind::new("FIFO, merging", merging_queue, overlapping, automatic).compacts(0, 0, false),
    Kind { drops: true, ..Kind::new("FIFO, dropping", queue, disjoint, automatic).stops(&[MANIFEST]) },
    Kind::new("by hand", plain, overlapping, by_hand).compacts(0, 6, false),
    Kind::new("named files", plain, overlapping, named_files).compacts(0, 6, false),
    Kind::new("in parts", in_parts, overlapping, by_hand),
    Kind::new("blob files are collected", blobs, overlapping, collecting),
    // What a worker fails at is done here.
    Kind { is_remote: true, ..Kind::new("remote", plain, overlapping, automatic).stops(&[MANIFEST]) },
    Kind {
        is_remote: true,
        ..Kind::new("remote, blob files are collected", blobs, overlapping, collecting).stops(&[MANIFEST])
    },
];

/// A copy of a database, over a file system that fails on command.
struct Trial {
    memory: MemoryFileSystem,
    faulty: FaultInjectionFileSystem,
    seen: Arc<Seen>,
    db: Db,
    families: Vec<ColumnFamily>,
}

impl Trial {
    fn open(kind: &Kind, memory: MemoryFileSystem, is_automatic: bool) -> Self {
        let faulty = FaultInjectionFileSystem::new(Arc::new(memory.clone()));
        let seen = Arc::new(Seen::default());
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.writable_file_max_buffer_size = 4096;
        options.max_file_opening_threads = 1;
        options.max_bgerror_resume_count = 0;
        // The memtables of the copy are those of the log.
        options.avoid_flush_during_recovery = true;
        options.components.listeners.push(Arc::clone(&seen) as Arc<dyn EventListener>);
        let mut family = ColumnFamilyOptions::default();
        family.compression = CompressionType::NoCompression;
        family.disable_auto_compactions = !is_automatic;
        (kind.options)(&mut options, &mut family);
        let files: Arc<dyn FileSystem> = Arc::new(faulty.clone());
        if kind.is_remote {
            let service = InProcess::new(Arc::clone(&files), &[Conduct::Honest]);
            service.set_family("default", &family);
            options.components.compaction_service = Some(service as Arc<dyn CompactionService>);
        }
        options.components.file_system = Some(files);
        let families = ["default", "second"].map(|name| (name.to_owned(), family.clone())).to_vec();
        let (db, families) = Db::open_cf(DIRECTORY, options, families).unwrap();
        Self { memory, faulty, seen, db, families }
    }

    /// The copy of `base`, with background work held back.
    fn begin(kind: &Kind, base: &MemoryFileSystem) -> Self {
        let trial = Self::open(kind, base.crash_clone(CrashPolicy::KeepAll), false);
        trial.db.pause_background_work().unwrap();
        for family in &trial.families {
            trial.db.set_options_cf(family, &[("disable_auto_compactions", "false")]).unwrap();
        }
        if !is_automatic(kind) {
            for family in &trial.families {
                trial.db.set_options_cf(family, &[("disable_auto_compactions", "true")]).unwrap();
            }
            trial.db.continue_background_work().unwrap();
        }
        trial
    }

    fn rows(&self, what: &str) -> Vec<Rows> {
        let all = self.families.iter().map(|family| {
            let mut iter = self.db.iter_cf(family, &ReadOptions::default());
            let mut rows = Rows::new();
            iter.seek_to_first();
            while iter.valid() {
                rows.insert(iter.key().to_vec(), iter.value().to_vec());
                iter.next();
            }
            iter.status().unwrap_or_else(|error| panic!("{what}: {error}"));
            rows
        });
        all.collect()
    }

    fn check_rows(&self, kind: &Kind, expected: &[Rows], what: &str) {
        let found = self.rows(what);
        if kind.drops {
            let is_part = |(found, all): (&Rows, &Rows)| found.iter().all(|row| all.get(row.0) == Some(row.1));
            assert!(found.iter().zip(expected).all(is_part), "{what}: rows that never were");
        } else {
            assert!(found == expected, "{what}: other rows");
        }
    }

    /// Tables and blob files that lie in the directory.
    fn listing(&self, suffix: &str) -> BTreeSet<u64> {
        let names = self.memory.children(Path::new(DIRECTORY)).unwrap();
        names.iter().filter_map(|name| name.strip_suffix(suffix)?.parse().ok()).collect()
    }

    /// No file is there that nothing references, and nothing is marked as being compacted.
    fn check_files(&self, what: &str) {
        let purged = WaitForCompactOptions { wait_for_purge: true, ..WaitForCompactOptions::default() };
        let _ = self.db.wait_for_compact(&purged);
        let live: BTreeSet<u64> = self.db.live_files().iter().map(|file| file.number.0).collect();
        assert_eq!(self.listing(".sst"), live, "{what}: tables in the directory, and in the tree");
        let blobs: u64 = self.families.iter().map(|family| self.number(family, "num-blob-files")).sum();
        assert_eq!(self.listing(".blob").len() as u64, blobs, "{what}: blob files in the directory, and in the tree");
        assert_eq!(self.listing(".dbtmp"), BTreeSet::new(), "{what}");
        assert_eq!(self.number(&self.families[0], "num-running-compactions"), 0, "{what}");
    }

    fn check_workers(&self, what: &str) {
        let remote = self.memory.children(&Path::new(DIRECTORY).with_file_name("remote")).unwrap_or_default();
        assert!(remote.is_empty(), "{what}: workers left {remote:?}");
    }

    /// What failed so that writes stopped, and how bad that is, as the LOG says.
    fn stops(&self) -> Vec<String> {
        let log = read_file(&self.memory, &Path::new(DIRECTORY).join("LOG")).unwrap();
        let log = String::from_utf8(log).unwrap();
        let stops = log.lines().filter_map(|line| line.split_once("writes stop after a failed "));
        stops.map(|(_, stop)| stop.split_once("): ").unwrap().0.to_owned() + ")").collect()
    }

    fn number(&self, family: &ColumnFamily, property: &str) -> u64 {
        self.db.property_cf(family, property).unwrap().parse().unwrap()
    }
}

fn is_automatic(kind: &Kind) -> bool {
    std::ptr::fn_addr_eq(kind.act, automatic as fn(&Db, &[ColumnFamily]) -> Result<()>)
}

/// What a job made is gone as soon as it failed. Not so where it is unknown what a crash would find in the MANIFEST,
/// and where the removal itself fails.
fn is_rolled_back(operation: OperationKind, path: &str) -> bool {
    let is_of_data = path.ends_with(".sst") || path.ends_with(".blob");
    is_of_data && !may_be_of_cleanup(operation, path)
}

/// A file that could not be removed goes with the next clean-up. Of a blob file the footer is read before.
fn may_be_of_cleanup(operation: OperationKind, path: &str) -> bool {
    let is_of_footer = path == "*.blob" && matches!(operation, OperationKind::Open | OperationKind::Read);
    operation == OperationKind::Remove || is_of_footer
}

/// What may fail, and how bad that is, where an operation does: whether a table is lost or a MANIFEST is in doubt is
/// told by the file. A directory is synced for either, and a blob file that is written has the name of a temporary
/// file, as the next CURRENT has.
fn is_stop_of(stop: &str, path: &str) -> bool {
    match path {
        "*.sst" | "*.blob" => stop != MANIFEST,
        "*" | "*.dbtmp" => true,
        _ => stop == MANIFEST,
    }
}

/// One fault. False when the job has no such operation.
fn strike(
    kind: &Kind,
    base: &MemoryFileSystem,
    expected: &[Rows],
    operation: OperationKind,
    path: &str,
    nth: u64,
    stopped: &mut BTreeSet<String>,
) -> bool {
    let what = format!("{}: {operation:?} {nth} of {path}", kind.name);
    let trial = Trial::begin(kind, base);
    let rule = FaultRule::new(operation, path, Fault::Io).when(Trigger::Nth(nth));
    let rule = trial.faulty.add_rule(rule);
    let outcome = (kind.act)(&trial.db, &trial.families);
    // Of jobs that go on behind the call.
    let _ = trial.db.wait_for_background_work();
    let fired = trial.faulty.remove_rule(rule).unwrap() > 0;
    let standing = trial.db.background_error();
    if let Err(error) = &outcome {
        assert!(fired, "{what}: {error}");
        assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::NotFound), "{what}: {error}");
    }
    let what = format!("{what} ({outcome:?})");
    let stops = trial.stops();
    assert_eq!(stops.is_empty(), standing.is_none(), "{what}: {stops:?}, {standing:?}");
    assert!(stops.iter().all(|stop| is_stop_of(stop, path)), "{what}: {stops:?}");
    stopped.extend(stops);
    trial.check_rows(kind, expected, &what);
    if is_rolled_back(operation, path) {
        trial.check_files(&what);
    }
    let accepted = trial.db.put_cf(&trial.families[1], b"key000000", &[1; 200], &WriteOptions::default());
    assert_eq!(accepted.is_err(), standing.is_some(), "{what}: {accepted:?}, {standing:?}");
    if standing.is_some() {
        trial.db.resume().unwrap_or_else(|error| panic!("{what}: resume: {error}"));
    }
    let again = match is_automatic(kind) {
        true => trial.db.wait_for_background_work(),
        false => (kind.act)(&trial.db, &trial.families),
    };
    again.and_then(|()| trial.db.wait_for_background_work()).unwrap_or_else(|error| panic!("{what}: again: {error}"));
    assert!(trial.db.background_error().is_none(), "{what}");
    if let Some(compaction) = kind.compaction {
        assert!(trial.seen.0.lock().unwrap().contains(&compaction), "{what}: {:?}", trial.seen.0.lock().unwrap());
    }
    let mut expected = expected.to_vec();
    expected[1].insert(b"key000000".to_vec(), vec![1; 200]);
    if accepted.is_err() {
        trial.db.put_cf(&trial.families[1], b"key000000", &[1; 200], &WriteOptions::default()).unwrap();
    }
    trial.check_rows(kind, &expected, &format!("{what}, again"));
    // The next clean-up is that of the open below.
    if !may_be_of_cleanup(operation, path) {
        trial.check_files(&format!("{what}, again"));
        trial.check_workers(&what);
    }
    let Trial { memory, db, families, .. } = trial;
    drop(families);
    db.close().unwrap_or_else(|error| panic!("{what}: close: {error}"));
    let opened = Trial::open(kind, memory, false);
    opened.check_rows(kind, &expected, &format!("{what}, reopened"));
    opened.check_files(&format!("{what}, reopened"));
    fired
}

fn run(kind: &Kind) {
    let base = MemoryFileSystem::new();
    let made = Trial::open(kind, base.clone(), false);
    (kind.make)(&made.db, &made.families);
    let expected = made.rows(kind.name);
    let Trial { db, families, .. } = made;
    drop(families);
    db.close().unwrap();
    let (mut struck, mut stopped) = (0, BTreeSet::new());
    for &(operation, path) in OPERATIONS {
        let mut nth = 1;
        while strike(kind, &base, &expected, operation, path, nth, &mut stopped) {
            struck += 1;
            nth += if nth < ALL_FAIL { 1 } else { 3 };
        }
    }
    assert!(struck > 3, "{}: {struck} operations failed", kind.name);
    assert!(stopped.iter().eq(kind.stops), "{}: {stopped:?}", kind.name);
    println!("{}: {struck} operations failed", kind.name);
}

fn run_share(share: usize) {
    KINDS.iter().skip(share).step_by(4).for_each(run);
}

#[test]
fn every_operation_of_every_kind_of_job_fails_first_share() {
    run_share(0);
}

#[test]
fn every_operation_of_every_kind_of_job_fails_second_share() {
    run_share(1);
}

#[test]
fn every_operation_of_every_kind_of_job_fails_third_share() {
    run_share(2);
}

#[test]
fn every_operation_of_every_kind_of_job_fails_fourth_share() {
    run_share(3);
}
