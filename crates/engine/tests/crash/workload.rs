//! A scripted workload over a database in memory, and the history that a crash is judged by.
//!
//! The history is written down around every call: `issued` before it, `acknowledged` after it. A crash clone is taken
//! between reading `acknowledged` and reading `issued`, so both are bounds whatever thread the crash comes in.

use ferrock::options::DbPath;
use ferrock::{
    ColumnFamily, ColumnFamilyOptions, CompactRangeOptions, Db, DbOptions, FlushOptions, WriteBatch, WriteOptions,
};
use ferrock_base::random::Random;
use ferrock_vfs::MemoryFileSystem;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

pub const PATH: &str = "/data/db";
/// Calls of one run.
const STEPS: usize = 260;

/// What one batch does: family, key, and the value or its removal.
pub type Changes = Vec<(u32, Vec<u8>, Option<Vec<u8>>)>;
/// What a family holds.
pub type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A column family's life.
#[derive(Clone, Debug)]
pub struct FamilyLife {
    pub name: String,
    /// Known once its creation returned.
    pub id: Option<u32>,
    pub is_drop_issued: bool,
    pub is_drop_acknowledged: bool,
}

/// What was asked and what was answered.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Batches in the order of their sequence numbers.
    pub batches: Vec<Arc<Changes>>,
    /// So many of them are acknowledged as durable.
    pub durable: usize,
    pub families: Vec<FamilyLife>,
    /// The database was created, durably.
    pub is_created: bool,
}

impl History {
    /// What every family holds after so many batches, by id.
    pub fn contents_after(&self, batches: usize) -> BTreeMap<u32, Contents> {
        let mut all: BTreeMap<u32, Contents> = BTreeMap::new();
        for (id, key, value) in self.batches[..batches].iter().flat_map(|changes| changes.iter()) {
            let family = all.entry(*id).or_default();
            match value {
                Some(value) => drop(family.insert(key.clone(), value.clone())),
                None => drop(family.remove(key)),
            }
        }
        all
    }
}

pub type SharedHistory = Arc<Mutex<History>>;

/// Every batch says here how many there were.
pub const COUNTER: &[u8] = b"~batches";

pub fn options(file_system: &MemoryFileSystem, seed: u64) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.max_file_opening_threads = 1;
    options.max_background_jobs = 3;
    // Every change of the tree is close to a new MANIFEST.
    options.max_manifest_file_size = 700;
    options.max_manifest_space_amp_pct = 0;
    options.max_total_wal_size = 150_000;
    options.avoid_flush_during_recovery = seed % 3 == 1;
    // Logs and tables in directories of their own, whose entries are as unsynced as all others.
    if seed % 4 == 2 {
        options.wal_dir = "/logs/db".to_owned();
    }
    if seed % 5 == 2 {
        options.db_paths = vec![DbPath::new("/data/tables", 100_000), DbPath::new("/data/more-tables", 0)];
    }
    options.components.file_system = Some(Arc::new(file_system.clone()));
    options
}

pub fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.write_buffer_size = 64 << 10;
    options.arena_block_size = 4096;
    options.target_file_size_base = 20_000;
    options.max_bytes_for_level_base = 40_000;
    options.level0_file_num_compaction_trigger = 2;
    options
}

struct Run {
    file_system: MemoryFileSystem,
    history: SharedHistory,
    random: Random,
    seed: u64,
    db: Db,
    families: Vec<ColumnFamily>,
}

/// Performs the workload of a seed.
pub fn run(file_system: &MemoryFileSystem, history: &SharedHistory, seed: u64) {
    let default = vec![("default".to_owned(), family_options())];
    let (db, families) = Db::open_cf(PATH, options(file_system, seed), default).unwrap();
    {
        let mut history = history.lock().unwrap();
        history.is_created = true;
        let id = Some(0);
        let name = "default".to_owned();
        history.families.push(FamilyLife { name, id, is_drop_issued: false, is_drop_acknowledged: false });
    }
    let (file_system, history) = (file_system.clone(), Arc::clone(history));
    let mut run = Run { file_system, history, random: Random::new(seed), seed, db, families };
    for step in 0..STEPS {
        run.step(step);
    }
    run.db.close().unwrap();
}

