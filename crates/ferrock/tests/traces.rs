//! Traces of what a database is asked: what is in them, what is not, and that asking it again makes the same database.
#![cfg(feature = "replay")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::{Contents, contents, options_on, rows_of};
use ferrock::replay::{Operation, ReplayOptions, Replayer, SeekDirection, TraceReader, TracedOperation};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, Db, DbOptions, ErrorKind, FlushOptions, ReadOptions, Result, TraceOptions,
    WriteBatch, WriteOptions,
};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger, WritableOptions,
    read_file,
};
use std::sync::Arc;
use std::time::Duration;

const TRACE: &str = "/trace";
const FAMILIES: [&str; 3] = ["default", "one", "two"];
/// Without waiting.
const AT_ONCE: ReplayOptions = ReplayOptions { threads: 1, fast_forward: f64::INFINITY };

fn open_at(
    file_system: &Arc<dyn FileSystem>,
    path: &str,
    tune: impl Fn(&mut ColumnFamilyOptions),
) -> (Db, Vec<ColumnFamily>) {
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(StringAppend::new(b",")));
    tune(&mut family);
    let mut options = options_on(Arc::clone(file_system));
    options.allow_concurrent_memtable_write = !family.enable_blob_direct_write;
    let families = FAMILIES.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
    Db::open_cf(path, options, families).unwrap()
}

fn memory() -> Arc<dyn FileSystem> {
    Arc::new(MemoryFileSystem::new())
}

fn reader(file_system: &Arc<dyn FileSystem>) -> TraceReader {
    TraceReader::open_in(Arc::clone(file_system), TRACE).unwrap()
}

fn read(file_system: &Arc<dyn FileSystem>) -> (Vec<TracedOperation>, bool) {
    let mut reader = reader(file_system);
    let mut all = Vec::new();
    while let Some(operation) = reader.next_operation().unwrap() {
        all.push(operation);
    }
    (all, reader.is_complete())
}

fn operations(file_system: &Arc<dyn FileSystem>) -> Vec<Operation> {
    read(file_system).0.into_iter().map(|traced| traced.operation).collect()
}

fn all_contents(db: &Db, families: &[ColumnFamily]) -> Vec<Contents> {
    families.iter().map(|family| rows_of(db.iter_cf(family, &ReadOptions::default()))).collect()
}

fn seek(direction: SeekDirection, family: u32, key: &[u8], bounds: [Option<&[u8]>; 2]) -> Operation {
    let [lower, upper] = bounds.map(|bound| bound.map(<[u8]>::to_vec));
    Operation::Seek { direction, family, key: key.to_vec(), lower, upper }
}

#[test]
fn a_trace_has_what_was_asked_and_nothing_else() {
    let file_system = memory();
    let (db, families) = open_at(&file_system, "/db", |_| ());
    let before = db.iter(&ReadOptions::default());
    db.put(b"untraced", b"").unwrap();
    db.start_trace(TRACE, TraceOptions::default()).unwrap();

    let mut batch = WriteBatch::new();
    batch.put_cf(1, b"k", b"v").unwrap();
    batch.put_log_data(b"note").unwrap();
    db.write(batch.clone(), &WriteOptions::default()).unwrap();
    db.write(WriteBatch::new(), &WriteOptions::default()).unwrap();
    let mut refused = WriteBatch::new();
    refused.put_cf(99, b"k", b"v").unwrap();
    db.write(refused, &WriteOptions::default()).unwrap_err();
    db.get(b"").unwrap();
    db.get_cf(&families[2], &ReadOptions::default(), b"k").unwrap();
    drop(db.get_cf_async(&families[1], &ReadOptions::default(), b"async"));
    drop(db.multi_get(&[b"a", b"b"]));
    drop(db.multi_get(&[]));
    drop(db.multi_get_families(&ReadOptions::default(), &[(&families[2], b"c"), (&families[0], b"d")]));
    drop(db.multi_get_cf_async(&families[1], &ReadOptions::default(), &[b"e"]));
    let options =
        ReadOptions { lower_bound: Some(b"b".to_vec()), upper_bound: Some(b"y".to_vec()), ..ReadOptions::default() };
    let mut iter = db.iter_cf(&families[1], &options);
    iter.seek(b"c");
    iter.next();
    iter.seek_to_first();
    iter.seek_to_last();
    iter.fast_forward(Some(b"d"), None);
    iter.seek_to_last();
    iter.seek_for_prev(b"z");
    drop(before);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.end_trace().unwrap();
    db.put(b"untraced", b"").unwrap();
    iter.seek(b"untraced");

    let (forward, backward) = (SeekDirection::Forward, SeekDirection::Backward);
    let get = |family, key: &[u8]| Operation::Get { family, key: key.to_vec() };
    let multi_get = |keys: &[(u32, &[u8])]| Operation::MultiGet {
        keys: keys.iter().map(|(family, key)| (*family, key.to_vec())).collect(),
    };
    let expected = [
        Operation::Write { batch: batch.data().to_vec() },
        Operation::Write { batch: WriteBatch::new().data().to_vec() },
        get(0, b""),
        get(2, b"k"),
        get(1, b"async"),
        multi_get(&[(0, b"a"), (0, b"b")]),
        multi_get(&[(2, b"c"), (0, b"d")]),
        multi_get(&[(1, b"e")]),
        seek(forward, 1, b"c", [Some(b"b"), Some(b"y")]),
        seek(forward, 1, b"b", [Some(b"b"), Some(b"y")]),
        seek(backward, 1, b"y", [Some(b"b"), Some(b"y")]),
        seek(forward, 1, b"d", [Some(b"d"), None]),
        seek(backward, 1, b"z", [Some(b"d"), None]),
    ];
    let (found, is_complete) = read(&file_system);
    assert!(is_complete);
    assert!(found.is_sorted_by_key(|traced| traced.timestamp_us));
    let found: Vec<_> = found.into_iter().map(|traced| traced.operation).collect();
    assert_eq!(found, expected);
}

