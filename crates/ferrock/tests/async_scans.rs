//! Scans as futures against iterators: the same rows, the same requests, whatever has to be read for them; and no
//! polling thread reads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::threads::RecordingSpawner;
use ferrock::options::{CompressionType, FilterPolicy, LimitReads, MergeOperator, PrefixExtractor};
use ferrock::{AsyncScan, ColumnFamilyOptions, Db, DbOptions, ErrorKind, ReadOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_base::thread::Spawner;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, PosixFileSystem,
    ReadClass, Trigger,
};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(out) => return out,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn scanned(mut scan: AsyncScan) -> Result<Rows, ferrock::Error> {
    block_on(async {
        let mut rows = Vec::new();
        while let Some(batch) = scan.next_batch().await? {
            assert!(!batch.is_empty());
            rows.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec())));
        }
        Ok(rows)
    })
}

fn iterated(db: &Db, options: &ReadOptions, limit: usize) -> Result<Rows, ferrock::Error> {
    let mut iter = db.iter(options);
    let mut rows = Vec::new();
    if limit > 0 {
        iter.seek_to_first();
    }
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        if rows.len() == limit {
            break;
        }
        iter.next();
    }
    iter.status().map(|()| rows)
}

/// Takes the tables of a directory, which are synced, out of the page cache, so that buffered reads of them wait for
/// the device.
fn forget_pages(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let Ok(file) = std::fs::File::open(entry.unwrap().path()) else { continue };
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

/// What `step` returns, from a thread that has ended; buffered reads that it begins of a database wait for the device.
fn on_a_thread_that_ends<T: Send>(db: &Db, step: impl FnOnce() -> T + Send) -> T {
    forget_pages(db.path());
    std::thread::scope(|scope| scope.spawn(step).join().unwrap())
}

/// [`scanned`], some of whose polls are made by threads that end.
fn scanned_away(db: &Db, mut scan: AsyncScan, random: &mut Random) -> Result<Rows, ferrock::Error> {
    let mut rows = Vec::new();
    let poll_once = |scan: &mut AsyncScan| match pin!(scan.next_batch()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(batch) => Some(batch),
        Poll::Pending => None,
    };
    loop {
        let polled = if random.below(3) == 0 { None } else { on_a_thread_that_ends(db, || poll_once(&mut scan)) };
        let Some(batch) = polled.unwrap_or_else(|| block_on(scan.next_batch()))? else { return Ok(rows) };
        rows.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
}

/// [`iterated`], where now and then a thread that ends places the iterator or moves it on.
fn iterated_away(db: &Db, options: &ReadOptions, limit: usize, random: &mut Random) -> Result<Rows, ferrock::Error> {
    let mut iter = db.iter(options);
    let mut rows = Vec::new();
    if limit > 0 {
        on_a_thread_that_ends(db, || iter.seek_to_first());
    }
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        if rows.len() == limit {
            break;
        }
        if random.below(50) == 0 { on_a_thread_that_ends(db, || iter.next()) } else { iter.next() }
    }
    iter.status().map(|()| rows)
}

const KEYS: u64 = 1500;

fn key(number: u64) -> Vec<u8> {
    // A prefix of four bytes for every hundred.
    format!("p{:03}-{:02}", number / 100, number % 100).into_bytes()
}

/// How the tables of a database lie and what is kept of them in memory.
#[derive(Clone, Debug)]
struct Layout {
    is_partitioned: bool,
    caches_index: bool,
    cache_bytes: usize,
    max_open_files: i32,
    has_prefixes: bool,
    block_size: u64,
    is_direct: bool,
}

impl Layout {
    fn random(random: &mut Random) -> Self {
        Self {
            is_partitioned: random.below(2) == 0,
            caches_index: random.below(2) == 0,
            cache_bytes: [0, 3000, 20_000, 10 << 20][random.below(4) as usize],
            max_open_files: [-1, -1, 1, 3][random.below(4) as usize],
            has_prefixes: random.below(2) == 0,
            block_size: [200, 600, 4096][random.below(3) as usize],
            is_direct: random.below(2) == 0,
        }
    }

    /// True when parts of indexes and filters are in the cache: partitions are in any case.
    fn caches_parts(&self) -> bool {
        self.caches_index || self.is_partitioned
    }

    /// Nothing of indexes and filters is in a cache smaller than this.
    fn caches_parts_from(&mut self, cache_bytes: usize) {
        let has_room = self.cache_bytes >= cache_bytes;
        self.caches_index &= has_room;
        self.is_partitioned &= has_room;
    }

    fn open(&self, file_system: Arc<dyn FileSystem>, path: &Path) -> Db {
        self.open_with(file_system, path, None)
    }

    fn open_with(&self, file_system: Arc<dyn FileSystem>, path: &Path, spawner: Option<Arc<dyn Spawner>>) -> Db {
        let cache = CacheOptions { capacity_bytes: self.cache_bytes, ..CacheOptions::default() };
        self.open_cached(file_system, path, spawner, TableBlockCache::new(cache))
    }

    fn open_cached(
        &self,
        file_system: Arc<dyn FileSystem>,
        path: &Path,
        spawner: Option<Arc<dyn Spawner>>,
        cache: Arc<TableBlockCache>,
    ) -> Db {
        let mut family = ColumnFamilyOptions::default();
        family.compression = CompressionType::NoCompression;
        family.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
        family.table.block_size = self.block_size;
        family.table.row_bounds = self.block_size == 600;
        family.filter_policy = FilterPolicy::bloom(10.0);
        family.target_file_size_base = 20_000;
        family.disable_auto_compactions = true;
        family.prefix_extractor = self.has_prefixes.then_some(PrefixExtractor::Fixed(4));
        family.table.cache_index_and_filter_blocks = self.caches_index;
        family.table.pin_top_level_index_and_filter = false;
        if self.is_partitioned {
            family.table.index_type = IndexType::TwoLevelIndexSearch;
            family.table.partition_filters = true;
            family.table.partition_from_level = PartitionFromLevel::Level(0);
            family.table.metadata_block_size = 256;
        }
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.components.file_system = Some(file_system);
        options.components.block_cache = Some(cache);
        options.components.spawner = spawner;
        options.use_direct_reads = self.is_direct;
        options.max_open_files = self.max_open_files;
        Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
    }
}

/// Levels, tables of level 0 and a memtable with all that an iterator has to fold.
fn fill(db: &Db, random: &mut Random) {
    for round in 0..4 {
        for _ in 0..KEYS {
            let name = key(random.below(KEYS));
            let value = vec![b'a' + (round as u8); random.below(120) as usize];
            match random.below(20) {
                0..12 => db.put(&name, &value).unwrap(),
                12..15 => db.merge(&name, &value).unwrap(),
                15..19 => db.delete(&name).unwrap(),
                _ => {
                    let first = random.below(KEYS);
                    db.delete_range(&key(first), &key(first + random.below(60))).unwrap();
                }
            }
        }
        match round {
            0 => db.compact_range(None, None).unwrap(),
            1 | 2 => db.flush().unwrap(),
            _ => {}
        }
    }
}

fn random_options(db: &Db, layout: &Layout, random: &mut Random) -> (ReadOptions, usize) {
    let (a, b) = (random.below(KEYS), random.below(KEYS));
    let mut options = ReadOptions::default();
    options.lower_bound = (random.below(4) > 0).then(|| key(a.min(b)));
    options.upper_bound = (random.below(3) > 0).then(|| key(a.max(b)));
    let limit = if random.below(3) == 0 { random.below(60) as usize } else { usize::MAX };
    if limit < usize::MAX && random.below(2) == 0 {
        options.limit_hint = limit as u64;
    } else if random.below(3) == 0 {
        options.limit_hint = 1 + random.below(30);
    }
    options.prefix_same_as_start = layout.has_prefixes && random.below(2) == 0;
    options.total_order_seek = random.below(2) == 0;
    options.auto_prefix_mode = random.below(2) == 0;
    options.fill_cache = random.below(3) > 0;
    options.async_io = random.below(3) == 0;
    options.readahead_size = [0, 0, 3000][random.below(3) as usize];
    options.snapshot = (random.below(3) == 0).then(|| db.snapshot());
    (options, limit)
}

fn scan_of(db: &Db, (options, limit): &(ReadOptions, usize), random: &mut Random) -> AsyncScan {
    let scan = db.scan_async(options).with_batch_bytes([1, 700, 64 << 10][random.below(3) as usize]);
    if *limit < usize::MAX { scan.with_limit(*limit as u64) } else { scan }
}

/// File systems whose reads take time, so that scans pause; and one whose reads do not.
fn file_systems() -> Vec<Arc<dyn FileSystem>> {
    let mut all: Vec<Arc<dyn FileSystem>> =
        vec![Arc::new(PosixFileSystem::with_backend(Some("pread"))), Arc::new(MemoryFileSystem::new())];
    let ring = PosixFileSystem::with_backend(None);
    if ring.io_backend() == "io_uring" {
        all.push(Arc::new(ring));
    }
    all
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("FERROCK_ASYNC_SCAN_SEEDS").ok().and_then(|count| count.parse().ok());
    0..count.unwrap_or(12)
}

#[test]
fn scans_find_what_iterators_find_however_tables_lie() {
    for seed in seeds() {
        for file_system in file_systems() {
            let mut random = Random::new(seed);
            let layout = Layout::random(&mut random);
            let dir = tempfile::tempdir().unwrap();
            let db = layout.open(Arc::clone(&file_system), dir.path());
            fill(&db, &mut random);
            for round in 0..60 {
                let mut wanted = random_options(&db, &layout, &mut random);
                wanted.0.limit_reads = [LimitReads::FewestRequests, LimitReads::FewestBytes][random.below(2) as usize];
                let rows = iterated(&db, &wanted.0, wanted.1).unwrap();
                let scan = scan_of(&db, &wanted, &mut random);
                assert!(scanned(scan).unwrap() == rows, "seed {seed} {layout:?} {wanted:?}");
                if round % 6 > 0 {
                    continue;
                }
                // The same from thread to thread, each of which ends with reads in flight.
                let name = |error: ferrock::Error| panic!("seed {seed} {layout:?} {wanted:?}: {error}");
                let scan = scan_of(&db, &wanted, &mut random).with_batch_bytes(2000);
                assert!(
                    scanned_away(&db, scan, &mut random).unwrap_or_else(name) == rows,
                    "seed {seed} {layout:?} {wanted:?}"
                );
                let iterated = iterated_away(&db, &wanted.0, wanted.1, &mut random).unwrap_or_else(name);
                assert!(iterated == rows, "seed {seed} {layout:?} {wanted:?}");
            }
        }
    }
}

/// Two of level 0 and one of level 1.
const TABLES_AT_ONCE: u64 = 3;

/// Requests and bytes that went to the device.
fn device(file_system: &dyn FileSystem) -> (u64, u64) {
    let counters = file_system.counters().snapshot();
    let all = ReadClass::ALL.map(|class| counters.class(class));
    all.iter().fold((0, 0), |sum, class| (sum.0 + class.requests, sum.1 + class.device_bytes))
}

#[test]
fn scans_read_what_iterators_read() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut layout = Layout { max_open_files: -1, is_direct: true, ..Layout::random(&mut random) };
        // An index that is to be in the cache and has no room there is read again and again, by each reader.
        layout.caches_parts_from(20_000);
        let dir = tempfile::tempdir().unwrap();
        let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(None));
        fill(&layout.open(Arc::clone(&file_system), dir.path()), &mut random);
        for _ in 0..20 {
            let begin = random.next_u64();
            let mut costs = Vec::new();
            for is_async in [false, true] {
                let mut random = Random::new(begin);
                // Each begins with an empty cache, open tables, and without a history of windows.
                let db = layout.open(Arc::clone(&file_system), dir.path());
                let warm = ReadOptions { fill_cache: false, ..ReadOptions::default() };
                assert!(!iterated(&db, &warm, usize::MAX).unwrap().is_empty());
                let wanted = random_options(&db, &layout, &mut random);
                let before = device(&*file_system);
                let rows = if is_async {
                    scanned(scan_of(&db, &wanted, &mut random)).unwrap()
                } else {
                    iterated(&db, &wanted.0, wanted.1).unwrap()
                };
                let after = device(&*file_system);
                costs.push(((after.0 - before.0, after.1 - before.1), rows, wanted));
            }
            let (blocking, scan) = (&costs[0], &costs[1]);
            assert!(blocking.1 == scan.1);
            let (of_iterator, of_scan) = (blocking.0, scan.0);
            let what = || format!("{of_scan:?} for {of_iterator:?}: seed {seed} begin {begin} {layout:?} {:?}", scan.2);
            if scan.2.0.async_io || scan.2.0.readahead_size > 0 {
                // The two begin at different windows to read ahead, by one for each table.
                assert!(of_scan.0 <= of_iterator.0 + TABLES_AT_ONCE, "{}", what());
            } else {
                assert!(of_scan.0 <= of_iterator.0 && of_scan.1 <= of_iterator.1, "{}", what());
                // An iterator that finds no room for what it reads of an index may read that again.
                assert!(of_scan == of_iterator || layout.caches_parts(), "{}", what());
            }
        }
    }
}

