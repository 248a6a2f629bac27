//! What the writer does between two looks of a catch-up: the catch-up is held where it opens a log.

use ferrock::options::{ColumnFamilyOptions, DbOptions};
use ferrock::{
    ColumnFamily, Db, ErrorKind, FlushOptions, IngestExternalFileOptions, ReadOptions, SstFileWriter, WriteBatch,
    WriteOptions,
};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_base::comparator::{Comparator, CustomComparator};
use ferrock_vfs::{Fault, FaultInjectionFileSystem, FaultRule, FileSystem, MemoryFileSystem, OperationKind, Trigger};
use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATH: &str = "/db";

fn options(files: Arc<dyn FileSystem>) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.components.file_system = Some(files);
    options
}

/// A primary, and a secondary of it whose catch-up is held at a log.
struct Pair {
    files: MemoryFileSystem,
    primary: Db,
    secondary: Db,
    slow: Arc<FaultInjectionFileSystem>,
    clock: Arc<ManualClock>,
}

impl Pair {
    fn new() -> Self {
        let files = MemoryFileSystem::new();
        let primary = Db::open(PATH, options(Arc::new(files.clone()))).unwrap();
        primary.put(b"before", b"").unwrap();
        let clock = Arc::new(ManualClock::new(0));
        let by = Arc::clone(&clock) as Arc<dyn Clock>;
        let slow = Arc::new(FaultInjectionFileSystem::with_clock(Arc::new(files.clone()), by));
        let own = options(Arc::clone(&slow) as Arc<dyn FileSystem>);
        let secondary = Db::open_as_secondary(PATH, "/secondary", own, None).unwrap().0;
        Self { files, primary, secondary, slow, clock }
    }

    /// Catches up, and does `work` when the catch-up has read the MANIFEST and opens a log.
    fn catch_up_around(&self, work: impl FnOnce(&Db)) {
        let pause = Fault::Delay(Duration::from_secs(1));
        let rule = FaultRule::new(OperationKind::Open, "*.log", pause).when(Trigger::Nth(1));
        let rule = self.slow.add_rule(rule);
        let secondary = self.secondary.clone();
        let catching_up = std::thread::spawn(move || secondary.try_catch_up_with_primary());
        let since = Instant::now();
        while self.clock.sleepers() == 0 {
            assert!(since.elapsed() < Duration::from_secs(60), "no log is opened");
            std::thread::yield_now();
        }
        work(&self.primary);
        self.clock.advance(Duration::from_secs(1));
        catching_up.join().unwrap().unwrap();
        self.slow.remove_rule(rule);
    }

    fn has(&self, family: &ColumnFamily, key: &[u8]) -> bool {
        self.secondary.get_cf(family, &ReadOptions::default(), key).unwrap().is_some()
    }
}

fn ingest(pair: &Pair, db: &Db, key: &[u8]) {
    let mut writer = SstFileWriter::new(&options(Arc::new(pair.files.clone())), ColumnFamilyOptions::default());
    writer.open("/made.sst").unwrap();
    writer.put(key, b"").unwrap();
    writer.finish().unwrap();
    db.ingest_external_file(&["/made.sst"], &IngestExternalFileOptions::default()).unwrap();
}

#[test]
fn a_batch_behind_a_table_that_took_no_number_is_not_seen_without_it() {
    for is_flushed in [false, true] {
        let pair = Pair::new();
        if is_flushed {
            // The MANIFEST is another one than before: all is read anew.
            pair.primary.flush().unwrap();
            pair.primary.put(b"more", b"").unwrap();
        }
        pair.catch_up_around(|db| {
            let last = db.latest_sequence_number();
            ingest(&pair, db, b"outside");
            assert_eq!(db.latest_sequence_number(), last, "no key of it was there");
            db.put(b"after", b"").unwrap();
        });
        let family = pair.secondary.default_column_family().unwrap();
        assert!(pair.has(&family, b"after"), "flushed: {is_flushed}");
        assert!(pair.has(&family, b"outside"), "flushed: {is_flushed}: the batch behind it is there");
    }
}

