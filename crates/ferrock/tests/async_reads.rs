//! Reads as futures: on any executor they find what blocking reads find, in as many requests; a key that is in memory
//! waits for nothing, an error is its key's own, and a future may be dropped at any moment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::threads::wait_until;
use common::{key, slices};
use ferrock::options::{CompressionType, FilterPolicy, MergeOperator, ReadTier};
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, ErrorKind, PinnedSlice, ReadOptions, WriteOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, PosixFileSystem, Trigger,
};
use proptest::prelude::*;
use std::future::Future;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

type Found = Result<Option<Vec<u8>>, ferrock::Error>;

fn owned(result: Result<Option<PinnedSlice>, ferrock::Error>) -> Found {
    result.map(|value| value.map(PinnedSlice::into_vec))
}

/// An executor of one future.
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

/// What one poll gives.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(out) => Some(out),
        Poll::Pending => None,
    }
}

/// An executor of many futures on one thread, which polls those that were woken.
struct Tasks<F> {
    futures: Vec<Option<F>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken {
    numbers: Mutex<Vec<usize>>,
    changed: Condvar,
}

struct Numbered(usize, Arc<Woken>);

impl Wake for Numbered {
    fn wake(self: Arc<Self>) {
        self.1.numbers.lock().unwrap().push(self.0);
        self.1.changed.notify_one();
    }
}

impl<F: Future + Unpin> Tasks<F> {
    fn run(futures: Vec<F>, each: &mut dyn FnMut(usize, F::Output)) {
        let all = (0..futures.len()).collect();
        let woken = Arc::new(Woken { numbers: Mutex::new(all), changed: Condvar::new() });
        let mut tasks = Self { futures: futures.into_iter().map(Some).collect(), woken };
        let mut left = tasks.futures.len();
        while left > 0 {
            for number in tasks.woken() {
                let Some(future) = &mut tasks.futures[number] else { continue };
                let waker = Waker::from(Arc::new(Numbered(number, Arc::clone(&tasks.woken))));
                if let Poll::Ready(out) = Pin::new(future).poll(&mut Context::from_waker(&waker)) {
                    tasks.futures[number] = None;
                    left -= 1;
                    each(number, out);
                }
            }
        }
    }

    fn woken(&self) -> Vec<usize> {
        let mut numbers = self.woken.numbers.lock().unwrap();
        while numbers.is_empty() {
            let (guard, waited) = self.woken.changed.wait_timeout(numbers, Duration::from_secs(60)).unwrap();
            assert!(!waited.timed_out(), "no task was woken");
            numbers = guard;
        }
        std::mem::take(&mut *numbers)
    }
}

fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.compression = CompressionType::NoCompression;
    options.disable_auto_compactions = true;
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options.filter_policy = FilterPolicy::bloom(10.0);
    options.table.block_size = 512;
    options
}

fn partitioned(mut options: ColumnFamilyOptions) -> ColumnFamilyOptions {
    options.table.index_type = IndexType::TwoLevelIndexSearch;
    options.table.partition_filters = true;
    options.table.partition_from_level = PartitionFromLevel::Level(0);
    options.table.metadata_block_size = 256;
    options.table.cache_index_and_filter_blocks = true;
    options.table.pin_top_level_index_and_filter = false;
    options
}

fn cache_of(capacity_bytes: usize) -> Arc<TableBlockCache> {
    TableBlockCache::new(CacheOptions { capacity_bytes, ..CacheOptions::default() })
}

fn open(file_system: Arc<dyn FileSystem>, path: &Path, family: ColumnFamilyOptions, cache_bytes: usize) -> Db {
    open_reading(Reading::Direct, file_system, path, family, cache_bytes)
}

/// How tables are read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reading {
    Direct,
    Buffered,
}

fn open_reading(
    reading: Reading,
    file_system: Arc<dyn FileSystem>,
    path: &Path,
    family: ColumnFamilyOptions,
    cache_bytes: usize,
) -> Db {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(file_system);
    options.components.block_cache = Some(cache_of(cache_bytes));
    options.use_direct_reads = reading == Reading::Direct;
    Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
}