#[test]
fn nobody_who_polls_reads() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        let layout = Layout::random(&mut random);
        let dir = tempfile::tempdir().unwrap();
        let inner = Arc::new(PosixFileSystem::with_backend(Some("pread")));
        let faulty = Arc::new(FaultInjectionFileSystem::new(inner));
        let db = layout.open(Arc::clone(&faulty) as Arc<dyn FileSystem>, dir.path());
        fill(&db, &mut random);
        for _ in 0..30 {
            let wanted = random_options(&db, &layout, &mut random);
            let rows = iterated(&db, &wanted.0, wanted.1).unwrap();
            let here = std::thread::current().id();
            let rule = |kind| faulty.add_rule(FaultRule::new(kind, "*", Fault::Io).on_thread(here));
            let (reads, opens) = (rule(OperationKind::Read), rule(OperationKind::Open));
            let scan = scan_of(&db, &wanted, &mut random);
            assert!(scanned(scan).unwrap() == rows, "seed {seed} {layout:?} {wanted:?}");
            assert_eq!(faulty.remove_rule(reads), Some(0), "reads by the thread that polls: {layout:?} {wanted:?}");
            assert_eq!(faulty.remove_rule(opens), Some(0), "files opened by it: {layout:?} {wanted:?}");
        }
    }
}

