//! What asks the rate limiter of a database, for how many bytes and at which priority.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::options_on;
use ferrock::options::{
    FlushWalOptions, IoKind, IoPriority, LimiterMode, RateLimiter, TokenBucket, TokenBucketOptions,
};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, ReadOptions, ScanRange, WriteBatch, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{FileSystem, MemoryFileSystem, PosixFileSystem};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const KEYS: u32 = 400;

/// Keeps what it is asked for, by priority, and has no caller wait.
#[derive(Debug)]
struct Recorder {
    mode: LimiterMode,
    asked: Mutex<BTreeMap<IoPriority, u64>>,
}

impl RateLimiter for Recorder {
    fn request(&self, bytes: u64, priority: IoPriority) {
        *self.asked.lock().unwrap().entry(priority).or_default() += bytes;
    }

    fn limits(&self, kind: IoKind) -> bool {
        self.mode.limits(kind)
    }
}

impl Recorder {
    fn new(mode: LimiterMode) -> Arc<Self> {
        Arc::new(Self { mode, asked: Mutex::default() })
    }

    /// What was asked for since the last call.
    fn take(&self) -> BTreeMap<IoPriority, u64> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    format!("{number} ").repeat(100).into_bytes()
}

fn open(
    file_system: Arc<dyn FileSystem>,
    path: &str,
    limiter: Arc<dyn RateLimiter>,
    change: impl FnOnce(&mut DbOptions, &mut ColumnFamilyOptions),
) -> Db {
    let mut options = options_on(file_system);
    options.components.rate_limiter = Some(limiter);
    let mut family = ColumnFamilyOptions::default();
    family.disable_auto_compactions = true;
    family.settings.set("compression", "kNoCompression").unwrap();
    change(&mut options, &mut family);
    Db::open_cf(path, options, vec![("default".to_owned(), family)]).unwrap().0
}

fn fill(db: &Db) {
    (0..KEYS).for_each(|number| db.put(&key(number), &value(number)).unwrap());
    db.flush().unwrap();
}

/// Reads that leave nothing in the cache, so that the next ones read again.
fn uncached(rate_limiter_priority: Option<IoPriority>) -> ReadOptions {
    ReadOptions { rate_limiter_priority, fill_cache: false, ..ReadOptions::default() }
}