#[test]
fn options_leave_out_what_they_say() {
    let ask = |options: TraceOptions| {
        let file_system = memory();
        let (db, _) = open_at(&file_system, "/db", |_| ());
        db.start_trace(TRACE, options).unwrap();
        for _ in 0..6 {
            db.put(b"k", b"v").unwrap();
            db.get(b"k").unwrap();
            let mut iter = db.iter(&ReadOptions::default());
            iter.seek(b"k");
            iter.seek_for_prev(b"k");
            drop(db.multi_get(&[b"k"]));
        }
        db.end_trace().unwrap();
        let kind = |operation: &Operation| match operation {
            Operation::Get { .. } => 0,
            Operation::Write { .. } => 1,
            Operation::Seek { direction: SeekDirection::Forward, .. } => 2,
            Operation::Seek { .. } => 3,
            Operation::MultiGet { .. } => 4,
        };
        let found: Vec<_> = operations(&file_system).iter().map(kind).collect();
        [0, 1, 2, 3, 4].map(|kind| found.iter().filter(|found| **found == kind).count())
    };
    let with = |set: &dyn Fn(&mut TraceOptions)| {
        let mut options = TraceOptions::default();
        set(&mut options);
        ask(options)
    };
    assert_eq!(with(&|_| ()), [6; 5]);
    let filters = [
        TraceOptions::FILTER_GETS,
        TraceOptions::FILTER_WRITES,
        TraceOptions::FILTER_SEEKS,
        TraceOptions::FILTER_SEEKS_FOR_PREV,
        TraceOptions::FILTER_MULTI_GETS,
    ];
    for (kind, filter) in filters.into_iter().enumerate() {
        let mut expected = [6; 5];
        expected[kind] = 0;
        assert_eq!(with(&|options| options.filter = filter), expected);
        expected = [0; 5];
        expected[kind] = 6;
        assert_eq!(with(&|options| options.filter = !filter), expected);
    }
    for (frequency, expected) in [(0, 30), (1, 30), (2, 15), (7, 4), (31, 0)] {
        let found = with(&|options| options.sampling_frequency = frequency);
        assert_eq!(found.iter().sum::<usize>(), expected, "one of {frequency}");
    }
    // What is left out by a filter is not counted by the sampling.
    let gets_left_out = |options: &mut TraceOptions| {
        (options.filter, options.sampling_frequency) = (TraceOptions::FILTER_GETS, 4);
    };
    assert_eq!(with(&gets_left_out).iter().sum::<usize>(), 6);
    // The first frame has 104 bytes, a get of one byte 27.
    let bounded = |options: &mut TraceOptions| {
        (options.filter, options.max_trace_file_size) = (!TraceOptions::FILTER_GETS, 104 + 27);
    };
    assert_eq!(with(&bounded).iter().sum::<usize>(), 2, "what comes to the bound exactly is not larger");
}

