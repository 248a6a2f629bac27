//! The archive by its two options: which logs it keeps, and for how long.

use crate::common::options_on;
use crate::follower::open;
use ferrock::options::apply_text;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, WalKind};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

struct Place {
    clock: Arc<ManualClock>,
    memory: MemoryFileSystem,
    options: DbOptions,
}

impl Place {
    fn new(text: &str) -> Self {
        let clock = Arc::new(ManualClock::new(1_000_000_000_000_000));
        let memory = MemoryFileSystem::new();
        memory.set_unix_seconds(clock.unix_seconds());
        let mut options = options_on(Arc::new(memory.clone()));
        options.components.clock = Some(clock.clone() as Arc<dyn Clock>);
        apply_text(&mut options, &mut ColumnFamilyOptions::default(), text).unwrap();
        Self { clock, memory, options }
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.memory.set_unix_seconds(self.clock.unix_seconds());
    }

    fn archived(&self) -> usize {
        self.memory.children(Path::new("/db/archive")).map_or(0, |names| names.len())
    }
}

/// A log of so many bytes, which is needed no more.
fn fill_log(db: &Db, bytes: usize) {
    db.put(b"key", &vec![7; bytes]).unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
}

#[test]
fn logs_stay_for_as_long_as_the_options_say() {
    let place = Place::new("WAL_ttl_seconds=1000");
    let (db, _) = open(place.options.clone()).unwrap();
    fill_log(&db, 100);
    place.pass(600);
    fill_log(&db, 100);
    assert_eq!(place.archived(), 2);
    place.pass(500);
    fill_log(&db, 100);
    assert_eq!(place.archived(), 2, "the first is 1100 seconds old");
    place.pass(10_000);
    drop(db);
    assert_eq!(place.archived(), 2, "nothing looks at a database that is closed");
    let (db, _) = open(place.options.clone()).unwrap();
    assert_eq!(place.archived(), 0);
    assert!(db.sorted_wal_files().unwrap().is_empty());
}

#[test]
fn the_newest_logs_stay_within_the_size() {
    let place = Place::new("WAL_size_limit_MB=1");
    let (db, _) = open(place.options.clone()).unwrap();
    for _ in 0..4 {
        fill_log(&db, 400 << 10);
    }
    assert!(place.archived() >= 3, "the looks are 600 seconds apart");
    place.pass(600);
    fill_log(&db, 400 << 10);
    let logs = db.sorted_wal_files().unwrap();
    assert_eq!(logs.iter().map(|log| log.start_sequence.0).collect::<Vec<_>>(), [4, 5]);
    assert!(logs.iter().all(|log| log.kind == WalKind::Archived));
}

#[test]
fn without_the_options_no_log_is_kept_and_an_archive_stays() {
    let place = Place::new("WAL_ttl_seconds=1000");
    let (db, _) = open(place.options.clone()).unwrap();
    fill_log(&db, 100);
    drop(db);
    let mut options = place.options.clone();
    options.wal_ttl_seconds = 0;
    let (db, _) = open(options).unwrap();
    place.pass(100_000);
    fill_log(&db, 100);
    assert_eq!(place.archived(), 1);
    assert_eq!(db.sorted_wal_files().unwrap().len(), 1);
}

#[test]
fn logs_that_are_kept_are_not_used_again() {
    let place = Place::new("WAL_ttl_seconds=1000;recycle_log_file_num=4");
    let (db, _) = open(place.options.clone()).unwrap();
    drop(db);
    let name = place.memory.children(Path::new("/db")).unwrap().into_iter().filter(|name| name.starts_with("OPTIONS"));
    let path = Path::new("/db").join(name.max().unwrap());
    let text = String::from_utf8(ferrock_vfs::read_file(&place.memory, &path).unwrap()).unwrap();
    assert!(text.contains("recycle_log_file_num=0") && text.contains("WAL_ttl_seconds=1000"), "{text}");
}
