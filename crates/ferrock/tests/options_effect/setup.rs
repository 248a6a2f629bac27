//! A database with one option changed, and what is measured of it.

pub use crate::common::threads::{Gate, wait_until};
use crate::recording::RecordingFileSystem;
use ferrock::options::{ColumnFamilySettings, CompressionType, DbSettings};
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, CompactionJobInfo, Db, DbOptions, EventListener,
    FlushJobInfo, FlushOptions, Result, WriteOptions,
};
use ferrock_base::clock::{Clock, ManualClock};
use ferrock_base::option_table::OptionInfo;
use ferrock_format::properties::TableProperties;
use ferrock_table::BlockBasedTableOptions;
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file};
use std::cell::Cell;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const DIRECTORY: &str = "/db";

thread_local! {
    /// How databases that this thread opens get what may change while they are open.
    pub static ONLINE: Cell<Online> = const { Cell::new(Online::No) };
}

/// When options are set that may change while a database is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Online {
    /// With the open.
    No,
    /// Behind it.
    BehindTheOpen,
    /// Behind it, and a new memtable begins then.
    BeforeAMemtable,
}

/// Counts compactions, and holds them at their beginning while the gate is shut.
#[derive(Debug, Default)]
pub struct Compactions {
    pub begun: AtomicU64,
    pub gate: Gate,
    /// Flushes that are over.
    pub flushed: AtomicU64,
}

impl EventListener for Compactions {
    fn on_compaction_begin(&self, _event: &CompactionJobInfo) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.gate.pass();
    }

    fn on_flush_completed(&self, _event: &FlushJobInfo) {
        self.flushed.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Clone)]
pub struct Setup {
    pub db: DbOptions,
    pub family: ColumnFamilyOptions,
    pub memory: MemoryFileSystem,
    pub recording: RecordingFileSystem,
    pub clock: Arc<ManualClock>,
    pub compactions: Arc<Compactions>,
}

impl Setup {
    pub fn new() -> Self {
        let memory = MemoryFileSystem::new();
        let recording = RecordingFileSystem::new(memory.clone());
        let compactions = Arc::new(Compactions::default());
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let mut db = DbOptions::default();
        db.create_if_missing = true;
        db.create_missing_column_families = true;
        db.components.file_system = Some(Arc::new(recording.clone()) as Arc<dyn FileSystem>);
        db.components.listeners.push(Arc::clone(&compactions) as Arc<dyn EventListener>);
        let mut family = ColumnFamilyOptions::default();
        family.disable_auto_compactions = true;
        family.compression = CompressionType::NoCompression;
        family.arena_block_size = 4 << 10;
        Self { db, family, memory, recording, clock, compactions }
    }

    /// Sets an option by its name, in whichever table has it.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        let found = self.db.settings.set(name, value).unwrap()
            || self.family.settings.set(name, value).unwrap()
            || self.family.table.set(name, value).unwrap();
        assert!(found, "no option is called {name}");
        self
    }

    pub fn with_manual_clock(mut self) -> Self {
        self.db.components.clock = Some(Arc::clone(&self.clock) as Arc<dyn Clock>);
        self
    }

    pub fn try_open(&self) -> Result<Db> {
        self.try_open_families(&["default"]).map(|(db, _)| db)
    }

    pub fn try_open_families(&self, names: &[&str]) -> Result<(Db, Vec<ColumnFamily>)> {
        if ONLINE.get() != Online::No {
            return self.open_then_change(names);
        }
        let families = names.iter().map(|name| ((*name).to_owned(), self.family.clone())).collect();
        Db::open_cf(DIRECTORY, self.db.clone(), families)
    }

    /// Opens with the values that a setup has at first, and changes what may change while a database is open.
    fn open_then_change(&self, names: &[&str]) -> Result<(Db, Vec<ColumnFamily>)> {
        let base = Self::new();
        let (mut db, mut family) = (self.db.clone(), self.family.clone());
        let (mut of_database, mut of_family) = (Vec::new(), Vec::new());
        let is_mutable = |info: &&OptionInfo| info.flags.is_mutable;
        for OptionInfo { name, .. } in DbSettings::TABLE.iter().filter(is_mutable) {
            let value = self.db.settings.get(name).unwrap();
            let first = base.db.settings.get(name).unwrap();
            if value != first {
                db.settings.set(name, &first).unwrap();
                of_database.push((*name, value));
            }
        }
        for OptionInfo { name, .. } in ColumnFamilySettings::TABLE.iter().filter(is_mutable) {
            let value = self.family.settings.get(name).unwrap();
            let first = base.family.settings.get(name).unwrap();
            if value != first {
                family.settings.set(name, &first).unwrap();
                of_family.push((*name, value));
            }
        }
        for OptionInfo { name, .. } in BlockBasedTableOptions::TABLE.iter().filter(is_mutable) {
            let value = self.family.table.get(name).unwrap();
            if value != base.family.table.get(name).unwrap() {
                of_family.push((*name, value));
            }
        }
        family.table = base.family.table;
        let families = names.iter().map(|name| ((*name).to_owned(), family.clone())).collect();
        let (db, families) = Db::open_cf(DIRECTORY, db, families)?;
        if !of_database.is_empty() {
            db.set_db_options(&as_pairs(&of_database))?;
        }
        for family in families.iter().filter(|_| !of_family.is_empty()) {
            db.set_options_cf(family, &as_pairs(&of_family))?;
        }
        if ONLINE.get() == Online::BeforeAMemtable {
            db.put(b"of the first memtable", b"")?;
            db.flush()?;
        }
        Ok((db, families))
    }

    pub fn open(&self) -> Db {
        self.try_open().unwrap()
    }

    pub fn files(&self, pass: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self.memory.children(Path::new(DIRECTORY)).unwrap();
        names.into_iter().filter(|name| pass(name)).collect()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        read_file(&self.memory, &Path::new(DIRECTORY).join(name)).unwrap()
    }

    pub fn asked(&self) -> String {
        format!("{:?}", self.recording.asked.lock())
    }
}

