//! What surrounds a database's life: destroying one, pausing its jobs, sizes before reading, caches of families.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod common;

use common::creating;
use common::threads::{Gate, RecordingSpawner, Waiting, wait_until};
use ferrock::{ColumnFamilyOptions, Db, DbOptions, ErrorKind, FlushOptions, ReadOptions};
use ferrock_base::thread::Spawner;
use ferrock_cache::CacheOptions;
use ferrock_table::TableBlockCache;
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn destroying_takes_a_databases_files_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    Db::destroy(&path, &DbOptions::default()).unwrap();
    assert!(!path.exists(), "what is not there is not created");

    let db = Db::open(&path, creating()).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    let error = Db::destroy(&path, &DbOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
    db.close().unwrap();

    std::fs::create_dir(path.join("archive")).unwrap();
    std::fs::write(path.join("archive/000002.log"), b"").unwrap();
    std::fs::write(path.join("notes.txt"), b"mine").unwrap();
    Db::destroy(&path, &DbOptions::default()).unwrap();
    assert_eq!(names(&path), ["notes.txt"]);

    std::fs::remove_file(path.join("notes.txt")).unwrap();
    let db = Db::open(&path, creating()).unwrap();
    assert!(db.get(b"k").unwrap().is_none(), "nothing of the old one is left");
    db.close().unwrap();
    Db::destroy(&path, &DbOptions::default()).unwrap();
    assert!(!path.exists());
}

#[test]
fn a_paused_database_runs_no_jobs() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = creating();
    let spawner = Arc::new(RecordingSpawner::default());
    options.components.spawner = Some(Arc::clone(&spawner) as Arc<dyn Spawner>);
    let db = Db::open(directory.path(), options).unwrap();
    assert_eq!(db.continue_background_work().unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.pause_background_work().unwrap();
    db.pause_background_work().unwrap();
    db.put(b"k", b"v").unwrap();
    let family = db.default_column_family().unwrap();
    db.flush_cf(&family, &FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    let compaction = {
        let db = db.clone();
        Waiting::begin("the compaction", move || db.compact_range(None, None))
    };
    db.continue_background_work().unwrap();
    compaction.still_waits("with one pause left");
    assert_eq!((spawner.count(""), db.live_files().len()), (0, 0), "one pause is left");
    assert_eq!(db.int_property("rocksdb.num-immutable-mem-table"), Some(1));
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]), "reading goes on");
    db.continue_background_work().unwrap();
    compaction.join().unwrap();
    assert!(spawner.count("") > 0);
    assert_eq!(db.live_files().len(), 1);
}

#[test]
fn a_manual_compaction_of_tables_waits_for_the_end_of_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::open(directory.path(), creating()).unwrap();
    for round in 0..2 {
        db.put(b"k", &[round]).unwrap();
        db.flush().unwrap();
    }
    db.pause_background_work().unwrap();
    let compaction = {
        let db = db.clone();
        Waiting::begin("the compaction", move || db.compact_range(None, None))
    };
    assert_eq!(db.live_files().len(), 2);
    db.continue_background_work().unwrap();
    compaction.join().unwrap();
    assert_eq!(db.live_files().len(), 1);
}

#[test]
fn closing_ends_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let db = Db::open(directory.path(), creating()).unwrap();
    db.pause_background_work().unwrap();
    let family = db.default_column_family().unwrap();
    let unlogged = ferrock::WriteOptions { disable_wal: true, ..Default::default() };
    db.put_cf(&family, b"k", b"v", &unlogged).unwrap();
    db.close().unwrap();
    let db = Db::open(directory.path(), creating()).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn approximate_sizes_follow_the_keys() {
    let directory = tempfile::tempdir().unwrap();
    let mut family = ColumnFamilyOptions::default();
    family.compression = ferrock::options::CompressionType::NoCompression;
    let (db, handles) = Db::open_cf(directory.path(), creating(), vec![("default".to_owned(), family)]).unwrap();
    let key = |number: u32| format!("key{number:05}").into_bytes();
    for number in 0..4000 {
        db.put(&key(number), &[7; 100]).unwrap();
    }
    let sizes = |from: u32, to: u32| db.approximate_sizes(&handles[0], &[(&key(from), &key(to))]).unwrap()[0];
    assert_eq!(sizes(0, 4000), 0, "memory does not count");
    db.flush().unwrap();
    let (all, file) = (sizes(0, 4000), db.live_files()[0].size_bytes);
    assert_eq!(all, file, "a whole table counts whole");
    for (from, to) in [(1000, 2000), (0, 1000), (3000, 9000)] {
        let quarter = sizes(from, to);
        assert!(quarter.abs_diff(all / 4) < all / 20, "{from}..{to}: {quarter} of {all}");
    }
    assert_eq!((sizes(2000, 1000), sizes(5000, 6000)), (0, 0));
    let many = db.approximate_sizes(&handles[0], &[(b"a", b"b"), (b"k", b"l")]).unwrap();
    assert_eq!(many, [0, file]);
}

#[test]
fn a_family_may_have_a_cache_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let cache = |bytes| TableBlockCache::new(CacheOptions { capacity_bytes: bytes, ..CacheOptions::default() });
    let (shared, own) = (cache(8 << 20), cache(4 << 20));
    let mut options = creating();
    options.components.block_cache = Some(Arc::clone(&shared));
    let mut family = ColumnFamilyOptions::default();
    family.block_cache = Some(Arc::clone(&own));
    let families = vec![("default".to_owned(), ColumnFamilyOptions::default()), ("own".to_owned(), family)];
    let (db, handles) = Db::open_cf(directory.path(), options, families).unwrap();
    let capacity = |index: usize| db.int_property_cf(&handles[index], "rocksdb.block-cache-capacity");
    assert_eq!((capacity(0), capacity(1)), (Some(8 << 20), Some(4 << 20)));
    db.put_cf(&handles[1], b"k", b"v", &ferrock::WriteOptions::default()).unwrap();
    db.flush_cf(&handles[1], &FlushOptions::default()).unwrap();
    let before = shared.usage();
    assert!(db.get_cf(&handles[1], &ReadOptions::default(), b"k").unwrap().is_some());
    assert_eq!(shared.usage(), before);
    assert!(own.usage() > 0);
}