#[test]
fn a_scan_of_open_tables_takes_no_thread_of_the_database() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut layout = Layout { max_open_files: -1, ..Layout::random(&mut random) };
        layout.caches_parts_from(1 << 20);
        let dir = tempfile::tempdir().unwrap();
        let spawner = Arc::new(RecordingSpawner::default());
        let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(None));
        let db = layout.open_with(file_system, dir.path(), Some(Arc::clone(&spawner) as Arc<dyn Spawner>));
        fill(&db, &mut random);
        let before = spawner.count("");
        for _ in 0..30 {
            let mut wanted = random_options(&db, &layout, &mut random);
            // What a scan reads of indexes and filters is to stay with it.
            wanted.0.fill_cache |= layout.caches_parts();
            scanned(scan_of(&db, &wanted, &mut random)).unwrap();
        }
        assert_eq!(spawner.count(""), before, "seed {seed} {layout:?}");
    }
}

#[test]
fn reads_that_fail_fail_the_scan_or_are_made_again() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        let layout = Layout { max_open_files: -1, ..Layout::random(&mut random) };
        let dir = tempfile::tempdir().unwrap();
        let inner = Arc::new(PosixFileSystem::with_backend(Some("pread")));
        let faulty = Arc::new(FaultInjectionFileSystem::new(inner));
        let db = layout.open(Arc::clone(&faulty) as Arc<dyn FileSystem>, dir.path());
        fill(&db, &mut random);
        let mut failed = 0;
        for round in 0..40 {
            let wanted = random_options(&db, &layout, &mut random);
            let rows = iterated(&db, &wanted.0, wanted.1).unwrap();
            let fault =
                [Fault::Io, Fault::ShortRead { kept_bytes: 10 }, Fault::BitFlip { seed: random.next_u64() }][round % 3];
            let from = random.below(20) + 1;
            let trigger = if round % 2 == 0 { Trigger::Nth(from) } else { Trigger::From(from) };
            faulty.add_rule(FaultRule::new(OperationKind::Read, "*", fault).when(trigger));
            let scan = scanned(scan_of(&db, &wanted, &mut random));
            faulty.clear_rules();
            match scan {
                Ok(found) => assert!(found == rows, "seed {seed} {layout:?} {wanted:?}"),
                Err(error) => {
                    failed += 1;
                    assert_ne!(error.kind(), ErrorKind::TryAgain, "{error}");
                }
            }
            let again = scan_of(&db, &wanted, &mut random);
            assert!(scanned(again).unwrap() == rows, "nothing stays behind: seed {seed} {layout:?} {wanted:?}");
        }
        assert!(failed > 0 || layout.cache_bytes > 1 << 20, "seed {seed} {layout:?}");
    }
}

