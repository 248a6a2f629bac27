//! Restoring a database.
//!
//! ```text
//! the backup is checked: all of its files are there          nothing of the database was touched so far
//! LOCK of the database is taken                              an open database is not restored over
//! CURRENT removed, synced                                    from here on the directory is no database
//! MANIFEST copied to NNNNNN.dbtmp, renamed                   an open would find it without CURRENT, and is refused
//! files of the old database removed
//! all others copied to NNNNNN.dbtmp, renamed; synced
//! CURRENT written, renamed into place, synced                the database is there
//! ```
//!
//! Invariants:
//! - A file has its name when it is whole, so a restore that was cut short is made again from the start, and may keep
//!   what it has restored.
//! - Only files that databases have are removed.
//! - OPTIONS names the directory of the logs that was restored to, and none when that is the database's: the file of
//!   the backup may name a living database's. It is the only file whose bytes are not those of the backup.

use super::options::{ProgressCallback, RestoreMode};
use super::restore_plan::{RestoredFile, names_in_database};
use super::transfer::{Meter, Source, Transfer};
use super::{BackupEngine, LOCK_FILE, make_directory};
use crate::places::options_of_copy;
use ferrock_base::checksum::crc32c;
use ferrock_base::{Error, ErrorKind, Result};
use ferrock_format::file_name::{self, FileKind};
use ferrock_vfs::{FileLock, FileSystem, read_file};
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a database is restored.
#[derive(Clone, Default)]
pub struct RestoreOptions {
    /// Logs that are in the directories stay, and archived ones come back, for backups that have none.
    pub keep_log_files: bool,
    /// Which other files stay.
    pub mode: RestoreMode,
    /// Is told how far it is.
    pub progress: Option<ProgressCallback>,
    /// Other directories of backups, searched in order for the files that the backup was made without
    /// ([`exclude_files`](super::CreateBackupOptions::exclude_files)).
    pub alternate_dirs: Vec<Arc<BackupEngine>>,
}

impl fmt::Debug for RestoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestoreOptions")
            .field("keep_log_files", &self.keep_log_files)
            .field("mode", &self.mode)
            .field("alternate_dirs", &self.alternate_dirs.len())
            .finish_non_exhaustive()
    }
}

/// Where a database is restored to.
struct Target<'a> {
    db_dir: &'a Path,
    wal_dir: &'a Path,
}

impl Target<'_> {
    fn directory_of(&self, kind: FileKind) -> &Path {
        if kind == FileKind::Log { self.wal_dir } else { self.db_dir }
    }

    fn has_own_logs(&self) -> bool {
        self.wal_dir != self.db_dir
    }

    /// Refuses a directory of logs that is a database.
    fn check(&self, files: &dyn FileSystem) -> Result<()> {
        if self.has_own_logs() && files.exists(&self.wal_dir.join(file_name::CURRENT))? {
            let what = "the directory for the logs is a database: name another one; if it is the one restored to, \
                        name it as that is named";
            return Err(Error::invalid_argument(what).in_file(self.wal_dir));
        }
        Ok(())
    }

    fn path_of(&self, file: &RestoredFile) -> PathBuf {
        self.directory_of(file.file.kind).join(&file.name)
    }

    /// Where the file is written before it gets its name. Numbers are of one kind of file alone.
    fn unfinished_path_of(&self, file: &RestoredFile) -> PathBuf {
        self.directory_of(file.file.kind).join(file_name::temp(file.file.number))
    }
}

impl BackupEngine {
    /// Makes the database of a backup: its files in `db_dir`, its logs in `wal_dir`, which may be the same. What
    /// databases had there is removed, but for what `options` keep.
    ///
    /// # Errors
    /// `NotFound` when there is no such backup, or one of its files is missing; `Corruption` when the backup is
    /// damaged; `Busy` when the database is open; those of the file systems. Unless the error says that the backup is
    /// of no use, the directory is no database afterwards: restore again.
    pub fn restore_db_from_backup(
        &self,
        id: u32,
        db_dir: impl AsRef<Path>,
        wal_dir: impl AsRef<Path>,
        options: &RestoreOptions,
    ) -> Result<()> {
        let _lock = self.exclude_removals()?;
        let others = options.alternate_dirs.iter().filter(|other| other.options.backup_dir != self.options.backup_dir);
        let _locks = others.map(|other| other.exclude_removals()).collect::<Result<Vec<_>>>()?;
        let state = self.state.read();
        let files = self.files_to_restore(id, &state.catalog, &options.alternate_dirs)?;
        let target = Target { db_dir: db_dir.as_ref(), wal_dir: wal_dir.as_ref() };
        self.restore(files, &target, options)
    }

