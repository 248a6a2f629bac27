//! What the public interface promises, in small: bounds, prefixes, tiers, empty and large keys, ranges, families,
//! options.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking"
)]

mod common;

use common::threads::Waiting;
use common::{in_memory, open_default, options_on};
use ferrock::options::{CompressionType, FilterPolicy, MergeOperator, PrefixExtractor, ReadTier};
use ferrock::{
    ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, ErrorKind, FlushOptions, Iter, ReadOptions, WriteBatch,
    WriteOptions,
};
use ferrock_base::clock::{Clock, SystemClock};
use ferrock_base::merge::StringAppend;
use ferrock_vfs::{
    Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, read_file,
    write_file_synced,
};
use parking_lot::{Condvar, Mutex};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn open() -> Db {
    open_default(in_memory(), ColumnFamilyOptions::default())
}

fn merging() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.merge_operator = Some(Arc::new(StringAppend::new(",")) as Arc<dyn MergeOperator>);
    options
}

fn forward(iter: &mut Iter) -> Vec<String> {
    let mut keys = Vec::new();
    while iter.valid() {
        keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
        iter.next();
    }
    iter.status().unwrap();
    keys
}

fn backward(iter: &mut Iter) -> Vec<String> {
    let mut keys = Vec::new();
    while iter.valid() {
        keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
        iter.prev();
    }
    iter.status().unwrap();
    keys
}

fn put_letters(db: &Db) {
    for letter in ["a", "b", "c", "d", "e"] {
        db.put(letter.as_bytes(), b"1").unwrap();
    }
}

/// Runs a check on memtables, on a table of level 0, and on a compacted one.
fn in_every_place(db: &Db, check: impl Fn(&Db)) {
    check(db);
    db.flush().unwrap();
    check(db);
    db.compact_range(None, None).unwrap();
    check(db);
}

/// Where a scan has no prefix to keep to, what it does inside (jumps over hidden versions, over deleted ranges, turns
/// round) must not give it one.
#[test]
fn a_scan_takes_no_prefix_from_its_own_seeks() {
    let mut family = ColumnFamilyOptions::default();
    family.prefix_extractor = Some(PrefixExtractor::Fixed(1));
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.table.block_size = 32;
    let db = open_default(in_memory(), family);
    let large = [b'v'; 100];
    for key in ["b1", "b2", "d1", "d2"] {
        db.put(key.as_bytes(), &large).unwrap();
    }
    let early = db.snapshot();
    let mut kept = Vec::new();
    for _ in 0..12 {
        db.put(b"a1", &large).unwrap();
        kept.push(db.snapshot());
    }
    for number in 0..20 {
        db.put(format!("c{number:02}").as_bytes(), &large).unwrap();
    }
    let with_c = db.snapshot();
    db.delete_range(b"c", b"d").unwrap();
    in_every_place(&db, |db| {
        let prefixed = ReadOptions { prefix_same_as_start: true, ..ReadOptions::default() };
        let at = |snapshot: &ferrock::Snapshot| ReadOptions { snapshot: Some(snapshot.clone()), ..prefixed.clone() };
        let mut iter = db.iter(&at(&early));
        iter.seek_to_first();
        assert_eq!(forward(&mut iter), ["b1", "b2"], "hidden versions of a1 come first");
        iter.seek_to_last();
        assert_eq!(backward(&mut iter), ["d2", "d1"]);
        let upper = |upper: &[u8]| ReadOptions { upper_bound: Some(upper.to_vec()), ..prefixed.clone() };
        let mut iter = db.iter(&upper(b"c"));
        iter.seek_to_last();
        assert_eq!(backward(&mut iter), ["b2", "b1"], "the prefix is that of the key found, not of the bound");
        let mut iter = db.iter(&ReadOptions { lower_bound: Some(b"b3".to_vec()), ..prefixed.clone() });
        iter.seek_to_first();
        assert_eq!(forward(&mut iter), Vec::<String>::new(), "a lower bound is a seek key, and has a prefix");
        let mut iter = db.iter(&at(&with_c));
        iter.seek(b"c05");
        iter.prev();
        assert_eq!(iter.key(), b"c04");
        assert_eq!(forward(&mut iter).len(), 16);
        // Without a prefix in the key, to the end.
        let mut iter = db.iter(&ReadOptions { snapshot: Some(early.clone()), ..prefixed.clone() });
        iter.seek(b"");
        assert_eq!(forward(&mut iter), ["b1", "b2", "d1", "d2"]);
        let mut iter = db.iter(&prefixed);
        iter.seek(b"");
        assert_eq!(forward(&mut iter), ["a1", "b1", "b2", "d1", "d2"], "over a deleted range");
    });
}