type Way = (&'static str, fn(&Db, &ReadOptions));

const WAYS: &[Way] = &[
    ("get", |db, options| assert_eq!(db.get_with(options, &key(7)).unwrap().unwrap(), value(7))),
    ("get_async", |db, options| {
        assert_eq!(smol::block_on(db.get_async(options, &key(7))).unwrap().unwrap(), value(7));
    }),
    ("multi_get", |db, options| {
        let keys: Vec<_> = (0..KEYS).step_by(90).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let family = db.default_column_family().unwrap();
        for (found, number) in db.multi_get_cf(&family, options, &keys).into_iter().zip((0..KEYS).step_by(90)) {
            assert_eq!(found.unwrap().unwrap(), value(number));
        }
    }),
    ("multi_get_async", |db, options| {
        let keys: Vec<_> = (0..KEYS).step_by(90).map(key).collect();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (found, number) in smol::block_on(db.multi_get_async(options, &keys)).into_iter().zip((0..KEYS).step_by(90))
        {
            assert_eq!(found.unwrap().unwrap(), value(number));
        }
    }),
    ("iter", |db, options| {
        for options in [options.clone(), ReadOptions { async_io: true, readahead_size: 64 << 10, ..options.clone() }] {
            let mut iter = db.iter(&options);
            iter.seek_to_first();
            let mut rows = 0;
            while iter.valid() {
                assert_eq!(iter.value(), value(rows));
                rows += 1;
                iter.next();
            }
            iter.status().unwrap();
            assert_eq!(rows, KEYS);
        }
    }),
    ("iter back", |db, options| {
        let mut iter = db.iter(options);
        iter.seek_to_last();
        assert_eq!(iter.key(), key(KEYS - 1));
        iter.prev();
        assert_eq!(iter.value(), value(KEYS - 2));
    }),
    ("multi_scan", |db, options| {
        let ranges = [(10, 20), (300, 310)].map(|(from, to)| ScanRange::new(&key(from), &key(to)));
        let mut scan = db.multi_scan(options, &ranges);
        let mut rows = 0;
        while let Some(row) = scan.next_row() {
            row.unwrap();
            rows += 1;
        }
        assert_eq!(rows, 20);
    }),
];

/// Bytes that the files of a database were asked for by `read`.
fn bytes_read(file_system: &dyn FileSystem, read: impl FnOnce()) -> u64 {
    let before = file_system.counters().snapshot().read_bytes;
    read();
    file_system.counters().snapshot().read_bytes - before
}

/// Every way of reading asks for what it reads from files, and for nothing without a priority, a limiter of reads, or
/// where everything is in memory.
#[test]
fn every_way_of_reading_asks_for_what_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    let stores: [(Arc<dyn FileSystem>, String); 2] = [
        (Arc::new(MemoryFileSystem::new()), "/db".to_owned()),
        (Arc::new(PosixFileSystem::new()), directory.path().to_str().unwrap().to_owned()),
    ];
    for (file_system, path) in stores {
        for has_blobs in [false, true] {
            for mode in [LimiterMode::ReadsOnly, LimiterMode::AllIo, LimiterMode::WritesOnly] {
                let recorder = Recorder::new(mode);
                let path = format!("{path}/{has_blobs}{mode:?}");
                file_system.create_dir_all(path.as_ref()).unwrap();
                let db = open(Arc::clone(&file_system), &path, Arc::<Recorder>::clone(&recorder), |_, family| {
                    family.enable_blob_files = has_blobs;
                });
                fill(&db);
                // Opening the table reads its tail, which nothing asks for.
                WAYS[0].1(&db, &uncached(None));
                recorder.take();
                for (name, way) in WAYS {
                    let what = format!("{name}, {mode:?}, blobs {has_blobs}, {path}");
                    way(&db, &uncached(None));
                    assert!(recorder.take().is_empty(), "{what}");
                    for priority in [IoPriority::User, IoPriority::Low] {
                        let read = bytes_read(&*file_system, || way(&db, &uncached(Some(priority))));
                        let asked = recorder.take();
                        if mode == LimiterMode::WritesOnly {
                            assert!(asked.is_empty(), "{what}: {asked:?}");
                            continue;
                        }
                        assert!(read > 0, "{what}");
                        assert_eq!(asked, BTreeMap::from([(priority, read)]), "{what}");
                    }
                }
                if !has_blobs && mode != LimiterMode::WritesOnly {
                    let cached =
                        ReadOptions { rate_limiter_priority: Some(IoPriority::User), ..ReadOptions::default() };
                    (0..2).for_each(|_| WAYS[0].1(&db, &cached));
                    recorder.take();
                    WAYS[0].1(&db, &cached);
                    assert!(recorder.take().is_empty(), "a block in the cache is free");
                }
            }
        }
    }
}

/// A compaction reads and writes at low priority, and a flush writes at high; the mode says which of it is limited.
#[test]
fn jobs_ask_for_what_the_mode_limits() {
    for mode in [LimiterMode::ReadsOnly, LimiterMode::WritesOnly, LimiterMode::AllIo] {
        for has_blobs in [false, true] {
            let recorder = Recorder::new(mode);
            let memory = Arc::new(MemoryFileSystem::new());
            let db = open(Arc::clone(&memory) as _, "/db", Arc::<Recorder>::clone(&recorder), |_, family| {
                family.enable_blob_files = has_blobs;
                family.settings.set("enable_blob_garbage_collection", "true").unwrap();
                family.settings.set("blob_garbage_collection_age_cutoff", "1.0").unwrap();
            });
            let payload = u64::from(KEYS) * 100;
            for _ in 0..2 {
                fill(&db);
                let asked = recorder.take();
                if mode == LimiterMode::ReadsOnly {
                    assert!(asked.is_empty(), "{asked:?}");
                } else {
                    assert_eq!(asked.keys().collect::<Vec<_>>(), [&IoPriority::High]);
                    assert!(asked[&IoPriority::High] > payload, "{asked:?}");
                }
            }
            db.compact_range(None, None).unwrap();
            let asked = recorder.take();
            assert_eq!(asked.keys().collect::<Vec<_>>(), [&IoPriority::Low], "{mode:?}");
            let low = asked[&IoPriority::Low];
            match mode {
                // Of two tables with the same keys, or of one set of values in blob files.
                LimiterMode::ReadsOnly => assert!(low > payload * if has_blobs { 1 } else { 2 }, "{low}"),
                LimiterMode::WritesOnly => assert!(low > payload, "{low}"),
                LimiterMode::AllIo => assert!(low > payload * if has_blobs { 2 } else { 3 }, "{low}"),
            }
        }
    }
}