impl Run {
    fn step(&mut self, step: usize) {
        match self.random.below(100) {
            0..=77 => self.write(),
            78..=82 => {
                let family = &self.families[self.random.below(self.families.len() as u64) as usize];
                self.db.flush_cf(family, &FlushOptions { wait: self.random.one_in(2) }).unwrap();
            }
            83..=85 => {
                let family = &self.families[self.random.below(self.families.len() as u64) as usize];
                self.db.compact_range_cf(family, None, None, &CompactRangeOptions::default()).unwrap();
            }
            86..=88 => {
                let issued = self.history.lock().unwrap().batches.len();
                self.db.sync_wal().unwrap();
                self.history.lock().unwrap().durable = issued;
            }
            89..=92 => self.create_family(step),
            93..=95 => self.drop_family(),
            96..=97 => self.reopen(),
            _ => self.db.wait_for_background_work().unwrap(),
        }
    }

    fn write(&mut self) {
        let number = self.history.lock().unwrap().batches.len() + 1;
        let mut changes: Changes = Vec::new();
        for _ in 0..=self.random.below(4) {
            let id = self.families[self.random.below(self.families.len() as u64) as usize].id();
            let key = format!("key{:03}", self.random.below(150)).into_bytes();
            if self.random.one_in(5) {
                changes.push((id, key, None));
                continue;
            }
            let size = if self.random.one_in(4) { self.random.below(6000) } else { self.random.below(100) };
            let mut value = format!("{number}:").into_bytes();
            value.extend((0..size).map(|_| self.random.next_u64() as u8));
            changes.push((id, key, Some(value)));
        }
        changes.push((0, COUNTER.to_vec(), Some(number.to_string().into_bytes())));
        let mut batch = WriteBatch::new();
        for (id, key, value) in &changes {
            match value {
                Some(value) => batch.put_cf(*id, key, value).unwrap(),
                None => batch.delete_cf(*id, key).unwrap(),
            }
        }
        let sync = self.random.one_in(6);
        self.history.lock().unwrap().batches.push(Arc::new(changes));
        self.db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        if sync {
            self.history.lock().unwrap().durable = number;
        }
    }

    fn create_family(&mut self, step: usize) {
        if self.families.len() >= 4 {
            return;
        }
        // Names return; ids never do.
        let name = format!("family{}", step % 5);
        if self.families.iter().any(|family| family.name() == name) {
            return;
        }
        let life = FamilyLife { name, id: None, is_drop_issued: false, is_drop_acknowledged: false };
        let name = life.name.clone();
        self.history.lock().unwrap().families.push(life);
        let family = self.db.create_column_family(&name, family_options()).unwrap();
        self.history.lock().unwrap().families.last_mut().unwrap().id = Some(family.id());
        self.families.push(family);
    }

    fn drop_family(&mut self) {
        if self.families.len() < 2 {
            return;
        }
        let index = 1 + self.random.below(self.families.len() as u64 - 1) as usize;
        let family = self.families.remove(index);
        self.note_drop(&family, |life| life.is_drop_issued = true);
        self.db.drop_column_family(&family).unwrap();
        self.note_drop(&family, |life| life.is_drop_acknowledged = true);
    }

    fn note_drop(&self, family: &ColumnFamily, note: impl FnOnce(&mut FamilyLife)) {
        let mut history = self.history.lock().unwrap();
        note(history.families.iter_mut().find(|life| life.id == Some(family.id())).unwrap());
    }

    fn reopen(&mut self) {
        let descriptors = self.families.iter().map(|family| (family.name().to_owned(), family_options())).collect();
        self.families.clear();
        self.db.clone().close().unwrap();
        let (db, families) = Db::open_cf(PATH, options(&self.file_system, self.seed), descriptors).unwrap();
        (self.db, self.families) = (db, families);
    }
}