#[test]
fn prefix_seeks_and_total_order() {
    let mut family = ColumnFamilyOptions::default();
    family.prefix_extractor = Some(PrefixExtractor::Fixed(3));
    family.filter_policy = FilterPolicy::bloom(10.0);
    family.memtable_prefix_bloom_size_ratio = 0.1;
    let db = open_default(in_memory(), family);
    for key in ["aaa1", "aaa2", "bbb1", "ccc1", "ccc2", "zz"] {
        db.put(key.as_bytes(), b"1").unwrap();
    }
    in_every_place(&db, |db| {
        let mut iter = db.iter(&ReadOptions { prefix_same_as_start: true, ..ReadOptions::default() });
        iter.seek(b"aaa");
        assert_eq!(forward(&mut iter), ["aaa1", "aaa2"]);
        iter.seek(b"bbb0");
        assert_eq!(forward(&mut iter), ["bbb1"]);
        iter.seek(b"bba");
        assert!(!iter.valid());
        let mut iter = db.iter(&ReadOptions { total_order_seek: true, ..ReadOptions::default() });
        iter.seek(b"bba");
        assert_eq!(forward(&mut iter), ["bbb1", "ccc1", "ccc2", "zz"]);
        iter.seek(b"d");
        assert_eq!(forward(&mut iter), ["zz"]);
        iter.seek_to_first();
        assert_eq!(forward(&mut iter).len(), 6);
        // Within a prefix that exists a plain seek is right, also for keys out of the extractor's domain.
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek(b"ccc2");
        assert_eq!(iter.key(), b"ccc2");
        iter.seek(b"zz");
        assert_eq!(iter.key(), b"zz");
        for key in ["aaa1", "ccc2", "zz"] {
            assert!(db.get(key.as_bytes()).unwrap().is_some(), "{key}");
        }
        assert!(db.get(b"aaa3").unwrap().is_none() && db.get(b"q").unwrap().is_none());
    });
}

#[test]
fn the_cache_tier_answers_incomplete_instead_of_reading() {
    let file_system = MemoryFileSystem::new();
    let db = Db::open("/db", options_on(Arc::new(file_system.clone()))).unwrap();
    put_letters(&db);
    db.flush().unwrap();
    db.close().unwrap();
    let db = Db::open("/db", options_on(Arc::new(file_system.clone()))).unwrap();
    db.put(b"in memory", b"2").unwrap();
    let cached = ReadOptions { read_tier: ReadTier::BlockCacheOnly, ..ReadOptions::default() };
    assert_eq!(db.get_with(&cached, b"in memory").unwrap().as_deref(), Some(&b"2"[..]));
    assert_eq!(db.get_with(&cached, b"b").unwrap_err().kind(), ErrorKind::Incomplete);
    let mut iter = db.iter(&cached);
    iter.seek(b"b");
    assert!(!iter.valid());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Incomplete);
    let family = db.default_column_family().unwrap();
    let results = db.multi_get_cf(&family, &cached, &[b"in memory", b"c"]);
    assert!(results[0].is_ok());
    assert_eq!(results[1].as_ref().unwrap_err().kind(), ErrorKind::Incomplete);
    // A read that does not fill the cache changes nothing; one that does makes the next one complete.
    db.get_with(&ReadOptions { fill_cache: false, ..ReadOptions::default() }, b"b").unwrap().unwrap();
    assert_eq!(db.get_with(&cached, b"b").unwrap_err().kind(), ErrorKind::Incomplete);
    db.get(b"b").unwrap().unwrap();
    assert_eq!(db.get_with(&cached, b"b").unwrap().as_deref(), Some(&b"1"[..]));
    iter.seek(b"b");
    assert!(iter.valid());
}