const KEYS: u64 = 3000;

/// Three tables and a memtable: values, merges over them, deletions, a range tombstone.
fn fill(db: &Db) {
    let mut random = Random::new(7);
    for round in 0..4 {
        for number in 0..KEYS {
            let name = key(number);
            match (round, random.next_u64() % 10) {
                (0, 0..8) => db.put(&name, &value(number, round)).unwrap(),
                (_, 0) => db.put(&name, &value(number, round)).unwrap(),
                (_, 1) => db.merge(&name, &value(number, round)).unwrap(),
                (_, 2) => db.delete(&name).unwrap(),
                _ => {}
            }
        }
        if round == 1 {
            db.delete_range(&key(1000), &key(1100)).unwrap();
        }
        if round < 3 {
            db.flush().unwrap();
        }
    }
}

fn value(number: u64, round: u64) -> Vec<u8> {
    format!("value {number} of {round} {}", "x".repeat((number % 90) as usize)).into_bytes()
}

fn file_systems() -> Vec<(&'static str, Arc<dyn FileSystem>)> {
    let mut all: Vec<(&str, Arc<dyn FileSystem>)> = vec![
        ("memory", Arc::new(MemoryFileSystem::new())),
        ("pread", Arc::new(PosixFileSystem::with_backend(Some("pread")))),
    ];
    let ring = PosixFileSystem::with_backend(None);
    if ring.io_backend() == "io_uring" {
        all.push(("io_uring", Arc::new(ring)));
    }
    all
}

fn all_keys() -> Vec<Vec<u8>> {
    (0..KEYS + 50).map(key).collect()
}

fn in_use(file_system: &dyn FileSystem) -> u64 {
    file_system.read_layer().unwrap().pool().usage().in_use_bytes
}

fn assert_nothing_in_use(file_system: &dyn FileSystem) {
    wait_until("no bytes in use", || in_use(file_system) == 0);
}

