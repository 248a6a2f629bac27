//! Several writers at once, whose groups are logged while others are inserted: what any reader, any snapshot and any
//! crash sees is a prefix of what was written, in the order of its causes.
//!
//! ```text
//! batch of a writer, its g-th:  4 keys = (g, what the writer knew of the others), sum += 1,
//!                               scratch: all deleted, one put; once: the last one deleted singly, one put
//! beside it: a counter that all count up, each by a check that it is what it was when it was read
//! holds in every view:          the 4 keys are equal; sum = g; one row of scratch, one of once;
//!                               of every other writer there is at least what this one knew of
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and start threads"
)]

mod common;

use common::options_on;
use common::threads::PATIENCE;
use ferrock::options::{MemTableFactory, PrefixExtractor};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Comparator, Db, DbOptions, ErrorKind, FlushOptions, ReadOptions, WriteBatch,
    WriteOptions,
};
use ferrock_base::SequenceNumber;
use ferrock_base::comparator::CustomComparator;
use ferrock_base::random::Random;
use ferrock_vfs::{
    CrashPolicy, Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger,
};
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const WRITERS: usize = 4;
const COUNTER: &[u8] = b"counter";
const PARTS: [(u32, &str); 4] = [(0, "a"), (1, "b"), (0, "c"), (1, "d")];

/// How far each writer is.
type Generations = [u64; WRITERS];

#[derive(Default)]
struct Progress {
    begun: [AtomicU64; WRITERS],
    acknowledged: [AtomicU64; WRITERS],
    synced: [AtomicU64; WRITERS],
    /// How often the counter was counted up, and how often it may have been.
    counted: AtomicU64,
    uncertain: AtomicU64,
}

fn read(of: &[AtomicU64; WRITERS]) -> Generations {
    std::array::from_fn(|writer| of[writer].load(Ordering::Acquire))
}

/// Compares at which a writer panics.
static PANIC_AT: AtomicU64 = AtomicU64::new(u64::MAX);

thread_local! {
    /// Compares of a writer until it dawdles; 0: this thread does not.
    static COMPARES: Cell<u64> = const { Cell::new(0) };
}

/// The order of bytes, in which writers dawdle now and then: other groups are logged, and come and go, meanwhile.
struct Dawdling;

impl CustomComparator for Dawdling {
    fn name(&self) -> &str {
        "test.Dawdling"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        COMPARES.with(|compares| match compares.get() {
            0 => {}
            1 => {
                let left = PANIC_AT.fetch_sub(1, Ordering::Relaxed);
                assert!(left != 1, "a comparator that panics");
                std::thread::sleep(Duration::from_micros(50));
                compares.set(200);
            }
            left => compares.set(left - 1),
        });
        a.cmp(b)
    }
    fn can_keys_with_different_bytes_be_equal(&self) -> bool {
        false
    }
}

/// Options of one history.
#[derive(Clone)]
struct Setting {
    family: ColumnFamilyOptions,
    is_concurrent: bool,
    atomic_flush: bool,
    batches: u64,
    /// The order is [`Dawdling`], and no memtable sorts while it is read.
    may_panic: bool,
}

impl Setting {
    fn draw(random: &mut Random) -> Self {
        let mut family = ColumnFamilyOptions::default();
        family.write_buffer_size = 16 << (10 + random.below(4));
        family.arena_block_size = 4 << 10;
        family.level0_file_num_compaction_trigger = 2;
        family.max_successive_merges = if random.below(3) == 0 { 2 } else { 0 };
        family.merge_operator = ferrock_base::merge::built_in("uint64add").unwrap();
        family.prefix_extractor = Some(PrefixExtractor::Fixed(2));
        family.memtable_factory = match random.below(5) {
            0 => MemTableFactory::Vector { count: 0 },
            1 => MemTableFactory::hash_skip_list(3),
            _ => MemTableFactory::default(),
        };
        let dawdles = random.below(2) == 0;
        if dawdles {
            family.comparator = Comparator::Custom(Arc::new(Dawdling));
        }
        let may_panic = dawdles && family.memtable_factory == MemTableFactory::default();
        let is_concurrent = family.memtable_factory.allows_concurrent_writes() && random.below(4) > 0;
        Self { family, is_concurrent, atomic_flush: random.below(4) == 0, batches: 150 + random.below(200), may_panic }
    }