fn as_pairs<'a>(changes: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    changes.iter().map(|(name, value)| (*name, &value[..])).collect()
}

pub fn key(number: u32) -> String {
    format!("key{number:06}-with-a-long-tail-{:06}", number.wrapping_mul(7919) % 1_000_003)
}

/// Compresses, but not to nothing.
pub fn value(number: u32) -> Vec<u8> {
    let mut state = number.wrapping_mul(2_654_435_761) | 1;
    let mut out = Vec::with_capacity(120);
    while out.len() < 120 {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        out.extend_from_slice(
            [&b"alpha "[..], b"beta ", b"gamma ", b"delta-epsilon ", b"z", b"0123456789"][(state % 6) as usize],
        );
    }
    out
}

pub fn put(db: &Db, numbers: std::ops::Range<u32>) {
    for number in numbers {
        db.put(key(number).as_bytes(), &value(number)).unwrap();
    }
}

pub fn put_unlogged(db: &Db, family: &ColumnFamily, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let options = WriteOptions { disable_wal: true, ..WriteOptions::default() };
        db.put_cf(family, key(number).as_bytes(), &value(number), &options).unwrap();
    }
}

pub fn flush_range(db: &Db, numbers: std::ops::Range<u32>) {
    put(db, numbers);
    db.flush().unwrap();
}

pub fn force_compaction(db: &Db) {
    let options = CompactRangeOptions {
        bottommost_level_compaction: ferrock::options::BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range_cf(&db.default_column_family().unwrap(), None, None, &options).unwrap();
}

pub fn flush_all(db: &Db) {
    for family in db.column_families() {
        db.flush_cf(&family, &FlushOptions::default()).unwrap();
    }
}

/// Properties of the one table of a database with 3000 keys.
pub fn flushed_properties(setup: &Setup) -> TableProperties {
    let db = setup.open();
    flush_range(&db, 0..3000);
    only_properties(&db)
}

pub fn only_properties(db: &Db) -> TableProperties {
    let files = db.live_files();
    assert_eq!(files.len(), 1);
    (*db.table_properties(&files[0]).unwrap()).clone()
}

pub fn number(db: &Db, name: &str) -> u64 {
    db.property(name).unwrap().parse().unwrap()
}

/// The measure for two values of an option; they must differ. Returns both.
pub fn differs<M: PartialEq + Debug>(name: &str, values: [&str; 2], measure: impl Fn(Setup) -> M) -> [M; 2] {
    differs_with(name, values, |setup| setup, measure)
}

/// The same on a setup that is prepared for it.
pub fn differs_with<M: PartialEq + Debug>(
    name: &str,
    values: [&str; 2],
    prepare: impl Fn(Setup) -> Setup,
    measure: impl Fn(Setup) -> M,
) -> [M; 2] {
    let measured = values.map(|value| measure(prepare(Setup::new()).set(name, value)));
    assert_ne!(measured[0], measured[1], "{name}: {values:?} make no difference");
    measured
}