#[test]
fn pinned_values_outlive_everything() {
    let mut family = ColumnFamilyOptions::default();
    family.compression = CompressionType::Lz4;
    let db = open_default(in_memory(), family);
    let value = b"value".repeat(100);
    db.put(b"k", &value).unwrap();
    db.flush().unwrap();
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    let pinned = iter.pin_value();
    let got = db.get(b"k").unwrap().unwrap();
    assert!(pinned.is_pinned() && got.is_pinned(), "a value in a cached block is not copied");
    db.delete(b"k").unwrap();
    db.compact_range(None, None).unwrap();
    drop(iter);
    db.close().unwrap();
    assert_eq!(pinned.as_slice(), &value[..]);
    assert_eq!(std::thread::spawn(move || got.into_vec()).join().unwrap(), value);
}

#[test]
fn multi_get_keeps_the_order_and_answers_duplicates() {
    let db = open_default(in_memory(), merging());
    let family = db.default_column_family().unwrap();
    put_letters(&db);
    db.flush().unwrap();
    db.merge_cf(&family, b"a", b"x", &WriteOptions::default()).unwrap();
    db.delete(b"c").unwrap();
    in_every_place(&db, |db| {
        let keys: [&[u8]; 8] = [b"e", b"a", b"zz", b"c", b"a", b"", b"e", b"b"];
        let got: Vec<Option<Vec<u8>>> =
            db.multi_get(&keys).into_iter().map(|value| value.unwrap().map(|value| value.into_vec())).collect();
        let expected: [Option<&[u8]>; 8] =
            [Some(b"1"), Some(b"1,x"), None, None, Some(b"1,x"), None, Some(b"1"), Some(b"1")];
        assert_eq!(got, expected.map(|value| value.map(<[u8]>::to_vec)));
        assert!(db.multi_get(&[]).is_empty());
    });
}

#[test]
fn empty_and_odd_keys_and_values() {
    let db = open_default(in_memory(), merging());
    let family = db.default_column_family().unwrap();
    let long = vec![0xff; 70_000];
    let keys: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", &long];
    for key in keys {
        db.put(key, b"").unwrap();
    }
    in_every_place(&db, |db| {
        for key in keys {
            assert_eq!(db.get(key).unwrap().as_deref(), Some(&b""[..]), "{}", key.len());
        }
        let mut iter = db.iter(&ReadOptions::default());
        iter.seek_to_first();
        let mut found = Vec::new();
        while iter.valid() {
            found.push(iter.key().to_vec());
            iter.next();
        }
        assert_eq!(found, keys);
    });
    db.merge_cf(&family, b"", b"m", &WriteOptions::default()).unwrap();
    db.delete(b"\0").unwrap();
    in_every_place(&db, |db| {
        assert_eq!(db.get(b"").unwrap().as_deref(), Some(&b",m"[..]));
        assert!(db.get(b"\0").unwrap().is_none());
    });
}

#[test]
fn values_larger_than_every_buffer() {
    let mut family = ColumnFamilyOptions::default();
    family.write_buffer_size = 64 << 10;
    family.target_file_size_base = 64 << 10;
    let file_system = MemoryFileSystem::new();
    let open = || {
        Db::open_cf("/db", options_on(Arc::new(file_system.clone())), vec![("default".to_owned(), family.clone())])
            .unwrap()
            .0
    };
    let db = open();
    let value =
        |number: u8| (0..3_000_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8 ^ number).collect();
    let values: Vec<Vec<u8>> = (0..4).map(value).collect();
    for (number, value) in values.iter().enumerate() {
        db.put(format!("k{number}").as_bytes(), value).unwrap();
    }
    let check = |db: &Db| {
        for (number, value) in values.iter().enumerate() {
            assert!(db.get(format!("k{number}").as_bytes()).unwrap().as_deref() == Some(&value[..]));
        }
    };
    check(&db);
    drop(db);
    let db = open();
    in_every_place(&db, check);
}

#[test]
fn ranges_in_a_batch() {
    let db = open();
    let family = db.default_column_family().unwrap();
    put_letters(&db);
    let now = WriteOptions::default();
    let error = db.delete_range_cf(&family, b"d", b"b", &now).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("begin d") && error.to_string().contains("end b"), "{error}");
    // A batch with such a range does nothing at all.
    let mut batch = WriteBatch::new();
    batch.put(b"x", b"1").unwrap();
    batch.delete_range(b"d", b"b").unwrap();
    assert!(db.write(batch, &now).is_err());
    assert!(db.get(b"x").unwrap().is_none());
    // Within a batch the order of the records counts.
    let mut batch = WriteBatch::new();
    batch.put(b"m1", b"1").unwrap();
    batch.delete_range(b"m", b"n").unwrap();
    batch.put(b"m2", b"1").unwrap();
    db.write(batch, &now).unwrap();
    assert!(db.get(b"m1").unwrap().is_none() && db.get(b"m2").unwrap().is_some());
}

