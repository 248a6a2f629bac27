//! Drawn histories over drawn options: every copy opens, holds what the model held, and takes writes; the database goes
//! on from where it was.

use super::{COPY, Contents, PATH, contents_at, memory, options};
use ferrock::backup::Checkpoint;
use ferrock::options::DbPath;
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, WriteBatch, WriteOptions};
use ferrock_base::merge::StringAppend;
use ferrock_base::random::Random;
use ferrock_vfs::{FileSystem, MemoryFileSystem};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const HISTORIES: u64 = 60;
const STEPS: usize = 60;
const KEYS: u64 = 40;

fn family_options(random: &mut Random) -> ColumnFamilyOptions {
    let mut family = ColumnFamilyOptions::default();
    family.merge_operator = Some(Arc::new(StringAppend::new(",")));
    family.write_buffer_size = 64 << 10;
    family.level0_file_num_compaction_trigger = 2;
    family.enable_blob_files = random.one_in(2);
    family.min_blob_size = 20;
    family.enable_blob_direct_write = family.enable_blob_files && random.one_in(2);
    family.disable_auto_compactions = random.one_in(3);
    family
}

fn db_options(files: &MemoryFileSystem, random: &mut Random) -> DbOptions {
    let mut options = options(files);
    options.allow_concurrent_memtable_write = false;
    options.manual_wal_flush = random.one_in(4);
    options.atomic_flush = random.one_in(4);
    options.track_and_verify_wals_in_manifest = random.one_in(2);
    options.max_manifest_file_size = if random.one_in(2) { 1000 } else { 1 << 30 };
    if random.one_in(3) {
        files.create_dir_all(Path::new("/data/logs")).unwrap();
        options.wal_dir = "/data/logs".to_owned();
    }
    if random.one_in(3) {
        options.db_paths = ["/data/fast", "/data/slow"].map(|path| DbPath::new(path, 10_000)).into();
    }
    options.avoid_flush_during_recovery = random.one_in(2);
    options.avoid_flush_during_shutdown = random.one_in(3);
    options
}

struct Player {
    random: Random,
    db: Db,
    files: MemoryFileSystem,
    options: DbOptions,
    families: Vec<ColumnFamily>,
    model: BTreeMap<String, Contents>,
    /// Writes since the last flush of all that went to no log.
    has_unlogged: bool,
    created: u64,
    copies: u64,
}

