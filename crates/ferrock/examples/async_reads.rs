//! What reads as futures give, on one thread: `cargo run --release -p ferrock --example async_reads -- MODE ...`
//!
//! ```text
//! fill DIRECTORY KEYS                           a database to read: keys of 16 bytes, values of 100, not compressed
//! device DIRECTORY [CACHE_MB [READS [TASKS]]]   random reads of it with direct I/O, three rounds of: blocking gets;
//!                                               TASKS tasks of gets as futures; batches of 32 both ways
//! paged DIRECTORY [CACHE_MB [READS [TASKS]]]    the same through the page cache
//! scans DIRECTORY [CACHE_MB [SCANS [TASKS [ROWS]]]]
//!                                               scans of ROWS rows from random keys with direct I/O, three rounds of:
//!                                               blocking ones; TASKS tasks of them as futures; and one of all rows
//!                                               both ways
//! cached get|future|multi|multi-future COUNT    COUNT reads of a small cached database, for counting instructions
//! ```

use ferrock::options::{CompressionType, FilterPolicy};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ReadOptions, WriteBatch, WriteOptions};
use ferrock_base::clock::SystemClock;
use ferrock_base::random::Random;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem, ReadClass};
use std::error::Error;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// An executor on one thread: polls the tasks that were woken.
#[derive(Default)]
struct Woken {
    numbers: Mutex<Vec<u32>>,
    changed: Condvar,
}

struct Numbered(u32, Arc<Woken>);

impl Wake for Numbered {
    fn wake(self: Arc<Self>) {
        let mut numbers = self.1.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.push(self.0);
        if numbers.len() == 1 {
            self.1.changed.notify_one();
        }
    }
}

fn run<F: Future<Output = ()>>(tasks: Vec<F>) {
    let woken = Arc::new(Woken::default());
    let wakers: Vec<Waker> =
        (0..tasks.len()).map(|n| Waker::from(Arc::new(Numbered(n as u32, Arc::clone(&woken))))).collect();
    let mut left = tasks.len();
    let mut tasks: Vec<Option<Pin<Box<F>>>> = tasks.into_iter().map(|task| Some(Box::pin(task))).collect();
    let mut ready: Vec<u32> = (0..tasks.len() as u32).collect();
    while left > 0 {
        for number in ready.drain(..) {
            let task = &mut tasks[number as usize];
            let Some(future) = task else { continue };
            if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(&wakers[number as usize])) {
                *task = None;
                left -= 1;
            }
        }
        let mut numbers = woken.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        while numbers.is_empty() && left > 0 {
            numbers = woken.changed.wait(numbers).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut *numbers, &mut ready);
    }
}

fn report(name: &str, file_system: &dyn FileSystem, keys: u64, action: impl FnOnce()) -> f64 {
    let before = file_system.counters().snapshot();
    let clock = SystemClock::shared();
    let start = clock.monotonic_us();
    action();
    let seconds = (clock.monotonic_us() - start) as f64 / 1e6;
    let after = file_system.counters().snapshot();
    let reads = after.all_classes().since(before.all_classes());
    let data = after.class(ReadClass::Data).since(before.class(ReadClass::Data));
    println!(
        "{name:<22} {:>9.0} keys/s {:>9.0} reads/s {:>6.3} reads/key {:>6.0} bytes/read {:>6.3} calls/read",
        keys as f64 / seconds,
        reads.requests as f64 / seconds,
        data.requests as f64 / keys as f64,
        reads.device_bytes as f64 / reads.requests.max(1) as f64,
        (after.read_calls - before.read_calls) as f64 / reads.requests.max(1) as f64,
    );
    keys as f64 / seconds
}

fn open(directory: &Path, file_system: &Arc<dyn FileSystem>, cache_mb: usize, direct: bool) -> ferrock::Result<Db> {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.use_direct_reads = direct;
    options.components.file_system = Some(Arc::clone(file_system));
    let cache = CacheOptions { capacity_bytes: cache_mb << 20, ..CacheOptions::default() };
    options.components.block_cache = Some(TableBlockCache::new(cache));
    let mut family = ColumnFamilyOptions::default();
    family.compression = CompressionType::NoCompression;
    family.filter_policy = FilterPolicy::bloom(10.0);
    Db::open_cf(directory, options, vec![("default".to_owned(), family)]).map(|(db, _)| db)
}