#[test]
fn merges_need_an_operator() {
    let db = open();
    let family = db.default_column_family().unwrap();
    let error = db.merge_cf(&family, b"k", b"v", &WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
    assert!(error.to_string().contains("merge_operator"), "{error}");
    assert!(db.get(b"k").unwrap().is_none());
    db.put(b"k", b"1").unwrap();
    // Operands written with an operator cannot be read without one, and stay.
    let file_system = MemoryFileSystem::new();
    let open = |family| {
        Db::open_cf("/db", options_on(Arc::new(file_system.clone())), vec![("default".to_owned(), family)]).unwrap().0
    };
    let db = open(merging());
    let family = db.default_column_family().unwrap();
    db.merge_cf(&family, b"k", b"1", &WriteOptions::default()).unwrap();
    db.merge_cf(&family, b"k", b"2", &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let db = open(ColumnFamilyOptions::default());
    assert!(db.get(b"k").is_err());
    let mut iter = db.iter(&ReadOptions::default());
    iter.seek_to_first();
    assert!(!iter.valid() && iter.status().is_err());
    db.close().unwrap();
    let db = open(merging());
    in_every_place(&db, |db| assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"1,2"[..])));
}

#[test]
fn writes_that_contradict_themselves() {
    let db = open();
    let mut batch = WriteBatch::new();
    batch.put(b"k", b"v").unwrap();
    let contradiction = WriteOptions { sync: true, disable_wal: true, ..WriteOptions::default() };
    let error = db.write(batch.clone(), &contradiction).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("WAL"), "{error}");
    assert!(db.get(b"k").unwrap().is_none());
    db.write(WriteBatch::new(), &WriteOptions::synced()).unwrap();
    let before = db.latest_sequence_number();
    db.write(batch, &WriteOptions::default()).unwrap();
    assert_eq!(db.latest_sequence_number().0, before.0 + 1);
}