/// A batch of anything that a batch may hold.
fn draw_batch(random: &mut Random, key: impl Fn(&mut Random) -> Vec<u8>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for _ in 0..random.below(4) {
        let family = random.below(3) as u32;
        let (key, value) = (key(random), random.next_u64().to_string().into_bytes());
        match random.below(8) {
            0..=2 => batch.put_cf(family, &key, &value).unwrap(),
            3 => batch.delete_cf(family, &key).unwrap(),
            4 => batch.merge_cf(family, &key, &value).unwrap(),
            5 => {
                let end = [key.as_slice(), b"5"].concat();
                batch.delete_range_cf(family, &key, &end).unwrap();
            }
            6 => batch.put_log_data(&value).unwrap(),
            _ => batch.put_entity_cf(family, &key, &[(b"", &value), (b"column", b"x")]).unwrap(),
        }
    }
    batch
}

fn draw_key(random: &mut Random) -> Vec<u8> {
    random.below(40).to_string().into_bytes()
}

#[test]
fn a_replay_makes_the_same_database() {
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let file_system = memory();
        let (db, families) = open_at(&file_system, "/db", |_| ());
        db.start_trace(TRACE, TraceOptions::default()).unwrap();
        let mut counts = [0_u64; 4];
        for _ in 0..random.below(200) {
            let family = &families[random.below(3) as usize];
            let key = draw_key(&mut random);
            match random.below(8) {
                0..=3 => {
                    let unlogged = WriteOptions { disable_wal: random.one_in(4), ..WriteOptions::default() };
                    db.write(draw_batch(&mut random, draw_key), &unlogged).unwrap();
                    counts[0] += 1;
                }
                4 => {
                    db.get_cf(family, &ReadOptions::default(), &key).unwrap();
                    counts[1] += 1;
                }
                5 => {
                    db.iter_cf(family, &ReadOptions::default()).seek_for_prev(&key);
                    counts[2] += 1;
                }
                6 => {
                    drop(db.multi_get_cf(family, &ReadOptions::default(), &[&key, b"x"]));
                    counts[3] += 1;
                }
                _ => db.flush_cf(family, &FlushOptions::default()).unwrap(),
            }
        }
        // Every other trace is ended by the end of the database.
        if seed % 2 == 0 {
            db.end_trace().unwrap();
        }
        let expected = all_contents(&db, &families);
        drop(families);
        db.close().unwrap();

        let (copy, families) = open_at(&file_system, "/copy", |_| ());
        let report = Replayer::new(&copy, reader(&file_system)).replay(&AT_ONCE).unwrap();
        assert!(report.is_complete);
        // The looks at the contents were traced where the trace went on, as no seeks: they begin at the first key.
        assert_eq!([report.writes, report.gets, report.seeks, report.multi_gets], counts, "seed {seed}");
        assert_eq!(report.multi_get_keys, 2 * report.multi_gets);
        assert_eq!(all_contents(&copy, &families), expected, "seed {seed}");
    }
}

/// Threads that write the same keys while a trace is on; what the database then holds, and what a replay makes.
fn race(tune: impl Fn(&mut ColumnFamilyOptions) + Copy) -> (Vec<Contents>, Vec<Contents>) {
    let file_system = memory();
    let (db, families) = open_at(&file_system, "/db", tune);
    let options = TraceOptions { preserve_write_order: true, ..TraceOptions::default() };
    db.start_trace(TRACE, options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                let key = |random: &mut Random| random.below(4).to_string().into_bytes();
                for _ in 0..300 {
                    let batch = draw_batch(&mut random, key);
                    // A refused batch is no part of the history.
                    let _ = db.write(batch, &WriteOptions::default());
                }
            });
        }
    });
    db.end_trace().unwrap();
    let (copy, copies) = open_at(&file_system, "/copy", tune);
    Replayer::new(&copy, reader(&file_system)).replay(&AT_ONCE).unwrap();
    (all_contents(&db, &families), all_contents(&copy, &copies))
}

#[test]
fn batches_come_in_their_order_where_it_is_preserved() {
    let (held, replayed) = race(|_| ());
    assert_eq!(replayed, held);
}

#[test]
fn a_trace_has_values_not_where_they_are() {
    // Values go to blob files before the log has their batch.
    let (held, replayed) = race(|family| {
        family.enable_blob_files = true;
        family.enable_blob_direct_write = true;
        family.min_blob_size = 1;
    });
    assert_eq!(replayed, held);
}