fn key(number: u64) -> Vec<u8> {
    format!("{number:016}").into_bytes()
}

fn fill(directory: &Path, keys: u64) -> Result<(), Box<dyn Error>> {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let db = open(directory, &file_system, 8, true)?;
    let mut random = Random::new(1);
    let write = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    for first in (0..keys).step_by(1000) {
        let mut batch = WriteBatch::new();
        for number in first..keys.min(first + 1000) {
            let value: Vec<u8> = (0..100).map(|_| random.next_u64() as u8).collect();
            batch.put(&key(number), &value)?;
        }
        db.write(batch, &write)?;
    }
    db.compact_range(None, None)?;
    Ok(db.close()?)
}

fn device(directory: &Path, cache_mb: usize, reads: u64, tasks: u64, direct: bool) -> Result<(), Box<dyn Error>> {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let db = open(directory, &file_system, cache_mb, direct)?;
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_last();
    let keys = std::str::from_utf8(iter.key())?.parse::<u64>()? + 1;
    drop(iter);
    println!("{keys} keys, {}, {tasks} tasks", file_system.io_backend());
    let read = ReadOptions::default();
    let pick = |random: &mut Random| key(random.below(keys));
    for round in 0..3 {
        let mut random = Random::new(round);
        report("get", &*file_system, reads / 10, || {
            for _ in 0..reads / 10 {
                assert!(db.get_with(&read, &pick(&mut random)).is_ok_and(|value| value.is_some()), "a key is there");
            }
        });
        let each = reads / tasks;
        report("get_async", &*file_system, each * tasks, || {
            run((0..tasks)
                .map(|task| {
                    let (db, read, mut random) = (db.clone(), read.clone(), Random::new(round * tasks + task + 100));
                    async move {
                        for _ in 0..each {
                            let value = db.get_async(&read, &pick(&mut random)).await;
                            assert!(value.is_ok_and(|value| value.is_some()), "a key is there");
                        }
                    }
                })
                .collect());
        });
        let batches = reads / 4 / 32;
        let batch = |random: &mut Random| (0..32).map(|_| pick(random)).collect::<Vec<_>>();
        report("multi_get of 32", &*file_system, batches * 32, || {
            for _ in 0..batches {
                let batch = batch(&mut random);
                let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
                assert!(db.multi_get(&slices).iter().all(|value| matches!(value, Ok(Some(_)))), "keys are there");
            }
        });
        let mut random = Random::new(round + 7);
        let (db, read) = (&db, &read);
        report("multi_get_async of 32", &*file_system, batches * 32, || {
            run(vec![async move {
                for _ in 0..batches {
                    let batch = batch(&mut random);
                    let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
                    let values = db.multi_get_async(read, &slices).await;
                    assert!(values.iter().all(|value| matches!(value, Ok(Some(_)))), "keys are there");
                }
            }]);
        });
    }
    Ok(())
}