#[test]
fn what_has_no_log_is_flushed_at_close() {
    let file_system = MemoryFileSystem::new();
    let db = Db::open("/db", options_on(Arc::new(file_system.clone()))).unwrap();
    let family = db.default_column_family().unwrap();
    db.put_cf(&family, b"k", b"v", &WriteOptions { disable_wal: true, ..WriteOptions::default() }).unwrap();
    db.close().unwrap();
    let db = Db::open("/db", options_on(Arc::new(file_system.clone()))).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn families() {
    let file_system = MemoryFileSystem::new();
    let named =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), ColumnFamilyOptions::default())).collect();
    let mut strict = options_on(Arc::new(file_system.clone()));
    strict.create_missing_column_families = false;
    let error = Db::open_cf("/db", strict.clone(), named(&["default", "one"])).map(drop).unwrap_err();
    assert!(
        error.to_string().contains("one") && error.to_string().contains("create_missing_column_families"),
        "{error}"
    );
    let (db, handles) =
        Db::open_cf("/db", options_on(Arc::new(file_system.clone())), named(&["one", "default", "two"])).unwrap();
    assert_eq!(handles.iter().map(ferrock::ColumnFamily::name).collect::<Vec<_>>(), ["one", "default", "two"]);
    let now = WriteOptions::default();
    for (number, handle) in handles.iter().enumerate() {
        db.put_cf(handle, b"k", &[number as u8], &now).unwrap();
    }
    assert_eq!(
        db.create_column_family("one", ColumnFamilyOptions::default()).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert!(db.create_column_family("", ColumnFamilyOptions::default()).is_err());
    let two = db.column_family("two").unwrap();
    let mut iter = db.iter_cf(&two, &ReadOptions::default());
    db.drop_column_family(&two).unwrap();
    assert!(db.column_family("two").is_none());
    // Writes are refused, reads of what is there go on.
    let error = db.put_cf(&two, b"k", b"v", &now).unwrap_err();
    assert!(error.to_string().contains("dropped"), "{error}");
    let skipping = WriteOptions { ignore_missing_column_families: true, ..now };
    let mut batch = WriteBatch::new();
    batch.put_cf(two.id(), b"k", b"v").unwrap();
    batch.put_cf(handles[0].id(), b"beside", b"v").unwrap();
    assert!(db.write(batch.clone(), &now).is_err());
    assert!(db.get_cf(&handles[0], &ReadOptions::default(), b"beside").unwrap().is_none(), "all or nothing");
    db.write(batch, &skipping).unwrap();
    assert!(db.get_cf(&handles[0], &ReadOptions::default(), b"beside").unwrap().is_some());
    iter.seek_to_first();
    assert_eq!(iter.value(), [2]);
    let flushed = db.flush_cf(&two, &FlushOptions::default()).unwrap_err();
    assert_eq!(flushed.kind(), ErrorKind::ColumnFamilyDropped, "{flushed}");
    assert!(db.get_cf(&two, &ReadOptions::default(), b"k").is_ok(), "its handle reads on");
    assert!(db.compact_range_cf(&two, None, None, &CompactRangeOptions::default()).is_err());
    let again = db.drop_column_family(&two).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidArgument);
    assert!(again.to_string().contains("Column family already dropped!"), "{again}");
    let changed = db.set_options_cf(&two, &[("nonsense", "1")]).unwrap_err();
    assert_eq!(changed.kind(), ErrorKind::ColumnFamilyDropped, "{changed}");
    let default = db.default_column_family().unwrap();
    assert_eq!(db.drop_column_family(&default).unwrap_err().kind(), ErrorKind::InvalidArgument);
    drop((db, handles, two, default, iter));
    assert_eq!(
        Db::list_column_families("/db", &options_on(Arc::new(file_system.clone()))).unwrap(),
        ["default", "one"]
    );
    let error = Db::open("/db", options_on(Arc::new(file_system.clone()))).unwrap_err();
    assert!(error.to_string().contains("one"), "families that are not opened are named: {error}");
    assert!(
        Db::open_cf("/db", options_on(Arc::new(file_system.clone())), named(&["one"])).is_err(),
        "default must be named"
    );
    assert!(Db::open_cf("/db", options_on(Arc::new(file_system.clone())), named(&["default", "one", "one"])).is_err());
    // A name that is created again is a new family.
    let (db, handles) =
        Db::open_cf("/db", options_on(Arc::new(file_system.clone())), named(&["default", "one", "two"])).unwrap();
    assert!(db.get_cf(&handles[2], &ReadOptions::default(), b"k").unwrap().is_none());
    assert_eq!(db.get_cf(&handles[1], &ReadOptions::default(), b"k").unwrap().as_deref(), Some(&[0][..]));
}

