//! A directory of backups that Ferrock and RocksDB share, and checkpoints of either.
//!
//! ```text
//! turn 0, 1, 2, ..   one of the two opens the database, writes, flushes or not, adds a backup to the directory, and
//!                    makes a checkpoint for each of the two, with its logs or without, which they read
//! after each turn    both list, verify and restore every backup; both read what was restored
//! at the end         the two remove backups in turns, and the rest is restored again
//! ```

use crate::engine::Outcome;
use crate::random::Random;
use crate::seeds::Suite;
use ferrock::backup::{
    BackupEngine, BackupEngineOptions, Checkpoint, CreateBackupOptions, RestoreMode, RestoreOptions, ShareFilesNaming,
};
use ferrock::{Db, DbOptions, ReadOptions};
use ferrock_c_library::{BackupHow, Backups, Database, Functions};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const TURNS: u64 = 5;
const OPTIONS: &str = "create_if_missing=true;write_buffer_size=65536;compression=kNoCompression";
/// Modes of a restore, as RocksDB numbers them.
const MODES: [(i32, RestoreMode); 3] = [
    (1, RestoreMode::KeepLatestDbSessionIdFiles),
    (2, RestoreMode::VerifyChecksum),
    (0xFFFF, RestoreMode::PurgeAllFiles),
];

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// How the cases are played and told of.
pub const SUITE: Suite = Suite {
    name: "backups",
    case: "backups-case",
    counted: "restores",
    means: "by Ferrock and RocksDB of backups by both",
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ferrock,
    RocksDb,
}

impl Side {
    const BOTH: [Self; 2] = [Self::Ferrock, Self::RocksDb];

    fn of(number: u64) -> Self {
        Self::BOTH[(number % 2) as usize]
    }
}

/// A backup, and what is told of it.
struct Made {
    id: u32,
    by: Side,
    metadata: Vec<u8>,
    contents: Contents,
}

struct Case {
    random: Random,
    directory: PathBuf,
    rocksdb: &'static Functions,
    how: BackupHow,
    has_blobs: bool,
    contents: Contents,
    made: Vec<Made>,
    restores: u64,
}

fn ferrock_text(error: ferrock::Error) -> String {
    format!("Ferrock: {error}")
}

fn rocksdb_text(error: String) -> String {
    format!("RocksDB: {error}")
}

/// What a seed chooses.
fn how(seed: u64) -> BackupHow {
    BackupHow {
        share_table_files: seed % 6 != 5,
        share_files_with_checksum: seed % 6 != 4,
        naming: [2 | 1 << 31, 1, 2, 2 | 1 << 31][(seed % 4) as usize],
        schema_version: 1 + (seed / 2 % 2) as i32,
        backup_log_files: seed % 5 != 3,
    }
}

impl Case {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn options(&self) -> String {
        match self.has_blobs {
            true => format!("{OPTIONS};enable_blob_files=true;min_blob_size=200"),
            false => OPTIONS.to_owned(),
        }
    }

    fn ferrock_db(&self, path: &Path) -> Outcome<Db> {
        let mut db = DbOptions::default();
        db.create_if_missing = true;
        let mut family = ferrock::ColumnFamilyOptions::default();
        family.write_buffer_size = 64 << 10;
        family.enable_blob_files = self.has_blobs;
        family.min_blob_size = 200;
        let families = vec![("default".to_owned(), family)];
        Db::open_cf(path, db, families).map(|(db, _)| db).map_err(ferrock_text)
    }

    fn ferrock_backups(&self) -> Outcome<BackupEngine> {
        let mut options = BackupEngineOptions::new(self.path("backups"));
        options.share_table_files = self.how.share_table_files;
        options.share_files_with_checksum = self.how.share_files_with_checksum;
        options.share_files_with_checksum_naming =
            ShareFilesNaming::from_bits(self.how.naming).map_err(ferrock_text)?;
        options.schema_version = self.how.schema_version.unsigned_abs();
        options.backup_log_files = self.how.backup_log_files;
        options.max_background_operations = 2;
        BackupEngine::open(options).map_err(ferrock_text)
    }

    fn rocksdb_backups(&self) -> Outcome<Backups> {
        Backups::open(self.rocksdb, &self.path("backups"), self.how).map_err(rocksdb_text)
    }