fn of_class(file_system: &dyn FileSystem, class: ReadClass) -> u64 {
    file_system.counters().snapshot().class(class).requests
}

/// Tables of level 0 that follow one another.
fn tables_in_turn(db: &Db) {
    for table in 0..8 {
        for row in 0..200 {
            db.put(format!("k{table}-{row:04}").as_bytes(), &[b'v'; 100]).unwrap();
        }
        db.flush().unwrap();
    }
}

fn cost_of_first_row(layout: &Layout, is_async: bool, fill_cache: bool, forget: bool) -> (Rows, u64, u64) {
    let dir = tempfile::tempdir().unwrap();
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    tables_in_turn(&layout.open(Arc::clone(&file_system), dir.path()));
    let cache = TableBlockCache::new(CacheOptions { capacity_bytes: layout.cache_bytes, ..CacheOptions::default() });
    let db = layout.open_cached(Arc::clone(&file_system), dir.path(), None, Arc::clone(&cache));
    if forget {
        cache.erase_unreferenced();
    }
    let mut options = ReadOptions::default();
    options.limit_hint = 1;
    options.fill_cache = fill_cache;
    let before = (of_class(&*file_system, ReadClass::Data), of_class(&*file_system, ReadClass::Index));
    let rows = if is_async {
        scanned(db.scan_async(&options).with_limit(1)).unwrap()
    } else {
        iterated(&db, &options, 1).unwrap()
    };
    let after = (of_class(&*file_system, ReadClass::Data), of_class(&*file_system, ReadClass::Index));
    (rows, after.0 - before.0, after.1 - before.1)
}