#[test]
fn every_version_of_a_key_can_be_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let (db, families) =
        Db::open_cf(directory.path(), creating(), vec![("default".to_owned(), ColumnFamilyOptions::default())])
            .unwrap();
    let snapshots: Vec<_> = [b"1", b"2"]
        .iter()
        .map(|value| {
            db.put(b"b", &value[..]).unwrap();
            db.snapshot()
        })
        .collect();
    db.put(b"a", b"first").unwrap();
    db.flush().unwrap();
    db.delete(b"b").unwrap();
    db.put(b"c", b"last").unwrap();
    db.delete_range(b"a", b"b").unwrap();
    let all = |begin: Option<&[u8]>, end: Option<&[u8]>| {
        let mut versions = db.key_versions(&families[0], begin, end).unwrap();
        let mut seen = Vec::new();
        while let Some(version) = versions.current().unwrap() {
            seen.push((
                version.user_key.to_vec(),
                version.sequence.0,
                version.value_type as u8,
                version.value.to_vec(),
            ));
            versions.advance();
        }
        seen
    };
    let version = |key: &[u8], sequence, kind, value: &[u8]| (key.to_vec(), sequence, kind, value.to_vec());
    let expected = [
        version(b"a", 3, 1, b"first"),
        version(b"b", 4, 0, b""),
        version(b"b", 2, 1, b"2"),
        version(b"b", 1, 1, b"1"),
        version(b"c", 5, 1, b"last"),
    ];
    assert_eq!(all(None, None), expected);
    assert_eq!(all(Some(b"b"), Some(b"c")), expected[1..4]);
    assert_eq!(all(Some(b"bb"), None), expected[4..]);
    assert_eq!(all(None, Some(b"a")), []);
    drop(snapshots);
}

#[test]
fn closing_ends_while_a_flush_is_about_to_begin() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::shut();
    let mut options = creating();
    options.components.spawner = Some(Arc::new(RecordingSpawner::behind(&gate)));
    let db = Db::open(directory.path(), options).unwrap();
    // More than a job writes before it looks whether the database closes.
    for number in 0..5000u32 {
        db.put(&number.to_be_bytes(), b"v").unwrap();
    }
    let family = db.default_column_family().unwrap();
    db.flush_cf(&family, &FlushOptions { wait: false, ..FlushOptions::default() }).unwrap();
    let closing = db.clone();
    let (ended, wait) = std::sync::mpsc::channel();
    let closer = std::thread::spawn(move || ended.send(closing.close()));
    wait_until("closing", || db.put(b"k", b"v").is_err());
    gate.open();
    wait.recv_timeout(Duration::from_secs(30)).expect("closing does not end").unwrap();
    closer.join().unwrap().unwrap();
    drop(db);
    let db = Db::open(directory.path(), creating()).unwrap();
    assert_eq!(db.get(&4999u32.to_be_bytes()).unwrap().as_deref(), Some(&b"v"[..]), "the log has it");
}

/// Files of many tables may take long to remove, and their directory to list: a reader must not wait for it.
#[test]
fn the_thread_that_drops_an_iterator_removes_no_file() {
    let faults = Arc::new(FaultInjectionFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let mut options = creating();
    options.components.file_system = Some(Arc::clone(&faults) as Arc<dyn FileSystem>);
    let db = Db::open("/db", options).unwrap();
    let tables = || {
        let names = faults.inner().children(Path::new("/db")).unwrap();
        names.iter().filter(|name| name.ends_with(".sst")).count()
    };
    for value in [b"1", b"2"] {
        db.put(b"k", value).unwrap();
        db.flush().unwrap();
    }
    let iter = db.iter(&ReadOptions::default());
    db.compact_range(None, None).unwrap();
    assert_eq!(tables(), 3, "two that are read, one that is new");
    let own = std::thread::current().id();
    let of_reader = [OperationKind::Remove, OperationKind::List]
        .map(|operation| faults.add_rule(FaultRule::new(operation, "*", Fault::Io).on_thread(own)));
    drop(iter);
    db.wait_for_background_work().unwrap();
    assert_eq!(tables(), 1);
    assert_eq!(of_reader.map(|rule| faults.fired(rule)), [Some(0); 2]);
}

#[test]
fn tables_that_are_read_while_the_database_closes_stay_until_it_opens() {
    let directory = tempfile::tempdir().unwrap();
    let tables = || names(directory.path()).iter().filter(|name| name.ends_with(".sst")).count();
    let db = Db::open(directory.path(), creating()).unwrap();
    let write = |value: &[u8]| {
        db.put(b"k", value).unwrap();
        db.flush().unwrap();
    };
    write(b"1");
    write(b"2");
    let kept = db.iter(&ReadOptions::default());
    db.compact_range(None, None).unwrap();
    assert_eq!(tables(), 3);
    db.close().unwrap();
    assert_eq!(tables(), 3);
    drop(kept);
    Db::open(directory.path(), creating()).unwrap().close().unwrap();
    assert_eq!(tables(), 1);
}