    /// Changes for a turn; `None` is a flush.
    fn changes(&mut self) -> Vec<Option<(Vec<u8>, Vec<u8>)>> {
        let count = 100 + self.random.below(400);
        let mut changes = Vec::new();
        for _ in 0..count {
            let key = format!("key{:04}", self.random.below(900)).into_bytes();
            let value = vec![b'a' + (self.random.below(26) as u8); self.random.below(400)];
            self.contents.insert(key.clone(), value.clone());
            changes.push(Some((key, value)));
            if self.random.below(120) == 0 {
                changes.push(None);
            }
        }
        changes
    }

    fn turn(&mut self, number: u64, by: Side) -> Outcome<()> {
        let changes = self.changes();
        // RocksDB leaves out logs without a flush, and what they hold.
        let flushes = self.random.below(3) == 0 || !self.how.backup_log_files;
        let metadata = if self.random.below(2) == 0 { Vec::new() } else { format!("turn\n{number}\0").into_bytes() };
        let log_size = [0, 20_000, u64::MAX][self.random.below(3)];
        let copies = Side::BOTH.map(|reader| (reader, self.directory.join(format!("checkpoint for {reader:?}"))));
        let id = match by {
            Side::Ferrock => {
                let db = self.ferrock_db(&self.path("db"))?;
                for change in &changes {
                    match change {
                        Some((key, value)) => db.put(key, value),
                        None => db.flush(),
                    }
                    .map_err(ferrock_text)?;
                }
                let options = CreateBackupOptions {
                    flush_before_backup: flushes,
                    app_metadata: metadata.clone(),
                    ..CreateBackupOptions::default()
                };
                let id = self.ferrock_backups()?.create_backup(&db, &options).map_err(ferrock_text)?;
                for (_, copy) in &copies {
                    Checkpoint::new(&db).log_size_for_flush(log_size).create(copy).map_err(ferrock_text)?;
                }
                db.close().map_err(ferrock_text)?;
                id
            }
            Side::RocksDb => {
                let db = Database::open(self.rocksdb, &self.path("db"), &self.options()).map_err(rocksdb_text)?;
                for change in &changes {
                    match change {
                        Some((key, value)) => db.put(key, value, false),
                        None => db.flush(),
                    }
                    .map_err(rocksdb_text)?;
                }
                let id = self.rocksdb_backups()?.create(&db, flushes, &metadata).map_err(rocksdb_text)?;
                for (_, copy) in &copies {
                    db.checkpoint(copy, log_size).map_err(rocksdb_text)?;
                }
                id
            }
        };
        for (reader, copy) in &copies {
            let read = self.read(*reader, copy, &self.contents);
            read.map_err(|error| {
                format!("a checkpoint, logs from {log_size} on flushed, read by {reader:?}: {error}")
            })?;
            std::fs::remove_dir_all(copy).map_err(|error| error.to_string())?;
        }
        self.made.push(Made { id, by, metadata, contents: self.contents.clone() });
        Ok(())
    }

    /// Both see what was made, and restore it.
    fn compare(&mut self) -> Outcome<()> {
        let rocksdb = self.rocksdb_backups()?;
        let ferrock = self.ferrock_backups()?;
        let broken = ferrock.corrupted_backups();
        if !broken.is_empty() {
            return Err(format!("Ferrock finds damage: {broken:?}"));
        }
        let theirs = rocksdb.told()?;
        let ours = ferrock.backup_infos();
        let mut files = BTreeSet::new();
        for (index, made) in self.made.iter().enumerate() {
            let what = |error: String| format!("backup {} by {:?}: {error}", made.id, made.by);
            let (Some(theirs), Some(ours)) = (theirs.get(index), ours.get(index)) else {
                return Err(what(format!("RocksDB sees {} backups, Ferrock {}", theirs.len(), ours.len())));
            };
            let told = (ours.backup_id, ours.size, ours.number_files, &ours.app_metadata);
            if told != (theirs.id, theirs.size, theirs.files, &theirs.metadata) || told.3 != &made.metadata {
                return Err(what(format!("Ferrock tells {told:?}, RocksDB {theirs:?}")));
            }
            rocksdb.verify(made.id).map_err(rocksdb_text).map_err(what)?;
            ferrock.verify_backup(made.id, true).map_err(ferrock_text).map_err(what)?;
            let of_backup = ferrock.backup_files(made.id).map_err(ferrock_text)?;
            files.extend(of_backup.into_iter().map(|file| file.relative_filename));
            for restorer in Side::BOTH {
                for reader in Side::BOTH {
                    let (mode, ours) = MODES[self.random.below(3)];
                    let target = self.directory.join(format!("restored by {restorer:?}"));
                    let what =
                        |error| what(format!("restored by {restorer:?}, read by {reader:?}, mode {mode}: {error}"));
                    match restorer {
                        Side::RocksDb => rocksdb.restore(made.id, &target, mode).map_err(what)?,
                        Side::Ferrock => {
                            let options = RestoreOptions { mode: ours, ..RestoreOptions::default() };
                            let restored = ferrock.restore_db_from_backup(made.id, &target, &target, &options);
                            restored.map_err(ferrock_text).map_err(what)?;
                        }
                    }
                    self.read(reader, &target, &made.contents).map_err(what)?;
                    self.restores += 1;
                }
            }
        }
        self.check_files(&files)
    }

