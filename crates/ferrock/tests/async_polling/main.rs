//! No thread that polls a read waits for a file: neither for a block nor for a value in a blob file, nor for a table or
//! blob file to be opened. A file system notices every read and every open of a thread while it polls.
//!
//! And what futures find, or fail with, is what blocking reads find, or fail with.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

#[path = "../golden/archive.rs"]
#[allow(dead_code, reason = "the archive serves other tests too")]
mod archive;
mod blobs;
#[path = "../common/mod.rs"]
mod common;
mod executors;
mod families;
mod life;
mod tables;
mod watched;

use common::threads::wait_until;
use common::{key, slices};
use ferrock::options::{CompressionType, FilterPolicy, MergeOperator};
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, PinnedSlice, ReadOptions};
use ferrock_base::merge::StringAppend;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_table::options::{IndexType, PartitionFromLevel};
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tempfile::TempDir;
use watched::{Watched, polling};

type Found = Result<Option<Vec<u8>>, String>;

/// What was found, or what was said instead.
fn owned(result: Result<Option<PinnedSlice>, ferrock::Error>) -> Found {
    let said = |error: ferrock::Error| format!("{:?}: {error}", error.kind());
    result.map(|value| value.map(PinnedSlice::into_vec)).map_err(said)
}

/// A future whose polls are watched.
struct Watching<F>(F);

impl<F: Future + Unpin> Future for Watching<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        polling(|| Pin::new(&mut self.0).poll(context))
    }
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

/// Polls futures on this thread when they are woken, until all are over.
fn run_all<F: Future + Unpin>(futures: Vec<F>) -> Vec<F::Output> {
    let woken = Arc::new(Woken { numbers: Mutex::new((0..futures.len()).collect()), changed: Condvar::new() });
    let mut futures: Vec<_> = futures.into_iter().map(|future| Some(Watching(future))).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    while outputs.iter().any(Option::is_none) {
        let mut numbers = woken.numbers.lock().unwrap();
        while numbers.is_empty() {
            let (guard, waited) = woken.changed.wait_timeout(numbers, Duration::from_secs(60)).unwrap();
            assert!(!waited.timed_out(), "no task was woken");
            numbers = guard;
        }
        let ready = std::mem::take(&mut *numbers);
        drop(numbers);
        for number in ready {
            let Some(future) = &mut futures[number] else { continue };
            let waker = Waker::from(Arc::new(Numbered(number, Arc::clone(&woken))));
            if let Poll::Ready(out) = Pin::new(future).poll(&mut Context::from_waker(&waker)) {
                (futures[number], outputs[number]) = (None, Some(out));
            }
        }
    }
    outputs.into_iter().flatten().collect()
}

fn block_on<F: Future + Unpin>(future: F) -> F::Output {
    run_all(vec![future]).remove(0)
}

/// What one poll gives.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match polling(|| Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))) {
        Poll::Ready(out) => Some(out),
        Poll::Pending => None,
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

fn db_options(file_system: &Watched, max_open_files: i32) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.max_open_files = max_open_files;
    options.components.file_system = Some(Arc::new(file_system.clone()));
    let cache = CacheOptions { capacity_bytes: 20_000, ..CacheOptions::default() };
    options.components.block_cache = Some(TableBlockCache::new(cache));
    options
}

/// A place for a database in one of the file systems.
struct Place {
    file_system: Watched,
    path: PathBuf,
    _directory: TempDir,
}

impl Place {
    fn open(&self, max_open_files: i32, family: ColumnFamilyOptions) -> Db {
        let options = db_options(&self.file_system, max_open_files);
        Db::open_cf(&self.path, options, vec![("default".to_owned(), family)]).unwrap().0
    }
}

/// Runs `test` in memory, by threads and, where there is one, with a ring.
fn everywhere(test: impl Fn(&Place)) {
    let mut all: Vec<(&str, Arc<dyn FileSystem>)> = vec![
        ("memory", Arc::new(MemoryFileSystem::new())),
        ("pread", Arc::new(PosixFileSystem::with_backend(Some("pread")))),
    ];
    let ring = PosixFileSystem::with_backend(None);
    if ring.io_backend() == "io_uring" {
        all.push(("io_uring", Arc::new(ring)));
    }
    for (name, inner) in all {
        // In memory where the system offers such a directory: histories sync often.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = if name == "memory" { PathBuf::from("/db") } else { directory.path().join("db") };
        let place = Place { file_system: Watched::new(inner), path, _directory: directory };
        test(&place);
        assert_eq!(place.file_system.take_blocked(), Vec::<String>::new(), "{name}");
        assert_nothing_in_use(&place.file_system);
    }
}

fn assert_nothing_in_use(file_system: &Watched) {
    let in_use = || file_system.read_layer().unwrap().pool().usage().in_use_bytes;
    wait_until("no bytes in use", || in_use() == 0);
}

/// Futures, one for each key and many keys in one, find or say what blocking reads do, and do not block.
fn compare(what: &str, db: &Db, family: &ColumnFamily, options: &ReadOptions, keys: &[Vec<u8>]) -> Vec<Found> {
    let wanted: Vec<Found> = keys.iter().map(|key| owned(db.get_cf(family, options, key))).collect();
    let futures = polling(|| keys.iter().map(|key| db.get_cf_async(family, options, key)).collect());
    for ((found, wanted), key) in run_all(futures).into_iter().zip(&wanted).zip(keys) {
        assert_same(what, key, &owned(found), wanted);
    }
    for (keys, wanted) in keys.chunks(70).zip(wanted.chunks(70)) {
        let many = polling(|| db.multi_get_cf_async(family, options, &slices(keys)));
        for ((found, wanted), key) in block_on(many).into_iter().zip(wanted).zip(keys) {
            assert_same(what, key, &owned(found), wanted);
        }
        let blocking = db.multi_get_cf(family, options, &slices(keys));
        for ((found, wanted), key) in blocking.into_iter().zip(wanted).zip(keys) {
            assert_same(what, key, &owned(found), wanted);
        }
    }
    wanted
}

fn assert_same(what: &str, key: &[u8], found: &Found, wanted: &Found) {
    // Values may be long.
    let short = |found: &Found| format!("{found:?}").chars().take(300).collect::<String>();
    assert!(found == wanted, "{what}, {}: {}, not {}", key.escape_ascii(), short(found), short(wanted));
}

/// A test that cannot fail shows nothing.
#[test]
fn who_blocks_is_noticed() {
    let file_system = Watched::new(Arc::new(MemoryFileSystem::new()));
    let place = Place { file_system, path: PathBuf::from("/db"), _directory: tempfile::tempdir().unwrap() };
    let db = place.open(1, family_options());
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let db = place.open(1, family_options());
    assert_eq!(place.file_system.take_blocked(), Vec::<String>::new());
    polling(|| db.get(b"key").unwrap());
    let blocked = place.file_system.take_blocked();
    assert!(blocked.iter().any(|what| what.starts_with("opened")), "{blocked:?}");
    assert!(blocked.iter().any(|what| what.starts_with("read")), "{blocked:?}");
    let path: &Path = &place.path;
    assert!(place.file_system.exists(path).unwrap());
}