#[test]
fn values_out_of_bounds_are_adjusted_noted_and_logged() {
    let file_system = MemoryFileSystem::new();
    let mut options = options_on(Arc::new(file_system.clone()));
    options.max_background_jobs = 0;
    options.max_open_files = -7;
    options.passthrough.set(ferrock::options::DB_OPTIONS_WITHOUT_EFFECT, "use_fsync", "true").unwrap();
    let mut family = ColumnFamilyOptions::default();
    family.num_levels = 0;
    family.write_buffer_size = 16_384;
    family.table.block_size = 0;
    let families = vec![("default".to_owned(), family.clone())];
    let (db, _) = Db::open_cf("/db", options, families).unwrap();
    put_letters(&db);
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"1"[..]));
    let noted = |text: &str| db.option_notes().iter().filter(|note| note.contains(text)).count();
    for text in [
        "database: max_background_jobs = 0 is out of 1..=1024; 1 is used",
        "database: max_open_files = -7 is out of -1..=2147483647; 20 is used",
        "database: use_fsync = true has no effect",
        "column family default: num_levels = 0 is out of 1..=64; 2 is used",
        "column family default: write_buffer_size = 16384 is out of",
        "column family default: block_size = 0 is out of",
    ] {
        assert_eq!(noted(text), 1, "{text}: {:#?}", db.option_notes());
    }
    // A family that is created later, and options that change: the last note of each counts.
    db.create_column_family("later", family).unwrap();
    let default = db.default_column_family().unwrap();
    db.set_options_cf(&default, &[("write_buffer_size", "1"), ("level0_stop_writes_trigger", "3")]).unwrap();
    db.set_db_options(&[("max_background_jobs", "-3"), ("delete_obsolete_files_period_micros", "2")]).unwrap();
    for text in [
        "column family later: num_levels = 0",
        "column family default: write_buffer_size = 1 is out of",
        "column family default: level0_stop_writes_trigger = 3 is below",
        "database: max_background_jobs = -3",
        "database: delete_obsolete_files_period_micros = 2 has no effect",
    ] {
        assert_eq!(noted(text), 1, "{text}: {:#?}", db.option_notes());
    }
    assert_eq!((noted("write_buffer_size = 16384"), noted("max_background_jobs = 0")), (1, 0), "later has the first");
    db.set_db_options(&[("max_background_jobs", "3")]).unwrap();
    db.set_options_cf(&default, &[("block_based_table_factory", "{block_size=8K;}")]).unwrap();
    assert_eq!((noted("max_background_jobs"), noted("default: block_size")), (0, 0));
    db.drop_column_family(&db.column_family("later").unwrap()).unwrap();
    assert_eq!(noted("column family later"), 0);
    let log = String::from_utf8(read_file(&file_system, Path::new("/db/LOG")).unwrap()).unwrap();
    assert!(log[26..].starts_with(" RocksDB version: 11.8.1\n"), "{log}");
    for text in [
        "max_open_files = -7",
        "use_fsync = true",
        "write_buffer_size = 16384",
        "write_buffer_size = 1 is",
        "Options.max_open_files: 20\n",
        "Options.use_fsync: 1\n",
        "Options for column family [default]:\n",
        "Options.write_buffer_size: 65536\n",
        "Options for column family [later]:\n",
    ] {
        assert!(log.contains(text), "{text}: {log}");
    }
    db.close().unwrap();
    let names = file_system.children(Path::new("/db")).unwrap();
    let newest = names.iter().rfind(|name| name.starts_with("OPTIONS-")).unwrap();
    let written = String::from_utf8(read_file(&file_system, &Path::new("/db").join(newest)).unwrap()).unwrap();
    for kept in ["use_fsync=true", "delete_obsolete_files_period_micros=2", "block_size=8192", "max_open_files=20"] {
        assert!(written.contains(kept), "{kept}");
    }
}

#[test]
fn options_that_mean_nothing_are_refused_all_at_once() {
    let mut options = in_memory();
    options.keep_log_file_num = 0;
    let mut family = ColumnFamilyOptions::default();
    family.max_bytes_for_level_multiplier = f64::NAN;
    family.table.format_version = 99;
    let error = Db::open_cf("/db", options, vec![("default".to_owned(), family)]).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for name in ["keep_log_file_num", "max_bytes_for_level_multiplier", "format_version = 99"] {
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    let db = open();
    let default = db.default_column_family().unwrap();
    let error =
        db.set_options_cf(&default, &[("num_levels", "3"), ("no_such", "1"), ("write_buffer_size", "x")]).unwrap_err();
    for name in ["num_levels", "no_such", "write_buffer_size"] {
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    let error = db.set_db_options(&[("create_if_missing", "true"), ("max_background_jobs", "x")]).unwrap_err();
    assert!(
        error.to_string().contains("create_if_missing") && error.to_string().contains("max_background_jobs"),
        "{error}"
    );
}

#[test]
fn a_foreign_options_file_is_restored_with_notes() {
    let file_system = MemoryFileSystem::new();
    let mut family = merging();
    family.write_buffer_size = 128 << 10;
    family.table.block_size = 999;
    let db =
        Db::open_cf("/db", options_on(Arc::new(file_system.clone())), vec![("default".to_owned(), family)]).unwrap().0;
    put_letters(&db);
    db.close().unwrap();
    let names = file_system.children(Path::new("/db")).unwrap();
    let name = names.iter().rfind(|name| name.starts_with("OPTIONS-")).unwrap();
    let path = Path::new("/db").join(name);
    let text = String::from_utf8(read_file(&file_system, &path).unwrap()).unwrap();
    let text = text
        .replacen("recycle_log_file_num=0", "recycle_log_file_num=7", 1)
        .replacen("max_background_jobs=2", "max_background_jobs=5", 1)
        .replacen("compaction_filter=nullptr", "compaction_filter=SomebodysOwn", 1)
        .replacen("index_type=kBinarySearch", "index_type=kHashSearch", 1);
    write_file_synced(&file_system, &path, text.as_bytes()).unwrap();
    let (db, handles) = Db::open_with_latest_options("/db", options_on(Arc::new(file_system.clone()))).unwrap();
    assert_eq!(handles.len(), 1);
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"1"[..]));
    let notes = db.option_notes().join("\n");
    for noted in ["recycle_log_file_num = 7", "SomebodysOwn", "index_type"] {
        assert!(notes.contains(noted), "{noted} is not noted: {notes}");
    }
    db.merge_cf(&handles[0], b"c", b"x", &WriteOptions::default()).unwrap();
    assert_eq!(db.get(b"c").unwrap().as_deref(), Some(&b"1,x"[..]));
    // Its own new OPTIONS file has what the foreign one had.
    let names = file_system.children(Path::new("/db")).unwrap();
    let newest = names.iter().rfind(|name| name.starts_with("OPTIONS-")).unwrap();
    assert_ne!(newest, name);
    let written = String::from_utf8(read_file(&file_system, &Path::new("/db").join(newest)).unwrap()).unwrap();
    for kept in ["recycle_log_file_num=7", "max_background_jobs=5", "block_size=999", "write_buffer_size=131072"] {
        assert!(written.contains(kept), "{kept}");
    }
}