impl Player {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let files = memory();
        let options = db_options(&files, &mut random);
        let names = ["default", "other"];
        let descriptors = names.map(|name| (name.to_owned(), family_options(&mut random))).into();
        let (db, families) = Db::open_cf(PATH, options.clone(), descriptors).unwrap();
        let model = names.map(|name| (name.to_owned(), Contents::new())).into();
        Self { random, db, files, options, families, model, has_unlogged: false, created: 0, copies: 0 }
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key{:02}", self.random.below(KEYS)).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        let length = 1 + self.random.below(60) as usize;
        vec![b'a' + (self.random.below(26) as u8); length]
    }

    /// A batch of several entries in several families, or of none.
    fn write(&mut self) {
        let mut batch = WriteBatch::new();
        for _ in 0..self.random.below(6) {
            let number = self.random.below(self.families.len() as u64) as usize;
            let (id, name) = (self.families[number].id(), self.families[number].name().to_owned());
            let (key, value, kind) = (self.key(), self.value(), self.random.below(8));
            let end = [&key[..], b"~"].concat();
            let contents = self.model.get_mut(&name).unwrap();
            match kind {
                0 => {
                    batch.delete_cf(id, &key).unwrap();
                    contents.remove(&key);
                }
                1 => {
                    batch.delete_range_cf(id, &key, &end).unwrap();
                    contents.retain(|own, _| *own < key || *own >= end);
                }
                2 => {
                    batch.merge_cf(id, &key, &value).unwrap();
                    let merged =
                        contents.get(&key).map_or_else(|| value.clone(), |old| [old, &b","[..], &value].concat());
                    contents.insert(key, merged);
                }
                _ => {
                    batch.put_cf(id, &key, &value).unwrap();
                    contents.insert(key, value);
                }
            }
        }
        let disable_wal = self.random.one_in(5);
        let sync = !disable_wal && self.random.one_in(8);
        self.has_unlogged |= disable_wal && !batch.is_empty();
        let options = WriteOptions { disable_wal, sync, ..WriteOptions::default() };
        self.db.write(batch, &options).unwrap();
    }

    fn flush(&mut self) {
        let families = self.families.clone();
        self.db.flush_cfs(&families, &ferrock::FlushOptions::default()).unwrap();
        self.has_unlogged = false;
    }

    fn create_or_drop(&mut self) {
        if self.families.len() > 2 && self.random.one_in(2) {
            let family = self.families.pop().unwrap();
            self.db.drop_column_family(&family).unwrap();
            self.model.remove(family.name());
            return;
        }
        self.created += 1;
        let name = format!("family{}", self.created);
        let options = family_options(&mut self.random);
        self.families.push(self.db.create_column_family(&name, options).unwrap());
        self.model.insert(name, Contents::new());
    }

    /// Makes a copy and compares it with the model.
    fn copy(&mut self) {
        self.copies += 1;
        let path = format!("{COPY}{}", self.copies);
        let log_size = match self.random.below(3) {
            0 => 0,
            1 => 1000,
            // Without a flush writes that went to no log are not in the copy.
            _ if self.has_unlogged => 1 << 40,
            _ => u64::MAX,
        };
        let checkpoint = Checkpoint::new(&self.db).log_size_for_flush(log_size).hard_links(self.random.one_in(2));
        let report = checkpoint.create(&path).unwrap();
        assert_eq!(report.sequence, self.db.latest_sequence_number());
        if log_size == 0 || (self.has_unlogged && log_size < u64::MAX) {
            self.has_unlogged = false;
        }
        assert!(!self.files.exists(Path::new(&format!("{path}.tmp"))).unwrap());
        assert_eq!(contents_at(&self.files, &path, DbOptions::default()).unwrap(), self.model, "a copy");
        // It is open for writing, by the options that it brought along too.
        let mut base = DbOptions::default();
        base.components.file_system = Some(Arc::new(self.files.clone()));
        let (copy, _) = Db::open_with_latest_options(&path, base).unwrap();
        copy.put(b"written to the copy", b"value").unwrap();
        copy.flush().unwrap();
        copy.compact_range(None, None).unwrap();
        drop(copy);
        let copied = contents_at(&self.files, &path, DbOptions::default()).unwrap();
        assert_eq!(copied["default"].len(), self.model["default"].len() + 1);
    }

    fn check(&self) {
        for family in &self.families {
            let rows = super::common::rows_of(self.db.iter_cf(family, &ferrock::ReadOptions::default()));
            assert_eq!(rows, self.model[family.name()], "the database, family {}", family.name());
        }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0 => self.flush(),
            1 => self.db.compact_range(None, None).unwrap(),
            2 => self.create_or_drop(),
            3 | 4 => self.copy(),
            5 => self.db.set_options_cf(&self.families[0], &[("write_buffer_size", "70000")]).unwrap(),
            _ => self.write(),
        }
    }

    /// Closes the database, which is whole.
    fn end(mut self) {
        self.copy();
        self.check();
        if self.options.avoid_flush_during_shutdown {
            self.flush();
        }
        self.families.clear();
        self.db.close().unwrap();
        let mut options = self.options.clone();
        options.create_if_missing = false;
        assert_eq!(contents_at(&self.files, PATH, options).unwrap(), self.model, "after the history");
    }
}

#[test]
fn copies_hold_what_the_database_held() {
    for seed in 0..HISTORIES {
        let mut player = Player::new(seed);
        for _ in 0..STEPS {
            player.step();
        }
        player.end();
    }
}