    fn open(&self, file_system: Arc<dyn FileSystem>) -> (Db, Vec<ColumnFamily>) {
        let mut options: DbOptions = options_on(file_system);
        options.max_background_jobs = 3;
        options.allow_concurrent_memtable_write = self.is_concurrent;
        options.atomic_flush = self.atomic_flush;
        let mut families: Vec<_> = ["default", "second"].map(|name| (name.to_owned(), self.family.clone())).into();
        // A crash may have met the third one.
        let found = Db::list_column_families("/db", &options).unwrap_or_default();
        families
            .extend(found.contains(&"other".to_owned()).then(|| ("other".to_owned(), ColumnFamilyOptions::default())));
        Db::open_cf("/db", options, families).unwrap()
    }
}

fn batch_of(writer: usize, generation: u64, known: &Generations, random: &mut Random) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let mut value: Vec<u8> = generation.to_le_bytes().to_vec();
    value.extend(known.iter().flat_map(|known| known.to_le_bytes()));
    let padding = if random.below(40) == 0 { 5000 } else { random.below(200) };
    value.resize(value.len() + padding as usize, writer as u8);
    for (family, name) in PARTS {
        batch.put_cf(family, format!("w{writer}{name}").as_bytes(), &value).unwrap();
    }
    let own = |name: &str| format!("w{writer}{name}").into_bytes();
    batch.merge_cf(0, &own("sum"), &1u64.to_le_bytes()).unwrap();
    batch.delete_range_cf(1, &own("scratch"), &own("scratch~")).unwrap();
    batch.put_cf(1, &own(&format!("scratch{generation:06}")), b"").unwrap();
    if generation > 1 {
        batch.single_delete_cf(0, &own(&format!("once{:06}", generation - 1))).unwrap();
    }
    batch.put_cf(0, &own(&format!("once{generation:06}")), b"").unwrap();
    batch
}

fn counter(db: &Db) -> ferrock::Result<u64> {
    Ok(db.get(COUNTER)?.map_or(0, |value| u64::from_le_bytes(value[..].try_into().unwrap())))
}