#[test]
fn an_iterator_gives_up_after_too_many_hidden_entries() {
    let db = open();
    for number in 0..100u32 {
        db.put(&number.to_be_bytes(), b"v").unwrap();
        db.delete(&number.to_be_bytes()).unwrap();
    }
    db.put(b"z", b"v").unwrap();
    let mut iter = db.iter(&ReadOptions { max_skippable_internal_keys: 20, ..ReadOptions::default() });
    iter.seek_to_first();
    assert!(!iter.valid());
    assert_eq!(iter.status().unwrap_err().kind(), ErrorKind::Incomplete);
    let mut iter = db.iter(&ReadOptions { max_skippable_internal_keys: 1000, ..ReadOptions::default() });
    iter.seek_to_first();
    assert_eq!(iter.key(), b"z");
}

/// The machine's clock, but to sleep is to wait until a gate opens.
#[derive(Debug, Default)]
struct Gate {
    system: SystemClock,
    /// How many wait, and whether the gate is open.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Clock for Gate {
    fn monotonic_us(&self) -> u64 {
        self.system.monotonic_us()
    }
    fn unix_us(&self) -> u64 {
        self.system.unix_us()
    }
    fn sleep(&self, _: Duration) {
        let mut state = self.state.lock();
        state.0 += 1;
        self.changed.notify_all();
        self.changed.wait_while(&mut state, |(_, is_open)| !*is_open);
    }
}

#[test]
fn closing_waits_for_the_options_file_of_another_thread() {
    let (memory, gate) = (MemoryFileSystem::new(), Arc::new(Gate::default()));
    let faults = FaultInjectionFileSystem::with_clock(Arc::new(memory.clone()), Arc::clone(&gate) as Arc<dyn Clock>);
    let mut options = options_on(Arc::new(memory.clone()));
    options.components.file_system = Some(Arc::new(faults.clone()) as Arc<dyn FileSystem>);
    let db = Db::open("/db", options).unwrap();
    faults.add_rule(FaultRule::new(OperationKind::Rename, "OPTIONS-*", Fault::Delay(Duration::from_secs(1))));
    let changer = db.clone();
    let change = std::thread::spawn(move || changer.set_db_options(&[("max_background_jobs", "5")]));
    gate.changed.wait_while(&mut gate.state.lock(), |(waiting, _)| *waiting == 0);
    let close = Waiting::begin("closing", move || db.close());
    assert!(Db::open("/db", options_on(Arc::new(memory.clone()))).is_err());
    gate.state.lock().1 = true;
    gate.changed.notify_all();
    change.join().unwrap().unwrap();
    close.join().unwrap();
    let (db, _) = Db::open_with_latest_options("/db", options_on(Arc::new(memory.clone()))).unwrap();
    db.close().unwrap();
    let newest =
        memory.children(Path::new("/db")).unwrap().into_iter().filter(|name| name.starts_with("OPTIONS")).max();
    let text = read_file(&memory, &Path::new("/db").join(newest.unwrap())).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("max_background_jobs=5"));
}