    /// As [`restore_db_from_backup`](Self::restore_db_from_backup), from the newest good backup. Returns its number.
    ///
    /// # Errors
    /// `NotFound` when there is no good backup; those of the other.
    pub fn restore_db_from_latest_backup(
        &self,
        db_dir: impl AsRef<Path>,
        wal_dir: impl AsRef<Path>,
        options: &RestoreOptions,
    ) -> Result<u32> {
        let id = self.state.read().catalog.latest_id()?;
        self.restore_db_from_backup(id, db_dir, wal_dir, options)?;
        Ok(id)
    }

    /// Keeps other engines from removing the backup, where the directory of backups can be written to, and looks
    /// whether they did. Without, a backup that goes in the middle leaves neither it nor the database.
    ///
    /// # Errors
    /// `Busy` while another engine writes to the directory; those of reading it.
    fn exclude_removals(&self) -> Result<Option<Box<dyn FileLock>>> {
        let (files, path) = (&*self.options.backup_file_system, self.path(LOCK_FILE));
        // An engine that only reads makes no file; one that has ever written has left this one.
        let may_lock = !self.is_read_only || files.exists(&path).unwrap_or(false);
        let lock = match may_lock.then(|| files.lock_file(&path)) {
            Some(Err(error)) if error.kind() == ErrorKind::Busy => return Err(error),
            lock => lock.and_then(Result::ok),
        };
        if !self.is_read_only {
            self.state.write().catalog.refresh(files, &self.options.backup_dir)?;
        }
        Ok(lock)
    }

    fn restore(&self, mut files: Vec<RestoredFile>, target: &Target, options: &RestoreOptions) -> Result<()> {
        let to = &*self.options.db_file_system;
        target.check(to)?;
        for directory in [target.db_dir, target.wal_dir] {
            make_directory(to, directory, self.options.sync)?;
        }
        let _lock = to.lock_file(&target.db_dir.join(file_name::LOCK))?;
        if options.keep_log_files {
            let mut logs: HashSet<String> = names_in_database(to, target.wal_dir)?.into_iter().collect();
            logs.extend(names_in_database(to, &target.wal_dir.join(file_name::ARCHIVE_DIRECTORY))?);
            files.retain(|file| file.file.kind != FileKind::Log || !logs.contains(&file.name));
        }
        let kept = self.files_to_keep(&files, target.db_dir, options.mode)?;
        self.check_complete(&files, &kept)?;
        files.retain(|file| !kept.contains(&file.name));
        let meter = self.meter(&files, options.progress.as_ref());
        let mut groups = [FileKind::Current, FileKind::Manifest].map(|kind| {
            let (group, rest) = std::mem::take(&mut files).into_iter().partition(|file| file.file.kind == kind);
            files = rest;
            group
        });
        let [current, manifest] = std::mem::take(&mut groups);
        self.end_database(target)?;
        self.restore_files(&manifest, target, &options.alternate_dirs, meter.clone())?;
        self.purge(target, &kept, &manifest, options.keep_log_files)?;
        self.restore_files(&files, target, &options.alternate_dirs, meter.clone())?;
        for directory in [target.wal_dir, target.db_dir] {
            self.sync_dir(directory)?;
        }
        self.restore_files(&current, target, &options.alternate_dirs, meter)?;
        self.sync_dir(target.db_dir)
    }

    fn meter(&self, files: &[RestoredFile], progress: Option<&ProgressCallback>) -> Option<Arc<Meter>> {
        let bytes = files.iter().map(|file| file.size_bytes).sum();
        let interval = self.options.callback_trigger_interval_size;
        Some(Arc::new(Meter::new(progress?, interval, files.len() as u64, bytes)))
    }

