//! A database, its contents and its backups in a file system in memory.

use ferrock::backup::{BackupEngine, BackupEngineOptions, CreateBackupOptions, RestoreOptions};
use ferrock::{ColumnFamily, ColumnFamilyOptions, Db, DbOptions, ReadOptions, Result, WriteOptions};
use ferrock_vfs::{FileSystem, MemoryFileSystem, read_file, write_file_synced};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const DB: &str = "/data/db";
pub const BACKUPS: &str = "/data/backups";
pub const TARGET: &str = "/data/target";
pub const FAMILIES: [&str; 2] = ["default", "second"];

/// Keys and values of each family.
pub type Contents = Vec<BTreeMap<Vec<u8>, Vec<u8>>>;

pub struct World {
    pub files: MemoryFileSystem,
    pub db: Db,
    pub families: Vec<ColumnFamily>,
}

pub fn new_files() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_dir_all(Path::new("/data")).unwrap();
    files.sync_dir(Path::new("/")).unwrap();
    files
}

pub fn db_options(files: &MemoryFileSystem) -> DbOptions {
    let mut options = DbOptions::default();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.components.file_system = Some(Arc::new(files.clone()));
    options
}

pub fn family_options() -> ColumnFamilyOptions {
    let mut options = ColumnFamilyOptions::default();
    options.enable_blob_files = true;
    options.min_blob_size = 200;
    options.disable_auto_compactions = true;
    options
}

pub fn open_at(path: &str, options: DbOptions) -> Result<(Db, Vec<ColumnFamily>)> {
    let families = FAMILIES.map(|name| (name.to_owned(), family_options())).to_vec();
    Db::open_cf(path, options, families)
}

impl World {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut DbOptions)) -> Self {
        let files = new_files();
        let mut options = db_options(&files);
        change(&mut options);
        let (db, families) = open_at(DB, options).unwrap();
        Self { files, db, families }
    }

    /// Writes keys, some of them with values in blob files, durably.
    pub fn write(&self, keys: std::ops::Range<usize>, word: &str) {
        for key in keys {
            let value = word.repeat(if key % 3 == 0 { 300 / word.len() + 1 } else { 1 });
            let family = &self.families[key % 2];
            let options = WriteOptions { sync: key.is_multiple_of(8), ..WriteOptions::default() };
            self.db.put_cf(family, format!("key{key:05}").as_bytes(), value.as_bytes(), &options).unwrap();
        }
        self.db.flush_wal(true).unwrap();
    }

    pub fn flush(&self) {
        self.db.flush_cfs(&self.families, &ferrock::FlushOptions::default()).unwrap();
    }

    pub fn contents(&self) -> Contents {
        contents_of(&self.db, &self.families)
    }

    pub fn engine(&self) -> BackupEngine {
        BackupEngine::open(engine_options(&self.files)).unwrap()
    }

    pub fn back_up(&self, engine: &BackupEngine) -> u32 {
        engine.create_backup(&self.db, &CreateBackupOptions::default()).unwrap()
    }
}

pub fn contents_of(db: &Db, families: &[ColumnFamily]) -> Contents {
    families
        .iter()
        .map(|family| {
            let mut found = BTreeMap::new();
            let mut iter = db.iter_cf(family, &ReadOptions::default());
            iter.seek_to_first();
            while iter.valid() {
                found.insert(iter.key().to_vec(), iter.value().to_vec());
                iter.next();
            }
            iter.status().unwrap();
            found
        })
        .collect()
}

pub fn engine_options(files: &MemoryFileSystem) -> BackupEngineOptions {
    let mut options = BackupEngineOptions::new(BACKUPS);
    options.backup_file_system = Arc::new(files.clone());
    options.db_file_system = Arc::new(files.clone());
    options
}

/// What a database holds that exists.
pub fn contents_at(files: &MemoryFileSystem, path: &str) -> Result<Contents> {
    let mut options = db_options(files);
    options.create_if_missing = false;
    options.create_missing_column_families = false;
    let (db, families) = open_at(path, options)?;
    let contents = contents_of(&db, &families);
    db.close()?;
    Ok(contents)
}

/// What a backup holds, by restoring it.
pub fn restored(engine: &BackupEngine, files: &MemoryFileSystem, id: u32) -> Contents {
    engine.restore_db_from_backup(id, TARGET, TARGET, &RestoreOptions::default()).unwrap();
    contents_at(files, TARGET).unwrap()
}

/// Files below a directory of backups, but for descriptions and BACKUP_LOCK.
pub fn files_of_backups(files: &MemoryFileSystem) -> Vec<String> {
    let mut names = Vec::new();
    collect(files, Path::new(BACKUPS), "", &mut names);
    names.retain(|name| !name.starts_with("meta/") && name != "BACKUP_LOCK");
    names.sort();
    names
}

fn collect(files: &MemoryFileSystem, directory: &Path, prefix: &str, names: &mut Vec<String>) {
    for name in files.children(directory).unwrap() {
        let (path, relative) = (directory.join(&name), format!("{prefix}{name}"));
        match files.children(&path) {
            Ok(_) => collect(files, &path, &format!("{relative}/"), names),
            Err(_) => names.push(relative),
        }
    }
}

/// The files that good backups name.
pub fn files_named(engine: &BackupEngine) -> Vec<String> {
    let ids = engine.backup_infos().into_iter().map(|info| info.backup_id);
    let mut names: Vec<String> =
        ids.flat_map(|id| engine.backup_files(id).unwrap()).map(|file| file.relative_filename).collect();
    names.sort();
    names.dedup();
    names
}

pub fn path_of(relative: &str) -> PathBuf {
    Path::new(BACKUPS).join(relative)
}

pub fn change_file(files: &MemoryFileSystem, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = read_file(files, path).unwrap();
    change(&mut bytes);
    write_file_synced(files, path, &bytes).unwrap();
}