    fn read(&self, reader: Side, path: &Path, expected: &Contents) -> Outcome<()> {
        let found: Contents = match reader {
            Side::Ferrock => {
                let db = self.ferrock_db(path)?;
                let mut found = Contents::new();
                let mut rows = db.iter(&ReadOptions::default());
                rows.seek_to_first();
                while rows.valid() {
                    found.insert(rows.key().to_vec(), rows.value().to_vec());
                    rows.next();
                }
                rows.status().map_err(ferrock_text)?;
                drop(rows);
                db.close().map_err(ferrock_text)?;
                found
            }
            Side::RocksDb => {
                let db = Database::open(self.rocksdb, path, &self.options()).map_err(rocksdb_text)?;
                let mut found = Contents::new();
                let mut rows = db.rows();
                rows.seek_to_first();
                while rows.valid() {
                    found.insert(rows.key().to_vec(), rows.value().to_vec());
                    rows.next();
                }
                rows.status().map_err(rocksdb_text)?;
                found
            }
        };
        if found == *expected {
            return Ok(());
        }
        let differ = expected.iter().filter(|(key, value)| found.get(*key) != Some(value)).count();
        Err(format!("{} keys of {}, {differ} of them missing or others", found.len(), expected.len()))
    }

    /// The directory has what backups name and nothing else, and no table of the database twice.
    fn check_files(&self, named: &BTreeSet<String>) -> Outcome<()> {
        let mut numbers = BTreeSet::new();
        for shared in ["shared", "shared_checksum"] {
            let Ok(entries) = std::fs::read_dir(self.path("backups").join(shared)) else { continue };
            for entry in entries {
                let name = entry.map_err(|error| error.to_string())?.file_name().to_string_lossy().into_owned();
                let relative = format!("{shared}/{name}");
                if !named.contains(&relative) {
                    return Err(format!("{relative} is in no backup"));
                }
                let number: String = name.chars().take_while(char::is_ascii_digit).collect();
                if !numbers.insert(number) {
                    return Err(format!("{relative}: its number is there under another name"));
                }
            }
        }
        Ok(())
    }

    /// The two remove the oldest backups in turns.
    fn remove(&mut self) -> Outcome<()> {
        for (by, keep) in [(Side::Ferrock, TURNS as u32 - 1), (Side::RocksDb, TURNS as u32 - 2), (Side::Ferrock, 2)] {
            match by {
                Side::Ferrock => _ = self.ferrock_backups()?.purge_old_backups(keep).map_err(ferrock_text)?,
                Side::RocksDb => self.rocksdb_backups()?.purge(keep).map_err(rocksdb_text)?,
            }
            self.made.drain(..self.made.len() - keep as usize);
            self.compare().map_err(|error| format!("{by:?} has removed all but {keep}: {error}"))?;
        }
        Ok(())
    }
}

/// One seed, from the first write to the last comparison.
pub fn play(seed: u64, directory: &Path, library: &Path) -> Outcome<serde_json::Value> {
    let mut case = Case {
        random: Random::new(seed),
        directory: directory.to_owned(),
        rocksdb: Functions::load(library)?,
        how: how(seed),
        has_blobs: seed % 3 == 1,
        contents: Contents::new(),
        made: Vec::new(),
        restores: 0,
    };
    for number in 0..TURNS {
        let by = Side::of(seed + number);
        let said = |error| format!("turn {number}, by {by:?}, {:?}: {error}", how(seed));
        case.turn(number, by).map_err(said)?;
        case.compare().map_err(said)?;
    }
    case.remove()?;
    Ok(json!({ "restores": case.restores }))
}