fn scans(directory: &Path, cache_mb: usize, scans: u64, tasks: u64, rows: u64) -> Result<(), Box<dyn Error>> {
    let file_system: Arc<dyn FileSystem> = Arc::new(PosixFileSystem::new());
    let db = open(directory, &file_system, cache_mb, true)?;
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_last();
    let keys = std::str::from_utf8(iter.key())?.parse::<u64>()? + 1;
    drop(iter);
    println!("{keys} keys, {}, {tasks} tasks, {rows} rows", file_system.io_backend());
    let from = |random: &mut Random| ReadOptions {
        lower_bound: Some(key(random.below(keys - rows))),
        limit_hint: rows,
        ..ReadOptions::default()
    };
    let whole = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    for round in 0..3 {
        let mut random = Random::new(round);
        report("iter", &*file_system, scans / 10 * rows, || {
            for _ in 0..scans / 10 {
                let mut iter = db.iter(&from(&mut random));
                iter.seek_to_first();
                for _ in 1..rows {
                    iter.next();
                }
                assert!(iter.valid(), "a row is there");
            }
        });
        let each = scans / tasks;
        report("scan_async", &*file_system, each * tasks * rows, || {
            run((0..tasks)
                .map(|task| {
                    let (db, mut random) = (db.clone(), Random::new(round * tasks + task + 100));
                    async move {
                        for _ in 0..each {
                            let batch = db.scan_async(&from(&mut random)).with_limit(rows).next_batch().await;
                            assert!(batch.is_ok_and(|batch| batch.is_some_and(|batch| batch.len() as u64 == rows)));
                        }
                    }
                })
                .collect());
        });
        report("iter over all", &*file_system, keys, || {
            let mut iter = db.iter(&whole);
            iter.seek_to_first();
            let mut count = 0;
            while iter.valid() {
                count += 1;
                iter.next();
            }
            assert_eq!(count, keys);
        });
        let (db, whole) = (&db, &whole);
        report("scan_async over all", &*file_system, keys, || {
            run(vec![async move {
                let (mut scan, mut count) = (db.scan_async(whole), 0);
                while let Ok(Some(batch)) = scan.next_batch().await {
                    count += batch.len() as u64;
                }
                assert_eq!(count, keys);
            }]);
        });
    }
    Ok(())
}

fn cached(kind: &str, count: u64) -> Result<(), Box<dyn Error>> {
    const KEYS: u64 = 20_000;
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(Arc::new(MemoryFileSystem::new()));
    let db = Db::open("/db", options)?;
    for number in 0..KEYS {
        db.put(&key(number), &[b'v'; 100])?;
    }
    db.flush()?;
    db.compact_range(None, None)?;
    let keys: Vec<_> = (0..KEYS).map(key).collect();
    for key in &keys {
        db.get(key)?;
    }
    let read = ReadOptions::default();
    let mut random = Random::new(1);
    let mut pick = || &keys[random.below(KEYS) as usize][..];
    let mut context = Context::from_waker(Waker::noop());
    match kind {
        "get" => (0..count).for_each(|_| assert!(db.get_with(&read, pick()).is_ok_and(|value| value.is_some()))),
        "future" => (0..count).for_each(|_| {
            let polled = Pin::new(&mut db.get_async(&read, pick())).poll(&mut context);
            assert!(matches!(polled, Poll::Ready(Ok(Some(_)))));
        }),
        "multi" => (0..count / 32).for_each(|_| {
            let batch: Vec<&[u8]> = (0..32).map(|_| pick()).collect();
            assert!(db.multi_get(&batch).iter().all(|value| matches!(value, Ok(Some(_)))));
        }),
        "multi-future" => (0..count / 32).for_each(|_| {
            let batch: Vec<&[u8]> = (0..32).map(|_| pick()).collect();
            let polled = Pin::new(&mut db.multi_get_async(&read, &batch)).poll(&mut context);
            assert!(matches!(polled, Poll::Ready(values) if values.iter().all(|value| matches!(value, Ok(Some(_))))));
        }),
        other => return Err(format!("{other}: get, future, multi or multi-future").into()),
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| arguments.get(index).map_or(Ok(default), |text| text.parse());
    match arguments.first().map(String::as_str) {
        Some("fill") if arguments.len() > 2 => fill(Path::new(&arguments[1]), number(2, 0)?),
        Some(mode @ ("device" | "paged")) if arguments.len() > 1 => {
            let (cache_mb, reads, tasks) = (number(2, 28)? as usize, number(3, 400_000)?, number(4, 10_000)?);
            device(Path::new(&arguments[1]), cache_mb, reads, tasks, mode == "device")
        }
        Some("scans") if arguments.len() > 1 => {
            let (cache_mb, count, tasks) = (number(2, 28)? as usize, number(3, 100_000)?, number(4, 1000)?);
            scans(Path::new(&arguments[1]), cache_mb, count, tasks, number(5, 10)?)
        }
        Some("cached") if arguments.len() > 2 => cached(&arguments[1], number(2, 0)?),
        _ => Err("MODE is fill DIRECTORY KEYS, device or paged DIRECTORY [CACHE_MB [READS [TASKS]]], scans DIRECTORY \
             [CACHE_MB [SCANS [TASKS [ROWS]]]] or cached KIND COUNT"
            .into()),
    }
}