/// Takes the tables of a database, which are synced, out of the page cache, so that buffered reads of them wait for the
/// device.
fn forget_pages(db: &Db) {
    let Ok(entries) = std::fs::read_dir(db.path()) else { return };
    for entry in entries {
        let Ok(file) = std::fs::File::open(entry.unwrap().path()) else { continue };
        #[cfg(target_os = "linux")]
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

/// What `begin` returns, from a thread that has ended.
fn on_a_thread_that_ends<T: Send>(begin: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(begin).join().unwrap())
}

/// Runs `test` with every file system and layout of tables, with a cache for a few blocks.
fn everywhere(test: impl Fn(&Db, &Arc<dyn FileSystem>)) {
    for layout in [family_options, || partitioned(family_options())] {
        let direct = file_systems().into_iter().map(|(name, file_system)| (name, file_system, Reading::Direct));
        let buffered = file_systems().into_iter().skip(1).map(|(name, files)| (name, files, Reading::Buffered));
        for (name, file_system, reading) in direct.chain(buffered) {
            let dir = tempfile::tempdir().unwrap();
            let path = if name == "memory" { Path::new("/db") } else { dir.path() };
            let db = open_reading(reading, Arc::clone(&file_system), path, layout(), 20_000);
            fill(&db);
            test(&db, &file_system);
            drop(db);
            assert_nothing_in_use(&*file_system);
        }
    }
}

#[test]
fn futures_find_what_gets_find() {
    everywhere(|db, file_system| {
        let keys = all_keys();
        let snapshot = db.snapshot();
        let at_snapshot = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
        for number in (0..KEYS).step_by(7) {
            db.put(&key(number), b"newer").unwrap();
        }
        let uncached = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        let timed = ReadOptions { io_timeout: Duration::from_secs(600), ..ReadOptions::default() };
        for options in [ReadOptions::default(), at_snapshot, uncached, timed] {
            let wanted: Vec<Found> = keys.iter().map(|key| owned(db.get_with(&options, key))).collect();
            let futures = keys.iter().map(|key| db.get_async(&options, key)).collect();
            let mut found: Vec<Option<Found>> = keys.iter().map(|_| None).collect();
            Tasks::run(futures, &mut |number, result| found[number] = Some(owned(result)));
            for (number, wanted) in wanted.iter().enumerate() {
                assert_eq!(found[number].as_ref().unwrap().as_ref().unwrap(), wanted.as_ref().unwrap(), "key {number}");
            }
            for some in keys.chunks(100) {
                let found = block_on(db.multi_get_async(&options, &slices(some)));
                for (result, key) in found.into_iter().zip(some) {
                    assert_eq!(owned(result).unwrap(), owned(db.get_with(&options, key)).unwrap());
                }
            }
        }
        assert_nothing_in_use(&**file_system);
    });
}

#[test]
fn ten_thousand_futures_on_one_thread() {
    everywhere(|db, _| {
        let mut random = Random::new(3);
        let numbers: Vec<u64> = (0..10_000).map(|_| random.next_u64() % KEYS).collect();
        let options = ReadOptions::default();
        let wanted: Vec<Found> = (0..KEYS).map(|number| owned(db.get(&key(number)))).collect();
        let futures = numbers.iter().map(|&number| db.get_async(&options, &key(number))).collect();
        let mut count = 0;
        Tasks::run(futures, &mut |index, result| {
            assert_eq!(owned(result).unwrap(), *wanted[numbers[index] as usize].as_ref().unwrap());
            count += 1;
        });
        assert_eq!(count, 10_000);
    });
}

#[test]
fn what_is_in_memory_is_there_at_the_first_poll_without_a_system_call() {
    for (name, file_system) in file_systems() {
        let dir = tempfile::tempdir().unwrap();
        let path = if name == "memory" { Path::new("/db") } else { dir.path() };
        let db = open(Arc::clone(&file_system), path, partitioned(family_options()), 64 << 20);
        fill(&db);
        let keys = all_keys();
        let wanted: Vec<Found> = keys.iter().map(|key| owned(db.get(key))).collect();
        let before = file_system.counters().snapshot();
        let options = ReadOptions::default();
        for (key, wanted) in keys.iter().zip(&wanted) {
            let found = poll_once(&mut db.get_async(&options, key)).expect("it is in memory");
            assert_eq!(owned(found).unwrap(), *wanted.as_ref().unwrap());
        }
        let found = poll_once(&mut db.multi_get_async(&options, &slices(&keys))).expect("they are in memory");
        for (found, wanted) in found.into_iter().zip(&wanted) {
            assert_eq!(owned(found).unwrap(), *wanted.as_ref().unwrap());
        }
        assert_eq!(file_system.counters().snapshot(), before, "nothing was asked of the file system");
        assert_eq!(file_system.read_layer().unwrap().thread_count(), 0, "and no thread started");
    }
}

#[test]
fn requests_are_those_of_blocking_reads() {
    let Some((_, file_system)) = file_systems().pop().filter(|(name, _)| *name == "io_uring") else { return };
    let dir = tempfile::tempdir().unwrap();
    let open = || open(Arc::clone(&file_system), dir.path(), family_options(), 20_000);
    let db = open();
    fill(&db);
    db.compact_range(None, None).unwrap();
    let keys: Vec<_> = (0..KEYS).step_by(61).map(key).collect();
    let requests = |db: Db, action: &dyn Fn(&Db)| {
        db.get(b"a").unwrap();
        let before = file_system.counters().snapshot().all_classes();
        action(&db);
        file_system.counters().snapshot().all_classes().since(before)
    };
    let uncached = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    drop(db);
    let blocking = requests(open(), &|db| {
        for key in &keys {
            db.get_with(&uncached, key).unwrap();
        }
    });
    let one_by_one = requests(open(), &|db| {
        for key in &keys {
            block_on(db.get_async(&uncached, key)).unwrap();
        }
    });
    let together = requests(open(), &|db| {
        let found = block_on(db.multi_get_async(&uncached, &slices(&keys)));
        assert!(found.iter().all(Result::is_ok));
    });
    assert!(blocking.requests > 20, "{blocking:?}");
    assert_eq!((blocking, blocking), (one_by_one, together));
}

#[test]
fn a_block_that_many_wait_for_is_read_and_made_once() {
    const FUTURES: u64 = 1000;
    let Some((_, file_system)) = file_systems().pop().filter(|(name, _)| *name == "io_uring") else { return };
    let dir = tempfile::tempdir().unwrap();
    let db = open(Arc::clone(&file_system), dir.path(), family_options(), 64 << 20);
    fill(&db);
    db.compact_range(None, None).unwrap();
    drop(db);
    for options in [ReadOptions::default(), ReadOptions { fill_cache: false, ..ReadOptions::default() }] {
        let cache = cache_of(64 << 20);
        let mut db_options = DbOptions::default();
        db_options.components.file_system = Some(Arc::clone(&file_system));
        db_options.components.block_cache = Some(Arc::clone(&cache));
        db_options.use_direct_reads = true;
        let db = Db::open_cf(dir.path(), db_options, vec![("default".to_owned(), family_options())]).unwrap().0;
        let uncached = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        let value_of = |number| owned(db.get_with(&uncached, &key(number))).unwrap();
        let (wanted, key) = (5..KEYS).find_map(|number| Some((value_of(number)?, key(number)))).unwrap();
        let (counted, stats) = (file_system.counters().snapshot(), cache.stats().total());
        // All are started before any is polled.
        let futures = (0..FUTURES).map(|_| db.get_async(&options, &key)).collect();
        Tasks::run(futures, &mut |_, result| assert_eq!(owned(result).unwrap().as_ref(), Some(&wanted)));
        let requests = file_system.counters().snapshot().all_classes().since(counted.all_classes());
        // How many are joined hangs on how fast the device is.
        assert!((1..FUTURES * 3 / 4).contains(&requests.requests), "{requests:?}");
        let after = cache.stats().total();
        assert_eq!((after.hits - stats.hits, after.misses - stats.misses), (0, FUTURES), "each looked once");
        let inserts = after.inserts - stats.inserts;
        assert!(inserts <= requests.requests && (inserts > 0) == options.fill_cache, "{inserts} of {requests:?}");
    }
}

#[test]
fn reads_that_are_not_allowed_say_so() {
    let db = open(Arc::new(MemoryFileSystem::new()), Path::new("/db"), family_options(), 2000);
    fill(&db);
    let options = ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..ReadOptions::default() };
    let mut kinds = Vec::new();
    for key in all_keys() {
        let wanted = owned(db.get_with(&options, &key));
        let found = owned(poll_once(&mut db.get_async(&options, &key)).expect("it may not wait"));
        assert_eq!(found.as_ref().map_err(ferrock::Error::kind), wanted.as_ref().map_err(ferrock::Error::kind));
        kinds.extend(found.err().map(|error| error.kind()));
    }
    assert!(kinds.contains(&ErrorKind::Incomplete), "{}", kinds.len());
    let late = ReadOptions { deadline: Duration::from_secs(1), ..ReadOptions::default() };
    let failed = (0..KEYS).filter(|&number| {
        block_on(db.get_async(&late, &key(number))).is_err_and(|error| error.kind() == ErrorKind::TimedOut)
    });
    assert!(failed.count() > 0, "1970 is over");
}