#[test]
fn many_threads_replay_what_does_not_depend_on_the_order() {
    let file_system = memory();
    let (db, families) = open_at(&file_system, "/db", |_| ());
    db.start_trace(TRACE, TraceOptions::default()).unwrap();
    for number in 0..2000_u32 {
        let family = &families[number as usize % 3];
        db.put_cf(family, &number.to_be_bytes(), b"value", &WriteOptions::default()).unwrap();
        db.get_cf(family, &ReadOptions::default(), &number.to_be_bytes()).unwrap();
    }
    db.end_trace().unwrap();
    let (copy, copies) = open_at(&file_system, "/copy", |_| ());
    let mut replayer = Replayer::new(&copy, reader(&file_system));
    let report = replayer.replay(&ReplayOptions { threads: 4, ..AT_ONCE }).unwrap();
    assert_eq!((report.writes, report.gets, report.operations()), (2000, 2000, 4000));
    assert_eq!(all_contents(&copy, &copies), all_contents(&db, &families));
    // All of it again, from the beginning of the file.
    assert_eq!(replayer.replay(&AT_ONCE).unwrap().operations(), 0, "the trace is at its end");
    replayer.reader().rewind().unwrap();
    assert_eq!(replayer.replay(&AT_ONCE).unwrap().operations(), 4000);
}

#[test]
fn the_first_failure_ends_a_replay() {
    for threads in [1, 4] {
        let file_system = memory();
        let (db, families) = open_at(&file_system, "/db", |_| ());
        db.start_trace(TRACE, TraceOptions::default()).unwrap();
        db.get_cf(&families[1], &ReadOptions::default(), b"k").unwrap();
        for _ in 0..1000 {
            db.put(b"k", b"v").unwrap();
        }
        db.end_trace().unwrap();
        let without_families = Db::open("/other", options_on(Arc::clone(&file_system))).unwrap();
        let mut replayer = Replayer::new(&without_families, reader(&file_system));
        let error = replayer.replay(&ReplayOptions { threads, ..AT_ONCE }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.offset(), Some(104), "{error}");
        assert!(error.to_string().contains("column family 1") && error.to_string().contains(TRACE), "{error}");
        if threads == 1 {
            assert!(contents(&without_families, &ReadOptions::default()).is_empty());
        }
    }
}

#[test]
fn operations_come_at_their_times() {
    let file_system = memory();
    let clock = Arc::new(ManualClock::passing_sleeps(1 << 40));
    let mut options = options_on(Arc::clone(&file_system));
    options.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
    let db = Db::open("/db", options).unwrap();
    db.start_trace(TRACE, TraceOptions::default()).unwrap();
    for _ in 0..5 {
        clock.advance(Duration::from_secs(4));
        db.get(b"k").unwrap();
    }
    db.end_trace().unwrap();
    for (fast_forward, passed_us) in [(1.0, 20_000_000), (4.0, 5_000_000), (0.5, 40_000_000), (f64::INFINITY, 0)] {
        let by = Arc::new(ManualClock::passing_sleeps(0));
        let mut replayer = Replayer::new(&db, reader(&file_system)).with_clock(Arc::clone(&by) as Arc<dyn Clock>);
        replayer.replay(&ReplayOptions { fast_forward, ..AT_ONCE }).unwrap();
        assert_eq!(by.monotonic_us(), passed_us);
    }
    for fast_forward in [0.0, -1.0, f64::NAN] {
        let mut replayer = Replayer::new(&db, reader(&file_system));
        let error = replayer.replay(&ReplayOptions { fast_forward, ..AT_ONCE }).unwrap_err();
        assert_eq!(error.to_string(), "Invalid argument: Wrong fast forward speed!");
    }
}

