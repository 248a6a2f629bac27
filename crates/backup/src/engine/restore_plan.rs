//! Which files a restored database gets, and which of them its directory has already.

use super::BackupEngine;
use super::catalog::{Backup, Catalog, size_in_name};
use super::identity::run_id_of;
use super::options::RestoreMode;
use super::sizes::Sizes;
use super::transfer::Transfer;
use ferrock_base::{Error, ErrorKind, Result, Temperature};
use ferrock_format::backup::{BackupFileName, SHARED_CHECKSUM_DIRECTORY, name_with_run};
use ferrock_format::file_name::{self, FileKind, FileName};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of a backup on its way to a database.
#[derive(Clone, Debug)]
pub(super) struct RestoredFile {
    /// Where it is.
    pub(super) from: PathBuf,
    /// Its name below the backup directory.
    pub(super) relative: String,
    /// Its name in the database.
    pub(super) name: String,
    pub(super) file: FileName,
    pub(super) size_bytes: u64,
    pub(super) crc32c: Option<u32>,
    pub(super) temperature: Temperature,
    /// The directory does not have it: the database must.
    pub(super) is_elsewhere: bool,
    /// Of the other directories of backups, the one that has it.
    pub(super) alternate: Option<usize>,
}

impl BackupEngine {
    /// The files of a backup. All of them are there: nothing of a database is touched for the sake of a backup that
    /// cannot take its place.
    pub(super) fn files_to_restore(
        &self,
        id: u32,
        catalog: &Catalog,
        alternates: &[Arc<BackupEngine>],
    ) -> Result<Vec<RestoredFile>> {
        let backup = catalog.backup(id)?;
        let mut files = self.files_of(backup)?;
        self.add_excluded(backup, catalog, alternates, &mut files)?;
        let advice = format!("backup {id}: restore another one");
        let mut sizes = Sizes::new(&*self.options.backup_file_system, &self.options.backup_dir);
        for file in files.iter().filter(|file| !file.is_elsewhere && file.alternate.is_none()) {
            let size = sizes.of(&file.relative).map_err(|error| error.context(&advice))?.ok_or_else(|| {
                let what = format!("File missing: {advice}");
                Error::new(ErrorKind::NotFound, what).in_file(&file.from)
            })?;
            if size != file.size_bytes {
                let what = format!("the file has {size} bytes and must have {}; {advice}", file.size_bytes);
                return Err(Error::corruption(what).in_file(&file.from));
            }
        }
        for kind in [FileKind::Current, FileKind::Manifest] {
            if files.iter().filter(|file| file.file.kind == kind).count() != 1 {
                let what = format!("it has not one {kind:?} file, so it is no database; {advice}");
                return Err(Error::corruption(what).in_file(self.path(&format!("meta/{id}"))));
            }
        }
        Ok(files)
    }

    fn files_of(&self, backup: &Backup) -> Result<Vec<RestoredFile>> {
        let restored = |file: &ferrock_format::backup::BackupMetaFile| {
            let size_bytes = file.size_bytes.unwrap_or(0);
            let restored = self.restored_file(&file.name, size_bytes, file.crc32c)?;
            Ok(RestoredFile { temperature: file.temperature, ..restored })
        };
        backup.meta.files.iter().map(restored).collect()
    }

    fn restored_file(&self, relative: &str, size_bytes: u64, crc32c: Option<u32>) -> Result<RestoredFile> {
        let from = self.path(relative);
        let parsed = BackupFileName::parse(relative)
            .ok_or_else(|| Error::corruption("no name of a file of a backup").in_file(&from))?;
        Ok(RestoredFile {
            from,
            relative: relative.to_owned(),
            name: parsed.in_database,
            file: parsed.file,
            size_bytes,
            crc32c,
            temperature: Temperature::Unknown,
            is_elsewhere: false,
            alternate: None,
        })
    }

    /// Files that were left out of the backup. Another one may have them, or they were put here since, or one of the
    /// other directories has them.
    fn add_excluded(
        &self,
        backup: &Backup,
        catalog: &Catalog,
        alternates: &[Arc<BackupEngine>],
        files: &mut Vec<RestoredFile>,
    ) -> Result<()> {
        let known = catalog.known_files();
        for name in &backup.meta.excluded {
            let known = known.get(&name[..]);
            let size = match self.options.backup_file_system.file_size(&self.path(name)) {
                Err(error) if error.is_not_found() => None,
                size => Some(size?),
            };
            let size_bytes = size_in_name(name).or(size).unwrap_or(0);
            let file = self.restored_file(name, size_bytes, known.and_then(|known| known.crc32c))?;
            let found = if size.is_none() { find_in(alternates, &file)? } else { None };
            files.push(found.unwrap_or(RestoredFile { is_elsewhere: size.is_none(), ..file }));
        }
        Ok(())
    }

    /// Refuses a backup of which files are neither here nor kept.
    pub(super) fn check_complete(&self, files: &[RestoredFile], kept: &HashSet<String>) -> Result<()> {
        let missing = files.iter().find(|file| file.is_elsewhere && !kept.contains(&file.name));
        missing.map_or(Ok(()), |file| {
            let what = "the backup was made without this file, which is elsewhere: copy it here, or restore over a \
                        database that has it, in the mode that keeps files of the same run";
            Err(Error::invalid_argument(what).in_file(&file.from))
        })
    }