#[test]
fn an_open_that_is_refused_for_what_is_or_is_not_there_leaves_nothing() {
    let file_system = MemoryFileSystem::new();
    let listing = || {
        let mut names = file_system.children(Path::new("/db")).unwrap();
        names.sort();
        names
    };
    let mut options = options_on(Arc::new(file_system.clone()));
    options.create_if_missing = false;
    let refused = |options: &DbOptions| {
        let default = || vec![("default".to_owned(), ColumnFamilyOptions::default())];
        for _ in 0..2 {
            let error = Db::open("/db", options.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            Db::open_cf("/db", options.clone(), default()).map(drop).unwrap_err();
        }
    };
    refused(&options);
    Db::open_with_latest_options("/db", options.clone()).map(drop).unwrap_err();
    Db::open_read_only("/db", options.clone(), None).map(drop).unwrap_err();
    assert!(!file_system.exists(Path::new("/db")).unwrap());
    file_system.create_dir_all(Path::new("/db")).unwrap();
    refused(&options);
    Db::open_with_latest_options("/db", options.clone()).map(drop).unwrap_err();
    Db::open_read_only("/db", options.clone(), None).map(drop).unwrap_err();
    assert_eq!(listing(), [""; 0]);
    write_file_synced(&file_system, Path::new("/db/foreign.txt"), b"else").unwrap();
    refused(&options);
    assert_eq!(listing(), ["foreign.txt"]);
    // Nor does one that wants no database where there is one.
    let mut options = options_on(Arc::new(file_system.clone()));
    Db::open("/db", options.clone()).unwrap().close().unwrap();
    let before = listing();
    options.error_if_exists = true;
    refused(&options);
    assert_eq!(listing(), before);
}

#[test]
fn tables_below_the_trigger_stay_as_they_are_until_a_snapshot_is_released() {
    let db = open();
    let numbers = || db.live_files().iter().map(|file| file.number).collect::<Vec<_>>();
    let flush = |key: &str| {
        db.put(key.as_bytes(), b"v").unwrap();
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
    };
    flush("a");
    let first = numbers();
    assert_eq!(first.len(), 1);
    // Two more: below `level0_file_num_compaction_trigger`, whatever else is there to do.
    flush("b");
    flush("c");
    assert_eq!(numbers().len(), 3);
    assert!(numbers().contains(&first[0]), "the first table was rewritten");
    let snapshot = db.snapshot();
    db.compact_range(Some(b"x"), Some(b"y")).unwrap();
    db.wait_for_background_work().unwrap();
    assert!(numbers().contains(&first[0]));
    // What it kept may go now: the oldest tables are rewritten where they are.
    drop(snapshot);
    flush("d");
    assert!(!numbers().contains(&first[0]));
    for key in ["a", "b", "c", "d"] {
        assert_eq!(db.get(key.as_bytes()).unwrap().as_deref(), Some(&b"v"[..]));
    }
}

#[test]
fn tables_that_are_not_built_are_refused() {
    let db = Db::open("/db", in_memory()).unwrap();
    let mut family = ColumnFamilyOptions::default();
    family.table.read_amp_bytes_per_bit = 32;
    let created = db.create_column_family("other", family.clone()).unwrap_err();
    let families = vec![("default".to_owned(), family)];
    let opened = Db::open_cf("/db", in_memory(), families).unwrap_err();
    for error in [created, opened] {
        assert_eq!(error.kind(), ErrorKind::NotSupported);
        assert!(error.to_string().contains("read_amp_bytes_per_bit"), "{error}");
    }
}

#[test]
fn after_close_everything_answers_with_an_error() {
    let db = open();
    db.put(b"k", b"v").unwrap();
    let other = db.clone();
    db.close().unwrap();
    assert_eq!(other.put(b"k", b"v").unwrap_err().kind(), ErrorKind::ShutdownInProgress);
    assert!(other.flush().is_err());
    assert!(other.compact_range(None, None).is_err());
    assert_eq!(other.get(b"k").unwrap().as_deref(), Some(&b"v"[..]), "what is in memory can still be read");
    other.close().unwrap();
}