fn plain() -> Layout {
    Layout {
        is_partitioned: false,
        caches_index: false,
        cache_bytes: 10 << 20,
        max_open_files: -1,
        has_prefixes: false,
        block_size: 600,
        is_direct: true,
    }
}

#[test]
fn a_thread_defers_what_iterators_defer() {
    for (what, layout, fill_cache, forget) in [
        ("open tables", plain(), true, false),
        ("tables that are not open", Layout { max_open_files: 1, ..plain() }, true, false),
        ("the index is not to be kept", Layout { caches_index: true, ..plain() }, false, true),
    ] {
        let blocking = cost_of_first_row(&layout, false, fill_cache, forget);
        let scan = cost_of_first_row(&layout, true, fill_cache, forget);
        assert!(blocking.0 == scan.0);
        let requests = |cost: &(Rows, u64, u64)| (cost.1, cost.2);
        assert_eq!(requests(&scan), requests(&blocking), "{what}: requests for data and index");
    }
}

#[test]
fn a_file_that_a_thread_opens_is_gone_on_in() {
    let mut costs = Vec::new();
    for (max_open_files, is_async) in [(-1, false), (-1, true), (1, false), (1, true)] {
        let layout = Layout { max_open_files, ..plain() };
        let dir = tempfile::tempdir().unwrap();
        let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
        {
            let db = layout.open(Arc::clone(&file_system), dir.path());
            for row in 0..4000 {
                db.put(format!("k{row:06}").as_bytes(), &[b'v'; 100]).unwrap();
            }
            db.flush().unwrap();
            for row in 0..4000 {
                db.put(format!("k{row:06}").as_bytes(), &[b'w'; 100]).unwrap();
            }
            db.compact_range(None, None).unwrap();
        }
        let db = layout.open(Arc::clone(&file_system), dir.path());
        let mut options = ReadOptions::default();
        options.adaptive_readahead = true;
        let before = of_class(&*file_system, ReadClass::Data);
        let rows = if is_async {
            scanned(db.scan_async(&options).with_batch_bytes(6000)).unwrap()
        } else {
            iterated(&db, &options, usize::MAX).unwrap()
        };
        assert_eq!(rows.len(), 4000);
        costs.push(of_class(&*file_system, ReadClass::Data) - before);
    }
    assert_eq!(costs[0], costs[1], "open files");
    assert_eq!(costs[2], costs[3], "files that are opened by threads");
}

