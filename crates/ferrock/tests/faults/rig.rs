//! A database over a file system that fails on command, and the keys that were acknowledged.

use ferrock::options::WalRecoveryMode;
use ferrock::{ColumnFamilyOptions, Db, DbOptions, Result, WriteBatch, WriteOptions};
use ferrock_vfs::{CrashPolicy, FaultInjectionFileSystem, FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const DIRECTORY: &str = "/data/db";
pub const VALUE_BYTES: usize = 1000;

pub struct Rig {
    pub memory: MemoryFileSystem,
    pub faulty: FaultInjectionFileSystem,
    pub options: DbOptions,
    pub acknowledged: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Changes the options of every family.
    pub adjust: fn(&mut ColumnFamilyOptions),
    next: u32,
}

pub fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.write_buffer_size = 64 << 10;
    options.arena_block_size = 4 << 10;
    options.compression = ferrock::options::CompressionType::NoCompression;
    options.level0_file_num_compaction_trigger = 4;
    options.target_file_size_base = 64 << 10;
    options
}

impl Rig {
    pub fn new() -> Self {
        let memory = MemoryFileSystem::new();
        let faulty = FaultInjectionFileSystem::new(Arc::new(memory.clone()));
        let mut options = DbOptions::default();
        options.create_if_missing = true;
        options.create_missing_column_families = true;
        options.writable_file_max_buffer_size = 4096;
        options.max_file_opening_threads = 1;
        // Tests of `resume` call it.
        options.max_bgerror_resume_count = 0;
        options.components.file_system = Some(Arc::new(faulty.clone()) as Arc<dyn FileSystem>);
        Self { memory, faulty, options, acknowledged: BTreeMap::new(), adjust: |_| {}, next: 0 }
    }

    pub fn families() -> Vec<(String, ColumnFamilyOptions)> {
        vec![("default".to_owned(), family_options()), ("second".to_owned(), family_options())]
    }

    /// The families, adjusted.
    pub fn own_families(&self) -> Vec<(String, ColumnFamilyOptions)> {
        let mut families = Self::families();
        families.iter_mut().for_each(|(_, options)| (self.adjust)(options));
        families
    }

    pub fn open(&self) -> Db {
        self.try_open().unwrap()
    }

    pub fn try_open(&self) -> Result<Db> {
        Db::open_cf(DIRECTORY, self.options.clone(), self.own_families()).map(|(db, _)| db)
    }

    /// Puts one fresh key in both families, durably; it counts when it is acknowledged.
    pub fn put(&mut self, db: &Db) -> Result<()> {
        self.put_with(db, &WriteOptions::synced())
    }

    pub fn put_with(&mut self, db: &Db, options: &WriteOptions) -> Result<()> {
        self.next += 1;
        let key = format!("key{:06}", self.next.wrapping_mul(7919) % 100_003).into_bytes();
        let mut value = self.next.to_le_bytes().repeat(VALUE_BYTES / 4);
        value.extend_from_slice(&key);
        let mut batch = WriteBatch::new();
        batch.put_cf(0, &key, &value)?;
        batch.put_cf(1, &key, &value)?;
        db.write(batch, options)?;
        self.acknowledged.insert(key, value);
        Ok(())
    }

    pub fn put_many(&mut self, db: &Db, count: usize) {
        for _ in 0..count {
            self.put(db).unwrap();
        }
    }

    /// Every acknowledged key has its value, in both families, by look-up and by scan.
    pub fn verify(&self, db: &Db, what: &str) {
        for family in db.column_families().into_iter().take(2) {
            let options = ferrock::ReadOptions::default();
            let mut iter = db.iter_cf(&family, &options);
            iter.seek_to_first();
            let mut found = BTreeMap::new();
            while iter.valid() {
                found.insert(iter.key().to_vec(), iter.value().to_vec());
                iter.next();
            }
            iter.status().unwrap_or_else(|error| panic!("{what}: {error}"));
            for (key, value) in &self.acknowledged {
                assert!(found.get(key) == Some(value), "{what}: {} is lost or wrong", key.escape_ascii());
            }
            for (key, value) in self.acknowledged.iter().step_by(7) {
                let got = db.get_cf(&family, &options, key).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(got.as_deref() == Some(&value[..]), "{what}: get of {}", key.escape_ascii());
            }
            assert!(found.len() <= self.next as usize, "{what}: keys that were never written");
        }
    }

    /// What a crash now would leave is a database with every acknowledged key.
    pub fn verify_after_crash(&self, what: &str) {
        for policy in [CrashPolicy::KeepNothingUnsynced, CrashPolicy::KeepAll] {
            let clone = self.memory.crash_clone(policy);
            let mut options = self.options.clone();
            options.create_if_missing = false;
            options.wal_recovery_mode = WalRecoveryMode::PointInTimeRecovery;
            options.components.file_system = Some(Arc::new(clone));
            let opened = Db::open_cf(DIRECTORY, options, self.own_families());
            let (db, _) = opened.unwrap_or_else(|error| panic!("{what}, after a crash ({policy:?}): {error}"));
            self.verify(&db, &format!("{what}, after a crash ({policy:?})"));
        }
    }
}