/// The log of the batch came behind the list of logs, and no table tells of it.
#[test]
fn a_table_is_not_seen_without_the_batch_before_it() {
    for is_dropped in [false, true] {
        let pair = Pair::new();
        let other = pair.primary.create_column_family("other", ColumnFamilyOptions::default()).unwrap();
        pair.primary.flush().unwrap();
        pair.primary.put(b"more", b"").unwrap();
        pair.catch_up_around(|db| {
            db.pause_background_work().unwrap();
            let without_waiting = FlushOptions { wait: false, ..FlushOptions::default() };
            db.flush_cf(&db.default_column_family().unwrap(), &without_waiting).unwrap();
            db.put(b"first", b"").unwrap();
            match is_dropped {
                true => db.drop_column_family(&other).unwrap(),
                false => ingest(&pair, db, b"outside"),
            }
        });
        pair.primary.continue_background_work().unwrap();
        let family = pair.secondary.default_column_family().unwrap();
        let is_behind = match is_dropped {
            true => pair.secondary.column_family("other").is_none(),
            false => pair.has(&family, b"outside"),
        };
        assert!(is_behind && pair.has(&family, b"first"), "dropped: {is_dropped}");
    }
}

#[test]
fn a_batch_is_not_seen_without_the_family_that_came_before_it() {
    let pair = Pair::new();
    pair.catch_up_around(|db| {
        let family = db.create_column_family("came", ColumnFamilyOptions::default()).unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"both", b"").unwrap();
        batch.put_cf(family.id(), b"both", b"").unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
    });
    let family = pair.secondary.default_column_family().unwrap();
    assert!(pair.has(&family, b"both"));
    let came = pair.secondary.column_family("came").expect("the half of the batch is there");
    assert!(pair.has(&came, b"both"));
}

struct OfItsOwn;

impl CustomComparator for OfItsOwn {
    fn name(&self) -> &str {
        "of.its.own"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}

#[test]
fn a_family_that_cannot_be_shown_stops_no_other() {
    let pair = Pair::new();
    let mut family = ColumnFamilyOptions::default();
    family.comparator = Comparator::Custom(Arc::new(OfItsOwn));
    pair.primary.create_column_family("own", family).unwrap();
    pair.primary.put(b"after", b"").unwrap();
    for _ in 0..2 {
        pair.secondary.try_catch_up_with_primary().unwrap();
        assert!(pair.has(&pair.secondary.default_column_family().unwrap(), b"after"));
    }
}

#[test]
fn another_database_in_the_directory_is_refused() {
    let Pair { files, primary, secondary, .. } = Pair::new();
    primary.close().unwrap();
    Db::destroy(PATH, &options(Arc::new(files.clone()))).unwrap();
    let other = Db::open(PATH, options(Arc::new(files))).unwrap();
    for number in 0..100_u8 {
        other.put(&[number], b"other").unwrap();
    }
    other.flush().unwrap();
    let error = secondary.try_catch_up_with_primary().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("another database"), "{error}");
    assert!(secondary.get(b"before").unwrap().is_some());
}

#[test]
fn logs_in_another_directory_are_refused() {
    let Pair { files, primary, secondary, .. } = Pair::new();
    primary.flush().unwrap();
    primary.close().unwrap();
    let mut moved = options(Arc::new(files));
    moved.wal_dir = "/elsewhere".to_owned();
    let primary = Db::open(PATH, moved).unwrap();
    primary.put(b"after", b"").unwrap();
    match secondary.try_catch_up_with_primary() {
        Ok(()) => assert!(secondary.get(b"after").unwrap().is_some()),
        Err(error) => assert!(error.to_string().contains("wal_dir"), "{error}"),
    }
}
