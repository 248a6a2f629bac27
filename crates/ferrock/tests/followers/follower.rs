//! The thread of a follower, and what is refused to one.

use ferrock::options::{ColumnFamilyOptions, DbOptions, DbPath};
use ferrock::{Db, ErrorKind, ReadOptions, WriteOptions};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATH: &str = "/db";
const OWN: &str = "/own";

fn options(files: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(files);
    options
}

fn of_memory(files: &MemoryFileSystem) -> DbOptions {
    options(Arc::new(files.clone()))
}

/// Catches up by call alone.
fn follow(files: &MemoryFileSystem) -> ferrock::Result<Db> {
    let mut own = of_memory(files);
    own.follower_catchup_retry_count = 0;
    Db::open_as_follower(OWN, PATH, own, None).map(|(db, _)| db)
}

fn put_flushed(db: &Db, value: &[u8]) {
    db.put(b"key", value).unwrap();
    db.flush().unwrap();
}

fn value(db: &Db) -> Vec<u8> {
    db.get(b"key").unwrap().unwrap().to_vec()
}

/// Waits for what a thread does, for as long as a busy machine may need.
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::yield_now();
    }
}

/// A leader, and a follower whose thread goes by a clock that stands still.
struct Pair {
    leader: Db,
    follower: Db,
    slow: Arc<FaultInjectionFileSystem>,
    clock: Arc<ManualClock>,
}

impl Pair {
    fn new(set: impl FnOnce(&mut DbOptions)) -> Self {
        let files = MemoryFileSystem::new();
        let leader = Db::open(PATH, of_memory(&files)).unwrap();
        put_flushed(&leader, b"1");
        let clock = Arc::new(ManualClock::new(0));
        let slow = Arc::new(FaultInjectionFileSystem::new(Arc::new(files)));
        let mut own = options(Arc::clone(&slow) as Arc<dyn FileSystem>);
        own.components.clock = Some(Arc::clone(&clock) as Arc<dyn Clock>);
        set(&mut own);
        let (follower, _) = Db::open_as_follower(OWN, PATH, own, None).unwrap();
        Self { leader, follower, slow, clock }
    }

    fn pass(&self, millis: u64) {
        wait_for("the thread does not sleep", || self.clock.sleepers() == 1);
        self.clock.advance(Duration::from_millis(millis));
    }
}

#[test]
fn the_thread_catches_up_as_often_as_the_options_say() {
    let pair = Pair::new(|own| own.follower_refresh_catchup_period_ms = 5_000);
    for number in 2..6_u64 {
        let text = number.to_string().into_bytes();
        let before = value(&pair.follower);
        put_flushed(&pair.leader, &text);
        pair.pass(4_999);
        wait_for("the thread does not sleep", || pair.clock.sleepers() == 1);
        assert_eq!(value(&pair.follower), before, "it is not time yet");
        pair.pass(1);
        wait_for("no catch-up", || value(&pair.follower) == text);
    }
}

#[test]
fn a_catch_up_is_tried_as_often_and_as_far_apart_as_the_options_say() {
    let pair = Pair::new(|own| {
        own.follower_refresh_catchup_period_ms = 5_000;
        own.follower_catchup_retry_count = 3;
        own.follower_catchup_retry_wait_ms = 100;
    });
    put_flushed(&pair.leader, b"2");
    let rule = pair.slow.add_rule(FaultRule::new(OperationKind::Open, "CURRENT", Fault::Io));
    let has_tried = |times: u64| pair.slow.fired(rule) == Some(times) && pair.clock.sleepers() == 1;
    pair.pass(5_000);
    wait_for("no attempt", || has_tried(1));
    pair.pass(99);
    wait_for("the thread does not sleep", || has_tried(1));
    pair.pass(1);
    wait_for("no second attempt", || has_tried(2));
    pair.pass(100);
    wait_for("no third attempt", || has_tried(3));
    // That was the last one; what comes next is a period later.
    pair.pass(4_999);
    wait_for("the thread does not sleep", || has_tried(3));
    assert_eq!(value(&pair.follower), b"1", "a catch-up that fails changes nothing");
    pair.pass(1);
    wait_for("no attempt of the next period", || has_tried(4));
    pair.slow.remove_rule(rule);
    pair.pass(100);
    wait_for("no catch-up", || value(&pair.follower) == b"2");
}

#[test]
fn closing_ends_the_thread_and_gives_up_the_directory() {
    let pair = Pair::new(|_| {});
    wait_for("the thread does not sleep", || pair.clock.sleepers() == 1);
    let kept = pair.follower.clone();
    pair.follower.close().unwrap();
    assert_eq!(pair.clock.sleepers(), 0, "the thread has ended");
    let error = kept.try_catch_up_with_primary().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ShutdownInProgress, "{error}");
    assert_eq!(value(&kept), b"1");
    let again = options(Arc::clone(&pair.slow) as Arc<dyn FileSystem>);
    let (again, _) = Db::open_as_follower(OWN, PATH, again, None).unwrap();
    drop(again);
    drop(kept);
    let mut without = options(pair.slow as Arc<dyn FileSystem>);
    without.follower_catchup_retry_count = 0;
    without.components.clock = Some(Arc::clone(&pair.clock) as Arc<dyn Clock>);
    let (without, _) = Db::open_as_follower(OWN, PATH, without, None).unwrap();
    put_flushed(&pair.leader, b"2");
    without.try_catch_up_with_primary().unwrap();
    assert_eq!(value(&without), b"2");
    assert_eq!(pair.clock.sleepers(), 0, "no thread without attempts");
}