#[test]
fn a_block_that_cannot_be_read_fails_its_own_keys() {
    let faulty = Arc::new(FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let db = open(Arc::clone(&faulty) as Arc<dyn FileSystem>, Path::new("/db"), family_options(), 1 << 20);
    fill(&db);
    db.compact_range(None, None).unwrap();
    let keys: Vec<_> = (0..KEYS).step_by(50).map(key).collect();
    db.get(&keys[0]).unwrap();
    let uncached = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let wanted: Vec<Found> = keys.iter().map(|key| owned(db.get_with(&uncached, key))).collect();
    let check = |found: &[Found]| {
        let failed: Vec<_> = found.iter().filter_map(|found| found.as_ref().err()).collect();
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert_eq!(failed[0].kind(), ErrorKind::Io);
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(found.as_ref().map_or(true, |found| found == wanted.as_ref().unwrap()));
        }
    };
    let rule = || FaultRule::new(OperationKind::Read, "*.sst", Fault::Io).when(Trigger::Nth(5));
    let id = faulty.add_rule(rule());
    check(&block_on(db.multi_get_async(&uncached, &slices(&keys))).into_iter().map(owned).collect::<Vec<_>>());
    faulty.remove_rule(id);
    faulty.add_rule(rule());
    let mut found: Vec<Found> = keys.iter().map(|_| Ok(None)).collect();
    let futures = keys.iter().map(|key| db.get_async(&uncached, key)).collect();
    Tasks::run(futures, &mut |number, result| found[number] = owned(result));
    check(&found);
}