/// While writers are slowed down, a compaction has the priority of a flush, and no more: a flush that began before
/// would wait for it, and the writers for the flush.
#[test]
fn compactions_are_as_urgent_as_flushes_while_writers_are_stalled() {
    let recorder = Recorder::new(LimiterMode::AllIo);
    let db = open(Arc::new(MemoryFileSystem::new()), "/db", Arc::<Recorder>::clone(&recorder), |options, family| {
        family.disable_auto_compactions = false;
        family.settings.set("level0_file_num_compaction_trigger", "100").unwrap();
        family.settings.set("level0_slowdown_writes_trigger", "100").unwrap();
        options.components.clock = Some(Arc::new(ManualClock::passing_sleeps(1_700_000_000_000_000)));
    });
    (0..3).for_each(|_| fill(&db));
    assert_eq!(recorder.take().keys().collect::<Vec<_>>(), [&IoPriority::High]);
    let family = db.default_column_family().unwrap();
    db.set_options_cf(&family, &[("level0_slowdown_writes_trigger", "2"), ("level0_file_num_compaction_trigger", "2")])
        .unwrap();
    db.wait_for_background_work().unwrap();
    let asked = recorder.take();
    assert_eq!(asked.keys().collect::<Vec<_>>(), [&IoPriority::High], "compaction: {asked:?}");
}

fn write_options(rate_limiter_priority: Option<IoPriority>) -> WriteOptions {
    WriteOptions { rate_limiter_priority, ..WriteOptions::default() }
}

/// A write waits for what the log takes of it, and one that asks for nothing does not.
#[test]
fn a_write_asks_for_what_is_logged() {
    for mode in [LimiterMode::ReadsOnly, LimiterMode::WritesOnly, LimiterMode::AllIo] {
        let recorder = Recorder::new(mode);
        let memory = Arc::new(MemoryFileSystem::new());
        let db = open(Arc::clone(&memory) as _, "/db", Arc::<Recorder>::clone(&recorder), |_, _| {});
        let family = db.default_column_family().unwrap();
        db.put_cf(&family, b"first", b"", &write_options(None)).unwrap();
        assert!(recorder.take().is_empty());
        for size in [0, 10, 32_000, 33_000, 200_000] {
            let logged = |memory: &MemoryFileSystem| memory.counters().snapshot().append_bytes();
            let before = logged(&memory);
            let mut batch = WriteBatch::new();
            batch.put(b"key", &vec![b'v'; size]).unwrap();
            let rate_limiter_priority = Some(IoPriority::User);
            db.write(batch, &WriteOptions { rate_limiter_priority, ..WriteOptions::default() }).unwrap();
            let written = logged(&memory) - before;
            let asked = recorder.take();
            if mode == LimiterMode::ReadsOnly {
                assert!(asked.is_empty(), "{asked:?}");
                continue;
            }
            // Where a record meets the end of a block, it has one header more, and some padding.
            let user = asked[&IoPriority::User];
            assert!((user..=user + 14).contains(&written), "{size}: {asked:?} for {written}");
        }
    }
}