#[test]
fn a_trace_that_cannot_be_written_fails_nothing_else() {
    // The first frame goes out at once or with the next ones: the file has a buffer.
    for skipped in 0..4 {
        let files = Arc::new(FaultInjectionFileSystem::new(memory()));
        let db = Db::open("/db", options_on(Arc::clone(&files) as Arc<dyn FileSystem>)).unwrap();
        let rule = FaultRule::new(OperationKind::Append, TRACE, Fault::NoSpace);
        files.add_rule(rule.when(Trigger::From(skipped + 1)));
        let begun = db.start_trace(TRACE, TraceOptions::default());
        assert_eq!(begun.is_err(), skipped == 0, "{begun:?}");
        for number in 0..2000_u32 {
            db.put(&number.to_be_bytes(), &[0; 100]).unwrap();
        }
        assert_eq!(contents(&db, &ReadOptions::default()).len(), 2000);
        let ended = db.end_trace().unwrap_err().to_string();
        assert!(ended.contains(if skipped == 0 { "No trace file to close" } else { TRACE }), "{ended}");
        files.clear_rules();
        db.start_trace(TRACE, TraceOptions::default()).unwrap();
        db.get(b"k").unwrap();
        db.end_trace().unwrap();
        assert_eq!(operations(&(files as Arc<dyn FileSystem>)).len(), 1, "the file is new");
    }
}

#[test]
fn a_trace_that_was_cut_or_changed_is_read_up_to_there() {
    let file_system = memory();
    let (db, _) = open_at(&file_system, "/db", |_| ());
    db.start_trace(TRACE, TraceOptions::default()).unwrap();
    for number in 0..5_u32 {
        db.put(&number.to_be_bytes(), b"value").unwrap();
        db.get(&number.to_be_bytes()).unwrap();
    }
    db.end_trace().unwrap();
    let (all, _) = read(&file_system);
    let bytes = read_file(&*file_system, TRACE.as_ref()).unwrap();
    let open = |bytes: &[u8]| -> Result<TraceReader> {
        let files = memory();
        let mut file = files.create_writable(TRACE.as_ref(), &WritableOptions::default())?;
        file.append(bytes)?;
        file.close()?;
        TraceReader::open_in(files, TRACE)
    };
    for length in 0..=bytes.len() {
        let Ok(mut cut) = open(&bytes[..length]) else {
            assert!(length < 104, "{length}");
            continue;
        };
        let mut found = Vec::new();
        while let Some(operation) = cut.next_operation().unwrap() {
            found.push(operation);
        }
        assert_eq!(found[..], all[..found.len()]);
        let whole = all.iter().filter(|next| next.offset > 104 && next.offset <= length as u64).count();
        assert!(found.len() >= whole, "{length} bytes have {whole} operations and more");
        assert_eq!(cut.is_complete(), length == bytes.len());
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let Ok(mut reader) = open(&changed) else { continue };
            // Every frame that is left is an operation or an error; there are not more of them than bytes.
            for _ in 0..bytes.len() {
                if let Ok(None) = reader.next_operation() {
                    break;
                }
            }
            assert!(matches!(reader.next_operation(), Ok(None)), "byte {at} bit {bit}");
        }
    }
}

#[test]
fn traces_begin_and_end_where_they_may() {
    let file_system = memory();
    let (db, _) = open_at(&file_system, "/db", |_| ());
    assert_eq!(db.end_trace().unwrap_err().to_string(), "IO error: No trace file to close");
    db.start_trace("/first", TraceOptions::default()).unwrap();
    db.get(b"first").unwrap();
    db.start_trace(TRACE, TraceOptions::default()).unwrap();
    db.get(b"second").unwrap();
    let mut first = TraceReader::open_in(Arc::clone(&file_system), "/first").unwrap();
    assert!(first.next_operation().unwrap().is_some() && first.next_operation().unwrap().is_none());
    assert!(first.is_complete(), "another trace ends it");
    db.end_trace().unwrap();
    assert_eq!(operations(&file_system), [Operation::Get { family: 0, key: b"second".to_vec() }]);

    // Of a database that is open for reading; in another file system.
    let files = memory();
    let options = DbOptions { ..options_on(Arc::clone(&file_system)) };
    let (read_only, _) = Db::open_read_only("/db", options, None).unwrap();
    let elsewhere = TraceOptions { file_system: Some(Arc::clone(&files)), ..TraceOptions::default() };
    read_only.start_trace(TRACE, elsewhere).unwrap();
    read_only.get(b"third").unwrap();
    drop(read_only);
    assert_eq!(read(&files).0.len(), 1);
    assert!(read(&files).1);

    db.clone().close().unwrap();
    let refused = db.start_trace(TRACE, TraceOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ShutdownInProgress);
    let error = TraceReader::open_in(Arc::clone(&file_system), "/db/CURRENT").unwrap_err();
    assert!(error.is_corruption() && error.to_string().contains("/db/CURRENT"), "{error}");
}