#[test]
fn futures_outlive_the_database_and_its_files() {
    for (name, file_system) in file_systems() {
        let dir = tempfile::tempdir().unwrap();
        let path = if name == "memory" { Path::new("/db") } else { dir.path() };
        let db = open(Arc::clone(&file_system), path, family_options(), 2000);
        fill(&db);
        let keys = all_keys();
        let wanted: Vec<Found> = keys.iter().map(|key| owned(db.get(key))).collect();
        let options = ReadOptions::default();
        let futures: Vec<_> = keys.iter().map(|key| db.get_async(&options, key)).collect();
        let many = db.multi_get_async(&options, &slices(&keys));
        // The tables that they read are obsolete now.
        db.delete_range(b"a", b"z").unwrap();
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        drop(db);
        Tasks::run(futures, &mut |number, result| {
            assert_eq!(owned(result).unwrap(), *wanted[number].as_ref().unwrap(), "key {number}");
        });
        for (found, wanted) in block_on(many).into_iter().zip(&wanted) {
            assert_eq!(owned(found).unwrap(), *wanted.as_ref().unwrap());
        }
        assert_nothing_in_use(&*file_system);
    }
}

/// The same on executors that people use.
mod executors {
    use super::*;

    async fn service(db: Db, first: u64) -> u64 {
        let options = ReadOptions::default();
        let mut found = 0;
        for number in first..first + 20 {
            found += u64::from(db.get_async(&options, &key(number % KEYS)).await.unwrap().is_some());
        }
        let keys: Vec<_> = (first..first + 20).map(|number| key(number % KEYS)).collect();
        let together = db.multi_get_async(&options, &slices(&keys)).await;
        assert_eq!(together.iter().filter(|value| value.as_ref().unwrap().is_some()).count() as u64, found);
        found
    }

    fn wanted(db: &Db, first: u64) -> u64 {
        (first..first + 20).filter(|number| db.get(&key(number % KEYS)).unwrap().is_some()).count() as u64
    }

    #[test]
    fn tokio_runs_them() {
        everywhere(|db, _| {
            for runtime in [
                tokio::runtime::Builder::new_current_thread().build().unwrap(),
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap(),
            ] {
                let tasks: Vec<_> =
                    (0..100).map(|task| (task, runtime.spawn(service(db.clone(), task * 30)))).collect();
                for (task, join) in tasks {
                    assert_eq!(runtime.block_on(join).unwrap(), wanted(db, task * 30));
                }
            }
        });
    }

    #[test]
    fn smol_runs_them() {
        everywhere(|db, _| {
            let tasks: Vec<_> = (0..100).map(|task| (task, smol::spawn(service(db.clone(), task * 30)))).collect();
            for (task, join) in tasks {
                assert_eq!(smol::block_on(join), wanted(db, task * 30));
            }
        });
    }

    #[test]
    fn a_hand_written_block_on_runs_them() {
        everywhere(|db, _| {
            for task in 0..100 {
                assert_eq!(block_on(service(db.clone(), task * 30)), wanted(db, task * 30));
            }
        });
    }
}

#[derive(Clone, Debug)]
enum Step {
    Get(u64),
    MultiGet(u64, u64),
    /// The same, begun by a thread that ends.
    GetAway(u64),
    MultiGetAway(u64, u64),
    /// Polled by a thread that ends.
    PollAway(usize),
    /// The page cache has nothing of the tables from now on.
    Forget,
    Poll(usize),
    Drop(usize),
    Finish(usize),
    Sleep,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..KEYS).prop_map(Step::Get),
        1 => (0..KEYS, 1u64..60).prop_map(|(first, count)| Step::MultiGet(first, count)),
        2 => (0..KEYS).prop_map(Step::GetAway),
        1 => (0..KEYS, 1u64..60).prop_map(|(first, count)| Step::MultiGetAway(first, count)),
        3 => any::<usize>().prop_map(Step::Poll),
        1 => any::<usize>().prop_map(Step::PollAway),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Finish),
        1 => Just(Step::Forget),
        1 => Just(Step::Sleep),
    ]
}