#[test]
fn a_flush_of_the_log_asks_for_what_was_kept_back() {
    let recorder = Recorder::new(LimiterMode::WritesOnly);
    let memory = Arc::new(MemoryFileSystem::new());
    let db = open(Arc::clone(&memory) as _, "/db", Arc::<Recorder>::clone(&recorder), |options, _| {
        options.manual_wal_flush = true;
    });
    let synced = || memory.counters().snapshot().syncs();
    for (rate_limiter_priority, sync) in
        [(None, false), (Some(IoPriority::Mid), false), (Some(IoPriority::User), true), (None, true)]
    {
        db.put(b"key", &[b'v'; 1000]).unwrap();
        assert!(recorder.take().is_empty());
        let (appended, before) = (memory.counters().snapshot().append_bytes(), synced());
        db.flush_wal_with(&FlushWalOptions { sync, rate_limiter_priority }).unwrap();
        let appended = memory.counters().snapshot().append_bytes() - appended;
        assert!(appended > 1000);
        assert_eq!(recorder.take(), rate_limiter_priority.into_iter().map(|at| (at, appended)).collect());
        assert_eq!(synced() > before, sync);
    }
}

#[test]
fn a_write_that_cannot_wait_for_the_limiter_is_refused() {
    let recorder = Recorder::new(LimiterMode::AllIo);
    let file_system = Arc::new(MemoryFileSystem::new());
    for manual_wal_flush in [false, true] {
        let path = format!("/{manual_wal_flush}");
        let db = open(Arc::clone(&file_system) as _, &path, Arc::<Recorder>::clone(&recorder), |options, _| {
            options.manual_wal_flush = manual_wal_flush;
        });
        let family = db.default_column_family().unwrap();
        let put = |options: &WriteOptions| {
            db.put_cf(&family, b"k", b"v", options).map_err(|error| {
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
                error.to_string()
            })
        };
        for priority in [IoPriority::Low, IoPriority::Mid, IoPriority::High] {
            let error = put(&write_options(Some(priority))).unwrap_err();
            assert!(error.contains("only allows Env::IO_TOTAL and Env::IO_USER"), "{error}");
        }
        let user = write_options(Some(IoPriority::User));
        let unlogged = put(&WriteOptions { disable_wal: true, ..user }).unwrap_err();
        assert!(unlogged.contains("`WriteOptions::disableWAL` and `DBOptions::manual_wal_flush`"), "{unlogged}");
        assert_eq!(put(&user).is_ok(), !manual_wal_flush);
    }
    assert!(recorder.take().keys().eq([&IoPriority::User]), "what is refused asks for nothing");
}

/// By a clock that only sleeps move: reads take as long as their bytes at the rate, also after the rate has changed.
#[test]
fn reads_take_as_long_as_the_rate_says() {
    let clock = Arc::new(ManualClock::passing_sleeps(1_700_000_000_000_000));
    let options = TokenBucketOptions { mode: LimiterMode::ReadsOnly, ..TokenBucketOptions::new(10_000) };
    let bucket = Arc::new(TokenBucket::with_options(&options, Arc::clone(&clock) as Arc<dyn Clock>).unwrap());
    let memory = Arc::new(MemoryFileSystem::new());
    let db = open(Arc::clone(&memory) as _, "/db", Arc::clone(&bucket) as Arc<dyn RateLimiter>, |_, _| {});
    fill(&db);
    WAYS[0].1(&db, &uncached(None));
    for rate in [10_000, 1_000, 1_000_000] {
        bucket.set_bytes_per_second(rate);
        let (began_us, granted) = (clock.monotonic_us(), bucket.granted_bytes(IoPriority::User));
        let read = bytes_read(&*memory, || WAYS[4].1(&db, &uncached(Some(IoPriority::User))));
        assert_eq!(bucket.granted_bytes(IoPriority::User) - granted, read);
        // Up to a tenth of a second's bytes were saved up; each sleep rounds up by less than a microsecond.
        let seconds = (clock.monotonic_us() - began_us) as f64 / 1e6;
        let needed = read as f64 / rate as f64;
        assert!((needed - 0.1..needed + 0.1).contains(&seconds), "{rate}: {seconds} {needed}");
    }
}