#[test]
fn tables_alone_are_seen_and_nothing_is_written() {
    let files = MemoryFileSystem::new();
    let leader = Db::open(PATH, of_memory(&files)).unwrap();
    put_flushed(&leader, b"1");
    leader.put(b"key", b"2").unwrap();
    let follower = follow(&files).unwrap();
    assert!(follower.is_follower() && follower.is_secondary() && !leader.is_follower());
    assert_eq!(value(&follower), b"1", "logs are not read");
    follower.try_catch_up_with_primary().unwrap();
    assert_eq!(value(&follower), b"1");
    for outcome in [
        follower.put(b"key", b"3"),
        follower.flush(),
        follower.compact_range(None, None),
        follower.create_column_family("more", ColumnFamilyOptions::default()).map(drop),
    ] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NotSupported);
    }
    leader.flush().unwrap();
    follower.try_catch_up_with_primary().unwrap();
    assert_eq!(value(&follower), b"2");
    assert_eq!(files.children(Path::new(OWN)).unwrap().iter().filter(|name| name.starts_with("MANIFEST")).count(), 0);
}

#[test]
fn families_come_and_go() {
    let files = MemoryFileSystem::new();
    let leader = Db::open(PATH, of_memory(&files)).unwrap();
    put_flushed(&leader, b"1");
    let follower = follow(&files).unwrap();
    let made = leader.create_column_family("made", ColumnFamilyOptions::default()).unwrap();
    leader.put_cf(&made, b"key", b"made", &WriteOptions::default()).unwrap();
    leader.flush_cf(&made, &Default::default()).unwrap();
    assert!(follower.column_family("made").is_none());
    follower.try_catch_up_with_primary().unwrap();
    let seen = follower.column_family("made").unwrap();
    let get = || follower.get_cf(&seen, &ReadOptions::default(), b"key").unwrap();
    assert_eq!(get().as_deref(), Some(&b"made"[..]));
    leader.drop_column_family(&made).unwrap();
    drop(made);
    follower.try_catch_up_with_primary().unwrap();
    assert!(follower.column_family("made").is_none());
    assert_eq!(get().as_deref(), Some(&b"made"[..]), "a handle keeps what it has");
}

#[test]
fn a_snapshot_holds_the_view() {
    let files = MemoryFileSystem::new();
    let leader = Db::open(PATH, of_memory(&files)).unwrap();
    put_flushed(&leader, b"1");
    let follower = follow(&files).unwrap();
    let snapshot = follower.snapshot();
    put_flushed(&leader, b"2");
    assert_eq!(follower.try_catch_up_with_primary().unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(value(&follower), b"1");
    drop(snapshot);
    follower.try_catch_up_with_primary().unwrap();
    assert_eq!(value(&follower), b"2");
}

#[test]
fn directories_that_are_not_a_followers_are_refused_and_left_as_they_are() {
    let files = MemoryFileSystem::new();
    let error = follow(&files).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("/db/CURRENT"), "{error}");
    assert!(!files.exists(Path::new(OWN)).unwrap(), "nothing was made");
    let mut with_paths = of_memory(&files);
    with_paths.db_paths = vec![DbPath::new("/tables", 1 << 30)];
    let leader = Db::open(PATH, with_paths.clone()).unwrap();
    put_flushed(&leader, b"1");
    drop(Db::open("/other", of_memory(&files)).unwrap());
    let listing = |directory: &str| files.children(Path::new(directory)).unwrap();
    // The leader's own, one of its tables, and another database's.
    for directory in [PATH, "/tables", "/other"] {
        let before = listing(directory);
        let error = Db::open_as_follower(directory, PATH, with_paths.clone(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{directory}: {error}");
        assert_eq!(listing(directory), before, "{directory}");
    }
    // Tables of which nothing says whose they are.
    files.create_dir_all(Path::new("/loose")).unwrap();
    ferrock_vfs::write_file_synced(&files, Path::new("/loose/000012.sst"), b"table").unwrap();
    let error = Db::open_as_follower("/loose", PATH, with_paths.clone(), None).unwrap_err();
    assert!(error.to_string().contains("000012.sst") && error.to_string().contains("IDENTITY"), "{error}");
    assert_eq!(listing("/loose"), ["000012.sst"]);
    // That of a follower of another database, and one that is in use.
    let own = |leader: &str| Db::open_as_follower(OWN, leader, with_paths.clone(), None).map(|(db, _)| db);
    let follower = own(PATH).unwrap();
    assert_eq!(value(&follower), b"1", "tables of another directory of the leader");
    assert_eq!(own(PATH).unwrap_err().kind(), ErrorKind::Busy);
    follower.close().unwrap();
    let error = own("/other").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("another directory"), "{error}");
    drop(own(PATH).unwrap());
    // The directory of a follower is no database.
    assert!(Db::open(OWN, of_memory(&files)).is_err());
    assert!(Db::open_as_follower("/second", OWN, of_memory(&files), None).is_err());
}

#[test]
fn another_database_in_the_leaders_directory_is_refused() {
    let files = MemoryFileSystem::new();
    let leader = Db::open(PATH, of_memory(&files)).unwrap();
    put_flushed(&leader, b"1");
    let follower = follow(&files).unwrap();
    leader.close().unwrap();
    Db::destroy(PATH, &of_memory(&files)).unwrap();
    let other = Db::open(PATH, of_memory(&files)).unwrap();
    for _ in 0..20 {
        put_flushed(&other, b"other");
    }
    let error = follower.try_catch_up_with_primary().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(value(&follower), b"1", "its tables are the follower's");
    follower.close().unwrap();
    assert!(follow(&files).is_err(), "the names are those of the database that was there");
}