type Values = Vec<Found>;

fn read(db: &Db, numbers: Vec<u64>, is_many: bool) -> (Vec<u64>, Pin<Box<dyn Future<Output = Values> + Send>>) {
    let options = ReadOptions::default();
    if is_many {
        let keys: Vec<_> = numbers.iter().map(|&number| key(number)).collect();
        let many = db.multi_get_async(&options, &slices(&keys));
        return (numbers, Box::pin(async move { many.await.into_iter().map(owned).collect() }));
    }
    let one = db.get_async(&options, &key(numbers[0]));
    (numbers, Box::pin(async move { vec![owned(one.await)] }))
}

#[test]
fn futures_are_dropped_at_any_stage() {
    everywhere(|db, file_system| {
        let wanted: Vec<Found> = (0..KEYS + 60).map(|number| owned(db.get(&key(number)))).collect();
        let check = |numbers: &[u64], found: Values| {
            assert_eq!(numbers.len(), found.len());
            for (number, found) in numbers.iter().zip(found) {
                assert_eq!(found.unwrap(), *wanted[*number as usize].as_ref().unwrap());
            }
        };
        let config = ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(steps in proptest::collection::vec(step(), 1..150))| {
            let mut reads = Vec::new();
            for step in steps {
                let pick = |number: usize, length: usize| (length > 0).then(|| number % length.max(1));
                match step {
                    Step::Get(number) => reads.push(read(db, vec![number], false)),
                    Step::MultiGet(first, count) => reads.push(read(db, (first..first + count).collect(), true)),
                    Step::GetAway(number) => reads.push(on_a_thread_that_ends(|| read(db, vec![number], false))),
                    Step::MultiGetAway(first, count) => {
                        reads.push(on_a_thread_that_ends(|| read(db, (first..first + count).collect(), true)));
                    }
                    Step::Forget => forget_pages(db),
                    Step::PollAway(number) => if let Some(at) = pick(number, reads.len())
                        && let Some(found) = on_a_thread_that_ends(|| poll_once(&mut reads[at].1))
                    {
                        check(&reads[at].0, found);
                        drop(reads.swap_remove(at));
                    },
                    Step::Poll(number) => if let Some(at) = pick(number, reads.len())
                        && let Some(found) = poll_once(&mut reads[at].1)
                    {
                        check(&reads[at].0, found);
                        drop(reads.swap_remove(at));
                    },
                    Step::Drop(number) => if let Some(at) = pick(number, reads.len()) {
                        drop(reads.swap_remove(at));
                    },
                    Step::Finish(number) => if let Some(at) = pick(number, reads.len()) {
                        let (numbers, read) = reads.swap_remove(at);
                        check(&numbers, block_on(read));
                    },
                    // How far reads have come at the next step is what varies.
                    Step::Sleep => std::thread::sleep(Duration::from_micros(50)),
                }
            }
            drop(reads);
            assert_nothing_in_use(&**file_system);
        });
    });
}