    /// Names of files in the directory of the database that are those of the backup.
    pub(super) fn files_to_keep(
        &self,
        files: &[RestoredFile],
        db_dir: &Path,
        mode: RestoreMode,
    ) -> Result<HashSet<String>> {
        let present = self.sizes_in(db_dir)?;
        let is_data = |file: &&RestoredFile| match mode {
            RestoreMode::PurgeAllFiles => false,
            RestoreMode::KeepLatestDbSessionIdFiles => file.file.kind == FileKind::Table,
            RestoreMode::VerifyChecksum => matches!(file.file.kind, FileKind::Table | FileKind::Blob),
        };
        // A file that is not here is compared by its name alone.
        // So is one of another directory, unless its checksum is known.
        let is_known = |file: &&RestoredFile| match file.alternate {
            Some(_) => file.crc32c.is_some(),
            None => !file.is_elsewhere,
        };
        let is_here = |file: &&RestoredFile| is_known(file) || mode == RestoreMode::KeepLatestDbSessionIdFiles;
        let is_as_large = |file: &&RestoredFile| present.get(&file.name) == Some(&file.size_bytes);
        let candidates: Vec<&RestoredFile> = files.iter().filter(is_data).filter(is_here).filter(is_as_large).collect();
        match mode {
            RestoreMode::PurgeAllFiles => Ok(HashSet::new()),
            RestoreMode::KeepLatestDbSessionIdFiles => Ok(self.with_same_run(&candidates, db_dir)),
            RestoreMode::VerifyChecksum => self.with_same_checksum(&candidates, db_dir),
        }
    }

    fn with_same_run(&self, candidates: &[&RestoredFile], db_dir: &Path) -> HashSet<String> {
        let is_same = |file: &&&RestoredFile| {
            // One that cannot be read is replaced.
            let run = run_id_of(&self.options.db_file_system, &db_dir.join(&file.name)).ok().flatten();
            run.is_some_and(|run| {
                let name = name_with_run(&file.name, &run, Some(file.size_bytes));
                file.relative == format!("{SHARED_CHECKSUM_DIRECTORY}/{name}")
            })
        };
        candidates.iter().filter(is_same).map(|file| file.name.clone()).collect()
    }

    fn with_same_checksum(&self, candidates: &[&RestoredFile], db_dir: &Path) -> Result<HashSet<String>> {
        let (backups, database) = (&self.options.backup_file_system, &self.options.db_file_system);
        let transfers = |files| self.transfers((files, files), self.copier(&self.restore_limiter, None), None);
        let unknown = candidates.iter().filter(|file| file.crc32c.is_none());
        let reads = unknown.clone().map(|file| Transfer::read(file.from.clone(), Some(file.size_bytes)));
        let read = transfers(backups).run(reads.collect())?;
        let mut known: HashMap<&str, u32> =
            unknown.zip(read).map(|(file, done)| (&file.name[..], done.crc32c)).collect();
        known.extend(candidates.iter().filter_map(|file| Some((&file.name[..], file.crc32c?))));
        let mut kept = HashSet::new();
        for batch in candidates.chunks(self.options.max_background_operations as usize) {
            let path = |file: &&RestoredFile| db_dir.join(&file.name);
            let reads: Vec<Transfer> =
                batch.iter().map(|file| Transfer::read(path(file), Some(file.size_bytes))).collect();
            // One that cannot be read is replaced, and those beside it are looked at one by one.
            let done = match transfers(database).run(reads.clone()) {
                Ok(done) => done.into_iter().map(Some).collect(),
                Err(_) => reads
                    .into_iter()
                    .map(|read| transfers(database).run(vec![read]).ok().and_then(|done| done.first().copied()))
                    .collect::<Vec<_>>(),
            };
            for (file, done) in batch.iter().zip(done) {
                if done.is_some_and(|done| known.get(&file.name[..]) == Some(&done.crc32c)) {
                    kept.insert(file.name.clone());
                }
            }
        }
        Ok(kept)
    }

    fn sizes_in(&self, directory: &Path) -> Result<HashMap<String, u64>> {
        let files = &*self.options.db_file_system;
        let mut sizes = HashMap::new();
        for name in names_in_database(files, directory)? {
            if let Ok(size) = files.file_size(&directory.join(&name)) {
                sizes.insert(name, size);
            }
        }
        Ok(sizes)
    }
}

/// Looks for a file in other directories of backups. Its name has its size, which must be right.
fn find_in(alternates: &[Arc<BackupEngine>], file: &RestoredFile) -> Result<Option<RestoredFile>> {
    for (index, engine) in alternates.iter().enumerate() {
        let from = engine.path(&file.relative);
        let size_bytes = match engine.options.backup_file_system.file_size(&from) {
            Err(error) if error.is_not_found() => continue,
            size => size?,
        };
        if size_in_name(&file.relative).is_some_and(|expected| expected != size_bytes) {
            let what = format!("the file has {size_bytes} bytes, and its name says another number: it is damaged");
            return Err(Error::corruption(what).in_file(&from));
        }
        let state = engine.state.read();
        let crc32c = state.catalog.known_files().get(&file.relative[..]).and_then(|known| known.crc32c);
        let crc32c = crc32c.or(file.crc32c);
        return Ok(Some(RestoredFile { from, size_bytes, crc32c, alternate: Some(index), ..file.clone() }));
    }
    Ok(None)
}

/// The names in a directory that a database gives to its files; none when it does not exist.
pub(super) fn names_in_database(files: &dyn ferrock_vfs::FileSystem, directory: &Path) -> Result<Vec<String>> {
    let names = match files.children(directory) {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        names => names?,
    };
    Ok(names.into_iter().filter(|name| file_name::parse(name).is_some()).collect())
}