    fn sync_dir(&self, directory: &Path) -> Result<()> {
        if self.options.sync { self.options.db_file_system.sync_dir(directory) } else { Ok(()) }
    }

    /// Takes CURRENT away, so that the directory is no database.
    fn end_database(&self, target: &Target) -> Result<()> {
        let files = &*self.options.db_file_system;
        remove_if_there(files, &target.db_dir.join(file_name::CURRENT))?;
        self.sync_dir(target.db_dir)
    }

    /// Removes what the database before has left, but for what is kept.
    fn purge(
        &self,
        target: &Target,
        kept: &HashSet<String>,
        manifest: &[RestoredFile],
        keep_log_files: bool,
    ) -> Result<()> {
        let files = &*self.options.db_file_system;
        let archive = target.wal_dir.join(file_name::ARCHIVE_DIRECTORY);
        if keep_log_files {
            for name in names_in_database(files, &archive)? {
                if file_name::parse(&name).is_some_and(|file| file.kind == FileKind::Log) {
                    files.rename(&archive.join(&name), &target.wal_dir.join(&name))?;
                }
            }
        }
        let stays = |name: &String| {
            let kind = file_name::parse(name).map(|file| file.kind);
            kept.contains(name)
                || manifest.iter().any(|file| file.name == *name)
                || kind == Some(FileKind::Lock)
                || keep_log_files && kind == Some(FileKind::Log)
        };
        // Where logs have a directory of their own, a database has no other files in it, but for our unfinished ones.
        let is_of_logs = |name: &String| {
            let kind = file_name::parse(name).map(|file| file.kind);
            matches!(kind, Some(FileKind::Log | FileKind::Temp | FileKind::Trash))
        };
        for directory in [target.db_dir, target.wal_dir, &archive] {
            let is_of_logs_alone = directory != target.db_dir;
            let mut names = names_in_database(files, directory)?;
            names.retain(|name| !stays(name) && (!is_of_logs_alone || is_of_logs(name)));
            names.iter().try_for_each(|name| remove_if_there(files, &directory.join(name)))?;
        }
        Ok(())
    }

    /// Copies files and gives them their names.
    fn restore_files(
        &self,
        files: &[RestoredFile],
        target: &Target,
        alternates: &[Arc<Self>],
        meter: Option<Arc<Meter>>,
    ) -> Result<()> {
        let to = &self.options.db_file_system;
        // Those of this directory, and those of each other one.
        for place in std::iter::once(None).chain((0..alternates.len()).map(Some)) {
            let engine = place.and_then(|index| alternates.get(index)).map_or(self, |other| &**other);
            let from = &engine.options.backup_file_system;
            let transfers = self.transfers((from, to), self.copier(&self.restore_limiter, None), meter.clone());
            let files = files.iter().filter(|file| file.alternate == place);
            let plan = files.map(|file| self.transfer_to(target, file)).collect::<Result<Vec<_>>>()?;
            transfers.run(plan)?;
        }
        files.iter().try_for_each(|file| to.rename(&target.unfinished_path_of(file), &target.path_of(file)))
    }

    fn transfer_to(&self, target: &Target, file: &RestoredFile) -> Result<Transfer> {
        let mut transfer = Transfer {
            source: Source::File { path: file.from.clone(), length_bytes: Some(file.size_bytes) },
            target: Some(target.unfinished_path_of(file)),
            temperature: file.temperature,
            crc32c: file.crc32c,
        };
        if file.file.kind == FileKind::Options {
            let text = read_file(&*self.options.backup_file_system, &file.from)?;
            let found = crc32c(&text);
            if let Some(expected) = file.crc32c.filter(|expected| *expected != found) {
                let what = format!("the checksum is {found:#010x} and must be {expected:#010x}");
                return Err(Error::corruption(what).in_file(&file.from));
            }
            transfer.source = Source::Contents(options_of_copy(&text, target.has_own_logs().then_some(target.wal_dir)));
            transfer.crc32c = None;
        }
        Ok(transfer)
    }
}

fn remove_if_there(files: &dyn FileSystem, path: &Path) -> Result<()> {
    match files.remove_file(path) {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}