#[test]
fn families_are_read_by_their_handles() {
    let db = open(Arc::new(MemoryFileSystem::new()), Path::new("/db"), family_options(), 2000);
    let other: ColumnFamily = db.create_column_family("other", family_options()).unwrap();
    db.put(b"k", b"default").unwrap();
    db.put_cf(&other, b"k", b"other", &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    let options = ReadOptions::default();
    assert_eq!(block_on(db.get_async(&options, b"k")).unwrap().unwrap(), b"default");
    assert_eq!(block_on(db.get_cf_async(&other, &options, b"k")).unwrap().unwrap(), b"other");
    let both = block_on(db.multi_get_cf_async(&other, &options, &[b"k", b"absent", b"k"]));
    let both: Vec<_> = both.into_iter().map(|value| owned(value).unwrap()).collect();
    assert_eq!(both, [Some(b"other".to_vec()), None, Some(b"other".to_vec())]);
}

/// The rows of a scan, by batches; none is empty.
fn scanned(mut scan: ferrock::AsyncScan) -> Vec<(Vec<u8>, Vec<u8>)> {
    block_on(async {
        let mut rows = Vec::new();
        while let Some(batch) = scan.next_batch().await.unwrap() {
            assert!(!batch.is_empty());
            rows.extend(batch.rows().map(|(key, value)| (key.to_vec(), value.to_vec())));
        }
        assert!(scan.next_batch().await.unwrap().is_none(), "the end stays");
        rows
    })
}

#[test]
fn scans_find_what_iterators_find() {
    everywhere(|db, file_system| {
        let mut random = Random::new(11);
        for round in 0..30 {
            let (a, b) = (random.below(KEYS), random.below(KEYS));
            let mut options = ReadOptions { lower_bound: Some(key(a.min(b))), ..ReadOptions::default() };
            options.upper_bound = (round % 3 > 0).then(|| key(a.max(b)));
            let mut iter = db.iter(&options);
            iter.seek_to_first();
            let mut wanted = Vec::new();
            while iter.valid() {
                wanted.push((iter.key().to_vec(), iter.value().to_vec()));
                iter.next();
            }
            assert!(scanned(db.scan_async(&options)) == wanted);
            assert!(scanned(db.scan_async(&options).with_batch_bytes(1)) == wanted);
            let limit = random.below(300) as usize;
            assert!(scanned(db.scan_async(&options).with_limit(limit as u64)) == wanted[..limit.min(wanted.len())]);
            let mut scan = db.scan_async(&options).with_batch_bytes(500);
            let rows = block_on(async {
                let mut rows = Vec::new();
                while let Some((key, value)) = scan.next().await.unwrap() {
                    rows.push((key.to_vec(), value.to_vec()));
                }
                rows
            });
            assert!(rows == wanted);
        }
        assert_nothing_in_use(&**file_system);
    });
}

#[test]
fn scans_are_dropped_at_any_stage_and_outlive_the_database() {
    everywhere(|db, file_system| {
        let mut scans: Vec<_> =
            (0..40).map(|_| db.scan_async(&ReadOptions::default()).with_batch_bytes(2000)).collect();
        for (number, scan) in scans.iter_mut().enumerate() {
            // Not begun, begun and forgotten, begun and finished, and so on.
            for _ in 0..number % 5 {
                let _ = poll_once(&mut scan.next_batch());
            }
            if number % 2 == 0 {
                block_on(scan.next_batch()).unwrap().unwrap();
            }
        }
        drop(scans);
        assert_nothing_in_use(&**file_system);
    });
    let db = open(Arc::new(MemoryFileSystem::new()), Path::new("/db"), family_options(), 2000);
    fill(&db);
    let mut scan = db.scan_async(&ReadOptions::default()).with_batch_bytes(2000);
    let first = block_on(scan.next_batch()).unwrap().unwrap();
    let wanted = scanned(db.scan_async(&ReadOptions::default()));
    db.delete_range(b"a", b"z").unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    drop(db);
    assert_eq!(first.len() + scanned(scan).len(), wanted.len(), "as of the moment of the call");
}

#[test]
fn a_scan_ends_with_its_error() {
    let faulty = Arc::new(FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let db = open(Arc::clone(&faulty) as Arc<dyn FileSystem>, Path::new("/db"), family_options(), 2000);
    fill(&db);
    db.compact_range(None, None).unwrap();
    let mut scan = db.scan_async(&ReadOptions::default()).with_batch_bytes(2000);
    assert!(block_on(scan.next_batch()).unwrap().is_some());
    faulty.add_rule(FaultRule::new(OperationKind::Read, "*.sst", Fault::Io));
    let error = block_on(async {
        loop {
            if let Err(error) = scan.next_batch().await {
                return error;
            }
        }
    });
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(block_on(scan.next_batch()).unwrap().is_none(), "it is over");
}