#[test]
fn nobody_who_polls_removes_files() {
    let dir = tempfile::tempdir().unwrap();
    let inner = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    let faulty = Arc::new(FaultInjectionFileSystem::new(inner));
    let db = plain().open(Arc::clone(&faulty) as Arc<dyn FileSystem>, dir.path());
    tables_in_turn(&db);
    let mut scan = db.scan_async(&ReadOptions::default()).with_batch_bytes(1);
    block_on(scan.next_batch()).unwrap().unwrap();
    db.compact_range(None, None).unwrap();
    let here = std::thread::current().id();
    let rule = faulty.add_rule(FaultRule::new(OperationKind::Remove, "*.sst", Fault::Io).on_thread(here));
    drop(scan);
    assert_eq!(faulty.remove_rule(rule), Some(0), "files removed by the thread that dropped the scan");
}

#[test]
fn a_dropped_scan_leaves_its_thread() {
    let dir = tempfile::tempdir().unwrap();
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::with_backend(Some("pread")));
    let layout = Layout { max_open_files: 1, block_size: 4096, ..plain() };
    {
        let db = layout.open(Arc::clone(&file_system), dir.path());
        for row in 0..200_000 {
            db.put(format!("k{row:06}").as_bytes(), &[b'v'; 100]).unwrap();
        }
        db.compact_range(None, None).unwrap();
    }
    let db = layout.open(Arc::clone(&file_system), dir.path());
    // Where this thread gets no time, the other may have been through before it is asked again.
    let begin = (0..20).find_map(|_| {
        let begin = device(&*file_system).1;
        let mut scan = db.scan_async(&ReadOptions::default()).with_batch_bytes(usize::MAX);
        let polled = pin!(scan.next_batch()).poll(&mut Context::from_waker(Waker::noop()));
        polled.is_pending().then_some(begin)
    });
    let begin = begin.expect("its files are not open");
    // The helper threads are left to others: what they do next is not behind 23 MB of rows.
    let read = || device(&*file_system).1 - begin;
    let mut before = read();
    for _ in 0..100 {
        // Time itself: that nothing is read any more has no end that could be waited for.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let now = read();
        if now == before {
            break;
        }
        before = now;
    }
    assert!(before < 10 << 20, "{before} bytes were read in vain");
}