/// Counts up what all writers count, if no other one does meanwhile.
fn count(db: &Db, progress: &Progress) {
    let Ok(before) = counter(db) else { return };
    let mut batch = WriteBatch::new();
    batch.put(COUNTER, &(before + 1).to_le_bytes()).unwrap();
    let (own, is_checked) = (db.clone(), Arc::new(AtomicBool::new(false)));
    let checked = Arc::clone(&is_checked);
    let check = move |_: SequenceNumber| {
        let is_same = counter(&own)? == before;
        checked.store(is_same, Ordering::Release);
        if is_same { Ok(()) } else { Err(ferrock::Error::new(ErrorKind::Busy, "counted meanwhile")) }
    };
    // Uncertain it stays also when the thread panics.
    progress.uncertain.fetch_add(1, Ordering::AcqRel);
    let written = db.write_checked(batch, &WriteOptions::default(), check);
    if written.is_ok() {
        progress.counted.fetch_add(1, Ordering::AcqRel);
    }
    if written.is_ok() || !is_checked.load(Ordering::Acquire) {
        progress.uncertain.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A check in the moment before a batch is logged: all that was acknowledged can be read.
fn sees(db: Db, known: Generations) -> impl FnOnce(SequenceNumber) -> ferrock::Result<()> + Send + 'static {
    move |_| {
        for (writer, known) in known.iter().enumerate() {
            let value = db.get(format!("w{writer}a").as_bytes())?;
            let there = value.map_or(0, |value| u64::from_le_bytes(value[..8].try_into().unwrap()));
            assert!(there >= *known, "a check sees {there} of {writer}, {known} were acknowledged");
        }
        Ok(())
    }
}

/// Groups that take no number.
fn nothing(db: &Db, kind: u64) -> ferrock::Result<()> {
    let mut batch = WriteBatch::new();
    match kind {
        0 => {}
        1 => batch.put_log_data(b"remark")?,
        _ => return Ok(()),
    }
    db.write(batch, &WriteOptions::default())
}

/// Writes until all is written, or a write fails. A write that fails may be there.
fn write(db: &Db, writer: usize, seed: u64, batches: u64, progress: &Progress) {
    let mut random = Random::new(seed + writer as u64);
    COMPARES.set(1);
    for generation in 1..=batches {
        let known = read(&progress.acknowledged);
        let batch = batch_of(writer, generation, &known, &mut random);
        let sync = random.below(12) == 0;
        progress.begun[writer].store(generation, Ordering::Release);
        let options = WriteOptions { sync, ..WriteOptions::default() };
        let (counts, kind) = (random.below(3) == 0, random.below(6));
        let checks = random.below(20) == 0;
        let written = std::panic::catch_unwind(AssertUnwindSafe(|| {
            if counts {
                count(db, progress);
            }
            nothing(db, kind)?;
            match checks {
                true => db.write_checked(batch, &options, sees(db.clone(), known)),
                false => db.write(batch, &options),
            }
        }));
        if !written.is_ok_and(|written| written.is_ok()) {
            return;
        }
        progress.acknowledged[writer].store(generation, Ordering::Release);
        if sync {
            progress.synced[writer].store(generation, Ordering::Release);
        }
    }
}

/// Checks what the view must hold, and returns how far each writer is in it.
fn check(db: &Db, families: &[ColumnFamily], at: &ReadOptions) -> Generations {
    let mut known = [[0; WRITERS]; WRITERS];
    let mut generations = [0; WRITERS];
    for writer in 0..WRITERS {
        let key = |name: &str| format!("w{writer}{name}").into_bytes();
        let get = |family: u32, name: &str| db.get_cf(&families[family as usize], at, &key(name)).unwrap();
        let number = |bytes: &[u8], place: usize| u64::from_le_bytes(bytes[place * 8..][..8].try_into().unwrap());
        let generation = get(0, "a").map_or(0, |value| number(&value, 0));
        for (family, name) in PARTS {
            let part = get(family, name);
            assert_eq!(part.as_ref().map_or(0, |value| number(value, 0)), generation, "{writer} {name}: half a batch");
            if let Some(value) = part {
                known[writer] = std::array::from_fn(|other| number(&value, 1 + other));
            }
        }
        assert_eq!(get(0, "sum").map_or(0, |sum| number(&sum, 0)), generation, "{writer}: operands");
        for (family, name) in [(1, "scratch"), (0, "once")] {
            let mut iter = db.iter_cf(&families[family], at);
            iter.seek(&key(name));
            let mut rows = Vec::new();
            while iter.valid() && iter.key().starts_with(&key(name)) {
                rows.push(iter.key().to_vec());
                iter.next();
            }
            iter.status().unwrap();
            let wanted: Vec<Vec<u8>> =
                (generation > 0).then(|| key(&format!("{name}{generation:06}"))).into_iter().collect();
            assert_eq!(rows, wanted, "{writer} {name}");
        }
        generations[writer] = generation;
    }
    for (writer, known) in known.iter().enumerate() {
        let others = known.iter().zip(&generations);
        assert!(
            others.clone().all(|(known, there)| known <= there),
            "{writer} knew of {known:?}, there is {generations:?}"
        );
    }
    generations
}

fn assert_between(least: &Generations, found: &Generations, most: &Generations, what: &str) {
    let is_right = (0..WRITERS).all(|writer| (least[writer]..=most[writer]).contains(&found[writer]));
    assert!(is_right, "{what}: {found:?} is not between {least:?} and {most:?}");
}

/// Looks at snapshots while writers write: each holds all that was acknowledged before it, and stays what it is.
fn read_snapshots(db: &Db, families: &[ColumnFamily], progress: &Progress, is_done: &AtomicBool) {
    while !is_done.load(Ordering::Acquire) {
        let least = read(&progress.acknowledged);
        let at = ReadOptions { snapshot: Some(db.snapshot()), total_order_seek: true, ..ReadOptions::default() };
        let found = check(db, families, &at);
        assert_between(&least, &found, &read(&progress.begun), "a snapshot");
        assert_eq!(check(db, families, &at), found, "a snapshot changed");
    }
}

/// What makes leaders wait for inserts: switches of memtables and logs, families that come and go, closed sections.
fn meddle(db: &Db, families: &[ColumnFamily], seed: u64, is_done: &AtomicBool) {
    let mut random = Random::new(seed);
    while !is_done.load(Ordering::Acquire) {
        match random.below(6) {
            0 => drop(db.compact_range(None, None)),
            1 => drop(db.flush_wal(random.below(2) == 0)),
            2 => {
                if let Ok(family) = db.create_column_family("other", ColumnFamilyOptions::default()) {
                    drop(db.put_cf(&family, b"key", b"value", &WriteOptions::default()));
                    drop(db.drop_column_family(&family));
                }
            }
            _ => {
                let family = &families[random.below(2) as usize];
                let options =
                    FlushOptions { wait: random.below(2) == 0, allow_write_stall: true, ..FlushOptions::default() };
                drop(db.flush_cf(family, &options));
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(3000)));
    }
}

/// A file system as a crash left it, and how far each writer must and may be in it.
struct Crashed {
    file_system: MemoryFileSystem,
    least: Generations,
    most: Generations,
    policy: CrashPolicy,
}

fn crash(file_system: &MemoryFileSystem, progress: &Progress, random: &mut Random) -> Crashed {
    let seed = random.next_u64();
    let policy = match random.below(4) {
        0 => CrashPolicy::KeepAll,
        1 => CrashPolicy::KeepNothingUnsynced,
        2 => CrashPolicy::KeepSubset { seed },
        _ => CrashPolicy::Torn { seed, granularity_bytes: if random.below(2) == 0 { 1 } else { 512 } },
    };
    let is_kept = policy == CrashPolicy::KeepAll;
    let least = read(if is_kept { &progress.acknowledged } else { &progress.synced });
    let file_system = file_system.crash_clone(policy);
    Crashed { file_system, least, most: read(&progress.begun), policy }
}

/// One history. With a fault, the log fails at some append or sync.
fn play(seed: u64) {
    let mut random = Random::new(seed);
    let setting = Setting::draw(&mut random);
    let files = MemoryFileSystem::new();
    let faulty = FaultInjectionFileSystem::new(Arc::new(files.clone()));
    let (db, families) = setting.open(Arc::new(faulty.clone()));
    let fails = random.below(3) == 0;
    if fails {
        let operation = if random.below(2) == 0 { OperationKind::Append } else { OperationKind::Sync };
        let fault = if random.below(2) == 0 { Fault::Io } else { Fault::ShortWrite { kept_bytes: 20 } };
        faulty.add_rule(FaultRule::new(operation, "*.log", fault).when(Trigger::From(1 + random.below(60))));
    }
    let panics = setting.may_panic && random.below(3) == 0;
    PANIC_AT.store(if panics { 1 + random.below(100) } else { u64::MAX }, Ordering::Relaxed);
    let (progress, is_done) = (Progress::default(), AtomicBool::new(false));
    let mut crashes = Vec::new();
    std::thread::scope(|scope| {
        let (db, families, progress, is_done) = (&db, &families[..], &progress, &is_done);
        let batches = setting.batches;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write(db, writer, seed, batches, progress))).collect();
        let reader = scope.spawn(move || read_snapshots(db, families, progress, is_done));
        let meddler = scope.spawn(move || meddle(db, families, seed, is_done));
        while writers.iter().any(|writer| !writer.is_finished()) {
            std::thread::sleep(Duration::from_micros(500 + random.below(4000)));
            if crashes.len() < 6 {
                crashes.push(crash(&files, progress, &mut random));
            }
        }
        is_done.store(true, Ordering::Release);
        writers.into_iter().chain([reader, meddler]).for_each(|thread| thread.join().unwrap());
    });
    let (acknowledged, begun) = (read(&progress.acknowledged), read(&progress.begun));
    assert!(fails || panics || acknowledged == [setting.batches; WRITERS], "{acknowledged:?}");
    let whole = ReadOptions { total_order_seek: true, ..ReadOptions::default() };
    assert_between(&acknowledged, &check(&db, &families, &whole), &begun, "the end");
    let [counted, uncertain] = [&progress.counted, &progress.uncertain].map(|count| count.load(Ordering::Acquire));
    let most = counted + uncertain;
    assert!((counted..=most).contains(&counter(&db).unwrap()), "{} is not {counted}..={most}", counter(&db).unwrap());
    drop((families, db));
    faulty.clear_rules();
    let (db, families) = setting.open(Arc::new(files));
    assert!((counted..=most).contains(&counter(&db).unwrap()), "{} is not {counted}..={most}", counter(&db).unwrap());
    assert_between(&acknowledged, &check(&db, &families, &whole), &begun, "opened again");
    for Crashed { file_system, least, most, policy } in crashes {
        let (db, families) = setting.open(Arc::new(file_system));
        assert_between(&least, &check(&db, &families, &whole), &most, &format!("{policy:?}"));
    }
}

#[test]
fn views_and_crashes_hold_prefixes() {
    for seed in 0..100 {
        let (sender, receiver) = mpsc::channel();
        // A writer that waits for ever would keep the test waiting: it fails and leaves the threads behind.
        let thread = std::thread::spawn(move || {
            play(seed);
            sender.send(()).unwrap();
        });
        let ended = receiver.recv_timeout(5 * PATIENCE);
        assert!(ended != Err(mpsc::RecvTimeoutError::Timeout), "seed {seed}: some thread waits for ever");
        assert!(thread.join().is_ok(), "seed {seed}");
    }
}
